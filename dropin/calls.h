/* Calls under a program: what each kind of call of one device is served by, and counted.
 *
 * mmt_calls_start begins a thread, the keeper. It opens the device, reads its profile and
 * plans every call that has a verdict for ours; then it writes counts to the device's
 * recording every few seconds, and once more when the process ends. Until a plan is ready
 * its calls pass.
 *
 * The call path never locks, allocates, loads or compiles: a look-up in a fixed table of
 * atomic slots, and mmt_execute. */
#ifndef MMT_DROPIN_CALLS_H
#define MMT_DROPIN_CALLS_H

#include "recording/recording.h"

#include <mmtune/mmtune.h>

/* How this process is served; from the environment that `mmtune run` sets. */
struct mmt_calls_options {
    bool record;           /* count and time, take nothing over */
    mmt_f32_mode f32_mode; /* of f32: MMT_F32_STRICT unless the user asked */
    bool check;            /* compute the first calls of each kind by both, and compare */
    bool verbose;          /* name the kernel of each kind once, on standard error */
    bool ranges;           /* an NVTX range around each call that is taken over */
    size_t workspace;      /* bytes that all workspaces of ours take together */
};
void mmt_calls_read_options(struct mmt_calls_options *options);

struct mmt_calls;

/* Begins to serve one device, whose library is named. `device` is opened by the keeper,
 * "cuda:0" in this process's numbers. Never fails: what goes wrong is told once on
 * standard error where `verbose`, and all calls pass. */
struct mmt_calls *mmt_calls_start(const char *device, const char *library,
                                  const char *path,
                                  const struct mmt_calls_options *options);

/* A kind of call: found or, on first sight, made. NULL where the table is full. */
struct mmt_slot;
struct mmt_slot *mmt_calls_slot(struct mmt_calls *calls, const struct mmt_call *call);

/* The plan that serves, or NULL and why not. */
const mmt_plan *mmt_slot_plan(const struct mmt_slot *slot, enum mmt_fate *fate);

/* Counts one call. */
void mmt_slot_count(struct mmt_slot *slot, enum mmt_fate fate);

/* Adds the time of one call of the library, in seconds. */
void mmt_slot_time(struct mmt_slot *slot, double seconds);

/* Counts a call that has a feature that we have not: `what`, a string literal. */
void mmt_calls_pass(struct mmt_calls *calls, const char *what);

/* Waits until all plans are made, `seconds` at most; whether they are. */
bool mmt_calls_wait(struct mmt_calls *calls, double seconds);

#endif
