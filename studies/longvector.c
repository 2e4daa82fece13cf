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
 * Of its constants three are none on today's devices. Arrays leave one level of memory
 * after another as n grows; the border has N + 1 pieces; what a byte's copy takes depends
 * on how many there are. The second model has the same terms, with a curve over N in the
 * place of each of these constants: `level`, times as long as by the first model, for the
 * three operations together, which find in the caches what the one before them left
 * there; t_0; and tau. They are measured part by part on grids between those that are
 * predicted, and in the same rounds, since a machine that is shared has slow minutes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "cpu.h"
#include "longvector.h"

enum { STEPS = 50, FUSED_STEPS = 10, MOST_SIZES = 400 };
enum { ROUNDS = 5, VISIT = 5, RUNS = ROUNDS * VISIT }; /* VISIT: at most, in a round */
#define VISIT_SECONDS 0.05

/* ---- rounds ------------------------------------------------------------------------ */

/* A grid that is predicted, or one between, that the second model learns from. Seconds:
 * all steps and both copies; one step; both additions and the saxpy; the border; both
 * copies. */
struct grid {
    int64_t inner;
    bool knot;
    int runs;
    struct mmt_scheme x;
    double scheme[RUNS], fused[RUNS], vectors[RUNS], border[RUNS], copies[RUNS];
};

struct rounds {
    const struct mmt_study_device *device;
    mmt_timer *timer;
    mmt_type type;
    struct grid *grids; /* ascending; the last has the arrays of all */
    int *order;         /* in which they are visited */
    int count, done;    /* grids; rounds that reached them all */
    double until;       /* by mmt_study_now */
    void *field;
};

static mmt_status time_fused(struct rounds *r, const struct grid *grid, double *seconds,
                             mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    mmt_status status = mmt_timer_start(r->timer, err);

    args.alpha = MMT_SCHEME_ALPHA, args.a = grid->x.v, args.c = grid->x.t;
    for (int i = 0; i < FUSED_STEPS && status == MMT_OK; i++)
        status = mmt_execute(grid->x.fused, &args, mmt_timer_queue(r->timer), err);
    if (status == MMT_OK)
        status = mmt_timer_stop(r->timer, seconds, err);
    *seconds /= FUSED_STEPS;
    return status;
}

/* A field without a cold part: numbers below the normal ones, which spread there, take
 * some processors many times as long. */
static mmt_status time_scheme(struct rounds *r, struct grid *grid, int run,
                              mmt_error *err)
{
    const double keep = 1 - 4 * MMT_SCHEME_ALPHA;
    mmt_scheme_fill(r->type, grid->x.side, 1, r->field);
    mmt_status status = mmt_scheme_run(&grid->x, r->timer, keep, 2, r->field, err);
    double start = mmt_study_now();
    if (status == MMT_OK)
        status = mmt_scheme_run(&grid->x, r->timer, keep, STEPS, r->field, err);
    grid->scheme[run] = mmt_study_now() - start;
    return status ? status : time_fused(r, grid, &grid->fused[run], err);
}

static mmt_status time_part(struct rounds *r, const struct grid *grid, bool border,
                            double *seconds, mmt_error *err)
{
    const double keep = 1 - 4 * MMT_SCHEME_ALPHA;
    mmt_status status = mmt_timer_start(r->timer, err);
    for (int i = 0; i < STEPS && status == MMT_OK; i++)
        status = border
                     ? mmt_scheme_border(&grid->x, mmt_timer_queue(r->timer), err)
                     : mmt_scheme_vectors(&grid->x, keep, mmt_timer_queue(r->timer), err);
    if (status == MMT_OK)
        status = mmt_timer_stop(r->timer, seconds, err);
    *seconds /= STEPS;
    return status;
}

static mmt_status time_knot(struct rounds *r, struct grid *grid, int run, mmt_error *err)
{
    mmt_scheme_fill(r->type, grid->x.side, 1, r->field);
    mmt_status status =
        mmt_scheme_run(&grid->x, r->timer, 1 - 4 * MMT_SCHEME_ALPHA, 2, r->field, err);
    double start = mmt_study_now();
    if (status == MMT_OK)
        status = mmt_scheme_run(&grid->x, r->timer, 0, 0, r->field, err);
    grid->copies[run] = mmt_study_now() - start;
    if (status == MMT_OK)
        status = time_part(r, grid, false, &grid->vectors[run], err);
    return status ? status : time_part(r, grid, true, &grid->border[run], err);
}

