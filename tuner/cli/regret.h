/* What the files of the verb `regret` share. It times in workers, as tuning does: a
 * kernel that hangs or faults on a shape that it never met ends alone. */
#ifndef MMT_TUNER_CLI_REGRET_H
#define MMT_TUNER_CLI_REGRET_H

#include "tuner/tune/tune.h"

/* Starts the workers, and a journal of its own that ends with it. `known` tells what the
 * device can reach; none of its winners helps the fresh searches. */
mmt_status mmt_regret_open(struct mmt_run *run, const struct mmt_profile *known,
                           mmt_error *err);
void mmt_regret_close(struct mmt_run *run);

/* A search as tuning makes it, over all templates, for a problem that nothing is known
 * of, with that many candidates. *found is false where none was built and timed. */
mmt_status mmt_regret_search(struct mmt_run *run, const mmt_problem *problem,
                             int64_t candidates, struct mmt_config *best, bool *found,
                             mmt_error *err);

/* Seconds of at most MMT_MAX_TOGETHER configurations on the problem, timed in turns;
 * INFINITY for one that failed. That the first one failed is an error. */
mmt_status mmt_regret_time(struct mmt_run *run, const mmt_problem *problem,
                           const struct mmt_config *configs, int count, double *seconds,
                           mmt_error *err);

#endif
