/* The knobs of dmma.cu, in the order in which that file names them. */
#include "templates/gemm.h"

// clang-format off
enum {
    TILE_M, TILE_N, TILE_K, WARPS_M, WARPS_N, MMA, STAGES, FRAGMENTS, GROUP, MIN_BLOCKS,
    SPLIT_K, NUM_KNOBS,
};
// clang-format on

/* Instructions: 100 * rows + depth. */
enum { M8K4 = 804, M16K4 = 1604, M16K8 = 1608, M16K16 = 1616 };

static const char *const mma_names[] = { "8x8x4", "16x8x4", "16x8x8", "16x8x16" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [TILE_M] = MMT_KNOB("TILE_M", "rows of C per block", 32, 64, 128, 256),
    [TILE_N] = MMT_KNOB("TILE_N", "columns of C per block", 32, 64, 128, 256),
    [TILE_K] = MMT_KNOB("TILE_K", "depth of one tile in shared memory", 8, 16, 32),
    [WARPS_M] = MMT_KNOB("WARPS_M", "warps down the tile", 1, 2, 4, 8),
    [WARPS_N] = MMT_KNOB("WARPS_N", "warps across the tile", 1, 2, 4, 8),
    [MMA] = { "MMA",
              "the tensor-core instruction",
              4,
              { M8K4, M16K4, M16K8, M16K16 },
              mma_names },
    [STAGES] = MMT_KNOB("STAGES", "tiles of each operand in shared memory", 2, 3, 4, 5),
    [FRAGMENTS] = MMT_KNOB("FRAGMENTS", "steps whose operands are in registers", 1, 2),
    [GROUP] =
        MMT_KNOB("GROUP", "rows of tiles that neighbouring blocks share", 1, 4, 8, 16),
    [MIN_BLOCKS] = MMT_KNOB("MIN_BLOCKS", "least blocks on a multiprocessor", 1, 2, 3, 4),
    [SPLIT_K] = MMT_KNOB("SPLIT_K", "blocks that share a tile of C", MMT_GEMM_PARTS),
};

// clang-format off
static const int seeds[][MMT_MAX_KNOBS] = {
    /* tile, warps, instruction, stages, fragments, group, blocks, parts of k */
    {  64, 128, 16, 2, 4, M16K8, 4, 2, 8, 1, 1 },
    { 128,  64, 16, 4, 2, M16K8, 4, 2, 8, 1, 1 },
    {  64,  64, 16, 2, 2, M16K8, 4, 2, 8, 2, 1 },
    {  64,  64, 16, 2, 2, M16K8, 3, 2, 8, 2, 1 },
    {  64, 128, 16, 2, 4, M16K8, 4, 2, 8, 1, 16 },
    {  64,  64, 16, 2, 2, M16K8, 4, 2, 8, 2, 4 },
    {  64,  64, 16, 2, 2, M16K8, 4, 2, 8, 2, 128 },
    {  64, 128, 32, 2, 4, M16K8, 3, 2, 8, 1, 1 },
    { 128, 128, 32, 4, 2, M16K16, 3, 1, 8, 1, 1 },
    { 128, 128, 16, 4, 2, M16K4, 3, 2, 8, 1, 1 },
    {  32,  32, 16, 2, 1, M16K8, 4, 1, 8, 1, 1 },
    {  32,  32, 16, 2, 1, M16K8, 4, 1, 8, 1, 4 },
    { 128, 128, 16, 4, 2, M8K4,  3, 1, 8, 1, 1 },
    { 128,  64, 16, 2, 2, M8K4,  3, 1, 8, 2, 1 },
    {  64,  64, 16, 2, 2, M8K4,  4, 1, 8, 2, 1 },
    {  32,  32, 16, 2, 1, M8K4,  4, 1, 8, 1, 1 },
    {  32,  32,  8, 1, 1, M8K4,  2, 1, 1, 1, 1 },
};
// clang-format on

static int threads(const int *v)
{
    return 32 * v[WARPS_M] * v[WARPS_N];
}

