/* From a binary to a launch, for the CUDA backend. */
#include <stdio.h>
#include <stdlib.h>

#include "device/cuda_internal.h"

/* ---- building -------------------------------------------------------------------- */

/* The driver says why it refuses PTX in a log of its own. */
static CUresult load(CUmodule *module, const void *image, char *log, size_t size)
{
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
                               CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { log, (void *) (uintptr_t) size };
    log[0] = 0;
    return mmt_cu.cuModuleLoadDataEx(module, image, 2, options, values);
}

static mmt_status fail_load(CUresult result, const char *log, mmt_error *err)
{
    char what[600];
    snprintf(what, sizeof(what), "load a compiled kernel%s%s", log[0] ? ", saying: " : "",
             log);
    return mmt_cuda_fail(err, what, result);
}

mmt_status mmt_cuda_module_load(mmt_device *device, const struct mmt_binary *binary,
                                struct mmt_module **out, mmt_error *err)
{
    bool pushed;
    char log[512];
    struct cuda_module *module = calloc(1, sizeof(*module));
    if (!module)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for a module");
    log[0] = 0;
    CUresult result = mmt_cuda_enter(device, &pushed);
    if (result == CUDA_SUCCESS)
        result = load(&module->module, binary->data, log, sizeof(log));
    mmt_cuda_leave(pushed);
    if (result != CUDA_SUCCESS) {
        free(module);
        return fail_load(result, log, err);
    }
    module->base.device = device;
    *out = &module->base;
    return MMT_OK;
}

void mmt_cuda_module_free(struct mmt_module *base)
{
    struct cuda_module *module = (struct cuda_module *) base;
    bool pushed;
    if (mmt_cuda_enter(base->device, &pushed) == CUDA_SUCCESS)
        mmt_cu.cuModuleUnload(module->module);
    mmt_cuda_leave(pushed);
    for (struct cuda_kernel *next; module->kernels; module->kernels = next) {
        next = module->kernels->next;
        free(module->kernels);
    }
    free(module);
}

/* A hint, which a device may have no use for. */
static void tell_carveout(struct cuda_kernel *kernel, int percent)
{
    mmt_cu.cuFuncSetAttribute(
        kernel->function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent);
    atomic_store(&kernel->carveout, percent);
}

/* More than 48 KiB must be asked for. Another mmt_function of the same kernel may have
 * asked for more already; and its carveout is not to bound how many blocks are said to
 * run at once. */
