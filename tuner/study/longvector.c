/* mmtune study longvector: the explicit scheme of the heat equation as operations on long
 * vectors, and a model of its time (Vorotnikova, Kochurov, Golovashkin, Computer Optics
 * 2015 39(5), doi 10.18287/0134-2452-2015-39-5-801-807).
 *
 * A grid of (N + 2) x (N + 2) is one vector V of n elements; with s = N + 2 a step is
 *
 *     T(p) = V(p) + V(p + s - 1)                 an addition of (N + 1)(N + 2) - 1
 *     U(q) = T(q - s) + T(q + 1)                 an addition of N (N + 2) - 2
 *     V(q) = alpha U(q) + (1 - 4 alpha) V(q)     a saxpy of the same
 *     V = 0 on the first and the last column     the border
 *
 * since T(q - s) + T(q + 1) are the four neighbours of q. The paper prints the third line
 * without 1 - 4 alpha, which grows without bound, and gives the first addition another
 * length. Its model, with the length mended:
 *
 *     T = tau + steps (4 t_kernel + t_add ceil(((N + 1)(N + 2) - 1) / streams)
 *                      + (t_add + t_saxpy) ceil((N (N + 2) - 2) / streams) + t_0)
 *
 * The paper's card had no cache to speak of. Here an operation on arrays that exceed the
 * last-level cache takes no less than memory needs for them, as the second model has it:
 * each term becomes max(t_op ceil(m / streams), bytes / bandwidth). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/study/cpu.h"
#include "tuner/study/longvector.h"

enum { STEPS = 50, MOST_SIZES = 60, RUNS = 5 };

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
        { "t_0, the border", "us", costs->border * 1e6 },
        { "tau, fixed", "us", costs->tau_fixed * 1e6 },
        { "tau, each GB there and back", "ms", costs->tau_byte * 1e12 },
        { "memory, past the cache", "GB/s",
          isinf(costs->bandwidth) ? NAN : costs->bandwidth * 1e-9 },
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

/* ---- model against measurement ---------------------------------------------------- */

static double predict(const struct mmt_vector_costs *costs, int64_t inner, size_t element,
                      int steps, bool memory)
{
    int64_t first = mmt_scheme_first(inner), second = mmt_scheme_second(inner);
    double bytes = (double) ((inner + 2) * (inner + 2)) * (double) element;
    double step = 4 * costs->kernel + costs->border +
                  mmt_vector_seconds(costs, costs->add, first, element, memory) +
                  mmt_vector_seconds(costs, costs->add, second, element, memory) +
                  mmt_vector_seconds(costs, costs->saxpy, second, element, memory);
    return costs->tau_fixed + costs->tau_byte * bytes + steps * step;
}

/* Whether the first addition is within 1 % of a whole number of rounds. */
static bool near_step(const struct mmt_vector_costs *costs, int64_t inner)
{
    double rounds = (double) mmt_scheme_first(inner) / costs->streams;
    return rounds > 0.5 && rounds < 100 && fabs(rounds - round(rounds)) < 0.01 * rounds;
}

struct trial {
    double scheme, fused; /* seconds: all steps and both copies; one step */
};

static mmt_status time_scheme(const struct mmt_study_device *device,
                              struct mmt_study_timer *timer, mmt_type type, int64_t inner,
                              int steps, struct trial *out, mmt_error *err)
{
    struct mmt_scheme x;
    double runs[RUNS];
    void *field = mmt_scheme_field(type, inner + 2);
    mmt_status status = field ? mmt_scheme_open(device, type, inner, &x, err)
                              : mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a grid");
    if (status != MMT_OK) {
        free(field);
        return status;
    }
    status = mmt_scheme_run(&x, timer, 1 - 4 * MMT_SCHEME_ALPHA, 2, field, err);
    for (int run = 0; run < RUNS && status == MMT_OK; run++) {
        double start = mmt_cpu_now();
        status = mmt_scheme_run(&x, timer, 1 - 4 * MMT_SCHEME_ALPHA, steps, field, err);
        runs[run] = mmt_cpu_now() - start;
    }
    out->scheme = mmt_median_of(runs, RUNS);
    if (status == MMT_OK)
        status = mmt_study_timer_start(timer, err);
    mmt_args args = mmt_args_defaults();
    args.alpha = MMT_SCHEME_ALPHA, args.a = x.v, args.c = x.t;
    for (int i = 0; i < steps && status == MMT_OK; i++)
        status = mmt_execute(x.fused, &args, timer->queue, err);
    if (status == MMT_OK)
        status = mmt_study_timer_stop(timer, &out->fused, err);
    out->fused /= steps;
    mmt_scheme_close(&x);
    free(field);
    return status;
}

