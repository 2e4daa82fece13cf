/* The knobs of heat2d.cl, in this order. */
#include "templates/ops.h"

enum { THREADS_M, THREADS_N, THREAD_TILE_M, VECTOR, SIDES, NUM_KNOBS };
enum { MEMORY, SHARED };

static const char *const sides[] = { "memory", "shared" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [THREADS_M] = MMT_KNOB("THREADS_M", "rows of threads in a block", 1, 2, 4, 8, 16),
    [THREADS_N] =
        MMT_KNOB("THREADS_N", "threads of a block along n", 1, 8, 32, 64, 128, 256, 512),
    [THREAD_TILE_M] = MMT_KNOB("THREAD_TILE_M", "rows of a thread", 1, 2, 4, 8, 16, 32),
    [VECTOR] = MMT_KNOB("VECTOR", "columns of a thread", 1, 2, 4, 8, 16),
    [SIDES] = { "SIDES", "W and E come from", 2, { MEMORY, SHARED }, sides },
};

/* The last two are for CPUs. */
/* A knob that a row leaves out is 0. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [THREADS_M] = 1,
      [THREADS_N] = 256,
      [THREAD_TILE_M] = 8,
      [VECTOR] = 2,
      [SIDES] = MEMORY },
    { [THREADS_M] = 4,
      [THREADS_N] = 64,
      [THREAD_TILE_M] = 8,
      [VECTOR] = 2,
      [SIDES] = MEMORY },
    { [THREADS_M] = 1,
      [THREADS_N] = 128,
      [THREAD_TILE_M] = 4,
      [VECTOR] = 4,
      [SIDES] = SHARED },
    { [THREADS_M] = 8,
      [THREADS_N] = 32,
      [THREAD_TILE_M] = 4,
      [VECTOR] = 2,
      [SIDES] = MEMORY },
    { [THREADS_M] = 1,
      [THREADS_N] = 64,
      [THREAD_TILE_M] = 4,
      [VECTOR] = 1,
      [SIDES] = MEMORY },
    { [THREADS_M] = 1,
      [THREADS_N] = 32,
      [THREAD_TILE_M] = 1,
      [VECTOR] = 1,
      [SIDES] = MEMORY },
    { [THREADS_M] = 1,
      [THREADS_N] = 8,
      [THREAD_TILE_M] = 8,
      [VECTOR] = 4,
      [SIDES] = MEMORY },
    { [THREADS_M] = 1,
      [THREADS_N] = 1,
      [THREAD_TILE_M] = 8,
      [VECTOR] = 4,
      [SIDES] = MEMORY },
    { [THREADS_M] = 1,
      [THREADS_N] = 64,
      [THREAD_TILE_M] = 8,
      [VECTOR] = 16,
      [SIDES] = MEMORY },
    { [THREADS_M] = 1,
      [THREADS_N] = 1,
      [THREAD_TILE_M] = 8,
      [VECTOR] = 16,
      [SIDES] = MEMORY },
};

static const enum mmt_arg args[] = {
    MMT_ARG_M, MMT_ARG_N, MMT_ARG_ALPHA, MMT_ARG_SCALARS,
    MMT_ARG_A, MMT_ARG_C, MMT_ARG_END,
};

static int64_t blocks(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[THREADS_M] * v[THREAD_TILE_M]) *
           mmt_gemm_pieces(p->n, v[THREADS_N] * v[VECTOR]);
}

static size_t shared_bytes(const int *v, mmt_type type)
{
    int line = v[SIDES] == SHARED ? v[THREADS_N] * v[VECTOR] : 1;
    return (size_t) (2 * v[THREADS_M] * line) * mmt_type_size(type);
}

static const char *heat2d_check_device(const int *v, const struct mmt_variant *variant,
                                       const struct mmt_caps *caps)
{
    return mmt_op_check_device(v[VECTOR], v[THREADS_N], v[THREADS_M],
                               shared_bytes(v, variant->type), caps);
}

static const char *heat2d_check_problem(const int *v, const mmt_problem *problem)
{
    return mmt_gemm_check_problem(blocks(v, problem));
}

static struct mmt_tile heat2d_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[THREADS_M] * v[THREAD_TILE_M], v[THREADS_N] * v[VECTOR],
                              1, 1 };
}

static void heat2d_launch(const int *v, const mmt_problem *problem,
                          const struct mmt_caps *caps, struct mmt_launches *out)
{
    *out = (struct mmt_launches){ 0 };
    mmt_op_launch("mmt_heat2d", args, v[THREADS_N], v[THREADS_M], blocks(v, problem),
                  problem->batch, out);
}

static struct mmt_alignment heat2d_alignment(const int *v, const mmt_problem *problem)
{
    unsigned bytes = mmt_op_vector_bytes(v[VECTOR], problem->type);
    return (struct mmt_alignment){ bytes, (unsigned) mmt_type_size(problem->type),
                                   bytes };
}

const struct mmt_template mmt_template_heat2d = {
    .name = "heat2d",
    .what = "a step on a grid: threads walk down it with three rows in registers",
    .op = MMT_HEAT2D,
    .types = MMT_PLAIN_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU | MMT_CPU,
    .file = "heat2d.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = heat2d_check_device,
    .check_problem = heat2d_check_problem,
    .tile = heat2d_tile,
    .launch = heat2d_launch,
    .alignment = heat2d_alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
