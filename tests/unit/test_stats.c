/* Order statistics: by hand, against tables, and by trying whether the interval covers.
 */
#include <math.h>

#include "tests/support/test.h"
#include "tuner/verify/data.h"
#include "tuner/measure/stats.h"

static void test_by_hand(void)
{
    double odd[] = { 5, 1, 4, 2, 3 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 };
    struct mmt_summary s = mmt_stats_summarise(odd, 5);

    CHECK(s.median == 3 && s.lower_quartile == 2 && s.upper_quartile == 4);
    CHECK(!s.confident && s.low == 1 && s.high == 5);
    CHECK(isinf(mmt_stats_precision(&s)));
    s = mmt_stats_summarise(even, 4);
    CHECK(s.median == 2.5 && s.lower_quartile == 1.75 && s.upper_quartile == 3.25);
    s = mmt_stats_summarise(one, 1);
    CHECK(s.median == 7 && s.low == 7 && s.high == 7 && !s.confident);
    CHECK(mmt_stats_quantile(odd, 5, 0) == 1 && mmt_stats_quantile(odd, 5, 1) == 5);
}

/* The ranks that tables of the binomial distribution give for 95 %. */
static void test_ranks(void)
{
    static const struct {
        int count, low, high;
    } rows[] = { { 6, 1, 6 },     { 8, 1, 8 },       { 9, 2, 8 },
                 { 10, 2, 9 },    { 20, 6, 15 },     { 50, 18, 33 },
                 { 100, 40, 61 }, { 500, 228, 273 }, { 700, 324, 377 } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double samples[700];
        for (int j = 0; j < rows[i].count; j++)
            samples[j] = j + 1;
        struct mmt_summary s = mmt_stats_summarise(samples, rows[i].count);
        CHECK(s.confident);
        CHECK_EQ_INT((long long) s.low, rows[i].low);
        CHECK_EQ_INT((long long) s.high, rows[i].high);
    }
}

static void test_precision(void)
{
    double samples[] = { 10, 10, 10, 11, 10, 9 };
    struct mmt_summary s = mmt_stats_summarise(samples, 6);

    CHECK(s.confident && s.median == 10);
    CHECK(fabs(mmt_stats_precision(&s) - 0.1) < 1e-12);
}

/* Skewed samples whose median is ln 2: the interval covers it in 95 % of all cases or a
 * little more, since ranks are whole. */
static void test_coverage(void)
{
    int covered = 0, tries = 20000;
    double samples[25];

    for (int t = 0; t < tries; t++) {
        for (int i = 0; i < 25; i++) {
            uint64_t noise = mmt_data_noise(1, (uint64_t) (t * 25 + i));
            samples[i] = -log(((double) (noise >> 11) + 0.5) * 0x1p-53);
        }
        struct mmt_summary s = mmt_stats_summarise(samples, 25);
        covered += s.low <= log(2) && log(2) <= s.high;
    }
    CHECK(covered > 0.95 * tries && covered < 0.97 * tries);
}

static void test_rank_correlation(void)
{
    const double up[] = { 1, 2, 3, 10 }, down[] = { 4, 3, 2, 1 }, flat[] = { 5, 5, 5, 5 };
    const double swapped[] = { 2, 1, 3, 4 }, tied[] = { 1, 1, 2, 3 };
    CHECK(fabs(mmt_stats_rank_correlation(up, up, 4) - 1) < 1e-12);
    CHECK(fabs(mmt_stats_rank_correlation(up, down, 4) + 1) < 1e-12);
    CHECK(mmt_stats_rank_correlation(up, flat, 4) == 0);
    CHECK(mmt_stats_rank_correlation(up, down, 1) == 0);
    CHECK(fabs(mmt_stats_rank_correlation(up, swapped, 4) - 0.8) < 1e-12);
    CHECK(fabs(mmt_stats_rank_correlation(up, tied, 4) - 0.9486832980505138) < 1e-12);
}

int main(void)
{
    test_by_hand();
    test_ranks();
    test_precision();
    test_coverage();
    test_rank_correlation();
    return test_end("stats");
}
