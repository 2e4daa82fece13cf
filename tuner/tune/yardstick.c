/* Between a goal's finals and the next goal: what the vendor's library takes beside the
 * winner. Programs whose calls are taken over, and people, rest on these records. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/yardstick.h"
#include "tuner/bench/yardstick.h"

/* That part of a goal's share and so many seconds at most; and a worker may take so many
 * times a candidate's limit: loading a large library from a disk is slow. */
static const double part = 0.05, longest = 3, patience = 6;

double mmt_tune_yardstick_most(const struct mmt_run *run, double ends)
{
    const bool any = run->options.op == MMT_GEMM && mmt_yardstick_of(&run->device.caps);
    return any ? fmin(longest, part * fmax(ends - mmt_now(), 0)) : 0;
}

static struct mmt_entry *find_entry(struct mmt_run *run, const mmt_problem *problem)
{
    const struct mmt_entry *winner = mmt_tune_winner(run, problem);
    return winner ? &run->files.profile->entries[winner - run->files.profile->entries]
                  : NULL;
}

/* Does a job; false where nothing came of it. A library that is not there, or that breaks
 * the worker, is given up. */
static bool ask_worker(struct mmt_run *run, const struct mmt_job *job,
                       struct mmt_event *event)
{
    const struct mmt_result *result = &event->reply.results[0];
    const double limit = patience * mmt_tune_limit(run, &job->problem, job->best_seconds);
    if (!mmt_pool_do(run, job, limit, event) || result->outcome == MMT_KILLED)
        return false;
    if (event->reply.count > 1 || result->outcome == MMT_TIMED)
        return true;
    memcpy(run->library.why, result->reason, sizeof run->library.why);
    run->library.missing = !job->count && result->outcome == MMT_SKIPPED;
    return false;
}

static struct mmt_job job_for(const struct mmt_run *run, const struct mmt_entry *entry)
{
    return (struct mmt_job){ .task = MMT_TASK_YARDSTICK,
                             .problem = entry->problem,
                             .seed = (uint64_t) run->options.seed,
                             .best_seconds = entry->time.median };
}

/* Which library it is; asked once a run. */
static bool has_library(struct mmt_run *run, const struct mmt_entry *entry)
{
    const struct mmt_job job = job_for(run, entry);
    struct mmt_event event;
    if (!run->library.name[0] && !run->library.why[0] && ask_worker(run, &job, &event))
        memcpy(run->library.name, event.reply.library, sizeof run->library.name);
    return run->library.name[0] && !run->library.why[0];
}

/* What it takes at least, as far as ours tells. */
static double least_seconds(const struct mmt_entry *entry)
{
    return (1 + MMT_MAX_WAYS) * MMT_YARDSTICK_LEAST * entry->time.median;
}

static void record_times(struct mmt_run *run, struct mmt_entry *entry,
                         const struct mmt_reply *reply)
{
    struct mmt_yardstick *it = &entry->yardstick;
    *it = (struct mmt_yardstick){ .ours = reply->results[0].time.median,
                                  .first = reply->results[1].time.median };
    if (reply->count > 2)
        it->best = reply->results[2].time.median;
    memcpy(it->library, run->library.name, sizeof it->library);
    memcpy(it->driver, run->device.caps.driver, sizeof it->driver);
    mmt_profile_now(it->date);
    run->library.taken++;
}

static void measure_library(struct mmt_run *run, struct mmt_entry *entry, double most)
{
    struct mmt_job job = job_for(run, entry);
    struct mmt_event event;
    job.count = 1;
    job.configs[0] = entry->config;
    job.budget_seconds = fmin(most, MMT_YARDSTICK_SECONDS);
    if (ask_worker(run, &job, &event) && event.reply.results[0].outcome == MMT_TIMED &&
        event.reply.results[1].outcome == MMT_TIMED)
        record_times(run, entry, &event.reply);
}

void mmt_tune_yardstick(struct mmt_run *run, const mmt_problem *problem, double most)
{
    struct mmt_entry *entry = find_entry(run, problem);
    if (!entry || !(most > 0) || mmt_pool_interrupts() ||
        problem->batch_by == MMT_BY_POINTERS) /* verdicts have the library's time */
        return;
    if (has_library(run, entry) && !mmt_tune_has_yardstick(run, entry) &&
        least_seconds(entry) <= most)
        measure_library(run, entry, most);
    mmt_report_yardstick(run, entry);
}
