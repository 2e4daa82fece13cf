/* An OpenCL layer (OPENCL_LAYERS of the loader) under which a platform is odd in a way
 * that some are, and that OpenCL allows or their users see. MMT_ODD is one of
 *
 *   unstamped   events have no times, but no error either
 *   alike       the times of all events are the same
 *   lazy        what is written is not seen by other queues before its own is finished
 *   twins       every device is there twice
 *   wasteful    devices are GPUs, and kernels with more than 1 KiB of local memory are
 *               refused when they are launched
 *   grouped     devices tell subgroups of 8, 12 and 32 threads */
#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "layer.h"

static bool is_odd(const char *way)
{
    const char *odd = getenv("MMT_ODD");
    return odd && !strcmp(odd, way);
}

/* ---- times ----------------------------------------------------------------------- */

static cl_int CL_API_CALL event_time(cl_event event, cl_profiling_info what, size_t size,
                                     void *value, size_t *size_out)
{
    const cl_ulong same = is_odd("alike") ? 4096 : 0;
    cl_int code = below->clGetEventProfilingInfo(event, what, size, value, size_out);
    if (!code && value)
        memcpy(value, &same, sizeof same);
    return code;
}

/* ---- what is written ------------------------------------------------------------- */

/* The last write, if it has not been done yet. It holds its queue and its buffer, as an
 * enqueued command does; any thread may write. */
static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    cl_command_queue queue;
    cl_mem to;
    size_t offset, size;
    void *bytes;
} late;

/* Needs the lock. */
static void write_last(void)
{
    if (!late.bytes)
        return;
    below->clEnqueueWriteBuffer(late.queue, late.to, CL_TRUE, late.offset, late.size,
                                late.bytes, 0, NULL, NULL);
    below->clFinish(late.queue);
    below->clReleaseCommandQueue(late.queue);
    below->clReleaseMemObject(late.to);
    free(late.bytes);
    late.bytes = NULL;
}

static void write_late(cl_command_queue queue)
{
    pthread_mutex_lock(&late_lock);
    if (queue == late.queue)
        write_last();
    pthread_mutex_unlock(&late_lock);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem to, cl_bool blocks,
                                       size_t offset, size_t size, const void *from,
                                       cl_uint count, const cl_event *list,
                                       cl_event *event)
{
    bool waits = false;
    pthread_mutex_lock(&late_lock);
    write_last();
    if (!event && !count && (late.bytes = malloc(size))) {
        memcpy(late.bytes, from, size);
        late.queue = queue, late.to = to, late.offset = offset, late.size = size;
        below->clRetainCommandQueue(queue);
        below->clRetainMemObject(to);
        waits = true;
    }
    pthread_mutex_unlock(&late_lock);
    return waits ? CL_SUCCESS
                 : below->clEnqueueWriteBuffer(queue, to, blocks, offset, size, from,
                                               count, list, event);
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem from, cl_bool blocks,
                                      size_t offset, size_t size, void *to, cl_uint count,
                                      const cl_event *list, cl_event *event)
{
    write_late(queue);
    return below->clEnqueueReadBuffer(queue, from, blocks, offset, size, to, count, list,
                                      event);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    write_late(queue);
    return below->clFinish(queue);
}

/* ---- devices --------------------------------------------------------------------- */

static cl_int CL_API_CALL device_ids(cl_platform_id platform, cl_device_type type,
                                     cl_uint room, cl_device_id *ids, cl_uint *count)
{
    cl_uint single = 0;
    cl_int code = below->clGetDeviceIDs(platform, type, room, ids, &single);
    for (cl_uint i = 0; !code && ids && i < single && single + i < room; i++)
        ids[single + i] = ids[i];
    if (count)
        *count = 2 * single;
    return code;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what,
                                      size_t size, void *value, size_t *size_out)
{
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    cl_int code = below->clGetDeviceInfo(device, what, size, value, size_out);
    if (!code && value && what == CL_DEVICE_TYPE)
        memcpy(value, &gpu, sizeof gpu);
    return code;
}

/* `bytes` of an answer. */
static cl_int give(const void *from, size_t bytes, size_t size, void *value,
                   size_t *size_out)
{
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, bytes);
    if (size_out)
        *size_out = bytes;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL grouped_info(cl_device_id device, cl_device_info what,
                                       size_t size, void *value, size_t *size_out)
{
    static const char extensions[] = "cl_khr_fp64 cl_khr_subgroup_shuffle "
                                     "cl_intel_required_subgroup_size";
    static const size_t sizes[] = { 8, 12, 32 };
    if (what == CL_DEVICE_EXTENSIONS)
        return give(extensions, sizeof extensions, size, value, size_out);
    if (what == CL_DEVICE_SUB_GROUP_SIZES_INTEL)
        return give(sizes, sizeof sizes, size, value, size_out);
    return below->clGetDeviceInfo(device, what, size, value, size_out);
}

/* ---- launches -------------------------------------------------------------------- */

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel,
                                 cl_uint dimensions, const size_t *from,
                                 const size_t *global, const size_t *local, cl_uint count,
                                 const cl_event *list, cl_event *event)
{
    cl_device_id device = NULL;
    cl_ulong bytes = 0;
    write_late(queue);
    below->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    below->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE,
                                    sizeof bytes, &bytes, NULL);
    if (is_odd("wasteful") && bytes > 1024)
        return CL_OUT_OF_RESOURCES;
    return below->clEnqueueNDRangeKernel(queue, kernel, dimensions, from, global, local,
                                         count, list, event);
}

/* ---- the layer ------------------------------------------------------------------- */

static void set_functions(void)
{
    if (is_odd("unstamped") || is_odd("alike"))
        ours.clGetEventProfilingInfo = event_time;
    if (is_odd("lazy")) {
        ours.clEnqueueWriteBuffer = write_buffer;
        ours.clEnqueueReadBuffer = read_buffer;
        ours.clFinish = finish;
    }
    if (is_odd("twins"))
        ours.clGetDeviceIDs = device_ids;
    if (is_odd("wasteful"))
        ours.clGetDeviceInfo = device_info;
    if (is_odd("grouped"))
        ours.clGetDeviceInfo = grouped_info;
    if (is_odd("wasteful") || is_odd("lazy"))
        ours.clEnqueueNDRangeKernel = launch;
}
