/* What a plane takes there, back and in a sweep. */
#include <math.h>

#include "client.h"
#include "pyramid.h"

enum { RUNS = 3 };

/* Sends a block's planes and their right-hand side and receives the planes; adds what a
 * plane took. */
static mmt_status copy_block(const struct mmt_study_device *device,
                             const struct mmt_pyramid_grid *grid, int64_t at,
                             int64_t width, const mmt_operand arrays[3],
                             struct pyramid_costs *sum, mmt_error *err)
{
    size_t plane = mmt_pyramid_bytes(grid) / (size_t) grid->planes;
    size_t bytes = (size_t) width * plane, offset = (size_t) at * plane;
    double start = mmt_study_now();
    mmt_status status = mmt_buffer_write(device->device, arrays[0],
                                         (const char *) grid->now + offset, bytes, err);
    if (status == MMT_OK)
        status = mmt_buffer_write(device->device, arrays[2],
                                  (const char *) grid->f + offset, bytes, err);
    double sent = mmt_study_now();
    if (status == MMT_OK)
        status = mmt_buffer_read(device->device, (char *) grid->next + offset, arrays[0],
                                 bytes, err);
    sum->send += (sent - start) / (2 * (double) width);
    sum->receive += (mmt_study_now() - sent) / (double) width;
    return status;
}

/* The least of a few walks, as of passes, after one that warms up. Block after block, as
 * a pass walks, since memory that was just touched would be faster. */
static mmt_status time_copies(const struct mmt_study_device *device,
                              const struct mmt_pyramid_grid *grid, int64_t width,
                              const mmt_operand arrays[3], struct pyramid_costs *out,
                              mmt_error *err)
{
    mmt_status status = MMT_OK;

    out->send = out->receive = INFINITY;
    for (int run = 0; run <= RUNS && status == MMT_OK; run++) {
        struct pyramid_costs sum = { 0 };
        int blocks = 0;
        for (int64_t at = 0; at + width <= grid->planes && status == MMT_OK;
             at += width) {
            status = copy_block(device, grid, at, width, arrays, &sum, err);
            blocks++;
        }
        if (!run)
            continue;
        out->send = fmin(out->send, sum.send / blocks);
        out->receive = fmin(out->receive, sum.receive / blocks);
    }
    return status;
}

static mmt_status time_sweeps(const struct mmt_study_device *device,
                              const struct mmt_pyramid_grid *grid, int64_t width,
                              const mmt_operand arrays[3], double *seconds,
                              mmt_error *err)
{
    enum { SWEEPS = 10 };
    mmt_problem problem = mmt_jacobi3d_problem(grid->type, width, grid->side, grid->side);
    mmt_plan *plan =
        mmt_plan_create(device->device, device->profile, &problem, NULL, err);
    mmt_args args = mmt_args_defaults();
    mmt_timer *timer = plan ? mmt_timer_create(device->device, err) : NULL;
    mmt_status status = timer ? MMT_OK : MMT_ERROR_DEVICE;
    args.alpha = 1.0 / 6, args.beta = grid->scale;
    args.b = arrays[2];
    *seconds = INFINITY;
    for (int run = 0; run <= RUNS && status == MMT_OK; run++) {
        double all = 0;
        status = mmt_timer_start(timer, err);
        for (int i = 0; i < SWEEPS && status == MMT_OK; i++) {
            args.a = arrays[i % 2], args.c = arrays[(i + 1) % 2];
            status = mmt_execute(plan, &args, mmt_timer_queue(timer), err);
        }
        if (status == MMT_OK)
            status = mmt_timer_stop(timer, &all, err);
        if (run) /* the first warms up */
            *seconds = fmin(*seconds, all / SWEEPS / (double) (width - 2));
    }
    mmt_timer_free(timer);
    mmt_plan_free(plan);
    return status;
}

mmt_status mmt_pyramid_calibrate(const struct mmt_study_device *device,
                                 const struct mmt_pyramid_grid *grid, int64_t width,
                                 struct pyramid_costs *out, mmt_error *err)
{
    size_t bytes = (size_t) width * mmt_pyramid_bytes(grid) / (size_t) grid->planes;
    mmt_operand arrays[3] = { { 0 } };
    mmt_status status = MMT_OK;

    for (int i = 0; i < 3 && status == MMT_OK; i++)
        status = mmt_buffer_create(device->device, bytes, &arrays[i], err);
    if (status == MMT_OK)
        status = mmt_buffer_write(device->device, arrays[2], grid->f, bytes, err);
    if (status == MMT_OK)
        status = time_copies(device, grid, width, arrays, out, err);
    if (status == MMT_OK)
        status = time_sweeps(device, grid, width, arrays, &out->plane, err);
    for (int i = 0; i < 3; i++)
        mmt_buffer_free(device->device, arrays[i]);
    return status;
}
