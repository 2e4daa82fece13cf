/* A table of calls from within: calls.c looks up and counts, keeper.c fills it and writes
 * down what was counted. */
#ifndef MMT_DROPIN_TABLE_H
#define MMT_DROPIN_TABLE_H

#include <semaphore.h>
#include <stdatomic.h>

#include "dropin/calls.h"

/* Kinds of calls; a power of 2. A look-up goes on for so many slots. */
enum { MMT_MOST_SLOTS = 4096, MMT_MOST_PROBES = 64, MMT_MOST_PASSED = 32 };

/* A slot's tag: 0 while it is free, MMT_TAG_CLAIMED while a thread fills it in, then the
 * hash of its call. Two threads that meet one kind at once may make two slots of it, of
 * which look-ups find the first; their counts add up. */
enum { MMT_TAG_CLAIMED = 1 };

struct mmt_slot {
    _Atomic uint64_t tag;
    struct mmt_call call; /* constant from here to `label`, once the tag or plan tells */
    struct mmt_calls *calls;
    double saves; /* seconds that a call saves that ours computes; with the plan */
    char *label;  /* with the plan; malloc'ed */
    _Atomic(const mmt_plan *) plan;
    atomic_int fate; /* of its calls while there is no plan */
    atomic_int timings, checks;
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
    struct mmt_slot *slots; /* MMT_MOST_SLOTS of them */
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
