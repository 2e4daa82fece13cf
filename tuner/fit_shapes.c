#include <math.h>

#include "tuner/fit.h"

/* The additive recurrence that fills a cube most evenly (Roberts 2018: powers of the root
 * of x^4 = x + 1). */
static const double along[3] = { 0.8191725133961645, 0.6710436067037893,
                                 0.5497004779019703 };

static const double largest = 8192, least_long = 512, most_short = 64;

static double place(int64_t index, int axis)
{
    return fmod(0.5 + (double) (index + 1) * along[axis], 1);
}

static int64_t between(double part, double least, double most)
{
    return (int64_t) (least * exp(part * log((most + 1) / least)));
}

/* A thin side stays thin: many kernels are for such alone. */
static int64_t round_up(int64_t size)
{
    const int64_t step = size < 4 ? 1 : size < 16 ? 4 : 16;
    return (size + step - 1) / step * step;
}

/* One dimension of a skewed shape is short, each in turn. */
static mmt_problem shape_at(const mmt_problem *kind, int64_t index)
{
    bool skewed = index % 3 == 2, round = index % 2;
    int64_t size[3];

    for (int axis = 0; axis < 3; axis++) {
        bool is_short = index / 3 % 3 == axis;
        double least = skewed && !is_short ? least_long : 1;
        double most = skewed && is_short ? most_short : largest;
        size[axis] = between(place(index, axis), least, most);
        if (round)
            size[axis] = round_up(size[axis]);
    }
    mmt_problem problem = mmt_gemm_problem(kind->type, size[0], size[1], size[2]);
    problem.trans_a = kind->trans_a;
    problem.trans_b = kind->trans_b;
    return problem;
}

void mmt_fit_shapes(const mmt_problem *kind, double most_flops, mmt_problem *out,
                    int count)
{
    const double least_flops = 1e6; /* under it, skewed shapes would not be found */
    double most = fmax(most_flops, least_flops);
    int found = 0;

    for (int64_t index = 0; found < count; index++) {
        mmt_problem problem = shape_at(kind, index);
        if (mmt_problem_normalise(&problem, &out[found], NULL) == MMT_OK &&
            mmt_problem_flops(&out[found]) <= most)
            found++;
    }
}
