/* An OpenCL layer (OPENCL_LAYERS of the loader) under which no device has double
 * precision. */
#include "layer.h"

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

static void set_functions(void)
{
    ours.clGetDeviceInfo = device_info;
}
