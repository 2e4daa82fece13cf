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

static mmt_status add_problem(struct mmt_tuning *t, const mmt_problem *problem,
                              mmt_error *err)
{
    size_t count = (size_t) t->num_goals + (size_t) t->num_explored;
    mmt_problem *grown = realloc(t->goals, (count + 1) * sizeof *grown);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the list of problems");
    t->goals = grown;
    t->goals[count] = *problem;
    t->num_explored++;
    return MMT_OK;
}

/* Whether it takes long enough for kernels to differ, and not long to set up. */
static bool is_suitable(const struct mmt_tuning *t, const mmt_problem *problem)
{
    return mmt_tune_roofline(t, problem) > least_seconds &&
           mmt_tune_setting_up(problem) < data_seconds;
}

/* Whether an earlier run has searched there. */
static bool was_explored(const struct mmt_tuning *t, const mmt_problem *problem)
{
    size_t count;
    const struct mmt_record *records = mmt_journal_records(t->journal, &count);
    int tried = 0;
    for (size_t i = 0; i < count && tried < ENOUGH_TRIES; i++)
        tried += mmt_record_is_candidate(&records[i]) &&
                 mmt_problem_equal(&records[i].problem, problem);
    return tried == ENOUGH_TRIES;
}

/* So many of the kind's shapes from *next on, but those of earlier runs: they are spread
 * evenly, wherever one begins. Each kind has its own, as what wins for one is calibrated
 * for the others too. */
static mmt_status add_shapes(struct mmt_tuning *t, const mmt_problem *kind, int count,
                             int *next, mmt_error *err)
{
    mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES];
    mmt_status status = MMT_OK;
    mmt_calibration_shapes(t, kind, shapes);
    for (int i = 0; !status && i < MMT_MOST_CALIBRATION_SHAPES && count > 0; i++) {
        const mmt_problem *shape = &shapes[(*next)++ % MMT_MOST_CALIBRATION_SHAPES];
        if (mmt_tune_is_goal(t, shape) || !is_suitable(t, shape) ||
            was_explored(t, shape))
            continue;
        status = add_problem(t, shape, err);
        count--;
    }
    return status;
}

/* Whether a goal opens a kind for whose family such a device has no portfolio yet: one
 * that there is is timed again, and has what no goal calls for. */
static bool needs_exploration(const struct mmt_tuning *t, int goal)
{
    return mmt_tune_opens_kind(t, goal) &&
           !(t->layers && mmt_profile_model(t->layers, t->goals[goal].type));
}

static int count_to_explore(const struct mmt_tuning *t)
{
    int kinds = 0;
    for (int i = 0; i < t->num_goals; i++)
        kinds += needs_exploration(t, i);
    return kinds;
}

bool mmt_tune_knows_portfolios(const struct mmt_tuning *t)
{
    return count_to_explore(t) == 0;
}

mmt_status mmt_tune_plan_exploration(struct mmt_tuning *t, mmt_error *err)
{
    const int kinds = count_to_explore(t);
    mmt_status status = MMT_OK;
    int next = 0;

    t->exploration_end = t->goals_end;
    if (!isfinite(t->ends) || t->caps.kind != MMT_GPU || kinds == 0)
        return MMT_OK;
    double seconds = share * (t->ends - t->goals_end) * kinds / mmt_tune_count_kinds(t);
    int each = (int) fmin(seconds / shape_seconds / kinds, MOST_SHAPES);
    t->exploration_end += each * kinds * shape_seconds;
    for (int i = 0; !status && i < t->num_goals; i++) {
        const mmt_problem kind = t->goals[i]; /* the list moves as it grows */
        if (needs_exploration(t, i))
            status = add_shapes(t, &kind, each, &next, err);
    }
    return status;
}

mmt_status mmt_tune_explore(struct mmt_tuning *t, mmt_error *err)
{
    const int end = t->num_goals + t->num_explored;
    mmt_status status = MMT_OK;
    for (; !status && t->goal < end && !mmt_pool_interrupts(); t->goal++) {
        const mmt_problem problem = t->goals[t->goal];
        double now = mmt_now(), left = t->exploration_end - now;
        if (left <= 0)
            break;
        mmt_report_problem(t);
        status = mmt_tune_search(t, &problem, now + left / (end - t->goal), err);
    }
    return status;
}
