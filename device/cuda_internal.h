/* What the files of the CUDA backend share. */
#ifndef MMT_DEVICE_CUDA_INTERNAL_H
#define MMT_DEVICE_CUDA_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "device/cuda_api.h"
#include "device/device.h"

/* The driver's functions, by the names of cuda.fn; there once a device is open. */
struct mmt_cuda_functions {
#define FN(name)       __typeof__(name) *name;
#define OPTIONAL(name) __typeof__(name) *name;
#include "device/cuda.fn"
#undef FN
#undef OPTIONAL
};
extern struct mmt_cuda_functions mmt_cu;

/* Opens the driver, once a process. Whether it is there, and has devices or fails. */
bool mmt_cuda_has_devices(void);

/* The same; why it cannot be used. */
mmt_status mmt_cuda_start_driver(mmt_error *err);

/* The version of CUDA that the driver is for, 1000 * major + 10 * minor. */
int mmt_cuda_driver_version(void);

struct cuda_device {
    struct mmt_device base;
    CUdevice device;
    CUcontext context;
    bool primary;            /* the context is the primary one, which we retained */
    struct mmt_nvrtc *nvrtc; /* NULL: there is none that serves */
    mmt_error no_compiler;   /* why not */
    pthread_mutex_t lock;    /* of the two below, and of a kernel's attributes */
    struct mmt_nvml *nvml;
    bool asked_nvml;
    sem_t released; /* what a queue that is held waits for */
};

/* A kernel of a module, whose attributes all its mmt_functions share. */
struct cuda_kernel {
    CUfunction function;
    atomic_int carveout; /* as the driver was told last */
    struct cuda_kernel *next;
};

struct cuda_module {
    struct mmt_module base;
    CUmodule module;
    struct cuda_kernel *kernels; /* under the device's lock */
};

struct cuda_function {
    struct mmt_function base;
    struct cuda_kernel *kernel;
    int carveout; /* of its launches: percent of a multiprocessor's shared memory */
};

struct cuda_mark {
    struct mmt_mark base;
    CUevent event;
};

struct cuda_graph {
    struct mmt_graph base;
    CUgraphExec exec;
};

/* "CUDA could not launch a kernel: invalid argument (CUDA_ERROR_INVALID_VALUE)". */
mmt_status mmt_cuda_fail(mmt_error *err, const char *what, CUresult result);

/* Makes the device's context current; *pushed says whether mmt_cuda_leave must pop it. */
static inline CUresult mmt_cuda_enter(const struct mmt_device *base, bool *pushed)
{
    CUcontext context = ((const struct cuda_device *) base)->context, current = NULL;
    CUresult result = mmt_cu.cuCtxGetCurrent(&current);
    *pushed = false;
    if (result != CUDA_SUCCESS || current == context)
        return result;
    result = mmt_cu.cuCtxPushCurrent_v2(context);
    *pushed = result == CUDA_SUCCESS;
    return result;
}

static inline void mmt_cuda_leave(bool pushed)
{
    CUcontext popped;
    if (pushed)
        mmt_cu.cuCtxPopCurrent_v2(&popped);
}

/* ---- cuda_memory.c: memory, queues, marks, graphs -------------------------------- */

mmt_status mmt_cuda_buffer_create(mmt_device *device, size_t bytes, mmt_operand *out,
                                  mmt_error *err);
void mmt_cuda_buffer_free(mmt_device *device, mmt_operand buffer);
mmt_status mmt_cuda_buffer_write(mmt_device *device, mmt_operand to, const void *from,
                                 size_t bytes, mmt_error *err);
mmt_status mmt_cuda_buffer_read(mmt_device *device, void *to, mmt_operand from,
                                size_t bytes, mmt_error *err);
mmt_status mmt_cuda_matrix_write(mmt_device *device, mmt_operand to, const void *from,
                                 const struct mmt_pitched *rows, mmt_error *err);
mmt_status mmt_cuda_matrix_read(mmt_device *device, void *to, mmt_operand from,
                                const struct mmt_pitched *rows, mmt_error *err);
mmt_status mmt_cuda_finish(mmt_device *device, mmt_queue queue, mmt_error *err);

mmt_status mmt_cuda_mark_create(mmt_device *device, struct mmt_mark **out,
                                mmt_error *err);
void mmt_cuda_mark_free(struct mmt_mark *base);
mmt_status mmt_cuda_mark_record(struct mmt_mark *mark, mmt_queue queue, mmt_error *err);
mmt_status mmt_cuda_mark_seconds(struct mmt_mark *from, struct mmt_mark *to,
                                 double *seconds, mmt_error *err);
mmt_status mmt_cuda_queue_create(mmt_device *device, mmt_queue *out, mmt_error *err);
void mmt_cuda_queue_free(mmt_device *device, mmt_queue queue);
bool mmt_cuda_queue_captures(mmt_device *device, mmt_queue queue);
int mmt_cuda_thread_mode(mmt_device *device, int mode);
bool mmt_cuda_queue_hold(mmt_device *device, mmt_queue queue);
void mmt_cuda_queue_release(mmt_device *device);
bool mmt_cuda_capture_begin(mmt_device *device, mmt_queue queue);
struct mmt_graph *mmt_cuda_capture_end(mmt_device *device, mmt_queue queue);
mmt_status mmt_cuda_graph_launch(struct mmt_graph *graph, mmt_queue queue,
                                 mmt_error *err);
void mmt_cuda_graph_free(struct mmt_graph *graph);

/* ---- cuda_kernel.c: from a binary to a launch ------------------------------------ */

mmt_status mmt_cuda_module_load(mmt_device *device, const struct mmt_binary *binary,
                                struct mmt_module **out, mmt_error *err);
void mmt_cuda_module_free(struct mmt_module *base);
mmt_status mmt_cuda_function_create(struct mmt_module *module, const char *entry,
                                    const unsigned block[3], size_t shared,
                                    struct mmt_function **out, mmt_error *err);
void mmt_cuda_function_free(struct mmt_function *function);
mmt_status mmt_cuda_function_usage(struct mmt_function *base, struct mmt_usage *out,
                                   mmt_error *err);
unsigned mmt_cuda_resident(struct mmt_function *base);
void mmt_cuda_set_carveout(struct mmt_function *const *functions, int count);
mmt_status mmt_cuda_tensor_map_encode(mmt_device *device, const struct mmt_tensor *tensor,
                                      struct mmt_tensor_map *out, mmt_error *err);
mmt_status mmt_cuda_launch(struct mmt_function *base, const unsigned grid[3],
                           const struct mmt_value *values, int num_values, unsigned order,
                           mmt_queue queue, struct mmt_events *events, mmt_error *err);

#endif
