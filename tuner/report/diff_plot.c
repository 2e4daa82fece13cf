/* The pictures of diff's page: the ratio over size, and a map of types and shapes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/common/options.h"
#include "tuner/report/diff_page.h"

/* ---- the ratio over size --------------------------------------------------------- */

/* In units of the picture's own. */
enum { LEFT = 70, RIGHT = 785, TOP = 20, BOTTOM = 350, HEIGHT = 430, WIDTH = 800 };

/* A logarithmic axis. */
struct axis {
    double least, most; /* natural logarithms */
    int from, to;       /* where those are drawn */
};

static double place(const struct axis *axis, double value)
{
    return axis->from + (log(value) - axis->least) / (axis->most - axis->least) *
                            (axis->to - axis->from);
}

static void widen(struct axis *axis, double value)
{
    axis->least = fmin(axis->least, log(value));
    axis->most = fmax(axis->most, log(value));
}

static void add_margin(struct axis *axis, double least_width)
{
    const double missing = fmax(0, least_width - (axis->most - axis->least));
    const double margin = 0.05 * (axis->most - axis->least) + missing / 2;
    axis->least -= margin;
    axis->most += margin;
}

static void find_axes(const struct mmt_diff *diff, struct axis *x, struct axis *y)
{
    *x = (struct axis){ INFINITY, -INFINITY, LEFT, RIGHT };
    *y = (struct axis){ 0, 0, BOTTOM, TOP };
    for (size_t i = 0; i < diff->num_both; i++) {
        widen(x, mmt_problem_flops(diff->both[i].best[0]->problem));
        widen(y, mmt_diff_ratio(&diff->both[i]));
    }
    add_margin(x, log(100));
    add_margin(y, log(1.5));
}

static void add_line(struct mmt_text *page, const char *class, double x1, double y1,
                     double x2, double y2)
{
    mmt_text_addf(page,
                  "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                  "y2=\"%.1f\"/>\n",
                  class, x1, y1, x2, y2);
}

static void add_x_tics(struct mmt_text *page, const struct axis *x)
{
    for (int ten = (int) ceil(x->least / log(10)); ten <= x->most / log(10); ten++) {
        const double at = place(x, pow(10, ten));
        add_line(page, "grid", at, TOP, at, BOTTOM);
        mmt_text_addf(page,
                      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">10"
                      "<tspan dy=\"-5\" font-size=\"10\">%d</tspan></text>\n",
                      at, BOTTOM + 20, ten);
    }
}

static void add_y_tics(struct mmt_text *page, const struct axis *y)
{
    static const double tics[] = { 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7,
                                   0.8,  0.9,  1,    1.1, 1.2, 1.3, 1.5, 2,
                                   3,    5,    10,   20,  50,  100 };
    enum { APART = 18 };
    double last = INFINITY;
    for (size_t i = 0; i < sizeof tics / sizeof *tics; i++) {
        const double at = place(y, tics[i]);
        if (at > BOTTOM || at < TOP || (last - at < APART && tics[i] != 1))
            continue;
        add_line(page, tics[i] == 1 ? "one" : "grid", LEFT, at, RIGHT, at);
        mmt_text_addf(page, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                      LEFT - 8, at + 4, tics[i]);
        last = at;
    }
}

static void add_point(struct mmt_text *page, const struct mmt_both *both,
                      const struct axis *x, const struct axis *y)
{
    const mmt_problem *problem = both->best[0]->problem;
    const bool suspect = both->suspect[0] || both->suspect[1];
    struct mmt_text told = { 0 };
    mmt_diff_add_problem(problem, &told);
    mmt_text_add(&told, ": ");
    mmt_diff_add_faster(both, &told);
    mmt_text_addf(page, "<circle class=\"t%d%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>",
                  (int) problem->type, suspect ? " suspect" : "",
                  place(x, mmt_problem_flops(problem)), place(y, mmt_diff_ratio(both)));
    mmt_html_add_text(page, mmt_text_string(&told));
    mmt_text_add(page, "</title></circle>\n");
    mmt_text_finish(&told);
}

