/* The kernels that promise most for a problem. */
#include <math.h>
#include <string.h>

#include "runtime/select_internal.h"

/* What is expected to take so many times the fastest's time is none: a model is wrong by
 * less. */
static const double far_behind = 1.6;

/* Starting points of the templates that suit the problem: the most promising of each,
 * then the others. */
static int list_seeds(const struct mmt_question *q, struct mmt_config *out, int count,
                      int most)
{
    struct mmt_config config;
    struct mmt_bound bound;
    for (int t = 0; mmt_templates[t] && count < most; t++)
        if (mmt_config_meant(mmt_templates[t], q->problem, q->caps) &&
            isfinite(mmt_select_start(mmt_templates[t], q->problem, q->caps, q->terms,
                                      &config)) &&
            !mmt_config_in(&config, out, count))
            out[count++] = config;
    for (int t = 0; mmt_templates[t]; t++)
        for (int s = 0; s < mmt_templates[t]->num_seeds && count < most; s++)
            if (mmt_config_meant(mmt_templates[t], q->problem, q->caps) &&
                mmt_seed_within(q, mmt_templates[t], s, &config, &bound) &&
                !mmt_config_in(&config, out, count))
                out[count++] = config;
    return count;
}

int mmt_select_candidates(const struct mmt_profile *profile, const mmt_problem *problem,
                          const struct mmt_caps *caps, const struct mmt_terms *terms,
                          struct mmt_config *out, int most)
{
    const struct mmt_question q = { profile, problem, caps, terms };
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    const int num_ranked = mmt_rank(&q, ranked);
    struct mmt_selection selection;
    int count = 0;

    if (most < 1 || mmt_select(profile, problem, caps, terms, &selection, NULL))
        return 0;
    out[count++] = selection.config;
    for (int i = 0; i < num_ranked && count < most; i++) {
        const struct mmt_config config = mmt_within_terms(&q, &ranked[i].config);
        if (ranked[i].seconds <= far_behind * ranked[0].seconds &&
            !mmt_config_in(&config, out, count))
            out[count++] = config;
    }
    return num_ranked ? count : list_seeds(&q, out, count, most);
}
