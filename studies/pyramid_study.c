/* mmtune study pyramid: Jacobi's method in 3-D with less device memory than the grid has,
 * the model of its time, and the height that the model chooses.
 *
 *     T = blocks ((3 R - 2 h) t_copy + h (R - h - 1) t_plane)
 *
 * is the time of h sweeps (the paper's model (2), where t_plane is (N - 2)^2 t_a over the
 * number of threads), so that T / h is to be least. The paper minimises T, which would
 * always choose the least height.
 *
 * To many a card a plane takes longer than back. So there is a second model, which has
 * 2 R t_send + (R - 2 h) t_receive in the place of (3 R - 2 h) t_copy: a block sends its
 * planes and their right-hand side, and receives what is valid. t_copy is the mean of the
 * two as a block of R planes there and R back would have it, (2 t_send + t_receive) / 3.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "cpu.h"
#include "pyramid.h"

/* Heights from N / 10 on, beyond what the paper vouches for, and all. */
enum { BEYOND = 5, HEIGHTS = PYRAMID_HEIGHTS + BEYOND, RUNS = 3, USUAL_SIDE = 256 };

/* The paper's t_copy. */
static double copy_of(const struct pyramid_costs *costs)
{
    return (2 * costs->send + costs->receive) / 3;
}

/* ---- the height ------------------------------------------------------------------- */

enum { PAPER, BOTH_WAYS, MODELS };
static const char *const model_names[MODELS] = { "model of the paper",
                                                 "model with both ways" };

/* Seconds of a pass by a model, for whole blocks. */
static double predict_seconds(const struct pyramid_costs *costs, int64_t planes,
                              const struct mmt_pyramid_shape *shape, int model)
{
    struct pyramid_costs one = *costs;
    if (model == PAPER)
        one.send = one.receive = copy_of(costs);
    return pyramid_seconds(&one, planes, shape->width, shape->height);
}

/* Those that build_pyramids tries, and some from N / 10 on as far as the blocks are wide
 * enough, where the model is off. */
static int choose_heights(int64_t side, int64_t width, int64_t heights[HEIGHTS])
{
    int count = pyramid_heights(side, width, heights);
    int64_t first = (side - 1) / 10 + 1, widest = (width - 1) / 2;

    for (int i = 0; i < BEYOND && first <= widest; i++) {
        int64_t h = first + (widest - first) * i / (BEYOND - 1);
        if (h > heights[count - 1])
            heights[count++] = h;
    }
    return count;
}

/* Whether the paper vouches for the model there. */
static bool is_vouched(int64_t side, int64_t height)
{
    return height > 2 && 10 * height < side;
}

enum {
    SERIES,
    HEIGHT,
    WIDTH,
    BLOCKS,
    SENT,
    RECEIVED,
    STENCILS,
    RAN,
    TIME,
    EACH,
    DEVIATION,
    NUM
};

static const struct mmt_column columns[NUM] = {
    [SERIES] = { "series", "" },
    [HEIGHT] = { "h", "sweeps" },
    [WIDTH] = { "R", "planes" },
    [BLOCKS] = { "blocks", "" },
    [SENT] = { "sent", "million", 4 },
    [RECEIVED] = { "received", "million", 4 },
    [STENCILS] = { "stencils", "million", 4 },
    [RAN] = { "runs", "" },
    [TIME] = { "T", "ms", 4 },
    [EACH] = { "T / h", "ms", 4 },
    [DEVIATION] = { "deviation", "%", 3 },
};

/* A shape as it was measured: the least time of so many runs. None: it was left out. */
struct timed {
    struct mmt_pyramid_shape shape;
    struct mmt_pyramid_counts counts;
    int runs;
};

/* A height in all of the memory, and beside it with overlap, in half of it a block. */
struct attempt {
    struct timed plain, overlapped;
};

static void add_measured(struct mmt_table *table, const char *series,
                         const struct timed *timed)
{
    const struct mmt_pyramid_counts *c = &timed->counts;
    const struct mmt_cell row[NUM] = {
        [SERIES] = MMT_WORD(series),
        [HEIGHT] = MMT_NUMBER((double) timed->shape.height),
        [WIDTH] = MMT_NUMBER((double) timed->shape.width),
        [BLOCKS] = MMT_NUMBER((double) c->blocks),
        [SENT] = MMT_NUMBER((double) c->sent * 1e-6),
        [RECEIVED] = MMT_NUMBER((double) c->received * 1e-6),
        [STENCILS] = MMT_NUMBER((double) c->stencils * 1e-6),
        [RAN] = MMT_NUMBER(timed->runs),
        [TIME] = MMT_NUMBER(c->seconds * 1e3),
        [EACH] = MMT_NUMBER(c->seconds * 1e3 / (double) timed->shape.height),
        [DEVIATION] = MMT_NUMBER(NAN),
    };
    mmt_table_add(table, row);
}

