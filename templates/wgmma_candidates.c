/* Which configurations of wgmma suit a problem of 16-bit elements, found by arithmetic:
 * tiles that cover C with little waste, in both orientations, with the clusters and
 * splits of k that may pay and all stages that shared memory holds. */
#include <math.h>
#include <string.h>

#include "templates/wgmma.h"

/* ---- what one takes ------------------------------------------------------------------
 */

/* Fitted to times of an H200 (docs/lab/law.md), in cycles: how much slower
 * than their peak tensor cores are, and shared memory that feeds them; bytes a cycle that
 * a multiprocessor gets; what a stage takes to arrive, more for each doubling of a
 * cluster, and stages that are no help; what is around the tiles of a round, the launch
 * that adds splits up, and any launch. */
static const double tensor_slowed = 1.2, shared_slowed = 1.4;
static const double l2_rate = 112, memory_rate = 19.2;
static const double latency = 540, latency_double = 410, stages_lost = 1.7;
static const double cycles_per_second = 1.755e9;
static const double round_cycles = 1360, split_cycles = 6000, launch_cycles = 4100;

enum { STEP = 64, MOST_BLOCKS = 3 }; /* elements of k; resident blocks of one consumer */

/* A problem as the kernel sees it, and what the candidates at hand have in common. */
struct outlook {
    const mmt_problem *problem;
    int64_t rows, columns, steps, batch, sms;
    double bytes;
    size_t shared;
    int pieces;          /* of C in shared memory, for which the two below are known */
    size_t fixed, stage; /* bytes that a block takes, and that each stage does */
    double left, right;  /* bytes of a stage: those that do not run along k are fetched by
                          * 64 columns */
    struct mmt_candidate *best;
    int count, most;
};

static int64_t pieces(int64_t whole, int64_t piece)
{
    return (whole + piece - 1) / piece;
}

/* Tiles, of clusters that are as large everywhere. */
static int64_t tiles_of(const struct outlook *o, const int *v)
{
    const int cm = cluster_m(v), cn = cluster_n(v);
    return pieces(o->rows, v[TILE_M] * cm) * cm * pieces(o->columns, v[TILE_N] * cn) *
           cn * o->batch;
}

/* Multiprocessors that clusters of so many blocks can take. */
static int64_t taken_by(const struct outlook *o, int mates)
{
    const int group = mates > 4 ? 16 : mates;
    return o->sms < group ? 1 : o->sms / group * group;
}

static double parts_of(const struct outlook *o, const int *v)
{
    return v[SPLIT_K] > 1 ? 8.0 * v[SPLIT_K] * (double) (o->rows * o->columns * o->batch)
                          : 0;
}

/* What a block waits for and what all blocks fetch are hidden behind each other for the
 * most part: their 2-norm. `blocks`: resident on a multiprocessor. */
static double seconds_of(const struct outlook *o, const int *v, int blocks)
{
    const double m = v[TILE_M], n = v[TILE_N], cm = cluster_m(v), cn = cluster_n(v);
    const int mates = cluster_m(v) * cluster_n(v);
    const int at_once = blocks * (v[SCHEDULE] == PINGPONG ? 2 : 1);
    const int64_t each = pieces(tiles_of(o, v) * v[SPLIT_K], taken_by(o, mates));
    const double steps = (double) pieces(o->steps, v[SPLIT_K]),
                 all = (double) each * steps;
    const double rounds = (double) pieces(each, at_once);
    const double multiply =
        all * m / BLOCK_M * fmax(2 * n * tensor_slowed, (BLOCK_M + n) * shared_slowed);
    const double fetch = all * (o->left / cn + o->right / cm) / l2_rate;
    const double wait = rounds * steps *
                        (latency + latency_double * __builtin_ctz(mates)) /
                        (v[STAGES] - stages_lost);
    const double memory = (o->bytes + parts_of(o, v)) / (memory_rate * (double) o->sms);
    const double most =
        sqrt(multiply * multiply + fetch * fetch + wait * wait + memory * memory);
    return (most + rounds * round_cycles + (v[SPLIT_K] > 1 ? split_cycles : 0) +
            launch_cycles) /
           cycles_per_second;
}

/* ---- which there are -----------------------------------------------------------------
 */

/* Keeps the best, the first of equals first. */
static void keep(struct outlook *o, const int *v, double seconds)
{
    int at = o->count;
    if (at < o->most)
        o->count++;
    else if (o->best[--at].seconds <= seconds)
        return;
    for (; at > 0 && o->best[at - 1].seconds > seconds; at--)
        o->best[at] = o->best[at - 1];
    o->best[at].seconds = seconds;
    memcpy(o->best[at].values, v, NUM_KNOBS * sizeof *v);
}

/* Pieces of C in shared memory: two, or as many as there are; rows that are not aligned,
 * or of four bytes with SWAP, and tiles that are shared are stored from registers. */
