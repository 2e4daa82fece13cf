/* The knobs of axpby.cl, in this order. */
#include "templates/ops.h"

enum { THREADS, VECTOR, WORK, NUM_KNOBS };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [THREADS] = MMT_KNOB("THREADS", "threads of a block", 1, 32, 64, 128, 256, 512, 1024),
    [VECTOR] =
        MMT_KNOB("VECTOR", "neighbouring elements of a thread, per load", 1, 2, 4, 8, 16),
    [WORK] = MMT_KNOB("WORK", "vectors of a thread", 1, 2, 4, 8, 16),
};

/* The last three are for CPUs. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { 1024, 2, 2 }, { 512, 4, 1 }, { 256, 2, 2 }, { 256, 4, 2 },
    { 128, 1, 8 },  { 64, 1, 1 },  { 32, 2, 2 },  { 1, 4, 4 },
    { 256, 16, 4 }, { 32, 16, 4 }, { 1, 16, 4 },
};

static const enum mmt_arg args[] = {
    MMT_ARG_M, MMT_ARG_N, MMT_ARG_ALPHA, MMT_ARG_BETA, MMT_ARG_SCALARS,
    MMT_ARG_A, MMT_ARG_B, MMT_ARG_C,     MMT_ARG_END,
};

static int64_t blocks(const int *v, const mmt_problem *p)
{
    bool one_row = p->lda == p->n && p->ldb == p->n && p->ldc == p->n;
    int stretch = v[WORK] * v[THREADS] * v[VECTOR];
    return one_row ? mmt_gemm_pieces(p->m * p->n, stretch)
                   : p->m * mmt_gemm_pieces(p->n, stretch);
}

static const char *axpby_check_device(const int *v, const struct mmt_variant *variant,
                                      const struct mmt_caps *caps)
{
    if (v[WORK] * v[VECTOR] > 64)
        return "more than 64 elements of each array in a thread's registers";
    return mmt_op_check_device(v[VECTOR], v[THREADS], 1, 0, caps);
}

static const char *axpby_check_problem(const int *v, const mmt_problem *problem)
{
    return mmt_gemm_check_problem(blocks(v, problem));
}

static struct mmt_tile axpby_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ 1, v[WORK] * v[THREADS] * v[VECTOR], 1, 1 };
}

static void axpby_launch(const int *v, const mmt_problem *problem,
                         const struct mmt_caps *caps, struct mmt_launches *out)
{
    *out = (struct mmt_launches){ 0 };
    mmt_op_launch("mmt_axpby", args, v[THREADS], 1, blocks(v, problem), problem->batch,
                  out);
}

static struct mmt_alignment axpby_alignment(const int *v, const mmt_problem *problem)
{
    unsigned bytes = mmt_op_vector_bytes(v[VECTOR], problem->type);
    return (struct mmt_alignment){ bytes, bytes, bytes };
}

const struct mmt_template mmt_template_axpby = {
    .name = "axpby",
    .what = "vectors of neighbouring elements, each read and written once",
    .op = MMT_AXPBY,
    .types = MMT_PLAIN_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU | MMT_CPU,
    .file = "axpby.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = axpby_check_device,
    .check_problem = axpby_check_problem,
    .tile = axpby_tile,
    .launch = axpby_launch,
    .alignment = axpby_alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
