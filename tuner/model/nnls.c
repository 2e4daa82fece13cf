/* The active-set method of Lawson and Hanson (Solving Least Squares Problems, 1974,
 * chapter 23) on the normal equations, with columns scaled to length 1. */
#include "tuner/model/nnls.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { N = MMT_NNLS_MAX, MOST_ROUNDS = 10 * N };

void mmt_nnls_add(struct mmt_nnls *sums, const double x[N], double y, double weight)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            sums->xx[i][j] += weight * x[i] * x[j];
        sums->xy[i] += weight * x[i] * y;
    }
}

static struct mmt_nnls scale_sums(const struct mmt_nnls *sums, double scale[N])
{
    struct mmt_nnls out;

    for (int i = 0; i < N; i++)
        scale[i] = sums->xx[i][i] > 0 ? 1 / sqrt(sums->xx[i][i]) : 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            out.xx[i][j] = sums->xx[i][j] * scale[i] * scale[j];
        out.xy[i] = sums->xy[i] * scale[i];
    }
    return out;
}

/* Without constraints over the free unknowns, the others being 0: Cholesky's way. The
 * columns that are nearly sums of others are held by a ridge far under their length. */
static void solve_free(const struct mmt_nnls *s, const bool free[N], double p[N])
{
    const double ridge = 1e-10;
    double l[N][N] = { { 0 } };
    int index[N], n = 0;

    for (int i = 0; i < N; i++)
        if (free[i])
            index[n++] = i;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = s->xx[index[i]][index[j]] + (i == j ? ridge : 0);
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrt(fmax(sum, ridge)) : sum / l[j][j];
        }
    memset(p, 0, N * sizeof *p);
    for (int i = 0; i < n; i++) {
        double sum = s->xy[index[i]];
        for (int k = 0; k < i; k++)
            sum -= l[i][k] * p[index[k]];
        p[index[i]] = sum / l[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        double sum = p[index[i]];
        for (int k = i + 1; k < n; k++)
            sum -= l[k][i] * p[index[k]];
        p[index[i]] = sum / l[i][i];
    }
}

/* The unknown that is 0 and would lower the sum most if it grew; -1 where none would. */
static int most_wanted(const struct mmt_nnls *s, const bool free[N], const double p[N])
{
    double most = 1e-9;
    int wanted = -1;

    for (int i = 0; i < N; i++) {
        double gain = s->xy[i];
        for (int j = 0; j < N; j++)
            gain -= s->xx[i][j] * p[j];
        if (!free[i] && s->xx[i][i] > 0 && gain > most) {
            most = gain;
            wanted = i;
        }
    }
    return wanted;
}

/* Goes from p towards `to` until the first unknown meets 0, and pins those that do. */
static bool step_back(bool free[N], double p[N], const double to[N])
{
    double part = 1;

    for (int i = 0; i < N; i++)
        if (free[i] && to[i] <= 0)
            part = fmin(part, p[i] / (p[i] - to[i] + 1e-300));
    bool whole = true;
    for (int i = 0; i < N; i++)
        whole = whole && !(free[i] && to[i] <= 0);
    for (int i = 0; i < N; i++) {
        p[i] += part * (to[i] - p[i]);
        if (free[i] && !whole && p[i] <= 1e-14) {
            p[i] = 0;
            free[i] = false;
        }
    }
    return whole;
}

void mmt_nnls_solve(const struct mmt_nnls *sums, double p[N])
{
    bool free[N] = { false };
    double scale[N], to[N];
    struct mmt_nnls s = scale_sums(sums, scale);

    memset(p, 0, N * sizeof *p);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        int wanted = most_wanted(&s, free, p);
        if (wanted < 0)
            break;
        free[wanted] = true;
        do
            solve_free(&s, free, to);
        while (!step_back(free, p, to));
    }
    for (int i = 0; i < N; i++)
        p[i] *= scale[i];
}
