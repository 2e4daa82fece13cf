/* How a comparison is told to people, in MMT_DIFF_WIDTH columns. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/common/options.h"
#include "tuner/report/diff.h"

/* What is printed without --all. */
enum {
    MOST_PROBLEMS = 20,
    MOST_RATES = 10,
    MOST_KNOBS = 12,
    MOST_KERNELS = 40,
    MOST_COMMANDS = 4
};

/* Frees the table, of which there are `all` rows. */
static void add_table(struct mmt_table *table, size_t all, struct mmt_text *out)
{
    mmt_table_add_text(table, 2, MMT_DIFF_WIDTH, out);
    if ((size_t) table->num_rows < all)
        mmt_text_addf(out, "  %zu more: --all prints them\n",
                      all - (size_t) table->num_rows);
    mmt_table_free(table);
}

/* ---- the head ---------------------------------------------------------------------- */

static void add_lines(const struct mmt_diff *diff, struct mmt_text *out)
{
    struct mmt_text line[MMT_DIFF_LINES];
    mmt_diff_say(diff, line);
    for (int i = 0; i < MMT_DIFF_LINES; i++) {
        if (line[i].length)
            mmt_text_addf(out, "%s\n", mmt_text_string(&line[i]));
        mmt_text_finish(&line[i]);
    }
}

static void add_cards(const struct mmt_diff *diff, struct mmt_text *out)
{
    mmt_text_add(out, "\n");
    for (int side = 0; side < 2; side++) {
        const struct mmt_profile *profile = diff->rows[side].profile;
        struct mmt_text card = { 0 };
        mmt_add_card(profile, &card);
        if (diff->num_joined[side])
            mmt_text_addf(&card, ", and %zu times of its journal",
                          diff->num_joined[side]);
        mmt_text_addf(out, "%c:", 'A' + side);
        mmt_print_wrapped(mmt_text_string(&card), 3, 2, MMT_DIFF_WIDTH, out);
        mmt_print_wrapped(profile->citation, 3, 0, MMT_DIFF_WIDTH, out);
        if (!*profile->citation)
            out->data[--out->length] = '\0';
        struct mmt_text facts = { 0 };
        for (size_t i = 1; i + 1 < mmt_diff_num_facts; i++) {
            struct mmt_text fact = { 0 };
            mmt_diff_facts[i].add(profile, &fact);
            if (fact.length)
                mmt_text_addf(&facts, "%s%s %s", facts.length ? "; " : "",
                              mmt_diff_facts[i].name, mmt_text_string(&fact));
            mmt_text_finish(&fact);
        }
        if (facts.length)
            mmt_print_wrapped(mmt_text_string(&facts), 3, 0, MMT_DIFF_WIDTH, out);
        mmt_text_finish(&facts);
        mmt_text_finish(&card);
    }
}

/* ---- means by type ----------------------------------------------------------------- */

/* Behind its name in a row. */
static void add_sum(const char *name, const struct mmt_sum *sum, struct mmt_text *row,
                    struct mmt_table *table)
{
    mmt_text_addf(row, "%s\t%zu\t%.3g times\t%zu\t%zu\t%zu\t%zu\t", name, sum->problems,
                  sum->ratio, sum->faster[0], sum->faster[1], sum->ties, sum->suspect);
    mmt_text_addf(row, sum->sure > 0 ? "%.3g times" : "-", sum->sure);
    mmt_table_take(table, row);
}

static void add_sums(const struct mmt_diff *diff, struct mmt_text *out)
{
    struct mmt_sum sums[MMT_MAX_SUMS];
    const size_t num = mmt_diff_sums(diff, sums);
    const struct mmt_sum total = mmt_diff_total(diff);
    struct mmt_table table =
        mmt_table_of("A's time over B's, geometric means: above 1, B is faster",
                     "type\t>problems\t>A over B\t>A faster\t>B faster\t>ties\t>suspect "
                     "*\t>without *");
    for (size_t i = 0; i < num; i++) {
        struct mmt_text name = { 0 };
        if (sums[i].op != MMT_GEMM)
            mmt_text_addf(&name, "%s ", mmt_op_row(sums[i].op)->name);
        add_sum(mmt_type_name(sums[i].type), &sums[i], &name, &table);
    }
    if (num > 1)
        add_sum("all", &total, &(struct mmt_text){ 0 }, &table);
    add_table(&table, 0, out);
}

/* ---- problems, knobs, kernels ------------------------------------------------------ */

