/* A run of the tuner, from its device to its report. */
#include "tuner/tune/tune.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* A platform that cannot write its cache may hide its devices. */
static mmt_status explain_device(const struct mmt_tuning *t, mmt_error *err)
{
    const mmt_error said = *err;
    struct mmt_text why = { 0 };
    if (mmt_tune_explain(t, &why))
        mmt_fail_native(err, said.status, said.native, "%s; %s", mmt_text_string(&why),
                        said.text);
    mmt_text_finish(&why);
    return said.status;
}

static bool is_called(const struct mmt_device_info *info, const char *name)
{
    char number[16];
    snprintf(number, sizeof number, "%d", info->number);
    return !strcmp(name, number) || !strcmp(name, info->id);
}

mmt_status mmt_tune_find_device(struct mmt_tuning *t, mmt_error *err)
{
    const char *name = t->options.device ? t->options.device : "0";
    struct mmt_device_info *list = NULL;
    size_t count = 0, found;
    mmt_status status = mmt_device_list(&list, &count, NULL, err);
    if (status)
        return status;
    for (found = 0; found < count && !is_called(&list[found], name); found++)
        ;
    if (found == count) { /* by another name, perhaps */
        mmt_device *device = mmt_device_open(name, err);
        if (!device) {
            free(list);
            return explain_device(t, err);
        }
        for (found = 0; found < count && strcmp(list[found].id, device->id); found++)
            ;
        mmt_device_close(device);
    }
    if (found < count) {
        t->caps = list[found].caps;
        snprintf(t->id, sizeof t->id, "%s", list[found].id);
    }
    free(list);
    if (found < count)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                    "the device %s executes nothing, so nothing can be timed on it; "
                    "`mmtune devices` lists those that do",
                    name);
}

/* Once a profile: it remembers. */
static void probe_roofline(struct mmt_tuning *t)
{
    mmt_tune_set_roofline(t, &t->profile->roofline);
    if (t->roofline.bandwidth <= 0)
        mmt_tune_probe(t);
    mmt_tune_judge_journal(t);
}

/* Seconds of the budget that go into portfolios for other shapes: more where nobody named
 * any, less of a short one, and of a CPU's, whose compilers use them up; and no more than
 * makes a difference to so many types and transposes. */
static double calibration_part(const struct mmt_tuning *t)
{
    bool cpu = t->caps.kind == MMT_CPU;
    double named = t->options.num_shapes || t->options.suites.count ? 0.5 : 0.65;
    double share = cpu ? 0.18 : named, enough = cpu ? 120 : 60, most = cpu ? 240 : 120,
           budget = t->options.budget.seconds;
    return fmin(share * budget * fmin(1, budget / enough),
                most * mmt_tune_count_kinds(t));
}

/* Where nobody named a shape and all portfolios are known, they are timed first: goals
 * then begin with what is compiled and promises most. */
static void share_time(struct mmt_tuning *t)
{
    const double seconds = isfinite(t->ends) ? calibration_part(t) : 0;
    t->portfolios_first = isfinite(t->ends) && !t->options.num_shapes &&
                          !t->options.suites.count && mmt_tune_knows_portfolios(t);
    t->goals_end = t->portfolios_first ? t->ends : t->ends - seconds;
    t->calibration_end = t->portfolios_first ? mmt_now() + seconds : t->ends;
}

/* Without a cache kernels are compiled again and again, which is said; but the driver of
 * a CPU compiles through files beside it, and makes nothing where no room is left. */
static mmt_status check_cache(struct mmt_tuning *t, mmt_error *err)
{
    mmt_error why = { 0 };
    if (!mmt_cache_check(&why))
        return MMT_OK;
    if (t->pool.shared && (why.native == ENOSPC || why.native == EDQUOT))
        return mmt_fail_native(err, why.status, why.native,
                               "%s; the driver of a CPU compiles through files there",
                               why.text);
    snprintf(t->pool.cache, sizeof t->pool.cache, "%.*s", MMT_REASON_SIZE - 1, why.text);
    return MMT_OK;
}

static void set_forget(struct mmt_tuning *t)
{
    t->forget =
        (struct mmt_forget){ .op = t->options.op, .template = t->options.template };
    memcpy(t->forget.types, t->options.types, sizeof t->forget.types);
}

/* With --fresh one that cannot be gone on with is begun anew. */
static mmt_status open_journal(struct mmt_tuning *t, mmt_error *err)
{
    const bool fresh = t->options.fresh;
    mmt_error why = { 0 };
    t->journal = mmt_journal_open(t->path, &t->caps, false, &why);
    if (!t->journal && fresh && why.status == MMT_ERROR_FORMAT)
        t->journal = mmt_journal_open(t->path, &t->caps, true, &why);
    if (!t->journal)
        return mmt_fail_native(err, why.status, why.native, "%s", why.text);
    return fresh ? mmt_journal_forget(t->journal, &t->forget, err) : MMT_OK;
}

