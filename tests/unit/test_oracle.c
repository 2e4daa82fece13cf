/* The oracle is on trial first: by hand, against itself in other layouts, and against
 * sums in float, which its bound must allow while it forbids a term that is missing. */
#include <math.h>
#include <stdlib.h>

#include "tests/support/made.h"
#include "tests/support/test.h"
#include "tuner/verify/data.h"
#include "tuner/verify/oracle.h"

static void test_by_hand(void)
{
    mmt_problem p = normal_of(mmt_gemm_problem(MMT_F32, 2, 2, 3));
    const float a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 7, 8, 9, 10, 11, 12 };
    const float c[] = { 1, 2, 3, NAN };
    struct mmt_oracle o = { &p, 1, 0, a, b, NULL, NULL };

    CHECK(mmt_oracle_entry(&o, 0, 0, 0).value == 58);
    CHECK(mmt_oracle_entry(&o, 0, 0, 1).value == 64);
    CHECK(mmt_oracle_entry(&o, 0, 1, 0).value == 139);
    CHECK(mmt_oracle_entry(&o, 0, 1, 1).value == 154);
    o = (struct mmt_oracle){ &p, 2, -1, a, b, c, NULL };
    CHECK(mmt_oracle_entry(&o, 0, 1, 0).value == 275);
    CHECK(isnan(mmt_oracle_entry(&o, 0, 1, 1).value));
    o = (struct mmt_oracle){ &p, 0, 2, NULL, NULL, c, NULL };
    CHECK(mmt_oracle_entry(&o, 0, 0, 1).value == 4);
}

/* Each entry through transposes, gaps and a batch is what the plain layout gives. */
static void test_layouts(void)
{
    enum { M = 3, N = 4, K = 5, BATCH = 2 };
    double a[200], b[200], x[M * K], y[K * N];
    mmt_problem plain = normal_of(mmt_gemm_problem(MMT_F64, M, N, K));
    struct mmt_data data = { MMT_F64, 3, 0, 0 };

    for (int pair = 0; pair < 4; pair++) {
        mmt_problem p = mmt_gemm_problem(MMT_F64, M, N, K);
        p.trans_a = pair >> 1, p.trans_b = pair & 1;
        p.lda = 7, p.ldb = 9, p.ldc = 6, p.batch = BATCH;
        p.stride_a = 50, p.stride_b = 60, p.stride_c = 20;
        p = normal_of(p);
        mmt_data_fill(&data, 0, a, 200);
        mmt_data_fill(&data, 1000, b, 200);
        for (int i = 0; i < M * K; i++)
            x[i] = a[50 + (p.trans_a ? i % K * 7 + i / K : i / K * 7 + i % K)];
        for (int i = 0; i < K * N; i++)
            y[i] = b[60 + (p.trans_b ? i % N * 9 + i / N : i / N * 9 + i % N)];
        struct mmt_oracle strided = { &p, 1, 0, a, b, NULL, NULL };
        struct mmt_oracle tight = { &plain, 1, 0, x, y, NULL, NULL };
        for (int i = 0; i < M * N; i++)
            CHECK(mmt_oracle_entry(&strided, 1, i / N, i % N).value ==
                  mmt_oracle_entry(&tight, 0, i / N, i % N).value);
    }
}

static void test_whole_numbers_wrap(void)
{
    mmt_problem p = normal_of(mmt_gemm_problem(MMT_I32, 1, 1, 2));
    const int32_t a[] = { INT32_MAX, 65536 }, b[] = { 2, 65536 }, c[] = { 10 };
    struct mmt_oracle o = { &p, 3, -2, a, b, c, NULL };
    struct mmt_answer answer = mmt_oracle_entry(&o, 0, 0, 0);
    int32_t right = -26, wrong = -25; /* 3 (2^32 - 2 + 2^32) - 20 */

    CHECK(answer.value == -26 && answer.bound == 0);
    CHECK(mmt_oracle_agrees(MMT_I32, &right, answer));
    CHECK(!mmt_oracle_agrees(MMT_I32, &wrong, answer));
}

/* ---- other types, outputs and epilogues ------------------------------------------ */

