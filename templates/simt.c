/* The knobs of simt.cl, in the order in which that file names them. */
#include "templates/simt.h"

enum { A_VECTOR = STAGES + 1, B_VECTOR, SHARED_LAYOUT, K_UNROLL, NUM_KNOBS };

enum { PLAIN, PAD, SWAP, SWIZZLE };

static const char *const layout_names[] = { "plain", "pad", "swap", "swizzle" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [TILE_M] =
        MMT_KNOB("TILE_M", "rows of C per block", 16, 32, 48, 64, 96, 128, 192, 256),
    [TILE_N] =
        MMT_KNOB("TILE_N", "columns of C per block", 16, 32, 48, 64, 96, 128, 192, 256),
    [TILE_K] =
        MMT_KNOB("TILE_K", "depth of one pass through shared memory", 4, 8, 16, 32, 64),
    [THREAD_TILE_M] =
        MMT_KNOB("THREAD_TILE_M", "rows of C per thread", 1, 2, 4, 6, 8, 12, 16),
    [THREAD_TILE_N] =
        MMT_KNOB("THREAD_TILE_N", "columns of C per thread", 1, 2, 4, 6, 8, 12, 16),
    MMT_SIMT_KNOBS,
    [STAGES] = MMT_KNOB("STAGES", "tiles of each operand in shared memory", 1, 2),
    [A_VECTOR] = MMT_KNOB("A_VECTOR", "elements of A per global load", 1, 2, 4),
    [B_VECTOR] = MMT_KNOB("B_VECTOR", "elements of B per global load", 1, 2, 4),
    [SHARED_LAYOUT] = { "SHARED_LAYOUT",
                        "how a transposed tile evades bank conflicts",
                        4,
                        { PLAIN, PAD, SWAP, SWIZZLE },
                        layout_names },
    [K_UNROLL] =
        MMT_KNOB("K_UNROLL", "steps along k that are unrolled", 1, 2, 4, 8, 16, 32),
};

