/* The knobs of simt.cl, in the order in which that file names them. */
#include "templates/gemm.h"

// clang-format off
enum {
    TILE_M, TILE_N, TILE_K, WORK_M, WORK_N, WARP_M, WARP_N, LANES,
    A_VECTOR, B_VECTOR, C_VECTOR, SHARED_LAYOUT, BUFFERS, FRAGMENTS,
    K_UNROLL, FMA_ORDER, GROUP, MIN_BLOCKS, SPLIT_K, NUM_KNOBS,
};
// clang-format on

enum { ROWS, COLUMNS, PAIRS };
enum { PLAIN, PAD, SWAP, XOR };
enum {
    ROWS_ON,
    COLS_ON,
    ROWS_BACK,
    COLS_BACK,
    ACROSS,
    DOWN,
};

static const char *const lane_names[] = { "rows", "columns", "pairs" };
static const char *const layout_names[] = { "plain", "pad", "swap", "xor" };
static const char *const order_names[] = {
    "rows",
    "columns",
    "rows_serpentine",
    "columns_serpentine",
    "blocks2x2_serpentine",
    "blocks2x2_down",
};

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [TILE_M] =
        MMT_KNOB("TILE_M", "rows of C per block", 16, 32, 48, 64, 96, 128, 192, 256),
    [TILE_N] =
        MMT_KNOB("TILE_N", "columns of C per block", 16, 32, 48, 64, 96, 128, 192, 256),
    [TILE_K] =
        MMT_KNOB("TILE_K", "depth of one pass through shared memory", 4, 8, 16, 32, 64),
    [WORK_M] = MMT_KNOB("WORK_M", "rows of C per thread", 1, 2, 4, 6, 8, 12, 16),
    [WORK_N] = MMT_KNOB("WORK_N", "columns of C per thread", 1, 2, 4, 6, 8, 12, 16),
    [WARP_M] = MMT_KNOB("WARP_M", "threads of a warp down the tile", 1, 2, 4, 8, 16, 32),
    [WARP_N] =
        MMT_KNOB("WARP_N", "threads of a warp across the tile", 1, 2, 4, 8, 16, 32),
    [LANES] = { "LANES",
                "order of a warp's threads",
                3,
                { ROWS, COLUMNS, PAIRS },
                lane_names },
    [A_VECTOR] = MMT_KNOB("A_VECTOR", "elements of A per global load", 1, 2, 4),
    [B_VECTOR] = MMT_KNOB("B_VECTOR", "elements of B per global load", 1, 2, 4),
    [C_VECTOR] = MMT_KNOB("C_VECTOR", "elements of C per global store", 1, 2, 4),
    [SHARED_LAYOUT] = { "SHARED_LAYOUT",
                        "how a turned tile evades bank conflicts",
                        4,
                        { PLAIN, PAD, SWAP, XOR },
                        layout_names },
    [BUFFERS] = MMT_KNOB("BUFFERS", "tiles of each operand in shared memory", 1, 2),
    [FRAGMENTS] = MMT_KNOB("FRAGMENTS", "steps whose operands are in registers", 1, 2),
    [K_UNROLL] =
        MMT_KNOB("K_UNROLL", "steps along k that are unrolled", 1, 2, 4, 8, 16, 32),
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
    /* tile, work, warp, lanes, vectors, layout, buffers, fragments, unroll, order, group,
     * blocks, parts of k; those with vectors of 2 are for double precision */
    { 256, 128,  8,  8, 16,  4,  8, ROWS,    4, 4, 4, PLAIN, 2, 2,  8, COLS_BACK, 4, 1, 1 },
    { 256, 128, 16,  8,  8,  4,  8, PAIRS,   4, 4, 4, XOR,   2, 2, 16, DOWN,      8, 1, 1 },
    { 256, 128,  8, 16,  8,  8,  4, COLUMNS, 4, 4, 4, XOR,   2, 2,  8, DOWN,      4, 1, 1 },
    { 128, 256, 16, 16,  8,  2, 16, COLUMNS, 4, 4, 4, XOR,   1, 2, 16, ACROSS,    4, 1, 1 },
    { 128, 128, 16,  8,  8,  4,  8, PAIRS,   4, 4, 4, XOR,   2, 1, 16, DOWN,      8, 2, 1 },
    {  64, 128, 16,  8,  8,  2, 16, PAIRS,   4, 4, 4, XOR,   1, 2, 16, ACROSS,    4, 1, 1 },
    { 128,  64, 16,  8,  4,  4,  8, PAIRS,   4, 4, 4, XOR,   2, 2, 16, COLS_BACK, 8, 1, 1 },
    {  64,  64, 16,  4,  4,  8,  8, PAIRS,   4, 4, 4, XOR,   2, 2, 16, COLS_BACK, 8, 1, 1 },
    {  32,  32, 16,  4,  2,  4,  8, PAIRS,   4, 4, 2, XOR,   2, 2, 16, COLS_BACK, 1, 1, 1 },
    { 256, 128, 16, 16,  8,  2, 16, PAIRS,   4, 4, 4, XOR,   1, 2, 16, ACROSS,   16, 1, 64 },
    {  64, 128, 16,  8,  8,  2, 16, PAIRS,   4, 4, 4, XOR,   1, 2, 16, ACROSS,    4, 1, 2 },
    {  64, 128, 16,  8,  8,  2, 16, PAIRS,   4, 4, 4, XOR,   1, 2, 16, ACROSS,    4, 1, 32 },
    {  64,  64, 16,  8,  4,  4,  8, PAIRS,   4, 4, 4, XOR,   2, 2, 16, DOWN,      8, 1, 4 },
    {  64,  32, 16,  4,  4,  8,  4, PAIRS,   4, 4, 4, XOR,   2, 2,  8, DOWN,     16, 1, 8 },
    {  32,  32, 32,  4,  4,  4,  8, PAIRS,   4, 4, 4, XOR,   2, 2, 16, COLS_BACK, 1, 1, 128 },
    { 128, 128, 16,  8,  8,  2, 16, COLUMNS, 2, 2, 2, XOR,   2, 2, 16, COLS_BACK, 8, 1, 1 },
    { 128, 128, 16,  8,  8,  4,  8, PAIRS,   2, 2, 2, XOR,   1, 2, 16, COLS_BACK, 8, 1, 1 },
    {  64,  64, 16,  4,  8,  4,  8, PAIRS,   2, 2, 2, XOR,   2, 2, 16, COLS_BACK, 4, 1, 1 },
    {  64,  64, 16,  4,  8,  4,  8, PAIRS,   2, 2, 2, XOR,   2, 2, 16, COLS_BACK, 4, 1, 2 },
    {  64,  64, 16,  4,  8,  4,  8, PAIRS,   2, 2, 2, XOR,   2, 2, 16, COLS_BACK, 4, 1, 64 },
    {  64,  64,  8,  4,  4,  8,  8, PAIRS,   2, 2, 2, PAD,   1, 1,  8, COLS_BACK, 4, 1, 1 },
    {  64,  64,  8,  4,  4,  8,  8, ROWS,    1, 1, 1, PAD,   1, 1,  4, ROWS_ON,   1, 1, 1 },
    {  32,  32,  8,  4,  4,  4,  8, ROWS,    1, 1, 1, PAD,   1, 1,  4, ROWS_ON,   1, 1, 1 },
    {  16,  16,  8,  2,  2,  4,  8, ROWS,    1, 1, 1, PAD,   1, 1,  4, ROWS_ON,   1, 1, 1 },
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
    return v[K_UNROLL] * v[WORK_M] * v[WORK_N];
}

