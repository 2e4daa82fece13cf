/* The functions of cuBLAS and cuBLASLt that are stood before or asked, and the few of
 * CUDA's driver, as their documentation has them. Handles, descriptors, streams and
 * contexts are pointers, enumerations are ints. No header of CUDA is needed. */
#ifndef MMT_DROPIN_CUBLAS_CUBLAS_H
#define MMT_DROPIN_CUBLAS_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

/* cublasStatus_t */
enum { CUBLAS_SUCCESS = 0, CUBLAS_NOT_INITIALIZED = 1 };

/* cublasOperation_t */
enum { CUBLAS_N = 0, CUBLAS_T = 1 };

/* cublasPointerMode_t and cublasLtPointerMode_t */
enum { CUBLAS_ON_HOST = 0, CUBLAS_ON_DEVICE = 1 };

/* cudaDataType */
enum {
    CUDA_32F = 0,
    CUDA_64F = 1,
    CUDA_16F = 2,
    CUDA_8I = 3,
    CUDA_32I = 10,
    CUDA_16BF = 14,
};

/* cublasComputeType_t */
enum {
    CUBLAS_16F = 64,
    CUBLAS_16F_PEDANTIC = 65,
    CUBLAS_32F = 68,
    CUBLAS_32F_PEDANTIC = 69,
    CUBLAS_64F = 70,
    CUBLAS_32I = 72,
    CUBLAS_32F_FAST_TF32 = 77,
};

/* cublasMath_t: a mode, and a flag that forbids sums in C's type. */
enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_MATH = 3,
    CUBLAS_NO_REDUCED_SUMS = 16,
};

/* cublasLtMatrixLayoutAttribute_t */
enum {
    LT_LAYOUT_TYPE = 0,
    LT_LAYOUT_ORDER = 1,
    LT_LAYOUT_ROWS = 2,
    LT_LAYOUT_COLUMNS = 3,
    LT_LAYOUT_LD = 4,
    LT_LAYOUT_BATCH = 5,
    LT_LAYOUT_STRIDE = 6,
    LT_LAYOUT_PLANE = 7,
    LT_LAYOUT_BATCH_MODE = 8,
};

/* cublasLtOrder_t */
enum { LT_COLUMN_MAJOR = 0 };

/* cublasLtMatmulDescAttributes_t */
enum {
    LT_DESC_COMPUTE = 0,
    LT_DESC_SCALE = 1,
    LT_DESC_POINTER_MODE = 2,
    LT_DESC_TRANS_A = 3,
    LT_DESC_TRANS_B = 4,
    LT_DESC_TRANS_C = 5,
    LT_DESC_FILL = 6,
    LT_DESC_EPILOGUE = 7,
    LT_DESC_BIAS = 8,
    LT_DESC_BIAS_STRIDE = 10,
    LT_DESC_SM_COUNT = 15,
    LT_DESC_SCALE_A = 17,
    LT_DESC_SCALE_B = 18,
    LT_DESC_SCALE_C = 19,
    LT_DESC_SCALE_D = 20,
    LT_DESC_AMAX_D = 21,
    LT_DESC_BIAS_TYPE = 26,
    LT_DESC_AWAITED = 29, /* counters that chunks of A and B are waited for by */
    LT_DESC_TOLD = 30,    /* and by which chunks of D are told */
    LT_DESC_EMULATION = 38,
};

/* cublasFillMode_t */
enum { CUBLAS_FULL = 2 };

/* cublasLtEpilogue_t */
enum {
    LT_EPILOGUE_DEFAULT = 1,
    LT_EPILOGUE_RELU = 2,
    LT_EPILOGUE_BIAS = 4,
    LT_EPILOGUE_RELU_BIAS = 6,
    LT_EPILOGUE_GELU = 32,
    LT_EPILOGUE_GELU_BIAS = 36,
};

#define NAME(name) name
#define INT        int
#include "dropin/cublas/gemm_names.h"
#undef NAME
#undef INT
#define NAME(name) name##_64
#define INT        int64_t
#include "dropin/cublas/gemm_names.h"
#undef NAME
#undef INT

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSetStream_v2(void *handle, void *stream);
int cublasGetStream_v2(void *handle, void **stream);
int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes);
int cublasGetPointerMode_v2(void *handle, int *mode);
int cublasGetMathMode(void *handle, int *mode);
int cublasGetSmCountTarget(void *handle, int *count);
int cublasGetProperty(int property, int *value);

size_t cublasLtGetVersion(void);
int cublasLtMatmulDescGetAttribute(void *desc, int attribute, void *value, size_t size,
                                   size_t *written);
int cublasLtMatrixLayoutGetAttribute(void *layout, int attribute, void *value,
                                     size_t size, size_t *written);
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a,
                   void *layout_a, const void *b, void *layout_b, const void *beta,
                   const void *c, void *layout_c, void *d, void *layout_d,
                   const void *algorithm, void *workspace, size_t workspace_bytes,
                   void *stream);

#endif
