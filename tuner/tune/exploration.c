/* Exploration: short searches on a few of the shapes on which kernels are calibrated.
 * What wins there is calibrated too: kernels that no goal has called for. They make no
 * entries. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tuner/tune/calibration.h"

/* Of the time behind the goals; and seconds for a shape: what its data may take, and all.
 */
static const double share = 0.45, data_seconds = 0.2, shape_seconds = 1.1;

/* Seconds by the roofline: what takes less is all launch. */
static const double least_seconds = 0.3e-6;

enum { MOST_SHAPES = 40 /* of a type and transposes */, ENOUGH_TRIES = 5 };

/* Whether it takes long enough for kernels to differ, and not long to set up. */
static bool is_suitable(const struct mmt_run *run, const mmt_problem *problem)
{
    return mmt_tune_roofline(run, problem) > least_seconds &&
           mmt_tune_setting_up(problem) < data_seconds;
}

/* Whether an earlier run has searched there. */
static bool was_explored(const struct mmt_run *run, const mmt_problem *problem)
{
    size_t count;
    const struct mmt_record *records = mmt_journal_records(run->files.journal, &count);
    int tried = 0;
    for (size_t i = 0; i < count && tried < ENOUGH_TRIES; i++)
        tried += mmt_record_is_candidate(&records[i]) &&
                 mmt_problem_equal(&records[i].problem, problem);
    return tried == ENOUGH_TRIES;
}

/* So many of the kind's shapes from *next on, but those of earlier runs: they are spread
 * evenly, wherever one begins. Each kind has its own, as what wins for one is calibrated
 * for the others too. */
static mmt_status add_shapes(struct mmt_run *run, const mmt_problem *kind, int count,
                             int *next, mmt_error *err)
{
    mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES];
    mmt_status status = MMT_OK;
    mmt_calibration_shapes(run, kind, shapes);
    for (int i = 0; !status && i < MMT_MOST_CALIBRATION_SHAPES && count > 0; i++) {
        const mmt_problem *shape = &shapes[(*next)++ % MMT_MOST_CALIBRATION_SHAPES];
        if (mmt_tune_is_goal(run, shape) || !is_suitable(run, shape) ||
            was_explored(run, shape))
            continue;
        status = mmt_problems_add(&run->exploration, shape, err);
        count--;
    }
    return status;
}

/* Whether a goal opens a kind for whose family such a device has no portfolio yet: one
 * that there is is timed again, and has what no goal calls for. */
static bool needs_exploration(const struct mmt_run *run, int goal)
{
    return mmt_tune_opens_kind(run, goal) &&
           !(run->files.layers &&
             mmt_profile_model(run->files.layers, run->goals.list[goal].type));
}

static int count_to_explore(const struct mmt_run *run)
{
    int kinds = 0;
    for (int i = 0; i < run->goals.count; i++)
        kinds += needs_exploration(run, i);
    return kinds;
}

bool mmt_tune_knows_portfolios(const struct mmt_run *run)
{
    return count_to_explore(run) == 0;
}

mmt_status mmt_tune_plan_exploration(struct mmt_run *run, mmt_error *err)
{
    const int kinds = count_to_explore(run);
    mmt_status status = MMT_OK;
    int next = 0;

    run->clock.exploration_end = run->clock.goals_end;
    if (!isfinite(run->clock.ends) || run->device.caps.kind != MMT_GPU || kinds == 0)
        return MMT_OK;
    double seconds = share * (run->clock.ends - run->clock.goals_end) * kinds /
                     mmt_tune_count_kinds(run);
    int each = (int) fmin(seconds / shape_seconds / kinds, MOST_SHAPES);
    run->clock.exploration_end += each * kinds * shape_seconds;
    for (int i = 0; !status && i < run->goals.count; i++)
        if (needs_exploration(run, i))
            status = add_shapes(run, &run->goals.list[i], each, &next, err);
    return status;
}

mmt_status mmt_tune_explore(struct mmt_run *run, mmt_error *err)
{
    struct mmt_run_problems *all = &run->exploration;
    mmt_status status = MMT_OK;
    for (all->at = 0; !status && all->at < all->count && !mmt_pool_interrupts();
         all->at++) {
        double now = mmt_now(), left = run->clock.exploration_end - now;
        if (left <= 0)
            break;
        mmt_report_problem(run);
        status = mmt_tune_search(run, &all->list[all->at],
                                 now + left / (all->count - all->at), err);
    }
    return status;
}
