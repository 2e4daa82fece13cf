/* Stands in for opencl.c in a build without OpenCL. */
#include <mmtune/opencl.h>

#include "device/device.h"

static mmt_status fail_absent(mmt_error *err)
{
    return mmt_fail(
        err, MMT_ERROR_UNSUPPORTED,
        "this mmtune was built without OpenCL; build it where OpenCL's headers "
        "and its ICD loader are");
}

static mmt_status opencl_list(struct mmt_device_info **list, size_t *count,
                              struct mmt_text *notes, mmt_error *err)
{
    if (notes)
        mmt_text_add(notes, "no OpenCL devices: this mmtune was built without OpenCL\n");
    return MMT_OK;
}

static mmt_status opencl_open(const char *which, mmt_device **out, mmt_error *err)
{
    return fail_absent(err);
}

const struct mmt_backend mmt_backend_opencl = {
    .name = "opencl",
    .list = opencl_list,
    .open = opencl_open,
};

mmt_device *mmt_opencl_device(struct _cl_context *context, struct _cl_device_id *id,
                              mmt_error *err)
{
    fail_absent(err);
    return NULL;
}

struct _cl_device_id *mmt_opencl_device_id(const mmt_device *device)
{
    return NULL;
}
