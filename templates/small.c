/* The knobs of small.cl, in this order. */
#include "templates/gemm.h"

enum {
    TILE_M,
    TILE_N,
    TILE_K,
    THREAD_TILE_M,
    THREAD_TILE_N,
    MATRICES,
    TURNS,
    VECTOR,
    AHEAD,
    K_UNROLL,
    MIN_BLOCKS,
    NUM_KNOBS
};

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [TILE_M] = MMT_KNOB("TILE_M", "rows of C per team of threads", 8, 16, 32, 48, 64),
    [TILE_N] = MMT_KNOB("TILE_N", "columns of C per team of threads", 8, 16, 32, 48, 64),
    [TILE_K] =
        MMT_KNOB("TILE_K", "depth of one pass through shared memory", 8, 16, 32, 64, 128),
    [THREAD_TILE_M] = MMT_KNOB("THREAD_TILE_M", "rows of C per thread", 1, 2, 4, 8),
    [THREAD_TILE_N] = MMT_KNOB("THREAD_TILE_N", "columns of C per thread", 1, 2, 4, 8),
    [MATRICES] =
        MMT_KNOB("MATRICES", "products that a block computes at once", 1, 2, 4, 8, 16),
    [TURNS] = MMT_KNOB("TURNS", "products that a team computes one after the other", 1, 2,
                       3, 4, 8, 16),
    [VECTOR] = MMT_KNOB("VECTOR", "elements per load from global memory", 1, 2, 4),
    [AHEAD] = MMT_KNOB("AHEAD",
                       "the next tiles are on their way while two are multiplied", 0, 1),
    [K_UNROLL] = MMT_KNOB("K_UNROLL", "vectors along k that are unrolled", 1, 2, 4),
    [MIN_BLOCKS] = MMT_KNOB("MIN_BLOCKS", "least blocks on a multiprocessor", 1, 2, 3, 4,
                            6, 8, 12, 16),
};

// clang-format off
/* A knob that a row leaves out is 0. Those with vectors of 2 are for 8-byte types. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [MATRICES] = 1,
      [TURNS] = 1, [VECTOR] = 4, [AHEAD] = 1, [K_UNROLL] = 2, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [MATRICES] = 1,
      [TURNS] = 1, [VECTOR] = 4, [AHEAD] = 1, [K_UNROLL] = 2, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 32, [TILE_N] = 64, [TILE_K] = 64, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 1,
      [TURNS] = 1, [VECTOR] = 4, [AHEAD] = 1, [K_UNROLL] = 4, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 8, [MATRICES] = 1,
      [TURNS] = 1, [VECTOR] = 4, [K_UNROLL] = 1, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 2,
      [TURNS] = 1, [VECTOR] = 4, [K_UNROLL] = 4, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 16, [TILE_N] = 16, [TILE_K] = 16, [THREAD_TILE_M] = 2, [THREAD_TILE_N] = 8, [MATRICES] = 8,
      [TURNS] = 1, [VECTOR] = 4, [K_UNROLL] = 4, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 16, [TILE_N] = 16, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 2,
      [TURNS] = 1, [VECTOR] = 4, [K_UNROLL] = 4, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 16, [TILE_N] = 16, [TILE_K] = 16, [THREAD_TILE_M] = 2, [THREAD_TILE_N] = 1, [MATRICES] = 1,
      [TURNS] = 1, [VECTOR] = 4, [AHEAD] = 1, [K_UNROLL] = 4, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 8, [TILE_N] = 8, [TILE_K] = 16, [THREAD_TILE_M] = 2, [THREAD_TILE_N] = 2, [MATRICES] = 8,
      [TURNS] = 1, [VECTOR] = 4, [K_UNROLL] = 2, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 4, [MATRICES] = 1,
      [TURNS] = 1, [VECTOR] = 4, [AHEAD] = 1, [K_UNROLL] = 2, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 4, [MATRICES] = 1,
      [TURNS] = 1, [VECTOR] = 2, [AHEAD] = 1, [K_UNROLL] = 2, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 1,
      [TURNS] = 1, [VECTOR] = 2, [K_UNROLL] = 2, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 1,
      [TURNS] = 1, [VECTOR] = 2, [AHEAD] = 1, [K_UNROLL] = 2, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 2,
      [TURNS] = 1, [VECTOR] = 2, [K_UNROLL] = 2, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 16, [TILE_N] = 16, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 2,
      [TURNS] = 1, [VECTOR] = 2, [AHEAD] = 1, [K_UNROLL] = 1, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 16, [TILE_N] = 16, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 1, [MATRICES] = 1,
      [TURNS] = 1, [VECTOR] = 2, [K_UNROLL] = 4, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [MATRICES] = 1,
      [TURNS] = 4, [VECTOR] = 4, [AHEAD] = 1, [K_UNROLL] = 2, [MIN_BLOCKS] = 2 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 1,
      [TURNS] = 8, [VECTOR] = 4, [AHEAD] = 1, [K_UNROLL] = 2, [MIN_BLOCKS] = 8 },
    { [TILE_M] = 16, [TILE_N] = 16, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 4,
      [TURNS] = 4, [VECTOR] = 4, [AHEAD] = 1, [K_UNROLL] = 2, [MIN_BLOCKS] = 4 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 1,
      [TURNS] = 4, [VECTOR] = 2, [AHEAD] = 1, [K_UNROLL] = 1, [MIN_BLOCKS] = 6 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [MATRICES] = 1,
      [TURNS] = 8, [VECTOR] = 2, [AHEAD] = 1, [K_UNROLL] = 1, [MIN_BLOCKS] = 6 },
    { [TILE_M] = 16, [TILE_N] = 16, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 2, [MATRICES] = 4,
      [TURNS] = 4, [VECTOR] = 2, [AHEAD] = 1, [K_UNROLL] = 1, [MIN_BLOCKS] = 3 },
    { [TILE_M] = 8, [TILE_N] = 8, [TILE_K] = 16, [THREAD_TILE_M] = 2, [THREAD_TILE_N] = 2, [MATRICES] = 8,
      [TURNS] = 1, [VECTOR] = 2, [K_UNROLL] = 2, [MIN_BLOCKS] = 1 },
    { [TILE_M] = 8, [TILE_N] = 8, [TILE_K] = 8, [THREAD_TILE_M] = 1, [THREAD_TILE_N] = 2, [MATRICES] = 4,
      [TURNS] = 1, [VECTOR] = 1, [K_UNROLL] = 1, [MIN_BLOCKS] = 1 },
};
// clang-format on

/* Rows and columns of C: more than 256 bytes of sums, and tensor cores or larger tiles
 * are faster. */
