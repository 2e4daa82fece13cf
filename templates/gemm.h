/* What the knobs of several gemm kernels say alike. */
#ifndef MMT_TEMPLATES_GEMM_H
#define MMT_TEMPLATES_GEMM_H

#include "templates/template.h"

/* The parameters of a gemm kernel that may need a workspace, with the whole epilogue. */
static const enum mmt_arg mmt_gemm_workspace_args[] = {
    MMT_ARG_M, MMT_ARG_N, MMT_ARG_K, MMT_ARG_ALPHA,     MMT_ARG_BETA, MMT_ARG_SCALARS,
    MMT_ARG_A, MMT_ARG_B, MMT_ARG_C, MMT_ARG_WORKSPACE, MMT_ARG_BIAS, MMT_ARG_END,
};

/* The parameters of a gemm kernel that needs no workspace. */
static const enum mmt_arg mmt_gemm_args[] = {
    MMT_ARG_M,       MMT_ARG_N, MMT_ARG_K, MMT_ARG_ALPHA, MMT_ARG_BETA,
    MMT_ARG_SCALARS, MMT_ARG_A, MMT_ARG_B, MMT_ARG_C,     MMT_ARG_END,
};

/* Those of one with the whole epilogue. */
static const enum mmt_arg mmt_gemm_fused_args[] = {
    MMT_ARG_M, MMT_ARG_N, MMT_ARG_K, MMT_ARG_ALPHA, MMT_ARG_BETA, MMT_ARG_SCALARS,
    MMT_ARG_A, MMT_ARG_B, MMT_ARG_C, MMT_ARG_BIAS,  MMT_ARG_END,
};

/* Pieces of that size that cover `size` elements, the last one perhaps in part. */
static inline int64_t mmt_gemm_pieces(int64_t size, int piece)
{
    return (size + piece - 1) / piece;
}

/* NULL if a block may have x times y threads and that many bytes of shared memory. */
static inline const char *mmt_gemm_check_device(int x, int y, size_t shared,
                                                const struct mmt_caps *caps)
{
    if (caps->max_threads && (unsigned) (x * y) > caps->max_threads)
        return "more threads than a block of this device may have";
    if (caps->max_block[0] && (unsigned) x > caps->max_block[0])
        return "a block is wider than this device allows";
    if (caps->max_block[1] && (unsigned) y > caps->max_block[1])
        return "a block is higher than this device allows";
    if (caps->shared && shared > caps->shared)
        return "more shared memory than a block of this device may have";
    return NULL;
}

/* ---- blocks that share a tile of C, as tiles.h has it: the knob SPLIT_K ---------- */

/* `seen`: what sources see at most; `left`: the first of the values, a 0, leaves the
 * number to the problem. */
#define MMT_GEMM_KNOB_SPLITS(what, seen, left, ...)                                      \
    {                                                                                    \
        "SPLIT_K", what, MMT_COUNT_VALUES(__VA_ARGS__), { __VA_ARGS__ },                 \
            .automatic = left, .launch_time = seen                                       \
    }
#define MMT_GEMM_SPLITS 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256

/* Partial sums stay in the cache until they are added up, and more blocks than
 * that serve no device. */
enum { MMT_GEMM_MOST_PARTIAL = 1 << 24 };

static inline int64_t mmt_gemm_partial_ld(const mmt_problem *p)
{
    return mmt_gemm_pieces(p->n, 4) * 4;
}

/* Sums that are left of each split of k. */
static inline double mmt_gemm_partial_sums(const mmt_problem *p)
{
    return (double) p->m * (double) mmt_gemm_partial_ld(p) * (double) p->batch;
}

/* NULL if `splits` splits of k are worth adding up; 1 always is. A k of fewer tiles
 * leaves some of them empty, which is slow but right: so every check of a kernel meets
 * it. */
static inline const char *mmt_gemm_check_split_problem(int splits, const mmt_problem *p)
{
    return splits > 1 && mmt_gemm_partial_sums(p) * splits > MMT_GEMM_MOST_PARTIAL
               ? "SPLIT_K makes more than 2^24 partial sums; C has tiles enough "
                 "without"
               : NULL;
}

enum { MMT_GEMM_ADDERS = 128 }; /* threads of a block that adds splits up */

/* Of these, how many share an element's splits, eight each. */
static inline int mmt_gemm_sharers(int splits)
{
    enum { EACH = 8, MOST = 16 };
    int sharers = 1;
    while (sharers < MOST && sharers * EACH < splits)
        sharers *= 2;
    return sharers;
}

