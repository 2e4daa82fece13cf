/* The knobs of simt.cl, what each COPY makes of them, and its launch. */
#include "templates/simt.h"

#include "templates/simt_starts.h"
#include "templates/law.h"

/* ---- knobs ----------------------------------------------------------------------- */

static const char *const copy_names[] = { "registers", "cp_async", "tma" };
static const char *const lane_names[] = { "rows", "columns", "pairs" };
static const char *const scheduler_names[] = { "data_parallel", "persistent",
                                               "stream_k" };
static const char *const order_names[] = {
    "rows",
    "columns",
    "rows_serpentine",
    "columns_serpentine",
    "blocks2x2_serpentine",
    "blocks2x2_down",
};
static const char *const layout_names[] = { "plain", "pad", "swap", "swizzle" };
static const char *const load_names[] = { "free", "in_order" };

/* The knobs whose values are the same for all; each COPY is a space of its own. */
// clang-format off
#define SHARED_KNOBS(copy)                                                               \
    [COPY] = { "COPY", "how tiles come to shared memory", 1, { copy },                   \
               &copy_names[copy] },                                                      \
    [WARP_M] = MMT_KNOB("WARP_M", "threads of a warp down the tile", 1, 2, 4, 8, 16,     \
                        32),                                                             \
    [WARP_N] = MMT_KNOB("WARP_N", "threads of a warp across the tile", 1, 2, 4, 8, 16,   \
                        32),                                                             \
    [LANES] = { "LANES", "order of a warp's threads", 3, { ROWS, COLUMNS, PAIRS },       \
                lane_names },                                                            \
    [C_VECTOR] = MMT_KNOB("C_VECTOR", "elements of C per global store", 1, 2, 4),        \
    [REGISTER_STAGES] = MMT_KNOB("REGISTER_STAGES",                                      \
                                 "steps whose operands are in registers", 1, 2),         \
    [FMA_ORDER] = { "FMA_ORDER", "order of a step's FMAs", 6,                            \
                    { ROWS_ON, COLS_ON, ROWS_BACK, COLS_BACK, ACROSS, DOWN },            \
                    order_names },                                                       \
    [RASTER_GROUP] = MMT_KNOB("RASTER_GROUP",                                            \
                              "rows of tiles that neighbouring blocks share", 1, 4, 8,   \
                              16),                                                       \
    [MIN_BLOCKS] = MMT_KNOB("MIN_BLOCKS", "least blocks on a multiprocessor", 1, 2, 3,   \
                            4),                                                          \
    [SPLIT_K] = MMT_GEMM_KNOB_SPLITS("blocks that share a tile of C; 0: as suits it", 2, \
                                     true, 0, MMT_GEMM_SPLITS),                          \
    [TILE_SCHEDULER] = { "TILE_SCHEDULER",                                               \
               "a block's work: a tile, one after the other, or runs of the rest, too",  \
               3, { DATA_PARALLEL, PERSISTENT, STREAM_K }, scheduler_names }

/* Those of a pipeline in shared memory. */
#define PIPELINE_KNOBS                                                                   \
    [TILE_M] = MMT_KNOB("TILE_M", "rows of C per block", 32, 64, 96, 128, 192, 256),     \
    [TILE_N] = MMT_KNOB("TILE_N", "columns of C per block", 32, 64, 96, 128, 192, 256),  \
    [TILE_K] = MMT_KNOB("TILE_K", "depth of one stage of the pipeline", 8, 16, 32),      \
    [THREAD_TILE_M] = MMT_KNOB("THREAD_TILE_M", "rows of C per thread", 2, 4, 6, 8, 12,  \
                               16),                                                      \
    [THREAD_TILE_N] = MMT_KNOB("THREAD_TILE_N", "columns of C per thread", 2, 4, 6, 8,   \
                               12, 16),                                                  \
    [STAGES] = MMT_KNOB("STAGES", "stages of the pipeline in shared memory", 2, 3, 4, 5)
// clang-format on

