/* The Gaussian process behind the strategy `model`: covariance, fit by Cholesky factors,
 * prediction. */
#include "tuner/search/surrogate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tuner/search/surrogate_internal.h"

void mmt_surrogate_free(struct mmt_surrogate *s)
{
    if (!s)
        return;
    free(s->x);
    free(s->factor);
    free(s);
}

/* ---- covariance ------------------------------------------------------------------ */

void mmt_surrogate_distances(const struct mmt_surrogate *s, const float *x, int stride,
                             int from, lanes *square, lanes *alone)
{
    lanes sum = splat(0), ones = splat(0);

    for (int d = 0; d < s->dimensions; d++) {
        lanes step = load(s->x[d] + from) - splat(x[d * stride]);
        lanes part =
            splat(s->weight[d]) * step * step + where(step != 0, splat(s->apart[d]));
        sum += part;
        ones += splat(1) / (splat(1) + part);
    }
    *square = sum;
    *alone = ones * splat(1 / (float) s->dimensions);
}

/* Of the first points, rounded up to LANES, and a point. */
static void find_covariances(const struct mmt_surrogate *s, const float *x, int stride,
                             int count, float *out)
{
    lanes square, alone;
    for (int i = 0; i < count; i += LANES) {
        mmt_surrogate_distances(s, x, stride, i, &square, &alone);
        lanes k = splat(1 - s->share) * mmt_surrogate_together(square) +
                  splat(s->share) * alone;
        memcpy(out + i, &k, sizeof k);
    }
}

/* ---- fitting --------------------------------------------------------------------- */

double mmt_surrogate_dot(const double *a, const double *b, int count)
{
    typedef double pair __attribute__((vector_size(2 * sizeof(double))));
    pair sum[4] = { 0 }, x, y;
    double rest = 0;
    int i = 0;

    for (; i + 8 <= count; i += 8)
        for (int j = 0; j < 4; j++) {
            memcpy(&x, a + i + 2 * j, sizeof x);
            memcpy(&y, b + i + 2 * j, sizeof y);
            sum[j] += x * y;
        }
    for (; i < count; i++)
        rest += a[i] * b[i];
    sum[0] += sum[1] + sum[2] + sum[3];
    return sum[0][0] + sum[0][1] + rest;
}

/* Factors the covariance's rows from `same` on. */
static void factorise_rows(struct mmt_surrogate *s, int same, int count)
{
    float k[MOST];

    for (int i = same; i < count; i++) {
        double *row = s->factor[i];
        find_covariances(s, *s->x + i, MOST, i, k);
        for (int j = 0; j < i; j++)
            row[j] = (k[j] - mmt_surrogate_dot(row, s->factor[j], j)) / s->factor[j][j];
        row[i] = sqrt(fmax(1 + s->noise - mmt_surrogate_dot(row, row, i), 1e-9));
    }
}

/* z becomes factor^-1 z. */
static void solve_lower(const struct mmt_surrogate *s, double *z, int count)
{
    for (int i = 0; i < count; i++)
        z[i] = (z[i] - mmt_surrogate_dot(s->factor[i], z, i)) / s->factor[i][i];
}

static void solve_upper(const struct mmt_surrogate *s, double *z, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        z[i] /= s->factor[i][i];
        for (int k = 0; k < i; k++)
            z[k] -= s->factor[i][k] * z[i];
    }
}

/* The mean is the likeliest one, too. */
double mmt_surrogate_solve(struct mmt_surrogate *s, int same, int count)
{
    double ones[MOST], *z = s->alpha, log_determinant = 0;

    factorise_rows(s, same, count);
    for (int i = 0; i < count; i++) {
        ones[i] = 1;
        z[i] = s->y[i];
        log_determinant += log(s->factor[i][i]);
    }
    solve_lower(s, ones, count);
    solve_lower(s, z, count);
    s->mean = mmt_surrogate_dot(ones, z, count) / mmt_surrogate_dot(ones, ones, count);
    for (int i = 0; i < count; i++)
        z[i] -= s->mean * ones[i];
    s->variance = fmax(mmt_surrogate_dot(z, z, count) / count, 1e-12);
    solve_upper(s, z, count);
    return -0.5 * count * log(s->variance) - log_determinant;
}

/* Puts a point into its place; false where it was there already. */
static bool put_point(struct mmt_surrogate *s, int place, const float *x)
{
    bool differs = place >= s->count;
    for (int d = 0; d < s->dimensions; d++) {
        differs |= s->x[d][place] != x[d];
        s->x[d][place] = x[d];
    }
    return differs;
}

void mmt_surrogate_fit(struct mmt_surrogate *s, const float *x, const double *y,
                       int count)
{
    int same = count;
    for (int i = count - 1; i >= 0; i--)
        if (put_point(s, i, x + i * s->dimensions))
            same = i;
    s->y = y;
    s->count = count;
    mmt_surrogate_solve(s, same, count);
}

/* ---- guessing -------------------------------------------------------------------- */

static double deviation_of(const struct mmt_surrogate *s, double known)
{
    return sqrt(fmax(1 + s->noise - known, 1e-9) * s->variance);
}

/* The deviation is at most what the nearest point alone leaves. */
void mmt_surrogate_guess(const struct mmt_surrogate *s, const float *x, double *mean,
                         double *most_deviation)
{
    float k[MOST], nearest = 0;

    find_covariances(s, x, 1, s->count, k);
    *mean = s->mean;
    for (int i = 0; i < s->count; i++) {
        *mean += s->alpha[i] * k[i];
        nearest = fmaxf(nearest, k[i]);
    }
    *most_deviation = deviation_of(s, nearest * nearest / (1 + s->noise));
}

void mmt_surrogate_predict(const struct mmt_surrogate *s, const float *x, double *mean,
                           double *deviation)
{
    float k[MOST];
    double z[MOST];

    find_covariances(s, x, 1, s->count, k);
    for (int i = 0; i < s->count; i++)
        z[i] = k[i];
    *mean = s->mean + mmt_surrogate_dot(z, s->alpha, s->count);
    solve_lower(s, z, s->count);
    *deviation = deviation_of(s, mmt_surrogate_dot(z, z, s->count));
}
