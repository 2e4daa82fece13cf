/* Ranges of m, and padding: how they are spelled, at which m they are timed, which
 * kernels serve them.
 */
#include <math.h>

#include "tests/support/test.h"
#include "tuner/model/segments.h"
#include "tuner/common/options.h"

/* ---- spelling -------------------------------------------------------------------- */

static void check_range(const char *text, int64_t m, int64_t m_to, int64_t batch)
{
    struct mmt_shape shape = { 0 };
    CHECK_OK(mmt_option_range(text, MMT_GEMM, &shape, &err), err);
    CHECK(shape.m == m && shape.m_to == m_to && shape.n == 30 && shape.k == 20);
    CHECK_EQ_INT(shape.batch, batch);
}

static void check_wrong(const char *text, mmt_op op, const char *words)
{
    struct mmt_shape shape;
    CHECK_FAILS(mmt_option_range(text, op, &shape, &err), err, MMT_ERROR_ARGUMENT, words);
}

static void test_spelling(void)
{
    struct mmt_shape shape;
    check_range("1-8192x30x20", 1, 8192, 1);
    check_range("7-8X30X20x4", 7, 8, 4);
    check_range("7x30x20", 7, 0, 1);
    check_range("2147418111-2147418112x30x20", 2147418111, 2147418112, 1);
    check_wrong("8192-1x30x20", MMT_GEMM, "ends before it begins");
    check_wrong("8-8x30x20", MMT_GEMM, "8 alone names it");
    check_wrong("1-8x30", MMT_GEMM, "is no shape of gemm");
    check_wrong("1--8x30x20", MMT_GEMM, "is no shape of gemm");
    check_wrong("0-8x30x20", MMT_GEMM, "is no shape of gemm");
    check_wrong("1-2-3x30x20", MMT_GEMM, "is no shape of gemm");
    check_wrong("1-8x3-30x20", MMT_GEMM, "is no shape of gemm");
    check_wrong("1-2147418113x30x20", MMT_GEMM, "is no shape of gemm");
    check_wrong("1-8x30", MMT_DOT, "dot takes none");
    CHECK_FAILS(mmt_option_shape("1-8x30x20", MMT_GEMM, &shape, &err), err,
                MMT_ERROR_ARGUMENT, "must be one m, such as 8x30x20");
    CHECK_OK(mmt_option_shape("8x30x20", MMT_GEMM, &shape, &err), err);
}

/* ---- at which m ------------------------------------------------------------------ */

static bool ascends(const int64_t *m, int count)
{
    for (int i = 1; i < count; i++)
        if (m[i] <= m[i - 1])
            return false;
    return true;
}

static void check_samples(int64_t low, int64_t high, int least)
{
    int64_t m[MMT_MOST_RANGE_TIMES], goals[MMT_RANGE_GOALS];
    const int count = mmt_range_samples(low, high, m);
    CHECK(count >= least && count <= MMT_MOST_RANGE_TIMES && ascends(m, count));
    CHECK(m[0] == low && m[count - 1] == high);
    for (int most = 3; most <= MMT_RANGE_GOALS; most++) {
        const int num_goals = mmt_range_goals(low, high, most, goals);
        int found = 0;
        CHECK_EQ_INT(num_goals, most < count ? most : count);
        CHECK(ascends(goals, num_goals));
        CHECK(goals[0] == low && goals[num_goals - 1] == high);
        for (int i = 0; i < count; i++)
            found += found < num_goals && m[i] == goals[found];
        CHECK_EQ_INT(found, num_goals);
    }
}

/* No two neighbours are more than 1.8 times apart, and there are all sorts of m. */
static void test_samples(void)
{
    int64_t m[MMT_MOST_RANGE_TIMES];
    const int count = mmt_range_samples(1, 8192, m);
    int odd = 0, multiples = 0, one_more = 0;
    for (int i = 0; i < count; i++) {
        CHECK(i == 0 || m[i] <= 2 || (double) m[i] / (double) m[i - 1] < 1.8);
        odd += m[i] % 2;
        multiples += m[i] >= 64 && m[i] % 16 == 0;
        one_more += m[i] >= 64 && m[i] % 16 == 1;
    }
    CHECK(odd >= 10 && multiples >= 4 && one_more >= 4);
    check_samples(1, 8192, 22);
    check_samples(1, 2147418112, 26);
    check_samples(1, 64, 16);
    check_samples(100, 101, 2);
    check_samples(4096, 5000, 20);
    check_samples(5, 7, 2);
}

