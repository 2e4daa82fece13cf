/* A CUDA device's primary context in the calling thread, for libraries that work in
 * whatever context is current. The driver is opened at run time. */
#ifndef MMT_DEVICE_PRIMARY_H
#define MMT_DEVICE_PRIMARY_H

#include <stdbool.h>

#include "base/error.h"

struct mmt_primary {
    struct {
        int (*cuDeviceGet)(int *device, int ordinal);
        int (*cuDevicePrimaryCtxRetain)(void **context, int device);
        int (*cuDevicePrimaryCtxRelease_v2)(int device);
        int (*cuCtxGetCurrent)(void **context);
        int (*cuCtxSetCurrent)(void *context);
    } driver;
    void *before; /* the thread's context before */
    int device;
    bool retained;
};

/* Makes the context of CUDA's device `ordinal` current. It is left by mmt_primary_leave
 * in the same thread, also after an error. */
mmt_status mmt_primary_enter(struct mmt_primary *primary, int ordinal, mmt_error *err);
void mmt_primary_leave(struct mmt_primary *primary);

#endif
