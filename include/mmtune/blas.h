/* Products in the manner of BLAS: one call, no plan in sight.
 *
 *     mmt_blas *blas = mmt_blas_create(device, NULL, &err);
 *     mmt_gemm_host(blas, MMT_F32, MMT_COLUMN_MAJOR, MMT_NO_TRANSPOSE, MMT_NO_TRANSPOSE,
 *                   m, n, k, 1, a, lda, b, ldb, 0, c, ldc, &err);
 *
 * Each call computes C = alpha op(A) op(B) + beta C, where op(A) is m x k, op(B) is k x n
 * and C is m x n. A and B are of the type (mmt_type), and so is C, which for f8 is of
 * bf16 and for i8 of i32. Other outputs, a bias or an activation need a plan.
 *
 * Rules of BLAS hold: where beta is 0, C is not read, whatever it holds; where alpha or k
 * is 0, A and B are not read and may be null; where m, n or the batch is 0, nothing is
 * done. C may overlap neither A nor B.
 *
 * A handle keeps the plans of problems that it has met, and workspaces. So the first call
 * of a problem is slow (mmt_plan_create); a later one costs well under a microsecond
 * more than mmt_execute.
 *
 * A CUDA graph must not outlive what it captures, and plans of a handle come and go:
 * mmt_execute may be captured, these calls may not.
 */
#ifndef MMTUNE_BLAS_H
#define MMTUNE_BLAS_H

#include <mmtune/mmtune.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How matrices are stored: element (i, j) of A at a[i * lda + j], or at a[i + j * lda].
 * The values are those of CBLAS and of CLBlast, from which a cast leads here. */
typedef enum mmt_layout { MMT_ROW_MAJOR = 101, MMT_COLUMN_MAJOR = 102 } mmt_layout;

/* What op does. Values as above; all types are real, so that the last two are one. */
typedef enum mmt_blas_transpose {
    MMT_NO_TRANSPOSE = 111,
    MMT_TRANSPOSE = 112,
    MMT_CONJUGATE_TRANSPOSE = 113
} mmt_blas_transpose;

/* ---- the handle ------------------------------------------------------------------ */

/* Plans and workspaces for one device. Thread-safe: any number of threads may call with
 * one at a time, on one queue or on many, but for mmt_blas_free. Plans are made one after
 * the other, beside calls whose plan is there. */
typedef struct mmt_blas mmt_blas;

/* Start from mmt_blas_defaults(). */
typedef struct mmt_blas_options {
    size_t size;                  /* sizeof(mmt_blas_options) */
    size_t max_plans;             /* that are kept, at least 1; default 256 */
    const mmt_profile *profile;   /* the caller's, which outlives the handle; default
                                   * NULL: what mmt_profile_find has, if anything */
    const mmt_plan_options *plan; /* of every plan; copied, but for the text of
                                   * `configuration`, which outlives the handle. Default
                                   * NULL: mmt_plan_defaults */
} mmt_blas_options;

/* Fills in the defaults: the `size` bytes that the caller's header knows. */
MMT_API void mmt_blas_options_init(mmt_blas_options *out, size_t size);

static inline mmt_blas_options mmt_blas_defaults(void)
{
    mmt_blas_options options;
    mmt_blas_options_init(&options, sizeof options);
    return options;
}

/* Makes a handle for the device, which outlives it. `options` may be NULL.
 *
 * Where a new plan exceeds max_plans, a quarter of them is freed, those that were used
 * longest ago, after all queues that calls came with have been waited for. Those that
 * calls use at this moment stay. So a queue lives as long as the handle, or is
 * forgotten.
 *
 * A workspace is kept for each queue on which a product needed one: the largest that was.
 * It is for executions that follow each other. On an out-of-order queue use a handle
 * whose plan options have max_workspace = 0. */
MMT_API mmt_blas *mmt_blas_create(mmt_device *device, const mmt_blas_options *options,
                                  mmt_error *err);

/* Waits for a queue and frees what is kept for it; to be called before the queue is
 * released, while no other thread calls with it. A queue that is not known is waited
 * for. */
