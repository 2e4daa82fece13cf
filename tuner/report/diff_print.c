/* How a comparison is told: to people and to programs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/report/diff.h"
#include "tuner/common/options.h"

/* ---- for people ------------------------------------------------------------------ */

static const char *mark_of(bool suspect)
{
    return suspect ? " *" : "";
}

/* "9.01 ms *", for a column. */
static void print_cell(const struct mmt_row *row)
{
    char cell[48] = "not timed", buffer[32];
    if (row)
        snprintf(cell, sizeof cell, "%s%s", mmt_print_seconds(row->seconds, buffer),
                 row->suspect ? " *" : "  ");
    printf("%14s", cell);
}

/* One kernel that either side timed: its times side by side. */
static void print_kernel(const struct mmt_both *both, const struct mmt_row *kernel)
{
    const struct mmt_row *a = mmt_group_find(&both->group[0], kernel);
    const struct mmt_row *b = mmt_group_find(&both->group[1], kernel);
    printf("  ");
    print_cell(a);
    print_cell(b);
    if (a && b)
        printf("  A/B %-6.3g", a->seconds / b->seconds);
    else
        printf("  %-10s", "");
    bool best_a = a == both->best[0], best_b = b == both->best[1];
    printf("  %s%s%s\n", best_a ? best_b ? "(best on both) " : "(best on A) " : "",
           best_b && !best_a ? "(best on B) " : "", kernel->name);
}

/* All variants of a paper; of our own, the best and those that were tried. */
static void print_kernels(const struct mmt_both *both)
{
    printf("  %14s%14s\n", "A  ", "B  ");
    for (size_t i = 0; i < both->group[0].count; i++)
        print_kernel(both, &both->group[0].row[i]);
    for (size_t i = 0; i < both->group[1].count; i++)
        if (!mmt_group_find(&both->group[0], &both->group[1].row[i]))
            print_kernel(both, &both->group[1].row[i]);
}

static void print_ratio(const struct mmt_both *both)
{
    double ratio = both->best[0]->seconds / both->best[1]->seconds;
    const char *marked = mark_of(both->suspect[0] || both->suspect[1]);
    if (both->tie)
        printf("  best against best: a tie, %.3g times, within the spreads%s\n", ratio,
               marked);
    else
        printf("  best against best: %c is %.3g times as fast as %c%s\n",
               ratio > 1 ? 'B' : 'A', ratio > 1 ? ratio : 1 / ratio,
               ratio > 1 ? 'A' : 'B', marked);
}

static void print_knobs(const struct mmt_both *both)
{
    json_t *knobs = mmt_diff_knobs(both->best[0], both->best[1]);
    size_t i;
    json_t *knob;
    json_array_foreach(knobs, i, knob) printf(
        "%s%s %s | %s",
        i ? ", " : "  differ (A | B): ", json_string_value(json_object_get(knob, "name")),
        json_string_value(json_object_get(knob, "a")),
        json_string_value(json_object_get(knob, "b")));
    if (json_array_size(knobs))
        printf("\n");
    json_decref(knobs);
}

/* What it costs a side to use what is best on the other. */
static void print_cost(const struct mmt_both *both, int side)
{
    const struct mmt_row *best = both->best[side], *others = both->others_best[side];
    char own = 'A' + side, other = 'B' - side;
    if (both->same && side == 0)
        printf("  the same kernel is best on both\n");
    if (both->same)
        return;
    if (!others)
        printf("  on %c, the best of %c was not timed\n", own, other);
    else if (mmt_rows_tie(best, others))
        printf("  on %c, the best of %c is as good, within the spreads%s\n", own, other,
               mark_of(both->suspect[side]));
    else
        printf("  on %c, the best of %c takes %.3g times as long as its own best%s\n",
               own, other, others->seconds / best->seconds, mark_of(both->suspect[side]));
}

static void print_both(const struct mmt_both *both)
{
    printf("\n");
    mmt_print_problem(both->group[0].row->problem);
    printf("\n");
    print_kernels(both);
    print_ratio(both);
    print_knobs(both);
    print_cost(both, 0);
    print_cost(both, 1);
}

