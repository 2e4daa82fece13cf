/* What the times of a tuning teach about shapes that were not tuned: how the law of time
 * errs here. docs/lab/law.md says how. */
#ifndef MMT_TUNER_MODEL_FIT_H
#define MMT_TUNER_MODEL_FIT_H

#include "profiles/profile.h"

/* A time that was measured: of a configuration that computes rightly, for a normalised
 * problem. */
struct mmt_fit_sample {
    mmt_problem problem;
    struct mmt_config config;
    double seconds;
};

/* Owned by the caller, who frees the list. */
struct mmt_fit_samples {
    struct mmt_fit_sample *list;
    size_t count;
};

struct mmt_journal;

/* Appends all times of a journal. */
mmt_status mmt_fit_add_journal(struct mmt_fit_samples *samples,
                               const struct mmt_journal *journal, mmt_error *err);

/* Fits the model of each family of products that the samples are of anew, unless what the
 * profile has rests on more than twice as many problems. profile->caps must be filled in;
 * problems are normalised. */
mmt_status mmt_fit_models(struct mmt_profile *profile,
                          const struct mmt_fit_sample *samples, size_t count,
                          mmt_error *err);

/* Fits what corrects the law of time for a family: model->trees, and on how many problems
 * they rest. */
mmt_status mmt_fit_model(const struct mmt_fit_sample *samples, size_t count,
                         const struct mmt_caps *caps, mmt_type family,
                         struct mmt_model *model, mmt_error *err);

/* A shape as programs multiply, by three numbers from 0 to 1: of each four, one is tokens
 * through a layer of a network, one has any sizes, one is a block, and one has a short or
 * a long side; half of them in multiples of 16. `index` says which. */
mmt_problem mmt_fit_shape(const mmt_problem *kind, const double part[3], int64_t index);

/* Shapes on which kernels are worth timing besides the tuned ones, so that a model can be
 * fitted: `count` problems of the kind's type and transposes, each of at most that many
 * operations (at least 1e6). The first 24 are a good set, and so are the first 300. */
void mmt_fit_shapes(const mmt_problem *kind, double most_flops, mmt_problem *out,
                    int count);

#endif