static int epilogue_stages(const struct outlook *o, const int *v)
{
    const mmt_problem *p = o->problem;
    const int out = (int) mmt_type_size(p->out);
    if (v[SPLIT_K] > 1 || p->ldc * out % 16 || (v[SWAP] && out != 2))
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

/* With all stages that fit, and where one warpgroup multiplies, with those that let two
 * or three blocks are resident. */
static void add_stages(struct outlook *o, int *v)
{
    enum { LEAST = 3, MOST = 17 };
    v[EPILOGUE_STAGES] = epilogue_stages(o, v);
    measure_shared(o, v);
    int before = 0;

    for (int blocks = 1; blocks <= (v[CONSUMERS] == 1 ? MOST_BLOCKS : 1); blocks++) {
        const size_t share = o->shared / (size_t) blocks - (blocks > 1 ? 1024 : 0);
        const int fit = share > o->fixed ? (int) ((share - o->fixed) / o->stage) : 0;
        v[STAGES] = fit < MOST ? fit : MOST;
        if (v[STAGES] < LEAST || v[STAGES] == before)
            continue;
        before = v[STAGES];
        keep(o, v, seconds_of(o, v, blocks));
    }
}

/* Splits only where partial sums are a part of what is read. */
static void add_splits(struct outlook *o, int *v)
{
    static const int splits[] = { 1, 2, 3, 4, 6, 8, 12, 16 };
    enum { LEAST_STEPS = 4 };
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        v[SPLIT_K] = splits[i];
        if (i && (v[SCHEDULE] == PINGPONG || o->steps / splits[i] < LEAST_STEPS ||
                  parts_of(o, v) > 0.3 * o->bytes))
            return;
        add_stages(o, v);
    }
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

/* Widths in eights that cover the columns by whole numbers of tiles, and some usual ones.
 */
static void add_widths(struct outlook *o, int *v)
{
    static const int usual[] = { 64, 96, 128, 160, 192, 224, 256 };
    enum { MOST = 256, EIGHTS = MOST / 8 };
    const mmt_problem *p = o->problem;
    bool wanted[EIGHTS + 1] = { false };

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        wanted[usual[i] / 8] = true;
    for (int64_t tiles = pieces(o->columns, MOST), eights = EIGHTS; eights > 1; tiles++) {
        eights = pieces(pieces(o->columns, tiles), 8);
        wanted[eights] = true;
    }
    for (int i = 1; i <= EIGHTS; i++) {
        v[TILE_N] = 8 * i;
        o->pieces = -1;
        o->left = tile_bytes(v, v[TILE_M], p->type,
                             left_deep(v, p->type, p->trans_a, p->trans_b));
        o->right = tile_bytes(v, v[TILE_N], p->type,
                              right_deep(v, p->type, p->trans_a, p->trans_b));
        if (wanted[i] && registers_of_sums(v) <= most_sums(v) &&
            (v[CONSUMERS] < 3 || v[TILE_N] <= 192))
            add_clusters(o, v);
    }
}

/* ---- the list ------------------------------------------------------------------------
 */

/* TMA takes operands of 16-bit elements whose rows are aligned to 16 bytes. */
static bool suits(const mmt_problem *p, const struct mmt_caps *caps)
{
    return !strcmp(caps->architecture, "sm_90a") && mmt_type_size(p->type) == 2 &&
           p->lda % 8 == 0 && p->ldb % 8 == 0 && p->stride_a % 8 == 0 &&
           p->stride_b % 8 == 0 && p->m && p->n && p->k;
}

int mmt_wgmma_candidates(const mmt_problem *p, const struct mmt_caps *caps,
                         struct mmt_candidate *out, int most)
{
    static const int tiles[][3] = { { 64, 1, COOPERATIVE },  { 64, 2, PINGPONG },
                                    { 128, 2, COOPERATIVE }, { 128, 2, PINGPONG },
                                    { 128, 1, COOPERATIVE }, { 192, 3, COOPERATIVE },
                                    { 256, 2, COOPERATIVE } };
    struct outlook o = { p,
                         .steps = pieces(p->k, STEP),
                         .batch = p->batch,
                         .sms = caps->sms,
                         .bytes = mmt_problem_bytes(p),
                         .shared = caps->shared,
                         .best = out,
                         .most = most };
    if (most < 1 || !suits(p, caps))
        return 0;
    for (int swap = 0; swap < 2; swap++)
        for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
            int v[MMT_MAX_KNOBS] = { [SWAP] = swap,
                                     [TILE_M] = tiles[i][0],
                                     [CONSUMERS] = tiles[i][1],
                                     [SCHEDULE] = tiles[i][2],
                                     [TILE_K_BYTES] = LINE,
                                     [CLUSTER_K] = 1,
                                     [TILE_SCHEDULER] = PERSISTENT,
                                     [RASTER_ORDER] = ROWS,
                                     [RASTER_GROUP] = 8,
                                     [WGMMA_PENDING] = 1,
                                     [PROMOTION] = 128 };
            o.rows = swap ? p->n : p->m;
            o.columns = swap ? p->m : p->n;
            add_widths(&o, v);
        }
    return o.count;
}