static int max_vector(mmt_type type)
{
    return 16 / (int) mmt_type_size(type);
}

/* Bytes of shared memory. */
static size_t shared_bytes(const int *v, mmt_type type, bool trans_a, bool trans_b)
{
    const int pad = v[SHARED_LAYOUT] == PAD ? max_vector(type) : 0;
    const int line_a = v[TILE_M] + (trans_a ? 0 : pad);
    const int line_b = v[TILE_N] + (trans_b ? pad : 0);
    return mmt_type_size(type) * v[BUFFERS] * v[TILE_K] * (line_a + line_b);
}

/* Global loads of one operand by a thread for one tile. */
static int loads(const int *v, int tile, int vector)
{
    return (tile * v[TILE_K] / vector + threads(v) - 1) / threads(v);
}

/* 32-bit registers that a thread cannot do without: sums, operands, the next tile, the
 * addresses it comes from, and what a loop takes besides. */
static unsigned registers(const int *v, mmt_type type)
{
    enum { BESIDES = 14, ADDRESS = 2 };
    const int words = (int) mmt_type_size(type) / 4;
    const int loads_a = loads(v, v[TILE_M], v[A_VECTOR]);
    const int loads_b = loads(v, v[TILE_N], v[B_VECTOR]);
    const int sums = v[WORK_M] * v[WORK_N];
    const int operands = v[FRAGMENTS] * (v[WORK_M] + v[WORK_N]);
    const int next = loads_a * v[A_VECTOR] + loads_b * v[B_VECTOR];
    return words * (sums + operands + next) + ADDRESS * (loads_a + loads_b) + BESIDES;
}

