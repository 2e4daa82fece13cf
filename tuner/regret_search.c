#include "tuner/regret.h"

#include <math.h>
#include <string.h>

#include "tuner/measure.h"
#include "tuner/search.h"
#include "tuner/verify.h"

enum { MOST_TEMPLATES = 32, MOST_STARTS = 16, TRIES_OF_EACH = 3 };

/* One template's space. */
struct space {
    const struct mmt_template *template;
    const mmt_problem *problem;
    const struct mmt_caps *caps;
    int num_values[MMT_MAX_KNOBS];
    const char *names[MMT_MAX_KNOBS];
    double values[MMT_MAX_KNOBS][MMT_MAX_VALUES];
    const double *rows[MMT_MAX_KNOBS];
    struct mmt_search_space space;
    struct mmt_search *search;
    double best; /* INFINITY: nothing was timed */
    bool exhausted;
};

static void to_config(const struct space *space, const int *index, struct mmt_config *out)
{
    *out = (struct mmt_config){ .template = space->template };
    for (int i = 0; i < space->template->num_knobs; i++)
        out->values[i] = space->template->knobs[i].values[index[i]];
}

static bool is_legal(void *ctx, const int *index)
{
    const struct space *space = ctx;
    struct mmt_config config;
    to_config(space, index, &config);
    return !mmt_config_refuse(&config, space->problem, space->caps);
}

static int list_seeds(const struct mmt_template *template,
                      int out[MOST_STARTS][MMT_SEARCH_MAX_KNOBS])
{
    int count = template->num_seeds < MOST_STARTS ? template->num_seeds : MOST_STARTS;

    memset(out, 0, MOST_STARTS * sizeof *out);
    for (int s = 0; s < count; s++)
        for (int k = 0; k < template->num_knobs; k++) {
            const struct mmt_knob *knob = &template->knobs[k];
            while (out[s][k] < knob->num_values - 1 &&
                   knob->values[out[s][k]] != template->seeds[s][k])
                out[s][k]++;
        }
    return count;
}

static mmt_status open_space(struct space *space, uint64_t seed, mmt_error *err)
{
    const struct mmt_template *template = space->template;
    int starts[MOST_STARTS][MMT_SEARCH_MAX_KNOBS];
    int count = list_seeds(template, starts);

    for (int i = 0; i < template->num_knobs; i++) {
        space->num_values[i] = template->knobs[i].num_values;
        space->names[i] = template->knobs[i].name;
        space->rows[i] = space->values[i];
        for (int j = 0; j < space->num_values[i]; j++)
            space->values[i][j] = template->knobs[i].values[j];
    }
    space->space = (struct mmt_search_space){
        .num_knobs = template->num_knobs,
        .num_values = space->num_values,
        .names = space->names,
        .values = space->rows,
        .legal = is_legal,
        .ctx = space,
    };
    space->best = INFINITY;
    space->search =
        mmt_search_create(mmt_search_names[0], &space->space, seed,
                          (const int(*)[MMT_SEARCH_MAX_KNOBS]) starts, count, err);
    return space->search ? MMT_OK : err->status;
}

/* Every template a few times, then the one that holds the best; then what is left. */
static struct space *whose_turn(struct space *spaces, int count, int64_t tried)
{
    struct space *best = NULL;

    if (tried < (int64_t) count * TRIES_OF_EACH && !spaces[tried % count].exhausted)
        return &spaces[tried % count];
    for (int i = 0; i < count; i++)
        if (!spaces[i].exhausted && (!best || spaces[i].best < best->best))
            best = &spaces[i];
    return best;
}

/* Builds and times one candidate; what fails is told as such and left. */
static double time_of(struct mmt_session *session, const struct mmt_config *config,
                      double best)
{
    struct mmt_measure_limits limits = { .budget_seconds = 0.2, .precision = 0.02 };
    struct mmt_timing timing;

    if (!isinf(best))
        limits.best_seconds = best;
    if (mmt_measure_candidate(session, config, &limits, &timing, NULL) != MMT_OK)
        return INFINITY;
    return timing.median;
}

static void search_all(struct mmt_session *session, struct space *spaces, int count,
                       int64_t candidates, struct mmt_config *best, double *seconds)
{
    for (int64_t tried = 0; tried < candidates;) {
        struct space *space = whose_turn(spaces, count, tried);
        int index[MMT_SEARCH_MAX_KNOBS] = { 0 };
        struct mmt_config config;
        if (!space)
            return;
        if (!mmt_search_ask(space->search, index)) {
            space->exhausted = true;
            continue;
        }
        to_config(space, index, &config);
        double time = time_of(session, &config, *seconds);
        mmt_search_tell(space->search, index, time);
        space->best = fmin(space->best, time);
        if (time < *seconds) {
            *seconds = time;
            *best = config;
        }
        tried++;
    }
}

static int list_spaces(const mmt_problem *problem, const struct mmt_caps *caps,
                       struct space *spaces)
{
    int count = 0;
    for (int i = 0; mmt_templates[i] && count < MOST_TEMPLATES; i++) {
        const struct mmt_template *template = mmt_templates[i];
        if (mmt_config_meant(template, problem, caps))
            spaces[count++] =
                (struct space){ .template = template, .problem = problem, .caps = caps };
    }
    return count;
}

mmt_status mmt_regret_search(struct mmt_session *session, const struct mmt_caps *caps,
                             int64_t candidates, uint64_t seed, struct mmt_config *best,
                             bool *found, mmt_error *err)
{
    struct space spaces[MOST_TEMPLATES];
    int count = list_spaces(mmt_session_problem(session), caps, spaces);
    struct mmt_verdict verdict = { 0 };
    double seconds = INFINITY;
    mmt_status status = MMT_OK;

    for (int i = 0; i < count && status == MMT_OK; i++)
        status = open_space(&spaces[i], seed, err);
    if (status == MMT_OK)
        search_all(session, spaces, count, candidates, best, &seconds);
    for (int i = 0; i < count; i++)
        mmt_search_free(spaces[i].search);
    if (status == MMT_OK && !isinf(seconds))
        status = mmt_verify_candidate(session, best, &verdict, err);
    *found = status == MMT_OK && verdict.right;
    return status;
}
