/* libOpenCL.so.1 with one CPU that is not there. It has the functions that are in
 * device/opencl.fn. Nothing is compiled: kernel.h says what a text means. A queue has
 * executed what is put into it at once, on a clock of its own, which goes by what
 * launches take, and by a nanosecond at each event.
 *
 *   POCL_CACHE_DIR            a folder: a file there for each text that is built, or none
 *                             is
 *   POCL_MAX_WORK_GROUP_SIZE  threads of a work-group; usual: 4096
 *   MMT_FAKE_WAITS            set: who waits for the queue waits as long as its clock
 * says MMT_FAKE_WORKS            seconds of the processor that each launch uses up */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/emulation/fake/opencl/kernel.h"
#include "tests/emulation/fake/opencl/work.h"

#define EXPORT(type) __attribute__((visibility("default"))) CL_API_ENTRY type CL_API_CALL

/* The objects of which there is one. */
static int platform, device;
#define THE_PLATFORM ((cl_platform_id) (void *) &platform)
#define THE_DEVICE   ((cl_device_id) (void *) &device)

struct _cl_context {
    int users;
};

struct _cl_command_queue {
    cl_context context;
};

struct _cl_mem {
    struct memory memory; /* first: an argument holds its address */
    cl_context context;
};

struct _cl_program {
    char *text, *log;
};

struct _cl_kernel {
    struct meaning meaning;
    struct argument arguments[MOST_PARAMETERS];
};

struct _cl_event {
    int users;
    cl_ulong at; /* ns */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_ulong now = 1, owed; /* ns; the host has yet to wait for so many */

/* ---- answers --------------------------------------------------------------------- */

static cl_int give(const void *from, size_t bytes, size_t size, void *to, size_t *needed)
{
    if (needed)
        *needed = bytes;
    if (to && size < bytes)
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, from, bytes);
    return CL_SUCCESS;
}

static cl_int give_text(const char *text, size_t size, void *to, size_t *needed)
{
    return give(text, strlen(text) + 1, size, to, needed);
}

static void *made(void *object, cl_int *code)
{
    if (code)
        *code = object ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    return object;
}

/* ---- platform and device --------------------------------------------------------- */

EXPORT(cl_int) clGetPlatformIDs(cl_uint size, cl_platform_id *out, cl_uint *count)
{
    if (count)
        *count = 1;
    if (size)
        *out = THE_PLATFORM;
    return CL_SUCCESS;
}

EXPORT(cl_int)
clGetPlatformInfo(cl_platform_id id, cl_platform_info what, size_t size, void *to,
                  size_t *needed)
{
    if (what == CL_PLATFORM_VERSION)
        return give_text("OpenCL 1.2 Stand-in 1", size, to, needed);
    return give_text("Stand-in", size, to, needed);
}

EXPORT(cl_int)
clGetDeviceIDs(cl_platform_id id, cl_device_type type, cl_uint size, cl_device_id *out,
               cl_uint *count)
{
    if (count)
        *count = 1;
    if (size)
        *out = THE_DEVICE;
    return CL_SUCCESS;
}

static const char *text_of_device(cl_device_info what)
{
    return what == CL_DEVICE_NAME         ? "CPU that is not there"
           : what == CL_DEVICE_VENDOR     ? "Nobody"
           : what == CL_DEVICE_VERSION    ? "OpenCL 1.2 Stand-in"
           : what == CL_DRIVER_VERSION    ? "1"
           : what == CL_DEVICE_EXTENSIONS ? "cl_khr_fp64"
                                          : NULL;
}

