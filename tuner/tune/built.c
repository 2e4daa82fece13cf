/* What compilers have built in this run. Most of it also serves the problems that come
 * later, and can be measured there while their own candidates are still being compiled.
 */
#include "tuner/tune/built.h"

#include <stdlib.h>

/* Whether a configuration's sources are the same for both problems. */
static bool same_texts(const struct mmt_config *config, const mmt_problem *a,
                       const mmt_problem *b)
{
    return mmt_same_kind(a, b) && a->out == b->out && a->bias == b->bias &&
           a->activation == b->activation && a->batch_by == b->batch_by &&
           mmt_config_has_aligned(config, a) == mmt_config_has_aligned(config, b) &&
           mmt_config_has_any(config, a) == mmt_config_has_any(config, b);
}

static struct mmt_config seen_by_texts(const struct mmt_run *run,
                                       const mmt_problem *problem,
                                       const struct mmt_config *config)
{
    const struct mmt_config resolved =
        mmt_config_resolve(config, problem, &run->device.caps);
    return mmt_config_in_text(&resolved);
}

bool mmt_tune_is_built(const struct mmt_run *run, const mmt_problem *problem,
                       const struct mmt_config *config)
{
    const struct mmt_config seen = seen_by_texts(run, problem, config);
    for (int i = 0; i < run->built.count; i++)
        if (mmt_config_equal(&run->built.list[i].seen, &seen) &&
            same_texts(config, &run->built.list[i].problem, problem))
            return true;
    return false;
}

void mmt_tune_add_built(struct mmt_run *run, const mmt_problem *problem,
                        const struct mmt_config *config)
{
    if (mmt_tune_is_built(run, problem, config))
        return;
    struct mmt_built *grown =
        realloc(run->built.list, ((size_t) run->built.count + 1) * sizeof *grown);
    if (!grown) /* then it is compiled once more */
        return;
    run->built.list = grown;
    run->built.list[run->built.count++] =
        (struct mmt_built){ *problem, *config, seen_by_texts(run, problem, config) };
}

void mmt_tune_note_built(struct mmt_run *run, const struct mmt_event *event)
{
    if (event->job.task == MMT_TASK_COMPILE && event->reply.count == 1 &&
        event->reply.results[0].outcome == MMT_TIMED)
        mmt_tune_add_built(run, &event->job.problem, &event->job.configs[0]);
}

bool mmt_tune_is_being_built(const struct mmt_run *run, const mmt_problem *problem,
                             const struct mmt_config *config)
{
    const struct mmt_config seen = seen_by_texts(run, problem, config);
    for (int i = 0; i < run->pool.count; i++) {
        const struct mmt_worker *w = &run->pool.workers[i];
        if (!w->busy || w->job.task != MMT_TASK_COMPILE)
            continue;
        const struct mmt_config other =
            seen_by_texts(run, &w->job.problem, &w->job.configs[0]);
        if (mmt_config_equal(&other, &seen) &&
            same_texts(config, &w->job.problem, problem))
            return true;
    }
    return false;
}
