/* How a table of calls begins and ends, with its process and in the children of that. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "dropin/table.h"

enum { MOST_DEVICES = 64 };

static struct {
    pthread_mutex_t lock; /* of `count`; never taken on the path of a call */
    int count;
    struct mmt_calls *list[MOST_DEVICES];
    atomic_int opening; /* threads of the program that open a device */
    atomic_bool begun;  /* the end is watched */
    atomic_bool ended;  /* the process ends */
    bool forked;        /* this is a child of a process that had begun */
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Devices that this very thread opens: a handler of a signal may end the process there.
 */
static _Thread_local int opening __attribute__((tls_model("initial-exec")));

/* ---- the end of the process ------------------------------------------------------ */

/* Nothing is taken over from now on. */
static void withdraw_plans(struct mmt_calls *calls)
{
    for (int i = 0; i < mmt_counts_number(calls->counts); i++)
        atomic_store(&calls->slots[i].plan, NULL);
    if (calls->options.work.end)
        calls->options.work.end(calls->options.work.context);
}

static void stop_keepers(void)
{
    const struct timespec pause = { 0, 1000000 };
    for (int i = 0; i < all.count; i++) {
        atomic_store(&all.list[i]->stopping, true);
        sem_post(&all.list[i]->wake);
    }
    for (int i = 0; i < all.count; i++)
        while (sem_wait(&all.list[i]->done) && errno == EINTR)
            continue;
    while (atomic_load(&all.opening) > opening)
        nanosleep(&pause, NULL);
    for (int i = 0; i < all.count; i++)
        withdraw_plans(all.list[i]);
}

/* Once, however long it takes: whatever runs behind this, of the drivers' own ends too,
 * finds no thread of ours in a driver. */
static void end_all(void *unused)
{
    if (atomic_exchange(&all.ended, true))
        return;
    if (!all.forked)
        stop_keepers();
    for (int i = 0; i < all.count; i++) {
        struct mmt_calls *calls = all.list[i];
        if (!atomic_load(&calls->orphan) &&
            (!calls->options.awaited || !mmt_counts_stay(calls->counts)))
            mmt_counts_write(calls->counts, NULL);
    }
}

static void end_quickly(void)
{
    end_all(NULL);
}

typedef int registers(void (*function)(void *), void *argument, void *object);

