/* Who appends and who replaces a recording, one after the other. */
#include "recording/lock.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { MOST_TRIES = 200 };
static const struct timespec pause_between = { .tv_nsec = 10000000 };

static bool has_no_locks(int code)
{
    return code == ENOLCK || code == ENOSYS || code == EOPNOTSUPP || code == EINVAL;
}

/* Whether the file that was opened has not been replaced. */
static bool is_there(int fd, const char *path)
{
    struct stat opened, named;
    return !fstat(fd, &opened) && !lstat(path, &named) && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static mmt_status fail_lock(const char *path, int code, mmt_error *err)
{
    if (code == EWOULDBLOCK)
        return mmt_fail_native(err, MMT_ERROR_IO, code,
                               "'%s' is locked by another process; try again when "
                               "it is done",
                               path);
    return mmt_fail_native(err, MMT_ERROR_IO, code, "cannot lock '%s': %s", path,
                           strerror(code));
}

mmt_status mmt_recording_open(const char *path, bool alone, int *out, mmt_error *err)
{
    int code = EWOULDBLOCK;
    for (int i = 0; i < MOST_TRIES; i++) {
        int fd;
        mmt_status status = mmt_file_open_log(path, &fd, err);
        if (status)
            return status;
        code = flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) ? errno : 0;
        if ((!code && is_there(fd, path)) || (!alone && has_no_locks(code))) {
            *out = fd;
            return MMT_OK;
        }
        close(fd);
        if (code && code != EWOULDBLOCK && code != EINTR)
            break;
        nanosleep(&pause_between, NULL);
    }
    return fail_lock(path, code ? code : EWOULDBLOCK, err);
}
