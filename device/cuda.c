/* CUDA through the driver API, opened at run time. Everything happens in the device's
 * context, which is pushed and popped where it is not the thread's current one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mmtune/cuda.h>

#include "device/cards.h"
#include "device/cuda_internal.h"
#include "device/nvml.h"
#include "device/nvrtc.h"

/* ---- what a device can do -------------------------------------------------------- */

/* 0 where the driver does not tell. */
static int attribute(CUdevice device, CUdevice_attribute name)
{
    int value = 0;
    if (mmt_cu.cuDeviceGetAttribute(&value, name, device) != CUDA_SUCCESS || value < 0)
        return 0;
    return value;
}

static int capability(CUdevice device)
{
    return 10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
           attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/* Two transfers of the bus in a cycle of its clock. */
static size_t memory_rate(size_t khz, size_t bits)
{
    return 2 * 1000 * khz * (bits / 8);
}

#define ASK(name) (unsigned) attribute(device, CU_DEVICE_ATTRIBUTE_##name)

static void fill_limits(struct mmt_caps *caps, CUdevice device)
{
    caps->max_threads = ASK(MAX_THREADS_PER_BLOCK);
    caps->max_block[0] = ASK(MAX_BLOCK_DIM_X);
    caps->max_block[1] = ASK(MAX_BLOCK_DIM_Y);
    caps->max_block[2] = ASK(MAX_BLOCK_DIM_Z);
    caps->max_grid[0] = ASK(MAX_GRID_DIM_X);
    caps->max_grid[1] = ASK(MAX_GRID_DIM_Y);
    caps->max_grid[2] = ASK(MAX_GRID_DIM_Z);
    caps->shared = ASK(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (caps->shared == 0)
        caps->shared = ASK(MAX_SHARED_MEMORY_PER_BLOCK);
    caps->shared_per_sm = ASK(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    caps->registers = ASK(MAX_REGISTERS_PER_BLOCK);
    caps->registers_per_thread = mmt_registers_per_thread(caps->sm);
    caps->registers_per_sm = ASK(MAX_REGISTERS_PER_MULTIPROCESSOR);
    caps->threads_per_sm = ASK(MAX_THREADS_PER_MULTIPROCESSOR);
    caps->blocks_per_sm = ASK(MAX_BLOCKS_PER_MULTIPROCESSOR);
    caps->sms = ASK(MULTIPROCESSOR_COUNT);
    caps->warp = ASK(WARP_SIZE);
    caps->subgroups = caps->warp;
    caps->cache = ASK(L2_CACHE_SIZE);
    caps->clock_khz = ASK(CLOCK_RATE);
    caps->memory_rate = memory_rate(ASK(MEMORY_CLOCK_RATE), ASK(GLOBAL_MEMORY_BUS_WIDTH));
}

#undef ASK

/* "580.159.03, CUDA 13.0"; the kernel module's own version is not told everywhere. */
static void print_driver(char out[64])
{
    char version[32] = "";
    FILE *file = fopen("/sys/module/nvidia/version", "r");
    if (file) {
        if (fscanf(file, "%31s", version) != 1)
            version[0] = 0;
        fclose(file);
    }
    snprintf(out, 64, "%s%sCUDA %d.%d", version, version[0] ? ", " : "",
             mmt_cuda_driver_version() / 1000, mmt_cuda_driver_version() % 1000 / 10);
}

/* As nvidia-smi prints it, without "GPU-". */
static void print_uuid(CUdevice device, char out[40])
{
    CUuuid uuid;
    int length = 0;
    if (!mmt_cu.cuDeviceGetUuid_v2 || mmt_cu.cuDeviceGetUuid_v2(&uuid, device))
        return;
    for (int i = 0; i < 16; i++)
        length +=
            sprintf(out + length, "%s%02x", i > 2 && i < 12 && i % 2 == 0 ? "-" : "",
                    (unsigned) (unsigned char) uuid.bytes[i]);
}

/* Without a compiler the architecture is the card's own. */
static void name_target(struct mmt_caps *caps, const struct mmt_nvrtc *nvrtc)
{
    if (nvrtc)
        snprintf(caps->architecture, sizeof(caps->architecture), "%s",
                 nvrtc->architecture);
    else
        snprintf(caps->architecture, sizeof(caps->architecture), "sm_%d%s", caps->sm,
                 caps->sm >= 90 ? "a" : "");
    snprintf(caps->compiler, sizeof(caps->compiler), "%s", nvrtc ? nvrtc->name : "none");
}

static void fill_caps(struct mmt_caps *caps, CUdevice device,
                      const struct mmt_nvrtc *nvrtc)
{
    *caps = (struct mmt_caps){
        .backend = "cuda",
        .vendor = "NVIDIA",
        .dialect = MMT_CUDA_CXX,
        .kind = MMT_GPU,
        .sm = capability(device),
        .f64 = true,
        .buffer_align = 256,
    };
    mmt_cu.cuDeviceGetName(caps->name, sizeof(caps->name) - 1, device);
    mmt_cu.cuDeviceTotalMem_v2(&caps->memory, device);
    name_target(caps, nvrtc);
    print_driver(caps->driver);
    print_uuid(device, caps->uuid);
    fill_limits(caps, device);
    mmt_caps_make_plain(caps);
}

/* ---- finding and opening --------------------------------------------------------- */

static mmt_status append(struct mmt_device_info **list, size_t *count,
                         const struct mmt_device_info *info, mmt_error *err)
{
    struct mmt_device_info *grown = realloc(*list, (*count + 1) * sizeof(*grown));
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for the list of devices");
    grown[(*count)++] = *info;
    *list = grown;
    return MMT_OK;
}

/* A card that nothing can be compiled for runs bundles all the same. */
static mmt_status list_one(int ordinal, struct mmt_device_info **list, size_t *count,
                           struct mmt_text *notes, mmt_error *err)
{
    struct mmt_device_info info = { 0 };
    struct mmt_nvrtc *nvrtc = NULL;
    CUdevice device;
    mmt_error why = { 0 };
    CUresult result = mmt_cu.cuDeviceGet(&device, ordinal);
    if (result != CUDA_SUCCESS) {
        mmt_cuda_fail(&why, "open it", result);
        if (notes)
            mmt_text_addf(notes, "cuda:%d cannot be used: %s\n", ordinal, why.text);
        return MMT_OK;
    }
    if (mmt_nvrtc_open(capability(device), false, &nvrtc, &why) && notes)
        mmt_text_addf(notes, "cuda:%d compiles nothing and runs bundles alone: %s\n",
                      ordinal, why.text);
    fill_caps(&info.caps, device, nvrtc);
    snprintf(info.id, sizeof(info.id), "cuda:%d", ordinal);
    mmt_nvrtc_close(nvrtc);
    return append(list, count, &info, err);
}

static mmt_status cuda_list(struct mmt_device_info **list, size_t *count,
                            struct mmt_text *notes, mmt_error *err)
{
    int devices = 0;
    mmt_error why = { 0 };
    if (!mmt_cuda_has_devices())
        return MMT_OK;
    if (mmt_cuda_start_driver(&why) != MMT_OK) {
        if (notes)
            mmt_text_addf(notes, "%s\n", why.text);
        return MMT_OK;
    }
    mmt_cu.cuDeviceGetCount(&devices);
    for (int i = 0; i < devices; i++) {
        mmt_status status = list_one(i, list, count, notes, err);
        if (status != MMT_OK)
            return status;
    }
    return MMT_OK;
}

static mmt_status find_device(int ordinal, CUdevice *out, mmt_error *err)
{
    int devices = 0;
    mmt_status status = mmt_cuda_start_driver(err);
    if (status != MMT_OK)
        return status;
    mmt_cu.cuDeviceGetCount(&devices);
    if (ordinal < 0 || ordinal >= devices)
        return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                        "there is no device cuda:%d; CUDA has %d here, numbered from 0",
                        ordinal, devices);
    CUresult result = mmt_cu.cuDeviceGet(out, ordinal);
    return result == CUDA_SUCCESS ? MMT_OK
                                  : mmt_cuda_fail(err, "open the device", result);
}

/* Checks that the caller's context is one of this device. */
static mmt_status check_context(const struct cuda_device *device, mmt_error *err)
{
    bool pushed;
    CUdevice of = -1;
    CUresult result = mmt_cuda_enter(&device->base, &pushed);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuCtxGetDevice(&of);
    mmt_cuda_leave(pushed);
    if (result != CUDA_SUCCESS)
        return mmt_cuda_fail(err, "use the context", result);
    if (of != device->device)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "the context is one of device %d; %s was asked for", (int) of,
                        device->base.id);
    return MMT_OK;
}

static mmt_status take_context(struct cuda_device *device, CUcontext context,
                               mmt_error *err)
{
    device->context = context;
    if (context)
        return check_context(device, err);
    CUresult result = mmt_cu.cuDevicePrimaryCtxRetain(&device->context, device->device);
    if (result != CUDA_SUCCESS)
        return mmt_cuda_fail(err, "make a context", result);
    device->primary = true;
    return MMT_OK;
}

static void cuda_close(mmt_device *base)
{
    struct cuda_device *device = (struct cuda_device *) base;
    if (device->primary)
        mmt_cu.cuDevicePrimaryCtxRelease_v2(device->device);
    mmt_nvml_close(device->nvml);
    mmt_nvrtc_close(device->nvrtc);
    pthread_mutex_destroy(&device->lock);
    sem_destroy(&device->released);
    free(device);
}

static mmt_status open_ordinal(int ordinal, CUcontext context, mmt_device **out,
                               mmt_error *err)
{
    CUdevice found;
    mmt_status status = find_device(ordinal, &found, err);
    if (status != MMT_OK)
        return status;
    struct cuda_device *device = calloc(1, sizeof(*device));
    if (!device)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for a device");
    device->base.backend = &mmt_backend_cuda;
    device->device = found;
    pthread_mutex_init(&device->lock, NULL);
    sem_init(&device->released, 0, 0);
    snprintf(device->base.id, sizeof(device->base.id), "cuda:%d", ordinal);

    mmt_nvrtc_open(capability(found), false, &device->nvrtc, &device->no_compiler);
    status = take_context(device, context, err);
    if (status != MMT_OK) {
        cuda_close(&device->base);
        return status;
    }
    fill_caps(&device->base.caps, found, device->nvrtc);
    snprintf(device->base.title, sizeof(device->base.title), "%s (%s)",
             device->base.caps.name, device->base.id);
    *out = &device->base;
    return MMT_OK;
}

static mmt_status cuda_open(const char *which, mmt_device **out, mmt_error *err)
{
    size_t digits = strspn(which, "0123456789");
    if (which[digits] || digits > 8)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "cuda:%s names no device; right would be cuda:0", which);
    return open_ordinal(atoi(which), NULL, out, err);
}

