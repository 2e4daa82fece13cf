/* The products of cuBLAS, whose sizes are INT: read twice by cublas.h, for the plain
 * names and for those that end in _64. */
int NAME(cublasGemmEx)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,
                       const void *alpha, const void *a, int a_type, INT lda,
                       const void *b, int b_type, INT ldb, const void *beta, void *c,
                       int c_type, INT ldc, int compute, int algorithm);
int NAME(cublasGemmStridedBatchedEx)(void *handle, int trans_a, int trans_b, INT m, INT n,
                                     INT k, const void *alpha, const void *a, int a_type,
                                     INT lda, long long stride_a, const void *b,
                                     int b_type, INT ldb, long long stride_b,
                                     const void *beta, void *c, int c_type, INT ldc,
                                     long long stride_c, INT batch, int compute,
                                     int algorithm);
int NAME(cublasSgemmEx)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,
                        const float *alpha, const void *a, int a_type, INT lda,
                        const void *b, int b_type, INT ldb, const float *beta, void *c,
                        int c_type, INT ldc);

/* Of half, elements and scalars are 16 bits; of complex types, pairs of numbers. */
#define PLAIN(letter, element)                                                           \
    int NAME(letter)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,        \
                     const element *alpha, const element *a, INT lda, const element *b,  \
                     INT ldb, const element *beta, element *c, INT ldc);
PLAIN(cublasSgemm_v2, float)
PLAIN(cublasDgemm_v2, double)
PLAIN(cublasHgemm, void)
PLAIN(cublasCgemm_v2, void)
PLAIN(cublasZgemm_v2, void)
#undef PLAIN

#define STRIDED(letter, element)                                                         \
    int NAME(letter)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,        \
                     const element *alpha, const element *a, INT lda,                    \
                     long long stride_a, const element *b, INT ldb, long long stride_b,  \
                     const element *beta, element *c, INT ldc, long long stride_c,       \
                     INT batch);
STRIDED(cublasSgemmStridedBatched, float)
STRIDED(cublasDgemmStridedBatched, double)
STRIDED(cublasHgemmStridedBatched, void)
STRIDED(cublasCgemmStridedBatched, void)
STRIDED(cublasZgemmStridedBatched, void)
#undef STRIDED

/* Pointer-array batches: a, b and c are arrays in device memory. */
#define POINTERS(letter)                                                                 \
    int NAME(letter)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,        \
                     const void *alpha, const void *const *a, INT lda,                   \
                     const void *const *b, INT ldb, const void *beta, void *const *c,    \
                     INT ldc, INT batch);
POINTERS(cublasSgemmBatched)
POINTERS(cublasDgemmBatched)
POINTERS(cublasHgemmBatched)
POINTERS(cublasCgemmBatched)
POINTERS(cublasZgemmBatched)
#undef POINTERS
int NAME(cublasGemmBatchedEx)(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,
                              const void *alpha, const void *const *a, int a_type,
                              INT lda, const void *const *b, int b_type, INT ldb,
                              const void *beta, void *const *c, int c_type, INT ldc,
                              INT batch, int compute, int algorithm);
