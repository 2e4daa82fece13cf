/* An OpenCL layer (OPENCL_LAYERS of the loader) under which no device has double
 * precision. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static struct _cl_icd_dispatch ours;
static const struct _cl_icd_dispatch *below;

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what,
                                      size_t size, void *value, size_t *size_out)
{
    cl_int code = below->clGetDeviceInfo(device, what, size, value, size_out);
    char *found = !code && value && what == CL_DEVICE_EXTENSIONS
                      ? strstr(value, "cl_khr_fp64")
                      : NULL;
    if (found)
        memset(found, ' ', strlen("cl_khr_fp64"));
    if (!code && value && what == CL_DEVICE_DOUBLE_FP_CONFIG)
        memset(value, 0, sizeof(cl_device_fp_config));
    return code;
}

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
    ours.clGetDeviceInfo = device_info;
    *count_out = (cl_uint) (sizeof ours / sizeof(void *));
    *out = &ours;
    return CL_SUCCESS;
}
