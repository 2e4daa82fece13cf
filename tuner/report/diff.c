/* What two profiles, and their journals, have of the same problems. */
#include "tuner/report/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static mmt_status fail_memory(mmt_error *err)
{
    return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
}

/* ---- what was timed --------------------------------------------------------------- */

static int compare_timed(const void *x, const void *y)
{
    const struct mmt_timed *a = x, *b = y;
    return mmt_problem_order(a->problem, b->problem);
}

static void sort_timed(struct mmt_diff *diff, int side)
{
    qsort(diff->timed[side], diff->num_timed[side], sizeof **diff->timed, compare_timed);
}

/* The first that was timed on a problem, and how many there are. */
static const struct mmt_timed *find_timed(const struct mmt_diff *diff, int side,
                                          const mmt_problem *problem, size_t *count)
{
    size_t low = 0, high = diff->num_timed[side];
    const struct mmt_timed *list = diff->timed[side];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (mmt_problem_order(list[middle].problem, problem) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < diff->num_timed[side] &&
           !mmt_problem_order(list[low + *count].problem, problem))
        ++*count;
    return list + low;
}

/* Leaves room for the rows too. */
static mmt_status take_journal(struct mmt_diff *diff, int side,
                               const struct mmt_journal *journal, mmt_error *err)
{
    size_t count = 0;
    const struct mmt_record *records =
        journal ? mmt_journal_records(journal, &count) : NULL;
    const size_t rows = diff->rows[0].count + diff->rows[1].count;
    diff->timed[side] = calloc(count + rows + 1, sizeof **diff->timed);
    if (!diff->timed[side])
        return fail_memory(err);
    for (size_t i = 0; i < count; i++)
        if (records[i].result.outcome == MMT_TIMED)
            diff->timed[side][diff->num_timed[side]++] =
                (struct mmt_timed){ &records[i].problem, &records[i].config,
                                    records[i].result.time.median,
                                    records[i].result.time.spread, records[i].final };
    sort_timed(diff, side);
    diff->num_joined[side] = diff->num_timed[side];
    return MMT_OK;
}

static bool has_row(const struct mmt_rows *rows, const struct mmt_row *kernel)
{
    for (size_t i = 0; i < rows->count; i++)
        if (mmt_problem_equal(rows->row[i].problem, kernel->problem) &&
            mmt_rows_same(&rows->row[i], kernel))
            return true;
    return false;
}

/* What a side's journal tells of a kernel: among finalists, or else the first. */
static const struct mmt_timed *find_in_journal(const struct mmt_diff *diff, int side,
                                               const struct mmt_row *kernel)
{
    size_t count;
    const struct mmt_timed *timed = find_timed(diff, side, kernel->problem, &count);
    const struct mmt_timed *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (mmt_config_equal(timed[i].config, &kernel->config) &&
            (!found || timed[i].final > found->final))
            found = &timed[i];
    return found;
}

/* Adds to a side what its journal tells of the other's kernels. */
static mmt_status join_others(struct mmt_diff *diff, int side, mmt_error *err)
{
    const size_t count = diff->rows[!side].count;
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const struct mmt_row *kernel = &diff->rows[!side].row[i];
        if (!kernel->entry || has_row(&diff->rows[side], kernel))
            continue;
        const struct mmt_timed *timed = find_in_journal(diff, side, kernel);
        if (timed)
            status = mmt_rows_add_timed(&diff->rows[side], timed->problem, timed->config,
                                        timed->seconds, timed->spread, err);
    }
    return status;
}

static void take_rows(struct mmt_diff *diff, int side)
{
    const struct mmt_rows *rows = &diff->rows[side];
    for (size_t i = 0; i < rows->count; i++) {
        const struct mmt_row *row = &rows->row[i];
        if (row->config.template && (row->entry || row->published))
            diff->timed[side][diff->num_timed[side]++] =
                (struct mmt_timed){ row->problem, &row->config, row->seconds, row->spread,
                                    true };
    }
    sort_timed(diff, side);
}

static mmt_status collect_timed(struct mmt_diff *diff,
                                const struct mmt_journal *const journal[2],
                                mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int side = 0; side < 2 && !status; side++)
        status = take_journal(diff, side, journal[side], err);
    for (int side = 0; side < 2 && !status; side++)
        status = join_others(diff, side, err);
    for (int side = 0; side < 2 && !status; side++) {
        mmt_rows_sort(&diff->rows[side]);
        take_rows(diff, side);
    }
    return status;
}

/* ---- what both have --------------------------------------------------------------- */

