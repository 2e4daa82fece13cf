/* mmtune study cg: conjugate gradients on the device and on one core, Cramer's rule and
 * elimination, over the order of the system (Fig. 7), the first of them on linear axes
 * (Fig. 8); the slopes of their times on logarithmic axes; sums of matrices (Fig. 2). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cg.h"

static const int64_t usual_sizes[] = { 1,   2,   5,   10,   20,   50,   100,  200, 350,
                                       500, 700, 850, 1000, 1200, 1400, 2000, 4000 };
enum { NUM_SIZES = sizeof usual_sizes / sizeof *usual_sizes, RUNS = 5 };

#define TOLERANCE 1e-10
#define FIG_8     1400 /* the greatest order of the paper's figure */

/* ---- systems with a known solution ------------------------------------------------ */

static double random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double) (*state >> 40) / 0x1p24 - 0.5;
}

struct system {
    int64_t n;
    double *a, *b, *x, *known;
};

static void system_free(struct system *s)
{
    free(s->a);
    free(s->b);
    free(s->x);
    free(s->known);
}

/* A = H L H with a reflection H = 1 - 2 v v' and eigenvalues L from 1 to `condition`:
 * symmetric, positive definite, full. A = L - 2 v w' - 2 w v' + 4 (v, w) v v', w = L v.
 */
static void fill_matrix(struct system *s, double condition, double *v, uint64_t *state)
{
    int64_t n = s->n;
    double *w = v + n, size = 0, vw = 0;

    for (int64_t i = 0; i < n; i++) {
        v[i] = random_number(state);
        size += v[i] * v[i];
    }
    for (int64_t i = 0; i < n; i++) {
        double eigenvalue =
            n > 1 ? pow(condition, (double) i / (double) (n - 1)) : condition;
        v[i] /= sqrt(size);
        w[i] = eigenvalue * v[i];
        vw += v[i] * w[i];
        s->a[i * n + i] = eigenvalue;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double rest = 4 * vw * v[i] * v[j] - 2 * (v[i] * w[j] + w[i] * v[j]);
            s->a[i * n + j] += rest;
            s->a[j * n + i] = s->a[i * n + j];
        }
}

static mmt_status system_make(int64_t n, int64_t seed, double condition,
                              struct system *out, mmt_error *err)
{
    uint64_t state = (uint64_t) seed;
    double *v = malloc((size_t) (2 * n) * sizeof *v);
    *out = (struct system){ n, calloc((size_t) (n * n), sizeof(double)),
                            calloc((size_t) n, sizeof(double)),
                            calloc((size_t) n, sizeof(double)),
                            calloc((size_t) n, sizeof(double)) };
    if (!v || !out->a || !out->b || !out->x || !out->known) {
        free(v);
        system_free(out);
        return mmt_study_fail(err, MMT_ERROR_MEMORY,
                              "no memory for a system of order %" PRId64, n);
    }
    fill_matrix(out, condition, v, &state);
    for (int64_t i = 0; i < n; i++)
        out->known[i] = random_number(&state);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            out->b[i] += out->a[i * n + j] * out->known[j];
    free(v);
    return MMT_OK;
}

static double distance_to_known(const struct system *s)
{
    double gap = 0, size = 0;
    for (int64_t i = 0; i < s->n; i++) {
        gap += pow(s->x[i] - s->known[i], 2);
        size += pow(s->known[i], 2);
    }
    return sqrt(gap / size);
}

/* ---- guards ------------------------------------------------------------------------ */

struct guard {
    const char *what;
    double a[4], b[2], start[2];
    enum mmt_cg_end expected;
};

/* What must be said, not computed. */
static const struct guard guards[] = {
    { "an exact start", { 2, 1, 1, 3 }, { 4, 7 }, { 1, 2 }, MMT_CG_SOLVED },
    { "a matrix that is not definite",
      { 1, 2, 2, 1 },
      { 3, -3 },
      { 0, 0 },
      MMT_CG_NOT_DEFINITE },
    { "a singular matrix", { 1, 1, 1, 1 }, { 1, -1 }, { 0, 0 }, MMT_CG_NOT_DEFINITE },
};

