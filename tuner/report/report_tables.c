/* The tables of a report that follow from a profile, its journal's order in time, and a
 * recording. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/measure/roofline.h"
#include "tuner/report/report.h"

#define COLUMNS(array) array, (int) (sizeof array / sizeof *array)

static const char *transposes_of(const mmt_problem *problem)
{
    static const char *const words[] = { "nn", "nt", "tn", "tt" };
    return words[2 * !!problem->trans_a + !!problem->trans_b];
}

/* ---- every problem beside the roofline ----------------------------------------------
 */

static double limit_of(const struct mmt_report *report, const mmt_problem *problem)
{
    const double seconds = mmt_roofline_seconds(&report->profile->roofline, problem);
    return seconds > 0 ? seconds : NAN;
}

static void add_problem(const struct mmt_report *report, const struct mmt_row *row,
                        struct mmt_table *table)
{
    const mmt_problem *problem = row->problem;
    const double flops = mmt_problem_flops(problem), bytes = mmt_problem_bytes(problem),
                 limit = limit_of(report, problem);
    struct mmt_text name = { 0 };
    mmt_problem_print(problem, &name);
    mmt_table_add(
        table,
        (struct mmt_cell[]){
            MMT_WORD(mmt_text_string(&name)), MMT_WORD(mmt_type_name(problem->type)),
            MMT_NUMBER(flops / bytes), MMT_NUMBER(flops / row->seconds / 1e9),
            MMT_NUMBER(flops / limit / 1e9), MMT_NUMBER(100 * limit / row->seconds),
            MMT_NUMBER(1e6 * row->seconds),
            MMT_NUMBER(row->spread > 0 ? 1e6 * row->spread : NAN),
            MMT_WORD(row->config.template ? row->config.template->name : row->name),
            MMT_WORD(row->name) });
    mmt_text_finish(&name);
}

static struct mmt_table make_problems(const struct mmt_report *report,
                                      struct mmt_text *text)
{
    static const struct mmt_column columns[] = {
        { "problem", "", 0 },
        { "type", "", 0 },
        { "intensity", "FLOP/byte", 4 },
        { "speed", "GFLOP/s", 4 },
        { "roofline", "GFLOP/s", 4 },
        { "of the roofline", "%", 3 },
        { "time", "us", 4 },
        { "spread", "us", 3 },
        { "template", "", 0 },
        { "kernel", "", 0 },
    };
    struct mmt_table table = mmt_table_start("", COLUMNS(columns));
    struct mmt_rows const *rows = &report->rows;
    for (size_t first = 0; first < rows->count;) {
        const struct mmt_group group = mmt_rows_group(rows, first);
        add_problem(report, mmt_group_best(&group), &table);
        first += group.count;
    }
    mmt_text_add(text, table.num_rows
                           ? "Each problem's best kernel. A point on its type's line is "
                             "as fast as memory or the units allow; what lies far below "
                             "has room left, or is too small to fill the device."
                           : "No problem was tuned; `mmtune --device 0` does it.");
    return table;
}

/* ---- beside the vendor's library ----------------------------------------------------
 */

static void add_speedup(const mmt_problem *problem, const char *library, double first,
                        double best, struct mmt_table *table)
{
    struct mmt_text name = { 0 };
    mmt_problem_print(problem, &name);
    mmt_table_add(table,
                  (struct mmt_cell[]){
                      MMT_WORD(mmt_text_string(&name)),
                      MMT_WORD(mmt_type_name(problem->type)),
                      MMT_WORD(transposes_of(problem)), MMT_NUMBER((double) problem->m),
                      MMT_NUMBER((double) problem->n), MMT_NUMBER((double) problem->k),
                      MMT_NUMBER(first), MMT_NUMBER(best), MMT_WORD(library) });
    mmt_text_finish(&name);
}

