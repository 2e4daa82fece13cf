#include <math.h>
#include <stdlib.h>

#include "tuner/study/cpu.h"
#include "tuner/study/longvector.h"

enum { MOST_POINTS = 256, BATCH = 20, RUNS = 5 };

/* ---- calibration ------------------------------------------------------------------ */

struct point {
    int64_t length;
    double seconds;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

double mmt_median_of(double *values, int count)
{
    qsort(values, (size_t) count, sizeof *values, compare);
    return values[count / 2];
}

/* One operation of that length, in the middle of a queue of them. */
static mmt_status time_vector(const struct mmt_study_device *device,
                              struct mmt_study_timer *timer, const mmt_problem *problem,
                              const mmt_operand arrays[3], double a_times, double b_times,
                              double *seconds, mmt_error *err)
{
    mmt_plan *one;
    double runs[RUNS + 1];
    mmt_status status = mmt_scheme_plan(device, problem, &one, err);
    if (status != MMT_OK)
        return status;
    for (int run = 0; run <= RUNS && status == MMT_OK; run++) {
        status = mmt_study_timer_start(timer, err);
        for (int i = 0; i < BATCH && status == MMT_OK; i++)
            status = mmt_scheme_combine(one, a_times, arrays[0], b_times, arrays[1],
                                        arrays[2], timer->queue, err);
        if (status == MMT_OK)
            status = mmt_study_timer_stop(timer, &runs[run], err);
    }
    if (status == MMT_OK)
        *seconds = mmt_median_of(runs + 1, RUNS) / BATCH;
    mmt_plan_free(one);
    return status;
}

/* Lengths on a logarithmic scale, close enough together to see the rounds. */
static int choose_lengths(int64_t most, struct point points[MOST_POINTS])
{
    int count = 0;
    double ratio = fmax(1.06, pow((double) most / 1024, 1.0 / (MOST_POINTS - 2)));
    for (double length = 1024; length < (double) most && count < MOST_POINTS - 1;
         length *= ratio)
        points[count++].length = (int64_t) length;
    points[count++].length = most;
    return count;
}

/* Weighted least squares of t = kernel + each * rounds, relative errors; returns their
 * root mean square. */
static double fit_line(const struct point *points, int count, double streams,
                       double *kernel, double *each)
{
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0, sum = 0;

    for (int i = 0; i < count; i++) {
        double y = points[i].seconds, x = ceil((double) points[i].length / streams);
        double weight = 1 / (y * y);
        w += weight, wx += weight * x, wxx += weight * x * x;
        wy += weight * y, wxy += weight * x * y;
    }
    *each = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    *kernel = (wy - *each * wx) / w;
    for (int i = 0; i < count; i++) {
        double rounds = ceil((double) points[i].length / streams);
        double gap = (*kernel + *each * rounds) / points[i].seconds - 1;
        sum += gap * gap;
    }
    return *each > 0 && *kernel >= 0 ? sqrt(sum / count) : INFINITY;
}

/* The number of streams under which the rounds explain the times best. Points whose three
 * arrays exceed the cache have another cause and are left out; returns how many are not.
 */
static int fit_rounds(const struct point *points, int count, size_t element, size_t cache,
                      struct mmt_vector_costs *out)
{
    double least = INFINITY, kernel, each;
    int inside = 0;

