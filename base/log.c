/* Locks logs by flock, or by a file that names its owner, and appends whole lines. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"

enum { MOST_TRIES = 200 };
static const struct timespec pause_between = { .tv_nsec = 10000000 };

/* ---- a file that stands for a lock ------------------------------------------------- */

static bool write_owner(int fd)
{
    const struct mmt_process self = mmt_process_self();
    return dprintf(fd, "%s %s %llu %lld %llu\n", self.host, self.boot,
                   (unsigned long long) self.pid_space, (long long) self.pid,
                   (unsigned long long) self.started) > 0;
}

static bool read_owner(const char *path, struct mmt_process *out)
{
    struct mmt_text text = { 0 };
    unsigned long long space = 0, started = 0;
    long long pid = 0;
    *out = (struct mmt_process){ 0 };
    bool good = !mmt_file_read(path, 4096, &text, NULL) &&
                sscanf(mmt_text_string(&text), "%63s %39s %llu %lld %llu", out->host,
                       out->boot, &space, &pid, &started) == 5;
    out->pid_space = space;
    out->pid = pid;
    out->started = started;
    mmt_text_finish(&text);
    return good;
}

static bool is_left(const char *path)
{
    const struct mmt_process self = mmt_process_self();
    struct mmt_process owner;
    return read_owner(path, &owner) && mmt_process_is_gone(&owner, &self);
}

/* Removes the lock file of an owner that is gone. Renamed first, so that it is looked at
 * and removed by one process alone; the file of one that came in between goes back. */
static bool clear_away(const char *path)
{
    char *aside = NULL;
    if (!is_left(path) || asprintf(&aside, "%s.%ld", path, (long) getpid()) < 0)
        return false;
    bool cleared = !rename(path, aside);
    if (cleared && !is_left(aside)) {
        cleared = false;
        if (link(aside, path))
            rename(aside, path);
    }
    unlink(aside);
    free(aside);
    return cleared;
}

