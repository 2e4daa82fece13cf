/* The two-parameter method of conjugate gradients (Ustyuzhanin, Pitskhelauri, Nekrasov,
 * IRJ 2024 No. 143, doi 10.60797/IRJ.2024.143.115), on the device and on one core, and
 * Cramer's rule and elimination.
 *
 *     r_0 = A x_0 - b,   dx_1 = -(r_0, r_0) / (A r_0, r_0) r_0
 *     x_i = x_(i-1) + dx_i,   r_i = A x_i - b,   dx_(i+1) = alpha_i dx_i + beta_i r_i
 *     D = (A dx, dx) (A r, r) - (A r, dx)^2
 *     alpha = ((r, r) (A r, dx) - (r, dx) (A r, r)) / D
 *     beta  = ((r, dx) (A r, dx) - (r, r) (A dx, dx)) / D
 *
 * The paper divides by D without looking, which is 0 at the solution. Here the method
 * stops once |r| is at most `tolerance` times |b|, and says so where D vanishes before,
 * or where (A r, r) is not positive: then A is not positive definite. */
#ifndef MMT_STUDIES_CG_H
#define MMT_STUDIES_CG_H

#include "study.h"

/* A x = b with an n x n matrix; x starts anywhere and gets the solution. f64. */
struct mmt_cg_system {
    int64_t n;
    const double *a, *b;
    double *x;
};

enum mmt_cg_end {
    MMT_CG_SOLVED,
    MMT_CG_STALLED,      /* no further within the number of steps allowed */
    MMT_CG_BREAKDOWN,    /* D vanished before the solution was reached */
    MMT_CG_NOT_DEFINITE, /* (A r, r) <= 0 */
    MMT_CG_SINGULAR,     /* the direct methods: no pivot is left */
};

/* "solved", "stalled", … */
const char *mmt_cg_end_name(enum mmt_cg_end end);

struct mmt_cg_result {
    enum mmt_cg_end end;
    int steps;       /* updates of x */
    double residual; /* |A x - b| / |b| */
    double seconds;  /* the host's clock; on the device with copies of A and b */
};

/* MMT_ERROR_ARGUMENT, with where, unless A is symmetric and finite. */
mmt_status mmt_cg_check(const struct mmt_cg_system *system, mmt_error *err);

mmt_status mmt_cg_host(const struct mmt_cg_system *system, int most_steps,
                       double tolerance, struct mmt_cg_result *out, mmt_error *err);

/* A matrix-vector product for r, one product of two vectors with A for A r and A dx, and
 * all dot products in one launch, each step. */
mmt_status mmt_cg_device(const struct mmt_study_device *device,
                         const struct mmt_cg_system *system, int most_steps,
                         double tolerance, struct mmt_cg_result *out, mmt_error *err);

/* |A x - b| / |b|; `work` is a vector. */
double mmt_cg_residual(const struct mmt_cg_system *system, double *work);

/* ---- cg_direct.c: MMT_CG_SINGULAR where a determinant vanishes --------------------- */

/* Cramer's rule, n + 1 determinants by elimination: 2/3 n^4 operations. */
mmt_status mmt_cg_cramer(const struct mmt_cg_system *system, struct mmt_cg_result *out,
                         mmt_error *err);

/* Elimination itself, with row exchanges: 2/3 n^3. */
mmt_status mmt_cg_eliminate(const struct mmt_cg_system *system, struct mmt_cg_result *out,
                            mmt_error *err);

/* ---- cg_sums.c ------------------------------------------------------------------- */

/* The sum of two matrices of order n, seconds; n = 0: none was timed. */
struct mmt_cg_sum {
    int64_t n;
    double core, computing, allocating;
};

/* Times sums of these orders, shows and draws them; an order that no memory holds is left
 * out in words. `largest` is the last that was timed. */
mmt_status mmt_cg_sums(const struct mmt_study_options *options,
                       const struct mmt_study_device *device, const int64_t *sizes,
                       int count, struct mmt_cg_sum *largest, mmt_error *err);

/* The product of two matrices of order n by one thread for each element, computing alone,
 * and on one core, seconds; n = 0: it was not timed. */
struct mmt_cg_product {
    int64_t n;
    double core, computing;
};

/* Of the orders the greatest, to 1024, that one core multiplies within --cpu-seconds. */
mmt_status mmt_cg_multiply(const struct mmt_study_options *options,
                           const struct mmt_study_device *device, const int64_t *sizes,
                           int count, struct mmt_cg_product *out, mmt_error *err);

/* ---- cg_claims.c ----------------------------------------------------------------- */

/* What came of all orders. Seconds; 0 of an order: there is none. */
struct mmt_cg_findings {
    double tolerance;      /* 0: n - 1 steps were made */
    double residual;       /* the greatest of the iterations, orders above 1 */
    int64_t most_steps_at; /* the order with the most steps for an unknown */
    int most_steps;
    int64_t all_at; /* the greatest order that the next three were all timed at */
    double device, core, cramer;
    int64_t eliminated; /* the greatest order of elimination, and what came of it */
    double elimination, elimination_error;
};

/* Shows the paper's greatest orders, 1482880 and 40960, beside today's. */
mmt_status mmt_cg_limits(const struct mmt_study_options *options,
                         const struct mmt_study_device *device, mmt_error *err);

/* Shows what the paper claims beside what was found. */
mmt_status mmt_cg_claims(const struct mmt_study_options *options,
                         const struct mmt_study_device *device,
                         const struct mmt_cg_sum *sum,
                         const struct mmt_cg_product *product,
                         const struct mmt_cg_findings *found, mmt_error *err);

#endif