static void print_only(const struct mmt_diff *diff, int side)
{
    if (diff->num_only[side])
        printf("\nonly in %c\n", 'A' + side);
    for (size_t i = 0; i < diff->num_only[side]; i++) {
        const struct mmt_row *best = mmt_group_best(&diff->only[side][i]);
        printf("  ");
        print_cell(best);
        printf("  ");
        mmt_print_problem(best->problem);
        printf("  %s\n", best->name);
    }
}

static void print_wins(const struct mmt_diff *diff, int side)
{
    struct mmt_wins wins[MMT_MAX_WINS];
    size_t num = mmt_diff_wins(diff, side, wins);
    for (size_t i = 0; i < num; i++) {
        printf("  %s wins on %c, %s: %zu of %zu", wins[i].family, 'A' + side,
               diff->rows[side].profile->caps.name, wins[i].count, diff->num_both);
        if (wins[i].suspect)
            printf(" (%zu of them * by comparison with a suspect figure)",
                   wins[i].suspect);
        printf("\n");
    }
}

/* Whether an earlier row of the same profile has the same note. */
static bool told_before(const struct mmt_rows *rows, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (rows->row[i].suspect &&
            !strcmp(rows->row[i].published->note, rows->row[row].published->note))
            return true;
    return false;
}

static void print_notes(const struct mmt_diff *diff)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < diff->rows[side].count; i++) {
            const struct mmt_row *row = &diff->rows[side].row[i];
            if (row->suspect && !told_before(&diff->rows[side], i))
                printf("\n* %c, %s, %s: %s\n", 'A' + side, row->published->where,
                       row->name, row->published->note);
        }
}

/* B's range of the same problems; NULL: it has none. */
static const struct mmt_range *find_other(const struct mmt_diff *diff,
                                          const struct mmt_range *range)
{
    const struct mmt_profile *b = diff->rows[1].profile;
    for (size_t i = 0; i < b->num_ranges; i++)
        if (mmt_range_same(&b->ranges[i], range))
            return &b->ranges[i];
    return NULL;
}

/* "  on A, m up to 16  tiled TILE=16 ...", a line for each segment. */
static void print_segments(char side, const struct mmt_range *range)
{
    for (int i = 0; i < range->num_segments; i++) {
        struct mmt_text config = { 0 };
        mmt_config_print(&range->segments[i].config, &config);
        printf("  on %c, m up to %-8" PRId64 "  %s\n", side, range->segments[i].m_to,
               mmt_text_string(&config));
        mmt_text_finish(&config);
    }
}

/* The times at an m, and which is less. */
static void print_times_at(const struct mmt_range_time *a, const struct mmt_range_time *b)
{
    const double ratio = a->seconds / b->seconds;
    char left[32], right[32], faster[48] = "both are as fast";
    if (fabs(ratio - 1) > 0.005)
        snprintf(faster, sizeof faster, "%c is %.3g times as fast", ratio > 1 ? 'B' : 'A',
                 fmax(ratio, 1 / ratio));
    printf("  m %-10" PRId64 "%14s%14s  %s\n", a->m, mmt_print_seconds(a->seconds, left),
           mmt_print_seconds(b->seconds, right), faster);
}

static void print_times(const struct mmt_range *a, const struct mmt_range *b)
{
    for (int i = 0, j = 0; i < a->num_times && j < b->num_times;) {
        const int64_t m = a->times[i].m, other = b->times[j].m;
        if (m == other)
            print_times_at(&a->times[i], &b->times[j]);
        i += m <= other;
        j += other <= m;
    }
}

static void print_ranges(const struct mmt_diff *diff)
{
    const struct mmt_profile *a = diff->rows[0].profile;
    for (size_t i = 0; i < a->num_ranges; i++) {
        const struct mmt_range *range = &a->ranges[i], *other = find_other(diff, range);
        struct mmt_text name = { 0 };
        if (!other)
            continue;
        mmt_range_print(range, &name);
        printf("\n%s\n", mmt_text_string(&name));
        mmt_text_finish(&name);
        print_segments('A', range);
        print_segments('B', other);
        print_times(range, other);
    }
}

