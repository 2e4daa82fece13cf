/* mmtune study cg: conjugate gradients on the device and on one core, Cramer's rule and
 * elimination, over the order of the system; the slopes of their times on logarithmic
 * axes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "studies/cg.h"

static const int64_t usual_sizes[] = { 1,   2,   5,   10,   20,   50,   100, 200,
                                       350, 500, 700, 1000, 1400, 2000, 4000 };
enum { NUM_SIZES = sizeof usual_sizes / sizeof *usual_sizes, RUNS = 5 };

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
               : mmt_fail(err, MMT_ERROR_DEVICE, "the guard against %s does not hold",
                          guard->what);
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
        return mmt_fail(err, MMT_ERROR_DEVICE, "a guard of the method does not hold");
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
    mmt_status status = system_make(ORDER, options->seed, &s, err);
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
    return most < 1e-10 ? MMT_OK
                        : mmt_fail(err, MMT_ERROR_DEVICE,
                                   "the iterates of device and core are %g apart, more "
                                   "than rounding can explain",
                                   most);
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

static void add_row(struct mmt_table *table, int method, const struct system *s,
                    const struct mmt_cg_result *result)
{
    const struct mmt_cell row[NUM] = {
        [METHOD] = MMT_WORD(methods[method].name),
        [ORDER] = MMT_NUMBER((double) s->n),
        [END] = MMT_WORD(mmt_cg_end_name(result->end)),
        [STEPS] = MMT_NUMBER(method > HOST_CG ? NAN : result->steps),
        [RESIDUAL] = MMT_NUMBER(result->residual),
        [ERROR] = MMT_NUMBER(distance_to_known(s)),
        [SECONDS] = MMT_NUMBER(result->seconds),
    };
    mmt_table_add(table, row);
}

static mmt_status solve_once(const struct mmt_study_device *device, int method,
                             const struct mmt_cg_system *system,
                             struct mmt_cg_result *out, mmt_error *err)
{
    int most = (int) system->n + 10;
    memset(system->x, 0, (size_t) system->n * sizeof *system->x);
    switch (method) {
    case DEVICE_CG:
        return mmt_cg_device(device, system, most, TOLERANCE, out, err);
    case HOST_CG:
        return mmt_cg_host(system, most, TOLERANCE, out, err);
    case ELIMINATION:
        return mmt_cg_eliminate(system, out, err);
    default:
        return mmt_cg_cramer(system, out, err);
    }
}

/* The least time of a few, or of one that is long. */
static mmt_status solve_system(const struct mmt_study_device *device, int method,
                               const struct mmt_cg_system *system,
                               struct mmt_cg_result *out, mmt_error *err)
{
    double least = INFINITY, spent = 0;
    mmt_status status = MMT_OK;

    for (int run = 0; run < RUNS && spent < 0.5 && status == MMT_OK; run++) {
        status = solve_once(device, method, system, out, err);
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
    mmt_status status = system_make(n, options->seed, &s, err);
    if (status != MMT_OK)
        return status;

    struct mmt_cg_system system = { n, s.a, s.b, s.x };
    status = mmt_cg_check(&system, err);
    for (int method = 0; method < METHODS && status == MMT_OK; method++) {
        struct mmt_cg_result result = { 0 };
        if (too_long(options, method, n, &history[method]))
            continue;
        status = solve_system(device, method, &system, &result, err);
        if (status == MMT_ERROR_MEMORY) {
            mmt_study_say(options, "left out: %s, n = %" PRId64 ": %s",
                          methods[method].name, n, err->text);
            status = MMT_OK;
            continue;
        }
        if (status != MMT_OK)
            break;
        history[method] = (struct history){ n, result.seconds };
        add_row(table, method, &s, &result);
        if (result.end != MMT_CG_SOLVED || distance_to_known(&s) > 1e-6)
            status = mmt_fail(err, MMT_ERROR_DEVICE,
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

static mmt_status report_cg(const struct mmt_study_options *options,
                            const struct mmt_study_device *device,
                            const struct mmt_table *table, mmt_error *err)
{
    char title[160];
    struct mmt_plot plot = { title, ORDER, SECONDS, { METHOD, -1 }, true, true };

    snprintf(title, sizeof title, "solving A x = b, f64, with copies, on %.60s",
             mmt_device_caps(device->device)->name);
    mmt_status status = mmt_study_show(options, table, "cg", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, table, &plot, "cg", err);
    return status ? status : show_slopes(options, table, err);
}

static mmt_status run_cg_study(const struct mmt_study_options *options, mmt_error *err)
{
    struct mmt_study_device devices[MMT_STUDY_DEVICES] = { 0 };
    const int64_t *sizes = options->num_sizes ? options->sizes : usual_sizes;
    int count = options->num_sizes ? options->num_sizes : NUM_SIZES;
    struct history history[METHODS] = { { 0 } };
    struct mmt_table table = mmt_table_start(
        "the two-parameter method, elimination and Cramer's rule, tolerance 1e-10; least "
        "time of up to five",
        columns, NUM);
    mmt_status status = options->devices.count > 1
                            ? mmt_fail(err, MMT_ERROR_ARGUMENT,
                                       "--device names %d devices; this study takes one",
                                       options->devices.count)
                            : mmt_study_open(options, devices, err);
    if (status == MMT_OK && !mmt_device_caps(devices[0].device)->f64)
        status = mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                          "%s has no double precision, which this study needs",
                          mmt_device_name(devices[0].device));
    if (status == MMT_OK)
        status = try_guards(options, &devices[0], err);
    if (status == MMT_OK)
        status = compare_iterates(options, &devices[0], err);
    for (int i = 0; i < count && status == MMT_OK && !mmt_study_interrupted(); i++)
        status = sizes[i] > 30000
                     ? mmt_fail(err, MMT_ERROR_ARGUMENT,
                                "--sizes has %" PRId64 "; an order may be at most 30000",
                                sizes[i])
                     : solve_order(options, &devices[0], sizes[i], history, &table, err);
    if (status == MMT_OK)
        status = report_cg(options, &devices[0], &table, err);
    mmt_table_free(&table);
    mmt_study_close(devices);
    return status;
}

const struct mmt_study mmt_study_cg = {
    .name = "cg",
    .what =
        "conjugate gradients on the device and on one core, elimination, Cramer's rule",
    .notes = "Sizes are orders of systems.\n",
    .heeds = MMT_HEEDS_DEVICES | MMT_HEEDS_SIZES | MMT_HEEDS_CPU | MMT_HEEDS_SEED,
    .ops = 1 << MMT_GEMM | 1 << MMT_AXPBY | 1 << MMT_DOT,
    .types = 1 << MMT_F64,
    .run = run_cg_study,
};
