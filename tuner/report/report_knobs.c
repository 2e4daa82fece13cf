/* What each value of a knob costs, by a journal: the times of all candidates with it over
 * the best of their problem, and of pairs that differ in it alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/report/report.h"

/* A candidate that was timed. */
struct sample {
    const struct mmt_record *record;
    double over; /* its time over the best of its problem */
};

struct samples {
    struct sample *list;
    size_t count;
};

static int by_template(const void *x, const void *y)
{
    const struct sample *a = x, *b = y;
    const int order = strcmp(mmt_template_key(a->record->config.template),
                             mmt_template_key(b->record->config.template));
    if (order)
        return order;
    return mmt_problem_order(&a->record->problem, &b->record->problem);
}

static bool collect(const struct mmt_journal *journal, struct samples *out)
{
    size_t count;
    const struct mmt_record *records = mmt_journal_records(journal, &count);
    out->list = calloc(count + 1, sizeof *out->list);
    for (size_t i = 0; out->list && i < count; i++)
        if (mmt_record_is_candidate(&records[i]) &&
            records[i].result.outcome == MMT_TIMED)
            out->list[out->count++] =
                (struct sample){ &records[i],
                                 records[i].result.time.median /
                                     mmt_journal_best(journal, &records[i].problem) };
    if (out->list)
        qsort(out->list, out->count, sizeof *out->list, by_template);
    return out->list != NULL;
}

static bool is_same_problem(const struct sample *a, const struct sample *b)
{
    return mmt_problem_equal(&a->record->problem, &b->record->problem);
}

/* Whether two configurations of one template differ in that knob, and in no other. */
static bool differ_in(const struct sample *a, const struct sample *b, int knob)
{
    const int *x = a->record->config.values, *y = b->record->config.values;
    const int count = a->record->config.template->num_knobs;
    return x[knob] != y[knob] && !memcmp(x, y, (size_t) knob * sizeof *x) &&
           !memcmp(x + knob + 1, y + knob + 1, (size_t) (count - knob - 1) * sizeof *x);
}

/* Of all pairs with the value: the geometric mean of its time over the other's. */
static int add_pairs(const struct samples *of, int knob, int value, double *mean)
{
    double sum = 0;
    int pairs = 0;
    for (size_t i = 0, first = 0; i < of->count; i++) {
        const struct sample *a = &of->list[i];
        if (!is_same_problem(&of->list[first], a))
            first = i;
        if (a->record->config.values[knob] != value)
            continue;
        for (size_t j = first; j < of->count && is_same_problem(a, &of->list[j]); j++) {
            if (!differ_in(a, &of->list[j], knob))
                continue;
            sum += log(a->over / of->list[j].over);
            pairs++;
        }
    }
    *mean = pairs ? exp(sum / pairs) : NAN;
    return pairs;
}

static int by_number(const void *x, const void *y)
{
    const double a = *(const double *) x, b = *(const double *) y;
    return (a > b) - (a < b);
}

static double quantile(const double *sorted, int count, double part)
{
    const double at = part * (count - 1);
    const int below = (int) at;
    const double above = sorted[below + (below + 1 < count)];
    return sorted[below] + (at - below) * (above - sorted[below]);
}

static void add_value(const struct samples *of, int knob, int value, double *times,
                      struct mmt_table *table)
{
    struct mmt_config config = { of->list->record->config.template, { 0 } };
    char buffer[16];
    double mean;
    int count = 0;
    for (size_t i = 0; i < of->count; i++)
        if (of->list[i].record->config.values[knob] == value)
            times[count++] = of->list[i].over;
    if (!count)
        return;
    qsort(times, (size_t) count, sizeof *times, by_number);
    config.values[knob] = value;
    const int pairs = add_pairs(of, knob, value, &mean);
    mmt_table_add(table,
                  (struct mmt_cell[]){ MMT_WORD(mmt_template_key(config.template)),
                                       MMT_WORD(config.template->knobs[knob].name),
                                       MMT_WORD(mmt_config_value(&config, knob, buffer)),
                                       MMT_NUMBER(count), MMT_NUMBER(times[0]),
                                       MMT_NUMBER(quantile(times, count, 0.25)),
                                       MMT_NUMBER(quantile(times, count, 0.5)),
                                       MMT_NUMBER(quantile(times, count, 0.75)),
                                       MMT_NUMBER(mean), MMT_NUMBER(pairs) });
}

/* Whether the samples have more than one value. */
static bool varies(const struct samples *of, int knob)
{
    for (size_t i = 1; i < of->count; i++)
        if (of->list[i].record->config.values[knob] !=
            of->list->record->config.values[knob])
            return true;
    return false;
}

static void add_template(const struct samples *of, double *times, struct mmt_table *table)
{
    const struct mmt_template *template = of->list->record->config.template;
    for (int knob = 0; knob < template->num_knobs; knob++)
        for (int i = 0; varies(of, knob) && i < template->knobs[knob].num_values; i++)
            add_value(of, knob, template->knobs[knob].values[i], times, table);
}

static void add_all(const struct samples *all, struct mmt_table *table)
{
    double *times = calloc(all->count + 1, sizeof *times);
    table->failed |= !times;
    for (size_t first = 0, next; times && first < all->count; first = next) {
        const struct mmt_template *template = all->list[first].record->config.template;
        for (next = first + 1; next < all->count; next++)
            if (all->list[next].record->config.template != template)
                break;
        add_template(&(struct samples){ all->list + first, next - first }, times, table);
    }
    free(times);
}

struct mmt_table mmt_report_make_knobs(const struct mmt_report *report,
                                       struct mmt_text *text)
{
    static const struct mmt_column columns[] = {
        { "template", "", 0 },
        { "knob", "", 0 },
        { "value", "", 0 },
        { "timed", "", 0 },
        { "least", "times the best", 4 },
        { "lower quartile", "times the best", 4 },
        { "median", "times the best", 4 },
        { "upper quartile", "times the best", 4 },
        { "in pairs", "times the others", 4 },
        { "pairs", "", 0 },
    };
    struct mmt_table table =
        mmt_table_start("", columns, (int) (sizeof columns / sizeof *columns));
    struct samples all = { 0 };
    if (report->journal) {
        table.failed |= !collect(report->journal, &all);
        add_all(&all, &table);
    }
    free(all.list);
    mmt_text_add(
        text, table.num_rows
                  ? "Times of all candidates with a value, over the best of their "
                    "problem. A search tries good values more often, so compare pairs: "
                    "candidates that differ in that knob alone."
                  : "There is no journal beside the profile that has candidates with "
                    "several values of a knob.");
    return table;
}
