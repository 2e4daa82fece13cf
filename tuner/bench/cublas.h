/* cuBLAS by its handle, opened at run time: what programs call beside cuBLASLt. Types and
 * values are written out here; they are part of the ABI since version 11, and a test
 * holds them against the toolkit's own header where that is installed. */
#ifndef MMT_TUNER_BENCH_CUBLAS_H
#define MMT_TUNER_BENCH_CUBLAS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    MMT_CUBLAS_TF32_MATH = 3,    /* cublasMath_t: CUBLAS_TF32_TENSOR_OP_MATH */
    MMT_CUBLAS_DEFAULT_ALGO = 99 /* cublasGemmAlgo_t, as programs give it */
};

struct mmt_cublas_handle;

struct mmt_cublas_functions {
    int (*cublasCreate_v2)(struct mmt_cublas_handle **);
    int (*cublasDestroy_v2)(struct mmt_cublas_handle *);
    int (*cublasSetStream_v2)(struct mmt_cublas_handle *, void *stream);
    int (*cublasSetWorkspace_v2)(struct mmt_cublas_handle *, void *, size_t);
    int (*cublasSetMathMode)(struct mmt_cublas_handle *, int mode);
    int (*cublasSgemm_v2)(struct mmt_cublas_handle *, int op_a, int op_b, int m, int n,
                          int k, const float *alpha, const float *a, int lda,
                          const float *b, int ldb, const float *beta, float *c, int ldc);
    int (*cublasDgemm_v2)(struct mmt_cublas_handle *, int op_a, int op_b, int m, int n,
                          int k, const double *alpha, const double *a, int lda,
                          const double *b, int ldb, const double *beta, double *c,
                          int ldc);
    int (*cublasHgemm)(struct mmt_cublas_handle *, int op_a, int op_b, int m, int n,
                       int k, const void *alpha, const void *a, int lda, const void *b,
                       int ldb, const void *beta, void *c, int ldc); /* __half */
    int (*cublasGemmEx)(struct mmt_cublas_handle *, int op_a, int op_b, int m, int n,
                        int k, const void *alpha, const void *a, int type_a, int lda,
                        const void *b, int type_b, int ldb, const void *beta, void *c,
                        int type_c, int ldc, int compute, int algorithm);
    int (*cublasGemmStridedBatchedEx)(struct mmt_cublas_handle *, int op_a, int op_b,
                                      int m, int n, int k, const void *alpha,
                                      const void *a, int type_a, int lda,
                                      long long stride_a, const void *b, int type_b,
                                      int ldb, long long stride_b, const void *beta,
                                      void *c, int type_c, int ldc, long long stride_c,
                                      int batch, int compute, int algorithm);
    int (*cublasSgemmBatched)(struct mmt_cublas_handle *, int op_a, int op_b, int m,
                              int n, int k, const float *alpha, const float *const a[],
                              int lda, const float *const b[], int ldb, const float *beta,
                              float *const c[], int ldc, int batch);
    int (*cublasDgemmBatched)(struct mmt_cublas_handle *, int op_a, int op_b, int m,
                              int n, int k, const double *alpha, const double *const a[],
                              int lda, const double *const b[], int ldb,
                              const double *beta, double *const c[], int ldc, int batch);
    int (*cublasHgemmBatched)(struct mmt_cublas_handle *, int op_a, int op_b, int m,
                              int n, int k, const void *alpha, const void *const a[],
                              int lda, const void *const b[], int ldb, const void *beta,
                              void *const c[], int ldc, int batch); /* __half */
    int (*cublasGemmBatchedEx)(struct mmt_cublas_handle *, int op_a, int op_b, int m,
                               int n, int k, const void *alpha, const void *const a[],
                               int type_a, int lda, const void *const b[], int type_b,
                               int ldb, const void *beta, void *const c[], int type_c,
                               int ldc, int batch, int compute, int algorithm);
};

/* Opens one file. False with a sentence why not. */
bool mmt_cublas_open_file(const char *file, struct mmt_cublas_functions *functions,
                          char why[256]);

#endif
