/* Has compilers build what will be tried, and lists what is built and promises most. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "runtime/runtime.h"
#include "tuner/tune/built.h"
#include "tuner/tune/compiled.h"

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

/* ---- which of it promises most --------------------------------------------------- */

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
