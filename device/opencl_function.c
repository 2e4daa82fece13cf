/* Kernels and their launches.
 *
 * OpenCL keeps arguments on the kernel object, so a function owns a pool of them. A
 * launch claims one for itself, sets what is not set yet, queues it (which copies the
 * arguments) and gives it back. Nobody holds a lock; a launch that finds all of them
 * claimed waits for one of those launches to be queued. */
#include "device/opencl_internal.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { POOL = 16, CACHE_LINE = 64 };

/* `last` is what the kernel object holds, as bits, for arguments whose bit is in `set`.
 */
struct slot {
    _Alignas(CACHE_LINE) atomic_flag claimed;
    cl_kernel kernel;
    uint32_t set;
    uint64_t last[MMT_MAX_KERNEL_VALUES];
};

struct opencl_function {
    struct mmt_function base;
    struct slot pool[POOL];
};
_Static_assert(MMT_MAX_KERNEL_VALUES <= 32, "slot.set has a bit for every argument");

static struct opencl_function *of(const struct mmt_function *function)
{
    return (struct opencl_function *) function;
}

/* ---- making ---------------------------------------------------------------------- */

void mmt_opencl_function_free(struct mmt_function *base)
{
    struct opencl_function *function = of(base);
    for (int i = 0; i < POOL; i++)
        if (function->pool[i].kernel)
            clReleaseKernel(function->pool[i].kernel);
    free(function);
}

static cl_int group_info(const struct opencl_function *function,
                         cl_kernel_work_group_info what, void *out, size_t size)
{
    return clGetKernelWorkGroupInfo(function->pool[0].kernel,
                                    mmt_opencl_of(function->base.device)->id, what, size,
                                    out, NULL);
}

/* The most threads a block of this kernel may have. Where the text names the block, that
 * is it: NVIDIA still tells as WORK_GROUP_SIZE what a kernel without a named block may
 * have, 256, though 1024 threads that are named do run. */
static cl_int most_threads(const struct opencl_function *function, size_t *most)
{
    size_t named[3] = { 0 };

    group_info(function, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, named, sizeof(named));
    *most = named[0] * named[1] * named[2];
    return *most ? CL_SUCCESS
                 : group_info(function, CL_KERNEL_WORK_GROUP_SIZE, most, sizeof(*most));
}

/* Whether every launch of this block would be refused, and why. */
static mmt_status check_block(const struct opencl_function *function, const char *entry,
                              mmt_error *err)
{
    const unsigned *block = function->base.block;
    size_t threads = (size_t) block[0] * block[1] * block[2];
    size_t most = 0, named[3] = { 0 };
    group_info(function, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, named, sizeof(named));
    for (int i = 0; i < 3; i++)
        if (named[0] && named[i] != block[i])
            return mmt_fail(
                err, MMT_ERROR_ARGUMENT,
                "%s would be launched with blocks of %u x %u x %u threads; its "
                "text says %zu x %zu x %zu",
                entry, block[0], block[1], block[2], named[0], named[1], named[2]);

    cl_int code = most_threads(function, &most);
    if (code)
        return mmt_opencl_fail(err, code, "clGetKernelWorkGroupInfo");
    if (threads > most)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "%s would run %zu threads a block; on %s this kernel can have at "
                        "most %zu",
                        entry, threads, function->base.device->caps.name, most);
    return MMT_OK;
}

/* NVIDIA's driver counts the arguments that it keeps there itself, 16 bytes today, but
 * runs a kernel that asks for all that a work-group may have. */
enum { drivers_own = 64 };

static mmt_status check_shared(const struct opencl_function *function, const char *entry,
                               mmt_error *err)
{
    cl_ulong shared = 0;
    size_t most = function->base.device->caps.shared;
    cl_int code = group_info(function, CL_KERNEL_LOCAL_MEM_SIZE, &shared, sizeof(shared));
    if (code || !most || shared <= most + drivers_own)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                    "%s needs %llu bytes of local memory; %s has %zu a work-group", entry,
                    (unsigned long long) shared, function->base.device->caps.name, most);
}

