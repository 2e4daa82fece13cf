/* Which configurations of wgmma suit a problem, found by arithmetic: tiles that cover C
 * with little waste, in both orientations, with the clusters and splits of k that may pay
 * and all stages that shared memory holds. */
#include <math.h>
#include <string.h>

#include "templates/law.h"
#include "templates/wgmma.h"

/* ---- what one takes -------------------------------------------------------------- */

/* Fitted to times of an H200 (docs/lab/law.md), in cycles unless said. How much slower
 * than their peak tensor cores are, and shared memory that feeds them, and both for each
 * doubling of a cluster. */
static const double tensor_slowed = 1.09, shared_slowed = 1.37;
static const double cluster_slows = 0.085;
/* What promoting a column of accumulators takes where tensor cores wait for it, and
 * transposing a row of the left operand, which they may be at meanwhile. */
static const double promoted = 1.4, transposed = 4;
/* Bytes that a multiprocessor gets in a cycle; the way of a stage, and more for each
 * doubling of a cluster. */
static const double l2_rate = 92, memory_reached = 1.05;
static const double latency = 1350, latency_double = 400;
/* A cluster's blocks begin and end together. */
static const double cluster_cycles = 400;
/* Around the tiles of a round; an element of C stored from registers, a piece of C that
 * TMA stores; the launch that adds splits up, or bytes of sums that a block sends to its
 * mates in a cycle. */
static const double round_cycles = 900, stored = 0.17, piece_stored = 87;
static const double split_cycles = 5000, mates_rate = 18;
/* A launch that packs an operand, and its bytes in a cycle. */
static const double pack_cycles = 1970, pack_rate = 15.9;

enum { MOST_BLOCKS = 3 }; /* resident, of one consumer */

/* A problem as the kernel sees it, and what the candidates at hand have in common. */
struct outlook {
    const mmt_problem *problem;
    int64_t rows, columns, steps, batch, sms;
    double bytes;       /* of A, B and C */
    double memory_rate; /* bytes in a cycle */
    double packing;     /* cycles of launches that pack */
    size_t shared;
    int pieces;          /* of C in shared memory, for which the two below are known */
    size_t fixed, stage; /* bytes that a block takes, and that each stage does */
    double left, right;  /* bytes of a stage: those that do not run along k are fetched by
                          * 64 columns */
    double passes, products; /* through k, and of slices in each step */
    struct mmt_candidate *best;
    int count, most;
};

static int64_t pieces(int64_t whole, int64_t piece)
{
    return (whole + piece - 1) / piece;
}

/* Cycles in which an operand of so many elements is packed. */
static double packing_of(const struct outlook *o, double elements)
{
    const mmt_type type = o->problem->type;
    const double bytes =
        (double) mmt_type_size(type) + mmt_type_slices(type) * element_bytes(type);
    return pack_cycles + elements * bytes / (pack_rate * (double) o->sms);
}

static double packing_of_both(const struct outlook *o, const int *v)
{
    const mmt_problem *p = o->problem;
    const double batch = (double) p->batch;
    return (packs_a(v, p->type, p->trans_a)
                ? packing_of(o, (double) p->m * (double) p->k * batch)
                : 0) +
           (packs_b(v, p->type, p->trans_b)
                ? packing_of(o, (double) p->n * (double) p->k * batch)
                : 0);
}

/* What a line of a stage takes, how often k is gone through, and what is packed first. */
static void measure_stage(struct outlook *o, const int *v)
{
    const mmt_problem *p = o->problem;
    const int tiles = tiles_of_operand(v, p->type), lines = lines_deep(v);

    o->pieces = -1;
    o->left =
        tile_bytes(v, v[TILE_M], p->type, left_deep(v, p->type, p->trans_a, p->trans_b)) /
        lines;
    o->right = tile_bytes(v, v[TILE_N], p->type,
                          right_deep(v, p->type, p->trans_a, p->trans_b)) /
               lines;
    o->passes = passes(v, p->type);
    o->products = tiles * (tiles + 1) / 2;
    o->packing = packing_of_both(o, v);
}

