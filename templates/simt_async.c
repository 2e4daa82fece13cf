/* The knobs of simt_async.cu, in the order in which that file names them. */
#include "templates/simt.h"

static const struct mmt_knob knobs[RING_KNOBS] = { MMT_SIMT_RING_KNOBS };

// clang-format off
/* A knob that a row leaves out is 0. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 8, [THREAD_TILE_M] = 16, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 4 },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 8, [THREAD_TILE_M] = 16, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = STREAM_K, [STAGES] = 4 },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 8, [THREAD_TILE_M] = 16, [THREAD_TILE_N] = 8, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = COLUMNS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = DOWN,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3 },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 16, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = DOWN,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 2,
      [WARP_N] = 16, [LANES] = COLUMNS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = DOWN,
      [RASTER_GROUP] = 16, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 2,
      [WARP_N] = 16, [LANES] = COLUMNS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3 },
    { [TILE_M] = 64, [TILE_N] = 128, [TILE_K] = 8, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 2,
      [WARP_N] = 16, [LANES] = COLUMNS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 4 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 16, [THREAD_TILE_M] = 2, [THREAD_TILE_N] = 4, [WARP_M] = 16,
      [WARP_N] = 2, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = DOWN,
      [RASTER_GROUP] = 16, [MIN_BLOCKS] = 4, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 5 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 8, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 4, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 1, [REGISTER_STAGES] = 2, [FMA_ORDER] = ACROSS,
      [RASTER_GROUP] = 1, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 5 },
    { [TILE_M] = 32, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_ON,
      [RASTER_GROUP] = 16, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 4 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 8, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 2, [REGISTER_STAGES] = 1, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 1, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 2 },
};
// clang-format on

/* Bytes of shared memory. */
static size_t shared_bytes(const int *v, mmt_type type)
{
    return mmt_type_size(type) * v[STAGES] * v[TILE_K] * (v[TILE_M] + v[TILE_N]);
}

/* 32-bit registers that a thread cannot do without: accumulators, operands, and what a
 * loop takes besides. */
static unsigned registers(const int *v, mmt_type type)
{
    enum { BESIDES = 26 };
    return mmt_simt_registers(v, type) + BESIDES;
}

static const char *simt_async_check_device(const int *v,
                                           const struct mmt_variant *variant,
                                           const struct mmt_caps *caps)
{
    const mmt_type type = variant->type;
    const char *why = mmt_simt_check_shape(v, type);
    if (caps->sm < 80)
        why = "asynchronous copies to shared memory need sm_80";
    if (!why && mmt_simt_unrolled(v, v[TILE_K]) > 4096)
        why = "TILE_K * THREAD_TILE_M * THREAD_TILE_N may be at most 4096, or the loop "
              "outgrows the "
              "instruction cache";
    if (!why)
        why = mmt_simt_check_threads(v, caps);
    if (!why && mmt_simt_warp(v) != 32)
        why = "WARP_M * WARP_N must be 32, a warp of CUDA";
    if (!why)
        why = mmt_simt_check_resident(v, shared_bytes(v, type), registers(v, type), caps);
    return why;
}

static void simt_async_resolve(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    mmt_simt_resolve(v, knobs, v[STAGES], shared_bytes(v, p->type), registers(v, p->type),
                     p, caps);
}

static void simt_async_launch(const int *v, const mmt_problem *p,
                              const struct mmt_caps *caps, struct mmt_launches *out)
{
    mmt_simt_launch(v, p, shared_bytes(v, p->type), caps, out);
}

/* An operand whose memory runs along k is copied element by element. */
static struct mmt_alignment simt_async_alignment(const int *v, const mmt_problem *problem)
{
    enum { WHOLE = 16 };
    const unsigned size = (unsigned) mmt_type_size(problem->type);
    return (struct mmt_alignment){ problem->trans_a ? WHOLE : size,
                                   problem->trans_b ? size : WHOLE,
                                   size * (unsigned) v[C_VECTOR] };
}

const struct mmt_template mmt_template_simt_async = {
    .name = "simt_async",
    .what = "register tiles fed by asynchronous copies, without tensor cores",
    .op = MMT_GEMM,
    .types = MMT_PLAIN_TYPES,
    .fused = true,
    .dialects = MMT_CUDA_CXX,
    .preferred_on = MMT_GPU,
    .rates = { .slowed = 1.28,
               .feeding = 0.19,
               .l2 = 17.5,
               .latency = 870,
               .around = 1330,
               .stored = 0.23,
               .launch = 1400,
               .launch_again = 3830,
               .unaligned = 1.3 },
    .file = "simt_async.cu",
    .helpers = { "ptx.h", "split_k.h", "grid.h", "tiles.h", "stream_k.h", "vectors.h",
                 "register_tile.h" },
    .knobs = knobs,
    .num_knobs = RING_KNOBS,
    .resolve = simt_async_resolve,
    .check_device = simt_async_check_device,
    .check_problem = mmt_simt_check_problem,
    .tile = mmt_simt_tile,
    .work = mmt_simt_work,
    .launch = simt_async_launch,
    .alignment = simt_async_alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};
