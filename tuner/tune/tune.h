/* One run of the tuner, for the verb `tune`; `regret` and `verify` use pieces of it. A
 * file uses those of lower floors alone:
 *
 *   run
 *   goal  ranges  verdicts
 *   problem  whole_verify
 *   finals  goals  law_times  summary
 *   compiled  fit  machine_fault  messages_verdicts  recorded  roofline  yardstick
 *   messages  pool  profile  template_search
 *   built  deal
 *   state */
#ifndef MMT_TUNER_TUNE_TUNE_H
#define MMT_TUNER_TUNE_TUNE_H

#include "tuner/tune/state.h"

/* Tunes by run->options, all else being zero, and writes the profile; tells on the way
 * what happens. What was learned before an error or an interruption is written, too: see
 * mmt_pool_interrupts(). One run a process at a time: it hears the process's signals. */
mmt_status mmt_tune_run(struct mmt_run *run, mmt_error *err);

/* Stops the workers and frees all but the options, after a run that failed as well. */
void mmt_tune_finish(struct mmt_run *run);

/* Fills run->device.id and run->device.caps by run->options.device without opening the
 * device: a context in this process would be one more beside the worker's. */
mmt_status mmt_tune_find_device(struct mmt_run *run, mmt_error *err);

#endif
