/* A comparison as one page of HTML. */
#include <stdio.h>
#include <string.h>

#include "tuner/common/options.h"
#include "tuner/report/diff_page.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#5b6470;"
    "--line:#d5d9de}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6e8eb;--paper:#15181c;"
    "--soft:#9aa4b0;--line:#3a4048}}\n"
    "body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:1000px;margin:0 auto;padding:1rem}\n"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}\n"
    "p.note,caption{color:var(--soft);text-align:left}\n"
    ".lines p{margin:.2rem 0}.lines p:first-child{font-weight:600;font-size:1.1rem}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse}th,td{padding:.2rem .6rem;text-align:left;"
    "border-bottom:1px solid var(--line);vertical-align:top}\n"
    "td.number,.heat td{text-align:right;font-variant-numeric:tabular-nums;"
    "white-space:nowrap}th{white-space:nowrap}\n"
    ".bars{width:100%;margin-top:1rem}.bars th{width:9rem}.bar{height:.8rem;"
    "background:#0072b2}.bar.b{background:#d55e00}\n"
    "pre{overflow-x:auto;border:1px solid var(--line);padding:.6rem}\n"
    "svg{width:100%;min-width:600px;height:auto;font:13px system-ui,sans-serif}\n"
    "svg text{fill:var(--ink)}.grid{stroke:var(--line)}.one{stroke:var(--ink)}\n"
    "circle{fill:currentColor;stroke:currentColor;stroke-width:1.5;fill-opacity:.75}\n"
    "circle.suspect{fill-opacity:.1}\n"
    ".t0{color:#0072b2}.t1{color:#d55e00}.t2{color:#009e73}.t3{color:#cc79a7}"
    ".t4{color:#a87900}.t5{color:#56b4e9}.t6{color:#d0354a}.t7{color:#888}"
    ".t8{color:#8a63d2}\n";

/* Frees the table. */
static void add_table(struct mmt_text *page, struct mmt_table *table)
{
    mmt_table_add_html(table, page);
    mmt_table_free(table);
}

/* ---- facts ------------------------------------------------------------------------- */

static void add_facts(struct mmt_text *page, const struct mmt_diff *diff)
{
    struct mmt_table table = mmt_table_of("", "\tA\tB");
    for (size_t i = 0; i < mmt_diff_num_facts; i++) {
        struct mmt_text told[2] = { { 0 }, { 0 } };
        for (int side = 0; side < 2; side++)
            mmt_diff_facts[i].add(diff->rows[side].profile, &told[side]);
        if (told[0].length || told[1].length)
            mmt_table_add(&table,
                          (struct mmt_cell[]){ MMT_WORD(mmt_diff_facts[i].name),
                                               MMT_WORD(mmt_text_string(&told[0])),
                                               MMT_WORD(mmt_text_string(&told[1])) });
        mmt_text_finish(&told[0]);
        mmt_text_finish(&told[1]);
    }
    add_table(page, &table);
}

/* ---- kernels ----------------------------------------------------------------------- */

static void add_kernel(struct mmt_table *table, const struct mmt_row *kernel,
                       const struct mmt_row *a, const struct mmt_row *b)
{
    struct mmt_text row = { 0 };
    mmt_diff_add_problem(kernel->problem, &row);
    mmt_text_add(&row, "\t");
    mmt_diff_add_time(a, &row);
    mmt_diff_add_time(b, &row);
    mmt_text_add(&row, kernel->name);
    mmt_table_take(table, &row);
}

static void add_kernels(struct mmt_text *page, const struct mmt_diff *diff)
{
    struct mmt_table table = mmt_table_of("", "problem\t>on A\t>on B\tkernel");
    mmt_text_add(page, "<details><summary>Every time that the profiles have</summary>\n");
    for (size_t i = 0; i < diff->num_both; i++) {
        const struct mmt_group *group = diff->both[i].group;
        for (size_t row = 0; row < group[0].count; row++)
            add_kernel(&table, &group[0].row[row], &group[0].row[row],
                       mmt_group_find(&group[1], &group[0].row[row]));
        for (size_t row = 0; row < group[1].count; row++)
            if (!mmt_group_find(&group[0], &group[1].row[row]))
                add_kernel(&table, &group[1].row[row], NULL, &group[1].row[row]);
    }
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < diff->num_only[side]; i++)
            for (size_t row = 0; row < diff->only[side][i].count; row++) {
                const struct mmt_row *kernel = &diff->only[side][i].row[row];
                add_kernel(&table, kernel, side ? NULL : kernel, side ? kernel : NULL);
            }
    add_table(page, &table);
    mmt_text_add(page, "</details>\n");
}

/* ---- gaps and notes ---------------------------------------------------------------- */

