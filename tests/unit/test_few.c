/* Which few of many kernels a bundle has for shapes that are not listed. */
#include <math.h>

#include "tests/support/synthetic_device.h"
#include "tests/support/test.h"
#include "tuner/bundle/make.h"

enum { ROWS = 60, COLS = 24, PLANTED = 6 };

/* The mean and the worst of the regrets of the selected; INFINITY where none serves. */
static double mean_regret(const double *times, const double *best, int cols,
                          const int *selected, int count, double *worst)
{
    double sum = 0;
    *worst = 0;
    for (int col = 0; col < cols; col++) {
        double least = INFINITY;
        for (int i = 0; i < count; i++)
            least = fmin(least, times[selected[i] * cols + col] / best[col] - 1);
        *worst = fmax(*worst, least);
        sum += least;
    }
    return sum / cols;
}

/* Six kernels serve four problems each within 3 %; all others are good on many, and bad
 * on one in three of them. */
static void test_planted(void)
{
    double times[ROWS * COLS], best[COLS], worst;
    int selected[MMT_BUNDLE_MOST_KERNELS];

    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++) {
            bool ours = r % 10 == 0 && c % PLANTED == r / 10;
            double others =
                (r * 7 + c * 5) % 3 == 0 ? 1.6 : 1.05 + 0.1 * synthetic_uniform();
            times[r * COLS + c] = ours          ? 1 + 0.03 * synthetic_uniform()
                                  : r % 10 == 0 ? 1.8
                                                : others;
        }
    for (int c = 0; c < COLS; c++)
        best[c] = 1;
    const int count = mmt_bundle_select(times, best, ROWS, COLS, PLANTED, selected);
    mean_regret(times, best, COLS, selected, count, &worst);
    printf("planted: %d kernels, worst regret %.3f\n", count, worst);
    CHECK(count == PLANTED && worst <= 0.03);
    for (int i = 0; i < count; i++)
        CHECK(selected[i] % 10 == 0);
}

/* Adding the kernel that helps most leads astray here: the first is best alone, but the
 * second and third together serve all. */
static void test_exchange(void)
{
    const double times[] = {
        1.1, 1.1, 1.1, 1.1, 1.1, 1.1, /* never good, never bad */
        1.0, 1.0, 1.0, 1.9, 1.9, 1.9, /* */
        1.9, 1.9, 1.9, 1.0, 1.0, 1.0,
    };
    const double best[] = { 1, 1, 1, 1, 1, 1 };
    int selected[2];
    double worst;

    CHECK_EQ_INT(mmt_bundle_select(times, best, 3, 6, 1, selected), 1);
    CHECK(selected[0] == 0);
    CHECK_EQ_INT(mmt_bundle_select(times, best, 3, 6, 2, selected), 2);
    CHECK(selected[0] + selected[1] == 3);
    CHECK(mean_regret(times, best, 6, selected, 2, &worst) < 1e-9);
}

/* What serves only some problems is in the few for them; that all are served comes
 * first. */
static void test_unserved(void)
{
    const double times[] = { 1, 1, INFINITY, 2.05, 2.3, 1.0 };
    const double best[] = { 1, 1, 1 };
    int selected[4];
    double worst;

    CHECK_EQ_INT(mmt_bundle_select(times, best, 2, 3, 4, selected), 2);
    CHECK(mean_regret(times, best, 3, selected, 2, &worst) < 1e-9);
    CHECK_EQ_INT(mmt_bundle_select(times, best, 2, 3, 1, selected), 1);
    CHECK_EQ_INT(selected[0], 1);
    CHECK_EQ_INT(mmt_bundle_select(times, best, 1, 3, 4, selected), 1);
}

/* The mean decides: one problem's great regret is not worth a little on each of the
 * others. However great it is, it counts as one that is bad. */
static void test_mean(void)
{
    const double times[] = {
        1.0, 1.0, 1.0, 1.0, 1.5,  /* is behind on one problem */
        1.2, 1.2, 1.2, 1.2, 1.2,  /* is never that far behind */
        1.6, 1.6, 1.6, 1.6, 99.0, /* is as far behind on one as counts */
        2.5, 2.5, 2.5, 2.5, 1.0,  /* is far behind on all others */
    };
    const double best[] = { 1, 1, 1, 1, 1 };
    int selected[2];

    CHECK_EQ_INT(mmt_bundle_select(times, best, 2, 5, 1, selected), 1);
    CHECK_EQ_INT(selected[0], 0);
    CHECK_EQ_INT(mmt_bundle_select(times + 10, best, 2, 5, 1, selected), 1);
    CHECK_EQ_INT(selected[0], 0);
    CHECK_EQ_INT(mmt_bundle_select(times, best, 4, 5, 2, selected), 2);
    CHECK_EQ_INT(selected[0] + selected[1], 0 + 3);
}

/* What gains nothing takes no place, and what is the best alone has the first. */
static void test_useless(void)
{
    const double times[] = {
        1.0, 1.4, /* */
        1.0, 1.4, /* the same again */
        1.1, 1.0, /* the best of all alone */
        1.1, 1.5,
    };
    const double best[] = { 1, 1 };
    int selected[4];

    CHECK_EQ_INT(mmt_bundle_select(times, best, 4, 2, 4, selected), 2);
    CHECK_EQ_INT(selected[0], 2);
    CHECK(selected[1] == 0 || selected[1] == 1);
}

int main(void)
{
    test_planted();
    test_exchange();
    test_unserved();
    test_mean();
    test_useless();
    return test_end("few");
}
