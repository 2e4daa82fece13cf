/* What a run says: a line that changes on a terminal, plain lines elsewhere, or events as
 * lines of JSON. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "tuner/bench/yardstick.h"
#include "tuner/tune/deal.h"
#include "tuner/tune/messages.h"

/* Seconds between two lines of progress, on a terminal and elsewhere. */
static const double on_terminal = 0.1, elsewhere = 10;

/* ---- pieces ---------------------------------------------------------------------- */

void mmt_message_emit(json_t *event)
{
    json_dumpf(event, stdout, JSON_COMPACT);
    printf("\n");
    fflush(stdout);
    json_decref(event);
}

char *mmt_message_problem(const mmt_problem *problem)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(problem, &text);
    return text.data;
}

char *mmt_message_config(const struct mmt_config *config)
{
    struct mmt_text text = { 0 };
    mmt_config_print(config, &text);
    return text.data;
}

/* Takes the changing line away. */
void mmt_message_clear_line(const struct mmt_run *run)
{
    if (isatty(1) && !run->options.json)
        printf("\r\033[K");
}

static double rate_of(const mmt_problem *problem, double seconds)
{
    return mmt_problem_flops(problem) / seconds;
}

static const char *time_left(const struct mmt_run *run, char out[32])
{
    double left = fmax(run->clock.finish - mmt_now(), 0),
           budget = run->options.budget.seconds;
    if (!isfinite(left) && budget > 0) /* it has not begun */
        left = budget;
    if (isfinite(left))
        snprintf(out, 32, "%d:%02d left", (int) left / 60, (int) left % 60);
    else
        snprintf(out, 32, "%lld tries left",
                 (long long) (run->clock.candidates_left > 0 ? run->clock.candidates_left
                                                             : 0));
    return out;
}

static const char *print_percent(double part, char out[32])
{
    out[0] = 0;
    if (part > 0)
        snprintf(out, 32, " (%.0f %% of roofline)", 100 * part);
    return out;
}

/* ---- the beginning --------------------------------------------------------------- */

static json_t *problem_list(const struct mmt_run *run)
{
    json_t *list = json_array();
    for (int i = 0; i < run->goals.all; i++) {
        char *text = mmt_message_problem(&run->goals.list[i]);
        json_array_append_new(list, json_string(text));
        free(text);
    }
    return list;
}

static void say_budget(const struct mmt_run *run)
{
    const struct mmt_budget *budget = &run->options.budget;
    if (!run->goals.count)
        printf("this shard has none of the problems\n");
    else if (budget->seconds > 0)
        printf("budget: %.0f seconds for %d problem%s, about %.0f for each\n",
               budget->seconds, run->goals.count, run->goals.count == 1 ? "" : "s",
               budget->seconds / run->goals.count);
    else
        printf("budget: %lld candidates for %d problem%s\n",
               (long long) budget->candidates, run->goals.count,
               run->goals.count == 1 ? "" : "s");
}

static void say_goals(const struct mmt_run *run)
{
    for (int i = 0; i < run->goals.count; i++) {
        char *text = mmt_message_problem(&run->goals.list[i]);
        printf("  %s\n", text);
        free(text);
    }
}

/* A CPU computes with what others leave it; a GPU waits longer for what is compiled. */
static void tell_load(struct mmt_run *run)
{
    const int processors = mmt_processor_count();
    if (!run->device.busy)
        return;
    mmt_report_note(run, "load %.0f on %d processor%s: %s", run->device.load, processors,
                    processors == 1 ? "" : "s",
                    run->device.caps.kind == MMT_CPU
                        ? "times will be doubtful; they are marked, and taken anew by a "
                          "run on a quiet machine"
                        : "compiling will take longer, and fewer kernels are tried");
}

/* What a person waits for until mmt_report_start. */
void mmt_report_prepare(struct mmt_run *run)
{
    if (run->options.json)
        return;
    tell_load(run);
    printf("preparing %s, some seconds: opening it, %s\n", run->device.caps.name,
           run->files.profile->roofline.bandwidth > 0
               ? "compiling the first candidates"
               : "compiling and timing probes of its roofline");
    fflush(stdout);
}