static inline const char *mmt_gemm_check_splits(int splits, const struct mmt_caps *caps)
{
    return splits > 1 && mmt_gemm_check_device(MMT_GEMM_ADDERS, 1, 0, caps)
               ? "SPLIT_K needs more threads to add its splits up than a block may have"
               : NULL;
}

/* Splits the one launch of `out` into `splits` and adds the launch that adds them up, 16
 * bytes a thread. */
static inline void mmt_gemm_split(int splits, const mmt_problem *p,
                                  struct mmt_launches *out)
{
    static const enum mmt_arg args[] = {
        MMT_ARG_M,       MMT_ARG_N, MMT_ARG_SPLITS,    MMT_ARG_ALPHA, MMT_ARG_BETA,
        MMT_ARG_SCALARS, MMT_ARG_C, MMT_ARG_WORKSPACE, MMT_ARG_BIAS,  MMT_ARG_END,
    };
    const size_t size = mmt_type_size(p->type);
    const int64_t accumulators = p->m * mmt_gemm_partial_ld(p);
    const int width = MMT_GEMM_ADDERS / mmt_gemm_sharers(splits);
    const int64_t blocks = mmt_gemm_pieces(accumulators, 16 / (int) size * width);

    if (splits == 1)
        return;
    out->launch[0].grid[1] = (unsigned) splits;
    out->launch[out->count++] = (struct mmt_launch){
        .entry = "mmt_reduce_splits",
        .args = args,
        .grid = { (unsigned) blocks, 1, (unsigned) p->batch },
        .block = { MMT_GEMM_ADDERS, 1, 1 },
        .splits = splits,
        .pdl_waits = true,
    };
    out->workspace = (size_t) (accumulators * p->batch * splits) * size;
}

/* ---- persistent blocks and share what is left, as stream_k.h has it: the knob
 * TILE_SCHEDULER
 * -----
 */

/* Sums of the two parts of each block's run, a tile each. */
static inline int64_t mmt_gemm_stream_k_sums(unsigned blocks, int area)
{
    return (int64_t) blocks * 2 * area;
}

static inline const char *mmt_gemm_check_stream_k(unsigned blocks, int area,
                                                  const struct mmt_caps *caps)
{
    enum { ADDERS_X = 32, ADDERS_Y = 8 };
    if (mmt_gemm_stream_k_sums(blocks, area) > MMT_GEMM_MOST_PARTIAL)
        return "TILE_SCHEDULER=stream_k makes more than 2^24 partial sums; "
               "choose "
               "smaller tiles";
    return mmt_gemm_check_device(ADDERS_X, ADDERS_Y, 0, caps);
}

/* Adds the launch that adds up the parts of runs of the first launch of `out`, whose
 * blocks share so many tiles. */
static inline void mmt_gemm_share_stream_k(int64_t tiles, int area, const mmt_problem *p,
                                           struct mmt_launches *out)
{
    enum { ADDERS_X = 32, ADDERS_Y = 8, BLOCKS_BESIDE = 8 };
    static const enum mmt_arg args[] = {
        MMT_ARG_M,       MMT_ARG_N, MMT_ARG_K,         MMT_ARG_ALPHA, MMT_ARG_BETA,
        MMT_ARG_SCALARS, MMT_ARG_C, MMT_ARG_WORKSPACE, MMT_ARG_BIAS,  MMT_ARG_END,
    };
    const unsigned blocks = out->launch[0].grid[0];

    out->launch[0].tiles = tiles;
    out->launch[out->count++] = (struct mmt_launch){
        .entry = "mmt_reduce_stream_k",
        .args = args,
        .grid = { blocks, BLOCKS_BESIDE, (unsigned) p->batch },
        .block = { ADDERS_X, ADDERS_Y, 1 },
        .pdl_waits = true,
    };
    out->workspace = (size_t) (mmt_gemm_stream_k_sums(blocks, area) * p->batch) *
                     mmt_type_size(p->type);
}

/* ---- operands that are copied first, as pack.h has it ---- */

/* Whether rows of A, or B, share elements. TMA knows no such matrices. */
static inline bool mmt_gemm_rows_overlap(const mmt_problem *p, bool is_b)
{
    const int64_t columns =
        is_b ? (p->trans_b ? p->k : p->n) : (p->trans_a ? p->m : p->k);
    return (is_b ? p->ldb : p->lda) < columns;
}

/* Whether TMA could take the rows of A, or B, if they begin where they may.
 */
