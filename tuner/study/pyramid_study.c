/* mmtune study pyramid: Jacobi's method in 3-D with less device memory than the grid has,
 * the model of its time, and the height that the model chooses.
 *
 *     T = blocks ((3 R - 2 h) t_copy + h (R - h - 1) t_plane)
 *
 * is the time of h sweeps (the paper's model (2), where t_plane is (N - 2)^2 t_a over the
 * number of threads), so that T / h is to be least. The paper minimises T, which would
 * always choose the least height. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/study/cpu.h"
#include "tuner/study/pyramid.h"
#include "tuner/study/timer.h"

enum { MOST_HEIGHTS = 14, RUNS = 3, USUAL_SIDE = 256 };

/* What the model is made of, seconds. */
struct costs {
    double copy;  /* one plane, one way */
    double plane; /* stencils of one plane */
};

/* ---- calibration ------------------------------------------------------------------ */

/* One plane, one way, in a pass's own mixture: of each block the planes and their
 * right-hand side go, and the planes come back. Block after block, as a pass walks, since
 * memory that was just touched would be faster. */
static mmt_status time_copies(const struct mmt_study_device *device,
                              const struct mmt_pyramid_grid *grid, int64_t width,
                              const mmt_operand arrays[3], double *seconds,
                              mmt_error *err)
{
    size_t plane = mmt_pyramid_bytes(grid) / (size_t) grid->planes;
    size_t bytes = (size_t) width * plane;
    mmt_status status = MMT_OK;
    int blocks = 0;

    *seconds = 0;
    for (int64_t at = 0; at + width <= grid->planes && status == MMT_OK; at += width) {
        size_t offset = (size_t) at * plane;
        double start = mmt_cpu_now();
        status = mmt_buffer_write(device->device, arrays[0],
                                  (const char *) grid->now + offset, bytes, err);
        if (status == MMT_OK)
            status = mmt_buffer_write(device->device, arrays[2],
                                      (const char *) grid->f + offset, bytes, err);
        if (status == MMT_OK)
            status = mmt_buffer_read(device->device, (char *) grid->next + offset,
                                     arrays[0], bytes, err);
        *seconds += mmt_cpu_now() - start;
        blocks++;
    }
    *seconds /= 3.0 * (double) width * blocks;
    return status;
}

static mmt_status time_sweeps(const struct mmt_study_device *device,
                              const struct mmt_pyramid_grid *grid, int64_t width,
                              const mmt_operand arrays[3], double *seconds,
                              mmt_error *err)
{
    enum { SWEEPS = 10 };
    struct mmt_study_timer timer;
    mmt_problem problem = mmt_jacobi3d_problem(grid->type, width, grid->side, grid->side);
    mmt_plan *plan =
        mmt_plan_create(device->device, device->profile, &problem, NULL, err);
    mmt_args args = mmt_args_defaults();
    mmt_status status =
        plan ? mmt_study_timer_open(device->device, &timer, err) : MMT_ERROR_UNSUPPORTED;
    if (status != MMT_OK) {
        mmt_plan_free(plan);
        return status;
    }
    args.alpha = 1.0 / 6, args.beta = grid->scale;
    args.b = arrays[2];
    *seconds = INFINITY;
    for (int run = 0; run <= RUNS && status == MMT_OK; run++) {
        double all = 0;
        status = mmt_study_timer_start(&timer, err);
        for (int i = 0; i < SWEEPS && status == MMT_OK; i++) {
            args.a = arrays[i % 2], args.c = arrays[(i + 1) % 2];
            status = mmt_execute(plan, &args, timer.queue, err);
        }
        if (status == MMT_OK)
            status = mmt_study_timer_stop(&timer, &all, err);
        if (run) /* the first warms up */
            *seconds = fmin(*seconds, all / SWEEPS / (double) (width - 2));
    }
    mmt_study_timer_close(&timer);
    mmt_plan_free(plan);
    return status;
}

static mmt_status calibrate(const struct mmt_study_device *device,
                            const struct mmt_pyramid_grid *grid, int64_t width,
                            struct costs *out, mmt_error *err)
{
    size_t bytes = (size_t) width * mmt_pyramid_bytes(grid) / (size_t) grid->planes;
    mmt_operand arrays[3] = { { 0 } };
    mmt_status status = MMT_OK;

