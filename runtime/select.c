#include <math.h>

#include "runtime/runtime.h"

static bool same_kind(const mmt_problem *a, const mmt_problem *b)
{
    return a->op == b->op && a->type == b->type && !a->trans_a == !b->trans_a &&
           !a->trans_b == !b->trans_b;
}

static double octaves(int64_t a, int64_t b)
{
    return log2((double) (a > 0 ? a : 1)) - log2((double) (b > 0 ? b : 1));
}

/* How unlike two shapes are: squared distance of their logarithms, with a little for
 * leading dimensions that one of them does not share. */
static double distance(const mmt_problem *a, const mmt_problem *b)
{
    double m = octaves(a->m, b->m), n = octaves(a->n, b->n), k = octaves(a->k, b->k);
    double batch = octaves(a->batch, b->batch);
    double gaps = (a->lda != b->lda) + (a->ldb != b->ldb) + (a->ldc != b->ldc);
    return m * m + n * n + k * k + batch * batch + 1e-3 * gaps;
}

/* NULL if the device, the shape and the cap on workspace allow this configuration. */
static bool usable(const struct mmt_config *config, const mmt_problem *problem,
                   const struct mmt_caps *caps, size_t max_workspace)
{
    struct mmt_launches launches = { 0 };

    if (mmt_config_refuse(config, problem, caps))
        return false;
    if (max_workspace == SIZE_MAX)
        return true;
    config->template->launch(config->values, problem, caps, &launches);
    return launches.workspace <= max_workspace;
}

/* The entry of the nearest shape that was tuned here, NULL where there is none. */
static const struct mmt_entry *nearest(const struct mmt_profile *profile,
                                       const mmt_problem *problem,
                                       const struct mmt_caps *caps, size_t max_workspace)
{
    const struct mmt_entry *best = NULL;
    double least = INFINITY;

    for (size_t i = 0; profile && i < profile->num_entries; i++) {
        const struct mmt_entry *entry = &profile->entries[i];
        if (entry->source[0] || !same_kind(&entry->problem, problem))
            continue;
        double d = distance(&entry->problem, problem);
        if (d < least && usable(&entry->config, problem, caps, max_workspace)) {
            least = d;
            best = entry;
        }
    }
    return best;
}

/* The default without its workspace, where that is more than the cap. */
static bool find_default(const mmt_problem *problem, const struct mmt_caps *caps,
                         size_t max_workspace, struct mmt_config *out)
{
    if (mmt_config_default(problem, caps, out) &&
        usable(out, problem, caps, max_workspace))
        return true;
    for (int t = 0; mmt_templates[t]; t++)
        for (int s = 0; s < mmt_templates[t]->num_seeds; s++) {
            out->template = mmt_templates[t];
            for (int k = 0; k < MMT_MAX_KNOBS; k++)
                out->values[k] = mmt_templates[t]->seeds[s][k];
            if (usable(out, problem, caps, max_workspace))
                return true;
        }
    return false;
}

mmt_status mmt_select(const struct mmt_profile *profile, const mmt_problem *problem,
                      const struct mmt_caps *caps, size_t max_workspace,
                      struct mmt_choice *out, mmt_error *err)
{
    const struct mmt_entry *entry = nearest(profile, problem, caps, max_workspace);

    *out = (struct mmt_choice){ .why = MMT_CHOICE_DEFAULT };
    if (entry) {
        bool exact = mmt_problem_equal(&entry->problem, problem);
        out->config = entry->config;
        out->why = exact ? MMT_CHOICE_EXACT : MMT_CHOICE_NEAREST;
        out->seconds = exact ? entry->time.median : 0;
        out->nearest = entry->problem;
        return MMT_OK;
    }
    if (find_default(problem, caps, max_workspace, &out->config))
        return MMT_OK;
    if (problem->type == MMT_F64 && !caps->f64)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s has no double precision",
                        caps->name);
    return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                    "no template serves %s on %s with at most %zu bytes of workspace",
                    mmt_type_name(problem->type), caps->name, max_workspace);
}