/* Small grids run more than once in a round. */
static mmt_status visit_grid(struct rounds *r, struct grid *grid, mmt_error *err)
{
    double until = mmt_study_now() + VISIT_SECONDS;
    mmt_status status = MMT_OK;
    for (int i = 0; i < VISIT && status == MMT_OK; i++) {
        if (i && (mmt_study_now() > until || mmt_study_interrupted()))
            break;
        status = grid->knot ? time_knot(r, grid, grid->runs, err)
                            : time_scheme(r, grid, grid->runs, err);
        grid->runs++;
    }
    return status;
}

/* Grids between those that are predicted, or these: all of them, and those measured. */
struct reach {
    int all, measured;
};

static struct reach reach_of(const struct rounds *r, bool knot)
{
    struct reach reach = { 0, 0 };
    for (int i = 0; i < r->count; i++) {
        reach.all += r->grids[i].knot == knot;
        reach.measured += r->grids[i].knot == knot && r->grids[i].runs > 0;
    }
    return reach;
}

static bool can_report(const struct rounds *r)
{
    return reach_of(r, true).measured && reach_of(r, false).measured;
}

/* Whether one visit, by what additions took, ends in time: its steps, and half as many
 * for what else is timed and copied. */
static bool is_time_for(const struct rounds *r, const struct mmt_vector_costs *costs,
                        const struct grid *grid)
{
    return mmt_study_now() + 1.5 * mmt_vector_predict(costs, grid->inner,
                                                      mmt_type_size(r->type), STEPS,
                                                      false) <=
           r->until;
}

/* The smallest grids, until a few of either kind were measured. */
static mmt_status time_least(struct rounds *r, mmt_error *err)
{
    enum { LEAST = 8 };
    mmt_status status = MMT_OK;
    for (int i = 0; i < r->count && status == MMT_OK && !mmt_study_interrupted(); i++)
        if (!r->grids[i].runs &&
            (reach_of(r, true).measured < LEAST || reach_of(r, false).measured < LEAST))
            status = visit_grid(r, &r->grids[i], err);
    return status;
}

/* All grids that there is time for in turn, again and again. */
static mmt_status time_rounds(struct rounds *r, const struct mmt_vector_costs *costs,
                              mmt_error *err)
{
    bool all = true;
    for (; r->done < ROUNDS && all; r->done += all)
        for (int i = 0; i < r->count && !mmt_study_interrupted(); i++) {
            struct grid *grid = &r->grids[r->order[i]];
            const bool fits = is_time_for(r, costs, grid);
            mmt_status status = fits ? visit_grid(r, grid, err) : MMT_OK;
            all &= fits;
            if (status != MMT_OK)
                return status;
        }
    return time_least(r, err);
}

static int compare_grids(const void *a, const void *b)
{
    const struct grid *x = a, *y = b;
    return (x->inner > y->inner) - (x->inner < y->inner);
}

/* Grids to learn from, at equal ratios from below the least size to above the greatest,
 * none of them a size that is predicted. */
static int add_knots(const int64_t *sizes, int count, struct grid *grids)
{
    double least = fmax(2, 0.9 * (double) sizes[0]);
    double most = 1.02 * (double) sizes[count - 1] + 1;
    int steps = (int) fmin(MMT_VECTOR_KNOTS - 1, ceil(log(most / least) / log(1.2)));
    int num = 0;

    for (int i = 0; i <= steps; i++) {
        int64_t inner = (int64_t) round(least * pow(most / least, (double) i / steps));
        for (int j = 0; j < count; j++)
            inner += sizes[j] == inner;
        if (!num || inner > grids[num - 1].inner)
            grids[num++] = (struct grid){ .inner = inner, .knot = true };
    }
    return num;
}

static void close_rounds(struct rounds *r)
{
    for (int i = 0; r->grids && i < r->count; i++)
        if (r->grids[i].x.device)
            mmt_scheme_close(&r->grids[i].x);
    free(r->grids);
    free(r->order);
    free(r->field);
}

/* Grids of either kind in turn, spread over all of their own: whenever it ends, sizes
 * were measured and grids between them to learn from. */
static void order_visits(struct rounds *r)
{
    int at[2][MOST_SIZES], order[2][MOST_SIZES], count[2] = { 0 }, done = 0;

    for (int i = 0; i < r->count; i++)
        at[r->grids[i].knot][count[r->grids[i].knot]++] = i;
    mmt_study_spread(count[0], order[0]);
    mmt_study_spread(count[1], order[1]);
    for (int i = 0; done < r->count; i++)
        for (int kind = 0; kind < 2; kind++)
            if (i < count[kind])
                r->order[done++] = at[kind][order[kind][i]];
}