static mmt_status fill_pool(struct opencl_function *function, cl_program program,
                            const char *entry, mmt_error *err)
{
    for (int i = 0; i < POOL; i++) {
        struct slot *slot = &function->pool[i];
        cl_int code;
        atomic_flag_clear(&slot->claimed);
        slot->kernel = clCreateKernel(program, entry, &code);
        if (!slot->kernel && code == CL_INVALID_KERNEL_NAME)
            return mmt_fail_native(err, MMT_ERROR_NOT_FOUND, code,
                                   "the text has no kernel named %s", entry);
        if (!slot->kernel)
            return mmt_opencl_fail(err, code, "clCreateKernel");
    }
    return MMT_OK;
}

mmt_status mmt_opencl_function_create(struct mmt_module *module, const char *entry,
                                      const unsigned block[3], size_t shared,
                                      struct mmt_function **out, mmt_error *err)
{
    struct opencl_function *function = aligned_alloc(CACHE_LINE, sizeof(*function));
    if (!function)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the kernel %s", entry);
    memset(function, 0, sizeof(*function));
    function->base.device = module->device;
    memcpy(function->base.block, block, sizeof(function->base.block));
    function->base.shared = shared;

    cl_program program = ((struct opencl_module *) module)->program;
    mmt_status status = fill_pool(function, program, entry, err);
    if (!status)
        status = check_block(function, entry, err);
    if (!status)
        status = check_shared(function, entry, err);
    if (status) {
        mmt_opencl_function_free(&function->base);
        return status;
    }
    *out = &function->base;
    return MMT_OK;
}

mmt_status mmt_opencl_function_usage(struct mmt_function *base, struct mmt_usage *out,
                                     mmt_error *err)
{
    const struct opencl_function *function = of(base);
    cl_ulong private = 0, shared = 0;
    size_t most = 0;
    *out = (struct mmt_usage){ -1, -1, -1, -1 };
    cl_int code = most_threads(function, &most);
    if (code)
        return mmt_opencl_fail(err, code, "clGetKernelWorkGroupInfo");
    out->max_threads = (int) most;
    if (!group_info(function, CL_KERNEL_LOCAL_MEM_SIZE, &shared, sizeof(shared)))
        out->shared = (long long) shared;
    if (base->device->caps.kind == MMT_GPU &&
        !group_info(function, CL_KERNEL_PRIVATE_MEM_SIZE, &private, sizeof(private)))
        out->spill_bytes = (int) private;
    return MMT_OK;
}

/* ---- launching ------------------------------------------------------------------- */

/* Threads begin to look at different slots, each at always the same one, so that they
 * seldom meet and mostly find the arguments that they set before. */
static struct slot *claim(struct opencl_function *function)
{
    static _Thread_local char here;
    unsigned first = (unsigned) (((uintptr_t) &here * 0x9e3779b97f4a7c15u) >> 60);
    for (;;) {
        for (unsigned i = 0; i < POOL; i++) {
            struct slot *slot = &function->pool[(first + i) % POOL];
            if (!atomic_flag_test_and_set_explicit(&slot->claimed, memory_order_acquire))
                return slot;
        }
        sched_yield();
    }
}

static void give_back(struct slot *slot)
{
    atomic_flag_clear_explicit(&slot->claimed, memory_order_release);
}

static cl_int set_buffer(cl_kernel kernel, cl_uint index, uint64_t handle)
{
    cl_mem memory = (cl_mem) (uintptr_t) handle;
    return clSetKernelArg(kernel, index, sizeof(memory), handle ? &memory : NULL);
}

static size_t size_of(const struct mmt_value *value)
{
    bool wide = value->kind == MMT_VALUE_I64 || value->kind == MMT_VALUE_F64;
    return wide ? 8 : 4;
}

/* A buffer is set each time: a handle that equals the last one may belong to another
 * buffer by now, made after that one was released. */
static cl_int set_value(struct slot *slot, cl_uint index, const struct mmt_value *value)
{
    bool is_buffer = value->kind == MMT_VALUE_BUFFER;
    uint64_t bits = 0;
    memcpy(&bits, &value->buffer, is_buffer ? sizeof(bits) : size_of(value));
    uint32_t bit = (uint32_t) 1 << index;
    if (slot->set & bit && slot->last[index] == bits && !(is_buffer && bits))
        return CL_SUCCESS;

    cl_int code = is_buffer ? set_buffer(slot->kernel, index, bits)
                            : clSetKernelArg(slot->kernel, index, size_of(value), &bits);
    slot->last[index] = bits;
    slot->set = code ? slot->set & ~bit : slot->set | bit;
    return code;
}

