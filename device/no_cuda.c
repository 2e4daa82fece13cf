/* Stands in for cuda.c and nvrtc.c in a build without CUDA's headers. */
#include <mmtune/cuda.h>

#include "device/nvrtc.h"

static mmt_status fail_absent(mmt_error *err)
{
    return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                    "this mmtune was built without CUDA; build it where the toolkit's "
                    "cuda.h and nvrtc.h are");
}

static mmt_status cuda_list(struct mmt_device_info **list, size_t *count,
                            struct mmt_text *notes, mmt_error *err)
{
    if (notes)
        mmt_text_add(notes,
                     "no CUDA devices: this mmtune was built without CUDA's headers\n");
    return MMT_OK;
}

static mmt_status cuda_open(const char *which, mmt_device **out, mmt_error *err)
{
    return fail_absent(err);
}

const struct mmt_backend mmt_backend_cuda = {
    .name = "cuda",
    .list = cuda_list,
    .open = cuda_open,
};

mmt_device *mmt_cuda_device(int ordinal, struct CUctx_st *context, mmt_error *err)
{
    fail_absent(err);
    return NULL;
}

mmt_status mmt_nvrtc_open(int sm, bool ptx, struct mmt_nvrtc **out, mmt_error *err)
{
    return fail_absent(err);
}

void mmt_nvrtc_close(struct mmt_nvrtc *nvrtc) {}

void mmt_nvrtc_key(const struct mmt_nvrtc *nvrtc, struct mmt_text *key) {}

mmt_status mmt_nvrtc_compile(const struct mmt_nvrtc *nvrtc, const char *source,
                             struct mmt_binary *binary, mmt_error *err)
{
    return fail_absent(err);
}
