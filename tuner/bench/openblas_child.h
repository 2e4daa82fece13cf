/* OpenBLAS in a process of its own, `mmtune --openblas`, for two reasons: it reads its
 * core type from the environment when it is loaded, and its idle threads spin, which
 * would slow down what is measured beside it. The child is blocked in a read, and its
 * threads asleep, whenever it is not asked to compute.
 *
 * Both ends are the same program, so that requests and replies are plain structs. */
#ifndef MMT_TUNER_BENCH_OPENBLAS_CHILD_H
#define MMT_TUNER_BENCH_OPENBLAS_CHILD_H

#include "base/problem.h"

struct mmt_openblas_request {
    enum {
        MMT_OPENBLAS_PROBE,   /* one product of a middling square of problem.type */
        MMT_OPENBLAS_PREPARE, /* followed by all copies of A, then of B */
        MMT_OPENBLAS_RUN,
        MMT_OPENBLAS_RESULT, /* the C of copy 0 follows the reply */
    } what;
    mmt_problem problem; /* normalised */
    int64_t copies;
    size_t pitch_a, pitch_b, pitch_c; /* bytes from one copy to the next */
    int64_t first, count;             /* of a run */
};

/* One comes unasked when the child is ready: text says which version and core type, and
 * how many threads. */
struct mmt_openblas_reply {
    mmt_status status;
    double seconds; /* of a run, or of one product of a probe */
    char core[32];
    char text[200];
};

/* The side of the square that is probed. */
enum { MMT_OPENBLAS_PROBE_SIDE = 1024 };

#endif