mmt_device *mmt_cuda_device(int ordinal, struct CUctx_st *context, mmt_error *err)
{
    mmt_device *device;
    return open_ordinal(ordinal, context, &device, err) == MMT_OK ? device : NULL;
}

/* ---- building and health --------------------------------------------------------- */

static void cuda_compiler_key(const mmt_device *device, struct mmt_text *key)
{
    const struct mmt_nvrtc *nvrtc = ((const struct cuda_device *) device)->nvrtc;
    if (nvrtc)
        mmt_nvrtc_key(nvrtc, key);
    else
        mmt_text_add(key, "cuda c++, no compiler");
}

static mmt_status cuda_compile(mmt_device *device, const char *source,
                               struct mmt_binary *binary, mmt_error *err)
{
    const struct cuda_device *cuda = (const struct cuda_device *) device;
    if (cuda->nvrtc)
        return mmt_nvrtc_compile(cuda->nvrtc, source, binary, err);
    return mmt_fail(err, cuda->no_compiler.status, "%s", cuda->no_compiler.text);
}

/* NVML is asked for at the first question: programs that only multiply never wait for it.
 * The device stays locked; false where there is none. */
static bool lock_nvml(struct cuda_device *device)
{
    char pci[32];
    pthread_mutex_lock(&device->lock);
    if (!device->asked_nvml &&
        mmt_cu.cuDeviceGetPCIBusId(pci, sizeof(pci), device->device) == CUDA_SUCCESS)
        device->nvml = mmt_nvml_open(pci);
    device->asked_nvml = true;
    return device->nvml;
}

