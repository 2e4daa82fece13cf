/* A table of calls from within: calls.c looks up and counts, keeper.c fills it, end.c
 * ends it, own.c knows what is ours in the process. */
#ifndef MMT_DROPIN_TABLE_H
#define MMT_DROPIN_TABLE_H

#include <fenv.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#include "dropin/calls.h"
#include "recording/counts.h"

/* Entries of the index that finds slots, a power of 2: at most a quarter of them is
 * taken, so that a look-up, also of a kind that has no slot since there are too many,
 * ends at a free one within a few steps. It gives up after so many probes. */
enum {
    MMT_INDEX_SIZE = 4 * MMT_MOST_COUNTED,
    MMT_MOST_PROBES = 64,
    MMT_MOST_PASSED = 32
};

/* An entry of the index: 0 while it is free, else, for ever, the number of a slot from 1
 * in the low bits and the hash of its call in the others. Two threads that meet one kind
 * at once may both fill a slot; that of the second stays out of the index, unused. */
enum { MMT_NUMBER_BITS = 15 };
_Static_assert(MMT_MOST_COUNTED < 1 << MMT_NUMBER_BITS, "each slot has a number");

struct mmt_slot {
    struct mmt_counted *counted; /* its call and counts; constant, as is all to `label`,
                                  * once the index or the plan tells */
    struct mmt_calls *calls;
    char *label; /* with the plan; malloc'ed */
    _Atomic(const mmt_plan *) plan;
    atomic_int fate; /* of its calls while there is no plan */
    atomic_int timings, checks;
    bool is_owed; /* by a verdict, a plan; the keeper's, as is: */
    bool named;   /* on standard error */
};

/* Calls with a feature that we have not. */
struct mmt_passed {
    _Atomic(const char *) what;
    atomic_llong count;
};

struct mmt_calls {
    char name[32], library[48], path[256], stem[160];
    struct mmt_calls_options options;
    _Atomic uint64_t *index; /* MMT_INDEX_SIZE entries */
    struct mmt_slot *slots;  /* MMT_MOST_COUNTED, of the rows of `counts` */
    struct mmt_counts *counts;
    struct mmt_passed passed[MMT_MOST_PASSED];
    atomic_llong unseen; /* calls that found no slot */
    _Atomic(mmt_device *) device;
    double began;       /* by mmt_now */
    atomic_bool judged; /* all verdicts are in their slots */
    atomic_bool warm;   /* what was compiled before serves */
    atomic_bool ready;  /* all plans are made */
    atomic_bool waited; /* a handle has waited for `warm` */
    atomic_bool silent; /* serves and counts nothing */
    atomic_bool orphan; /* a child of the process that began, and has counted nothing */
    bool is_child;      /* such a child: it counts, and serves nothing */
    atomic_bool stopping;
    sem_t wake, done; /* the keeper's: to look again; has ended */
    /* Of an orphan: makes the table anew, which then counts; false where that cannot be
     * done. Never NULL. */
    bool (*adopt)(struct mmt_calls *calls);
};

/* Opens the device, in the keeper's thread or ahead of it; NULL, and all calls pass,
 * where it cannot be opened. */
mmt_device *mmt_keeper_open(struct mmt_calls *calls);

/* The keeper's thread; its argument is the struct mmt_calls. */
void *mmt_keeper_run(void *calls);

/* ---- own.c: what is ours in the process ------------------------------------------ */

/* Around each step that goes into a driver, in the thread that takes it. A driver may
 * answer signals, begin threads and set variables: what the objects that were loaded in
 * such steps have taken of signals is given back, and so are the thread's floating-point
 * modes and PoCL's variable; signals of the program do not reach this thread meanwhile,
 * nor those that the driver begins. */
struct mmt_step {
    bool has_variable;
    sigset_t mask;
    fenv_t modes;
    struct sigaction actions[65]; /* by number */
    bool outer;                   /* there is none around it */
};
void mmt_step_begin(struct mmt_step *step);
void mmt_step_end(const struct mmt_step *step);

/* The calling thread is ours. The other: this is a new child of the process, which has
 * none of its threads. */
void mmt_own_this_thread(void);
void mmt_own_forked(void);

/* Whether the main thread has ended by pthread_exit and all that are left are ours: such
 * a process would end but for them. */
bool mmt_only_ours_left(void);

#endif
