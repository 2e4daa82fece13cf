#include "tuner/model/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "tuner/model/boost.h"
#include "tuner/model/nnls.h"

/* ---- the samples of a family, as a table ------------------------------------------- */

struct table {
    const struct mmt_config **configs; /* of the rows */
    const mmt_problem **problems;      /* of the columns */
    int rows, cols;
    double *times;   /* [row * cols + col] seconds, INFINITY: unknown */
    double *best;    /* of each column: the least that is known */
    uint64_t *right; /* of each row: what it was checked for, mmt_kind_bit */
    double (*terms)[MMT_NUM_TERMS];   /* of each row: its base cost */
    struct mmt_boost_sample *samples; /* of a fit: what is known of the table */
    int *cols_of;                     /* of each of these */
};

static size_t index_of(const struct table *table, int row, int col)
{
    return (size_t) row * (size_t) table->cols + (size_t) col;
}

static bool is_of(const mmt_problem *problem, mmt_type family)
{
    return problem->op == MMT_GEMM && mmt_type_family(problem->type) == family;
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
    free(table->right);
    free(table->terms);
    free(table->samples);
    free(table->cols_of);
}

/* Which configurations and problems there are. */
static void name_all(struct table *table, mmt_type family,
                     const struct mmt_fit_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_of(&samples[i].problem, family))
            continue;
        const int row = row_of(table, &samples[i].config);
        const int col = col_of(table, &samples[i].problem);
        table->configs[row] = &samples[i].config;
        table->problems[col] = &samples[i].problem;
        table->rows += row == table->rows;
        table->cols += col == table->cols;
    }
}

static void fill_times(struct table *table, mmt_type family,
                       const struct mmt_fit_sample *samples, size_t count)
{
    for (size_t i = 0; i < index_of(table, table->rows, 0); i++)
        table->times[i] = INFINITY;
    for (size_t i = 0; i < count; i++) {
        const mmt_problem *problem = &samples[i].problem;
        if (!is_of(problem, family))
            continue;
        const int row = row_of(table, &samples[i].config);
        table->times[index_of(table, row, col_of(table, problem))] = samples[i].seconds;
        table->right[row] |= samples[i].checked ? mmt_kind_bit(problem) : 0;
    }
}

static void find_best(struct table *table)
{
    for (int col = 0; col < table->cols; col++) {
        table->best[col] = INFINITY;
        for (int row = 0; row < table->rows; row++)
            table->best[col] =
                fmin(table->best[col], table->times[index_of(table, row, col)]);
    }
}

/* Problems that a row was timed on, of the types and transposes that it was checked for.
 */
static int count_checked(const struct table *table, int row)
{
    int known = 0;
    for (int col = 0; col < table->cols; col++)
        known += !isinf(table->times[index_of(table, row, col)]) &&
                 table->right[row] & mmt_kind_bit(table->problems[col]);
    return known;
}

/* Leaves out what was timed on too few problems: most of what a search tries. Beside
 * kernels that met hundreds, one that met a few is known too little to be compared. */
static void drop_rows(struct table *table)
{
    enum { SHARE = 64 };
    const int share = table->cols / SHARE;
    const int least = share > MMT_FIT_LEAST_SHAPES ? share : MMT_FIT_LEAST_SHAPES;
    int to = 0;
    for (int row = 0; row < table->rows; row++) {
        if (count_checked(table, row) < least)
            continue;
        memmove(&table->times[index_of(table, to, 0)],
                &table->times[index_of(table, row, 0)],
                (size_t) table->cols * sizeof *table->times);
        table->right[to] = table->right[row];
        table->configs[to++] = table->configs[row];
    }
    table->rows = to;
}

/* What one of several kernels alone was timed on tells nothing of a selection. */
static void drop_cols(struct table *table)
{
    const int cols = table->cols;
    int to = 0;
    for (int col = 0; col < cols; col++) {
        int known = 0;
        for (int row = 0; row < table->rows; row++)
            known += !isinf(table->times[(size_t) row * (size_t) cols + (size_t) col]);
        if (known < 2 && known < table->rows)
            continue;
        for (int row = 0; row < table->rows; row++)
            table->times[(size_t) row * (size_t) cols + (size_t) to] =
                table->times[(size_t) row * (size_t) cols + (size_t) col];
        table->problems[to++] = table->problems[col];
    }
    for (int row = 1; row < table->rows; row++)
        memmove(table->times + (size_t) row * (size_t) to,
                table->times + (size_t) row * (size_t) cols,
                (size_t) to * sizeof *table->times);
    table->cols = to;
}

