/* The page of `mmtune report`: tables of what a profile, its journal and a recording
 * tell, which the page's script sorts, filters and draws (web/page.js). */
#ifndef MMT_TUNER_REPORT_REPORT_H
#define MMT_TUNER_REPORT_REPORT_H

#include "templates/embedded.h"
#include "tuner/common/table_data.h"
#include "tuner/journal/journal.h"
#include "tuner/report/recorded.h"
#include "tuner/report/rows.h"

/* What one device is told by. */
struct mmt_report {
    const struct mmt_profile *profile;
    const struct mmt_journal *journal;         /* NULL: none can be read */
    const struct mmt_recorded_view *recording; /* NULL: there is none */
    struct mmt_rows rows;                      /* of the profile */
    char *path;    /* of the profile; NULL: the device's own */
    char name[32]; /* of its tables' files and of the page's elements; "" of a lone one */
};

/* One section: a sentence, a table, and how the script draws that. The table is the
 * caller's to free. Where it stays without rows, the sentence says why there is nothing.
 */
struct mmt_report_section {
    const char *name; /* of the plot, and of the table's files */
    const char *title;
    bool drawn; /* else the table stands alone */
    struct mmt_table (*make)(const struct mmt_report *report, struct mmt_text *sentence);
};
extern const struct mmt_report_section mmt_report_sections[]; /* ends with a NULL name */

/* The page's own files and D3's (written by tools/embed.py). */
extern const struct mmt_embedded mmt_report_files[];

/* The tables of sections, each of a file beside its subject. */
struct mmt_table mmt_report_make_facts(const struct mmt_report *report,
                                       struct mmt_text *text);
struct mmt_table mmt_report_make_health(const struct mmt_report *report,
                                        struct mmt_text *text);
struct mmt_table mmt_report_make_results(const struct mmt_report *report,
                                         struct mmt_text *text);
struct mmt_table mmt_report_make_knobs(const struct mmt_report *report,
                                       struct mmt_text *text);

/* Adds what was found in sentences, one a line, the most important first. */
void mmt_report_say(const struct mmt_report *report, struct mmt_text *text);

/* Adds the page of one report, or of several side by side. */
mmt_status mmt_report_add_page(const struct mmt_report *reports, size_t count,
                               struct mmt_text *page, mmt_error *err);

/* Writes the tables of all sections into a folder. */
mmt_status mmt_report_save(const struct mmt_report *report, const char *folder,
                           mmt_error *err);

#endif
