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
    "pre{overflow-x:auto;border:1px solid var(--line);padding:.6rem}\n"
    "svg{width:100%;min-width:600px;height:auto;font:13px system-ui,sans-serif}\n"
    "svg text{fill:var(--ink)}.grid{stroke:var(--line)}.one{stroke:var(--ink)}\n"
    "circle{fill:currentColor;stroke:currentColor;stroke-width:1.5;fill-opacity:.75}\n"
    "circle.suspect{fill-opacity:.1}\n"
    ".t0{color:#0072b2}.t1{color:#d55e00}.t2{color:#009e73}.t3{color:#cc79a7}"
    ".t4{color:#a87900}.t5{color:#56b4e9}.t6{color:#d0354a}.t7{color:#888}"
    ".t8{color:#8a63d2}\n";

/* ---- pieces ------------------------------------------------------------------------ */

static void add_element(struct mmt_text *page, const char *tag, const char *text)
{
    mmt_text_addf(page, "<%s>", tag);
    mmt_page_add_text(page, text);
    mmt_text_addf(page, "</%.*s>", (int) strcspn(tag, " "), tag);
}

static void add_number(struct mmt_text *page, const char *text)
{
    add_element(page, "td class=\"number\"", text);
}

static void add_time(struct mmt_text *page, const struct mmt_row *row)
{
    char cell[48] = "", buffer[32];
    if (row)
        snprintf(cell, sizeof cell, "%s%s", mmt_print_seconds(row->seconds, buffer),
                 row->suspect ? " *" : "");
    add_number(page, cell);
}

static void begin_table(struct mmt_text *page, const char *const heads[], size_t count)
{
    mmt_text_add(page, "<div class=\"wide\"><table><tr>");
    for (size_t i = 0; i < count; i++)
        add_element(page, "th", heads[i]);
    mmt_text_add(page, "</tr>\n");
}
#define BEGIN_TABLE(page, ...)                                                           \
    begin_table(page, (const char *const[]){ __VA_ARGS__ },                              \
                sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void end_table(struct mmt_text *page)
{
    mmt_text_add(page, "</table></div>\n");
}

/* ---- facts ------------------------------------------------------------------------- */

/* A fact of a profile as text; nothing where it is not known. */
struct fact {
    const char *name;
    void (*add)(const struct mmt_profile *profile, struct mmt_text *text);
};

static void add_name(const struct mmt_profile *profile, struct mmt_text *text)
{
    mmt_add_card(profile, text);
}

static void add_architecture(const struct mmt_profile *profile, struct mmt_text *text)
{
    mmt_text_add(text, profile->caps.architecture);
}

static void add_driver(const struct mmt_profile *profile, struct mmt_text *text)
{
    mmt_text_add(text, profile->caps.driver);
}

static void add_compiler(const struct mmt_profile *profile, struct mmt_text *text)
{
    mmt_text_add(text, profile->caps.compiler);
}

static void add_size(const struct mmt_profile *profile, struct mmt_text *text)
{
    if (profile->caps.sms)
        mmt_text_addf(text, "%u %s, %.2f GHz", profile->caps.sms,
                      profile->caps.kind == MMT_CPU ? "cores" : "multiprocessors",
                      profile->caps.clock_khz / 1e6);
}

static void add_memory(const struct mmt_profile *profile, struct mmt_text *text)
{
    if (profile->caps.memory)
        mmt_text_addf(text, "%.1f GiB", (double) profile->caps.memory / (1 << 30));
    if (profile->roofline.bandwidth > 0)
        mmt_text_addf(text, ", %.0f GB/s measured", profile->roofline.bandwidth / 1e9);
}

static void add_peaks(const struct mmt_profile *profile, struct mmt_text *text)
{
    char rate[32];
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        if (profile->roofline.peak_flops[type] > 0)
            mmt_text_addf(text, "%s%s %s", text->length ? ", " : "",
                          mmt_type_name((mmt_type) type),
                          mmt_print_rate(profile->roofline.peak_flops[type],
                                         (mmt_type) type, rate));
}

static void add_made(const struct mmt_profile *profile, struct mmt_text *text)
{
    if (*profile->citation)
        mmt_text_add(text, profile->citation);
    else
        mmt_text_addf(text, "mmtune %s, %s", profile->made.version, profile->made.date);
}

static void add_facts(struct mmt_text *page, const struct mmt_diff *diff)
{
    static const struct fact facts[] = {
        { "card", add_name },     { "architecture", add_architecture },
        { "driver", add_driver }, { "compiler", add_compiler },
        { "size", add_size },     { "memory", add_memory },
        { "at most", add_peaks }, { "made by", add_made },
    };
    BEGIN_TABLE(page, "", "A", "B");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        struct mmt_text told[2] = { { 0 }, { 0 } };
        for (int side = 0; side < 2; side++)
            facts[i].add(diff->rows[side].profile, &told[side]);
        if (told[0].length || told[1].length) {
            mmt_text_add(page, "<tr>");
            add_element(page, "th scope=\"row\"", facts[i].name);
            add_element(page, "td", mmt_text_string(&told[0]));
            add_element(page, "td", mmt_text_string(&told[1]));
            mmt_text_add(page, "</tr>\n");
        }
        mmt_text_finish(&told[0]);
        mmt_text_finish(&told[1]);
    }
    end_table(page);
}

