/* Which small problems each operation is tried on. Inside trials*.c and verify*.c. */
#ifndef MMT_TUNER_VERIFY_TRIALS_ROWS_H
#define MMT_TUNER_VERIFY_TRIALS_ROWS_H

#include "base/problem.h"

/* How a trial differs from a plain one: whole numbers whose sums are exact; NaN wherever
 * A and B end; in C, what beta needs, or numbers that must vanish. */
enum {
    MMT_TRIAL_RANDOM = 1 << 0,    /* of any size, held to the error bound */
    MMT_TRIAL_POISON = 1 << 1,    /* C is NaN */
    MMT_TRIAL_NO_A = 1 << 2,      /* A is NaN */
    MMT_TRIAL_NO_B = 1 << 3,      /* B is NaN */
    MMT_TRIAL_ZERO_GAPS = 1 << 4, /* 0, not NaN, wherever A and B end */
    MMT_TRIAL_OFFSET = 1 << 5,    /* one element off any alignment */
    MMT_TRIAL_SCALARS = 1 << 6,   /* alpha and beta in device memory */
    MMT_TRIAL_IN_PLACE = 1 << 7,  /* B is C */
    MMT_TRIAL_QUICK = 1 << 8,     /* also of the quick pass */
    MMT_TRIAL_FIRST = 1 << 18,    /* of these, before a candidate is timed */
    MMT_TRIAL_EPILOGUE = 1 << 9,  /* also run with each output, bias and activation */
    MMT_TRIAL_RANGE = 1 << 10,    /* exponents over the type's range, subnormals too, most
                                   * elements 0; of whole types the least and the largest
                                   * number alone */
    MMT_TRIAL_SPECIAL = 1 << 11,  /* NaN and infinities within A, B and C; of whole types
                                   * the least and the largest number */
    MMT_TRIAL_PAGE_END = 1 << 12, /* each operand ends where a page ends that cannot be
                                   * touched beyond; CPU devices */
    MMT_TRIAL_PAGE_BEGIN = 1 << 13, /* each operand begins there */
    MMT_TRIAL_FAR_A = 1 << 14,      /* A's last row begins beyond 2^31 elements */
    MMT_TRIAL_FAR_B = 1 << 15,
    MMT_TRIAL_FAR_C = 1 << 16,
    MMT_TRIAL_FAR_BATCH = 1 << 17, /* so does every operand's last matrix */
    MMT_TRIAL_FAR =
        MMT_TRIAL_FAR_A | MMT_TRIAL_FAR_B | MMT_TRIAL_FAR_C | MMT_TRIAL_FAR_BATCH,
    MMT_TRIAL_NULL = 1 << 19,  /* operands that the host knows not to be read are null */
    MMT_TRIAL_TIES = 1 << 20,  /* alpha such that results lie between two numbers of C */
    MMT_TRIAL_LIMIT = 1 << 21, /* or just below where these end; k is 1, since a kernel
                                * may multiply parts of a sum by alpha; both of floats */
    MMT_TRIAL_EDGES = MMT_TRIAL_TIES | MMT_TRIAL_LIMIT,
    MMT_TRIAL_PAGES = MMT_TRIAL_PAGE_END | MMT_TRIAL_PAGE_BEGIN,
};

/* A dimension: so many tiles of the configuration (struct mmt_tile; a tile of less than 8
 * counts as its least multiple from 8 on), and `plus`. With `deep`, a multiple of the
 * longest stretch of k, from 4096 on, and `plus`. */
struct mmt_side {
    int tiles;
    bool deep;
    int64_t plus;
};

/* Between rows, and between matrices of a batch: so many elements in A, twice as many in
 * B and three times in C; or as many as make rows begin at multiples of 64 bytes, which
 * then are 64, 128 and 192 bytes apart at least. */
enum { MMT_GAP_ALIGNED = -1 };

/* Which operands have the gap. */
enum mmt_gapped { MMT_GAP_ALL, MMT_GAP_A, MMT_GAP_B, MMT_GAP_C };

enum mmt_shared { MMT_SHARED_NONE, MMT_SHARED_A, MMT_SHARED_B, MMT_SHARED_BOTH };

struct mmt_trial_shape {
    struct mmt_side m, n, k;
    int64_t gap, batch;
    enum mmt_shared shared; /* which operands a batch shares: stride 0 */
    enum mmt_gapped gapped;
};

struct mmt_trial_row {
    const char *check;
    struct mmt_trial_shape shape;
    double alpha, beta;
    int flags;
    int draw; /* its number, from 1, where it is drawn */
};

/* Those of one shape stand one after another. */
const struct mmt_trial_row *mmt_trial_rows(mmt_op op, int *count);

/* A trial whose shape, scalars, numbers and places are drawn: the same for the same seed
 * and number. */
struct mmt_trial_row mmt_trial_draw(mmt_op op, uint64_t seed, int number);

#endif
