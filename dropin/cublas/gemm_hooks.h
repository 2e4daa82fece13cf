/* What stands before the products of cuBLAS: read twice by gemm.c, for the plain names
 * and for those that end in _64. */
#define HOOK __attribute__((visibility("default"))) int

HOOK NAME(cublasGemmEx)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,
                        const void *alpha, const void *a, int a_type, INT lda,
                        const void *b, int b_type, INT ldb, const void *beta, void *c,
                        int c_type, INT ldc, int compute, int algorithm)
{
    return serve(&(struct arguments){ GEMM_EX,
                                      WIDE,
                                      handle,
                                      trans_a,
                                      trans_b,
                                      m,
                                      n,
                                      k,
                                      alpha,
                                      beta,
                                      { a, a_type, lda, 0 },
                                      { b, b_type, ldb, 0 },
                                      { c, c_type, ldc, 0 },
                                      1,
                                      compute,
                                      algorithm });
}

HOOK NAME(cublasGemmStridedBatchedEx)(void *handle, int trans_a, int trans_b, INT m,
                                      INT n, INT k, const void *alpha, const void *a,
                                      int a_type, INT lda, long long stride_a,
                                      const void *b, int b_type, INT ldb,
                                      long long stride_b, const void *beta, void *c,
                                      int c_type, INT ldc, long long stride_c, INT batch,
                                      int compute, int algorithm)
{
    return serve(&(struct arguments){ STRIDED_EX,
                                      WIDE,
                                      handle,
                                      trans_a,
                                      trans_b,
                                      m,
                                      n,
                                      k,
                                      alpha,
                                      beta,
                                      { a, a_type, lda, stride_a },
                                      { b, b_type, ldb, stride_b },
                                      { c, c_type, ldc, stride_c },
                                      batch,
                                      compute,
                                      algorithm });
}

HOOK NAME(cublasSgemmEx)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,
                         const float *alpha, const void *a, int a_type, INT lda,
                         const void *b, int b_type, INT ldb, const float *beta, void *c,
                         int c_type, INT ldc)
{
    return serve(&(struct arguments){ SGEMM_EX,
                                      WIDE,
                                      handle,
                                      trans_a,
                                      trans_b,
                                      m,
                                      n,
                                      k,
                                      alpha,
                                      beta,
                                      { a, a_type, lda, 0 },
                                      { b, b_type, ldb, 0 },
                                      { c, c_type, ldc, 0 },
                                      1,
                                      CUBLAS_32F,
                                      0 });
}

#define PLAIN_ARGUMENTS(which, type, compute, batch)                                     \
    &(struct arguments)                                                                  \
    {                                                                                    \
        which, WIDE, handle, trans_a, trans_b, m, n, k, alpha, beta,                     \
            { a, type, lda, 0 }, { b, type, ldb, 0 }, { c, type, ldc, 0 }, batch,        \
            compute, 0                                                                   \
    }

#define PLAIN_HOOK(which, name, element, type, compute)                                  \
    HOOK NAME(name)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,         \
                    const element *alpha, const element *a, INT lda, const element *b,   \
                    INT ldb, const element *beta, element *c, INT ldc)                   \
    {                                                                                    \
        return serve(PLAIN_ARGUMENTS(which, type, compute, 1));                          \
    }
PLAIN_HOOK(SGEMM, cublasSgemm_v2, float, CUDA_32F, CUBLAS_32F)
PLAIN_HOOK(DGEMM, cublasDgemm_v2, double, CUDA_64F, CUBLAS_64F)
PLAIN_HOOK(HGEMM, cublasHgemm, void, CUDA_16F, CUBLAS_16F)
#undef PLAIN_HOOK

#define STRIDED_HOOK(which, name, element, type, compute)                                \
    HOOK NAME(name)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,         \
                    const element *alpha, const element *a, INT lda, long long stride_a, \
                    const element *b, INT ldb, long long stride_b, const element *beta,  \
                    element *c, INT ldc, long long stride_c, INT batch)                  \
    {                                                                                    \
        return serve(&(struct arguments){ which,                                         \
                                          WIDE,                                          \
                                          handle,                                        \
                                          trans_a,                                       \
                                          trans_b,                                       \
                                          m,                                             \
                                          n,                                             \
                                          k,                                             \
                                          alpha,                                         \
                                          beta,                                          \
                                          { a, type, lda, stride_a },                    \
                                          { b, type, ldb, stride_b },                    \
                                          { c, type, ldc, stride_c },                    \
                                          batch,                                         \
                                          compute,                                       \
                                          0 });                                          \
    }
STRIDED_HOOK(SSTRIDED, cublasSgemmStridedBatched, float, CUDA_32F, CUBLAS_32F)
STRIDED_HOOK(DSTRIDED, cublasDgemmStridedBatched, double, CUDA_64F, CUBLAS_64F)
STRIDED_HOOK(HSTRIDED, cublasHgemmStridedBatched, void, CUDA_16F, CUBLAS_16F)
#undef STRIDED_HOOK

HOOK NAME(cublasGemmBatchedEx)(void *handle, int trans_a, int trans_b, INT m, INT n,
                               INT k, const void *alpha, const void *const *a, int a_type,
                               INT lda, const void *const *b, int b_type, INT ldb,
                               const void *beta, void *const *c, int c_type, INT ldc,
                               INT batch, int compute, int algorithm)
{
    return serve(&(struct arguments){ BATCHED_EX,
                                      WIDE,
                                      handle,
                                      trans_a,
                                      trans_b,
                                      m,
                                      n,
                                      k,
                                      alpha,
                                      beta,
                                      { a, a_type, lda, 0 },
                                      { b, b_type, ldb, 0 },
                                      { c, c_type, ldc, 0 },
                                      batch,
                                      compute,
                                      algorithm });
}

#define BATCHED_HOOK(which, name, type, compute)                                         \
    HOOK NAME(name)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,         \
                    const void *alpha, const void *const *a, INT lda,                    \
                    const void *const *b, INT ldb, const void *beta, void *const *c,     \
                    INT ldc, INT batch)                                                  \
    {                                                                                    \
        return serve(PLAIN_ARGUMENTS(which, type, compute, batch));                      \
    }
BATCHED_HOOK(SBATCHED, cublasSgemmBatched, CUDA_32F, CUBLAS_32F)
BATCHED_HOOK(DBATCHED, cublasDgemmBatched, CUDA_64F, CUBLAS_64F)
BATCHED_HOOK(HBATCHED, cublasHgemmBatched, CUDA_16F, CUBLAS_16F)
#undef BATCHED_HOOK
#undef PLAIN_ARGUMENTS
#undef HOOK