static mmt_status prepare_tuning(struct mmt_tuning *t, mmt_error *err)
{
    mmt_status status = mmt_tune_find_device(t, err);
    if (!status)
        status = mmt_tune_choose_types(t, err);
    set_forget(t);
    if (!status)
        status = mmt_tune_open_profile(t, err);
    if (!status)
        status = open_journal(t, err);
    /* Where the profile is gone, all that the journal has is news to it. */
    t->known = status || access(t->path, F_OK) ? 0 : mmt_journal_count(t->journal);
    if (!status) {
        mmt_journal_set_limit(t->journal, t->options.limit);
        mmt_report_prepare(t);
    }
    t->started = mmt_now();
    t->ends =
        t->options.budget.seconds > 0 ? t->started + t->options.budget.seconds : INFINITY;
    t->candidates_left = t->options.budget.candidates;
    t->compile_seconds = 1;
    if (!status)
        status = mmt_pool_start(t, false, err);
    if (!status)
        status = check_cache(t, err);
    if (!status)
        probe_roofline(t);
    if (!status && t->pool.broken.status) {
        *err = t->pool.broken;
        status = err->status;
    }
    if (!status)
        status = mmt_tune_set_goals(t, err);
    t->finish = t->ends;
    t->ends -= isfinite(t->ends) ? mmt_tune_reserve(t) : 0;
    t->ranges_end = t->ends;
    t->ends -= isfinite(t->ends) ? mmt_tune_ranges_seconds(t) : 0;
    share_time(t);
    return status ? status : mmt_tune_plan_exploration(t, err);
}

/* A run that was interrupted may well have had no time for a winner. */
static mmt_status require_winner(const struct mmt_tuning *t, mmt_error *err)
{
    for (int i = 0; i < t->num_goals; i++)
        if (mmt_tune_winner(t, &t->goals[i]))
            return MMT_OK;
    if (mmt_pool_interrupts())
        return MMT_OK;
    if (!t->counts.tried)
        return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                        "the budget of %g s ended before a candidate was tried; a longer "
                        "one goes on from here",
                        t->options.budget.seconds);
    return mmt_fail(err, MMT_ERROR_COMPILE,
                    "none of %d candidates could be timed: %d skipped, %d wrong, %d "
                    "failed; '%s' tells why of each",
                    t->counts.tried, t->counts.skipped, t->counts.wrong, t->counts.failed,
                    mmt_journal_path(t->journal));
}

/* What the journal tells before anything is tried. */
static void tell_journal(struct mmt_tuning *t)
{
    const size_t again = mmt_journal_count_again(t->journal);
    if (again)
        mmt_report_note(
            t,
            "%zu candidates that failed, hung or crashed in an earlier run may "
            "be tried once more",
            again);
    if (mmt_journal_is_new(t->journal) && t->profile->num_entries && !t->options.fresh)
        mmt_report_note(t,
                        "'%s' has %zu entries, but its journal '%s' is missing: what is "
                        "tuned is searched from the beginning",
                        t->path, t->profile->num_entries, mmt_journal_path(t->journal));
}

static mmt_status run_tuning(struct mmt_tuning *t, mmt_error *err)
{
    mmt_status status = MMT_OK;
    mmt_report_start(t);
    mmt_report_cache(t);
    tell_journal(t);
    if (t->portfolios_first)
        status = mmt_tune_calibrate(t, err);
    for (t->goal = 0; !status && t->goal < t->num_goals && !mmt_pool_interrupts();
         t->goal++)
        status = mmt_tune_problem(t, err);
    if (!status && !mmt_pool_interrupts())
        status = mmt_tune_explore(t, err);
    if (!status && !mmt_pool_interrupts() && !t->portfolios_first)
        status = mmt_tune_calibrate(t, err);
    if (!status && !mmt_pool_interrupts())
        status = mmt_tune_time_ranges(t, err);
    if (!status && !mmt_pool_interrupts())
        status = mmt_tune_verify_winners(t, err);
    if (!status && !mmt_pool_interrupts())
        status = mmt_tune_verify_ranges(t, err);
    if (!status && !mmt_pool_interrupts())
        status = mmt_tune_verify_portfolio(t, err);
    /* Whatever failed, what was learned before is written. */
    mmt_error own = { 0 };
    mmt_status saved = mmt_journal_look(t->journal, &own);
    mmt_report_journal(t);
    if (!saved)
        saved = mmt_tune_save(t, true, &own);
    if (!status && saved) {
        *err = own;
        status = saved;
    }
    if (!status)
        status = require_winner(t, err);
    if (!status && !mmt_pool_interrupts())
        mmt_tune_drop_before(t);
    if (!status)
        mmt_report_end(t);
    return status;
}

void mmt_tune_finish(struct mmt_tuning *t)
{
    mmt_pool_stop(&t->pool);
    mmt_journal_close(t->journal);
    mmt_profile_free(t->profile);
    mmt_profile_free(t->other);
    mmt_profile_free(t->layers);
    free(t->goals);
    free(t->ranges);
    free(t->built);
    free(t->path);
}

mmt_status mmt_tune_run(struct mmt_tuning *t, mmt_error *err)
{
    const mmt_status status = prepare_tuning(t, err);
    return status ? status : run_tuning(t, err);
}
