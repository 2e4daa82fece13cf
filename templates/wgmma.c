/* The knobs of wgmma.cu, in the order in which that file names them. */
#include <string.h>

#include "templates/gemm.h"

// clang-format off
enum {
    SWAP, TILE_M, TILE_N, DEPTH, STAGES, CONSUMERS, SCHEDULE, CLUSTER, CLUSTER_K, SPLIT_K,
    WALK, GROUP, IN_FLIGHT, PROMOTE, STORE_SLOTS, PROMOTION, NUM_KNOBS,
};
// clang-format on

enum { COOPERATIVE, PINGPONG };
enum { ROWS, COLUMNS };
enum { ALONE = 11, BELOW = 21, BESIDE = 12, FOUR_BELOW = 41, FOUR_BESIDE = 14 };

static const char *const schedule_names[] = { "cooperative", "pingpong" };
static const char *const cluster_names[] = { "1x1", "2x1", "1x2", "4x1", "1x4" };
static const char *const walk_names[] = { "rows", "columns" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [SWAP] = MMT_KNOB("SWAP", "compute the transpose of C", 0, 1),
    [TILE_M] = MMT_KNOB("TILE_M", "rows of a tile", 64, 128, 192, 256),
    [TILE_N] = MMT_KNOB("TILE_N", "columns of a tile", 8, 16, 32, 48, 64, 80, 96, 112,
                        128, 144, 160, 176, 192, 208, 224, 256),
    [DEPTH] = MMT_KNOB("DEPTH", "depth of a slot in units of 128 bytes", 1, 2),
    [STAGES] = MMT_KNOB("STAGES", "slots of the ring", 2, 3, 4, 5, 6, 7, 8, 10, 12),
    [CONSUMERS] = MMT_KNOB("CONSUMERS", "warpgroups that multiply", 1, 2, 3),
    [SCHEDULE] = { "SCHEDULE",
                   "how warpgroups share the work",
                   2,
                   { COOPERATIVE, PINGPONG },
                   schedule_names },
    [CLUSTER] = { "CLUSTER",
                  "tiles of blocks that share what they fetch",
                  5,
                  { ALONE, BELOW, BESIDE, FOUR_BELOW, FOUR_BESIDE },
                  cluster_names },
    [CLUSTER_K] =
        MMT_KNOB("CLUSTER_K", "blocks of a cluster that share a tile", 1, 2, 4, 8),
    [SPLIT_K] = MMT_KNOB("SPLIT_K", "clusters that share a tile", 1, 2, 4, 8, 16, 32, 64),
    [WALK] = { "WALK", "clusters are dealt along", 2, { ROWS, COLUMNS }, walk_names },
    [GROUP] = MMT_KNOB("GROUP", "rows or columns dealt side by side", 1, 2, 4, 6, 8, 12,
                       16, 32),
    [IN_FLIGHT] = MMT_KNOB("IN_FLIGHT", "slots the tensor cores may be behind", 0, 1),
    [PROMOTE] =
        MMT_KNOB("PROMOTE", "f8: slots summed before full precision; else 0", 0, 1, 2, 4),
    [STORE_SLOTS] =
        MMT_KNOB("STORE_SLOTS", "pieces of C in shared memory; 0: registers", 0, 1, 2, 4),
    [PROMOTION] = MMT_KNOB("L2_PROMOTION", "bytes that the L2 cache fetches at once", 0,
                           64, 128, 256),
};

