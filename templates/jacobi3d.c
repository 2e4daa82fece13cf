/* The knobs of jacobi3d.cl, in this order. */
#include "templates/ops.h"

enum { THREADS_N, THREADS_K, VECTOR, THREAD_TILE_M, UNROLL_M, SIDES, NUM_KNOBS };
enum { MEMORY, SHARED };

static const char *const sides[] = { "memory", "shared" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [THREADS_N] = MMT_KNOB("THREADS_N", "rows of a plane in a block", 1, 2, 4, 8, 16, 32),
    [THREADS_K] =
        MMT_KNOB("THREADS_K", "threads of a block along k", 1, 4, 16, 32, 64, 128, 256),
    [VECTOR] = MMT_KNOB("VECTOR", "columns of a thread", 1, 2, 4, 8, 16),
    [THREAD_TILE_M] =
        MMT_KNOB("THREAD_TILE_M", "planes of a block", 1, 2, 4, 8, 16, 32, 64),
    [UNROLL_M] =
        MMT_KNOB("UNROLL_M", "planes unrolled, 1: as the compiler thinks", 1, 2, 4),
    [SIDES] = { "SIDES", "N, S, W and E come from", 2, { MEMORY, SHARED }, sides },
};

/* The last two are for CPUs. */
// clang-format off
/* A knob that a row leaves out is 0. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [THREADS_N] = 4, [THREADS_K] = 32, [VECTOR] = 4, [THREAD_TILE_M] = 32, [UNROLL_M] = 2,
      [SIDES] = MEMORY },
    { [THREADS_N] = 8, [THREADS_K] = 32, [VECTOR] = 4, [THREAD_TILE_M] = 16, [UNROLL_M] = 2,
      [SIDES] = MEMORY },
    { [THREADS_N] = 8, [THREADS_K] = 16, [VECTOR] = 4, [THREAD_TILE_M] = 16, [UNROLL_M] = 2,
      [SIDES] = MEMORY },
    { [THREADS_N] = 8, [THREADS_K] = 32, [VECTOR] = 4, [THREAD_TILE_M] = 16, [UNROLL_M] = 2,
      [SIDES] = SHARED },
    { [THREADS_N] = 4, [THREADS_K] = 32, [VECTOR] = 4, [THREAD_TILE_M] = 8, [UNROLL_M] = 4,
      [SIDES] = MEMORY },
    { [THREADS_N] = 2, [THREADS_K] = 32, [VECTOR] = 1, [THREAD_TILE_M] = 8, [UNROLL_M] = 1,
      [SIDES] = MEMORY },
    { [THREADS_N] = 1, [THREADS_K] = 16, [VECTOR] = 1, [THREAD_TILE_M] = 4, [UNROLL_M] = 1,
      [SIDES] = MEMORY },
    { [THREADS_N] = 1, [THREADS_K] = 4, [VECTOR] = 4, [THREAD_TILE_M] = 8, [UNROLL_M] = 1,
      [SIDES] = MEMORY },
    { [THREADS_N] = 1, [THREADS_K] = 1, [VECTOR] = 4, [THREAD_TILE_M] = 32, [UNROLL_M] = 1,
      [SIDES] = MEMORY },
    { [THREADS_N] = 8, [THREADS_K] = 1, [VECTOR] = 16, [THREAD_TILE_M] = 8, [UNROLL_M] = 1,
      [SIDES] = MEMORY },
    { [THREADS_N] = 1, [THREADS_K] = 1, [VECTOR] = 16, [THREAD_TILE_M] = 8, [UNROLL_M] = 1,
      [SIDES] = MEMORY },
};
// clang-format on

static const enum mmt_arg args[] = {
    MMT_ARG_M,       MMT_ARG_N, MMT_ARG_K, MMT_ARG_ALPHA, MMT_ARG_BETA,
    MMT_ARG_SCALARS, MMT_ARG_A, MMT_ARG_B, MMT_ARG_C,     MMT_ARG_END,
};

static int64_t blocks_of_plane(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->k, v[THREADS_K] * v[VECTOR]) *
           mmt_gemm_pieces(p->n, v[THREADS_N]);
}

static size_t shared_bytes(const int *v, mmt_type type)
{
    int tile =
        v[SIDES] == SHARED ? (v[THREADS_N] + 2) * (v[THREADS_K] * v[VECTOR] + 2) : 1;
    return (size_t) (2 * tile) * mmt_type_size(type);
}

static const char *jacobi3d_check_device(const int *v, const struct mmt_variant *variant,
                                         const struct mmt_caps *caps)
{
    if (v[UNROLL_M] > v[THREAD_TILE_M])
        return "more planes are unrolled than a block has";
    return mmt_op_check_device(v[VECTOR], v[THREADS_K], v[THREADS_N],
                               shared_bytes(v, variant->type), caps);
}

static const char *jacobi3d_check_problem(const int *v, const mmt_problem *p)
{
    int64_t planes = mmt_gemm_pieces(p->m, v[THREAD_TILE_M]), blocks;
    if (__builtin_mul_overflow(planes, blocks_of_plane(v, p), &blocks))
        blocks = INT64_MAX;
    return mmt_gemm_check_problem(blocks);
}

static struct mmt_tile jacobi3d_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[THREAD_TILE_M], v[THREADS_N], v[THREADS_K] * v[VECTOR],
                              1 };
}

static void jacobi3d_launch(const int *v, const mmt_problem *p,
                            const struct mmt_caps *caps, struct mmt_launches *out)
{
    *out = (struct mmt_launches){ 0 };
    mmt_op_launch("mmt_jacobi3d", args, v[THREADS_K], v[THREADS_N],
                  mmt_gemm_pieces(p->m, v[THREAD_TILE_M]) * blocks_of_plane(v, p),
                  p->batch, out);
}

static struct mmt_alignment jacobi3d_alignment(const int *v, const mmt_problem *problem)
{
    unsigned bytes = mmt_op_vector_bytes(v[VECTOR], problem->type);
    return (struct mmt_alignment){ bytes, bytes, bytes };
}

const struct mmt_template mmt_template_jacobi3d = {
    .name = "jacobi3d",
    .what = "a sweep through space: blocks walk up it with three planes in registers",
    .op = MMT_JACOBI3D,
    .types = MMT_PLAIN_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU | MMT_CPU,
    .file = "jacobi3d.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = jacobi3d_check_device,
    .check_problem = jacobi3d_check_problem,
    .tile = jacobi3d_tile,
    .launch = jacobi3d_launch,
    .alignment = jacobi3d_alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
