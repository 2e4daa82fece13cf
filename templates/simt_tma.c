/* The knobs of simt_tma.cu, in the order in which that file names them. */
#include "templates/simt.h"

enum { PASSES = RING_KNOBS, LOADS, PACK_A, PACK_B, NUM_KNOBS };
enum { FREE, IN_ORDER };

static const char *const load_names[] = { "free", "in_order" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    MMT_SIMT_RING_KNOBS,
    [PASSES] = MMT_KNOB("PASSES", "passes of the loop for a stage", 1, 2, 4),
    [LOADS] = { "LOADS",
                "order of loads from shared memory",
                2,
                { FREE, IN_ORDER },
                load_names },
    [PACK_A] = MMT_KNOB("PACK_A", "A may be unaligned, and is copied flat first", 0, 1),
    [PACK_B] = MMT_KNOB("PACK_B", "B may be unaligned, and is copied flat first", 0, 1),
};

// clang-format off
/* A knob that a row leaves out is 0. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = ROWS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3, [PASSES] = 1, [LOADS] = FREE },
    { [TILE_M] = 64, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = ROWS_BACK,
      [RASTER_GROUP] = 16, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3, [PASSES] = 1, [LOADS] = FREE },
    { [TILE_M] = 256, [TILE_N] = 64, [TILE_K] = 32, [THREAD_TILE_M] = 16, [THREAD_TILE_N] = 8, [WARP_M] = 16,
      [WARP_N] = 2, [LANES] = PAIRS, [C_VECTOR] = 4, [REGISTER_STAGES] = 1, [FMA_ORDER] = ROWS_ON,
      [RASTER_GROUP] = 16, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 2, [PASSES] = 1, [LOADS] = FREE },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 16,
      [WARP_N] = 2, [LANES] = PAIRS, [C_VECTOR] = 2, [REGISTER_STAGES] = 1, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 16, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = STREAM_K, [STAGES] = 4, [PASSES] = 1, [LOADS] = FREE },
    { [TILE_M] = 128, [TILE_N] = 256, [TILE_K] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = STREAM_K, [STAGES] = 3, [PASSES] = 2,
      [LOADS] = IN_ORDER },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3, [PASSES] = 2,
      [LOADS] = IN_ORDER },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 2, [PASSES] = 1,
      [LOADS] = IN_ORDER },
    { [TILE_M] = 128, [TILE_N] = 256, [TILE_K] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = STREAM_K, [STAGES] = 3, [PASSES] = 2, [LOADS] = IN_ORDER,
      [PACK_A] = 1 },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3, [PASSES] = 2, [LOADS] = IN_ORDER,
      [PACK_A] = 1 },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 2, [PASSES] = 1, [LOADS] = IN_ORDER,
      [PACK_A] = 1 },
    { [TILE_M] = 128, [TILE_N] = 256, [TILE_K] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = STREAM_K, [STAGES] = 3, [PASSES] = 2, [LOADS] = IN_ORDER,
      [PACK_A] = 1, [PACK_B] = 1 },
    { [TILE_M] = 128, [TILE_N] = 256, [TILE_K] = 32, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 4, [REGISTER_STAGES] = 2, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = STREAM_K, [STAGES] = 3, [PASSES] = 2, [LOADS] = IN_ORDER,
      [PACK_B] = 1 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 2, [REGISTER_STAGES] = 1, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 16, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3, [PASSES] = 1, [LOADS] = FREE },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = PAIRS, [C_VECTOR] = 2, [REGISTER_STAGES] = 1, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 16, [MIN_BLOCKS] = 3, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3, [PASSES] = 1, [LOADS] = FREE },
    { [TILE_M] = 256, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 16, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 1, [REGISTER_STAGES] = 1, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3, [PASSES] = 1, [LOADS] = FREE },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 1, [REGISTER_STAGES] = 1, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3, [PASSES] = 1, [LOADS] = FREE },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 8, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 1, [REGISTER_STAGES] = 1, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3, [PASSES] = 1, [LOADS] = FREE },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K] = 16, [THREAD_TILE_M] = 8, [THREAD_TILE_N] = 4, [WARP_M] = 4,
      [WARP_N] = 8, [LANES] = ROWS, [C_VECTOR] = 1, [REGISTER_STAGES] = 1, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 4, [MIN_BLOCKS] = 2, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 3, [PASSES] = 1, [LOADS] = FREE },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K] = 8, [THREAD_TILE_M] = 4, [THREAD_TILE_N] = 4, [WARP_M] = 8,
      [WARP_N] = 4, [LANES] = ROWS, [C_VECTOR] = 1, [REGISTER_STAGES] = 1, [FMA_ORDER] = COLS_BACK,
      [RASTER_GROUP] = 1, [MIN_BLOCKS] = 1, [TILE_SCHEDULER] = DATA_PARALLEL, [STAGES] = 2, [PASSES] = 1, [LOADS] = FREE },
};
// clang-format on

/* Bytes of a line of TILE_K elements. */
static unsigned line_bytes(const int *v, mmt_type type)
{
    return (unsigned) v[TILE_K] * (unsigned) mmt_type_size(type);
}