// clang-format off
static const int seeds[][MMT_MAX_KNOBS] = {
    /* swap, tile, depth, stages, consumers, schedule, cluster, cluster k, split k, walk,
     * group, in flight, promote, store slots, promotion */
    { 0, 128, 256, 1,  4, 2, COOPERATIVE, BELOW,  1,  1, ROWS, 8, 1, 0, 2, 128 },
    { 0, 128, 256, 1,  4, 2, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 1, 0, 2, 128 },
    { 0, 256, 128, 1,  4, 2, COOPERATIVE, BELOW,  1,  1, ROWS, 8, 1, 0, 2, 128 },
    { 0, 128, 192, 1,  4, 2, PINGPONG,    BELOW,  1,  1, ROWS, 8, 1, 0, 2, 128 },
    { 0, 128, 128, 1,  6, 2, PINGPONG,    BELOW,  1,  1, ROWS, 8, 1, 0, 2, 128 },
    { 0, 128, 256, 1,  4, 2, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 1, 0, 0, 128 },
    { 0, 128, 128, 1,  5, 2, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 1, 0, 2, 128 },
    { 0, 128,  64, 1,  8, 2, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 1, 0, 1, 128 },
    { 0,  64, 128, 1,  8, 1, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 1, 0, 1, 128 },
    { 0,  64,  64, 1,  8, 1, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 1, 0, 1, 128 },
    { 1,  64,  16, 2,  8, 1, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 1, 0, 0, 128 },
    { 1,  64,  64, 2,  6, 1, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 1, 0, 0, 128 },
    { 1,  64,  64, 2,  6, 1, COOPERATIVE, ALONE,  2,  1, ROWS, 8, 1, 0, 0, 128 },
    { 0,  64,  64, 1,  6, 1, COOPERATIVE, ALONE,  4,  1, ROWS, 8, 1, 0, 0, 128 },
    { 0, 128, 128, 1,  5, 2, COOPERATIVE, ALONE,  2,  1, ROWS, 8, 1, 0, 0, 128 },
    { 0, 128, 128, 1,  6, 2, COOPERATIVE, ALONE,  1, 32, ROWS, 8, 1, 0, 0, 128 },
    { 0,  64,  64, 1,  8, 1, COOPERATIVE, ALONE,  1, 64, ROWS, 8, 1, 0, 0, 128 },
    /* f8 */
    { 0, 128, 128, 1,  6, 2, COOPERATIVE, BELOW,  1,  1, ROWS, 8, 0, 4, 2, 128 },
    { 0, 128, 192, 1,  4, 2, COOPERATIVE, BELOW,  1,  1, ROWS, 8, 0, 4, 2, 128 },
    { 0, 128, 128, 1,  6, 2, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 0, 1, 0, 128 },
    { 0,  64,  64, 1,  8, 1, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 0, 4, 1, 128 },
    { 1,  64,  16, 1, 12, 1, COOPERATIVE, ALONE,  1,  1, ROWS, 8, 0, 4, 0, 128 },
    { 0,  64,  64, 1,  6, 1, COOPERATIVE, ALONE,  4,  1, ROWS, 8, 0, 4, 0, 128 },
};
// clang-format on

/* ---- what the kernel file derives too -----------------------------------------------
 */

enum { LINE = 128, BLOCK_M = 64, WARPGROUP = 128, MOST_PAIRS = 1 << 24 };

static int consumers_of_a_tile(const int *v)
{
    return v[SCHEDULE] == PINGPONG ? 1 : v[CONSUMERS];
}

static int threads(const int *v)
{
    return WARPGROUP * v[CONSUMERS] + (v[CONSUMERS] == 1 ? 32 : WARPGROUP);
}

static int blocks_of_cluster(const int *v)
{
    return v[CLUSTER] / 10 * (v[CLUSTER] % 10) * v[CLUSTER_K];
}

static int cluster_m(const int *v)
{
    return v[CLUSTER] / 10;
}

static int cluster_n(const int *v)
{
    return v[CLUSTER] % 10;
}

/* Elements of a line of a tile. */
static int atom(mmt_type type)
{
    return LINE / (int) mmt_type_size(type);
}

/* Whether an operand that is not stored along k is turned first: elements that are not of
 * 2 bytes must run along it. */
static bool turns(mmt_type type)
{
    return mmt_type_size(type) != 2;
}

/* Whether the operands of the instruction run along k. */
static bool left_deep(const int *v, mmt_type type, bool trans_a, bool trans_b)
{
    return turns(type) || (v[SWAP] ? trans_b : !trans_a);
}

static bool right_deep(const int *v, mmt_type type, bool trans_a, bool trans_b)
{
    return turns(type) || (v[SWAP] ? !trans_a : trans_b);
}

/* Bytes of an operand's tile. */
static int tile_bytes(const int *v, int tile, mmt_type type, bool deep)
{
    int chunks = (tile + atom(type) - 1) / atom(type);
    return deep ? v[DEPTH] * tile * LINE : chunks * atom(type) * v[DEPTH] * LINE;
}

/* Bytes of a line of a piece of C on its way out. */
static int line_of_c(const int *v, mmt_type out)
{
    int line = LINE;
    while (v[TILE_N] * (int) mmt_type_size(out) % line)
        line /= 2;
    return line;
}

static size_t shared_bytes(const int *v, mmt_type type, mmt_type out, bool trans_a,
                           bool trans_b)
{
    int slot = tile_bytes(v, v[TILE_M], type, left_deep(v, type, trans_a, trans_b)) +
               tile_bytes(v, v[TILE_N], type, right_deep(v, type, trans_a, trans_b));
    int piece = BLOCK_M * line_of_c(v, out);
    int barriers = 2 * (int) sizeof(uint64_t);
    return (size_t) (v[STAGES] * (slot + barriers) +
                     v[CONSUMERS] * v[STORE_SLOTS] * piece);
}

