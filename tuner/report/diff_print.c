/* How a comparison is told to people, in MMT_DIFF_WIDTH columns. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/common/options.h"
#include "tuner/report/diff.h"

/* What is printed without --all. */
enum { MOST_PROBLEMS = 20, MOST_KNOBS = 12, MOST_KERNELS = 40, MOST_COMMANDS = 4 };

/* ---- pieces ------------------------------------------------------------------------ */

/* Fills up with blanks from `begin`, where a line's text began, to a column. */
static void pad(struct mmt_text *out, size_t begin, size_t column)
{
    while (out->length - begin < column && !out->failed)
        mmt_text_add(out, " ");
}

/* "9.01 ms *", for a column; "-" for what was not timed. */
static void add_cell(const struct mmt_row *row, struct mmt_text *out)
{
    char cell[48] = "-  ", buffer[32];
    if (row)
        snprintf(cell, sizeof cell, "%s%s", mmt_print_seconds(row->seconds, buffer),
                 row->suspect ? " *" : "  ");
    mmt_text_addf(out, "%13s", cell);
}

/* "1.94 times (3)": a cost, and on how many problems it is known. */
static void add_cost(const struct mmt_cost *cost, struct mmt_text *out)
{
    char cell[48] = "-";
    if (cost->count)
        snprintf(cell, sizeof cell, "%.3g times (%zu)", cost->ratio, cost->count);
    mmt_text_addf(out, "%16s", cell);
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
        mmt_text_finish(&card);
    }
}

/* ---- means by type ----------------------------------------------------------------- */

static void add_sum(const char *name, const struct mmt_sum *sum, struct mmt_text *out)
{
    char ratio[32], sure[32] = "-";
    snprintf(ratio, sizeof ratio, "%.3g times", sum->ratio);
    if (sum->sure > 0)
        snprintf(sure, sizeof sure, "%.3g times", sum->sure);
    mmt_text_addf(out, "  %-14s%9zu%14s%10zu%10zu%7zu%10zu%16s\n", name, sum->problems,
                  ratio, sum->faster[0], sum->faster[1], sum->ties, sum->suspect, sure);
}

static void add_sums(const struct mmt_diff *diff, struct mmt_text *out)
{
    struct mmt_sum sums[MMT_MAX_SUMS];
    const size_t num = mmt_diff_sums(diff, sums);
    const struct mmt_sum total = mmt_diff_total(diff);
    mmt_text_addf(out,
                  "\nA's time over B's, geometric means: above 1, B is faster\n"
                  "  %-14s%9s%14s%10s%10s%7s%10s%16s\n",
                  "type", "problems", "A over B", "A faster", "B faster", "ties",
                  "suspect *", "without *");
    for (size_t i = 0; i < num; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s%s",
                 sums[i].op == MMT_GEMM ? "" : mmt_op_row(sums[i].op)->name,
                 sums[i].op == MMT_GEMM ? "" : " ", mmt_type_name(sums[i].type));
        add_sum(name, &sums[i], out);
    }
    if (num > 1)
        add_sum("all", &total, out);
}

/* ---- problems ---------------------------------------------------------------------- */

static void add_problem(const struct mmt_both *both, struct mmt_text *out)
{
    enum { PROBLEM = 29, FASTER = 56, KNOBS = 74 };
    size_t begin = out->length;
    mmt_text_add(out, "  ");
    mmt_diff_add_problem(both->best[0]->problem, out);
    if (out->length - begin > PROBLEM) {
        mmt_text_add(out, "\n");
        begin = out->length;
    }
    pad(out, begin, PROBLEM);
    add_cell(both->best[0], out);
    add_cell(both->best[1], out);
    pad(out, begin, FASTER);
    mmt_diff_add_faster(both, out);
    pad(out, begin, KNOBS);
    mmt_text_add(out, " ");
    mmt_diff_add_knobs(both, MMT_DIFF_WIDTH - KNOBS - 1, out);
    mmt_text_add(out, "\n");
}

static size_t count_shown(size_t count, size_t most, bool all)
{
    return all || count < most ? count : most;
}

/* "  382 more: --all". */
static void add_more(size_t count, size_t shown, struct mmt_text *out)
{
    if (shown < count)
        mmt_text_addf(out, "  %zu more: --all prints them\n", count - shown);
}

