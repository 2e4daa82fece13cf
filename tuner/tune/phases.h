/* What run.c has done, phase by phase. */
#ifndef MMT_TUNER_TUNE_PHASES_H
#define MMT_TUNER_TUNE_PHASES_H

#include "tuner/tune/state.h"

/* Tunes run->goals.list[run->goals.at] and puts what it found into the profile. */
mmt_status mmt_tune_problem(struct mmt_run *run, mmt_error *err);

/* Times what the law of time expects to be the fastest for many shapes of each type and
 * transposes of the run; shapes that are known take no time. */
mmt_status mmt_tune_time_law(struct mmt_run *run, mmt_error *err);

/* Seconds that are kept for timing kernels on the ranges and verifying them. */
double mmt_tune_ranges_seconds(const struct mmt_run *run);

/* Times the winners of a range's goals, the next best, and what the law ranks first, on
 * many of its m; selects from them and puts the range into the profile. */
mmt_status mmt_tune_time_ranges(struct mmt_run *run, mmt_error *err);

/* Verifies each kernel wholly at both ends of its segment, as long as there is time; one
 * that is wrong is selected no more. */
mmt_status mmt_tune_verify_ranges(struct mmt_run *run, mmt_error *err);

/* The part of the goals' time that they may take first, since a call without a verdict
 * gains nothing; and seconds that are kept for those that the goals' winners change. */
extern const double mmt_tune_first_verdicts_part;
double mmt_tune_verdicts_seconds(const struct mmt_run *run);

/* Times ours and the library on each recorded call of a library, those first that may
 * gain, and puts the verdicts into the profile: before the goals by the kernels that
 * promise most, after them anew where there is a faster one. */
mmt_status mmt_tune_verdicts(struct mmt_run *run, mmt_error *err);

/* Sorts verdicts, the greatest share of time first, in which order programs load their
 * kernels, and has these in the cache, used last. */
void mmt_tune_leave(struct mmt_run *run);

/* Winners, how they compare with the vendor's library, and where things are. */
void mmt_report_end(struct mmt_run *run);

#endif
