/* Products in the manner of BLAS, from within: blas.c checks calls, blas_plans.c keeps
 * plans and executes, blas_host.c brings host memory to the device. The public half is
 * mmtune/blas.h. */
#ifndef MMT_RUNTIME_BLAS_H
#define MMT_RUNTIME_BLAS_H

#include <mmtune/blas.h>

#include "runtime/runtime.h"

/* A call as the caller has it, but for where the matrices are. */
struct mmt_blas_call {
    mmt_type type;
    mmt_layout layout;
    mmt_blas_transpose trans_a, trans_b;
    int64_t m, n, k;
    double alpha, beta;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c, batch;
};

/* A, B or C of a call, as it is stored: lines, which are rows or columns, of `length`
 * elements. */
struct mmt_blas_matrix {
    char name;  /* 'A' */
    int number; /* the argument's; that of its leading dimension is one more */
    int stride_number;
    int64_t length, lines, ld, stride;
    size_t element; /* bytes */
    uint64_t bytes; /* from the first element to past the last, of the whole batch */
    bool used;      /* by this call */
};

/* Checks all but where the matrices are; `matrices` gets A, B and C. The error has the
 * argument's number. */
mmt_status mmt_blas_check(const mmt_blas *blas, const struct mmt_blas_call *call,
                          struct mmt_blas_matrix matrices[3], mmt_error *err);

/* Refuses a matrix that is used but null, or starts at no multiple of its element's size.
 * `start` is a byte's number in the memory or the buffer that it is in. */
mmt_status mmt_blas_check_start(const struct mmt_blas_matrix *matrix, bool null,
                                uint64_t start, mmt_error *err);

/* There is nothing to do. */
static inline bool mmt_blas_is_empty(const struct mmt_blas_call *call)
{
    return !call->m || !call->n || !call->batch;
}

/* Executes a call that was checked: finds or makes its plan, lends it the queue's
 * workspace. */
mmt_status mmt_blas_execute(mmt_blas *blas, const struct mmt_blas_call *call,
                            mmt_operand a, mmt_operand b, mmt_operand c, mmt_queue queue,
                            mmt_error *err);

/* A plan that a handle keeps. */
struct mmt_blas_plan;

/* Finds or makes the plan of a problem for a caller that executes it by itself, and gives
 * it back once that is queued. The handle does not know of those executions: where it
 * frees plans it does not wait for them, which OpenCL allows. */
mmt_status mmt_blas_borrow(mmt_blas *blas, const mmt_problem *problem,
                           struct mmt_blas_plan **out, mmt_error *err);
void mmt_blas_give_back(struct mmt_blas_plan *plan);
const mmt_plan *mmt_blas_plan_of(const struct mmt_blas_plan *plan);

mmt_device *mmt_blas_device(const mmt_blas *blas);

/* How many plans are kept. */
size_t mmt_blas_count_plans(mmt_blas *blas);

#endif