static const struct mmt_knob registers_knobs[NUM_OF_REGISTERS] = {
    SHARED_KNOBS(REGISTERS),
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

static const struct mmt_knob cp_async_knobs[NUM_SHARED] = { SHARED_KNOBS(CP_ASYNC),
                                                            PIPELINE_KNOBS };

static const struct mmt_knob tma_knobs[NUM_OF_TMA] = {
    SHARED_KNOBS(TMA),
    PIPELINE_KNOBS,
    [PASSES] = MMT_KNOB("PASSES", "passes of the loop for a stage", 1, 2, 4),
    [LOADS] = { "LOADS",
                "order of loads from shared memory",
                2,
                { FREE, IN_ORDER },
                load_names },
    [PACK_A] = MMT_KNOB("PACK_A", "A may be unaligned, and is copied flat first", 0, 1),
    [PACK_B] = MMT_KNOB("PACK_B", "B may be unaligned, and is copied flat first", 0, 1),
};

/* ---- what the knobs come to ------------------------------------------------------ */

static int warp_of(const int *v)
{
    return v[WARP_M] * v[WARP_N];
}

static int threads_of(const int *v)
{
    return (v[TILE_M] / v[THREAD_TILE_M]) * (v[TILE_N] / v[THREAD_TILE_N]);
}

/* FMAs that stand in the text one after the other for so many steps along k. */
static int unrolled(const int *v, int steps)
{
    return steps * v[THREAD_TILE_M] * v[THREAD_TILE_N];
}

/* Steps along k that stand in the text. */
static int unrolled_steps(const int *v)
{
    return v[COPY] == REGISTERS  ? v[K_UNROLL]
           : v[COPY] == CP_ASYNC ? v[TILE_K]
                                 : v[TILE_K] / v[PASSES];
}

/* Whether TMA leaves an operand's tile along k. */
static bool is_deep_a(const int *v, bool trans_a)
{
    return !trans_a && !v[PACK_A];
}

static bool is_deep_b(const int *v, bool trans_b)
{
    return trans_b && !v[PACK_B];
}

/* Bytes of a line of TILE_K elements. */
static unsigned line_bytes(const int *v, mmt_type type)
{
    return (unsigned) v[TILE_K] * (unsigned) mmt_gemm_real_size(type);
}

/* Bytes of shared memory: tiles, of which one that is transposed may be padded, and for
 * TMA a barrier a stage. */
static size_t shared_bytes(const int *v, mmt_type type, bool trans_a, bool trans_b)
{
    enum { BARRIER = 8 };
    const bool pads = v[COPY] == REGISTERS && v[SHARED_LAYOUT] == PAD;
    const int pad = pads ? mmt_gemm_vector(type) : 0;
    const int lines = v[TILE_M] + (trans_a ? 0 : pad) + v[TILE_N] + (trans_b ? pad : 0);
    return (size_t) v[STAGES] * ((size_t) line_bytes(v, type) * (size_t) lines +
                                 (v[COPY] == TMA ? BARRIER : 0));
}

/* Global loads of one operand by a thread for one tile. */
static int loads(const int *v, int tile, int vector)
{
    const int threads = threads_of(v);
    return (tile * v[TILE_K] / vector + threads - 1) / threads;
}

/* 32-bit registers of a thread's operands: those of TMA that are deep have 16 bytes a
 * line. */
static int operand_registers(const int *v, int words, bool trans_a, bool trans_b)
{
    enum { WORDS_OF_PIECE = 4 };
    const int held = words * v[REGISTER_STAGES];
    const bool tma = v[COPY] == TMA;
    return v[THREAD_TILE_M] * (tma && is_deep_a(v, trans_a) ? WORDS_OF_PIECE : held) +
           v[THREAD_TILE_N] * (tma && is_deep_b(v, trans_b) ? WORDS_OF_PIECE : held);
}

/* Those of the next tile on its way through registers, and of where it comes from. */
static int next_registers(const int *v, int words)
{
    enum { ADDRESS = 2 };
    const int a = loads(v, v[TILE_M], v[A_VECTOR]), b = loads(v, v[TILE_N], v[B_VECTOR]);
    return words * (a * v[A_VECTOR] + b * v[B_VECTOR]) + ADDRESS * (a + b);
}

/* 32-bit registers that a thread cannot do without: accumulators, operands, the next
 * tile, and what a loop takes besides. */
static unsigned registers(const int *v, mmt_type type, bool trans_a, bool trans_b)
{
    static const int besides[] = { [REGISTERS] = 14, [CP_ASYNC] = 26, [TMA] = 20 };
    const int words = (int) mmt_gemm_real_size(type) / 4;
    return (unsigned) (words * v[THREAD_TILE_M] * v[THREAD_TILE_N] +
                       operand_registers(v, words, trans_a, trans_b) +
                       (v[COPY] == REGISTERS ? next_registers(v, words) : 0) +
                       besides[v[COPY]]);
}

static struct mmt_tile simt_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[TILE_M], v[TILE_N], v[TILE_K], v[TILE_K] };
}