static bool table_make(struct table *table, mmt_type family,
                       const struct mmt_fit_sample *samples, size_t count)
{
    *table = (struct table){ 0 };
    table->configs = calloc(count, sizeof *table->configs);
    table->problems = calloc(count, sizeof *table->problems);
    if (!table->configs || !table->problems)
        return false;
    name_all(table, family, samples, count);
    const size_t all = index_of(table, table->rows, 0);
    table->times = calloc(all, sizeof *table->times);
    table->best = calloc((size_t) table->cols, sizeof *table->best);
    table->right = calloc((size_t) table->rows, sizeof *table->right);
    table->terms = calloc((size_t) table->rows, sizeof *table->terms);
    if (!table->times || !table->best || !table->right || !table->terms)
        return false;
    fill_times(table, family, samples, count);
    drop_rows(table);
    drop_cols(table);
    find_best(table);
    const size_t left = index_of(table, table->rows, 0) + 1;
    table->samples = calloc(left, sizeof *table->samples);
    table->cols_of = calloc(left, sizeof *table->cols_of);
    return table->samples && table->cols_of;
}

/* ---- the model -----------------------------------------------------------------------
 */

/* What is far behind the best matters little: it will not be selected. */
static double weight_of(const struct table *table, int row, int col)
{
    const double near = table->best[col] / table->times[index_of(table, row, col)];
    return fmax(near * near, 0.02);
}

/* Whether the table has a time there; binds the row's configuration to it. */
static bool bind_timed(const struct table *table, int row, int col,
                       const struct mmt_caps *caps, struct mmt_bound *bound)
{
    return !isinf(table->times[index_of(table, row, col)]) &&
           mmt_bind(table->configs[row], table->problems[col], caps, bound);
}

/* How many times an estimate its known times are, in the mean of the logarithms. */
static double scale_of(const struct table *table, int row, const struct mmt_caps *caps)
{
    struct mmt_bound bound;
    double sum = 0, weights = 0;
    for (int col = 0; col < table->cols; col++) {
        if (!bind_timed(table, row, col, caps, &bound))
            continue;
        const double weight = weight_of(table, row, col);
        sum += weight * log(table->times[index_of(table, row, col)] /
                            mmt_cost_estimate_bound(&bound));
        weights += weight;
    }
    return weights > 0 ? exp(sum / weights) : 1;
}

/* That the base cost should give so many seconds for a problem. */
static void add_equation(const struct mmt_view *view, double seconds, double weight,
                         struct mmt_nnls *sums)
{
    double x[MMT_NNLS_MAX] = { 0 };
    for (int i = 0; i < MMT_NUM_TERMS; i++)
        x[i] = view->terms[i] / seconds;
    mmt_nnls_add(sums, x, 1, weight);
}

/* Where times leave a base cost open, it is the estimate, scaled: on all problems, each
 * with the weight of a part of a time. */
static void add_prior(const struct table *table, int row, const struct mmt_caps *caps,
                      struct mmt_nnls *sums)
{
    const double prior = 0.02;
    const double scale = scale_of(table, row, caps);
    for (int col = 0; col < table->cols; col++) {
        struct mmt_bound bound;
        if (!mmt_bind(table->configs[row], table->problems[col], caps, &bound))
            continue;
        const double expected = scale * mmt_cost_estimate_bound(&bound),
                     time = table->times[index_of(table, row, col)],
                     part = isinf(time) ? 1 : fmin(expected / time, 1);
        const struct mmt_view view = mmt_cost_view(&bound);
        add_equation(&view, expected, prior * part * part, sums);
    }
}

/* ln(time / base cost). */
static double error_of(const struct table *table, int row, int col,
                       const struct mmt_view *view)
{
    return log(table->times[index_of(table, row, col)] /
               mmt_cost_base(table->terms[row], view));
}

