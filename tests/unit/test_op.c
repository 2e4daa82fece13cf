/* Operations: what they make of a problem, how they are spelled, what they refuse. */
#include "tests/support/test.h"

#include "base/problem.h"

static void test_names(void)
{
    SCOPED_TEXT list = { 0 };
    char form[8];
    for (int op = 0; op < MMT_NUM_OPS; op++) {
        const struct mmt_op_row *row = mmt_op_row((mmt_op) op);
        CHECK_EQ_INT(mmt_op_parse(row->name), op);
        CHECK(row->what && row->stored && row->flops && row->types);
    }
    CHECK_EQ_INT(mmt_op_parse("axpy"), -1);
    CHECK_EQ_STR(mmt_op_form(MMT_DOT, form), "MxK");
    CHECK_EQ_STR(mmt_op_form(MMT_JACOBI3D, form), "MxNxK");
    CHECK_EQ_STR(mmt_op_form(MMT_SYRK, form), "NxK");
    mmt_op_list(&list);
    CHECK_EQ_STR(mmt_text_string(&list), "gemm, axpby, dot, heat2d, jacobi3d and syrk");
}

/* Normalises, and holds extents, FLOP and bytes against what they should be. */
static void check(mmt_problem in, int64_t a, int64_t b, int64_t c, double flops,
                  double bytes)
{
    mmt_problem out, again;
    if (!CHECK_OK(mmt_problem_normalise(&in, &out, &err), err))
        return;
    CHECK_EQ_INT(mmt_problem_extent_a(&out), a);
    CHECK_EQ_INT(mmt_problem_extent_b(&out), b);
    CHECK_EQ_INT(mmt_problem_extent_c(&out), c);
    CHECK(mmt_problem_flops(&out) == flops);
    CHECK(mmt_problem_bytes(&out) == bytes);
    CHECK_OK(mmt_problem_normalise(&out, &again, &err), err);
    CHECK(mmt_problem_equal(&out, &again));
}

static void test_counts(void)
{
    check(mmt_axpby_problem(MMT_F64, 1000), 1000, 1000, 1000, 3000, 24000);
    check(mmt_dot_problem(MMT_F32, 5, 100), 500, 500, 5, 1000, 4020);
    check(mmt_heat2d_problem(MMT_F32, 10, 20), 200, 0, 200, 7 * 8 * 18, 1600);
    check(mmt_jacobi3d_problem(MMT_I32, 5, 6, 7), 210, 210, 210, 8 * 3 * 4 * 5, 2520);
    check(mmt_syrk_problem(MMT_F32, 10, 20), 200, 0, 100, 10 * 11 * 20, (200 + 55) * 4);

    mmt_problem rows = mmt_axpby_problem(MMT_F32, 10);
    rows.m = 3, rows.lda = 12, rows.ldc = 11, rows.batch = 2;
    check(rows, 34, 30, 65, 180, (30 + 30 + 60) * 4);
    mmt_problem space = mmt_jacobi3d_problem(MMT_F32, 3, 4, 5);
    space.lda = 8;
    check(space, 11 * 8 + 5, 60, 60, 8 * 1 * 2 * 3, 720);
    mmt_problem shared = mmt_dot_problem(MMT_F32, 2, 10);
    shared.batch = 3, shared.stride_a = 10;
    check(shared, 40, 20, 6, 120, (40 + 20 + 6) * 4);
    mmt_problem apart = mmt_dot_problem(MMT_F32, 4, 10);
    apart.ldc = 3;
    check(apart, 40, 40, 10, 80, 84 * 4);
}

/* Nothing to do is right; larger than any memory, too, as long as it can be counted. */
static void test_ends(void)
{
    check(mmt_axpby_problem(MMT_F32, 0), 0, 0, 0, 0, 0);
    check(mmt_dot_problem(MMT_F32, 4, 0), 0, 0, 4, 0, 16);
    check(mmt_heat2d_problem(MMT_F32, 0, 5), 0, 0, 0, 0, 0);
    check(mmt_jacobi3d_problem(MMT_F32, 0, 3, 3), 0, 0, 0, 0, 0);
    check(mmt_jacobi3d_problem(MMT_F32, 4, 3, 0), 0, 0, 0, 0, 0);
    check(mmt_syrk_problem(MMT_F32, 0, 3), 0, 0, 0, 0, 0);
    check(mmt_syrk_problem(MMT_F64, 3, 0), 0, 0, 9, 0, 48);

    int64_t side = 1 << 30;
    mmt_problem plane = mmt_heat2d_problem(MMT_I32, side, side), out;
    if (CHECK_OK(mmt_problem_normalise(&plane, &out, &err), err))
        CHECK_EQ_INT(mmt_problem_extent_c(&out), side * side);
}

