/* A queue of our own whose work is timed by the device. */
#ifndef MMT_STUDIES_TIMER_H
#define MMT_STUDIES_TIMER_H

#include "device/device.h"

struct mmt_study_timer {
    mmt_device *device;
    mmt_queue queue;
    struct mmt_mark *from, *to;
};

mmt_status mmt_study_timer_open(mmt_device *device, struct mmt_study_timer *out,
                                mmt_error *err);
void mmt_study_timer_close(struct mmt_study_timer *timer);

/* Brackets work on the queue; stopping waits for it. `seconds` is the device's own time.
 */
mmt_status mmt_study_timer_start(struct mmt_study_timer *timer, mmt_error *err);
mmt_status mmt_study_timer_stop(struct mmt_study_timer *timer, double *seconds,
                                mmt_error *err);

#endif