/* The base cost with the least relative errors, no term below 0. */
static void fit_base_cost(struct table *table, int row, const struct mmt_caps *caps)
{
    struct mmt_nnls sums = { 0 };
    struct mmt_bound bound;
    double solution[MMT_NNLS_MAX];
    for (int col = 0; col < table->cols; col++) {
        if (!bind_timed(table, row, col, caps, &bound))
            continue;
        const struct mmt_view view = mmt_cost_view(&bound);
        add_equation(&view, table->times[index_of(table, row, col)],
                     weight_of(table, row, col), &sums);
    }
    add_prior(table, row, caps, &sums);
    mmt_nnls_solve(&sums, solution);
    memcpy(table->terms[row], solution, sizeof table->terms[row]);
}

static int list_samples(struct table *table, const struct mmt_caps *caps)
{
    struct mmt_bound bound;
    int count = 0;
    for (int row = 0; row < table->rows; row++) {
        fit_base_cost(table, row, caps);
        for (int col = 0; col < table->cols; col++) {
            struct mmt_boost_sample *sample = &table->samples[count];
            if (!bind_timed(table, row, col, caps, &bound))
                continue;
            sample->view = mmt_cost_view(&bound);
            sample->target = error_of(table, row, col, &sample->view);
            sample->weight = weight_of(table, row, col);
            table->cols_of[count++] = col;
        }
    }
    return count;
}

/* The error on every fifth problem of a model that is fitted to the others. */
static mmt_status find_residual(const struct table *table, int count,
                                struct mmt_model *model, mmt_error *err)
{
    enum { PARTS = 5 };
    struct mmt_boost_sample *others = malloc((size_t) (count + 1) * sizeof *others);
    double sum = 0, weights = 0;
    int fitted = 0;
    if (!others)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to fit a model");
    for (int i = 0; i < count; i++)
        if (table->cols_of[i] % PARTS)
            others[fitted++] = table->samples[i];
    mmt_status status = mmt_boost(others, fitted, model, err);
    free(others);
    for (int i = 0; i < count && !status; i++) {
        const struct mmt_boost_sample *sample = &table->samples[i];
        if (table->cols_of[i] % PARTS)
            continue;
        const double error = sample->target - mmt_cost_correction(model, &sample->view);
        sum += sample->weight * error * error, weights += sample->weight;
    }
    model->residual = weights > 0 ? sqrt(sum / weights) : 0;
    return status;
}

static mmt_status fit_model(struct table *table, const struct mmt_caps *caps,
                            struct mmt_model *model, mmt_error *err)
{
    const int count = list_samples(table, caps);
    mmt_status status = find_residual(table, count, model, err);
    model->shapes = table->cols;
    return status ? status : mmt_boost(table->samples, count, model, err);
}

/* ---- the portfolio -------------------------------------------------------------------
 */

/* What was not timed is expected: with the model's usual error on top, and no faster than
 * anything that was timed. */
static double expected_seconds(const struct table *table, int row, int col,
                               const struct mmt_model *model, const struct mmt_caps *caps)
{
    struct mmt_bound bound;
    struct mmt_portfolio_kernel kernel = { .config = *table->configs[row] };
    memcpy(kernel.terms, table->terms[row], sizeof kernel.terms);
    if (!mmt_bind(table->configs[row], table->problems[col], caps, &bound))
        return INFINITY;
    return fmax(table->best[col],
                mmt_cost_predict(model, &kernel, &bound) * exp(model->residual));
}

/* Completes the times for a selection; a kernel does not serve what it was not checked
 * for.
 */
static void complete_times(struct table *table, const struct mmt_model *model,
                           const struct mmt_caps *caps)
{
    for (int row = 0; row < table->rows; row++)
        for (int col = 0; col < table->cols; col++) {
            double *time = &table->times[index_of(table, row, col)];
            if (!(table->right[row] & mmt_kind_bit(table->problems[col])))
                *time = INFINITY;
            else if (isinf(*time))
                *time = expected_seconds(table, row, col, model, caps);
        }
}

static mmt_status keep_row(struct mmt_profile *profile, const struct table *table,
                           int row, mmt_type family, mmt_error *err)
{
    struct mmt_portfolio_kernel kernel = { .family = family,
                                           .config = *table->configs[row],
                                           .right = table->right[row] };
    memcpy(kernel.terms, table->terms[row], sizeof kernel.terms);
    return mmt_profile_add_portfolio_kernel(profile, &kernel, err);
}

