/* The knobs of wgmma.cu: their values, starting points, and which of them cannot be. */
#include <string.h>

#include "templates/wgmma.h"
#include "templates/wgmma_starts.h"

static const char *const schedule_names[] = { "cooperative", "pingpong" };
static const char *const cluster_names[] = { "1x1", "2x1", "1x2", "4x1",
                                             "1x4", "2x2", "4x2", "2x4" };
static const char *const scheduler_names[] = { "persistent", "balanced", "data_parallel",
                                               "stream_k" };
static const char *const raster_names[] = { "rows", "columns", "hilbert" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [SWAP] = MMT_KNOB("SWAP", "compute the transpose of C", 0, 1),
    [PACK_A] = MMT_KNOB("PACK_A", "A may be unaligned, and is packed first", 0, 1),
    [PACK_B] = MMT_KNOB("PACK_B", "B may be unaligned, and is packed first", 0, 1),
    [TILE_M] = MMT_KNOB("TILE_M", "rows of a tile", 64, 128, 192, 256),
    [TILE_N] = MMT_KNOB("TILE_N", "columns of a tile", MMT_RANGE_32(8, 8)),
    [TILE_K_BYTES] =
        MMT_KNOB("TILE_K_BYTES", "depth of a stage along k, in bytes", 128, 256),
    [STAGES] = MMT_KNOB("STAGES", "stages of the pipeline", MMT_RANGE_8(2, 1),
                        MMT_RANGE_8(10, 1)),
    [CONSUMERS] = MMT_KNOB("CONSUMERS", "warpgroups that multiply", 1, 2, 3),
    [SCHEDULE] = { "SCHEDULE",
                   "how warpgroups share the work",
                   2,
                   { COOPERATIVE, PINGPONG },
                   schedule_names },
    [CLUSTER] = { "CLUSTER",
                  "tiles of blocks that share what they fetch",
                  8,
                  { ALONE, BELOW, BESIDE, FOUR_BELOW, FOUR_BESIDE, SQUARE, HIGH, WIDE },
                  cluster_names },
    [CLUSTER_K] =
        MMT_KNOB("CLUSTER_K", "blocks of a cluster that share a tile", 1, 2, 4, 8),
    [SPLIT_K] =
        MMT_GEMM_KNOB_SPLITS("clusters that share a tile; 0: as suits it", 2, true, 0, 1,
                             2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128),
    [TILE_SCHEDULER] = { "TILE_SCHEDULER",
                         "how many clusters there are, and what each gets",
                         4,
                         { PERSISTENT, BALANCED, DATA_PARALLEL, STREAM_K },
                         scheduler_names },
    [RASTER_ORDER] = { "RASTER_ORDER",
                       "tiles are dealt along",
                       3,
                       { ROWS, COLUMNS, HILBERT },
                       raster_names },
    [RASTER_GROUP] = MMT_KNOB("RASTER_GROUP", "rows or columns dealt side by side", 1, 2,
                              4, 6, 8, 12, 16, 32),
    [WGMMA_PENDING] =
        MMT_KNOB("WGMMA_PENDING", "pipeline stages the tensor cores may be behind", 0, 1),
    [PROMOTE] = MMT_KNOB(
        "PROMOTE", "f8, f32: stages summed before full precision; else 0", 0, 1, 2, 4),
    [EPILOGUE_STAGES] = MMT_KNOB(
        "EPILOGUE_STAGES", "pieces of C in shared memory; 0: registers", 0, 1, 2, 4),
    [PROMOTION] = MMT_KNOB("L2_PROMOTION", "bytes that the L2 cache fetches at once", 0,
                           64, 128, 256),
    [TRANSPOSE_IN_REGISTERS] =
        MMT_KNOB("TRANSPOSE_IN_REGISTERS",
                 "the left operand is transposed on its way to registers", 0, 1),
    [OVERLAP_EPILOGUE] = MMT_KNOB("OVERLAP_EPILOGUE",
                                  "C is stored while the next tile is multiplied", 0, 1),
};

/* ---- what cannot be -------------------------------------------------------------- */