static void refuse(mmt_problem in, const char *words)
{
    mmt_problem out = mmt_gemm_problem(MMT_I32, 1, 1, 1), before = out;
    CHECK_FAILS(mmt_problem_normalise(&in, &out, &err), err, MMT_ERROR_ARGUMENT, words);
    CHECK(!memcmp(&out, &before, sizeof(out)));
}

#define REFUSE(words, problem, ...)                                                      \
    do {                                                                                 \
        mmt_problem p = problem;                                                         \
        __VA_ARGS__;                                                                     \
        refuse(p, words);                                                                \
    } while (0)

static void test_refused(void)
{
    int64_t most = MMT_MOST_DIMENSION;
    REFUSE("type is bf16; axpby has f32, f64 and i32", mmt_axpby_problem(MMT_BF16, 4));
    REFUSE("type is i8; jacobi3d has f32, f64", mmt_jacobi3d_problem(MMT_I8, 4, 4, 4));
    REFUSE("trans_a is 1; axpby has none", mmt_axpby_problem(MMT_F32, 4), p.trans_a = 1);
    REFUSE("bias is 1; dot has none", mmt_dot_problem(MMT_F32, 4, 4),
           p.bias = MMT_BIAS_M);
    REFUSE("activation is 1; heat2d has none", mmt_heat2d_problem(MMT_F32, 4, 4),
           p.activation = MMT_RELU);
    REFUSE("k is 2; axpby has none, it must be 1", mmt_axpby_problem(MMT_F32, 4),
           p.k = 2);
    REFUSE("n is 9; dot has none, it must be 1", mmt_dot_problem(MMT_F32, 4, 4), p.n = 9);
    REFUSE("m is 2; a grid of heat2d has a border", mmt_heat2d_problem(MMT_F32, 2, 9));
    REFUSE("k is 1; a grid of jacobi3d", mmt_jacobi3d_problem(MMT_F32, 9, 9, 1));
    REFUSE("n is -3; it must be from 0", mmt_jacobi3d_problem(MMT_F32, 9, -3, 9));
    REFUSE("heat2d has no B", mmt_heat2d_problem(MMT_F32, 4, 4), p.ldb = 4);
    REFUSE("heat2d has no B", mmt_heat2d_problem(MMT_F32, 4, 4), p.batch = 2,
           p.stride_b = 16);
    REFUSE("m is 4; syrk has none, it must be 1", mmt_syrk_problem(MMT_F32, 4, 4),
           p.m = 4);
    REFUSE("trans_a is 1; syrk has none", mmt_syrk_problem(MMT_F32, 4, 4), p.trans_a = 1);
    REFUSE("syrk has no B", mmt_syrk_problem(MMT_F32, 4, 4), p.ldb = 4);
    REFUSE("type is bf16; syrk has f32, f64 and i32", mmt_syrk_problem(MMT_BF16, 4, 4));
    REFUSE("ldc is 3; C has rows of 4", mmt_syrk_problem(MMT_F32, 4, 2), p.ldc = 3);
    REFUSE("lda is -3; it must be", mmt_dot_problem(MMT_F32, 4, 4), p.lda = -3);
    REFUSE("of C overlap", mmt_dot_problem(MMT_F32, 4, 4), p.batch = 2, p.stride_c = 2);
    REFUSE("must end below 2^63 bytes", mmt_jacobi3d_problem(MMT_F64, most, most, most));
    REFUSE("must end below 2^63 bytes", mmt_jacobi3d_problem(MMT_F64, most, most, 4),
           p.lda = 1 << 20);
}

static void round_trip(const char *string)
{
    mmt_problem p;
    SCOPED_TEXT text = { 0 };
    if (CHECK_OK(mmt_problem_parse(string, &p, &err), err)) {
        mmt_problem_print(&p, &text);
        CHECK_EQ_STR(mmt_text_string(&text), string);
    }
}

