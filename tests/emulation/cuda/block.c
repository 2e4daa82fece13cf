#undef _FORTIFY_SOURCE
#include "tests/emulation/cuda/block.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulation/coroutine.h"

enum { WARP = 32, MAX_THREADS = 1024, STACK = 1 << 17, MAX_COPIES = 1024 };
enum { MAX_COUNTERS = 32, MAX_ARRIVALS = 16 };

struct emulate_index threadIdx, blockIdx, blockDim, gridDim;

struct copy {
    unsigned to;
    const void *from;
    int count, size, group;
};

/* Those that meet: how many are here, and how often all have been. */
struct meeting {
    int here, times;
};

/* A barrier in shared memory. */
struct counter {
    unsigned at;
    int arrivals; /* that it waits for; 0: there is none */
    struct meeting meeting;
};

/* An arrival that waits for a thread's copies before the `before`-th. */
struct arrival {
    struct counter *counter;
    int before;
};

/* Stacks and coroutines stay for the next blocks and launches: to make them takes longer
 * than most kernels of tests. */
struct thread {
    struct coroutine coroutine;
    void *stack;
    bool idle; /* the coroutine waits for a block's start */
    bool done;
    const struct meeting *at; /* where it waits, if it has not happened more often */
    int times;
    int group;       /* of copies, that it asks for now */
    int first, last; /* its copies on their way */
    struct copy copies[MAX_COPIES];
    int first_arrival, last_arrival; /* those that wait */
    struct arrival arrivals[MAX_ARRIVALS];
};

/* The block that runs now. */
static const struct emulate_launch *launch;
static struct thread threads[MAX_THREADS];
static int num_threads, current, left;
static jmp_buf scheduler;
static struct meeting barrier, warps[MAX_THREADS / WARP];
static void *brought[MAX_THREADS];
static struct counter counters[MAX_COUNTERS];
static unsigned drawn;
static char complaint[160];

static void complain(const char *what, unsigned at, int bytes)
{
    if (!complaint[0])
        snprintf(complaint, sizeof(complaint),
                 "thread %d of block %u: %s, %d bytes at %u", current, blockIdx.x, what,
                 bytes, at);
}

/* ---- meeting --------------------------------------------------------------------- */

static void land_first(struct thread *of);

static unsigned draw_below(unsigned count)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (drawn >> 16) % count;
}

/* Now and then a copy lands meanwhile. */
static void wait_for(const struct meeting *meeting)
{
    struct thread *me = &threads[current];
    me->at = meeting, me->times = meeting->times;
    coroutine_leave(&me->coroutine, scheduler);
    if (me->first < me->last && draw_below(64) == 0)
        land_first(me);
}

/* Whether all are here now; then it has happened once more. */
static bool is_complete(struct meeting *meeting, int all)
{
    if (meeting->here < all)
        return false;
    meeting->here = 0;
    meeting->times++;
    return true;
}

void emulate_barrier(void)
{
    barrier.here++;
    if (!is_complete(&barrier, left))
        wait_for(&barrier);
}

void emulate_warp(void (*together)(void *const brought[32]), void *mine)
{
    struct meeting *warp = &warps[current / WARP];

    brought[current] = mine;
    warp->here++;
    if (warp->here == WARP)
        together(&brought[current / WARP * WARP]);
    if (!is_complete(warp, WARP))
        wait_for(warp);
}

/* ---- copying --------------------------------------------------------------------- */

void emulate_check(unsigned at, int bytes)
{
    if (at % (unsigned) bytes)
        complain("shared memory is not aligned", at, bytes);
    if (at + (size_t) bytes > launch->shared_bytes)
        complain("beyond the block's shared memory", at, bytes);
}

static void count_arrivals(struct thread *of);

static void arrive(const struct copy *copy)
{
    char *to = (char *) launch->shared + copy->to;
    if (copy->count)
        memcpy(to, copy->from, (size_t) copy->count);
    memset(to + copy->count, 0, (size_t) (copy->size - copy->count));
}

void emulate_copy(unsigned to, const void *from, int count, int size)
{
    struct thread *me = &threads[current];
    const struct copy copy = { to, from, count, size, me->group };

    emulate_check(to, size);
    if (count && (size_t) from % (size_t) size)
        complain("cp.async from memory that is not aligned", to, size);
    for (int i = 0; i < MAX_COUNTERS; i++)
        if (counters[i].arrivals && counters[i].at + 8 > to &&
            counters[i].at < to + (unsigned) size)
            complain("cp.async over a barrier", to, size);
    if (complaint[0])
        return;
    if (draw_below(2))
        arrive(&copy);
    else if (me->last - me->first < MAX_COPIES)
        me->copies[me->last++ % MAX_COPIES] = copy;
    else
        complain("more copies on their way than are emulated", to, size);
}

void emulate_end_group(void)
{
    threads[current].group++;
}

static void land_first(struct thread *of)
{
    arrive(&of->copies[of->first++ % MAX_COPIES]);
    count_arrivals(of);
}

void emulate_await(int behind)
{
    struct thread *me = &threads[current];
    while (me->first < me->last &&
           me->copies[me->first % MAX_COPIES].group < me->group - behind)
        arrive(&me->copies[me->first++ % MAX_COPIES]);
    count_arrivals(me);
}

/* ---- barriers in shared memory ----------------------------------------------------- */

static struct counter *counter_at(unsigned at)
{
    static struct counter none;

    for (int i = 0; i < MAX_COUNTERS; i++)
        if (counters[i].arrivals && counters[i].at == at)
            return &counters[i];
    complain("there is no barrier", at, 8);
    none = (struct counter){ .arrivals = 1 };
    return &none;
}