static void add_gaps(struct mmt_text *page, const struct mmt_diff_view *view)
{
    for (int side = 0; side < 2; side++) {
        size_t count;
        struct mmt_gap *gaps = mmt_diff_gaps(view->diff, side, &count);
        if (count)
            mmt_text_addf(page,
                          "<p>On the machine of %c, to time what is best on %c:</p>\n"
                          "<pre>",
                          'A' + side, 'B' - side);
        for (size_t i = 0; i < count; i++) {
            struct mmt_text command = { 0 };
            mmt_diff_add_command(view, side, &gaps[i], &command);
            mmt_html_add_text(page, mmt_text_string(&command));
            mmt_text_add(page, command.length ? "\n" : "");
            mmt_text_finish(&command);
        }
        mmt_text_add(page, count ? "</pre>\n" : "");
        mmt_diff_free_gaps(gaps, count);
    }
}

static void add_notes(struct mmt_text *page, const struct mmt_diff *diff)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < diff->rows[side].count; i++) {
            struct mmt_text note = { 0 };
            if (!mmt_diff_add_note(diff, side, i, &note))
                continue;
            mmt_html_add_element(page, "p class=\"note\"", mmt_text_string(&note));
            mmt_text_add(page, "\n");
            mmt_text_finish(&note);
        }
}

/* ---- the page ---------------------------------------------------------------------- */

static void add_head(struct mmt_text *page, const struct mmt_diff *diff)
{
    const struct mmt_diff_names names = mmt_diff_names(diff);
    struct mmt_text title = { 0 };
    mmt_text_addf(&title, "%s (A) and %s (B)", names.card[0], names.card[1]);
    mmt_text_add(page,
                 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
                 "<meta name=\"viewport\" content=\"width=device-width\"/>");
    mmt_html_add_element(page, "title", mmt_text_string(&title));
    mmt_text_addf(page, "<style>%s</style></head>\n<body>", style);
    mmt_html_add_element(page, "h1", mmt_text_string(&title));
    mmt_text_finish(&title);
}

static void add_lines(struct mmt_text *page, const struct mmt_diff *diff)
{
    struct mmt_text line[MMT_DIFF_LINES];
    mmt_text_add(page, "\n<div class=\"lines\">\n");
    mmt_diff_say(diff, line);
    for (int i = 0; i < MMT_DIFF_LINES; i++) {
        if (line[i].length)
            mmt_html_add_element(page, "p", mmt_text_string(&line[i]));
        mmt_text_finish(&line[i]);
    }
    mmt_text_add(page, "</div>\n");
}

static void add_pictures(struct mmt_text *page, const struct mmt_diff *diff)
{
    mmt_html_add_element(page, "h2", "A's time over B's, by size");
    mmt_html_add_element(
        page, "p class=\"note\"",
        "Above 1, B is faster. A hollow point rests on suspect figures.");
    mmt_page_add_plot(page, diff);
    mmt_html_add_element(page, "h2", "By type and shape");
    mmt_html_add_element(
        page, "p class=\"note\"",
        "A's time over B's, times: blue where B is faster, orange where A is, "
        "without colour where the two tie.");
    mmt_page_add_heat(page, diff);
    mmt_page_add_bars(page, diff);
    mmt_html_add_element(page, "h2", "Knobs and problems");
    mmt_html_add_element(page, "p class=\"note\"",
                         "What a value costs: times with it over times with the own, "
                         "of kernels that differ in it alone.");
    struct mmt_table knobs = mmt_diff_list_knobs(diff, SIZE_MAX, true),
                     rates = mmt_diff_list_rates(diff, SIZE_MAX),
                     problems = mmt_diff_list_problems(diff, SIZE_MAX, true);
    add_table(page, &knobs);
    add_table(page, &problems);
    if (rates.num_rows)
        add_table(page, &rates);
    else
        mmt_table_free(&rates);
}

static void add_findings(struct mmt_text *page, const struct mmt_diff *diff)
{
    add_lines(page, diff);
    if (diff->num_both)
        add_pictures(page, diff);
}

static void add_doubts(struct mmt_text *page, const struct mmt_diff_view *view)
{
    mmt_html_add_element(page, "h2", "Gaps and doubts");
    add_gaps(page, view);
    add_notes(page, view->diff);
}

void mmt_page_add_pair(struct mmt_text *page, const struct mmt_diff_view *view)
{
    add_findings(page, view->diff);
    add_doubts(page, view);
}

void mmt_diff_add_page(const struct mmt_diff_view *view, struct mmt_text *page)
{
    const struct mmt_diff *diff = view->diff;
    add_head(page, diff);
    add_findings(page, diff);
    mmt_html_add_element(page, "h2", "Every kernel");
    add_kernels(page, diff);
    mmt_html_add_element(page, "h2", "The two cards");
    add_facts(page, diff);
    add_doubts(page, view);
    mmt_text_add(page, "</body></html>\n");
}
