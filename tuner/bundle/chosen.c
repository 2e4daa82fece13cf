/* Kernels for shapes that are not listed: of what the law of time names for shapes such
 * as programs multiply, the few that together lose least. */
#include <math.h>
#include <stdlib.h>

#include "costmodel/costmodel.h"
#include "tuner/bundle/make.h"
#include "tuner/model/fit.h"

enum { SHAPES = 300 };

struct choice {
    const struct mmt_profile *profile;
    const struct mmt_caps *caps;
    mmt_problem shapes[SHAPES];
    struct mmt_config kernels[SHAPES]; /* what is first for a shape, each once */
    int count;
    double best[SHAPES];           /* seconds, expected of the first of each shape */
    double times[SHAPES * SHAPES]; /* of each kernel for each shape; INFINITY: none */
};

static void note_first(struct choice *c, int shape)
{
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    int i = 0;
    c->best[shape] = INFINITY;
    if (!mmt_select_rank(c->profile, &c->shapes[shape], c->caps, NULL, ranked))
        return;
    c->best[shape] = ranked->seconds;
    while (i < c->count && !mmt_config_equal(&c->kernels[i], &ranked->config))
        i++;
    c->kernels[i] = ranked->config;
    c->count += i == c->count;
}

static double expect(const struct choice *c, int kernel, int shape)
{
    const mmt_problem *problem = &c->shapes[shape];
    const struct mmt_ranked ranked = {
        .config = c->kernels[kernel],
        .model = mmt_profile_model(c->profile, problem->type),
    };
    struct mmt_bound bound;
    return mmt_bind(&ranked.config, problem, c->caps, &bound)
               ? mmt_expected_seconds(&ranked, &bound)
               : INFINITY;
}

/* For a further kind, where it is there for others of the family. */
static mmt_status add_kernel(struct mmt_profile *profile, const mmt_problem *kind,
                             const struct mmt_config *config, mmt_error *err)
{
    const struct mmt_unlisted_kernel kernel = { .family = mmt_type_family(kind->type),
                                                .config = *config,
                                                .right = mmt_kind_bit(kind) };
    for (size_t i = 0; i < profile->num_unlisted; i++) {
        struct mmt_unlisted_kernel *known = &profile->unlisted[i];
        if (known->family == kernel.family && mmt_config_equal(&known->config, config)) {
            known->right |= kernel.right;
            return MMT_OK;
        }
    }
    return mmt_profile_add_unlisted(profile, &kernel, err);
}

static mmt_status choose(struct mmt_profile *profile, const mmt_problem *kind,
                         mmt_error *err)
{
    int selected[MMT_BUNDLE_MOST_KERNELS];
    mmt_status status = MMT_OK;
    struct choice *c = calloc(1, sizeof *c);
    if (!c)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to choose kernels");
    c->profile = profile;
    c->caps = &profile->caps;
    mmt_fit_shapes(kind, 1e12, c->shapes, SHAPES);
    for (int i = 0; i < SHAPES; i++)
        note_first(c, i);
    for (int i = 0; i < c->count; i++)
        for (int shape = 0; shape < SHAPES; shape++)
            c->times[i * SHAPES + shape] = expect(c, i, shape);
    const int count = mmt_bundle_select(c->times, c->best, c->count, SHAPES,
                                        MMT_BUNDLE_MOST_KERNELS, selected);
    for (int i = 0; i < count && !status; i++)
        status = add_kernel(profile, kind, &c->kernels[selected[i]], err);
    free(c);
    return status;
}

mmt_status mmt_bundle_choose(struct mmt_profile *profile,
                             const struct mmt_bundle_problems *problems, mmt_error *err)
{
    uint64_t chosen = 0;
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < problems->count && !status; i++) {
        const mmt_problem *kind = &problems->list[i];
        if (!mmt_has_law(kind) || chosen & mmt_kind_bit(kind))
            continue;
        chosen |= mmt_kind_bit(kind);
        status = choose(profile, kind, err);
    }
    return status;
}
