/* Small problems with known answers, between guard bands: what a candidate is tried on
 * before it may touch the real shape. Rows of a table (trials_rows.h) say what is tried;
 * each becomes a problem that the configuration serves. */
#ifndef MMT_TUNER_VERIFY_TRIALS_H
#define MMT_TUNER_VERIFY_TRIALS_H

#include "generator/generator.h"
#include "tuner/verify/oracle.h"
#include "tuner/verify/trials_rows.h"

enum { MMT_TRIAL_GUARD = 64 * 1024 }; /* bytes before and after each matrix */

/* An operand as it is copied to the device: guard, matrix, guard. */
struct mmt_image {
    unsigned char *bytes;
    size_t size;
    size_t start; /* where the matrix begins */
    size_t end;   /* one past its last byte */
};

struct mmt_trial {
    const struct mmt_trial_row *row;
    mmt_problem problem; /* normalised */
    double alpha, beta;
    struct mmt_image a, b, c, bias; /* bias: nothing between the guards without one */
    struct mmt_answer *answers;     /* of all entries of C, as it is stored */
};

enum mmt_fit {
    MMT_FIT,      /* *out is a problem that the configuration serves */
    MMT_FIT_IDLE, /* nothing to check: the configuration has no such specialisation, or
                   * serves no batch of its own accord */
    MMT_FIT_NONE, /* no shape was found */
};

/* The row's shape for a configuration, of the kind of `like` (type, transposes, output,
 * bias, activation): the tiles are the configuration's, and where it refuses that shape
 * sides are cut, or raised, and gaps changed until it serves one. */
enum mmt_fit mmt_trial_fit(const struct mmt_trial_row *row,
                           const struct mmt_config *config, const mmt_problem *like,
                           const struct mmt_caps *caps, mmt_problem *out);

/* Whether the row says anything about problems of that kind. `in_place`: the device uses
 * the host's memory. */
bool mmt_trial_concerns(const struct mmt_trial_row *row, const mmt_problem *like,
                        bool in_place);

/* A problem of a row of MMT_TRIAL_FAR with its rows and matrices close together. */
mmt_problem mmt_trial_near(const mmt_problem *far);

/* Trials that were made, to be found again. Zero-initialised. */
struct mmt_trials {
    struct mmt_trial **each;
    int count;
    size_t bytes;
};

/* The trial of a row for a problem from mmt_trial_fit; it belongs to `trials` and stands
 * until the next call. NULL on failure. */
const struct mmt_trial *mmt_trials_get(struct mmt_trials *trials,
                                       const struct mmt_trial_row *row,
                                       const mmt_problem *problem, uint64_t seed,
                                       mmt_error *err);
void mmt_trials_free(struct mmt_trials *trials);

#endif
