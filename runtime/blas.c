/* Calls in the manner of BLAS: their arguments, told by number where they are wrong. */
#include <inttypes.h>
#include <stdio.h>

#include "base/problem.h"
#include "runtime/blas.h"

/* What each number of this header is in mmtune.h. */
static const mmt_argument arguments[] = {
    [MMT_BLAS_LAYOUT] = MMT_ARGUMENT_LAYOUT,
    [MMT_BLAS_TRANS_A] = MMT_ARGUMENT_TRANS_A,
    [MMT_BLAS_TRANS_B] = MMT_ARGUMENT_TRANS_B,
    [MMT_BLAS_M] = MMT_ARGUMENT_M,
    [MMT_BLAS_N] = MMT_ARGUMENT_N,
    [MMT_BLAS_K] = MMT_ARGUMENT_K,
    [MMT_BLAS_ALPHA] = MMT_ARGUMENT_ALPHA,
    [MMT_BLAS_A] = MMT_ARGUMENT_A,
    [MMT_BLAS_LDA] = MMT_ARGUMENT_LDA,
    [MMT_BLAS_B] = MMT_ARGUMENT_B,
    [MMT_BLAS_LDB] = MMT_ARGUMENT_LDB,
    [MMT_BLAS_BETA] = MMT_ARGUMENT_BETA,
    [MMT_BLAS_C] = MMT_ARGUMENT_C,
    [MMT_BLAS_LDC] = MMT_ARGUMENT_LDC,
    [MMT_BLAS_STRIDE_A] = MMT_ARGUMENT_STRIDE_A,
    [MMT_BLAS_STRIDE_B] = MMT_ARGUMENT_STRIDE_B,
    [MMT_BLAS_STRIDE_C] = MMT_ARGUMENT_STRIDE_C,
    [MMT_BLAS_BATCH] = MMT_ARGUMENT_BATCH,
    [MMT_BLAS_TYPE] = MMT_ARGUMENT_TYPE,
    [MMT_BLAS_HANDLE] = MMT_ARGUMENT_HANDLE,
};

int mmt_blas_argument(const mmt_error *err)
{
    if (err && err->status == MMT_ERROR_ARGUMENT && err->argument)
        for (int i = MMT_BLAS_LAYOUT; i <= MMT_BLAS_HANDLE; i++)
            if (arguments[i] == err->argument)
                return i;
    return 0;
}

/* ---- checking ---------------------------------------------------------------------- */

/* "argument 4, m, is -1; it must be from 0 to 2147418112" */
static mmt_status refuse(mmt_error *err, mmt_blas_number number, const char *name,
                         int64_t value, const char *right)
{
    return mmt_fail_argument(err, arguments[number],
                             "argument %d, %s, is %" PRId64 "; it must be %s",
                             (int) number, name, value, right);
}

static mmt_status check_transpose(mmt_blas_number number, const char *name,
                                  mmt_blas_transpose value, mmt_error *err)
{
    if (value == MMT_NO_TRANSPOSE || value == MMT_TRANSPOSE ||
        value == MMT_CONJUGATE_TRANSPOSE)
        return MMT_OK;
    return refuse(err, number, name, value,
                  "MMT_NO_TRANSPOSE (111), MMT_TRANSPOSE (112) or "
                  "MMT_CONJUGATE_TRANSPOSE (113)");
}

static mmt_status check_dimension(mmt_blas_number number, const char *name, int64_t value,
                                  mmt_error *err)
{
    char right[64];
    if (value >= 0 && value <= MMT_MOST_DIMENSION)
        return MMT_OK;
    snprintf(right, sizeof right, "from 0 to %d", MMT_MOST_DIMENSION);
    return refuse(err, number, name, value, right);
}

static mmt_status check_scalar(mmt_blas_number number, const char *name, double value,
                               mmt_type type, mmt_error *err)
{
    if (!mmt_type_in(type, MMT_WHOLE_TYPES) || mmt_scalar_is_whole(value))
        return MMT_OK;
    return mmt_fail_argument(
        err, arguments[number],
        "argument %d, %s, is %g; for %s it must be a whole number, of "
        "2^53 at most",
        (int) number, name, value, mmt_type_name(type));
}

