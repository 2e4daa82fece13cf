/* The knobs of small_k.cl: their values, starting points, and how the kernel is
 * launched. */
#include "templates/small_k.h"

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [THREADS_M] =
        MMT_KNOB_AUTO("THREADS_M", "threads of a block down the tile; 0: as suits it", 0,
                      1, 2, 4, 8, 16),
    [THREADS_N] =
        MMT_KNOB_AUTO("THREADS_N", "threads of a block across the tile; 0: as suits it",
                      0, 16, 32, 64, 128),
    [THREAD_TILE_M] = MMT_KNOB_AUTO(
        "THREAD_TILE_M", "rows of C per thread; 0: as suits it", 0, 1, 2, 4, 8, 16),
    [THREAD_TILE_N] = MMT_KNOB_AUTO(
        "THREAD_TILE_N", "columns of C per thread; 0: as suits it", 0, 1, 2, 4, 8),
    [C_VECTOR] = MMT_KNOB("C_VECTOR", "elements of C per global store", 1, 2, 4),
    [TILE_K] = MMT_KNOB_AUTO("TILE_K", "steps of k in shared memory; 0: as suits it", 0,
                             4, 8, 16),
};

/* The first two leave all but the stores to the problem. */
// clang-format off
/* A knob that a row leaves out is 0. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [C_VECTOR] = 4 },
    { [C_VECTOR] = 2 },
    { [THREADS_M] = 8, [THREADS_N] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [C_VECTOR] = 4, [TILE_K] = 8 },
    { [THREADS_M] = 8, [THREADS_N] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [C_VECTOR] = 2, [TILE_K] = 4 },
    { [THREADS_M] = 4, [THREADS_N] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [C_VECTOR] = 4, [TILE_K] = 4 },
    { [THREADS_M] = 16, [THREADS_N] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [C_VECTOR] = 4,
      [TILE_K] = 8 },
    { [THREADS_M] = 4, [THREADS_N] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 2, [C_VECTOR] = 2, [TILE_K] = 8 },
    { [THREADS_M] = 8, [THREADS_N] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 2, [C_VECTOR] = 2, [TILE_K] = 8 },
    { [THREADS_M] = 8, [THREADS_N] = 32, [THREAD_TILE_M] = 16, [THREAD_TILE_N] = 4, [C_VECTOR] = 2,
      [TILE_K] = 4 },
    { [THREADS_M] = 4, [THREADS_N] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 4, [C_VECTOR] = 4, [TILE_K] = 8 },
    { [THREADS_M] = 16, [THREADS_N] = 16, [THREAD_TILE_M] = 2, [THREAD_TILE_N] = 4, [C_VECTOR] = 4,
      [TILE_K] = 8 },
    { [THREADS_M] = 4, [THREADS_N] = 32, [THREAD_TILE_M] = 2, [THREAD_TILE_N] = 2, [C_VECTOR] = 1, [TILE_K] = 8 },
    { [THREADS_M] = 4, [THREADS_N] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 1, [C_VECTOR] = 1, [TILE_K] = 4 },
    { [THREADS_M] = 4, [THREADS_N] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 2, [C_VECTOR] = 2,
      [TILE_K] = 16 },
    { [THREADS_M] = 8, [THREADS_N] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 2, [C_VECTOR] = 2,
      [TILE_K] = 16 },
};
// clang-format on

static int64_t tiles(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, tile_m(v)) * mmt_gemm_pieces(p->n, tile_n(v));
}

static void small_k_resolve(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    mmt_small_k_resolve(v, knobs, p, caps);
}

static const char *small_k_check_problem(const int *v, const mmt_problem *p)
{
    if (p->k > DEEPEST)
        return "k is more than 16: there is more to do than writing C";
    return mmt_gemm_check_problem(tiles(v, p));
}

static struct mmt_tile small_k_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ tile_m(v), tile_n(v), v[TILE_K], v[TILE_K] };
}

static struct mmt_work small_k_work(const int *v, mmt_type type)
{
    (void) type;
    return (struct mmt_work){ .depth = v[TILE_K], .step = v[TILE_K], .splits = 1 };
}

static void small_k_launch(const int *v, const mmt_problem *p,
                           const struct mmt_caps *caps, struct mmt_launches *out)
{
    (void) caps;
    mmt_gemm_launch(threads(v), 1, tiles(v, p), p->batch, out);
    out->launch[0].args = mmt_gemm_fused_args;
    out->launch[0].shared = shared_bytes(v, mmt_gemm_real_size(p->type));
    out->launch[0].pdl_waits = true;
}

static struct mmt_alignment small_k_alignment(const int *v, const mmt_problem *problem)
{
    const unsigned size = (unsigned) mmt_type_size(problem->type);
    const unsigned out = (unsigned) mmt_type_size(problem->out);
    return (struct mmt_alignment){ size, size, out * (unsigned) v[C_VECTOR] };
}

/* The tile, which helpers ask for before the kernel's own file stands there. */
static void small_k_define(const int *v, const struct mmt_variant *variant,
                           struct mmt_text *text)
{
    (void) variant;
    mmt_text_addf(text, "#define TILE_M %d\n#define TILE_N %d\n", tile_m(v), tile_n(v));
    mmt_text_add(text, "#define SPLIT_K 1\n#define RASTER_GROUP 1\n");
}

const struct mmt_template mmt_template_small_k = {
    .name = "small_k",
    .what = "k is small: writes C once, as fast as memory does",
    .op = MMT_GEMM,
    .types = MMT_ALL_TYPES,
    .yields = MMT_CONVERTED_TYPES,
    .fused = true,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU,
    .file = "small_k.cl",
    .helpers = { "grid.h", "tiles.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .resolve = small_k_resolve,
    .cycles = mmt_small_k_cycles,
    .check_device = mmt_small_k_check_device,
    .check_problem = small_k_check_problem,
    .tile = small_k_tile,
    .work = small_k_work,
    .launch = small_k_launch,
    .alignment = small_k_alignment,
    .define = small_k_define,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};
