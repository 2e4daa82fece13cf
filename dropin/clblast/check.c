/* What is wrong with a call, in the order in which CLBlast checks. */
#include "base/type.h"
#include "device/opencl_api.h"
#include "dropin/clblast/call.h"

/* A matrix as lines that stand `ld` elements apart. */
struct lines {
    const struct mmt_clblast_matrix *matrix;
    size_t length, count;
    int bad_ld, bad_size, bad_buffer; /* what to answer */
    bool may_overlap;
};

static size_t last_offset(const struct mmt_clblast_call *call,
                          const struct mmt_clblast_matrix *x, bool *overflows)
{
    size_t last = x->offsets[0], gap;

    for (size_t i = 1; call->routine == MMT_CLBLAST_BATCHED && i < call->batch; i++)
        last = x->offsets[i] > last ? x->offsets[i] : last;
    *overflows |= __builtin_mul_overflow(call->batch - 1, x->stride, &gap) ||
                  __builtin_add_overflow(last, gap, &last);
    return last;
}

static int check_lines(const struct mmt_clblast_call *call, const struct lines *x)
{
    bool overflows = false;
    size_t bytes = last_offset(call, x->matrix, &overflows), lines, size = 0;

    if (!x->may_overlap && x->matrix->ld < x->length)
        return x->bad_ld;
    if (!x->matrix->buffer ||
        clGetMemObjectInfo(x->matrix->buffer, CL_MEM_SIZE, sizeof size, &size, NULL))
        return x->bad_buffer;
    overflows |= __builtin_mul_overflow(x->count - 1, x->matrix->ld, &lines) ||
                 __builtin_add_overflow(bytes, lines, &bytes) ||
                 __builtin_add_overflow(bytes, x->length, &bytes) ||
                 __builtin_mul_overflow(bytes, mmt_type_size(call->type), &bytes);
    return overflows || bytes > size ? x->bad_size : CL_SUCCESS;
}

static int check_matrices(const struct mmt_clblast_call *call)
{
    const bool row = call->layout == CLBLAST_ROW_MAJOR;
    const bool a_along_k = row == (call->trans_a == CLBLAST_NO);
    const bool b_along_n = row == (call->trans_b == CLBLAST_NO);
    const bool overlap = call->routine == MMT_CLBLAST_BATCHED;
    const size_t m = call->m, n = call->n, k = call->k;
    const struct lines all[] = {
        { &call->a, a_along_k ? k : m, a_along_k ? m : k, CLBLAST_INVALID_LEAD_DIM_A,
          CLBLAST_INSUFFICIENT_MEMORY_A, CLBLAST_INVALID_MATRIX_A, overlap },
        { &call->b, b_along_n ? n : k, b_along_n ? k : n, CLBLAST_INVALID_LEAD_DIM_B,
          CLBLAST_INSUFFICIENT_MEMORY_B, CLBLAST_INVALID_MATRIX_B, overlap },
        { &call->c, row ? n : m, row ? m : n, CLBLAST_INVALID_LEAD_DIM_C,
          CLBLAST_INSUFFICIENT_MEMORY_C, CLBLAST_INVALID_MATRIX_C, false },
    };
    int code = CL_SUCCESS;

    for (int i = 0; i < 3 && !code; i++)
        code = check_lines(call, &all[i]);
    return code;
}

/* CLBlast takes any number for these; who passes another one means none of them. */
static bool are_words_known(const struct mmt_clblast_call *call)
{
    return call->layout >= CLBLAST_ROW_MAJOR && call->layout <= CLBLAST_COLUMN_MAJOR &&
           call->trans_a >= CLBLAST_NO && call->trans_a <= CLBLAST_CONJUGATE &&
           call->trans_b >= CLBLAST_NO && call->trans_b <= CLBLAST_CONJUGATE &&
           call->triangle >= CLBLAST_UPPER && call->triangle <= CLBLAST_LOWER;
}

int mmt_clblast_check(const struct mmt_clblast_call *call)
{
    if (!are_words_known(call))
        return CL_INVALID_VALUE;
    if (!call->batch)
        return CLBLAST_INVALID_BATCH_COUNT;
    if (call->routine == MMT_CLBLAST_STRIDED && !call->c.stride)
        return CLBLAST_INVALID_DIMENSION;
    if (!call->m || !call->n || !call->k)
        return CLBLAST_INVALID_DIMENSION;
    return check_matrices(call);
}
