/* The knobs of naive.cl, in this order. */
#include "templates/gemm.h"

enum { ORDER, BLOCK_M, BLOCK_N, NUM_KNOBS };
enum { ROWS, COLUMNS };

static const char *const orders[] = { "rows", "columns" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [ORDER] = { "ORDER",
                "neighbouring threads differ in their",
                2,
                { ROWS, COLUMNS },
                orders },
    [BLOCK_M] = MMT_KNOB("BLOCK_M", "rows of C per block", 1, 4, 8, 16, 32, 64, 128),
    [BLOCK_N] = MMT_KNOB("BLOCK_N", "columns of C per block", 1, 4, 8, 16, 32, 64, 128),
};

/* The last ones are for devices whose blocks have few threads, or stand in one line. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { COLUMNS, 8, 32 }, { COLUMNS, 16, 16 }, { COLUMNS, 32, 32 }, { ROWS, 16, 16 },
    { ROWS, 32, 32 },   { COLUMNS, 4, 32 },  { COLUMNS, 1, 64 },  { COLUMNS, 1, 32 },
    { COLUMNS, 1, 8 },  { COLUMNS, 1, 1 },
};

static int threads_x(const int *v)
{
    return v[ORDER] == ROWS ? v[BLOCK_M] : v[BLOCK_N];
}

static int threads_y(const int *v)
{
    return v[ORDER] == ROWS ? v[BLOCK_N] : v[BLOCK_M];
}

static int64_t blocks(const int *v, const mmt_problem *problem)
{
    return mmt_gemm_pieces(problem->m, v[BLOCK_M]) *
           mmt_gemm_pieces(problem->n, v[BLOCK_N]);
}

static const char *naive_check_device(const int *v, const struct mmt_variant *variant,
                                      const struct mmt_caps *caps)
{
    return mmt_gemm_check_device(threads_x(v), threads_y(v), 0, caps);
}

static const char *naive_check_problem(const int *v, const mmt_problem *problem)
{
    return mmt_gemm_check_problem(blocks(v, problem));
}

static struct mmt_tile naive_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[BLOCK_M], v[BLOCK_N], 1, 1 };
}

static void naive_launch(const int *v, const mmt_problem *problem,
                         const struct mmt_caps *caps, struct mmt_launches *out)
{
    mmt_gemm_launch(threads_x(v), threads_y(v), blocks(v, problem), problem->batch, out);
    out->launch[0].args = mmt_gemm_fused_args;
}

const struct mmt_template mmt_template_naive = {
    .name = "naive",
    .what = "one thread for each element of C, everything from global memory",
    .op = MMT_GEMM,
    .types = MMT_ALL_TYPES,
    .fused = true,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU,
    .last_resort = true,
    .file = "naive.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = naive_check_device,
    .check_problem = naive_check_problem,
    .tile = naive_tile,
    .launch = naive_launch,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
