/* A Gaussian process: guesses a function from its values at a few points, and says how
 * sure it is (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006).
 *
 * Two values of a dimension are as far apart as their distance, scaled, and a little more
 * where they differ at all; so numbers that are mere names can be learned, too. The
 * covariance is one part of what each dimension does by itself, whatever the others do,
 * and one of what they do together. The scales, the parts and the noise are those that
 * make the values likeliest, under a prior that keeps them sane while there is little to
 * learn from. Not thread-safe. */
#ifndef MMT_TUNER_SEARCH_SURROGATE_H
#define MMT_TUNER_SEARCH_SURROGATE_H

enum { MMT_SURROGATE_POINTS = 384, MMT_SURROGATE_DIMENSIONS = 96 };

struct mmt_surrogate;

/* NULL where memory is exhausted. */
struct mmt_surrogate *mmt_surrogate_create(int dimensions);
void mmt_surrogate_free(struct mmt_surrogate *surrogate);

/* Learns scales, parts and noise from count rows of x (each `dimensions` long) and their
 * values y, at most MMT_SURROGATE_POINTS, and forgets the points. Costs some dozens of
 * times count^3 multiplications. */
void mmt_surrogate_learn(struct mmt_surrogate *surrogate, const float *x, const double *y,
                         int count);

/* Replaces all points. Costs count^3 / 6 multiplications; rows before the first that is
 * not as it was in the last fit cost nearly nothing. */
void mmt_surrogate_fit(struct mmt_surrogate *surrogate, const float *x, const double *y,
                       int count);

/* The expected value at a point, which is cheap, and what the standard deviation does not
 * exceed there. */
void mmt_surrogate_guess(const struct mmt_surrogate *surrogate, const float *x,
                         double *mean, double *most_deviation);

/* The expected value at a point and its standard deviation. */
void mmt_surrogate_predict(const struct mmt_surrogate *surrogate, const float *x,
                           double *mean, double *deviation);

#endif
