/* Memory, queues and the time between two points of a queue. */
#include "device/opencl_internal.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

/* ---- memory ---------------------------------------------------------------------- */

static cl_mem memory_of(mmt_operand operand)
{
    return (cl_mem) (uintptr_t) operand.handle;
}

static mmt_status refuse_size(struct opencl_device *device, size_t bytes, cl_int code,
                              mmt_error *err)
{
    cl_ulong most = 0;
    clGetDeviceInfo(device->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL);
    return mmt_fail_native(
        err, MMT_ERROR_MEMORY, code,
        "%s cannot make a buffer of %zu bytes: %s (%d); it makes at most "
        "%llu bytes in one, of %zu in all",
        device->base.caps.name, bytes, mmt_opencl_error_name(code), code,
        (unsigned long long) most, device->base.caps.memory);
}

mmt_status mmt_opencl_buffer_create(mmt_device *base, size_t bytes, mmt_operand *out,
                                    mmt_error *err)
{
    struct opencl_device *device = mmt_opencl_of(base);
    cl_int code;
    cl_mem memory =
        clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (memory) {
        *out = (mmt_operand){ (uint64_t) (uintptr_t) memory, 0 };
        return MMT_OK;
    }
    bool memory_is_out = code == CL_INVALID_BUFFER_SIZE || code == CL_OUT_OF_RESOURCES ||
                         code == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return memory_is_out ? refuse_size(device, bytes, code, err)
                         : mmt_opencl_fail(err, code, "clCreateBuffer");
}

mmt_status mmt_opencl_buffer_wrap(mmt_device *base, void *host, size_t bytes,
                                  mmt_operand *out, mmt_error *err)
{
    struct opencl_device *device = mmt_opencl_of(base);
    cl_int code;
    if (base->caps.kind != MMT_CPU)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "%s is no CPU, and does not use the host's memory in place",
                        base->title);
    cl_mem memory = clCreateBuffer(
        device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, host, &code);
    if (!memory)
        return mmt_opencl_fail(err, code, "clCreateBuffer");
    *out = (mmt_operand){ (uint64_t) (uintptr_t) memory, 0 };
    return MMT_OK;
}

void mmt_opencl_buffer_free(mmt_device *device, mmt_operand buffer)
{
    clReleaseMemObject(memory_of(buffer));
}

/* A handle may belong to another buffer by now, so that nothing of it is remembered. */
mmt_status mmt_opencl_buffer_check(mmt_device *device, mmt_operand operand,
                                   mmt_argument which, uint64_t bytes, mmt_error *err)
{
    size_t size = 0;
    cl_context context = NULL;
    cl_mem memory = memory_of(operand);
    cl_int code = clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(size), &size, NULL);
    if (!code)
        code =
            clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof(context), &context, NULL);
    if (code) {
        mmt_fail_native(err, MMT_ERROR_ARGUMENT, code, "%s is no cl_mem: %s (%d)",
                        mmt_argument_name(which), mmt_opencl_error_name(code), code);
        return mmt_blame(err, MMT_ERROR_ARGUMENT, which);
    }
    if (context != mmt_opencl_of(device)->context)
        return mmt_fail_argument(err, which,
                                 "%s is a buffer of another context than the device's",
                                 mmt_argument_name(which));
    if (operand.offset <= size && bytes <= size - operand.offset)
        return MMT_OK;
    return mmt_fail_argument(
        err, which, "%s needs %llu bytes from byte %zu on; its buffer has %zu",
        mmt_argument_name(which), (unsigned long long) bytes, operand.offset, size);
}

static mmt_status fail_copy(mmt_operand buffer, size_t bytes, const char *call,
                            cl_int code, mmt_error *err)
{
    size_t size = 0;
    clGetMemObjectInfo(memory_of(buffer), CL_MEM_SIZE, sizeof(size), &size, NULL);
    if (code == CL_INVALID_VALUE &&
        (buffer.offset > size || bytes > size - buffer.offset))
        return mmt_fail_native(err, MMT_ERROR_ARGUMENT, code,
                               "%zu bytes from byte %zu on do not lie in a buffer of %zu",
                               bytes, buffer.offset, size);
    return mmt_opencl_fail(err, code, call);
}

