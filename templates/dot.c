/* The knobs of dot.cl, in this order. */
#include "templates/ops.h"

enum { THREADS, ROWS, VECTOR, WORK, PARTS, NUM_KNOBS };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [THREADS] = MMT_KNOB("THREADS", "threads of a dot product in a block", 1, 32, 64, 128,
                         256, 512, 1024),
    [ROWS] = MMT_KNOB("ROWS", "dot products of a block", 1, 2, 4, 8),
    [VECTOR] =
        MMT_KNOB("VECTOR", "neighbouring elements of a thread, per load", 1, 2, 4, 8, 16),
    [WORK] = MMT_KNOB("WORK", "vectors of a thread in a chunk", 1, 2, 4, 8),
    [PARTS] = MMT_KNOB("PARTS", "parts of a dot product, at most", 1, 4, 16, 64, 256, 512,
                       1024, 2048),
};

/* The last one is for CPUs, that before it for blocks of few threads. */
/* A knob that a row leaves out is 0. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [THREADS] = 512, [ROWS] = 1, [VECTOR] = 4, [WORK] = 2, [PARTS] = 256 },
    { [THREADS] = 256, [ROWS] = 1, [VECTOR] = 4, [WORK] = 2, [PARTS] = 512 },
    { [THREADS] = 256, [ROWS] = 1, [VECTOR] = 2, [WORK] = 4, [PARTS] = 1024 },
    { [THREADS] = 128, [ROWS] = 1, [VECTOR] = 4, [WORK] = 2, [PARTS] = 64 },
    { [THREADS] = 32, [ROWS] = 8, [VECTOR] = 4, [WORK] = 2, [PARTS] = 1 },
    { [THREADS] = 32, [ROWS] = 4, [VECTOR] = 2, [WORK] = 1, [PARTS] = 4 },
    { [THREADS] = 64, [ROWS] = 1, [VECTOR] = 1, [WORK] = 1, [PARTS] = 16 },
    { [THREADS] = 1, [ROWS] = 1, [VECTOR] = 4, [WORK] = 4, [PARTS] = 64 },
    { [THREADS] = 1, [ROWS] = 1, [VECTOR] = 8, [WORK] = 4, [PARTS] = 64 },
};

static const enum mmt_arg dot_args[] = {
    MMT_ARG_M, MMT_ARG_K, MMT_ARG_ALPHA, MMT_ARG_BETA,      MMT_ARG_SCALARS,
    MMT_ARG_A, MMT_ARG_B, MMT_ARG_C,     MMT_ARG_WORKSPACE, MMT_ARG_END,
};
static const enum mmt_arg add_args[] = {
    MMT_ARG_M,       MMT_ARG_K, MMT_ARG_ALPHA,     MMT_ARG_BETA,
    MMT_ARG_SCALARS, MMT_ARG_C, MMT_ARG_WORKSPACE, MMT_ARG_END,
};

static int64_t parts(const int *v, const mmt_problem *p)
{
    int64_t chunks = mmt_gemm_pieces(p->k, v[WORK] * v[THREADS] * v[VECTOR]);
    return chunks < 1 ? 1 : chunks < v[PARTS] ? chunks : v[PARTS];
}

static const char *dot_check_device(const int *v, const struct mmt_variant *variant,
                                    const struct mmt_caps *caps)
{
    if (v[WORK] * v[VECTOR] > 64)
        return "more than 64 elements of each vector in a thread's registers";
    return mmt_op_check_device(v[VECTOR], v[THREADS], v[ROWS],
                               v[THREADS] * v[ROWS] * mmt_type_size(variant->type), caps);
}

static const char *dot_check_problem(const int *v, const mmt_problem *p)
{
    return mmt_gemm_check_problem(parts(v, p) * mmt_gemm_pieces(p->m, v[ROWS]));
}

static struct mmt_tile dot_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[ROWS], 1, v[THREADS] * v[VECTOR] * v[WORK], 1 };
}

static void dot_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                       struct mmt_launches *out)
{
    int64_t groups = mmt_gemm_pieces(p->m, v[ROWS]), count = parts(v, p);

    *out = (struct mmt_launches){ 0 };
    mmt_op_launch("mmt_dot", dot_args, v[THREADS], v[ROWS], count * groups, p->batch,
                  out);
    if (count == 1 && p->k > 0) /* with k = 0 the runtime tries all that it has built */
        return;
    mmt_op_launch("add_parts", add_args, v[THREADS], v[ROWS], groups, p->batch, out);
    if (count > 1)
        out->workspace = (size_t) (p->batch * p->m * count) * mmt_type_size(p->type);
}

static struct mmt_alignment dot_alignment(const int *v, const mmt_problem *problem)
{
    unsigned bytes = mmt_op_vector_bytes(v[VECTOR], problem->type);
    return (struct mmt_alignment){ bytes, bytes,
                                   (unsigned) mmt_type_size(problem->type) };
}

const struct mmt_template mmt_template_dot = {
    .name = "dot",
    .what = "many dot products at once, in parts that are added up in a fixed order",
    .op = MMT_DOT,
    .types = MMT_PLAIN_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU | MMT_CPU,
    .file = "dot.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = dot_check_device,
    .check_problem = dot_check_problem,
    .tile = dot_tile,
    .launch = dot_launch,
    .alignment = dot_alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
