/* What cublas_lt.h writes out, and what studies/longvector_axpy.c does of cuBLAS, held
 * against the toolkit's headers: the values when this is compiled, the functions' types
 * as well. */
#include <stddef.h>

#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <cublasLt.h>
#include <cublas_v2.h>

#include "tests/support/test.h"
#include "tuner/bench/cublas.h"
#include "tuner/bench/cublas_lt.h"

#define SAME(ours, theirs) _Static_assert((int) (ours) == (int) (theirs), #theirs)
SAME(MMT_LT_R_32F, CUDA_R_32F);
SAME(MMT_LT_R_64F, CUDA_R_64F);
SAME(MMT_LT_R_16F, CUDA_R_16F);
SAME(MMT_LT_R_8I, CUDA_R_8I);
SAME(MMT_LT_R_32I, CUDA_R_32I);
SAME(MMT_LT_R_16BF, CUDA_R_16BF);
SAME(MMT_LT_R_8F_E4M3, CUDA_R_8F_E4M3);
SAME(MMT_LT_COMPUTE_16F, CUBLAS_COMPUTE_16F);
SAME(MMT_LT_COMPUTE_16F_PEDANTIC, CUBLAS_COMPUTE_16F_PEDANTIC);
SAME(MMT_LT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(MMT_LT_COMPUTE_64F, CUBLAS_COMPUTE_64F);
SAME(MMT_LT_COMPUTE_32I, CUBLAS_COMPUTE_32I);
SAME(MMT_LT_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(MMT_LT_OP_T, CUBLAS_OP_T);
SAME(MMT_LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(MMT_LT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(MMT_LT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(MMT_LT_DESC_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(MMT_LT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU);
SAME(MMT_LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME(MMT_LT_EPILOGUE_RELU | MMT_LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(MMT_LT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU);
SAME(MMT_LT_EPILOGUE_GELU | MMT_LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME(MMT_CUBLAS_TF32_MATH, CUBLAS_TF32_TENSOR_OP_MATH);
SAME(MMT_CUBLAS_DEFAULT_ALGO, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
SAME(MMT_LT_LAYOUT_BATCH, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(MMT_LT_LAYOUT_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(MMT_LT_PREF_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(MMT_LT_PREF_REDUCTIONS, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(MMT_LT_REDUCTION_COMPUTE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME(MMT_LT_REDUCTION_OUTPUT, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
SAME(MMT_LT_ALL_REDUCTIONS, CUBLASLT_REDUCTION_SCHEME_MASK);
SAME(MMT_LT_CONFIG_SWIZZLING, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
SAME(MMT_LT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);

#define PLACE(ours, theirs)                                                              \
    SAME(offsetof(struct mmt_lt_heuristic, ours),                                        \
         offsetof(cublasLtMatmulHeuristicResult_t, theirs))
SAME(sizeof(struct mmt_lt_heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(sizeof(((struct mmt_lt_heuristic *) 0)->algorithm), sizeof(cublasLtMatmulAlgo_t));
PLACE(algorithm, algo);
PLACE(workspace, workspaceSize);
PLACE(state, state);
PLACE(waves, wavesCount);

/* The header's inlines apart, the functions are only named: their types are compared. */
#define TAKES(name, ...)                                                                 \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), __VA_ARGS__), #name)
TAKES(cublasLtCreate, cublasStatus_t (*)(cublasLtHandle_t *));
TAKES(cublasLtMatmulDescCreate,
      cublasStatus_t (*)(cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t));
TAKES(cublasLtMatmulDescSetAttribute,
      cublasStatus_t (*)(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
                         const void *, size_t));
TAKES(cublasLtMatrixLayoutCreate,
      cublasStatus_t (*)(cublasLtMatrixLayout_t *, cudaDataType, uint64_t, uint64_t,
                         int64_t));
TAKES(cublasLtMatrixLayoutSetAttribute,
      cublasStatus_t (*)(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t,
                         const void *, size_t));
TAKES(cublasLtMatmulPreferenceSetAttribute,
      cublasStatus_t (*)(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                         const void *, size_t));
TAKES(cublasLtMatmulAlgoGetHeuristic,
      cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                         cublasLtMatmulHeuristicResult_t *, int *));
TAKES(cublasLtMatmulAlgoConfigSetAttribute,
      cublasStatus_t (*)(cublasLtMatmulAlgo_t *, cublasLtMatmulAlgoConfigAttributes_t,
                         const void *, size_t));
TAKES(cublasLtMatmulAlgoCheck,
      cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *,
                         cublasLtMatmulHeuristicResult_t *));
TAKES(cublasLtMatmul,
      cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *,
                         const void *, cublasLtMatrixLayout_t, const void *,
                         cublasLtMatrixLayout_t, const void *, const void *,
                         cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,
                         const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t));

TAKES(cublasCreate_v2, cublasStatus_t (*)(cublasHandle_t *));
TAKES(cublasDestroy_v2, cublasStatus_t (*)(cublasHandle_t));
TAKES(cublasSetStream_v2, cublasStatus_t (*)(cublasHandle_t, cudaStream_t));
TAKES(cublasSetWorkspace_v2, cublasStatus_t (*)(cublasHandle_t, void *, size_t));
TAKES(cublasSetMathMode, cublasStatus_t (*)(cublasHandle_t, cublasMath_t));
TAKES(cublasSgemm_v2,
      cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                         int, const float *, const float *, int, const float *, int,
                         const float *, float *, int));
TAKES(cublasDgemm_v2,
      cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                         int, const double *, const double *, int, const double *, int,
                         const double *, double *, int));
TAKES(cublasGemmEx,
      cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                         int, const void *, const void *, cudaDataType, int, const void *,
                         cudaDataType, int, const void *, void *, cudaDataType, int,
                         cublasComputeType_t, cublasGemmAlgo_t));
TAKES(cublasGemmStridedBatchedEx,
      cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                         int, const void *, const void *, cudaDataType, int, long long,
                         const void *, cudaDataType, int, long long, const void *, void *,
                         cudaDataType, int, long long, int, cublasComputeType_t,
                         cublasGemmAlgo_t));
TAKES(cublasSaxpy_v2, cublasStatus_t (*)(cublasHandle_t, int, const float *,
                                         const float *, int, float *, int));
TAKES(cublasDaxpy_v2, cublasStatus_t (*)(cublasHandle_t, int, const double *,
                                         const double *, int, double *, int));

/* Descriptors are made without a GPU: attributes that we set read back as set. */
static void check_descriptors(const struct mmt_lt_functions *call)
{
    struct mmt_lt_descriptor *descriptor = NULL;
    struct mmt_lt_layout *layout = NULL;
    struct mmt_lt_preference *preference = NULL;
    int32_t transposed = MMT_LT_OP_T, batch = 7;
    int64_t stride = 12345;
    uint64_t workspace = (uint64_t) 64 << 20;

    CHECK(!call->cublasLtMatmulDescCreate(&descriptor, MMT_LT_COMPUTE_64F, MMT_LT_R_64F));
    CHECK(!call->cublasLtMatmulDescSetAttribute(descriptor, MMT_LT_DESC_TRANSA,
                                                &transposed, sizeof transposed));
    CHECK(!call->cublasLtMatmulDescSetAttribute(descriptor, MMT_LT_DESC_TRANSB,
                                                &transposed, sizeof transposed));
    CHECK(!call->cublasLtMatrixLayoutCreate(&layout, MMT_LT_R_64F, 30, 40, 31));
    CHECK(!call->cublasLtMatrixLayoutSetAttribute(layout, MMT_LT_LAYOUT_BATCH, &batch,
                                                  sizeof batch));
    CHECK(!call->cublasLtMatrixLayoutSetAttribute(layout, MMT_LT_LAYOUT_STRIDE, &stride,
                                                  sizeof stride));
    CHECK(!call->cublasLtMatmulPreferenceCreate(&preference));
    CHECK(!call->cublasLtMatmulPreferenceSetAttribute(preference, MMT_LT_PREF_WORKSPACE,
                                                      &workspace, sizeof workspace));
    CHECK(!call->cublasLtMatmulPreferenceDestroy(preference));
    CHECK(!call->cublasLtMatrixLayoutDestroy(layout));
    CHECK(!call->cublasLtMatmulDescDestroy(descriptor));
}

int main(void)
{
    struct mmt_lt_functions functions;

    if (mmt_lt_open(&functions, &err))
        SKIP("%s", err.text);
    CHECK(functions.cublasLtGetVersion() >= 110000);
    check_descriptors(&functions);
    return test_end("cublas abi");
}
