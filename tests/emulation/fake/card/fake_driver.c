/* CUDA's driver for the cards of card.h. Their memory is the host's, which runs their
 * kernels, too (tests/emulation/cuda). By their own clock a launch takes a millisecond at
 * 2000 MHz, whatever it does, and longer where they run slower: three times as long where
 * its text has the line that MMT_FAKE_SLOW holds; what MMT_FAKE_DEADLY holds ends the
 * process instead. A graph that a thread captures keeps how long its launches take, which
 * is MMT_FAKE_CAPTURED of what they take else; where that is 0 there are no graphs.
 * MMT_FAKE_NAME is their name; with MMT_FAKE_ODD_NAME that of every other card. With
 * MMT_FAKE_UUIDS, set, each has a UUID of its own. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_api.h"
#include "tests/emulation/cuda/sources.h"
#include "tests/emulation/fake/card/card.h"

struct CUctx_st {
    CUdevice device;
};

struct CUfunc_st {
    char *name;
    struct emulate_kernel kernel;
    bool slow;               /* takes three times as long */
    bool deadly;             /* ends the process */
    unsigned long long made; /* resets of devices before it was */
    int shared;              /* most bytes of dynamic shared memory */
    int carveout; /* percent of a multiprocessor's shared memory; -1: the driver's choice
                   */
    CUfunction next;
};

struct CUmod_st {
    char *text;
    CUfunction functions;
};

struct CUevent_st {
    double at;
};

struct CUgraph_st {
    double seconds;
    long launches;
};

enum { MOST_CARDS = 8, DEEPEST = 8, CAPABILITY = 75 };
enum { SHARED = 65536, THREADS = 1024, BLOCKS = 16 }; /* of a multiprocessor */

static struct CUctx_st contexts[MOST_CARDS];
static atomic_ullong resets; /* of all devices */
static atomic_int retained[MOST_CARDS];
static _Thread_local CUcontext stack[DEEPEST];
static _Thread_local int depth;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of kernels, and of these: */
static double now;                    /* seconds that launches have taken */
static _Thread_local CUgraph capture; /* that the thread has begun */

/* ---- the driver and its devices -------------------------------------------------- */

