/* The profile of a run: what stood there, what is entered, what is written. */
#ifndef MMT_TUNER_TUNE_PROFILE_H
#define MMT_TUNER_TUNE_PROFILE_H

#include "tuner/tune/state.h"

/* Finds run->files.path by the options and the device's caps. */
mmt_status mmt_tune_set_path(struct mmt_run *run, mmt_error *err);

/* Reads what stands at the path, or starts an empty one; finds out whether the place can
 * be written to. */
mmt_status mmt_tune_open_profile(struct mmt_run *run, mmt_error *err);

/* Puts a winner, and what was tried --with another profile, in the place of the problem's
 * earlier entries. */
mmt_status mmt_tune_enter(struct mmt_run *run, const struct mmt_record *winner,
                          mmt_error *err);

typedef bool mmt_kernel_test(const void *self, const mmt_problem *problem,
                             const struct mmt_config *config);

/* Takes out the entries and verdicts whose kernel is such, and the ranges of which one
 * is. */
void mmt_tune_drop(struct mmt_profile *profile, mmt_kernel_test *test, const void *self);

/* Removes what --fresh kept beside the profile: the run ended whole. */
void mmt_tune_drop_before(const struct mmt_run *run);

/* Writes the profile, with the counts of the journal. */
mmt_status mmt_tune_save(struct mmt_run *run, mmt_error *err);

#endif
