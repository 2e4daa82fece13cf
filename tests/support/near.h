/* How near to the exact product C must be where tensor cores multiply f32, and operands
 * that show it. For accuracy.c, on a card, and on the host for
 * hopper/emulate.cpp and test_slices.c.
 *
 * An element is near if it is no further from the exact one than that of FFMA, or
 *
 *     |C - exact| <= 2^-24 (|exact| + units |A| |B|) + subnormals 2^-150
 *
 * whose first term is the last rounding. Of the products 1 unit is left out; what an
 * instruction cuts off of a sum of slices' products is at most 2, and a little more of
 * the lower slices. Each sum that is added costs a unit, and of subnormal ones half of
 * 2^-149 where it is rounded. FFMA rounds k times. Where |A| |B| is beyond the largest
 * f32, C may be infinite or NaN: that depends on the order of the sum.
 *
 * Operands of like size, the first kinds, must be nearer than FFMA's on the whole, too.
 */
#ifndef MMT_TESTS_NEAR_H
#define MMT_TESTS_NEAR_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static const char *const near_kinds[] = {
    "in [-1, 1)",
    "in [0, 1)",
    "2^-20 to 2^20, any sign",
    "2^-149 to 2^127, one for each row of A and column of B",
    "the same, times 2^-20 to 2^20",
    "2^-149 to 2^104 in A, of B the inverse times 2^-149 to 2^60",
    "2^-50 to 2^-10, and in A zeros where B has 2^100",
};
enum { NEAR_KINDS = sizeof near_kinds / sizeof *near_kinds, NEAR_LIKE = 2 };

/* In [0, 1). */
static double near_draw(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double) (state >> 11) * 0x1p-53;
}

static double near_power(int exponent)
{
    const int least = -149, most = 127;
    const int e = exponent < least ? least : exponent > most ? most : exponent;
    const double x = ldexp(1 + near_draw(), e);
    return near_draw() < 0.5 ? -x : x;
}

/* The exponent of a line's elements, from `least` for the first to `most` for the last.
 */
static int near_exponent(int64_t line, int64_t lines, int least, int most)
{
    return lines > 1 ? least + (int) (line * (most - least) / (lines - 1)) : least;
}

/* An element of A, or with `of_b` of B: `line` of its `lines` along k, at that depth. */
static float near_element(int kind, bool of_b, int64_t line, int64_t lines, int64_t depth)
{
    const int own = near_exponent(line, lines, -149, 127);
    const int spread = (int) (near_draw() * 41) - 20;
    const int across = (int) (depth * 97 % 254) - 149;

    switch (kind) {
    case 0:
        return (float) (2 * near_draw() - 1);
    case 1:
        return (float) near_draw();
    case 2:
        return (float) near_power(spread);
    case 3:
        return (float) near_power(own);
    case 4:
        return (float) near_power(own + spread);
    case 5:
        return (float) near_power(of_b ? near_exponent(line, lines, -149, 60) - across
                                       : across);
    default:
        if (depth % 2)
            return of_b ? (float) near_power(100) : 0;
        return (float) near_power(spread - 30);
    }
}

/* An element: C's, FFMA's, the exact one and that of |A| |B|. */
struct near_element {
    double found, ffma, exact, size;
};

struct near_bound {
    double units, subnormals;
};

/* wgmma sums up 64 steps by four instructions, and rounds that to f32. */
static inline struct near_bound near_of_wgmma(int64_t k)
{
    const double sums = (double) ((k + 63) / 64);
    const struct near_bound bound = { 10 + sums, 1 + sums };
    return bound;
}

/* mma_bf16x3 sums up 16 steps by one, keeps their scale, and adds up splits of k. */
static inline struct near_bound near_of_mma(int64_t k, int splits)
{
    const struct near_bound bound = { 4 + (double) ((k + 15) / 16) + splits, 1 };
    return bound;
}

static double near_rounding(const struct near_element *x, struct near_bound bound)
{
    return 0x1p-24 * fabs(x->exact) + bound.subnormals * 0x1p-150;
}

static bool near_is_near(const struct near_element *x, struct near_bound bound)
{
    const double error = fabs(x->found - x->exact), other = fabs(x->ffma - x->exact);
    const double most = near_rounding(x, bound) + 0x1p-24 * bound.units * x->size;

    if (!isfinite(x->found))
        return x->size >= FLT_MAX;
    return error <= most || (isfinite(x->ffma) && error <= other);
}

/* What all elements of C come to, in units of 2^-24 |A| |B|: finite ones alone. */
struct near_sums {
    double most, squares, bias,
        beyond; /* the last: most beyond a rounding, where FFMA is nearer */
    int64_t count, far;
};

static void near_add(struct near_sums *sums, const struct near_element *x,
                     struct near_bound bound)
{
    const double unit = 0x1p-24 * x->size + 0x1p-150, error = x->found - x->exact;

    sums->far += !near_is_near(x, bound);
    if (!isfinite(x->found) || !isfinite(x->ffma))
        return;
    sums->count++;
    sums->most = fmax(sums->most, fabs(error) / unit);
    sums->squares += error / unit * (error / unit);
    sums->bias += (x->exact < 0 ? -error : error) / unit;
    if (fabs(error) > fabs(x->ffma - x->exact))
        sums->beyond = fmax(sums->beyond, (fabs(error) - near_rounding(x, bound)) / unit);
}

#endif