static void add_problems(const struct mmt_diff *diff, bool all, struct mmt_text *out)
{
    const size_t shown = count_shown(diff->num_both, MOST_PROBLEMS, all);
    mmt_text_addf(out,
                  "\nBest against best, the largest difference first\n"
                  "  %-27s%11s%13s    %-17s%s\n",
                  "problem", "on A", "on B", "faster by", "knobs, A|B");
    for (size_t i = 0; i < shown; i++)
        add_problem(diff->ranked[i], out);
    add_more(diff->num_both, shown, out);
}

/* ---- knobs and kernels ------------------------------------------------------------- */

static void add_knob(const struct mmt_knob_sum *sum, struct mmt_text *out)
{
    const size_t begin = out->length;
    mmt_text_addf(out, "  %-22s", sum->name);
    mmt_text_addf(out, " %zu of %zu", sum->differ, sum->problems);
    for (int side = 0; side < 2; side++) {
        const char *value = sum->side[side].value;
        const bool cut = strlen(value) > 9;
        pad(out, begin, side ? 51 : 35);
        mmt_text_addf(out, " %.*s%s (%zu)", cut ? 7 : 9, value, cut ? ".." : "",
                      sum->side[side].count);
    }
    pad(out, begin, 67);
    add_cost(&sum->side[0].wrong, out);
    add_cost(&sum->side[1].wrong, out);
    mmt_text_add(out, "\n");
}

static void add_knobs(const struct mmt_diff *diff, bool all, struct mmt_text *out)
{
    struct mmt_knob_sum sums[MMT_MAX_KNOB_SUMS];
    const size_t num = mmt_diff_knob_sums(diff, sums);
    const size_t shown = count_shown(num, MOST_KNOBS, all);
    if (!num)
        return;
    mmt_text_addf(
        out,
        "\nKnobs: how often the two want different values, and what the other's "
        "costs\n  %-22s %-11s%-16s%-15s%16s%16s\n",
        "knob", "differ", "A prefers", "B prefers", "B's value on A", "A's value on B");
    for (size_t i = 0; i < shown; i++)
        add_knob(&sums[i], out);
    add_more(num, shown, out);
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
                       struct mmt_text *out)
{
    enum { NAME = 44 };
    const struct mmt_row *a = mmt_group_find(&both->group[0], kernel);
    const struct mmt_row *b = mmt_group_find(&both->group[1], kernel);
    const size_t begin = out->length;
    struct mmt_text name = { 0 };
    mmt_text_add(out, "  ");
    add_cell(a, out);
    add_cell(b, out);
    if (a && b)
        mmt_text_addf(out, "  A/B %.3g times", a->seconds / b->seconds);
    if (a == both->best[0])
        mmt_text_add(&name, b == both->best[1] ? "(best on both) " : "(best on A) ");
    else if (b == both->best[1])
        mmt_text_add(&name, "(best on B) ");
    mmt_text_add(&name, kernel->name);
    mmt_print_wrapped(mmt_text_string(&name), NAME + 3, (int) (out->length - begin),
                      MMT_DIFF_WIDTH, out);
    mmt_text_finish(&name);
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
    mmt_text_add(out, "\n");
    mmt_problem_print(both->group[0].row->problem, out);
    mmt_text_addf(out, "\n  %13s%13s\n", "on A  ", "on B  ");
    for (size_t i = 0; i < both->group[0].count; i++)
        add_kernel(both, &both->group[0].row[i], out);
    for (size_t i = 0; i < both->group[1].count; i++)
        if (!mmt_group_find(&both->group[0], &both->group[1].row[i]))
            add_kernel(both, &both->group[1].row[i], out);
    add_differences(both, out);
    add_others_cost(both, 0, out);
    add_others_cost(both, 1, out);
}

static void add_only(const struct mmt_diff *diff, int side, struct mmt_text *out)
{
    for (size_t i = 0; i < diff->num_only[side]; i++) {
        const struct mmt_group *group = &diff->only[side][i];
        mmt_text_add(out, "\n");
        mmt_problem_print(group->row->problem, out);
        mmt_text_addf(out, ", only in %c\n", 'A' + side);
        for (size_t row = 0; row < group->count; row++) {
            mmt_text_add(out, "  ");
            add_cell(&group->row[row], out);
            mmt_print_wrapped(group->row[row].name, 17, 15, MMT_DIFF_WIDTH, out);
        }
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
