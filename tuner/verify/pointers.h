/* Arrays of pointers to the matrices of a batch, where a problem's is by pointers: those
 * of a trial in another order than the matrices, those of what is timed in theirs. */
#ifndef MMT_TUNER_VERIFY_POINTERS_H
#define MMT_TUNER_VERIFY_POINTERS_H

#include <stdbool.h>

#include "device/device.h"

struct mmt_session;

/* Replaces A, B and C by arrays of pointers to their matrices, for one execution: all
 * three in one order. CUDA's operands alone have addresses. */
mmt_status mmt_session_point(struct mmt_session *session, const mmt_problem *problem,
                             mmt_args *args, mmt_error *err);

/* Makes arrays for all copies, whose matrices begin so many bytes behind those of the
 * session; mmt_session_timed_args has them, from then on until the next trial. */
mmt_status mmt_session_point_copies(struct mmt_session *session, size_t offset,
                                    size_t offset_c, mmt_error *err);

/* mmt_session_args for what is timed. */
mmt_args mmt_session_timed_args(const struct mmt_session *session, int64_t copy);

#endif
