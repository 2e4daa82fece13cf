/* One problem: its search, and its finals. */
#ifndef MMT_TUNER_TUNE_PROBLEM_H
#define MMT_TUNER_TUNE_PROBLEM_H

#include "tuner/tune/state.h"

/* Searches and holds the finals, until a time of mmt_now(). *found is false where nothing
 * serves the problem. */
mmt_status mmt_tune_find(struct mmt_run *run, const mmt_problem *problem, double ends,
                         struct mmt_record *winner, bool *found, mmt_error *err);

/* Times what a program gets for the first goal before this run, unless that is known: so
 * that whatever ends a run, there is a time to hold others against. */
mmt_status mmt_tune_time_default(struct mmt_run *run, mmt_error *err);

#endif
