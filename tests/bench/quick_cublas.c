/* A libcublas that returns at once: what is timed is what stands before it. */
#include <stddef.h>

#include "dropin/cublas/cublas.h"

#define EXPORT __attribute__((visibility("default"))) int

static int state[1];

EXPORT cublasCreate_v2(void **handle)
{
    *handle = state;
    return CUBLAS_SUCCESS;
}

EXPORT cublasGetStream_v2(void *handle, void **stream)
{
    *stream = NULL;
    return CUBLAS_SUCCESS;
}

EXPORT cublasGetPointerMode_v2(void *handle, int *mode)
{
    *mode = CUBLAS_ON_HOST;
    return CUBLAS_SUCCESS;
}

EXPORT cublasGetMathMode(void *handle, int *mode)
{
    *mode = CUBLAS_DEFAULT_MATH;
    return CUBLAS_SUCCESS;
}

EXPORT cublasSgemm_v2(void *handle, int trans_a, int trans_b, int m, int n, int k,
                      const float *alpha, const float *a, int lda, const float *b,
                      int ldb, const float *beta, float *c, int ldc)
{
    return CUBLAS_SUCCESS;
}