static cl_uint figure_of_device(cl_device_info what)
{
    static const struct {
        cl_device_info what;
        cl_uint value;
    } figures[] = {
        { CL_DEVICE_AVAILABLE, CL_TRUE },
        { CL_DEVICE_COMPILER_AVAILABLE, CL_TRUE },
        { CL_DEVICE_MAX_COMPUTE_UNITS, 2 },
        { CL_DEVICE_MAX_CLOCK_FREQUENCY, 2000 },
        { CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, 3 },
        { CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 8 },
        { CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024 },
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (figures[i].what == what)
            return figures[i].value;
    return 0;
}

/* Of a work-group. */
static size_t most_threads(void)
{
    const char *given = getenv("POCL_MAX_WORK_GROUP_SIZE");
    return given ? strtoul(given, NULL, 10) : 4096;
}

static cl_ulong size_of_device(cl_device_info what)
{
    return what == CL_DEVICE_TYPE                    ? CL_DEVICE_TYPE_CPU
           : what == CL_DEVICE_MAX_WORK_GROUP_SIZE   ? most_threads()
           : what == CL_DEVICE_LOCAL_MEM_SIZE        ? 512 << 10
           : what == CL_DEVICE_GLOBAL_MEM_CACHE_SIZE ? 32 << 10
           : what == CL_DEVICE_GLOBAL_MEM_SIZE       ? (cl_ulong) 4 << 30
           : what == CL_DEVICE_MAX_MEM_ALLOC_SIZE    ? (cl_ulong) 1 << 30
           : what == CL_DEVICE_DOUBLE_FP_CONFIG      ? CL_FP_FMA
                                                     : 0;
}

EXPORT(cl_int)
clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t size, void *to,
                size_t *needed)
{
    const size_t sizes[3] = { most_threads(), most_threads(), most_threads() };
    const cl_platform_id of = THE_PLATFORM;
    const char *text = text_of_device(what);
    const cl_uint figure = figure_of_device(what);
    const cl_ulong wide = size_of_device(what);
    if (text)
        return give_text(text, size, to, needed);
    if (figure)
        return give(&figure, sizeof figure, size, to, needed);
    if (wide)
        return give(&wide, sizeof wide, size, to, needed);
    if (what == CL_DEVICE_PLATFORM)
        return give(&of, sizeof of, size, to, needed);
    return what == CL_DEVICE_MAX_WORK_ITEM_SIZES
               ? give(sizes, sizeof sizes, size, to, needed)
               : CL_INVALID_VALUE;
}

/* ---- contexts and queues --------------------------------------------------------- */

EXPORT(cl_context)
clCreateContext(const cl_context_properties *properties, cl_uint count,
                const cl_device_id *devices,
                void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                void *data, cl_int *code)
{
    cl_context context = made(calloc(1, sizeof *context), code);
    if (context)
        context->users = 1;
    return context;
}

EXPORT(cl_int) clRetainContext(cl_context context)
{
    context->users++;
    return CL_SUCCESS;
}

EXPORT(cl_int) clReleaseContext(cl_context context)
{
    if (--context->users == 0)
        free(context);
    return CL_SUCCESS;
}

EXPORT(cl_int)
clGetContextInfo(cl_context context, cl_context_info what, size_t size, void *to,
                 size_t *needed)
{
    const cl_device_id id = THE_DEVICE;
    return give(&id, sizeof id, size, to, needed);
}

EXPORT(cl_command_queue)
clCreateCommandQueue(cl_context context, cl_device_id id,
                     cl_command_queue_properties properties, cl_int *code)
{
    cl_command_queue queue = made(calloc(1, sizeof *queue), code);
    if (queue)
        queue->context = context;
    return queue;
}

EXPORT(cl_int) clReleaseCommandQueue(cl_command_queue queue)
{
    free(queue);
    return CL_SUCCESS;
}

EXPORT(cl_int)
clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info what, size_t size,
                      void *to, size_t *needed)
{
    const cl_command_queue_properties none = 0;
    return give(&none, sizeof none, size, to, needed);
}

static cl_ulong take_owed(void)
{
    pthread_mutex_lock(&lock);
    const cl_ulong taken = owed;
    owed = 0;
    pthread_mutex_unlock(&lock);
    return taken;
}

static void wait_for_queue(void)
{
    const cl_ulong ns = take_owed(), second = 1000000000;
    const struct timespec pause = { (time_t) (ns / second), (long) (ns % second) };
    if (getenv("MMT_FAKE_WAITS"))
        nanosleep(&pause, NULL);
}

EXPORT(cl_int) clFinish(cl_command_queue queue)
{
    wait_for_queue();
    return CL_SUCCESS;
}

/* ---- memory ---------------------------------------------------------------------- */

static void settle(void)
{
    wait_for_queue();
    pthread_mutex_lock(&lock);
    work_settle();
    pthread_mutex_unlock(&lock);
}

EXPORT(cl_mem)
clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
               cl_int *code)
{
    const bool is_ours = !(flags & CL_MEM_USE_HOST_PTR);
    if (!size || size > size_of_device(CL_DEVICE_MAX_MEM_ALLOC_SIZE)) {
        *code = CL_INVALID_BUFFER_SIZE;
        return NULL;
    }
    cl_mem memory = made(calloc(1, sizeof *memory), code);
    char *bytes = memory && is_ours ? aligned_alloc(128, (size + 127) / 128 * 128) : host;
    if (memory && bytes) {
        memory->memory = (struct memory){ bytes, size, is_ours };
        memory->context = context;
        return memory;
    }
    free(memory);
    return made(NULL, code);
}

EXPORT(cl_int) clReleaseMemObject(cl_mem memory)
{
    settle();
    if (memory->memory.is_ours)
        free(memory->memory.bytes);
    free(memory);
    return CL_SUCCESS;
}

