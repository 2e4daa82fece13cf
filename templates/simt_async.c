/* The knobs of simt_async.cu, in the order in which that file names them. */
#include "templates/gemm.h"

// clang-format off
enum {
    TILE_M, TILE_N, TILE_K, WORK_M, WORK_N, WARP_M, WARP_N, LANES,
    C_VECTOR, STAGES, FRAGMENTS, FMA_ORDER, GROUP, MIN_BLOCKS, SPLIT_K, NUM_KNOBS,
};
// clang-format on

enum { ROWS, COLUMNS, PAIRS };
enum {
    ROWS_ON,
    COLS_ON,
    ROWS_BACK,
    COLS_BACK,
    ACROSS,
    DOWN,
};

static const char *const lane_names[] = { "rows", "columns", "pairs" };
static const char *const order_names[] = {
    "rows",
    "columns",
    "rows_serpentine",
    "columns_serpentine",
    "blocks2x2_serpentine",
    "blocks2x2_down",
};

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [TILE_M] = MMT_KNOB("TILE_M", "rows of C per block", 32, 64, 96, 128, 192, 256),
    [TILE_N] = MMT_KNOB("TILE_N", "columns of C per block", 32, 64, 96, 128, 192, 256),
    [TILE_K] = MMT_KNOB("TILE_K", "depth of one slot of the ring", 8, 16, 32),
    [WORK_M] = MMT_KNOB("WORK_M", "rows of C per thread", 2, 4, 6, 8, 12, 16),
    [WORK_N] = MMT_KNOB("WORK_N", "columns of C per thread", 2, 4, 6, 8, 12, 16),
    [WARP_M] = MMT_KNOB("WARP_M", "threads of a warp down the tile", 1, 2, 4, 8, 16, 32),
    [WARP_N] =
        MMT_KNOB("WARP_N", "threads of a warp across the tile", 1, 2, 4, 8, 16, 32),
    [LANES] = { "LANES",
                "order of a warp's threads",
                3,
                { ROWS, COLUMNS, PAIRS },
                lane_names },
    [C_VECTOR] = MMT_KNOB("C_VECTOR", "elements of C per global store", 1, 2, 4),
    [STAGES] = MMT_KNOB("STAGES", "slots of the ring in shared memory", 2, 3, 4, 5),
    [FRAGMENTS] = MMT_KNOB("FRAGMENTS", "steps whose operands are in registers", 1, 2),
    [FMA_ORDER] = { "FMA_ORDER",
                    "order of a step's multiply-adds",
                    6,
                    { ROWS_ON, COLS_ON, ROWS_BACK, COLS_BACK, ACROSS, DOWN },
                    order_names },
    [GROUP] =
        MMT_KNOB("GROUP", "rows of tiles that neighbouring blocks share", 1, 4, 8, 16),
    [MIN_BLOCKS] = MMT_KNOB("MIN_BLOCKS", "least blocks on a multiprocessor", 1, 2, 3, 4),
    [SPLIT_K] = MMT_KNOB("SPLIT_K", "blocks that share a tile of C", MMT_GEMM_PARTS),
};

// clang-format off
static const int seeds[][MMT_MAX_KNOBS] = {
    /* tile, work, warp, lanes, vector, stages, fragments, order, group, blocks, parts of
     * k; those with vectors of 2 are for double precision */
    { 256, 128,  8, 16,  8,  4,  8, PAIRS,   4, 4, 2, COLS_BACK, 8,  1, 1 },
    { 256, 128,  8, 16,  8,  8,  4, COLUMNS, 4, 3, 2, DOWN,      4,  1, 1 },
    { 256, 128, 16, 16,  8,  4,  8, PAIRS,   4, 3, 2, DOWN,      8,  1, 1 },
    { 128, 128, 16,  8,  8,  4,  8, PAIRS,   4, 3, 2, COLS_BACK, 8,  2, 1 },
    { 128, 128, 16,  8,  8,  2, 16, COLUMNS, 2, 3, 2, DOWN,      16, 1, 1 },
    { 128, 128, 16,  8,  8,  2, 16, COLUMNS, 2, 3, 2, COLS_BACK, 8,  1, 1 },
    {  64, 128,  8,  8,  8,  2, 16, COLUMNS, 2, 4, 2, COLS_BACK, 8,  2, 1 },
    {  64,  64, 16,  4,  8,  4,  8, PAIRS,   2, 3, 2, COLS_BACK, 4,  2, 1 },
    {  32,  32,  8,  4,  4,  4,  8, PAIRS,   2, 2, 1, COLS_BACK, 1,  1, 1 },
};
// clang-format on

static int warp_size(const int *v)
{
    return v[WARP_M] * v[WARP_N];
}

static int threads(const int *v)
{
    return (v[TILE_M] / v[WORK_M]) * (v[TILE_N] / v[WORK_N]);
}

/* Multiply-adds that stand in the text one after the other. */
static int unrolled(const int *v)
{
    return v[TILE_K] * v[WORK_M] * v[WORK_N];
}

static int max_vector(mmt_type type)
{
    return 16 / (int) mmt_type_size(type);
}

/* Bytes of shared memory. */
static size_t shared_bytes(const int *v, mmt_type type)
{
    return mmt_type_size(type) * v[STAGES] * v[TILE_K] * (v[TILE_M] + v[TILE_N]);
}

/* 32-bit registers that a thread cannot do without: sums, operands, and what a loop takes
 * besides. */
