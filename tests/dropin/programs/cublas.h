/* Of cuBLAS what the programs of these tests call; enumerations are int, handles and
 * descriptors void *. */
#ifndef MMT_TESTS_PROGRAMS_CUBLAS_H
#define MMT_TESTS_PROGRAMS_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k,
                   const float *alpha, const float *a, int lda, const float *b, int ldb,
                   const float *beta, float *c, int ldc);
int cublasSgemm_v2_64(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                      const float *alpha, const float *a, int64_t lda, const float *b,
                      int64_t ldb, const float *beta, float *c, int64_t ldc);
int cublasDgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k,
                   const double *alpha, const double *a, int lda, const double *b,
                   int ldb, const double *beta, double *c, int ldc);
int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                 const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                 const void *beta, void *c, int type_c, int ldc, int compute,
                 int algorithm);
int cublasSgemmStridedBatched(void *handle, int op_a, int op_b, int m, int n, int k,
                              const float *alpha, const float *a, int lda,
                              long long stride_a, const float *b, int ldb,
                              long long stride_b, const float *beta, float *c, int ldc,
                              long long stride_c, int batch);

int cublasLtMatmulDescCreate(void **out, int compute, int scale);
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value,
                                   size_t size);
int cublasLtMatmulDescDestroy(void *desc);
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns,
                               int64_t ld);
int cublasLtMatrixLayoutDestroy(void *layout);
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *la,
                   const void *b, void *lb, const void *beta, const void *c, void *lc,
                   void *d, void *ld, const uint64_t algorithm[8], void *workspace,
                   size_t workspace_size, void *stream);

#endif
