/* How long a candidate takes. It is run through the public API, on random data, in
 * buffers that are rotated over at least twice the last-level cache. */
#ifndef MMT_TUNER_MEASURE_MEASURE_H
#define MMT_TUNER_MEASURE_MEASURE_H

#include "device/device.h"
#include "profiles/profile.h"
#include "tuner/verify/session.h"

/* How long a kernel runs isolated before a sample, and the sample takes, on a device at
 * its power limit: until then it runs at the clock that suited the kernel before. An H100
 * needs 30 to 100 ms (docs/lab/2026-11.md). */
#define MMT_ISOLATED_SECONDS 0.1

/* Start from {0}: every 0 is "unknown" or "the usual". */
struct mmt_measure_limits {
    double best_seconds;   /* of the best so far: what is far slower is sampled less */
    double best_mhz;       /* the device's clock while that was timed */
    double budget_seconds; /* for one candidate, host time; usual: 1 */
    double precision;      /* wanted half-width of the median's 95 % confidence interval,
                            * as a part of the median; usual: 0.01 */
    double warm_seconds;   /* executions before the first sample; usual: 5e-3 */
    double batch_seconds;  /* executions of a sample; usual: 1e-3 */
    double heat_seconds;   /* a group runs so long in turn before its first samples: a
                            * device at its power limit runs slower than a cool one, and
                            * other kernels win there; usual: 0 */
    double
        isolated_seconds; /* before each of its samples one runs isolated so long, and a
                           * sample takes as long again: MMT_ISOLATED_SECONDS; usual: 0 */
};

/* How a candidate was timed, and how the device fared meanwhile. */
struct mmt_measured {
    struct mmt_timing time;
    struct mmt_health health; /* all 0 where the platform does not tell */
};

/* Times one candidate. A candidate that is more than 2.5 times slower than the best gets
 * three samples, one that is surely slower no more than tell so. One
 * that was timed while the device was throttled, and that might win at the best's
 * clock, is timed again after a rest: the second time counts where it was not
 * throttled, or where it is the better one. */
mmt_status mmt_measure_candidate(struct mmt_session *session,
                                 const struct mmt_config *config,
                                 const struct mmt_measure_limits *limits,
                                 struct mmt_measured *out, mmt_error *err);

/* Times finalists against each other: one sample of each in turn, so that a change of the
 * clock meets all alike. Nobody is dropped; the budget is for each. */
mmt_status mmt_measure_group(struct mmt_session *session,
                             const struct mmt_config *configs, int count,
                             const struct mmt_measure_limits *limits,
                             struct mmt_measured *out, mmt_error *err);

#endif
