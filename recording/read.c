/* Reading recordings: lines of one call added up. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "recording/lines.h"

/* Lines that are told of; bytes of the longest that is read, and of all. */
enum { MOST_TOLD = 20, MOST_BYTES = 1 << 16, MOST_READ = 1 << 30 };

/* A recording while it is read. */
struct reading {
    struct mmt_recording *out;
    bool by_run;
    struct mmt_text *others; /* lines that are not wholly ours go there; NULL: what is
                              * known of them counts */
    long passed;             /* lines */
};

/* ---- a line ---------------------------------------------------------------------- */

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

/* Fates that a later version has are counted as none of ours; *more: there are some. */
static bool read_fates(const json_t *line, int64_t fates[], bool *more)
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
        *more |= fate < 0;
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
    int64_t workspace = 0, most = 0, alignment = 0;

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
    if (!*why && (!read_count(json_object_get(line, "alignment"), &alignment) ||
                  !mmt_call_may_align((size_t) alignment)))
        *why = "its \"alignment\" is no power of 2 below 16";
    if (!*why && by && call->problem.type != MMT_F16)
        *why = "its \"compute\" is of f16 alone";
    call->client = which < 0 ? 0 : which;
    call->adds = json_is_true(adds);
    call->compute = by < 0 ? 0 : by;
    call->alignment = (size_t) alignment;
    call->workspace = (size_t) workspace;
    call->most_workspace = (size_t) most;
    return !*why;
}

static bool has_other_keys(json_t *line)
{
    static const char *const keys[] = {
        "call",      "client",    "adds",           "compute",
        "alignment", "workspace", "most_workspace", "library",
        "path",      "run",       "fates",          "timed",
        "ns",        "saved_ns",  "ready_ns",       "gap_ns"
    };
    size_t known = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        known += json_object_get(line, keys[i]) != NULL;
    return known < json_object_size(line);
}

/* NULL where the line is one of ours, else why not. *more: it has what a later version
 * has written. */
static const char *read_line(json_t *line, struct mmt_recorded *it, bool *more,
                             mmt_error *err)
{
    const char *why;
    if (!json_is_object(line))
        return "it is no object of JSON";
    *more = has_other_keys(line);
    if (!read_call(line, &it->call, &why, err))
        return why;
    if (!read_string(line, "library", it->library, sizeof it->library) ||
        !read_string(line, "path", it->path, sizeof it->path) ||
        !read_string(line, "run", it->run, sizeof it->run))
        return "its \"library\", \"path\" or \"run\" is no short string";
    if (!read_fates(line, it->fates, more))
        return "its \"fates\" are no numbers of calls";
    if (!read_count(json_object_get(line, "timed"), &it->timed) ||
        !read_time(line, "ns", &it->seconds) ||
        !read_time(line, "saved_ns", &it->saved) ||
        !read_time(line, "ready_ns", &it->ready) || !read_time(line, "gap_ns", &it->gap))
        return "its \"timed\", \"ns\", \"saved_ns\", \"ready_ns\" or \"gap_ns\" is no "
               "number";
    return NULL;
}

/* ---- adding up ------------------------------------------------------------------- */

static uint64_t hash_string(const char *string)
{
    return mmt_hash_add(mmt_hash_start(), string, strlen(string)).low;
}

static uint64_t hash_of(const struct mmt_recorded *it)
{
    return mmt_call_hash(&it->call) ^ hash_string(it->library) ^ 3 * hash_string(it->run);
}

static bool is_same(const struct mmt_recorded *a, const struct mmt_recorded *b)
{
    return mmt_call_equal(&a->call, &b->call) && !strcmp(a->library, b->library) &&
           !strcmp(a->run, b->run);
}