static mmt_status open_rounds(struct rounds *r, const int64_t *sizes, int count,
                              mmt_error *err)
{
    r->grids = calloc((size_t) (count + MMT_VECTOR_KNOTS), sizeof *r->grids);
    if (!r->grids)
        return mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for %d grids", count);
    r->count = add_knots(sizes, count, r->grids);
    for (int i = 0; i < count; i++)
        r->grids[r->count++].inner = sizes[i];
    qsort(r->grids, (size_t) r->count, sizeof *r->grids, compare_grids);
    r->order = malloc((size_t) r->count * sizeof *r->order);
    if (!r->order)
        return mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for %d grids", count);
    order_visits(r);

    struct grid *last = &r->grids[r->count - 1];
    double bytes = pow((double) last->inner + 2, 2) * (double) mmt_type_size(r->type);
    mmt_status status =
        mmt_study_fits(r->device, "the largest grid", bytes, 3 * bytes, err);
    if (status == MMT_OK && !(r->field = malloc((size_t) bytes)))
        status = mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for a grid");
    for (struct grid *grid = last; grid >= r->grids && status == MMT_OK; grid--)
        status = mmt_scheme_open(r->device, r->type, grid->inner,
                                 grid == last ? NULL : &last->x, &grid->x, err);
    return status;
}

/* ---- model against measurement ----------------------------------------------------- */

static void learn_costs(struct rounds *r, struct mmt_vector_costs *costs)
{
    struct mmt_vector_knot knots[MMT_VECTOR_KNOTS];
    int count = 0;

    for (struct grid *g = r->grids; g < r->grids + r->count; g++)
        if (g->knot && g->runs)
            knots[count++] =
                (struct mmt_vector_knot){ g->inner, mmt_median_of(g->vectors, g->runs),
                                          mmt_median_of(g->border, g->runs),
                                          mmt_median_of(g->copies, g->runs) };
    mmt_vector_learn(costs, knots, count, mmt_type_size(r->type));
}

/* Whether the first addition is within 1 % of a whole number of rounds. */
static bool near_step(const struct mmt_vector_costs *costs, int64_t inner)
{
    double rounds = (double) mmt_scheme_first(inner) / costs->streams;
    return rounds > 0.5 && rounds < 100 && fabs(rounds - round(rounds)) < 0.01 * rounds;
}

enum {
    SERIES,
    INNER,
    NODES,
    RAN,
    TIME,
    DEVIATION,
    SPREAD,
    PER_STEP,
    FUSED,
    GAIN,
    NEAR,
    NUM
};

static const struct mmt_column columns[NUM] = {
    [SERIES] = { "series", "" },
    [INNER] = { "N", "" },
    [NODES] = { "n", "nodes" },
    [RAN] = { "runs", "" },
    [TIME] = { "T", "ms", 4 },
    [DEVIATION] = { "deviation", "%", 3 },
    [SPREAD] = { "half of the runs within +-", "%", 3 },
    [PER_STEP] = { "vectors, one step", "us", 4 },
    [FUSED] = { "fused kernel, one step", "us", 4 },
    [GAIN] = { "fused is faster", "times", 3 },
    [NEAR] = { "near a step", "" },
};

static void add_model(struct mmt_table *table, const char *series, int64_t inner,
                      double seconds, double measured, bool near)
{
    const struct mmt_cell row[NUM] = {
        [SERIES] = MMT_WORD(series),
        [INNER] = MMT_NUMBER((double) inner),
        [NODES] = MMT_NUMBER((double) ((inner + 2) * (inner + 2))),
        [RAN] = MMT_NUMBER(NAN),
        [TIME] = MMT_NUMBER(seconds * 1e3),
        [DEVIATION] = MMT_NUMBER((seconds / measured - 1) * 100),
        [SPREAD] = MMT_NUMBER(NAN),
        [PER_STEP] = MMT_NUMBER(NAN),
        [FUSED] = MMT_NUMBER(NAN),
        [GAIN] = MMT_NUMBER(NAN),
        [NEAR] = MMT_WORD(near ? "yes" : ""),
    };
    mmt_table_add(table, row);
}

/* Returns half the distance of the quartiles, as a part of the median; NAN for one run.
 */