static void add_model(struct mmt_table *table, const char *series,
                      const struct timed *timed, double seconds)
{
    struct mmt_cell row[NUM];
    for (int c = 0; c < NUM; c++)
        row[c] = MMT_NUMBER(NAN);
    row[SERIES] = MMT_WORD(series);
    row[HEIGHT] = MMT_NUMBER((double) timed->shape.height);
    row[WIDTH] = MMT_NUMBER((double) timed->shape.width);
    row[TIME] = MMT_NUMBER(seconds * 1e3);
    row[EACH] = MMT_NUMBER(seconds * 1e3 / (double) timed->shape.height);
    row[DEVIATION] = MMT_NUMBER((seconds / timed->counts.seconds - 1) * 100);
    mmt_table_add(table, row);
}

/* At least one run counts, after one that builds kernels. */
static mmt_status time_pass(const struct mmt_study_device *device,
                            const struct mmt_pyramid_grid *grid, double until,
                            struct timed *timed, mmt_error *err)
{
    struct mmt_pyramid *pyramid;
    double least = INFINITY;
    mmt_status status = mmt_pyramid_open(device, grid, &timed->shape, &pyramid, err);
    if (status != MMT_OK)
        return status;
    for (int run = 0; run <= RUNS && status == MMT_OK; run++) {
        if (run > 1 && (mmt_study_now() > until || mmt_study_interrupted()))
            break;
        status = mmt_pyramid_pass(pyramid, &timed->counts, NULL, err);
        if (run)
            least = fmin(least, timed->counts.seconds);
        timed->runs = run;
    }
    mmt_pyramid_close(pyramid);
    timed->counts.seconds = least;
    return status;
}

/* Spread over all heights, each in its share of what time there is; when it is over,
 * those that are left are left out, but for four. */
static mmt_status try_heights(const struct mmt_study_device *device,
                              const struct mmt_pyramid_grid *grid, double until,
                              struct attempt *attempts, int count, mmt_error *err)
{
    enum { LEAST_HEIGHTS = 4 };
    int order[HEIGHTS];

    mmt_study_spread(count, order);
    for (int i = 0; i < count && !mmt_study_interrupted(); i++) {
        struct attempt *at = &attempts[order[i]];
        double now = mmt_study_now(), share = (until - now) / (count - i) / 2;
        if (i >= LEAST_HEIGHTS && share < 0)
            break;
        mmt_status status = time_pass(device, grid, now + share, &at->plain, err);
        if (status == MMT_OK && at->overlapped.shape.width > 2 * at->plain.shape.height)
            status = time_pass(device, grid, now + 2 * share, &at->overlapped, err);
        if (status != MMT_OK)
            return status;
    }
    return MMT_OK;
}

static void add_rows(const struct mmt_pyramid_grid *grid,
                     const struct pyramid_costs *costs, const struct attempt *attempts,
                     int count, struct mmt_table *table)
{
    for (const struct attempt *at = attempts; at < attempts + count; at++) {
        const struct mmt_pyramid_shape *shape = &at->plain.shape;
        if (!at->plain.runs)
            continue;
        add_measured(table, "measured", &at->plain);
        for (int model = 0; model < MODELS; model++)
            add_model(table, model_names[model], &at->plain,
                      predict_seconds(costs, grid->planes, shape, model));
        if (at->overlapped.runs)
            add_measured(table, "overlapped", &at->overlapped);
    }
}

/* ---- what came of it --------------------------------------------------------------- */

/* Seconds of one sweep; infinite where it was not measured. */
static double seconds_of_each(const struct timed *timed)
{
    return timed->runs ? timed->counts.seconds / (double) timed->shape.height : INFINITY;
}

/* The attempt with the least time a sweep, plain or overlapped. */
static const struct attempt *best_attempt(const struct attempt *attempts, int count,
                                          bool overlapped)
{
    const struct attempt *least = attempts;
    for (const struct attempt *at = attempts; at < attempts + count; at++)
        if (overlapped
                ? seconds_of_each(&at->overlapped) < seconds_of_each(&least->overlapped)
                : seconds_of_each(&at->plain) < seconds_of_each(&least->plain))
            least = at;
    return least;
}