/* Registers for the sums of a thread. */
static int sums(const int *v)
{
    int one = v[TILE_M] / BLOCK_M / consumers_of_a_tile(v) * v[TILE_N] / 2;
    return v[PROMOTE] ? 2 * one : one;
}

/* ---- what cannot be ------------------------------------------------------------------
 */

static bool is_f8(mmt_type type)
{
    return type == MMT_F8E4M3 || type == MMT_F8E5M2;
}

static const char *reject_type(const int *v, const struct mmt_variant *variant)
{
    if (!variant->aligned)
        return "the copy engine takes operands that are aligned to 16 bytes alone";
    if (variant->type == MMT_I8 && v[TILE_N] > 32 && v[TILE_N] % 16)
        return "wgmma of i8 has 8, 16, 24, 32 or a multiple of 16 columns";
    if (!v[PROMOTE] == is_f8(variant->type))
        return "PROMOTE is for sums of 8-bit floating-point numbers, and they need it";
    return NULL;
}

static const char *reject_tile(const int *v, const struct mmt_variant *variant)
{
    const int blocks = v[TILE_M] / BLOCK_M, owners = consumers_of_a_tile(v);
    const int out = (int) mmt_type_size(variant->out);

    if (v[SCHEDULE] == PINGPONG && v[CONSUMERS] == 1)
        return "pingpong takes two CONSUMERS or more";
    if (blocks % owners)
        return "TILE_M must give each of its CONSUMERS whole blocks of 64 rows";
    if (blocks_of_cluster(v) > 8)
        return "a cluster has eight blocks at most";
    if (v[TILE_N] % (8 * cluster_m(v)))
        return "blocks below each other share the columns of TILE_N by eights";
    if (v[SWAP] && v[STORE_SLOTS])
        return "with SWAP, C is stored from registers: STORE_SLOTS must be 0";
    if (v[STORE_SLOTS] > blocks / owners * v[TILE_N] * out / line_of_c(v, variant->out))
        return "STORE_SLOTS has more slots than a warpgroup has pieces of C";
    if (v[PROMOTE] && v[IN_FLIGHT])
        return "PROMOTE waits for each slot: IN_FLIGHT must be 0";
    return NULL;
}

/* The sums of a tile pass through the ring, each block's part of them in pairs. */
static const char *reject_shared_tile(const int *v, const struct mmt_variant *variant)
{
    const int ring = v[STAGES] * (tile_bytes(v, v[TILE_M], variant->type, true) +
                                  tile_bytes(v, v[TILE_N], variant->type, true));

    if (v[CLUSTER_K] == 1 && v[SPLIT_K] == 1)
        return NULL;
    if (v[SCHEDULE] != COOPERATIVE || v[STORE_SLOTS])
        return "blocks that share a tile (CLUSTER_K, SPLIT_K) are cooperative and store "
               "from "
               "registers (STORE_SLOTS 0)";
    if (v[CLUSTER_K] > 1 && sums(v) % (2 * v[CLUSTER_K]))
        return "a thread's sums must give each of CLUSTER_K blocks whole pairs";
    if (v[CLUSTER_K] > 1 && v[TILE_M] * v[TILE_N] * 4 > ring)
        return "the sums of a tile do not fit into the ring, which CLUSTER_K needs";
    return NULL;
}

/* A multiprocessor's registers are dealt by role; sums leave room for the rest. An
 * instruction must do with what a thread has before they are dealt. */
static const char *reject_registers(const int *v)
{
    if (v[CONSUMERS] == 3 && v[TILE_N] > 192)
        return "with three CONSUMERS an instruction has registers for a TILE_N up to 192";
    return sums(v) > (v[CONSUMERS] == 3 ? 128 : 192)
               ? "the sums take more registers than a thread may have"
               : NULL;
}

static const char *reject(const int *v, const struct mmt_variant *variant,
                          const struct mmt_caps *caps)
{
    size_t shared =
        shared_bytes(v, variant->type, variant->out, variant->trans_a, variant->trans_b);
    const char *why;

    if (strcmp(caps->architecture, "sm_90a"))
        return "wgmma is an instruction of sm_90a alone";
    if ((why = reject_type(v, variant)) || (why = reject_tile(v, variant)) ||
        (why = reject_registers(v)) || (why = reject_shared_tile(v, variant)))
        return why;
    return mmt_gemm_reject(threads(v), 1, shared, caps);
}

/* ---- launching -----------------------------------------------------------------------
 */