static void test_break(void)
{
    CHECK_EQ_INT(mmt_range_break(64, 65), 64);
    CHECK_EQ_INT(mmt_range_break(65, 100), 96);
    CHECK_EQ_INT(mmt_range_break(301, 385), 384);
    CHECK_EQ_INT(mmt_range_break(100, 129), 128);
    CHECK_EQ_INT(mmt_range_break(1, 2), 1);
    CHECK_EQ_INT(mmt_range_break(3, 6), 4);
    CHECK_EQ_INT(mmt_range_break(2000, 3000), 2048);
}

/* ---- which kernels --------------------------------------------------------------- */

/* "kernel<last " for each part. */
static void check_parts(const double *seconds, int kernels, int samples, int most,
                        const char *wanted)
{
    struct mmt_part parts[MMT_MOST_SEGMENTS];
    char text[160] = "";
    const int count = mmt_range_divide(seconds, kernels, samples, most, parts);
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d<%d ",
                 parts[i].kernel, parts[i].last);
    CHECK_EQ_STR(text, wanted);
}

static void test_divide(void)
{
    static const double two[2][4] = { { 1, 1, 3, 3 }, { 2, 2, 2, 2 } };
    static const double tie[3][3] = { { 5, 5, 5 }, { 4, 4, 4 }, { 4, 4, 4 } };
    static const double back[2][5] = { { 1, 1, 9, 1, 1 }, { 2, 2, 2, 2, 2 } };
    static const double little[2][4] = { { 1, 1, 1.001, 1.001 }, { 1.001, 1.001, 1, 1 } };
    static const double holes[3][4] = { { 1, INFINITY, INFINITY, INFINITY },
                                        { INFINITY, 1, 1, INFINITY },
                                        { 9, 9, 9, 9 } };
    static const double none[2][3] = { { 1, INFINITY, 1 }, { 1, INFINITY, 1 } };

    check_parts(two[0], 2, 4, 8, "0<1 1<3 ");
    check_parts(two[0], 2, 4, 1, "0<3 "); /* a mean of 0.25 against 0.5 */
    check_parts(tie[0], 3, 3, 8, "1<2 ");
    check_parts(back[0], 2, 5, 8, "0<1 1<2 0<4 ");
    check_parts(back[0], 2, 5, 2, "1<2 0<4 ");
    check_parts(little[0], 2, 4, 8, "0<3 "); /* a tenth of a percent is no reason */
    check_parts(holes[0], 3, 4, 8, "0<0 1<2 2<3 ");
    check_parts(holes[0], 2, 4, 8, "");
    check_parts(none[0], 2, 3, 8, "");
}

/* One sample; and more winners than there may be parts. */
static void test_extremes(void)
{
    enum { WINNERS = 12 };
    static const double one[3] = { 3, 2, 2 };
    double seconds[WINNERS][WINNERS];
    struct mmt_part parts[MMT_MOST_SEGMENTS];

    check_parts(one, 3, 1, 8, "1<0 ");
    for (int k = 0; k < WINNERS; k++)
        for (int s = 0; s < WINNERS; s++)
            seconds[k][s] = 1 + 0.1 * abs(k - s);
    CHECK_EQ_INT(mmt_range_divide(seconds[0], WINNERS, WINNERS, MMT_MOST_SEGMENTS, parts),
                 MMT_MOST_SEGMENTS);
    CHECK_EQ_INT(parts[MMT_MOST_SEGMENTS - 1].last, WINNERS - 1);
    double lost = 0;
    for (int i = 0, s = 0; i < MMT_MOST_SEGMENTS; i++)
        for (; s <= parts[i].last; s++)
            lost += seconds[parts[i].kernel][s] - 1;
    CHECK(fabs(lost - 0.4) < 1e-9); /* four samples are served by a neighbour's winner */
}

/* Half of the first segment's m, and all of the second's. */
static void test_slow_down(void)
{
    const struct mmt_range range = {
        .problem = mmt_gemm_problem(MMT_F32, 1, 8, 8),
        .num_segments = 2,
        .segments = { { .m_to = 4 }, { .m_to = 9 } },
        .num_times = 4,
        .times = { { 1, 1.2, 1 }, { 2, 1.0, 1 }, { 4, 1.1, 1 }, { 5, 3, 2 } },
    };
    CHECK(fabs(mmt_range_slow_down(&range, 0, 0.5) - 0.1) < 1e-9);
    CHECK(fabs(mmt_range_slow_down(&range, 1, 1) - 0.5) < 1e-9);
    CHECK(fabs(mmt_range_slow_down(&range, -1, 1) - 0.5) < 1e-9);
    CHECK(mmt_range_slow_down(&range, -1, 0) == 0);
}

int main(void)
{
    test_spelling();
    test_samples();
    test_break();
    test_divide();
    test_extremes();
    test_slow_down();
    return test_end("ranges");
}
