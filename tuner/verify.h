/* Whether a candidate computes what it should. It is run through the public API, as a
 * program that links the library would run it. docs/measuring.md says why each check is
 * there. */
#ifndef MMT_TUNER_VERIFY_H
#define MMT_TUNER_VERIFY_H

#include "tuner/session.h"

/* The checks, in the order in which a candidate meets them:
 *
 *   integers    whole numbers whose sums are exact, at a shape that tiles divide
 *   guard       nothing was written outside C, A and B are as they were (with every
 * check) poison      beta = 0 while C holds NaN beta alpha  C = A B - C; C = 2 A B alpha
 * zero  C = 2 C while A and B hold NaN offset      the three matrices start one element
 * off any alignment edges       sizes that no tile divides, alpha and beta at once gaps
 * the same, with NaN behind each row of A and B random      non-symmetric random data,
 * held to the forward error bound thin        one row; one column short k     k = 3, 1
 * and 0 batch       three matrices with strides, of which B is shared in a second run
 *   shape       at the session's own shape: whole numbers, every entry taken part in a
 *               random sum over its row that must be exact (Freivalds)
 *   samples     at that shape, on the data that are timed: 64 random entries and the
 * corners
 */
struct mmt_verdict {
    bool right;
    char check[32];   /* the check that the candidate failed; "" where right */
    char reason[256]; /* what was found and what would have been right */
};

/* Fills *out and returns MMT_OK, also for a wrong kernel. An error says that the
 * candidate could not be judged: it does not build, does not serve this problem, or the
 * device failed. */
mmt_status mmt_verify_candidate(struct mmt_session *session,
                                const struct mmt_config *config, struct mmt_verdict *out,
                                mmt_error *err);

#endif
