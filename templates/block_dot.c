/* The knobs of block_dot.cl, in this order. */
#include "templates/gemm.h"

enum { THREADS, NUM_KNOBS };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [THREADS] = MMT_KNOB("THREADS", "threads of a block, all for one element of C", 32,
                         64, 128, 256, 512, 1024),
};

static const int seeds[][MMT_MAX_KNOBS] = { { 128 }, { 32 }, { 512 } };

static const char *block_dot_check_device(const int *v, const struct mmt_variant *variant,
                                          const struct mmt_caps *caps)
{
    return mmt_gemm_check_device(
        v[THREADS], 1, (size_t) v[THREADS] * mmt_type_size(variant->type), caps);
}

static const char *block_dot_check_problem(const int *v, const mmt_problem *problem)
{
    return mmt_gemm_check_problem(problem->m * problem->n);
}

static struct mmt_tile block_dot_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ 1, 1, v[THREADS], v[THREADS] };
}

static void block_dot_launch(const int *v, const mmt_problem *problem,
                             const struct mmt_caps *caps, struct mmt_launches *out)
{
    mmt_gemm_launch(v[THREADS], 1, problem->m * problem->n, problem->batch, out);
}

const struct mmt_template mmt_template_block_dot = {
    .name = "block_dot",
    .what = "one block for each element of C, its threads along k",
    .op = MMT_GEMM,
    .types = MMT_PLAIN_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .file = "block_dot.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = block_dot_check_device,
    .check_problem = block_dot_check_problem,
    .tile = block_dot_tile,
    .launch = block_dot_launch,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
