/* What surrogate.c and surrogate_learn.c share. */
#ifndef MMT_TUNER_SEARCH_SURROGATE_INTERNAL_H
#define MMT_TUNER_SEARCH_SURROGATE_INTERNAL_H

#include <string.h>

#include "tuner/search/surrogate.h"

enum {
    LANES = 4, /* points at a time; divides MMT_SURROGATE_POINTS */
    MOST = MMT_SURROGATE_POINTS,
    MOST_SCALES = 2 * MMT_SURROGATE_DIMENSIONS + 2
};

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int lane_masks __attribute__((vector_size(LANES * sizeof(int))));

struct mmt_surrogate {
    int dimensions, count;
    /* What is learned. Logarithms: of each dimension's weight (1 / length scale^2), of
     * how far differing values are apart at least, of the odds of the part that each
     * dimension does by itself, of the noise's variance as a part of the signal's. */
    double scales[MOST_SCALES];
    float weight[MMT_SURROGATE_DIMENSIONS], apart[MMT_SURROGATE_DIMENSIONS], share;
    double noise, mean, variance;
    const double *y;        /* while fitting */
    float (*x)[MOST];       /* by dimension */
    double alpha[MOST];     /* covariance^-1 (y - mean) */
    double (*factor)[MOST]; /* lower Cholesky factor of the covariance */
};

static inline lanes splat(float x)
{
    return (lanes){ x, x, x, x };
}

static inline lanes load(const float *from)
{
    lanes x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline float sum_lanes(lanes x)
{
    return (x[0] + x[1]) + (x[2] + x[3]);
}

static inline lanes where(lane_masks mask, lanes x)
{
    return (lanes) (mask & (lane_masks) x);
}

/* Of LANES points from `from` on and a point x, whose dimensions lie `stride` apart: the
 * squared distance, and the mean of the covariances in each dimension by itself. */
void mmt_surrogate_distances(const struct mmt_surrogate *s, const float *x, int stride,
                             int from, lanes *square, lanes *alone);

/* The covariance of what all dimensions do together, by the squared distance. */
static inline lanes mmt_surrogate_together(lanes square)
{
    return splat(1) / (splat(1) + splat(0.5f) * square);
}

double mmt_surrogate_dot(const double *a, const double *b, int count);

/* Fits count points with the scales as they are, reusing the first `same` rows of the
 * factor; returns the values' log likelihood, with the signal's variance at its own
 * optimum. */
double mmt_surrogate_solve(struct mmt_surrogate *s, int same, int count);

#endif
