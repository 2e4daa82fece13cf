/* What a device reaches, and times that cannot be. */
#include <stdio.h>

#include "tuner/tune/roofline.h"

enum { MOST_PROBES = 4 /* in a run, each about a second */ };

void mmt_tune_set_roofline(struct mmt_run *run, const struct mmt_roofline *measured)
{
    mmt_roofline_add(&run->limits.measured, measured);
    run->limits.roofline = run->limits.measured;
    mmt_roofline_derive(&run->limits.roofline, &run->device.caps);
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        run->limits.ceiling[type] = mmt_roofline_ceiling(
            &run->limits.roofline, &run->device.caps, (mmt_type) type);
}

void mmt_tune_take_probe(struct mmt_run *run, const struct mmt_reply *reply)
{
    if (reply->results[0].outcome != MMT_TIMED)
        return;
    run->limits.doubtful = *reply->results[0].throttled;
    mmt_tune_set_roofline(run, &reply->roofline);
}

void mmt_tune_probe(struct mmt_run *run)
{
    const struct mmt_job job = { .task = MMT_TASK_PROBE };
    struct mmt_event event;
    run->limits.probes++;
    if (mmt_pool_do(run, &job, MMT_PROBE_LIMIT, &event))
        mmt_tune_take_probe(run, &event.reply);
}

/* ---- judging --------------------------------------------------------------------- */

bool mmt_tune_is_exceeded(const struct mmt_run *run, const mmt_problem *problem,
                          const struct mmt_result *result)
{
    return result->outcome == MMT_TIMED && run->limits.probes < MOST_PROBES &&
           mmt_roofline_is_exceeded(&run->limits.roofline, &run->device.caps, problem,
                                    result->time.median);
}

static double least_known(const struct mmt_run *run, const mmt_problem *problem)
{
    return mmt_roofline_least(&run->limits.roofline, &run->device.caps, problem);
}

void mmt_tune_judge(const struct mmt_run *run, const mmt_problem *problem,
                    struct mmt_result *result)
{
    const mmt_type type = problem->type;
    struct mmt_text peak = { 0 };
    if (result->outcome != MMT_TIMED || run->limits.doubtful ||
        !(result->time.median < least_known(run, problem)))
        return;
    mmt_roofline_print(run->limits.roofline.peak_flops[type],
                       run->limits.roofline.peak_spread[type], type, &peak);
    result->outcome = MMT_FAILED;
    snprintf(result->reason, sizeof result->reason,
             "%.4g us is faster than the device can be: %.4g us at best, its roofline of "
             "%s being %s; the clock or the kernel is broken",
             1e6 * result->time.median, 1e6 * least_known(run, problem),
             mmt_type_name(type), mmt_text_string(&peak));
    mmt_text_finish(&peak);
}

void mmt_tune_judge_anew(struct mmt_run *run, const mmt_problem *problem,
                         struct mmt_result *result)
{
    if (mmt_tune_is_exceeded(run, problem, result))
        mmt_tune_probe(run);
    mmt_tune_judge(run, problem, result);
}

bool mmt_tune_time_short(struct mmt_run *run, struct mmt_job *job, double limit,
                         struct mmt_record *out)
{
    struct mmt_event event;
    job->task = MMT_TASK_MEASURE;
    job->seed = (uint64_t) run->options.seed;
    job->count = 1;
    job->is_short = true;
    if (!mmt_pool_do(run, job, limit, &event))
        return false;
    *out = (struct mmt_record){ .problem = job->problem,
                                .config = job->configs[0],
                                .result = event.reply.results[0],
                                .calibration = true };
    mmt_tune_judge_anew(run, &job->problem, &out->result);
    return out->result.outcome != MMT_KILLED;
}

static bool cannot_be(const void *self, const struct mmt_record *record, char *why,
                      size_t size)
{
    struct mmt_result result = record->result;
    mmt_tune_judge(self, &record->problem, &result);
    snprintf(why, size, "%s", result.reason);
    return result.outcome != record->result.outcome;
}

void mmt_tune_judge_journal(struct mmt_run *run)
{
    size_t count;
    const struct mmt_record *records = mmt_journal_records(run->files.journal, &count);
    size_t i = 0;
    while (i < count &&
           !mmt_tune_is_exceeded(run, &records[i].problem, &records[i].result))
        i++;
    if (i < count)
        mmt_tune_probe(run);
    mmt_journal_pass_over(run->files.journal, cannot_be, run);
}
