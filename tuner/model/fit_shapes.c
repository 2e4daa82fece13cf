/* Draws the shapes that a run times for its models, such as programs multiply; the same
 * for the same number. */
#include <math.h>

#include "tuner/model/fit.h"

/* The additive recurrence that fills a cube most evenly (Roberts 2018: powers of the root
 * of x^4 = x + 1). */
static const double along[3] = { 0.8191725133961645, 0.6710436067037893,
                                 0.5497004779019703 };

static int64_t log_between(double part, double least, double most)
{
    return (int64_t) (least * exp(part * log((most + 1) / least)));
}

static int64_t round_to(int64_t size, int64_t step)
{
    return size > step ? (size + step / 2) / step * step : size;
}

/* A thin side stays thin: many kernels are for such alone. */
static int64_t round_up(int64_t size)
{
    const int64_t step = size < 4 ? 1 : size < 16 ? 4 : 16;
    return (size + step - 1) / step * step;
}

/* Any number of tokens through a layer of a network; every third time the gradient of
 * its weights, whose k the tokens are. */
static void layer_shape(const double part[3], int64_t round, int64_t size[3])
{
    const int64_t tokens = log_between(part[0], 1, 8192);
    const int64_t wide = round_to(log_between(part[1], 512, 32768), 128);
    const int64_t deep = round_to(log_between(part[2], 512, 32768), 128);
    const bool gradient = round % 3 == 2;

    size[0] = gradient ? wide : tokens;
    size[1] = gradient ? deep : wide;
    size[2] = gradient ? tokens : deep;
}

/* All dimensions within two octaves. */
static void block_shape(const double part[3], int64_t size[3])
{
    const double side = (double) log_between(part[0], 64, 8192);
    for (int i = 0; i < 3; i++)
        size[i] = (int64_t) (side * (i ? exp2(2 * part[i] - 1) : 1));
}

/* One dimension is short, or long, each in turn. */
static void skewed_shape(const double part[3], int64_t round, int64_t size[3])
{
    const bool is_long = round % 2;
    for (int i = 0; i < 3; i++) {
        const bool odd_one = round / 2 % 3 == i;
        if (is_long)
            size[i] = odd_one ? log_between(part[i], 8192, 131072)
                              : log_between(part[i], 16, 768);
        else
            size[i] =
                odd_one ? log_between(part[i], 1, 64) : log_between(part[i], 512, 16384);
    }
}

mmt_problem mmt_fit_shape(const mmt_problem *kind, const double part[3], int64_t index)
{
    const int64_t round = index / 4;
    int64_t size[3];

    switch (index % 4) {
    case 0:
        layer_shape(part, round, size);
        break;
    case 1:
        for (int i = 0; i < 3; i++)
            size[i] = log_between(part[i], 1, 16384);
        break;
    case 2:
        block_shape(part, size);
        break;
    default:
        skewed_shape(part, round, size);
    }
    for (int i = 0; i < 3 && round % 2; i++)
        size[i] = round_up(size[i]);
    mmt_problem problem = mmt_gemm_problem(kind->type, size[0], size[1], size[2]);
    problem.trans_a = kind->trans_a;
    problem.trans_b = kind->trans_b;
    return problem;
}

void mmt_fit_shapes(const mmt_problem *kind, double most_flops, mmt_problem *out,
                    int count)
{
    const double least_flops = 1e6; /* under it, skewed shapes would not be found */
    const double most = fmax(most_flops, least_flops);
    int found = 0;

    for (int64_t index = 0; found < count; index++) {
        double part[3];
        for (int i = 0; i < 3; i++)
            part[i] = fmod(0.5 + (double) (index + 1) * along[i], 1);
        const mmt_problem problem = mmt_fit_shape(kind, part, index);
        if (mmt_problem_normalise(&problem, &out[found], NULL) == MMT_OK &&
            mmt_problem_flops(&out[found]) <= most)
            found++;
    }
}