/* By a model, of the heights that the paper vouches for; NULL where there is none. */
static const struct attempt *attempt_of_model(const struct mmt_pyramid_grid *grid,
                                              const struct pyramid_costs *costs,
                                              const struct attempt *attempts, int count,
                                              int model)
{
    const struct attempt *least = NULL;
    double least_each = INFINITY;
    for (const struct attempt *at = attempts; at < attempts + count; at++) {
        int64_t h = at->plain.shape.height;
        double one =
            predict_seconds(costs, grid->planes, &at->plain.shape, model) / (double) h;
        if (is_vouched(grid->side, h) && at->plain.runs && one < least_each)
            least = at, least_each = one;
    }
    return least;
}

static void say_choice(const struct mmt_study_options *options,
                       const struct mmt_pyramid_grid *grid,
                       const struct pyramid_costs *costs, const struct attempt *attempts,
                       int count)
{
    const struct timed *fastest = &best_attempt(attempts, count, false)->plain;
    int64_t width = attempts->plain.shape.width;

    mmt_study_say(options,
                  "t_send = %.3f us a plane, t_receive = %.3f us; t_copy = (2 t_send + "
                  "t_receive) / "
                  "3 = %.3f us, t_plane = %.3f us; sqrt(3 R t_copy / t_plane) = %.1f",
                  costs->send * 1e6, costs->receive * 1e6, copy_of(costs) * 1e6,
                  costs->plane * 1e6,
                  sqrt(3 * (double) width * copy_of(costs) / costs->plane));
    for (int model = 0; model < MODELS; model++) {
        const struct attempt *at = attempt_of_model(grid, costs, attempts, count, model);
        if (!at)
            break;
        mmt_study_say(options,
                      "the %s chooses h = %" PRId64
                      ", %.1f %% above the best that was measured, h = %" PRId64,
                      model_names[model], at->plain.shape.height,
                      (seconds_of_each(&at->plain) / seconds_of_each(fastest) - 1) * 100,
                      fastest->shape.height);
    }
    if (count == 1)
        mmt_study_say(options, "blocks of %" PRId64 " planes leave height 1 alone",
                      width);
}

/* At its best height each, and at equal heights, where blocks of half the planes do more
 * work over than whole ones. */
static void say_overlap(const struct mmt_study_options *options,
                        const struct attempt *attempts, int count)
{
    const struct timed *plain = &best_attempt(attempts, count, false)->plain,
                       *both = &best_attempt(attempts, count, true)->overlapped;
    struct mmt_study_text equal = { 0 };

    if (!both->runs)
        return;
    for (const struct attempt *at = attempts; at < attempts + count; at++)
        if (at->overlapped.runs)
            mmt_study_text_addf(
                &equal, "%s%.2f (h = %" PRId64 ")", equal.length ? ", " : "",
                seconds_of_each(&at->plain) / seconds_of_each(&at->overlapped),
                at->plain.shape.height);
    mmt_study_say(options,
                  "copies beside computing, in as much memory, which halves the blocks: "
                  "%.2f times as fast where each has its best height, h = %" PRId64
                  " beside h = %" PRId64 "; at equal heights %s times",
                  seconds_of_each(plain) / seconds_of_each(both), both->shape.height,
                  plain->shape.height, mmt_study_text_string(&equal));
    mmt_study_text_finish(&equal);
}

static void say_limit(const struct mmt_study_options *options,
                      const struct attempt *attempts, int count)
{
    int tried = 0, fewest = RUNS;
    for (const struct attempt *at = attempts; at < attempts + count; at++) {
        tried += at->plain.runs > 0;
        if (at->plain.runs && at->plain.runs < fewest)
            fewest = at->plain.runs;
        if (at->overlapped.runs && at->overlapped.runs < fewest)
            fewest = at->overlapped.runs;
    }
    if (tried < count || fewest < RUNS)
        mmt_study_say(options,
                      "the time was over: %d of %d heights were measured, in at least %d "
                      "of %d runs",
                      tried, count, fewest, RUNS);
}

/* The parts of its measured time that the model is off at most, at heights of the range
 * that the paper vouches for, or above it; NAN where none was measured. */
static double largest_gap(const struct mmt_pyramid_grid *grid,
                          const struct pyramid_costs *costs,
                          const struct attempt *attempts, int count, bool beyond)
{
    double most = NAN;
    for (const struct attempt *at = attempts; at < attempts + count; at++) {
        const struct mmt_pyramid_shape *shape = &at->plain.shape;
        bool counts = beyond ? 10 * shape->height >= grid->side
                             : is_vouched(grid->side, shape->height);
        if (at->plain.runs && counts)
            most = fmax(most, fabs(predict_seconds(costs, grid->planes, shape, PAPER) /
                                       at->plain.counts.seconds -
                                   1));
    }
    return most;
}

