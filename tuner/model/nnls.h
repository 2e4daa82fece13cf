/* Least squares with unknowns that may not be negative. */
#ifndef MMT_TUNER_MODEL_NNLS_H
#define MMT_TUNER_MODEL_NNLS_H

enum { MMT_NNLS_MAX = 20 };

/* The sums that a least-squares problem comes down to: of x x' and of x y over its rows.
 * Starts as {0}. */
struct mmt_nnls {
    double xx[MMT_NNLS_MAX][MMT_NNLS_MAX], xy[MMT_NNLS_MAX];
};

/* Adds the row x · p = y with a weight. */
void mmt_nnls_add(struct mmt_nnls *sums, const double x[MMT_NNLS_MAX], double y,
                  double weight);

/* The p >= 0 with the least weighted sum of (x · p - y)^2. What no row speaks of is 0. */
void mmt_nnls_solve(const struct mmt_nnls *sums, double p[MMT_NNLS_MAX]);

#endif
