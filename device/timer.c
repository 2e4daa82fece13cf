/* A queue whose work is timed by marks on the device. */
#include <stdlib.h>

#include "device/device.h"

struct mmt_timer {
    mmt_device *device;
    mmt_queue queue;
    struct mmt_mark *from, *to;
};

mmt_timer *mmt_timer_create(mmt_device *device, mmt_error *err)
{
    if (!device) {
        mmt_fail_argument(err, MMT_ARGUMENT_DEVICE, "the device is NULL");
        return NULL;
    }
    mmt_timer *timer = calloc(1, sizeof *timer);
    if (!timer) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a timer");
        return NULL;
    }
    timer->device = device;
    if (!mmt_queue_create(device, &timer->queue, err) &&
        !mmt_mark_create(device, &timer->from, err) &&
        !mmt_mark_create(device, &timer->to, err))
        return timer;
    mmt_timer_free(timer);
    return NULL;
}

mmt_queue mmt_timer_queue(const mmt_timer *timer)
{
    return timer ? timer->queue : NULL;
}

static mmt_status check_timer(const mmt_timer *timer, mmt_error *err)
{
    return timer ? MMT_OK : mmt_fail(err, MMT_ERROR_ARGUMENT, "the timer is NULL");
}

mmt_status mmt_timer_start(mmt_timer *timer, mmt_error *err)
{
    const mmt_status status = check_timer(timer, err);
    return status ? status : mmt_mark_record(timer->from, timer->queue, err);
}

mmt_status mmt_timer_stop(mmt_timer *timer, double *seconds, mmt_error *err)
{
    mmt_status status = check_timer(timer, err);
    if (!status)
        status = mmt_mark_record(timer->to, timer->queue, err);
    if (!status)
        status = mmt_finish(timer->device, timer->queue, err);
    if (!status)
        status = mmt_mark_seconds(timer->from, timer->to, seconds, err);
    return status;
}

void mmt_timer_free(mmt_timer *timer)
{
    if (!timer)
        return;
    mmt_mark_free(timer->from);
    mmt_mark_free(timer->to);
    mmt_queue_free(timer->device, timer->queue);
    free(timer);
}
