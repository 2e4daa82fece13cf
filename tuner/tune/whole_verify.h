/* Whole verification, before a kernel enters the profile. */
#ifndef MMT_TUNER_TUNE_WHOLE_VERIFY_H
#define MMT_TUNER_TUNE_WHOLE_VERIFY_H

#include "tuner/tune/state.h"

/* Verifies wholly, unless the journal knows. MMT_WHOLE_UNKNOWN: it came to nothing, as
 * the run was interrupted. */
mmt_status mmt_tune_verify_at(struct mmt_run *run, const mmt_problem *problem,
                              const struct mmt_config *config, enum mmt_whole *out,
                              mmt_error *err);

/* What one takes, in seconds. */
double mmt_tune_whole_seconds(const struct mmt_run *run);

/* Verifies the winner of each problem; the next best takes the place of one that is
 * wrong. */
mmt_status mmt_tune_verify_winners(struct mmt_run *run, mmt_error *err);

/* Seconds of the budget that are kept for that. */
double mmt_tune_reserve(const struct mmt_run *run);

#endif
