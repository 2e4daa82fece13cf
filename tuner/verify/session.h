/* One problem on one device: what verifying and timing keep between candidates. A worker
 * makes a session for each problem, and verifies and times all candidates in it.
 *
 * Making one costs tenths of a second for large matrices (inputs are made, their answers
 * computed) and device memory for the inputs twice, C once, and further copies until what
 * timing rotates through is twice the last-level cache. Not thread-safe. */
#ifndef MMT_TUNER_VERIFY_SESSION_H
#define MMT_TUNER_VERIFY_SESSION_H

#include "device/device.h"
#include "generator/generator.h"

struct mmt_session;

/* The problem may have defaults (zeros) in it; an empty one (m, n or batch 0) is refused,
 * and so is a device that executes nothing. The same seed gives the same data. */
struct mmt_session *mmt_session_create(mmt_device *device, const mmt_problem *problem,
                                       uint64_t seed, mmt_error *err);

/* The same with random operands and nothing else: to time at another shape what was found
 * right before. It cannot verify. */
struct mmt_session *mmt_session_create_bare(mmt_device *device,
                                            const mmt_problem *problem, uint64_t seed,
                                            mmt_error *err);

/* The same as `session`, which is freed, for another problem: of the same kind, device
 * memory and small problems serve again, which saves most of what making one costs.
 * Operands are not written anew: a kernel that wrote into them leaves that behind. */
struct mmt_session *mmt_session_follow(struct mmt_session *session,
                                       const mmt_problem *problem, mmt_error *err);

/* Frees the session; NULL is allowed. */
void mmt_session_free(struct mmt_session *session);

/* What was asked for, normalised. */
const mmt_problem *mmt_session_problem(const struct mmt_session *session);

/* Tells how long the work took that was queued between start and stop; `read` waits for
 * it. What the host does between stop and read is not timed. The device's own marks
 * unless another is set, for tests. */
struct mmt_clock {
    mmt_status (*start)(void *self, mmt_queue queue, mmt_error *err);
    mmt_status (*stop)(void *self, mmt_queue queue, mmt_error *err);
    mmt_status (*read)(void *self, double *seconds, mmt_error *err);
    void *self;
};

void mmt_session_set_clock(struct mmt_session *session, struct mmt_clock clock);

#endif
