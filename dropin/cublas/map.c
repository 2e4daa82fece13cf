/* Translates a product as cuBLAS spells it, column by column, to a row-major problem of
 * ours, or says why it cannot. */
#include "dropin/cublas/map.h"

#include <math.h>
#include <string.h>

/* ---- types ----------------------------------------------------------------------- */

static int type_of(int cuda)
{
    switch (cuda) {
    case CUDA_32F:
        return MMT_F32;
    case CUDA_64F:
        return MMT_F64;
    case CUDA_16F:
        return MMT_F16;
    case CUDA_16BF:
        return MMT_BF16;
    case CUDA_8I:
        return MMT_I8;
    case CUDA_32I:
        return MMT_I32;
    default:
        return -1;
    }
}

enum mmt_override mmt_map_override(const char *value)
{
    return !value || !*value ? MMT_AS_ASKED
           : *value == '0'   ? MMT_NEVER_TF32
                             : MMT_ALWAYS_TF32;
}

/* Plain f32 is never rounded to tf32 unless the program or its user allows it; pedantic
 * f32 is never emulated. */
static const char *choose_f32(int compute, int mode, enum mmt_override override,
                              mmt_f32_mode f32_mode, mmt_type *type)
{
    const bool pedantic = compute == CUBLAS_32F_PEDANTIC || mode == CUBLAS_PEDANTIC_MATH;
    const bool allowed = compute == CUBLAS_32F_FAST_TF32 || mode == CUBLAS_TF32_MATH ||
                         override == MMT_ALWAYS_TF32;

    if (pedantic && f32_mode != MMT_F32_STRICT)
        return "pedantic f32 beside emulated f32";
    *type = allowed && !pedantic && override != MMT_NEVER_TF32 ? MMT_TF32 : MMT_F32;
    return NULL;
}

/* Of f32: with CUBLAS_TENSOR_OP_MATH cuBLAS multiplies it rounded to f16, a time that no
 * verdict is of. */
static bool is_f32_math(int mode)
{
    return mode == CUBLAS_DEFAULT_MATH || mode == CUBLAS_TF32_MATH ||
           mode == CUBLAS_PEDANTIC_MATH;
}

static bool is_plain_math(int mode)
{
    return mode == CUBLAS_DEFAULT_MATH || mode == CUBLAS_TENSOR_OP_MATH ||
           mode == CUBLAS_TF32_MATH;
}

enum mmt_compute mmt_map_compute(int compute)
{
    return compute == CUBLAS_16F            ? MMT_COMPUTE_16F
           : compute == CUBLAS_16F_PEDANTIC ? MMT_COMPUTE_16F_PEDANTIC
                                            : MMT_COMPUTE_USUAL;
}

static const char *choose_type(const struct mmt_gemm *gemm, int math,
                               enum mmt_override override, mmt_f32_mode f32_mode,
                               mmt_problem *problem)
{
    const int mode = math & ~CUBLAS_NO_REDUCED_SUMS;
    const int in = type_of(gemm->a.type), out = type_of(gemm->c.type);
    const bool wide = gemm->compute == CUBLAS_32F;

    if (in < 0 || out < 0 || gemm->a.type != gemm->b.type)
        return "types";
    problem->type = (mmt_type) in;
    problem->out = (mmt_type) out;
    if (!(in == MMT_F32 ? is_f32_math(mode) : is_plain_math(mode)))
        return "math mode";
    if (in == MMT_F32 && out == MMT_F32 &&
        (wide || gemm->compute == CUBLAS_32F_PEDANTIC ||
         gemm->compute == CUBLAS_32F_FAST_TF32))
        return choose_f32(gemm->compute, mode, override, f32_mode, &problem->type);
    if (in == MMT_F64 && out == MMT_F64 && gemm->compute == CUBLAS_64F)
        return NULL;
    if (in == MMT_I8 && out == MMT_I32 && gemm->compute == CUBLAS_32I)
        return NULL;
    if (in == MMT_F16 && out == MMT_F16 && mmt_map_compute(gemm->compute))
        return NULL;
    if (in == MMT_F16 && wide)
        return out == MMT_F16 || out == MMT_F32 ? NULL : "types";
    if (in == MMT_BF16 && wide)
        return out == MMT_BF16 || out == MMT_F32 ? NULL : "types";
    return "compute type";
}

/* ---- scalars --------------------------------------------------------------------- */

int mmt_map_scale(int compute)
{
    switch (compute) {
    case CUBLAS_16F:
    case CUBLAS_16F_PEDANTIC:
        return CUDA_16F;
    case CUBLAS_32F:
    case CUBLAS_32F_PEDANTIC:
    case CUBLAS_32F_FAST_TF32:
        return CUDA_32F;
    case CUBLAS_64F:
        return CUDA_64F;
    case CUBLAS_32I:
        return CUDA_32I;
    default:
        return -1;
    }
}