    for (int i = 0; i < 3 && status == MMT_OK; i++)
        status = mmt_buffer_create(device->device, bytes, &arrays[i], err);
    if (status == MMT_OK)
        status = mmt_buffer_write(device->device, arrays[2], grid->f, bytes, err);
    if (status == MMT_OK)
        status = time_copies(device, grid, width, arrays, &out->copy, err); /* warms up */
    if (status == MMT_OK)
        status = time_copies(device, grid, width, arrays, &out->copy, err);
    if (status == MMT_OK)
        status = time_sweeps(device, grid, width, arrays, &out->plane, err);
    for (int i = 0; i < 3; i++)
        mmt_buffer_free(device->device, arrays[i]);
    return status;
}

/* ---- the height ------------------------------------------------------------------- */

/* Seconds of a pass by the model, for whole blocks. */
static double predict(const struct costs *costs, int64_t planes, int64_t r, int64_t h)
{
    double blocks = ceil((double) (planes - 2 * h) / (double) (r - 2 * h));
    return fmax(1, blocks) * ((double) (3 * r - 2 * h) * costs->copy +
                              (double) (h * (r - h - 1)) * costs->plane);
}

/* Height 1 for comparison, then 10 to 15 between 2 and N / 10, as the paper says, as far
 * as the blocks are wide enough. */
static int choose_heights(int64_t side, int64_t width, int64_t *heights)
{
    int64_t most = side / 10 - 1, widest = (width - 1) / 2;
    int count = 0;

    most = most < widest ? most : widest;
    heights[count++] = 1;
    int64_t step = (most - 3) / (MOST_HEIGHTS - 1) + 1;
    for (int64_t h = 3; h <= most && count <= MOST_HEIGHTS; h += step)
        heights[count++] = h;
    return count;
}

enum {
    SERIES,
    HEIGHT,
    WIDTH,
    BLOCKS,
    SENT,
    RECEIVED,
    STENCILS,
    TIME,
    EACH,
    DEVIATION,
    NUM
};

static const struct mmt_column columns[NUM] = {
    [SERIES] = { "series", "" },
    [HEIGHT] = { "h", "" },
    [WIDTH] = { "R", "planes" },
    [BLOCKS] = { "blocks", "" },
    [SENT] = { "sent", "million", 4 },
    [RECEIVED] = { "received", "million", 4 },
    [STENCILS] = { "stencils", "million", 4 },
    [TIME] = { "T", "ms", 4 },
    [EACH] = { "T / h", "ms", 4 },
    [DEVIATION] = { "model", "%", 3 },
};

static void add_row(struct mmt_table *table, const char *series,
                    const struct mmt_pyramid_shape *shape,
                    const struct mmt_pyramid_counts *counts, double seconds, double model)
{
    const struct mmt_cell row[NUM] = {
        [SERIES] = MMT_WORD(series),
        [HEIGHT] = MMT_NUMBER((double) shape->height),
        [WIDTH] = MMT_NUMBER((double) shape->width),
        [BLOCKS] = MMT_NUMBER(counts ? (double) counts->blocks : NAN),
        [SENT] = MMT_NUMBER(counts ? (double) counts->sent * 1e-6 : NAN),
        [RECEIVED] = MMT_NUMBER(counts ? (double) counts->received * 1e-6 : NAN),
        [STENCILS] = MMT_NUMBER(counts ? (double) counts->stencils * 1e-6 : NAN),
        [TIME] = MMT_NUMBER(seconds * 1e3),
        [EACH] = MMT_NUMBER(seconds * 1e3 / (double) shape->height),
        [DEVIATION] = MMT_NUMBER(model > 0 ? (model / seconds - 1) * 100 : NAN),
    };
    mmt_table_add(table, row);
}