/* All that does not depend on how matrices are stored. */
static mmt_status check_scalars(const mmt_blas *blas, const struct mmt_blas_call *call,
                                mmt_error *err)
{
    mmt_status status = MMT_OK;

    if (!blas)
        return mmt_fail_argument(
            err, arguments[MMT_BLAS_HANDLE],
            "the handle, mmt_blas, is null; mmt_blas_create makes one");
    if ((unsigned) call->type >= MMT_NUM_TYPES)
        return refuse(err, MMT_BLAS_TYPE, "type", call->type,
                      "an mmt_type, from MMT_F32 (0) to MMT_I8 (8)");
    if (call->layout != MMT_ROW_MAJOR && call->layout != MMT_COLUMN_MAJOR)
        return refuse(err, MMT_BLAS_LAYOUT, "layout", call->layout,
                      "MMT_ROW_MAJOR (101) or MMT_COLUMN_MAJOR (102)");
    if ((status = check_transpose(MMT_BLAS_TRANS_A, "trans_a", call->trans_a, err)) ||
        (status = check_transpose(MMT_BLAS_TRANS_B, "trans_b", call->trans_b, err)) ||
        (status = check_dimension(MMT_BLAS_M, "m", call->m, err)) ||
        (status = check_dimension(MMT_BLAS_N, "n", call->n, err)) ||
        (status = check_dimension(MMT_BLAS_K, "k", call->k, err)) ||
        (status = check_scalar(MMT_BLAS_ALPHA, "alpha", call->alpha, call->type, err)) ||
        (status = check_scalar(MMT_BLAS_BETA, "beta", call->beta, call->type, err)))
        return status;
    if (call->batch < 0)
        return refuse(err, MMT_BLAS_BATCH, "batch", call->batch, "0 or more");
    return MMT_OK;
}

static void describe_matrices(const struct mmt_blas_call *call,
                              struct mmt_blas_matrix out[3])
{
    const size_t input = mmt_type_size(call->type);
    const size_t output = mmt_type_size(mmt_type_own_output(call->type));
    const bool column = call->layout == MMT_COLUMN_MAJOR;
    const bool a_along_k = (call->trans_a == MMT_NO_TRANSPOSE) != column;
    const bool b_along_k = (call->trans_b == MMT_NO_TRANSPOSE) == column;
    const bool read = call->alpha != 0 && call->k > 0;
    const int64_t m = call->m, n = call->n, k = call->k;

    out[0] = (struct mmt_blas_matrix){ .name = 'A',
                                       .number = MMT_BLAS_A,
                                       .stride_number = MMT_BLAS_STRIDE_A,
                                       .length = a_along_k ? k : m,
                                       .lines = a_along_k ? m : k,
                                       .ld = call->lda,
                                       .stride = call->stride_a,
                                       .element = input,
                                       .used = read };
    out[1] = (struct mmt_blas_matrix){ .name = 'B',
                                       .number = MMT_BLAS_B,
                                       .stride_number = MMT_BLAS_STRIDE_B,
                                       .length = b_along_k ? k : n,
                                       .lines = b_along_k ? n : k,
                                       .ld = call->ldb,
                                       .stride = call->stride_b,
                                       .element = input,
                                       .used = read };
    out[2] = (struct mmt_blas_matrix){ .name = 'C',
                                       .number = MMT_BLAS_C,
                                       .stride_number = MMT_BLAS_STRIDE_C,
                                       .length = column ? m : n,
                                       .lines = column ? n : m,
                                       .ld = call->ldc,
                                       .stride = call->stride_c,
                                       .element = output,
                                       .used = true };
}

static mmt_status check_ld(const struct mmt_blas_matrix *x, const char *line,
                           mmt_error *err)
{
    const int number = x->number + 1;
    const int64_t least = x->length > 1 ? x->length : 1;

    if (x->ld >= least && x->ld <= INT32_MAX)
        return MMT_OK;
    return mmt_fail_argument(err, arguments[number],
                             "argument %d, ld%c, is %" PRId64 "; %c has %s of %" PRId64
                             " elements, so it must be from %" PRId64 " to %d",
                             number, x->name - 'A' + 'a', x->ld, x->name, line, x->length,
                             least, INT32_MAX);
}

