/* `mmtune run`: a program of others, started, waited for and reported of. */
#ifndef MMT_TUNER_CLI_RUN_H
#define MMT_TUNER_CLI_RUN_H

#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"

/* Adds the file that execvp would start, "" where there is none. */
void mmt_run_find_program(const char *name, struct mmt_text *path);

/* Why nothing can be preloaded into a program, by its file: a phrase such as "it is
 * setuid"; NULL where nothing speaks against it, or the file is a script. */
const char *mmt_run_why_not(const char *path);

enum { MMT_EXIT_NOT_EXECUTABLE = 126, MMT_EXIT_NO_PROGRAM = 127 };

/* Starts argv[0] as a shell would and waits for it. INT, TERM, HUP, QUIT, USR1, USR2,
 * TSTP and CONT that are sent to this process alone are passed on. Returns its exit
 * status, 128 and the signal that killed it, or 126 or 127 with an error where it did not
 * start. */
int mmt_run_program(char *const argv[], mmt_error *err);

/* Starts a process that compiles the kernels of all cards' verdicts that are in no cache;
 * `workspace`: bytes of it that ours may take where the program gives none. -1: there is
 * none. The other ends it, done or not. */
pid_t mmt_run_build(size_t workspace);
void mmt_run_stop_building(pid_t pid);

/* Calls `take` for the recording of each device. */
void mmt_run_each_recording(void (*take)(void *context, const char *path,
                                         const char *stem),
                            void *context);

/* Tells on stderr what became of the calls of a run, by the recordings of all devices.
 * Returns how many calls there were. What cannot be added to a recording is told, too. */
int64_t mmt_run_report(const char *id, bool record);

#endif
