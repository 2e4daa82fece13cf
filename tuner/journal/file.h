/* The journal as a file: lines appended to what is locked, and stands at its path. */
#ifndef MMT_TUNER_JOURNAL_FILE_H
#define MMT_TUNER_JOURNAL_FILE_H

#include "tuner/journal/lock.h"

struct mmt_journal_file {
    char *path;
    int fd; /* -1: not open */
    struct mmt_lock lock;
    double synced; /* mmt_now() of the last fdatasync */
};

/* Opens or makes file->path, and the folders above it, and locks it. *made: there was
 * none. What is worth saying is added to *notes, a sentence a line. */
mmt_status mmt_journal_file_open(struct mmt_journal_file *file, bool *made,
                                 struct mmt_text *notes, mmt_error *err);

/* Appends one line, wholly or not at all. Where the file was deleted or replaced since
 * the last one, all that it had is first written anew at its path, and that is noted; a
 * file that took its place is kept as "PATH.replaced". */
mmt_status mmt_journal_file_append(struct mmt_journal_file *file, const char *line,
                                   size_t length, struct mmt_text *notes, mmt_error *err);

/* Keeps the first bytes alone. */
mmt_status mmt_journal_file_cut(struct mmt_journal_file *file, size_t length,
                                mmt_error *err);

/* Closes after everything is on the disk. */
void mmt_journal_file_close(struct mmt_journal_file *file);

#endif
