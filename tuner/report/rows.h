/* What a profile holds, row by row, for `show` and `diff`: its own entries and a paper's
 * figures alike. */
#ifndef MMT_TUNER_REPORT_ROWS_H
#define MMT_TUNER_REPORT_ROWS_H

#include <jansson.h>

#include "profiles/profile.h"

/* One kernel timed on one problem. Everything that a pointer names belongs to the rows or
 * to the profile, which must outlive them. */
struct mmt_row {
    const mmt_problem *problem;
    char *name;               /* of a paper's kernel; else the configuration in words */
    struct mmt_config config; /* of a paper's kernel, the nearest of ours; its template is
                               * NULL where there is none */
    double seconds, spread;   /* spread 0: unknown */
    const struct mmt_entry *entry; /* both are NULL of what a journal alone tells */
    const struct mmt_published *published;
    bool suspect;
    enum mmt_covers {
        MMT_COVERS_KERNEL,
        MMT_COVERS_COPIES,
        MMT_COVERS_UNSAID, /* a paper that does not say */
    } covers;
};

/* Sorted by problem, and the rows of one problem by time. */
struct mmt_rows {
    const struct mmt_profile *profile;
    struct mmt_row *row;
    size_t count;
};

mmt_status mmt_rows_collect(const struct mmt_profile *profile, struct mmt_rows *rows,
                            mmt_error *err);
void mmt_rows_finish(struct mmt_rows *rows);

/* Adds what a journal tells of a configuration, behind the others: mmt_rows_sort sorts
 * them again. Copies *config, not *problem. */
mmt_status mmt_rows_add_timed(struct mmt_rows *rows, const mmt_problem *problem,
                              const struct mmt_config *config, double seconds,
                              double spread, mmt_error *err);
void mmt_rows_sort(struct mmt_rows *rows);

/* Keeps the rows of some types, of 1 << mmt_type, and of one op; -1: of every op. */
void mmt_rows_keep(struct mmt_rows *rows, unsigned types, int op);

/* The rows of one problem. */
struct mmt_group {
    const struct mmt_row *row;
    size_t count;
};

/* The group that begins at row `first`; the next one begins at first + count. */
struct mmt_group mmt_rows_group(const struct mmt_rows *rows, size_t first);

/* The fastest of what was tuned on this device or published; a row that was tried from
 * another profile, or that a journal alone tells of, only where there is nothing else. */
const struct mmt_row *mmt_group_best(const struct mmt_group *group);

/* The row of the same kernel, or NULL. */
const struct mmt_row *mmt_group_find(const struct mmt_group *group,
                                     const struct mmt_row *kernel);

/* Whether one of the rows that a group's best was compared with is suspect. */
bool mmt_group_suspect(const struct mmt_group *group);

/* Whether a row is suspect, and none before it has the same note. */
bool mmt_rows_first_note(const struct mmt_rows *rows, size_t row);

/* The order in which rows are sorted. */
int mmt_problem_order(const mmt_problem *a, const mmt_problem *b);

/* Whether two rows are of one kernel: a paper's name, or an equal configuration. */
bool mmt_rows_same(const struct mmt_row *a, const struct mmt_row *b);

/* Whether two times differ by no more than their spreads. */
bool mmt_rows_tie(const struct mmt_row *a, const struct mmt_row *b);

/* ---- words and JSON that both verbs use ------------------------------------------ */

/* Reads FILE, or what was learned on a device; warnings go to stderr. A bundle is
 * refused, as its profiles are of several devices. */
struct mmt_profile *mmt_profile_of(const char *path, const char *device, mmt_error *err);

void mmt_print_problem(const mmt_problem *problem);
/* "NVIDIA H200 (cuda)", and "published" behind it where that is so. */
void mmt_add_card(const struct mmt_profile *profile, struct mmt_text *text);
void mmt_print_card(const struct mmt_profile *profile);
json_t *mmt_card_json(const struct mmt_profile *profile);
json_t *mmt_problem_json(const mmt_problem *problem);
json_t *mmt_range_json(const struct mmt_range *range);
json_t *mmt_verdict_json(const struct mmt_verdict *verdict);

/* Adds a verdict's energy, where it is told. */
void mmt_verdict_add_energy(const struct mmt_verdict *verdict, json_t *to);
json_t *mmt_row_json(const struct mmt_row *row);

/* Prints and frees. */
void mmt_print_json(json_t *value);

#endif
