/* The oracle is on trial first: by hand, against itself in other layouts, and against
 * sums in float, which its bound must allow while it forbids a term that is missing. */
#include <math.h>
#include <stdlib.h>

#include "tests/test.h"
#include "tuner/data.h"
#include "tuner/oracle.h"

static mmt_problem normal(mmt_problem p)
{
    mmt_problem out;
    mmt_error err = { 0 };
    CHECK_OK(mmt_problem_normalise(&p, &out, &err), err);
    return out;
}

static void test_by_hand(void)
{
    mmt_problem p = normal(mmt_gemm_problem(MMT_F32, 2, 2, 3));
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
    mmt_problem plain = normal(mmt_gemm_problem(MMT_F64, M, N, K));
    struct mmt_data data = { MMT_F64, 3, 0, 0 };

    for (int pair = 0; pair < 4; pair++) {
        mmt_problem p = mmt_gemm_problem(MMT_F64, M, N, K);
        p.trans_a = pair >> 1, p.trans_b = pair & 1;
        p.lda = 7, p.ldb = 9, p.ldc = 6, p.batch = BATCH;
        p.stride_a = 50, p.stride_b = 60, p.stride_c = 20;
        p = normal(p);
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
    mmt_problem p = normal(mmt_gemm_problem(MMT_I32, 1, 1, 2));
    const int32_t a[] = { INT32_MAX, 65536 }, b[] = { 2, 65536 }, c[] = { 10 };
    struct mmt_oracle o = { &p, 3, -2, a, b, c, NULL };
    struct mmt_answer answer = mmt_oracle_entry(&o, 0, 0, 0);
    int32_t right = -26, wrong = -25; /* 3 (2^32 - 2 + 2^32) - 20 */

    CHECK(answer.value == -26 && answer.bound == 0);
    CHECK(mmt_oracle_agrees(MMT_I32, &right, answer));
    CHECK(!mmt_oracle_agrees(MMT_I32, &wrong, answer));
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
    mmt_problem p = normal(mmt_gemm_problem(MMT_F32, 1, 1, K));
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
}

int main(void)
{
    test_by_hand();
    test_layouts();
    test_whole_numbers_wrap();
    test_bound();
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        test_multiply((mmt_type) type);
    test_not_whole();
    test_data();
    return test_end("oracle");
}
