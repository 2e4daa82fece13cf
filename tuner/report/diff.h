/* What `diff` finds, apart from how it is told. */
#ifndef MMT_TUNER_REPORT_DIFF_H
#define MMT_TUNER_REPORT_DIFF_H

#include "tuner/common/table_data.h"
#include "tuner/journal/journal.h"
#include "tuner/report/rows.h"

/* ---- what both have --------------------------------------------------------------- */

/* A configuration that was timed on a problem, by a profile or its journal. What is
 * pointed to belongs to those. */
struct mmt_timed {
    const mmt_problem *problem;
    const struct mmt_config *config;
    double seconds, spread;
    bool final; /* among the finalists, which are timed best */
};

/* One problem that both profiles have. Side 0 is A, side 1 is B. */
struct mmt_both {
    struct mmt_group group[2];
    const struct mmt_row *best[2];
    const struct mmt_row *others_best[2]; /* the other side's best kernel, timed on this
                                           * side; NULL where it was not */
    bool same;                            /* one kernel is best on both */
    bool tie;        /* the best times differ by no more than their spreads */
    bool suspect[2]; /* the choice of this side's best rests on a suspect figure */
    const struct mmt_timed *timed[2]; /* all that each side timed */
    size_t num_timed[2];
};

/* What is left out. */
struct mmt_diff_filter {
    unsigned types; /* of 1 << mmt_type, that stay; 0: all */
    int op;         /* an mmt_op that stays; -1: all */
    bool common;    /* what one side alone has is left out */
};
#define MMT_DIFF_ALL                                                                     \
    {                                                                                    \
        .op = -1                                                                         \
    }

struct mmt_diff {
    struct mmt_rows rows[2];
    struct mmt_both *both;
    size_t num_both, num_apart;     /* also: one side's times include copying, or may */
    const struct mmt_both **ranked; /* the same: the greatest ratio of the best times
                                     * first, ties behind all others */
    struct mmt_group *only[2];      /* problems that one side alone has */
    size_t num_only[2];
    struct mmt_timed *timed[2]; /* sorted by problem */
    size_t num_timed[2];
    size_t num_joined[2]; /* of those, by the journal */
};

/* Compares two profiles. Where there is a journal of a side, it tells what else was timed
 * there; one that is NULL tells nothing. Profiles and journals must outlive the diff. */
mmt_status mmt_diff_make(const struct mmt_profile *const profile[2],
                         const struct mmt_journal *const journal[2],
                         const struct mmt_diff_filter *filter, struct mmt_diff *diff,
                         mmt_error *err);
void mmt_diff_finish(struct mmt_diff *diff);

/* A's best time over B's. */
double mmt_diff_ratio(const struct mmt_both *both);

/* B's range of the same problems; NULL: it has none. */
const struct mmt_range *mmt_diff_range(const struct mmt_diff *diff,
                                       const struct mmt_range *range);

/* ---- sums ------------------------------------------------------------------------- */

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

/* The problems of an op and type, or all. */
struct mmt_sum {
    mmt_op op;
    mmt_type type;
    size_t problems, ties;
    size_t faster[2];        /* how many of the others each side is faster on */
    size_t suspect, unknown; /* of suspect figures; of a time without a spread */
    double ratio;            /* geometric mean of A's time over B's; 1 for none */
    double sure; /* the same without what is suspect; 0 where nothing is left */
};
enum { MMT_MAX_SUMS = MMT_NUM_OPS * MMT_NUM_TYPES };

/* One for each op and type that there is; returns how many. */
size_t mmt_diff_sums(const struct mmt_diff *diff, struct mmt_sum sums[MMT_MAX_SUMS]);
struct mmt_sum mmt_diff_total(const struct mmt_diff *diff);

/* What another choice costs: the geometric mean of its time over the least, of the
 * problems where it was timed. */
struct mmt_cost {
    double ratio;     /* 1 where count is 0 */
    size_t count, of; /* on how many it is known; how many have another choice */
};

/* Of the other side's best kernel, where that is another one; without suspect figures
 * where there are others. */
struct mmt_cost mmt_diff_cost(const struct mmt_diff *diff, int side);

/* A knob, or "template": what each side's best kernels have, over the problems where both
 * have it. */
struct mmt_knob_sum {
    const char *name;
    size_t problems, differ; /* how many; on how many of them the two want different */
    struct {
        char value[32]; /* the most frequent, beyond the noise where that is known;
                         * "either" where it is nowhere */
        size_t count;
        struct mmt_cost wrong; /* times with the other's value over those with the own, of
                                * `count` pairs that differ in this knob alone */
    } side[2];
};
enum { MMT_MAX_KNOB_SUMS = 96 };

/* Those that differ somewhere: first what the wrong values cost most over all problems,
 * as far as that is known, then what differs most often. */