MMT_API mmt_status mmt_blas_forget(mmt_blas *blas, mmt_queue queue, mmt_error *err);

/* Frees a handle; NULL is allowed. What its calls queued must be finished first. */
MMT_API void mmt_blas_free(mmt_blas *blas);

/* ---- products -------------------------------------------------------------------- */

/* Puts one product of matrices in device memory on the queue and returns, as mmt_execute
 * does; NULL is the device's own queue. m, n, k and leading dimensions count elements.
 * Each of m, n and k is from 0 to 2^31 - 65536. A leading dimension is from 1 or what a
 * row has, of column-major matrices a column, to 2^31 - 1. For i32 and i8, alpha and beta
 * are whole numbers.
 *
 * MMT_ERROR_ARGUMENT: one of the arguments is wrong, mmt_blas_argument says which, and
 * nothing was queued. Other errors are those of mmt_plan_create and mmt_execute. */
MMT_API mmt_status mmt_gemm(mmt_blas *blas, mmt_type type, mmt_layout layout,
                            mmt_blas_transpose trans_a, mmt_blas_transpose trans_b,
                            int64_t m, int64_t n, int64_t k, double alpha, mmt_operand a,
                            int64_t lda, mmt_operand b, int64_t ldb, double beta,
                            mmt_operand c, int64_t ldc, mmt_queue queue, mmt_error *err);

/* `batch` products at once, whose matrices are that many elements apart. A stride of 0
 * for A or B: all share one matrix; for C with a batch over 1: no gap between the
 * matrices. Matrices of C may not overlap. Else as mmt_gemm. */
MMT_API mmt_status mmt_gemm_batched(mmt_blas *blas, mmt_type type, mmt_layout layout,
                                    mmt_blas_transpose trans_a,
                                    mmt_blas_transpose trans_b, int64_t m, int64_t n,
                                    int64_t k, double alpha, mmt_operand a, int64_t lda,
                                    int64_t stride_a, mmt_operand b, int64_t ldb,
                                    int64_t stride_b, double beta, mmt_operand c,
                                    int64_t ldc, int64_t stride_c, int64_t batch,
                                    mmt_queue queue, mmt_error *err);

/* One product of matrices in host memory; returns when C is there. Nothing but C's
 * elements is written: what stands between its rows, or columns, stays. Matrices go to
 * the device and back by copies, which take device memory for this call; a CPU uses them
 * in place. It runs on the device's own queue. Else as mmt_gemm. */
MMT_API mmt_status mmt_gemm_host(mmt_blas *blas, mmt_type type, mmt_layout layout,
                                 mmt_blas_transpose trans_a, mmt_blas_transpose trans_b,
                                 int64_t m, int64_t n, int64_t k, double alpha,
                                 const void *a, int64_t lda, const void *b, int64_t ldb,
                                 double beta, void *c, int64_t ldc, mmt_error *err);

/* ---- wrong arguments --------------------------------------------------------------- */

/* Arguments by their numbers in cblas_sgemm, and behind them those that it lacks. */
typedef enum mmt_blas_number {
    MMT_BLAS_LAYOUT = 1,
    MMT_BLAS_TRANS_A,
    MMT_BLAS_TRANS_B,
    MMT_BLAS_M,
    MMT_BLAS_N,
    MMT_BLAS_K,
    MMT_BLAS_ALPHA,
    MMT_BLAS_A,
    MMT_BLAS_LDA,
    MMT_BLAS_B,
    MMT_BLAS_LDB,
    MMT_BLAS_BETA,
    MMT_BLAS_C,
    MMT_BLAS_LDC,
    MMT_BLAS_STRIDE_A,
    MMT_BLAS_STRIDE_B,
    MMT_BLAS_STRIDE_C,
    MMT_BLAS_BATCH,
    MMT_BLAS_TYPE,
    MMT_BLAS_HANDLE
} mmt_blas_number;

/* The number of the argument that a product of this header refused; 0 where the error is
 * of another kind. Made of err->argument. */
MMT_API int mmt_blas_argument(const mmt_error *err);

#ifdef __cplusplus
}
#endif
#endif
