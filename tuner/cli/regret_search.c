/* Runs the fresh searches of `mmtune regret` and times their winners beside the selected
 * kernels, in a folder of its own. */
#include "tuner/cli/regret.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/problem.h"
#include "tuner/tune/roofline.h"

/* ---- the workers ----------------------------------------------------------------- */

static mmt_status open_journal(struct mmt_run *run, mmt_error *err)
{
    struct mmt_text path = { 0 };
    mmt_file_cache_folder(&path);
    mmt_status status =
        mmt_own_folder_make(&run->files.folder, mmt_text_string(&path), "regret", err);
    mmt_text_finish(&path);
    if (status)
        return status;
    mmt_text_addf(&path, "%s/regret", run->files.folder.path);
    run->files.path = path.data;
    if (path.failed)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a path");
    run->files.journal = mmt_journal_open(run->files.path, &run->device.caps, true, err);
    return run->files.journal ? MMT_OK : err->status;
}

mmt_status mmt_regret_open(struct mmt_run *run, const struct mmt_profile *known,
                           mmt_error *err)
{
    run->files.profile = mmt_profile_create();
    run->goals.list = calloc(1, sizeof *run->goals.list);
    if (!run->files.profile || !run->goals.list)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to measure regrets");
    run->goals.count = 1;
    run->clock.started = mmt_now();
    run->clock.ends = run->clock.goals_end = run->clock.finish = INFINITY;
    mmt_tune_set_roofline(run, &known->roofline);
    mmt_status status = open_journal(run, err);
    return status ? status : mmt_pool_start(run, false, err);
}

void mmt_regret_close(struct mmt_run *run)
{
    mmt_pool_stop(&run->pool);
    mmt_journal_close(run->files.journal);
    mmt_own_folder_remove(&run->files.folder);
    mmt_profile_free(run->files.profile);
    free(run->goals.list);
    free(run->built.list);
    free(run->files.path);
}

/* ---- the fresh search ------------------------------------------------------------ */

mmt_status mmt_regret_search(struct mmt_run *run, const mmt_problem *problem,
                             int64_t candidates, struct mmt_config *best, bool *found,
                             mmt_error *err)
{
    struct mmt_record winner;
    run->goals.list[0] = *problem;
    run->clock.candidates_left = run->options.budget.candidates = candidates;
    mmt_status status = mmt_tune_find(run, problem, INFINITY, &winner, found, err);
    if (!status && *found)
        *best = winner.config;
    return status;
}

/* ---- timing ---------------------------------------------------------------------- */

/* False where the job came to nothing: one of them broke it. */
static bool time_together(struct mmt_run *run, const mmt_problem *problem,
                          const struct mmt_config *configs, int count, double *seconds,
                          char reason[MMT_REASON_SIZE])
{
    static const double budget = 0.5;
    struct mmt_event event;
    struct mmt_job job = {
        .task = MMT_TASK_FINALS,
        .problem = *problem,
        .seed = (uint64_t) run->options.seed,
        .count = count,
        .budget_seconds = budget,
        .is_short = true,
    };
    memcpy(job.configs, configs, (size_t) count * sizeof *configs);
    double limit = mmt_tune_limit(run, problem, INFINITY) + 4 * budget * count;
    if (!mmt_pool_do(run, &job, limit, &event))
        return false;
    if (event.reply.results[0].outcome != MMT_TIMED)
        snprintf(reason, MMT_REASON_SIZE, "%s", event.reply.results[0].reason);
    if (event.reply.count != count)
        return false;
    for (int i = 0; i < count; i++) {
        const struct mmt_result *result = &event.reply.results[i];
        mmt_report_health(run, result);
        seconds[i] = result->outcome == MMT_TIMED ? result->time.median : INFINITY;
    }
    return true;
}

mmt_status mmt_regret_time(struct mmt_run *run, const mmt_problem *problem,
                           const struct mmt_config *configs, int count, double *seconds,
                           mmt_error *err)
{
    char reason[MMT_REASON_SIZE], first[MMT_REASON_SIZE] = "";
    bool all = time_together(run, problem, configs, count, seconds, reason);
    for (int i = 0; all && i < count; i++)
        all = isfinite(seconds[i]);
    for (int i = 0; !all && i < count && !mmt_pool_interrupts(); i++)
        if (!time_together(run, problem, &configs[i], 1, &seconds[i], i ? reason : first))
            seconds[i] = INFINITY;
    if (run->pool.broken.status)
        return *err = run->pool.broken, err->status;
    if (isinf(seconds[0]))
        return mmt_fail(err, MMT_ERROR_DEVICE, "the selected kernel: %s", first);
    return MMT_OK;
}