static mmt_status try_guard(const struct mmt_study_options *options,
                            const struct mmt_study_device *device,
                            const struct guard *guard, mmt_error *err)
{
    double x[2] = { guard->start[0], guard->start[1] };
    struct mmt_cg_system system = { 2, guard->a, guard->b, x };
    struct mmt_cg_result here;
    mmt_status status = mmt_cg_device(device, &system, 10, TOLERANCE, &here, err);
    if (status != MMT_OK)
        return status;

    mmt_study_say(options, "%s: %s after %d steps", guard->what,
                  mmt_cg_end_name(here.end), here.steps);
    return here.end == guard->expected && here.steps == 0
               ? MMT_OK
               : mmt_study_fail(err, MMT_ERROR_DEVICE,
                                "the guard against %s does not hold", guard->what);
}

static mmt_status try_guards(const struct mmt_study_options *options,
                             const struct mmt_study_device *device, mmt_error *err)
{
    const double skew[] = { 2, 1, -1, 3 }, ones[] = { 1, 1, 1, 1 }, b[] = { 4, 7 };
    double x[2] = { 0, 0 };
    struct mmt_cg_system odd = { 2, skew, b, x }, flat = { 2, ones, b, x };
    struct mmt_cg_result cramer, eliminated;
    mmt_error why = { 0 };
    mmt_status status = MMT_OK;

    for (size_t i = 0; i < sizeof guards / sizeof *guards && status == MMT_OK; i++)
        status = try_guard(options, device, &guards[i], err);
    if (status == MMT_OK)
        status = mmt_cg_cramer(&flat, &cramer, err);
    if (status == MMT_OK)
        status = mmt_cg_eliminate(&flat, &eliminated, err);
    if (status != MMT_OK)
        return status;

    mmt_cg_check(&odd, &why);
    mmt_study_say(options, "the same by Cramer's rule: %s; by elimination: %s",
                  mmt_cg_end_name(cramer.end), mmt_cg_end_name(eliminated.end));
    mmt_study_say(options, "a matrix that is not symmetric: %s", why.text);
    if (cramer.end != MMT_CG_SINGULAR || eliminated.end != MMT_CG_SINGULAR || !why.status)
        return mmt_study_fail(err, MMT_ERROR_DEVICE,
                              "a guard of the method does not hold");
    return MMT_OK;
}

/* ---- the same steps on both -------------------------------------------------------- */

/* The iterates of device and host differ by rounding alone, step by step. */
static mmt_status compare_iterates(const struct mmt_study_options *options,
                                   const struct mmt_study_device *device, mmt_error *err)
{
    enum { ORDER = 100, STEPS = 20 };
    struct system s;
    struct mmt_cg_result result;
    double host[ORDER], most = 0;
    mmt_status status = system_make(ORDER, options->seed, MMT_STUDY_CONDITION, &s, err);
    if (status != MMT_OK)
        return status;

    struct mmt_cg_system system = { ORDER, s.a, s.b, s.x };
    for (int steps = 1; steps <= STEPS && status == MMT_OK; steps++) {
        memset(s.x, 0, sizeof host);
        status = mmt_cg_host(&system, steps, 0, &result, err);
        memcpy(host, s.x, sizeof host);
        memset(s.x, 0, sizeof host);
        if (status == MMT_OK)
            status = mmt_cg_device(device, &system, steps, 0, &result, err);
        for (int i = 0; i < ORDER; i++)
            most = fmax(most, fabs(s.x[i] - host[i]));
    }
    system_free(&s);
    if (status != MMT_OK)
        return status;
    mmt_study_say(options,
                  "n = %d, %d steps one by one: device and core are at most %.2g apart",
                  ORDER, STEPS, most);
    return most < 1e-10
               ? MMT_OK
               : mmt_study_fail(err, MMT_ERROR_DEVICE,
                                "the iterates of device and core are %g apart, more "
                                "than rounding can explain",
                                most);
}

/* ---- one order --------------------------------------------------------------------- */

