/* What the checks share. Inside verify*.c. */
#ifndef MMT_TUNER_VERIFY_VERIFY_INTERNAL_H
#define MMT_TUNER_VERIFY_VERIFY_INTERNAL_H

#include "tuner/verify/session_internal.h"
#include "tuner/verify/verify.h"

/* Notes that the candidate failed a check, and why. The last failure of a trial stands:
 * what was written outside tells more than what is wrong inside. */
__attribute__((format(printf, 3, 4))) void mmt_judgement_reject(
    struct mmt_judgement *verdict, const char *check, const char *format, ...);

/* Adds to the reason what was tried: "; gemm f32 nn 261x133x70 lda=73, alpha 2, beta -1".
 * Only to a verdict that is not right. */
void mmt_judgement_tell(struct mmt_judgement *verdict, const struct mmt_trial *trial,
                        const mmt_problem *problem);

/* Where the first of `size` bytes stands that is not as it was; `size` where all are. */
size_t mmt_first_change(const unsigned char *now, const unsigned char *was, size_t size);

/* Executes once on the session's queue and waits. The problem says where matrices lie.
 * The workspace holds NaN before, as far as that costs little, and what is before and
 * behind it is looked at afterwards. */
mmt_status mmt_verify_run(struct mmt_session *session, const mmt_plan *plan,
                          const mmt_problem *problem, mmt_args *args,
                          struct mmt_judgement *verdict, mmt_error *err);

/* Alpha and beta as the trial hands them over. */
mmt_status mmt_trial_scalars(struct mmt_session *session, const struct mmt_trial *trial,
                             mmt_args *args, mmt_error *err);

/* Runs a trial with a plan for its problem, operands between guard bands, or where the
 * row asks, at the edge of pages; there each begins at a multiple of `align` bytes. */
mmt_status mmt_trial_run(struct mmt_session *session, const mmt_plan *plan,
                         const struct mmt_trial *trial, size_t align,
                         struct mmt_judgement *verdict, mmt_error *err);

/* Runs a trial at the problem `far`, which has its sizes and other leading dimensions and
 * strides: rows that begin beyond 2^31 elements, and nothing between them. Counts it as
 * skipped where the device has no memory for that. */
mmt_status mmt_far_run(struct mmt_session *session, const mmt_plan *plan,
                       const mmt_problem *far, const struct mmt_trial *trial,
                       struct mmt_judgement *verdict, mmt_error *err);

/* Whether the device uses host memory in place. */
bool mmt_session_in_place(struct mmt_session *session);

#endif
