/* Recordings: which products programs computed, how often and how long.
 *
 * One file of JSON lines for each device, $XDG_STATE_HOME/mmtune/<backend>-<device>.jsonl
 * ($HOME/.local/state without it). Any number of processes append to it at once; a line
 * counts what happened since the process's line before, so that lines of one call add up.
 * A line that is torn or foreign is passed over with a sentence. */
#ifndef MMT_RECORDING_RECORDING_H
#define MMT_RECORDING_RECORDING_H

#include "base/call.h"

/* One kind of call, and what became of it. */
struct mmt_recorded {
    struct mmt_call call;
    char library[48]; /* "cuBLAS 13.1.0"; "" for this library's own callers */
    char path[256];   /* of the file that it was loaded from; "" */
    char run[48];     /* which run of a program: MMTUNE_RUN_ID, else its pid */
    int64_t fates[MMT_NUM_FATES]; /* calls; under capture a call counts once */
    int64_t timed;                /* of them, by events around the library's call */
    double seconds;               /* that those took together, on the device */
    double gap;   /* seconds, the least between the product before and a call, on the
                   * device; 0: unknown */
    double saved; /* seconds that the calls taken over saved, by their verdicts */
    double ready; /* seconds until calls could be taken over, from when the program first
                   * met the library, in the slowest process; 0: they could not */
};

/* All calls, of whatever fate. */
int64_t mmt_recorded_calls(const struct mmt_recorded *recorded);

/* What all calls took, in seconds: calls times the mean of those that were timed; 0:
 * unknown. */
double mmt_recorded_seconds(const struct mmt_recorded *recorded);

/* ---- writing ----------------------------------------------------------------------- */

/* Adds the path of a device's recording; `stem` is mmt_profile_stem's. */
void mmt_recording_path(const char *stem, struct mmt_text *path);

/* Appends a line for each of `count`, in one write. Makes the folder and the file where
 * they are missing, mode 0700 and 0600. Waits 2 s at most for who prunes the file, and
 * fails then: the caller may append the same again later. Thread-safe. Needs no JSON
 * library, and does not read the locale. */
mmt_status mmt_recording_append(const char *path, const struct mmt_recorded *list,
                                size_t count, mmt_error *err);

/* Whether a file that is there could be appended to, tried by opening and locking it. */
mmt_status mmt_recording_check(const char *path, mmt_error *err);

/* ---- reading ----------------------------------------------------------------------- */

struct mmt_recording {
    struct mmt_recorded *list; /* malloc'ed */
    size_t count;
    struct mmt_text warnings; /* lines passed over, one sentence a line */
    size_t room, table_size;  /* of mmt_recording_add */
    uint32_t *table;
};

/* Adds a call to the one of its kind, library and run, or as a new one behind the others.
 * Sums stay at the largest number that there is. The other sorts again. */
mmt_status mmt_recording_add(struct mmt_recording *recording,
                             const struct mmt_recorded *it, mmt_error *err);
void mmt_recording_sort(struct mmt_recording *recording);

/* Reads a file and adds up lines of one call, library and, where `by_run`, run (else
 * `run` is ""); the greatest share of time first, then calls. A sum has the least
 * and the most workspace that were given, and the path that was written last.
 * MMT_ERROR_NOT_FOUND where there is no file. */
mmt_status mmt_recording_read(const char *path, bool by_run, struct mmt_recording *out,
                              mmt_error *err);
void mmt_recording_free(struct mmt_recording *recording);

/* Adds up the lines of one call, library and run where the file has more than so many
 * bytes; where half of them are left then, those of all runs. What processes append
 * meanwhile is kept. For who has just appended, in a service that runs for weeks. */
mmt_status mmt_recording_compact(const char *path, size_t bytes, mmt_error *err);

/* Replaces the file by one line for each call, of all runs, without those that `keep`
 * refuses. What processes append meanwhile is kept, and so is each line of JSON that a
 * later version has written, as it is. MMT_ERROR_IO where it cannot be
 * locked within 2 s. */
mmt_status mmt_recording_prune(const char *path,
                               bool (*keep)(void *context, const struct mmt_recorded *it),
                               void *context, mmt_error *err);

#endif
