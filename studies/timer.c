/* Times the work of a queue by marks on the device. */
#include "studies/timer.h"

mmt_status mmt_study_timer_open(mmt_device *device, struct mmt_study_timer *out,
                                mmt_error *err)
{
    *out = (struct mmt_study_timer){ .device = device };
    mmt_status status = mmt_queue_create(device, &out->queue, err);
    if (status == MMT_OK)
        status = mmt_mark_create(device, &out->from, err);
    if (status == MMT_OK)
        status = mmt_mark_create(device, &out->to, err);
    if (status != MMT_OK)
        mmt_study_timer_close(out);
    return status;
}

void mmt_study_timer_close(struct mmt_study_timer *timer)
{
    if (!timer->device)
        return;
    mmt_mark_free(timer->from);
    mmt_mark_free(timer->to);
    mmt_queue_free(timer->device, timer->queue);
    *timer = (struct mmt_study_timer){ 0 };
}

mmt_status mmt_study_timer_start(struct mmt_study_timer *timer, mmt_error *err)
{
    return mmt_mark_record(timer->from, timer->queue, err);
}

mmt_status mmt_study_timer_stop(struct mmt_study_timer *timer, double *seconds,
                                mmt_error *err)
{
    mmt_status status = mmt_mark_record(timer->to, timer->queue, err);
    if (status == MMT_OK)
        status = mmt_finish(timer->device, timer->queue, err);
    if (status == MMT_OK)
        status = mmt_mark_seconds(timer->from, timer->to, seconds, err);
    return status;
}