EXPORT(cl_int)
clGetMemObjectInfo(cl_mem memory, cl_mem_info what, size_t size, void *to, size_t *needed)
{
    return what == CL_MEM_SIZE
               ? give(&memory->memory.size, sizeof memory->memory.size, size, to, needed)
               : give(&memory->context, sizeof memory->context, size, to, needed);
}

static bool lies_in(cl_mem memory, size_t offset, size_t size)
{
    return offset <= memory->memory.size && size <= memory->memory.size - offset;
}

EXPORT(cl_int)
clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to, cl_bool waits, size_t offset,
                     size_t size, const void *from, cl_uint count, const cl_event *events,
                     cl_event *event)
{
    settle();
    if (!lies_in(to, offset, size))
        return CL_INVALID_VALUE;
    memcpy(to->memory.bytes + offset, from, size);
    return CL_SUCCESS;
}

EXPORT(cl_int)
clEnqueueReadBuffer(cl_command_queue queue, cl_mem from, cl_bool waits, size_t offset,
                    size_t size, void *to, cl_uint count, const cl_event *events,
                    cl_event *event)
{
    settle();
    if (!lies_in(from, offset, size))
        return CL_INVALID_VALUE;
    memcpy(to, from->memory.bytes + offset, size);
    return CL_SUCCESS;
}

/* Of both rectangles the first begins at its offset, and has rows alone. */
EXPORT(cl_int)
clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem to, cl_bool waits,
                         const size_t *there, const size_t *here, const size_t *region,
                         size_t row, size_t slice, size_t host_row, size_t host_slice,
                         const void *from, cl_uint count, const cl_event *events,
                         cl_event *event)
{
    settle();
    if (!lies_in(to, there[0], (region[1] - 1) * row + region[0]))
        return CL_INVALID_VALUE;
    for (size_t i = 0; i < region[1]; i++)
        memcpy(to->memory.bytes + there[0] + i * row, (const char *) from + i * host_row,
               region[0]);
    return CL_SUCCESS;
}

EXPORT(cl_int)
clEnqueueReadBufferRect(cl_command_queue queue, cl_mem from, cl_bool waits,
                        const size_t *there, const size_t *here, const size_t *region,
                        size_t row, size_t slice, size_t host_row, size_t host_slice,
                        void *to, cl_uint count, const cl_event *events, cl_event *event)
{
    settle();
    if (!lies_in(from, there[0], (region[1] - 1) * row + region[0]))
        return CL_INVALID_VALUE;
    for (size_t i = 0; i < region[1]; i++)
        memcpy((char *) to + i * host_row, from->memory.bytes + there[0] + i * row,
               region[0]);
    return CL_SUCCESS;
}

/* ---- programs -------------------------------------------------------------------- */

EXPORT(cl_program)
clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                          const size_t *lengths, cl_int *code)
{
    cl_program program = made(calloc(1, sizeof *program), code);
    if (program)
        program->text = strndup(texts[0], lengths[0]);
    return program;
}

EXPORT(cl_program)
clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                          const size_t *lengths, const unsigned char **binaries,
                          cl_int *status, cl_int *code)
{
    *code = CL_INVALID_BINARY;
    return NULL;
}

static bool write_file(const char *path, const char *text)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const ssize_t size = (ssize_t) strlen(text);
    const bool good = file >= 0 && write(file, text, (size_t) size) == size;
    if (file >= 0)
        close(file);
    return good;
}

/* Like PoCL, it keeps what it has built, and builds nothing where it cannot. */
static bool keep(const char *text)
{
    static unsigned builds;
    const char *folder = getenv("POCL_CACHE_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/%d-%u", folder ? folder : "", (int) getpid(),
             builds++);
    return !folder || write_file(path, text);
}

static cl_int fail_to_build(cl_program program, const char *why)
{
    program->log = strdup(why);
    return CL_BUILD_PROGRAM_FAILURE;
}

EXPORT(cl_int)
clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
               const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
               void *data)
{
    const struct fate fate = fate_of(program->text);
    if (!strcmp(fate.word, "die"))
        abort();
    if (!strcmp(fate.word, "refuse"))
        return fail_to_build(program, fate.words);
    return keep(program->text) ? CL_SUCCESS : fail_to_build(program, strerror(errno));
}

EXPORT(cl_int)
clGetProgramBuildInfo(cl_program program, cl_device_id id, cl_program_build_info what,
                      size_t size, void *to, size_t *needed)
{
    return give_text(program->log ? program->log : "", size, to, needed);
}

