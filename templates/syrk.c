/* The knobs of syrk.cl, in this order. */
#include "templates/ops.h"

enum { TILE, WORK, UNROLL_K, NUM_KNOBS };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [TILE] = MMT_KNOB("TILE", "rows and columns of C per block, and depth of one pass", 1,
                      4, 8, 16, 32),
    [WORK] = MMT_KNOB("WORK", "elements of C per thread, in one column", 1, 2, 4, 8),
    [UNROLL_K] = MMT_KNOB("UNROLL_K", "steps of the inner loop that are written out", 1,
                          4, 8, 16, 32),
};

/* The last ones are for devices whose blocks have few threads. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [TILE] = 32, [WORK] = 8, [UNROLL_K] = 32 },
    { [TILE] = 32, [WORK] = 4, [UNROLL_K] = 8 },
    { [TILE] = 16, [WORK] = 4, [UNROLL_K] = 16 },
    { [TILE] = 16, [WORK] = 1, [UNROLL_K] = 4 },
    { [TILE] = 8, [WORK] = 2, [UNROLL_K] = 8 },
    { [TILE] = 8, [WORK] = 8, [UNROLL_K] = 1 },
    { [TILE] = 4, [WORK] = 4, [UNROLL_K] = 4 },
    { [TILE] = 1, [WORK] = 1, [UNROLL_K] = 1 },
};

static const enum mmt_arg args[] = {
    MMT_ARG_N,       MMT_ARG_K, MMT_ARG_ALPHA, MMT_ARG_BETA,
    MMT_ARG_SCALARS, MMT_ARG_A, MMT_ARG_C,     MMT_ARG_END,
};

/* Tiles on and below the diagonal. */
static int64_t blocks(const int *v, const mmt_problem *problem)
{
    const int64_t tiles = mmt_gemm_pieces(problem->n, v[TILE]);
    return tiles * (tiles + 1) / 2;
}

static const char *syrk_check_device(const int *v, const struct mmt_variant *variant,
                                     const struct mmt_caps *caps)
{
    const size_t elements = 2 * (size_t) v[TILE] * (size_t) (v[TILE] + 1);
    if (v[WORK] > v[TILE])
        return "a thread has more rows than a tile";
    if (v[UNROLL_K] > v[TILE])
        return "more steps are unrolled than a tile is deep";
    return mmt_gemm_check_device(v[TILE], v[TILE] / v[WORK],
                                 elements * mmt_type_size(variant->type), caps);
}

static const char *syrk_check_problem(const int *v, const mmt_problem *problem)
{
    return mmt_gemm_check_problem(blocks(v, problem));
}

static struct mmt_tile syrk_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ 1, v[TILE], v[TILE], 1 };
}

static struct mmt_work syrk_work(const int *v, mmt_type type)
{
    (void) type;
    return (struct mmt_work){ .depth = v[TILE], .step = v[TILE], .splits = 1 };
}

static void syrk_launch(const int *v, const mmt_problem *problem,
                        const struct mmt_caps *caps, struct mmt_launches *out)
{
    *out = (struct mmt_launches){ 0 };
    mmt_op_launch("mmt_syrk", args, v[TILE], v[TILE] / v[WORK], blocks(v, problem),
                  problem->batch, out);
}

const struct mmt_template mmt_template_syrk = {
    .name = "syrk",
    .what =
        "the lower triangle of a symmetric product: square tiles through shared memory",
    .op = MMT_SYRK,
    .types = MMT_PLAIN_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU | MMT_CPU,
    .file = "syrk.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = syrk_check_device,
    .check_problem = syrk_check_problem,
    .tile = syrk_tile,
    .work = syrk_work,
    .launch = syrk_launch,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
