/* Recordings for people and programs. */
#include "tuner/report/recorded.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/counts.h"
#include "runtime/runtime.h"
#include "tuner/common/options.h"
#include "tuner/measure/roofline.h"
#include "tuner/report/rows.h"

/* ---- opening ----------------------------------------------------------------------- */

static void keep_run(struct mmt_recording *recording, const char *run)
{
    size_t left = 0;
    for (size_t i = 0; i < recording->count; i++)
        if (!strcmp(recording->list[i].run, run))
            recording->list[left++] = recording->list[i];
    recording->count = left;
}

mmt_status mmt_recorded_open_for(const char *file, const char *run,
                                 struct mmt_recorded_view *view, mmt_error *err)
{
    struct mmt_text stem = { 0 };
    mmt_profile_stem(&view->caps, &stem);
    const mmt_status status = mmt_recording_read_device(
        mmt_text_string(&stem), file, run != NULL, &view->path, &view->recording, err);
    mmt_text_finish(&stem);
    if (!status && run)
        keep_run(&view->recording, run);
    return status;
}

/* The same, with the device's profile; `id` names it for people. */
static mmt_status open_view(const char *id, const char *file, const char *run,
                            struct mmt_recorded_view *out, mmt_error *err)
{
    const mmt_status status = mmt_recorded_open_for(file, run, out, err);
    if (!status)
        out->profile = mmt_profile_find_for(&out->caps, id, NULL);
    return status;
}

mmt_status mmt_recorded_open(const char *device, const char *file, const char *run,
                             struct mmt_recorded_view *out, mmt_error *err)
{
    *out = (struct mmt_recorded_view){ .f32_mode = MMT_F32_STRICT };
    mmt_device *opened = mmt_device_open(device ? device : "0", err);
    if (!opened)
        return err->status;
    out->caps = *mmt_device_caps(opened);
    mmt_status status = open_view(mmt_device_name(opened), file, run, out, err);
    mmt_device_close(opened);
    if (status)
        mmt_recorded_close(out);
    return status;
}

void mmt_recorded_close(struct mmt_recorded_view *view)
{
    mmt_recording_free(&view->recording);
    mmt_profile_free(view->profile);
    mmt_text_finish(&view->path);
    view->profile = NULL;
}

/* ---- judging --------------------------------------------------------------------- */

/* What ours would be without a verdict. */
static void select_ours(const struct mmt_recorded_view *view,
                        struct mmt_recorded_row *row)
{
    const struct mmt_recorded *it = row->it;
    const struct mmt_terms terms = {
        .max_workspace = it->call.workspace ? it->call.workspace : SIZE_MAX,
        .strict_f32 =
            view->f32_mode == MMT_F32_STRICT && it->call.client != MMT_CLIENT_MMTUNE,
    };
    const mmt_problem problem = mmt_call_stand_in(&it->call);
    struct mmt_selection selection;
    if (mmt_select(view->profile, &problem, &view->caps, &terms, &selection, NULL))
        return;
    row->expected = selection.seconds;
    row->tuned = mmt_selection_is_known(&selection);
}

/* By the mode asked for; what was taken over all the same, by the other. */
static enum mmt_fate judge_by(const struct mmt_recorded_view *view,
                              const struct mmt_recorded *it,
                              const struct mmt_verdict **verdict)
{
    enum mmt_fate fate = mmt_profile_verdict(view->profile, &it->call, view->f32_mode,
                                             view->caps.driver, it->library, verdict);
    if (fate != MMT_FATE_TAKEN && it->fates[MMT_FATE_TAKEN])
        fate = mmt_profile_verdict(view->profile, &it->call, MMT_F32_EMULATED,
                                   view->caps.driver, it->library, verdict);
    return fate;
}

struct mmt_recorded_row mmt_recorded_judge(const struct mmt_recorded_view *view,
                                           const struct mmt_recorded *it)
{
    struct mmt_recorded_row row = { .it = it, .fate = MMT_FATE_UNKNOWN };
    if (view->profile)
        row.fate = judge_by(view, it, &row.verdict);
    if (it->timed > 0)
        row.each = it->seconds / (double) it->timed;
    else if (row.verdict)
        row.each = row.verdict->theirs;
    if (!row.verdict)
        select_ours(view, &row);
    return row;
}

