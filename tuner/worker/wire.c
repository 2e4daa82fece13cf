/* Jobs and replies as lines of JSON. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/near.h"
#include "tuner/common/options.h"
#include "tuner/worker/tasks.h"

static const char *const outcome_names[] = { "timed", "wrong",   "failed", "skipped",
                                             "hung",  "crashed", "killed" };
static const char *const task_names[] = { "compile", "measure",   "verify", "finals",
                                          "probe",   "yardstick", "verdict" };

enum { NUM_OUTCOMES = 7, NUM_TASKS = 7 };

const char *mmt_outcome_name(enum mmt_outcome outcome)
{
    return outcome_names[outcome];
}

int mmt_outcome_parse(const char *name)
{
    return mmt_near_place(name, outcome_names, NUM_OUTCOMES);
}

/* Takes over the object. */
static bool write_line(json_t *object, struct mmt_text *line)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text)
        return false;
    mmt_text_addf(line, "%s\n", text);
    free(text);
    return !line->failed;
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *word_of(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

/* ---- jobs ------------------------------------------------------------------------ */

static json_t *problem_json(const mmt_problem *problem)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(problem, &text);
    json_t *out = json_string(mmt_text_string(&text));
    mmt_text_finish(&text);
    return out;
}

static json_t *configs_json(const struct mmt_job *job)
{
    json_t *list = json_array();
    for (int i = 0; i < job->count; i++) {
        struct mmt_text text = { 0 };
        mmt_config_print(&job->configs[i], &text);
        json_array_append_new(list, json_pack("{s:s, s:b}", "configuration",
                                              mmt_text_string(&text), "verify",
                                              job->verify[i]));
        mmt_text_finish(&text);
    }
    return list;
}

static json_t *call_json(const struct mmt_job *job)
{
    if (job->task != MMT_TASK_VERDICT)
        return json_null();
    return json_pack("{s:s, s:b, s:s, s:I, s:I, s:I, s:s, s:b}", "client",
                     mmt_client_name(job->call.client), "adds", job->call.adds, "compute",
                     mmt_compute_name(job->call.compute), "alignment",
                     (json_int_t) job->call.alignment, "workspace",
                     (json_int_t) job->call.workspace, "most_workspace",
                     (json_int_t) job->call.most_workspace, "path", job->path, "energy",
                     job->energy);
}

bool mmt_wire_write_job(const struct mmt_job *job, struct mmt_text *line)
{
    json_t *problem =
        job->task == MMT_TASK_PROBE ? json_null() : problem_json(&job->problem);
    return write_line(json_pack("{s:s, s:o, s:I, s:o, s:f, s:f, s:f, s:b, s:b, s:b, s:b, "
                                "s:o}",
                                "task", task_names[job->task], "problem", problem, "seed",
                                (json_int_t) job->seed, "configurations",
                                configs_json(job), "best", job->best_seconds, "best_mhz",
                                job->best_mhz, "budget", job->budget_seconds,
                                "low_priority", job->low_priority, "short", job->is_short,
                                "power_limited", job->power_limited, "epilogues",
                                job->epilogues, "call", call_json(job)),
                      line);
}

static bool read_configs(const json_t *list, struct mmt_job *out, mmt_error *err)
{
    size_t count = json_array_size(list);
    if (count > MMT_MAX_TOGETHER)
        return !mmt_fail(err, MMT_ERROR_FORMAT, "%zu configurations in a job", count);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(list, i);
        if (mmt_config_parse(word_of(one, "configuration"), &out->configs[i], err))
            return false;
        out->verify[i] = json_is_true(json_object_get(one, "verify"));
    }
    out->count = (int) count;
    return true;
}

static bool read_call(const json_t *object, struct mmt_job *out)
{
    const int client = mmt_client_parse(word_of(object, "client"));
    const int compute = mmt_compute_parse(word_of(object, "compute"));
    out->call.client = client < 0 ? 0 : client;
    out->call.problem = out->problem;
    out->call.adds = json_is_true(json_object_get(object, "adds"));
    out->call.compute = compute < 0 ? 0 : compute;
    out->call.alignment = (size_t) number_of(object, "alignment");
    out->call.workspace = (size_t) number_of(object, "workspace");
    out->call.most_workspace = (size_t) number_of(object, "most_workspace");
    snprintf(out->path, sizeof out->path, "%s", word_of(object, "path"));
    out->energy = json_is_true(json_object_get(object, "energy"));
    return out->task != MMT_TASK_VERDICT || client >= 0;
}