void mmt_diff_print(const struct mmt_diff *diff)
{
    for (int side = 0; side < 2; side++) {
        printf("%c: ", 'A' + side);
        mmt_print_card(diff->rows[side].profile);
        printf("\n");
        if (*diff->rows[side].profile->citation)
            printf("   %s\n", diff->rows[side].profile->citation);
    }
    for (size_t i = 0; i < diff->num_both; i++)
        print_both(&diff->both[i]);
    print_ranges(diff);
    print_only(diff, 0);
    print_only(diff, 1);

    printf("\n%zu problem%s in both%s\n", diff->num_both, diff->num_both == 1 ? "" : "s",
           diff->num_both ? ":" : ": there is nothing to compare");
    print_wins(diff, 0);
    print_wins(diff, 1);
    print_notes(diff);
}

/* ---- for programs ---------------------------------------------------------------- */

static json_t *side_json(const struct mmt_both *both, int side)
{
    const struct mmt_row *best = both->best[side], *others = both->others_best[side];
    json_t *json = json_pack("{s:o, s:b}", "best", mmt_row_json(best), "suspect",
                             both->suspect[side]);
    json_object_set_new(json, "others_best", others ? mmt_row_json(others) : json_null());
    json_object_set_new(json, "cost_of_others_best",
                        others ? json_real(others->seconds / best->seconds)
                               : json_null());
    json_object_set_new(json, "cost_within_spreads",
                        json_boolean(others && mmt_rows_tie(best, others)));
    json_t *kernels = json_array();
    for (size_t i = 0; i < both->group[side].count; i++)
        json_array_append_new(kernels, mmt_row_json(&both->group[side].row[i]));
    json_object_set_new(json, "kernels", kernels);
    return json;
}

static json_t *both_json(const struct mmt_both *both)
{
    return json_pack("{s:o, s:f, s:b, s:b, s:b, s:o, s:o, s:o}", "problem",
                     mmt_problem_json(both->group[0].row->problem), "ratio",
                     both->best[0]->seconds / both->best[1]->seconds, "tie", both->tie,
                     "same_kernel", both->same, "suspect",
                     both->suspect[0] || both->suspect[1], "knobs",
                     mmt_diff_knobs(both->best[0], both->best[1]), "a",
                     side_json(both, 0), "b", side_json(both, 1));
}

static json_t *only_json(const struct mmt_diff *diff, int side)
{
    json_t *list = json_array();
    for (size_t i = 0; i < diff->num_only[side]; i++) {
        const struct mmt_row *best = mmt_group_best(&diff->only[side][i]);
        json_array_append_new(list, json_pack("{s:o, s:o}", "problem",
                                              mmt_problem_json(best->problem), "best",
                                              mmt_row_json(best)));
    }
    return list;
}

static json_t *wins_json(const struct mmt_diff *diff, int side)
{
    struct mmt_wins wins[MMT_MAX_WINS];
    size_t num = mmt_diff_wins(diff, side, wins);
    json_t *list = json_array();
    for (size_t i = 0; i < num; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "kernel", wins[i].family,
                                              "problems", (json_int_t) wins[i].count,
                                              "suspect", (json_int_t) wins[i].suspect));
    return list;
}

static json_t *ranges_json(const struct mmt_diff *diff)
{
    const struct mmt_profile *a = diff->rows[0].profile;
    json_t *list = json_array();
    for (size_t i = 0; i < a->num_ranges; i++) {
        const struct mmt_range *other = find_other(diff, &a->ranges[i]);
        if (other)
            json_array_append_new(list, json_pack("{s:o, s:o, s:f}", "a",
                                                  mmt_range_json(&a->ranges[i]), "b",
                                                  mmt_range_json(other), "ratio",
                                                  mmt_range_ratio(&a->ranges[i], other)));
    }
    return list;
}

void mmt_diff_print_json(const struct mmt_diff *diff)
{
    json_t *problems = json_array();
    for (size_t i = 0; i < diff->num_both; i++)
        json_array_append_new(problems, both_json(&diff->both[i]));
    mmt_print_json(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "a",
                             mmt_card_json(diff->rows[0].profile), "b",
                             mmt_card_json(diff->rows[1].profile), "problems", problems,
                             "ranges", ranges_json(diff), "only_in_a", only_json(diff, 0),
                             "only_in_b", only_json(diff, 1), "wins_on_a",
                             wins_json(diff, 0), "wins_on_b", wins_json(diff, 1)));
}