enum { SERIES, INNER, NODES, TIME, DEVIATION, PER_STEP, FUSED, GAIN, NEAR, NUM };

static const struct mmt_column columns[NUM] = {
    [SERIES] = { "series", "" },
    [INNER] = { "N", "" },
    [NODES] = { "n", "nodes" },
    [TIME] = { "T", "ms", 4 },
    [DEVIATION] = { "deviation", "%", 3 },
    [PER_STEP] = { "vectors, one step", "us", 4 },
    [FUSED] = { "fused kernel, one step", "us", 4 },
    [GAIN] = { "fused is faster", "times", 3 },
    [NEAR] = { "near a step", "" },
};

static void add_row(struct mmt_table *table, const char *series, int64_t inner,
                    double seconds, double measured, const struct trial *trial, bool near)
{
    const struct mmt_cell row[NUM] = {
        [SERIES] = MMT_WORD(series),
        [INNER] = MMT_NUMBER((double) inner),
        [NODES] = MMT_NUMBER((double) ((inner + 2) * (inner + 2))),
        [TIME] = MMT_NUMBER(seconds * 1e3),
        [DEVIATION] = MMT_NUMBER(measured > 0 ? (seconds / measured - 1) * 100 : NAN),
        [PER_STEP] = MMT_NUMBER(trial ? trial->scheme / STEPS * 1e6 : NAN),
        [FUSED] = MMT_NUMBER(trial ? trial->fused * 1e6 : NAN),
        [GAIN] = MMT_NUMBER(trial ? trial->scheme / STEPS / trial->fused : NAN),
        [NEAR] = MMT_WORD(near ? "yes" : ""),
    };
    mmt_table_add(table, row);
}

/* As the paper walks: 10 to 100 and 100 to 7000, though not in its 391 steps. */
static int choose_sizes(const struct mmt_study_options *options, int64_t *sizes)
{
    int count = 0;
    if (options->num_sizes) {
        memcpy(sizes, options->sizes, sizeof options->sizes);
        return options->num_sizes;
    }
    for (int64_t inner = 10; inner < 100; inner += 10)
        sizes[count++] = inner;
    for (int64_t inner = 100; inner < 1000 && count < MOST_SIZES; inner += 40)
        sizes[count++] = inner;
    for (int64_t inner = 1000; inner <= 7000 && count < MOST_SIZES; inner += 300)
        sizes[count++] = inner;
    return count;
}

static mmt_status compare_all(const struct mmt_study_options *options,
                              const struct mmt_study_device *device,
                              struct mmt_study_timer *timer, mmt_type type,
                              const struct mmt_vector_costs *costs, const int64_t *sizes,
                              int count, struct mmt_table *table, double deltas[2],
                              mmt_error *err)
{
    size_t element = mmt_type_size(type);
    int done = 0;

    for (; done < count && !mmt_study_interrupted(); done++) {
        int64_t inner = sizes[done];
        struct trial trial;
        mmt_status status = time_scheme(device, timer, type, inner, STEPS, &trial, err);
        if (status != MMT_OK)
            return status;
        add_row(table, "measured", inner, trial.scheme, 0, &trial,
                near_step(costs, inner));
        for (int memory = 0; memory < 2; memory++) {
            double model = predict(costs, inner, element, STEPS, memory);
            deltas[memory] += pow(model / trial.scheme - 1, 2);
            add_row(table, memory ? "model with memory" : "model of the paper", inner,
                    model, trial.scheme, NULL, near_step(costs, inner));
        }
    }
    for (int memory = 0; memory < 2; memory++)
        deltas[memory] = done ? sqrt(deltas[memory] / done) * 100 : NAN;
    return MMT_OK;
}

