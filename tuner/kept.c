/* The few kernels that are worth keeping: fit.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cost.h"
#include "tuner/fit.h"

/* ---- the samples of one type and transposes, as a table ------------------------------
 */

struct table {
    const struct mmt_config **configs; /* of the rows */
    const mmt_problem **problems;      /* of the columns */
    int rows, cols;
    int shapes;                  /* columns that were timed */
    double *times;               /* [row * cols + col] seconds, INFINITY: unknown */
    double *best;                /* of each column: the least that is known */
    int *known;                  /* of each row: problems that it was timed on */
    int *calibrated;             /* of each row: those by a calibration */
    bool *fits;                  /* of each row: it can be fitted */
    bool *common;                /* of each column: a calibration timed a row on it; or,
                                  * without any, many rows were timed on it */
    mmt_problem *imagined;       /* of the last columns, which nobody timed */
    bool *slow;                  /* of each row: a choice takes long over it */
    struct mmt_cost *costs;      /* of each row */
    struct mmt_fit_sample *line; /* room for one row's samples */
};

static bool same_kind(const mmt_problem *a, const mmt_problem *b)
{
    return a->op == b->op && a->type == b->type && !a->trans_a == !b->trans_a &&
           !a->trans_b == !b->trans_b;
}

static int row_of(const struct table *table, const struct mmt_config *config)
{
    int row = 0;
    while (row < table->rows && !mmt_config_equal(table->configs[row], config))
        row++;
    return row;
}

static int col_of(const struct table *table, const mmt_problem *problem)
{
    int col = 0;
    while (col < table->cols && !mmt_problem_equal(table->problems[col], problem))
        col++;
    return col;
}

static void table_finish(struct table *table)
{
    free(table->configs);
    free(table->problems);
    free(table->times);
    free(table->best);
    free(table->known);
    free(table->calibrated);
    free(table->fits);
    free(table->common);
    free(table->imagined);
    free(table->slow);
    free(table->costs);
    free(table->line);
}

/* Which configurations and problems there are. */
static void name_rows(struct table *table, const mmt_problem *kind,
                      const struct mmt_fit_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!same_kind(&samples[i].problem, kind))
            continue;
        int row = row_of(table, &samples[i].config);
        int col = col_of(table, &samples[i].problem);
        table->configs[row] = &samples[i].config;
        table->problems[col] = &samples[i].problem;
        table->rows += row == table->rows;
        table->cols += col == table->cols;
    }
}

static void find_best(struct table *table)
{
    for (int col = 0; col < table->cols; col++) {
        table->best[col] = INFINITY;
        for (int row = 0; row < table->rows; row++)
            table->best[col] =
                fmin(table->best[col], table->times[row * table->cols + col]);
    }
}

static void fill_times(struct table *table, const mmt_problem *kind,
                       const struct mmt_fit_sample *samples, size_t count)
{
    for (int i = 0; i < table->rows * table->cols; i++)
        table->times[i] = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (!same_kind(&samples[i].problem, kind))
            continue;
        const int row = row_of(table, &samples[i].config);
        const int col = col_of(table, &samples[i].problem);
        table->times[row * table->cols + col] = samples[i].seconds;
        table->calibrated[row] += samples[i].calibration;
        table->common[col] = table->common[col] || samples[i].calibration;
    }
    find_best(table);
}

static bool table_make(struct table *table, const mmt_problem *kind,
                       const struct mmt_fit_sample *samples, size_t count)
{
    *table = (struct table){ 0 };
    table->configs = calloc(count, sizeof *table->configs);
    table->problems = calloc(count, sizeof *table->problems);
    if (!table->configs || !table->problems)
        return false;
    name_rows(table, kind, samples, count);

    const size_t rows = (size_t) table->rows, cols = (size_t) table->cols;
    table->times = calloc(rows * cols, sizeof *table->times);
    table->best = calloc(cols, sizeof *table->best);
    table->known = calloc(rows, sizeof *table->known);
    table->calibrated = calloc(rows, sizeof *table->calibrated);
    table->fits = calloc(rows, sizeof *table->fits);
    table->common = calloc(cols, sizeof *table->common);
    table->slow = calloc(rows, sizeof *table->slow);
    table->costs = calloc(rows, sizeof *table->costs);
    table->line = calloc(cols, sizeof *table->line);
    if (!table->times || !table->best || !table->known || !table->calibrated ||
        !table->fits || !table->common || !table->slow || !table->costs || !table->line)
        return false;
    fill_times(table, kind, samples, count);
    table->shapes = table->cols;
    return true;
}