static const char *check_type(const int *v, const struct mmt_variant *variant)
{
    if (!variant->aligned && !(v[PACK_A] && v[PACK_B]))
        return "TMA takes operands that are aligned to 16 bytes alone: "
               "others "
               "need PACK_A and PACK_B";
    if ((v[PACK_A] || v[PACK_B]) && v[EPILOGUE_STAGES])
        return "with PACK_A or PACK_B, C may be unaligned and is stored by rows: "
               "EPILOGUE_STAGES must be 0";
    if (mmt_type_in(variant->type, MMT_WHOLE_TYPES) && v[TILE_N] > 32 && v[TILE_N] % 16)
        return "wgmma of bytes has 8, 16, 24, 32 or a multiple of 16 columns";
    if (!v[PROMOTE] ==
        (mmt_type_in(variant->type, MMT_F8_TYPES) || variant->type == MMT_F32))
        return "PROMOTE is for accumulators of f32 and of 8-bit floating-point numbers, "
               "and they "
               "need it";
    if (variant->type == MMT_F32 && (v[PROMOTE] != 1 || v[TILE_K_BYTES] != 128))
        return "f32 promotes each stage, 64 steps of k, or would be less exact than "
               "FFMA: "
               "PROMOTE must be 1 and TILE_K_BYTES 128";
    if (in_slices(variant->type) && !(v[PACK_A] && v[PACK_B]))
        return "f32 is taken apart into three bf16 and i32 into four bytes on the way to "
               "the workspace: PACK_A and PACK_B must be 1";
    if (variant->type == MMT_I32 && !v[WGMMA_PENDING])
        return "i32 lets the tensor cores be a stage behind: WGMMA_PENDING must be 1";
    return NULL;
}

static const char *check_transposition(const int *v, const struct mmt_variant *variant)
{
    if (!v[TRANSPOSE_IN_REGISTERS])
        return NULL;
    const int size = element_bytes(variant->type);
    if (size == 2 || !v[WGMMA_PENDING] ||
        left_deep(v, variant->type, variant->trans_a, variant->trans_b))
        return "TRANSPOSE_IN_REGISTERS is for a left operand of tf32, f8 or i8 that is "
               "neither stored nor "
               "packed along k, with WGMMA_PENDING 1";
    if (size == 1 && (v[EPILOGUE_STAGES] || blocks_of_consumer(v) % 2))
        return "TRANSPOSE_IN_REGISTERS of 8-bit types takes two blocks of 64 rows of a "
               "warpgroup's at a "
               "time, and stores C from registers (EPILOGUE_STAGES 0)";
    if (v[PROMOTE] > 1)
        return "TRANSPOSE_IN_REGISTERS of f8 promotes each stage: PROMOTE must be 1";
    return NULL;
}

/* What only repeats another configuration is left out. */
static const char *check_scheduler(const int *v)
{
    if (v[RASTER_ORDER] == HILBERT && v[RASTER_GROUP] != 1)
        return "RASTER_GROUP is for RASTER_ORDER rows and columns; with hilbert it must "
               "be 1";
    if (v[TILE_SCHEDULER] != PERSISTENT && shares_tiles(v))
        return "blocks that share a tile (CLUSTER_K, SPLIT_K) have that one: "
               "TILE_SCHEDULER "
               "must be rounds";
    if (v[TILE_SCHEDULER] == DATA_PARALLEL && v[CONSUMERS] > 1)
        return "a block whose CONSUMERS take all registers of a multiprocessor may as "
               "well stay: TILE_SCHEDULER data_parallel is for one of them";
    if (v[TILE_SCHEDULER] == BALANCED && v[CONSUMERS] == 1)
        return "TILE_SCHEDULER balanced is for blocks that have a multiprocessor for "
               "themselves: two "
               "CONSUMERS or more";
    if (v[TILE_SCHEDULER] == STREAM_K && blocks_of_cluster(v) > 2)
        return "TILE_SCHEDULER stream_k takes clusters of at most two blocks, which run "
               "on all "
               "multiprocessors";
    return NULL;
}

