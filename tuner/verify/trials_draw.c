/* Trials that are drawn: what nobody thought of when the fixed ones were written down. */
#include <math.h>

#include "base/op.h"
#include "tuner/verify/data.h"
#include "tuner/verify/trials_rows.h"

/* Numbers of one draw, one after another. */
struct dice {
    uint64_t seed, thrown;
};

/* From 0 to count - 1. */
static int throw(struct dice * dice, int count)
{
    const uint64_t noise = mmt_data_noise(dice->seed, dice->thrown++);
    return (int) ((noise >> 32) * (uint64_t) count >> 32);
}

static bool one_in(struct dice *dice, int count)
{
    return throw(dice, count) == 0;
}

/* Tiles and what is left of one, or a size outright: small ones as often as large ones.
 */
static struct mmt_side draw_side(struct dice *dice)
{
    if (throw(dice, 3))
        return (struct mmt_side){ 1 + throw(dice, 3), false, throw(dice, 25) - 12 };
    return (struct mmt_side){ 0, false, 1 + throw(dice, 2 << throw(dice, 8)) };
}

static struct mmt_side size(int64_t size)
{
    return (struct mmt_side){ 0, false, size };
}

/* Of many matrices small ones. */
static void draw_batch(struct dice *dice, struct mmt_trial_shape *shape)
{
    static const int counts[] = { 2, 3, 5, 7, 37, 257 };
    shape->batch = counts[throw(dice, 6)];
    shape->shared = (enum mmt_shared) throw(dice, 4);
    if (shape->batch < 37)
        return;
    shape->m = size(1 + throw(dice, 24));
    shape->n = size(1 + throw(dice, 24));
    shape->k = size(1 + throw(dice, 24));
}

static void draw_deep(struct dice *dice, struct mmt_trial_shape *shape)
{
    shape->m = size(1 + throw(dice, 48));
    shape->n = size(1 + throw(dice, 48));
    shape->k = (struct mmt_side){ 0, true, throw(dice, 25) - 12 };
}

static struct mmt_trial_shape draw_shape(struct dice *dice)
{
    static const int gaps[] = { 0, 0, 1, 2, 3, 7, 8, 41, 129, MMT_GAP_ALIGNED };
    struct mmt_trial_shape shape = { draw_side(dice), draw_side(dice), draw_side(dice),
                                     .batch = 1 };
    if (one_in(dice, 3))
        draw_batch(dice, &shape);
    else if (one_in(dice, 8))
        draw_deep(dice, &shape);
    shape.gap = gaps[throw(dice, 10)];
    return shape;
}

/* What A, B and C have. */
static int draw_numbers(struct dice *dice)
{
    static const int kinds[] = { 0,
                                 0,
                                 0,
                                 MMT_TRIAL_RANDOM,
                                 MMT_TRIAL_RANGE,
                                 MMT_TRIAL_SPECIAL,
                                 MMT_TRIAL_TIES,
                                 MMT_TRIAL_LIMIT };
    return kinds[throw(dice, 8)];
}

/* Where they lie. */
static int draw_place(struct dice *dice)
{
    static const int places[] = {
        0, 0, 0, MMT_TRIAL_OFFSET, MMT_TRIAL_PAGE_END, MMT_TRIAL_PAGE_BEGIN
    };
    return places[throw(dice, 6)];
}

/* Alpha and beta. Where every operation is rounded by itself they are such that no
 * number is subnormal, which some devices have none of. */
static void draw_scalars(struct dice *dice, const struct mmt_op_row *op,
                         struct mmt_trial_row *row)
{
    static const double scalars[] = { 1,    1,       0,        -1,  2,       3,
                                      -1.3, 0x1p-30, 0x1p-120, NAN, INFINITY };
    const int count = op->sums ? 11 : 7;
    row->alpha = scalars[throw(dice, count)];
    row->beta = scalars[throw(dice, count)];
    if (!op->sums && op->reads[MMT_OPERAND_B] == MMT_NEVER)
        row->beta = 0;
}

/* What is not read with these scalars is NaN, or null where the host knows it. */
static int draw_absent(struct dice *dice, const struct mmt_op_row *op,
                       const struct mmt_trial_row *row)
{
    const bool absent[] = {
        [MMT_UNLESS_ALPHA_0] = row->alpha == 0, [MMT_UNLESS_BETA_0] = row->beta == 0
    };
    int flags = one_in(dice, 2)   ? MMT_TRIAL_SCALARS
                : one_in(dice, 2) ? MMT_TRIAL_NULL
                                  : 0;
    if (absent[op->reads[MMT_OPERAND_A]])
        flags |= MMT_TRIAL_NO_A;
    if (absent[op->reads[MMT_OPERAND_B]])
        flags |= MMT_TRIAL_NO_B;
    if (row->beta == 0 || !op->sums)
        flags |= MMT_TRIAL_POISON;
    return flags;
}

struct mmt_trial_row mmt_trial_draw(mmt_op op, uint64_t seed, int number)
{
    struct dice dice = { mmt_data_noise(seed, (uint64_t) number), 0 };
    struct mmt_trial_row row = { .check = "drawn",
                                 .shape = draw_shape(&dice),
                                 .draw = number };
    draw_scalars(&dice, mmt_op_row(op), &row);
    row.flags = draw_numbers(&dice) | draw_place(&dice) |
                draw_absent(&dice, mmt_op_row(op), &row);
    if (row.flags & MMT_TRIAL_LIMIT)
        row.shape.k = size(1);
    if (one_in(&dice, 3))
        row.flags |= MMT_TRIAL_ZERO_GAPS;
    return row;
}