// clang-format off
/* A knob that a row leaves out is 0, and SPLIT_K 0 is auto. Those with vectors of 2 are
 * for double precision. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 8, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = PLAIN, [STAGES] = 2, [K_UNROLL] = 8 },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = DOWN,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 8, [THREAD_TILE_M] = 16, [THREAD_TILE_N] = 8, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = COLUMNS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = DOWN,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 8 },
    { [TILE_M] = 128, [TILE_N] = 256, [TILE_K] = 16, [THREAD_TILE_M] = 16, [THREAD_TILE_N] = 8, [WARP_M] = 2,
      [WARP_N] = 16, [LANES] = COLUMNS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = ACROSS,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 1, [K_UNROLL] = 16 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 1, [FMA_ORDER] = DOWN,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 64, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 2,
      [WARP_N] = 16, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = ACROSS,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 1, [K_UNROLL] = 16 },
    { [TILE_M] = 128, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 4, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [WARP_M] = 8,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 2, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 1, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 16, [THREAD_TILE_N] = 8, [WARP_M] = 2,
      [WARP_N] = 16, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = ACROSS,
      [RASTER_GROUP] = 16, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 1, [K_UNROLL] = 16 },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = ACROSS,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = STREAM_K, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = PLAIN, [STAGES] = 2, [K_UNROLL] = 8 },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 8, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = STREAM_K, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = PLAIN, [STAGES] = 2, [K_UNROLL] = 8 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 1, [FMA_ORDER] = DOWN,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = STREAM_K, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 64, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 2,
      [WARP_N] = 16, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = ACROSS,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = STREAM_K, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 1, [K_UNROLL] = 16 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 4, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = DOWN,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 64, [TILE_N] = 32, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = DOWN,
      [RASTER_GROUP] = 16, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 8 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 32, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 1, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 64, [THREAD_TILE_M] = 2, [THREAD_TILE_N] = 4, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = ROWS_ON,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 4, [B_VECTOR] = 4,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 32 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 2,
      [WARP_N] = 16, [LANES] = COLUMNS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 2, [B_VECTOR] = 2,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 2, [B_VECTOR] = 2,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 1, [K_UNROLL] = 16 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 2, [B_VECTOR] = 2,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 2,
      [WARP_N] = 16, [LANES] = COLUMNS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = STREAM_K, [A_VECTOR] = 2, [B_VECTOR] = 2,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 8, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 2, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = STREAM_K, [A_VECTOR] = 2, [B_VECTOR] = 2,
      [SHARED_LAYOUT] = SWIZZLE, [STAGES] = 2, [K_UNROLL] = 16 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 8, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [WARP_M] = 8,
      [WARP_N] = 8, [LANES] = PAIRS, [C_VECTOR] = 2, [REGISTER_STAGES] = 1, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 2, [B_VECTOR] = 2,
      [SHARED_LAYOUT] = PAD, [STAGES] = 1, [K_UNROLL] = 8 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 8, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [WARP_M] = 8,
      [WARP_N] = 8, [LANES] = ROWS, [C_VECTOR] = 1, [REGISTER_STAGES] = 1, [FMA_ORDER] = ROWS_ON,
      [RASTER_GROUP] = 1, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 1, [B_VECTOR] = 1,
      [SHARED_LAYOUT] = PAD, [STAGES] = 1, [K_UNROLL] = 4 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 8, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = ROWS, [C_VECTOR] = 1, [REGISTER_STAGES] = 1, [FMA_ORDER] = ROWS_ON,
      [RASTER_GROUP] = 1, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 1, [B_VECTOR] = 1,
      [SHARED_LAYOUT] = PAD, [STAGES] = 1, [K_UNROLL] = 4 },
    { [TILE_M] = 16, [TILE_N] = 16, [TILE_K] = 8, [THREAD_TILE_M] = 2, [THREAD_TILE_N] = 2, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = ROWS, [C_VECTOR] = 1, [REGISTER_STAGES] = 1, [FMA_ORDER] = ROWS_ON,
      [RASTER_GROUP] = 1, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [A_VECTOR] = 1, [B_VECTOR] = 1,
      [SHARED_LAYOUT] = PAD, [STAGES] = 1, [K_UNROLL] = 4 },
};
// clang-format on

/* Bytes of shared memory. */
static size_t shared_bytes(const int *v, mmt_type type, bool trans_a, bool trans_b)
{
    const int pad = v[SHARED_LAYOUT] == PAD ? mmt_gemm_vector(type) : 0;
    const int line_a = v[TILE_M] + (trans_a ? 0 : pad);
    const int line_b = v[TILE_N] + (trans_b ? pad : 0);
    return mmt_gemm_real_size(type) * v[STAGES] * v[TILE_K] * (line_a + line_b);
}

/* Global loads of one operand by a thread for one tile. */
static int loads(const int *v, int tile, int vector)
{
    const int threads = mmt_simt_threads(v);
    return (tile * v[TILE_K] / vector + threads - 1) / threads;
}

/* 32-bit registers that a thread cannot do without: accumulators, operands, the next
 * tile, the addresses it comes from, and what a loop takes besides. */
static unsigned registers(const int *v, mmt_type type)
{
    enum { BESIDES = 14, ADDRESS = 2 };
    const int words = (int) mmt_gemm_real_size(type) / 4;
    const int loads_a = loads(v, v[TILE_M], v[A_VECTOR]);
    const int loads_b = loads(v, v[TILE_N], v[B_VECTOR]);
    const int next = loads_a * v[A_VECTOR] + loads_b * v[B_VECTOR];
    return mmt_simt_registers(v, type) + (unsigned) (words * next) +
           ADDRESS * (unsigned) (loads_a + loads_b) + BESIDES;
}