/* One entry for each type, below the axis. */
static void add_legend(struct mmt_text *page, const struct mmt_diff *diff)
{
    unsigned types = 0;
    int at = LEFT;
    for (size_t i = 0; i < diff->num_both; i++)
        types |= 1u << diff->both[i].best[0]->problem->type;
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        if (!(types >> type & 1))
            continue;
        mmt_text_addf(page,
                      "<circle class=\"t%d\" cx=\"%d\" cy=\"%d\" r=\"5\"/>"
                      "<text x=\"%d\" y=\"%d\">%s</text>\n",
                      type, at + 5, HEIGHT - 16, at + 15, HEIGHT - 12,
                      mmt_type_name((mmt_type) type));
        at += 75;
    }
}

void mmt_page_add_plot(struct mmt_text *page, const struct mmt_diff *diff)
{
    struct axis x, y;
    find_axes(diff, &x, &y);
    mmt_text_addf(
        page,
        "<div class=\"wide\"><svg xmlns=\"http://www.w3.org/2000/svg\" "
        "viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"A's time over B's, for "
        "each problem over its size\">\n",
        WIDTH, HEIGHT);
    add_x_tics(page, &x);
    add_y_tics(page, &y);
    mmt_text_addf(page,
                  "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">size, FLOP</text>\n"
                  "<text transform=\"translate(18 %d) rotate(-90)\" "
                  "text-anchor=\"middle\">A's time over B's, times</text>\n",
                  (LEFT + RIGHT) / 2, BOTTOM + 44, (TOP + BOTTOM) / 2);
    for (size_t i = 0; i < diff->num_both; i++)
        add_point(page, &diff->both[i], &x, &y);
    add_legend(page, diff);
    mmt_text_add(page, "</svg></div>\n");
}

/* ---- types and shapes ------------------------------------------------------------ */

/* A problem's place in the map: "f32 nn" and "512x512x512". */
struct cell {
    const struct mmt_both *both;
    char column[32], row[96];
    double flops;
};

static struct cell make_cell(const struct mmt_both *both)
{
    struct cell cell = { .both = both,
                         .flops = mmt_problem_flops(both->best[0]->problem) };
    struct mmt_text text = { 0 };
    mmt_diff_add_problem(both->best[0]->problem, &text);
    const char *whole = mmt_text_string(&text), *shape = whole;
    for (int word = 0; word < 2; word++)
        shape += strcspn(shape, " ") + (strchr(shape, ' ') != NULL);
    snprintf(cell.column, sizeof cell.column, "%.*s",
             (int) (shape > whole ? shape - whole - 1 : 0), whole);
    snprintf(cell.row, sizeof cell.row, "%s", shape);
    mmt_text_finish(&text);
    return cell;
}

static int by_flops(const void *x, const void *y)
{
    const struct cell *a = x, *b = y;
    if (a->flops != b->flops)
        return a->flops < b->flops ? -1 : 1;
    const int order = strcmp(a->row, b->row);
    return order ? order : strcmp(a->column, b->column);
}

/* B's colour where B is faster, A's where A is; the more, the greater the ratio. */
static void add_cell(struct mmt_text *page, const struct mmt_both *both)
{
    const double ratio = mmt_diff_ratio(both);
    const double strength = fmin(0.7, 0.1 + 0.4 * fabs(log2(ratio)));
    mmt_text_addf(page, "<td style=\"background:rgba(%s,%.2f)\">%.3g%s</td>",
                  ratio > 1 ? "0,114,178" : "213,94,0", both->tie ? 0 : strength, ratio,
                  both->suspect[0] || both->suspect[1] ? " *" : "");
}

static bool is_first(const struct cell *cells, size_t at, bool column)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(column ? cells[i].column : cells[i].row,
                    column ? cells[at].column : cells[at].row))
            return false;
    return true;
}

