/* Which problems a run tunes, and how the budget is shared among them. */
#ifndef MMT_TUNER_TUNE_GOALS_H
#define MMT_TUNER_TUNE_GOALS_H

#include "tuner/tune/state.h"

/* Those that are asked for, or those that the device computes well: run->options.types.
 */
mmt_status mmt_tune_choose_types(struct mmt_run *run, mmt_error *err);

/* Fills run->goals.list. */
mmt_status mmt_tune_set_goals(struct mmt_run *run, mmt_error *err);

/* How many types and transposes of products the goals have. */
int mmt_tune_count_kinds(const struct mmt_run *run);

/* The share of the goal run->goals.at in what is left: a time when it ends, and a number
 * of candidates. */
double mmt_tune_share_time(const struct mmt_run *run);
int64_t mmt_tune_share_candidates(const struct mmt_run *run);

#endif