static mmt_status time_pass(const struct mmt_study_device *device,
                            const struct mmt_pyramid_grid *grid,
                            const struct mmt_pyramid_shape *shape,
                            struct mmt_pyramid_counts *out, mmt_error *err)
{
    struct mmt_pyramid *pyramid;
    double least = INFINITY;
    mmt_status status = mmt_pyramid_open(device, grid, shape, &pyramid, err);
    if (status != MMT_OK)
        return status;
    for (int run = 0; run <= RUNS && status == MMT_OK; run++) {
        status = mmt_pyramid_pass(pyramid, out, NULL, err);
        if (run) /* the first builds kernels */
            least = fmin(least, out->seconds);
    }
    mmt_pyramid_close(pyramid);
    out->seconds = least;
    return status;
}

/* The best of what was tried. */
struct choice {
    int64_t by_model, by_time; /* heights */
    double model, time; /* seconds for one sweep at by_model as measured, by_time */
    double overlapped;  /* seconds for one sweep, the best with overlap */
};

static mmt_status try_heights(const struct mmt_study_device *device,
                              const struct mmt_pyramid_grid *grid, int64_t width,
                              int64_t half, const struct costs *costs,
                              struct mmt_table *table, struct choice *out, mmt_error *err)
{
    int64_t heights[MOST_HEIGHTS + 2];
    int count = choose_heights(grid->side, width, heights);
    double least_model = INFINITY;

    *out = (struct choice){ .time = INFINITY, .overlapped = INFINITY };
    for (int i = 0; i < count && !mmt_study_interrupted(); i++) {
        struct mmt_pyramid_shape shape = { heights[i], width, false },
                                 both = { heights[i], half, true };
        struct mmt_pyramid_counts counts;
        double model = predict(costs, grid->planes, width, heights[i]),
               h = (double) heights[i];
        mmt_status status = time_pass(device, grid, &shape, &counts, err);
        if (status != MMT_OK)
            return status;
        add_row(table, "measured", &shape, &counts, counts.seconds, model);
        add_row(table, "model", &shape, NULL, model, 0);
        if (counts.seconds / h < out->time)
            out->time = counts.seconds / h, out->by_time = heights[i];
        if (heights[i] > 1 && model / h < least_model) {
            least_model = model / h;
            out->by_model = heights[i], out->model = counts.seconds / h;
        }
        if (half <= 2 * heights[i])
            continue;
        status = time_pass(device, grid, &both, &counts, err);
        if (status != MMT_OK)
            return status;
        add_row(table, "overlapped", &both, &counts, counts.seconds, 0);
        out->overlapped = fmin(out->overlapped, counts.seconds / h);
    }
    return MMT_OK;
}

static void say_choice(const struct mmt_study_options *options,
                       const struct choice *choice, const struct costs *costs,
                       int64_t width)
{
    mmt_study_say(
        options,
        "t_copy = %.3f us a plane, t_plane = %.3f us; sqrt(3 R t_copy / t_plane) "
        "= %.1f",
        costs->copy * 1e6, costs->plane * 1e6,
        sqrt(3 * (double) width * costs->copy / costs->plane));
    if (choice->by_model)
        mmt_study_say(
            options,
            "the model chooses h = %" PRId64 ", %.1f %% above the best that was "
            "measured, h = %" PRId64,
            choice->by_model, (choice->model / choice->time - 1) * 100, choice->by_time);
    else
        mmt_study_say(options, "blocks of %" PRId64 " planes leave height 1 alone",
                      width);
    if (isfinite(choice->overlapped))
        mmt_study_say(options,
                      "copies beside computing, in as much memory: %.2f times as fast",
                      choice->time / choice->overlapped);
}

/* ---- the study -------------------------------------------------------------------- */

/* Planes of a block in the memory that may be used, or an error that names what would
 * do. */
static mmt_status widths(const struct mmt_study_options *options,
                         const struct mmt_pyramid_grid *grid, int64_t *width,
                         int64_t *half, mmt_error *err)
{
    int64_t bytes = (int64_t) mmt_pyramid_bytes(grid), plane = bytes / grid->planes;
    int64_t memory = options->memory ? options->memory : 3 * bytes / 4;

    *width = mmt_pyramid_width(grid, memory, false);
    *half = mmt_pyramid_width(grid, memory, true);
    if (*width >= grid->planes)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--memory %" PRId64 " holds the whole grid of %" PRId64
                        "^3, and no pyramid is needed; name less than %" PRId64 " bytes",
                        memory, grid->side, 3 * bytes);
    if (*width < 3)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--memory %" PRId64 " holds blocks of %" PRId64
                        " planes; a pyramid of height 1 needs 3 planes: %" PRId64
                        " bytes",
                        memory, *width, 9 * plane);
    return MMT_OK;
}