/* Tiles, of clusters that are as large everywhere. */
static int64_t tiles_of(const struct outlook *o, const int *v)
{
    const int cm = cluster_m(v), cn = cluster_n(v);
    return pieces(o->rows, v[TILE_M] * cm) * cm * pieces(o->columns, v[TILE_N] * cn) *
           cn * o->batch;
}

/* Multiprocessors that clusters of so many blocks surely take. A cluster lies within one
 * GPC, of which up to 18 multiprocessors are enabled: of more than two blocks it leaves
 * some idle, on each card others. */
static int64_t taken_by(const struct outlook *o, int mates)
{
    const int64_t sms = mates > 2 ? o->sms * 7 / 8 : o->sms;
    return sms < mates ? 1 : sms / mates * mates;
}

static double parts_of(const struct outlook *o, const int *v)
{
    return v[SPLIT_K] > 1 ? 8.0 * v[SPLIT_K] * (double) (o->rows * o->columns * o->batch)
                          : 0;
}

/* Cycles of a step for 64 rows of a tile: an instruction reads both operands from shared
 * memory, or the left one from registers, into which it was transposed. */
static double step_of(const struct outlook *o, const int *v, int mates)
{
    const double n = v[TILE_N];
    const double left = v[TRANSPOSE_IN_REGISTERS] ? 0 : BLOCK_M;
    const double transpose = v[TRANSPOSE_IN_REGISTERS] ? transposed * BLOCK_M : 0;
    const double multiply =
        fmax(transpose, fmax(2 * n * tensor_slowed, (left + n) * shared_slowed));
    const bool waits = v[PROMOTE] && !has_two_parts(v);
    const double step = o->products * multiply + (waits ? promoted * n / v[PROMOTE] : 0);
    return step * (1 + cluster_slows * __builtin_ctz((unsigned) mates));
}

/* Narrow pieces, of widths that are no multiple of 64 bytes, are many. */
static double storing(const struct outlook *o, const int *v)
{
    if (v[CLUSTER_K] > 1)
        return 4.0 * v[TILE_M] * v[TILE_N] / mates_rate;
    if (v[SPLIT_K] > 1)
        return 0;
    return v[EPILOGUE_STAGES] ? piece_stored * v[TILE_M] / BLOCK_M * v[TILE_N] /
                                    columns_of_piece(v, o->problem->out)
                              : stored * v[TILE_M] * v[TILE_N];
}

/* Multiprocessors' tiles: those that stream_k cuts are shared out evenly. */
static double each_of(const struct outlook *o, const int *v)
{
    const int64_t tiles = tiles_of(o, v) * v[SPLIT_K] * v[CLUSTER_K];
    const int64_t sms = taken_by(o, blocks_of_cluster(v));
    return v[TILE_SCHEDULER] == STREAM_K ? fmax((double) tiles / (double) sms, 1)
                                         : (double) pieces(tiles, sms);
}

/* What a block waits for and what all blocks fetch are hidden behind each other for the
 * most part: their 2-norm. `blocks`: resident on a multiprocessor. */
static double cycles_of(const struct outlook *o, const int *v, int blocks)
{
    const double cm = cluster_m(v), cn = cluster_n(v), lines = lines_deep(v);
    const int mates = cluster_m(v) * cluster_n(v);
    const int at_once = blocks * (v[SCHEDULE] == PINGPONG ? 2 : 1);
    const double each = each_of(o, v);
    const double steps = (double) pieces(o->steps, v[SPLIT_K] * v[CLUSTER_K]) * o->passes,
                 all = each * steps;
    const double rounds = ceil(each / at_once);
    const double multiply = all * v[TILE_M] / BLOCK_M * step_of(o, v, mates);
    const double fetch = all * (o->left / cn + o->right / cm) / l2_rate;
    const double wait = rounds * steps *
                        (latency + latency_double * __builtin_ctz((unsigned) mates)) /
                        (v[STAGES] * lines);
    const double memory = (o->bytes + parts_of(o, v)) / o->memory_rate;
    const double most =
        sqrt(multiply * multiply + fetch * fetch + wait * wait + memory * memory);
    const bool adds = v[SPLIT_K] > 1 || v[TILE_SCHEDULER] == STREAM_K;
    const bool meets = blocks_of_cluster(v) > 1;
    return most + rounds * round_cycles + each * storing(o, v) +
           (meets ? cluster_cycles : 0) + (adds ? split_cycles : 0) + o->packing;
}

