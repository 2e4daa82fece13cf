/* What compilers have built in this run. Most of it also serves the problems that come
 * later, and can be measured there while their own candidates are still being compiled.
 */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "runtime/runtime.h"
#include "tuner/tune/tune.h"

/* Whether a configuration's sources are the same for both problems. */
static bool same_texts(const struct mmt_config *config, const mmt_problem *a,
                       const mmt_problem *b)
{
    return mmt_same_kind(a, b) && a->out == b->out && a->bias == b->bias &&
           a->activation == b->activation &&
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

/* ---- compiling ------------------------------------------------------------------- */

void mmt_tune_compile(struct mmt_run *run, struct mmt_worker *worker,
                      const mmt_problem *problem, const struct mmt_config *config)
{
    static const double most_seconds = 60;
    struct mmt_job job = {
        .task = MMT_TASK_COMPILE, .problem = *problem, .count = 1, .configs = { *config }
    };
    mmt_worker_send(worker, &job, most_seconds, run->options.limit);
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

bool mmt_tune_build_ahead(struct mmt_run *run, const mmt_problem *problem,
                          const struct mmt_config *configs, int count)
{
    for (int i = 0; i < count; i++) {
        if (mmt_tune_is_built(run, problem, &configs[i]) ||
            mmt_tune_is_being_built(run, problem, &configs[i]))
            continue;
        struct mmt_worker *worker = mmt_pool_idle(&run->pool, MMT_COMPILER);
        if (!worker)
            return false;
        mmt_tune_compile(run, worker, problem, &configs[i]);
    }
    return true;
}

static bool some_being_built(const struct mmt_run *run, const mmt_problem *problem,
                             const struct mmt_config *configs, int count)
{
    for (int i = 0; i < count; i++)
        if (mmt_tune_is_being_built(run, problem, &configs[i]))
            return true;
    return false;
}

/* Each is handed out once: what cannot be built is not tried again. */
void mmt_tune_build(struct mmt_run *run, const mmt_problem *problem,
                    const struct mmt_config *configs, int count, double ends)
{
    struct mmt_event event;
    int next = 0;
    while (run->pool.count > 1 && !run->pool.broken.status && !mmt_pool_interrupts() &&
           mmt_now() < ends) {
        while (next < count && mmt_tune_build_ahead(run, problem, &configs[next], 1))
            next++;
        if (next == count && !some_being_built(run, problem, configs, count))
            break;
        if (mmt_pool_next(&run->pool, fmin(ends, mmt_now() + 0.2), &event))
            mmt_tune_note_built(run, &event);
    }
}

/* ---- which of it promises most ----------------------------------------------------- */

struct ready {
    const struct mmt_config *config;
    double seconds; /* expected by the law of time */
};

static double expect(const struct mmt_run *run, const mmt_problem *problem,
                     const struct mmt_config *config)
{
    const struct mmt_ranked ranked = {
        .config = *config, .model = mmt_profile_model(run->files.profile, problem->type)
    };
    struct mmt_bound bound;
    mmt_bind_known(config, problem, &run->device.caps, &bound);
    return mmt_expected_seconds(&ranked, &bound);
}

static int compare_seconds(const void *left, const void *right)
{
    const struct ready *a = left, *b = right;
    return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

/* Of those that leave knobs to the problem there are several, built for several. */
static bool is_first(const struct mmt_run *run, int built)
{
    int i = 0;
    while (!mmt_config_equal(&run->built.list[i].config, &run->built.list[built].config))
        i++;
    return i == built;
}

int mmt_tune_list_ready(const struct mmt_run *run, const mmt_problem *problem,
                        struct mmt_config *out, int most)
{
    static const double behind = 2;
    struct ready *list = malloc(((size_t) run->built.count + 1) * sizeof *list);
    int count = 0, listed = 0;
    for (int i = 0; list && i < run->built.count; i++) {
        const struct mmt_config *config = &run->built.list[i].config;
        if (is_first(run, i) && mmt_tune_is_built(run, problem, config) &&
            !mmt_config_check_problem(config, problem, &run->device.caps) &&
            !mmt_journal_find(run->files.journal, problem, config))
            list[count++] = (struct ready){ config, expect(run, problem, config) };
    }
    if (list)
        qsort(list, (size_t) count, sizeof *list, compare_seconds);
    while (listed < count && listed < most &&
           list[listed].seconds <= behind * list[0].seconds) {
        out[listed] = *list[listed].config;
        listed++;
    }
    free(list);
    return listed;
}