static unsigned registers(const int *v, mmt_type type)
{
    enum { BESIDES = 26 };
    const int words = (int) mmt_type_size(type) / 4;
    const int sums = v[WORK_M] * v[WORK_N];
    const int operands = v[FRAGMENTS] * (v[WORK_M] + v[WORK_N]);
    return words * (sums + operands) + BESIDES;
}

static const char *reject_shape(const int *v, mmt_type type)
{
    if (v[TILE_M] % (v[WARP_M] * v[WORK_M]) || v[TILE_N] % (v[WARP_N] * v[WORK_N]))
        return "TILE_M and TILE_N must be multiples of WARP * WORK";
    if (v[C_VECTOR] > max_vector(type))
        return "C_VECTOR may cover at most 16 bytes";
    if (v[WORK_N] % v[C_VECTOR])
        return "WORK_N must be a multiple of C_VECTOR";
    if (unrolled(v) > 4096)
        return "TILE_K * WORK_M * WORK_N may be at most 4096, or the loop outgrows the "
               "instruction cache";
    if (v[LANES] == PAIRS && (v[WARP_M] % 2 || v[WARP_N] == 1))
        return "LANES pairs needs an even WARP_M and a WARP_N above 1";
    if (v[LANES] == COLUMNS && (v[WARP_M] == 1 || v[WARP_N] == 1))
        return "LANES columns is the same as rows where WARP_M or WARP_N is 1";
    return NULL;
}

static const char *reject_threads(const int *v, const struct mmt_caps *caps)
{
    const unsigned count = (unsigned) threads(v);

    if (caps->max_threads && count > caps->max_threads)
        return "the tile has more threads than a block may have on this device";
    if (caps->max_block[0] && count > caps->max_block[0])
        return "the tile has more threads than a block may have in a row on this device";
    if (warp_size(v) != 32)
        return "WARP_M * WARP_N must be 32, a warp of CUDA";
    return NULL;
}

/* Registers that a thread may have where a multiprocessor holds MIN_BLOCKS blocks; 0
 * where the device does not say. */
static unsigned registers_allowed(const int *v, const struct mmt_caps *caps)
{
    unsigned allowed = caps->registers_per_thread;
    const unsigned all =
        caps->registers_per_sm ? caps->registers_per_sm : caps->registers;
    const unsigned share = all / (unsigned) (threads(v) * v[MIN_BLOCKS]);
    if (all && (!allowed || share < allowed))
        allowed = share;
    return allowed;
}

static const char *reject_resident(const int *v, mmt_type type,
                                   const struct mmt_caps *caps)
{
    const size_t shared = shared_bytes(v, type);
    const unsigned blocks = (unsigned) v[MIN_BLOCKS];

    if (caps->shared && shared > caps->shared)
        return "the ring takes more shared memory than a block may have on this device";
    if (caps->shared_per_sm && shared * blocks > caps->shared_per_sm)
        return "MIN_BLOCKS blocks take more shared memory than a multiprocessor has";
    if (caps->threads_per_sm && threads(v) * blocks > caps->threads_per_sm)
        return "MIN_BLOCKS blocks have more threads than a multiprocessor holds";

    const unsigned allowed = registers_allowed(v, caps);
    if (allowed && registers(v, type) > allowed)
        return "sums and operands take more registers than a thread may have";
    return NULL;
}

static const char *reject(const int *v, const struct mmt_variant *variant,
                          const struct mmt_caps *caps)
{
    const char *why = reject_shape(v, variant->type);
    if (!why)
        why = reject_threads(v, caps);
    if (!why)
        why = reject_resident(v, variant->type, caps);
    if (!why)
        why = mmt_gemm_reject_parts(v[SPLIT_K], caps);
    return why;
}

static int64_t blocks(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[TILE_M]) * mmt_gemm_pieces(p->n, v[TILE_N]);
}

static const char *refuse(const int *v, const mmt_problem *problem)
{
    const char *why = mmt_gemm_refuse(blocks(v, problem));
    return why ? why : mmt_gemm_refuse_parts(v[SPLIT_K], problem);
}

static void launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                   struct mmt_launches *out)
{
    mmt_gemm_launch(threads(v), 1, blocks(v, p), p->batch, out);
    out->launch[0].args = mmt_gemm_workspace_args;
    out->launch[0].shared = shared_bytes(v, p->type);
    mmt_gemm_split(v[SPLIT_K], p, out);
}

/* An operand whose memory runs along k is copied element by element. */
static struct mmt_alignment alignment(const int *v, const struct mmt_variant *variant)
{
    enum { WHOLE = 16 };
    const unsigned size = (unsigned) mmt_type_size(variant->type);
    return (struct mmt_alignment){ variant->trans_a ? WHOLE : size,
                                   variant->trans_b ? size : WHOLE,
                                   size * (unsigned) v[C_VECTOR] };
}

const struct mmt_template mmt_template_simt_async = {
    .name = "simt_async",
    .what = "register tiles fed by asynchronous copies, without tensor cores",
    .op = MMT_GEMM,
    .types = MMT_PLAIN_TYPES,
    .fused = true,
    .dialects = MMT_CUDA_CXX,
    .kinds = MMT_GPU,
    .file = "simt_async.cu",
    .helpers = { "tiles.h", "register_tile.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .reject = reject,
    .refuse = refuse,
    .launch = launch,
    .alignment = alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};
