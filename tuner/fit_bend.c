#include "tuner/fit_bend.h"

#include <math.h>
#include <string.h>

enum { UNKNOWNS = MMT_NUM_AXES * MMT_BENDS, ROUNDS = 4 };

/* In samples: how strongly each point of a bend is drawn to 0, and to its neighbour. */
static const double to_zero = 4, to_neighbour = 4;

/* Squares up to a fifth, then straight, as for the law. */
static const double straight = 0.2;

/* The normal equations of the ridge regression. */
struct sums {
    double xx[UNKNOWNS][UNKNOWNS], xy[UNKNOWNS];
};

/* What each unknown is multiplied by: of each axis, two are between 0 and 1. */
static void terms(const struct mmt_load *load, double x[UNKNOWNS])
{
    memset(x, 0, UNKNOWNS * sizeof *x);
    for (int axis = 0; axis < MMT_NUM_AXES; axis++) {
        const struct mmt_bend_at at = load->at[axis];
        x[axis * MMT_BENDS + at.first] = 1 - at.part;
        x[axis * MMT_BENDS + at.first + 1] = at.part;
    }
}

static void start(struct sums *sums)
{
    memset(sums, 0, sizeof *sums);
    for (int i = 0; i < UNKNOWNS; i++) {
        sums->xx[i][i] += to_zero;
        if ((i + 1) % MMT_BENDS == 0)
            continue;
        sums->xx[i][i] += to_neighbour;
        sums->xx[i + 1][i + 1] += to_neighbour;
        sums->xx[i][i + 1] -= to_neighbour;
        sums->xx[i + 1][i] -= to_neighbour;
    }
}

static void add(struct sums *sums, const double x[UNKNOWNS], double y, double weight)
{
    for (int i = 0; i < UNKNOWNS; i++) {
        sums->xy[i] += weight * x[i] * y;
        for (int j = 0; j < UNKNOWNS; j++)
            sums->xx[i][j] += weight * x[i] * x[j];
    }
}

/* Cholesky's factor, in the place of the lower half of a positive definite matrix. */
static void factor(double l[UNKNOWNS][UNKNOWNS])
{
    for (int i = 0; i < UNKNOWNS; i++)
        for (int j = 0; j <= i; j++) {
            double sum = l[i][j];
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            l[i][j] = j < i ? sum / l[j][j] : sqrt(sum);
        }
}

static void solve(struct sums *sums, double p[UNKNOWNS])
{
    double(*l)[UNKNOWNS] = sums->xx;

    factor(l);
    for (int i = 0; i < UNKNOWNS; i++) {
        p[i] = sums->xy[i];
        for (int k = 0; k < i; k++)
            p[i] -= l[i][k] * p[k];
        p[i] /= l[i][i];
    }
    for (int i = UNKNOWNS - 1; i >= 0; i--) {
        for (int k = i + 1; k < UNKNOWNS; k++)
            p[i] -= l[k][i] * p[k];
        p[i] /= l[i][i];
    }
}

/* Of the law alone while the cost has no bends. */
static double error_of(const struct mmt_cost *cost, const struct mmt_fit_point *at)
{
    return log(at->seconds / mmt_cost_seconds(cost, &at->load));
}

/* To four digits behind the point: more would only make profiles longer. */
static void take(const double p[UNKNOWNS], struct mmt_cost *cost)
{
    for (int i = 0; i < UNKNOWNS; i++)
        cost->bend[i / MMT_BENDS][i % MMT_BENDS] = round(p[i] * 1e4) / 1e4;
}

void mmt_fit_bend(const struct mmt_fit_point *points, int count, struct mmt_cost *cost)
{
    const struct mmt_cost law = *cost;
    double x[UNKNOWNS], p[UNKNOWNS], sum = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct sums sums;
        start(&sums);
        for (int i = 0; i < count; i++) {
            double left = fabs(error_of(cost, &points[i]));
            terms(&points[i].load, x);
            add(&sums, x, error_of(&law, &points[i]),
                points[i].weight * (left < straight ? 1 : straight / left));
        }
        solve(&sums, p);
        take(p, cost);
    }
    for (int i = 0; i < count; i++)
        sum += pow(error_of(cost, &points[i]), 2);
    cost->residual = sqrt(sum / count);
}
