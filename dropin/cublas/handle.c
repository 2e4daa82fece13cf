/* Handles: what is known of their workspaces, and when a device is met first. */
#include <stdio.h>

#include "dropin/cublas/real.h"
#include "dropin/cublas/serve.h"

#define HOOK __attribute__((visibility("default"))) int

HOOK cublasCreate_v2(void **handle)
{
    __typeof__(&cublasCreate_v2) real = MMT_REAL(cublasCreate_v2);
    const int status = real ? real(handle) : CUBLAS_NOT_INITIALIZED;
    const struct mmt_calls_options *options = mmt_served_options();
    struct mmt_served *served;
    bool foreign;

    if (status || mmt_serve_is_nested())
        return status;
    mmt_handle_enter(*handle);
    served = mmt_served_current(&foreign);
    if (served && !options->waits)
        mmt_calls_wait_warm(served->calls);
    else if (served && options->wait > 0 &&
             !mmt_calls_wait(served->calls, options->wait) && options->verbose)
        fprintf(stderr,
                "mmtune: cuda:%d: plans are still being made after %g s; calls pass "
                "meanwhile\n",
                served->device, options->wait);
    return status;
}

/* It waits for what the handle has queued. */
HOOK cublasDestroy_v2(void *handle)
{
    __typeof__(&cublasDestroy_v2) real = MMT_REAL(cublasDestroy_v2);
    struct mmt_leaving leaving;
    mmt_handle_leave(handle, &leaving);
    const int status = real ? real(handle) : CUBLAS_NOT_INITIALIZED;
    mmt_handle_left(&leaving, !status);
    return status;
}

HOOK cublasSetStream_v2(void *handle, void *stream)
{
    __typeof__(&cublasSetStream_v2) real = MMT_REAL(cublasSetStream_v2);
    const int status = real ? real(handle, stream) : CUBLAS_NOT_INITIALIZED;
    if (!status)
        mmt_handle_set_workspace(handle, (struct mmt_workspace){ 0, 0 });
    return status;
}

HOOK cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes)
{
    __typeof__(&cublasSetWorkspace_v2) real = MMT_REAL(cublasSetWorkspace_v2);
    const int status = real ? real(handle, workspace, bytes) : CUBLAS_NOT_INITIALIZED;
    if (!status)
        mmt_handle_set_workspace(handle, (struct mmt_workspace){ (uintptr_t) workspace,
                                                                 workspace ? bytes : 0 });
    return status;
}
