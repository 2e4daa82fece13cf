/* Reading recordings: lines of one call added up. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/recording.h"

enum { MOST_TOLD = 20 };

/* A recording while it is read. */
struct reading {
    struct mmt_recording *out;
    uint64_t *hashes; /* of each call of the list */
    size_t room;      /* calls that both have room for */
    bool by_run;
    long passed; /* lines */
};

/* ---- a line -------------------------------------------------------------------------
 */

/* A string without control characters that fits; a key that is missing is "". */
static bool read_string(const json_t *line, const char *key, char *to, size_t size)
{
    const json_t *value = json_object_get(line, key);
    const size_t length = json_string_length(value);
    if (!value)
        return true;
    if (!json_is_string(value) || length >= size)
        return false;
    for (size_t i = 0; i < length; i++)
        if (mmt_text_is_control(json_string_value(value)[i]))
            return false;
    memcpy(to, json_string_value(value), length + 1);
    return true;
}

/* Not negative, and few enough that sums do not overflow; a missing one is 0. */
static bool read_count(const json_t *value, int64_t *to)
{
    const json_int_t count = json_integer_value(value);
    *to = count;
    return !value || (json_is_integer(value) && count >= 0 && count < INT64_C(1) << 53);
}

static bool read_time(const json_t *line, const char *key, double *seconds)
{
    int64_t ns;
    bool right = read_count(json_object_get(line, key), &ns);
    *seconds = 1e-9 * (double) ns;
    return right;
}

/* Fates that a later version has are counted as none of ours. */
static bool read_fates(const json_t *line, int64_t fates[])
{
    json_t *object = json_object_get(line, "fates");
    if (!json_is_object(object))
        return false;
    for (void *at = json_object_iter(object); at;
         at = json_object_iter_next(object, at)) {
        const int fate = mmt_fate_parse(json_object_iter_key(at));
        int64_t calls;
        if (!read_count(json_object_iter_value(at), &calls))
            return false;
        if (fate >= 0)
            fates[fate] = calls;
    }
    return true;
}

static bool read_call(const json_t *line, struct mmt_call *call, const char **why,
                      mmt_error *err)
{
    const json_t *adds = json_object_get(line, "adds");
    const char *problem = json_string_value(json_object_get(line, "call"));
    const char *client = json_string_value(json_object_get(line, "client"));
    const char *compute = json_string_value(json_object_get(line, "compute"));
    const int which = client ? mmt_client_parse(client) : -1;
    const int by = compute ? mmt_compute_parse(compute) : MMT_COMPUTE_USUAL;
    int64_t workspace = 0, most = 0;

    *why = !problem                         ? "it has no \"call\""
           : which < 0                      ? "its \"client\" is unknown"
           : adds && !json_is_boolean(adds) ? "its \"adds\" is not true or false"
           : by < 0                         ? "its \"compute\" is unknown"
           : !read_count(json_object_get(line, "workspace"), &workspace) ||
                   !read_count(json_object_get(line, "most_workspace"), &most)
               ? "its \"workspace\" or \"most_workspace\" is no number of bytes"
               : NULL;
    if (!*why && mmt_problem_parse(problem, &call->problem, err))
        *why = err->text;
    if (!*why && by && call->problem.type != MMT_F16)
        *why = "its \"compute\" is of f16 alone";
    call->client = which < 0 ? 0 : which;
    call->adds = json_is_true(adds);
    call->compute = by < 0 ? 0 : by;
    call->workspace = (size_t) workspace;
    call->most_workspace = (size_t) most;
    return !*why;
}

/* NULL where the line is one of ours, else why not. */
static const char *read_line(const json_t *line, struct mmt_recorded *it, mmt_error *err)
{
    const char *why;
    if (!json_is_object(line))
        return "it is no object of JSON";
    if (!read_call(line, &it->call, &why, err))
        return why;
    if (!read_string(line, "library", it->library, sizeof it->library) ||
        !read_string(line, "path", it->path, sizeof it->path) ||
        !read_string(line, "run", it->run, sizeof it->run))
        return "its \"library\", \"path\" or \"run\" is no short string";
    if (!read_fates(line, it->fates))
        return "its \"fates\" are no numbers of calls";
    if (!read_count(json_object_get(line, "timed"), &it->timed) ||
        !read_time(line, "ns", &it->seconds) || !read_time(line, "saved_ns", &it->saved))
        return "its \"timed\", \"ns\" or \"saved_ns\" is no number";
    return NULL;
}

/* ---- adding up ----------------------------------------------------------------------
 */

static bool is_same(const struct reading *reading, const struct mmt_recorded *a,
                    const struct mmt_recorded *b)
{
    return mmt_call_equal(&a->call, &b->call) && !strcmp(a->library, b->library) &&
           (!reading->by_run || !strcmp(a->run, b->run));
}

static void add_up(struct mmt_recorded *sum, const struct mmt_recorded *it)
{
    mmt_call_add_workspace(&sum->call, &it->call);
    if (*it->path)
        memcpy(sum->path, it->path, sizeof sum->path);
    for (int i = 0; i < MMT_NUM_FATES; i++)
        sum->fates[i] += it->fates[i];
    sum->timed += it->timed;
    sum->seconds += it->seconds;
    sum->saved += it->saved;
}