void mmt_report_start(struct mmt_run *run)
{
    size_t known;
    mmt_journal_records(run->files.journal, &known);
    if (run->options.json) {
        mmt_message_emit(json_pack(
            "{s:s, s:s, s:s, s:o, s:i, s:f, s:I, s:s, s:I}", "event", "start", "device",
            run->device.caps.name, "id", run->device.id, "problems", problem_list(run),
            "units", mmt_tune_count_units(run), "seconds", run->options.budget.seconds,
            "candidates", (json_int_t) run->options.budget.candidates, "profile",
            run->files.path, "known", (json_int_t) known));
        tell_load(run);
        mmt_report_journal(run);
        return;
    }
    struct mmt_text peak = { 0 };
    const struct mmt_roofline *r = &run->limits.roofline;
    printf("device: %s (%s)", run->device.caps.name, run->device.id);
    mmt_roofline_print(r->peak_flops[MMT_F32], r->peak_spread[MMT_F32], MMT_F32, &peak);
    if (r->peak_flops[MMT_F32] > 0)
        printf(", f32 roofline %s", mmt_text_string(&peak));
    mmt_text_finish(&peak);
    if (r->bandwidth > 0)
        printf(", memory %.0f GB/s", r->bandwidth / 1e9);
    if (r->bandwidth_spread > 0)
        printf(" (spread %.1f %%)", 100 * r->bandwidth_spread);
    printf("\nworkers: 1 that measures, %d that compile%s\n", run->pool.count - 1,
           run->pool.shared ? " while it rests" : "");
    say_budget(run);
    say_goals(run);
    if (known)
        printf("going on from %zu results in %s\n", known,
               mmt_journal_path(run->files.journal));
    mmt_report_journal(run);
    fflush(stdout);
}

void mmt_report_journal(struct mmt_run *run)
{
    const char *notes = mmt_journal_notes(run->files.journal) + run->files.told;
    if (!*notes || run->options.quiet)
        return;
    const int length = (int) strlen(notes) - 1; /* without the last line's end */
    run->files.told += (size_t) length + 1;
    mmt_report_note(run, "%.*s", length, notes);
}

static void add_place(const struct mmt_run *run, struct mmt_text *line)
{
    mmt_text_addf(line, "[%d/%d] ", run->goals.at + 1, run->goals.count);
}

void mmt_report_default(const struct mmt_run *run)
{
    char *text = mmt_message_problem(&run->goals.list[0]);
    if (run->options.json)
        mmt_message_emit(json_pack("{s:s, s:f, s:s}", "event", "default", "elapsed",
                                   mmt_now() - run->clock.started, "problem", text));
    else
        printf("timing first what programs get for %s without this run\n", text);
    fflush(stdout);
    free(text);
}

void mmt_report_problem(struct mmt_run *run)
{
    char *text = mmt_message_problem(mmt_tune_current(run));
    run->clock.last_status = mmt_now();
    if (run->options.json) {
        mmt_message_emit(json_pack("{s:s, s:f, s:s, s:i, s:i}", "event", "problem",
                                   "elapsed", mmt_now() - run->clock.started, "problem",
                                   text, "number", run->goals.at + 1, "of",
                                   run->goals.count));
    } else if (!isatty(1)) {
        struct mmt_text line = { 0 };
        add_place(run, &line);
        printf("%s%s\n", mmt_text_string(&line), text);
        fflush(stdout);
        mmt_text_finish(&line);
    }
    free(text);
}

int mmt_terminal_width(void)
{
    struct winsize size = { 0 };
    return ioctl(1, TIOCGWINSZ, &size) || size.ws_col < 20 ? 80 : size.ws_col;
}

/* ---- on the way ------------------------------------------------------------------ */

/* As an event; on a terminal or in a file, only what is wrong or fails is worth a line.
 */
