/* A full disk, a driver that is gone, a folder that was removed: then every kernel fails,
 * and none is at fault. The naive kernel is the arbiter. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tuner/tune/machine_fault.h"
#include "tuner/tune/messages.h"

enum { MOST_ALIKE = 10 };

/* ---- counting -------------------------------------------------------------------- */

/* The next character that is no digit: two reasons that differ in numbers are one. */
static const char *skip_digits(const char *at)
{
    return at + strspn(at, "0123456789");
}

static bool is_alike(const char *a, const char *b)
{
    for (;;) {
        a = skip_digits(a), b = skip_digits(b);
        if (*a != *b || !*a)
            return *a == *b;
        a++, b++;
    }
}

static bool is_naive(const struct mmt_record *record)
{
    return !strcmp(record->config.template->name, "naive");
}

static void suspect_machine(struct mmt_suspects *s, const struct mmt_record *record)
{
    const bool alike = s->alike && is_alike(s->reason, record->result.reason);
    s->in_a_row++;
    s->alike = alike ? s->alike + 1 : 1;
    memcpy(s->reason, record->result.reason, sizeof s->reason);
    /* It is slow: that it hangs says little. */
    s->naive = s->naive || (is_naive(record) && record->result.outcome != MMT_HUNG);
}

/* No kernel is at fault for that, even if smaller ones find space in between. */
static bool wants_space(const char *reason)
{
    return strstr(reason, strerror(ENOSPC)) || strstr(reason, strerror(EDQUOT));
}

/* What went before is the kernels' fault. */
static mmt_status acquit_machine(struct mmt_run *run, mmt_error *err)
{
    struct mmt_suspects *s = &run->suspects;
    s->in_a_row = s->alike = 0;
    s->naive = false;
    return mmt_journal_write_held(run->files.journal, err);
}

mmt_status mmt_tune_note_result(struct mmt_run *run, const struct mmt_record *record,
                                mmt_error *err)
{
    const enum mmt_outcome outcome = record->result.outcome;
    mmt_status status = MMT_OK;
    if (mmt_outcome_may_be_machine(outcome)) {
        suspect_machine(&run->suspects, record);
        if (wants_space(record->result.reason))
            return MMT_OK;
        return mmt_journal_hold(run->files.journal, record, err);
    }
    if (outcome == MMT_TIMED || outcome == MMT_WRONG) {
        run->suspects.naive_is_odd = run->suspects.naive_is_odd || run->suspects.naive;
        run->suspects.well++;
        status = acquit_machine(run, err);
    }
    return status ? status : mmt_journal_add(run->files.journal, record, err);
}

bool mmt_tune_suspects(const struct mmt_run *run)
{
    const struct mmt_suspects *s = &run->suspects;
    return !s->naive_is_odd && (s->alike >= MOST_ALIKE || (s->naive && s->in_a_row > 2));
}

/* ---- the reason ------------------------------------------------------------------ */

/* Whether as much can be written into a folder as a compiler writes; else errno says why
 * not. */
static bool can_be_written(const char *folder)
{
    static const char zeros[1 << 16];
    struct mmt_text path = { 0 };
    mmt_text_addf(&path, "%s/try-XXXXXX", folder);
    int fd = path.failed ? -1 : mkostemp(path.data, O_CLOEXEC);
    bool good = fd >= 0;
    for (int i = 0; good && i < 16; i++)
        good = write(fd, zeros, sizeof zeros) > 0;
    const int code = errno;
    if (fd >= 0) {
        unlink(path.data);
        close(fd);
    }
    mmt_text_finish(&path);
    errno = code;
    return good;
}

bool mmt_tune_explain(const struct mmt_run *run, struct mmt_text *why)
{
    const char *temporary = secure_getenv("TMPDIR");
    struct mmt_text cache = { 0 };
    mmt_error err;
    mmt_file_cache_folder(&cache);
    if (mmt_file_make_folder(mmt_text_string(&cache), &err)) {
        mmt_text_add(why, err.text);
        mmt_text_finish(&cache);
        return true;
    }
    const char *folders[] = { run->pool.folder.path, mmt_text_string(&cache),
                              temporary && *temporary ? temporary : "/tmp" };
    bool found = false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !found; i++)
        if (folders[i] && !can_be_written(folders[i])) {
            mmt_text_addf(why, "'%s' cannot be written: %s", folders[i], strerror(errno));
            found = true;
        }
    mmt_text_finish(&cache);
    return found;
}

static void put_on_one_line(char *text)
{
    size_t length = strlen(text);
    while (length && (text[length - 1] == '\n' || text[length - 1] == ' '))
        text[--length] = '\0';
    for (char *at = text; (at = strchr(at, '\n'));)
        *at = ' ';
}

static mmt_status stop_at_machine(struct mmt_run *run, struct mmt_result *naive,
                                  mmt_error *err)
{
    struct mmt_text why = { 0 };
    const bool works = naive->outcome == MMT_TIMED; /* in a folder of its own */
    const bool found = mmt_tune_explain(run, &why);
    const size_t count = mmt_journal_drop_held(run->files.journal);
    put_on_one_line(naive->reason);
    run->suspects = (struct mmt_suspects){ .well = run->suspects.well };
    if (!works)
        mmt_text_addf(&why, "%s%.400s", found ? "; it says: " : "", naive->reason);
    if (count)
        mmt_text_addf(&why, "; none of the last %zu failures is in the journal", count);
    mmt_status status = mmt_fail(err, found ? MMT_ERROR_IO : MMT_ERROR_COMPILE,
                                 "%s: %s; the same command goes on from here",
                                 works ? "kernels cannot be built now"
                                       : "even the naive kernel fails now",
                                 mmt_text_string(&why));
    mmt_text_finish(&why);
    return status;
}

/* ---- asking ---------------------------------------------------------------------- */

mmt_status mmt_tune_ask_naive(struct mmt_run *run, mmt_error *err)
{
    struct mmt_result naive;
    mmt_report_note(run,
                    "%d kernels in a row failed: naive is built anew, to see whether the "
                    "machine is at fault",
                    run->suspects.in_a_row ? run->suspects.in_a_row : 1);
    mmt_pool_try_naive(run, &naive);
    struct mmt_text why = { 0 };
    const bool at_fault = naive.outcome != MMT_TIMED || mmt_tune_explain(run, &why);
    mmt_text_finish(&why);
    return at_fault && !mmt_pool_interrupts() ? stop_at_machine(run, &naive, err)
                                              : acquit_machine(run, err);
}

mmt_status mmt_tune_end_suspicion(struct mmt_run *run, mmt_error *err)
{
    const struct mmt_suspects *s = &run->suspects;
    if (!s->in_a_row)
        return MMT_OK;
    if (run->pool.broken.status) { /* no worker lives: that is the machine's fault */
        mmt_journal_drop_held(run->files.journal);
        return MMT_OK;
    }
    const bool ask = mmt_tune_suspects(run) || (!s->well && !s->naive_is_odd);
    return ask && !mmt_pool_interrupts() ? mmt_tune_ask_naive(run, err)
                                         : acquit_machine(run, err);
}
