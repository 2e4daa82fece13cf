/* The knobs of skinny.cl: their values, starting points, and how the kernel is launched.
 */
#include "templates/skinny.h"

static const char *const sides[] = { "rows", "columns", "either" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [SHORT] = { "SHORT", "what C has few of", 3, { ROWS, COLUMNS, EITHER }, sides },
    [THREAD_TILE_SHORT] = MMT_KNOB_AUTO(
        "THREAD_TILE_SHORT",
        "elements of C per thread, short side; 0: all that fit, or as suits a block left",
        0, 1, 2, 4, 8, 16),
    [THREAD_TILE_LONG] = MMT_KNOB_AUTO(
        "THREAD_TILE_LONG", "elements of C per thread, long side; 0: as suits it", 0, 1,
        2, 4, 8, 16),
    [THREAD_TILE_K] =
        MMT_KNOB_AUTO("THREAD_TILE_K", "steps of k per thread at a time; 0: as suits it",
                      0, 1, 2, 4, 8, 16),
    [THREADS_LONG] =
        MMT_KNOB_AUTO("THREADS_LONG", "threads along the long side; 0: as suits it", 0, 1,
                      2, 4, 8, 16, 32, 64, 128, 256),
    [THREADS_K] = MMT_KNOB_AUTO("THREADS_K", "threads along k; 0: as suits it", 0, 1, 2,
                                4, 8, 16, 32, 64, 128, 256),
    [VECTOR] = MMT_KNOB("VECTOR", "elements of the long operand per load", 1, 2, 4),
    [TILE_K] = MMT_KNOB_AUTO(
        "TILE_K", "depth of the short operand in shared memory; 0: as suits it", 0, 64,
        128, 256, 512, 1024, 2048, 4096),
    [SPLIT_K] = MMT_GEMM_KNOB_SPLITS(
        "splits of k at most, each for blocks of its own; 0: as suits it", 1, true, 0, 1,
        2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),
    [MIN_BLOCKS] = MMT_KNOB_AUTO(
        "MIN_BLOCKS", "least blocks on a multiprocessor; 0: as its registers serve best",
        0, 1, 2, 3, 4, 6, 8),
    [SUBGROUP] = { "SUBGROUP",
                   "threads of a subgroup that add up by shuffles; 0: through shared "
                   "memory",
                   5,
                   { 0, 8, 16, 32, 64 },
                   .younger = true },
};