static int largest(mmt_type type)
{
    return 256 / (int) mmt_gemm_real_size(type);
}

static int team(const int *v)
{
    return (v[TILE_M] / v[THREAD_TILE_M]) * (v[TILE_N] / v[THREAD_TILE_N]);
}

/* Bytes of shared memory: a row of a tile is followed by a gap. */
static size_t shared_bytes(const int *v, const struct mmt_variant *variant)
{
    const int gap = mmt_gemm_vector(variant->type);
    const int a =
        variant->trans_a ? v[TILE_K] * (v[TILE_M] + gap) : v[TILE_M] * (v[TILE_K] + gap);
    const int b =
        variant->trans_b ? v[TILE_N] * (v[TILE_K] + gap) : v[TILE_K] * (v[TILE_N] + gap);
    return mmt_gemm_real_size(variant->type) * (size_t) (v[MATRICES] * (a + b));
}

/* 32-bit registers that a thread cannot do without: accumulators, operands of one step,
 * and its part of the tiles that are on their way. */
static unsigned registers(const int *v, mmt_type type)
{
    enum { BESIDES = 24 };
    const int accumulators = v[THREAD_TILE_M] * v[THREAD_TILE_N];
    const int operands = mmt_gemm_vector(type) * (v[THREAD_TILE_M] + v[THREAD_TILE_N]);
    const int parts = (v[TILE_M] + v[TILE_N]) * v[TILE_K] / team(v);
    const int both = v[AHEAD] ? operands + parts : parts > operands ? parts : operands;
    return (unsigned) mmt_gemm_real_size(type) / 4 * (unsigned) (accumulators + both) +
           BESIDES;
}

static const char *check_tile(const int *v, mmt_type type)
{
    if (v[TILE_M] > largest(type) || v[TILE_N] > largest(type))
        return "TILE_M and TILE_N may be at most 256 bytes of sums";
    if (v[TILE_M] % v[THREAD_TILE_M] || v[TILE_N] % v[THREAD_TILE_N])
        return "TILE_M and TILE_N must be multiples of THREAD_TILE_M and THREAD_TILE_N";
    if (v[VECTOR] > mmt_gemm_vector(type))
        return "VECTOR may cover at most 16 bytes";
    if (v[K_UNROLL] * mmt_gemm_vector(type) > v[TILE_K])
        return "K_UNROLL vectors along k are deeper than TILE_K";
    if (v[K_UNROLL] * mmt_gemm_vector(type) * v[THREAD_TILE_M] * v[THREAD_TILE_N] > 1024)
        return "more than 1024 multiplications would be unrolled";
    if ((v[TILE_M] + v[TILE_N]) * v[TILE_K] / team(v) > 256)
        return "more than 256 elements of a tile pass through a thread's registers";
    return NULL;
}

