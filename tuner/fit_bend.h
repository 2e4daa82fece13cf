/* What the samples of a kernel still lie beside its law, along each of m, n and k: the
 * second half of fitting a cost (fit.h). */
#ifndef MMT_TUNER_FIT_BEND_H
#define MMT_TUNER_FIT_BEND_H

#include "runtime/cost.h"

struct mmt_fit_point {
    struct mmt_load load;
    double seconds, weight;
};

/* Fills in the bends of a cost whose law is fitted, and its residual. A bend is drawn
 * towards 0 as strongly as a sample draws it away, and its points towards each other: so
 * it stays flat where samples are few, or disagree. */
void mmt_fit_bend(const struct mmt_fit_point *points, int count, struct mmt_cost *cost);

#endif
