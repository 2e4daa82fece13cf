/* Whether a candidate computes what it should. It is run through the public API, as a
 * program that links the library would run it. docs/lab/measuring.md says why each check
 * is there. */
#ifndef MMT_TUNER_VERIFY_VERIFY_H
#define MMT_TUNER_VERIFY_VERIFY_H

#include "tuner/verify/session.h"

/* The checks, in the order in which a candidate meets them. Each runs on a shape of its
 * table (trials_rows.c), which is changed until the configuration serves it; one for
 * which no shape is served fails. Those with a star are for the whole pass alone.
 *
 *   integers    whole numbers whose sums are exact, at a shape that tiles divide
 *   guard       with every check: nothing was written but C, nothing before or behind the
 *               workspace, which holds NaN
 *   poison      C holds NaN where it must not be read
 *   beta        C = A B - C
 *   alpha       C = 2 A B
 *   alpha zero  C = 2 C while A and B hold NaN; of arrays, C = 2 B
 *   beta zero   of arrays and grids, while B holds NaN
 *   scalars     alpha and beta stand in device memory
 *   in place    arrays of which B is C
 *   offset      all operands start one element off any alignment, where the configuration
 *               has a specialisation for that
 *   edges       sizes that no tile divides, alpha and beta at once
 *   gaps        the same, with NaN behind each row of A and B
 *   vectors     rows that begin at multiples of two elements alone, and of four
 *   random      random data, held to the error bound; of grids, to the bit
 *   thin        one row; one column; few of either, scaled, and off any alignment; grids
 *               with one element inside
 *   short k     k = 3, 1 and 0
 *   batch       three with strides, of which B is shared in a second run; * up to seven,
 *               of which A or both are shared, with scalars from the device
 *   remainders  a tile of the configuration less one, and one more; * every dimension
 *               with each of these and whole tiles, gaps from 1 to 129, aligned and not
 *   deep k      k over 4096 and over the longest stretch that a kernel takes at once;
 *               * aligned, with few rows or columns
 *   odd scalars *  -1.3 and 0.7, 1e-7, 2^-120, NaN and infinities, of whole types beyond
 *               2^16, from the host and the device
 *   thin *      one side beyond 2^16
 *   exponents * over the whole range of the type, subnormal numbers too
 *   special values *  NaN, infinities, 1e30 and subnormal numbers within A, B and C
 *   page edge * operands that begin or end at memory that cannot be touched, where the
 *               device uses the host's
 *   far *       rows and matrices that begin beyond 2^31 elements, where there is memory
 *   many tiles *  more than 32 along m or n
 *   rounding *  results in the middle between two numbers of C, and where these end
 *   drawn *     trials whose shape, scalars, numbers and places the seed draws
 *   shape       at the session's own shape: whole numbers. Of a product, every entry
 *               takes part in a random sum over its row that must be exact
 *               (Freivalds); of other ops, every entry is compared
 *   samples     there, on the data that are timed: 64 random entries, the corners
 *
 * The whole pass may end with some of these for each output, bias and activation. */
struct mmt_judgement {
    bool right;
    int checks;       /* trials that ran */
    int skipped;      /* and that the device has no memory for */
    char skip[256];   /* why the last of these was; "" */
    char check[32];   /* the check that the candidate failed; "" where right */
    char reason[256]; /* what was found and what would have been right */
};

/* How much is checked. */
enum mmt_pass {
    MMT_PASS_FIRST, /* a few, none at the session's own shape: enough that a candidate may
                     * be timed without harm to the session's memory */
    MMT_PASS_QUICK,
    MMT_PASS_WHOLE,     /* for a kernel that will serve problems that were not timed */
    MMT_PASS_EPILOGUES, /* also those of each output, bias and activation, of which each
                         * compiles two sources */
};

/* Fills *out and returns MMT_OK, also for a wrong kernel. An error, which is not NULL,
 * says that the candidate could not be judged: it does not build, does not serve this
 * problem, or the device failed. */
mmt_status mmt_verify(struct mmt_session *session, const struct mmt_config *config,
                      enum mmt_pass pass, struct mmt_judgement *out, mmt_error *err);

#endif