/* ---- which there are ------------------------------------------------------------- */

/* Keeps the best, the first of equals first. */
static void keep(struct outlook *o, const int *v, double cycles)
{
    int at = o->count;
    if (at < o->most)
        o->count++;
    else if (o->best[--at].cycles <= cycles)
        return;
    for (; at > 0 && o->best[at - 1].cycles > cycles; at--)
        o->best[at] = o->best[at - 1];
    o->best[at].cycles = cycles;
    memcpy(o->best[at].values, v, NUM_KNOBS * sizeof *v);
}

/* Pieces of C in shared memory: two, or as many as there are; rows that may not be
 * aligned, or of four bytes with SWAP, and tiles that are shared are stored from
 * registers. */
static int epilogue_stages(const struct outlook *o, const int *v)
{
    const mmt_problem *p = o->problem;
    const int out = (int) mmt_type_size(p->out);
    if (shares_tiles(v) || v[PACK_A] || v[PACK_B] || p->ldc * out % 16 ||
        p->n * out % 16 || (v[SWAP] && out != 2) ||
        (v[TRANSPOSE_IN_REGISTERS] && element_bytes(p->type) == 1))
        return 0;
    const int pieces = blocks_of_consumer(v) * v[TILE_N] / columns_of_piece(v, p->out);
    return pieces < 2 ? pieces : 2;
}

static void measure_shared(struct outlook *o, int *v)
{
    const mmt_problem *p = o->problem;
    if (o->pieces == v[EPILOGUE_STAGES])
        return;
    o->pieces = v[EPILOGUE_STAGES];
    v[STAGES] = 0;
    o->fixed = shared_bytes(v, p->type, p->out, p->trans_a, p->trans_b);
    v[STAGES] = 1;
    o->stage = shared_bytes(v, p->type, p->out, p->trans_a, p->trans_b) - o->fixed;
}

/* Within a cluster, sums go through the pipeline. */
static bool fits_sums(const struct outlook *o, const int *v)
{
    const int line = LINE * tiles_of_operand(v, o->problem->type);
    return v[CLUSTER_K] == 1 ||
           v[TILE_M] * v[TILE_N] * 4 <= v[STAGES] * (v[TILE_M] + v[TILE_N]) * line;
}

/* With all stages that fit, and where one warpgroup multiplies, with those that let two
 * or three blocks are resident. */
static void add_stages(struct outlook *o, int *v)
{
    enum { MOST = 17 };
    const int enough = v[WGMMA_PENDING] && o->problem->type != MMT_I32 ? 3 : 2;
    const int least = v[PROMOTE] > enough ? v[PROMOTE] : enough;
    const int most = v[WGMMA_PENDING] ? MOST : enough;
    v[EPILOGUE_STAGES] = epilogue_stages(o, v);
    measure_shared(o, v);
    int before = 0;

    for (int blocks = 1; blocks <= (v[CONSUMERS] == 1 ? MOST_BLOCKS : 1); blocks++) {
        const size_t share = o->shared / (size_t) blocks - (blocks > 1 ? 1024 : 0);
        const int fit = share > o->fixed ? (int) ((share - o->fixed) / o->stage) : 0;
        v[STAGES] = fit < MOST ? fit : MOST;
        if (v[STAGES] < least || v[STAGES] > most || v[STAGES] == before ||
            !fits_sums(o, v))
            continue;
        before = v[STAGES];
        keep(o, v, cycles_of(o, v, blocks));
    }
}

/* Splits by clusters only where partial sums are a part of what is read; within a cluster
 * where the pipeline has room for them, and all tiles are under way at a time. */