enum { METHOD, ORDER, END, STEPS, RESIDUAL, ERROR, SECONDS, NUM };

static const struct mmt_column columns[NUM] = {
    [METHOD] = { "method", "" },
    [ORDER] = { "n", "unknowns" },
    [END] = { "end", "" },
    [STEPS] = { "steps", "" },
    [RESIDUAL] = { "residual", "", 2 },
    [ERROR] = { "error of x", "", 2 },
    [SECONDS] = { "t", "s", 4 },
};

static const struct {
    const char *name;
    double power, each; /* on one core: about `each` n^power seconds; 0: on the device */
    int64_t from;       /* least order where its time is more than overhead */
} methods[] = {
    { "CG on the device", 0, 0, 100 },
    { "CG on one core", 2, 2e-7, 100 },
    { "elimination on one core", 3, 7e-10, 100 },
    { "Cramer on one core", 4, 7e-10, 20 },
};
enum { DEVICE_CG, HOST_CG, ELIMINATION, CRAMER, METHODS };

/* Where all steps are made, the method stops nowhere else. */
static const char *word_of_end(const struct mmt_study_options *options,
                               const struct mmt_cg_result *result)
{
    return options->all_steps && result->end == MMT_CG_STALLED
               ? "all steps"
               : mmt_cg_end_name(result->end);
}

/* Whether a system that is not solved is an error: a matrix as ill as was asked for may
 * need more than n steps, and n - 1 may be too few. */
static bool must_solve(const struct mmt_study_options *options)
{
    return !options->all_steps && options->condition <= MMT_STUDY_CONDITION;
}

static void add_row(const struct mmt_study_options *options, struct mmt_table *table,
                    int method, const struct system *s,
                    const struct mmt_cg_result *result)
{
    const struct mmt_cell row[NUM] = {
        [METHOD] = MMT_WORD(methods[method].name),
        [ORDER] = MMT_NUMBER((double) s->n),
        [END] = MMT_WORD(word_of_end(options, result)),
        [STEPS] = MMT_NUMBER(method > HOST_CG ? NAN : result->steps),
        [RESIDUAL] = MMT_NUMBER(result->residual),
        [ERROR] = MMT_NUMBER(distance_to_known(s)),
        [SECONDS] = MMT_NUMBER(result->seconds),
    };
    mmt_table_add(table, row);
}

/* With --all-steps n - 1 of them, whatever the residual. */
static mmt_status solve_once(const struct mmt_study_options *options,
                             const struct mmt_study_device *device, int method,
                             const struct mmt_cg_system *system,
                             struct mmt_cg_result *out, mmt_error *err)
{
    int most = (int) system->n + (options->all_steps ? -1 : 10);
    double tolerance = options->all_steps ? 0 : TOLERANCE;
    memset(system->x, 0, (size_t) system->n * sizeof *system->x);
    switch (method) {
    case DEVICE_CG:
        return mmt_cg_device(device, system, most, tolerance, out, err);
    case HOST_CG:
        return mmt_cg_host(system, most, tolerance, out, err);
    case ELIMINATION:
        return mmt_cg_eliminate(system, out, err);
    default:
        return mmt_cg_cramer(system, out, err);
    }
}

/* The least time of a few, or of one that is long. */
static mmt_status solve_system(const struct mmt_study_options *options,
                               const struct mmt_study_device *device, int method,
                               const struct mmt_cg_system *system,
                               struct mmt_cg_result *out, mmt_error *err)
{
    double least = INFINITY, spent = 0;
    mmt_status status = MMT_OK;

    for (int run = 0; run < RUNS && spent < 0.5 && status == MMT_OK; run++) {
        status = solve_once(options, device, method, system, out, err);
        least = fmin(least, out->seconds);
        spent += out->seconds;
    }
    out->seconds = least;
    return status;
}

/* The last order that a method was tried at. */
struct history {
    int64_t n;
    double seconds;
};

