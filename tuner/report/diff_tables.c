/* The tables of a comparison that a terminal and a page both show. */
#include <string.h>

#include "tuner/common/options.h"
#include "tuner/report/diff.h"

/* ---- problems ---------------------------------------------------------------------- */

void mmt_diff_add_time(const struct mmt_row *row, struct mmt_text *text)
{
    char time[32];
    mmt_text_addf(text, "%s%s\t", row ? mmt_print_seconds(row->seconds, time) : "-",
                  row && row->suspect ? " *" : "  ");
}

struct mmt_table mmt_diff_list_problems(const struct mmt_diff *diff, size_t most,
                                        bool page)
{
    struct mmt_table table =
        mmt_table_of("Best against best, the largest difference first",
                     "problem\t>on A  \t>on B  \tfaster by\tknobs, A|B");
    table.columns[0].most = 27;
    for (size_t i = 0; i < diff->num_both && i < most; i++) {
        const struct mmt_both *both = diff->ranked[i];
        struct mmt_text row = { 0 };
        mmt_diff_add_problem(both->best[0]->problem, &row);
        mmt_text_add(&row, "\t");
        mmt_diff_add_time(both->best[0], &row);
        mmt_diff_add_time(both->best[1], &row);
        mmt_diff_add_faster(both, &row);
        mmt_text_add(&row, "\t");
        mmt_diff_add_knobs(both, page ? 60 : 25, &row);
        mmt_table_take(&table, &row);
    }
    return table;
}

/* ---- knobs ------------------------------------------------------------------------- */

/* "\tswap (3)": what a side prefers, cut where it is longer than `most`. */
static void add_value(const char *value, size_t count, size_t most, struct mmt_text *text)
{
    const bool cut = strlen(value) > most;
    mmt_text_addf(text, "\t%.*s%s (%zu)", (int) (cut ? most - 2 : most), value,
                  cut ? ".." : "", count);
}

/* "\t1.94 times (3)": a cost, and of how many pairs it is the mean. */
static void add_cost(const struct mmt_cost *cost, struct mmt_text *text)
{
    mmt_text_addf(text, cost->count ? "\t%.3g times (%zu)" : "\t-", cost->ratio,
                  cost->count);
}

struct mmt_table mmt_diff_list_knobs(const struct mmt_diff *diff, size_t most, bool page)
{
    struct mmt_knob_sum sums[MMT_MAX_KNOB_SUMS];
    const size_t num = mmt_diff_knob_sums(diff, sums), width = page ? 31 : 9;
    struct mmt_table table = mmt_table_of(
        "Knobs: how often the two want different values; what the other's costs, of "
        "(pairs)",
        "knob\t>differ\tA prefers\tB prefers\t>B's value on A\t>A's value on B");
    for (size_t i = 0; i < num && i < most; i++) {
        struct mmt_text row = { 0 };
        mmt_text_addf(&row, "%s\t%zu of %zu", sums[i].name, sums[i].differ,
                      sums[i].problems);
        for (int side = 0; side < 2; side++)
            add_value(sums[i].side[side].value, sums[i].side[side].count, width, &row);
        for (int side = 0; side < 2; side++)
            add_cost(&sums[i].side[side].wrong, &row);
        mmt_table_take(&table, &row);
    }
    return table;
}