static void add_splits(struct outlook *o, int *v)
{
    static const int splits[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128 };
    enum { LEAST_STEPS = 4, MOST_MATES = 8 };
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        v[SPLIT_K] = splits[i];
        if (i && (v[SCHEDULE] == PINGPONG || o->steps / splits[i] < LEAST_STEPS ||
                  parts_of(o, v) > 0.3 * o->bytes))
            break;
        add_stages(o, v);
    }
    v[SPLIT_K] = 1;
    for (v[CLUSTER_K] = 2;
         v[SCHEDULE] == COOPERATIVE && blocks_of_cluster(v) <= MOST_MATES &&
         o->steps / v[CLUSTER_K] >= LEAST_STEPS &&
         tiles_of(o, v) * v[CLUSTER_K] <= taken_by(o, blocks_of_cluster(v));
         v[CLUSTER_K] *= 2)
        if (accumulators(v) % (2 * v[CLUSTER_K]) == 0)
            add_stages(o, v);
    v[CLUSTER_K] = 1;
}

/* Not where a cluster's blocks would be idle by a third. */
static void add_clusters(struct outlook *o, int *v)
{
    static const int clusters[] = { ALONE,       BELOW,  BESIDE, FOUR_BELOW,
                                    FOUR_BESIDE, SQUARE, HIGH,   WIDE };
    const int64_t tiles = pieces(o->rows, v[TILE_M]) * pieces(o->columns, v[TILE_N]);
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
        v[CLUSTER] = clusters[i];
        if (v[TILE_N] % (8 * cluster_m(v)) == 0 &&
            2 * tiles_of(o, v) <= 3 * tiles * o->batch)
            add_splits(o, v);
    }
}

/* What instructions, accumulators and their parts allow. */
static bool may_be(const struct outlook *o, const int *v)
{
    const mmt_type type = o->problem->type;
    return registers_of_sums(v) <= most_sums(v) &&
           (v[CONSUMERS] < 3 || v[TILE_N] <= 192) &&
           (!has_two_parts(v) || blocks_of_consumer(v) <= 2) &&
           !(mmt_type_in(type, MMT_WHOLE_TYPES) && v[TILE_N] > 32 && v[TILE_N] % 16) &&
           !(v[TRANSPOSE_IN_REGISTERS] && element_bytes(type) == 1 &&
             blocks_of_consumer(v) % 2);
}

static void add_if_may_be(struct outlook *o, int *v)
{
    if (!may_be(o, v))
        return;
    measure_stage(o, v);
    add_clusters(o, v);
}

/* f8 promotes each stage where registers have two parts, else every fourth. f32 lets the
 * tensor cores be a stage behind where three fit: of two stages it would have one to
 * fill. */
static void add_promotions(struct outlook *o, int *v)
{
    const mmt_type type = o->problem->type;
    const bool every_stage = type == MMT_F32 || mmt_type_in(type, MMT_F8_TYPES);
    v[PROMOTE] = every_stage;
    if (mmt_type_in(type, MMT_F8_TYPES) && !v[TRANSPOSE_IN_REGISTERS] && !may_be(o, v))
        v[PROMOTE] = 4;
    add_if_may_be(o, v);
    if (type != MMT_F32)
        return;
    v[WGMMA_PENDING] = 0;
    add_if_may_be(o, v);
    v[WGMMA_PENDING] = 1;
}

/* Widths in eights that cover the columns by whole numbers of tiles, and some usual ones.
 */
static void add_widths(struct outlook *o, int *v)
{
    static const int usual[] = { 64, 96, 128, 160, 192, 224, 256 };
    enum { MOST = 256, EIGHTS = MOST / 8 };
    bool wanted[EIGHTS + 1] = { false };

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        wanted[usual[i] / 8] = true;
    for (int64_t tiles = pieces(o->columns, MOST), eights = EIGHTS; eights > 1; tiles++) {
        eights = pieces(pieces(o->columns, tiles), 8);
        if (mmt_type_in(o->problem->type, MMT_WHOLE_TYPES) && eights > 4)
            wanted[(eights + 1) / 2 * 2] = true;
        else
            wanted[eights] = true;
    }
    for (int i = 1; i <= EIGHTS; i++) {
        v[TILE_N] = 8 * i;
        if (wanted[i])
            add_promotions(o, v);
    }
}