static mmt_status show_claims(const struct mmt_study_options *options,
                              const struct mmt_study_device *device,
                              const struct mmt_pyramid_grid *grid,
                              const struct pyramid_costs *costs,
                              const struct attempt *attempts, int count, mmt_error *err)
{
    const struct attempt *best = best_attempt(attempts, count, false),
                         *chosen = attempt_of_model(grid, costs, attempts, count, PAPER),
                         *lowest = NULL, *highest = attempts;
    for (const struct attempt *at = attempts; at < attempts + count; at++)
        if (at->plain.runs) {
            lowest = lowest ? lowest : at;
            highest = at;
        }
    const struct mmt_pyramid_findings found = {
        .n = grid->side,
        .width = attempts->plain.shape.width,
        .lowest = lowest->plain.shape.height,
        .highest = highest->plain.shape.height,
        .best = best->plain.shape.height,
        .chosen = chosen ? chosen->plain.shape.height : 0,
        .lowest_each = seconds_of_each(&lowest->plain),
        .highest_each = seconds_of_each(&highest->plain),
        .best_each = seconds_of_each(&best->plain),
        .chosen_each = chosen ? seconds_of_each(&chosen->plain) : NAN,
        .gap_within = largest_gap(grid, costs, attempts, count, false),
        .gap_beyond = largest_gap(grid, costs, attempts, count, true),
    };
    return mmt_pyramid_claims(options, device->facts.id, &found, err);
}

/* What a program would be told that calls build_pyramids with the memory and these costs.
 */
static void say_built(const struct mmt_study_options *options,
                      const struct mmt_pyramid_grid *grid,
                      const struct pyramid_costs *costs, int64_t width)
{
    size_t value = mmt_type_size(grid->type);
    int64_t memory = 3 * width * grid->side * grid->side * (int64_t) value;
    struct pyramids built;

    if (build_pyramids(memory, grid->side, value, costs, &built))
        mmt_study_say(options,
                      "buildPyramids(%" PRId64 " bytes, N = %" PRId64 "): %" PRId64
                      " blocks of %" PRId64 " planes, h = %" PRId64
                      ", %.4g ms expected of a pass",
                      memory, grid->side, built.blocks, built.width, built.height,
                      built.seconds * 1e3);
}

/* ---- the study -------------------------------------------------------------------- */

/* Planes of a block in the memory that may be used, or an error that names what would
 * do. */
static mmt_status choose_widths(const struct mmt_study_options *options,
                                const struct mmt_pyramid_grid *grid, int64_t *width,
                                int64_t *half, mmt_error *err)
{
    int64_t bytes = (int64_t) mmt_pyramid_bytes(grid), plane = bytes / grid->planes;
    int64_t memory = options->memory ? options->memory : 3 * bytes / 4;

    *width = pyramid_width(memory, grid->side, mmt_type_size(grid->type));
    *half = pyramid_width(memory / 2, grid->side, mmt_type_size(grid->type));
    if (*width >= grid->planes)
        return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                              "--memory %" PRId64 " holds the whole grid of %" PRId64
                              "^3, and no pyramid is needed; name less than %" PRId64
                              " bytes",
                              memory, grid->side, 3 * bytes);
    if (*width < 3)
        return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                              "--memory %" PRId64 " holds blocks of %" PRId64
                              " planes; a pyramid of height 1 needs 3 planes: %" PRId64
                              " bytes",
                              memory, *width, 9 * plane);
    return MMT_OK;
}

static mmt_status report_pyramid(const struct mmt_study_options *options,
                                 const struct mmt_study_device *device,
                                 const struct mmt_pyramid_grid *grid,
                                 const struct pyramid_costs *costs,
                                 const struct attempt *attempts, int count,
                                 mmt_error *err)
{
    char title[128], over[160];
    struct mmt_plot plot = { over, HEIGHT, EACH, { SERIES, -1 }, false, true };

    snprintf(title, sizeof title, "passes over a grid of %" PRId64 "^3, %s", grid->side,
             mmt_type_name(grid->type));
    snprintf(over, sizeof over, "one sweep in pyramids, %" PRId64 "^3, %s, on %.60s",
             grid->side, mmt_type_name(grid->type), device->facts.name);
    struct mmt_table table = mmt_table_start(title, columns, NUM);
    add_rows(grid, costs, attempts, count, &table);
    mmt_status status = mmt_study_show(options, &table, "pyramid", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, &table, &plot, "pyramid", err);
    if (status == MMT_OK) {
        say_built(options, grid, costs, attempts->plain.shape.width);
        say_choice(options, grid, costs, attempts, count);
        say_overlap(options, attempts, count);
        say_limit(options, attempts, count);
        status = show_claims(options, device, grid, costs, attempts, count, err);
    }
    mmt_table_free(&table);
    return status;
}