static double add_measured(struct mmt_table *table, struct grid *grid, bool near)
{
    int runs = grid->runs;
    double time = mmt_median_of(grid->scheme, runs);
    double fused = mmt_median_of(grid->fused, runs);
    double apart =
        runs > 1 ? (grid->scheme[runs - 1 - runs / 4] - grid->scheme[runs / 4]) / 2 / time
                 : NAN;
    const struct mmt_cell row[NUM] = {
        [SERIES] = MMT_WORD("measured"),
        [INNER] = MMT_NUMBER((double) grid->inner),
        [NODES] = MMT_NUMBER((double) ((grid->inner + 2) * (grid->inner + 2))),
        [RAN] = MMT_NUMBER(runs),
        [TIME] = MMT_NUMBER(time * 1e3),
        [DEVIATION] = MMT_NUMBER(NAN),
        [SPREAD] = MMT_NUMBER(apart * 100),
        [PER_STEP] = MMT_NUMBER(time / STEPS * 1e6),
        [FUSED] = MMT_NUMBER(fused * 1e6),
        [GAIN] = MMT_NUMBER(time / STEPS / fused),
        [NEAR] = MMT_WORD(near ? "yes" : ""),
    };
    mmt_table_add(table, row);
    return apart;
}

/* How far a model is off, over all sizes, as parts of the measured time. */
struct gaps {
    double all[MOST_SIZES], squares;
};

static void say_gaps(const struct mmt_study_options *options, const char *model,
                     struct gaps *gaps, int count)
{
    double middle = mmt_median_of(gaps->all, count) * 100;
    mmt_study_say(options,
                  "delta over %d sizes, %s: %.1f %%; half of them within %.1f %%, the "
                  "worst %.1f %% off",
                  count, model, sqrt(gaps->squares / count) * 100, middle,
                  gaps->all[count - 1] * 100);
}

static void say_limit(const struct mmt_study_options *options, const struct rounds *r)
{
    struct reach knots = reach_of(r, true), sizes = reach_of(r, false);
    if (r->done < ROUNDS)
        mmt_study_say(
            options,
            "the time was over after %d whole rounds of %d: %d of %d sizes and %d "
            "of %d grids between them were measured",
            r->done, ROUNDS, sizes.measured, sizes.all, knots.measured, knots.all);
}

static mmt_status report_longvector(const struct mmt_study_options *options,
                                    struct rounds *r,
                                    const struct mmt_vector_costs *costs,
                                    struct mmt_table *table, mmt_error *err)
{
    static const char *const names[] = { "model of the paper", "model with levels" };
    char title[160];
    const struct mmt_plot plot = { title, NODES, TIME, { SERIES, -1 }, true, true };
    double apart[MOST_SIZES];
    struct gaps gaps[2] = { { { 0 }, 0 }, { { 0 }, 0 } };
    double near_squares = 0;
    int count = 0, spreads = 0, near_count = 0;

    snprintf(title, sizeof title,
             "%d steps of the heat equation, %s, with copies, on %.60s", STEPS,
             mmt_type_name(r->type), r->device->facts.name);
    for (struct grid *g = r->grids; g < r->grids + r->count; g++) {
        bool near = near_step(costs, g->inner);
        if (g->knot || !g->runs)
            continue;
        double spread = add_measured(table, g, near);
        if (!isnan(spread))
            apart[spreads++] = spread;
        double measured = mmt_median_of(g->scheme, g->runs);
        for (int levels = 0; levels < 2; levels++) {
            double model = mmt_vector_predict(costs, g->inner, mmt_type_size(r->type),
                                              STEPS, levels);
            double gap = fabs(model / measured - 1);
            gaps[levels].all[count] = gap, gaps[levels].squares += gap * gap;
            if (!levels && near)
                near_squares += gap * gap, near_count++;
            add_model(table, names[levels], g->inner, model, measured, near);
        }
        count++;
    }
    mmt_status status = mmt_study_show(options, table, "longvector", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, table, &plot, "longvector", err);
    for (int levels = 0; levels < 2 && status == MMT_OK; levels++)
        say_gaps(options, names[levels], &gaps[levels], count);
    if (status == MMT_OK && spreads)
        mmt_study_say(options,
                      "the paper: 5 %% on its card; of a size's runs half lie within +- "
                      "%.1f %%, at half of the sizes that ran more than once",
                      mmt_median_of(apart, spreads) * 100);
    if (status == MMT_OK)
        say_limit(options, r);
    double squares = gaps[0].squares;
    const struct mmt_vector_findings found = {
        .count = count,
        .near_count = near_count,
        .delta = sqrt(squares / count),
        .near = sqrt(near_squares / fmax(1, near_count)),
        .elsewhere = sqrt((squares - near_squares) / fmax(1, count - near_count)),
    };
    return status ? status
                  : mmt_vector_claims(options, r->device->facts.id, costs, &found, err);
}

