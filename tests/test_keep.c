/* Which kernels a calibration times further, and which few of many are kept. */
#include <math.h>

#include "tests/made_up.h"
#include "tests/test.h"
#include "tuner/calibrate.h"
#include "tuner/fit.h"

/* ---- which kernels are timed further ---------------------------------------------- */

static bool is_large(const mmt_problem *p)
{
    return p->m >= 256 && p->n >= 256 && p->k >= 256;
}

/* How often a kernel meets the shapes of a calibration, and the large among them, that
 * takes `behind` times the best, for large ones `behind_large` times. */
static int count_met(double behind, double behind_large, int *large)
{
    static mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES];
    struct mmt_pick pick = { 0 };
    const mmt_problem kind = made_up_shape(1, 1, 1);
    int met = 0;

    *large = 0;
    mmt_fit_shapes(&kind, 1e12, shapes, MMT_MOST_CALIBRATION_SHAPES);
    for (int i = 0; i < MMT_MOST_CALIBRATION_SHAPES; i++) {
        if (mmt_pick_is_hopeless(&pick, shapes, i))
            continue;
        pick.took = 2e-6 * (is_large(&shapes[i]) ? behind_large : behind);
        mmt_pick_compare(&pick, i, 2e-6);
        met++;
        *large += is_large(&shapes[i]);
    }
    return met;
}

/* One that is for large problems meets them, though there are few of them and none among
 * the first shapes; one that is for none is left. */
static void test_hopeless(void)
{
    enum { LARGE = 11 };
    int large;
    CHECK_EQ_INT(count_met(1.4, 1.4, &large), MMT_MOST_CALIBRATION_SHAPES);
    CHECK_EQ_INT(large, LARGE);
    CHECK(count_met(3, 3, &large) < MMT_MOST_CALIBRATION_SHAPES / 5);
    CHECK(count_met(3, 1, &large) < MMT_MOST_CALIBRATION_SHAPES / 2);
    CHECK_EQ_INT(large, LARGE);
}

/* A shape that it does not serve tells nothing. */
static void test_not_met(void)
{
    const mmt_problem shape = made_up_shape(8, 8, 8);
    mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES];
    struct mmt_pick pick = { .took = INFINITY };
    for (int i = 0; i < MMT_MOST_CALIBRATION_SHAPES; i++) {
        shapes[i] = shape;
        mmt_pick_compare(&pick, i, 1e-6);
    }
    CHECK(!mmt_pick_is_hopeless(&pick, shapes, 0));
}

/* ---- choosing what is kept ------------------------------------------------------- */

enum { ROWS = 60, COLS = 24, PLANTED = 6 };

/* Six kernels serve four problems each within 3 %; all others are good on many, and bad
 * on one in three of them. */
static void test_planted(void)
{
    double times[ROWS * COLS], best[COLS], worst;
    int chosen[MMT_FIT_MOST_KEPT];

    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++) {
            bool ours = r % 10 == 0 && c % PLANTED == r / 10;
            double others =
                (r * 7 + c * 5) % 3 == 0 ? 1.6 : 1.05 + 0.1 * made_up_uniform();
            times[r * COLS + c] = ours          ? 1 + 0.03 * made_up_uniform()
                                  : r % 10 == 0 ? 1.8
                                                : others;
        }
    for (int c = 0; c < COLS; c++)
        best[c] = 1;
    int count = mmt_fit_choose(times, best, NULL, ROWS, COLS, PLANTED, chosen, &worst);
    printf("planted: %d kept, worst loss %.3f\n", count, worst);
    CHECK(count == PLANTED && worst <= 0.03);
    for (int i = 0; i < count; i++)
        CHECK(chosen[i] % 10 == 0);
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
    int chosen[2];
    double worst;

    CHECK_EQ_INT(mmt_fit_choose(times, best, NULL, 3, 6, 1, chosen, &worst), 1);
    CHECK(chosen[0] == 0 && fabs(worst - 0.1) < 1e-9);
    CHECK_EQ_INT(mmt_fit_choose(times, best, NULL, 3, 6, 2, chosen, &worst), 2);
    CHECK(chosen[0] + chosen[1] == 3 && worst < 1e-9);
}

/* What serves only some problems is kept for them; what nobody serves is said. */
static void test_unserved(void)
{
    const double times[] = { 1, 1, INFINITY, 1.05, 1.3, 1.0 };
    const double best[] = { 1, 1, 1 };
    int chosen[4];
    double worst;

    CHECK_EQ_INT(mmt_fit_choose(times, best, NULL, 2, 3, 4, chosen, &worst), 2);
    CHECK(worst < 1e-9);
    CHECK_EQ_INT(mmt_fit_choose(times, best, NULL, 2, 3, 1, chosen, &worst), 1);
    CHECK(chosen[0] == 1 && fabs(worst - 0.3) < 1e-9);
    CHECK_EQ_INT(mmt_fit_choose(times, best, NULL, 1, 3, 4, chosen, &worst), 1);
    CHECK(isinf(worst));
}

/* A slow kernel is the best on each problem, and another one is behind on it, on each
 * more than on the one before: as many slow ones are chosen as may be, for the last
 * problems.
 */
static void test_slow(void)
{
    enum { EACH = MMT_FIT_MOST_SLOW + 2 };
    double times[2 * EACH * EACH], best[EACH], worst;
    bool slow[2 * EACH];
    int chosen[2 * EACH];

    for (int row = 0; row < 2 * EACH; row++) {
        slow[row] = row < EACH;
        for (int col = 0; col < EACH; col++) {
            best[col] = 1;
            times[row * EACH + col] = row % EACH != col ? 3
                                      : slow[row]       ? 1
                                                        : 1.1 + 0.1 * col;
        }
    }
    CHECK_EQ_INT(mmt_fit_choose(times, best, NULL, 2 * EACH, EACH, 16, chosen, &worst),
                 EACH);
    CHECK(worst < 1e-9);
    CHECK_EQ_INT(mmt_fit_choose(times, best, slow, 2 * EACH, EACH, 16, chosen, &worst),
                 EACH);
    CHECK(fabs(worst - 0.2) < 1e-9);
    for (int i = 0; i < EACH; i++)
        CHECK(slow[chosen[i]] == (chosen[i] % EACH >= 2));
}

int main(void)
{
    test_hopeless();
    test_not_met();
    test_planted();
    test_exchange();
    test_unserved();
    test_slow();
    return test_end("keep");
}