static int plan_attempts(int64_t side, int64_t width, int64_t half,
                         struct attempt attempts[HEIGHTS])
{
    int64_t heights[HEIGHTS];
    int count = choose_heights(side, width, heights);
    for (int i = 0; i < count; i++)
        attempts[i] = (struct attempt){ { .shape = { heights[i], width, false } },
                                        { .shape = { heights[i], half, true } } };
    return count;
}

static mmt_status study_grid(const struct mmt_study_options *options,
                             const struct mmt_study_device *device, mmt_type type,
                             int64_t side, double until, mmt_error *err)
{
    struct mmt_pyramid_grid grid;
    struct pyramid_costs costs = { 0 };
    struct attempt attempts[HEIGHTS];
    int64_t width, half;
    double bytes = pow((double) side, 3) * (double) mmt_type_size(type);
    mmt_status status = mmt_study_fits(
        device, "the grid, its right-hand side and their blocks", 3 * bytes,
        options->memory ? (double) options->memory : 3 * bytes / 4, err);
    if (status == MMT_OK)
        status = mmt_pyramid_grid_make(type, side, side, options->seed, &grid, err);
    if (status != MMT_OK)
        return status;

    status = choose_widths(options, &grid, &width, &half, err);
    int count = status == MMT_OK ? plan_attempts(side, width, half, attempts) : 0;
    if (status == MMT_OK)
        status = mmt_pyramid_calibrate(device, &grid, width, &costs, err);
    if (status == MMT_OK)
        status = try_heights(device, &grid, until, attempts, count, err);
    if (status == MMT_OK && best_attempt(attempts, count, false)->plain.runs)
        status = report_pyramid(options, device, &grid, &costs, attempts, count, err);
    mmt_pyramid_grid_free(&grid);
    return status;
}

static mmt_status check_options(const struct mmt_study_options *options, mmt_type *type,
                                mmt_error *err)
{
    const unsigned types = mmt_study_types(options, mmt_study_pyramid.types);
    *type = types == 1 << MMT_F64 ? MMT_F64 : MMT_F32;
    if (types != 1u << *type)
        return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                              "--type must be f32 or f64, one of them");
    if (options->num_sizes > 1 || options->devices.count > 1)
        return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                              "this study takes one --device and one "
                              "of --sizes");
    if (options->num_sizes && (options->sizes[0] < 8 || options->sizes[0] > 2048))
        return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                              "--sizes is %" PRId64 "; N must be from 8 to 2048",
                              options->sizes[0]);
    return MMT_OK;
}

static mmt_status run_pyramid_study(const struct mmt_study_options *options,
                                    mmt_error *err)
{
    struct mmt_study_device devices[MMT_STUDY_DEVICES] = { 0 };
    int64_t side = options->num_sizes ? options->sizes[0] : USUAL_SIDE;
    double until = mmt_study_until(options);
    mmt_type type;
    mmt_status status = check_options(options, &type, err);

    if (status == MMT_OK)
        status = mmt_study_open(options, devices, err);
    if (status == MMT_OK)
        status = mmt_pyramid_check(options, &devices[0], type, err);
    if (status == MMT_OK)
        status = study_grid(options, &devices[0], type, side, until, err);
    mmt_study_close(devices);
    return status;
}

const struct mmt_study mmt_study_pyramid = {
    .name = "pyramid",
    .what = "Jacobi's method on a grid that exceeds device memory, and the best height",
    .notes =
        "One size, N, for a grid of N^3; default: 256. Without --memory, a quarter of "
        "what\nthe grid would need; more of it allows higher pyramids. Heights go beyond "
        "N "
        "/ 10, where\nthe paper's model is off. With --seconds fewer runs and heights "
        "are "
        "measured, but at\nleast four heights.\n",
    .heeds = MMT_HEEDS_DEVICES | MMT_HEEDS_TYPES | MMT_HEEDS_SIZES | MMT_HEEDS_MEMORY |
             MMT_HEEDS_SEED | MMT_HEEDS_SECONDS,
    .ops = 1 << MMT_JACOBI3D,
    .types = 1 << MMT_F32,
    .run = run_pyramid_study,
};