/* The paper's 391: from 10 to 98 in steps of 2, from 100 to 7000 in steps of 20. */
static int choose_sizes(const struct mmt_study_options *options,
                        int64_t sizes[MOST_SIZES])
{
    int count = 0;
    if (options->num_sizes) {
        memcpy(sizes, options->sizes, sizeof options->sizes);
        return options->num_sizes;
    }
    for (int64_t inner = 10; inner <= 7000; inner += inner < 100 ? 2 : 20)
        sizes[count++] = inner;
    return count;
}

static mmt_status show_all(const struct mmt_study_options *options, struct rounds *r,
                           struct mmt_vector_costs *costs, mmt_error *err)
{
    struct mmt_table table = mmt_table_start(
        "50 steps as vectors, with both copies: measured, and predicted from what was "
        "measured on other grids",
        columns, NUM);

    learn_costs(r, costs);
    mmt_status status = mmt_vector_show(options, costs, err);
    if (status == MMT_OK)
        status = report_longvector(options, r, costs, &table, err);
    mmt_table_free(&table);
    return status;
}

static mmt_status study_device(const struct mmt_study_options *options,
                               const struct mmt_study_device *device, mmt_type type,
                               double until, mmt_error *err)
{
    int64_t sizes[MOST_SIZES];
    int count = choose_sizes(options, sizes);
    struct mmt_vector_costs costs = { 0 };
    mmt_timer *timer = mmt_timer_create(device->device, err);
    struct rounds rounds = {
        .device = device, .timer = timer, .type = type, .until = until
    };
    mmt_status status = timer ? MMT_OK : MMT_ERROR_DEVICE;

    if (status == MMT_OK)
        status = open_rounds(&rounds, sizes, count, err);
    if (status == MMT_OK)
        status = mmt_scheme_check(options, type, device, timer, err);
    if (status == MMT_OK)
        status = mmt_vector_calibrate(
            options, device, timer, type,
            (int64_t) fmax(4096, (double) mmt_scheme_first(sizes[count - 1])),
            mmt_study_now() + (until - mmt_study_now()) / 3, &costs, err);
    if (status == MMT_OK)
        status = time_rounds(&rounds, &costs, err);
    if (status == MMT_OK && can_report(&rounds))
        status = show_all(options, &rounds, &costs, err);
    close_rounds(&rounds);
    mmt_timer_free(timer);
    return status;
}

static mmt_status run_longvector(const struct mmt_study_options *options, mmt_error *err)
{
    struct mmt_study_device devices[MMT_STUDY_DEVICES] = { 0 };
    double until = mmt_study_until(options);
    const unsigned types = mmt_study_types(options, mmt_study_longvector.types);
    mmt_status status = MMT_OK;

    for (int i = 0; i < options->num_sizes && status == MMT_OK; i++)
        if (options->sizes[i] < 2 || options->sizes[i] > 30000)
            status = mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                                    "--sizes has %lld; N must be from 2 to 30000",
                                    (long long) options->sizes[i]);
    if (status == MMT_OK && types != 1 << MMT_F32 && types != 1 << MMT_F64)
        status = mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                                "--type must be f32 or f64, one of them, for heat");
    if (status == MMT_OK && options->devices.count > 1)
        status = mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                                "--device names %d devices; this study takes one",
                                options->devices.count);
    if (status == MMT_OK)
        status = mmt_study_open(options, devices, err);
    if (status == MMT_OK)
        status = study_device(options, &devices[0],
                              types == 1 << MMT_F64 ? MMT_F64 : MMT_F32, until, err);
    mmt_study_close(devices);
    return status;
}

const struct mmt_study mmt_study_longvector = {
    .name = "longvector",
    .what = "the heat equation as operations on long vectors, and a model of its time",
    .notes = "Sizes are N, for grids of (N + 2) x (N + 2); default: the paper's 391, "
             "from 10 to "
             "7000.\nWith --seconds they are measured in fewer rounds, or not all of "
             "them, but "
             "at least\neight. Without it the 391 take a GPU minutes, and a CPU hours.\n",
    .heeds = MMT_HEEDS_DEVICES | MMT_HEEDS_TYPES | MMT_HEEDS_SIZES | MMT_HEEDS_SECONDS,
    .ops = 1 << MMT_AXPBY | 1 << MMT_HEAT2D,
    .types = 1 << MMT_F32,
    .run = run_longvector,
};
