/* The pieces of diff's page for browsers. */
#ifndef MMT_TUNER_REPORT_DIFF_PAGE_H
#define MMT_TUNER_REPORT_DIFF_PAGE_H

#include "tuner/report/diff.h"

/* Adds what was found, what is missing and what is in doubt, for a page of other heads.
 */
void mmt_page_add_pair(struct mmt_text *page, const struct mmt_diff_view *view);

/* Adds A's time over B's for each problem, over what the problem costs in FLOP, as SVG.
 */
void mmt_page_add_plot(struct mmt_text *page, const struct mmt_diff *diff);

/* Adds the same as a table of shapes and types, in colours. */
void mmt_page_add_heat(struct mmt_text *page, const struct mmt_diff *diff);

/* Adds bars of a paper's kernels, card by card, for each problem that both papers have.
 */
void mmt_page_add_bars(struct mmt_text *page, const struct mmt_diff *diff);

#endif
