/* Callers: other libraries, called as a program calls them, beside ours. Workers alone
 * open them, since a library that crashes takes its process along.
 *
 * A client of base/call.h that can be served has one row here (caller.c). */
#ifndef MMT_TUNER_BENCH_CALLER_H
#define MMT_TUNER_BENCH_CALLER_H

#include "base/call.h"
#include "profiles/profile.h"
#include "tuner/verify/session.h"

/* The ways in which a program may have made one call: cublasSgemm and cublasGemmEx. */
enum { MMT_MOST_CALLED_WAYS = 2 };

struct mmt_caller {
    enum mmt_client client;
    const char *title; /* as sentences have it, "cuBLAS" */

    /* Opens the library for a device: the file that the program has, `path`; where that
     * is
     * "" or does not open, the one that the loader finds, and then `note` says why. A
     * process opens the file of one program alone: others need one of their own. An error
     * tells people what is missing. */
    mmt_status (*open)(mmt_device *device, const char *path, void **out, char note[256],
                       mmt_error *err);

    /* Its name and version, as recordings have it. */
    void (*version)(void *self, char out[48]);

    /* Bytes of workspace that the call leaves to ours: of several the least, while the
     * library has the most. */
    size_t (*workspace)(const struct mmt_call *call);

    /* Gets ready for calls on a session's problem; *ways is how many there are.
     * MMT_ERROR_UNSUPPORTED where the library does not compute it. */
    mmt_status (*prepare)(void *self, struct mmt_session *session,
                          const struct mmt_call *call, int *ways, mmt_error *err);

    /* Frees what the last prepare made, also where it failed; the session ends next. */
    void (*forget)(void *self);

    /* Puts one call on the session's queue. */
    mmt_status (*queue)(void *self, int way, const mmt_args *args, mmt_queue queue,
                        mmt_error *err);

    /* In place of `queue`, for a library whose callers have matrices in host memory:
     * makes `count` calls, by ours with that plan where way is -1; *seconds is for all of
     * them, by the host's clock, copies included. */
    mmt_status (*run)(void *self, int way, const mmt_plan *plan, int64_t count,
                      double *seconds, mmt_error *err);

    void (*close)(void *self);
};

/* Bytes of workspace that the calls of a kind leave to ours: what each has. Kernels that
 * emulate f32 may take what some of them have, and leave the others to the library: they
 * need more than usual. */
size_t mmt_caller_room(const struct mmt_caller *caller, const struct mmt_call *call,
                       bool emulates);

/* NULL where nobody calls a client's library here. */
const struct mmt_caller *mmt_caller_of(enum mmt_client client);

extern const struct mmt_caller mmt_caller_cublas, mmt_caller_cublaslt, mmt_caller_blas;

/* ---- a verdict's times (verdict.c) ----------------------------------------------- */

/* Of one call: medians in seconds, and what the device draws. */
struct mmt_called_times {
    struct mmt_timing ours;
    struct mmt_timing theirs;        /* of the library's fastest way */
    double our_joules, their_joules; /* 0: not told */
};

/* Seconds that telling energy may take, where a call takes far less. */
#define MMT_ENERGY_SECONDS 3

/* Times ours, of that configuration, and the library's ways on a call, in turn, on the
 * session's rotated operands: 15 samples of each in about `seconds`, 5 where it is clear
 * whether ours is faster by the margin, 30 where it is close. With CUDA a sample is one
 * launch of a graph that has captured the calls; where a call cannot be captured, or
 * there are no graphs, they are queued without gap. So what the host takes to call either
 * is left out. Where ours is faster by the margin, but less than 1.1 times, and throttles
 * the device, each runs by itself for half a second: then the medians are of that.
 * With `energy`, on a device that tells it, so does each where both are as fast,
 * throttled or not; then for 1.3 seconds, and the joules are of that. */
mmt_status mmt_caller_measure(const struct mmt_caller *caller, void *self,
                              struct mmt_session *session, const struct mmt_call *call,
                              const struct mmt_config *config, double seconds,
                              bool energy, struct mmt_called_times *out, mmt_error *err);

#endif