static mmt_status report(const struct mmt_study_options *options,
                         const struct mmt_table *table, mmt_error *err)
{
    struct mmt_plot plot = {
        "one sweep of a pass in pyramids", HEIGHT, EACH, { SERIES, -1 }, false, false
    };
    mmt_status status = mmt_study_show(options, table, "pyramid", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, table, &plot, "pyramid", err);
    return status;
}

static mmt_status study_grid(const struct mmt_study_options *options,
                             const struct mmt_study_device *device, mmt_type type,
                             int64_t side, mmt_error *err)
{
    struct mmt_pyramid_grid grid;
    struct costs costs = { 0 };
    struct choice choice;
    int64_t width, half;
    char title[128];
    double bytes = pow((double) side, 3) * (double) mmt_type_size(type);
    mmt_status status = mmt_study_fits(
        device, "the grid, its right-hand side and their blocks", 3 * bytes,
        options->memory ? (double) options->memory : 3 * bytes / 4, err);
    if (status == MMT_OK)
        status = mmt_pyramid_grid_make(type, side, side, options->seed, &grid, err);
    if (status != MMT_OK)
        return status;

    snprintf(title, sizeof title, "passes over a grid of %" PRId64 "^3, %s", side,
             mmt_type_name(type));
    struct mmt_table table = mmt_table_start(title, columns, NUM);
    status = widths(options, &grid, &width, &half, err);
    if (status == MMT_OK)
        status = calibrate(device, &grid, width, &costs, err);
    if (status == MMT_OK)
        status = try_heights(device, &grid, width, half, &costs, &table, &choice, err);
    if (status == MMT_OK)
        status = report(options, &table, err);
    if (status == MMT_OK)
        say_choice(options, &choice, &costs, width);
    mmt_table_free(&table);
    mmt_pyramid_grid_free(&grid);
    return status;
}

static mmt_status check_options(const struct mmt_study_options *options, mmt_type *type,
                                mmt_error *err)
{
    unsigned types;
    mmt_status status = mmt_study_types(options, 1 << MMT_F32, &types, err);
    if (status != MMT_OK)
        return status;
    *type = types == 1 << MMT_F64 ? MMT_F64 : MMT_F32;
    if (types != 1u << *type)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--type must be f32 or f64, one of them");
    if (options->num_sizes > 1 || options->num_devices > 1)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "this study takes one --device and one "
                        "of --sizes");
    if (options->num_sizes && (options->sizes[0] < 8 || options->sizes[0] > 2048))
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--sizes is %" PRId64 "; N must be from 8 to 2048",
                        options->sizes[0]);
    return MMT_OK;
}

static mmt_status run(const struct mmt_study_options *options, mmt_error *err)
{
    struct mmt_study_device devices[MMT_STUDY_DEVICES] = { 0 };
    int64_t side = options->num_sizes ? options->sizes[0] : USUAL_SIDE;
    mmt_type type;
    mmt_status status = check_options(options, &type, err);

    if (status == MMT_OK)
        status = mmt_study_open(options, devices, err);
    if (status == MMT_OK)
        status = mmt_pyramid_check(options, &devices[0], type, err);
    if (status == MMT_OK)
        status = study_grid(options, &devices[0], type, side, err);
    mmt_study_close(devices);
    return status;
}

const struct mmt_study mmt_study_pyramid = {
    .name = "pyramid",
    .what = "Jacobi's method on a grid that exceeds device memory, and the best height",
    .notes =
        "One size, N, for a grid of N^3; default: 256. Without --memory, a quarter of "
        "what\nthe grid would need.\n",
    .heeds = MMT_HEEDS_DEVICES | MMT_HEEDS_TYPES | MMT_HEEDS_SIZES | MMT_HEEDS_MEMORY |
             MMT_HEEDS_SEED,
    .run = run,
};
