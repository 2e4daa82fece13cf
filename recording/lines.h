/* A recording's lines. Inside `recording`. */
#ifndef MMT_RECORDING_LINES_H
#define MMT_RECORDING_LINES_H

#include "recording/recording.h"

/* mmt_recording_read, but that lines which are not wholly known, as those of a later
 * version, are added to `others` as they are, and count as nothing. */
mmt_status mmt_recording_read_apart(const char *path, bool by_run,
                                    struct mmt_text *others, struct mmt_recording *out,
                                    mmt_error *err);

/* Adds the line of what was recorded, with its end. */
void mmt_recorded_print(const struct mmt_recorded *it, struct mmt_text *text);

#endif
