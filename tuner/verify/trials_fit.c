/* Fits a trial's sides, layouts and batch to what a configuration serves, as near to what
 * was wanted as possible. */
#include <string.h>

#include "tuner/verify/trials.h"

enum {
    LEAST_TILE = 8,    /* a tile of less counts as its least multiple from here on */
    LEAST_DEEP = 4096, /* of k, for what only long sums show */
    ROW_BYTES = 64,    /* rows that are aligned begin at multiples of that */
    MOST_ELEMENTS = 1 << 23, /* of C: more than that take the host too long */
};

/* ---- sides ------------------------------------------------------------------------- */

static int64_t round_up(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

static int64_t side_of(const struct mmt_side *side, int64_t tile, int64_t deep)
{
    int64_t value = side->tiles * tile + side->plus;
    if (side->deep)
        value += round_up(2 * deep > LEAST_DEEP ? 2 * deep : LEAST_DEEP, deep);
    return value < 0 ? 0 : value;
}

/* The largest size up to `most` that has the side's remainder; where that is less than
 * half a tile, half and one; where a tile is larger, all of it, all but one or half and
 * one. */
static int64_t cut_side(const struct mmt_side *side, int64_t wanted, int64_t tile,
                        int64_t most)
{
    if (wanted <= most)
        return wanted;
    if (!side->tiles)
        return most;
    if (tile > most)
        return side->plus == 0 ? most : side->plus < 0 ? most - 1 : most / 2 + 1;
    int64_t size = most / tile * tile + side->plus;
    size -= size > most ? tile : 0;
    return size > tile / 2 ? size : tile / 2 + 1;
}

/* What a side may become, in the order in which it is tried: as wanted, cut, raised to
 * what fills a tile, raised by tiles. */
enum { CUTS = 10, RAISES = 8, CHANGES = CUTS + RAISES };

static int64_t change_side(const struct mmt_side *side, int64_t tile, int64_t deep,
                           int which)
{
    static const int64_t most[CUTS] = { INT64_MAX, 256, 128, 64, 32, 24, 16, 8, 4, 1 };
    const int64_t wanted = side_of(side, tile, deep);
    if (which < CUTS)
        return cut_side(side, wanted, tile, most[which]);
    if (which < CUTS + 2) {
        const int64_t size = which == CUTS ? tile / 2 + 1 : tile;
        return size > wanted ? size : wanted;
    }
    return wanted + (tile << (which - CUTS - 2));
}

/* Whether `which` makes another side than those before it. */
static bool count_changes(const struct mmt_side *side, int64_t tile, int64_t deep,
                          int which)
{
    return which == 0 || change_side(side, tile, deep, which) !=
                             change_side(side, tile, deep, which < CUTS ? which - 1 : 0);
}

/* ---- layouts ----------------------------------------------------------------------- */

/* Between rows, and between matrices, of A, B and C. */
struct gaps {
    int64_t a, b, c;
};

static struct gaps gaps_of(const struct mmt_trial_shape *shape)
{
    const int64_t gap = shape->gap, times = gap == MMT_GAP_ALIGNED ? 0 : gap;
    const enum mmt_gapped of = shape->gapped;
    return (struct gaps){ of == MMT_GAP_ALL || of == MMT_GAP_A ? gap : 0,
                          of == MMT_GAP_ALL || of == MMT_GAP_B ? gap + times : 0,
                          of == MMT_GAP_ALL || of == MMT_GAP_C ? gap + 2 * times : 0 };
}

/* `apart`: steps of an aligned gap. */
static void widen_rows(struct mmt_stored x, int64_t gap, int apart, size_t element,
                       int64_t *ld, int64_t *stride)
{
    const int64_t step = ROW_BYTES / (int64_t) element;
    const bool exists = x.rows || x.cols, aligned = gap == MMT_GAP_ALIGNED;
    if (!exists) {
        *ld = *stride = 0;
        return;
    }
    *ld = aligned ? round_up(x.cols + 1, step) + (apart - 1) * step : x.cols + gap;
    *stride = x.rows * *ld + (aligned ? apart * step : gap);
}

/* How far apart rows are of which the last of `rows` begins beyond 2^31 elements, and of
 * whole `tiles` the second half. */
static int64_t far_ld(int64_t rows, int64_t gap, int tiles)
{
    enum { UNIT = 64 };
    const int64_t far = tiles ? rows / 2 : rows - 1; /* the row that is */
    const int64_t least = (INT64_C(1) << 31) / (far > 0 ? far : 1) + 1;
    return round_up(least, UNIT) + (gap == MMT_GAP_ALIGNED ? 0 : 1);
}

static void set_far(mmt_problem *p, const struct mmt_trial_row *row,
                    const struct gaps *gaps)
{
    const int flags = row->flags, tiles = row->shape.m.tiles;
    struct mmt_stored stored[3];
    mmt_op_row(p->op)->stored(p, stored);
    if (flags & MMT_TRIAL_FAR_A)
        p->lda = far_ld(stored[MMT_OPERAND_A].rows, gaps->a, tiles), p->stride_a = 0;
    if (flags & MMT_TRIAL_FAR_B)
        p->ldb = far_ld(stored[MMT_OPERAND_B].rows, gaps->b, tiles), p->stride_b = 0;
    if (flags & MMT_TRIAL_FAR_C)
        p->ldc = far_ld(stored[MMT_OPERAND_C].rows, gaps->c, tiles), p->stride_c = 0;
    if (flags & MMT_TRIAL_FAR_BATCH) {
        p->stride_a = far_ld(p->batch, gaps->a, 1);
        p->stride_b = p->ldb ? far_ld(p->batch, gaps->b, 1) : 0;
        p->stride_c = far_ld(p->batch, gaps->c, 1);
    }
}

struct sizes {
    int64_t m, n, k, batch;
    struct gaps gaps;
};

static bool make_problem(const struct mmt_trial_row *row, const struct sizes *sizes,
                         const mmt_problem *like, mmt_problem *out)
{
    const struct mmt_op_row *op = mmt_op_row(like->op);
    const size_t element = mmt_type_size(like->type), result = mmt_type_size(like->out);
    const int64_t least = op->least;
    mmt_problem p = *like;

    p.batch_by = MMT_BY_STRIDE;
    p.m = sizes->m, p.n = sizes->n, p.k = sizes->k;
    for (const char *letter = "mnk"; *letter; letter++) {
        int64_t *side = mmt_op_dimension(&p, *letter);
        if (*side < least)
            *side = least;
        if (*side < 1 && *letter != 'k')
            *side = 1;
        if (!strchr(op->dimensions, *letter))
            *side = 1;
    }
    p.batch = sizes->batch;
    widen_rows(mmt_op_stored(&p, MMT_OPERAND_A), sizes->gaps.a, 1, element, &p.lda,
               &p.stride_a);
    widen_rows(mmt_op_stored(&p, MMT_OPERAND_B), sizes->gaps.b, 2, element, &p.ldb,
               &p.stride_b);
    widen_rows(mmt_op_stored(&p, MMT_OPERAND_C), sizes->gaps.c, 3, result, &p.ldc,
               &p.stride_c);
    if (row->shape.shared == MMT_SHARED_A || row->shape.shared == MMT_SHARED_BOTH)
        p.stride_a = 0;
    if (row->shape.shared == MMT_SHARED_B || row->shape.shared == MMT_SHARED_BOTH)
        p.stride_b = 0;
    if (row->flags & MMT_TRIAL_IN_PLACE)
        p.ldb = p.ldc, p.stride_b = p.stride_c;
    set_far(&p, row, &sizes->gaps);
    const bool right = mmt_problem_normalise(&p, out, NULL) == MMT_OK;
    out->batch_by = like->batch_by; /* strides say where the arrays point */
    return right;
}

/* ---- the search for one that is served ------------------------------------------- */

struct search {
    const struct mmt_trial_row *row;
    const struct mmt_config *config;
    const mmt_problem *like;
    const struct mmt_caps *caps;
    int64_t tile[3], deep;
    mmt_problem *out;
};

static bool serves_sizes(const struct search *s, const struct sizes *sizes)
{
    if (!make_problem(s->row, sizes, s->like, s->out))
        return false;
    const struct mmt_stored c = mmt_op_stored(s->out, MMT_OPERAND_C);
    return c.rows * c.cols * s->out->batch <= MOST_ELEMENTS &&
           !mmt_config_check_problem(s->config, s->out, s->caps);
}

/* The sizes with other gaps, columns of whole vectors, larger batches. Of A and B one may
 * have to be aligned, and the other not. */
static bool serves_nearly(const struct search *s, const struct sizes *wanted)
{
    static const int64_t vectors[] = { 1, 4, 8, 16 }, batches[] = { 0, 8, 32 };
    static const struct gaps others[] = {
        { MMT_GAP_ALIGNED, MMT_GAP_ALIGNED, MMT_GAP_ALIGNED },
        { 1, 1, 1 },
        { 0, 0, 0 },
        { MMT_GAP_ALIGNED, 1, MMT_GAP_ALIGNED },
        { 1, MMT_GAP_ALIGNED, MMT_GAP_ALIGNED },
        { 1, 1, MMT_GAP_ALIGNED },
    };
    enum { OTHERS = sizeof others / sizeof *others };
    struct sizes sizes = *wanted;

    for (int b = 0; b < 3; b++)
        for (int g = 0; g <= OTHERS; g++) {
            if (g && !memcmp(&others[g - 1], &wanted->gaps, sizeof *others))
                continue;
            for (int v = 0; v < 4; v++) {
                const int64_t n = round_up(wanted->n, vectors[v]);
                if (v && n == sizes.n)
                    continue;
                sizes.batch = wanted->batch > batches[b] ? wanted->batch : batches[b];
                sizes.gaps = g ? others[g - 1] : wanted->gaps;
                sizes.n = n;
                if (serves_sizes(s, &sizes))
                    return true;
            }
        }
    return false;
}

/* Changes of the sides, the least ones first. Of m and n the one that `rows_first` says
 * is changed before the other. */
static bool find_sizes(const struct search *s, bool rows_first)
{
    const struct mmt_trial_shape *shape = &s->row->shape;
    const struct mmt_side *sides[3] = { &shape->m, &shape->n, &shape->k };
    struct sizes sizes = { .batch = shape->batch, .gaps = gaps_of(shape) };

    for (int sum = 0; sum <= 3 * (CHANGES - 1); sum++)
        for (int first = sum < CHANGES ? sum : CHANGES - 1; first >= 0; first--)
            for (int other = 0; other <= sum - first && other < CHANGES; other++) {
                const int k = sum - first - other;
                const int m = rows_first ? first : other, n = rows_first ? other : first;
                const int which[3] = { m, n, k };
                int64_t size[3];
                bool is_new = k < CHANGES;
                for (int i = 0; i < 3 && is_new; i++) {
                    is_new = count_changes(sides[i], s->tile[i], s->deep, which[i]);
                    size[i] = change_side(sides[i], s->tile[i], s->deep, which[i]);
                }
                if (!is_new)
                    continue;
                sizes.m = size[0], sizes.n = size[1], sizes.k = size[2];
                if (serves_nearly(s, &sizes))
                    return true;
            }
    return false;
}

/* The tile depends on what is resolved for the problem, which depends on the tile.
 * Whether it is another one now. */
static bool set_tile(struct search *s, const mmt_problem *problem)
{
    const struct search before = *s;
    const struct mmt_config resolved = mmt_config_resolve(s->config, problem, s->caps);
    const struct mmt_tile tile = resolved.template->tile(resolved.values, problem);
    const int sides[3] = { tile.m, tile.n, tile.k };
    for (int i = 0; i < 3; i++)
        s->tile[i] = sides[i] > 0 ? round_up(LEAST_TILE, sides[i]) : LEAST_TILE;
    s->deep = tile.deep > 0 ? tile.deep : 1;
    return s->deep != before.deep || memcmp(s->tile, before.tile, sizeof s->tile);
}

/* Whether no batch of more than one is served, whatever its size: a program cannot plan
 * one either. */
static bool refuses_batches(const struct search *s)
{
    static const struct mmt_trial_row plain = {
        .check = "batch",
        .shape = { { 0, false, 40 },
                   { 0, false, 36 },
                   { 0, false, 20 },
                   MMT_GAP_ALIGNED,
                   1 },
    };
    mmt_problem problem;
    struct search alone = *s;
    alone.row = &plain;
    alone.out = &problem;
    if (!find_sizes(&alone, true))
        return false;
    problem.batch = 32;
    problem.stride_a = round_up(mmt_problem_extent_a(&problem), ROW_BYTES);
    problem.stride_b = round_up(mmt_problem_extent_b(&problem), ROW_BYTES);
    problem.stride_c = round_up(mmt_problem_extent_c(&problem), ROW_BYTES);
    return mmt_config_check_problem(s->config, &problem, s->caps) != NULL;
}

enum mmt_fit mmt_trial_fit(const struct mmt_trial_row *row,
                           const struct mmt_config *config, const mmt_problem *like,
                           const struct mmt_caps *caps, mmt_problem *out)
{
    struct search s = { row, config, like, caps, { 0 }, 1, out };
    int count;
    const bool rows_first = (row - mmt_trial_rows(like->op, &count)) % 2;

    set_tile(&s, like);
    if (row->shape.batch > 1 && refuses_batches(&s))
        return MMT_FIT_IDLE;
    bool found = find_sizes(&s, rows_first);
    if (found && set_tile(&s, out))
        found = find_sizes(&s, rows_first);
    if (!found)
        return MMT_FIT_NONE;
    return row->flags & MMT_TRIAL_OFFSET && !mmt_config_has_any(config, out)
               ? MMT_FIT_IDLE
               : MMT_FIT;
}

bool mmt_trial_concerns(const struct mmt_trial_row *row, const mmt_problem *like,
                        bool in_place)
{
    const int floats = MMT_TRIAL_EDGES;
    if (row->flags & floats && mmt_type_in(like->type, MMT_WHOLE_TYPES))
        return false;
    return in_place || !(row->flags & MMT_TRIAL_PAGES);
}

mmt_problem mmt_trial_near(const mmt_problem *far)
{
    mmt_problem p = *far;
    const size_t element = mmt_type_size(p.type), result = mmt_type_size(p.out);
    int64_t stride;

    widen_rows(mmt_op_stored(far, MMT_OPERAND_A), 0, 1, element, &p.lda, &stride);
    p.stride_a = far->stride_a ? stride : 0;
    widen_rows(mmt_op_stored(far, MMT_OPERAND_B), 0, 1, element, &p.ldb, &stride);
    p.stride_b = far->stride_b ? stride : 0;
    widen_rows(mmt_op_stored(far, MMT_OPERAND_C), 0, 1, result, &p.ldc, &stride);
    p.stride_c = far->stride_c ? stride : 0;
    return p;
}
