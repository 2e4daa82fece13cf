/* Ranking by fitted models: the kernels of a CPU's portfolio. */
#include <math.h>

#include "costmodel/costmodel.h"
#include "runtime/select_internal.h"

void mmt_insert_ranked(struct mmt_ranked *ranked, int count,
                       const struct mmt_ranked *next)
{
    for (; count > 0 && ranked[count - 1].seconds > next->seconds; count--)
        ranked[count] = ranked[count - 1];
    ranked[count] = *next;
}

/* The kernels of the family that serve, by what the model expects of them. */
int mmt_rank_by_model(const struct mmt_profile *profile, const mmt_problem *problem,
                      const struct mmt_caps *caps, const struct mmt_terms *terms,
                      struct mmt_ranked ranked[MMT_MOST_RANKED])
{
    const struct mmt_model *model =
        profile ? mmt_profile_model_for(profile, problem) : NULL;
    int count = 0;

    for (size_t i = 0; model && i < profile->num_portfolio && count < MMT_MOST_RANKED;
         i++) {
        const struct mmt_portfolio_kernel *kernel = &profile->portfolio[i];
        if (kernel->family != model->family || kernel->layer != model->layer ||
            !(kernel->right & mmt_kind_bit(problem)))
            continue;
        struct mmt_bound runs;
        if (!mmt_bind_within(&kernel->config, problem, caps, terms, &runs))
            continue;
        const struct mmt_ranked next = { kernel->config,
                                         mmt_cost_predict(model, kernel, &runs), model,
                                         kernel, kernel->layer };
        mmt_insert_ranked(ranked, count++, &next);
    }
    return count;
}
