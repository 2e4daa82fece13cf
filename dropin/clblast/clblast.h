/* CLBlast's C interface, as far as this library serves it: names, values and the order of
 * arguments are those that programs of CLBlast were compiled with. Declared here for the
 * library itself and its tests; programs include CLBlast's own header.
 *
 * C = alpha op(A) op(B) + beta C on the device of a queue. A, B and C are buffers of the
 * queue's context; offsets, leading dimensions and strides count elements. The queue is
 * given by address and stays the caller's. `event` may be NULL; else *event is one that
 * is done when C is there, for the caller to release. Each call answers a code, 0 for
 * success; where that is not 0, *event is as it was. Threads: any number at a time. */
#ifndef MMT_DROPIN_CLBLAST_CLBLAST_H
#define MMT_DROPIN_CLBLAST_CLBLAST_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <stddef.h>

/* What calls answer: codes of OpenCL, and besides: */
enum {
    CLBLAST_NOT_SERVED = -1024, /* nobody here has this routine */
    CLBLAST_INVALID_MATRIX_A = -1022,
    CLBLAST_INVALID_MATRIX_B = -1021,
    CLBLAST_INVALID_MATRIX_C = -1020,
    CLBLAST_INVALID_DIMENSION = -1017,
    CLBLAST_INVALID_LEAD_DIM_A = -1016,
    CLBLAST_INVALID_LEAD_DIM_B = -1015,
    CLBLAST_INVALID_LEAD_DIM_C = -1014,
    CLBLAST_INSUFFICIENT_MEMORY_A = -1011,
    CLBLAST_INSUFFICIENT_MEMORY_B = -1010,
    CLBLAST_INSUFFICIENT_MEMORY_C = -1009,
    CLBLAST_INVALID_BATCH_COUNT = -2049,
    CLBLAST_NO_DOUBLE_PRECISION = -2044,
    CLBLAST_UNKNOWN_ERROR = -2040,
};

enum { CLBLAST_ROW_MAJOR = 101, CLBLAST_COLUMN_MAJOR = 102 };
enum { CLBLAST_NO = 111, CLBLAST_YES = 112, CLBLAST_CONJUGATE = 113 };
enum { CLBLAST_UPPER = 121, CLBLAST_LOWER = 122 };

/* clang-format off */
#define CLBLAST_GEMM(T)                                                                  \
    int layout, int trans_a, int trans_b, size_t m, size_t n, size_t k, T alpha,         \
    cl_mem a, size_t a_offset, size_t lda, cl_mem b, size_t b_offset, size_t ldb,        \
    T beta, cl_mem c, size_t c_offset, size_t ldc, cl_command_queue *queue,              \
    cl_event *event
#define CLBLAST_GEMM_STRIDED_BATCHED(T)                                                  \
    int layout, int trans_a, int trans_b, size_t m, size_t n, size_t k, T alpha,         \
    cl_mem a, size_t a_offset, size_t lda, size_t stride_a, cl_mem b, size_t b_offset,   \
    size_t ldb, size_t stride_b, T beta, cl_mem c, size_t c_offset, size_t ldc,          \
    size_t stride_c, size_t batch, cl_command_queue *queue, cl_event *event
#define CLBLAST_GEMM_BATCHED(T)                                                          \
    int layout, int trans_a, int trans_b, size_t m, size_t n, size_t k, const T *alphas, \
    cl_mem a, const size_t *a_offsets, size_t lda, cl_mem b, const size_t *b_offsets,    \
    size_t ldb, const T *betas, cl_mem c, const size_t *c_offsets, size_t ldc,           \
    size_t batch, cl_command_queue *queue, cl_event *event
#define CLBLAST_SYRK(T)                                                                  \
    int layout, int triangle, int trans_a, size_t n, size_t k, T alpha, cl_mem a,        \
    size_t a_offset, size_t lda, T beta, cl_mem c, size_t c_offset, size_t ldc,          \
    cl_command_queue *queue, cl_event *event
#define CLBLAST_SIZES                                                                    \
    int layout, int trans_a, int trans_b, size_t m, size_t n, size_t k, size_t a_offset, \
    size_t lda, size_t b_offset, size_t ldb, size_t c_offset, size_t ldc,                \
    cl_command_queue *queue, size_t *bytes
/* clang-format on */

/* One product. A leading dimension is at least what a line of the matrix has. */
int CLBlastSgemm(CLBLAST_GEMM(float));
int CLBlastDgemm(CLBLAST_GEMM(double));
int CLBlastHgemm(CLBLAST_GEMM(cl_half));

/* The same, with memory for CLBlast's own copies, which ours does without. */
int CLBlastSgemmWithTempBuffer(CLBLAST_GEMM(float), cl_mem room);
int CLBlastDgemmWithTempBuffer(CLBLAST_GEMM(double), cl_mem room);
int CLBlastHgemmWithTempBuffer(CLBLAST_GEMM(cl_half), cl_mem room);

/* How many bytes that memory must have: those of one element. */
int CLBlastSGemmTempBufferSize(CLBLAST_SIZES);
int CLBlastDGemmTempBufferSize(CLBLAST_SIZES);
int CLBlastHGemmTempBufferSize(CLBLAST_SIZES);

/* `batch` products, whose matrices are strides apart; that of C is not 0. */
int CLBlastSgemmStridedBatched(CLBLAST_GEMM_STRIDED_BATCHED(float));
int CLBlastDgemmStridedBatched(CLBLAST_GEMM_STRIDED_BATCHED(double));
int CLBlastHgemmStridedBatched(CLBLAST_GEMM_STRIDED_BATCHED(cl_half));

/* `batch` products, with a scalar and an offset of each. Lists are read before a call
 * returns. Lines of A and of B may overlap: their leading dimensions may be below what a
 * line has. */
int CLBlastSgemmBatched(CLBLAST_GEMM_BATCHED(float));
int CLBlastDgemmBatched(CLBLAST_GEMM_BATCHED(double));
int CLBlastHgemmBatched(CLBLAST_GEMM_BATCHED(cl_half));

/* C = alpha op(A) op(A)' + beta C, one triangle of C with the diagonal; op(A) is n x k.
 */
int CLBlastSsyrk(CLBLAST_SYRK(float));
int CLBlastDsyrk(CLBLAST_SYRK(double));

/* Frees what is kept for devices: kernels, plans, workspaces and a reference to each
 * context. Calls of other threads go on. */
int CLBlastClearCache(void);

/* Has the real CLBlast compile its kernels; ours are compiled when they are needed. */
int CLBlastFillCache(cl_device_id device);

#endif
