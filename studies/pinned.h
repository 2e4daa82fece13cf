/* Page-locked memory of the host, which a CUDA device copies at the bus's full rate. */
#ifndef MMT_STUDIES_PINNED_H
#define MMT_STUDIES_PINNED_H

#include "phases.h"
#include "study.h"

/* The phases of a few runs whose arrays on the host are page-locked meanwhile; no
 * repetitions where the device is none of CUDA's, or its driver locks nothing. */
mmt_status mmt_phases_run_pinned(const struct mmt_study_device *device,
                                 const mmt_plan *plan, const struct mmt_phases_data *data,
                                 double seconds, struct mmt_phases *out, mmt_error *err);

#endif
