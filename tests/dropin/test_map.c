/* From cuBLAS's words to a problem of ours. */
#include "dropin/cublas/map.h"

#include <math.h>

#include "tests/support/test.h"

static struct mmt_gemm plain(int type, int compute)
{
    static float data[1];
    return (struct mmt_gemm){
        .m = 8,
        .n = 12,
        .k = 16,
        .batch = 1,
        .a = { data, type, 8, 0 },
        .b = { data, type, 16, 0 },
        .c = { data, type, 8, 0 },
        .compute = compute,
    };
}

/* The problem as text, or why there is none. */
static const char *map(const struct mmt_gemm *gemm, int math, enum mmt_override override,
                       mmt_f32_mode f32_mode)
{
    static char out[256];
    struct mmt_text text = { 0 };
    struct mmt_call call;
    const char *why = mmt_map_gemm(gemm, math, override, f32_mode, &call);

    if (why)
        return why;
    CHECK(call.adds == gemm->adds && call.compute == mmt_map_compute(gemm->compute));
    mmt_problem_print(&call.problem, &text);
    snprintf(out, sizeof out, "%s", mmt_text_string(&text));
    mmt_text_finish(&text);
    return out;
}

static const char *map_plainly(const struct mmt_gemm *gemm)
{
    return map(gemm, CUBLAS_DEFAULT_MATH, MMT_AS_ASKED, MMT_F32_STRICT);
}

static void test_operands(void)
{
    struct mmt_gemm it = plain(CUDA_32F, CUBLAS_32F);

    CHECK_EQ_STR(map_plainly(&it), "gemm f32 nn 12x8x16");
    it.trans_a = CUBLAS_T;
    it.a.ld = 20;
    CHECK_EQ_STR(map_plainly(&it), "gemm f32 nt 12x8x16 ldb=20");
    it = plain(CUDA_32F, CUBLAS_32F);
    it.trans_b = CUBLAS_T;
    it.b.ld = 12;
    it.c.ld = 9;
    CHECK_EQ_STR(map_plainly(&it), "gemm f32 tn 12x8x16 ldc=9");
    it = plain(CUDA_32F, CUBLAS_32F);
    it.batch = 3;
    it.a.stride = 0;
    it.b.stride = 12 * 16;
    it.c.stride = 12 * 8 + 4;
    CHECK_EQ_STR(map_plainly(&it), "gemm f32 nn 12x8x16 batch=3 stride_b=0 stride_c=100");
    it.adds = true;
    it.bias = MMT_BIAS_N;
    it.activation = MMT_GELU_TANH;
    it.batch = 1;
    CHECK_EQ_STR(map_plainly(&it),
                 "gemm f32 nn 12x8x16 bias=column activation=gelu_tanh");
}

/* Of pointers in arrays what cuBLAS demands is known. */
static void test_pointers(void)
{
    struct mmt_gemm it = plain(CUDA_32F, CUBLAS_32F);
    mmt_problem p = mmt_gemm_problem(MMT_F32, 1, 1, 1);

    it.batch_by = MMT_BY_POINTERS;
    CHECK_EQ_STR(map_plainly(&it), "gemm f32 nn 12x8x16 batch_by=pointers");
    it.batch = 3;
    CHECK_EQ_STR(map_plainly(&it), "gemm f32 nn 12x8x16 batch_by=pointers batch=3");
    CHECK_EQ_INT(mmt_map_alignment(&it, &p), 4);
    p.type = MMT_BF16;
    CHECK_EQ_INT(mmt_map_alignment(&it, &p), 0);
    it.k = 20;
    CHECK_EQ_INT(mmt_map_alignment(&it, &p), 2);
    p.type = MMT_I8, p.out = MMT_I32;
    CHECK_EQ_INT(mmt_map_alignment(&it, &p), 1);
    it.batch_by = MMT_BY_STRIDE;
    it.a.data = it.b.data = it.c.data = (const void *) 1024;
    CHECK_EQ_INT(mmt_map_alignment(&it, &p), 0);
    it.c.data = (const void *) 1032;
    CHECK_EQ_INT(mmt_map_alignment(&it, &p), 8);
}