/* From the first element to past the last; at most 2^62 elements of one matrix. */
static mmt_status count_bytes(struct mmt_blas_matrix *x, int64_t batch, mmt_error *err)
{
    int64_t gap = 0, elements = 0, bytes = 0;

    if (!x->lines || !x->length || !batch)
        return MMT_OK;
    if (x->stride >= 0 && !__builtin_mul_overflow(batch - 1, x->stride, &gap) &&
        !__builtin_add_overflow(gap, (x->lines - 1) * x->ld + x->length, &elements) &&
        !__builtin_mul_overflow(elements, (int64_t) x->element, &bytes)) {
        x->bytes = (uint64_t) bytes;
        return MMT_OK;
    }
    return mmt_fail_argument(err, arguments[x->stride_number],
                             "argument %d, stride_%c, is %" PRId64
                             "; it must be 0 or more, and the last of %" PRId64
                             " matrices of %c end below 2^63 bytes",
                             x->stride_number, x->name - 'A' + 'a', x->stride, batch,
                             x->name);
}

mmt_status mmt_blas_check(const mmt_blas *blas, const struct mmt_blas_call *call,
                          struct mmt_blas_matrix matrices[3], mmt_error *err)
{
    const char *line = call->layout == MMT_COLUMN_MAJOR ? "columns" : "rows";
    mmt_status status = check_scalars(blas, call, err);

    if (status)
        return status;
    describe_matrices(call, matrices);
    for (int i = 0; i < 3 && !status; i++)
        status = check_ld(&matrices[i], line, err);
    for (int i = 0; i < 3 && !status; i++)
        status = count_bytes(&matrices[i], call->batch, err);
    return status;
}

mmt_status mmt_blas_check_start(const struct mmt_blas_matrix *x, bool null,
                                uint64_t start, mmt_error *err)
{
    if (x->used && null)
        return mmt_fail_argument(err, arguments[x->number],
                                 "argument %d, %c, is null, but this product uses it",
                                 x->number, x->name);
    if (x->used && start % x->element)
        return mmt_fail_argument(err, arguments[x->number],
                                 "argument %d, %c, starts at byte %" PRIu64
                                 "; it must be a multiple of %zu",
                                 x->number, x->name, start, x->element);
    return MMT_OK;
}

static mmt_status check_operand(mmt_device *device, const struct mmt_blas_matrix *x,
                                mmt_operand operand, mmt_error *err)
{
    const bool is_address = mmt_device_caps(device)->dialect == MMT_CUDA_CXX;
    const uint64_t start = operand.offset + (is_address ? operand.handle : 0);
    mmt_error why;

    mmt_status status = mmt_blas_check_start(x, !operand.handle, start, err);
    if (status || !x->used)
        return status;
    status = mmt_buffer_check(device, operand, arguments[x->number], x->bytes, &why);
    if (status)
        mmt_blame(err, mmt_fail(err, status, "argument %d: %s", x->number, why.text),
                  arguments[x->number]);
    return status;
}

/* ---- calls ----------------------------------------------------------------------- */

mmt_status mmt_gemm_batched(mmt_blas *blas, mmt_type type, mmt_layout layout,
                            mmt_blas_transpose trans_a, mmt_blas_transpose trans_b,
                            int64_t m, int64_t n, int64_t k, double alpha, mmt_operand a,
                            int64_t lda, int64_t stride_a, mmt_operand b, int64_t ldb,
                            int64_t stride_b, double beta, mmt_operand c, int64_t ldc,
                            int64_t stride_c, int64_t batch, mmt_queue queue,
                            mmt_error *err)
{
    const struct mmt_blas_call call = { type,     layout,   trans_a,  trans_b, m,   n,
                                        k,        alpha,    beta,     lda,     ldb, ldc,
                                        stride_a, stride_b, stride_c, batch };
    const mmt_operand operands[3] = { a, b, c };
    struct mmt_blas_matrix matrices[3];

    mmt_status status = mmt_blas_check(blas, &call, matrices, err);
    if (status || mmt_blas_is_empty(&call))
        return status;
    for (int i = 0; i < 3 && !status; i++)
        status = check_operand(mmt_blas_device(blas), &matrices[i], operands[i], err);
    return status ? status : mmt_blas_execute(blas, &call, a, b, c, queue, err);
}

mmt_status mmt_gemm(mmt_blas *blas, mmt_type type, mmt_layout layout,
                    mmt_blas_transpose trans_a, mmt_blas_transpose trans_b, int64_t m,
                    int64_t n, int64_t k, double alpha, mmt_operand a, int64_t lda,
                    mmt_operand b, int64_t ldb, double beta, mmt_operand c, int64_t ldc,
                    mmt_queue queue, mmt_error *err)
{
    return mmt_gemm_batched(blas, type, layout, trans_a, trans_b, m, n, k, alpha, a, lda,
                            0, b, ldb, 0, beta, c, ldc, 0, 1, queue, err);
}
