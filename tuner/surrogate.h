/* A Gaussian process: guesses a smooth function from its values at a few points, and says
 * how sure it is. Matern 5/2 covariance with a length scale for each dimension; the
 * scales and the noise maximise the marginal likelihood, under a weak prior that keeps
 * them sane while there is little to learn from (Rasmussen and Williams, Gaussian
 * Processes for Machine Learning, 2006, sections 2.2, 4.2 and 5.4). Not thread-safe. */
#ifndef MMT_TUNER_SURROGATE_H
#define MMT_TUNER_SURROGATE_H

#include <stdbool.h>

enum { MMT_SURROGATE_POINTS = 384, MMT_SURROGATE_DIMENSIONS = 96 };

struct mmt_surrogate;

/* NULL where memory is exhausted. */
struct mmt_surrogate *mmt_surrogate_create(int dimensions);
void mmt_surrogate_free(struct mmt_surrogate *surrogate);

/* Replaces all points: count rows of x (each `dimensions` long) and their values y. At
 * most MMT_SURROGATE_POINTS. Costs count^3 / 3 multiplications; with `learn`, some dozens
 * of times that, to fit scales and noise too. */
void mmt_surrogate_fit(struct mmt_surrogate *surrogate, const double *x, const double *y,
                       int count, bool learn);

/* The expected value at a point, which is cheap, and the most that the standard deviation
 * can be anywhere. */
double mmt_surrogate_mean(const struct mmt_surrogate *surrogate, const double *x);
double mmt_surrogate_most_deviation(const struct mmt_surrogate *surrogate);

/* The expected value at a point and its standard deviation. */
void mmt_surrogate_predict(const struct mmt_surrogate *surrogate, const double *x,
                           double *mean, double *deviation);

#endif