bool mmt_wire_read_job(const char *line, struct mmt_job *out, mmt_error *err)
{
    json_t *object = json_loads(line, 0, NULL);
    int task = mmt_near_place(word_of(object, "task"), task_names, NUM_TASKS);
    *out = (struct mmt_job){ 0 };
    if (task < 0) {
        mmt_fail(err, MMT_ERROR_FORMAT, "a worker was sent what is no job");
        json_decref(object);
        return false;
    }
    out->task = (enum mmt_task) task;
    out->seed = (uint64_t) json_integer_value(json_object_get(object, "seed"));
    out->best_seconds = number_of(object, "best");
    out->best_mhz = number_of(object, "best_mhz");
    out->budget_seconds = number_of(object, "budget");
    out->low_priority = json_is_true(json_object_get(object, "low_priority"));
    out->is_short = json_is_true(json_object_get(object, "short"));
    out->power_limited = json_is_true(json_object_get(object, "power_limited"));
    out->epilogues = json_is_true(json_object_get(object, "epilogues"));
    bool good = (task == MMT_TASK_PROBE ||
                 !mmt_problem_parse(word_of(object, "problem"), &out->problem, err)) &&
                read_configs(json_object_get(object, "configurations"), out, err) &&
                read_call(json_object_get(object, "call"), out);
    json_decref(object);
    return good;
}

/* ---- replies --------------------------------------------------------------------- */

/* A reason may hold a compiler's log in any encoding: what is not ASCII becomes '?'. */
static void make_plain(const char *text, char out[MMT_REASON_SIZE])
{
    size_t length = strnlen(text, MMT_REASON_SIZE - 1);
    for (size_t i = 0; i < length; i++)
        out[i] = (text[i] >= ' ' && text[i] <= '~') || text[i] == '\n' ? text[i] : '?';
    out[length] = '\0';
}

json_t *mmt_result_json(const struct mmt_result *result)
{
    const struct mmt_timing *time = &result->time;
    char reason[MMT_REASON_SIZE];
    json_t *out = json_pack("{s:s}", "status", mmt_outcome_name(result->outcome));
    make_plain(result->reason, reason);
    if (*reason)
        json_object_set_new(out, "reason", json_string(reason));
    if (result->outcome == MMT_TIMED && *result->throttled)
        json_object_set_new(out, "throttled", json_string(result->throttled));
    if (result->outcome != MMT_TIMED || !(time->median > 0))
        return out;
    json_object_update_new(out, json_pack("{s:f, s:f, s:i, s:i, s:i, s:I}", "seconds",
                                          time->median, "spread", time->spread, "samples",
                                          time->samples, "registers", result->registers,
                                          "spill_bytes", result->spill_bytes, "shared",
                                          (json_int_t) result->shared));
    if (result->celsius > 0)
        json_object_set_new(out, "celsius", json_real(result->celsius));
    if (result->clock_mhz > 0)
        json_object_set_new(out, "clock_mhz", json_real(result->clock_mhz));
    if (result->joules > 0)
        json_object_set_new(out, "joules", json_real(result->joules));
    return out;
}

static json_t *numbers_json(const double *numbers)
{
    json_t *list = json_array();
    for (int i = 0; i < MMT_NUM_TYPES; i++)
        json_array_append_new(list, json_real(numbers[i]));
    return list;
}

static json_t *roofline_json(const struct mmt_roofline *roofline)
{
    return json_pack("{s:o, s:o, s:f, s:f}", "peaks", numbers_json(roofline->peak_flops),
                     "spreads", numbers_json(roofline->peak_spread), "bandwidth",
                     roofline->bandwidth, "bandwidth_spread", roofline->bandwidth_spread);
}

static void read_numbers(const json_t *list, double *out)
{
    for (int i = 0; i < MMT_NUM_TYPES; i++)
        out[i] = json_number_value(json_array_get(list, (size_t) i));
}

static void read_roofline(const json_t *object, struct mmt_roofline *out)
{
    read_numbers(json_object_get(object, "peaks"), out->peak_flops);
    read_numbers(json_object_get(object, "spreads"), out->peak_spread);
    out->bandwidth = number_of(object, "bandwidth");
    out->bandwidth_spread = number_of(object, "bandwidth_spread");
}