/* Element (0, 0) of a product of 1 x 2 and 2 x 2, with C and the bias in C's type. */
static struct mmt_answer answer_of(const char *spelled, double alpha, double beta)
{
    static const double a[2] = { 1.5, -2 }, b[4] = { 2, 9, 4, 9 }, c = 3,
                        bias[2] = { 5, 7 };
    unsigned char x[16], y[32], z[8], v[16];
    mmt_problem p = problem_of(spelled);
    size_t in = mmt_type_size(p.type), out = mmt_type_size(p.out);
    struct mmt_oracle o = { &p, alpha, beta, x, y, z, v };

    for (int i = 0; i < 2; i++)
        mmt_number_write(p.type, a[i], x + (size_t) i * in);
    for (int i = 0; i < 4; i++)
        mmt_number_write(p.type, b[i], y + (size_t) i * in);
    for (int i = 0; i < 2; i++)
        mmt_number_write(p.out, bias[i], v + (size_t) i * out);
    mmt_number_write(p.out, c, z);
    return mmt_oracle_entry(&o, 0, 0, p.bias ? 1 : 0);
}

static void test_types(void)
{
    static const char *const spelled[] = {
        "gemm bf16 nn 1x2x2",   "gemm bf16 nn 1x2x2 out=f32",
        "gemm f16 nn 1x2x2",    "gemm tf32 nn 1x2x2",
        "gemm f8e4m3 nn 1x2x2", "gemm f8e5m2 nn 1x2x2 out=f16",
        "gemm f64 nn 1x2x2",
    };
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++) {
        struct mmt_answer answer = answer_of(spelled[i], 2, -1);
        CHECK(answer.value == 2 * (1.5 * 2 - 2 * 4) - 3);
        CHECK(answer.bound > 0 && answer.bound < 0.2);
    }
    /* Whole types cut 1.5 to 1. */
    struct mmt_answer whole = answer_of("gemm i8 nn 1x2x2", 2, -1);
    CHECK(whole.value == 2 * (2 - 8) - 3 && whole.bound == 0);
}

static void test_epilogue(void)
{
    /* Column 1: 1.5 * 9 - 2 * 9 is -4.5, the biases are 5 and 7. */
    double row = answer_of("gemm f32 nn 1x2x2 bias=row", 1, 0).value;
    double column = answer_of("gemm bf16 nn 1x2x2 bias=column", 1, 0).value;
    CHECK(row == 0.5 && column == 2.5);
    CHECK(answer_of("gemm f32 nn 1x2x2 bias=row activation=relu", 2, 0).value == 0);
    CHECK(answer_of("gemm f32 nn 1x2x2 bias=row activation=relu", 1, 0).value == 0.5);
    CHECK(answer_of("gemm i32 nn 1x2x2 bias=row activation=relu", 1, 0).value == 0);
    CHECK(answer_of("gemm i32 nn 1x2x2 bias=row activation=relu", -1, 0).value == 14);

    /* Of 0.5 and -4, from tables: the normal distribution, tanh and exp. */
    static const struct {
        const char *name;
        double half, minus_four;
    } curves[] = {
        { "gelu", 0.3457312306370, -0.00012668496733 },
        { "gelu_tanh", 0.3457140098251, -0.00007024594819 },
        { "silu", 0.3112296656009, -0.0719448398482 },
    };
    for (int i = 0; i < 3; i++) {
        char spelled[80];
        snprintf(spelled, sizeof spelled, "gemm f64 nn 1x2x2 bias=row activation=%s",
                 curves[i].name);
        CHECK(fabs((double) answer_of(spelled, 1, 0).value - curves[i].half) < 1e-11);
        CHECK(fabs((double) answer_of(spelled, 2, 0).value - curves[i].minus_four) <
              1e-7);
    }
}

/* Rounded once to C's type, an exact answer leaves nothing to chance; of a smooth
 * activation far below 0 nothing may be lost. */
