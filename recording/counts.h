/* What a process counts of its calls, in a file that it maps: it is there however the
 * process ends, and others add it up to the recording of the device.
 *
 * One file for each device of a process, in the folder "counts" of the state folder, or
 * in the one that MMTUNE_RUN_COUNTS names. It has a head and a row for each kind of call.
 * The process adds to the counts; whoever collects them writes beside each how much of it
 * is in the recording, so that nothing is added twice, and removes the file when its
 * process is gone. */
#ifndef MMT_RECORDING_COUNTS_H
#define MMT_RECORDING_COUNTS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "recording/recording.h"

/* Kinds of calls that one file has at most. */
enum { MMT_MOST_COUNTED = 16384 };

/* How often each thing happened. */
struct mmt_tally {
    int64_t fates[MMT_NUM_FATES], timed, picoseconds;
};

/* One kind of call. */
struct mmt_counted {
    atomic_bool used; /* the call is there, and from then on constant */
    struct mmt_call call;
    double saves;              /* seconds that a call saves that ours computes */
    double ready;              /* seconds until ours could; 0: it could not */
    atomic_size_t least, most; /* as mmt_call's of workspaces, of calls whose workspace
                                * is another than `call` has; 0: there were none */
    atomic_llong fates[MMT_NUM_FATES], timed, picoseconds;
    atomic_llong gap;      /* picoseconds, the least before a call; 0: unknown */
    struct mmt_tally told; /* what the recording has of these; of who collects */
};

/* ---- counting ---------------------------------------------------------------------- */

/* What all calls of a process to one device have in common. */
struct mmt_counts_of {
    const char *stem;    /* mmt_profile_stem of the device */
    const char *library; /* as mmt_recorded has them */
    const char *path;
    const char *run;
};

struct mmt_counts;

/* Makes a file for this process. Where none can be made, the counts are in memory that
 * ends with the process: *err says why, and its status is MMT_OK else. NULL where there
 * is no memory either. */
struct mmt_counts *mmt_counts_create(const struct mmt_counts_of *of, mmt_error *err);

/* A row that nobody else has, all zero, and its number from 0. NULL where all are given
 * away, or the disk is full. Any thread; makes room for more rows now and then, and waits
 * for no other. */
struct mmt_counted *mmt_counts_take(struct mmt_counts *counts, int *number);

/* Rows that were given away so far. */
int mmt_counts_number(const struct mmt_counts *counts);

/* Whether others find the counts when the process is gone. */
bool mmt_counts_stay(const struct mmt_counts *counts);

/* Adds what this process has counted to its recording, and removes its file: for the end
 * of a process that nobody waits for. */
mmt_status mmt_counts_write(struct mmt_counts *counts, mmt_error *err);

/* ---- collecting -------------------------------------------------------------------- */

/* Adds the folder of counts: MMTUNE_RUN_COUNTS, else that of the state folder. */
void mmt_counts_folder(struct mmt_text *path);

/* Makes that folder and tries a file in it. */
mmt_status mmt_counts_check(mmt_error *err);

/* Counts that could not be added to their recording; they stay in their file, and the
 * next who collects tries again. */
struct mmt_counts_owed {
    const char *stem, *file;         /* of the recording, of the counts */
    const struct mmt_recorded *list; /* `count` kinds */
    size_t count;
    const mmt_error *why;
};

/* Adds what all processes have counted to the recordings of their devices, and makes
 * those small again that have become long. `owed` (may be NULL) is told of each file
 * whose counts cannot be added. Any number of processes may collect at once. */
void mmt_counts_collect(void (*owed)(void *context, const struct mmt_counts_owed *it),
                        void *context);

/* Adds a sentence with its end: how many calls are not in the recording, why, and where
 * they are. */
void mmt_counts_print_owed(const struct mmt_counts_owed *it, struct mmt_text *text);

/* Collects, then reads the recording of the device with that stem, or `file` where that
 * is not NULL; else as mmt_recording_read. *path gets the path added. What could not be
 * collected is among the warnings. */
mmt_status mmt_recording_read_device(const char *stem, const char *file, bool by_run,
                                     struct mmt_text *path, struct mmt_recording *out,
                                     mmt_error *err);

#endif
