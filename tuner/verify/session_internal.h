/* What a session is made of: for session*.c, verify*.c and measure.c. */
#ifndef MMT_TUNER_VERIFY_SESSION_INTERNAL_H
#define MMT_TUNER_VERIFY_SESSION_INTERNAL_H

#include "tuner/verify/data.h"
#include "tuner/verify/oracle.h"
#include "tuner/verify/session.h"
#include "tuner/verify/trials.h"

/* Copies of one operand, `pitch` bytes from one to the next, the first at `first`; its
 * memory has room for `size` bytes. */
struct mmt_copies {
    mmt_operand memory;
    size_t first, pitch, size;
};

/* Device memory that grows as it is needed; what is in it is lost then. */
struct mmt_growing {
    mmt_operand memory;
    size_t size;
};

/* One entry of C whose answer is known. */
struct mmt_sample {
    int64_t batch, i, j;
    struct mmt_answer answer;
};

enum {
    MMT_DRAWN = 24,         /* trials of a whole verification */
    MMT_DRAWN_EPILOGUE = 3, /* and more with each epilogue */
    MMT_DRAWS = MMT_DRAWN + MMT_NUM_ACTIVATIONS * MMT_DRAWN_EPILOGUE,
    MMT_SHAPE_GUARD = 4096, /* bytes before and after the C that shape checks look at */
    MMT_RANDOM_SAMPLES = 64,
    MMT_MAX_SAMPLES = MMT_RANDOM_SAMPLES + 8,
};

struct mmt_session {
    mmt_device *device;
    mmt_problem problem;
    uint64_t seed;
    bool bare; /* no answers are known: it only times */
    mmt_queue queue;
    struct mmt_mark *from, *to;
    struct mmt_clock clock;
    struct mmt_growing workspace; /* grows to what the hungriest candidate asks */
    struct mmt_growing arrays;    /* of pointers (pointers.h) */

    /* Random operands, rotated through while timing. */
    struct mmt_copies a, b, c;
    int copies;
    int64_t next; /* copy to be used: whatever is timed goes on where the last ended, and
                   * finds nothing in a cache that another has just read */
    mmt_operand bias; /* one for all copies; 0: the problem has none */

    /* Answers on the first copy. */
    struct mmt_sample samples[MMT_MAX_SAMPLES];
    int num_samples;

    /* Whole numbers at the session's shape, and what each row of C must sum up to; for
     * ops that are no products, all of C with its guards. */
    int whole;    /* their largest size; 0: k is too long for sums to be exact */
    double zeros; /* part of them that is made 0, so that sums stay small */
    mmt_operand whole_a, whole_b, whole_bias;
    uint64_t *weights; /* n of them */
    uint64_t *sums;    /* of each row of C, batch by batch */
    unsigned char *expected;
    unsigned char *back; /* C with its guards, as it was read back */
    size_t back_size;

    /* Small problems with known answers. */
    struct mmt_trials trials;
    struct mmt_trial_row drawn[MMT_DRAWS]; /* made when they are run first */
    struct mmt_growing small_a, small_b, small_c, small_bias;
    mmt_operand scalars;
    unsigned char *small_back; /* one operand as it was read back */
    size_t small_back_size;
    int in_place; /* whether the device uses host memory in place: 1, -1; 0: not tried */
};

/* Data at the session's shape and all that is known about it (session_shape.c). */
mmt_status mmt_session_make_shape(struct mmt_session *session, mmt_error *err);

/* Makes room for a plan's workspace. */
mmt_status mmt_session_workspace(struct mmt_session *session, size_t bytes,
                                 mmt_operand *out, mmt_error *err);

/* A plan for a configuration; `offset` says that operands may start anywhere. */
mmt_plan *mmt_session_plan(struct mmt_session *session, const struct mmt_config *config,
                           const mmt_problem *problem, bool offset, mmt_error *err);

/* Arguments of a plain execution on copy number `copy` modulo their number. */
mmt_args mmt_session_args(const struct mmt_session *session, int64_t copy);

/* Makes room for so many bytes. */
mmt_status mmt_session_grow(struct mmt_session *session, struct mmt_growing *buffer,
                            size_t bytes, mmt_error *err);

#endif