static int64_t clusters(const int *v, const mmt_problem *p)
{
    int64_t rows = v[SWAP] ? p->n : p->m, columns = v[SWAP] ? p->m : p->n;
    return mmt_gemm_pieces(rows, v[TILE_M] * cluster_m(v)) *
           mmt_gemm_pieces(columns, v[TILE_N] * cluster_n(v));
}

/* A thread of mmt_add_parts adds two neighbours up. */
static int64_t pairs_of_c(const mmt_problem *p)
{
    return p->m * mmt_gemm_pieces(p->n, 2);
}

static const char *refuse(const int *v, const mmt_problem *p)
{
    if (v[STORE_SLOTS] && p->n * (int64_t) mmt_type_size(p->out) % 16)
        return "the copy engine stores rows of C whose length is a multiple of 16 bytes: "
               "STORE_SLOTS must be 0";
    if (v[SPLIT_K] > 1 && v[SPLIT_K] * pairs_of_c(p) * p->batch > MOST_PAIRS)
        return "SPLIT_K would leave more than 2^25 sums; C has tiles enough without";
    return mmt_gemm_refuse(clusters(v, p) * blocks_of_cluster(v));
}

/* A part of an operand's tile, one for each of the blocks that share it. */
static struct mmt_box operand_box(const int *v, mmt_type type, int tile, bool deep,
                                  int parts)
{
    const int lines = deep ? tile : atom(type) * v[DEPTH];
    return (struct mmt_box){
        .inner = (unsigned) atom(type),
        .outer = (unsigned) (lines / parts),
        .swizzle = LINE,
        .promotion = (unsigned) v[PROMOTION],
    };
}

static struct mmt_box result_box(const int *v, mmt_type out)
{
    const unsigned line = (unsigned) line_of_c(v, out);
    return (struct mmt_box){
        .inner = line / (unsigned) mmt_type_size(out),
        .outer = BLOCK_M,
        .swizzle = line,
    };
}

/* Bytes of a turned matrix of so many lines along k. */
static size_t turned_bytes(const mmt_problem *p, int64_t lines)
{
    int64_t line = mmt_gemm_pieces(p->k * (int64_t) mmt_type_size(p->type), 16) * 16;
    return (size_t) (lines * line);
}

/* One launch that turns an operand, where it is not stored along k. */
static void add_turn(const mmt_problem *p, bool of_b, struct mmt_launches *out)
{
    enum { TURN = 64, THREADS_TURN = 256 };
    static const enum mmt_arg args_a[] = { MMT_ARG_M, MMT_ARG_K, MMT_ARG_A,
                                           MMT_ARG_WORKSPACE, MMT_ARG_END };
    static const enum mmt_arg args_b[] = { MMT_ARG_M, MMT_ARG_N,         MMT_ARG_K,
                                           MMT_ARG_B, MMT_ARG_WORKSPACE, MMT_ARG_END };
    const int64_t lines = of_b ? p->n : p->m;
    const int64_t blocks =
        mmt_gemm_pieces(p->k ? p->k : 1, TURN) * mmt_gemm_pieces(lines, TURN);

    out->launch[out->count++] = (struct mmt_launch){
        .entry = of_b ? "mmt_turn_b" : "mmt_turn_a",
        .args = of_b ? args_b : args_a,
        .grid = { (unsigned) blocks, 1, (unsigned) p->batch },
        .block = { THREADS_TURN, 1, 1 },
    };
    out->workspace += (size_t) p->batch * turned_bytes(p, lines);
}

static void add_product(const int *v, const mmt_problem *p, struct mmt_launches *out)
{
    static const enum mmt_arg args[] = {
        MMT_ARG_MAP_A, MMT_ARG_MAP_B, MMT_ARG_M,         MMT_ARG_N,
        MMT_ARG_K,     MMT_ARG_ALPHA, MMT_ARG_BETA,      MMT_ARG_SCALARS,
        MMT_ARG_C,     MMT_ARG_BIAS,  MMT_ARG_WORKSPACE, MMT_ARG_END,
    };
    static const enum mmt_arg store_args[] = {
        MMT_ARG_MAP_A, MMT_ARG_MAP_B,     MMT_ARG_MAP_C, MMT_ARG_M,       MMT_ARG_N,
        MMT_ARG_K,     MMT_ARG_ALPHA,     MMT_ARG_BETA,  MMT_ARG_SCALARS, MMT_ARG_C,
        MMT_ARG_BIAS,  MMT_ARG_WORKSPACE, MMT_ARG_END,
    };
    const bool left = left_deep(v, p->type, p->trans_a, p->trans_b);
    const bool right = right_deep(v, p->type, p->trans_a, p->trans_b);
    const struct mmt_box boxes[] = {
        operand_box(v, p->type, v[TILE_M], left, cluster_n(v)),
        operand_box(v, p->type, v[TILE_N], right, cluster_m(v)),
    };

    out->launch[out->count++] = (struct mmt_launch){
        .entry = "mmt_gemm",
        .args = v[STORE_SLOTS] ? store_args : args,
        .grid = { (unsigned) (clusters(v, p) * blocks_of_cluster(v)),
                  (unsigned) v[SPLIT_K], (unsigned) p->batch },
        .block = { (unsigned) threads(v), 1, 1 },
        .shared = shared_bytes(v, p->type, p->out, p->trans_a, p->trans_b),
        .box = { boxes[v[SWAP]], boxes[!v[SWAP]], result_box(v, p->out) },
        .stays = v[CLUSTER_K] == 1 && v[SPLIT_K] == 1,
    };
}