/* 1 bit of sign, 5 of exponent, 10 of fraction. */
static double read_half(const void *value)
{
    uint16_t bits;
    memcpy(&bits, value, sizeof bits);
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign *
           (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

double mmt_map_scalar(int scale, const void *value)
{
    union {
        float f32;
        double f64;
        int32_t i32;
    } it;

    switch (scale) {
    case CUDA_16F:
        return read_half(value);
    case CUDA_64F:
        memcpy(&it.f64, value, sizeof it.f64);
        return it.f64;
    case CUDA_32I:
        memcpy(&it.i32, value, sizeof it.i32);
        return it.i32;
    default:
        memcpy(&it.f32, value, sizeof it.f32);
        return (double) it.f32;
    }
}

/* ---- sizes ----------------------------------------------------------------------- */

/* What the library refuses, or has nothing to do for. */
static bool is_for_library(const struct mmt_gemm *gemm)
{
    const bool a = gemm->trans_a != CUBLAS_N, b = gemm->trans_b != CUBLAS_N;
    return gemm->m <= 0 || gemm->n <= 0 || gemm->k <= 0 || gemm->batch <= 0 ||
           gemm->a.ld < (a ? gemm->k : gemm->m) || gemm->b.ld < (b ? gemm->n : gemm->k) ||
           gemm->c.ld < gemm->m || !gemm->a.data || !gemm->b.data || !gemm->c.data;
}

static const char *map_batch(const struct mmt_gemm *gemm, mmt_problem *problem)
{
    problem->batch = gemm->batch;
    problem->batch_by = gemm->batch_by;
    if (gemm->batch == 1 || gemm->batch_by == MMT_BY_POINTERS)
        return NULL;
    if (gemm->a.stride < 0 || gemm->b.stride < 0 || gemm->c.stride <= 0)
        return "strides of a batch";
    problem->stride_a = gemm->b.stride;
    problem->stride_b = gemm->a.stride;
    problem->stride_c = gemm->c.stride;
    return NULL;
}

static bool is_plain_operation(int operation)
{
    return operation == CUBLAS_N || operation == CUBLAS_T;
}

const char *mmt_map_gemm(const struct mmt_gemm *gemm, int math,
                         enum mmt_override override, mmt_f32_mode f32_mode,
                         struct mmt_call *out)
{
    mmt_problem problem = { .size = sizeof problem, .op = MMT_GEMM };
    const char *why;

    if (!is_plain_operation(gemm->trans_a) || !is_plain_operation(gemm->trans_b))
        return "conjugate transpose";
    if (is_for_library(gemm))
        return "";
    if ((why = choose_type(gemm, math, override, f32_mode, &problem)) ||
        (why = map_batch(gemm, &problem)))
        return why;
    problem.trans_a = (mmt_transpose) gemm->trans_b;
    problem.trans_b = (mmt_transpose) gemm->trans_a;
    problem.m = gemm->n;
    problem.n = gemm->m;
    problem.k = gemm->k;
    problem.lda = gemm->b.ld;
    problem.ldb = gemm->a.ld;
    problem.ldc = gemm->c.ld;
    problem.bias = gemm->bias;
    problem.activation = gemm->activation;
    memset(out, 0, sizeof *out);
    out->adds = gemm->adds;
    out->compute = mmt_map_compute(gemm->compute);
    return mmt_problem_normalise(&problem, &out->problem, NULL) ? "sizes" : NULL;
}

size_t mmt_map_alignment(const struct mmt_gemm *gemm, const mmt_problem *problem)
{
    const uintptr_t all =
        (uintptr_t) gemm->a.data | (uintptr_t) gemm->b.data | (uintptr_t) gemm->c.data;
    const size_t in = mmt_type_size(problem->type), out = mmt_type_size(problem->out);

    if (gemm->batch_by == MMT_BY_STRIDE)
        return all % 16 & -(all % 16); /* a power of 2 below 16, or 0 */
    if (in == 2 && gemm->k % 8 == 0)
        return 0;
    return in < out ? in : out;
}

/* ---- epilogues ------------------------------------------------------------------- */

/* A bias runs along a column of C: in rows, it has a value for each column. */
bool mmt_map_epilogue(int epilogue, mmt_bias *bias, mmt_activation *activation)
{
    const int without = epilogue & ~LT_EPILOGUE_BIAS;

    *bias = without != epilogue ? MMT_BIAS_N : MMT_BIAS_NONE;
    *activation = without == LT_EPILOGUE_RELU   ? MMT_RELU
                  : without == LT_EPILOGUE_GELU ? MMT_GELU_TANH
                                                : MMT_ACTIVATION_NONE;
    return epilogue == LT_EPILOGUE_DEFAULT || epilogue == LT_EPILOGUE_BIAS ||
           without == LT_EPILOGUE_RELU || without == LT_EPILOGUE_GELU;
}
