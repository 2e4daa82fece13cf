/* What three and more profiles have in common: a matrix of means, and how portable each
 * configuration is that all of them timed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/report/diff.h"

enum { MOST_CONFIGURATIONS = 8 };

/* ---- means ------------------------------------------------------------------------- */

/* Row over column: "1.35 (27)", the mean of so many problems; "-" where there is none. */
static mmt_status add_mean(const struct mmt_many *many, int a, int b,
                           struct mmt_text *row, mmt_error *err)
{
    const struct mmt_profile *const profile[2] = { many->profile[a], many->profile[b] };
    const struct mmt_journal *const none[2] = { NULL, NULL };
    struct mmt_diff diff;
    if (a == b) {
        mmt_text_add(row, "\t1");
        return MMT_OK;
    }
    mmt_status status = mmt_diff_make(profile, none, &many->filter, &diff, err);
    if (status)
        return status;
    const struct mmt_sum total = mmt_diff_total(&diff);
    const size_t suspect = total.sure > 0 ? total.suspect : 0;
    if (total.problems)
        mmt_text_addf(row, "\t%.3g (%zu)", total.sure > 0 ? total.sure : total.ratio,
                      total.problems - suspect);
    else
        mmt_text_add(row, "\t-");
    mmt_diff_finish(&diff);
    return MMT_OK;
}

static mmt_status add_matrix(const struct mmt_many *many, struct mmt_text *out,
                             mmt_error *err)
{
    char heads[8 * MMT_MANY_CARDS + 16] = "times as fast as";
    mmt_status status = MMT_OK;
    for (int i = 0; i < many->count; i++)
        snprintf(heads + strlen(heads), 8, "\t>%c", 'A' + i);
    struct mmt_table table = mmt_table_of("Geometric means, how many times as fast a "
                                          "row's card is as a column's (problems)",
                                          heads);
    for (int i = 0; i < many->count && !status; i++) {
        struct mmt_text row = { 0 };
        mmt_text_addf(&row, "%c", 'A' + i);
        for (int j = 0; j < many->count && !status; j++)
            status = add_mean(many, j, i, &row, err);
        mmt_table_take(&table, &row);
    }
    mmt_table_add_text(&table, 2, MMT_DIFF_WIDTH, out);
    mmt_table_free(&table);
    return status;
}

/* ---- portability ------------------------------------------------------------------- */

/* One kernel on the problems that all cards timed it on. */
struct portable {
    const struct mmt_row *row; /* the first of them */
    double sum;                /* of its harmonic means of efficiency */
    size_t problems;
};

/* Of a problem; NULL: a card lacks it, or counts otherwise what a time covers. */
static const struct mmt_group *groups_of(const struct mmt_rows *rows, int count,
                                         const mmt_problem *problem,
                                         struct mmt_group found[MMT_MANY_CARDS])
{
    for (int i = 0; i < count; i++) {
        size_t at = 0;
        while (at < rows[i].count && !mmt_problem_equal(rows[i].row[at].problem, problem))
            at += mmt_rows_group(&rows[i], at).count;
        if (at == rows[i].count)
            return NULL;
        found[i] = mmt_rows_group(&rows[i], at);
        if ((mmt_group_best(&found[i])->covers == MMT_COVERS_KERNEL) !=
            (mmt_group_best(&found[0])->covers == MMT_COVERS_KERNEL))
            return NULL;
    }
    return found;
}

/* Pennycook's metric: the harmonic mean over the cards of a card's best time over the
 * kernel's; 0 where a card did not time it. */
static double portability(const struct mmt_group *groups, int count,
                          const struct mmt_row *kernel)
{
    double inverse = 0;
    for (int i = 0; i < count; i++) {
        const struct mmt_row *here = mmt_group_find(&groups[i], kernel);
        if (!here)
            return 0;
        inverse +=
            here->seconds / fmin(here->seconds, mmt_group_best(&groups[i])->seconds);
    }
    return count / inverse;
}

static void add_kernel(struct portable *list, size_t *count, const struct mmt_row *kernel,
                       double value)
{
    size_t at = 0;
    while (at < *count && !mmt_rows_same(list[at].row, kernel))
        at++;
    if (at == *count)
        list[(*count)++] = (struct portable){ .row = kernel };
    list[at].sum += value;
    list[at].problems++;
}

static int by_problems(const void *x, const void *y)
{
    const struct portable *a = x, *b = y;
    const double means[2] = { a->sum / (double) a->problems,
                              b->sum / (double) b->problems };
    if (a->problems != b->problems)
        return a->problems < b->problems ? 1 : -1;
    return means[0] == means[1]  ? strcmp(a->row->name, b->row->name)
           : means[0] < means[1] ? 1
                                 : -1;
}

static void list_portable(struct portable *list, size_t count, struct mmt_text *out)
{
    struct mmt_table table =
        mmt_table_of("One configuration on all cards: Pennycook's portability, the mean "
                     "over problems",
                     ">portability\t>problems\tconfiguration");
    qsort(list, count, sizeof *list, by_problems);
    for (size_t i = 0; i < count && i < MOST_CONFIGURATIONS; i++) {
        struct mmt_text row = { 0 };
        mmt_text_addf(&row, "%.3g\t%zu\t%s", list[i].sum / (double) list[i].problems,
                      list[i].problems, list[i].row->name);
        mmt_table_take(&table, &row);
    }
    if (count)
        mmt_table_add_text(&table, 2, MMT_DIFF_WIDTH, out);
    else
        mmt_text_add(out,
                     "\nNo configuration was timed on all cards; `mmtune tune --with` "
                     "times another's winners.\n");
    mmt_table_free(&table);
}

static mmt_status add_portability(const struct mmt_many *many, struct mmt_text *out,
                                  mmt_error *err)
{
    struct mmt_rows rows[MMT_MANY_CARDS] = { { 0 } };
    struct mmt_group groups[MMT_MANY_CARDS];
    struct portable *list = NULL;
    size_t count = 0;
    mmt_status status = MMT_OK;
    for (int i = 0; i < many->count && !status; i++) {
        status = mmt_rows_collect(many->profile[i], &rows[i], err);
        mmt_rows_keep(&rows[i], many->filter.types ? many->filter.types : ~0u,
                      many->filter.op);
    }
    if (!status && !(list = calloc(rows[0].count + 1, sizeof *list)))
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    for (size_t at = 0; !status && at < rows[0].count;) {
        const struct mmt_group group = mmt_rows_group(&rows[0], at);
        at += group.count;
        if (groups_of(rows, many->count, group.row->problem, groups))
            for (size_t i = 0; i < group.count; i++) {
                const double value = portability(groups, many->count, &group.row[i]);
                if (value > 0)
                    add_kernel(list, &count, &group.row[i], value);
            }
    }
    if (!status)
        list_portable(list, count, out);
    free(list);
    for (int i = 0; i < many->count; i++)
        mmt_rows_finish(&rows[i]);
    return status;
}

mmt_status mmt_diff_print_many(const struct mmt_many *many, mmt_error *err)
{
    struct mmt_text out = { 0 };
    for (int i = 0; i < many->count; i++) {
        mmt_text_addf(&out, "%c: ", 'A' + i);
        mmt_add_card(many->profile[i], &out);
        mmt_text_add(&out, "\n");
    }
    mmt_status status = add_matrix(many, &out, err);
    if (!status)
        status = add_portability(many, &out, err);
    if (!status)
        fputs(mmt_text_string(&out), stdout);
    mmt_text_finish(&out);
    return status;
}
