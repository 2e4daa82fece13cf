/* What the files of the OpenCL backend share. They alone include OpenCL's headers. */
#ifndef MMT_DEVICE_OPENCL_INTERNAL_H
#define MMT_DEVICE_OPENCL_INTERNAL_H

#include "device/device.h"
#include "device/opencl_api.h"

struct opencl_device {
    struct mmt_device base;
    cl_context context; /* retained */
    cl_device_id id;
    cl_command_queue queue; /* in order: what a NULL queue stands for */
    struct mmt_text key;    /* what mmt_device_compiler_key adds */
};

static inline struct opencl_device *mmt_opencl_of(const mmt_device *device)
{
    return (struct opencl_device *) device;
}

static inline cl_command_queue mmt_opencl_queue_of(const mmt_device *device,
                                                   mmt_queue queue)
{
    return queue ? (cl_command_queue) queue : mmt_opencl_of(device)->queue;
}

/* Fills err from a failed call: "clFinish failed: CL_OUT_OF_RESOURCES (-5)". */
mmt_status mmt_opencl_fail(mmt_error *err, cl_int code, const char *call);

/* "CL_INVALID_VALUE"; a code that no version of OpenCL names is "an unknown code". */
const char *mmt_opencl_error_name(cl_int code);

/* ---- opencl_caps.c --------------------------------------------------------------- */

void mmt_opencl_caps(cl_device_id id, struct mmt_caps *caps);

/* How every text is compiled: IEEE arithmetic, a * b + c may become one fused operation.
 * On NVIDIA's cards texts know by __CUDA_ARCH__ which PTX they may hold, as in CUDA C++.
 */
void mmt_opencl_add_options(cl_device_id id, const struct mmt_caps *caps,
                            struct mmt_text *options);

/* Adds what of platform, device and driver decides a binary. */
void mmt_opencl_add_key(cl_device_id id, struct mmt_text *key);

/* A device's or platform's text without needless spaces, cut to `size` bytes. */
void mmt_opencl_device_text(cl_device_id id, cl_device_info what, char *out, size_t size);
void mmt_opencl_platform_text(cl_platform_id platform, cl_platform_info what, char *out,
                              size_t size);

/* ---- opencl_program.c: text to binary to program --------------------------------- */

struct opencl_module {
    struct mmt_module base;
    cl_program program;
};

mmt_status mmt_opencl_compile(mmt_device *device, const char *source,
                              struct mmt_binary *binary, mmt_error *err);
mmt_status mmt_opencl_module_load(mmt_device *device, const struct mmt_binary *binary,
                                  struct mmt_module **out, mmt_error *err);
void mmt_opencl_module_free(struct mmt_module *module);

/* ---- opencl_function.c: program to launches -------------------------------------- */

mmt_status mmt_opencl_function_create(struct mmt_module *module, const char *entry,
                                      const unsigned block[3], size_t shared,
                                      struct mmt_function **out, mmt_error *err);
void mmt_opencl_function_free(struct mmt_function *function);
mmt_status mmt_opencl_function_usage(struct mmt_function *function, struct mmt_usage *out,
                                     mmt_error *err);
mmt_status mmt_opencl_launch(struct mmt_function *function, const unsigned grid[3],
                             const struct mmt_value *values, int num_values,
                             unsigned order, mmt_queue queue, struct mmt_events *events,
                             mmt_error *err);
mmt_status mmt_opencl_events_end(mmt_device *device, struct mmt_events *events,
                                 mmt_queue queue, void **out, mmt_error *err);

/* ---- opencl_queue.c: memory, queues, marks --------------------------------------- */

mmt_status mmt_opencl_buffer_create(mmt_device *device, size_t bytes, mmt_operand *out,
                                    mmt_error *err);
mmt_status mmt_opencl_buffer_wrap(mmt_device *, void *, size_t, mmt_operand *,
                                  mmt_error *);
void mmt_opencl_buffer_free(mmt_device *device, mmt_operand buffer);
mmt_status mmt_opencl_buffer_check(mmt_device *device, mmt_operand operand,
                                   mmt_argument which, uint64_t bytes, mmt_error *err);
mmt_status mmt_opencl_buffer_write(mmt_device *device, mmt_operand to, const void *from,
                                   size_t bytes, mmt_error *err);
mmt_status mmt_opencl_buffer_read(mmt_device *device, void *to, mmt_operand from,
                                  size_t bytes, mmt_error *err);
mmt_status mmt_opencl_matrix_write(mmt_device *device, mmt_operand to, const void *from,
                                   const struct mmt_pitched *rows, mmt_error *err);
mmt_status mmt_opencl_matrix_read(mmt_device *device, void *to, mmt_operand from,
                                  const struct mmt_pitched *rows, mmt_error *err);
mmt_status mmt_opencl_finish(mmt_device *device, mmt_queue queue, mmt_error *err);

mmt_status mmt_opencl_queue_create(mmt_device *device, mmt_queue *out, mmt_error *err);
void mmt_opencl_queue_free(mmt_device *device, mmt_queue queue);

mmt_status mmt_opencl_mark_create(mmt_device *device, struct mmt_mark **out,
                                  mmt_error *err);
void mmt_opencl_mark_free(struct mmt_mark *mark);
mmt_status mmt_opencl_mark_record(struct mmt_mark *mark, mmt_queue queue, mmt_error *err);
mmt_status mmt_opencl_mark_seconds(struct mmt_mark *from, struct mmt_mark *to,
                                   double *seconds, mmt_error *err);

#endif