/* Bytes of shared memory: the pipeline, and a barrier a stage. */
static size_t shared_bytes(const int *v, mmt_type type)
{
    enum { BARRIER = 8 };
    const size_t stage = line_bytes(v, type) * (size_t) (v[TILE_M] + v[TILE_N]);
    return (size_t) v[STAGES] * (stage + BARRIER);
}

/* Whether an operand's tile runs along k. */
static bool is_deep_a(const int *v, bool trans_a)
{
    return !trans_a && !v[PACK_A];
}

static bool is_deep_b(const int *v, bool trans_b)
{
    return trans_b && !v[PACK_B];
}

/* 32-bit registers that a thread cannot do without: accumulators, operands, of which a
 * deep one has 16 bytes a line, and what a loop takes besides. */
static unsigned registers(const int *v, const struct mmt_variant *variant)
{
    enum { BESIDES = 20, WORDS_OF_PIECE = 4 };
    const int words = (int) mmt_type_size(variant->type) / 4;
    const int flat = words * v[REGISTER_STAGES];
    const int a =
        v[THREAD_TILE_M] * (is_deep_a(v, variant->trans_a) ? WORDS_OF_PIECE : flat);
    const int b =
        v[THREAD_TILE_N] * (is_deep_b(v, variant->trans_b) ? WORDS_OF_PIECE : flat);
    return (unsigned) (words * v[THREAD_TILE_M] * v[THREAD_TILE_N] + a + b + BESIDES);
}

static const char *check_deep(const int *v, const struct mmt_variant *variant)
{
    enum { PERIOD = 8 };
    const bool deep_a = is_deep_a(v, variant->trans_a);
    const bool deep_b = is_deep_b(v, variant->trans_b);

    if ((deep_a && v[WARP_M] * v[THREAD_TILE_M] % PERIOD) ||
        (deep_b && v[WARP_N] * v[THREAD_TILE_N] % PERIOD))
        return "a warp must own a multiple of 8 lines of an operand that runs along k";
    if ((deep_a || deep_b) && v[PASSES] > 1)
        return "an operand that runs along k has a stage's lines in one pass: PASSES "
               "must "
               "be 1";
    if (deep_b && v[C_VECTOR] > 1)
        return "where B runs along k a thread's columns are apart: C_VECTOR must be 1";
    return NULL;
}

static const char *simt_tma_check_device(const int *v, const struct mmt_variant *variant,
                                         const struct mmt_caps *caps)
{
    const mmt_type type = variant->type;
    const char *why = mmt_simt_check_shape(v, type);

    if (caps->sm < 90)
        return "TMA comes with sm_90";
    if (!variant->aligned && !(v[PACK_A] && v[PACK_B]))
        return "TMA takes operands that are aligned to 16 bytes: others need "
               "PACK_A and PACK_B";
    if (!why && line_bytes(v, type) > 128)
        why = "TILE_K elements may be at most 128 bytes, which TMA exchanges";
    if (!why && v[TILE_K] % (8 * v[PASSES]))
        why = "TILE_K must give each of PASSES a multiple of 8 steps";
    if (!why && mmt_simt_unrolled(v, v[TILE_K] / v[PASSES]) > 4096)
        why = "TILE_K / PASSES * THREAD_TILE_M * THREAD_TILE_N may be at most 4096, or "
              "the loop "
              "outgrows the instruction cache";
    if (!why)
        why = mmt_simt_check_threads(v, caps);
    if (!why && mmt_simt_warp(v) != 32)
        why = "WARP_M * WARP_N must be 32, a warp of CUDA";
    if (!why)
        why = check_deep(v, variant);
    if (!why)
        why = mmt_simt_check_resident(v, shared_bytes(v, type), registers(v, variant),
                                      caps);
    return why;
}

