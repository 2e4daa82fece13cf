/* The header's inline functions as symbols, for callers that read no C header (ctypes,
 * Julia, Lua): they return structs by value, whose layouts are those of version 0.1 and
 * never change. Who needs later members calls mmt_..._init with a size. */
#include "runtime/runtime.h"

#define SYMBOL MMT_API __attribute__((used))

struct problem_0_1 {
    size_t size;
    int op, type, trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c;
    int out, bias, activation;
};

struct options_0_1 {
    size_t size, max_workspace;
    const char *configuration;
    int foreign_profile, aligned_only, f32_mode;
};

struct args_0_1 {
    size_t size;
    mmt_operand a, b, c;
    double alpha, beta;
    mmt_operand scalars, workspace, bias;
};

struct problem_0_1 mmt_ffi_gemm(mmt_type type, int64_t m, int64_t n,
                                int64_t k) __asm__("mmt_gemm_problem");
struct options_0_1 mmt_ffi_options(void) __asm__("mmt_plan_defaults");
struct args_0_1 mmt_ffi_args(void) __asm__("mmt_args_defaults");

SYMBOL struct problem_0_1 mmt_ffi_gemm(mmt_type type, int64_t m, int64_t n, int64_t k)
{
    struct problem_0_1 out;
    mmt_problem_init((mmt_problem *) &out, sizeof out, MMT_GEMM, type, m, n, k);
    return out;
}

SYMBOL struct options_0_1 mmt_ffi_options(void)
{
    struct options_0_1 out;
    mmt_plan_options_init((mmt_plan_options *) &out, sizeof out);
    return out;
}

SYMBOL struct args_0_1 mmt_ffi_args(void)
{
    struct args_0_1 out;
    mmt_args_init((mmt_args *) &out, sizeof out);
    return out;
}
