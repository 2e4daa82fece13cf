/* Which of the goals a run tunes where it is one of several: a shard, which is the same
 * everywhere, or those that the cards of one kind take as they become free. What is taken
 * is a unit: a goal, or a range of m with all of its goals. */
#ifndef MMT_TUNER_TUNE_DEAL_H
#define MMT_TUNER_TUNE_DEAL_H

#include "tuner/tune/state.h"

/* Leaves the goals and ranges of the run's shard: of its units, in their order, each
 * N-th. */
void mmt_tune_keep_shard(struct mmt_run *run);

/* Has a goal of this card at run->goals.at: one that it took before and has not done,
 * else one that no card has, which it takes. False where none is left. Behind `at` and
 * below `count` are those that it may still get. */
bool mmt_tune_take_goal(struct mmt_run *run);

/* That the unit of the goal at hand, where it is no range, is done for this command;
 * false where that cannot be noted, and it may be done again. */
bool mmt_tune_end_goal(const struct mmt_run *run);

/* Leaves the ranges that this card took; and the same as above of these. */
void mmt_tune_keep_own_ranges(struct mmt_run *run);
bool mmt_tune_end_ranges(const struct mmt_run *run);

/* How many units there are. */
int mmt_tune_count_units(const struct mmt_run *run);

/* A part of the times of all tuners beside each other where this one begins, 0 to 1. */
double mmt_tune_offset(const struct mmt_run *run);

/* ---- of who deals ------------------------------------------------------------------ */

/* The folder's links stand for units: named by a hash, they lead to the card's key. Lets
 * go what cards have that `stays` does not know, and forgets which units are done. */
void mmt_deal_begin(const char *folder, bool (*stays)(const void *self, const char *key),
                    const void *self);

/* Lets go what a card has and has not done; returns how many. */
int mmt_deal_release(const char *folder, const char *key);

/* How many units are taken. */
int mmt_deal_count(const char *folder);

#endif