static bool wins(const struct table *table, int row)
{
    const double *times = table->times + (size_t) row * table->cols;
    int col = 0;
    while (col < table->cols && times[col] > table->best[col])
        col++;
    return col < table->cols;
}

/* So many problems a row was timed on. */
static int count_known(const struct table *table, int row)
{
    const double *times = table->times + (size_t) row * table->cols;
    int known = 0;
    for (int col = 0; col < table->cols; col++)
        known += !isinf(times[col]);
    return known;
}

/* Whether any row was calibrated. */
static bool any_calibrated(const struct table *table)
{
    int row = 0;
    while (row < table->rows && table->calibrated[row] < MMT_FIT_LEAST_SHAPES)
        row++;
    return row < table->rows;
}

/* Without a calibration: whether a third of the rows that serve a problem were timed on
 * it, of those that were timed on enough. A goal met what its own search proposed. */
static bool is_common(const struct table *table, int col, const struct mmt_caps *caps)
{
    int known = 0, served = 0;
    for (int row = 0; row < table->rows; row++) {
        if (table->known[row] < MMT_FIT_LEAST_SHAPES)
            continue;
        known += !isinf(table->times[(size_t) row * table->cols + col]);
        served += !mmt_config_refuse(table->configs[row], table->problems[col], caps);
    }
    return 3 * known >= served;
}

/* Whether a row was timed on enough of the common problems that it serves, one in
 * `share`: a cost that was fitted to goals alone promises too much elsewhere. */
static bool can_be_fitted(const struct table *table, int row, int times, int share,
                          const struct mmt_caps *caps)
{
    int served = 0;
    if (table->known[row] < MMT_FIT_LEAST_SHAPES)
        return false;
    for (int col = 0; col < table->cols; col++)
        served += table->common[col] &&
                  !mmt_config_refuse(table->configs[row], table->problems[col], caps);
    return share * times >= served;
}

static int known_common(const struct table *table, int row)
{
    const double *times = table->times + (size_t) row * table->cols;
    int known = 0;
    for (int col = 0; col < table->cols; col++)
        known += table->common[col] && !isinf(times[col]);
    return known;
}

/* A calibration passes over the shapes on which a kernel would be far behind, which may
 * be most of them. */
static int count_fitting(struct table *table, const struct mmt_caps *caps)
{
    const bool calibrated = any_calibrated(table);
    int fitting = 0;
    for (int row = 0; row < table->rows; row++)
        table->known[row] = count_known(table, row);
    for (int col = 0; col < table->cols && !calibrated; col++)
        table->common[col] = is_common(table, col, caps);
    for (int row = 0; row < table->rows; row++)
        fitting += table->fits[row] =
            calibrated ? can_be_fitted(table, row, table->calibrated[row], 8, caps)
                       : can_be_fitted(table, row, known_common(table, row), 2, caps);
    return fitting;
}

/* Leaves out a configuration that cannot be fitted: most of what a search tries. Where
 * none can, the best on a problem stay. */
static void drop_rows(struct table *table, const struct mmt_caps *caps)
{
    const int fitting = count_fitting(table, caps);
    int to = 0;

    for (int row = 0; row < table->rows; row++) {
        double *times = table->times + (size_t) row * table->cols;
        if (fitting ? !table->fits[row] : !wins(table, row))
            continue;
        memmove(table->times + (size_t) to * table->cols, times,
                (size_t) table->cols * sizeof *times);
        table->configs[to++] = table->configs[row];
    }
    table->rows = to;
}

/* What a time that was measured says of shapes that are like its own: half way to what
 * was expected, as half of the rest is that shape's alone. The choice will know nothing
 * of it, and several kernels that are alike but for that are worth no more than one. */
static double in_general(double measured, double expected)
{
    return sqrt(measured * expected);
}