/* Seconds that the calls take in the library; 0: unknown. */
static double seconds_of(const struct mmt_recorded_row *row)
{
    return row->each * (double) mmt_recorded_calls(row->it);
}

/* The device's, with what its caps tell; nothing where there is no profile. */
static struct mmt_roofline roofline_of(const struct mmt_recorded_view *view)
{
    struct mmt_roofline roofline = { 0 };
    if (view->profile)
        roofline = view->profile->roofline;
    mmt_roofline_derive(&roofline, &view->caps);
    return roofline;
}

/* What a kind of timed calls took, and what nothing could take less than. */
static void add_limits(const struct mmt_roofline *roofline,
                       const struct mmt_recorded_row *row, struct mmt_recorded_sum *sum)
{
    const mmt_problem *problem = &row->it->call.problem;
    const double calls = (double) mmt_recorded_calls(row->it);
    sum->gaps += calls * row->it->gap;
    if (!(row->each > 0))
        return;
    sum->best += calls * (row->fate == MMT_FATE_TAKEN ? row->verdict->ours : row->each);
    if (!(roofline->bandwidth > 0))
        return;
    sum->bytes += calls * mmt_problem_bytes(problem) / roofline->bandwidth;
    sum->limit += calls * mmt_roofline_seconds(roofline, problem);
}

struct mmt_recorded_sum mmt_recorded_add_up(const struct mmt_recorded_view *view)
{
    const struct mmt_roofline roofline = roofline_of(view);
    struct mmt_recorded_sum sum = { 0 };
    for (size_t i = 0; i < view->recording.count; i++) {
        const struct mmt_recorded_row row =
            mmt_recorded_judge(view, &view->recording.list[i]);
        add_limits(&roofline, &row, &sum);
        const int64_t calls = mmt_recorded_calls(row.it),
                      taken = row.it->fates[MMT_FATE_TAKEN], others = calls - taken;
        sum.calls += calls;
        sum.taken += taken;
        sum.untimed += row.each > 0 ? 0 : calls;
        sum.seconds += seconds_of(&row);
        sum.taken_seconds += row.each * (double) taken;
        sum.saved += row.it->saved;
        if (row.fate == MMT_FATE_TAKEN)
            sum.given += (row.verdict->theirs - row.verdict->ours) * (double) others;
        else if (!row.verdict && row.expected > 0 && row.expected < row.each)
            sum.promised += (row.each - row.expected) * (double) others;
    }
    return sum;
}

/* ---- for people ------------------------------------------------------------------ */

/* "1.310", "1.004, 31.2 of 33.5 mJ", "library faster", "not tuned, 1.21 expected". */
static void print_verdict(const struct mmt_recorded_row *row, char out[40])
{
    const struct mmt_verdict *verdict = row->verdict;
    if (row->fate == MMT_FATE_TAKEN && verdict->our_joules > 0)
        snprintf(out, 40, "%.3f, %.3g of %.3g mJ", verdict->theirs / verdict->ours,
                 1e3 * verdict->our_joules, 1e3 * verdict->their_joules);
    else if (row->fate == MMT_FATE_TAKEN)
        snprintf(out, 40, "%.3f", verdict->theirs / verdict->ours);
    else if (row->fate == MMT_FATE_SLOWER)
        snprintf(out, 40, "library faster");
    else if (row->it->call.client == MMT_CLIENT_MMTUNE)
        snprintf(out, 40, "%s", row->tuned ? "tuned" : "not tuned");
    else if (row->each > 0 && row->expected > 0)
        snprintf(out, 40, "%s, %.2f expected",
                 row->fate == MMT_FATE_STALE ? "void" : "not tuned",
                 row->each / row->expected);
    else
        snprintf(out, 40, "%s", row->fate == MMT_FATE_STALE ? "void" : "not tuned");
}

/* "cublas, beta: 120 taken, 4 plan not ready". */
static void add_fates(const struct mmt_recorded *it, struct mmt_text *text)
{
    const char *between = ": ";
    mmt_call_print_caller(&it->call, text);
    for (int i = 0; i < MMT_NUM_FATES; i++)
        if (it->fates[i]) {
            mmt_text_addf(text, "%s%" PRId64 " %s", between, it->fates[i],
                          mmt_fate_name(i));
            between = ", ";
        }
}

