/* A journal as a file: one line a result, and what opens it. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "tuner/journal/journal_internal.h"

/* ---- writing --------------------------------------------------------------------- */

static mmt_status write_line(struct mmt_journal *journal, json_t *object, mmt_error *err)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a line of the journal");
    size_t length = strlen(text);
    text[length++] = '\n'; /* in the place of the terminator */
    mmt_status status = mmt_journal_append(journal, text, length, err);
    free(text);
    return status;
}

/* Seconds since 1970. */
static double wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double) now.tv_sec + (double) (now.tv_nsec / 1000000) * 1e-3;
}

static mmt_status write_header(struct mmt_journal *journal, mmt_error *err)
{
    const struct mmt_caps *caps = &journal->caps;
    return write_line(journal,
                      json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:f}", "format",
                                mmt_journal_format, "backend", caps->backend, "device",
                                caps->name, "architecture", caps->architecture,
                                "compiler", caps->compiler, "version", mmt_version(),
                                "at", wall_clock()),
                      err);
}

static json_t *record_json(struct mmt_journal *journal, const struct mmt_record *record)
{
    struct mmt_text problem = { 0 }, config = { 0 }, resolved = { 0 };
    mmt_problem_print(&record->problem, &problem);
    mmt_config_print(&record->config, &config);
    json_t *line =
        json_pack("{s:f, s:s, s:s, s:s}", "at", wall_clock(), "problem",
                  mmt_text_string(&problem), "configuration", mmt_text_string(&config),
                  "template_hash", mmt_journal_hash_of(journal, record->config.template));
    mmt_text_finish(&problem);
    mmt_text_finish(&config);
    mmt_journal_print_resolved(journal, record, &resolved);
    if (resolved.length)
        json_object_set_new(line, "resolved", json_string(mmt_text_string(&resolved)));
    mmt_text_finish(&resolved);
    if (record->final)
        json_object_set_new(line, "final", json_true());
    if (record->calibration)
        json_object_set_new(line, "calibration", json_true());
    if (record->whole) {
        json_object_set_new(line, "whole", json_true());
        json_object_set_new(line, "driver", json_string(journal->caps.driver));
    }
    if (record->attempt > 1)
        json_object_set_new(line, "attempt", json_integer(record->attempt));
    if (record->limit > 0)
        json_object_set_new(line, "limit", json_real(record->limit));
    json_object_update_new(line, mmt_result_json(&record->result));
    return line;
}

static mmt_status write_record(struct mmt_journal *journal,
                               const struct mmt_record *record, mmt_error *err)
{
    const mmt_status status = write_line(journal, record_json(journal, record), err);
    journal->written += !status;
    return status;
}

mmt_status mmt_journal_add(struct mmt_journal *journal, const struct mmt_record *record,
                           mmt_error *err)
{
    const struct mmt_record numbered = mmt_journal_number(journal, record);
    mmt_status status = write_record(journal, &numbered, err);
    if (!status && !mmt_journal_keep(journal, &numbered))
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a result");
    return status;
}

mmt_status mmt_journal_write_held(struct mmt_journal *journal, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; !status && i < journal->count; i++) {
        struct mmt_record *r = &journal->records[i];
        if (!r->held)
            continue;
        status = write_record(journal, r, err);
        r->held = status != MMT_OK;
        if (r->final && !r->held)
            mmt_journal_correct(journal, r);
    }
    return status;
}

mmt_status mmt_journal_look(struct mmt_journal *journal, mmt_error *err)
{
    return mmt_journal_append(journal, "", 0, err);
}

mmt_status mmt_journal_forget(struct mmt_journal *journal,
                              const struct mmt_forget *forget, mmt_error *err)
{
    mmt_journal_drop_forgotten(journal, forget);
    return write_line(journal, mmt_forget_json(forget), err);
}

/* ---- opening --------------------------------------------------------------------- */

static mmt_status load_journal(struct mmt_journal *journal, bool fresh, mmt_error *err)
{
    struct mmt_text text = { 0 };
    size_t whole = 0;
    bool ours = true;
    mmt_status status = MMT_OK;
    if (!fresh)
        status = mmt_file_read_open(journal->log.fd, journal->path,
                                    MMT_JOURNAL_MOST_BYTES, &text, err);
    if (!status)
        status = mmt_journal_read_lines(journal, &text, &whole, &ours, err);
    if (!status && (fresh || whole < text.length) &&
        ftruncate(journal->log.fd, (off_t) whole))
        status = mmt_fail_native(err, MMT_ERROR_IO, errno, "cannot shorten '%s': %s",
                                 journal->path, strerror(errno));
    if (!status && (whole == 0 || !ours))
        status = write_header(journal, err);
    mmt_text_finish(&text);
    return status;
}

static struct mmt_journal *make_journal(const char *profile_path,
                                        const struct mmt_caps *caps, mmt_error *err)
{
    struct mmt_journal *journal = calloc(1, sizeof *journal);
    if (!journal || asprintf(&journal->path, "%s.journal", profile_path) < 0) {
        free(journal);
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a journal");
        return NULL;
    }
    journal->log.fd = -1;
    journal->caps = *caps;
    mmt_journal_index(journal);
    return journal;
}

struct mmt_journal *mmt_journal_open(const char *profile_path,
                                     const struct mmt_caps *caps, bool fresh,
                                     mmt_error *err)
{
    struct mmt_journal *journal = make_journal(profile_path, caps, err);
    if (!journal)
        return NULL;
    if (!mmt_journal_open_file(journal, err) && !load_journal(journal, fresh, err))
        return journal;
    mmt_journal_close(journal);
    return NULL;
}

mmt_status mmt_journal_read(const char *profile_path, const struct mmt_caps *caps,
                            struct mmt_journal **out, mmt_error *err)
{
    struct mmt_journal *journal = make_journal(profile_path, caps, err);
    struct mmt_text text = { 0 };
    size_t whole = 0;
    bool ours = true;
    mmt_status status = MMT_OK;
    *out = NULL;
    if (!journal)
        return MMT_ERROR_MEMORY;
    const bool is_there = !access(journal->path, F_OK);
    if (is_there)
        status = mmt_file_read(journal->path, MMT_JOURNAL_MOST_BYTES, &text, err);
    if (is_there && !status)
        status = mmt_journal_read_lines(journal, &text, &whole, &ours, err);
    mmt_text_finish(&text);
    if (is_there && !status)
        *out = journal;
    else
        mmt_journal_close(journal);
    return status;
}

void mmt_journal_close(struct mmt_journal *journal)
{
    if (!journal)
        return;
    if (journal->log.fd >= 0)
        fdatasync(journal->log.fd);
    mmt_log_close(&journal->log);
    free(journal->path);
    mmt_text_finish(&journal->notes);
    free(journal->records);
    free(journal->next);
    free(journal->wholes);
    free(journal);
}
