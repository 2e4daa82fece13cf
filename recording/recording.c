/* Writing what was recorded: lines of JSON, made by hand, since this runs in programs
 * that may have another JSON library. */
#include "recording/recording.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/log.h"
#include "recording/lines.h"

int64_t mmt_recorded_calls(const struct mmt_recorded *recorded)
{
    int64_t calls = 0;
    for (int i = 0; i < MMT_NUM_FATES; i++)
        calls += recorded->fates[i];
    return calls;
}

double mmt_recorded_seconds(const struct mmt_recorded *recorded)
{
    if (recorded->timed <= 0)
        return 0;
    return recorded->seconds / (double) recorded->timed *
           (double) mmt_recorded_calls(recorded);
}

void mmt_recording_path(const char *stem, struct mmt_text *path)
{
    mmt_file_state_folder(path);
    mmt_text_addf(path, "/%s.jsonl", stem);
}

/* ---- a line ------------------------------------------------------------------------ */

static void add_string(struct mmt_text *line, const char *key, const char *string)
{
    mmt_text_addf(line, ",\"%s\":\"", key);
    while (*string) {
        const int length = mmt_text_character(string);
        if (!length || mmt_text_is_control(*string))
            mmt_text_add(line, "?");
        else if (*string == '"' || *string == '\\')
            mmt_text_addf(line, "\\%c", *string);
        else
            mmt_text_add_bytes(line, string, (size_t) length);
        string += length ? length : 1;
    }
    mmt_text_add(line, "\"");
}

/* A program's locale has no say in whole numbers. */
static int64_t nanoseconds(double seconds)
{
    return (int64_t) (seconds * 1e9 + 0.5);
}

void mmt_recorded_print(const struct mmt_recorded *it, struct mmt_text *text)
{
    const char *comma = "";
    mmt_text_add(text, "{\"call\":\"");
    mmt_problem_print(&it->call.problem, text);
    mmt_text_addf(text, "\",\"client\":\"%s\"", mmt_client_name(it->call.client));
    if (it->call.adds)
        mmt_text_add(text, ",\"adds\":true");
    if (it->call.compute)
        mmt_text_addf(text, ",\"compute\":\"%s\"", mmt_compute_name(it->call.compute));
    if (it->call.alignment)
        mmt_text_addf(text, ",\"alignment\":%zu", it->call.alignment);
    if (it->call.workspace)
        mmt_text_addf(text, ",\"workspace\":%zu", it->call.workspace);
    if (it->call.most_workspace)
        mmt_text_addf(text, ",\"most_workspace\":%zu", it->call.most_workspace);
    add_string(text, "library", it->library);
    add_string(text, "path", it->path);
    add_string(text, "run", it->run);
    mmt_text_add(text, ",\"fates\":{");
    for (int i = 0; i < MMT_NUM_FATES; i++)
        if (it->fates[i]) {
            mmt_text_addf(text, "%s\"%s\":%" PRId64, comma, mmt_fate_name(i),
                          it->fates[i]);
            comma = ",";
        }
    mmt_text_add(text, "}");
    if (it->timed)
        mmt_text_addf(text, ",\"timed\":%" PRId64 ",\"ns\":%" PRId64, it->timed,
                      nanoseconds(it->seconds));
    if (it->gap > 0)
        mmt_text_addf(text, ",\"gap_ns\":%" PRId64, nanoseconds(it->gap));
    if (it->saved > 0)
        mmt_text_addf(text, ",\"saved_ns\":%" PRId64, nanoseconds(it->saved));
    if (it->ready > 0)
        mmt_text_addf(text, ",\"ready_ns\":%" PRId64, nanoseconds(it->ready));
    mmt_text_add(text, "}\n");
}

/* ---- appending ------------------------------------------------------------------- */

mmt_status mmt_recording_append(const char *path, const struct mmt_recorded *list,
                                size_t count, mmt_error *err)
{
    struct mmt_text lines = { 0 };
    struct mmt_log log = { 0 };
    mmt_status status = MMT_OK;
    if (!count)
        return MMT_OK;
    for (size_t i = 0; i < count; i++)
        mmt_recorded_print(&list[i], &lines);
    if (lines.failed)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory appending to '%s'", path);
    else
        status = mmt_log_open(&log, path, MMT_LOG_SHARE, NULL, err);
    if (!status)
        status = mmt_log_append(&log, mmt_text_string(&lines), lines.length, err);
    mmt_log_close(&log);
    mmt_text_finish(&lines);
    return status;
}

mmt_status mmt_recording_check(const char *path, mmt_error *err)
{
    struct mmt_log log;
    mmt_status status = mmt_log_open(&log, path, MMT_LOG_SHARE, NULL, err);
    mmt_log_close(&log);
    return status;
}
