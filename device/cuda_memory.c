/* Memory, queues, marks and graphs of the CUDA backend. */
#include <stdlib.h>

#include "device/cuda_internal.h"

/* ---- memory ---------------------------------------------------------------------- */

static mmt_status fail_allocation(size_t bytes, CUresult result, mmt_error *err)
{
    size_t left = 0, total = 0;
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        return mmt_cuda_fail(err, "make a buffer", result);
    mmt_cu.cuMemGetInfo_v2(&left, &total);
    return mmt_fail_native(
        err, MMT_ERROR_MEMORY, (int) result,
        "a buffer of %zu bytes: the device has %zu of its %zu bytes left", bytes, left,
        total);
}

/* Also while a stream is captured into a graph, as a first execution's workspace may be.
 */
mmt_status mmt_cuda_buffer_create(mmt_device *device, size_t bytes, mmt_operand *out,
                                  mmt_error *err)
{
    bool pushed;
    CUdeviceptr memory = 0;
    mmt_status status = MMT_OK;
    CUresult result = mmt_cuda_enter(device, &pushed);
    const int mode = mmt_cuda_thread_mode(device, -1);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuMemAlloc_v2(&memory, bytes);
    mmt_cuda_thread_mode(device, mode);
    if (result == CUDA_SUCCESS)
        *out = (mmt_operand){ memory, 0 };
    else
        status = fail_allocation(bytes, result, err);
    mmt_cuda_leave(pushed);
    return status;
}

void mmt_cuda_buffer_free(mmt_device *device, mmt_operand buffer)
{
    bool pushed;
    if (mmt_cuda_enter(device, &pushed) == CUDA_SUCCESS)
        mmt_cu.cuMemFree_v2(buffer.handle);
    mmt_cuda_leave(pushed);
}

/* A copy of pageable memory may return while its last part is under way. */
mmt_status mmt_cuda_buffer_write(mmt_device *device, mmt_operand to, const void *from,
                                 size_t bytes, mmt_error *err)
{
    bool pushed;
    CUresult result = mmt_cuda_enter(device, &pushed);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuMemcpyHtoD_v2(to.handle + to.offset, from, bytes);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuStreamSynchronize(NULL);
    mmt_cuda_leave(pushed);
    return result == CUDA_SUCCESS ? MMT_OK
                                  : mmt_cuda_fail(err, "write to a buffer", result);
}

mmt_status mmt_cuda_buffer_read(mmt_device *device, void *to, mmt_operand from,
                                size_t bytes, mmt_error *err)
{
    bool pushed;
    CUresult result = mmt_cuda_enter(device, &pushed);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuMemcpyDtoH_v2(to, from.handle + from.offset, bytes);
    mmt_cuda_leave(pushed);
    return result == CUDA_SUCCESS ? MMT_OK
                                  : mmt_cuda_fail(err, "read from a buffer", result);
}

/* A copy that has its addresses and their kinds of memory, of these rows. */
static CUresult copy_rows(CUDA_MEMCPY2D *copy, const struct mmt_pitched *rows)
{
    const bool reads = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    copy->srcPitch = reads ? rows->device_step : rows->host_step;
    copy->dstPitch = reads ? rows->host_step : rows->device_step;
    copy->WidthInBytes = rows->bytes;
    copy->Height = rows->count;
    return mmt_cu.cuMemcpy2D_v2(copy);
}

mmt_status mmt_cuda_matrix_write(mmt_device *device, mmt_operand to, const void *from,
                                 const struct mmt_pitched *rows, mmt_error *err)
{
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = from,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = to.handle + to.offset,
    };
    bool pushed;
    CUresult result = mmt_cuda_enter(device, &pushed);
    if (result == CUDA_SUCCESS)
        result = copy_rows(&copy, rows);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuStreamSynchronize(NULL);
    mmt_cuda_leave(pushed);
    return result == CUDA_SUCCESS ? MMT_OK : mmt_cuda_fail(err, "write a matrix", result);
}

