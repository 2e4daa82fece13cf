/* The knobs of split_naive.cl, in this order. */
#include "templates/gemm.h"

enum { BLOCK_M, BLOCK_N, SPLIT_K, NUM_KNOBS };
enum { ADD_THREADS = 32 };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [BLOCK_M] = MMT_KNOB("BLOCK_M", "rows of C per block", 4, 8, 16, 32),
    [BLOCK_N] = MMT_KNOB("BLOCK_N", "columns of C per block", 8, 16, 32, 64, 128),
    [SPLIT_K] = MMT_KNOB("SPLIT_K", "splits of k", 2, 4, 8, 16, 32),
};

static const int seeds[][MMT_MAX_KNOBS] = {
    { 8, 32, 8 },
    { 32, 32, 4 },
    { 8, 32, 32 },
    { 16, 16, 2 },
};

static int64_t blocks(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[BLOCK_M]) * mmt_gemm_pieces(p->n, v[BLOCK_N]);
}

static const char *split_naive_check_device(const int *v,
                                            const struct mmt_variant *variant,
                                            const struct mmt_caps *caps)
{
    return mmt_gemm_check_device(v[BLOCK_N], v[BLOCK_M], 0, caps);
}

static const char *split_naive_check_problem(const int *v, const mmt_problem *problem)
{
    return mmt_gemm_check_problem(blocks(v, problem));
}

static struct mmt_tile split_naive_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[BLOCK_M], v[BLOCK_N], v[SPLIT_K], v[SPLIT_K] };
}

static struct mmt_work split_naive_work(const int *v, mmt_type type)
{
    (void) type;
    return (struct mmt_work){ .depth = 1, .step = 1, .splits = v[SPLIT_K] };
}

static void split_naive_launch(const int *v, const mmt_problem *p,
                               const struct mmt_caps *caps, struct mmt_launches *out)
{
    static const enum mmt_arg args[] = {
        MMT_ARG_M, MMT_ARG_N, MMT_ARG_K,         MMT_ARG_ALPHA, MMT_ARG_SCALARS,
        MMT_ARG_A, MMT_ARG_B, MMT_ARG_WORKSPACE, MMT_ARG_END,
    };
    static const enum mmt_arg add_args[] = {
        MMT_ARG_M,       MMT_ARG_N, MMT_ARG_ALPHA,     MMT_ARG_BETA,
        MMT_ARG_SCALARS, MMT_ARG_C, MMT_ARG_WORKSPACE, MMT_ARG_END,
    };
    const int64_t cells = p->m * p->n;

    *out = (struct mmt_launches){
        .count = 2,
        .launch[0] = {
            .entry = "mmt_gemm",
            .args = args,
            .grid = { (unsigned) blocks(v, p), (unsigned) v[SPLIT_K],
                      (unsigned) p->batch },
            .block = { (unsigned) v[BLOCK_N], (unsigned) v[BLOCK_M], 1 },
        },
        .launch[1] = {
            .entry = "add_parts",
            .args = add_args,
            .grid = { (unsigned) mmt_gemm_pieces(cells, ADD_THREADS), 1,
                      (unsigned) p->batch },
            .block = { ADD_THREADS, 1, 1 },
        },
        .workspace = (size_t) (v[SPLIT_K] * cells * p->batch) * mmt_type_size(p->type),
    };
}

const struct mmt_template mmt_template_split_naive = {
    .name = "split_naive",
    .what =
        "one thread for each element of C and split of k, added up by a second launch",
    .op = MMT_GEMM,
    .types = MMT_PLAIN_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .file = "split_naive.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = split_naive_check_device,
    .check_problem = split_naive_check_problem,
    .tile = split_naive_tile,
    .work = split_naive_work,
    .launch = split_naive_launch,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