static CUresult allow_shared(struct cuda_kernel *kernel, size_t shared)
{
    const CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    int allowed = 0;
    tell_carveout(kernel, CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
    if (shared <= 48 * 1024)
        return CUDA_SUCCESS;
    CUresult result = mmt_cu.cuFuncGetAttribute(&allowed, most, kernel->function);
    if (result == CUDA_SUCCESS && (size_t) allowed < shared)
        result = mmt_cu.cuFuncSetAttribute(kernel->function, most, (int) shared);
    return result;
}

/* The module's kernel that is this one; NULL: no memory for it. */
static struct cuda_kernel *kernel_of(struct cuda_module *module, CUfunction function)
{
    struct cuda_kernel *kernel = module->kernels;
    while (kernel && kernel->function != function)
        kernel = kernel->next;
    if (kernel || !(kernel = calloc(1, sizeof *kernel)))
        return kernel;
    kernel->function = function;
    kernel->next = module->kernels;
    return module->kernels = kernel;
}

static mmt_status find_kernel(struct cuda_module *module, const char *entry,
                              size_t shared, struct cuda_kernel **out, mmt_error *err)
{
    CUfunction function;
    CUresult result = mmt_cu.cuModuleGetFunction(&function, module->module, entry);
    if (result == CUDA_ERROR_NOT_FOUND)
        return mmt_fail_native(err, MMT_ERROR_NOT_FOUND, (int) result,
                               "the binary has no kernel %s", entry);
    if (result != CUDA_SUCCESS)
        return mmt_cuda_fail(err, "find a kernel", result);
    struct cuda_device *device = (struct cuda_device *) module->base.device;
    pthread_mutex_lock(&device->lock);
    *out = kernel_of(module, function);
    if (*out)
        result = allow_shared(*out, shared);
    pthread_mutex_unlock(&device->lock);
    if (!*out)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for the kernel %s", entry);
    return result == CUDA_SUCCESS
               ? MMT_OK
               : mmt_cuda_fail(err, "give a kernel its shared memory", result);
}

mmt_status mmt_cuda_function_create(struct mmt_module *module, const char *entry,
                                    const unsigned block[3], size_t shared,
                                    struct mmt_function **out, mmt_error *err)
{
    bool pushed;
    struct cuda_function *function = calloc(1, sizeof(*function));
    if (!function)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for the kernel %s", entry);
    function->base =
        (struct mmt_function){ module->device, { block[0], block[1], block[2] }, shared };
    function->carveout = CU_SHAREDMEM_CARVEOUT_DEFAULT;
    CUresult result = mmt_cuda_enter(module->device, &pushed);
    mmt_status status = result == CUDA_SUCCESS
                            ? find_kernel((struct cuda_module *) module, entry, shared,
                                          &function->kernel, err)
                            : mmt_cuda_fail(err, "use the context", result);
    mmt_cuda_leave(pushed);
    if (status != MMT_OK)
        free(function);
    else
        *out = &function->base;
    return status;
}

void mmt_cuda_function_free(struct mmt_function *function)
{
    free(function);
}

mmt_status mmt_cuda_function_usage(struct mmt_function *base, struct mmt_usage *out,
                                   mmt_error *err)
{
    CUfunction function = ((struct cuda_function *) base)->kernel->function;
    int shared = -1;
    bool pushed;
    CUresult result = mmt_cuda_enter(base->device, &pushed);
    *out = (struct mmt_usage){ -1, -1, -1, -1 };
    const struct {
        CUfunction_attribute name;
        int *to;
    } figures[] = {
        { CU_FUNC_ATTRIBUTE_NUM_REGS, &out->registers },
        { CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &out->spill_bytes },
        { CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared },
        { CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &out->max_threads },
    };
    for (int i = 0; i < 4 && result == CUDA_SUCCESS; i++)
        result = mmt_cu.cuFuncGetAttribute(figures[i].to, figures[i].name, function);
    mmt_cuda_leave(pushed);
    out->shared = shared;
    return result == CUDA_SUCCESS ? MMT_OK
                                  : mmt_cuda_fail(err, "describe a kernel", result);
}

/* How many clusters run at once depends on how the card's multiprocessors are grouped. */
static int resident_clusters(const struct cuda_function *function, int size)
{
    int clusters = 0;
    const unsigned *block = function->base.block;
    CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                  .value.clusterDim = { (unsigned) size, 1, 1 } };
    CUlaunchConfig config = {
        .gridDimX = (unsigned) size * 1024,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = block[0],
        .blockDimY = block[1],
        .blockDimZ = block[2],
        .sharedMemBytes = (unsigned) function->base.shared,
        .attrs = &cluster,
        .numAttrs = 1,
    };
    if (!mmt_cu.cuOccupancyMaxActiveClusters ||
        mmt_cu.cuOccupancyMaxActiveClusters(&clusters, function->kernel->function,
                                            &config))
        return 0;
    return clusters;
}

static int cluster_size(CUfunction function)
{
    int size = 0;
    if (mmt_cu.cuFuncGetAttribute(&size, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                                  function))
        return 0;
    return size;
}

/* Of a kernel without clusters, on one multiprocessor; 0 where the driver does not say.
 */
static int blocks_at_once(const struct cuda_function *function)
{
    const unsigned *block = function->base.block;
    int blocks = 0;
    return mmt_cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
               &blocks, function->kernel->function,
               (int) (block[0] * block[1] * block[2]), function->base.shared)
               ? 0
               : blocks;
}

unsigned mmt_cuda_resident(struct mmt_function *base)
{
    const struct cuda_function *function = (const struct cuda_function *) base;
    int blocks = 0;
    bool pushed;
    CUresult result = mmt_cuda_enter(base->device, &pushed);
    int cluster = result == CUDA_SUCCESS ? cluster_size(function->kernel->function) : 0;
    if (cluster > 1)
        blocks = resident_clusters(function, cluster) * cluster;
    else if (result == CUDA_SUCCESS)
        blocks = blocks_at_once(function) * (int) base->device->caps.sms;
    mmt_cuda_leave(pushed);
    return blocks > 0 ? (unsigned) blocks : 0;
}

/* What every block of a kernel takes beside its own shared memory. */
static size_t reserved_shared(const struct cuda_device *device)
{
    int bytes = 0;
    if (mmt_cu.cuDeviceGetAttribute(
            &bytes, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, device->device))
        return 0;
    return (size_t) bytes;
}