/* It gives no binary: the text stands for it. */
EXPORT(cl_int)
clGetProgramInfo(cl_program program, cl_program_info what, size_t size, void *to,
                 size_t *needed)
{
    const cl_device_id id = THE_DEVICE;
    const size_t none = 0;
    return what == CL_PROGRAM_DEVICES ? give(&id, sizeof id, size, to, needed)
                                      : give(&none, sizeof none, size, to, needed);
}

EXPORT(cl_int) clReleaseProgram(cl_program program)
{
    free(program->text);
    free(program->log);
    free(program);
    return CL_SUCCESS;
}

/* ---- kernels --------------------------------------------------------------------- */

EXPORT(cl_kernel) clCreateKernel(cl_program program, const char *entry, cl_int *code)
{
    cl_kernel kernel = made(calloc(1, sizeof *kernel), code);
    if (!kernel || meaning_read(program->text, entry, &kernel->meaning))
        return kernel;
    free(kernel);
    *code = CL_INVALID_KERNEL_NAME;
    return NULL;
}

EXPORT(cl_int) clReleaseKernel(cl_kernel kernel)
{
    free(kernel->meaning.text);
    free(kernel);
    return CL_SUCCESS;
}

EXPORT(cl_int)
clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id id,
                         cl_kernel_work_group_info what, size_t size, void *to,
                         size_t *needed)
{
    const size_t none[3] = { 0, 0, 0 }, most = most_threads();
    const cl_ulong bytes = 0;
    return what == CL_KERNEL_COMPILE_WORK_GROUP_SIZE
               ? give(none, sizeof none, size, to, needed)
           : what == CL_KERNEL_WORK_GROUP_SIZE
               ? give(&most, sizeof most, size, to, needed)
               : give(&bytes, sizeof bytes, size, to, needed);
}

EXPORT(cl_int)
clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    struct argument *argument = &kernel->arguments[index];
    if ((int) index >= kernel->meaning.count)
        return CL_INVALID_ARG_INDEX;
    if (size > sizeof argument->bytes)
        return CL_INVALID_ARG_SIZE;
    *argument = (struct argument){ .size = size };
    if (value)
        memcpy(argument->bytes, value, size);
    memcpy(&argument->memory, argument->bytes, sizeof argument->memory);
    return CL_SUCCESS;
}

/* ---- work and events ------------------------------------------------------------- */

static cl_event event_at(cl_ulong at)
{
    cl_event event = calloc(1, sizeof *event);
    if (event)
        *event = (struct _cl_event){ .users = 1, .at = at };
    return event;
}

static double processor_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double) used.tv_sec + 1e-9 * (double) used.tv_nsec;
}

static void use_processor(void)
{
    const char *seconds = getenv("MMT_FAKE_WORKS");
    const double end = processor_seconds() + (seconds ? atof(seconds) : 0);
    while (seconds && processor_seconds() < end)
        ;
}

EXPORT(cl_int)
clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                       const size_t *offset, const size_t *global, const size_t *local,
                       cl_uint count, const cl_event *events, cl_event *event)
{
    double seconds = 0;
    if (local[0] * local[1] * local[2] > most_threads())
        return CL_INVALID_WORK_GROUP_SIZE;
    use_processor();
    pthread_mutex_lock(&lock);
    const bool went = meaning_launch(&kernel->meaning, kernel->arguments,
                                     global[2] / local[2], &seconds);
    now += (cl_ulong) (1e9 * seconds);
    owed += (cl_ulong) (1e9 * seconds);
    if (event)
        *event = event_at(now);
    pthread_mutex_unlock(&lock);
    return went ? CL_SUCCESS : CL_INVALID_KERNEL_ARGS;
}

EXPORT(cl_int)
clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *events,
                            cl_event *event)
{
    pthread_mutex_lock(&lock);
    *event = event_at(++now);
    pthread_mutex_unlock(&lock);
    return CL_SUCCESS;
}

EXPORT(cl_int)
clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count,
                             const cl_event *events, cl_event *event)
{
    return CL_SUCCESS;
}

EXPORT(cl_int) clWaitForEvents(cl_uint count, const cl_event *events)
{
    wait_for_queue();
    return CL_SUCCESS;
}

EXPORT(cl_int)
clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *to, size_t *needed)
{
    const cl_int done = CL_COMPLETE;
    return give(&done, sizeof done, size, to, needed);
}

EXPORT(cl_int)
clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void *to,
                        size_t *needed)
{
    return give(&event->at, sizeof event->at, size, to, needed);
}

EXPORT(cl_int) clRetainEvent(cl_event event)
{
    event->users++;
    return CL_SUCCESS;
}

EXPORT(cl_int) clReleaseEvent(cl_event event)
{
    if (--event->users == 0)
        free(event);
    return CL_SUCCESS;
}