static void test_exact(void)
{
    mmt_problem bf16 = problem_of("gemm bf16 nn 1x1x1"),
                gelu = problem_of("gemm f32 nn 1x1x1");
    const uint16_t seven = 0x40e0, thirty_seven = 0x4214; /* in bf16 */
    const float five = 5, minus_one = -1;
    struct mmt_oracle o = { &bf16, 1, 0, &seven, &thirty_seven, .exact = true };
    struct mmt_oracle low = { &gelu, 1, 0, &five, &minus_one };
    gelu.activation = MMT_GELU;

    CHECK(mmt_oracle_entry(&o, 0, 0, 0).value == 260);
    CHECK(mmt_oracle_entry(&o, 0, 0, 0).bound == 0);
    const struct mmt_answer loose = mmt_oracle_entry(&low, 0, 0, 0);
    low.exact = true;
    const struct mmt_answer sharp = mmt_oracle_entry(&low, 0, 0, 0);
    CHECK(fabs((double) sharp.value + 1.43e-6) < 1e-8);
    CHECK(loose.value == sharp.value && loose.bound > 1e-7);
    CHECK(sharp.bound > 0 && sharp.bound < 1e-5 * fabsl(sharp.value));
    CHECK(mmt_oracle_exact_below(MMT_BF16) == 0x1p24);
    CHECK(mmt_oracle_exact_below(MMT_F8E5M2) == 0x1p13);
    CHECK(mmt_oracle_exact_below(MMT_F64) == 0x1p53);
}

static float tf32_cut_off(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= 0xffffe000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Numbers that have more bits than tf32 keeps count as rounded, and the bound is no
 * wider: a sum of what is left when they are cut off is wrong. */
static void test_tf32(void)
{
    enum { K = 64 };
    float a[K], b[K], cut[K], rounded[K];
    mmt_problem p = problem_of("gemm tf32 nn 1x1x64");
    struct mmt_oracle o = { &p, 1, 0, a, b, NULL, NULL };
    struct mmt_data fine = { MMT_F32, 5, 0, 0 }, coarse = { MMT_TF32, 5, 0, 0 };

    mmt_data_fill(&coarse, K, b, K);
    mmt_data_fill(&fine, 0, a, K);
    for (int i = 0; i < K; i++) {
        cut[i] = tf32_cut_off(a[i]);
        rounded[i] = (float) mmt_number_round(MMT_TF32, a[i]);
    }
    const struct mmt_answer answer = mmt_oracle_entry(&o, 0, 0, 0);
    o.a = rounded;
    const struct mmt_answer same = mmt_oracle_entry(&o, 0, 0, 0);
    o.a = cut;
    const float less = (float) mmt_oracle_entry(&o, 0, 0, 0).value;
    CHECK(answer.bound < 1e-3 && same.value == answer.value &&
          same.bound == answer.bound);
    CHECK(!mmt_oracle_agrees(MMT_F32, &less, answer));
}

/* What lies in the middle between two numbers of tf32 may become either. */
static void test_tf32_ties(void)
{
    const float a[] = { 0x1.002p0f }, b[] = { 3 },
                x[] = { 3, 0x1.004p0f * 3, 0x1.00cp0f * 3 };
    mmt_problem p = problem_of("gemm tf32 nn 1x1x1");
    struct mmt_oracle o = { &p, 1, 0, a, b, NULL, NULL };
    const struct mmt_answer answer = mmt_oracle_entry(&o, 0, 0, 0);

    CHECK(mmt_oracle_agrees(MMT_F32, &x[0], answer));
    CHECK(mmt_oracle_agrees(MMT_F32, &x[1], answer));
    CHECK(!mmt_oracle_agrees(MMT_F32, &x[2], answer));
}

/* Of arrays and grids, values that were computed by hand; grids leave no room. */
static void test_grids(void)
{
    float plane[3][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 10, 11, 13 } };
    float space[3][3][3] = { 0 }, right[27] = { 0 };
    double a = 0.1, b = 3;
    int32_t whole[2] = { INT32_MAX, 7 };

    mmt_problem p = normal_of(mmt_heat2d_problem(MMT_F32, 3, 4));
    struct mmt_oracle o = { &p, 0.1, 0, plane, NULL, NULL, NULL };
    CHECK(mmt_oracle_entry(&o, 0, 1, 1).value == 6);
    CHECK(mmt_oracle_entry(&o, 0, 1, 2).value == 7);
    CHECK(mmt_oracle_entry(&o, 0, 2, 3).value == 13);
    plane[2][2] = 13;
    float next = 7 + 0.1f * 2;
    CHECK(mmt_oracle_entry(&o, 0, 1, 2).value == next);
    CHECK(mmt_oracle_entry(&o, 0, 1, 2).bound == 0);

    space[1][1][0] = 1, space[0][1][1] = 2, space[1][2][1] = 4, space[1][1][1] = 100;
    right[13] = 10;
    p = normal_of(mmt_jacobi3d_problem(MMT_F32, 3, 3, 3));
    o = (struct mmt_oracle){ &p, 2, 0.5, space, right, NULL, NULL };
    CHECK(mmt_oracle_entry(&o, 0, 4, 1).value == 2 * (1 + 2 + 4) + 5);
    CHECK(mmt_oracle_entry(&o, 0, 1, 1).value == 2);
    o.beta = 0, o.b = NULL;
    CHECK(mmt_oracle_entry(&o, 0, 4, 1).value == 14);

    p = normal_of(mmt_axpby_problem(MMT_F64, 1));
    o = (struct mmt_oracle){ &p, 3, -0.1, &a, &b, NULL, NULL };
    struct mmt_answer sum = mmt_oracle_entry(&o, 0, 0, 0);
    CHECK(fabs((double) sum.value) < 1e-16 && sum.bound > 0 && sum.bound < 1e-15);
    p = normal_of(mmt_axpby_problem(MMT_I32, 1));
    o = (struct mmt_oracle){ &p, 2, 3, whole, whole + 1, NULL, NULL };
    CHECK(mmt_oracle_entry(&o, 0, 0, 0).value == 19);
}

