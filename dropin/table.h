/* A table of calls from within: calls.c looks up and counts, keeper.c fills it and writes
 * down what was counted. */
#ifndef MMT_DROPIN_TABLE_H
#define MMT_DROPIN_TABLE_H

#include <semaphore.h>
#include <stdatomic.h>

#include "dropin/calls.h"

/* Kinds of calls, and entries of the index that finds their slots, a power of 2: at most
 * a quarter of them is taken, so that a look-up, also of a kind that has no slot since
 * there are too many, ends at a free one within a few steps. It gives up after so many
 * probes. */
enum {
    MMT_MOST_SLOTS = 16384,
    MMT_INDEX_SIZE = 4 * MMT_MOST_SLOTS,
    MMT_MOST_PROBES = 64,
    MMT_MOST_PASSED = 32
};

/* An entry of the index: 0 while it is free, else, for ever, the number of a slot from 1
 * in the low bits and the hash of its call in the others. Two threads that meet one kind
 * at once may both fill a slot; that of the second stays out of the index, unused. */
enum { MMT_NUMBER_BITS = 15 };
_Static_assert(MMT_MOST_SLOTS < 1 << MMT_NUMBER_BITS, "each slot has a number");

struct mmt_slot {
    atomic_bool used;     /* the index has it */
    struct mmt_call call; /* constant from here to `label`, once the index or the plan
                           * tells */
    struct mmt_calls *calls;
    double saves; /* seconds that a call saves that ours computes; with the plan */
    char *label;  /* with the plan; malloc'ed */
    _Atomic(const mmt_plan *) plan;
    atomic_int fate; /* of its calls while there is no plan */
    atomic_int timings, checks;
    atomic_size_t least, most; /* as mmt_call's of workspaces, of calls whose workspace
                                * is another than `call` has; 0: there were none */
    atomic_llong fates[MMT_NUM_FATES];
    atomic_llong timed, picoseconds;
    struct {
        long long fates[MMT_NUM_FATES], timed, picoseconds;
        bool named; /* on standard error */
    } told;         /* what the keeper has written down */
};

/* Calls with a feature that we have not. */
struct mmt_passed {
    _Atomic(const char *) what;
    atomic_llong count;
};

struct mmt_calls {
    char name[32], library[48], path[256];
    struct mmt_calls_options options;
    _Atomic uint64_t *index; /* MMT_INDEX_SIZE entries */
    struct mmt_slot *slots;  /* MMT_MOST_SLOTS of them */
    atomic_int num_slots;    /* that are given away; may be above MMT_MOST_SLOTS */
    struct mmt_passed passed[MMT_MOST_PASSED];
    atomic_llong unseen; /* calls that found no slot */
    _Atomic(mmt_device *) device;
    atomic_bool ready;  /* all plans are made */
    atomic_bool silent; /* a child of the process that began: serves nothing */
    atomic_bool stopping;
    sem_t wake, done;          /* the keeper's: to look again; has ended */
    struct mmt_text recording; /* the path; "" until the device is open */
};

/* Opens the device, in the keeper's thread or ahead of it; NULL, and all calls pass,
 * where it cannot be opened. */
mmt_device *mmt_keeper_open(struct mmt_calls *calls);

/* Has the process stop the keepers as its end begins, before what has registered itself
 * for the end by now. */
void mmt_calls_watch_exit(void);

/* The keeper's thread; its argument is the struct mmt_calls. */
void *mmt_keeper_run(void *calls);

#endif
