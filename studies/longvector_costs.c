/* Calibrates the paper's cost model of vector operations on a device, and predicts times
 * by it. */
#include <math.h>

#include "client.h"
#include "cpu.h"
#include "longvector.h"

enum { BATCH = 20, RUNS = 3, LEAST_POINTS = 24 };
#define BATCH_ELEMENTS                                                                   \
    20e6            /* of a batch of long vectors, whose launches are hidden anyway */
#define LEAST 1e-12 /* of a level and of seconds: a coarse clock may say 0 */

/* ---- calibration ------------------------------------------------------------------ */

/* One operation of that length, in the middle of a queue of them. */
static mmt_status time_vector(const struct mmt_study_device *device, mmt_timer *timer,
                              const mmt_problem *problem, const mmt_operand arrays[3],
                              double a_times, double b_times, double *seconds,
                              mmt_error *err)
{
    const int batch = (int) fmax(1, fmin(BATCH, BATCH_ELEMENTS / (double) problem->n));
    mmt_plan *one;
    double runs[RUNS + 1];
    mmt_status status = mmt_scheme_plan(device, problem, &one, err);
    if (status != MMT_OK)
        return status;
    for (int run = 0; run <= RUNS && status == MMT_OK; run++) {
        status = mmt_timer_start(timer, err);
        for (int i = 0; i < batch && status == MMT_OK; i++)
            status = mmt_scheme_combine(one, a_times, arrays[0], b_times, arrays[1],
                                        arrays[2], mmt_timer_queue(timer), err);
        if (status == MMT_OK)
            status = mmt_timer_stop(timer, &runs[run], err);
    }
    if (status == MMT_OK)
        *seconds = mmt_median_of(runs + 1, RUNS) / batch;
    mmt_plan_free(one);
    return status;
}

/* Lengths on a logarithmic scale, close enough together to see the rounds. */
static int choose_lengths(int64_t most, struct mmt_vector_point points[MMT_VECTOR_POINTS])
{
    int count = 0;
    double ratio = fmax(1.06, pow((double) most / 64, 1.0 / (MMT_VECTOR_POINTS - 2)));
    for (double length = 64; length < (double) most && count < MMT_VECTOR_POINTS - 1;
         length *= ratio)
        points[count++].length = (int64_t) length;
    points[count++].length = most;
    return count;
}

/* Least squares of y = fixed + each * x, relative errors; returns their root mean square,
 * infinity where a cost is negative. */
static double fit_line(const double *x, const double *y, int count, double *fixed,
                       double *each)
{
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0, sum = 0;

    for (int i = 0; i < count; i++) {
        double weight = 1 / (y[i] * y[i]);
        w += weight, wx += weight * x[i], wxx += weight * x[i] * x[i];
        wy += weight * y[i], wxy += weight * x[i] * y[i];
    }
    *each = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    *fixed = (wy - *each * wx) / w;
    for (int i = 0; i < count; i++)
        sum += pow((*fixed + *each * x[i]) / y[i] - 1, 2);
    return *each > 0 && *fixed >= 0 ? sqrt(sum / count) : INFINITY;
}

static double fit_streams(const struct mmt_vector_point *points, int count,
                          double streams, double *kernel, double *each)
{
    double rounds[MMT_VECTOR_POINTS], seconds[MMT_VECTOR_POINTS];
    for (int i = 0; i < count; i++) {
        rounds[i] = ceil((double) points[i].length / streams);
        seconds[i] = points[i].seconds;
    }
    return fit_line(rounds, seconds, count, kernel, each);
}

/* How many lengths the cache holds, if they show what length costs: at the last of them
 * it costs as much as the launch. Else all: a large GPU is through with whatever its
 * cache holds within the time of a launch. */
static int lengths_that_count(const struct mmt_vector_point *points, int count,
                              size_t element, size_t cache)
{
    double kernel, each;
    int inside = 0;

    while (inside < count &&
           (!cache || 3.0 * (double) points[inside].length * (double) element <
                          0.8 * (double) cache))
        inside++;
    if (inside < 8)
        return count;
    fit_streams(points, inside, 1, &kernel, &each);
    return each * (double) points[inside - 1].length < kernel ? count : inside;
}

/* No rounds to be seen: one stream, and time goes with length, or not even that. */
static void fit_without_rounds(const struct mmt_vector_point *points, int count,
                               struct mmt_vector_costs *out)
{
    double all[MMT_VECTOR_POINTS];

