/* The page of a report: sentences, tables and what its script draws of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/common/options.h"
#include "tuner/report/diff_page.h"
#include "tuner/report/report.h"

static const char *file_of(const char *name)
{
    const struct mmt_embedded *file = mmt_report_files;
    while (strcmp(file->name, name))
        file++;
    return file->text;
}

static void add_paragraphs(struct mmt_text *page, struct mmt_text *lines)
{
    char *rest = lines->data;
    while (rest && *rest)
        mmt_html_add_element(page, "p", strsep(&rest, "\n"));
    mmt_text_finish(lines);
}

/* ---- one device -----------------------------------------------------------------------
 */

static void add_section(struct mmt_text *page, const struct mmt_report *report,
                        const struct mmt_report_section *section)
{
    struct mmt_text sentence = { 0 };
    struct mmt_table table = section->make(report, &sentence);
    mmt_text_addf(page, "<section id=\"%s%s\">\n", report->name, section->name);
    mmt_html_add_element(page, "h3", section->title);
    mmt_html_add_element(page, "p class=\"note\"", mmt_text_string(&sentence));
    if (table.num_rows && section->drawn) {
        mmt_text_addf(page, "\n<figure data-plot=\"%s\" aria-label=\"", section->name);
        mmt_html_add_text(page, section->title);
        mmt_text_add(page, "\"></figure>\n");
    }
    if (table.num_rows) {
        mmt_text_addf(page, "<details%s><summary>Table, %d %s</summary>\n",
                      section->drawn ? "" : " open", table.num_rows,
                      table.num_rows == 1 ? "row" : "rows");
        mmt_table_add_html(&table, page);
        mmt_text_add(page, "</details>\n");
    }
    mmt_text_add(page, "</section>\n");
    mmt_text_finish(&sentence);
    mmt_table_free(&table);
}

/* What the roofs are drawn by: bytes/s, and FLOP/s of each type. */
static void add_roofs(struct mmt_text *page, const struct mmt_roofline *roofline)
{
    mmt_text_addf(page, " data-bandwidth=\"%.6g\" data-peaks=\"", roofline->bandwidth);
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        if (roofline->peak_flops[type] > 0)
            mmt_text_addf(page, "%s %.6g ", mmt_type_name((mmt_type) type),
                          roofline->peak_flops[type]);
    mmt_text_add(page, "\"");
}

static void add_contents(struct mmt_text *page, const struct mmt_report *report)
{
    mmt_text_add(page, "<nav aria-label=\"Sections\">");
    for (const struct mmt_report_section *it = mmt_report_sections; it->name; it++) {
        mmt_text_addf(page, "<a href=\"#%s%s\">", report->name, it->name);
        mmt_html_add_text(page, it->title);
        mmt_text_add(page, "</a> ");
    }
    mmt_text_add(page, "</nav>\n");
}

static void add_device(struct mmt_text *page, const struct mmt_report *report)
{
    struct mmt_text lines = { 0 }, card = { 0 };
    mmt_add_card(report->profile, &card);
    mmt_text_add(page, "<section class=\"device\"");
    add_roofs(page, &report->profile->roofline);
    mmt_text_add(page, ">\n");
    mmt_html_add_element(page, "h2", mmt_text_string(&card));
    mmt_text_add(page, "<div class=\"lines\">\n");
    mmt_report_say(report, &lines);
    add_paragraphs(page, &lines);
    mmt_text_add(page, "</div>\n");
    add_contents(page, report);
    for (const struct mmt_report_section *it = mmt_report_sections; it->name; it++)
        add_section(page, report, it);
    mmt_text_add(page, "</section>\n");
    mmt_text_finish(&card);
}

/* ---- several devices ------------------------------------------------------------------
 */

static mmt_status compare(const struct mmt_report *a, const struct mmt_report *b,
                          struct mmt_diff *diff, mmt_error *err)
{
    const struct mmt_profile *const profiles[] = { a->profile, b->profile };
    const struct mmt_journal *const journals[] = { a->journal, b->journal };
    const struct mmt_diff_filter all = MMT_DIFF_ALL;
    return mmt_diff_make(profiles, journals, &all, diff, err);
}