/* Whether a choice takes long over it. */
static bool is_slow(const struct mmt_config *config, const struct mmt_caps *caps)
{
    const struct mmt_template *template = config->template;
    return template->searches && template->searches(config->values, caps);
}

/* Fits a row, and predicts what is missing in it: with its usual error on top, and no
 * faster than anything that was measured. Where it is far behind the best, what it costs
 * matters less. */
static mmt_status fit_row(struct table *table, int row, const struct mmt_caps *caps,
                          mmt_error *err)
{
    const struct mmt_config *config = table->configs[row];
    double *times = table->times + (size_t) row * table->cols;
    struct mmt_kept kept = { .config = *config };
    size_t known = 0;

    table->slow[row] = is_slow(config, caps);
    for (int col = 0; col < table->cols; col++)
        if (!isinf(times[col]))
            table->line[known++] =
                (struct mmt_fit_sample){ *table->problems[col], *config, times[col],
                                         sqrt(table->best[col] / times[col]) };
    mmt_status status =
        mmt_fit_cost(config, caps, table->line, known, &table->costs[row], err);
    kept.cost = table->costs[row];
    for (int col = 0; col < table->cols && kept.cost.fitted; col++) {
        if (mmt_config_refuse(config, table->problems[col], caps))
            continue;
        const double expected = mmt_cost_predict(&kept, table->problems[col], caps);
        times[col] = isinf(times[col])
                         ? fmax(table->best[col], expected * exp(kept.cost.residual))
                         : in_general(times[col], expected);
    }
    return status;
}

/* Room for `more` columns behind those that there are. */
static bool widen(struct table *table, int more)
{
    const int was = table->cols, now = was + more;
    double *times = malloc((size_t) table->rows * (size_t) now * sizeof *times);
    double *best = realloc(table->best, (size_t) now * sizeof *best);
    table->best = best ? best : table->best;
    const mmt_problem **problems =
        realloc((void *) table->problems, (size_t) now * sizeof *problems);
    table->problems = problems ? problems : table->problems;
    table->imagined = malloc((size_t) more * sizeof *table->imagined);
    if (!times || !best || !problems || !table->imagined) {
        free(times);
        return false;
    }
    for (int row = 0; row < table->rows; row++)
        memcpy(times + (size_t) row * now, table->times + (size_t) row * was,
               (size_t) was * sizeof *times);
    free(table->times);
    table->times = times;
    table->cols = now;
    return true;
}

/* What a fitted row should take for a problem, with its usual error on top. */
static double imagined_time(const struct table *table, int row,
                            const mmt_problem *problem, const struct mmt_caps *caps)
{
    const struct mmt_kept kept = { .config = *table->configs[row],
                                   .cost = table->costs[row] };
    if (!kept.cost.fitted || mmt_config_refuse(&kept.config, problem, caps))
        return INFINITY;
    return mmt_cost_predict(&kept, problem, caps) * exp(kept.cost.residual);
}

/* A few dozen shapes leave much between them: what the fitted costs say of twice as many
 * others counts as if it had been timed. */
static mmt_status imagine(struct table *table, const struct mmt_caps *caps,
                          mmt_error *err)
{
    enum { IMAGINED = 120 };
    const int first = table->cols;
    double most = 0;
    for (int col = 0; col < first; col++)
        most = fmax(most, mmt_problem_flops(table->problems[col]));
    if (!widen(table, IMAGINED))
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to choose kernels");
    mmt_fit_shapes(table->problems[0], most, table->imagined, IMAGINED);
    for (int col = first; col < table->cols; col++) {
        table->problems[col] = &table->imagined[col - first];
        table->best[col] = INFINITY;
        for (int row = 0; row < table->rows; row++) {
            double *time = &table->times[(size_t) row * table->cols + col];
            *time = imagined_time(table, row, table->problems[col], caps);
            table->best[col] = fmin(table->best[col], *time);
        }
    }
    return MMT_OK;
}

static bool any_fitted(const struct table *table)
{
    int row = 0;
    while (row < table->rows && !table->costs[row].fitted)
        row++;
    return row < table->rows;
}

/* Whether two configurations are one kernel: one leaves to the problem what the other
 * names, and comes to the same for all. */
