/* cuBLASLt, opened at run time, and a row-major problem in its words. Types and the few
 * values that are needed are written out here; they are part of the ABI since version 11,
 * and a test holds them against the toolkit's own header where that is installed. */
#ifndef MMT_TUNER_BENCH_CUBLAS_LT_H
#define MMT_TUNER_BENCH_CUBLAS_LT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"

/* Values of its enumerations, with its own names beside. */
enum {
    MMT_LT_R_32F = 0, /* cudaDataType */
    MMT_LT_R_64F = 1,
    MMT_LT_R_16F = 2,
    MMT_LT_R_8I = 3,
    MMT_LT_R_32I = 10,
    MMT_LT_R_16BF = 14,
    MMT_LT_R_8F_E4M3 = 28,
    MMT_LT_COMPUTE_16F = 64, /* cublasComputeType_t */
    MMT_LT_COMPUTE_16F_PEDANTIC = 65,
    MMT_LT_COMPUTE_32F = 68, /* strict, no tf32 */
    MMT_LT_COMPUTE_64F = 70,
    MMT_LT_COMPUTE_32I = 72,
    MMT_LT_COMPUTE_TF32 = 77, /* CUBLAS_COMPUTE_32F_FAST_TF32 */
    MMT_LT_OP_T = 1,          /* cublasOperation_t */
    MMT_LT_DESC_TRANSA = 3,   /* cublasLtMatmulDescAttributes_t */
    MMT_LT_DESC_TRANSB = 4,
    MMT_LT_DESC_EPILOGUE = 7,
    MMT_LT_DESC_BIAS = 8,
    MMT_LT_EPILOGUE_RELU = 2, /* cublasLtEpilogue_t: bits */
    MMT_LT_EPILOGUE_BIAS = 4,
    MMT_LT_EPILOGUE_GELU = 32, /* by tanh */
    MMT_LT_LAYOUT_BATCH = 5,   /* cublasLtMatrixLayoutAttribute_t */
    MMT_LT_LAYOUT_STRIDE = 6,
    MMT_LT_PREF_WORKSPACE = 1, /* cublasLtMatmulPreferenceAttributes_t */
    MMT_LT_PREF_REDUCTIONS = 3,
    MMT_LT_REDUCTION_COMPUTE = 2, /* cublasLtReductionScheme_t */
    MMT_LT_REDUCTION_OUTPUT = 4,
    MMT_LT_ALL_REDUCTIONS = 7,
    MMT_LT_CONFIG_SWIZZLING = 4, /* cublasLtMatmulAlgoConfigAttributes_t */
    MMT_LT_NOT_SUPPORTED = 15,   /* cublasStatus_t */
};

struct mmt_lt_handle;
struct mmt_lt_descriptor;
struct mmt_lt_layout;
struct mmt_lt_preference;

/* cublasLtMatmulHeuristicResult_t */
struct mmt_lt_heuristic {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};
struct mmt_lt_functions {
    size_t (*cublasLtGetVersion)(void);
    const char *(*cublasLtGetStatusName)(int status);
    int (*cublasLtCreate)(struct mmt_lt_handle **);
    int (*cublasLtDestroy)(struct mmt_lt_handle *);
    int (*cublasLtMatmulDescCreate)(struct mmt_lt_descriptor **, int compute, int scale);
    int (*cublasLtMatmulDescDestroy)(struct mmt_lt_descriptor *);
    int (*cublasLtMatmulDescSetAttribute)(struct mmt_lt_descriptor *, int attribute,
                                          const void *value, size_t size);
    int (*cublasLtMatrixLayoutCreate)(struct mmt_lt_layout **, int type, uint64_t rows,
                                      uint64_t columns, int64_t ld);
    int (*cublasLtMatrixLayoutDestroy)(struct mmt_lt_layout *);
    int (*cublasLtMatrixLayoutSetAttribute)(struct mmt_lt_layout *, int attribute,
                                            const void *value, size_t size);
    int (*cublasLtMatmulPreferenceCreate)(struct mmt_lt_preference **);
    int (*cublasLtMatmulPreferenceDestroy)(struct mmt_lt_preference *);
    int (*cublasLtMatmulPreferenceSetAttribute)(struct mmt_lt_preference *, int attribute,
                                                const void *value, size_t size);
    int (*cublasLtMatmulAlgoGetHeuristic)(
        struct mmt_lt_handle *, struct mmt_lt_descriptor *, struct mmt_lt_layout *a,
        struct mmt_lt_layout *b, struct mmt_lt_layout *c, struct mmt_lt_layout *d,
        struct mmt_lt_preference *, int wanted, struct mmt_lt_heuristic *, int *found);
    int (*cublasLtMatmulAlgoConfigSetAttribute)(uint64_t algorithm[8], int attribute,
                                                const void *value, size_t size);
    int (*cublasLtMatmulAlgoCheck)(struct mmt_lt_handle *, struct mmt_lt_descriptor *,
                                   struct mmt_lt_layout *a, struct mmt_lt_layout *b,
                                   struct mmt_lt_layout *c, struct mmt_lt_layout *d,
                                   const uint64_t algorithm[8],
                                   struct mmt_lt_heuristic *);
    int (*cublasLtMatmul)(struct mmt_lt_handle *, struct mmt_lt_descriptor *,
                          const void *alpha, const void *a, struct mmt_lt_layout *,
                          const void *b, struct mmt_lt_layout *, const void *beta,
                          const void *c, struct mmt_lt_layout *, void *d,
                          struct mmt_lt_layout *, const uint64_t algorithm[8],
                          void *workspace, size_t workspace_size, void *stream);
};

/* Where it is missing the error says how to get it. */
mmt_status mmt_lt_open(struct mmt_lt_functions *functions, mmt_error *err);

/* The same of one file. False with a sentence why not. */
bool mmt_lt_open_file(const char *file, struct mmt_lt_functions *functions,
                      char why[256]);

/* What a failed call becomes. */
mmt_status mmt_lt_fail(const struct mmt_lt_functions *functions, int code,
                       const char *call, mmt_error *err);

/* ---- a product --------------------------------------------------------------------- */

/* cudaDataType of a type as it is stored, and the cublasComputeType_t by which it is
 * multiplied: bf16 and f16 in f32, tf32 with leave to round f32 to it. */
int mmt_lt_stored(mmt_type type);
int mmt_lt_compute(mmt_type type);

/* NULL where cuBLAS and cuBLASLt have the problem's type, else why not. */
const char *mmt_lt_refuse_type(const mmt_problem *problem);

/* A normalised problem as cuBLASLt is told of it. It is column-major: the row-major C =
 * A B is its C' = B' A', so that its first operand is our B and its second our A. */
struct mmt_lt_product {
    struct mmt_lt_descriptor *descriptor;
    struct mmt_lt_layout *first, *second, *product; /* our B, our A, C */
};

/* Without an epilogue. `compute` is a cublasComputeType_t: alpha and beta are f16 under
 * those of 16F, else as mmt_type_scalar has them. To be freed also on failure. */
mmt_status mmt_lt_product_make(const struct mmt_lt_functions *functions,
                               const mmt_problem *problem, int compute,
                               struct mmt_lt_product *out, mmt_error *err);
void mmt_lt_product_free(const struct mmt_lt_functions *functions,
                         struct mmt_lt_product *product);

#endif