// clang-format off
/* A knob that a row leaves out is 0, which is auto. The first two are for a CPU. Two
 * leave all but the loads to the problem, one all but those and the blocks, one all but the work of a
 * thread. Of the others, timed on an H100 in f32, one is within 2 % of the best of 70 on average. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [SHORT] = EITHER, [THREAD_TILE_SHORT] = 1, [THREAD_TILE_LONG] = 8, [THREAD_TILE_K] = 4, [THREADS_LONG] = 4,
      [THREADS_K] = 1, [VECTOR] = 4, [TILE_K] = 1024, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_SHORT] = 1, [THREAD_TILE_LONG] = 8, [THREAD_TILE_K] = 4, [THREADS_LONG] = 4,
      [THREADS_K] = 1, [VECTOR] = 2, [TILE_K] = 1024, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [VECTOR] = 2 },
    { [SHORT] = EITHER, [VECTOR] = 4 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 2, [THREAD_TILE_K] = 8, [VECTOR] = 2 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 4, [THREAD_TILE_K] = 4, [THREADS_LONG] = 8, [THREADS_K] = 32,
      [VECTOR] = 2, [TILE_K] = 512, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 2, [THREAD_TILE_K] = 8, [THREADS_LONG] = 32, [THREADS_K] = 8,
      [VECTOR] = 2, [TILE_K] = 512, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 2, [THREAD_TILE_K] = 16, [THREADS_LONG] = 4, [THREADS_K] = 32,
      [VECTOR] = 2, [TILE_K] = 2048, [MIN_BLOCKS] = 2 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 2, [THREAD_TILE_K] = 8, [THREADS_LONG] = 8, [THREADS_K] = 16,
      [VECTOR] = 2, [TILE_K] = 4096, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 2, [THREAD_TILE_K] = 8, [THREADS_LONG] = 32, [THREADS_K] = 4,
      [VECTOR] = 2, [TILE_K] = 512, [MIN_BLOCKS] = 4 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 4, [THREAD_TILE_K] = 16, [THREADS_LONG] = 4, [THREADS_K] = 64,
      [VECTOR] = 4, [TILE_K] = 2048, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 4, [THREAD_TILE_K] = 16, [THREADS_LONG] = 32, [THREADS_K] = 8,
      [VECTOR] = 4, [TILE_K] = 256, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 4, [THREAD_TILE_K] = 8, [THREADS_LONG] = 8, [THREADS_K] = 32,
      [VECTOR] = 4, [TILE_K] = 1024, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 4, [THREAD_TILE_K] = 8, [THREADS_LONG] = 32, [THREADS_K] = 8,
      [VECTOR] = 4, [TILE_K] = 512, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 2, [THREAD_TILE_K] = 8, [THREADS_LONG] = 4, [THREADS_K] = 32,
      [VECTOR] = 2, [TILE_K] = 512, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 2, [THREAD_TILE_K] = 8, [THREADS_LONG] = 16, [THREADS_K] = 16,
      [VECTOR] = 1, [TILE_K] = 256, [MIN_BLOCKS] = 3 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 2, [THREAD_TILE_K] = 16, [THREADS_LONG] = 8, [THREADS_K] = 32,
      [VECTOR] = 2, [TILE_K] = 512, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 4, [THREAD_TILE_K] = 16, [THREADS_LONG] = 8, [THREADS_K] = 32,
      [VECTOR] = 4, [TILE_K] = 2048, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 4, [THREAD_TILE_K] = 16, [THREADS_LONG] = 32, [THREADS_K] = 8,
      [VECTOR] = 1, [TILE_K] = 512, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 1, [THREAD_TILE_K] = 16, [THREADS_LONG] = 2, [THREADS_K] = 64,
      [VECTOR] = 2, [TILE_K] = 1024, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [THREAD_TILE_LONG] = 2, [THREAD_TILE_K] = 4, [THREADS_LONG] = 8, [THREADS_K] = 32,
      [VECTOR] = 2, [TILE_K] = 256, [MIN_BLOCKS] = 1 },
    { [SHORT] = EITHER, [VECTOR] = 2, [MIN_BLOCKS] = 1 },
};
// clang-format on

static void skinny_resolve(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    mmt_skinny_resolve(v, knobs, p, caps);
}

static const char *skinny_check_problem(const int *v, const mmt_problem *p)
{
    if (short_side(v, p) > LONGEST_SHORT)
        return rows_are_short(v, p) ? "m is more than 16: C has too many rows"
                                    : "n is more than 16: C has too many columns";
    if (v[THREAD_TILE_SHORT] >= 4 * short_side(v, p))
        return "three quarters of THREAD_TILE_SHORT would be idle";
    return mmt_gemm_check_problem(tiles(v, p));
}

static struct mmt_tile skinny_tile(const int *v, const mmt_problem *p)
{
    const int longer = v[THREADS_LONG] * v[THREAD_TILE_LONG];
    const bool rows = rows_are_short(v, p);
    return (struct mmt_tile){ rows ? v[THREAD_TILE_SHORT] : longer,
                              rows ? longer : v[THREAD_TILE_SHORT],
                              v[THREADS_K] * v[THREAD_TILE_K], v[TILE_K] };
}

static struct mmt_work skinny_work(const int *v, mmt_type type)
{
    (void) type;
    return (struct mmt_work){
        .depth = v[THREADS_K] * v[THREAD_TILE_K],
        .step = v[TILE_K],
        .splits = v[SPLIT_K],
    };
}

static void skinny_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                          struct mmt_launches *out)
{
    static const enum mmt_arg args[] = { MMT_ARG_M,         MMT_ARG_N,    MMT_ARG_K,
                                         MMT_ARG_ALPHA,     MMT_ARG_BETA, MMT_ARG_SCALARS,
                                         MMT_ARG_A,         MMT_ARG_B,    MMT_ARG_C,
                                         MMT_ARG_WORKSPACE, MMT_ARG_END };
    static const enum mmt_arg add_args[] = {
        MMT_ARG_M,       MMT_ARG_N, MMT_ARG_SPLITS,    MMT_ARG_ALPHA, MMT_ARG_BETA,
        MMT_ARG_SCALARS, MMT_ARG_C, MMT_ARG_WORKSPACE, MMT_ARG_END,
    };
    const size_t size = mmt_gemm_real_size(p->type);
    const int64_t cells = p->m * p->n, filled = filled_splits(v, p->k);
    const int adders = MMT_GEMM_ADDERS / mmt_gemm_sharers((int) filled);

    *out = (struct mmt_launches){ .count = filled > 1 ? 2 : 1 };
    out->launch[0] = (struct mmt_launch){
        .entry = "mmt_gemm",
        .args = args,
        .grid = { (unsigned) tiles(v, p), (unsigned) filled, (unsigned) p->batch },
        .block = { (unsigned) threads(v), 1, 1 },
        .shared = size * (size_t) pool(v),
        .pdl_waits = true,
    };
    if (filled == 1)
        return;
    out->launch[1] = (struct mmt_launch){
        .entry = "add_parts",
        .args = add_args,
        .grid = { (unsigned) mmt_gemm_pieces(cells, adders), 1, (unsigned) p->batch },
        .block = { MMT_GEMM_ADDERS, 1, 1 },
        .splits = (int) filled,
        .pdl_waits = true,
    };
    out->workspace = size * (size_t) (filled * p->batch * cells);
}

static struct mmt_alignment skinny_alignment(const int *v, const mmt_problem *problem)
{
    const unsigned size = (unsigned) mmt_type_size(problem->type);
    const unsigned vector = size * (unsigned) v[VECTOR];
    return (struct mmt_alignment){
        .a = rows_are_short(v, problem) ? size : vector,
        .b = rows_are_short(v, problem) ? vector : size,
        .c = (unsigned) mmt_type_size(problem->out),
    };
}

const struct mmt_template mmt_template_skinny = {
    .name = "skinny",
    .what = "one side of C is short: reads the long operand once, as fast as memory does",
    .op = MMT_GEMM,
    .types = MMT_ALL_TYPES,
    .yields = MMT_CONVERTED_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU | MMT_CPU,
    .file = "skinny.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .resolve = skinny_resolve,
    .cycles = mmt_skinny_cycles,
    .check_device = mmt_skinny_check_device,
    .check_problem = skinny_check_problem,
    .tile = skinny_tile,
    .work = skinny_work,
    .launch = skinny_launch,
    .alignment = skinny_alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