static struct mmt_table make_speedups(const struct mmt_report *report,
                                      struct mmt_text *text)
{
    static const struct mmt_column columns[] = {
        { "problem", "", 0 },
        { "type", "", 0 },
        { "transposes", "", 0 },
        { "m", "", 0 },
        { "n", "", 0 },
        { "k", "", 0 },
        { "speed-up", "times", 4 },
        { "over its best", "times", 4 },
        { "library", "", 0 },
    };
    struct mmt_table table = mmt_table_start("", COLUMNS(columns));
    const struct mmt_profile *profile = report->profile;
    for (size_t i = 0; i < profile->num_entries; i++) {
        const struct mmt_yardstick *it = &profile->entries[i].yardstick;
        if (it->library[0])
            add_speedup(&profile->entries[i].problem, it->library, it->first / it->ours,
                        it->best > 0 ? it->best / it->ours : NAN, &table);
    }
    for (size_t i = 0; i < profile->num_verdicts; i++) {
        const struct mmt_verdict *it = &profile->verdicts[i];
        add_speedup(&it->call.problem, it->library, it->theirs / it->ours, NAN, &table);
    }
    mmt_text_add(text,
                 table.num_rows
                     ? "The library's time over ours, timed in turn in one process. "
                       "Above 1, ours is faster."
                     : "No time of the vendor's library is known; a run of `mmtune` "
                       "takes them where cuBLAS or OpenBLAS can be opened.");
    return table;
}

/* ---- which kernels serve ------------------------------------------------------------
 */

static struct mmt_table make_kernels(const struct mmt_report *report,
                                     struct mmt_text *text)
{
    static const struct mmt_column columns[] = {
        { "kernel", "", 0 },
        { "problems", "", 0 },
        { "of the roofline", "%", 3 }, /* geometric mean */
        { "least intensity", "FLOP/byte", 3 },
        { "greatest intensity", "FLOP/byte", 3 },
    };
    struct mmt_table table = mmt_table_start("", COLUMNS(columns));
    struct mmt_text ignored = { 0 };
    struct mmt_table problems = make_problems(report, &ignored);
    enum { INTENSITY = 2, FRACTION = 5, TEMPLATE = 8 };
    for (int i = 0; i < problems.num_rows; i++) {
        const char *name = mmt_table_cell(&problems, i, TEMPLATE)->word;
        double sum = 0, least = INFINITY, most = 0;
        int count = 0;
        for (int j = 0; j < problems.num_rows; j++) {
            if (strcmp(name, mmt_table_cell(&problems, j, TEMPLATE)->word))
                continue;
            if (j < i)
                count = -problems.num_rows; /* its row is there */
            count++;
            sum += log(mmt_table_cell(&problems, j, FRACTION)->number);
            least = fmin(least, mmt_table_cell(&problems, j, INTENSITY)->number);
            most = fmax(most, mmt_table_cell(&problems, j, INTENSITY)->number);
        }
        if (count > 0)
            mmt_table_add(&table,
                          (struct mmt_cell[]){ MMT_WORD(name), MMT_NUMBER(count),
                                               MMT_NUMBER(exp(sum / count)),
                                               MMT_NUMBER(least), MMT_NUMBER(most) });
    }
    mmt_table_free(&problems);
    mmt_text_finish(&ignored);
    mmt_text_add(text, table.num_rows
                           ? "How many problems each kernel serves best, the geometric "
                             "mean of what it reaches there, and at which intensities."
                           : "No problem was tuned.");
    return table;
}

/* ---- where a program's step goes ----------------------------------------------------
 */

