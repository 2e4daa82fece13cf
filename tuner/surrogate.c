#include "tuner/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mmt_surrogate {
    int dimensions, count;
    double weight[MMT_SURROGATE_DIMENSIONS]; /* 1 / length scale^2 */
    double noise;                            /* variance, as a part of the signal's */
    double mean, variance;
    const double *y;                        /* while fitting */
    double *x;                              /* count rows */
    double alpha[MMT_SURROGATE_POINTS];     /* covariance^-1 (y - mean) */
    double (*factor)[MMT_SURROGATE_POINTS]; /* lower Cholesky factor of the covariance */
};

static const double usual_weight = 0.3, usual_noise = 1e-2;

struct mmt_surrogate *mmt_surrogate_create(int dimensions)
{
    struct mmt_surrogate *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->dimensions = dimensions;
    s->x = malloc(sizeof *s->x * (size_t) dimensions * MMT_SURROGATE_POINTS);
    s->factor = malloc(sizeof *s->factor * MMT_SURROGATE_POINTS);
    if (!s->x || !s->factor) {
        mmt_surrogate_free(s);
        return NULL;
    }
    for (int d = 0; d < dimensions; d++)
        s->weight[d] = usual_weight;
    s->noise = usual_noise;
    return s;
}

void mmt_surrogate_free(struct mmt_surrogate *s)
{
    if (!s)
        return;
    free(s->x);
    free(s->factor);
    free(s);
}

static double covariance(const struct mmt_surrogate *s, const double *a, const double *b)
{
    double square = 0;
    for (int d = 0; d < s->dimensions; d++)
        square += (a[d] - b[d]) * (a[d] - b[d]) * s->weight[d];
    double r = sqrt(5 * square);
    return (1 + r + 5 * square / 3) * exp(-r);
}

/* Factors the covariance; returns the logarithm of the factor's determinant. */
static double factorise(struct mmt_surrogate *s)
{
    double log_determinant = 0;

    for (int i = 0; i < s->count; i++) {
        double *row = s->factor[i];
        for (int j = 0; j <= i; j++) {
            const double *other = s->factor[j];
            double sum =
                covariance(s, s->x + i * s->dimensions, s->x + j * s->dimensions);
            if (i == j)
                sum += s->noise;
            for (int k = 0; k < j; k++)
                sum -= row[k] * other[k];
            row[j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / other[j];
        }
        log_determinant += log(row[i]);
    }
    return log_determinant;
}

/* Solves for alpha; returns the squared length of factor^-1 (y - mean). */
static double solve(struct mmt_surrogate *s)
{
    double *z = s->alpha, square = 0;

    for (int i = 0; i < s->count; i++) {
        double sum = s->y[i] - s->mean;
        for (int k = 0; k < i; k++)
            sum -= s->factor[i][k] * z[k];
        z[i] = sum / s->factor[i][i];
        square += z[i] * z[i];
    }
    for (int i = s->count - 1; i >= 0; i--) {
        double sum = z[i];
        for (int k = i + 1; k < s->count; k++)
            sum -= s->factor[k][i] * z[k];
        z[i] = sum / s->factor[i][i];
    }
    return square;
}

/* The weights' prior: log-normal round the usual one. */
static double log_prior(const struct mmt_surrogate *s)
{
    double sum = 0;
    for (int d = 0; d < s->dimensions; d++) {
        double octaves = log(s->weight[d] / usual_weight) / 1.5;
        sum -= octaves * octaves / 2;
    }
    return sum;
}

/* Fits the values with the scales as they are; returns the log posterior of the scales,
 * with the signal's variance at its own optimum. */
static double fit(struct mmt_surrogate *s)
{
    double log_determinant = factorise(s);
    s->variance = fmax(solve(s) / s->count, 1e-12);
    return -0.5 * s->count * log(s->variance) - log_determinant + log_prior(s);
}

/* Tries one scale (or, past the last, the noise) a step larger and a step smaller. */
static bool improve(struct mmt_surrogate *s, int which, double *best)
{
    bool is_noise = which == s->dimensions;
    double *scale = is_noise ? &s->noise : &s->weight[which], old = *scale;
    double least = is_noise ? 1e-5 : 1e-4, most = is_noise ? 0.3 : 20;

    for (int up = 0; up < 2; up++) {
        *scale = up ? old * 2.2 : old / 2.2;
        if (*scale < least || *scale > most)
            continue;
        double posterior = fit(s);
        if (posterior > *best) {
            *best = posterior;
            return true;
        }
    }
    *scale = old;
    return false;
}

static void learn(struct mmt_surrogate *s)
{
    double best = fit(s);
    int rounds = s->count < 48 ? 6 : 2;

    for (bool any = true; any && rounds > 0; rounds--) {
        any = false;
        for (int which = 0; which <= s->dimensions; which++)
            any |= improve(s, which, &best);
    }
}

void mmt_surrogate_fit(struct mmt_surrogate *s, const double *x, const double *y,
                       int count, bool with_learning)
{
    s->count = count;
    s->y = y;
    s->mean = 0;
    memcpy(s->x, x, sizeof *x * (size_t) (count * s->dimensions));
    for (int i = 0; i < count; i++)
        s->mean += y[i] / count;
    if (with_learning)
        learn(s);
    fit(s);
}

double mmt_surrogate_mean(const struct mmt_surrogate *s, const double *x)
{
    double mean = s->mean;
    for (int i = 0; i < s->count; i++)
        mean += s->alpha[i] * covariance(s, x, s->x + i * s->dimensions);
    return mean;
}

double mmt_surrogate_most_deviation(const struct mmt_surrogate *s)
{
    return sqrt((1 + s->noise) * s->variance);
}

void mmt_surrogate_predict(const struct mmt_surrogate *s, const double *x, double *mean,
                           double *deviation)
{
    double z[MMT_SURROGATE_POINTS], known = 0;

    *mean = s->mean;
    for (int i = 0; i < s->count; i++) {
        z[i] = covariance(s, x, s->x + i * s->dimensions);
        *mean += z[i] * s->alpha[i];
    }
    for (int i = 0; i < s->count; i++) {
        double sum = z[i];
        for (int k = 0; k < i; k++)
            sum -= s->factor[i][k] * z[k];
        z[i] = sum / s->factor[i][i];
        known += z[i] * z[i];
    }
    *deviation = sqrt(fmax(1 + s->noise - known, 1e-9) * s->variance);
}