static mmt_status study_device(const struct mmt_study_options *options,
                               const struct mmt_study_device *device, mmt_type type,
                               mmt_error *err)
{
    int64_t sizes[MMT_STUDY_SIZES], most = 0;
    int count = choose_sizes(options, sizes);
    double deltas[2] = { 0 };
    struct mmt_vector_costs costs = { 0 };
    struct mmt_study_timer timer;
    struct mmt_plot plot = { "50 steps of the explicit scheme, with both copies",
                             INNER,
                             TIME,
                             { SERIES, -1 },
                             true,
                             true };
    struct mmt_table table = mmt_table_start(
        "50 steps as vectors, with both copies: measured, and predicted from the "
        "calibration alone",
        columns, NUM);
    mmt_status status = mmt_study_timer_open(device->device, &timer, err);

    for (int i = 0; i < count; i++)
        most = sizes[i] > most ? sizes[i] : most;
    double bytes = pow((double) most + 2, 2) * (double) mmt_type_size(type);
    if (status == MMT_OK)
        status = mmt_study_fits(device, "the largest grid", bytes, 3 * bytes, err);
    if (status == MMT_OK)
        status = mmt_scheme_check(options, type, device, &timer, err);
    if (status == MMT_OK)
        status = mmt_vector_calibrate(
            options, device, &timer, type,
            (int64_t) fmax(4096, (double) mmt_scheme_first(most)), &costs, err);
    if (status == MMT_OK)
        status = show_costs(options, &costs, err);
    if (status == MMT_OK)
        status = compare_all(options, device, &timer, type, &costs, sizes, count, &table,
                             deltas, err);
    if (status == MMT_OK)
        status = mmt_study_show(options, &table, "longvector", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, &table, &plot, "longvector", err);
    if (status == MMT_OK)
        mmt_study_say(options,
                      "delta over %d sizes: %.1f %% for the paper's model, %.1f %% with "
                      "memory (the paper: 5 %% on its card)",
                      count, deltas[0], deltas[1]);
    mmt_table_free(&table);
    mmt_study_timer_close(&timer);
    return status;
}

static mmt_status run(const struct mmt_study_options *options, mmt_error *err)
{
    struct mmt_study_device devices[MMT_STUDY_DEVICES] = { 0 };
    unsigned types;
    mmt_status status = mmt_study_types(options, 1 << MMT_F32, &types, err);

    for (int i = 0; i < options->num_sizes && status == MMT_OK; i++)
        if (options->sizes[i] < 2 || options->sizes[i] > 30000)
            status = mmt_fail(err, MMT_ERROR_ARGUMENT,
                              "--sizes has %lld; N must be from 2 to 30000",
                              (long long) options->sizes[i]);
    if (status == MMT_OK && types != 1 << MMT_F32 && types != 1 << MMT_F64)
        status = mmt_fail(err, MMT_ERROR_ARGUMENT,
                          "--type must be f32 or f64, one of them, for heat");
    if (status == MMT_OK && options->num_devices > 1)
        status = mmt_fail(err, MMT_ERROR_ARGUMENT,
                          "--device names %d devices; this study takes one",
                          options->num_devices);
    if (status == MMT_OK)
        status = mmt_study_open(options, devices, err);
    if (status == MMT_OK)
        status = study_device(options, &devices[0],
                              types == 1 << MMT_F64 ? MMT_F64 : MMT_F32, err);
    mmt_study_close(devices);
    return status;
}

const struct mmt_study mmt_study_longvector = {
    .name = "longvector",
    .what = "the heat equation as operations on long vectors, and a model of its time",
    .notes = "Sizes are N, for grids of (N + 2) x (N + 2).\n",
    .heeds = MMT_HEEDS_DEVICES | MMT_HEEDS_TYPES | MMT_HEEDS_SIZES,
    .run = run,
};