mmt_status mmt_opencl_buffer_write(mmt_device *device, mmt_operand to, const void *from,
                                   size_t bytes, mmt_error *err)
{
    cl_int code = clEnqueueWriteBuffer(mmt_opencl_of(device)->queue, memory_of(to),
                                       CL_TRUE, to.offset, bytes, from, 0, NULL, NULL);
    if (code)
        return fail_copy(to, bytes, "clEnqueueWriteBuffer", code, err);
    /* OpenCL promises what was written to other queues once this one is done with it, and
     * a write that blocks need not be: on Intel's CPUs others still see what was there.
     */
    return mmt_opencl_finish(device, NULL, err);
}

mmt_status mmt_opencl_buffer_read(mmt_device *device, void *to, mmt_operand from,
                                  size_t bytes, mmt_error *err)
{
    cl_int code = clEnqueueReadBuffer(mmt_opencl_of(device)->queue, memory_of(from),
                                      CL_TRUE, from.offset, bytes, to, 0, NULL, NULL);
    return code ? fail_copy(from, bytes, "clEnqueueReadBuffer", code, err) : MMT_OK;
}

mmt_status mmt_opencl_matrix_write(mmt_device *device, mmt_operand to, const void *from,
                                   const struct mmt_pitched *rows, mmt_error *err)
{
    const size_t there[3] = { to.offset, 0, 0 }, here[3] = { 0, 0, 0 };
    const size_t region[3] = { rows->bytes, rows->count, 1 };
    cl_int code = clEnqueueWriteBufferRect(
        mmt_opencl_of(device)->queue, memory_of(to), CL_TRUE, there, here, region,
        rows->device_step, 0, rows->host_step, 0, from, 0, NULL, NULL);
    return code ? mmt_opencl_fail(err, code, "clEnqueueWriteBufferRect")
                : mmt_opencl_finish(device, NULL, err); /* as after mmt_buffer_write */
}

mmt_status mmt_opencl_matrix_read(mmt_device *device, void *to, mmt_operand from,
                                  const struct mmt_pitched *rows, mmt_error *err)
{
    const size_t there[3] = { from.offset, 0, 0 }, here[3] = { 0, 0, 0 };
    const size_t region[3] = { rows->bytes, rows->count, 1 };
    cl_int code = clEnqueueReadBufferRect(mmt_opencl_of(device)->queue, memory_of(from),
                                          CL_TRUE, there, here, region, rows->device_step,
                                          0, rows->host_step, 0, to, 0, NULL, NULL);
    return code ? mmt_opencl_fail(err, code, "clEnqueueReadBufferRect") : MMT_OK;
}

/* ---- queues ---------------------------------------------------------------------- */

mmt_status mmt_opencl_finish(mmt_device *device, mmt_queue queue, mmt_error *err)
{
    cl_int code = clFinish(mmt_opencl_queue_of(device, queue));
    return code ? mmt_opencl_fail(err, code, "clFinish") : MMT_OK;
}

mmt_status mmt_opencl_queue_create(mmt_device *base, mmt_queue *out, mmt_error *err)
{
    struct opencl_device *device = mmt_opencl_of(base);
    cl_int code;
    *out = (mmt_queue) clCreateCommandQueue(device->context, device->id,
                                            CL_QUEUE_PROFILING_ENABLE, &code);
    return *out ? MMT_OK : mmt_opencl_fail(err, code, "clCreateCommandQueue");
}

void mmt_opencl_queue_free(mmt_device *device, mmt_queue queue)
{
    clReleaseCommandQueue((cl_command_queue) queue);
}

/* ---- marks ----------------------------------------------------------------------- */

/* A mark is a marker command whose end the device stamps, or, on platforms that stamp
 * none, or all alike, the host's clock after waiting for the queue. */