/* Row i of A with row j of A, and above the diagonal what was there. */
static void test_triangle(void)
{
    const float a[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } },
                c[2][2] = { { 7, NAN }, { 8, 9 } };
    mmt_problem p = normal_of(mmt_syrk_problem(MMT_F32, 2, 3));
    struct mmt_oracle o = { &p, 2, -1, a, NULL, c, NULL };
    CHECK(mmt_oracle_entry(&o, 0, 0, 0).value == 2 * 14 - 7);
    CHECK(mmt_oracle_entry(&o, 0, 1, 0).value == 2 * 32 - 8);
    CHECK(mmt_oracle_entry(&o, 0, 1, 1).value == 2 * 77 - 9);
    CHECK(isnan(mmt_oracle_entry(&o, 0, 0, 1).value));
    CHECK(mmt_oracle_entry(&o, 0, 0, 1).bound == 0);
}

/* Row i of A with row i of B. */
static void test_dot(void)
{
    float a[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } }, b[2][3] = { { 1, 1, 1 }, { 2, 0, -1 } };
    float c[2] = { 10, 20 };
    mmt_problem p = normal_of(mmt_dot_problem(MMT_F32, 2, 3));
    struct mmt_oracle o = { &p, 2, 1, a, b, c, NULL };
    CHECK(mmt_oracle_entry(&o, 0, 0, 0).value == 2 * 6 + 10);
    CHECK(mmt_oracle_entry(&o, 0, 1, 0).value == 2 * 2 + 20);
}

static float sum_in_float(const float *a, const float *b, int k, int skip)
{
    float sum = 0;
    for (int p = 0; p < k; p++)
        sum += p == skip ? 0 : a[p] * b[p];
    return sum;
}

static void test_bound(void)
{
    enum { K = 300 };
    float a[K], b[K], nan = NAN;
    int caught = 0, tries = 200;
    mmt_problem p = normal_of(mmt_gemm_problem(MMT_F32, 1, 1, K));
    struct mmt_oracle o = { &p, 1, 0, a, b, NULL, NULL };

    for (int t = 0; t < tries; t++) {
        struct mmt_data data = { MMT_F32, (uint64_t) t, 0, 0 };
        mmt_data_fill(&data, 0, a, K);
        mmt_data_fill(&data, K, b, K);
        struct mmt_answer answer = mmt_oracle_entry(&o, 0, 0, 0);
        float whole = sum_in_float(a, b, K, -1), lacking = sum_in_float(a, b, K, t);
        CHECK(mmt_oracle_agrees(MMT_F32, &whole, answer));
        CHECK(!mmt_oracle_agrees(MMT_F32, &nan, answer));
        caught += !mmt_oracle_agrees(MMT_F32, &lacking, answer);
    }
    CHECK(caught > 0.95 * tries); /* a term may be so small that nothing shows */
}