static void add_problems(const struct mmt_diff *diff, bool all, struct mmt_text *out)
{
    struct mmt_table table =
        mmt_diff_list_problems(diff, all ? SIZE_MAX : MOST_PROBLEMS, false);
    add_table(&table, diff->num_both, out);
    table = mmt_diff_list_rates(diff, all ? SIZE_MAX : MOST_RATES);
    if (table.num_rows)
        add_table(&table, 0, out);
    else
        mmt_table_free(&table);
}

static void add_knobs(const struct mmt_diff *diff, bool all, struct mmt_text *out)
{
    struct mmt_knob_sum sums[MMT_MAX_KNOB_SUMS];
    const size_t num = mmt_diff_knob_sums(diff, sums);
    struct mmt_table table =
        mmt_diff_list_knobs(diff, all ? SIZE_MAX : MOST_KNOBS, false);
    if (num)
        add_table(&table, num, out);
}

static void add_wins(const struct mmt_diff *diff, int side, struct mmt_text *out)
{
    struct mmt_wins wins[MMT_MAX_WINS];
    const size_t num = mmt_diff_wins(diff, side, wins);
    for (size_t i = 0; i < num; i++) {
        mmt_text_addf(out, "  %s wins on %c, %s: %zu of %zu", wins[i].family, 'A' + side,
                      diff->rows[side].profile->caps.name, wins[i].count, diff->num_both);
        if (wins[i].suspect)
            mmt_text_addf(out, " (%zu of them *)", wins[i].suspect);
        mmt_text_add(out, "\n");
    }
}

/* One kernel that either side timed: its times side by side. */
static void add_kernel(const struct mmt_both *both, const struct mmt_row *kernel,
                       struct mmt_table *table)
{
    const struct mmt_row *a = mmt_group_find(&both->group[0], kernel);
    const struct mmt_row *b = mmt_group_find(&both->group[1], kernel);
    struct mmt_text row = { 0 };
    mmt_diff_add_time(a, &row);
    mmt_diff_add_time(b, &row);
    if (a && b)
        mmt_text_addf(&row, "%.3g times", a->seconds / b->seconds);
    mmt_text_add(&row, "\t");
    if (a == both->best[0])
        mmt_text_add(&row, b == both->best[1] ? "(best on both) " : "(best on A) ");
    else if (b == both->best[1])
        mmt_text_add(&row, "(best on B) ");
    mmt_text_add(&row, kernel->name);
    mmt_table_take(table, &row);
}

/* "  differ (A | B): TILE_M 128 | 64, …": all of them. */
static void add_differences(const struct mmt_both *both, struct mmt_text *out)
{
    enum { INDENT = 4 };
    json_t *knobs = mmt_diff_knobs(both->best[0], both->best[1]), *knob;
    struct mmt_text words = { 0 };
    size_t i;
    json_array_foreach(knobs, i, knob) mmt_text_addf(
        &words, "%s%s %s | %s",
        i ? ", " : "differ (A | B): ", json_string_value(json_object_get(knob, "name")),
        json_string_value(json_object_get(knob, "a")),
        json_string_value(json_object_get(knob, "b")));
    if (words.length) {
        mmt_text_add(out, "  ");
        mmt_print_wrapped(mmt_text_string(&words), INDENT, INDENT, MMT_DIFF_WIDTH, out);
    }
    mmt_text_finish(&words);
    json_decref(knobs);
}

/* What it costs a side to use what is best on the other, where that is known. */
static void add_others_cost(const struct mmt_both *both, int side, struct mmt_text *out)
{
    const struct mmt_row *best = both->best[side], *others = both->others_best[side];
    if (!others || both->same)
        return;
    mmt_text_addf(out, "  on %c, the best of %c ", 'A' + side, 'B' - side);
    if (mmt_rows_tie(best, others))
        mmt_text_add(out, "is as good, within the spreads");
    else
        mmt_text_addf(out, "takes %.3g times as long as its own best",
                      others->seconds / best->seconds);
    mmt_text_add(out, both->suspect[side] ? " *\n" : "\n");
}