    while (inside < count &&
           (!cache || 3.0 * (double) points[inside].length * (double) element <
                          0.8 * (double) cache))
        inside++;
    inside = inside < 8 ? count : inside;
    for (double streams = 256; streams < (double) points[inside - 1].length;
         streams *= 1.02) {
        double error = fit_line(points, inside, floor(streams), &kernel, &each);
        if (error < least) {
            least = error;
            out->streams = floor(streams), out->kernel = kernel, out->add = each;
        }
    }
    if (isinf(least)) { /* no rounds to be seen: one stream, time goes with length */
        out->streams = 1;
        fit_line(points, inside, 1, &out->kernel, &out->add);
    }
    const struct point *last = &points[count - 1];
    out->bandwidth = inside < count ? 3.0 * (double) last->length * (double) element /
                                          (last->seconds - out->kernel)
                                    : INFINITY;
    return inside;
}

double mmt_vector_seconds(const struct mmt_vector_costs *costs, double each,
                          int64_t length, size_t element, bool memory)
{
    double rounds = each * ceil((double) length / costs->streams);
    double bytes = 3.0 * (double) length * (double) element / costs->bandwidth;
    return memory ? fmax(rounds, bytes) : rounds;
}

static mmt_status time_points(const struct mmt_study_device *device,
                              struct mmt_study_timer *timer, mmt_type type,
                              const mmt_operand arrays[3], struct point *points,
                              int count, mmt_error *err)
{
    for (int i = 0; i < count; i++) {
        mmt_problem problem = mmt_axpby_problem(type, points[i].length);
        mmt_status status =
            time_vector(device, timer, &problem, arrays, 1, 1, &points[i].seconds, err);
        if (status != MMT_OK)
            return status;
    }
    return MMT_OK;
}

/* t_saxpy over the same lengths as the additions, as far as rounds explain those: the
 * middle of what a round takes where rounds take longer than the launch. */
static mmt_status time_saxpy(const struct mmt_study_device *device,
                             struct mmt_study_timer *timer, mmt_type type,
                             const mmt_operand arrays[3], const struct point *points,
                             int count, struct mmt_vector_costs *costs, mmt_error *err)
{
    enum { STEP = 4 };
    const mmt_operand in_place[3] = { arrays[0], arrays[1], arrays[1] };
    double rounds[MOST_POINTS / STEP + 1], seconds;
    int taken = 0;

    for (int i = count - 1; i >= 0; i -= STEP) {
        double many = ceil((double) points[i].length / costs->streams);
        bool dominant = many * costs->add > costs->kernel;
        if (taken && !dominant)
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

static mmt_status time_border(const struct mmt_study_device *device,
                              struct mmt_study_timer *timer, mmt_type type,
                              const mmt_operand arrays[3], struct mmt_vector_costs *costs,
                              mmt_error *err)
{
    mmt_problem border = mmt_axpby_problem(type, 2);
    double seconds;

    border.m = 32;
    border.lda = border.ldb = border.ldc = 34;
    mmt_status status = time_vector(device, timer, &border, arrays, 0, 0, &seconds, err);
    costs->border = fmax(0, seconds - costs->kernel);
    return status;
}

/* Both ways, for a small and for a large vector: a straight line. */
static mmt_status time_copies(const struct mmt_study_device *device, mmt_operand array,
                              size_t most, struct mmt_vector_costs *costs, mmt_error *err)
{
    size_t sizes[2] = { 4096, most };
    double seconds[2];
    void *host = calloc(1, most);
    mmt_status status =
        host ? MMT_OK : mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a vector");
    for (int i = 0; i < 2 && status == MMT_OK; i++) {
        double runs[RUNS + 1];
        for (int run = 0; run <= RUNS && status == MMT_OK; run++) {
            double start = mmt_cpu_now();
            status = mmt_buffer_write(device->device, array, host, sizes[i], err);
            if (status == MMT_OK)
                status = mmt_buffer_read(device->device, host, array, sizes[i], err);
            runs[run] = mmt_cpu_now() - start;
        }
        seconds[i] = mmt_median_of(runs + 1, RUNS);
    }
    costs->tau_byte = fmax(0, seconds[1] - seconds[0]) / (double) (most - sizes[0]);
    costs->tau_fixed = fmax(0, seconds[0] - costs->tau_byte * (double) sizes[0]);
    free(host);
    return status;
}

static mmt_status show_points(const struct mmt_study_options *options,
                              const struct point *points, int count, size_t element,
                              const struct mmt_vector_costs *costs, mmt_error *err)
{
    static const struct mmt_column columns[] = { { "vector", "", 0 },
                                                 { "length", "elements", 0 },
                                                 { "one addition", "us", 4 } };
    struct mmt_table table = mmt_table_start("one addition over its length", columns, 3);
    struct mmt_plot plot = {
        "one addition of two vectors: rounds of streams", 1, 2, { 0, -1 }, true, true
    };

    for (int which = 0; which < 3; which++)
        for (int i = 0; i < count; i++) {
            static const char *const names[] = { "measured", "model", "with memory" };
            double model =
                costs->kernel + mmt_vector_seconds(costs, costs->add, points[i].length,
                                                   element, which == 2);
            const struct mmt_cell row[] = {
                MMT_WORD(names[which]), MMT_NUMBER((double) points[i].length),
                MMT_NUMBER((which ? model : points[i].seconds) * 1e6)
            };
            mmt_table_add(&table, row);
        }
    mmt_status status = mmt_table_save(&table, options->folder, "longvector-add", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, &table, &plot, "longvector-add", err);
    mmt_table_free(&table);
    return status;
}

mmt_status mmt_vector_calibrate(const struct mmt_study_options *options,
                                const struct mmt_study_device *device,
                                struct mmt_study_timer *timer, mmt_type type,
                                int64_t most, struct mmt_vector_costs *out,
                                mmt_error *err)
{
    struct point points[MOST_POINTS];
    mmt_operand arrays[3] = { { 0 } };
    size_t element = mmt_type_size(type), bytes = (size_t) most * element;
    int count = choose_lengths(most, points);
    mmt_status status = MMT_OK;

    for (int i = 0; i < 3 && status == MMT_OK; i++)
        status = mmt_buffer_create(device->device, bytes, &arrays[i], err);
    if (status == MMT_OK)
        status = time_points(device, timer, type, arrays, points, count, err);
    if (status == MMT_OK) {
        int inside = fit_rounds(points, count, element,
                                mmt_device_caps(device->device)->cache, out);
        status = time_saxpy(device, timer, type, arrays, points, inside, out, err);
    }
    if (status == MMT_OK)
        status = time_border(device, timer, type, arrays, out, err);
    if (status == MMT_OK)
        status = time_copies(device, arrays[0], bytes, out, err);
    for (int i = 0; i < 3; i++)
        mmt_buffer_free(device->device, arrays[i]);
    return status ? status : show_points(options, points, count, element, out, err);
}
