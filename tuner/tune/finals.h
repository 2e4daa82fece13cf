/* The best of a search against each other. */
#ifndef MMT_TUNER_TUNE_FINALS_H
#define MMT_TUNER_TUNE_FINALS_H

#include "tuner/tune/state.h"

/* Times the best of the journal against each other, within the time. Where an earlier run
 * has timed the same ones, what it entered stands. *found is false where nothing serves
 * the problem. */
mmt_status mmt_tune_finals(struct mmt_run *run, const mmt_problem *problem, double ends,
                           struct mmt_record *winner, bool *found, mmt_error *err);

/* Who takes part, of records of one problem, the fastest first: they come to the front,
 * and their number is returned. Those that are not far behind, five at most; but a device
 * that is power-limited ranks kernels in another order than one that is not, and there
 * eight take part, of more than two tiles where the fast ones have them. What programs
 * get without this run is one more, unless it is far behind for sure. */
int mmt_tune_select_finalists(const struct mmt_run *run, struct mmt_record *timed,
                              int count);

/* Whether all finalists, of one problem, took part in finals of earlier runs, whose
 * winner the profile has: then *winner is that one, as it was timed last. */
bool mmt_tune_is_decided(const struct mmt_run *run, const struct mmt_record *finalists,
                         int count, struct mmt_record *winner);

/* The favourite among finalists, the fastest first: of those that tie with the fastest,
 * within half a percent, the one that needs the fewest registers, then the least shared
 * memory. */
const struct mmt_record *mmt_tune_favourite(const struct mmt_record *sorted, int count);

#endif