static struct mmt_both compare_groups(const struct mmt_diff *diff, struct mmt_group a,
                                      struct mmt_group b)
{
    struct mmt_both both = { .group = { a, b } };
    for (int side = 0; side < 2; side++) {
        both.best[side] = mmt_group_best(&both.group[side]);
        both.suspect[side] = mmt_group_suspect(&both.group[side]);
        both.timed[side] = find_timed(diff, side, a.row->problem, &both.num_timed[side]);
    }
    for (int side = 0; side < 2; side++)
        both.others_best[side] = mmt_group_find(&both.group[side], both.best[!side]);
    both.same = mmt_rows_same(both.best[0], both.best[1]);
    both.tie = mmt_rows_tie(both.best[0], both.best[1]);
    return both;
}

/* A time with copying says nothing beside a kernel's alone; a paper that does not say is
 * taken to have copied, as papers do. */
static void add_both(struct mmt_diff *diff, struct mmt_group a, struct mmt_group b)
{
    const struct mmt_both both = compare_groups(diff, a, b);
    if ((both.best[0]->covers == MMT_COVERS_KERNEL) ==
        (both.best[1]->covers == MMT_COVERS_KERNEL))
        diff->both[diff->num_both++] = both;
    else
        diff->num_apart++;
}

static void add_only(struct mmt_diff *diff, int side, struct mmt_group group)
{
    diff->only[side][diff->num_only[side]++] = group;
}

/* Walks both sorted lists at once. */
static void merge_groups(struct mmt_diff *diff, bool common)
{
    size_t at[2] = { 0, 0 };
    while (at[0] < diff->rows[0].count || at[1] < diff->rows[1].count) {
        struct mmt_group group[2];
        for (int side = 0; side < 2; side++)
            group[side] = mmt_rows_group(&diff->rows[side], at[side]);

        int order = !group[0].count ? 1
                    : !group[1].count
                        ? -1
                        : mmt_problem_order(group[0].row->problem, group[1].row->problem);
        if (order == 0)
            add_both(diff, group[0], group[1]);
        else if (!common)
            add_only(diff, order > 0, group[order > 0]);
        at[0] += order <= 0 ? group[0].count : 0;
        at[1] += order >= 0 ? group[1].count : 0;
    }
}

double mmt_diff_ratio(const struct mmt_both *both)
{
    return both->best[0]->seconds / both->best[1]->seconds;
}

static int by_ratio(const void *x, const void *y)
{
    const struct mmt_both *a = *(const struct mmt_both *const *) x;
    const struct mmt_both *b = *(const struct mmt_both *const *) y;
    const double apart = fabs(log(mmt_diff_ratio(b))) - fabs(log(mmt_diff_ratio(a)));
    if (a->tie != b->tie)
        return a->tie ? 1 : -1;
    if (apart != 0)
        return apart > 0 ? 1 : -1;
    return a < b ? -1 : 1;
}

static mmt_status pair_groups(struct mmt_diff *diff, bool common, mmt_error *err)
{
    diff->both = calloc(diff->rows[0].count + 1, sizeof *diff->both);
    diff->ranked = calloc(diff->rows[0].count + 1, sizeof *diff->ranked);
    for (int side = 0; side < 2; side++)
        diff->only[side] = calloc(diff->rows[side].count + 1, sizeof **diff->only);
    if (!diff->both || !diff->ranked || !diff->only[0] || !diff->only[1])
        return fail_memory(err);
    merge_groups(diff, common);
    for (size_t i = 0; i < diff->num_both; i++)
        diff->ranked[i] = &diff->both[i];
    qsort(diff->ranked, diff->num_both, sizeof *diff->ranked, by_ratio);
    return MMT_OK;
}

mmt_status mmt_diff_make(const struct mmt_profile *const profile[2],
                         const struct mmt_journal *const journal[2],
                         const struct mmt_diff_filter *filter, struct mmt_diff *diff,
                         mmt_error *err)
{
    mmt_status status = MMT_OK;
    *diff = (struct mmt_diff){ 0 };
    for (int side = 0; side < 2 && !status; side++) {
        status = mmt_rows_collect(profile[side], &diff->rows[side], err);
        mmt_rows_keep(&diff->rows[side], filter->types ? filter->types : ~0u, filter->op);
    }
    if (!status)
        status = collect_timed(diff, journal, err);
    if (!status)
        status = pair_groups(diff, filter->common, err);
    if (status)
        mmt_diff_finish(diff);
    return status;
}

void mmt_diff_finish(struct mmt_diff *diff)
{
    for (int side = 0; side < 2; side++) {
        mmt_rows_finish(&diff->rows[side]);
        free(diff->only[side]);
        free(diff->timed[side]);
    }
    free(diff->both);
    free(diff->ranked);
}

const struct mmt_range *mmt_diff_range(const struct mmt_diff *diff,
                                       const struct mmt_range *range)
{
    const struct mmt_profile *b = diff->rows[1].profile;
    for (size_t i = 0; i < b->num_ranges; i++)
        if (mmt_range_same(&b->ranges[i], range))
            return &b->ranges[i];
    return NULL;
}