static struct mmt_work simt_work(const int *v, mmt_type type)
{
    (void) type;
    return (struct mmt_work){
        .m = v[TILE_M],
        .n = v[TILE_N],
        .depth = v[TILE_K],
        .step = v[TILE_K],
        .stages = v[STAGES],
        .splits = v[SPLIT_K],
    };
}

static int64_t tiles_of(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[TILE_M]) * mmt_gemm_pieces(p->n, v[TILE_N]);
}

/* Persistent blocks that have runs: all are resident. */
static unsigned persistent_blocks(const int *v, const struct mmt_caps *caps)
{
    return (caps->sms ? caps->sms : 1) * (unsigned) v[MIN_BLOCKS];
}

/* ---- what a device can run ------------------------------------------------------- */

static const char *check_shape(const int *v, mmt_type type)
{
    if (v[TILE_M] % (v[WARP_M] * v[THREAD_TILE_M]) ||
        v[TILE_N] % (v[WARP_N] * v[THREAD_TILE_N]))
        return "TILE_M must be a multiple of WARP_M * THREAD_TILE_M, TILE_N of WARP_N * "
               "THREAD_TILE_N";
    if (v[C_VECTOR] > mmt_gemm_vector(type))
        return "C_VECTOR may cover at most 16 bytes";
    if (v[THREAD_TILE_N] % v[C_VECTOR])
        return "THREAD_TILE_N must be a multiple of C_VECTOR";
    if (v[LANES] == PAIRS && (v[WARP_M] % 2 || v[WARP_N] == 1))
        return "LANES pairs needs an even WARP_M and a WARP_N above 1";
    if (v[LANES] == COLUMNS && (v[WARP_M] == 1 || v[WARP_N] == 1))
        return "LANES columns is the same as rows where WARP_M or WARP_N is 1";
    if (v[FMA_ORDER] >= ACROSS && (v[THREAD_TILE_M] % 2 || v[THREAD_TILE_N] % 2))
        return "FMA_ORDER in blocks of 2x2 needs an even THREAD_TILE_M and THREAD_TILE_N";
    return NULL;
}

/* What goes through registers. */
static const char *check_loads(const int *v, mmt_type type)
{
    const int widest = mmt_gemm_vector(type), banks = 8 * widest;

    if (v[A_VECTOR] > widest || v[B_VECTOR] > widest)
        return "A_VECTOR and B_VECTOR may cover at most 16 bytes";
    if (v[TILE_K] % v[K_UNROLL])
        return "TILE_K must be a multiple of K_UNROLL";
    if (v[REGISTER_STAGES] == 2 && v[K_UNROLL] % 2)
        return "REGISTER_STAGES 2 needs an even K_UNROLL";
    if (v[SHARED_LAYOUT] == SWIZZLE && (v[TILE_M] % banks || v[TILE_N] % banks))
        return "SHARED_LAYOUT swizzle needs a TILE_M and TILE_N of whole rows of 128 "
               "bytes";
    return NULL;
}

static const char *check_warp(const int *v, const struct mmt_caps *caps)
{
    const unsigned warp = (unsigned) warp_of(v);

    if (v[COPY] != REGISTERS)
        return warp != 32 ? "WARP_M * WARP_N must be 32, a warp of CUDA" : NULL;
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
    const int steps = unrolled(v, v[K_UNROLL]);

    if (steps > 512)
        return "K_UNROLL * THREAD_TILE_M * THREAD_TILE_N may be at most 512 on a CPU, "
               "whose compilers take minutes over more";
    if (mmt_gemm_real_size(type) * (size_t) (steps * threads_of(v)) > 2 << 20)
        return "K_UNROLL * THREAD_TILE_M * THREAD_TILE_N elements of all threads may be "
               "at most 2 MiB on a CPU, which keeps them on one stack";
    return NULL;
}

