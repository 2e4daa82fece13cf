/* mmtune study cg: conjugate gradients on the device and on one core, and Cramer's rule,
 * over the order of the system; the slopes of their times on logarithmic axes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/study/cg.h"

static const int64_t usual_sizes[] = { 1,   2,   5,   10,   20,   50,   100, 200,
                                       350, 500, 700, 1000, 1400, 2000, 4000 };
enum { NUM_SIZES = sizeof usual_sizes / sizeof *usual_sizes };

#define TOLERANCE 1e-10
#define CONDITION 10.0 /* largest eigenvalue over the smallest */

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

/* A = H L H with a reflection H = 1 - 2 v v' and eigenvalues L from 1 to CONDITION:
 * symmetric, positive definite, full. A = L - 2 v w' - 2 w v' + 4 (v, w) v v', w = L v.
 */
static void fill_matrix(struct system *s, double *v, uint64_t *state)
{
    int64_t n = s->n;
    double *w = v + n, size = 0, vw = 0;

    for (int64_t i = 0; i < n; i++) {
        v[i] = random_number(state);
        size += v[i] * v[i];
    }
    for (int64_t i = 0; i < n; i++) {
        double eigenvalue =
            n > 1 ? pow(CONDITION, (double) i / (double) (n - 1)) : CONDITION;
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

static mmt_status system_make(int64_t n, int64_t seed, struct system *out, mmt_error *err)
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
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a system of order %" PRId64,
                        n);
    }
    fill_matrix(out, v, &state);
    for (int64_t i = 0; i < n; i++)
        out->known[i] = random_number(&state);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            out->b[i] += out->a[i * n + j] * out->known[j];
    free(v);
    return MMT_OK;
}

static double distance(const struct system *s)
{
    double gap = 0, size = 0;
    for (int64_t i = 0; i < s->n; i++) {
        gap += pow(s->x[i] - s->known[i], 2);
        size += pow(s->known[i], 2);
    }
    return sqrt(gap / size);
}

/* ---- guards ------------------------------------------------------------------------ */

/* What must be said, not computed: an exact start, a matrix that is not symmetric, and
 * one that is not definite. */
static mmt_status try_guards(const struct mmt_study_options *options,
                             const struct mmt_study_device *device, mmt_error *err)
{
    double a[] = { 2, 1, 1, 3 }, skew[] = { 2, 1, -1, 3 }, loose[] = { 1, 2, 2, 1 };
    double b[] = { 4, 7 }, x[] = { 1, 2 }, start[] = { 0, 0 }, other[] = { 3, -3 };
    struct mmt_cg_result exact, indefinite;
    mmt_error why = { 0 };
    struct mmt_cg_system solved = { 2, a, b, x }, odd = { 2, skew, b, start },
                         saddle = { 2, loose, other, start };
    mmt_status status = mmt_cg_device(device, &solved, 10, TOLERANCE, &exact, err);
    if (status == MMT_OK)
        status = mmt_cg_device(device, &saddle, 10, TOLERANCE, &indefinite, err);
    if (status != MMT_OK)
        return status;

    mmt_cg_check(&odd, &why);
    mmt_study_say(options, "an exact start: %s after %d steps",
                  mmt_cg_end_name(exact.end), exact.steps);
    mmt_study_say(options, "a matrix that is not definite: %s",
                  mmt_cg_end_name(indefinite.end));
    mmt_study_say(options, "a matrix that is not symmetric: %s", why.text);
    if (exact.end != MMT_CG_SOLVED || exact.steps != 0 ||
        indefinite.end != MMT_CG_NOT_DEFINITE || !why.status)
        return mmt_fail(err, MMT_ERROR_DEVICE, "a guard of the method does not hold");
    return MMT_OK;
}

/* ---- one order --------------------------------------------------------------------- */

enum { METHOD, ORDER, END, STEPS, RESIDUAL, ERROR, SECONDS, NUM };

static const struct mmt_column columns[NUM] = {
    [METHOD] = { "method", "" },
    [ORDER] = { "n", "" },
    [END] = { "end", "" },
    [STEPS] = { "steps", "" },
    [RESIDUAL] = { "residual", "", 2 },
    [ERROR] = { "error of x", "", 2 },
    [SECONDS] = { "t", "s", 4 },
};

static const char *const methods[] = { "CG on the device", "CG on one core",
                                       "Cramer on one core" };
enum { DEVICE_CG, HOST_CG, CRAMER, METHODS };

static void add_row(struct mmt_table *table, int method, const struct system *s,
                    const struct mmt_cg_result *result)
{
    const struct mmt_cell row[NUM] = {
        [METHOD] = MMT_WORD(methods[method]),
        [ORDER] = MMT_NUMBER((double) s->n),
        [END] = MMT_WORD(mmt_cg_end_name(result->end)),
        [STEPS] = MMT_NUMBER(method == CRAMER ? NAN : result->steps),
        [RESIDUAL] = MMT_NUMBER(result->residual),
        [ERROR] = MMT_NUMBER(distance(s)),
        [SECONDS] = MMT_NUMBER(result->seconds),
    };
    mmt_table_add(table, row);
}

