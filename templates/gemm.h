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

/* Bytes of what a kernel computes with: elements of 16 and 8 bits become `real`. */
static inline size_t mmt_gemm_real_size(mmt_type type)
{
    return mmt_type_size(mmt_type_scalar(type));
}

/* Of these, as many as 16 bytes hold. */
static inline int mmt_gemm_vector(mmt_type type)
{
    return 16 / (int) mmt_gemm_real_size(type);
}

/* NULL if a block may have x times y threads and that many bytes of shared memory. */
const char *mmt_gemm_check_device(int x, int y, size_t shared,
                                  const struct mmt_caps *caps);

/* ---- vectors of a CPU, as cpu_vectors.h has them --------------------------------- */

/* AVX2 has 16 vector registers; AVX-512 and Arm have 32. */
static inline int mmt_gemm_vector_registers(const struct mmt_caps *caps)
{
    return caps->vector_bytes == 32 ? 16 : 32;
}

/* NULL if vectors of so many elements suit the device, whose own may be unknown. */
static inline const char *mmt_gemm_check_vector(int elements, mmt_type type,
                                                const struct mmt_caps *caps)
{
    const size_t bytes = (size_t) elements * mmt_gemm_real_size(type);

    if (!caps->vector_bytes)
        return NULL;
    if (bytes > caps->vector_bytes)
        return "VECTOR is wider than the device's own vectors";
    if (2 * bytes < caps->vector_bytes)
        return "VECTOR fills less than half of the device's own vectors";
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
void mmt_gemm_split(int splits, const mmt_problem *p, struct mmt_launches *out);

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
void mmt_gemm_share_stream_k(int64_t tiles, int area, const mmt_problem *p,
                             struct mmt_launches *out);

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
size_t mmt_gemm_pack_room(const mmt_problem *p, bool is_b, enum mmt_packed how,
                          struct mmt_launches *out);

/* Adds the launches that copy A, or B, or both to the workspace, behind what is there;
 * the copies begin at `at[0]` and `at[1]`. Of both, where one copy of B serves the batch,
 * the first launch copies A alone, whose blocks come first, and the second is of one
 * matrix. */
void mmt_gemm_pack(const mmt_problem *p, bool a, bool b, enum mmt_packed how,
                   struct mmt_launches *out, size_t at[2]);

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
const char *mmt_gemm_check_resident(int blocks, int threads, unsigned registers,
                                    size_t shared, const struct mmt_caps *caps);

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
void mmt_gemm_launch(int x, int y, int64_t blocks, int64_t batch,
                     struct mmt_launches *out);

#endif
