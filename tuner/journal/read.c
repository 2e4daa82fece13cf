/* The lines of a journal, as records. */
#include <stdio.h>
#include <string.h>

#include "tuner/journal/journal_internal.h"

static const char *word_of(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

/* Whether a line's configuration would be resolved today as it was then. A line that
 * leaves knobs and does not tell, as those of older versions, may have run anything. */
static bool is_resolved_alike(const struct mmt_journal *journal, const json_t *line,
                              const struct mmt_record *record)
{
    struct mmt_text now = { 0 };
    mmt_journal_print_resolved(journal, record, &now);
    const bool alike = !strcmp(word_of(line, "resolved"), mmt_text_string(&now));
    mmt_text_finish(&now);
    return alike;
}

static mmt_status check_header(const struct mmt_journal *journal, const json_t *header,
                               mmt_error *err)
{
    const struct mmt_caps *caps = &journal->caps;
    if (strcmp(word_of(header, "format"), mmt_journal_format))
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "'%s' is no journal of this version of mmtune (its first line "
                        "should have \"format\": \"%s\"); --fresh starts a new one",
                        journal->path, mmt_journal_format);
    if (strcmp(word_of(header, "backend"), caps->backend) ||
        strcmp(word_of(header, "device"), caps->name) ||
        strcmp(word_of(header, "architecture"), caps->architecture))
        return mmt_fail(
            err, MMT_ERROR_FORMAT,
            "the journal '%s' is of another device, %s (%s, %s), not of %s "
            "(%s, %s); name another file with -o, or --fresh starts a new one",
            journal->path, word_of(header, "device"), word_of(header, "backend"),
            word_of(header, "architecture"), caps->name, caps->backend,
            caps->architecture);
    return MMT_OK;
}

/* What lines mean depends on the last header: each time that the device has another
 * compiler than before, there is a new one. */
static bool is_by_this_compiler(const json_t *header, const struct mmt_caps *caps)
{
    return !strcmp(word_of(header, "compiler"), caps->compiler);
}

enum verdict { RECORD, UNREADABLE, CHANGED };

static enum verdict read_record(struct mmt_journal *journal, const json_t *line,
                                struct mmt_record *out)
{
    *out = (struct mmt_record){ .earlier = true };
    if (!mmt_result_read(line, &out->result) ||
        mmt_problem_parse(word_of(line, "problem"), &out->problem, NULL))
        return UNREADABLE;
    if (mmt_config_parse(word_of(line, "configuration"), &out->config, NULL))
        return CHANGED;
    out->final = json_is_true(json_object_get(line, "final"));
    out->calibration = json_is_true(json_object_get(line, "calibration"));
    out->whole = json_is_true(json_object_get(line, "whole"));
    out->attempt = (int) json_number_value(json_object_get(line, "attempt"));
    out->attempt = out->attempt ? out->attempt : 1;
    out->limit = json_number_value(json_object_get(line, "limit"));
    out->at = json_number_value(json_object_get(line, "at"));
    if (out->result.outcome == MMT_TIMED && !out->whole && !(out->result.time.median > 0))
        return UNREADABLE;
    if (out->whole && strcmp(word_of(line, "driver"), journal->caps.driver))
        return CHANGED;
    if (strcmp(word_of(line, "template_hash"),
               mmt_journal_hash_of(journal, out->config.template)))
        return CHANGED;
    return is_resolved_alike(journal, line, out) ? RECORD : CHANGED;
}

mmt_status mmt_journal_read_lines(struct mmt_journal *journal,
                                  const struct mmt_text *text, size_t *whole, bool *ours,
                                  mmt_error *err)
{
    const struct mmt_caps *caps = &journal->caps;
    int unreadable = 0, changed = 0, others = 0;
    struct mmt_log_line at = { 0 };
    mmt_status status = MMT_OK;
    for (*whole = 0; !status && mmt_log_next(text, &at) && !at.torn; *whole = at.behind) {
        json_t *line = json_loadb(at.text, at.length, 0, NULL);
        struct mmt_record record;
        struct mmt_forget forget;
        if (at.number == 1 || json_object_get(line, "format")) {
            status = check_header(journal, line, err);
            *ours = is_by_this_compiler(line, caps);
        } else if (mmt_forget_read(line, &forget)) {
            mmt_journal_drop_forgotten(journal, &forget);
        } else if (!*ours) {
            others++;
        } else {
            enum verdict verdict =
                line ? read_record(journal, line, &record) : UNREADABLE;
            unreadable += verdict == UNREADABLE;
            changed += verdict == CHANGED;
            if (verdict == RECORD && !mmt_journal_keep(journal, &record))
                status = mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the journal");
        }
        json_decref(line);
    }
    if (unreadable)
        mmt_text_addf(&journal->notes,
                      "%d lines of '%s' cannot be read and are left out\n", unreadable,
                      journal->path);
    if (others)
        mmt_text_addf(
            &journal->notes,
            "%d results in '%s' were made with another compiler than %s and are "
            "left out\n",
            others, journal->path, caps->compiler);
    if (changed)
        mmt_text_addf(&journal->notes,
                      "%d results in '%s' are of kernels that have changed since and "
                      "are left out\n",
                      changed, journal->path);
    return status;
}
