/* mmtune with a caller's own OpenCL. Nothing here needs OpenCL's headers. */
#ifndef MMTUNE_OPENCL_H
#define MMTUNE_OPENCL_H

#include <mmtune/mmtune.h>

#ifdef __cplusplus
extern "C" {
#endif

struct _cl_context;
struct _cl_device_id;
struct _cl_mem;
struct _cl_command_queue;
struct _cl_event;

/* Opens a device of the caller's context, which is retained until the device is closed.
 * A sub-device is a device like any other; what was tuned on the whole device does not
 * speak of it, and it has a profile of its own under -o.
 * The device's own queue (NULL in mmt_execute) is one that mmtune makes in that context.
 */
MMT_API mmt_device *mmt_opencl_device(struct _cl_context *context,
                                      struct _cl_device_id *id, mmt_error *err);

/* The OpenCL device behind a device, which keeps it; NULL where it is none of OpenCL. */
MMT_API struct _cl_device_id *mmt_opencl_device_id(const mmt_device *device);

/* A buffer as an operand, from an offset in bytes. */
static inline mmt_operand mmt_opencl_operand(struct _cl_mem *buffer, size_t offset)
{
    mmt_operand operand = { (uint64_t) (uintptr_t) buffer, offset };
    return operand;
}

/* A command queue as a queue. It may be out-of-order. */
static inline mmt_queue mmt_opencl_queue(struct _cl_command_queue *queue)
{
    return (mmt_queue) queue;
}

/* mmt_execute, which begins once the `num_events` events are done, and gives one that is
 * done when all of the execution is. The queue may be NULL, the device's own, and it may
 * be out-of-order: then nothing else orders the execution among what the queue has. The
 * caller keeps `events` and releases *event by clReleaseEvent; `event` may be NULL. As
 * with any command, the queue is flushed by the caller before another one waits for the
 * event. Where there is nothing to compute, the event waits for the events alone, or
 * where there are none for what the queue has.
 *
 * Errors: those of mmt_execute; MMT_ERROR_ARGUMENT, before anything is queued, for a null
 * event and for a plan that is not of OpenCL. On failure *event is as it was. Threads: as
 * mmt_execute. */
MMT_API mmt_status mmt_opencl_execute(const mmt_plan *plan, const mmt_args *args,
                                      struct _cl_command_queue *queue,
                                      unsigned num_events,
                                      struct _cl_event *const *events,
                                      struct _cl_event **event, mmt_error *err);

#ifdef __cplusplus
}
#endif
#endif