static inline bool mmt_gemm_rows_fit(const mmt_problem *p, bool is_b)
{
    const int64_t size = (int64_t) mmt_type_size(p->type);
    return (is_b ? p->ldb : p->lda) * size % 16 == 0 &&
           (is_b ? p->stride_b : p->stride_a) * size % 16 == 0 &&
           !mmt_gemm_rows_overlap(p, is_b);
}

/* NULL where TMA takes A and B, each as it is stored or a copy of it. */
static inline const char *mmt_gemm_check_overlap(const mmt_problem *p, bool copies_a,
                                                 bool copies_b)
{
    if (!copies_a && mmt_gemm_rows_overlap(p, false))
        return "rows of A overlap, which TMA cannot take: PACK_A must be 1";
    if (!copies_b && mmt_gemm_rows_overlap(p, true))
        return "rows of B overlap, which TMA cannot take: PACK_B must be 1";
    return NULL;
}

enum { MMT_GEMM_PACK_BLOCK = 64, MMT_GEMM_PACK_THREADS = 256 };

/* Blocks that copy A, or B. */
static inline int64_t mmt_gemm_pack_blocks(const mmt_problem *p, bool is_b)
{
    const int64_t across = is_b ? p->n : p->m;
    return mmt_gemm_pieces(across ? across : 1, MMT_GEMM_PACK_BLOCK) *
           mmt_gemm_pieces(p->k ? p->k : 1, MMT_GEMM_PACK_BLOCK);
}

/* Those of them that pack whole blocks of an operand. */
static inline int64_t mmt_gemm_pack_whole(const mmt_problem *p, bool is_b)
{
    return (is_b ? p->n : p->m) / MMT_GEMM_PACK_BLOCK * (p->k / MMT_GEMM_PACK_BLOCK);
}

/* Whether one copy of B serves the whole batch. Slices are numbered with the batch, so
 * that each matrix has its own. */
static inline bool mmt_gemm_packs_once(const mmt_problem *p, enum mmt_packed how)
{
    return p->batch > 1 && !p->stride_b && how != MMT_PACKED_SLICES;
}

/* Makes room for a copy of A, or B, behind what is in the workspace. Returns where it
 * begins, in bytes. */
static inline size_t mmt_gemm_pack_room(const mmt_problem *p, bool is_b,
                                        enum mmt_packed how, struct mmt_launches *out)
{
    enum { PIECE = 16, LINE_OF_CACHE = 128 };
    const int64_t across = is_b ? p->n : p->m;
    const int64_t lines = how == MMT_PACKED_FLAT ? p->k : across;
    const int64_t length = how == MMT_PACKED_FLAT ? across : p->k;
    const bool slices = how == MMT_PACKED_SLICES;
    const mmt_type type = slices ? mmt_type_slice(p->type) : p->type;
    const int64_t batch = is_b && mmt_gemm_packs_once(p, how) ? 1 : p->batch;
    const int64_t matrices = batch * (slices ? mmt_type_slices(p->type) : 1);
    const int64_t pieces = mmt_gemm_pieces(length * (int64_t) mmt_type_size(type), PIECE);
    const size_t at =
        (size_t) mmt_gemm_pieces((int64_t) out->workspace, LINE_OF_CACHE) * LINE_OF_CACHE;

    out->workspace = at + (size_t) (matrices * lines * pieces * PIECE);
    return at;
}

/* Adds the launches that copy A, or B, or both to the workspace, behind what is there;
 * the copies begin at `at[0]` and `at[1]`. Of both, where one copy of B serves the batch,
 * the first launch copies A alone, whose blocks come first, and the second is of one
 * matrix. */
