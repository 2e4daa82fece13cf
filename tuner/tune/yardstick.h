/* The vendor's library beside a goal's winner. */
#ifndef MMT_TUNER_TUNE_YARDSTICK_H
#define MMT_TUNER_TUNE_YARDSTICK_H

#include "tuner/tune/state.h"

/* Seconds of the goal at hand that its yardstick may take at most, of those until `ends`;
 * 0: there is none for it. */
double mmt_tune_yardstick_most(const struct mmt_run *run, double ends);

/* Times the library beside a goal's winner, unless the profile's entry of it has that of
 * this driver and version, and puts the record into the entry. */
void mmt_tune_yardstick(struct mmt_run *run, const mmt_problem *problem, double most);

#endif
