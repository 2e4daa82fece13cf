/* The knobs of row_cached.cl, in this order. */
#include "templates/gemm.h"

enum { THREADS, CHUNK, NUM_KNOBS };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [THREADS] =
        MMT_KNOB("THREADS", "threads of a block, and columns of C that it computes", 64,
                 128, 256, 512, 1024),
    [CHUNK] = MMT_KNOB("CHUNK", "elements of the row of op(A) in shared memory at a time",
                       64, 128, 256, 512, 1024, 2048),
};

static const int seeds[][MMT_MAX_KNOBS] = {
    { 256, 256 }, { 64, 64 }, { 128, 512 }, { 512, 512 }, { 1024, 1024 },
};

static int64_t blocks(const int *v, const mmt_problem *problem)
{
    return problem->m * mmt_gemm_pieces(problem->n, v[THREADS]);
}

static const char *row_cached_check_device(const int *v,
                                           const struct mmt_variant *variant,
                                           const struct mmt_caps *caps)
{
    return mmt_gemm_check_device(v[THREADS], 1, v[CHUNK] * mmt_type_size(variant->type),
                                 caps);
}

static const char *row_cached_check_problem(const int *v, const mmt_problem *problem)
{
    return mmt_gemm_check_problem(blocks(v, problem));
}

static struct mmt_tile row_cached_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ 1, v[THREADS], 1, v[CHUNK] };
}

static void row_cached_launch(const int *v, const mmt_problem *problem,
                              const struct mmt_caps *caps, struct mmt_launches *out)
{
    mmt_gemm_launch(v[THREADS], 1, blocks(v, problem), problem->batch, out);
}

const struct mmt_template mmt_template_row_cached = {
    .name = "row_cached",
    .what = "one row of op(A) in shared memory, multiplied by many columns of op(B)",
    .op = MMT_GEMM,
    .types = MMT_PLAIN_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU,
    .last_resort = true,
    .file = "row_cached.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = row_cached_check_device,
    .check_problem = row_cached_check_problem,
    .tile = row_cached_tile,
    .launch = row_cached_launch,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