/* What TMA copies. */
static const char *check_tma(const int *v, const struct mmt_variant *variant)
{
    enum { PERIOD = 8 };
    const bool deep_a = is_deep_a(v, variant->trans_a);
    const bool deep_b = is_deep_b(v, variant->trans_b);

    if (variant->batch_by == MMT_BY_POINTERS)
        return "TMA takes a batch by its stride, not by pointers";
    if (!variant->aligned && !(v[PACK_A] && v[PACK_B]))
        return "TMA takes operands that are aligned to 16 bytes: others need "
               "PACK_A and PACK_B";
    if (line_bytes(v, variant->type) > 128)
        return "TILE_K elements may be at most 128 bytes, which TMA exchanges";
    if (v[TILE_K] % (8 * v[PASSES]))
        return "TILE_K must give each of PASSES a multiple of 8 steps";
    if ((deep_a && v[WARP_M] * v[THREAD_TILE_M] % PERIOD) ||
        (deep_b && v[WARP_N] * v[THREAD_TILE_N] % PERIOD))
        return "a warp must own a multiple of 8 lines of an operand that runs along k";
    if ((deep_a || deep_b) && v[PASSES] > 1)
        return "an operand that runs along k has a stage's lines in one pass: PASSES "
               "must be 1";
    if (deep_b && v[C_VECTOR] > 1)
        return "where B runs along k a thread's columns are apart: C_VECTOR must be 1";
    return NULL;
}

static const char *check_splits(const int *v, const struct mmt_caps *caps)
{
    if (v[TILE_SCHEDULER] != DATA_PARALLEL && v[SPLIT_K] > 1)
        return "TILE_SCHEDULER=persistent and TILE_SCHEDULER=stream_k need a SPLIT_K of "
               "1";
    if (v[TILE_SCHEDULER] == PERSISTENT && caps->dialect == MMT_OPENCL_C)
        return "TILE_SCHEDULER=persistent needs a platform that says how many blocks run "
               "at once";
    if (v[TILE_SCHEDULER] == STREAM_K)
        return mmt_gemm_check_stream_k(persistent_blocks(v, caps), v[TILE_M] * v[TILE_N],
                                       caps);
    return mmt_gemm_check_splits(v[SPLIT_K], caps);
}

static const char *simt_check_device(const int *v, const struct mmt_variant *variant,
                                     const struct mmt_caps *caps)
{
    const mmt_type type = variant->type;
    const size_t shared = shared_bytes(v, type, variant->trans_a, variant->trans_b);

    if (v[COPY] == CP_ASYNC && caps->sm < 80)
        return "asynchronous copies to shared memory need sm_80: COPY must be registers";
    if (v[COPY] == TMA && caps->sm < 90)
        return "TMA comes with sm_90: COPY must be registers or, from sm_80 on, cp_async";
    const char *why = check_shape(v, type);
    if (!why && v[COPY] == REGISTERS)
        why = check_loads(v, type);
    if (!why && v[COPY] == TMA)
        why = check_tma(v, variant);
    if (!why && unrolled(v, unrolled_steps(v)) > 4096)
        why = "the steps that stand in the text (K_UNROLL, TILE_K or TILE_K / PASSES) * "
              "THREAD_TILE_M * THREAD_TILE_N may be at most 4096, or the loop outgrows "
              "the instruction cache";
    if (!why)
        why = mmt_gemm_check_device(threads_of(v), 1, shared, caps);
    if (!why)
        why = check_warp(v, caps);
    if (!why && caps->kind == MMT_CPU)
        why = check_on_cpu(v, type);
    if (!why)
        why = mmt_gemm_check_resident(
            v[MIN_BLOCKS], threads_of(v),
            registers(v, type, variant->trans_a, variant->trans_b), shared, caps);
    return why ? why : check_splits(v, caps);
}

/* ---- problems -------------------------------------------------------------------- */

static const char *simt_check_problem(const int *v, const mmt_problem *p)
{
    if (v[COPY] == TMA && v[PACK_A] && p->trans_a && mmt_gemm_rows_fit(p, false))
        return "A is flat, and TMA takes its rows: PACK_A must be 0";
    if (v[COPY] == TMA && v[PACK_B] && !p->trans_b && mmt_gemm_rows_fit(p, true))
        return "B is flat, and TMA takes its rows: PACK_B must be 0";
    const char *why =
        v[COPY] == TMA ? mmt_gemm_check_overlap(p, v[PACK_A], v[PACK_B]) : NULL;
    if (!why)
        why = mmt_gemm_check_problem(tiles_of(v, p));
    if (!why && v[TILE_SCHEDULER] == STREAM_K && p->batch > 1)
        why = "TILE_SCHEDULER=stream_k is for one product; a batch has tiles enough";
    return why ? why : mmt_gemm_check_split_problem(v[SPLIT_K], p);
}