static void tell_result(struct mmt_run *run, const char *event_name,
                        const struct mmt_record *record, double best)
{
    const struct mmt_result *r = &record->result;
    bool bad = r->outcome != MMT_TIMED && r->outcome != MMT_SKIPPED;
    if (run->options.quiet || (!run->options.json && !bad))
        return;
    char *config = mmt_message_config(&record->config),
         *problem = mmt_message_problem(&record->problem);
    if (run->options.json) {
        json_t *event =
            json_pack("{s:s, s:f, s:s, s:s, s:s}", "event", event_name, "elapsed",
                      mmt_now() - run->clock.started, "problem", problem, "configuration",
                      config, "status", mmt_outcome_name(r->outcome));
        if (*r->reason)
            json_object_set_new(event, "reason", json_string(r->reason));
        if (r->outcome == MMT_TIMED && !record->whole)
            json_object_set_new(event, "seconds", json_real(r->time.median));
        if (*r->throttled)
            json_object_set_new(event, "throttled", json_string(r->throttled));
        if (isfinite(best))
            json_object_set_new(event, "best", json_real(best));
        mmt_message_emit(event);
    } else {
        mmt_message_clear_line(run);
        printf("%s: %s%s%s\n  %.*s\n", mmt_outcome_name(r->outcome), config,
               record->whole ? ", verified at " : "", record->whole ? problem : "",
               (int) strcspn(r->reason, "\n"), r->reason);
    }
    free(config);
    free(problem);
}

void mmt_report_cache(struct mmt_run *run)
{
    if (run->pool.cache_told || !*run->pool.cache)
        return;
    run->pool.cache_told = true;
    if (run->options.json) {
        mmt_message_emit(json_pack("{s:s, s:f, s:s}", "event", "cache", "elapsed",
                                   mmt_now() - run->clock.started, "text",
                                   run->pool.cache));
        return;
    }
    mmt_message_clear_line(run);
    fflush(stdout);
    fprintf(stderr, "mmtune: %s\n", run->pool.cache);
}

void mmt_report_health(struct mmt_run *run, const struct mmt_result *result)
{
    bool first = *result->throttled && !run->device.health.throttled;
    mmt_report_cache(run);
    mmt_tune_note_health(&run->device.health, result);
    if (first && !strcmp(result->throttled, MMT_BUSY) && run->device.busy)
        return; /* that was said at the start */
    if (first && !strcmp(result->throttled, MMT_BUSY))
        mmt_report_note(run, "other work takes a part of the processors: what is timed "
                             "meanwhile is marked as doubtful");
    else if (first)
        mmt_report_note(run,
                        "the device is throttled (%s; %.0f MHz, %.0f degrees Celsius): "
                        "what is timed meanwhile may take longer",
                        result->throttled, result->clock_mhz, result->celsius);
}

void mmt_report_result(struct mmt_run *run, const struct mmt_record *record, double best)
{
    mmt_report_health(run, &record->result);
    mmt_report_journal(run);
    tell_result(run, "result", record, best);
}

void mmt_report_whole(struct mmt_run *run, const struct mmt_record *record)
{
    tell_result(run, "verified", record, INFINITY);
}

static void show_line(struct mmt_run *run, const struct mmt_text *line)
{
    run->clock.last_status = mmt_now();
    if (isatty(1))
        printf("\r\033[K%.*s", mmt_terminal_width() - 1, mmt_text_string(line));
    else
        printf("%s\n", mmt_text_string(line));
    fflush(stdout);
}

static bool is_time_for_a_line(const struct mmt_run *run)
{
    return !run->options.json && !run->options.quiet &&
           mmt_now() - run->clock.last_status >= (isatty(1) ? on_terminal : elsewhere);
}

void mmt_report_law_time(struct mmt_run *run, const struct mmt_record *record)
{
    struct mmt_text line = { 0 };
    char left[32];
    mmt_report_health(run, &record->result);
    tell_result(run, "calibration", record, INFINITY);
    if (!is_time_for_a_line(run))
        return;
    mmt_text_addf(&line, "%s, what kernels cost on other shapes: ", time_left(run, left));
    mmt_problem_print(&record->problem, &line);
    show_line(run, &line);
    mmt_text_finish(&line);
}