static void add_parts(const int *v, const mmt_problem *p, struct mmt_launches *out)
{
    enum { THREADS_ADD = 128 };
    static const enum mmt_arg args[] = {
        MMT_ARG_M,       MMT_ARG_N, MMT_ARG_K,    MMT_ARG_ALPHA,     MMT_ARG_BETA,
        MMT_ARG_SCALARS, MMT_ARG_C, MMT_ARG_BIAS, MMT_ARG_WORKSPACE, MMT_ARG_END,
    };

    out->launch[out->count++] = (struct mmt_launch){
        .entry = "mmt_add_parts",
        .args = args,
        .grid = { (unsigned) mmt_gemm_pieces(pairs_of_c(p), THREADS_ADD), 1,
                  (unsigned) p->batch },
        .block = { THREADS_ADD, 1, 1 },
    };
    out->workspace += (size_t) (p->batch * v[SPLIT_K] * pairs_of_c(p) * 2) * 4;
}

static void launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                   struct mmt_launches *out)
{
    const bool turn_a = turns(p->type) && p->trans_a;
    const bool turn_b = turns(p->type) && !p->trans_b;
    struct mmt_launch *product;
    size_t behind_a;

    *out = (struct mmt_launches){ 0 };
    if (turn_a)
        add_turn(p, false, out);
    behind_a = out->workspace;
    if (turn_b)
        add_turn(p, true, out);
    product = &out->launch[out->count];
    add_product(v, p, out);
    product->box[0].turned = turn_a;
    product->box[1].turned = turn_b;
    product->box[1].at = behind_a;
    if (v[SPLIT_K] > 1)
        add_parts(v, p, out);
}

static struct mmt_alignment alignment(const int *v, const struct mmt_variant *variant)
{
    unsigned result = (unsigned) mmt_type_size(variant->out);
    return (struct mmt_alignment){ 16, 16, v[STORE_SLOTS] ? 16 : result };
}

/* ---- straight-line text --------------------------------------------------------------
 */

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

/* An instruction's names for its registers: the sums, then the operands. */
static void define(const int *v, const struct mmt_variant *variant, struct mmt_text *text)
{
    const int count = v[TILE_N] / 2;
    const char *item = variant->type == MMT_I8 ? "\"+r\"(x[%d])" : "\"+f\"(x[%d])";

    add_list(text, "#define SUM_NAMES \"{", "%%%d", count, "}\"\n");
    add_list(text, "#define SUM_LIST(x) ", item, count, "\n");
    mmt_text_addf(text, "#define LEFT_NAME \"%%%d\"\n", count);
    mmt_text_addf(text, "#define RIGHT_NAME \"%%%d\"\n", count + 1);
    mmt_text_addf(text, "#define ADD_NAME \"%%%d\"\n", count + 2);
}

const struct mmt_template mmt_template_wgmma = {
    .name = "wgmma",
    .what = "16-bit, tf32 and 8-bit types on the tensor cores of NVIDIA's sm_90a",
    .op = MMT_GEMM,
    .types = 1 << MMT_BF16 | 1 << MMT_F16 | 1 << MMT_TF32 | 1 << MMT_F8E4M3 |
             1 << MMT_F8E5M2 | 1 << MMT_I8,
    .fused = true,
    .aligned_only = true,
    .dialects = MMT_CUDA_CXX,
    .kinds = MMT_GPU,
    .file = "wgmma.cu",
    .helpers = { "hopper.h", "turn.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .reject = reject,
    .refuse = refuse,
    .launch = launch,
    .alignment = alignment,
    .define = define,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};
