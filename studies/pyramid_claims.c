/* What the paper says of pyramids (its section 3), beside what was found. */
#include <inttypes.h>
#include <math.h>

#include "claims.h"
#include "pyramid.h"

enum { GROWS_FROM = 80 }; /* the paper's height */
enum { BOTH_WRONG, ERROR, GROWTH, RANGE, CHOICE, TWICE, CLAIMS };

static const struct mmt_claim claims[CLAIMS] = {
    [BOTH_WRONG] = { "vorotnikova", "section 3, Fig. 2",
                     "too low a pyramid copies too much, too high a one computes too "
                     "much "
                     "twice",
                     "best at h = 20" },
    [ERROR] = { "vorotnikova", "section 3, after Fig. 2",
                "model (2) and measurement differ little for 2 < h < N / 10", "5 %" },
    [GROWTH] = { "vorotnikova", "section 3, after Fig. 2",
                 "in higher pyramids they differ more", "from h = 80 on" },
    [RANGE] = { "vorotnikova", "section 3, after Fig. 2",
                "the best height lies in 2 < h < N / 10", "h = 20" },
    [CHOICE] = { "vorotnikova", "conclusion",
                 "the model finds the height at which a pyramid takes the least time",
                 "h = 20" },
    [TWICE] = { "vorotnikova", "section 3, before Fig. 2",
                "at h = 2 a pass copies twice as much as at h = 1", "2 times" },
};

/* Values that a pass moves for the planes of a side: blocks (3R - 2h). */
static double moved_planes(int64_t n, int64_t width, int64_t height)
{
    return (double) (pyramid_blocks(n, width, height) * (3 * width - 2 * height));
}

static void judge_heights(struct mmt_table *table, const char *device,
                          const struct mmt_pyramid_findings *f)
{
    double low = f->lowest_each / f->best_each, high = f->highest_each / f->best_each;
    bool inside = f->best > 2 && 10 * f->best < f->n;

    if (f->highest < 3)
        mmt_claims_leave(table, &claims[BOTH_WRONG], device,
                         "blocks of %" PRId64 " planes have no three heights", f->width);
    else
        mmt_claims_add(table, &claims[BOTH_WRONG], device, low > 1 && high > 1,
                       "best at h = %" PRId64 "; h = %" PRId64
                       " takes %.2f times as long a "
                       "sweep, h = %" PRId64 " %.2f times",
                       f->best, f->lowest, low, f->highest, high);
    if (f->highest < 3)
        mmt_claims_leave(table, &claims[RANGE], device, "h = 1 alone was measured");
    else
        mmt_claims_add(table, &claims[RANGE], device, inside,
                       "h = %" PRId64 ", N / 10 = %.1f", f->best, (double) f->n / 10);
}

static void judge_model(struct mmt_table *table, const char *device,
                        const struct mmt_pyramid_findings *f)
{
    double loss = f->chosen_each / f->best_each - 1;

    if (isnan(f->gap_within))
        mmt_claims_leave(table, &claims[ERROR], device,
                         "no height above 2 and below N / 10 was measured");
    else
        mmt_claims_add(table, &claims[ERROR], device, f->gap_within <= 0.05,
                       "%.1f %% at most", f->gap_within * 100);
    if (isnan(f->gap_within) || isnan(f->gap_beyond))
        mmt_claims_leave(table, &claims[GROWTH], device,
                         "blocks of %" PRId64 " planes, N = %" PRId64
                         ": not both sides of N / 10 were measured",
                         f->width, f->n);
    else if (f->highest < GROWS_FROM)
        mmt_claims_leave(table, &claims[GROWTH], device,
                         "heights to %" PRId64 " of blocks of %" PRId64
                         " planes: the paper says it from h = %d on",
                         f->highest, f->width, GROWS_FROM);
    else
        mmt_claims_add(table, &claims[GROWTH], device, f->gap_beyond > f->gap_within,
                       "%.1f %% at most below N / 10, %.1f %% from there to h = %" PRId64,
                       f->gap_within * 100, f->gap_beyond * 100, f->highest);
    if (!f->chosen)
        mmt_claims_leave(table, &claims[CHOICE], device, "it had no height to choose");
    else
        mmt_claims_add(table, &claims[CHOICE], device, loss <= 0.05,
                       "h = %" PRId64 ", %.1f %% above the best, h = %" PRId64, f->chosen,
                       loss * 100, f->best);
}

mmt_status mmt_pyramid_claims(const struct mmt_study_options *options, const char *device,
                              const struct mmt_pyramid_findings *found, mmt_error *err)
{
    struct mmt_table table = mmt_claims_start();

    judge_heights(&table, device, found);
    judge_model(&table, device, found);
    if (found->width > 4) {
        double times = moved_planes(found->n, found->width, 2) /
                       moved_planes(found->n, found->width, 1);
        mmt_claims_add(&table, &claims[TWICE], "", times > 1.5,
                       "%.2f times, counted for blocks of %" PRId64 " planes", times,
                       found->width);
    } else {
        mmt_claims_leave(&table, &claims[TWICE], "",
                         "blocks of %" PRId64 " planes are too thin for h = 2",
                         found->width);
    }
    mmt_status status = mmt_study_show(options, &table, "pyramid-claims", err);
    mmt_table_free(&table);
    return status;
}
