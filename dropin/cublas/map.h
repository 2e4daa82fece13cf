/* From a product of cuBLAS to a problem of ours. Pure functions, but for what they read
 * through scalars' pointers.
 *
 * Column-major C = op(A) op(B) is row-major C^T = op(B)^T op(A)^T: A and B change places,
 * and so do m and n, their flags and leading dimensions. */
#ifndef MMT_DROPIN_CUBLAS_MAP_H
#define MMT_DROPIN_CUBLAS_MAP_H

#include "base/call.h"
#include "dropin/cublas/cublas.h"

/* NVIDIA_TF32_OVERRIDE: whatever the program asks for, f32 never is rounded to tf32, or
 * always may be. */
enum mmt_override { MMT_AS_ASKED, MMT_NEVER_TF32, MMT_ALWAYS_TF32 };
enum mmt_override mmt_map_override(const char *value);

/* A product in cuBLAS's own words. */
struct mmt_matrix {
    const void *data;
    int type; /* cudaDataType */
    int64_t ld;
    int64_t stride; /* elements; of a batch */
};
struct mmt_gemm {
    int trans_a, trans_b;
    int64_t m, n, k, batch;
    mmt_batch_by batch_by; /* with pointers, `data` is an array of them */
    struct mmt_matrix a, b, c;
    int compute;
    bool adds; /* beta is not 0, as far as the host knows */
    mmt_bias bias;
    mmt_activation activation;
};

/* Writes the call that it is, all but the client and the workspace. Returns NULL, or a
 * few words on the feature that we have not; "" for what is nothing to compute or an
 * error, which the library answers. */
const char *mmt_map_gemm(const struct mmt_gemm *gemm, int math,
                         enum mmt_override override, mmt_f32_mode f32_mode,
                         struct mmt_call *out);

/* Bytes that a call's operands begin at multiples of, as mmt_call has them. The host does
 * not know pointers in arrays: what cuBLAS demands of them counts. With types of 16 bits
 * it is 16 where k is a multiple of 8; else none is counted on. */
size_t mmt_map_alignment(const struct mmt_gemm *gemm, const mmt_problem *problem);

/* Whether a cublasComputeType_t accumulates in f16. */
enum mmt_compute mmt_map_compute(int compute);

/* The type of alpha and beta, a cudaDataType, or -1; and one of them, in host memory. */
int mmt_map_scale(int compute);
double mmt_map_scalar(int scale, const void *value);

/* An epilogue of cublasLt as bias and activation; false: it has more. */
bool mmt_map_epilogue(int epilogue, mmt_bias *bias, mmt_activation *activation);

#endif
