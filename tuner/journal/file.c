/* Appends lines to the journal's file, and writes it anew where it was taken away; knows
 * no records. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tuner/journal/journal_internal.h"

mmt_status mmt_journal_open_file(struct mmt_journal *journal, mmt_error *err)
{
    mmt_error why = { 0 };
    journal->is_new = access(journal->path, F_OK) != 0;
    if (!mmt_log_open(&journal->log, journal->path, MMT_LOG_OWN, &journal->notes, &why))
        return MMT_OK;
    return mmt_fail_native(err, MMT_ERROR_IO, why.native,
                           "the journal: %s; -o names another place", why.text);
}

/* Moves away what stands at the path now, unless another run has it locked. */
static mmt_status move_other(struct mmt_journal *journal, const char *aside,
                             mmt_error *err)
{
    struct mmt_log other = { 0 };
    mmt_error why = { 0 };
    /* Where a lock file stands for the lock, it is ours whatever stands at the path. */
    if (!journal->log.file &&
        mmt_log_open(&other, journal->path, MMT_LOG_OWN, NULL, &why) &&
        why.native == EWOULDBLOCK)
        return mmt_fail(err, MMT_ERROR_IO,
                        "the journal '%s' was deleted, and another mmtune has begun a "
                        "new one there",
                        journal->path);
    mmt_log_close(&other);
    if (!rename(journal->path, aside))
        return MMT_OK;
    const int code = errno;
    return mmt_fail_native(err, MMT_ERROR_IO, code,
                           "cannot move what took the place of the journal '%s': %s",
                           journal->path, strerror(code));
}

/* Writes what the file had, whole, at its path. */
static mmt_status write_anew(struct mmt_journal *journal, mmt_error *err)
{
    struct mmt_text all = { 0 }, aside = { 0 };
    struct stat found;
    const bool there = !lstat(journal->path, &found);
    mmt_text_addf(&aside, "%s.replaced", journal->path);
    mmt_status status = mmt_file_read_open(journal->log.fd, journal->path,
                                           MMT_JOURNAL_MOST_BYTES, &all, err);
    if (!status && there)
        status = move_other(journal, mmt_text_string(&aside), err);
    if (!status)
        status = mmt_file_replace(journal->path, mmt_text_string(&all), all.length, err);
    if (!status) {
        mmt_log_close(&journal->log);
        status = mmt_log_open(&journal->log, journal->path, MMT_LOG_OWN, NULL, err);
        mmt_text_addf(&journal->notes,
                      "the journal '%s' was %s meanwhile; it is written anew%s%s%s\n",
                      journal->path, there ? "replaced" : "deleted",
                      there ? ", and what took its place is now '" : "",
                      there ? mmt_text_string(&aside) : "", there ? "'" : "");
    }
    mmt_text_finish(&all);
    mmt_text_finish(&aside);
    return status;
}

mmt_status mmt_journal_append(struct mmt_journal *journal, const char *line,
                              size_t length, mmt_error *err)
{
    mmt_status status = MMT_OK;
    if (!mmt_log_is_there(&journal->log))
        status = write_anew(journal, err);
    if (!status)
        status = mmt_log_append(&journal->log, line, length, err);
    if (!status && mmt_now() - journal->synced > 2) {
        fdatasync(journal->log.fd);
        journal->synced = mmt_now();
    }
    return status;
}