/* ---- knobs, problems, kernels ---------------------------------------------------- */

static void add_cost(struct mmt_text *page, const struct mmt_cost *cost)
{
    char text[64] = "";
    if (cost->count)
        snprintf(text, sizeof text, "%.3g times (%zu of %zu)", cost->ratio, cost->count,
                 cost->of);
    add_number(page, text);
}

static void add_knobs(struct mmt_text *page, const struct mmt_diff *diff)
{
    struct mmt_knob_sum sums[MMT_MAX_KNOB_SUMS];
    const size_t num = mmt_diff_knob_sums(diff, sums);
    BEGIN_TABLE(page, "knob", "differs on", "A prefers", "B prefers", "B's value on A",
                "A's value on B");
    for (size_t i = 0; i < num; i++) {
        char text[64];
        mmt_text_add(page, "<tr>");
        add_element(page, "th scope=\"row\"", sums[i].name);
        snprintf(text, sizeof text, "%zu of %zu", sums[i].differ, sums[i].problems);
        add_number(page, text);
        for (int side = 0; side < 2; side++) {
            snprintf(text, sizeof text, "%s (%zu)", sums[i].side[side].value,
                     sums[i].side[side].count);
            add_element(page, "td", text);
        }
        add_cost(page, &sums[i].side[0].wrong);
        add_cost(page, &sums[i].side[1].wrong);
        mmt_text_add(page, "</tr>\n");
    }
    end_table(page);
}

static void add_problems(struct mmt_text *page, const struct mmt_diff *diff)
{
    enum { KNOBS_WIDTH = 60 };
    BEGIN_TABLE(page, "problem", "on A", "on B", "faster by", "knobs, A|B");
    for (size_t i = 0; i < diff->num_both; i++) {
        const struct mmt_both *both = diff->ranked[i];
        struct mmt_text problem = { 0 }, faster = { 0 }, knobs = { 0 };
        mmt_diff_add_problem(both->best[0]->problem, &problem);
        mmt_diff_add_faster(both, &faster);
        mmt_diff_add_knobs(both, KNOBS_WIDTH, &knobs);
        mmt_text_add(page, "<tr>");
        add_element(page, "th scope=\"row\"", mmt_text_string(&problem));
        add_time(page, both->best[0]);
        add_time(page, both->best[1]);
        add_number(page, mmt_text_string(&faster));
        add_element(page, "td", mmt_text_string(&knobs));
        mmt_text_add(page, "</tr>\n");
        mmt_text_finish(&problem);
        mmt_text_finish(&faster);
        mmt_text_finish(&knobs);
    }
    end_table(page);
}

static void add_kernel(struct mmt_text *page, const struct mmt_row *kernel,
                       const struct mmt_row *a, const struct mmt_row *b)
{
    struct mmt_text problem = { 0 };
    mmt_diff_add_problem(kernel->problem, &problem);
    mmt_text_add(page, "<tr>");
    add_element(page, "th scope=\"row\"", mmt_text_string(&problem));
    add_time(page, a);
    add_time(page, b);
    add_element(page, "td", kernel->name);
    mmt_text_add(page, "</tr>\n");
    mmt_text_finish(&problem);
}

