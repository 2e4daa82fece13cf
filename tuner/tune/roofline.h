/* What a device reaches, and times that cannot be. */
#ifndef MMT_TUNER_TUNE_ROOFLINE_H
#define MMT_TUNER_TUNE_ROOFLINE_H

#include "tuner/tune/state.h"

/* Takes in what was measured, now or by an earlier run: the best of old and new counts.
 * Fills run->limits.ceiling, too. */
void mmt_tune_set_roofline(struct mmt_run *run, const struct mmt_roofline *measured);

/* Measures the roofline: the worker that measures is idle. */
void mmt_tune_probe(struct mmt_run *run);

/* What a probe found, if it did. */
void mmt_tune_take_probe(struct mmt_run *run, const struct mmt_reply *reply);

/* Whether a result beats the roofline by more than its spread, and it may be measured
 * again for that: a few times a run. */
bool mmt_tune_is_exceeded(const struct mmt_run *run, const mmt_problem *problem,
                          const struct mmt_result *result);

/* Every time that counts for anything passes here, measured now or read from a journal.
 * What no device can be so fast for is MMT_FAILED, with the reason. */
void mmt_tune_judge(const struct mmt_run *run, const mmt_problem *problem,
                    struct mmt_result *result);

/* The same, and before it measures the roofline again where the result asks for it. */
void mmt_tune_judge_anew(struct mmt_run *run, const mmt_problem *problem,
                         struct mmt_result *result);

/* Times one kernel with few samples, beside any goal's finals, and judges the time. The
 * job says of what, with which checks, and for how many seconds. False where nothing came
 * of it. */
bool mmt_tune_time_short(struct mmt_run *run, struct mmt_job *job, double limit,
                         struct mmt_record *out);

/* Takes out of the journal what an earlier run cannot have measured, and notes that. */
void mmt_tune_judge_journal(struct mmt_run *run);

#endif