static mmt_status add_selected(struct mmt_profile *profile, const struct table *table,
                               mmt_type family, mmt_error *err)
{
    int selected[MMT_FIT_MOST_KERNELS];
    mmt_status status = MMT_OK;
    const int count = mmt_fit_select(table->times, table->best, table->rows, table->cols,
                                     MMT_FIT_MOST_KERNELS, selected);
    for (int i = 0; i < count && !status; i++)
        status = keep_row(profile, table, selected[i], family, err);
    return status;
}

/* The kernels of the portfolio that there is, with base costs fitted anew. */
static mmt_status keep_known(struct mmt_profile *profile, const struct mmt_profile *known,
                             const struct table *table, mmt_type family, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < known->num_portfolio && !status; i++) {
        const int row = row_of(table, &known->portfolio[i].config);
        if (known->portfolio[i].family == family && row < table->rows)
            status = keep_row(profile, table, row, family, err);
    }
    return status;
}

/* `known`: whose portfolio stays; NULL: it is selected. */
static mmt_status fit_family(struct mmt_profile *profile, const struct mmt_profile *known,
                             mmt_type family, const struct mmt_fit_sample *samples,
                             size_t count, struct mmt_model *model, mmt_error *err)
{
    struct table table;
    mmt_status status = MMT_OK;
    model->family = family;
    if (!table_make(&table, family, samples, count))
        status = mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to select kernels");
    if (!status && table.rows) {
        status = fit_model(&table, &profile->caps, model, err);
        if (!status)
            complete_times(&table, model, &profile->caps);
        if (!status && known)
            status = keep_known(profile, known, &table, family, err);
        if (!status && !profile->num_portfolio)
            status = add_selected(profile, &table, family, err);
        if (!status)
            status = mmt_profile_add_model(profile, model, err);
    }
    table_finish(&table);
    return status;
}

/* ---- all families --------------------------------------------------------------------
 */

/* Whether what was fitted anew knows less than half of what the profile's model rests on:
 * the journal that had the rest is gone. */
static const struct mmt_model *model_of(const struct mmt_profile *profile,
                                        mmt_type family, bool law)
{
    return law ? mmt_profile_law_model(profile, family, MMT_LAW_EDITION)
               : mmt_profile_model(profile, family);
}

static bool knows_less(const struct mmt_profile *anew, const struct mmt_profile *profile,
                       mmt_type family, bool law)
{
    const struct mmt_model *was = model_of(profile, family, law),
                           *is = model_of(anew, family, law);
    return !is || (was && 2 * is->shapes < was->shapes);
}

static mmt_status replace_family(struct mmt_profile *profile, mmt_type family,
                                 bool select, const struct mmt_fit_sample *samples,
                                 size_t count, mmt_error *err)
{
    const struct mmt_profile *known =
        select || !mmt_profile_model(profile, family) ? NULL : profile;
    const bool law = profile->caps.kind == MMT_GPU && profile->caps.sms;
    struct mmt_profile *anew = mmt_profile_create();
    struct mmt_model *model = calloc(1, sizeof *model);
    mmt_status status = MMT_OK;
    if (!anew || !model)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to select kernels");
    if (!status) {
        anew->caps = profile->caps;
        status = law ? mmt_fit_law(samples, count, &profile->caps, family, model, err)
                     : fit_family(anew, known, family, samples, count, model, err);
    }
    if (!status && law)
        status = mmt_profile_add_model(anew, model, err);
    if (!status && !knows_less(anew, profile, family, law))
        status = mmt_profile_take_family(profile, anew, family, err);
    mmt_profile_free(anew);
    free(model);
    return status;
}

mmt_status mmt_fit_families(struct mmt_profile *profile, unsigned select,
                            const struct mmt_fit_sample *samples, size_t count,
                            mmt_error *err)
{
    bool done[MMT_NUM_TYPES] = { false };
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const mmt_type family = mmt_type_family(samples[i].problem.type);
        if (samples[i].problem.op != MMT_GEMM || done[family])
            continue; /* where memory bounds, the nearest problem tells enough */
        done[family] = true;
        status = replace_family(profile, family, mmt_type_in(family, select), samples,
                                count, err);
    }
    return status;
}
