/* Makes a CUDA device's primary context the current one of a thread, and gives back what
 * was current before. */
#include "device/primary.h"

#include <stddef.h>

#include "device/library.h"

#define FN(name) #name, offsetof(struct mmt_primary, driver.name), false
static const struct mmt_symbol symbols[] = {
    { FN(cuDeviceGet) },
    { FN(cuDevicePrimaryCtxRetain) },
    { FN(cuDevicePrimaryCtxRelease_v2) },
    { FN(cuCtxGetCurrent) },
    { FN(cuCtxSetCurrent) },
};
#undef FN

mmt_status mmt_primary_enter(struct mmt_primary *primary, int ordinal, mmt_error *err)
{
    void *context = NULL;
    char why[256];

    *primary = (struct mmt_primary){ .retained = false };
    if (!mmt_library_open("libcuda.so.1", symbols, sizeof symbols / sizeof *symbols,
                          primary, why))
        return mmt_fail(err, MMT_ERROR_NOT_FOUND, "NVIDIA's driver is not there: %s",
                        why);
    int code = primary->driver.cuDeviceGet(&primary->device, ordinal);
    if (!code)
        code = primary->driver.cuDevicePrimaryCtxRetain(&context, primary->device);
    primary->retained = !code;
    if (!code)
        code = primary->driver.cuCtxGetCurrent(&primary->before);
    if (!code)
        code = primary->driver.cuCtxSetCurrent(context);
    return code ? mmt_fail_native(err, MMT_ERROR_DEVICE, code,
                                  "CUDA's driver does not give the context of device %d: "
                                  "error %d",
                                  ordinal, code)
                : MMT_OK;
}

void mmt_primary_leave(struct mmt_primary *primary)
{
    if (!primary->retained)
        return;
    primary->driver.cuCtxSetCurrent(primary->before);
    primary->driver.cuDevicePrimaryCtxRelease_v2(primary->device);
    primary->retained = false;
}
