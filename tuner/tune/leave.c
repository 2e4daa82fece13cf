/* Verdicts and their kernels as programs will look for them. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/tune/built.h"
#include "tuner/tune/compiled.h"
#include "tuner/tune/phases.h"

/* A verdict and what its calls took. */
struct share {
    struct mmt_verdict verdict;
    double seconds;
    size_t at;
};

static int compare_shares(const void *left, const void *right)
{
    const struct share *a = left, *b = right;
    if (a->seconds != b->seconds)
        return a->seconds < b->seconds ? 1 : -1;
    return a->at < b->at ? -1 : 1;
}

static double recorded_seconds(const struct mmt_run *run, const struct mmt_call *call)
{
    const struct mmt_recording *recording = &run->recorded.recording;
    double seconds = 0;
    for (size_t i = 0; i < recording->count; i++)
        if (mmt_call_equal(&recording->list[i].call, call))
            seconds += mmt_recorded_seconds(&recording->list[i]);
    return seconds;
}

/* The greatest share of time first: programs load and compile kernels in that order. */
static void sort_verdicts(struct mmt_run *run)
{
    struct mmt_profile *profile = run->files.profile;
    struct share *list = calloc(profile->num_verdicts + 1, sizeof *list);
    if (!list)
        return;
    for (size_t i = 0; i < profile->num_verdicts; i++)
        list[i] = (struct share){ profile->verdicts[i],
                                  recorded_seconds(run, &profile->verdicts[i].call), i };
    qsort(list, profile->num_verdicts, sizeof *list, compare_shares);
    for (size_t i = 0; i < profile->num_verdicts; i++)
        profile->verdicts[i] = list[i].verdict;
    free(list);
}

/* A run that has tried many kernels may have dropped winners from the cache, and programs
 * keep less there than it: those that they load are there, and used last. */
static void leave_kernels(struct mmt_run *run)
{
    const struct mmt_profile *profile = run->files.profile;
    struct mmt_event event;
    size_t next = 0;
    while ((next < profile->num_verdicts || mmt_pool_busy(&run->pool, MMT_COMPILER)) &&
           run->pool.count > 1 && !run->pool.broken.status && !mmt_pool_interrupts()) {
        struct mmt_worker *worker = mmt_pool_idle(&run->pool, MMT_COMPILER);
        if (worker && next < profile->num_verdicts) {
            const struct mmt_verdict *it = &profile->verdicts[next++];
            if (mmt_verdict_is_for_ours(it) &&
                !strcmp(it->driver, run->device.caps.driver))
                mmt_tune_compile(run, worker, &it->call.problem, &it->config);
        } else if (mmt_pool_next(&run->pool, mmt_now() + 0.2, &event)) {
            mmt_tune_note_built(run, &event);
        }
    }
}

void mmt_tune_leave(struct mmt_run *run)
{
    sort_verdicts(run);
    leave_kernels(run);
}