static bool too_long(const struct mmt_study_options *options, int method, int64_t n,
                     const struct history *last)
{
    double power = methods[method].power, order = (double) n;
    double grown = last->n ? last->seconds * pow(order / (double) last->n, power)
                           : methods[method].each * pow(order, power);
    return method != DEVICE_CG && grown > options->cpu_seconds;
}

static mmt_status solve_order(const struct mmt_study_options *options,
                              const struct mmt_study_device *device, int64_t n,
                              struct history history[METHODS], struct mmt_table *table,
                              mmt_error *err)
{
    struct system s;
    double bytes = (double) n * (double) n * sizeof(double);
    mmt_error why = { 0 };
    if (mmt_study_fits(device, "the matrix", 2 * bytes, bytes, &why)) {
        mmt_study_say(options, "left out: n = %" PRId64 ": %s", n, why.text);
        return MMT_OK;
    }
    mmt_status status =
        system_make(n, options->seed, (double) options->condition, &s, err);
    if (status != MMT_OK)
        return status;

    struct mmt_cg_system system = { n, s.a, s.b, s.x };
    status = mmt_cg_check(&system, err);
    for (int method = 0; method < METHODS && status == MMT_OK; method++) {
        struct mmt_cg_result result = { 0 };
        if (too_long(options, method, n, &history[method]))
            continue;
        status = solve_system(options, device, method, &system, &result, err);
        if (status == MMT_ERROR_MEMORY) {
            mmt_study_say(options, "left out: %s, n = %" PRId64 ": %s",
                          methods[method].name, n, err->text);
            status = MMT_OK;
            continue;
        }
        if (status != MMT_OK)
            break;
        history[method] = (struct history){ n, result.seconds };
        add_row(options, table, method, &s, &result);
        status = mmt_table_save(table, options->folder, "cg", err);
        if (status == MMT_OK && must_solve(options) &&
            (result.end != MMT_CG_SOLVED || distance_to_known(&s) > 1e-6))
            status = mmt_study_fail(err, MMT_ERROR_DEVICE,
                                    "%s, n = %" PRId64 ": %s, x is wrong by %.2g",
                                    methods[method].name, n, mmt_cg_end_name(result.end),
                                    distance_to_known(&s));
    }
    system_free(&s);
    return status;
}

/* ---- slopes ------------------------------------------------------------------------ */

/* Least squares of log t over log n; NAN with fewer than two points. */
static double slope_of_times(const struct mmt_table *table, int method, double *least,
                             double *most)
{
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;

    *least = INFINITY, *most = 0;
    for (int row = 0; row < table->num_rows; row++) {
        double n = mmt_table_cell(table, row, ORDER)->number;
        if (strcmp(mmt_table_cell(table, row, METHOD)->word, methods[method].name) ||
            n < (double) methods[method].from)
            continue;
        double u = log(n), v = log(mmt_table_cell(table, row, SECONDS)->number);
        count++, x += u, y += v, xx += u * u, xy += u * v;
        *least = fmin(*least, n), *most = fmax(*most, n);
    }
    return count > 1 ? (count * xy - x * y) / (count * xx - x * x) : NAN;
}

static mmt_status show_slopes(const struct mmt_study_options *options,
                              const struct mmt_table *table, mmt_error *err)
{
    static const struct mmt_column form[] = { { "method", "", 0 },
                                              { "from n", "", 0 },
                                              { "to n", "", 0 },
                                              { "t grows as n to the power", "", 3 } };
    struct mmt_table slopes =
        mmt_table_start("slopes on logarithmic axes, by least squares", form, 4);

    for (int method = 0; method < METHODS; method++) {
        double least, most, power = slope_of_times(table, method, &least, &most);
        const struct mmt_cell row[] = { MMT_WORD(methods[method].name), MMT_NUMBER(least),
                                        MMT_NUMBER(most), MMT_NUMBER(power) };
        if (!isnan(power))
            mmt_table_add(&slopes, row);
    }
    mmt_status status =
        slopes.num_rows ? mmt_study_show(options, &slopes, "cg-slopes", err) : MMT_OK;
    mmt_table_free(&slopes);
    return status;
}

/* ---- what came of it ------------------------------------------------------------- */

