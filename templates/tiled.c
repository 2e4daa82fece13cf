/* The knobs of tiled.cl, in this order. */
#include "templates/gemm.h"

enum { TILE, SHARED_LAYOUT, WORK, WORK_ALONG, UNROLL_K, NUM_KNOBS };
enum { PLAIN, PAD, SWAP, PAD_BOTH, PAD_ALIGNED, SWIZZLE };
enum { ROWS, COLUMNS };

static const char *const layouts[] = { "plain",    "pad",         "swap",
                                       "pad_both", "pad_aligned", "swizzle" };
static const char *const directions[] = { "rows", "columns" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [TILE] = MMT_KNOB("TILE", "rows and columns of C per block, and depth of one pass", 8,
                      16, 32),
    [SHARED_LAYOUT] = { "SHARED_LAYOUT",
                        "how the tile of op(B) evades bank conflicts",
                        6,
                        { PLAIN, PAD, SWAP, PAD_BOTH, PAD_ALIGNED, SWIZZLE },
                        layouts },
    [WORK] = MMT_KNOB("WORK", "elements of C per thread", 1, 2, 4, 8),
    [WORK_ALONG] = { "WORK_ALONG",
                     "a thread's elements of C lie in different",
                     2,
                     { ROWS, COLUMNS },
                     directions },
    [UNROLL_K] = MMT_KNOB("UNROLL_K", "steps of the inner loop that are written out", 1,
                          2, 4, 8, 16, 32),
};

// clang-format off
/* A knob that a row leaves out is 0. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [TILE] = 16, [SHARED_LAYOUT] = PAD, [WORK] = 4, [WORK_ALONG] = ROWS, [UNROLL_K] = 16 },
    { [TILE] = 32, [SHARED_LAYOUT] = SWAP, [WORK] = 8, [WORK_ALONG] = ROWS, [UNROLL_K] = 32 },
    { [TILE] = 32, [SHARED_LAYOUT] = SWAP, [WORK] = 4, [WORK_ALONG] = ROWS, [UNROLL_K] = 8 },
    { [TILE] = 32, [SHARED_LAYOUT] = PAD, [WORK] = 4, [WORK_ALONG] = ROWS, [UNROLL_K] = 8 },
    { [TILE] = 32, [SHARED_LAYOUT] = PLAIN, [WORK] = 4, [WORK_ALONG] = ROWS, [UNROLL_K] = 8 },
    { [TILE] = 32, [SHARED_LAYOUT] = PLAIN, [WORK] = 1, [WORK_ALONG] = ROWS, [UNROLL_K] = 1 },
    { [TILE] = 16, [SHARED_LAYOUT] = PLAIN, [WORK] = 1, [WORK_ALONG] = ROWS, [UNROLL_K] = 16 },
    { [TILE] = 8, [SHARED_LAYOUT] = SWAP, [WORK] = 1, [WORK_ALONG] = ROWS, [UNROLL_K] = 8 },
    { [TILE] = 32, [SHARED_LAYOUT] = PAD, [WORK] = 4, [WORK_ALONG] = COLUMNS, [UNROLL_K] = 8 },
    { [TILE] = 32, [SHARED_LAYOUT] = PAD_ALIGNED, [WORK] = 4, [WORK_ALONG] = ROWS, [UNROLL_K] = 8 },
};
// clang-format on

static int threads_x(const int *v)
{
    return v[WORK_ALONG] == COLUMNS ? v[TILE] / v[WORK] : v[TILE];
}

static int threads_y(const int *v)
{
    return v[WORK_ALONG] == ROWS ? v[TILE] / v[WORK] : v[TILE];
}

static int64_t blocks(const int *v, const mmt_problem *problem)
{
    return mmt_gemm_pieces(problem->m, v[TILE]) * mmt_gemm_pieces(problem->n, v[TILE]);
}

static size_t shared_bytes(const int *v, mmt_type type)
{
    const int vector = 16 / (int) mmt_type_size(type);
    const int spare = v[SHARED_LAYOUT] == PAD           ? 1
                      : v[SHARED_LAYOUT] == PAD_BOTH    ? 2
                      : v[SHARED_LAYOUT] == PAD_ALIGNED ? vector
                                                        : 0;

    return (size_t) v[TILE] * (2 * v[TILE] + spare) * mmt_type_size(type);
}

static const char *tiled_check_device(const int *v, const struct mmt_variant *variant,
                                      const struct mmt_caps *caps)
{
    if (v[UNROLL_K] > v[TILE])
        return "UNROLL_K is more than the TILE steps that the inner loop has";
    return mmt_gemm_check_device(threads_x(v), threads_y(v),
                                 shared_bytes(v, variant->type), caps);
}

static const char *tiled_check_problem(const int *v, const mmt_problem *problem)
{
    return mmt_gemm_check_problem(blocks(v, problem));
}

static struct mmt_tile tiled_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[TILE], v[TILE], v[TILE], v[TILE] };
}

static struct mmt_work tiled_work(const int *v, mmt_type type)
{
    (void) type;
    return (struct mmt_work){ .depth = v[TILE], .step = v[TILE], .splits = 1 };
}

static void tiled_launch(const int *v, const mmt_problem *problem,
                         const struct mmt_caps *caps, struct mmt_launches *out)
{
    mmt_gemm_launch(threads_x(v), threads_y(v), blocks(v, problem), problem->batch, out);
}

const struct mmt_template mmt_template_tiled = {
    .name = "tiled",
    .what = "square tiles in shared memory, with the published cures of bank conflicts",
    .op = MMT_GEMM,
    .types = MMT_PLAIN_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU,
    .last_resort = true,
    .file = "tiled.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = tiled_check_device,
    .check_problem = tiled_check_problem,
    .tile = tiled_tile,
    .work = tiled_work,
    .launch = tiled_launch,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