size_t mmt_diff_knob_sums(const struct mmt_diff *diff,
                          struct mmt_knob_sum sums[MMT_MAX_KNOB_SUMS]);

/* The knobs whose values differ, [{"name": "TILE_M", "a": "128", "b": "64"}]; of
 * different templates, those. */
json_t *mmt_diff_knobs(const struct mmt_row *a, const struct mmt_row *b);

/* ---- what is missing -------------------------------------------------------------- */

/* Problems on which a side lacks the other's best, as one command takes them. */
struct mmt_gap {
    size_t problems;
    char *options; /* "--type f32 -x nn --shape 64x64x64,128x128x128"; NULL: no options
                    * spell them */
};

/* malloc'ed, with mmt_diff_free_gaps; *count is 0 where nothing is missing. NULL, and
 * *count 0, for a side of published figures, which nothing can be added to. */
struct mmt_gap *mmt_diff_gaps(const struct mmt_diff *diff, int side, size_t *count);
void mmt_diff_free_gaps(struct mmt_gap *gaps, size_t count);

/* ---- telling ----------------------------------------------------------------------- */

enum { MMT_DIFF_WIDTH = 100, MMT_DIFF_LINES = 5 };

/* How the two cards are called in sentences: "GTX 1060", "K5000"; at most 20 columns, and
 * never the same. */
struct mmt_diff_names {
    char card[2][32];
};
struct mmt_diff_names mmt_diff_names(const struct mmt_diff *diff);

/* What was found, in as many sentences of one line each, at most MMT_DIFF_WIDTH wide. */
void mmt_diff_say(const struct mmt_diff *diff, struct mmt_text line[MMT_DIFF_LINES]);

/* A product's spelling without its op; any other problem's whole. */
void mmt_diff_add_problem(const mmt_problem *problem, struct mmt_text *text);

/* "SHARED_LAYOUT swap|pad, +2": as many differing knobs as `width` has room for, and
 * how many more there are. */
void mmt_diff_add_knobs(const struct mmt_both *both, int width, struct mmt_text *text);

/* "B 7.99 times *": who is faster and by how much; "tie", and * for what is suspect. */
void mmt_diff_add_faster(const struct mmt_both *both, struct mmt_text *text);

/* "9.01 ms *\t": a cell; "-" for NULL. Two blanks stand where others have a star, so that
 * digits are below each other. */
void mmt_diff_add_time(const struct mmt_row *row, struct mmt_text *text);

/* Tables of at most so many rows, to be freed: problems, the largest difference first,
 * and knobs. On a page, cells have room for more. */
struct mmt_table mmt_diff_list_problems(const struct mmt_diff *diff, size_t most,
                                        bool page);
struct mmt_table mmt_diff_list_knobs(const struct mmt_diff *diff, size_t most, bool page);

/* GFLOP/s of the best kernels, their share of what the roofline allows and what bounds
 * them there, and what both rooflines expect of the ratio; no rows where neither card's
 * roofline is known. */
struct mmt_table mmt_diff_list_rates(const struct mmt_diff *diff, size_t most);

/* Adds what a profile knows of its card: "132 multiprocessors, 1.98 GHz". */
struct mmt_fact {
    const char *name;
    void (*add)(const struct mmt_profile *profile, struct mmt_text *text);
};
extern const struct mmt_fact mmt_diff_facts[];
extern const size_t mmt_diff_num_facts;

/* "* A, Table 1.4, shared: …": adds why a row is suspect, and returns whether it says
 * what no row before it does. */
bool mmt_diff_add_note(const struct mmt_diff *diff, int side, size_t row,
                       struct mmt_text *text);

/* What diff is asked to tell. */
struct mmt_diff_view {
    const struct mmt_diff *diff;
    char **paths; /* the two files, for commands that fill gaps */
    bool all;     /* every problem and every kernel, however many */
};

/* Adds the command that fills a gap of a side: "mmtune --device 0 --type f32 …". */
void mmt_diff_add_command(const struct mmt_diff_view *view, int side,
                          const struct mmt_gap *gap, struct mmt_text *text);

void mmt_diff_print(const struct mmt_diff_view *view);
void mmt_diff_print_json(const struct mmt_diff_view *view);

/* Three and more profiles: a matrix of means, and of each configuration that all of them
 * timed Pennycook's portability. */
enum { MMT_MANY_CARDS = 16 };
struct mmt_many {
    struct mmt_profile *profile[MMT_MANY_CARDS];
    int count;
    struct mmt_diff_filter filter;
};
mmt_status mmt_diff_print_many(const struct mmt_many *many, mmt_error *err);

/* Adds one page of HTML that is well-formed XML too, needs no network and runs no script.
 */
void mmt_diff_add_page(const struct mmt_diff_view *view, struct mmt_text *page);

#endif
