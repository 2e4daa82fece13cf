/* Gradient boosting (Friedman 2001) of trees that ask the same at each level, as CatBoost
 * grows them (Prokhorenkova et al. 2018): what a family's estimates leave over. */
#ifndef MMT_TUNER_MODEL_BOOST_H
#define MMT_TUNER_MODEL_BOOST_H

#include "costmodel/costmodel.h"

/* A time, as a fit sees it. */
struct mmt_boost_sample {
    struct mmt_view view;
    double target; /* what the trees' sum should be */
    double weight; /* above 0 */
};

/* Fills model->trees so that their sum is near the targets. The same samples give the
 * same trees. MMT_ERROR_MEMORY is its only error. */
mmt_status mmt_boost(const struct mmt_boost_sample *samples, int count,
                     struct mmt_model *model, mmt_error *err);

#endif
