/* What a program asks of a kernel besides the right answer. */
#include "runtime/select_internal.h"

static bool is_refused(const struct mmt_config *config, const struct mmt_terms *terms)
{
    for (int i = 0; i < terms->num_refused; i++)
        if (mmt_config_equal(config, &terms->refused[i]))
            return true;
    return false;
}

static bool terms_allow(const struct mmt_bound *bound, const struct mmt_terms *terms)
{
    if (!terms)
        return true;
    if (is_refused(&bound->config, terms))
        return false;
    if (terms->strict_f32 && bound->problem->type == MMT_F32 &&
        mmt_config_in_slices(&bound->config, MMT_F32))
        return false;
    if (terms->in && !mmt_bundle_serves(terms->in, bound))
        return false;
    return bound->launches.workspace <= terms->max_workspace;
}

struct mmt_config mmt_within_terms(const struct mmt_question *q,
                                   const struct mmt_config *config)
{
    return mmt_config_within(config, q->problem, q->caps,
                             q->terms ? q->terms->max_workspace : SIZE_MAX);
}

bool mmt_bind_within(const struct mmt_question *q, const struct mmt_config *config,
                     struct mmt_bound *out)
{
    const struct mmt_config less = mmt_within_terms(q, config);
    return mmt_bind(&less, q->problem, q->caps, out) && terms_allow(out, q->terms);
}

bool mmt_is_usable(const struct mmt_question *q, const struct mmt_config *config)
{
    struct mmt_bound runs;
    return mmt_bind_within(q, config, &runs);
}