static void add_kernels(struct mmt_text *page, const struct mmt_diff *diff)
{
    mmt_text_add(page, "<details><summary>Every time that the profiles have</summary>\n");
    BEGIN_TABLE(page, "problem", "on A", "on B", "kernel");
    for (size_t i = 0; i < diff->num_both; i++) {
        const struct mmt_group *group = diff->both[i].group;
        for (size_t row = 0; row < group[0].count; row++)
            add_kernel(page, &group[0].row[row], &group[0].row[row],
                       mmt_group_find(&group[1], &group[0].row[row]));
        for (size_t row = 0; row < group[1].count; row++)
            if (!mmt_group_find(&group[0], &group[1].row[row]))
                add_kernel(page, &group[1].row[row], NULL, &group[1].row[row]);
    }
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < diff->num_only[side]; i++)
            for (size_t row = 0; row < diff->only[side][i].count; row++) {
                const struct mmt_row *kernel = &diff->only[side][i].row[row];
                add_kernel(page, kernel, side ? NULL : kernel, side ? kernel : NULL);
            }
    end_table(page);
    mmt_text_add(page, "</details>\n");
}

/* ---- gaps and notes -------------------------------------------------------------- */

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
            mmt_page_add_text(page, mmt_text_string(&command));
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
            add_element(page, "p class=\"note\"", mmt_text_string(&note));
            mmt_text_add(page, "\n");
            mmt_text_finish(&note);
        }
}

/* ---- the page -------------------------------------------------------------------- */

static void add_head(struct mmt_text *page, const struct mmt_diff *diff)
{
    const struct mmt_diff_names names = mmt_diff_names(diff);
    struct mmt_text title = { 0 }, line[MMT_DIFF_LINES];
    mmt_text_addf(&title, "%s (A) and %s (B)", names.card[0], names.card[1]);
    mmt_text_add(page,
                 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
                 "<meta name=\"viewport\" content=\"width=device-width\"/>");
    add_element(page, "title", mmt_text_string(&title));
    mmt_text_addf(page, "<style>%s</style></head>\n<body>", style);
    add_element(page, "h1", mmt_text_string(&title));
    mmt_text_add(page, "\n<div class=\"lines\">\n");
    mmt_diff_say(diff, line);
    for (int i = 0; i < MMT_DIFF_LINES; i++) {
        if (line[i].length)
            add_element(page, "p", mmt_text_string(&line[i]));
        mmt_text_finish(&line[i]);
    }
    mmt_text_add(page, "</div>\n");
    mmt_text_finish(&title);
}

static void add_pictures(struct mmt_text *page, const struct mmt_diff *diff)
{
    add_element(page, "h2", "A's time over B's, by size");
    add_element(page, "p class=\"note\"",
                "Above 1, B is faster. A hollow point rests on suspect figures.");
    mmt_page_add_plot(page, diff);
    add_element(page, "h2", "By type and shape");
    add_element(page, "p class=\"note\"",
                "A's time over B's, times: blue where B is faster, orange where A is, "
                "without colour where the two tie.");
    mmt_page_add_heat(page, diff);
    add_element(page, "h2", "Knobs");
    add_element(page, "p class=\"note\"",
                "How often the two want different values, which each prefers, and what "
                "the other's value costs: the fastest that was timed with it, over the "
                "fastest of all.");
    add_knobs(page, diff);
    add_element(page, "h2", "Problems, the largest difference first");
    add_problems(page, diff);
}

void mmt_diff_add_page(const struct mmt_diff_view *view, struct mmt_text *page)
{
    const struct mmt_diff *diff = view->diff;
    add_head(page, diff);
    if (diff->num_both)
        add_pictures(page, diff);
    add_element(page, "h2", "Every kernel");
    add_kernels(page, diff);
    add_element(page, "h2", "The two cards");
    add_facts(page, diff);
    add_element(page, "h2", "Gaps and doubts");
    add_gaps(page, view);
    add_notes(page, diff);
    mmt_text_add(page, "</body></html>\n");
}