static void add_call(const struct mmt_report *report, const struct mmt_recorded_row *row,
                     double all, struct mmt_table *table)
{
    const mmt_problem *problem = &row->it->call.problem;
    const double calls = (double) mmt_recorded_calls(row->it),
                 limit = limit_of(report, problem),
                 rate = report->profile->roofline.bandwidth,
                 ours = row->fate == MMT_FATE_TAKEN || row->fate == MMT_FATE_SLOWER
                            ? row->verdict->ours
                        : row->expected > 0 ? row->expected
                                            : NAN,
                 best = ours < row->each ? ours : row->each;
    struct mmt_text name = { 0 };
    mmt_problem_print(problem, &name);
    mmt_table_add(
        table,
        (struct mmt_cell[]){
            MMT_WORD(mmt_text_string(&name)), MMT_NUMBER(calls),
            MMT_NUMBER(row->each > 0 ? 100 * calls * row->each / all : NAN),
            MMT_NUMBER(row->each > 0 ? 1e3 * calls * row->each : NAN),
            MMT_NUMBER(1e3 * calls * ours), MMT_NUMBER(1e3 * calls * limit),
            MMT_NUMBER(rate > 0 ? 1e3 * calls * mmt_problem_bytes(problem) / rate : NAN),
            MMT_NUMBER(1e3 * calls * row->it->gap),
            MMT_NUMBER(row->each > 0 ? 1e3 * calls * (row->each - best) : NAN),
            MMT_WORD(row->verdict ? "measured" : "expected") });
    mmt_text_finish(&name);
}

static struct mmt_table make_step(const struct mmt_report *report, struct mmt_text *text)
{
    static const struct mmt_column columns[] = {
        { "product", "", 0 },
        { "calls", "", 0 },
        { "share", "%", 3 },
        { "library", "ms", 4 },
        { "ours", "ms", 4 },
        { "roofline", "ms", 4 },
        { "copy of its bytes", "ms", 4 },
        { "gaps before", "ms", 4 },
        { "would be saved", "ms", 4 },
        { "ours is", "", 0 },
    };
    struct mmt_table table = mmt_table_start("", COLUMNS(columns));
    if (!report->recording || !report->recording->recording.count) {
        mmt_text_add(text, "No recording was read; `mmtune run --record -- PROGRAM` "
                           "makes one, and --file names one of another machine.");
        return table;
    }
    const struct mmt_recorded_view *view = report->recording;
    const struct mmt_recorded_sum sum = mmt_recorded_add_up(view);
    for (size_t i = 0; i < view->recording.count; i++) {
        const struct mmt_recorded_row row =
            mmt_recorded_judge(view, &view->recording.list[i]);
        add_call(report, &row, sum.seconds, &table);
    }
    mmt_text_addf(text, "%.0f calls of %zu kinds, %.4g ms of products",
                  (double) sum.calls, view->recording.count, 1e3 * sum.seconds);
    if (sum.best > 0)
        mmt_text_addf(text, "; %.4g ms by whoever is faster", 1e3 * sum.best);
    if (sum.limit > 0)
        mmt_text_addf(text, ", %.4g ms at the roofline, %.4g ms to copy their bytes",
                      1e3 * sum.limit, 1e3 * sum.bytes);
    if (sum.gaps > 0)
        mmt_text_addf(text, "; %.4g ms between products at least", 1e3 * sum.gaps);
    mmt_text_addf(text,
                  ". Verdicts for ours would save %.4g ms; tuning the rest may save "
                  "%.4g ms.",
                  1e3 * sum.given, 1e3 * sum.promised);
    return table;
}

/* ---- the searches --------------------------------------------------------------------
 */

/* A problem as its search goes on. */
struct curve {
    const mmt_problem *problem;
    double best, first_at;
    int tries;
};

static struct curve *curve_of(struct curve *curves, size_t *count,
                              const struct mmt_record *record)
{
    size_t i = 0;
    while (i < *count && !mmt_problem_equal(curves[i].problem, &record->problem))
        i++;
    if (i == *count)
        curves[(*count)++] = (struct curve){ &record->problem, INFINITY, record->at, 0 };
    return &curves[i];
}

static void add_step(const struct mmt_journal *journal, const struct curve *curve,
                     double at, struct mmt_table *table)
{
    struct mmt_text name = { 0 };
    mmt_problem_print(curve->problem, &name);
    mmt_table_add(
        table, (struct mmt_cell[]){
                   MMT_WORD(mmt_text_string(&name)), MMT_NUMBER(curve->tries),
                   MMT_NUMBER(at > 0 ? at - curve->first_at : NAN),
                   MMT_NUMBER(1e6 * curve->best),
                   MMT_NUMBER(curve->best / mmt_journal_best(journal, curve->problem)) });
    mmt_text_finish(&name);
}

