/* What the hosts of several gemm kernels check, launch and pack alike: gemm.h. */
#include "templates/gemm.h"

const char *mmt_gemm_check_device(int x, int y, size_t shared,
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

void mmt_gemm_split(int splits, const mmt_problem *p, struct mmt_launches *out)
{
    static const enum mmt_arg args[] = {
        MMT_ARG_M,       MMT_ARG_N, MMT_ARG_SPLITS,    MMT_ARG_ALPHA, MMT_ARG_BETA,
        MMT_ARG_SCALARS, MMT_ARG_C, MMT_ARG_WORKSPACE, MMT_ARG_BIAS,  MMT_ARG_END,
    };
    const int64_t accumulators = p->m * mmt_gemm_partial_ld(p);
    const int width = MMT_GEMM_ADDERS / mmt_gemm_sharers(splits);
    const int64_t blocks =
        mmt_gemm_pieces(accumulators, mmt_gemm_vector(p->type) * width);

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
    out->workspace =
        (size_t) (accumulators * p->batch * splits) * mmt_gemm_real_size(p->type);
}

void mmt_gemm_share_stream_k(int64_t tiles, int area, const mmt_problem *p,
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
                     mmt_gemm_real_size(p->type);
}

size_t mmt_gemm_pack_room(const mmt_problem *p, bool is_b, enum mmt_packed how,
                          struct mmt_launches *out)
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

void mmt_gemm_pack(const mmt_problem *p, bool a, bool b, enum mmt_packed how,
                   struct mmt_launches *out, size_t at[2])
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

const char *mmt_gemm_check_resident(int blocks, int threads, unsigned registers,
                                    size_t shared, const struct mmt_caps *caps)
{
    const unsigned all = (unsigned) (blocks * threads);
    const unsigned held =
        caps->registers_per_sm ? caps->registers_per_sm : caps->registers;

    if (blocks > 1 && caps->dialect == MMT_OPENCL_C)
        return "MIN_BLOCKS cannot be said in OpenCL and must be 1";
    if (caps->shared_per_sm && (size_t) blocks * shared > caps->shared_per_sm)
        return "MIN_BLOCKS blocks take more shared memory than a multiprocessor has";
    if (caps->threads_per_sm && all > caps->threads_per_sm)
        return "MIN_BLOCKS blocks have more threads than a multiprocessor holds";
    if (caps->registers_per_thread && registers > caps->registers_per_thread)
        return "sums and operands take more registers than a thread may have";
    if (held && (uint64_t) registers * all > held)
        return "sums and operands take more registers than MIN_BLOCKS blocks may have";
    return NULL;
}

void mmt_gemm_launch(int x, int y, int64_t blocks, int64_t batch,
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