/* The first method alone, on linear axes. */
static mmt_status draw_device(const struct mmt_study_options *options,
                              const struct mmt_study_device *device,
                              const struct mmt_table *table, mmt_error *err)
{
    char title[160];
    const struct mmt_plot plot = { title, ORDER, SECONDS, { METHOD, -1 }, false, false };
    struct mmt_table rows = mmt_table_start("", columns, NUM);

    snprintf(title, sizeof title, "conjugate gradients, f64, with copies, on %.60s",
             device->facts.name);
    for (int row = 0; row < table->num_rows; row++)
        if (!strcmp(mmt_table_cell(table, row, METHOD)->word, methods[DEVICE_CG].name) &&
            mmt_table_cell(table, row, ORDER)->number <= FIG_8)
            mmt_table_add(&rows, mmt_table_cell(table, row, 0));
    mmt_status status = mmt_study_draw(options, &rows, &plot, "cg-linear", err);
    mmt_table_free(&rows);
    return status;
}

/* Seconds of a method at an order; 0 where it was not timed. */
static double seconds_at(const struct mmt_table *table, int method, double n)
{
    for (int row = 0; row < table->num_rows; row++)
        if (mmt_table_cell(table, row, ORDER)->number == n &&
            !strcmp(mmt_table_cell(table, row, METHOD)->word, methods[method].name))
            return mmt_table_cell(table, row, SECONDS)->number;
    return 0;
}

/* Rows ascend by order. */
static void find_row(const struct mmt_table *table, int row, struct mmt_cg_findings *out)
{
    const char *method = mmt_table_cell(table, row, METHOD)->word;
    double n = mmt_table_cell(table, row, ORDER)->number;
    double steps = mmt_table_cell(table, row, STEPS)->number;
    double device = seconds_at(table, DEVICE_CG, n), core = seconds_at(table, HOST_CG, n),
           cramer = seconds_at(table, CRAMER, n);

    if (steps >= 0 && n > 1)
        out->residual = fmax(out->residual, mmt_table_cell(table, row, RESIDUAL)->number);
    if (steps >= 0 && (!out->most_steps_at ||
                       steps / n >= out->most_steps / (double) out->most_steps_at))
        out->most_steps = (int) steps, out->most_steps_at = (int64_t) n;
    if (device > 0 && core > 0 && cramer > 0) {
        out->all_at = (int64_t) n;
        out->device = device, out->core = core, out->cramer = cramer;
    }
    if (strcmp(method, methods[ELIMINATION].name) == 0) {
        out->eliminated = (int64_t) n;
        out->elimination = mmt_table_cell(table, row, SECONDS)->number;
        out->elimination_error = mmt_table_cell(table, row, ERROR)->number;
    }
}

static mmt_status show_claims(const struct mmt_study_options *options,
                              const struct mmt_study_device *device,
                              const struct mmt_table *table, const struct mmt_cg_sum *sum,
                              const struct mmt_cg_product *product, mmt_error *err)
{
    struct mmt_cg_findings found = { .tolerance = options->all_steps ? 0 : TOLERANCE };
    for (int row = 0; row < table->num_rows; row++)
        find_row(table, row, &found);
    return mmt_cg_claims(options, device, sum, product, &found, err);
}

static mmt_status report_cg(const struct mmt_study_options *options,
                            const struct mmt_study_device *device,
                            const struct mmt_table *table, mmt_error *err)
{
    char title[160];
    struct mmt_plot plot = { title, ORDER, SECONDS, { METHOD, -1 }, true, true };

    snprintf(title, sizeof title, "solving A x = b, f64, with copies, on %.60s",
             device->facts.name);
    mmt_status status = mmt_study_show(options, table, "cg", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, table, &plot, "cg", err);
    if (status == MMT_OK)
        status = draw_device(options, device, table, err);
    return status ? status : show_slopes(options, table, err);
}