    out->streams = 1;
    fit_streams(points, count, 1, &out->kernel, &out->add);
    if (out->add > 0 && out->kernel >= 0)
        return;
    for (int i = 0; i < count; i++)
        all[i] = points[i].seconds / (out->add > 0 ? (double) points[i].length : 1);
    double middle = mmt_median_of(all, count);
    out->kernel = out->add > 0 ? 0 : middle;
    out->add = out->add > 0 ? middle : 0;
}

int mmt_vector_fit(const struct mmt_vector_point *points, int count, size_t element,
                   size_t cache, struct mmt_vector_costs *out)
{
    double least = INFINITY, kernel, each;
    int used = lengths_that_count(points, count, element, cache);

    for (double streams = 256; streams < (double) points[used - 1].length;
         streams *= 1.02) {
        double error = fit_streams(points, used, floor(streams), &kernel, &each);
        if (error < least) {
            least = error;
            out->streams = floor(streams), out->kernel = kernel, out->add = each;
        }
    }
    if (isinf(least))
        fit_without_rounds(points, used, out);
    return used;
}

/* ---- the models -------------------------------------------------------------------- */

static double operation_seconds(const struct mmt_vector_costs *costs, double each,
                                int64_t length)
{
    return costs->kernel + each * ceil((double) length / costs->streams);
}

/* Both additions and the saxpy, by the paper's model. */
static double vectors_seconds(const struct mmt_vector_costs *costs, int64_t inner)
{
    int64_t second = mmt_scheme_second(inner);
    return operation_seconds(costs, costs->add, mmt_scheme_first(inner)) +
           operation_seconds(costs, costs->add, second) +
           operation_seconds(costs, costs->saxpy, second);
}

static double bytes_of(int64_t inner, size_t element)
{
    return (double) ((inner + 2) * (inner + 2)) * (double) element;
}

/* Beyond its ends it goes on as it ended. Its values are above zero. */
static double look_up(const struct mmt_vector_curve *curve, double at)
{
    const double *x = curve->at, *y = curve->value;
    int i = 1;

    if (curve->count < 2)
        return y[0];
    while (i < curve->count - 1 && x[i] < at)
        i++;
    double part = log(at / x[i - 1]) / log(x[i] / x[i - 1]);
    return y[i - 1] * pow(y[i] / y[i - 1], part);
}

static void append_knot(struct mmt_vector_curve *curve, int64_t inner, double value)
{
    curve->at[curve->count] = (double) inner;
    curve->value[curve->count++] = fmax(value, LEAST);
}

void mmt_vector_learn(struct mmt_vector_costs *costs, const struct mmt_vector_knot *knots,
                      int count, size_t element)
{
    double bytes[MMT_VECTOR_KNOTS], copies[MMT_VECTOR_KNOTS], borders[MMT_VECTOR_KNOTS];

    costs->level.count = costs->edge.count = costs->copies.count = 0;
    for (int i = 0; i < count; i++) {
        const struct mmt_vector_knot *knot = &knots[i];
        append_knot(&costs->level, knot->inner,
                    knot->vectors / vectors_seconds(costs, knot->inner));
        append_knot(&costs->edge, knot->inner, knot->border);
        append_knot(&costs->copies, knot->inner, knot->copies);
        bytes[i] = bytes_of(knot->inner, element), copies[i] = knot->copies;
        borders[i] = knot->border;
    }
    if (isinf(fit_line(bytes, copies, count, &costs->tau_fixed, &costs->tau_byte))) {
        costs->tau_fixed = 0;
        costs->tau_byte = copies[count - 1] / bytes[count - 1];
    }
    costs->border = fmax(0, mmt_median_of(borders, count) - costs->kernel);
}

double mmt_vector_predict(const struct mmt_vector_costs *costs, int64_t inner,
                          size_t element, int steps, bool levels)
{
    double three = vectors_seconds(costs, inner), n = (double) inner;
    if (levels)
        return look_up(&costs->copies, n) +
               steps * (look_up(&costs->level, n) * three + look_up(&costs->edge, n));
    return costs->tau_fixed + costs->tau_byte * bytes_of(inner, element) +
           steps * (three + costs->kernel + costs->border);
}

/* ---- on the device ----------------------------------------------------------------- */

/* All lengths, or those that there is time for, and the shortest, to a few; they move to
 * the front. */