struct opencl_mark {
    struct mmt_mark base;
    bool by_host;
    cl_event event; /* NULL until recorded */
    double seconds; /* by the host's clock, when it was recorded */
};

static struct opencl_mark *of(const struct mmt_mark *mark)
{
    return (struct opencl_mark *) mark;
}

static cl_int stamp(cl_event event, cl_ulong *nanoseconds)
{
    *nanoseconds = 0;
    return clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(*nanoseconds),
                                   nanoseconds, NULL);
}

/* The stamp of a marker that is queued and waited for; 0 where it has none. */
static cl_ulong stamp_marker(cl_command_queue queue)
{
    cl_event event = NULL;
    cl_ulong when = 0;
    if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &event))
        return 0;
    if (clFinish(queue) || stamp(event, &when))
        when = 0;
    clReleaseEvent(event);
    return when;
}

/* Whether stamps of markers tell of the millisecond between them. */
static bool stamps_markers(cl_command_queue queue)
{
    const struct timespec millisecond = { 0, 1000000 };
    const cl_ulong first = stamp_marker(queue);
    if (!first)
        return false;
    nanosleep(&millisecond, NULL);
    return stamp_marker(queue) > first;
}

mmt_status mmt_opencl_mark_create(mmt_device *device, struct mmt_mark **out,
                                  mmt_error *err)
{
    mmt_queue queue;
    mmt_status status = mmt_opencl_queue_create(device, &queue, err);
    if (status)
        return status;
    struct opencl_mark *mark = calloc(1, sizeof(*mark));
    if (mark) {
        mark->base.device = device;
        mark->by_host = !stamps_markers((cl_command_queue) queue);
        *out = &mark->base;
    }
    mmt_opencl_queue_free(device, queue);
    return mark ? MMT_OK : mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a mark");
}

static void forget(struct opencl_mark *mark)
{
    if (mark->event)
        clReleaseEvent(mark->event);
    mark->event = NULL;
}

void mmt_opencl_mark_free(struct mmt_mark *mark)
{
    forget(of(mark));
    free(mark);
}

static mmt_status record_host(struct opencl_mark *mark, cl_command_queue queue,
                              mmt_error *err)
{
    cl_int code = clFinish(queue);
    if (code)
        return mmt_opencl_fail(err, code, "clFinish");
    mark->seconds = mmt_now();
    return MMT_OK;
}

mmt_status mmt_opencl_mark_record(struct mmt_mark *base, mmt_queue given, mmt_error *err)
{
    struct opencl_mark *mark = of(base);
    cl_command_queue queue = mmt_opencl_queue_of(base->device, given);
    if (mark->by_host)
        return record_host(mark, queue, err);
    forget(mark);
    mark->seconds = mmt_now();
    cl_int code = clEnqueueMarkerWithWaitList(queue, 0, NULL, &mark->event);
    return code ? mmt_opencl_fail(err, code, "clEnqueueMarkerWithWaitList") : MMT_OK;
}

mmt_status mmt_opencl_mark_seconds(struct mmt_mark *from, struct mmt_mark *to,
                                   double *seconds, mmt_error *err)
{
    const struct opencl_mark *first = of(from), *last = of(to);
    if (first->by_host) {
        *seconds = last->seconds - first->seconds;
        return MMT_OK;
    }
    if (!first->event || !last->event)
        return mmt_fail(
            err, MMT_ERROR_ARGUMENT,
            "a mark was never recorded; both must be before their time is asked");
    cl_ulong begin, end;
    cl_int code = clWaitForEvents(1, &last->event);
    if (code)
        return mmt_opencl_fail(err, code, "clWaitForEvents");
    code = stamp(first->event, &begin);
    if (!code)
        code = stamp(last->event, &end);
    if (code)
        return mmt_opencl_fail(err, code, "clGetEventProfilingInfo");
    *seconds =
        begin && end > begin ? 1e-9 * (double) (end - begin) : mmt_now() - first->seconds;
    return MMT_OK;
}