static mmt_status check_options(const struct mmt_study_options *options, mmt_error *err)
{
    if (options->devices.count > 1)
        return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                              "--device names %d devices; this study takes one",
                              options->devices.count);
    for (int i = 0; i < options->num_sizes; i++)
        if (options->sizes[i] > 30000)
            return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                                  "--sizes has %" PRId64
                                  "; an order may be at most 30000",
                                  options->sizes[i]);
    return MMT_OK;
}

static mmt_status open_device(const struct mmt_study_options *options,
                              struct mmt_study_device devices[MMT_STUDY_DEVICES],
                              mmt_error *err)
{
    mmt_status status = mmt_study_open(options, devices, err);
    if (status == MMT_OK && !devices[0].facts.f64)
        status = mmt_study_fail(err, MMT_ERROR_UNSUPPORTED,
                                "%s has no double precision, which this study needs",
                                mmt_device_name(devices[0].device));
    if (status == MMT_OK)
        status = try_guards(options, &devices[0], err);
    return status ? status : compare_iterates(options, &devices[0], err);
}

static mmt_status solve_all(const struct mmt_study_options *options,
                            const struct mmt_study_device *device, const int64_t *sizes,
                            int count, struct mmt_table *table, mmt_error *err)
{
    struct history history[METHODS] = { { 0 } };
    mmt_status status = MMT_OK;
    for (int i = 0; i < count && status == MMT_OK && !mmt_study_interrupted(); i++)
        status = solve_order(options, device, sizes[i], history, table, err);
    if (status == MMT_OK && !table->num_rows && !mmt_study_interrupted())
        status = mmt_study_fail(err, MMT_ERROR_MEMORY, "every order was left out");
    return status;
}

/* Sums, a product, the paper's limits and claims, after what came of the systems. */
static mmt_status conclude(const struct mmt_study_options *options,
                           const struct mmt_study_device *device, const int64_t *sizes,
                           int count, const struct mmt_table *table, mmt_error *err)
{
    struct mmt_cg_sum sum;
    struct mmt_cg_product product;
    mmt_status status = report_cg(options, device, table, err);
    if (status == MMT_OK)
        status = mmt_cg_sums(options, device, sizes, count, &sum, err);
    if (status == MMT_OK)
        status = mmt_cg_multiply(options, device, sizes, count, &product, err);
    if (status == MMT_OK)
        status = mmt_cg_limits(options, device, err);
    return status ? status : show_claims(options, device, table, &sum, &product, err);
}

static mmt_status run_cg_study(const struct mmt_study_options *options, mmt_error *err)
{
    struct mmt_study_device devices[MMT_STUDY_DEVICES] = { 0 };
    const int64_t *sizes = options->num_sizes ? options->sizes : usual_sizes;
    int count = options->num_sizes ? options->num_sizes : NUM_SIZES;
    char title[160];

    snprintf(title, sizeof title,
             "the two-parameter method, %s, elimination and Cramer's rule; condition "
             "number %" PRId64 "; least time of up to five",
             options->all_steps ? "n - 1 steps" : "tolerance 1e-10", options->condition);
    struct mmt_table table = mmt_table_start(title, columns, NUM);
    mmt_status status = check_options(options, err);
    if (status == MMT_OK)
        status = open_device(options, devices, err);
    if (status == MMT_OK)
        status = solve_all(options, &devices[0], sizes, count, &table, err);
    if (status == MMT_OK && table.num_rows)
        status = conclude(options, &devices[0], sizes, count, &table, err);
    mmt_table_free(&table);
    mmt_study_close(devices);
    return status;
}

const struct mmt_study mmt_study_cg = {
    .name = "cg",
    .what =
        "conjugate gradients on the device and on one core, elimination, Cramer's rule",
    .notes = "Sizes are orders of systems, and of matrices that are added.\n",
    .heeds = MMT_HEEDS_DEVICES | MMT_HEEDS_SIZES | MMT_HEEDS_CPU | MMT_HEEDS_SEED |
             MMT_HEEDS_CONDITION | MMT_HEEDS_ALL_STEPS,
    .ops = 1 << MMT_GEMM | 1 << MMT_AXPBY | 1 << MMT_DOT,
    .types = 1 << MMT_F64,
    .run = run_cg_study,
};
