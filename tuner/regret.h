/* What the files of the verb `regret` share. */
#ifndef MMT_TUNER_REGRET_H
#define MMT_TUNER_REGRET_H

#include "tuner/session.h"

/* Searches all templates meant for this kind of device, in this process, with that many
 * candidates, for the session's problem; starts from the templates' own seeds. *found is
 * false where none was built and timed, or the fastest computes wrongly. */
mmt_status mmt_regret_search(struct mmt_session *session, const struct mmt_caps *caps,
                             int64_t candidates, uint64_t seed, struct mmt_config *best,
                             bool *found, mmt_error *err);

#endif
