/* What `diff` finds, apart from how it is told. */
#ifndef MMT_TUNER_REPORT_DIFF_H
#define MMT_TUNER_REPORT_DIFF_H

#include "tuner/report/rows.h"

/* One problem that both profiles have. Side 0 is A, side 1 is B. */
struct mmt_both {
    struct mmt_group group[2];
    const struct mmt_row *best[2];
    const struct mmt_row *others_best[2]; /* the other side's best kernel, timed on this
                                           * side; NULL where it was not */
    bool same;                            /* one kernel is best on both */
    bool tie;        /* the best times differ by no more than their spreads */
    bool suspect[2]; /* the choice of this side's best rests on a suspect figure */
};

struct mmt_diff {
    struct mmt_rows rows[2];
    struct mmt_both *both;
    size_t num_both;
    struct mmt_group *only[2]; /* problems that one side alone has */
    size_t num_only[2];
};

mmt_status mmt_diff_make(const struct mmt_profile *a, const struct mmt_profile *b,
                         struct mmt_diff *diff, mmt_error *err);
void mmt_diff_finish(struct mmt_diff *diff);

/* How often a kernel is best on a side among the problems that both have: a paper's name
 * for it, or the template. */
struct mmt_wins {
    const char *family;
    size_t count, suspect;
};
enum { MMT_MAX_WINS = 16 };

/* The most frequent first; returns how many there are, at most MMT_MAX_WINS. */
size_t mmt_diff_wins(const struct mmt_diff *diff, int side,
                     struct mmt_wins wins[MMT_MAX_WINS]);

/* The knobs whose values differ, "TILE_M 128 | 64"; of different templates, those. */
json_t *mmt_diff_knobs(const struct mmt_row *a, const struct mmt_row *b);

/* The two ways of telling it. */
void mmt_diff_print(const struct mmt_diff *diff);
void mmt_diff_print_json(const struct mmt_diff *diff);

#endif
