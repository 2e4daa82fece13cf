/* Whether the machine is at fault, not the kernels. */
#ifndef MMT_TUNER_TUNE_MACHINE_FAULT_H
#define MMT_TUNER_TUNE_MACHINE_FAULT_H

#include "tuner/tune/state.h"

/* Journals a candidate's or a calibration's result. One that may be a bad moment's is
 * held until another one goes well. */
mmt_status mmt_tune_note_result(struct mmt_run *run, const struct mmt_record *record,
                                mmt_error *err);

/* Whether so many failed alike, the naive kernel or ten in a row, that the machine may be
 * at fault. */
bool mmt_tune_suspects(const struct mmt_run *run);

/* Tries the naive kernel. Where it works the kernels are at fault: they are journalled.
 * Else none is, and the reason ends the run. The worker that measures is idle. */
mmt_status mmt_tune_ask_naive(struct mmt_run *run, mmt_error *err);

/* What is known of the machine that explains why kernels, or a device, fail: a folder
 * that compilers write into has no room. False: nothing is known. */
bool mmt_tune_explain(const struct mmt_run *run, struct mmt_text *why);

/* At the end of a search: asks where one is suspected, or nothing has gone well in this
 * run; else journals what is held. */
mmt_status mmt_tune_end_suspicion(struct mmt_run *run, mmt_error *err);

#endif