mmt_status mmt_cuda_matrix_read(mmt_device *device, void *to, mmt_operand from,
                                const struct mmt_pitched *rows, mmt_error *err)
{
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = from.handle + from.offset,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = to,
    };
    bool pushed;
    CUresult result = mmt_cuda_enter(device, &pushed);
    if (result == CUDA_SUCCESS)
        result = copy_rows(&copy, rows);
    mmt_cuda_leave(pushed);
    return result == CUDA_SUCCESS ? MMT_OK : mmt_cuda_fail(err, "read a matrix", result);
}

mmt_status mmt_cuda_finish(mmt_device *device, mmt_queue queue, mmt_error *err)
{
    bool pushed;
    CUresult result = mmt_cuda_enter(device, &pushed);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuStreamSynchronize((CUstream) queue);
    mmt_cuda_leave(pushed);
    return result == CUDA_SUCCESS ? MMT_OK
                                  : mmt_cuda_fail(err, "finish its work", result);
}

/* ---- queues and marks ------------------------------------------------------------ */

mmt_status mmt_cuda_mark_create(mmt_device *device, struct mmt_mark **out, mmt_error *err)
{
    bool pushed;
    struct cuda_mark *mark = calloc(1, sizeof(*mark));
    if (!mark)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for a mark");
    mark->base.device = device;
    CUresult result = mmt_cuda_enter(device, &pushed);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuEventCreate(&mark->event, CU_EVENT_DEFAULT);
    mmt_cuda_leave(pushed);
    if (result != CUDA_SUCCESS) {
        free(mark);
        return mmt_cuda_fail(err, "make an event", result);
    }
    *out = &mark->base;
    return MMT_OK;
}

void mmt_cuda_mark_free(struct mmt_mark *base)
{
    struct cuda_mark *mark = (struct cuda_mark *) base;
    bool pushed;
    if (mmt_cuda_enter(base->device, &pushed) == CUDA_SUCCESS)
        mmt_cu.cuEventDestroy_v2(mark->event);
    mmt_cuda_leave(pushed);
    free(mark);
}

mmt_status mmt_cuda_mark_record(struct mmt_mark *mark, mmt_queue queue, mmt_error *err)
{
    bool pushed;
    CUresult result = mmt_cuda_enter(mark->device, &pushed);
    if (result == CUDA_SUCCESS)
        result =
            mmt_cu.cuEventRecord(((struct cuda_mark *) mark)->event, (CUstream) queue);
    mmt_cuda_leave(pushed);
    return result == CUDA_SUCCESS ? MMT_OK
                                  : mmt_cuda_fail(err, "record an event", result);
}

mmt_status mmt_cuda_mark_seconds(struct mmt_mark *from, struct mmt_mark *to,
                                 double *seconds, mmt_error *err)
{
    CUevent begin = ((struct cuda_mark *) from)->event;
    CUevent end = ((struct cuda_mark *) to)->event;
    float milliseconds = 0;
    bool pushed;
    CUresult result = mmt_cuda_enter(to->device, &pushed);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuEventSynchronize(end);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuEventElapsedTime(&milliseconds, begin, end);
    mmt_cuda_leave(pushed);
    if (result != CUDA_SUCCESS)
        return mmt_cuda_fail(err, "time the work", result);
    *seconds = 1e-3 * milliseconds;
    return MMT_OK;
}

mmt_status mmt_cuda_queue_create(mmt_device *device, mmt_queue *out, mmt_error *err)
{
    bool pushed;
    CUstream stream = NULL;
    CUresult result = mmt_cuda_enter(device, &pushed);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    mmt_cuda_leave(pushed);
    if (result != CUDA_SUCCESS)
        return mmt_cuda_fail(err, "make a stream", result);
    *out = (mmt_queue) stream;
    return MMT_OK;
}

void mmt_cuda_queue_free(mmt_device *device, mmt_queue queue)
{
    bool pushed;
    if (mmt_cuda_enter(device, &pushed) == CUDA_SUCCESS)
        mmt_cu.cuStreamDestroy_v2((CUstream) queue);
    mmt_cuda_leave(pushed);
}

static void wait_for_release(void *released)
{
    while (sem_wait(released))
        continue; /* a signal came */
}