static void test_refused(void)
{
    const struct mmt_gemm right = plain(CUDA_32F, CUBLAS_32F);
    struct mmt_gemm it;

#define REFUSES(change, why)                                                             \
    it = right;                                                                          \
    change;                                                                              \
    CHECK_EQ_STR(map_plainly(&it), why)
    REFUSES(it.m = 0, "");
    REFUSES(it.k = 0, "");
    REFUSES(it.n = -1, "");
    REFUSES(it.a.ld = 7, "");
    REFUSES(it.b.ld = 15, "");
    REFUSES(it.c.ld = 7, "");
    REFUSES((it.trans_a = CUBLAS_T), "");
    REFUSES(it.c.data = NULL, "");
    REFUSES(it.batch = 0, "");
    REFUSES(it.trans_b = 2, "conjugate transpose");
    REFUSES((it.batch = 2, it.a.stride = it.b.stride = 200), "strides of a batch");
    REFUSES((it.batch = 2, it.c.stride = 200, it.a.stride = -8), "strides of a batch");
    REFUSES((it.batch = 2, it.c.stride = 4), "sizes");
    REFUSES((it.n = INT32_MAX), "sizes");
    REFUSES(it.b.type = CUDA_16F, "types");
    REFUSES(it.a.type = it.b.type = 4, "types");
    REFUSES(it.c.type = 28, "types");
#undef REFUSES
}

static void test_f32(void)
{
    static const struct {
        int compute, math;
        enum mmt_override override;
        mmt_f32_mode mode;
        const char *right;
    } rows[] = {
#define F32  "gemm f32 nn 12x8x16"
#define TF32 "gemm tf32 nn 12x8x16"
        { CUBLAS_32F, 0, MMT_AS_ASKED, MMT_F32_STRICT, F32 },
        { CUBLAS_32F, 0, MMT_AS_ASKED, MMT_F32_EMULATED, F32 },
        { CUBLAS_32F, CUBLAS_TENSOR_OP_MATH, MMT_AS_ASKED, MMT_F32_STRICT, "math mode" },
        { CUBLAS_32F, CUBLAS_TF32_MATH, MMT_AS_ASKED, MMT_F32_STRICT, TF32 },
        { CUBLAS_32F, CUBLAS_TF32_MATH | 16, MMT_AS_ASKED, MMT_F32_STRICT, TF32 },
        { CUBLAS_32F, CUBLAS_TF32_MATH, MMT_NEVER_TF32, MMT_F32_STRICT, F32 },
        { CUBLAS_32F, 0, MMT_ALWAYS_TF32, MMT_F32_STRICT, TF32 },
        { CUBLAS_32F_FAST_TF32, 0, MMT_AS_ASKED, MMT_F32_STRICT, TF32 },
        { CUBLAS_32F_FAST_TF32, 0, MMT_NEVER_TF32, MMT_F32_STRICT, F32 },
        { CUBLAS_32F_PEDANTIC, 0, MMT_ALWAYS_TF32, MMT_F32_STRICT, F32 },
        { CUBLAS_32F_FAST_TF32, CUBLAS_PEDANTIC_MATH, 0, MMT_F32_STRICT, F32 },
        { CUBLAS_32F, CUBLAS_PEDANTIC_MATH, MMT_AS_ASKED, MMT_F32_EMULATED,
          "pedantic f32 beside emulated f32" },
        { CUBLAS_32F, 4, MMT_AS_ASKED, MMT_F32_STRICT, "math mode" },
        { 74, 0, MMT_AS_ASKED, MMT_F32_STRICT, "compute type" },
        { 78, 0, MMT_AS_ASKED, MMT_F32_STRICT, "compute type" },
#undef F32
#undef TF32
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct mmt_gemm it = plain(CUDA_32F, rows[i].compute);
        CHECK_EQ_STR(map(&it, rows[i].math, rows[i].override, rows[i].mode),
                     rows[i].right);
    }
    CHECK(mmt_map_override(NULL) == MMT_AS_ASKED);
    CHECK(mmt_map_override("0") == MMT_NEVER_TF32);
    CHECK(mmt_map_override("1") == MMT_ALWAYS_TF32);
}