static mmt_status add_pair(struct mmt_text *page, const struct mmt_report *a,
                           const struct mmt_report *b, mmt_error *err)
{
    struct mmt_diff diff;
    char *paths[] = { a->path, b->path };
    if (compare(a, b, &diff, err))
        return err->status;
    const struct mmt_diff_view view = { &diff, paths, false };
    const struct mmt_diff_names names = mmt_diff_names(&diff);
    struct mmt_text title = { 0 };
    mmt_text_addf(&title, "%s (A) and %s (B)", names.card[0], names.card[1]);
    mmt_text_add(page, "<section>\n");
    mmt_html_add_element(page, "h2", mmt_text_string(&title));
    mmt_page_add_pair(page, &view);
    mmt_text_add(page, "</section>\n");
    mmt_text_finish(&title);
    mmt_diff_finish(&diff);
    return MMT_OK;
}

/* Without suspect figures where there are others. */
static void add_mean(struct mmt_text *page, struct mmt_sum sum)
{
    const bool sure = sum.sure > 0;
    mmt_text_addf(page, "<td>%.4g (%zu)</td>", sure ? sum.sure : sum.ratio,
                  sum.problems - (sure ? sum.suspect : 0));
}

/* The mean of the row's times over the column's. */
static mmt_status add_means(struct mmt_text *page, const struct mmt_report *reports,
                            size_t count, mmt_error *err)
{
    mmt_status status = MMT_OK;
    mmt_text_add(page,
                 "<div class=\"wide\"><table class=\"heat\"><caption>The row's time "
                 "over the column's, times: the geometric mean of the problems "
                 "that both have. Above 1, the column is faster.</caption>\n<tr>"
                 "<th>device</th>");
    for (size_t i = 0; i < count; i++)
        mmt_html_add_element(page, "th", reports[i].profile->caps.name);
    mmt_text_add(page, "</tr>\n");
    for (size_t a = 0; a < count && !status; a++) {
        mmt_text_add(page, "<tr>");
        mmt_html_add_element(page, "th scope=\"row\"", reports[a].profile->caps.name);
        for (size_t b = 0; b < count && !status; b++) {
            struct mmt_diff diff;
            status = compare(&reports[a], &reports[b], &diff, err);
            if (status)
                break;
            if (diff.num_both)
                add_mean(page, mmt_diff_total(&diff));
            else
                mmt_text_add(page, "<td>-</td>");
            mmt_diff_finish(&diff);
        }
        mmt_text_add(page, "</tr>\n");
    }
    mmt_text_add(page, "</table></div>\n");
    return status;
}

static mmt_status add_comparison(struct mmt_text *page, const struct mmt_report *reports,
                                 size_t count, mmt_error *err)
{
    mmt_text_add(page, "<section id=\"comparison\"><h2>The devices side by side</h2>\n");
    mmt_status status = add_means(page, reports, count, err);
    for (size_t a = 0; a < count && !status; a++)
        for (size_t b = a + 1; b < count && !status; b++)
            status = add_pair(page, &reports[a], &reports[b], err);
    mmt_text_add(page, "</section>\n");
    return status;
}

/* ---- the page -------------------------------------------------------------------------
 */

static void add_head(struct mmt_text *page, const struct mmt_report *reports,
                     size_t count)
{
    struct mmt_text title = { 0 };
    mmt_text_add(&title, "mmtune: ");
    for (size_t i = 0; i < count; i++)
        mmt_text_addf(&title, "%s%s", i ? ", " : "", reports[i].profile->caps.name);
    mmt_text_add(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                       "<meta name=\"viewport\" content=\"width=device-width\">");
    mmt_html_add_element(page, "title", mmt_text_string(&title));
    mmt_text_addf(page, "<style>%s</style></head>\n<body>\n", file_of("page.css"));
    mmt_html_add_element(page, "h1", mmt_text_string(&title));
    mmt_text_finish(&title);
}

static void add_scripts(struct mmt_text *page)
{
    mmt_text_add(page, "<details class=\"licence\"><summary>Plots are drawn by D3, whose "
                       "licence is this</summary>");
    mmt_html_add_element(page, "pre", file_of("d3.license"));
    mmt_text_addf(page,
                  "</details>\n<script>%s</script>\n<script>%s</script>\n"
                  "</body></html>\n",
                  file_of("d3.min.js"), file_of("page.js"));
}

mmt_status mmt_report_add_page(const struct mmt_report *reports, size_t count,
                               struct mmt_text *page, mmt_error *err)
{
    mmt_status status = MMT_OK;
    add_head(page, reports, count);
    if (count > 1)
        status = add_comparison(page, reports, count, err);
    for (size_t i = 0; i < count; i++)
        add_device(page, &reports[i]);
    add_scripts(page);
    return !status && page->failed
               ? mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the page")
               : status;
}
