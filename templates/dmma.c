/* The knobs of dmma.cu, in the order in which that file names them. */
#include "templates/gemm.h"

// clang-format off
enum {
    TILE_M, TILE_N, TILE_K, WARPS_M, WARPS_N, MMA, STAGES, REGISTER_STAGES, RASTER_GROUP, MIN_BLOCKS,
    CLUSTER, SPLIT_K, SYNC, TILE_SCHEDULER, NUM_KNOBS,
};
// clang-format on

/* Instructions: 100 * rows + depth. */
enum { M8K4 = 804, M16K4 = 1604, M16K8 = 1608, M16K16 = 1616 };

static const char *const mma_names[] = { "8x8x4", "16x8x4", "16x8x8", "16x8x16" };

enum { BY_BLOCK, BY_STAGE };
static const char *const sync_names[] = { "block", "stages" };

enum { DATA_PARALLEL, PERSISTENT, STREAM_K };
static const char *const scheduler_names[] = { "data_parallel", "persistent",
                                               "stream_k" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [TILE_M] =
        MMT_KNOB("TILE_M", "rows of C per block", 16, 32, 48, 64, 96, 128, 192, 256),
    [TILE_N] =
        MMT_KNOB("TILE_N", "columns of C per block", 16, 32, 48, 64, 96, 128, 192, 256),
    [TILE_K] = MMT_KNOB("TILE_K", "depth of one tile in shared memory", 8, 16, 32),
    [WARPS_M] = MMT_KNOB("WARPS_M", "warps down the tile", 1, 2, 4, 8),
    [WARPS_N] = MMT_KNOB("WARPS_N", "warps across the tile", 1, 2, 4, 8),
    [MMA] = { "MMA",
              "the tensor-core instruction",
              4,
              { M8K4, M16K4, M16K8, M16K16 },
              mma_names },
    [STAGES] =
        MMT_KNOB("STAGES", "tiles of each operand in shared memory", 2, 3, 4, 5, 6),
    [REGISTER_STAGES] =
        MMT_KNOB("REGISTER_STAGES", "columns of blocks whose operands are in registers",
                 1, 2, 4, 8, 16),
    [RASTER_GROUP] = MMT_KNOB(
        "RASTER_GROUP", "rows of tiles that neighbouring blocks share", 1, 4, 8, 16),
    [MIN_BLOCKS] = MMT_KNOB("MIN_BLOCKS", "least blocks on a multiprocessor", 1, 2, 3, 4),
    [CLUSTER] = MMT_KNOB("CLUSTER", "blocks that share a tile of C and their memory", 1,
                         2, 3, 4, 5, 6, 8),
    [SPLIT_K] = MMT_GEMM_KNOB_SPLITS("clusters that share a tile of C", 2, false,
                                     MMT_GEMM_SPLITS),
    [SYNC] = { "SYNC",
               "whose barriers hand stages on: the block's or the stages'",
               2,
               { BY_BLOCK, BY_STAGE },
               sync_names },
    [TILE_SCHEDULER] = { "TILE_SCHEDULER",
                         "a block's work: a tile, one after the other, or runs of what "
                         "is left, "
                         "too",
                         3,
                         { DATA_PARALLEL, PERSISTENT, STREAM_K },
                         scheduler_names },
};

