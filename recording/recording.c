/* Writing what was recorded: lines of JSON, made by hand, since this runs in programs
 * that may have another JSON library. */
#include "recording/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "recording/lock.h"

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

/* Nobody else may put files into it. */
static mmt_status make_folder(const char *path, mmt_error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return MMT_OK;
    char *folder = strndup(path, slash - path);
    mmt_status status =
        folder ? mmt_file_make_own_folder(folder, NULL, err)
               : mmt_fail(err, MMT_ERROR_MEMORY, "out of memory appending to '%s'", path);
    free(folder);
    return status;
}

/* Whether the file ends in the midst of a line: a disk was full, or a machine stopped. */
static bool is_torn(int fd)
{
    struct stat found;
    char last = '\n';
    return !fstat(fd, &found) && found.st_size > 0 &&
           pread(fd, &last, 1, found.st_size - 1) == 1 && last != '\n';
}

/* A write beyond the process's limit would end it. */
static bool may_grow(int fd, size_t length)
{
    struct rlimit limit;
    struct stat found;
    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
           fstat(fd, &found) || (rlim_t) found.st_size + length <= limit.rlim_cur;
}

/* All in one write, so that lines of several processes never mix. */
static mmt_status write_once(int fd, const char *path, const char *bytes, size_t length,
                             mmt_error *err)
{
    ssize_t put = -1;
    errno = EFBIG;
    if (may_grow(fd, length))
        do
            put = write(fd, bytes, length);
        while (put < 0 && errno == EINTR);
    if (put == (ssize_t) length)
        return MMT_OK;
    const int code = put < 0 ? errno : ENOSPC;
    return mmt_fail_native(err, MMT_ERROR_IO, code, "cannot append to '%s': %s", path,
                           strerror(code));
}

static mmt_status append(const char *path, const struct mmt_text *lines, mmt_error *err)
{
    int fd;
    mmt_status status = make_folder(path, err);
    if (!status)
        status = mmt_recording_open(path, false, &fd, err);
    if (status)
        return status;
    const bool torn = is_torn(fd); /* `lines` begin with an end of line for it */
    status = write_once(fd, path, lines->data + !torn, lines->length - !torn, err);
    close(fd);
    return status;
}

mmt_status mmt_recording_append(const char *path, const struct mmt_recorded *list,
                                size_t count, mmt_error *err)
{
    struct mmt_text lines = { 0 };
    mmt_status status = MMT_OK;
    if (!count)
        return MMT_OK;
    mmt_text_add(&lines, "\n");
    for (size_t i = 0; i < count; i++)
        mmt_recorded_print(&list[i], &lines);
    if (lines.failed)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory appending to '%s'", path);
    else
        status = append(path, &lines, err);
    mmt_text_finish(&lines);
    return status;
}

mmt_status mmt_recording_check(const char *path, mmt_error *err)
{
    int fd;
    mmt_status status = mmt_recording_open(path, false, &fd, err);
    if (!status)
        close(fd);
    return status;
}
