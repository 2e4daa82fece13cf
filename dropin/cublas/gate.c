/* Keeps our launches apart from others with the same workspace, by a table of atomic
 * counters; nobody sleeps on a lock. */
#include "dropin/cublas/gate.h"

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

/* Workspaces that share a gate cost a needless pass or wait, no more. */
enum { GATE_BITS = 8 };

/* How many calls of the library are inside; ALONE: one of ours. */
enum { ALONE = -1 };
static struct {
    alignas(64) atomic_int inside; /* each on a cache line of its own */
} gates[1 << GATE_BITS];

/* Workspaces begin at multiples of large powers of 2. */
static atomic_int *gate_of(uint64_t workspace)
{
    const uint64_t hash = workspace / 256 * UINT64_C(0x9e3779b97f4a7c15);
    return workspace ? &gates[hash >> (64 - GATE_BITS)].inside : NULL;
}

bool mmt_gate_enter_alone(uint64_t workspace)
{
    atomic_int *gate = gate_of(workspace);
    int inside = 0;
    return !gate || atomic_compare_exchange_strong_explicit(
                        gate, &inside, ALONE, memory_order_acquire, memory_order_relaxed);
}

void mmt_gate_leave_alone(uint64_t workspace)
{
    atomic_int *gate = gate_of(workspace);
    if (gate)
        atomic_store_explicit(gate, 0, memory_order_release);
}

void mmt_gate_enter(uint64_t workspace)
{
    atomic_int *gate = gate_of(workspace);
    int inside = gate ? atomic_load_explicit(gate, memory_order_relaxed) : 0;
    if (!gate)
        return;
    while (inside == ALONE ||
           !atomic_compare_exchange_weak_explicit(
               gate, &inside, inside + 1, memory_order_acquire, memory_order_relaxed))
        if (inside == ALONE) {
            sched_yield();
            inside = atomic_load_explicit(gate, memory_order_relaxed);
        }
}

void mmt_gate_leave(uint64_t workspace)
{
    atomic_int *gate = gate_of(workspace);
    if (gate)
        atomic_fetch_sub_explicit(gate, 1, memory_order_release);
}

static void open_all(void)
{
    for (int i = 0; i < 1 << GATE_BITS; i++)
        atomic_store(&gates[i].inside, 0);
}

static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, open_all);
}

void mmt_gate_watch_fork(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_fork);
}