static bool grow(struct reading *reading)
{
    const size_t room = reading->room ? 2 * reading->room : 64;
    void *list = reallocarray(reading->out->list, room, sizeof *reading->out->list);
    if (list)
        reading->out->list = list;
    void *hashes = reallocarray(reading->hashes, room, sizeof *reading->hashes);
    if (hashes)
        reading->hashes = hashes;
    if (list && hashes)
        reading->room = room;
    return list && hashes;
}

static mmt_status take(struct reading *reading, const struct mmt_recorded *it,
                       mmt_error *err)
{
    struct mmt_recording *out = reading->out;
    const uint64_t hash = mmt_call_hash(&it->call);
    for (size_t i = 0; i < out->count; i++)
        if (reading->hashes[i] == hash && is_same(reading, &out->list[i], it)) {
            add_up(&out->list[i], it);
            return MMT_OK;
        }
    if (out->count == reading->room && !grow(reading))
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory reading a recording");
    reading->hashes[out->count] = hash;
    out->list[out->count++] = *it;
    if (!reading->by_run)
        out->list[out->count - 1].run[0] = 0;
    return MMT_OK;
}

/* ---- a file -------------------------------------------------------------------------
 */

static void pass_over(struct reading *reading, long number, const char *why)
{
    if (reading->passed++ < MOST_TOLD)
        mmt_text_addf(&reading->out->warnings, "line %ld is passed over: %s\n", number,
                      why);
}

static mmt_status take_line(struct reading *reading, const char *text, size_t length,
                            long number, mmt_error *err)
{
    struct mmt_recorded it = { 0 };
    mmt_error why = { 0 };
    json_error_t where;
    mmt_status status = MMT_OK;
    if (!length)
        return MMT_OK;
    json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    const char *wrong =
        line ? read_line(line, &it, &why) : "it is torn, or no line of JSON";
    if (wrong)
        pass_over(reading, number, wrong);
    else
        status = take(reading, &it, err);
    json_decref(line);
    return status;
}

static mmt_status take_lines(struct reading *reading, FILE *file, const char *path,
                             mmt_error *err)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    mmt_status status = MMT_OK;
    for (long number = 1; !status && (length = getline(&line, &room, file)) >= 0;
         number++) {
        length -= line[length - 1] == '\n';
        status = take_line(reading, line, (size_t) length, number, err);
    }
    if (!status && ferror(file))
        status = mmt_fail_native(err, MMT_ERROR_IO, errno, "cannot read '%s': %s", path,
                                 strerror(errno));
    free(line);
    return status;
}

static int compare(const void *left, const void *right)
{
    const struct mmt_recorded *a = left, *b = right;
    const double x = mmt_recorded_seconds(a), y = mmt_recorded_seconds(b);
    const int64_t i = mmt_recorded_calls(a), j = mmt_recorded_calls(b);
    return x != y ? (x < y) - (x > y) : (i < j) - (i > j);
}

static mmt_status read_file(FILE *file, const char *path, bool by_run,
                            struct mmt_recording *out, mmt_error *err)
{
    struct reading reading = { .out = out, .by_run = by_run };
    mmt_status status = take_lines(&reading, file, path, err);
    if (reading.passed > MOST_TOLD)
        mmt_text_addf(&out->warnings, "and %ld more lines are passed over\n",
                      reading.passed - MOST_TOLD);
    if (!status && out->warnings.failed)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory reading '%s'", path);
    if (out->count)
        qsort(out->list, out->count, sizeof *out->list, compare);
    free(reading.hashes);
    if (status)
        mmt_recording_free(out);
    return status;
}

/* A pipe would be waited for. NULL with an error. */
static FILE *open_regular(const char *path, mmt_error *err)
{
    struct stat found;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *file = NULL;
    if (fd < 0 || fstat(fd, &found))
        mmt_fail_native(err, errno == ENOENT ? MMT_ERROR_NOT_FOUND : MMT_ERROR_IO, errno,
                        "cannot read the recording '%s': %s", path, strerror(errno));
    else if (!S_ISREG(found.st_mode))
        mmt_fail(err, MMT_ERROR_IO,
                 "cannot read the recording '%s': a regular file is needed", path);
    else if (!(file = fdopen(fd, "r")))
        mmt_fail(err, MMT_ERROR_MEMORY, "out of memory reading '%s'", path);
    if (!file && fd >= 0)
        close(fd);
    return file;
}

mmt_status mmt_recording_read(const char *path, bool by_run, struct mmt_recording *out,
                              mmt_error *err)
{
    mmt_error why = { 0 };
    *out = (struct mmt_recording){ 0 };
    FILE *file = open_regular(path, &why);
    if (!file)
        return mmt_fail_native(err, why.status, why.native, "%s", why.text);
    mmt_status status = read_file(file, path, by_run, out, err);
    fclose(file);
    return status;
}

void mmt_recording_free(struct mmt_recording *recording)
{
    free(recording->list);
    mmt_text_finish(&recording->warnings);
    *recording = (struct mmt_recording){ 0 };
}
