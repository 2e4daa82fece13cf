/* Locks the pages of arrays by CUDA's driver, which the library has opened already. */
#include "pinned.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct driver {
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuDevicePrimaryCtxRelease_v2)(int device);
    int (*cuCtxPushCurrent_v2)(void *context);
    int (*cuCtxPopCurrent_v2)(void **context);
    int (*cuMemHostRegister_v2)(void *memory, size_t bytes, unsigned flags);
    int (*cuMemHostUnregister)(void *memory);
};

/* False where it is not there. */
static bool open_driver(struct driver *out)
{
    static const char *const names[] = {
        "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuCtxPushCurrent_v2",
        "cuCtxPopCurrent_v2",       "cuMemHostRegister_v2",         "cuMemHostUnregister"
    };
    void *found[sizeof names / sizeof *names];
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof names / sizeof *names; i++)
        if (!(found[i] = dlsym(library, names[i])))
            return false;
    if (library)
        memcpy(out, found, sizeof found);
    return library;
}

/* Locks those of the arrays that there are; false, and none of them locked, where one
 * cannot be. */
static bool lock_arrays(const struct driver *driver, void *const arrays[3],
                        const size_t bytes[3])
{
    int locked = 0;
    while (locked < 3 && (!bytes[locked] || !driver->cuMemHostRegister_v2(
                                                arrays[locked], bytes[locked], 0)))
        locked++;
    for (int i = 0; locked < 3 && i < locked; i++)
        if (bytes[i])
            driver->cuMemHostUnregister(arrays[i]);
    return locked == 3;
}

mmt_status mmt_phases_run_pinned(const struct mmt_study_device *device,
                                 const mmt_plan *plan, const struct mmt_phases_data *data,
                                 double seconds, struct mmt_phases *out, mmt_error *err)
{
    enum { REPETITIONS = 5 };
    void *const arrays[3] = { (void *) data->a, (void *) data->b, data->c };
    const size_t bytes[3] = { data->bytes_a, data->bytes_b, data->bytes_c };
    struct driver driver;
    void *context;
    int number;
    mmt_status status = MMT_OK;

    *out = (struct mmt_phases){ 0 };
    if (sscanf(device->facts.id, "cuda:%d", &number) != 1 || !open_driver(&driver) ||
        driver.cuDevicePrimaryCtxRetain(&context, number))
        return MMT_OK;
    driver.cuCtxPushCurrent_v2(context);
    const bool locked = lock_arrays(&driver, arrays, bytes);
    driver.cuCtxPopCurrent_v2(&context);
    if (locked)
        status =
            mmt_phases_run(device->device, plan, data, REPETITIONS, seconds, out, err);
    driver.cuCtxPushCurrent_v2(context);
    for (int i = 0; locked && i < 3; i++)
        if (bytes[i])
            driver.cuMemHostUnregister(arrays[i]);
    driver.cuCtxPopCurrent_v2(&context);
    driver.cuDevicePrimaryCtxRelease_v2(number);
    return status;
}