/* C x by Freivalds' function is A (B x), in both orientations; and what is no whole
 * number is found where it stands. */
static void test_multiply(mmt_type type)
{
    enum { ROWS = 5, COLUMNS = 1100, LD = 1103 };
    size_t element = mmt_type_size(type);
    char *x = malloc(ROWS * LD * element);
    uint64_t *weights = malloc(COLUMNS * sizeof *weights);
    uint64_t *out = malloc(COLUMNS * sizeof *out);
    struct mmt_data data = { type, 11, 3, 0 };
    struct mmt_matrix matrix = { type, x, ROWS, COLUMNS, LD };
    int64_t row = -1, column = -1;

    mmt_data_fill(&data, 0, x, ROWS * LD);
    for (int j = 0; j < COLUMNS; j++)
        weights[j] = mmt_data_noise(5, (uint64_t) j);
    CHECK(mmt_oracle_multiply(&matrix, false, weights, 3, out, &row, &column));
    for (int i = 0; i < ROWS; i++) {
        uint64_t sum = 0;
        for (int j = 0; j < COLUMNS; j++)
            sum += weights[j] *
                   (uint64_t) (int64_t) mmt_number_read(type, x + (i * LD + j) * element);
        CHECK(sum == out[i]);
    }
    CHECK(mmt_oracle_multiply(&matrix, true, weights, 3, out, &row, &column));
    for (int j = 0; j < COLUMNS; j++) {
        uint64_t sum = 0;
        for (int i = 0; i < ROWS; i++)
            sum += weights[i] *
                   (uint64_t) (int64_t) mmt_number_read(type, x + (i * LD + j) * element);
        CHECK(sum == out[j]);
    }
    free(x);
    free(weights);
    free(out);
}

/* Operands that begin anew after a period are what they are at full length. */
static void test_period(void)
{
    enum { M = 30, K = 211, PERIOD = 1009 };
    float all[M * K], one[PERIOD + MMT_MATRIX_PART];
    uint64_t weights[K], out[2][K];
    struct mmt_data data = { MMT_F32, 3, 3, 0 };
    int64_t row, column;

    mmt_data_fill(&data, 0, one, PERIOD);
    for (int i = 0; i < PERIOD + MMT_MATRIX_PART; i++)
        one[i] = one[i % PERIOD];
    for (int i = 0; i < M * K; i++)
        all[i] = one[i % PERIOD];
    for (int j = 0; j < K; j++)
        weights[j] = mmt_data_noise(5, (uint64_t) j);
    for (int first = 0; first <= K; first += K)
        for (int transposed = 0; transposed < 2; transposed++) {
            struct mmt_matrix whole = { MMT_F32, all, M - 1, K, K, first, 0 };
            struct mmt_matrix folded = { MMT_F32, one, M - 1, K, K, first, PERIOD };
            size_t bytes = (transposed ? K : M - 1) * sizeof **out;
            CHECK(mmt_oracle_multiply(&whole, transposed, weights, 3, out[0], &row,
                                      &column));
            CHECK(mmt_oracle_multiply(&folded, transposed, weights, 3, out[1], &row,
                                      &column));
            CHECK(!memcmp(out[0], out[1], bytes));
        }
    for (int transposed = 0; transposed < 2; transposed++) {
        mmt_problem p = mmt_gemm_problem(MMT_F32, M, M, K);
        p.trans_a = transposed, p.trans_b = transposed;
        p = normal_of(p);
        struct mmt_oracle whole = { &p, 1, 0, all, all, NULL, NULL, 0 };
        struct mmt_oracle folded = { &p, 1, 0, one, one, NULL, NULL, PERIOD };
        for (int i = 0; i < M; i++)
            CHECK(mmt_oracle_entry(&whole, 0, i, M - 1 - i).value ==
                  mmt_oracle_entry(&folded, 0, i, M - 1 - i).value);
    }

    mmt_problem p = normal_of(mmt_dot_problem(MMT_F32, M, K));
    struct mmt_oracle whole = { .problem = &p, .alpha = 1, .a = all, .b = all };
    struct mmt_oracle folded = {
        .problem = &p, .alpha = 1, .a = one, .b = one, .period = PERIOD
    };
    for (int i = 0; i < M; i++)
        CHECK(mmt_oracle_entry(&whole, 0, i, 0).value ==
              mmt_oracle_entry(&folded, 0, i, 0).value);
}

