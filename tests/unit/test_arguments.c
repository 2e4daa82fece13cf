/* Which argument of a problem is refused, as a number beside the sentence. */
#include "base/problem.h"

#include "tests/support/test.h"

/* C = A B, 4 x 5 x 6, as it is before one member of it is made wrong. */
static mmt_problem sound(void)
{
    return mmt_gemm_problem(MMT_BF16, 4, 5, 6);
}

static void refuse(mmt_problem problem, mmt_argument which)
{
    mmt_problem out;
    mmt_error err = { .argument = MMT_ARGUMENT_NONE };
    const char *name = mmt_argument_name(which);

    CHECK_FAILS(mmt_problem_normalise(&problem, &out, &err), err, MMT_ERROR_ARGUMENT,
                name);
    CHECK_EQ_STR(mmt_argument_name(err.argument), name);
}

#define WRONG(which, change)                                                             \
    do {                                                                                 \
        mmt_problem p = sound();                                                         \
        change;                                                                          \
        refuse(p, which);                                                                \
    } while (0)

static void test_gemm(void)
{
    WRONG(MMT_ARGUMENT_SIZE, p.size = 7);
    WRONG(MMT_ARGUMENT_OP, p.op = (mmt_op) 99);
    WRONG(MMT_ARGUMENT_TYPE, p.type = (mmt_type) 99);
    WRONG(MMT_ARGUMENT_OUT, p.out = MMT_I32);
    WRONG(MMT_ARGUMENT_OUT, p.out = (mmt_type) 99);
    WRONG(MMT_ARGUMENT_TRANS_A, p.trans_a = 3);
    WRONG(MMT_ARGUMENT_TRANS_B, p.trans_b = 3);
    WRONG(MMT_ARGUMENT_M, p.m = -1);
    WRONG(MMT_ARGUMENT_N, p.n = INT64_MAX);
    WRONG(MMT_ARGUMENT_K, p.k = -1);
    WRONG(MMT_ARGUMENT_LDA, p.lda = -1);
    WRONG(MMT_ARGUMENT_LDB, p.ldb = (int64_t) 1 << 31);
    WRONG(MMT_ARGUMENT_LDC, p.ldc = 4);
    WRONG(MMT_ARGUMENT_BATCH, p.batch = -1);
    WRONG(MMT_ARGUMENT_STRIDE_A, p.stride_a = -1);
    WRONG(MMT_ARGUMENT_STRIDE_B, p.stride_b = -1);
    WRONG(MMT_ARGUMENT_STRIDE_C, (p.batch = 2, p.stride_c = 3));
    WRONG(MMT_ARGUMENT_BIAS, p.bias = (mmt_bias) 9);
    WRONG(MMT_ARGUMENT_ACTIVATION, p.activation = (mmt_activation) 9);
    WRONG(MMT_ARGUMENT_ACTIVATION, (p.type = MMT_I8, p.activation = MMT_GELU));
}

static void test_other_ops(void)
{
    WRONG(MMT_ARGUMENT_TYPE, p.op = MMT_DOT);
    WRONG(MMT_ARGUMENT_N, (p.op = MMT_DOT, p.type = MMT_F32));
    WRONG(MMT_ARGUMENT_TRANS_B, (p.op = MMT_AXPBY, p.type = MMT_F32, p.trans_b = 1));
    WRONG(MMT_ARGUMENT_BIAS, (p.op = MMT_AXPBY, p.type = MMT_F32, p.bias = MMT_BIAS_M));
    WRONG(MMT_ARGUMENT_M, (p.op = MMT_HEAT2D, p.type = MMT_F32, p.m = 2, p.k = 1));
    WRONG(MMT_ARGUMENT_LDB, (p.op = MMT_HEAT2D, p.type = MMT_F32, p.ldb = 5, p.k = 1));
}

/* Every number has a name, and what is about no argument says so. */
static void test_names(void)
{
    mmt_error err = { .argument = MMT_ARGUMENT_LDA };

    CHECK_EQ_STR(mmt_argument_name(MMT_ARGUMENT_NONE), "");
    CHECK_EQ_STR(mmt_argument_name((mmt_argument) 999), "");
    for (int i = MMT_ARGUMENT_NONE + 1; i <= MMT_ARGUMENT_MEASURE_SECONDS; i++)
        CHECK(mmt_argument_name((mmt_argument) i)[0]);
    mmt_fail(&err, MMT_ERROR_IO, "about no argument");
    CHECK(err.argument == MMT_ARGUMENT_NONE);
}

int main(void)
{
    test_gemm();
    test_other_ops();
    test_names();
    return test_end("arguments");
}