/* Kernels that are built later find block.c's functions here. */
EXPORT(CUresult) cuInit(unsigned flags)
{
    Dl_info self;
    if (!dladdr(contexts, &self) ||
        !dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD))
        return CUDA_ERROR_NOT_INITIALIZED;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuDriverGetVersion(int *version)
{
    *version = 12000;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuGetErrorName(CUresult error, const char **name)
{
    *name = "CUDA_ERROR";
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuGetErrorString(CUresult error, const char **text)
{
    *text = "an error of CUDA";
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuDeviceGetCount(int *count)
{
    *count = card_count();
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal < card_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

EXPORT(CUresult) cuDeviceGetName(char *name, int size, CUdevice device)
{
    const char *odd = device % 2 ? getenv("MMT_FAKE_ODD_NAME") : NULL;
    const char *told = odd ? odd : getenv("MMT_FAKE_NAME");
    snprintf(name, (size_t) size, "%s", told ? told : "Card that is not there");
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    if (!getenv("MMT_FAKE_UUIDS"))
        return CUDA_ERROR_NOT_SUPPORTED;
    memset(uuid, 17 + device, sizeof *uuid);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    *bytes = (size_t) 1 << 30;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuDeviceGetPCIBusId(char *pci, int size, CUdevice device)
{
    struct card card;
    if (!card_at(device, &card))
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(pci, (size_t) size, "%s", card.pci);
    return CUDA_SUCCESS;
}

EXPORT(CUresult)
cuDeviceGetAttribute(int *value, CUdevice_attribute name, CUdevice device)
{
    static const int values[] = {
        [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = CAPABILITY / 10,
        [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = CAPABILITY % 10,
        [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
        [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
        [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
        [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
        [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = INT32_MAX,
        [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
        [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
        [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152,
        [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 65536,
        [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = SHARED,
        [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 65536,
        [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = 65536,
        [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = THREADS,
        [CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = BLOCKS,
        [CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 2,
        [CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
        [CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 65536,
        [CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 2000000,
    };
    *value = (size_t) name < sizeof values / sizeof *values ? values[name] : 0;
    return CUDA_SUCCESS;
}

/* ---- contexts -------------------------------------------------------------------- */

EXPORT(CUresult) cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    *out = &contexts[device];
    contexts[device].device = device;
    retained[device]++;
    return CUDA_SUCCESS;
}

EXPORT(CUresult)
cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = retained[device] > 0;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    retained[device]--;
    return CUDA_SUCCESS;
}

/* The product does not call these two by its table of the driver. */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuCtxGetId(CUcontext context, unsigned long long *id);

EXPORT(CUresult) cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    atomic_fetch_add(&resets, 1);
    return CUDA_SUCCESS;
}

/* A context that is made anew is at the same address. */
EXPORT(CUresult) cuCtxGetId(CUcontext context, unsigned long long *id)
{
    *id = 1 + (uintptr_t) context + atomic_load(&resets);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuCtxGetCurrent(CUcontext *out)
{
    *out = depth ? stack[depth - 1] : NULL;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuCtxSetCurrent(CUcontext context)
{
    if (!context) {
        depth -= depth > 0;
        return CUDA_SUCCESS;
    }
    if (!depth)
        depth = 1;
    stack[depth - 1] = context;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuCtxGetDevice(CUdevice *device)
{
    if (!depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = stack[depth - 1]->device;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuCtxPushCurrent_v2(CUcontext context)
{
    if (depth == DEEPEST)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuCtxPopCurrent_v2(CUcontext *out)
{
    if (!depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    *out = stack[--depth];
    return CUDA_SUCCESS;
}

/* ---- memory ---------------------------------------------------------------------- */

EXPORT(CUresult) cuMemGetInfo_v2(size_t *free, size_t *all)
{
    *free = *all = (size_t) 1 << 30;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    *out = (CUdeviceptr) (uintptr_t) memory;
    return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT(CUresult) cuMemFree_v2(CUdeviceptr memory)
{
    free((void *) (uintptr_t) memory);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    memcpy((void *) (uintptr_t) to, from, bytes);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    const bool reads = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    const char *from = reads ? (const char *) copy->srcDevice : copy->srcHost;
    char *to = reads ? copy->dstHost : (char *) copy->dstDevice;
    for (size_t i = 0; i < copy->Height; i++)
        memcpy(to + i * copy->dstPitch, from + i * copy->srcPitch, copy->WidthInBytes);
    return CUDA_SUCCESS;
}

/* Its table of the driver has it not. */
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);

EXPORT(CUresult)
cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    memcpy((void *) (uintptr_t) to, (const void *) (uintptr_t) from, bytes);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (const void *) (uintptr_t) from, bytes);
    return CUDA_SUCCESS;
}

/* ---- kernels --------------------------------------------------------------------- */

EXPORT(CUresult)
cuModuleLoadDataEx(CUmodule *out, const void *text, unsigned count, CUjit_option *options,
                   void **values)
{
    *out = calloc(1, sizeof **out);
    (*out)->text = strdup(text);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuModuleUnload(CUmodule module)
{
    for (CUfunction next; module->functions; module->functions = next) {
        next = module->functions->next;
        free(module->functions->name);
        free(module->functions);
    }
    free(module->text);
    free(module);
    return CUDA_SUCCESS;
}

/* Whether a text has the line that a variable of the environment holds. */
static bool has_line(const char *text, const char *variable)
{
    const char *line = getenv(variable);
    return line && *line && strstr(text, line);
}

static CUresult find_function(CUfunction *out, CUmodule module, const char *name)
{
    struct emulate_kernel kernel;
    mmt_error err = { 0 };
    for (*out = module->functions; *out; *out = (*out)->next)
        if (!strcmp((*out)->name, name))
            return CUDA_SUCCESS;
    if (emulate_build(module->text, name, CAPABILITY, &kernel, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return CUDA_ERROR_NOT_FOUND;
    }
    *out = calloc(1, sizeof **out);
    **out = (struct CUfunc_st){ .name = strdup(name),
                                .kernel = kernel,
                                .slow = has_line(module->text, "MMT_FAKE_SLOW"),
                                .deadly = has_line(module->text, "MMT_FAKE_DEADLY"),
                                .carveout = -1,
                                .made = atomic_load(&resets),
                                .next = module->functions };
    module->functions = *out;
    return CUDA_SUCCESS;
}

/* A name's function is one, whoever asks. */
EXPORT(CUresult) cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
    pthread_mutex_lock(&lock);
    const CUresult result = find_function(out, module, name);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT(CUresult)
cuFuncGetAttribute(int *value, CUfunction_attribute name, CUfunction function)
{
    *value = name == CU_FUNC_ATTRIBUTE_NUM_REGS                        ? 32
             : name == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK         ? 1024
             : name == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? function->shared
                                                                       : 0;
    return CUDA_SUCCESS;
}

EXPORT(CUresult)
cuFuncSetAttribute(CUfunction function, CUfunction_attribute name, int value)
{
    if (name == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        function->shared = value;
    if (name == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        function->carveout = value;
    return CUDA_SUCCESS;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

EXPORT(CUresult)
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                            size_t shared)
{
    int there = function->carveout < 0 ? SHARED : SHARED * function->carveout / 100;
    *blocks = least(BLOCKS, THREADS / threads);
    if (shared)
        *blocks = least(*blocks, there / (int) shared);
    return CUDA_SUCCESS;
}

/* What is captured takes its time when the graph is launched. Under the lock. */
static void spend(double seconds)
{
    *(capture ? &capture->seconds : &now) += seconds;
}

/* For the stand-in NVML: whether a library's work came last, not a launch. */
EXPORT(bool) fake_library_works;

/* For libraries that are fakes as well: what they did took so long. */
EXPORT(void) fake_work(double seconds);
EXPORT(void) fake_work(double seconds)
{
    pthread_mutex_lock(&lock);
    spend(seconds);
    fake_library_works = true;
    pthread_mutex_unlock(&lock);
}

/* For tests: of the last launch, and how many there were. */
EXPORT(int) fake_carveout;
EXPORT(long) fake_launches;

/* A file that MMT_FAKE_LAUNCHES names is told how many there were. */
__attribute__((destructor)) static void tell_launches(void)
{
    const char *path = getenv("MMT_FAKE_LAUNCHES");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%ld\n", fake_launches);
    fclose(file);
}

/* The part of its time that a captured launch takes. */
static double captured_part(void)
{
    const char *part = getenv("MMT_FAKE_CAPTURED");
    return part ? atof(part) : 1;
}

/* What a launch takes. */
static double launch_seconds(CUfunction function)
{
    struct card card;
    bool known = depth && card_at(stack[depth - 1]->device, &card) && card.mhz > 0;
    return 1e-3 * (known ? 2000.0 / card.mhz : 1) * (function->slow ? 3 : 1) *
           (capture ? captured_part() : 1);
}

EXPORT(CUresult)
cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
               CUstream stream, void **args, void **extra)
{
    const struct emulate_launch launch = {
        .entry = function->kernel.entry,
        .args = args,
        .shared = function->kernel.shared(),
        .shared_bytes = shared,
        .grid = { grid_x, grid_y, grid_z },
        .block = { block_x, block_y, block_z },
    };
    if (function->deadly || function->made != atomic_load(&resets))
        abort();
    pthread_mutex_lock(&lock);
    const char *why = capture ? NULL : emulate_run(&launch);
    fake_carveout = function->carveout;
    ++*(capture ? &capture->launches : &fake_launches);
    fake_library_works = false;
    if (why)
        fprintf(stderr, "%s\n", why);
    spend(launch_seconds(function));
    pthread_mutex_unlock(&lock);
    return why ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
}

/* ---- streams and events ---------------------------------------------------------- */

EXPORT(CUresult) cuStreamCreate(CUstream *out, unsigned flags)
{
    *out = malloc(1);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuStreamSynchronize(CUstream stream)
{
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuStreamDestroy_v2(CUstream stream)
{
    free(stream);
    return CUDA_SUCCESS;
}

/* A capture that a test has begun. */
EXPORT(CUstreamCaptureStatus) fake_capture = CU_STREAM_CAPTURE_STATUS_NONE;

EXPORT(CUresult) cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *out)
{
    *out = fake_capture;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    if (captured_part() <= 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!stream || capture)
        return CUDA_ERROR_INVALID_VALUE;
    capture = calloc(1, sizeof *capture);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuStreamEndCapture(CUstream stream, CUgraph *out)
{
    *out = capture;
    capture = NULL;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* One that can be launched is a copy. */
EXPORT(CUresult)
cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    CUgraph copy = malloc(sizeof *copy);
    *copy = *graph;
    *out = (CUgraphExec) copy;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuGraphDestroy(CUgraph graph)
{
    free(graph);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    const struct CUgraph_st *graph = (CUgraph) exec;
    pthread_mutex_lock(&lock);
    spend(graph->seconds);
    fake_launches += graph->launches;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuGraphExecDestroy(CUgraphExec exec)
{
    free(exec);
    return CUDA_SUCCESS;
}

/* How often a thread asked to disturb no capture, less how often it took that back. */
EXPORT(int) fake_relaxed = 0;

EXPORT(CUresult) cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
    const CUstreamCaptureMode before = now;
    now = *mode;
    fake_relaxed += (now == CU_STREAM_CAPTURE_MODE_RELAXED) -
                    (before == CU_STREAM_CAPTURE_MODE_RELAXED);
    *mode = before;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuEventCreate(CUevent *out, unsigned flags)
{
    *out = calloc(1, sizeof **out);
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuEventRecord(CUevent event, CUstream stream)
{
    event->at = now;
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuEventQuery(CUevent event)
{
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuEventSynchronize(CUevent event)
{
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to)
{
    *milliseconds = (float) (1e3 * (to->at - from->at));
    return CUDA_SUCCESS;
}

EXPORT(CUresult) cuEventDestroy_v2(CUevent event)
{
    free(event);
    return CUDA_SUCCESS;
}