static mmt_status time_points(const struct mmt_study_device *device, mmt_timer *timer,
                              mmt_type type, const mmt_operand arrays[3],
                              struct mmt_vector_point *points, int *count, double until,
                              mmt_error *err)
{
    int order[MMT_VECTOR_POINTS], done = 0, shortest = 0, kept = 0;
    mmt_study_spread(*count, order);
    for (; done < *count; done++) {
        const bool over = mmt_study_now() > until || mmt_study_interrupted();
        if (over && done >= LEAST_POINTS)
            break;
        while (over && points[shortest].seconds > 0)
            shortest++;
        struct mmt_vector_point *point = &points[over ? shortest : order[done]];
        mmt_problem problem = mmt_axpby_problem(type, point->length);
        mmt_status status =
            time_vector(device, timer, &problem, arrays, 1, 1, &point->seconds, err);
        if (status != MMT_OK)
            return status;
        point->seconds = fmax(point->seconds, LEAST);
    }
    for (int i = 0; i < *count; i++)
        if (points[i].seconds > 0)
            points[kept++] = points[i];
    *count = kept;
    return MMT_OK;
}

/* t_saxpy over the same lengths as the additions, as far as rounds explain those: the
 * middle of what a round takes where rounds take longer than the launch. */
static mmt_status time_saxpy(const struct mmt_study_device *device, mmt_timer *timer,
                             mmt_type type, const mmt_operand arrays[3],
                             const struct mmt_vector_point *points, int count,
                             double until, struct mmt_vector_costs *costs, mmt_error *err)
{
    enum { STEP = 4 };
    const mmt_operand in_place[3] = { arrays[0], arrays[1], arrays[1] };
    double rounds[MMT_VECTOR_POINTS / STEP + 1], seconds;
    int taken = 0;

    for (int i = count - 1; i >= 0; i -= STEP) {
        double many = ceil((double) points[i].length / costs->streams);
        bool dominant = many * costs->add > costs->kernel;
        if (taken && (!dominant || mmt_study_now() > until))
            break;
        mmt_problem saxpy = mmt_axpby_problem(type, points[i].length);
        mmt_status status = time_vector(device, timer, &saxpy, in_place, MMT_SCHEME_ALPHA,
                                        1 - 4 * MMT_SCHEME_ALPHA, &seconds, err);
        if (status != MMT_OK)
            return status;
        rounds[taken++] = fmax(0, seconds - costs->kernel) / many;
    }
    costs->saxpy = mmt_median_of(rounds, taken);
    return MMT_OK;
}

static mmt_status show_points(const struct mmt_study_options *options,
                              const struct mmt_study_device *device, mmt_type type,
                              const struct mmt_vector_point *points, int count,
                              const struct mmt_vector_costs *costs, mmt_error *err)
{
    static const struct mmt_column columns[] = { { "vector", "", 0 },
                                                 { "length", "elements", 0 },
                                                 { "one addition", "us", 4 } };
    struct mmt_table table = mmt_table_start("one addition over its length", columns, 3);
    char title[160];
    struct mmt_plot plot = { title, 1, 2, { 0, -1 }, true, true };

    snprintf(title, sizeof title, "one addition of two vectors, %s, on %.60s",
             mmt_type_name(type), device->facts.name);
    for (int model = 0; model < 2; model++)
        for (int i = 0; i < count; i++) {
            double seconds = model
                                 ? operation_seconds(costs, costs->add, points[i].length)
                                 : points[i].seconds;
            const struct mmt_cell row[] = { MMT_WORD(model ? "model" : "measured"),
                                            MMT_NUMBER((double) points[i].length),
                                            MMT_NUMBER(seconds * 1e6) };
            mmt_table_add(&table, row);
        }
    mmt_status status = mmt_table_save(&table, options->folder, "longvector-add", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, &table, &plot, "longvector-add", err);
    mmt_table_free(&table);
    return status;
}

/* The length at which the model has an element take least, and by how much of its time it
 * is behind the length that does. */
static void choose_length(const struct mmt_vector_point *points, int count,
                          struct mmt_vector_costs *costs)
{
    double model = INFINITY, chosen = 0, best = INFINITY;
    for (int i = 0; i < count; i++) {
        double length = (double) points[i].length, each = points[i].seconds / length;
        double one = operation_seconds(costs, costs->add, points[i].length) / length;
        best = fmin(best, each);
        if (one < model)
            model = one, chosen = each, costs->chosen_length = points[i].length;
    }
    costs->chosen_loss = chosen / best - 1;
}