static const char *check_tiles(const int *v, mmt_type type)
{
    const int widest = mmt_gemm_vector(type), banks = 8 * widest;

    if (v[A_VECTOR] > widest || v[B_VECTOR] > widest)
        return "A_VECTOR and B_VECTOR may cover at most 16 bytes";
    if (v[TILE_K] % v[K_UNROLL])
        return "TILE_K must be a multiple of K_UNROLL";
    if (v[REGISTER_STAGES] == 2 && v[K_UNROLL] % 2)
        return "REGISTER_STAGES 2 needs an even K_UNROLL";
    if (mmt_simt_unrolled(v, v[K_UNROLL]) > 4096)
        return "K_UNROLL * THREAD_TILE_M * THREAD_TILE_N may be at most 4096, or the "
               "loop outgrows the "
               "instruction cache";
    if (v[SHARED_LAYOUT] == SWIZZLE && (v[TILE_M] % banks || v[TILE_N] % banks))
        return "SHARED_LAYOUT swizzle needs a TILE_M and TILE_N of whole rows of 128 "
               "bytes";
    return NULL;
}

static const char *check_warp(const int *v, const struct mmt_caps *caps)
{
    const unsigned warp = (unsigned) mmt_simt_warp(v);

    if (warp > 64)
        return "WARP_M * WARP_N may be at most 64";
    if (caps->kind == MMT_GPU && caps->warp && warp % caps->warp)
        return "WARP_M * WARP_N must be a multiple of this device's warp";
    return NULL;
}

/* A CPU runs a block's threads one after the other, and what each computed before a
 * barrier waits on one stack, of 8 MiB as a rule: about twice what is counted here. */
static const char *check_on_cpu(const int *v, mmt_type type)
{
    const int unrolled = mmt_simt_unrolled(v, v[K_UNROLL]);

    if (unrolled > 512)
        return "K_UNROLL * THREAD_TILE_M * THREAD_TILE_N may be at most 512 on a CPU, "
               "whose compilers "
               "take minutes over more";
    if (mmt_gemm_real_size(type) * (size_t) (unrolled * mmt_simt_threads(v)) > 2 << 20)
        return "K_UNROLL * THREAD_TILE_M * THREAD_TILE_N elements of all threads may be "
               "at most 2 MiB "
               "on a CPU, which keeps them on one stack";
    return NULL;
}

static const char *simt_check_device(const int *v, const struct mmt_variant *variant,
                                     const struct mmt_caps *caps)
{
    const mmt_type type = variant->type;
    const char *why = mmt_simt_check_shape(v, type);
    if (!why)
        why = check_tiles(v, type);
    if (!why)
        why = mmt_simt_check_threads(v, caps);
    if (!why)
        why = check_warp(v, caps);
    if (!why && caps->kind == MMT_CPU)
        why = check_on_cpu(v, type);
    if (!why)
        why = mmt_simt_check_resident(
            v, shared_bytes(v, type, variant->trans_a, variant->trans_b),
            registers(v, type), caps);
    return why;
}

static void simt_resolve(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    enum { IN_REGISTERS_AND_SHARED = 2 };
    mmt_simt_resolve(v, knobs, IN_REGISTERS_AND_SHARED,
                     shared_bytes(v, p->type, p->trans_a, p->trans_b),
                     registers(v, p->type), p, caps);
}

static void simt_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                        struct mmt_launches *out)
{
    mmt_simt_launch(v, p, shared_bytes(v, p->type, p->trans_a, p->trans_b), caps, out);
}

static struct mmt_alignment simt_alignment(const int *v, const mmt_problem *problem)
{
    const unsigned size = (unsigned) mmt_type_size(problem->type);
    const unsigned out = (unsigned) mmt_type_size(problem->out);
    return (struct mmt_alignment){ size * v[A_VECTOR], size * v[B_VECTOR],
                                   out * v[C_VECTOR] };
}

const struct mmt_template mmt_template_simt = {
    .name = "simt",
    .what = "register and shared-memory tiles, the fast portable kernel",
    .op = MMT_GEMM,
    .types = MMT_ALL_TYPES,
    .yields = MMT_CONVERTED_TYPES,
    .fused = true,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU,
    .file = "simt.cl",
    .helpers = { "split_k.h", "grid.h", "tiles.h", "stream_k.h", "vectors.h",
                 "register_tile.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .resolve = simt_resolve,
    .check_device = simt_check_device,
    .check_problem = mmt_simt_check_problem,
    .tile = mmt_simt_tile,
    .work = mmt_simt_work,
    .launch = simt_launch,
    .alignment = simt_alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};