static mmt_status solve(const struct mmt_study_device *device, int method,
                        const struct mmt_cg_system *system, struct mmt_cg_result *out,
                        mmt_error *err)
{
    int most = (int) system->n + 10;
    memset(system->x, 0, (size_t) system->n * sizeof *system->x);
    switch (method) {
    case DEVICE_CG:
        return mmt_cg_device(device, system, most, TOLERANCE, out, err);
    case HOST_CG:
        return mmt_cg_host(system, most, TOLERANCE, out, err);
    default:
        return mmt_cg_cramer(system, out, err);
    }
}

/* Seconds that a method on one core would take, from the last order it was tried at. */
struct history {
    int64_t n;
    double seconds;
};

static bool too_long(const struct mmt_study_options *options, int method, int64_t n,
                     const struct history *last)
{
    double power = method == CRAMER ? 4 : 2;
    return method != DEVICE_CG && last->n &&
           last->seconds * pow((double) n / (double) last->n, power) >
               options->cpu_seconds;
}

static mmt_status solve_order(const struct mmt_study_options *options,
                              const struct mmt_study_device *device, int64_t n,
                              struct history history[METHODS], struct mmt_table *table,
                              mmt_error *err)
{
    struct system s;
    mmt_status status = system_make(n, options->seed, &s, err);
    if (status != MMT_OK)
        return status;

    struct mmt_cg_system system = { n, s.a, s.b, s.x };
    status = mmt_cg_check(&system, err);
    for (int method = 0; method < METHODS && status == MMT_OK; method++) {
        struct mmt_cg_result result = { 0 };
        if (too_long(options, method, n, &history[method]))
            continue;
        status = solve(device, method, &system, &result, err);
        if (status != MMT_OK)
            break;
        history[method] = (struct history){ n, result.seconds };
        add_row(table, method, &s, &result);
        if (result.end != MMT_CG_SOLVED || distance(&s) > 1e-6)
            status = mmt_fail(
                err, MMT_ERROR_DEVICE, "%s, n = %" PRId64 ": %s, x is wrong by %.2g",
                methods[method], n, mmt_cg_end_name(result.end), distance(&s));
    }
    system_free(&s);
    return status;
}

/* ---- slopes ------------------------------------------------------------------------ */

/* Least squares of log t over log n, from n = 100 on (Cramer: from 20), where times are
 * more than overhead; NAN with fewer than two points. */
static double slope(const struct mmt_table *table, int method)
{
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int row = 0; row < table->num_rows; row++) {
        double n = mmt_table_cell(table, row, ORDER)->number;
        if (strcmp(mmt_table_cell(table, row, METHOD)->word, methods[method]) ||
            n < (method == CRAMER ? 20 : 100))
            continue;
        double u = log(n), v = log(mmt_table_cell(table, row, SECONDS)->number);
        count++, x += u, y += v, xx += u * u, xy += u * v;
    }
    return count > 1 ? (count * xy - x * y) / (count * xx - x * x) : NAN;
}

static mmt_status report(const struct mmt_study_options *options,
                         const struct mmt_table *table, mmt_error *err)
{
    struct mmt_plot plot = {
        "solving A x = b, f64, with copies", ORDER, SECONDS, { METHOD, -1 }, true, true
    };
    mmt_status status = mmt_study_show(options, table, "cg", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, table, &plot, "cg", err);
    for (int method = 0; method < METHODS && status == MMT_OK; method++)
        if (!isnan(slope(table, method)))
            mmt_study_say(options, "%s: t grows as n to the power %.2f", methods[method],
                          slope(table, method));
    return status;
}

static mmt_status run(const struct mmt_study_options *options, mmt_error *err)
{
    struct mmt_study_device devices[MMT_STUDY_DEVICES] = { 0 };
    const int64_t *sizes = options->num_sizes ? options->sizes : usual_sizes;
    int count = options->num_sizes ? options->num_sizes : NUM_SIZES;
    struct history history[METHODS] = { { 0 } };
    struct mmt_table table = mmt_table_start(
        "the two-parameter method and Cramer's rule, tolerance 1e-10", columns, NUM);
    mmt_status status = options->num_devices > 1
                            ? mmt_fail(err, MMT_ERROR_ARGUMENT,
                                       "--device names %d devices; this study takes one",
                                       options->num_devices)
                            : mmt_study_open(options, devices, err);
    if (status == MMT_OK && !mmt_device_caps(devices[0].device)->f64)
        status = mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                          "%s has no double precision, which this study needs",
                          mmt_device_name(devices[0].device));
    if (status == MMT_OK)
        status = try_guards(options, &devices[0], err);
    for (int i = 0; i < count && status == MMT_OK && !mmt_study_interrupted(); i++)
        status = sizes[i] > 30000
                     ? mmt_fail(err, MMT_ERROR_ARGUMENT,
                                "--sizes has %" PRId64 "; an order may be at most 30000",
                                sizes[i])
                     : solve_order(options, &devices[0], sizes[i], history, &table, err);
    if (status == MMT_OK)
        status = report(options, &table, err);
    mmt_table_free(&table);
    mmt_study_close(devices);
    return status;
}

const struct mmt_study mmt_study_cg = {
    .name = "cg",
    .what = "conjugate gradients on the device and on one core, and Cramer's rule",
    .notes = "Sizes are orders of systems, ascending.\n",
    .heeds = MMT_HEEDS_DEVICES | MMT_HEEDS_SIZES | MMT_HEEDS_CPU | MMT_HEEDS_SEED,
    .run = run,
};