// clang-format off
/* A knob that a row leaves out is 0. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 4, [MMA] = M16K8,
      [STAGES] = 4, [REGISTER_STAGES] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 4, [MMA] = M16K8,
      [STAGES] = 5, [REGISTER_STAGES] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_STAGE, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [WARPS_M] = 4, [WARPS_N] = 2, [MMA] = M16K8,
      [STAGES] = 5, [REGISTER_STAGES] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_STAGE, [TILE_SCHEDULER] = STREAM_K },
    { [TILE_M] = 192, [TILE_N] = 128, [TILE_K] = 16, [WARPS_M] = 4, [WARPS_N] = 2, [MMA] = M16K4,
      [STAGES] = 4, [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_STAGE, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M16K8,
      [STAGES] = 4, [REGISTER_STAGES] = 8, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 3, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M16K8,
      [STAGES] = 4, [REGISTER_STAGES] = 8, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 3, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = STREAM_K },
    { [TILE_M] = 64, [TILE_N] = 128, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M16K8,
      [STAGES] = 3, [REGISTER_STAGES] = 16, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 128, [TILE_N] = 64, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M16K8,
      [STAGES] = 3, [REGISTER_STAGES] = 8, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 128, [TILE_N] = 64, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M16K8,
      [STAGES] = 4, [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_STAGE, [TILE_SCHEDULER] = PERSISTENT },
    { [TILE_M] = 96, [TILE_N] = 64, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M16K8,
      [STAGES] = 4, [REGISTER_STAGES] = 8, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 32, [TILE_N] = 64, [TILE_K] = 16, [WARPS_M] = 1, [WARPS_N] = 4, [MMA] = M16K8,
      [STAGES] = 6, [REGISTER_STAGES] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 16, [TILE_N] = 64, [TILE_K] = 16, [WARPS_M] = 1, [WARPS_N] = 4, [MMA] = M16K8,
      [STAGES] = 6, [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 3, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 32, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M16K4,
      [STAGES] = 4, [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 3, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M16K8,
      [STAGES] = 4, [REGISTER_STAGES] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 3, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 64, [TILE_N] = 16, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 1, [MMA] = M8K4,
      [STAGES] = 4, [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 4, [MMA] = M16K8,
      [STAGES] = 5, [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [CLUSTER] = 2, [SPLIT_K] = 1,
      [SYNC] = BY_STAGE, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M16K8,
      [STAGES] = 5, [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [CLUSTER] = 4, [SPLIT_K] = 1,
      [SYNC] = BY_STAGE, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 96, [TILE_N] = 64, [TILE_K] = 8, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M16K4,
      [STAGES] = 5, [REGISTER_STAGES] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 3, [CLUSTER] = 8, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 2, [MMA] = M8K4,
      [STAGES] = 4, [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_STAGE, [TILE_SCHEDULER] = DATA_PARALLEL },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [WARPS_M] = 2, [WARPS_N] = 4, [MMA] = M8K4,
      [STAGES] = 4, [REGISTER_STAGES] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_STAGE, [TILE_SCHEDULER] = STREAM_K },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 8, [WARPS_M] = 1, [WARPS_N] = 1, [MMA] = M8K4,
      [STAGES] = 2, [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [CLUSTER] = 1, [SPLIT_K] = 1,
      [SYNC] = BY_BLOCK, [TILE_SCHEDULER] = DATA_PARALLEL },
};
// clang-format on

static int threads(const int *v)
{
    return 32 * v[WARPS_M] * v[WARPS_N];
}

/* An instruction's rows and depth. */
static int mma_rows(const int *v)
{
    return v[MMA] / 100;
}

static int mma_depth(const int *v)
{
    return v[MMA] % 100;
}

/* Blocks of 8 x 8 of a warp, down and across. */
static int blocks_m(const int *v)
{
    return v[TILE_M] / v[WARPS_M] / 8;
}

static int blocks_n(const int *v)
{
    return v[TILE_N] / v[WARPS_N] / 8;
}

/* A cluster's block keeps its accumulators where the stages were. */
static size_t shared_bytes(const int *v)
{
    enum { BARRIERS = 128 }; /* bytes that a stage's barriers take */
    const size_t tiles = sizeof(double) * v[TILE_K] * (v[TILE_M] + v[TILE_N]);
    const size_t stages = v[STAGES] * (tiles + (v[SYNC] == BY_STAGE ? BARRIERS : 0));
    const size_t accumulators = sizeof(double) * v[TILE_M] * (v[TILE_N] + 8);
    return v[CLUSTER] > 1 && accumulators > stages ? accumulators : stages;
}

/* 32-bit registers that a thread cannot do without: accumulators, operands, and what
 * addresses and a loop take besides. */
static unsigned registers(const int *v)
{
    enum { BESIDES = 30, WORDS = sizeof(double) / 4 };
    const int accumulators = 2 * blocks_m(v) * blocks_n(v);
    const int operands =
        blocks_m(v) * (v[REGISTER_STAGES] > 1 ? 2 : 1) + v[REGISTER_STAGES];
    return WORDS * (accumulators + operands * mma_depth(v) / 4) + BESIDES;
}

static const char *check_shape(const int *v, const struct mmt_variant *variant)
{
    const int vector = variant->aligned ? 2 : 1;
    const int row_a = (variant->trans_a ? v[TILE_M] : v[TILE_K]) / vector;
    const int row_b = (variant->trans_b ? v[TILE_K] : v[TILE_N]) / vector;

    if (v[TILE_M] % (16 * v[WARPS_M]) || v[TILE_N] % (16 * v[WARPS_N]))
        return "TILE_M and TILE_N must be multiples of 16 * WARPS";
    if (v[TILE_K] % mma_depth(v))
        return "TILE_K must be a multiple of the depth of MMA";
    if (v[REGISTER_STAGES] > 1 && v[TILE_K] / mma_depth(v) % 2)
        return "REGISTER_STAGES above 1 need a TILE_K of an even number of MMA's depths";
    if (blocks_n(v) % v[REGISTER_STAGES] && v[REGISTER_STAGES] != 2 * blocks_n(v))
        return "a warp's columns of blocks must be a multiple of REGISTER_STAGES, or "
               "half of "
               "them";
    if (v[SYNC] == BY_STAGE && v[STAGES] < 3)
        return "SYNC=stages needs three STAGES";
    if (v[TILE_SCHEDULER] != DATA_PARALLEL && v[CLUSTER] * v[SPLIT_K] > 1)
        return "TILE_SCHEDULER=persistent and TILE_SCHEDULER=stream_k need a CLUSTER and "
               "a SPLIT_K of 1";
    if (row_a > threads(v) || row_b > threads(v))
        return "a row of a tile in memory has more vectors than the block has threads";
    return NULL;
}