static const char *reject_shape(const int *v, mmt_type type)
{
    const int widest = max_vector(type), banks = 128 / (int) mmt_type_size(type);

    if (v[TILE_M] % (v[WARP_M] * v[WORK_M]) || v[TILE_N] % (v[WARP_N] * v[WORK_N]))
        return "TILE_M and TILE_N must be multiples of WARP * WORK";
    if (v[A_VECTOR] > widest || v[B_VECTOR] > widest || v[C_VECTOR] > widest)
        return "A_VECTOR, B_VECTOR and C_VECTOR may cover at most 16 bytes";
    if (v[WORK_N] % v[C_VECTOR])
        return "WORK_N must be a multiple of C_VECTOR";
    if (v[TILE_K] % v[K_UNROLL])
        return "TILE_K must be a multiple of K_UNROLL";
    if (v[FRAGMENTS] == 2 && v[K_UNROLL] % 2)
        return "FRAGMENTS 2 needs an even K_UNROLL";
    if (unrolled(v) > 4096)
        return "K_UNROLL * WORK_M * WORK_N may be at most 4096, or the loop outgrows the "
               "instruction cache";
    if (v[LANES] == PAIRS && (v[WARP_M] % 2 || v[WARP_N] == 1))
        return "LANES pairs needs an even WARP_M and a WARP_N above 1";
    if (v[LANES] == COLUMNS && (v[WARP_M] == 1 || v[WARP_N] == 1))
        return "LANES columns is the same as rows where WARP_M or WARP_N is 1";
    if (v[FMA_ORDER] >= ACROSS && (v[WORK_M] % 2 || v[WORK_N] % 2))
        return "FMA_ORDER in blocks of 2x2 needs an even WORK_M and WORK_N";
    if (v[SHARED_LAYOUT] == XOR && (v[TILE_M] % banks || v[TILE_N] % banks))
        return "SHARED_LAYOUT xor needs a TILE_M and TILE_N of whole rows of 128 bytes";
    return NULL;
}

static const char *reject_threads(const int *v, const struct mmt_caps *caps)
{
    const unsigned count = (unsigned) threads(v);

    if (caps->max_threads && count > caps->max_threads)
        return "the tile has more threads than a block may have on this device";
    if (caps->max_block[0] && count > caps->max_block[0])
        return "the tile has more threads than a block may have in a row on this device";
    if (warp_size(v) > 64)
        return "WARP_M * WARP_N may be at most 64";
    if (caps->kind == MMT_CPU && unrolled(v) > 512)
        return "K_UNROLL * WORK_M * WORK_N may be at most 512 on a CPU, whose compilers "
               "take "
               "minutes over more";
    if (caps->kind == MMT_GPU && caps->warp && warp_size(v) % caps->warp)
        return "WARP_M * WARP_N must be a multiple of this device's warp";
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

static const char *reject_resident(const int *v, const struct mmt_variant *variant,
                                   const struct mmt_caps *caps)
{
    const size_t shared =
        shared_bytes(v, variant->type, variant->trans_a, variant->trans_b);
    const unsigned blocks = (unsigned) v[MIN_BLOCKS];

    if (caps->shared && shared > caps->shared)
        return "the tiles take more shared memory than a block may have on this device";
    if (blocks > 1 && caps->dialect == MMT_OPENCL_C)
        return "MIN_BLOCKS cannot be said in OpenCL and must be 1";
    if (caps->shared_per_sm && shared * blocks > caps->shared_per_sm)
        return "MIN_BLOCKS blocks take more shared memory than a multiprocessor has";
    if (caps->threads_per_sm && threads(v) * blocks > caps->threads_per_sm)
        return "MIN_BLOCKS blocks have more threads than a multiprocessor holds";

    const unsigned allowed = registers_allowed(v, caps);
    if (allowed && registers(v, variant->type) > allowed)
        return "sums, operands and the next tile take more registers than a thread may "
               "have";
    return NULL;
}

static const char *reject(const int *v, const struct mmt_variant *variant,
                          const struct mmt_caps *caps)
{
    const char *why = reject_shape(v, variant->type);
    if (!why)
        why = reject_threads(v, caps);
    if (!why)
        why = reject_resident(v, variant, caps);
    if (!why)
        why = mmt_gemm_reject_parts(v[SPLIT_K], caps);
    return why;
}

static int64_t tiles(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[TILE_M]) * mmt_gemm_pieces(p->n, v[TILE_N]);
}

static const char *refuse(const int *v, const mmt_problem *problem)
{
    const char *why = mmt_gemm_refuse(tiles(v, problem));
    return why ? why : mmt_gemm_refuse_parts(v[SPLIT_K], problem);
}

static void launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                   struct mmt_launches *out)
{
    mmt_gemm_launch(threads(v), 1, tiles(v, p), p->batch, out);
    out->launch[0].args = mmt_gemm_workspace_args;
    out->launch[0].shared = shared_bytes(v, p->type, p->trans_a, p->trans_b);
    mmt_gemm_split(v[SPLIT_K], p, out);
}

static struct mmt_alignment alignment(const int *v, const struct mmt_variant *variant)
{
    const unsigned size = (unsigned) mmt_type_size(variant->type);
    return (struct mmt_alignment){ size * v[A_VECTOR], size * v[B_VECTOR],
                                   size * v[C_VECTOR] };
}

const struct mmt_template mmt_template_simt = {
    .name = "simt",
    .what = "register and shared-memory tiles, the fast portable kernel",
    .op = MMT_GEMM,
    .types = 1 << MMT_F32 | 1 << MMT_F64 | 1 << MMT_I32,
    .fused = true,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .kinds = MMT_GPU,
    .file = "simt.cl",
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