static const char *simt_tma_check_problem(const int *v, const mmt_problem *p)
{
    if (v[PACK_A] && p->trans_a && mmt_gemm_rows_fit(p, false))
        return "A is flat, and TMA takes its rows: PACK_A must be 0";
    if (v[PACK_B] && !p->trans_b && mmt_gemm_rows_fit(p, true))
        return "B is flat, and TMA takes its rows: PACK_B must be 0";
    const char *why = mmt_gemm_check_overlap(p, v[PACK_A], v[PACK_B]);
    return why ? why : mmt_simt_check_problem(v, p);
}

/* A tile of an operand, as it is stored. */
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

static void simt_tma_resolve(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    const struct mmt_variant variant = { .type = p->type,
                                         .trans_a = p->trans_a != 0,
                                         .trans_b = p->trans_b != 0 };
    mmt_simt_resolve(v, knobs, v[STAGES], shared_bytes(v, p->type),
                     registers(v, &variant), p, caps);
}

static void simt_tma_launch(const int *v, const mmt_problem *p,
                            const struct mmt_caps *caps, struct mmt_launches *out)
{
    static const enum mmt_arg args[] = {
        MMT_ARG_TENSOR_MAP_A,
        MMT_ARG_TENSOR_MAP_B,
        MMT_ARG_M,
        MMT_ARG_N,
        MMT_ARG_K,
        MMT_ARG_ALPHA,
        MMT_ARG_BETA,
        MMT_ARG_SCALARS,
        MMT_ARG_C,
        MMT_ARG_WORKSPACE,
        MMT_ARG_BIAS,
        MMT_ARG_END,
    };

    struct mmt_launches behind; /* the product, and what follows */
    struct mmt_box *boxes = behind.launch[0].box;
    size_t at[2] = { 0 };

    mmt_simt_launch(v, p, shared_bytes(v, p->type), caps, &behind);
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

static struct mmt_alignment simt_tma_alignment(const int *v, const mmt_problem *problem)
{
    enum { WHOLE = 16 };
    const unsigned size = (unsigned) mmt_type_size(problem->type);
    return (struct mmt_alignment){ v[PACK_A] ? size : WHOLE, v[PACK_B] ? size : WHOLE,
                                   size * (unsigned) v[C_VECTOR] };
}

/* Where a thread reads an operand along k, its lines come one by one, not in pieces. */
static void simt_tma_define(const int *v, const struct mmt_variant *variant,
                            struct mmt_text *text)
{
    mmt_text_add(text, "#define PACK_FLAT 1\n");
    if (is_deep_a(v, variant->trans_a))
        mmt_text_add(text, "#define PIECE_M 1\n");
    if (is_deep_b(v, variant->trans_b))
        mmt_text_add(text, "#define PIECE_N 1\n");
}

/* Cards of sm_90 have tensor cores for f64, and smaller products leave too few tiles to
 * pay for packing: `simt` serves these as well, and a search that tried both found less.
 */
static bool simt_tma_prefers(const mmt_problem *p, const struct mmt_caps *caps)
{
    (void) caps;
    enum { WIDE = 2048, DEEP = 512 };
    return p->type != MMT_F64 && p->m >= WIDE && p->n >= WIDE && p->k >= DEEP;
}

const struct mmt_template mmt_template_simt_tma = {
    .name = "simt_tma",
    .what = "register tiles fed by TMA of sm_90, without tensor cores",
    .op = MMT_GEMM,
    .types = MMT_PLAIN_TYPES,
    .fused = true,
    .aligned_only = true,
    .dialects = MMT_CUDA_CXX,
    .preferred_on = MMT_GPU,
    .prefers = simt_tma_prefers,
    .file = "simt_tma.cu",
    .helpers = { "hopper.h", "pack.h", "split_k.h", "grid.h", "tiles.h", "stream_k.h",
                 "register_tile.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .resolve = simt_tma_resolve,
    .check_device = simt_tma_check_device,
    .check_problem = simt_tma_check_problem,
    .tile = mmt_simt_tile,
    .work = mmt_simt_work,
    .launch = simt_tma_launch,
    .alignment = simt_tma_alignment,
    .define = simt_tma_define,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};