static const char *check_tile(const int *v, const struct mmt_variant *variant)
{
    const int blocks = v[TILE_M] / BLOCK_M, owners = consumers_of_a_tile(v);
    const int out = (int) mmt_type_size(variant->out);

    if (v[SCHEDULE] == PINGPONG && v[CONSUMERS] == 1)
        return "pingpong takes two CONSUMERS or more";
    if (blocks % owners)
        return "TILE_M must give each of its CONSUMERS whole blocks of 64 rows";
    if (blocks_of_cluster(v) > 8)
        return "a cluster has eight blocks at most";
    if (v[TILE_N] % (8 * cluster_m(v)) &&
        right_deep(v, variant->type, variant->trans_a, variant->trans_b))
        return "blocks below each other share columns that are stored along k by "
               "eights: TILE_N must be a multiple of 8 for each of them";
    if (v[SWAP] && v[EPILOGUE_STAGES] && out != 2)
        return "with SWAP, C of 4 bytes is stored from registers: EPILOGUE_STAGES must "
               "be 0";
    if (v[EPILOGUE_STAGES] >
        blocks / owners * v[TILE_N] / columns_of_piece(v, variant->out))
        return "EPILOGUE_STAGES has more stages than a warpgroup has pieces of C";
    if (v[OVERLAP_EPILOGUE] &&
        (out != 2 || v[SCHEDULE] != COOPERATIVE || !v[EPILOGUE_STAGES] || v[PROMOTE] ||
         v[TRANSPOSE_IN_REGISTERS] ||
         (v[TILE_SCHEDULER] != PERSISTENT && v[TILE_SCHEDULER] != BALANCED)))
        return "OVERLAP_EPILOGUE is for C of 16 bits that goes through EPILOGUE_STAGES, "
               "of "
               "cooperative CONSUMERS that stay (TILE_SCHEDULER persistent or balanced), "
               "without "
               "PROMOTE and TRANSPOSE_IN_REGISTERS";
    if (has_two_parts(v) && blocks / owners > 2)
        return "PROMOTE 1 with WGMMA_PENDING 1 has parts for two blocks of 64 rows of a "
               "warpgroup's";
    if (blocks / owners > 1 && v[STAGES] < v[PROMOTE])
        return "blocks of 64 rows below each other read PROMOTE stages in turn: STAGES "
               "must be as many";
    return NULL;
}

/* The accumulators of a tile pass through the pipeline, each block's part of them in
 * pairs. */
static const char *check_shared_tile(const int *v, const struct mmt_variant *variant)
{
    const int ring = v[STAGES] * (tile_bytes(v, v[TILE_M], variant->type, true) +
                                  tile_bytes(v, v[TILE_N], variant->type, true));

    if (!shares_tiles(v))
        return NULL;
    if (v[SCHEDULE] != COOPERATIVE || v[EPILOGUE_STAGES])
        return "blocks that share a tile (CLUSTER_K, SPLIT_K) are cooperative and store "
               "from registers (EPILOGUE_STAGES 0)";
    if (v[CLUSTER_K] > 1 && accumulators(v) % (2 * v[CLUSTER_K]))
        return "a thread's accumulators must give each of CLUSTER_K blocks whole pairs";
    if (v[CLUSTER_K] > 1 && v[TILE_M] * v[TILE_N] * 4 > ring)
        return "the accumulators of a tile do not fit into the pipeline, which CLUSTER_K "
               "needs";
    return NULL;
}

/* A multiprocessor's registers are dealt by role; accumulators leave room for the rest.
 * An instruction must do with what a thread has before they are dealt. */
static const char *check_registers(const int *v)
{
    if (v[CONSUMERS] == 3 && v[TILE_N] > 192)
        return "with three CONSUMERS an instruction has registers for a TILE_N up to 192";
    return registers_of_sums(v) > most_sums(v)
               ? "the accumulators take more registers than a thread may have"
               : NULL;
}

static const char *wgmma_check_device(const int *v, const struct mmt_variant *variant,
                                      const struct mmt_caps *caps)
{
    size_t shared =
        shared_bytes(v, variant->type, variant->out, variant->trans_a, variant->trans_b);
    const char *why;

    if (strcmp(caps->architecture, "sm_90a"))
        return "wgmma is an instruction of sm_90a alone";
    if (variant->batch_by == MMT_BY_POINTERS)
        return "wgmma's operands come by TMA, which takes a batch by its stride, not by "
               "pointers";
    if ((why = check_type(v, variant)) || (why = check_tile(v, variant)) ||
        (why = check_transposition(v, variant)) || (why = check_registers(v)) ||
        (why = check_shared_tile(v, variant)) || (why = check_scheduler(v)))
        return why;
    return mmt_gemm_check_device(threads(v), 1, shared, caps);
}