static bool is_one_kernel(const struct table *table, int a, int b,
                          const struct mmt_caps *caps)
{
    bool same = true;
    for (int col = 0; col < table->cols && same; col++) {
        const struct mmt_config of_a =
            mmt_config_settle(table->configs[a], table->problems[col], caps);
        const struct mmt_config of_b =
            mmt_config_settle(table->configs[b], table->problems[col], caps);
        same = mmt_config_equal(&of_a, &of_b);
    }
    return same;
}

static bool is_kept_already(const struct table *table, const int *chosen, int at,
                            const struct mmt_caps *caps)
{
    for (int i = 0; i < at; i++)
        if (is_one_kernel(table, chosen[i], chosen[at], caps))
            return true;
    return false;
}

static mmt_status keep_chosen(struct mmt_profile *profile, const struct table *table,
                              mmt_error *err)
{
    int chosen[MMT_FIT_MOST_KEPT];
    double worst;
    mmt_status status = MMT_OK;
    int count = mmt_fit_choose(table->times, table->best, table->slow, table->rows,
                               table->cols, MMT_FIT_MOST_KEPT, chosen, &worst);

    for (int i = 0; i < count && status == MMT_OK; i++) {
        const mmt_problem *kind = table->problems[0];
        struct mmt_kept kept = {
            .type = kind->type,
            .trans_a = kind->trans_a != 0,
            .trans_b = kind->trans_b != 0,
            .config = *table->configs[chosen[i]],
            .cost = table->costs[chosen[i]],
            .shapes = table->shapes,
        };
        if (!is_kept_already(table, chosen, i, &profile->caps))
            status = mmt_profile_add_kept(profile, &kept, err);
    }
    return status;
}

static mmt_status choose_kind(struct mmt_profile *profile, const mmt_problem *kind,
                              const struct mmt_fit_sample *samples, size_t count,
                              mmt_error *err)
{
    struct table table;
    mmt_status status = MMT_OK;

    if (!table_make(&table, kind, samples, count))
        status = mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to choose kernels");
    if (status == MMT_OK)
        drop_rows(&table, &profile->caps);
    for (int row = 0; row < table.rows && status == MMT_OK; row++)
        status = fit_row(&table, row, &profile->caps, err);
    if (status == MMT_OK)
        find_best(&table);
    if (status == MMT_OK && any_fitted(&table))
        status = imagine(&table, &profile->caps, err);
    if (status == MMT_OK)
        status = keep_chosen(profile, &table, err);
    table_finish(&table);
    return status;
}

/* Whether what was chosen anew knows less than half of what the profile's set rests on:
 * the journal that had the rest is gone. */
static bool knows_less(const struct mmt_profile *anew, const struct mmt_profile *profile)
{
    if (!anew->num_kept)
        return true;
    for (size_t i = 0; i < profile->num_kept; i++) {
        const struct mmt_kept *kept = &profile->kept[i], *other = &anew->kept[0];
        if (kept->type == other->type && kept->trans_a == other->trans_a &&
            kept->trans_b == other->trans_b)
            return 2 * other->shapes < kept->shapes;
    }
    return false;
}

static mmt_status keep_kind(struct mmt_profile *profile, const mmt_problem *kind,
                            const struct mmt_fit_sample *samples, size_t count,
                            mmt_error *err)
{
    struct mmt_profile *anew = mmt_profile_create();
    if (!anew)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to choose kernels");
    anew->caps = profile->caps;
    mmt_status status = choose_kind(anew, kind, samples, count, err);
    if (!status && !knows_less(anew, profile))
        status = mmt_profile_take_kept(profile, anew, &anew->kept[0], err);
    mmt_profile_free(anew);
    return status;
}

mmt_status mmt_fit_kept(struct mmt_profile *profile, const struct mmt_fit_sample *samples,
                        size_t count, mmt_error *err)
{
    mmt_status status = MMT_OK;

    for (size_t i = 0; i < count && status == MMT_OK; i++) {
        size_t first = 0;
        if (samples[i].problem.op != MMT_GEMM)
            continue; /* where memory bounds, the nearest problem tells enough */
        while (!same_kind(&samples[first].problem, &samples[i].problem))
            first++;
        if (first == i)
            status = keep_kind(profile, &samples[i].problem, samples, count, err);
    }
    return status;
}