static void add_row(const struct mmt_recorded_row *row, double all, struct mmt_text *text)
{
    char share[16] = "-", time[32] = "-", each[32] = "-", verdict[40];
    if (row->each > 0) {
        snprintf(share, sizeof share, "%.1f %%", 100 * seconds_of(row) / all);
        mmt_print_seconds(seconds_of(row), time);
        mmt_print_seconds(row->each, each);
    }
    print_verdict(row, verdict);
    mmt_text_addf(text, "%8s %10s %10" PRId64 " %9s  %-26s ", share, time,
                  mmt_recorded_calls(row->it), each, verdict);
    mmt_problem_print(&row->it->call.problem, text);
    mmt_text_add(text, "  (");
    add_fates(row->it, text);
    mmt_text_add(text, ")\n");
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void add_sum(const struct mmt_recorded_sum *sum, struct mmt_text *text)
{
    char time[32], saved[32];
    mmt_text_addf(text, "%" PRId64 " calls", sum->calls);
    if (sum->seconds > 0)
        mmt_text_addf(text, ", %s in the library", mmt_print_seconds(sum->seconds, time));
    if (sum->untimed)
        mmt_text_addf(text, ", %" PRId64 " of unknown time", sum->untimed);
    mmt_text_add(text, "\n");
    if (sum->taken)
        mmt_text_addf(text,
                      "taken over: %" PRId64 " calls (%.1f %%), %.1f %% of the time; "
                      "saved %s\n",
                      sum->taken, percent((double) sum->taken, (double) sum->calls),
                      percent(sum->taken_seconds, sum->seconds),
                      mmt_print_seconds(sum->saved, saved));
    if (sum->given > 0)
        mmt_text_addf(text, "verdicts for ours would save %s (%.1f %%) of the others\n",
                      mmt_print_seconds(sum->given, saved),
                      percent(sum->given, sum->seconds));
    if (sum->promised > 0)
        mmt_text_addf(text,
                      "tuning what has no verdict may save %s (%.1f %%), as times are "
                      "expected\n",
                      mmt_print_seconds(sum->promised, saved),
                      percent(sum->promised, sum->seconds));
}

/* Where the time of those goes whose time is known, from whole to least. */
static void add_parts(const struct mmt_recorded_sum *sum, double bandwidth,
                      struct mmt_text *text)
{
    char best[32], bytes[32], limit[32], left[32], gaps[32];
    if (sum->limit > 0)
        mmt_text_addf(text,
                      "where it goes: %s by the faster of both; %s for the bytes at %.3g "
                      "GB/s, %s at the roofline; %s (%.1f %%) is left above that\n",
                      mmt_print_seconds(sum->best, best),
                      mmt_print_seconds(sum->bytes, bytes), bandwidth / 1e9,
                      mmt_print_seconds(sum->limit, limit),
                      mmt_print_seconds(fmax(sum->best - sum->limit, 0), left),
                      percent(fmax(sum->best - sum->limit, 0), sum->best));
    if (sum->gaps > 0)
        mmt_text_addf(
            text,
            "between products: %s at least, for other kernels, launches and the "
            "host\n",
            mmt_print_seconds(sum->gaps, gaps));
}

void mmt_recorded_print_table(const struct mmt_recorded_view *view, size_t most,
                              struct mmt_text *text)
{
    const struct mmt_recorded_sum sum = mmt_recorded_add_up(view);
    const size_t count = view->recording.count;
    const size_t shown = most && most < count ? most : count;
    mmt_text_addf(text, "%8s %10s %10s %9s  %-26s %s\n", "share", "time", "calls", "each",
                  "speed-up", "call");
    for (size_t i = 0; i < shown; i++) {
        const struct mmt_recorded_row row =
            mmt_recorded_judge(view, &view->recording.list[i]);
        add_row(&row, sum.seconds, text);
    }
    if (shown < count)
        mmt_text_addf(text, "and %zu more kinds of calls\n", count - shown);
    add_sum(&sum, text);
    add_parts(&sum, roofline_of(view).bandwidth, text);
}

/* ---- for programs ---------------------------------------------------------------- */

static json_t *fates_json(const struct mmt_recorded *it)
{
    json_t *json = json_object();
    for (int i = 0; i < MMT_NUM_FATES; i++)
        if (it->fates[i])
            json_object_set_new(json, mmt_fate_name(i), json_integer(it->fates[i]));
    return json;
}

static json_t *row_json(const struct mmt_recorded_row *row)
{
    json_t *json = json_pack(
        "{s:o, s:s, s:b, s:s, s:I, s:I, s:I, s:s, s:I, s:o, s:s}", "problem",
        mmt_problem_json(&row->it->call.problem), "client",
        mmt_client_name(row->it->call.client), "adds", row->it->call.adds, "compute",
        mmt_compute_name(row->it->call.compute), "alignment_bytes",
        (json_int_t) row->it->call.alignment, "workspace_bytes",
        (json_int_t) row->it->call.workspace, "most_workspace_bytes",
        (json_int_t) row->it->call.most_workspace, "library", row->it->library, "calls",
        (json_int_t) mmt_recorded_calls(row->it), "fates", fates_json(row->it), "verdict",
        row->fate == MMT_FATE_TAKEN ? "ours" : mmt_fate_name(row->fate));
    if (row->each > 0) {
        json_object_set_new(json, "each_us", json_real(row->each * 1e6));
        json_object_set_new(json, "time_us", json_real(seconds_of(row) * 1e6));
    }
    if (row->it->gap > 0)
        json_object_set_new(json, "gap_us", json_real(row->it->gap * 1e6));
    if (row->it->saved > 0)
        json_object_set_new(json, "saved_us", json_real(row->it->saved * 1e6));
    if (row->verdict) {
        json_object_set_new(json, "speedup",
                            json_real(row->verdict->theirs / row->verdict->ours));
        mmt_verdict_add_energy(row->verdict, json);
    }
    json_object_set_new(json, "tuned", json_boolean(row->tuned));
    if (row->expected > 0)
        json_object_set_new(json, "expected_us", json_real(row->expected * 1e6));
    return json;
}

json_t *mmt_recorded_json(const struct mmt_recorded_view *view)
{
    const struct mmt_recorded_sum sum = mmt_recorded_add_up(view);
    json_t *calls = json_array();
    for (size_t i = 0; i < view->recording.count; i++) {
        const struct mmt_recorded_row row =
            mmt_recorded_judge(view, &view->recording.list[i]);
        json_array_append_new(calls, row_json(&row));
    }
    return json_pack(
        "{s:s, s:o, s:{s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}}",
        "file", mmt_text_string(&view->path), "calls", calls, "sum", "calls",
        (json_int_t) sum.calls, "taken", (json_int_t) sum.taken, "untimed",
        (json_int_t) sum.untimed, "time_us", sum.seconds * 1e6, "taken_us",
        sum.taken_seconds * 1e6, "saved_us", sum.saved * 1e6, "given_us", sum.given * 1e6,
        "promised_us", sum.promised * 1e6, "faster_us", sum.best * 1e6, "bytes_us",
        sum.bytes * 1e6, "roofline_us", sum.limit * 1e6, "gaps_us", sum.gaps * 1e6);
}

/* ---- a run ----------------------------------------------------------------------- */

/* Cards of one name share a recording: the first of them tells it. */
static bool is_first(const struct mmt_device_info *list, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(list[i].caps.backend, list[at].caps.backend) &&
            !strcmp(list[i].caps.name, list[at].caps.name))
            return false;
    return true;
}

static int64_t print_device(const struct mmt_device_info *info, const char *run,
                            size_t most, struct mmt_text *text)
{
    struct mmt_recorded_view view = { .caps = info->caps, .f32_mode = MMT_F32_STRICT };
    mmt_error err;
    int64_t calls = 0;
    if (!open_view(info->id, NULL, run, &view, &err))
        calls = mmt_recorded_add_up(&view).calls;
    if (calls) {
        mmt_text_addf(text, "%s (%s):\n", info->caps.name, info->id);
        mmt_recorded_print_table(&view, most, text);
    }
    mmt_recorded_close(&view);
    return calls;
}

int64_t mmt_recorded_print_run(const char *run, size_t most, struct mmt_text *text)
{
    struct mmt_device_info *list = NULL;
    size_t count = 0;
    int64_t calls = 0;
    if (mmt_device_list(&list, &count, NULL, NULL))
        return 0;
    for (size_t i = 0; i < count; i++)
        if (is_first(list, i))
            calls += print_device(&list[i], run, most, text);
    free(list);
    return calls;
}
