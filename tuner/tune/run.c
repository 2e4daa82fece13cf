/* A run of the tuner, from its device to its report. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tuner/tune/deal.h"
#include "tuner/tune/fit.h"
#include "tuner/tune/goals.h"
#include "tuner/tune/machine_fault.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/phases.h"
#include "tuner/tune/problem.h"
#include "tuner/tune/profile.h"
#include "tuner/tune/roofline.h"
#include "tuner/tune/tune.h"
#include "tuner/tune/whole_verify.h"

/* A platform that cannot write its cache may hide its devices. */
static mmt_status explain_device(const struct mmt_run *run, mmt_error *err)
{
    const mmt_error said = *err;
    struct mmt_text why = { 0 };
    if (mmt_tune_explain(run, &why))
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

mmt_status mmt_tune_find_device(struct mmt_run *run, mmt_error *err)
{
    const char *name = run->options.device ? run->options.device : "0";
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
            return explain_device(run, err);
        }
        for (found = 0; found < count && strcmp(list[found].id, device->id); found++)
            ;
        mmt_device_close(device);
    }
    if (found < count) {
        run->device.caps = list[found].caps;
        snprintf(run->device.id, sizeof run->device.id, "%s", list[found].id);
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
static void probe_roofline(struct mmt_run *run)
{
    mmt_tune_set_roofline(run, &run->files.profile->roofline);
    if (run->limits.roofline.bandwidth <= 0)
        mmt_tune_probe(run);
    mmt_tune_judge_journal(run);
}

/* Seconds of the budget for what corrects the law of time: less of a short one, and no
 * more than makes a difference to so many types and transposes. A recording has goals and
 * ranges. */
static double law_seconds(const struct mmt_run *run)
{
    static const double share = 0.5, enough = 60, most = 120;
    const double budget = run->options.budget.seconds;
    if (run->options.recorded)
        return 0;
    return fmin(share * budget * fmin(1, budget / enough),
                most * mmt_tune_count_kinds(run));
}

/* Without a cache kernels are compiled again and again, which is said; but the driver of
 * a CPU compiles through files beside it, and makes nothing where no room is left. */
static mmt_status check_cache(struct mmt_run *run, mmt_error *err)
{
    mmt_error why = { 0 };
    if (!mmt_cache_check(&why))
        return MMT_OK;
    if (run->pool.shared && (why.native == ENOSPC || why.native == EDQUOT))
        return mmt_fail_native(err, why.status, why.native,
                               "%s; the driver of a CPU compiles through files there",
                               why.text);
    snprintf(run->pool.cache, sizeof run->pool.cache, "%.*s", MMT_REASON_SIZE - 1,
             why.text);
    return MMT_OK;
}

static void set_forget(struct mmt_run *run)
{
    run->files.forget =
        (struct mmt_forget){ .op = run->options.op, .template = run->options.template };
    memcpy(run->files.forget.types, run->options.types, sizeof run->files.forget.types);
}

/* With --fresh one that cannot be gone on with is begun anew. */
static mmt_status open_journal(struct mmt_run *run, mmt_error *err)
{
    const bool fresh = run->options.fresh;
    mmt_error why = { 0 };
    run->files.journal =
        mmt_journal_open(run->files.path, &run->device.caps, false, &why);
    if (!run->files.journal && fresh && why.status == MMT_ERROR_FORMAT)
        run->files.journal =
            mmt_journal_open(run->files.path, &run->device.caps, true, &why);
    if (!run->files.journal)
        return mmt_fail_native(err, why.status, why.native, "%s", why.text);
    return fresh ? mmt_journal_forget(run->files.journal, &run->files.forget, err)
                 : MMT_OK;
}

static bool was_busy(const void *self, const struct mmt_record *record, char *why,
                     size_t size)
{
    snprintf(why, size, "it was timed on a busy machine; what matters is timed anew");
    return !strcmp(record->result.throttled, MMT_BUSY);
}

/* Whether others compute here, too: as much as a quarter of the processors. What was
 * timed in such a run counts until one is quiet, or for good where its user says so. */
static void look_at_load(struct mmt_run *run)
{
    run->device.load = mmt_processor_load();
    run->device.busy = run->device.load > fmax(0.25 * mmt_processor_count(), 0.5);
    if (!run->device.busy && !secure_getenv("MMTUNE_KEEP_TIMES"))
        mmt_journal_pass_over(run->files.journal, was_busy, NULL);
}

static mmt_status prepare_tuning(struct mmt_run *run, mmt_error *err)
{
    mmt_status status = mmt_tune_find_device(run, err);
    if (!status)
        status = mmt_tune_choose_types(run, err);
    set_forget(run);
    if (!status)
        status = mmt_tune_open_profile(run, err);
    if (!status)
        status = open_journal(run, err);
    if (!status) {
        look_at_load(run);
        mmt_journal_set_limit(run->files.journal, run->options.limit);
        mmt_report_prepare(run);
    }
    run->clock.started = mmt_now();
    run->clock.ends = run->clock.goals_end = run->clock.finish = INFINITY;
    run->clock.candidates_left = run->options.budget.candidates;
    run->pace.compile_seconds = 1;
    if (!status)
        status = mmt_pool_start(run, false, err);
    if (!status)
        status = check_cache(run, err);
    if (!status)
        probe_roofline(run);
    if (!status)
        status = mmt_pool_check(&run->pool, err);
    /* Where the profile is gone, all that the journal has is news to it. */
    run->files.known = status || access(run->files.path, F_OK)
                           ? 0
                           : mmt_journal_count(run->files.journal);
    if (!status)
        status = mmt_tune_set_goals(run, err);
    if (!status) {
        mmt_tune_keep_shard(run);
        mmt_tune_take_goal(run);
    }
    return status;
}

static bool has_verdicts(const struct mmt_run *run)
{
    const struct mmt_verdicts_sum sum = mmt_tune_sum_verdicts(run);
    return sum.ours || sum.theirs;
}

/* Seconds are counted from here: what was set up, and the default, are beside them. */
static void start_clock(struct mmt_run *run)
{
    struct mmt_run_clock *clock = &run->clock;
    const double seconds = run->options.budget.seconds;
    clock->ends = seconds > 0 ? mmt_now() + seconds : INFINITY;
    clock->verdicts_end = clock->first_verdicts_end = clock->ends;
    if (run->options.recorded && isfinite(clock->ends))
        clock->ends -= mmt_tune_verdicts_seconds(run);
    clock->finish = clock->ends;
    clock->ends -= isfinite(clock->ends) ? mmt_tune_reserve(run) : 0;
    clock->ranges_end = clock->ends;
    clock->ends -= isfinite(clock->ends) ? mmt_tune_ranges_seconds(run) : 0;
    clock->goals_end = clock->ends;
    clock->goals_end -= isfinite(clock->ends) ? law_seconds(run) : 0;
    if (isfinite(clock->goals_end))
        clock->first_verdicts_end =
            mmt_now() + mmt_tune_first_verdicts_part * (clock->goals_end - mmt_now());
}

/* Of a budget that was too short: what it went into, and which one would do. */
static void describe_shortage(const struct mmt_run *run, char text[256])
{
    const double budget = run->options.budget.seconds,
                 each = fmax(run->pace.default_seconds, budget);
    snprintf(text, 256,
             "the budget of %g s went into building and verifying the first candidates, "
             "of which one takes some %.0f s here; --budget %.0fm would try about ten",
             budget, each, ceil(10 * each / 60));
}

/* A run that was interrupted may well have had no time for a winner. */
static mmt_status require_winner(const struct mmt_run *run, mmt_error *err)
{
    char shortage[256];
    for (int i = 0; i < run->goals.count; i++)
        if (mmt_tune_winner(run, &run->goals.list[i]))
            return MMT_OK;
    if (!run->goals.count || mmt_pool_interrupts() || run->found || has_verdicts(run))
        return MMT_OK;
    if (!run->counts.tried) {
        describe_shortage(run, shortage);
        return mmt_fail(err, MMT_ERROR_NOT_FOUND, "nothing was tried: %s", shortage);
    }
    return mmt_fail(err, MMT_ERROR_COMPILE,
                    "none of %d candidates could be timed: %d skipped, %d wrong, %d "
                    "failed; '%s' tells why of each",
                    run->counts.tried, run->counts.skipped, run->counts.wrong,
                    run->counts.failed, mmt_journal_path(run->files.journal));
}

/* What the journal tells before anything is tried. */
static void tell_journal(struct mmt_run *run)
{
    const size_t again = mmt_journal_count_again(run->files.journal);
    if (again)
        mmt_report_note(
            run,
            "%zu candidates that failed, hung or crashed in an earlier run may "
            "be tried once more",
            again);
    if (mmt_journal_is_new(run->files.journal) && run->files.profile->num_entries &&
        !run->options.fresh)
        mmt_report_note(run,
                        "'%s' has %zu entries, but its journal '%s' is missing: what is "
                        "tuned is searched from the beginning",
                        run->files.path, run->files.profile->num_entries,
                        mmt_journal_path(run->files.journal));
}

/* ---- phases ---------------------------------------------------------------------- */

static bool has_other_shapes(const struct mmt_run *run)
{
    return !run->options.recorded;
}

static bool has_recorded(const struct mmt_run *run)
{
    return run->options.recorded;
}

static bool has_ranges(const struct mmt_run *run)
{
    return run->ranges.count > 0;
}

static mmt_status tune_goals(struct mmt_run *run, mmt_error *err)
{
    struct mmt_run_problems *goals = &run->goals;
    mmt_status status = MMT_OK;
    for (goals->at = 0; !status && !mmt_pool_interrupts() && mmt_tune_take_goal(run);
         goals->at++) {
        status = mmt_tune_problem(run, err);
        if (!status && !mmt_pool_interrupts())
            mmt_tune_end_goal(run);
    }
    mmt_tune_keep_own_ranges(run);
    return status;
}

struct phase {
    bool (*applies)(const struct mmt_run *run); /* NULL: always */
    mmt_status (*run)(struct mmt_run *run, mmt_error *err);
};

static const struct phase phases[MMT_NUM_PHASES] = {
    [MMT_PHASE_FIRST_VERDICTS] = { has_recorded, mmt_tune_verdicts },
    [MMT_PHASE_GOALS] = { NULL, tune_goals },
    [MMT_PHASE_LAW] = { has_other_shapes, mmt_tune_time_law },
    [MMT_PHASE_RANGES] = { has_ranges, mmt_tune_time_ranges },
    [MMT_PHASE_VERIFY_WINNERS] = { NULL, mmt_tune_verify_winners },
    [MMT_PHASE_VERIFY_RANGES] = { has_ranges, mmt_tune_verify_ranges },
    [MMT_PHASE_VERDICTS] = { has_recorded, mmt_tune_verdicts },
};

static mmt_status run_phases(struct mmt_run *run, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int i = 0; i < MMT_NUM_PHASES && !status && !mmt_pool_interrupts(); i++) {
        run->phase = (enum mmt_run_phase) i;
        if (!phases[i].applies || phases[i].applies(run))
            status = phases[i].run(run, err);
    }
    return status;
}

