/* Appends lines to the journal's file under its lock, and takes back a part of a line;
 * knows no records. */
#include "tuner/journal/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tuner/worker/worker.h"

static mmt_status fail_file(const struct mmt_journal_file *file, const char *what,
                            mmt_error *err)
{
    int code = errno;
    return mmt_fail_native(err, MMT_ERROR_IO, code, "cannot %s the journal '%s': %s",
                           what, file->path, strerror(code));
}

static mmt_status make_folder_of(const char *path, mmt_error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return MMT_OK;
    char *folder = strndup(path, (size_t) (slash - path));
    mmt_status status = folder ? mmt_file_make_folder(folder, err)
                               : mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a path");
    free(folder);
    return status;
}

mmt_status mmt_journal_file_open(struct mmt_journal_file *file, bool *made,
                                 struct mmt_text *notes, mmt_error *err)
{
    struct mmt_text said = { 0 };
    mmt_status status = make_folder_of(file->path, err);
    if (status)
        return status;
    *made = access(file->path, F_OK) != 0;
    mmt_error why = { 0 };
    if (mmt_file_open_log(file->path, &file->fd, &why))
        return mmt_fail_native(err, MMT_ERROR_IO, why.native,
                               "the journal: %s; -o names another place", why.text);
    enum mmt_locked locked = mmt_lock_take(&file->lock, file->fd, file->path, &said);
    if (locked == MMT_LOCK_HELD)
        status = mmt_fail(err, MMT_ERROR_IO,
                          "another mmtune is tuning into '%s'; wait for it, or name "
                          "another file with -o%s%s",
                          file->path, said.length ? "; " : "", mmt_text_string(&said));
    else if (locked == MMT_LOCK_FAILED)
        status = mmt_fail(err, MMT_ERROR_IO, "cannot lock the journal: %s",
                          mmt_text_string(&said));
    else
        mmt_text_add(notes, mmt_text_string(&said));
    mmt_text_finish(&said);
    return status;
}

/* ---- what became of the file ----------------------------------------------------- */

/* *there: a file stands at the path; returns whether it is ours. *length: of ours. */
static bool is_at_path(const struct mmt_journal_file *file, bool *there, off_t *length)
{
    struct stat ours, found;
    *length = -1;
    if (fstat(file->fd, &ours))
        return true;
    *length = ours.st_size;
    *there = !stat(file->path, &found);
    return *there && found.st_dev == ours.st_dev && found.st_ino == ours.st_ino;
}

static bool copy_file(int from, int to)
{
    char chunk[1 << 16];
    off_t at = 0;
    for (ssize_t got; (got = pread(from, chunk, sizeof chunk, at)) != 0; at += got)
        if (got < 0 || write(to, chunk, (size_t) got) != got)
            return false;
    return !fdatasync(to);
}

/* Moves away what stands at the path now, unless another run has it locked. */
static mmt_status move_other(const struct mmt_journal_file *file, struct mmt_text *aside,
                             mmt_error *err)
{
    struct mmt_text said = { 0 };
    struct mmt_lock lock = { 0 };
    mmt_text_addf(aside, "%s.replaced", file->path);
    int fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    mmt_status status = MMT_OK;
    /* Where a lock file stands for the lock, it is ours whatever stands at the path. */
    if (fd >= 0 && !file->lock.file &&
        mmt_lock_take(&lock, fd, file->path, &said) == MMT_LOCK_HELD)
        status = mmt_fail(err, MMT_ERROR_IO,
                          "the journal '%s' was deleted, and another mmtune has begun a "
                          "new one there",
                          file->path);
    else if (rename(file->path, mmt_text_string(aside)))
        status = fail_file(file, "move what took the place of", err);
    mmt_lock_release(&lock);
    if (fd >= 0)
        close(fd);
    mmt_text_finish(&said);
    return status;
}

/* Writes what the file had, whole, at its path. */
static mmt_status write_anew(struct mmt_journal_file *file, bool there,
                             struct mmt_text *notes, mmt_error *err)
{
    struct mmt_text beside = { 0 }, aside = { 0 }, said = { 0 };
    struct mmt_lock lock = { 0 };
    int fd = -1;
    mmt_status status = make_folder_of(file->path, err);
    mmt_text_addf(&beside, "%s.new-XXXXXX", file->path);
    if (!status && (fd = mkostemp(beside.data, O_APPEND | O_CLOEXEC)) < 0)
        status = fail_file(file, "write anew", err);
    if (!status && (!copy_file(file->fd, fd) || fchmod(fd, 0600)))
        status = fail_file(file, "write anew", err);
    if (!status && !file->lock.file &&
        mmt_lock_take(&lock, fd, file->path, &said) != MMT_LOCK_TAKEN)
        status = fail_file(file, "lock", err);
    if (!status && there)
        status = move_other(file, &aside, err);
    if (!status && rename(beside.data, file->path))
        status = fail_file(file, "write anew", err);
    if (!status) {
        mmt_text_addf(notes,
                      "the journal '%s' was %s meanwhile; it is written anew%s%s%s\n",
                      file->path, there ? "replaced" : "deleted",
                      there ? ", and what took its place is now '" : "",
                      mmt_text_string(&aside), there ? "'" : "");
        close(file->fd);
        file->fd = fd;
        if (lock.file)
            file->lock = lock;
    } else if (fd >= 0) {
        mmt_lock_release(&lock);
        unlink(beside.data);
        close(fd);
    }
    mmt_text_finish(&beside);
    mmt_text_finish(&aside);
    mmt_text_finish(&said);
    return status;
}

/* ---- writing --------------------------------------------------------------------- */

/* A part of a line is taken back: the next one would follow it. */
static mmt_status write_whole(struct mmt_journal_file *file, const char *line,
                              size_t length, off_t before, mmt_error *err)
{
    ssize_t written = write(file->fd, line, length);
    if (written == (ssize_t) length)
        return MMT_OK;
    int code = written < 0 ? errno : ENOSPC;
    if (written > 0 && before >= 0 && ftruncate(file->fd, before))
        code = ENOSPC;
    errno = code;
    return fail_file(file, "write", err);
}

mmt_status mmt_journal_file_append(struct mmt_journal_file *file, const char *line,
                                   size_t length, struct mmt_text *notes, mmt_error *err)
{
    bool there = true;
    off_t before;
    mmt_status status = MMT_OK;
    if (!is_at_path(file, &there, &before))
        status = write_anew(file, there, notes, err);
    if (!status)
        status = write_whole(file, line, length, before, err);
    if (!status && mmt_now() - file->synced > 2) {
        fdatasync(file->fd);
        file->synced = mmt_now();
    }
    return status;
}

mmt_status mmt_journal_file_cut(struct mmt_journal_file *file, size_t length,
                                mmt_error *err)
{
    return ftruncate(file->fd, (off_t) length) ? fail_file(file, "shorten", err) : MMT_OK;
}

void mmt_journal_file_close(struct mmt_journal_file *file)
{
    if (file->fd >= 0) {
        fdatasync(file->fd);
        close(file->fd);
    }
    mmt_lock_release(&file->lock);
    free(file->path);
}