static struct mmt_tile wgmma_tile(const int *v, const mmt_problem *p)
{
    const int depth = v[TILE_K_BYTES] / element_bytes(p->type);
    return (struct mmt_tile){ v[SWAP] ? v[TILE_N] : v[TILE_M],
                              v[SWAP] ? v[TILE_M] : v[TILE_N], depth, depth };
}

static struct mmt_work wgmma_work(const int *v, mmt_type type)
{
    const int depth = v[TILE_K_BYTES] / element_bytes(type);
    return (struct mmt_work){
        .m = v[TILE_M],
        .n = v[TILE_N],
        .swap = v[SWAP],
        .depth = depth,
        .step = depth,
        .stages = v[STAGES],
        .splits = v[SPLIT_K] * v[CLUSTER_K],
        .cluster = v[CLUSTER],
    };
}

static struct mmt_alignment wgmma_alignment(const int *v, const mmt_problem *problem)
{
    unsigned element = (unsigned) mmt_type_size(problem->type);
    unsigned result = (unsigned) mmt_type_size(problem->out);
    return (struct mmt_alignment){ v[PACK_A] ? element : 16, v[PACK_B] ? element : 16,
                                   v[EPILOGUE_STAGES] ? 16 : result };
}

/* ---- straight-line text ---------------------------------------------------------- */

static void add_list(struct mmt_text *text, const char *before, const char *format,
                     int count, const char *after)
{
    mmt_text_add(text, before);
    for (int i = 0; i < count; i++) {
        mmt_text_add(text, i ? ", " : "");
        mmt_text_addf(text, format, i);
    }
    mmt_text_add(text, after);
}

/* An instruction's names for its registers: the accumulators, then the operands. */
static void wgmma_define(const int *v, const struct mmt_variant *variant,
                         struct mmt_text *text)
{
    const int count = v[TILE_N] / 2;
    const bool whole = mmt_type_in(variant->type, MMT_WHOLE_TYPES);
    const char *item = whole ? "\"+r\"(x[%d])" : "\"+f\"(x[%d])";

    add_list(text, "#define ACC_NAMES \"{", "%%%d", count, "}\"\n");
    add_list(text, "#define ACC_LIST(x) ", item, count, "\n");
    const int left = v[TRANSPOSE_IN_REGISTERS]
                         ? 4
                         : 1; /* words of the operand, or what describes it */
    if (v[TRANSPOSE_IN_REGISTERS])
        mmt_text_addf(text, "#define LEFT_NAME \"{%%%d, %%%d, %%%d, %%%d}\"\n", count,
                      count + 1, count + 2, count + 3);
    else
        mmt_text_addf(text, "#define LEFT_NAME \"%%%d\"\n", count);
    mmt_text_addf(text, "#define RIGHT_NAME \"%%%d\"\n", count + left);
    mmt_text_addf(text, "#define ADD_NAME \"%%%d\"\n", count + left + 1);
}

static void wgmma_resolve(int *v, const mmt_problem *problem, const struct mmt_caps *caps)
{
    mmt_wgmma_resolve(v, knobs, problem, caps);
}

const struct mmt_template mmt_template_wgmma = {
    .name = "wgmma",
    .what =
        "16-bit, tf32, 8-bit types, f32 and i32 on the tensor cores of NVIDIA's sm_90a",
    .op = MMT_GEMM,
    .types = 1 << MMT_BF16 | 1 << MMT_F16 | 1 << MMT_TF32 | 1 << MMT_F8E4M3 |
             1 << MMT_F8E5M2 | 1 << MMT_I8 | 1 << MMT_F32 | 1 << MMT_I32,
    .fused = true,
    .aligned_only = true,
    .dialects = MMT_CUDA_CXX,
    .preferred_on = MMT_GPU,
    .fma_per_cycle_per_sm = 1024,
    .rates = { .slowed = 1, .launch = 3300 },
    .file = "wgmma.cu",
    .helpers = { "hopper.h", "transpose.h", "wgmma_tile.h", "pack.h", "wgmma_scheduler.h",
                 "wgmma_store.h", "wgmma_accumulators.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .resolve = wgmma_resolve,
    .check_device = wgmma_check_device,
    .check_problem = mmt_wgmma_check_problem,
    .tile = wgmma_tile,
    .work = wgmma_work,
    .launch = mmt_wgmma_launch,
    .cycles = mmt_wgmma_cycles,
    .alignment = wgmma_alignment,
    .define = wgmma_define,
    .candidates = mmt_wgmma_candidates,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};