static mmt_status save_at_end(struct mmt_run *run, mmt_error *err)
{
    const mmt_status status = mmt_journal_look(run->files.journal, err);
    mmt_report_journal(run);
    return status ? status : mmt_tune_update(run, true, err);
}

static mmt_status tune_and_save(struct mmt_run *run, mmt_error *err)
{
    mmt_report_start(run);
    mmt_report_cache(run);
    tell_journal(run);
    mmt_status status = run->options.recorded ? MMT_OK : mmt_tune_time_default(run, err);
    const int before = run->counts.tried;
    run->pace.default_seconds = mmt_now() - run->clock.started;
    start_clock(run);
    if (!status)
        status = run_phases(run, err);
    if (!status && !mmt_pool_interrupts())
        mmt_tune_end_ranges(run);
    /* Whatever failed, what was learned before is written. */
    mmt_error own = { 0 };
    const mmt_status saved = save_at_end(run, &own);
    if (!status && saved) {
        *err = own;
        status = saved;
    }
    if (!status)
        status = require_winner(run, err);
    if (!status && !mmt_pool_interrupts() && run->counts.tried == before &&
        run->options.budget.seconds > 0 && !run->options.recorded) {
        char shortage[256];
        describe_shortage(run, shortage);
        mmt_report_note(run, "no other kernel was tried: %s", shortage);
    }
    if (!status && !mmt_pool_interrupts())
        mmt_tune_drop_before(run);
    if (!status)
        mmt_report_end(run);
    return status;
}

void mmt_tune_finish(struct mmt_run *run)
{
    mmt_pool_stop(&run->pool);
    mmt_journal_close(run->files.journal);
    mmt_profile_free(run->files.profile);
    mmt_profile_free(run->files.other);
    mmt_profile_free(run->files.layers);
    mmt_recording_free(&run->recorded.recording);
    free(run->recorded.called);
    free(run->goals.list);
    free(run->goals.weights);
    free(run->ranges.list);
    free(run->built.list);
    free(run->files.path);
}

mmt_status mmt_tune_run(struct mmt_run *run, mmt_error *err)
{
    const mmt_status status = prepare_tuning(run, err);
    return status ? status : tune_and_save(run, err);
}
