/* What a run says at its end: winners, how they compare with the vendor's library, and
 * where things are. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tuner/bench/yardstick.h"
#include "tuner/common/table_data.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/messages_verdicts.h"
#include "tuner/tune/phases.h"

static void add_row(const struct mmt_entry *e, struct mmt_table *table)
{
    char time[32], rate[32];
    struct mmt_text row = { 0 };
    mmt_problem_print(&e->problem, &row);
    mmt_text_addf(&row, "\t%s\t%s", mmt_print_seconds(e->time.median, time),
                  mmt_print_speed(&e->problem, e->time.median, rate));
    mmt_text_addf(&row, e->roofline > 0 ? "\t%.0f\t" : "\t-\t", 100 * e->roofline);
    mmt_text_addf(&row, e->naive > 0 ? "%.1f\t" : "-\t", e->naive / e->time.median);
    mmt_config_print(&e->config, &row);
    mmt_table_take(table, &row);
}

static void print_table(const struct mmt_run *run)
{
    struct mmt_table table =
        mmt_table_of("", "problem\t>time\t>rate\t>% roof\t>x naive\tconfiguration");
    table.columns[0].most = 34;
    for (int i = 0; i < run->goals.count; i++) {
        const struct mmt_entry *entry = mmt_tune_winner(run, &run->goals.list[i]);
        if (entry)
            add_row(entry, &table);
    }
    printf("\n");
    mmt_table_print(&table, stdout);
    mmt_table_free(&table);
}

/* Of the goals' records those of this library and driver. */
static struct mmt_standing standing_of(const struct mmt_run *run)
{
    struct mmt_standing standing = { 0 };
    for (int i = 0; i < run->goals.count; i++) {
        const struct mmt_entry *entry = mmt_tune_winner(run, &run->goals.list[i]);
        if (entry && mmt_tune_has_yardstick(run, entry))
            mmt_standing_add(&standing, entry);
    }
    return standing;
}

static void emit_library(const struct mmt_run *run, const struct mmt_standing *standing)
{
    const char *title = mmt_yardstick_of(&run->device.caps)->title;
    json_t *event = json_pack("{s:s, s:f, s:s, s:i, s:i}", "event", "library", "elapsed",
                              mmt_now() - run->clock.started, "library",
                              run->library.name[0] ? run->library.name : title,
                              "problems", standing->count, "slower", standing->slower);
    if (run->library.why[0]) {
        json_object_set_new(event, "missing", json_boolean(run->library.missing));
        json_object_set_new(event, "reason", json_string(run->library.why));
    }
    if (standing->count) {
        char *worst = mmt_message_problem(standing->worst_problem);
        json_object_set_new(event, "speedup", json_real(mmt_standing_mean(standing)));
        json_object_set_new(event, "worst", json_real(standing->worst));
        json_object_set_new(event, "worst_problem", json_string(worst));
        free(worst);
    }
    mmt_message_emit(event);
}

static void print_library(const struct mmt_run *run, const struct mmt_standing *standing)
{
    const char *title = mmt_yardstick_of(&run->device.caps)->title;
    struct mmt_text text = { 0 };
    if (standing->count) {
        mmt_standing_print(standing, &text);
        printf("%s\n", mmt_text_string(&text));
    }
    if (run->library.missing)
        printf("%s was not found; its times are not beside ours\n", title);
    else if (run->library.why[0])
        printf("%s was asked no more: %s\n", title, run->library.why);
    mmt_text_finish(&text);
}

/* How the goals compare with the vendor's library, or why they do not. */
static void report_library(const struct mmt_run *run)
{
    const struct mmt_standing standing = standing_of(run);
    if (!run->library.name[0] && !run->library.why[0])
        return;
    if (run->options.json)
        emit_library(run, &standing);
    else
        print_library(run, &standing);
}

/* Whether the run had goals of that type, and too few times for its other shapes. */
static bool lacks_model(const struct mmt_run *run, mmt_type type)
{
    const mmt_type family = mmt_type_family(type);
    bool meant = false;
    for (int i = 0; i < run->goals.count; i++)
        meant |= run->goals.list[i].op == MMT_GEMM && run->goals.list[i].type == type;
    return meant && !mmt_profile_model(run->files.profile, family) &&
           !(run->files.layers && mmt_profile_model(run->files.layers, family));
}

static void print_unserved(const struct mmt_run *run)
{
    struct mmt_text types = { 0 };
    for (int i = 0; i < MMT_NUM_TYPES; i++)
        if (lacks_model(run, (mmt_type) i))
            mmt_text_addf(&types, "%s%s", types.length ? ", " : "",
                          mmt_type_name((mmt_type) i));
    if (types.length)
        printf(
            "for other shapes of %s the run adds nothing: that takes times of %d shapes; "
            "a longer --budget goes on from here\n",
            mmt_text_string(&types), MMT_FEWEST_SHAPES);
    mmt_text_finish(&types);
}

void mmt_report_end(struct mmt_run *run)
{
    const struct mmt_counts *c = &run->counts;
    bool interrupted = mmt_pool_interrupts() > 0;
    if (run->options.json) {
        report_library(run);
        mmt_report_verdicts(run);
        mmt_message_emit(json_pack(
            "{s:s, s:f, s:b, s:i, s:i, s:i, s:i, s:i, s:i, s:s}", "event", "end",
            "elapsed", mmt_now() - run->clock.started, "interrupted", interrupted,
            "tried", c->tried, "skipped", c->skipped, "wrong", c->wrong, "failed",
            c->failed, "killed", run->pool.killed, "throttled",
            run->device.health.throttled, "profile", run->files.path));
        return;
    }
    mmt_message_clear_line(run);
    print_table(run);
    printf("\n%d tried, %d skipped, %d wrong, %d failed, in %.0f seconds%s\n", c->tried,
           c->skipped, c->wrong, c->failed, mmt_now() - run->clock.started,
           interrupted ? ", interrupted: the same command goes on" : "");
    if (!run->options.recorded)
        print_unserved(run);
    report_library(run);
    mmt_report_verdicts(run);
    if (run->pool.killed)
        printf(
            "%d worker%s killed from outside; what %s doing was done again, or will be\n",
            run->pool.killed, run->pool.killed == 1 ? " was" : "s were",
            run->pool.killed == 1 ? "it was" : "they were");
    if (run->device.health.throttled)
        printf("the device was throttled while %d results were taken: %s\n",
               run->device.health.throttled, run->device.health.by);
    printf("profile: %s\njournal: %s\n", run->files.path,
           mmt_journal_path(run->files.journal));
    printf("use it:  cc prog.c $(pkg-config --cflags --libs mmtune)\n");
    fflush(stdout);
}
