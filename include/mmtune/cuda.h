/* mmtune with a caller's own CUDA: driver or runtime API.
 *
 * Pointers from cudaMalloc and streams from cudaStreamCreate are CUdeviceptr and
 * CUstream. Nothing here needs CUDA's headers. */
#ifndef MMTUNE_CUDA_H
#define MMTUNE_CUDA_H

#include <mmtune/mmtune.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
struct CUctx_st;

/* Opens the CUDA device of that ordinal in the context given, which stays the caller's
 * and must outlive the device; NULL is the device's primary context, the one that the
 * CUDA runtime uses. */
MMT_API mmt_device *mmt_cuda_device(int ordinal, struct CUctx_st *context,
                                    mmt_error *err);

/* A device pointer as an operand. */
static inline mmt_operand mmt_cuda_operand(const void *device_pointer)
{
    mmt_operand operand = { (uint64_t) (uintptr_t) device_pointer, 0 };
    return operand;
}

/* A stream as a queue; 0 is the default stream. */
static inline mmt_queue mmt_cuda_queue(struct CUstream_st *stream)
{
    return (mmt_queue) stream;
}

#ifdef __cplusplus
}
#endif
#endif