static void add_row(struct mmt_text *page, const struct cell *cells, size_t count,
                    size_t row)
{
    mmt_text_add(page, "<tr><th scope=\"row\">");
    mmt_html_add_text(page, cells[row].row);
    mmt_text_add(page, "</th>");
    for (size_t column = 0; column < count; column++) {
        size_t at = 0;
        if (!is_first(cells, column, true))
            continue;
        while (at < count && (strcmp(cells[at].row, cells[row].row) ||
                              strcmp(cells[at].column, cells[column].column)))
            at++;
        if (at < count)
            add_cell(page, cells[at].both);
        else
            mmt_text_add(page, "<td></td>");
    }
    mmt_text_add(page, "</tr>\n");
}

void mmt_page_add_heat(struct mmt_text *page, const struct mmt_diff *diff)
{
    const size_t count = diff->num_both;
    struct cell *cells = calloc(count + 1, sizeof *cells);
    if (!cells) {
        page->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        cells[i] = make_cell(&diff->both[i]);
    qsort(cells, count, sizeof *cells, by_flops);
    mmt_text_add(page, "<div class=\"wide\"><table class=\"heat\"><tr><th>shape</th>");
    for (size_t i = 0; i < count; i++)
        if (is_first(cells, i, true)) {
            mmt_text_add(page, "<th>");
            mmt_html_add_text(page, cells[i].column);
            mmt_text_add(page, "</th>");
        }
    mmt_text_add(page, "</tr>\n");
    for (size_t i = 0; i < count; i++)
        if (is_first(cells, i, false))
            add_row(page, cells, count, i);
    mmt_text_add(page, "</table></div>\n");
    free(cells);
}

/* ---- a paper's kernels, card by card ------------------------------------------------
 */

/* A cell with a bar of its share of the longest; empty where it was not timed. */
static void add_bar(struct mmt_text *page, const struct mmt_row *row, double longest,
                    int side)
{
    char time[32];
    if (!row) {
        mmt_text_add(page, "<td></td>");
        return;
    }
    mmt_text_addf(page,
                  "<td><div class=\"bar %c\" style=\"width:%.0f%%\"></div>%s%s</td>",
                  'a' + side, 100 * row->seconds / longest,
                  mmt_print_seconds(row->seconds, time), row->suspect ? " *" : "");
}

static void add_bars(struct mmt_text *page, const struct mmt_both *both,
                     const struct mmt_row *kernel, double longest)
{
    mmt_text_add(page, "<tr><th scope=\"row\">");
    mmt_html_add_text(page, kernel->name);
    mmt_text_add(page, "</th>");
    for (int side = 0; side < 2; side++)
        add_bar(page, mmt_group_find(&both->group[side], kernel), longest, side);
    mmt_text_add(page, "</tr>\n");
}

void mmt_page_add_bars(struct mmt_text *page, const struct mmt_diff *diff)
{
    for (size_t i = 0; i < diff->num_both; i++) {
        const struct mmt_both *both = &diff->both[i];
        double longest = 0;
        if (!both->best[0]->published || !both->best[1]->published)
            continue;
        for (int side = 0; side < 2; side++)
            for (size_t row = 0; row < both->group[side].count; row++)
                longest = fmax(longest, both->group[side].row[row].seconds);
        struct mmt_text problem = { 0 };
        mmt_diff_add_problem(both->best[0]->problem, &problem);
        mmt_text_addf(page,
                      "<table class=\"bars\"><caption>%s</caption>"
                      "<tr><th>kernel</th><th>on A</th><th>on B</th></tr>\n",
                      mmt_text_string(&problem));
        mmt_text_finish(&problem);
        for (size_t row = 0; row < both->group[0].count; row++)
            add_bars(page, both, &both->group[0].row[row], longest);
        for (size_t row = 0; row < both->group[1].count; row++)
            if (!mmt_group_find(&both->group[0], &both->group[1].row[row]))
                add_bars(page, both, &both->group[1].row[row], longest);
        mmt_text_add(page, "</table>\n");
    }
}
