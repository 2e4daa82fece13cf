/* Logs: files of lines that are only appended to, by one process or by many at once.
 *
 * Lines are appended in one write, so that those of several processes never mix. What was
 * torn, by a crash or a full disk, is ended by whoever appends next: it is a line that
 * makes no sense, or an empty one.
 *
 * A lock is the kernel's (flock), which ends with the process, in whatever container.
 * Where the file system has none, as NFS without its lock daemon, a file "PATH.lock"
 * stands for that of an owner, and names it (base/process.h). */
#ifndef MMT_BASE_LOG_H
#define MMT_BASE_LOG_H

#include "base/error.h"
#include "base/text.h"

enum mmt_log_use {
    MMT_LOG_SHARE,   /* to append beside others, in a folder that this user alone may
                      * write; goes without locks where there are none */
    MMT_LOG_REPLACE, /* to put another file in its place, while nobody appends */
    MMT_LOG_OWN,     /* for this process alone, as long as it is open */
};

struct mmt_log {
    enum mmt_log_use use;
    int fd;     /* -1: not open */
    char *path; /* malloc'ed */
    char *file; /* "PATH.lock", where that stands for the lock; else NULL */
};

/* Opens the file, makes it where it is missing, and its folder but to replace it, and
 * locks it: waits 2 s at most for others, an owner not at all. err->native is EWOULDBLOCK
 * where another process has it. What was opened is still under that name. That a file
 * stands for the lock is added to *said (may be NULL), a sentence and a line's end. */
mmt_status mmt_log_open(struct mmt_log *log, const char *path, enum mmt_log_use use,
                        struct mmt_text *said, mmt_error *err);

/* Whether the file still stands at its path. */
bool mmt_log_is_there(const struct mmt_log *log);

/* Appends whole lines, in one write. An owner takes back what was written of them where
 * that fails. */
mmt_status mmt_log_append(const struct mmt_log *log, const char *lines, size_t length,
                          mmt_error *err);

/* Unlocks and closes; harmless where it is not open. */
void mmt_log_close(struct mmt_log *log);

/* A line of a log's text. */
struct mmt_log_line {
    const char *text; /* without its end */
    size_t length;
    size_t behind; /* bytes of the text up to the next line */
    long number;   /* from 1 */
    bool torn;     /* the text ends without its end */
};

/* Goes on to the next one, from {0} to the first; false: there is none. */
bool mmt_log_next(const struct mmt_text *text, struct mmt_log_line *line);

#endif
