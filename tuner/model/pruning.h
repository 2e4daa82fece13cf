/* Pruning by estimate. How well mmt_cost_estimate orders configurations is measured as
 * they are timed; only where it does well, the worst are not tried
 * (docs/lab/cost-model.md).
 */
#ifndef MMT_TUNER_MODEL_PRUNING_H
#define MMT_TUNER_MODEL_PRUNING_H

#include "tuner/journal/journal.h"

/* Replaces the profile's pruning records by what the journal's candidates tell. */
mmt_status mmt_pruning_judge(const struct mmt_journal *journal,
                             struct mmt_profile *profile, mmt_error *err);

/* The largest estimate that is worth trying for a template: INFINITY where its estimates
 * have not earned it, or too few candidates of the problem are known. With some room
 * above the largest estimate of those that came near the best. */
double mmt_pruning_limit(const struct mmt_journal *journal,
                         const struct mmt_profile *profile, const mmt_problem *problem,
                         const struct mmt_template *template);

#endif
