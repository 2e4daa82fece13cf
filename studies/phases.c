/* Times one computation in the papers' phases: allocation, copy to the device, kernel,
 * copy back. */
#include "phases.h"

#include <math.h>

#include "client.h"
#include "cpu.h"
#include "../tuner/common/command.h"

struct buffers {
    mmt_operand a, b, c, workspace;
};

static void free_all(mmt_device *device, const struct buffers *buffers)
{
    mmt_buffer_free(device, buffers->a);
    mmt_buffer_free(device, buffers->b);
    mmt_buffer_free(device, buffers->c);
    mmt_buffer_free(device, buffers->workspace);
}

/* Some OpenCL devices give a buffer its memory when it is used first, which a few bytes
 * bring about: else what kernels write would be allocated within their time. */
static mmt_status allocate_buffer(mmt_device *device, size_t bytes, mmt_operand *out,
                                  mmt_error *err)
{
    static const char touch[64];
    mmt_status status = bytes ? mmt_buffer_create(device, bytes, out, err) : MMT_OK;
    if (status == MMT_OK && bytes)
        status = mmt_buffer_write(device, *out, touch,
                                  bytes < sizeof touch ? bytes : sizeof touch, err);
    return status;
}

static mmt_status allocate_all(mmt_device *device, const struct mmt_phases_data *data,
                               size_t workspace, struct buffers *out, mmt_error *err)
{
    *out = (struct buffers){ 0 };
    mmt_status status = allocate_buffer(device, data->bytes_a, &out->a, err);
    if (status == MMT_OK)
        status = allocate_buffer(device, data->bytes_b, &out->b, err);
    if (status == MMT_OK)
        status = allocate_buffer(device, data->bytes_c, &out->c, err);
    if (status == MMT_OK)
        status = allocate_buffer(device, workspace, &out->workspace, err);
    return status;
}

static mmt_status write_all(mmt_device *device, const struct mmt_phases_data *data,
                            const struct buffers *to, mmt_error *err)
{
    mmt_status status = MMT_OK;
    if (data->bytes_a)
        status = mmt_buffer_write(device, to->a, data->a, data->bytes_a, err);
    if (status == MMT_OK && data->bytes_b)
        status = mmt_buffer_write(device, to->b, data->b, data->bytes_b, err);
    return status;
}

static mmt_status run_kernel(const mmt_plan *plan, const struct buffers *buffers,
                             mmt_timer *timer, double beta, double *marks, mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    args.a = buffers->a, args.b = buffers->b, args.c = buffers->c;
    args.workspace = buffers->workspace;
    args.beta = beta;

    mmt_status status = mmt_timer_start(timer, err);
    if (status == MMT_OK)
        status = mmt_execute(plan, &args, mmt_timer_queue(timer), err);
    if (status == MMT_OK)
        status = mmt_timer_stop(timer, marks, err);
    return status;
}

static mmt_status run_once(mmt_device *device, const mmt_plan *plan,
                           const struct mmt_phases_data *data, mmt_timer *timer,
                           struct mmt_phases *out, mmt_error *err)
{
    struct buffers buffers;
    double times[5] = { mmt_study_now() };
    mmt_status status =
        allocate_all(device, data, mmt_plan_workspace(plan), &buffers, err);

    times[1] = mmt_study_now();
    if (status == MMT_OK)
        status = write_all(device, data, &buffers, err);
    times[2] = mmt_study_now();
    if (status == MMT_OK)
        status = run_kernel(plan, &buffers, timer, data->beta, &out->marks, err);
    times[3] = mmt_study_now();
    if (status == MMT_OK)
        status = mmt_buffer_read(device, data->c, buffers.c, data->bytes_c, err);
    times[4] = mmt_study_now();
    free_all(device, &buffers);
    out->allocate = times[1] - times[0];
    out->write = times[2] - times[1];
    out->kernel = times[3] - times[2];
    out->read = times[4] - times[3];
    out->total = times[4] - times[1];
    return status;
}

struct squares {
    double total, marks;
};

static void add_phases(struct mmt_phases *sum, const struct mmt_phases *one,
                       struct squares *squares)
{
    sum->allocate += one->allocate;
    sum->write += one->write;
    sum->kernel += one->kernel;
    sum->read += one->read;
    sum->total += one->total;
    sum->marks += one->marks;
    squares->total += one->total * one->total;
    squares->marks += one->marks * one->marks;
    sum->repetitions++;
}

static double spread_of(double mean, double squares, double count)
{
    return count > 1 ? sqrt(fmax(0, squares / count - mean * mean)) / mean : NAN;
}

static void average_phases(struct mmt_phases *sum, const struct squares *squares)
{
    double count = sum->repetitions;
    sum->allocate /= count;
    sum->write /= count;
    sum->kernel /= count;
    sum->read /= count;
    sum->total /= count;
    sum->marks /= count;
    sum->spread = spread_of(sum->total, squares->total, count);
    sum->marks_spread = spread_of(sum->marks, squares->marks, count);
}

mmt_status mmt_phases_run(mmt_device *device, const mmt_plan *plan,
                          const struct mmt_phases_data *data, int repetitions,
                          double seconds, struct mmt_phases *out, mmt_error *err)
{
    struct mmt_phases one = { 0 };
    struct squares squares = { 0 };
    mmt_timer *timer = mmt_timer_create(device, err);
    if (!timer)
        return MMT_ERROR_DEVICE;

    *out = (struct mmt_phases){ 0 };
    mmt_status status = run_once(device, plan, data, timer, &one, err);
    double start = mmt_study_now();
    for (int i = 0; i < repetitions && status == MMT_OK; i++) {
        if (i && ((seconds > 0 && mmt_study_now() - start > seconds) || mmt_interrupted))
            break;
        status = run_once(device, plan, data, timer, &one, err);
        add_phases(out, &one, &squares);
    }
    if (status == MMT_OK)
        average_phases(out, &squares);
    mmt_timer_free(timer);
    return status;
}

double mmt_phases_noise(double spread, int repetitions)
{
    return 2 * spread / sqrt(repetitions);
}

const char *mmt_phases_doubt(const struct mmt_phases *phases)
{
    if (phases->marks <= 0)
        return "no time passed";
    return phases->marks > phases->kernel * 1.05 + 1e-5
               ? "the device's clock exceeds the host's"
               : "";
}
