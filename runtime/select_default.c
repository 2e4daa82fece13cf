/* Starting points of templates, where nothing is ranked. */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "runtime/select_internal.h"

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
    double best = INFINITY;

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
    for (int any = 0; any < 2; any++)
        for (int t = 0; mmt_templates[t]; t++)
            if ((any || mmt_config_meant(mmt_templates[t], problem, caps)) &&
                isfinite(mmt_select_start(mmt_templates[t], problem, caps, terms, out)))
                return true;
    return false;
}