/* Blocks that do not stay, by the law of time. */
static double simt_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    const double size = (double) mmt_gemm_real_size(p->type);
    const struct mmt_law law = {
        .rates = &mmt_law_usual,
        .m = v[TILE_M],
        .n = v[TILE_N],
        .k = (double) p->k,
        .blocks = (double) tiles_of(v, p) * (double) p->batch,
        .threads = threads_of(v),
        .resident = mmt_law_resident(threads_of(v),
                                     shared_bytes(v, p->type, p->trans_a, p->trans_b),
                                     registers(v, p->type, p->trans_a, p->trans_b), caps),
        .step = v[TILE_K],
        .stages = v[COPY] == REGISTERS ? 2 : v[STAGES],
        .rate = MMT_LAW_LANES * 4 / size,
        .fetched = size,
        .stored = v[TILE_M] * v[TILE_N] * size / 4,
        .bytes = mmt_problem_bytes(p),
        .launches = 1,
    };
    const struct mmt_law cut =
        mmt_law_split(&law, v[SPLIT_K], mmt_gemm_partial_sums(p) * size);
    return mmt_law_cycles(&cut, caps);
}

/* Leaves as many splits of k as suit the problem, where that is asked for; blocks that
 * stay share what is left anyway. */
static void simt_resolve(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    if (v[SPLIT_K])
        return;
    v[SPLIT_K] = 1;
    if (v[TILE_SCHEDULER] == DATA_PARALLEL)
        mmt_law_choose_splits(v, SPLIT_K, &registers_knobs[SPLIT_K],
                              MMT_GEMM_MOST_PARTIAL / mmt_gemm_partial_sums(p),
                              simt_cycles, p, caps);
}

static void launch_product(const int *v, const mmt_problem *p,
                           const struct mmt_caps *caps, struct mmt_launches *out)
{
    const int64_t blocks =
        v[TILE_SCHEDULER] == STREAM_K ? persistent_blocks(v, caps) : tiles_of(v, p);

    mmt_gemm_launch(threads_of(v), 1, blocks, p->batch, out);
    out->launch[0].args = mmt_gemm_workspace_args;
    out->launch[0].shared = shared_bytes(v, p->type, p->trans_a, p->trans_b);
    out->launch[0].pdl_waits = true;
    out->launch[0].persistent = v[TILE_SCHEDULER] == PERSISTENT;
    mmt_gemm_split(v[SPLIT_K], p, out);
    if (v[TILE_SCHEDULER] == STREAM_K)
        mmt_gemm_share_stream_k(tiles_of(v, p), v[TILE_M] * v[TILE_N], p, out);
}

/* A tile of an operand, as TMA brings it. */
static struct mmt_box box(const int *v, mmt_type type, int tile, bool deep)
{
    enum { AS_IT_IS = 16, PROMOTION = 128 };
    const unsigned lines = (unsigned) tile, depth = (unsigned) v[TILE_K];
    return (struct mmt_box){
        .inner = deep ? depth : lines,
        .outer = deep ? lines : depth,
        .swizzle = deep ? line_bytes(v, type) : AS_IT_IS,
        .promotion = PROMOTION,
    };
}

/* With TMA, what packs operands is launched first. */
static void simt_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                        struct mmt_launches *out)
{
    // clang-format off
    static const enum mmt_arg args[] = {
        MMT_ARG_TENSOR_MAP_A, MMT_ARG_TENSOR_MAP_B, MMT_ARG_M, MMT_ARG_N, MMT_ARG_K, MMT_ARG_ALPHA,
        MMT_ARG_BETA, MMT_ARG_SCALARS, MMT_ARG_C, MMT_ARG_WORKSPACE, MMT_ARG_BIAS, MMT_ARG_END,
    };
    // clang-format on

    if (v[COPY] != TMA) {
        launch_product(v, p, caps, out);
        return;
    }
    struct mmt_launches behind; /* the product, and what follows */
    struct mmt_box *boxes = behind.launch[0].box;
    size_t at[2] = { 0 };

    launch_product(v, p, caps, &behind);
    behind.launch[0].args = args;
    boxes[0] = box(v, p->type, v[TILE_M], is_deep_a(v, p->trans_a));
    boxes[1] = box(v, p->type, v[TILE_N], is_deep_b(v, p->trans_b));

    *out = behind;
    out->count = 0;
    mmt_gemm_pack(p, v[PACK_A], v[PACK_B], MMT_PACKED_FLAT, out, at);
    mmt_gemm_use_packed(boxes, p, v[PACK_A], v[PACK_B], MMT_PACKED_FLAT, at);
    for (int i = 0; i < behind.count; i++)
        out->launch[out->count++] = behind.launch[i];
}