mmt_status mmt_vector_calibrate(const struct mmt_study_options *options,
                                const struct mmt_study_device *device, mmt_timer *timer,
                                mmt_type type, int64_t most, double until,
                                struct mmt_vector_costs *out, mmt_error *err)
{
    struct mmt_vector_point points[MMT_VECTOR_POINTS] = { { 0 } };
    mmt_operand arrays[3] = { { 0 } };
    size_t element = mmt_type_size(type), bytes = (size_t) most * element;
    int all = choose_lengths(most, points), count = all;
    const double share = 0.7 * (until - mmt_study_now()); /* of additions */
    mmt_status status = MMT_OK;

    for (int i = 0; i < 3 && status == MMT_OK; i++)
        status = mmt_buffer_create(device->device, bytes, &arrays[i], err);
    if (status == MMT_OK)
        status = time_points(device, timer, type, arrays, points, &count,
                             mmt_study_now() + share, err);
    if (status == MMT_OK) {
        int used = mmt_vector_fit(points, count, element, device->facts.cache, out);
        status = time_saxpy(device, timer, type, arrays, points, used, until, out, err);
        choose_length(points, count, out);
    }
    if (status == MMT_OK)
        status = mmt_vector_race(options, device, timer, type, arrays, points, count,
                                 &out->library_gain, err);
    for (int i = 0; i < 3; i++)
        mmt_buffer_free(device->device, arrays[i]);
    if (status == MMT_OK && count < all)
        mmt_study_say(options,
                      "the time for additions was over: %d of %d lengths were measured",
                      count, all);
    return status ? status : show_points(options, device, type, points, count, out, err);
}

/* ---- what they are --------------------------------------------------------------- */

static mmt_status show_costs(const struct mmt_study_options *options,
                             const struct mmt_vector_costs *costs, mmt_error *err)
{
    static const struct mmt_column columns[] = { { "what", "", 0 },
                                                 { "value", "", 4 },
                                                 { "unit", "", 0 } };
    const struct {
        const char *what, *unit;
        double value;
    } rows[] = {
        { "t_kernel, one launch in a queue", "us", costs->kernel * 1e6 },
        { "streams", "elements a round", costs->streams },
        { "t_add, one round", "us", costs->add * 1e6 },
        { "t_saxpy, one round", "us", costs->saxpy * 1e6 },
        { "t_0, the border of the middle grid", "us", costs->border * 1e6 },
        { "tau, fixed", "us", costs->tau_fixed * 1e6 },
        { "tau, each GB there and back", "ms", costs->tau_byte * 1e12 },
    };
    struct mmt_table table = mmt_table_start("calibrated on the device", columns, 3);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct mmt_cell row[] = { MMT_WORD(rows[i].what), MMT_NUMBER(rows[i].value),
                                        MMT_WORD(rows[i].unit) };
        mmt_table_add(&table, row);
    }
    mmt_status status = mmt_study_show(options, &table, "longvector-costs", err);
    mmt_table_free(&table);
    return status;
}

static mmt_status show_levels(const struct mmt_study_options *options,
                              const struct mmt_vector_costs *costs, mmt_error *err)
{
    static const struct mmt_column columns[] = {
        { "N", "", 0 }, { "level", "times", 3 }, { "border", "us", 4 }, { "tau", "us", 4 }
    };
    struct mmt_table table =
        mmt_table_start("what they are on the grids between", columns, 4);

    for (int i = 0; i < costs->level.count; i++) {
        const struct mmt_cell row[] = { MMT_NUMBER(costs->level.at[i]),
                                        MMT_NUMBER(costs->level.value[i]),
                                        MMT_NUMBER(costs->edge.value[i] * 1e6),
                                        MMT_NUMBER(costs->copies.value[i] * 1e6) };
        mmt_table_add(&table, row);
    }
    mmt_status status = mmt_study_show(options, &table, "longvector-levels", err);
    mmt_table_free(&table);
    return status;
}

mmt_status mmt_vector_show(const struct mmt_study_options *options,
                           const struct mmt_vector_costs *costs, mmt_error *err)
{
    mmt_status status = show_costs(options, costs, err);
    return status ? status : show_levels(options, costs, err);
}