static void test_types(void)
{
    static const struct {
        int in, out, compute;
        const char *right;
    } rows[] = {
        { CUDA_64F, CUDA_64F, CUBLAS_64F, "gemm f64 nn 12x8x16" },
        { CUDA_64F, CUDA_64F, 71, "compute type" },
        { CUDA_16BF, CUDA_16BF, CUBLAS_32F, "gemm bf16 nn 12x8x16" },
        { CUDA_16BF, CUDA_32F, CUBLAS_32F, "gemm bf16 nn 12x8x16 out=f32" },
        { CUDA_16BF, CUDA_16F, CUBLAS_32F, "types" },
        { CUDA_16BF, CUDA_16BF, CUBLAS_32F_PEDANTIC, "compute type" },
        { CUDA_16F, CUDA_16F, CUBLAS_32F, "gemm f16 nn 12x8x16" },
        { CUDA_16F, CUDA_32F, CUBLAS_32F, "gemm f16 nn 12x8x16 out=f32" },
        { CUDA_16F, CUDA_16F, CUBLAS_16F, "gemm f16 nn 12x8x16" },
        { CUDA_16F, CUDA_16F, CUBLAS_16F_PEDANTIC, "gemm f16 nn 12x8x16" },
        { CUDA_16BF, CUDA_16BF, CUBLAS_16F, "compute type" },
        { CUDA_16F, CUDA_32F, CUBLAS_16F, "compute type" },
        { CUDA_8I, CUDA_32I, CUBLAS_32I, "gemm i8 nn 12x8x16" },
        { CUDA_8I, CUDA_32F, CUBLAS_32F, "compute type" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mmt_gemm it = plain(rows[i].in, rows[i].compute);
        it.c.type = rows[i].out;
        CHECK_EQ_STR(map_plainly(&it), rows[i].right);
    }
    const struct mmt_gemm bf16 = plain(CUDA_16BF, CUBLAS_32F);
    CHECK_EQ_STR(map(&bf16, CUBLAS_PEDANTIC_MATH, MMT_AS_ASKED, MMT_F32_STRICT),
                 "math mode");
    CHECK_EQ_STR(map(&bf16, CUBLAS_NO_REDUCED_SUMS, MMT_NEVER_TF32, MMT_F32_STRICT),
                 "gemm bf16 nn 12x8x16");
}

static void test_scalars(void)
{
    static const struct {
        uint16_t bits;
        double value;
    } halves[] = { { 0x3c00, 1 },      { 0xc100, -2.5 }, { 0x0001, 0x1p-24 },
                   { 0x7bff, 65504 },  { 0x8000, 0 },    { 0x7c00, INFINITY },
                   { 0x0400, 0x1p-14 } };
    const float f32 = 0.1f;
    const double f64 = 0.1;
    const int32_t i32 = -7;

    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        CHECK(mmt_map_scalar(CUDA_16F, &halves[i].bits) == halves[i].value);
    CHECK(isnan(mmt_map_scalar(CUDA_16F, &(uint16_t){ 0x7e00 })));
    CHECK(mmt_map_scalar(mmt_map_scale(CUBLAS_32F), &f32) == (double) f32);
    CHECK(mmt_map_scalar(mmt_map_scale(CUBLAS_64F), &f64) == f64);
    CHECK(mmt_map_scalar(mmt_map_scale(CUBLAS_32I), &i32) == -7);
    CHECK(mmt_map_scale(CUBLAS_16F) == CUDA_16F);
    CHECK(mmt_map_scale(CUBLAS_16F_PEDANTIC) == CUDA_16F);
    CHECK(mmt_map_compute(CUBLAS_16F) == MMT_COMPUTE_16F);
    CHECK(mmt_map_compute(CUBLAS_16F_PEDANTIC) == MMT_COMPUTE_16F_PEDANTIC);
    CHECK(mmt_map_compute(CUBLAS_32F) == MMT_COMPUTE_USUAL);
    CHECK(mmt_map_scale(0) < 0);
}

static void test_epilogues(void)
{
    static const struct {
        int epilogue;
        bool known;
        mmt_bias bias;
        mmt_activation activation;
    } rows[] = {
        { 1, true, MMT_BIAS_NONE, MMT_ACTIVATION_NONE },
        { 2, true, MMT_BIAS_NONE, MMT_RELU },
        { 4, true, MMT_BIAS_N, MMT_ACTIVATION_NONE },
        { 6, true, MMT_BIAS_N, MMT_RELU },
        { 32, true, MMT_BIAS_NONE, MMT_GELU_TANH },
        { 36, true, MMT_BIAS_N, MMT_GELU_TANH },
        { 130, false },
        { 136, false },
        { 160, false },
        { 192, false },
        { 256, false },
        { 512, false },
        { 0, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mmt_bias bias;
        mmt_activation activation;
        const bool known = mmt_map_epilogue(rows[i].epilogue, &bias, &activation);
        CHECK(known == rows[i].known);
        CHECK(!known || (bias == rows[i].bias && activation == rows[i].activation));
    }
}

int main(void)
{
    test_operands();
    test_pointers();
    test_refused();
    test_f32();
    test_types();
    test_scalars();
    test_epilogues();
    return test_end("map");
}