static json_t *checked_json(const struct mmt_result *result)
{
    json_t *out = mmt_result_json(result);
    json_object_update_new(out, json_pack("{s:i, s:i, s:b}", "checks", result->checks,
                                          "unchecked", result->unchecked, "checked",
                                          result->checked));
    return out;
}

bool mmt_wire_write_reply(const struct mmt_reply *reply, struct mmt_text *line)
{
    json_t *results = json_array();
    for (int i = 0; i < reply->count; i++)
        json_array_append_new(results, checked_json(&reply->results[i]));
    char cache[MMT_REASON_SIZE], note[MMT_REASON_SIZE];
    make_plain(reply->cache, cache);
    make_plain(reply->note, note);
    return write_line(json_pack("{s:o, s:o, s:b, s:s, s:s, s:s}", "results", results,
                                "roofline", roofline_json(&reply->roofline), "spoilt",
                                reply->spoilt, "cache", cache, "library", reply->library,
                                "remark", note),
                      line);
}

bool mmt_result_read(const json_t *object, struct mmt_result *out)
{
    const json_t *registers = json_object_get(object, "registers"),
                 *spill_bytes = json_object_get(object, "spill_bytes"),
                 *shared = json_object_get(object, "shared");
    const int outcome = mmt_outcome_parse(word_of(object, "status"));
    *out = (struct mmt_result){
        .outcome = (enum mmt_outcome) outcome,
        .time = { number_of(object, "seconds"), number_of(object, "spread"),
                  (int) number_of(object, "samples") },
        .registers = registers ? (int) json_number_value(registers) : -1,
        .spill_bytes = spill_bytes ? (int) json_number_value(spill_bytes) : -1,
        .shared = shared ? (long long) json_number_value(shared) : -1,
        .celsius = number_of(object, "celsius"),
        .clock_mhz = number_of(object, "clock_mhz"),
        .joules = number_of(object, "joules"),
    };
    snprintf(out->throttled, sizeof out->throttled, "%s", word_of(object, "throttled"));
    make_plain(word_of(object, "reason"), out->reason);
    return outcome >= 0;
}

static bool read_checked(const json_t *object, struct mmt_result *out)
{
    const bool good = mmt_result_read(object, out);
    out->checks = (int) number_of(object, "checks");
    out->unchecked = (int) number_of(object, "unchecked");
    out->checked = json_is_true(json_object_get(object, "checked"));
    return good;
}

bool mmt_wire_read_reply(const char *line, struct mmt_reply *out)
{
    json_t *object = json_loads(line, 0, NULL);
    json_t *results = json_object_get(object, "results");
    size_t count = json_array_size(results);
    bool good = json_is_array(results) && count <= MMT_MAX_TOGETHER;
    *out = (struct mmt_reply){ .count = good ? (int) count : 0 };
    for (int i = 0; i < out->count; i++)
        good =
            good && read_checked(json_array_get(results, (size_t) i), &out->results[i]);
    read_roofline(json_object_get(object, "roofline"), &out->roofline);
    out->spoilt = json_is_true(json_object_get(object, "spoilt"));
    make_plain(word_of(object, "cache"), out->cache);
    snprintf(out->library, sizeof out->library, "%s", word_of(object, "library"));
    snprintf(out->note, sizeof out->note, "%s", word_of(object, "remark"));
    json_decref(object);
    return good;
}

bool mmt_wire_read_note(const char *line, char note[16])
{
    json_t *object = json_loads(line, 0, NULL);
    const char *said = word_of(object, "note");
    bool good = *said != '\0';
    if (good)
        snprintf(note, 16, "%s", said);
    json_decref(object);
    return good;
}

/* ---- sending --------------------------------------------------------------------- */

void mmt_worker_say(const struct mmt_text *line)
{
    if (!mmt_child_send(MMT_CHILD_FD, line->data, line->length))
        _exit(MMT_EXIT_FAILED);
}

void mmt_worker_note(const char *word)
{
    struct mmt_text line = { 0 };
    mmt_text_addf(&line, "{\"note\":\"%s\"}\n", word);
    mmt_worker_say(&line);
    mmt_text_finish(&line);
}
