/* Opens the few functions of CUDA's driver that a call needs, where the program has
 * loaded it; must not initialise CUDA. */
#include "dropin/cublas/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "device/library.h"

#define FN(name)                                                                         \
    {                                                                                    \
#name, offsetof(struct mmt_driver, name), false                                  \
    }
static const struct mmt_symbol symbols[] = {
    FN(cuCtxGetCurrent),
    FN(cuCtxSetCurrent),
    FN(cuCtxGetDevice),
    { "cuCtxGetId", offsetof(struct mmt_driver, cuCtxGetId), true },
    FN(cuDeviceGetName),
    FN(cuDevicePrimaryCtxGetState),
    FN(cuDevicePrimaryCtxRetain),
    FN(cuDevicePrimaryCtxRelease_v2),
    FN(cuMemcpyAsync),
    FN(cuStreamIsCapturing),
    FN(cuStreamSynchronize),
    FN(cuEventCreate),
    FN(cuEventRecord),
    FN(cuEventQuery),
    FN(cuEventElapsedTime),
};
#undef FN

static struct {
    pthread_mutex_t lock; /* until it is open */
    struct mmt_driver functions;
    _Atomic(const struct mmt_driver *) open;
} driver = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_loaded(const char *file)
{
    void *library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library;
}

const struct mmt_driver *mmt_driver_open(void)
{
    char why[256];

    if (atomic_load_explicit(&driver.open, memory_order_acquire))
        return &driver.functions;
    pthread_mutex_lock(&driver.lock);
    if (!atomic_load(&driver.open) && is_loaded("libcuda.so.1") &&
        mmt_library_open("libcuda.so.1", symbols, sizeof symbols / sizeof *symbols,
                         &driver.functions, why))
        atomic_store_explicit(&driver.open, &driver.functions, memory_order_release);
    pthread_mutex_unlock(&driver.lock);
    return atomic_load(&driver.open);
}

bool mmt_driver_captures(const struct mmt_driver *functions, void *stream)
{
    int status = 0;
    return functions->cuStreamIsCapturing(stream, &status) || status;
}