static const char *check_device(const int *v, const struct mmt_caps *caps)
{
    if (caps->sm < 80)
        return "double precision on tensor cores needs sm_80 or newer";
    if (caps->sm < 90 && mma_rows(v) > 8)
        return "an MMA of 16 rows needs sm_90 or newer";
    if (caps->sm < 90 && v[CLUSTER] > 1)
        return "clusters of blocks need sm_90 or newer";
    return NULL;
}

/* Blocks that stay. */
static unsigned stay(const int *v, const struct mmt_caps *caps)
{
    return (caps->sms ? caps->sms : 1) * (unsigned) v[MIN_BLOCKS];
}

static const char *dmma_check_device(const int *v, const struct mmt_variant *variant,
                                     const struct mmt_caps *caps)
{
    enum { RESERVED = 1024 }; /* bytes of shared memory, of every block */
    const size_t shared = shared_bytes(v);
    const char *why = check_shape(v, variant);
    if (!why)
        why = check_device(v, caps);
    if (!why)
        why = mmt_gemm_check_device(threads(v), 1, shared, caps);
    if (!why)
        why = mmt_gemm_check_resident(v[MIN_BLOCKS], threads(v), registers(v),
                                      shared + RESERVED, caps);
    if (!why)
        why = mmt_gemm_check_splits(v[SPLIT_K], caps);
    if (!why && v[TILE_SCHEDULER] == STREAM_K)
        why = mmt_gemm_check_stream_k(stay(v, caps), v[TILE_M] * v[TILE_N], caps);
    return why;
}

static int64_t tiles(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[TILE_M]) * mmt_gemm_pieces(p->n, v[TILE_N]);
}

static const char *dmma_check_problem(const int *v, const mmt_problem *problem)
{
    const int slices = v[CLUSTER] * v[SPLIT_K];
    const char *why = mmt_gemm_check_problem(tiles(v, problem));

    if (!why && slices > 1 && slices > mmt_gemm_pieces(problem->k, v[TILE_K]))
        why = "k is too short for that many slices: each needs one TILE_K at least";
    if (!why && v[TILE_SCHEDULER] == STREAM_K && problem->batch > 1)
        why = "TILE_SCHEDULER=stream_k is for one product; a batch has tiles enough";
    return why ? why : mmt_gemm_check_split_problem(v[SPLIT_K], problem);
}

static struct mmt_tile dmma_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[TILE_M], v[TILE_N], v[TILE_K], v[TILE_K] };
}

/* The smallest instruction and the shortest steps run at half the rate; with few operands
 * in registers, shared memory is waited for; and clusters wait for each other. */
static double slowed(const int *v)
{
    const double alone = v[MMA] == M8K4 || v[TILE_K] == 8            ? 2
                         : v[MMA] == M16K8 && v[REGISTER_STAGES] < 4 ? 1.35
                                                                     : 1;
    return v[CLUSTER] > 1 ? alone * 1.4 : alone;
}

static struct mmt_work dmma_work(const int *v, mmt_type type)
{
    (void) type;
    return (struct mmt_work){
        .m = v[TILE_M],
        .n = v[TILE_N],
        .depth = v[TILE_K],
        .step = v[TILE_K],
        .stages = v[STAGES],
        .splits = v[SPLIT_K] * v[CLUSTER],
        .cluster = v[CLUSTER],
        .slowed = slowed(v),
    };
}

static void dmma_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                        struct mmt_launches *out)
{
    const int64_t blocks = v[TILE_SCHEDULER] == STREAM_K ? stay(v, caps) : tiles(v, p);

    mmt_gemm_launch(threads(v), 1, blocks, p->batch, out);
    out->launch[0].args = mmt_gemm_workspace_args;
    out->launch[0].shared = shared_bytes(v);
    out->launch[0].pdl_waits = true;
    out->launch[0].persistent = v[TILE_SCHEDULER] == PERSISTENT;
    mmt_gemm_split(v[SPLIT_K], p, out);
    out->launch[0].grid[1] *= (unsigned) v[CLUSTER];
    if (v[TILE_SCHEDULER] == STREAM_K)
        mmt_gemm_share_stream_k(tiles(v, p), v[TILE_M] * v[TILE_N], p, out);
}

static struct mmt_alignment dmma_alignment(const int *v, const mmt_problem *problem)
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
    .preferred_on = MMT_GPU,
    .fma_per_cycle_per_sm = 256,
    .rates = { .slowed = 0.86,
               .feeding = 0.05,
               .few_warps = 0.57,
               .l2 = 67,
               .latency = 760,
               .around = 1210,
               .stored = 0.2,
               .launch = 1400,
               .launch_again = 2940,
               .unaligned = 2.2 },
    .file = "dmma.cu",
    .helpers = { "ptx.h", "hopper.h", "split_k.h", "grid.h", "tiles.h", "stream_k.h",
                 "dmma_tile.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = dmma_check_device,
    .check_problem = dmma_check_problem,
    .tile = dmma_tile,
    .work = dmma_work,
    .launch = dmma_launch,
    .alignment = dmma_alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};