/* A step wherever the best becomes better, and the end. */
static void add_curves(const struct mmt_journal *journal, struct mmt_table *table)
{
    size_t count, num_curves = 0;
    const struct mmt_record *records = mmt_journal_records(journal, &count);
    struct curve *curves = calloc(count + 1, sizeof *curves);
    double last = 0;
    table->failed |= !curves;
    for (size_t i = 0; curves && i < count; i++) {
        const struct mmt_record *record = &records[i];
        if (!mmt_record_is_candidate(record))
            continue;
        struct curve *curve = curve_of(curves, &num_curves, record);
        curve->tries++;
        last = record->at;
        if (record->result.outcome != MMT_TIMED ||
            record->result.time.median >= curve->best)
            continue;
        curve->best = record->result.time.median;
        add_step(journal, curve, record->at, table);
    }
    for (size_t i = 0; i < num_curves; i++)
        if (curves[i].best < INFINITY)
            add_step(journal, &curves[i], last, table);
    free(curves);
}

static struct mmt_table make_searches(const struct mmt_report *report,
                                      struct mmt_text *text)
{
    static const struct mmt_column columns[] = {
        { "problem", "", 0 },
        { "tries", "", 0 },
        { "elapsed", "s", 4 },
        { "best so far", "us", 4 },
        { "over the best at the end", "times", 4 },
    };
    struct mmt_table table = mmt_table_start("", COLUMNS(columns));
    if (report->journal)
        add_curves(report->journal, &table);
    mmt_text_add(text,
                 table.num_rows
                     ? "How soon each search found its best: a step wherever a faster "
                       "candidate was timed. A curve that falls late would gain from a "
                       "longer budget."
                     : "There is no journal beside the profile, which has each "
                       "candidate's time.");
    return table;
}

/* ---- regret --------------------------------------------------------------------------
 */

static struct mmt_table make_regret(const struct mmt_report *report,
                                    struct mmt_text *text)
{
    static const struct mmt_column columns[] = {
        { "range", "", 0 },  { "m", "rows", 0 },     { "slowdown", "%", 3 },
        { "time", "us", 4 }, { "fastest", "us", 4 },
    };
    struct mmt_table table = mmt_table_start("", COLUMNS(columns));
    for (size_t i = 0; i < report->profile->num_ranges; i++) {
        const struct mmt_range *range = &report->profile->ranges[i];
        struct mmt_text name = { 0 };
        mmt_range_print(range, &name);
        for (int t = 0; t < range->num_times; t++) {
            const struct mmt_range_time *it = &range->times[t];
            mmt_table_add(
                &table, (struct mmt_cell[]){
                            MMT_WORD(mmt_text_string(&name)), MMT_NUMBER((double) it->m),
                            MMT_NUMBER(100 * (it->seconds / it->best - 1)),
                            MMT_NUMBER(1e6 * it->seconds), MMT_NUMBER(1e6 * it->best) });
        }
        mmt_text_finish(&name);
    }
    mmt_text_add(text,
                 table.num_rows
                     ? "By how much the kernel of a range is behind the fastest that "
                       "was timed there."
                     : "No range of m was tuned; `mmtune regret` measures how far kernel "
                       "selection is behind on shapes that were never tuned.");
    return table;
}

const struct mmt_report_section mmt_report_sections[] = {
    { "roofline", "Every problem beside the roofline", true, make_problems },
    { "speedup", "Speed-up over the vendor's library", true, make_speedups },
    { "step", "Where a program's step goes", true, make_step },
    { "search", "How the searches went", true, make_searches },
    { "knobs", "What each knob does", true, mmt_report_make_knobs },
    { "kernels", "Which kernels serve", true, make_kernels },
    { "regret", "Regret", true, make_regret },
    { "health", "Clock and temperature over the run", true, mmt_report_make_health },
    { "results", "What became of the candidates", true, mmt_report_make_results },
    { "device", "Device, driver and versions", false, mmt_report_make_facts },
    { 0 },
};