static inline void mmt_gemm_pack(const mmt_problem *p, bool a, bool b,
                                 enum mmt_packed how, struct mmt_launches *out,
                                 size_t at[2])
{
    static const enum mmt_arg args_a[] = { MMT_ARG_M, MMT_ARG_K, MMT_ARG_A,
                                           MMT_ARG_WORKSPACE, MMT_ARG_END };
    static const enum mmt_arg args_b[] = { MMT_ARG_N, MMT_ARG_K, MMT_ARG_B,
                                           MMT_ARG_WORKSPACE, MMT_ARG_END };
    static const enum mmt_arg args_both[] = {
        MMT_ARG_M, MMT_ARG_N,         MMT_ARG_K,      MMT_ARG_A,
        MMT_ARG_B, MMT_ARG_WORKSPACE, MMT_ARG_SECOND, MMT_ARG_END,
    };
    const int64_t blocks = (a ? mmt_gemm_pack_blocks(p, false) : 0) +
                           (b ? mmt_gemm_pack_blocks(p, true) : 0);
    const int64_t whole =
        (a ? mmt_gemm_pack_whole(p, false) : 0) + (b ? mmt_gemm_pack_whole(p, true) : 0);

    if (!a && !b)
        return;
    if (a)
        at[0] = mmt_gemm_pack_room(p, false, how, out);
    if (b)
        at[1] = mmt_gemm_pack_room(p, true, how, out);
    const struct mmt_launch all = {
        .entry = a && b ? "mmt_pack"
                 : a    ? "mmt_pack_a"
                        : "mmt_pack_b",
        .args = a && b ? args_both
                : a    ? args_a
                       : args_b,
        .grid = { (unsigned) blocks, 1, (unsigned) p->batch },
        .block = { MMT_GEMM_PACK_THREADS, 1, 1 },
        .workspace_at = at[!a],
        .second_workspace_at = at[1],
        .edge_blocks = (unsigned) (blocks - whole),
        .pdl_waits = true,
    };
    const bool once = b && mmt_gemm_packs_once(p, how);
    if (once && a) {
        struct mmt_launch of_a = all;
        of_a.grid[0] = (unsigned) mmt_gemm_pack_blocks(p, false);
        of_a.edge_blocks = (unsigned) (of_a.grid[0] - mmt_gemm_pack_whole(p, false));
        out->launch[out->count++] = of_a;
    }
    out->launch[out->count] = all;
    if (once)
        out->launch[out->count].grid[2] = 1;
    out->count++;
}

/* A product's boxes of A and B, of which one or both are copies that begin at `at`. */
static inline void mmt_gemm_use_packed(struct mmt_box boxes[2], const mmt_problem *p,
                                       bool a, bool b, enum mmt_packed how,
                                       const size_t at[2])
{
    if (a)
        boxes[0].packed = how, boxes[0].at = at[0];
    if (b) {
        boxes[1].packed = how, boxes[1].at = at[1];
        boxes[1].serves_batch = mmt_gemm_packs_once(p, how);
    }
}

/* NULL if a multiprocessor can hold that many blocks, whose threads have so many 32-bit
 * registers each. OpenCL has no word for it. */
static inline const char *mmt_gemm_check_resident(int blocks, int threads,
                                                  unsigned registers, size_t shared,
                                                  const struct mmt_caps *caps)
{
    const unsigned all = (unsigned) (blocks * threads);

    if (blocks > 1 && caps->dialect == MMT_OPENCL_C)
        return "MIN_BLOCKS cannot be said in OpenCL and must be 1";
    if (caps->shared_per_sm && (size_t) blocks * shared > caps->shared_per_sm)
        return "MIN_BLOCKS blocks take more shared memory than a multiprocessor has";
    if (caps->threads_per_sm && all > caps->threads_per_sm)
        return "MIN_BLOCKS blocks have more threads than a multiprocessor holds";
    if (caps->registers_per_thread && registers > caps->registers_per_thread)
        return "sums and operands take more registers than a thread may have";
    if (caps->registers && (uint64_t) registers * all > caps->registers)
        return "sums and operands take more registers than MIN_BLOCKS blocks may have";
    return NULL;
}

/* NULL if that many blocks can be numbered by an int. */
static inline const char *mmt_gemm_check_problem(int64_t blocks)
{
    return blocks > INT32_MAX ? "more blocks than a grid may have; choose larger ones"
                              : NULL;
}

/* Why slices may not multiply f32: below 16 steps of k FFMA has the lower bound. NULL:
 * they may, or it is another type. */
static inline const char *mmt_gemm_check_slices(const mmt_problem *p)
{
    enum { LEAST_STEPS = 16 };
    return p->type == MMT_F32 && p->k < LEAST_STEPS
               ? "FFMA is nearer to the exact product of f32 where k is less than 16"
               : NULL;
}

/* One launch of mmt_gemm, with its shared memory declared in the kernel. */
static inline void mmt_gemm_launch(int x, int y, int64_t blocks, int64_t batch,
                                   struct mmt_launches *out)
{
    *out = (struct mmt_launches){
        .count = 1,
        .launch[0] = {
            .entry = "mmt_gemm",
            .args = mmt_gemm_args,
            .grid = { (unsigned) blocks, 1, (unsigned) batch },
            .block = { (unsigned) x, (unsigned) y, 1 },
        },
    };
}

#endif