/* Without vectors cp_async takes an operand that runs along k element by element. */
static struct mmt_alignment simt_alignment(const int *v, const mmt_problem *p)
{
    enum { WHOLE = 16 };
    const unsigned size = (unsigned) mmt_type_size(p->type);
    const unsigned c = (unsigned) mmt_type_size(p->out) * (unsigned) v[C_VECTOR];

    if (v[COPY] == REGISTERS)
        return (struct mmt_alignment){ size * v[A_VECTOR], size * v[B_VECTOR], c };
    if (v[COPY] == CP_ASYNC)
        return (struct mmt_alignment){ p->trans_a ? WHOLE : size,
                                       p->trans_b ? size : WHOLE, c };
    return (struct mmt_alignment){ v[PACK_A] ? size : WHOLE, v[PACK_B] ? size : WHOLE,
                                   c };
}

/* Where a thread reads an operand of TMA along k, its lines come one by one. */
static void tma_define(const int *v, const struct mmt_variant *variant,
                       struct mmt_text *text)
{
    mmt_text_add(text, "#define PACK_FLAT 1\n");
    if (is_deep_a(v, variant->trans_a))
        mmt_text_add(text, "#define PIECE_M 1\n");
    if (is_deep_b(v, variant->trans_b))
        mmt_text_add(text, "#define PIECE_N 1\n");
}

/* Cards of sm_90 have tensor cores for f64, and smaller products leave too few tiles to
 * pay for packing: other copies serve these as well, and a search that tried both found
 * less. */
static bool tma_prefers(const mmt_problem *p, const struct mmt_caps *caps)
{
    (void) caps;
    enum { WIDE = 2048, DEEP = 512 };
    return p->type != MMT_F64 && p->m >= WIDE && p->n >= WIDE && p->k >= DEEP;
}

/* ---- the template, a space for each COPY ------------------------------------------- */

// clang-format off
#define SIMT(copy, its_knobs, its_seeds)                                                 \
    .name = "simt", .key = "simt_" copy, .op = MMT_GEMM, .fused = true,                  \
    .preferred_on = MMT_GPU, .file = "simt.cl", .knobs = its_knobs,                      \
    .num_knobs = sizeof(its_knobs) / sizeof(its_knobs[0]), .resolve = simt_resolve,      \
    .check_device = simt_check_device, .check_problem = simt_check_problem,              \
    .tile = simt_tile, .work = simt_work, .launch = simt_launch,                         \
    .alignment = simt_alignment, .seeds = its_seeds,                                     \
    .num_seeds = sizeof(its_seeds) / sizeof(its_seeds[0])
#define CUDA_ALONE                                                                       \
    .dialects = MMT_CUDA_CXX,                                                            \
    .other_dialect = "COPY=cp_async and COPY=tma are for CUDA alone; in OpenCL it must " \
                     "be registers"
// clang-format on

const struct mmt_template mmt_template_simt = {
    SIMT("registers", registers_knobs, registers_seeds),
    .what = "register and shared-memory tiles, the fast portable kernel",
    .types = MMT_ALL_TYPES,
    .yields = MMT_CONVERTED_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .helpers = { "split_k.h", "grid.h", "tiles.h", "stream_k.h", "vectors.h",
                 "register_tile.h", "simt_registers.h" },
};

const struct mmt_template mmt_template_simt_async = {
    SIMT("async", cp_async_knobs, cp_async_seeds),
    .what = "the same, fed by asynchronous copies",
    .types = MMT_PLAIN_TYPES,
    CUDA_ALONE,
    .rates = { .slowed = 1.28,
               .feeding = 0.19,
               .l2 = 17.5,
               .latency = 870,
               .around = 1330,
               .stored = 0.23,
               .launch = 1400,
               .launch_again = 3830,
               .unaligned = 1.3 },
    .helpers = { "ptx.h", "split_k.h", "grid.h", "tiles.h", "stream_k.h", "vectors.h",
                 "register_tile.h", "simt_async.h" },
};

const struct mmt_template mmt_template_simt_tma = {
    SIMT("tma", tma_knobs, tma_seeds),
    .what = "the same, fed by TMA of sm_90",
    .types = MMT_PLAIN_TYPES,
    CUDA_ALONE,
    .aligned_only = true,
    .prefers = tma_prefers,
    .helpers = { "hopper.h", "pack.h", "split_k.h", "grid.h", "tiles.h", "stream_k.h",
                 "register_tile.h", "simt_tma.h" },
    .define = tma_define,
};
