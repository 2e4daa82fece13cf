/* CUDA's driver: opened at run time, once, and what it says of its errors. */
#include "device/cuda_internal.h"
#include "device/library.h"

static const struct mmt_symbol symbols[] = {
#define FN(name)       { #name, offsetof(struct mmt_cuda_functions, name), false },
#define OPTIONAL(name) { #name, offsetof(struct mmt_cuda_functions, name), true },
#include "device/cuda.fn"
#undef FN
#undef OPTIONAL
};

/* Written once, by load_driver. */
struct mmt_cuda_functions mmt_cu;
static struct {
    bool found;       /* the library is there */
    CUresult started; /* what cuInit said */
    int version;      /* 1000 * major + 10 * minor */
} driver;

static void load_driver(void)
{
    char why[256];
    size_t count = sizeof(symbols) / sizeof(symbols[0]);
    driver.found = mmt_library_open("libcuda.so.1", symbols, count, &mmt_cu, why);
    if (!driver.found)
        return;
    driver.started = mmt_cu.cuInit(0);
    mmt_cu.cuDriverGetVersion(&driver.version);
}

int mmt_cuda_driver_version(void)
{
    return driver.version;
}

static void open_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_driver);
}

mmt_status mmt_cuda_fail(mmt_error *err, const char *what, CUresult result)
{
    const char *name = NULL, *text = NULL;
    mmt_cu.cuGetErrorName(result, &name);
    mmt_cu.cuGetErrorString(result, &text);
    return mmt_fail_native(
        err, result == CUDA_ERROR_OUT_OF_MEMORY ? MMT_ERROR_MEMORY : MMT_ERROR_DEVICE,
        (int) result, "CUDA could not %s: %s (%s)", what, text ? text : "unknown error",
        name ? name : "no name");
}

mmt_status mmt_cuda_start_driver(mmt_error *err)
{
    open_driver();
    if (!driver.found)
        return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                        "NVIDIA's driver library libcuda.so.1 is not on this machine");
    if (driver.started != CUDA_SUCCESS)
        return mmt_cuda_fail(err, "start", driver.started);
    return MMT_OK;
}

bool mmt_cuda_has_devices(void)
{
    open_driver();
    return driver.found && driver.started != CUDA_ERROR_NO_DEVICE;
}