static mmt_status set_values(struct slot *slot, const struct mmt_value *values, int count,
                             mmt_error *err)
{
    for (int i = 0; i < count; i++) {
        cl_int code = set_value(slot, (cl_uint) i, &values[i]);
        if (code)
            return mmt_fail_native(
                err, code == CL_OUT_OF_HOST_MEMORY ? MMT_ERROR_MEMORY : MMT_ERROR_DEVICE,
                code, "the kernel's argument %d cannot be set: %s (%d)%s", i,
                mmt_opencl_error_name(code), code,
                values[i].kind == MMT_VALUE_BUFFER ? "; is it a cl_mem of this context?"
                                                   : "");
    }
    return MMT_OK;
}

static cl_int put_barrier(cl_command_queue queue)
{
    cl_command_queue_properties properties = 0;
    cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties),
                                        &properties, NULL);
    if (code || !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        return code;
    return clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
}

/* What the launch waits for besides what its queue has. */
static cl_int enqueue(const struct opencl_function *function, cl_kernel kernel,
                      const unsigned grid[3], cl_command_queue queue,
                      struct mmt_events *events)
{
    size_t global[3], local[3];
    for (int i = 0; i < 3; i++) {
        local[i] = function->base.block[i];
        global[i] = grid[i] * local[i];
    }
    if (!events)
        return clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL,
                                      NULL);

    const cl_event ahead = events->last;
    const cl_uint count = ahead ? 1 : events->count;
    const cl_event *wait = ahead ? &ahead : (const cl_event *) events->wait;
    cl_event event;
    cl_int code = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, count,
                                         count ? wait : NULL, &event);
    if (code)
        return code;
    events->last = event;
    return ahead ? clReleaseEvent(ahead) : CL_SUCCESS;
}

/* Events may be of another context, too; where there are none it is the queue that is. */
static mmt_status fail_launch(cl_int code, const struct mmt_events *events,
                              mmt_error *err)
{
    const bool by_queue = code == CL_INVALID_COMMAND_QUEUE ||
                          (code == CL_INVALID_CONTEXT && !(events && events->count));
    mmt_status status = mmt_opencl_fail(err, code, "clEnqueueNDRangeKernel");
    return by_queue ? mmt_blame(err, status, MMT_ARGUMENT_QUEUE) : status;
}

mmt_status mmt_opencl_launch(struct mmt_function *base, const unsigned grid[3],
                             const struct mmt_value *values, int num_values,
                             unsigned order, mmt_queue given, struct mmt_events *events,
                             mmt_error *err)
{
    struct opencl_function *function = of(base);
    cl_command_queue queue = mmt_opencl_queue_of(base->device, given);
    const bool is_chained = events && events->last;
    cl_int code =
        order & MMT_ORDER_AFTER && given && !is_chained ? put_barrier(queue) : CL_SUCCESS;
    if (code)
        return mmt_opencl_fail(err, code, "clEnqueueBarrierWithWaitList");

    struct slot *slot = claim(function);
    mmt_status status = set_values(slot, values, num_values, err);
    if (!status)
        code = enqueue(function, slot->kernel, grid, queue, events);
    give_back(slot);
    return code ? fail_launch(code, events, err) : status;
}

mmt_status mmt_opencl_events_end(mmt_device *device, struct mmt_events *events,
                                 mmt_queue queue, void **out, mmt_error *err)
{
    cl_event event = events->last;
    events->last = NULL;
    if (!out) {
        if (event)
            clReleaseEvent(event);
        return MMT_OK;
    }
    cl_int code = CL_SUCCESS;
    if (!event)
        code =
            clEnqueueMarkerWithWaitList(mmt_opencl_queue_of(device, queue), events->count,
                                        (const cl_event *) events->wait, &event);
    if (code)
        return mmt_opencl_fail(err, code, "clEnqueueMarkerWithWaitList");
    *out = event;
    return MMT_OK;
}