/* 0, or why there is no lock: EWOULDBLOCK where another process has it. */
static int make_file(struct mmt_log *log)
{
    int fd = -1, code = ENOMEM;
    if (asprintf(&log->file, "%s.lock", log->path) < 0)
        log->file = NULL;
    for (int attempt = 0; log->file && attempt < 2 && fd < 0; attempt++) {
        fd = open(log->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        code = fd < 0 ? errno : 0;
        if (fd < 0 && (code != EEXIST || !clear_away(log->file)))
            break;
    }
    if (fd >= 0 && !write_owner(fd)) {
        code = errno;
        unlink(log->file);
    }
    if (fd >= 0)
        close(fd);
    return code == EEXIST ? EWOULDBLOCK : code;
}

/* ---- locks ------------------------------------------------------------------------- */

static bool has_no_locks(int code)
{
    return code == ENOLCK || code == ENOSYS || code == EOPNOTSUPP || code == EINVAL;
}

bool mmt_log_is_there(const struct mmt_log *log)
{
    struct stat opened, named;
    return !fstat(log->fd, &opened) && !lstat(log->path, &named) &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* 0, or why there is no lock. */
static int take_lock(struct mmt_log *log, struct mmt_text *said)
{
    int code = 0;
    if (flock(log->fd, (log->use == MMT_LOG_SHARE ? LOCK_SH : LOCK_EX) | LOCK_NB))
        code = errno;
    if (!code && !mmt_log_is_there(log))
        return EWOULDBLOCK;
    if (!has_no_locks(code) || log->use == MMT_LOG_REPLACE)
        return code;
    if (log->use == MMT_LOG_SHARE)
        return 0;
    if (said)
        mmt_text_addf(said,
                      "the file system of '%s' has no locks (flock: %s); the file "
                      "'%s.lock' stands for one\n",
                      log->path, strerror(code), log->path);
    return make_file(log);
}

static mmt_status fail_lock(const struct mmt_log *log, int code, mmt_error *err)
{
    struct mmt_process owner;
    if (code == EWOULDBLOCK && log->file && read_owner(log->file, &owner))
        return mmt_fail_native(err, MMT_ERROR_IO, code,
                               "'%s' says that process %lld on %s uses '%s'; if that has "
                               "ended, remove this file",
                               log->file, (long long) owner.pid, owner.host, log->path);
    if (code == EWOULDBLOCK)
        return mmt_fail_native(err, MMT_ERROR_IO, code,
                               "'%s' is locked by another process; try again when it is "
                               "done",
                               log->path);
    return mmt_fail_native(err, MMT_ERROR_IO, code, "cannot %s '%s': %s",
                           log->file ? "make" : "lock", log->file ? log->file : log->path,
                           strerror(code));
}

mmt_status mmt_log_open(struct mmt_log *log, const char *path, enum mmt_log_use use,
                        struct mmt_text *said, mmt_error *err)
{
    int code = EWOULDBLOCK, tries = use == MMT_LOG_OWN ? 1 : MOST_TRIES;
    *log = (struct mmt_log){ .use = use, .fd = -1, .path = strdup(path) };
    mmt_status status =
        log->path ? MMT_OK
                  : mmt_fail(err, MMT_ERROR_MEMORY, "out of memory opening '%s'", path);
    if (!status && use != MMT_LOG_REPLACE)
        status = mmt_file_make_parent(path, use == MMT_LOG_SHARE, err);
    for (int i = 0; !status && (code == EWOULDBLOCK || code == EINTR) && i < tries; i++) {
        if (i > 0)
            nanosleep(&pause_between, NULL);
        if (log->fd >= 0)
            close(log->fd);
        status = mmt_file_open_log(path, &log->fd, err);
        code = status ? 0 : take_lock(log, said);
    }
    if (!status && code)
        status = fail_lock(log, code, err);
    if (status) {
        free(log->file); /* another's */
        log->file = NULL;
        mmt_log_close(log);
    }
    return status;
}

void mmt_log_close(struct mmt_log *log)
{
    if (log->file)
        unlink(log->file);
    if (log->path && log->fd >= 0)
        close(log->fd);
    free(log->file);
    free(log->path);
    *log = (struct mmt_log){ .fd = -1 };
}

/* ---- appending --------------------------------------------------------------------- */

static bool is_torn(int fd, off_t length)
{
    char last = '\n';
    return length > 0 && pread(fd, &last, 1, length - 1) == 1 && last != '\n';
}

/* A write beyond the process's limit would end it. */
static bool may_grow(off_t length, size_t more)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
           (rlim_t) length + more <= limit.rlim_cur;
}

/* How many bytes were written; else -1, and errno says why. */
static ssize_t write_once(int fd, const char *bytes, size_t length)
{
    ssize_t put;
    do
        put = write(fd, bytes, length);
    while (put < 0 && errno == EINTR);
    return put;
}

mmt_status mmt_log_append(const struct mmt_log *log, const char *lines, size_t length,
                          mmt_error *err)
{
    struct stat before;
    ssize_t put = -1;
    errno = EFBIG;
    if (!fstat(log->fd, &before) && may_grow(before.st_size, length + 1) &&
        (!is_torn(log->fd, before.st_size) || write_once(log->fd, "\n", 1) == 1))
        put = write_once(log->fd, lines, length);
    if (put == (ssize_t) length)
        return MMT_OK;
    int code = put < 0 ? errno : ENOSPC;
    if (put > 0 && log->use == MMT_LOG_OWN && ftruncate(log->fd, before.st_size))
        code = ENOSPC;
    return mmt_fail_native(err, MMT_ERROR_IO, code, "cannot append to '%s': %s",
                           log->path, strerror(code));
}

/* ---- reading ----------------------------------------------------------------------- */

bool mmt_log_next(const struct mmt_text *text, struct mmt_log_line *line)
{
    const size_t left = text->length - line->behind;
    if (!left)
        return false;
    line->text = text->data + line->behind;
    const char *end = memchr(line->text, '\n', left);
    line->torn = !end;
    line->length = end ? (size_t) (end - line->text) : left;
    line->behind += line->length + !line->torn;
    line->number++;
    return true;
}
