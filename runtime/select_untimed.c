/* Kernels that nobody timed: what templates name for a problem, and their starting
 * points. */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "runtime/select_internal.h"

/* How many a template is asked for. */
enum { NAMED = 16 };

int mmt_usable_candidates(const struct mmt_template *template, const mmt_problem *problem,
                          const struct mmt_caps *caps, const struct mmt_terms *terms,
                          struct mmt_config *out, double *seconds, int most)
{
    struct mmt_candidate list[NAMED];
    const int named =
        template->candidates ? template->candidates(problem, caps, list, NAMED) : 0;
    int count = 0;

    for (int i = 0; i < named && count < most; i++) {
        out[count] = (struct mmt_config){ .template = template };
        memcpy(out[count].values, list[i].values, sizeof out->values);
        seconds[count] = list[i].seconds;
        count += mmt_is_usable(&out[count], problem, caps, terms);
    }
    return count;
}

bool mmt_select_untimed(double seconds, const mmt_problem *problem,
                        const struct mmt_caps *caps, const struct mmt_terms *terms,
                        struct mmt_selection *out)
{
    double best = seconds;
    bool found = false;

    for (int t = 0; mmt_templates[t]; t++) {
        struct mmt_config config;
        double expected;
        if (!mmt_usable_candidates(mmt_templates[t], problem, caps, terms, &config,
                                   &expected, 1) ||
            expected >= best)
            continue;
        best = expected;
        found = true;
        *out = (struct mmt_selection){
            .config = config, .why = MMT_SELECTION_LAW, .seconds = expected, .layer = -1
        };
    }
    return found;
}

bool mmt_seed_within(const struct mmt_template *template, int seed,
                     const mmt_problem *problem, const struct mmt_caps *caps,
                     const struct mmt_terms *terms, struct mmt_config *out,
                     struct mmt_bound *bound)
{
    struct mmt_config config = { .template = template };
    memcpy(config.values, template->seeds[seed],
           (size_t) template->num_knobs * sizeof(int));
    *out = mmt_within_terms(&config, problem, caps, terms);
    return mmt_bind_within(&config, problem, caps, terms, bound);
}

/* One that leaves most multiprocessors idle may take fifty times as long. */
double mmt_select_start(const struct mmt_template *template, const mmt_problem *problem,
                        const struct mmt_caps *caps, const struct mmt_terms *terms,
                        struct mmt_config *out)
{
    const double far = caps->kind == MMT_CPU ? 2 : 1.25;
    double best = INFINITY, seconds;

    if (mmt_usable_candidates(template, problem, caps, terms, out, &seconds, 1))
        return mmt_cost_estimate(out, problem, caps);
    for (int s = 0; s < template->num_seeds; s++) {
        struct mmt_config config;
        struct mmt_bound runs;
        if (!mmt_seed_within(template, s, problem, caps, terms, &config, &runs))
            continue;
        double estimate = mmt_cost_estimate_bound(&runs);
        if (estimate <= best / far) {
            best = estimate;
            *out = config;
        }
    }
    return best;
}

bool mmt_select_default(const mmt_problem *problem, const struct mmt_caps *caps,
                        const struct mmt_terms *terms, struct mmt_config *out)
{
    struct mmt_config usual;
    if (!mmt_config_default(problem, caps, &usual))
        return false;
    double best = mmt_select_start(usual.template, problem, caps, terms, out);
    for (int t = 0; mmt_templates[t]; t++) {
        const struct mmt_template *template = mmt_templates[t];
        struct mmt_config other;
        bool meant = caps->kind == MMT_GPU && !template->prefers &&
                     mmt_config_meant(template, problem, caps);
        if (isfinite(best) && !meant)
            continue;
        double estimate = mmt_select_start(template, problem, caps, terms, &other);
        if (isfinite(estimate) && estimate <= best / 2) {
            best = estimate;
            *out = other;
        }
    }
    return isfinite(best);
}
