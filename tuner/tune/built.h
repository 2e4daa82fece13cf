/* What compilers have built in a run. */
#ifndef MMT_TUNER_TUNE_BUILT_H
#define MMT_TUNER_TUNE_BUILT_H

#include "tuner/tune/state.h"

/* Notes that a configuration is compiled, with what the problem specialises. */
void mmt_tune_add_built(struct mmt_run *run, const mmt_problem *problem,
                        const struct mmt_config *config);

/* The same of what a compiler reports, unless that failed. Other reports say nothing. */
void mmt_tune_note_built(struct mmt_run *run, const struct mmt_event *event);

/* Whether it is; the problem may be another one that needs the same sources. */
bool mmt_tune_is_built(const struct mmt_run *run, const mmt_problem *problem,
                       const struct mmt_config *config);

/* Whether a compiler is at it, maybe for another problem. */
bool mmt_tune_is_being_built(const struct mmt_run *run, const mmt_problem *problem,
                             const struct mmt_config *config);

#endif
