/* One run of the tuner, for the verb `tune`; `regret` and `verify` use pieces of it. A
 * file uses those of lower floors alone. From the ground up:
 *
 *   state.c    what a run knows: goals, profile, counts; struct mmt_run
 *   built.c    what is compiled already, for other problems too
 *
 *   pool.c     the worker processes, and Ctrl-C
 *   messages.c what is said
 *   profile.c  what is written
 *   template_search.c  a problem's templates, each a space of its own to search
 *
 *   compiled.c what compilers are given, and what of it promises most
 *   fit.c      what a run's times teach its profile
 *   machine_fault.c  whether the machine is at fault, not the kernels
 *   messages_verdicts.c  what is said of programs' calls
 *   recorded.c problems that programs computed, as goals and ranges
 *   roofline.c what a device reaches, and times that cannot be
 *   yardstick.c  the vendor's library beside winners
 *
 *   finals.c   the best against each other, twice
 *   goals.c    which problems, and how the budget is shared among them
 *   law_times.c  what corrects the law of time, on many shapes
 *   summary.c  what is said at the end
 *
 *   problem.c  the loop: propose, compile, verify and time, journal
 *   whole_verify.c  whole verification, before a kernel enters the profile
 *
 *   goal.c     one goal, from its search to its entry
 *   ranges.c   the best on many m of a range, and which of them serve it
 *   verdicts.c whether ours or a program's library is faster on its calls
 *
 *   run.c      the run from beginning to end */
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