/* What is short stands first: a terminal's width cuts the line off. */
static void add_status(struct mmt_run *run, const struct mmt_config *trying, double best,
                       struct mmt_text *line)
{
    const mmt_problem *problem = mmt_tune_current(run);
    char buffer[32];
    char *name = mmt_message_problem(problem);
    add_place(run, line);
    mmt_text_addf(line, "%s, %s: ", time_left(run, buffer), strchr(name, ' ') + 1);
    free(name);
    if (isfinite(best))
        mmt_text_addf(line, "best %s (%.0f %%), ", mmt_print_speed(problem, best, buffer),
                      100 * mmt_tune_roofline(run, problem) / best);
    mmt_text_addf(line, "%d tried, %d skipped, %d wrong, %d failed", run->counts.tried,
                  run->counts.skipped, run->counts.wrong, run->counts.failed);
    if (!trying)
        return;
    char *config = mmt_message_config(trying);
    mmt_text_addf(line, ", trying %s", config);
    free(config);
}

void mmt_report_status(struct mmt_run *run, const struct mmt_config *trying, double best)
{
    struct mmt_text line = { 0 };
    if (!is_time_for_a_line(run))
        return;
    if (!trying && mmt_now() - run->clock.last_status < 1) /* nothing new but the time */
        return;
    add_status(run, trying, best, &line);
    show_line(run, &line);
    mmt_text_finish(&line);
}

void mmt_report_winner(struct mmt_run *run, const struct mmt_record *winner)
{
    const struct mmt_timing *time = &winner->result.time;
    char *config = mmt_message_config(&winner->config),
         *problem = mmt_message_problem(&winner->problem);
    char buffer[32], part[32], seconds[32];
    double share = mmt_tune_roofline(run, &winner->problem) / time->median;
    const char *throttled = winner->result.throttled;
    if (run->options.json) {
        json_t *event = json_pack(
            "{s:s, s:f, s:s, s:s, s:f, s:f, s:f, s:f}", "event", "winner", "elapsed",
            mmt_now() - run->clock.started, "problem", problem, "configuration", config,
            "seconds", time->median, "spread", time->spread, "gflops",
            rate_of(&winner->problem, time->median) / 1e9, "roofline", share);
        if (*throttled)
            json_object_set_new(event, "throttled", json_string(throttled));
        mmt_message_emit(event);
    } else {
        mmt_message_clear_line(run);
        printf("%s: %s, %s%s%s%s: %s\n", problem,
               mmt_print_seconds(time->median, seconds),
               mmt_print_speed(&winner->problem, time->median, buffer),
               print_percent(share, part), *throttled ? ", throttled: " : "", throttled,
               config);
        fflush(stdout);
    }
    free(config);
    free(problem);
}

void mmt_report_yardstick(const struct mmt_run *run, const struct mmt_entry *entry)
{
    const struct mmt_yardstick *it = &entry->yardstick;
    char *problem = mmt_message_problem(&entry->problem);
    json_t *event = json_pack("{s:s, s:f, s:s}", "event", "yardstick", "elapsed",
                              mmt_now() - run->clock.started, "problem", problem);
    free(problem);
    if (run->library.why[0])
        json_object_set_new(event, "reason", json_string(run->library.why));
    if (mmt_tune_has_yardstick(run, entry)) {
        json_object_set_new(event, "library", json_string(it->library));
        json_object_set_new(event, "seconds", json_real(it->ours));
        json_object_set_new(event, "first", json_real(it->first));
    }
    if (mmt_tune_has_yardstick(run, entry) && it->best > 0)
        json_object_set_new(event, "best", json_real(it->best));
    if (run->options.json && !run->options.quiet)
        mmt_message_emit(event);
    else
        json_decref(event);
}

void mmt_report_note(struct mmt_run *run, const char *format, ...)
{
    char text[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (run->options.json) {
        mmt_message_emit(json_pack("{s:s, s:s}", "event", "note", "text", text));
        return;
    }
    mmt_message_clear_line(run);
    printf("%s\n", text);
    fflush(stdout);
}
