/* Which small problems each operation is tried on. Inside trials*.c. */
#ifndef MMT_TUNER_TRIALS_ROWS_H
#define MMT_TUNER_TRIALS_ROWS_H

#include "base/problem.h"

/* How a trial differs from a plain one: whole numbers; NaN wherever A and B end; in C,
 * what beta needs, or numbers that must vanish. */
enum {
    MMT_TRIAL_RANDOM = 1 << 0,    /* of any size, held to the error bound */
    MMT_TRIAL_POISON = 1 << 1,    /* C is NaN */
    MMT_TRIAL_NO_A = 1 << 2,      /* A is NaN */
    MMT_TRIAL_NO_B = 1 << 3,      /* B is NaN */
    MMT_TRIAL_ZERO_GAPS = 1 << 4, /* 0, not NaN, wherever A and B end */
    MMT_TRIAL_OFFSET = 1 << 5,
    MMT_TRIAL_SCALARS = 1 << 6,
    MMT_TRIAL_IN_PLACE = 1 << 7, /* B is C */
};

/* Rows have gaps of `gap` elements between them, and so have matrices of a batch. */
struct mmt_trial_shape {
    int64_t m, n, k, gap, batch;
    bool shared_b;
};

struct mmt_trial_row {
    const char *check;
    struct mmt_trial_shape shape;
    double alpha, beta;
    int flags;
};

/* Those of one problem stand one after another. */
const struct mmt_trial_row *mmt_trial_rows(mmt_op op, int *count);

#endif
