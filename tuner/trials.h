/* Small problems with known answers, between guard bands: what a candidate is tried on
 * before it may touch the real shape. Made once for all that a problem says but its
 * shape. */
#ifndef MMT_TUNER_TRIALS_H
#define MMT_TUNER_TRIALS_H

#include "tuner/oracle.h"

enum { MMT_TRIAL_GUARD = 64 * 1024 }; /* bytes before and after each matrix */

/* An operand as it is copied to the device: guard, matrix, guard. */
struct mmt_image {
    unsigned char *bytes;
    size_t size;
    size_t start; /* where the matrix begins */
    size_t end;   /* one past its last byte */
};

struct mmt_trial {
    const char *check;   /* the name it has in verify.h */
    mmt_problem problem; /* normalised */
    double alpha, beta;
    bool scalars;                   /* alpha and beta are handed over in device memory */
    bool offset;                    /* the matrices start one element off any alignment */
    bool in_place;                  /* B is C */
    struct mmt_image a, b, c, bias; /* bias: nothing between the guards without one */
    struct mmt_answer *answers;     /* of all entries of C, as it is stored */
};

/* Problems like that one, but of other shapes. *out is the caller's. Trials of one
 * problem stand one after another. */
mmt_status mmt_trials_create(const mmt_problem *like, uint64_t seed,
                             struct mmt_trial **out, int *count, mmt_error *err);
void mmt_trials_free(struct mmt_trial *trials, int count);

#endif