static void test_spelling(void)
{
    round_trip("axpby f32 1x1000000");
    round_trip("axpby i32 100x70 lda=72 ldb=80 batch=3");
    round_trip("dot f64 8x4096 ldb=5000 ldc=2");
    round_trip("dot f32 2x100 batch=3 stride_a=100 stride_b=0");
    round_trip("heat2d f64 1024x1024 ldc=1040");
    round_trip("jacobi3d f32 256x128x64 lda=80 batch=2");
    round_trip("syrk f64 300x500 lda=512 ldc=304 batch=2");

    const struct {
        const char *string, *words;
    } bad[] = {
        { "axpy f32 1x4", "'axpy' is no operation, there are gemm, axpby" },
        { "axpby f32 nn 1x4",
          "'nn' is no shape of axpby; it must be MxN, such as 1x512" },
        { "axpby f32 4", "'4' is no shape of axpby" },
        { "dot f32 4x4x4", "'4x4x4' is no shape of dot; it must be MxK" },
        { "syrk f32 nn 4x4", "'nn' is no shape of syrk; it must be NxK" },
        { "jacobi3d f32 4x4", "it must be MxNxK, such as 256x256x256" },
        { "jacobi3d f32 9223372036854775807x9223372036854775807x4",
          "m is 922337203685477" },
        { "heat2d f32 4x4 ldb=7", "heat2d has no B" },
        { "axpby tf32 1x4", "type is tf32" },
        { "heat2d f32 4x4 bias=row", "bias is 1; heat2d has none" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mmt_problem p;
        CHECK_FAILS(mmt_problem_parse(bad[i].string, &p, &err), err, MMT_ERROR_ARGUMENT,
                    bad[i].words);
    }
}

static bool needs(const mmt_problem *p, enum mmt_which which, double alpha, double beta)
{
    CHECK(mmt_op_needs(p, which, 0, 0, true) || p->k == 0 || p->op == MMT_HEAT2D);
    return mmt_op_needs(p, which, alpha, beta, false);
}

static void test_needs(void)
{
    mmt_problem add = mmt_axpby_problem(MMT_F32, 4), dot = mmt_dot_problem(MMT_F32, 4, 0);
    mmt_problem heat = mmt_heat2d_problem(MMT_F32, 4, 4);
    mmt_problem sweep = mmt_jacobi3d_problem(MMT_F32, 4, 4, 4);
    CHECK(needs(&add, MMT_OPERAND_A, 1, 0) && !needs(&add, MMT_OPERAND_A, 0, 1));
    CHECK(needs(&add, MMT_OPERAND_B, 0, 1) && !needs(&add, MMT_OPERAND_B, 1, 0));
    CHECK(!needs(&dot, MMT_OPERAND_A, 1, 1));
    CHECK(needs(&heat, MMT_OPERAND_A, 0, 0) && !needs(&heat, MMT_OPERAND_B, 1, 1));
    const mmt_problem triangle = mmt_syrk_problem(MMT_F32, 4, 4);
    CHECK(needs(&triangle, MMT_OPERAND_A, 1, 0) &&
          !needs(&triangle, MMT_OPERAND_A, 0, 1));
    CHECK(!mmt_op_needs(&triangle, MMT_OPERAND_B, 1, 1, true));
    CHECK(needs(&sweep, MMT_OPERAND_A, 0, 0) && needs(&sweep, MMT_OPERAND_B, 0, 1));
    CHECK(!needs(&sweep, MMT_OPERAND_B, 1, 0));
}

/* A symmetric product has its lower triangle, other operations all that C stores. */
static void test_computed(void)
{
    const mmt_problem triangle = mmt_syrk_problem(MMT_F32, 4, 9);
    const mmt_problem product = mmt_gemm_problem(MMT_F32, 4, 6, 9);
    const mmt_problem space = mmt_jacobi3d_problem(MMT_F32, 4, 6, 9);
    CHECK_EQ_INT(mmt_op_computed(&triangle, 0), 1);
    CHECK_EQ_INT(mmt_op_computed(&triangle, 3), 4);
    CHECK_EQ_INT(mmt_op_computed(&product, 0), 6);
    CHECK_EQ_INT(mmt_op_computed(&space, 23), 9);
}

/* One product of all rows, in the same memory; whatever keeps them apart keeps the batch.
 */
static void test_fold(void)
{
    mmt_problem p = mmt_gemm_problem(MMT_F32, 5, 6, 7), shared, other;

    p.batch = 4, p.lda = 9;
    p.stride_a = 5 * 9, p.stride_c = 5 * 6, p.stride_b = 0;
    CHECK_OK(mmt_problem_normalise(&p, &shared, &err), err);
    const mmt_problem one = mmt_problem_fold(&shared);
    CHECK(one.m == 20 && one.batch == 1 && one.lda == 9);
    CHECK_OK(mmt_problem_normalise(&one, &other, &err), err);
    CHECK(mmt_problem_equal(&one, &other));
    CHECK(mmt_problem_extent_a(&one) == mmt_problem_extent_a(&shared));
    CHECK(mmt_problem_extent_c(&one) == mmt_problem_extent_c(&shared));
    CHECK(mmt_problem_flops(&one) == mmt_problem_flops(&shared));

    other = shared, other.stride_b = 42;
    CHECK(mmt_problem_fold(&other).batch == 4);
    other = shared, other.stride_a++;
    CHECK(mmt_problem_fold(&other).batch == 4);
    other = shared, other.trans_a = 1;
    CHECK(mmt_problem_fold(&other).batch == 4);
    other = shared, other.bias = MMT_BIAS_M;
    CHECK(mmt_problem_fold(&other).batch == 4);
    other = shared, other.batch = INT32_MAX;
    CHECK(mmt_problem_fold(&other).batch == INT32_MAX);
}

int main(void)
{
    test_names();
    test_counts();
    test_computed();
    test_fold();
    test_ends();
    test_refused();
    test_spelling();
    test_needs();
    return test_end("op");
}
