/* How much of the processors a process gets that has to share them. */
#ifndef MMT_TUNER_COMMON_PROCESSOR_H
#define MMT_TUNER_COMMON_PROCESSOR_H

#include <stdbool.h>
#include <sys/types.h>

/* Seconds that the threads of a process ran, and waited for a processor, by
 * /proc/PID/task/TID/schedstat. All 0 where the kernel does not tell. */
struct mmt_processor_time {
    double ran, waited;
};

/* Of a process; 0: this one. */
struct mmt_processor_time mmt_processor_time(pid_t pid);

/* What it got of what it asked for since then, 0 to 1; 1 where it asked for nothing. */
double mmt_processor_share(pid_t pid, const struct mmt_processor_time *since);

/* With less than this, a CPU's times are doubtful. */
static const double mmt_processor_enough = 0.9;

/* As many as this process may use: 1 or more. */
int mmt_processor_count(void);

/* Processes and threads that run or would, without the one that asks, over a tenth of a
 * second, for as many processors as this process may use. */
double mmt_processor_load(void);

#endif