bool mmt_cuda_queue_hold(mmt_device *base, mmt_queue queue)
{
    struct cuda_device *device = (struct cuda_device *) base;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    bool pushed;
    while (!sem_trywait(&device->released))
        continue; /* of a hold that the device never came to */
    if (mmt_cu.cuLaunchHostFunc && mmt_cuda_enter(base, &pushed) == CUDA_SUCCESS) {
        result = mmt_cu.cuLaunchHostFunc((CUstream) queue, wait_for_release,
                                         &device->released);
        mmt_cuda_leave(pushed);
    }
    return result == CUDA_SUCCESS;
}

void mmt_cuda_queue_release(mmt_device *device)
{
    sem_post(&((struct cuda_device *) device)->released);
}

/* ---- graphs that others capture, and our own --------------------------------------- */

static bool captures(mmt_queue queue)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = mmt_cu.cuStreamIsCapturing((CUstream) queue, &status);
    return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
           (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE);
}

bool mmt_cuda_queue_captures(mmt_device *device, mmt_queue queue)
{
    bool pushed, found = false;
    if (mmt_cu.cuStreamIsCapturing && mmt_cuda_enter(device, &pushed) == CUDA_SUCCESS) {
        found = captures(queue) || captures(NULL);
        mmt_cuda_leave(pushed);
    }
    return found;
}

int mmt_cuda_thread_mode(mmt_device *device, int mode)
{
    CUstreamCaptureMode exchanged =
        mode < 0 ? CU_STREAM_CAPTURE_MODE_RELAXED : (CUstreamCaptureMode) mode;
    if (mmt_cu.cuThreadExchangeStreamCaptureMode)
        mmt_cu.cuThreadExchangeStreamCaptureMode(&exchanged);
    return (int) exchanged;
}

/* A driver that has the youngest of these functions has all. */
bool mmt_cuda_capture_begin(mmt_device *device, mmt_queue queue)
{
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    bool pushed;
    if (mmt_cu.cuGraphInstantiateWithFlags &&
        mmt_cuda_enter(device, &pushed) == CUDA_SUCCESS) {
        result = mmt_cu.cuStreamBeginCapture_v2((CUstream) queue,
                                                CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        mmt_cuda_leave(pushed);
    }
    return result == CUDA_SUCCESS;
}

struct mmt_graph *mmt_cuda_capture_end(mmt_device *device, mmt_queue queue)
{
    struct cuda_graph *graph = calloc(1, sizeof *graph);
    CUgraph captured = NULL;
    bool pushed;
    CUresult result = mmt_cuda_enter(device, &pushed);
    if (result == CUDA_SUCCESS)
        result = mmt_cu.cuStreamEndCapture((CUstream) queue, &captured);
    if (result == CUDA_SUCCESS && graph)
        result = mmt_cu.cuGraphInstantiateWithFlags(&graph->exec, captured, 0);
    if (captured)
        mmt_cu.cuGraphDestroy(captured);
    mmt_cuda_leave(pushed);
    if (result != CUDA_SUCCESS || !graph) {
        free(graph);
        return NULL;
    }
    graph->base.device = device;
    return &graph->base;
}

mmt_status mmt_cuda_graph_launch(struct mmt_graph *graph, mmt_queue queue, mmt_error *err)
{
    bool pushed;
    CUresult result = mmt_cuda_enter(graph->device, &pushed);
    if (result == CUDA_SUCCESS)
        result =
            mmt_cu.cuGraphLaunch(((struct cuda_graph *) graph)->exec, (CUstream) queue);
    mmt_cuda_leave(pushed);
    return result == CUDA_SUCCESS ? MMT_OK : mmt_cuda_fail(err, "launch a graph", result);
}

void mmt_cuda_graph_free(struct mmt_graph *base)
{
    struct cuda_graph *graph = (struct cuda_graph *) base;
    bool pushed;
    if (mmt_cuda_enter(base->device, &pushed) == CUDA_SUCCESS)
        mmt_cu.cuGraphExecDestroy(graph->exec);
    mmt_cuda_leave(pushed);
    free(graph);
}