static void add_tiles(struct outlook *o, int *v)
{
    static const int tiles[][3] = { { 64, 1, COOPERATIVE },  { 64, 2, PINGPONG },
                                    { 128, 2, COOPERATIVE }, { 128, 2, PINGPONG },
                                    { 128, 1, COOPERATIVE }, { 192, 3, COOPERATIVE },
                                    { 256, 2, COOPERATIVE } };
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        v[TILE_M] = tiles[i][0];
        v[CONSUMERS] = tiles[i][1];
        v[SCHEDULE] = tiles[i][2];
        add_widths(o, v);
    }
}

/* ---- the list -------------------------------------------------------------------- */

/* With the left operand transposed on its way to registers, or packed along k first,
 * where its elements do not run along k but must. */
static void add_ways(struct outlook *o, int *v)
{
    const mmt_problem *p = o->problem;
    const bool unturned = element_bytes(p->type) != 2 && !in_slices(p->type);

    for (int turn = 0; turn <= unturned; turn++) {
        v[TRANSPOSE_IN_REGISTERS] = turn;
        if (turn && left_deep(v, p->type, p->trans_a, p->trans_b))
            return;
        add_tiles(o, v);
    }
}

static struct outlook outlook_of(const mmt_problem *p, const struct mmt_caps *caps)
{
    return (struct outlook){ .problem = p,
                             .steps = pieces(p->k, atom(p->type)),
                             .batch = p->batch,
                             .sms = caps->sms,
                             .bytes = mmt_problem_bytes(p),
                             .memory_rate = memory_reached * mmt_law_memory_rate(caps),
                             .shared = caps->shared };
}

static void turn(struct outlook *o, bool swap)
{
    o->rows = swap ? o->problem->n : o->problem->m;
    o->columns = swap ? o->problem->m : o->problem->n;
}

/* Blocks of one consumer that fit into shared memory; of more, the registers are one's.
 */
static int resident(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    const size_t bytes = shared_bytes(v, p->type, p->out, p->trans_a, p->trans_b);
    int blocks = 1;
    while (v[CONSUMERS] == 1 && blocks < MOST_BLOCKS &&
           bytes <= caps->shared / (size_t) (blocks + 1) - 1024)
        blocks++;
    return blocks;
}

double mmt_wgmma_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    struct outlook o = outlook_of(p, caps);
    turn(&o, v[SWAP]);
    measure_stage(&o, v);
    return cycles_of(&o, v, resident(v, p, caps));
}

int mmt_wgmma_candidates(const mmt_problem *p, const struct mmt_caps *caps,
                         struct mmt_candidate *out, int most)
{
    struct outlook o = outlook_of(p, caps);
    o.best = out;
    o.most = most;
    if (most < 1 || strcmp(caps->architecture, "sm_90a") || !p->m || !p->n || !p->k ||
        p->type == MMT_F64 || mmt_gemm_check_slices(p))
        return 0;
    for (int swap = 0; swap < 2; swap++) {
        int v[MMT_MAX_KNOBS] = {
            [SWAP] = swap,
            [PACK_A] = in_slices(p->type) || !mmt_gemm_rows_fit(p, false),
            [PACK_B] = in_slices(p->type) || !mmt_gemm_rows_fit(p, true),
            [TILE_K_BYTES] = LINE,
            [CLUSTER_K] = 1,
            [TILE_SCHEDULER] = PERSISTENT,
            [RASTER_ORDER] = ROWS,
            [RASTER_GROUP] = 8,
            [WGMMA_PENDING] = 1,
            [PROMOTION] = 128,
        };
        turn(&o, swap);
        add_ways(&o, v);
    }
    return o.count;
}
