/* Locks on files, and temporary folders that are locked by the process that uses them.
 *
 * A lock is the kernel's (flock), which ends with the process, in whatever container.
 * Where the file system has none, as NFS without its lock daemon, a file "PATH.lock"
 * stands for it: it names its owner by host, boot, PID namespace, process and start
 * time. */
#ifndef MMT_TUNER_JOURNAL_LOCK_H
#define MMT_TUNER_JOURNAL_LOCK_H

#include "base/error.h"
#include "base/text.h"

struct mmt_lock {
    char *file; /* "PATH.lock", where that stands for the lock; NULL: flock holds it */
};

enum mmt_locked {
    MMT_LOCK_TAKEN,
    MMT_LOCK_HELD, /* by another process, as far as can be known */
    MMT_LOCK_FAILED,
};

/* Takes the lock of an open file and its path, without waiting. What the user should know
 * is added to *said, a sentence and a line's end: that there is no flock; who holds the
 * file that stands for it; or why neither can be had. */
enum mmt_locked mmt_lock_take(struct mmt_lock *lock, int fd, const char *path,
                              struct mmt_text *said);

/* Removes the file that stands for the lock, if one does; closing the descriptor ends the
 * other kind. */
void mmt_lock_release(struct mmt_lock *lock);

/* A folder "PARENT/PREFIX-XXXXXX" that nobody else uses while this process lives. */
struct mmt_own_folder {
    char *path; /* NULL: there is none */
    int fd;     /* of the file in it that is locked */
    struct mmt_lock lock;
};

/* Makes one, and the folders above it. Before that, those of processes that are gone are
 * swept away: whose lock can be taken, or that never had one and are a day old. */
mmt_status mmt_own_folder_make(struct mmt_own_folder *folder, const char *parent,
                               const char *prefix, mmt_error *err);

/* Removes it with all that is in it; harmless where there is none. */
void mmt_own_folder_remove(struct mmt_own_folder *folder);

#endif