static int64_t saturate(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void add_up(struct mmt_recorded *sum, const struct mmt_recorded *it)
{
    mmt_call_add_workspace(&sum->call, &it->call);
    if (*it->path)
        memcpy(sum->path, it->path, sizeof sum->path);
    for (int i = 0; i < MMT_NUM_FATES; i++)
        sum->fates[i] = saturate(sum->fates[i], it->fates[i]);
    sum->timed = saturate(sum->timed, it->timed);
    sum->seconds += it->seconds;
    sum->saved += it->saved;
    sum->ready = it->ready > sum->ready ? it->ready : sum->ready;
    if (it->gap > 0 && (sum->gap <= 0 || it->gap < sum->gap))
        sum->gap = it->gap;
}

/* Where a call is, or would be: the table has the numbers of its list from 1. */
static uint32_t *place_of(const struct mmt_recording *recording,
                          const struct mmt_recorded *it)
{
    const size_t last = recording->table_size - 1;
    for (size_t i = hash_of(it) & last;; i = (i + 1) & last) {
        uint32_t *place = &recording->table[i];
        if (!*place || is_same(&recording->list[*place - 1], it))
            return place;
    }
}

/* Twice as many entries as calls at least, always a power of 2. */
static bool make_table(struct mmt_recording *recording)
{
    const size_t room = recording->room > recording->count ? recording->room
                        : recording->count                 ? 2 * recording->count
                                                           : 64;
    void *list = reallocarray(recording->list, room, sizeof *recording->list);
    size_t size = 128;
    while (size < 2 * room)
        size *= 2;
    free(recording->table);
    recording->table = calloc(size, sizeof *recording->table);
    recording->table_size = size;
    if (list)
        recording->list = list;
    if (!list || !recording->table || room > UINT32_MAX)
        return false;
    recording->room = room;
    for (size_t i = 0; i < recording->count; i++)
        *place_of(recording, &recording->list[i]) = (uint32_t) i + 1;
    return true;
}

mmt_status mmt_recording_add(struct mmt_recording *recording,
                             const struct mmt_recorded *it, mmt_error *err)
{
    if ((!recording->table || recording->count == recording->room) &&
        !make_table(recording))
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory reading a recording");
    uint32_t *place = place_of(recording, it);
    if (*place) {
        add_up(&recording->list[*place - 1], it);
        return MMT_OK;
    }
    recording->list[recording->count++] = *it;
    *place = (uint32_t) recording->count;
    return MMT_OK;
}

/* ---- a file ---------------------------------------------------------------------- */

static void pass_over(struct reading *reading, long number, const char *why)
{
    if (reading->passed++ < MOST_TOLD)
        mmt_text_addf(&reading->out->warnings, "line %ld is passed over: %s\n", number,
                      why);
}

static mmt_status take_line(struct reading *reading, const struct mmt_log_line *at,
                            mmt_error *err)
{
    struct mmt_recorded it = { 0 };
    mmt_error why = { 0 };
    json_error_t where;
    mmt_status status = MMT_OK;
    bool more = false;
    if (!at->length)
        return MMT_OK;
    json_t *line = json_loadb(at->text, at->length, JSON_REJECT_DUPLICATES, &where);
    const char *wrong =
        line ? read_line(line, &it, &more, &why) : "it is torn, or no line of JSON";
    if (!reading->by_run)
        it.run[0] = 0;
    if (reading->others && json_is_object(line) && (wrong || more)) {
        mmt_text_add_bytes(reading->others, at->text, at->length);
        mmt_text_add(reading->others, "\n");
    } else if (wrong)
        pass_over(reading, at->number, wrong);
    else
        status = mmt_recording_add(reading->out, &it, err);
    json_decref(line);
    return status;
}

static mmt_status take_lines(struct reading *reading, const struct mmt_text *text,
                             mmt_error *err)
{
    struct mmt_log_line line = { 0 };
    mmt_status status = MMT_OK;
    while (!status && mmt_log_next(text, &line))
        if (line.length > MOST_BYTES)
            pass_over(reading, line.number, "it has more than 65536 bytes");
        else
            status = take_line(reading, &line, err);
    return status;
}

static int compare(const void *left, const void *right)
{
    const struct mmt_recorded *a = left, *b = right;
    const double x = mmt_recorded_seconds(a), y = mmt_recorded_seconds(b);
    const int64_t i = mmt_recorded_calls(a), j = mmt_recorded_calls(b);
    return x != y ? (x < y) - (x > y) : (i < j) - (i > j);
}

void mmt_recording_sort(struct mmt_recording *recording)
{
    free(recording->table);
    recording->table = NULL;
    if (recording->count)
        qsort(recording->list, recording->count, sizeof *recording->list, compare);
}

mmt_status mmt_recording_read_apart(const char *path, bool by_run,
                                    struct mmt_text *others, struct mmt_recording *out,
                                    mmt_error *err)
{
    struct reading reading = { .out = out, .by_run = by_run, .others = others };
    struct mmt_text text = { 0 };
    *out = (struct mmt_recording){ 0 };
    mmt_status status = mmt_file_read(path, MOST_READ, &text, err);
    if (!status)
        status = take_lines(&reading, &text, err);
    mmt_text_finish(&text);
    if (reading.passed > MOST_TOLD)
        mmt_text_addf(&out->warnings, "and %ld more lines are passed over\n",
                      reading.passed - MOST_TOLD);
    if (!status && (out->warnings.failed || (others && others->failed)))
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory reading '%s'", path);
    mmt_recording_sort(out);
    if (status)
        mmt_recording_free(out);
    return status;
}

mmt_status mmt_recording_read(const char *path, bool by_run, struct mmt_recording *out,
                              mmt_error *err)
{
    return mmt_recording_read_apart(path, by_run, NULL, out, err);
}

void mmt_recording_free(struct mmt_recording *recording)
{
    free(recording->list);
    free(recording->table);
    mmt_text_finish(&recording->warnings);
    *recording = (struct mmt_recording){ 0 };
}