/* All variants of a paper; of our own, the best and those that were tried. */
static void add_kernels(const struct mmt_both *both, struct mmt_text *out)
{
    struct mmt_table table = mmt_table_of("", ">on A  \t>on B  \t>A over B\tkernel");
    mmt_text_add(out, "\n");
    mmt_problem_print(both->group[0].row->problem, out);
    mmt_text_add(out, "\n");
    for (size_t i = 0; i < both->group[0].count; i++)
        add_kernel(both, &both->group[0].row[i], &table);
    for (size_t i = 0; i < both->group[1].count; i++)
        if (!mmt_group_find(&both->group[0], &both->group[1].row[i]))
            add_kernel(both, &both->group[1].row[i], &table);
    add_table(&table, 0, out);
    add_differences(both, out);
    add_others_cost(both, 0, out);
    add_others_cost(both, 1, out);
}

static void add_only(const struct mmt_diff *diff, int side, struct mmt_text *out)
{
    for (size_t i = 0; i < diff->num_only[side]; i++) {
        const struct mmt_group *group = &diff->only[side][i];
        struct mmt_table table = mmt_table_of("", ">\t");
        mmt_text_add(out, "\n");
        mmt_problem_print(group->row->problem, out);
        mmt_text_addf(out, ", only in %c\n", 'A' + side);
        for (size_t row = 0; row < group->count; row++) {
            struct mmt_text words = { 0 };
            mmt_diff_add_time(&group->row[row], &words);
            mmt_text_add(&words, group->row[row].name);
            mmt_table_take(&table, &words);
        }
        add_table(&table, 0, out);
    }
}

static void add_only_count(const struct mmt_diff *diff, int side, struct mmt_text *out)
{
    if (diff->num_only[side])
        mmt_text_addf(out, "  %zu problem%s only in %c\n", diff->num_only[side],
                      diff->num_only[side] == 1 ? "" : "s", 'A' + side);
}

/* ---- ranges of m ------------------------------------------------------------------- */

/* "  on A, m up to 16  tiled TILE=16 ...", a paragraph for each segment. */
static void add_segments(char side, const struct mmt_range *range, struct mmt_text *out)
{
    for (int i = 0; i < range->num_segments; i++) {
        struct mmt_text config = { 0 };
        const size_t begin = out->length;
        mmt_config_print(&range->segments[i].config, &config);
        mmt_text_addf(out, "  on %c, m up to %-8" PRId64, side, range->segments[i].m_to);
        mmt_print_wrapped(mmt_text_string(&config), 26, (int) (out->length - begin),
                          MMT_DIFF_WIDTH, out);
        mmt_text_finish(&config);
    }
}

/* The times at an m, and which is less. */
static void add_times_at(const struct mmt_range_time *a, const struct mmt_range_time *b,
                         struct mmt_text *out)
{
    const double ratio = a->seconds / b->seconds;
    char left[32], right[32], faster[48] = "both are as fast";
    if (fabs(ratio - 1) > 0.005)
        snprintf(faster, sizeof faster, "%c is %.3g times as fast", ratio > 1 ? 'B' : 'A',
                 fmax(ratio, 1 / ratio));
    mmt_text_addf(out, "  m %-10" PRId64 "%14s%14s  %s\n", a->m,
                  mmt_print_seconds(a->seconds, left),
                  mmt_print_seconds(b->seconds, right), faster);
}

static void add_times(const struct mmt_range *a, const struct mmt_range *b,
                      struct mmt_text *out)
{
    for (int i = 0, j = 0; i < a->num_times && j < b->num_times;) {
        const int64_t m = a->times[i].m, other = b->times[j].m;
        if (m == other)
            add_times_at(&a->times[i], &b->times[j], out);
        i += m <= other;
        j += other <= m;
    }
}

static void add_ranges(const struct mmt_diff *diff, struct mmt_text *out)
{
    const struct mmt_profile *a = diff->rows[0].profile;
    for (size_t i = 0; i < a->num_ranges; i++) {
        const struct mmt_range *range = &a->ranges[i];
        const struct mmt_range *other = mmt_diff_range(diff, range);
        if (!other)
            continue;
        mmt_text_add(out, "\n");
        mmt_range_print(range, out);
        mmt_text_add(out, "\n");
        add_segments('A', range, out);
        add_segments('B', other, out);
        add_times(range, other, out);
    }
}

/* ---- all of it --------------------------------------------------------------------- */

static void add_details(const struct mmt_diff *diff, bool all, struct mmt_text *out)
{
    const size_t rows = diff->rows[0].count + diff->rows[1].count;
    mmt_text_add(out, "\nEvery kernel of either profile");
    if (!all && rows > MOST_KERNELS) {
        mmt_text_addf(out, ", %zu times: --all prints them\n", rows);
        return;
    }
    mmt_text_add(out, "; - was not timed\n");
    for (size_t i = 0; i < diff->num_both; i++)
        add_kernels(&diff->both[i], out);
    add_only(diff, 0, out);
    add_only(diff, 1, out);
    add_ranges(diff, out);
}

