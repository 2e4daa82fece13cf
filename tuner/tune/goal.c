/* One goal: its search, its finals, and what the profile keeps of it. */
#include <math.h>

#include "base/clock.h"
#include "tuner/bench/yardstick.h"
#include "tuner/tune/fit.h"
#include "tuner/tune/goals.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/phases.h"
#include "tuner/tune/problem.h"
#include "tuner/tune/recorded.h"
#include "tuner/tune/yardstick.h"

/* The library is timed beside what was entered; programs' own libraries later. */
static mmt_status enter_winner(struct mmt_run *run, const struct mmt_record *winner,
                               double yardstick, mmt_error *err)
{
    mmt_status status = MMT_OK;
    run->found = true;
    if (!mmt_tune_would_slow(run, winner))
        status = mmt_tune_learn(run, winner, err);
    if (status)
        return status;
    mmt_report_winner(run, winner);
    if (!run->options.recorded)
        mmt_tune_yardstick(run, &winner->problem, yardstick);
    return MMT_OK;
}

static mmt_status tune_until(struct mmt_run *run, double ends, mmt_error *err)
{
    const mmt_problem *problem = mmt_tune_current(run);
    const double yardstick =
        run->options.recorded ? 0 : mmt_tune_yardstick_most(run, ends);
    struct mmt_record winner;
    bool found;
    mmt_status status =
        mmt_tune_find(run, problem, ends - fmin(yardstick, MMT_YARDSTICK_SECONDS),
                      &winner, &found, err);
    mmt_error own = { 0 }; /* what was timed before something broke stands */
    mmt_status entered = found ? enter_winner(run, &winner, yardstick, &own) : MMT_OK;
    if (!status && entered)
        *err = own;
    return status ? status : entered;
}

/* Recorded f32 is tuned without emulation; with it, too, in half of the time, where that
 * was asked for. */
mmt_status mmt_tune_problem(struct mmt_run *run, mmt_error *err)
{
    const bool f32 = run->options.recorded && mmt_tune_current(run)->type == MMT_F32;
    const double ends = mmt_tune_share_time(run), now = mmt_now();
    const double middle = isfinite(ends) ? now + (ends - now) / 2 : ends;
    mmt_report_problem(run);
    run->strict = f32;
    mmt_status status =
        tune_until(run, f32 && run->options.emulated ? middle : ends, err);
    run->strict = false;
    if (!status && f32 && run->options.emulated && !mmt_pool_interrupts())
        status = tune_until(run, ends, err);
    return status;
}
