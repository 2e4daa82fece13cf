/* Building what will be tried. */
#ifndef MMT_TUNER_TUNE_COMPILED_H
#define MMT_TUNER_TUNE_COMPILED_H

#include "tuner/tune/state.h"

/* Has an idle worker compile a configuration, with what the problem specialises. */
void mmt_tune_compile(struct mmt_run *run, struct mmt_worker *worker,
                      const mmt_problem *problem, const struct mmt_config *config);

/* Has idle workers compile what is neither built of these nor being built; the first
 * waits for none, and is false where not all were handed out; the second waits for all,
 * until a time of mmt_now(). */
bool mmt_tune_build_ahead(struct mmt_run *run, const mmt_problem *problem,
                          const struct mmt_config *configs, int count);
void mmt_tune_build(struct mmt_run *run, const mmt_problem *problem,
                    const struct mmt_config *configs, int count, double ends);

/* What is compiled, serves the problem and was not tried on it, the most promising first
 * and none that is predicted to take twice its time; returns how many. */
int mmt_tune_list_ready(const struct mmt_run *run, const mmt_problem *problem,
                        struct mmt_config *out, int most);

#endif
