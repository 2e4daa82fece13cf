/* What programs computed, as goals. */
#ifndef MMT_TUNER_TUNE_RECORDED_H
#define MMT_TUNER_TUNE_RECORDED_H

#include "tuner/tune/state.h"

/* Reads the recording; fills run->goals with its problems, what may save most time
 * first, as many as the budget has room for, and run->ranges where many m meet the same
 * n and k. */
mmt_status mmt_tune_set_recorded_goals(struct mmt_run *run, mmt_error *err);

/* Whether other programs' f32 would become slower by an entry of that winner: what they
 * have now is emulated, and faster. */
bool mmt_tune_would_slow(const struct mmt_run *run, const struct mmt_record *winner);

#endif
