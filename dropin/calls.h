/* Calls under a program: what each kind of call of one device is served by, and counted.
 *
 * mmt_calls_start begins a thread, the keeper. It opens the device, reads its profile and
 * plans every call that has a verdict for ours, in the profile's order: first those whose
 * kernels are compiled. Until a plan is ready its calls pass.
 * What is counted is in memory that outlives the process (recording/counts.h).
 *
 * The call path never locks, allocates, loads or compiles: a look-up in a fixed index of
 * atomic words, and mmt_execute.
 *
 * The process ends as it would without them: before anything else of its end runs, the
 * keeper has left the driver, and products of ours are done. From then on calls pass.
 *
 * fork: a child of a process that had begun to serve has no keeper. There every call
 * passes, and is counted. */
#ifndef MMT_DROPIN_CALLS_H
#define MMT_DROPIN_CALLS_H

#include "recording/recording.h"

#include <mmtune/mmtune.h>

struct mmt_calls;

/* What a client of this table does in the keeper's thread, which has the device open and
 * disturbs no capture of a stream. All may be NULL. */
struct mmt_calls_work {
    /* Once, before any plan is made. `workspace`: the most that a plan needs whose caller
     * gives its library none, in bytes. */
    void (*prepare)(void *context, mmt_device *device, size_t workspace);
    /* Each second, ten times as often while calls are recorded, and a last time when the
     * process ends. */
    void (*tick)(void *context);
    /* When the process ends, in the thread that ends it, when no call finds a plan any
     * more: waits for the products of ours that are on their way. */
    void (*end)(void *context);
    void *context;
};

/* How this process is served; from the environment that `mmtune run` sets. */
struct mmt_calls_options {
    bool record;           /* count and time, take nothing over */
    mmt_f32_mode f32_mode; /* of f32: MMT_F32_STRICT unless the user asked */
    bool check;            /* compute the first calls of each kind by both, and compare */
    bool verbose;          /* name the kernel of each kind once, on standard error */
    bool ranges;           /* an NVTX range around each call that is taken over */
    size_t workspace;      /* bytes that all workspaces of ours take together */
    bool all;              /* plan each kind on first sight, without a verdict */
    bool waits;            /* `wait` was given */
    double wait;           /* seconds that a handle or a first product waits for plans */
    char run[48];          /* what lines of the recording are marked with */
    bool awaited; /* `mmtune run` adds up what is counted, when the process has ended */
    struct mmt_calls_work work; /* none, unless the client sets it */
};
void mmt_calls_read_options(struct mmt_calls_options *options);

/* Names the first device of OpenCL that is the host's own processor. */
#define MMT_CALLS_CPU "cpu"

/* What is served. */
struct mmt_calls_of {
    const char *device;  /* "cuda:0" in this process's numbers, or MMT_CALLS_CPU */
    const char *stem;    /* mmt_profile_stem of it. NULL: the device is opened before
                          * mmt_calls_start returns; a driver that is loaded while the
                          * process ends, as PoCL, would crash it */
    const char *library; /* "cuBLAS 13.1.0" */
    const char *path;    /* of its file */
};

/* Begins to serve one device. Never fails: what goes wrong is told once on standard error
 * where `verbose`, and all calls pass. NULL where memory is exhausted. */
struct mmt_calls *mmt_calls_start(const struct mmt_calls_of *of,
                                  const struct mmt_calls_options *options);

/* As they were given; constant. */
const struct mmt_calls_options *mmt_calls_options(const struct mmt_calls *calls);

/* The device, once the keeper has opened it; else NULL. */
mmt_device *mmt_calls_device(const struct mmt_calls *calls);

/* A kind of call: found or, on first sight, made. `call` is normalised. NULL where the
 * table is full: then the call passes. */
struct mmt_slot;
struct mmt_slot *mmt_calls_slot(struct mmt_calls *calls, const struct mmt_call *call);

/* The plan that serves, or NULL and why not. It assumes operands at multiples of as many
 * bytes as the call says, and lives as long as the process. */
const mmt_plan *mmt_slot_plan(const struct mmt_slot *slot, enum mmt_fate *fate);

/* The same where each kind is planned on first sight (options.all): waits for the keeper,
 * which may compile. */
const mmt_plan *mmt_slot_await_plan(const struct mmt_slot *slot, enum mmt_fate *fate);

/* What the slot is for, and one line on the kernel of its plan; "" where it has none. */
const struct mmt_call *mmt_slot_call(const struct mmt_slot *slot);
const char *mmt_slot_label(const struct mmt_slot *slot);

/* Counts one call. */
void mmt_slot_count(struct mmt_slot *slot, enum mmt_fate fate);

/* Whether this call is one of the first of its kind, whose time, or whose result by both
 * libraries, is asked for: its number from 1, which is given away once; else 0. The very
 * first is not timed: it loads the library's kernel. */
enum { MMT_TIMED_CALLS = 10, MMT_CHECKED_CALLS = 3 };
int mmt_slot_take_timing(struct mmt_slot *slot);
int mmt_slot_take_check(struct mmt_slot *slot);

/* Adds the time of one call of the library, in seconds. */
void mmt_slot_time(struct mmt_slot *slot, double seconds);

/* The device was at no product of the thread for so long before a call, in seconds: the
 * least counts, as a program's first calls have much besides. */
void mmt_slot_gap(struct mmt_slot *slot, double seconds);

/* Counts a call that has a feature that we have not: `what`, a string literal. */
void mmt_calls_pass(struct mmt_calls *calls, const char *what);

/* Waits until all plans are made, `seconds` at most; whether they are. */
bool mmt_calls_wait(struct mmt_calls *calls, double seconds);

/* The first who asks waits until what was compiled before is loaded, 0.2 s at most. */
void mmt_calls_wait_warm(struct mmt_calls *calls);

#endif