/* ---- gaps -------------------------------------------------------------------------- */

/* A command, in lines that a shell takes for one. */
static void add_command(const char *command, struct mmt_text *out)
{
    enum { INDENT = 6, HANGING = 2 };
    struct mmt_text lines = { 0 };
    mmt_print_wrapped(command, INDENT, 0, MMT_DIFF_WIDTH - 2, &lines);
    const char *at = mmt_text_string(&lines) + HANGING;
    for (const char *end; (end = strchr(at, '\n')); at = end + 1)
        mmt_text_addf(out, "%.*s%s\n", (int) (end - at), at, end[1] ? " \\" : "");
    mmt_text_finish(&lines);
}

static void add_gap(const struct mmt_diff_view *view, int side, const struct mmt_gap *gap,
                    bool whole, struct mmt_text *out)
{
    const char *shapes = gap->options ? strstr(gap->options, " --shape") : NULL;
    struct mmt_text command = { 0 };
    if (!gap->options) {
        mmt_text_addf(out, "    %zu that no options spell\n", gap->problems);
    } else if (whole) {
        mmt_diff_add_command(view, side, gap, &command);
        add_command(mmt_text_string(&command), out);
    } else {
        mmt_text_addf(out, "    %zu of %.*s\n", gap->problems,
                      (int) (shapes - gap->options), gap->options);
    }
    mmt_text_finish(&command);
}

static void add_gaps(const struct mmt_diff_view *view, int side, struct mmt_text *out)
{
    size_t count, problems = 0, length = 0;
    struct mmt_gap *gaps = mmt_diff_gaps(view->diff, side, &count);
    for (size_t i = 0; i < count; i++) {
        problems += gaps[i].problems;
        length += gaps[i].options ? strlen(gaps[i].options) : 0;
    }
    const bool whole = view->all || length < MOST_COMMANDS * MMT_DIFF_WIDTH;
    if (problems)
        mmt_text_addf(out, "\nTo fill the gaps of %c: %zu problem%s lack%s %c's best%s\n",
                      'A' + side, problems, problems == 1 ? "" : "s",
                      problems == 1 ? "s" : "", 'B' - side,
                      whole ? "; run, on its machine," : ":");
    for (size_t i = 0; i < count; i++)
        add_gap(view, side, &gaps[i], whole, out);
    if (problems && !whole)
        mmt_text_add(out, "    `mmtune tune` takes these options, --shape and --with; "
                          "--all prints the commands\n");
    mmt_diff_free_gaps(gaps, count);
}

/* ---- notes ------------------------------------------------------------------------- */

static void add_notes(const struct mmt_diff *diff, struct mmt_text *out)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < diff->rows[side].count; i++) {
            struct mmt_text note = { 0 };
            if (!mmt_diff_add_note(diff, side, i, &note))
                continue;
            mmt_text_add(out, "\n");
            mmt_print_wrapped(mmt_text_string(&note), 0, 0, MMT_DIFF_WIDTH, out);
            mmt_text_finish(&note);
        }
}

void mmt_diff_print(const struct mmt_diff_view *view)
{
    const struct mmt_diff *diff = view->diff;
    struct mmt_text out = { 0 };
    add_lines(diff, &out);
    add_cards(diff, &out);
    if (diff->num_both) {
        add_sums(diff, &out);
        add_problems(diff, view->all, &out);
        add_knobs(diff, view->all, &out);
        mmt_text_addf(&out, "\n%zu problem%s in both\n", diff->num_both,
                      diff->num_both == 1 ? "" : "s");
    }
    if (diff->num_apart)
        mmt_text_addf(&out,
                      "  %zu problem%s in both left out: with copying here, the kernel "
                      "alone there\n",
                      diff->num_apart, diff->num_apart == 1 ? "" : "s");
    for (int side = 0; side < 2; side++)
        add_wins(diff, side, &out);
    for (int side = 0; side < 2; side++)
        add_only_count(diff, side, &out);
    add_details(diff, view->all, &out);
    for (int side = 0; side < 2; side++)
        add_gaps(view, side, &out);
    add_notes(diff, &out);
    fputs(out.failed ? "out of memory\n" : mmt_text_string(&out), stdout);
    mmt_text_finish(&out);
}
