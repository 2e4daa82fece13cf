/* A recording's file, locked. Inside `recording`. */
#ifndef MMT_RECORDING_LOCK_H
#define MMT_RECORDING_LOCK_H

#include "recording/recording.h"

/* Opens the file, makes it where it is missing (but not its folder), and locks it: shared
 * with others who append, or `alone`, for who replaces it. What was opened is still under
 * that name. Closing the descriptor unlocks. Waits 2 s at most, then fails: whoever
 * appends tries again with its next lines. Where the file system has no locks, only
 * `alone` fails. */
mmt_status mmt_recording_open(const char *path, bool alone, int *out, mmt_error *err);

/* mmt_recording_read, but that lines which are not wholly known, as those of a later
 * version, are added to `others` as they are, and count as nothing. */
mmt_status mmt_recording_read_apart(const char *path, bool by_run,
                                    struct mmt_text *others, struct mmt_recording *out,
                                    mmt_error *err);

/* Adds the line of what was recorded, with its end. */
void mmt_recorded_print(const struct mmt_recorded *it, struct mmt_text *text);

#endif