static void test_not_whole(void)
{
    float x[] = { 1, 2, 3, 4, 5, 6 };
    const float bad[] = { 0.5f, NAN, INFINITY, -101 };
    uint64_t weights[3] = { 1, 1, 1 }, out[2];
    struct mmt_matrix matrix = { MMT_F32, x, 2, 3, 3 };
    int64_t row, column;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        x[4] = bad[i];
        row = column = -1;
        CHECK(!mmt_oracle_multiply(&matrix, false, weights, 100, out, &row, &column));
        CHECK_EQ_INT(row, 1);
        CHECK_EQ_INT(column, 1);
    }
}

static void test_data(void)
{
    float all[1000], part[10];
    int32_t whole[1000];
    struct mmt_data data = { MMT_F32, 7, 0, 0 }, small = { MMT_I32, 7, 3, 0 };
    int seen[7] = { 0 };
    double sum = 0;

    mmt_data_fill(&data, 0, all, 1000);
    mmt_data_fill(&data, 500, part, 10);
    CHECK(!memcmp(all + 500, part, sizeof part));
    for (int i = 0; i < 1000; i++) {
        CHECK(all[i] >= -1 && all[i] <= 1);
        sum += all[i];
    }
    CHECK(fabs(sum / 1000) < 0.06); /* three deviations of the mean */
    mmt_data_fill(&small, 0, whole, 1000);
    for (int i = 0; i < 1000; i++)
        if (CHECK(whole[i] >= -3 && whole[i] <= 3))
            seen[whole[i] + 3]++;
    for (int i = 0; i < 7; i++)
        CHECK(seen[i] > 90 && seen[i] < 200);

    struct mmt_data sparse = { MMT_I32, 7, 1, 0.75 };
    int zeros = 0;
    mmt_data_fill(&sparse, 0, whole, 1000);
    for (int i = 0; i < 1000; i++)
        zeros += whole[i] == 0;
    CHECK(zeros > 800 && zeros < 870); /* 3/4, and a third of the rest */
}

/* Random data are numbers of the type, spread over all sizes. */
static void test_rounded_data(mmt_type type)
{
    unsigned char all[4 * 1000];
    struct mmt_data data = { type, 7, 0, 0 };
    double sum = 0, size = 0;

    mmt_data_fill(&data, 0, all, 1000);
    for (int i = 0; i < 1000; i++) {
        const unsigned char *at = all + (size_t) i * mmt_type_size(type);
        double value = (double) mmt_number_read(type, at);
        CHECK(value >= -1 && value <= 1 && mmt_number_round(type, value) == value);
        sum += value, size += fabs(value);
    }
    CHECK(fabs(sum / 1000) < 0.06 && fabs(size / 1000 - 0.5) < 0.03);
}

int main(void)
{
    test_by_hand();
    test_layouts();
    test_whole_numbers_wrap();
    test_types();
    test_epilogue();
    test_exact();
    test_tf32();
    test_tf32_ties();
    test_grids();
    test_triangle();
    test_dot();
    test_bound();
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        test_multiply((mmt_type) type);
    test_period();
    test_not_whole();
    test_data();
    for (int type = MMT_BF16; type <= MMT_F8E5M2; type++)
        test_rounded_data((mmt_type) type);
    return test_end("oracle");
}
