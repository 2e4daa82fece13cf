/* What a run says of programs' calls. */
#ifndef MMT_TUNER_TUNE_MESSAGES_VERDICTS_H
#define MMT_TUNER_TUNE_MESSAGES_VERDICTS_H

#include "tuner/tune/state.h"

/* Whose kernel a call goes to from now on; and what becomes of all recorded calls. */
void mmt_report_verdict(struct mmt_run *run, const struct mmt_verdict *verdict);
void mmt_report_verdicts(const struct mmt_run *run);

#endif
