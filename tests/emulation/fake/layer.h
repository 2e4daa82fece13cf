/* What every OpenCL layer (OPENCL_LAYERS of the loader) has: a table of functions that is
 * the one below but for what the layer does itself. Included once. */
#ifndef MMT_TESTS_FAKE_LAYER_H
#define MMT_TESTS_FAKE_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static struct _cl_icd_dispatch ours;
static const struct _cl_icd_dispatch *below;

/* Fills in `ours` what the layer does itself. */
static void set_functions(void);

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size,
                                               void *value, size_t *size_out)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (value && size < sizeof version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (size_out)
        *size_out = sizeof version;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count,
                                            const struct _cl_icd_dispatch *target,
                                            cl_uint *count_out,
                                            const struct _cl_icd_dispatch **out)
{
    size_t bytes = count * sizeof(void *);
    below = target;
    memcpy(&ours, target, bytes < sizeof ours ? bytes : sizeof ours);
    set_functions();
    *count_out = (cl_uint) (sizeof ours / sizeof(void *));
    *out = &ours;
    return CL_SUCCESS;
}

#endif
