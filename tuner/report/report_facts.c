/* The tables of a report about the device, how it kept, and what became of candidates. */
#include <math.h>

#include "tuner/report/diff.h"
#include "tuner/report/report.h"

#define COLUMNS(array) array, (int) (sizeof array / sizeof *array)

/* ---- the device ----------------------------------------------------------------------
 */

/* Finishes the value. */
static void add_fact(struct mmt_table *table, const char *name, struct mmt_text *value)
{
    if (value->length)
        mmt_table_add(table, (struct mmt_cell[]){ MMT_WORD(name),
                                                  MMT_WORD(mmt_text_string(value)) });
    mmt_text_finish(value);
}

struct mmt_table mmt_report_make_facts(const struct mmt_report *report,
                                       struct mmt_text *text)
{
    const struct mmt_profile *profile = report->profile;
    struct mmt_table table = mmt_table_of("", "fact\tvalue");
    struct mmt_text value = { 0 };
    (void) text;
    for (size_t i = 0; i < mmt_diff_num_facts; i++) {
        mmt_diff_facts[i].add(profile, &value);
        add_fact(&table, mmt_diff_facts[i].name, &value);
    }
    if (*profile->citation)
        return table;
    mmt_text_addf(&value, "%d tried, %d skipped, %d wrong, %d failed",
                  profile->made.tried, profile->made.skipped, profile->made.wrong,
                  profile->made.failed);
    add_fact(&table, "candidates", &value);
    if (profile->made.budget > 0)
        mmt_text_addf(&value, "%.4g s", profile->made.budget);
    add_fact(&table, "budget", &value);
    return table;
}

/* ---- clock and temperature ------------------------------------------------------------
 */

static void say_health(const struct mmt_made_health *health, struct mmt_text *text)
{
    if (health->fastest > 0)
        mmt_text_addf(text, "The clock was between %.0f and %.0f MHz", health->slowest,
                      health->fastest);
    if (health->hottest > 0)
        mmt_text_addf(text, "%s, at most %.0f degrees Celsius",
                      text->length ? "" : "The device was", health->hottest);
    if (text->length)
        mmt_text_addf(text, "; %d results were taken while it was throttled%s%s.",
                      health->throttled, health->throttled ? ": " : "", health->by);
    else
        mmt_text_add(text, "The device tells neither its clock nor its temperature.");
}

/* As many points as a plot has room for: the hottest and slowest of each part. */
struct mmt_table mmt_report_make_health(const struct mmt_report *report,
                                        struct mmt_text *text)
{
    static const struct mmt_column columns[] = {
        { "elapsed", "s", 4 },
        { "slowest clock", "MHz", 0 },
        { "temperature", "degrees C", 0 },
        { "throttled by", "", 0 },
    };
    enum { POINTS = 400 };
    struct mmt_table table = mmt_table_start("", COLUMNS(columns));
    size_t count = 0;
    const struct mmt_record *records =
        report->journal ? mmt_journal_records(report->journal, &count) : NULL;
    const size_t each = count / POINTS + 1;
    for (size_t first = 0; first < count; first += each) {
        double clock = INFINITY, celsius = 0;
        const char *by = "";
        for (size_t i = first; i < count && i < first + each; i++) {
            const struct mmt_result *it = &records[i].result;
            clock = it->clock_mhz > 0 ? fmin(clock, it->clock_mhz) : clock;
            celsius = fmax(celsius, it->celsius);
            by = it->throttled[0] ? it->throttled : by;
        }
        if (clock < INFINITY || celsius > 0)
            mmt_table_add(&table,
                          (struct mmt_cell[]){
                              MMT_NUMBER(records[first].at - records[0].at),
                              MMT_NUMBER(clock < INFINITY ? clock : NAN),
                              MMT_NUMBER(celsius > 0 ? celsius : NAN), MMT_WORD(by) });
    }
    say_health(&report->profile->made.health, text);
    return table;
}

/* ---- outcomes -------------------------------------------------------------------------
 */

struct mmt_table mmt_report_make_results(const struct mmt_report *report,
                                         struct mmt_text *text)
{
    static const struct mmt_column columns[] = {
        { "outcome", "", 0 },
        { "results", "", 0 },
        { "for example", "", 0 },
    };
    struct mmt_table table = mmt_table_start("", COLUMNS(columns));
    size_t count = 0, wholes = 0;
    const struct mmt_record *records =
        report->journal ? mmt_journal_records(report->journal, &count) : NULL;
    for (int outcome = MMT_TIMED; outcome <= MMT_KILLED; outcome++) {
        const char *example = "";
        int results = 0;
        for (size_t i = 0; i < count; i++) {
            if ((int) records[i].result.outcome != outcome)
                continue;
            results++;
            example = *example ? example : records[i].result.reason;
        }
        if (results)
            mmt_table_add(&table,
                          (struct mmt_cell[]){ MMT_WORD(mmt_outcome_name(outcome)),
                                               MMT_NUMBER(results), MMT_WORD(example) });
    }
    if (!count) {
        mmt_text_addf(text,
                      "There is no journal beside the profile. By the profile %d "
                      "candidates were tried: %d computed wrongly, %d failed.",
                      report->profile->made.tried, report->profile->made.wrong,
                      report->profile->made.failed);
        return table;
    }
    mmt_journal_wholes(report->journal, &wholes);
    mmt_text_addf(text,
                  "Each candidate's answers are checked before its time counts; %zu "
                  "winners passed every check.",
                  wholes);
    return table;
}