static const char *small_check_device(const int *v, const struct mmt_variant *variant,
                                      const struct mmt_caps *caps)
{
    const int threads = team(v) * v[MATRICES];
    const size_t shared = shared_bytes(v, variant);

    const char *why = check_tile(v, variant->type);
    if (!why && v[TURNS] > 1 && variant->batch_by == MMT_BY_POINTERS)
        why = "of a batch by pointers a team computes one product: TURNS must be 1";
    if (!why)
        why = mmt_gemm_check_device(team(v), v[MATRICES], shared, caps);
    if (!why)
        why = mmt_gemm_check_resident(v[MIN_BLOCKS], threads, registers(v, variant->type),
                                      shared, caps);
    if (!why && caps->kind == MMT_GPU && caps->warp && (unsigned) threads % caps->warp)
        why = "the block has no whole number of warps";
    return why;
}

static int64_t tiles(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[TILE_M]) * mmt_gemm_pieces(p->n, v[TILE_N]);
}

/* Whether half of a tile lies outside the matrix, though there are smaller tiles. */
static bool idle(int knob, int tile, int64_t side)
{
    return tile > knobs[knob].values[0] && tile >= 2 * side;
}

static const char *small_check_problem(const int *v, const mmt_problem *p)
{
    const int64_t side = p->m > p->n ? p->m : p->n;

    if (side > largest(p->type))
        return "the matrices are not small: C has a side above 256 bytes of sums";
    if (p->k > 64 && p->k > 8 * side)
        return "k is long beside C: a kernel that splits it is faster";
    if (idle(TILE_M, v[TILE_M], p->m) || idle(TILE_N, v[TILE_N], p->n))
        return "half of a tile would be idle";
    if (v[MATRICES] * v[TURNS] > 8 * p->batch)
        return "most of MATRICES and TURNS would be idle";
    return NULL;
}

static struct mmt_tile small_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[TILE_M], v[TILE_N], v[TILE_K], v[TILE_K] };
}

static struct mmt_work small_work(const int *v, mmt_type type)
{
    (void) type;
    return (struct mmt_work){
        .m = v[TILE_M],
        .n = v[TILE_N],
        .batches = true,
        .depth = v[TILE_K],
        .step = v[TILE_K],
        .splits = 1,
    };
}

static void small_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                         struct mmt_launches *out)
{
    static const enum mmt_arg args[] = {
        MMT_ARG_M, MMT_ARG_N, MMT_ARG_K, MMT_ARG_ALPHA, MMT_ARG_BETA, MMT_ARG_SCALARS,
        MMT_ARG_A, MMT_ARG_B, MMT_ARG_C, MMT_ARG_BATCH, MMT_ARG_END,
    };
    const struct mmt_variant variant = { .type = p->type,
                                         .trans_a = p->trans_a != 0,
                                         .trans_b = p->trans_b != 0 };
    mmt_gemm_launch(team(v), v[MATRICES], tiles(v, p),
                    mmt_gemm_pieces(p->batch, v[MATRICES] * v[TURNS]), out);
    out->launch[0].args = args;
    out->launch[0].shared = shared_bytes(v, &variant);
    out->launch[0].pdl_waits = true;
}

static struct mmt_alignment small_alignment(const int *v, const mmt_problem *problem)
{
    const unsigned size = (unsigned) mmt_type_size(problem->type);
    const unsigned out = (unsigned) mmt_type_size(problem->out);
    const unsigned vector = (unsigned) v[VECTOR];
    return (struct mmt_alignment){ size * vector, size * vector,
                                   problem->trans_b ? out : out * vector };
}

const struct mmt_template mmt_template_small = {
    .name = "small",
    .what = "small matrices, many to a batch: a tile as deep as k, several to a block",
    .op = MMT_GEMM,
    .types = MMT_ALL_TYPES,
    .yields = MMT_CONVERTED_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU,
    .file = "small.cl",
    .helpers = { "vectors.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = small_check_device,
    .check_problem = small_check_problem,
    .tile = small_tile,
    .work = small_work,
    .launch = small_launch,
    .alignment = small_alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