void emulate_counter(unsigned at, int arrivals)
{
    int free = 0;

    emulate_check(at, 8);
    while (free < MAX_COUNTERS && counters[free].arrivals)
        if (counters[free++].at == at)
            complain("there is a barrier already", at, 8);
    if (free < MAX_COUNTERS)
        counters[free] = (struct counter){ .at = at, .arrivals = arrivals };
    else
        complain("more barriers than are emulated", at, 8);
}

void emulate_counter_end(unsigned at)
{
    counter_at(at)->arrivals = 0;
}

static void count(struct counter *counter)
{
    counter->meeting.here++;
    is_complete(&counter->meeting, counter->arrivals);
}

void emulate_count(unsigned at)
{
    count(counter_at(at));
}

/* Those that have waited long enough. */
static void count_arrivals(struct thread *of)
{
    while (of->first_arrival < of->last_arrival &&
           of->arrivals[of->first_arrival % MAX_ARRIVALS].before <= of->first)
        count(of->arrivals[of->first_arrival++ % MAX_ARRIVALS].counter);
}

void emulate_count_copied(unsigned at)
{
    struct thread *me = &threads[current];
    const struct arrival mine = { counter_at(at), me->last };

    if (me->last_arrival - me->first_arrival < MAX_ARRIVALS)
        me->arrivals[me->last_arrival++ % MAX_ARRIVALS] = mine;
    else
        complain("more arrivals wait than are emulated", at, 8);
    count_arrivals(me);
}

void emulate_counter_wait(unsigned at, unsigned parity)
{
    struct counter *counter = counter_at(at);
    while (!complaint[0] && (unsigned) counter->meeting.times % 2 == parity)
        wait_for(&counter->meeting);
}

/* When all threads wait, one thread's copies for which an arrival waits are done. */
static bool copy_for_arrival(void)
{
    for (int i = 0; i < num_threads; i++) {
        struct thread *t = &threads[i];
        if (t->done || t->first_arrival == t->last_arrival)
            continue;
        while (t->first < t->arrivals[t->first_arrival % MAX_ARRIVALS].before)
            arrive(&t->copies[t->first++ % MAX_COPIES]);
        count_arrivals(t);
        return true;
    }
    return false;
}

/* ---- taking turns ---------------------------------------------------------------- */

/* One block's thread after the other. */
static void run_thread(void)
{
    for (;;) {
        launch->entry(launch->args);
        threads[current].done = threads[current].idle = true;
        left--;
        if (left)
            is_complete(&barrier, left);
        coroutine_leave(&threads[current].coroutine, scheduler);
    }
}

static void start_thread(int i)
{
    struct thread *t = &threads[i];

    t->done = false;
    t->at = NULL;
    t->group = t->first = t->last = 0;
    t->first_arrival = t->last_arrival = 0;
    if (!t->idle)
        coroutine_create(&t->coroutine, t->stack, STACK, run_thread);
    t->idle = false;
}

static bool may_go_on(const struct thread *t)
{
    return !t->done && (!t->at || t->at->times > t->times);
}

static void let_run(int i)
{
    const unsigned x = blockDim.x, y = blockDim.y, number = (unsigned) i;

    current = i;
    threads[i].at = NULL;
    threadIdx = (struct emulate_index){ number % x, number / x % y, number / x / y };
    coroutine_enter(&threads[i].coroutine, scheduler);
}

/* Until all have returned, or none can go on. */
static void run_block(bool backward)
{
    bool moved = true;

    left = num_threads;
    barrier = (struct meeting){ 0 };
    memset(warps, 0, sizeof(warps));
    memset(counters, 0, sizeof(counters));
    memset(launch->shared, 0xff, launch->shared_bytes);
    for (int i = 0; i < num_threads; i++)
        start_thread(i);
    while (left && moved && !complaint[0]) {
        moved = false;
        for (int i = 0; i < num_threads; i++) {
            const int next = backward ? num_threads - 1 - i : i;
            if (may_go_on(&threads[next])) {
                let_run(next);
                moved = true;
            }
        }
        moved = moved || copy_for_arrival();
    }
    if (left && !complaint[0])
        snprintf(complaint, sizeof(complaint), "%d threads of block %u wait for ever",
                 left, blockIdx.x);
}

static bool make_threads(unsigned count)
{
    if (count > MAX_THREADS)
        return false;
    num_threads = (int) count;
    for (int i = 0; i < num_threads; i++)
        if (!threads[i].stack && !(threads[i].stack = malloc(STACK)))
            return false;
    return true;
}

const char *emulate_run(const struct emulate_launch *what)
{
    static unsigned launches;
    const unsigned *g = what->grid, *b = what->block, turn = launches++;

    launch = what;
    complaint[0] = 0;
    gridDim = (struct emulate_index){ g[0], g[1], g[2] };
    blockDim = (struct emulate_index){ b[0], b[1], b[2] };
    if (!make_threads(b[0] * b[1] * b[2]))
        snprintf(complaint, sizeof(complaint),
                 "no memory for %u x %u x %u threads of a block, or more than %d", b[0],
                 b[1], b[2], MAX_THREADS);
    for (unsigned i = 0; i < g[0] * g[1] * g[2] && !complaint[0]; i++) {
        blockIdx = (struct emulate_index){ i % g[0], i / g[0] % g[1], i / g[0] / g[1] };
        /* Neighbouring blocks in opposite orders. Of two launches that come again and
         * again each block takes both. */
        run_block((turn + turn / 2 + i) % 2);
    }
    return complaint[0] ? complaint : NULL;
}
