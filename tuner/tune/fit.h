/* What a run's times teach its profile. */
#ifndef MMT_TUNER_TUNE_FIT_H
#define MMT_TUNER_TUNE_FIT_H

#include "tuner/tune/state.h"

/* Fits the models of run->files.profile to all that was timed. */
mmt_status mmt_tune_fit(struct mmt_run *run, mmt_error *err);

/* Takes out of the profile what was found wrong since it was entered. */
void mmt_tune_drop_refuted(struct mmt_run *run);

/* Does all that for all times so far and writes the profile, if this run has learned
 * anything. Models are fitted the `last` time, and before that as long as it takes little
 * of the run. */
mmt_status mmt_tune_update(struct mmt_run *run, bool last, mmt_error *err);

/* Enters a winner, and updates the profile. */
mmt_status mmt_tune_learn(struct mmt_run *run, const struct mmt_record *winner,
                          mmt_error *err);

#endif