static registers *find_real(void)
{
    static _Atomic(registers *) known;
    registers *found = atomic_load_explicit(&known, memory_order_relaxed);
    if (!found) {
        found = (registers *) (uintptr_t) dlsym(RTLD_NEXT, "__cxa_atexit");
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return found;
}

/* The object that this is in, which is never unloaded. */
extern void *__dso_handle __attribute__((visibility("hidden")));

/* What atexit and C++ register their functions for the end of the process by. What is
 * registered last runs first: so ours is registered anew behind each other, and a driver
 * or compiler that registers something late, in a step of ours, finds its state whole. */
__attribute__((visibility("default"))) registers __cxa_atexit;
int __cxa_atexit(void (*function)(void *), void *argument, void *object)
{
    registers *real = find_real();
    const int status = real(function, argument, object);
    if (!status && atomic_load(&all.begun))
        real(end_all, NULL, &__dso_handle);
    return status;
}

/* ---- children -------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&all.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&all.lock);
}

static void after_fork_in_child(void)
{
    for (int i = 0; i < all.count; i++)
        atomic_store(&all.list[i]->orphan, true);
    all.forked = all.forked || all.count || atomic_load(&all.opening);
    atomic_store(&all.opening, 0);
    mmt_own_forked();
    pthread_mutex_init(&all.lock, NULL);
}

/* The counts are the parent's. */
static bool count_anew(struct mmt_calls *calls)
{
    const struct mmt_counts_of of = { calls->stem, calls->library, calls->path,
                                      calls->options.run };
    mmt_error err;
    calls->counts = mmt_counts_create(&of, &err);
    calls->is_child = true;
    memset((void *) calls->index, 0, MMT_INDEX_SIZE * sizeof *calls->index);
    memset(calls->slots, 0, MMT_MOST_COUNTED * sizeof *calls->slots);
    return calls->counts;
}

static bool adopt(struct mmt_calls *calls)
{
    pthread_mutex_lock(&all.lock);
    if (atomic_load(&calls->orphan) && !count_anew(calls))
        atomic_store(&calls->silent, true);
    atomic_store_explicit(&calls->orphan, false, memory_order_release);
    pthread_mutex_unlock(&all.lock);
    return !atomic_load(&calls->silent);
}

/* ---- the beginning --------------------------------------------------------------- */

/* No signal of the program is handled in the keeper's thread. */
static bool start_keeper(struct mmt_calls *calls)
{
    sigset_t none, before;
    pthread_t thread;

    sigfillset(&none);
    pthread_sigmask(SIG_SETMASK, &none, &before);
    const bool started = !pthread_create(&thread, NULL, mmt_keeper_run, calls);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

static void watch(void)
{
    pthread_mutex_lock(&all.lock);
    if (!atomic_load(&all.begun)) {
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        atomic_store(&all.begun, true);
        find_real()(end_all, NULL, &__dso_handle);
        at_quick_exit(end_quickly);
    }
    pthread_mutex_unlock(&all.lock);
}

/* A process that ends, or a child of one that had begun, begins nothing. */
static void enter(struct mmt_calls *calls)
{
    pthread_mutex_lock(&all.lock);
    if (all.forked || atomic_load(&all.ended) || all.count == MOST_DEVICES ||
        !start_keeper(calls))
        atomic_store(&calls->silent, true);
    else
        all.list[all.count++] = calls;
    pthread_mutex_unlock(&all.lock);
}

static void open_now(struct mmt_calls *calls)
{
    atomic_fetch_add(&all.opening, 1);
    opening++;
    if (!all.forked && !atomic_load(&all.ended))
        mmt_keeper_open(calls);
    opening--;
    atomic_fetch_sub(&all.opening, 1);
}

/* Without a device there is nothing to count for, and with no memory nowhere. */
static void begin_counting(struct mmt_calls *calls)
{
    const struct mmt_counts_of of = { calls->stem, calls->library, calls->path,
                                      calls->options.run };
    mmt_error err;
    calls->counts = mmt_counts_create(&of, &err);
    if (!calls->counts)
        atomic_store(&calls->silent, true);
    else if (err.status && calls->options.verbose)
        fprintf(stderr, "mmtune: %s: %s\n", calls->name, err.text);
}

struct mmt_calls *mmt_calls_start(const struct mmt_calls_of *of,
                                  const struct mmt_calls_options *options)
{
    struct mmt_calls *calls = calloc(1, sizeof *calls);
    if (!calls)
        return NULL;
    calls->index = calloc(MMT_INDEX_SIZE, sizeof *calls->index);
    calls->slots = calloc(MMT_MOST_COUNTED, sizeof *calls->slots);
    if (!calls->index || !calls->slots) {
        free(calls->index);
        free(calls->slots);
        free(calls);
        return NULL;
    }
    snprintf(calls->name, sizeof calls->name, "%s", of->device);
    snprintf(calls->stem, sizeof calls->stem, "%s", of->stem ? of->stem : "");
    snprintf(calls->library, sizeof calls->library, "%s", of->library);
    snprintf(calls->path, sizeof calls->path, "%s", of->path);
    calls->options = *options;
    calls->began = mmt_now();
    calls->adopt = adopt;
    sem_init(&calls->wake, 0, 0);
    sem_init(&calls->done, 0, 0);
    watch();
    if (!of->stem)
        open_now(calls);
    if (*calls->stem)
        begin_counting(calls);
    if (calls->counts)
        enter(calls);
    else
        atomic_store(&calls->silent, true);
    return calls;
}