static bool cuda_health(mmt_device *base, struct mmt_health *out)
{
    struct cuda_device *device = (struct cuda_device *) base;
    bool told = lock_nvml(device) && mmt_nvml_health(device->nvml, out);
    pthread_mutex_unlock(&device->lock);
    return told;
}

static bool cuda_energy(mmt_device *base, struct mmt_energy *out)
{
    struct cuda_device *device = (struct cuda_device *) base;
    bool told = lock_nvml(device) && mmt_nvml_energy(device->nvml, out);
    pthread_mutex_unlock(&device->lock);
    return told;
}

const struct mmt_backend mmt_backend_cuda = {
    .name = "cuda",
    .list = cuda_list,
    .open = cuda_open,
    .close = cuda_close,
    .buffer_create = mmt_cuda_buffer_create,
    .buffer_free = mmt_cuda_buffer_free,
    .buffer_write = mmt_cuda_buffer_write,
    .buffer_read = mmt_cuda_buffer_read,
    .matrix_write = mmt_cuda_matrix_write,
    .matrix_read = mmt_cuda_matrix_read,
    .finish = mmt_cuda_finish,
    .compiler_key = cuda_compiler_key,
    .compile = cuda_compile,
    .module_load = mmt_cuda_module_load,
    .module_free = mmt_cuda_module_free,
    .function_create = mmt_cuda_function_create,
    .function_free = mmt_cuda_function_free,
    .function_usage = mmt_cuda_function_usage,
    .launch = mmt_cuda_launch,
    .mark_create = mmt_cuda_mark_create,
    .mark_free = mmt_cuda_mark_free,
    .mark_record = mmt_cuda_mark_record,
    .mark_seconds = mmt_cuda_mark_seconds,
    .queue_create = mmt_cuda_queue_create,
    .queue_free = mmt_cuda_queue_free,
    .queue_hold = mmt_cuda_queue_hold,
    .queue_release = mmt_cuda_queue_release,
    .queue_captures = mmt_cuda_queue_captures,
    .thread_mode = mmt_cuda_thread_mode,
    .capture_begin = mmt_cuda_capture_begin,
    .capture_end = mmt_cuda_capture_end,
    .graph_launch = mmt_cuda_graph_launch,
    .graph_free = mmt_cuda_graph_free,
    .health = cuda_health,
    .energy = cuda_energy,
    .resident = mmt_cuda_resident,
    .set_carveout = mmt_cuda_set_carveout,
    .tensor_map_encode = mmt_cuda_tensor_map_encode,
};