/* Depth for which operands are fetched at once. */
static int step(const int *v)
{
    return v[MMA] == M16K16 ? 16 : 8;
}

static size_t shared_bytes(const int *v)
{
    return sizeof(double) * v[STAGES] * v[TILE_K] * (v[TILE_M] + v[TILE_N]);
}

/* 32-bit registers that a thread cannot do without: sums, operands, and what addresses
 * and a loop take besides. */
static unsigned registers(const int *v)
{
    enum { BESIDES = 30, WORDS = sizeof(double) / 4 };
    const int rows = v[TILE_M] / v[WARPS_M], columns = v[TILE_N] / v[WARPS_N];
    const int sums = rows * columns / 32;
    const int operands = v[FRAGMENTS] * (rows + columns) * step(v) / 32;
    return WORDS * (sums + operands) + BESIDES;
}

static const char *reject_shape(const int *v, const struct mmt_variant *variant)
{
    const int vector = variant->aligned ? 2 : 1;
    const int row_a = (variant->trans_a ? v[TILE_M] : v[TILE_K]) / vector;
    const int row_b = (variant->trans_b ? v[TILE_K] : v[TILE_N]) / vector;

    if (v[TILE_M] % (16 * v[WARPS_M]) || v[TILE_N] % (16 * v[WARPS_N]))
        return "TILE_M and TILE_N must be multiples of 16 * WARPS";
    if (v[TILE_K] % step(v))
        return "TILE_K must be a multiple of the depth of MMA";
    if (v[FRAGMENTS] == 2 && v[TILE_K] / step(v) % 2)
        return "FRAGMENTS 2 needs a TILE_K of an even number of steps, which are 8 deep, "
               "or 16 for MMA 16x8x16";
    if (threads(v) % row_a || threads(v) % row_b)
        return "a row of a tile in memory has more vectors than the block has threads";
    return NULL;
}

static const char *reject_device(const int *v, const struct mmt_caps *caps)
{
    if (caps->sm < 80)
        return "double precision on tensor cores needs sm_80 or newer";
    if (caps->sm < 90 && v[MMA] != M8K4)
        return "an MMA of 16 rows needs sm_90 or newer";
    return mmt_gemm_reject(threads(v), 1, shared_bytes(v), caps);
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

static const char *reject_resident(const int *v, const struct mmt_caps *caps)
{
    enum { RESERVED = 1024 }; /* bytes of shared memory, of every block */
    const unsigned blocks = (unsigned) v[MIN_BLOCKS],
                   allowed = registers_allowed(v, caps);

    if (blocks > 1 && caps->shared_per_sm &&
        (shared_bytes(v) + RESERVED) * blocks > caps->shared_per_sm)
        return "MIN_BLOCKS blocks take more shared memory than a multiprocessor has";
    if (caps->threads_per_sm && threads(v) * blocks > caps->threads_per_sm)
        return "MIN_BLOCKS blocks have more threads than a multiprocessor holds";
    if (allowed && registers(v) > allowed)
        return "sums and operands take more registers than a thread may have";
    return NULL;
}

static const char *reject(const int *v, const struct mmt_variant *variant,
                          const struct mmt_caps *caps)
{
    const char *why = reject_shape(v, variant);
    if (!why)
        why = reject_device(v, caps);
    if (!why)
        why = reject_resident(v, caps);
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
    out->launch[0].shared = shared_bytes(v);
    mmt_gemm_split(v[SPLIT_K], p, out);
}

static struct mmt_alignment alignment(const int *v, const struct mmt_variant *variant)
{
    return (struct mmt_alignment){ 16, 16, 16 };
}

const struct mmt_template mmt_template_dmma = {
    .name = "dmma",
    .what = "double precision on the tensor cores of NVIDIA's sm_80 and newer",
    .op = MMT_GEMM,
    .types = 1 << MMT_F64,
    .fused = true,
    .dialects = MMT_CUDA_CXX,
    .kinds = MMT_GPU,
    .file = "dmma.cu",
    .helpers = { "tiles.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .reject = reject,
    .refuse = refuse,
    .launch = launch,
    .alignment = alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};