/* Percent of a multiprocessor's shared memory that this kernel's blocks use when as many
 * run as can; all of it where the driver does not say how many. What is reserved alone
 * makes no claim. */
static int percent_in_use(const struct cuda_function *function)
{
    const struct cuda_device *device = (const struct cuda_device *) function->base.device;
    const size_t whole = device->base.caps.shared_per_sm;
    const size_t blocks = (size_t) blocks_at_once(function);
    int fixed = 0;

    if (!blocks || !whole || cluster_size(function->kernel->function) > 1 ||
        mmt_cu.cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                  function->kernel->function))
        return CU_SHAREDMEM_CARVEOUT_MAX_SHARED;
    const size_t own = (size_t) fixed + function->base.shared;
    const size_t used = own ? blocks * (own + reserved_shared(device)) : 0;
    return used < whole ? (int) ((100 * used + whole - 1) / whole)
                        : CU_SHAREDMEM_CARVEOUT_MAX_SHARED;
}

void mmt_cuda_set_carveout(struct mmt_function *const *functions, int count)
{
    int most = 0;
    bool pushed;

    if (mmt_cuda_enter(functions[0]->device, &pushed) == CUDA_SUCCESS)
        for (int i = 0; i < count; i++) {
            int own = percent_in_use((const struct cuda_function *) functions[i]);
            most = own > most ? own : most;
        }
    mmt_cuda_leave(pushed);
    for (int i = 0; i < count; i++)
        ((struct cuda_function *) functions[i])->carveout =
            most ? most : CU_SHAREDMEM_CARVEOUT_DEFAULT;
}

/* ---- launching ------------------------------------------------------------------- */

/* Whether the device has words by which a kernel waits for the one before, and the driver
 * also captures such launches into graphs. */
static bool can_begin_early(const mmt_device *device)
{
    enum { CAPTURES = 12030 };
    return device->caps.sm >= 90 && mmt_cuda_driver_version() >= CAPTURES &&
           mmt_cu.cuLaunchKernelEx;
}

/* The kernel, with this function's carveout. */
static CUfunction with_carveout(const struct mmt_function *base)
{
    const struct cuda_function *function = (const struct cuda_function *) base;
    if (atomic_load(&function->kernel->carveout) != function->carveout)
        tell_carveout(function->kernel, function->carveout);
    return function->kernel->function;
}

static CUresult launch(const struct mmt_function *base, const unsigned grid[3],
                       void **parameters, bool early, CUstream stream)
{
    CUfunction function = with_carveout(base);
    const unsigned *block = base->block;
    CUlaunchAttribute overlap = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        .value.programmaticStreamSerializationAllowed = 1,
    };
    const CUlaunchConfig config = {
        .gridDimX = grid[0],
        .gridDimY = grid[1],
        .gridDimZ = grid[2],
        .blockDimX = block[0],
        .blockDimY = block[1],
        .blockDimZ = block[2],
        .sharedMemBytes = (unsigned) base->shared,
        .hStream = stream,
        .attrs = &overlap,
        .numAttrs = 1,
    };
    if (early && can_begin_early(base->device))
        return mmt_cu.cuLaunchKernelEx(&config, function, parameters, NULL);
    return mmt_cu.cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1],
                                 block[2], (unsigned) base->shared, stream, parameters,
                                 NULL);
}

/* A stream is in order anyway. All members of a value's union begin at its first byte; a
 * map's bytes are the parameter. */
mmt_status mmt_cuda_launch(struct mmt_function *function, const unsigned grid[3],
                           const struct mmt_value *values, int num_values, unsigned order,
                           mmt_queue queue, struct mmt_events *events, mmt_error *err)
{
    void *parameters[MMT_MAX_KERNEL_VALUES];
    bool pushed;
    for (int i = 0; i < num_values; i++)
        parameters[i] = values[i].kind == MMT_VALUE_MAP ? (void *) values[i].map
                                                        : (void *) &values[i].buffer;
    CUresult result = mmt_cuda_enter(function->device, &pushed);
    if (result == CUDA_SUCCESS)
        result =
            launch(function, grid, parameters, order & MMT_ORDER_WAITS, (CUstream) queue);
    mmt_cuda_leave(pushed);
    return result == CUDA_SUCCESS ? MMT_OK
                                  : mmt_cuda_fail(err, "launch a kernel", result);
}
