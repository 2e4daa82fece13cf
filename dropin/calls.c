/* Looking calls up and counting them, from any thread. */
#include "dropin/calls.h"

#include <time.h>

#include "base/clock.h"
#include "dropin/table.h"

/* ---- looking up ------------------------------------------------------------------ */

static const uint64_t number_mask = (UINT64_C(1) << MMT_NUMBER_BITS) - 1;

static enum mmt_fate first_fate(const struct mmt_calls *calls)
{
    return calls->options.record ? MMT_FATE_RECORDED
           : calls->is_child     ? MMT_FATE_CHILD
                                 : MMT_FATE_NOT_READY;
}

/* One that nobody else has; NULL: all are given away. */
static struct mmt_slot *take_slot(struct mmt_calls *calls, const struct mmt_call *call)
{
    int number;
    struct mmt_counted *counted = mmt_counts_take(calls->counts, &number);
    if (!counted)
        return NULL;
    struct mmt_slot *slot = &calls->slots[number];
    counted->call = *call;
    slot->counted = counted;
    slot->calls = calls;
    atomic_store_explicit(&slot->fate, first_fate(calls), memory_order_relaxed);
    return slot;
}

/* A kind that is new once all verdicts are in their slots has none. */
static void use_slot(struct mmt_calls *calls, struct mmt_slot *slot)
{
    atomic_store(&slot->counted->used, true);
    if (!calls->options.record && !calls->options.all && atomic_load(&calls->judged)) {
        int expected = MMT_FATE_NOT_READY;
        atomic_compare_exchange_strong(&slot->fate, &expected, MMT_FATE_UNKNOWN);
    }
}

/* The slot of a call that is in the index, or `made`, once that is in it; NULL: neither,
 * and *vacant tells whether there is an entry left for it. */
static struct mmt_slot *look_up(struct mmt_calls *calls, const struct mmt_call *call,
                                uint64_t hash, struct mmt_slot *made, bool *vacant)
{
    for (uint64_t i = 0; i < MMT_MOST_PROBES; i++) {
        _Atomic uint64_t *entry =
            &calls->index[((hash >> MMT_NUMBER_BITS) + i) % MMT_INDEX_SIZE];
        uint64_t found = atomic_load_explicit(entry, memory_order_acquire);
        if (!found && !made) {
            *vacant = true;
            return NULL;
        }
        if (!found && atomic_compare_exchange_strong(
                          entry, &found,
                          (hash & ~number_mask) | (uint64_t) (made - calls->slots + 1)))
            return made;
        struct mmt_slot *slot = &calls->slots[(found & number_mask) - 1];
        if (!((found ^ hash) & ~number_mask) &&
            mmt_call_equal(&slot->counted->call, call))
            return slot;
    }
    return NULL;
}

/* Stores a number that is less, or more, than what is there, or the first; 0 is none. */
static void store_further(atomic_size_t *at, size_t number, bool more)
{
    size_t now = atomic_load_explicit(at, memory_order_relaxed);
    while (number && (!now || (more ? number > now : number < now)))
        if (atomic_compare_exchange_weak_explicit(at, &now, number, memory_order_relaxed,
                                                  memory_order_relaxed))
            return;
}

static void note_workspace(struct mmt_slot *slot, const struct mmt_call *call)
{
    store_further(&slot->counted->least, call->workspace, false);
    store_further(&slot->counted->most, mmt_call_library_workspace(call), true);
}

struct mmt_slot *mmt_calls_slot(struct mmt_calls *calls, const struct mmt_call *call)
{
    const uint64_t hash = mmt_call_hash(call);
    bool vacant = false;

    if (!calls || atomic_load_explicit(&calls->silent, memory_order_relaxed))
        return NULL;
    if (atomic_load_explicit(&calls->orphan, memory_order_acquire) &&
        !calls->adopt(calls))
        return NULL;
    struct mmt_slot *slot = look_up(calls, call, hash, NULL, &vacant);
    struct mmt_slot *made = !slot && vacant ? take_slot(calls, call) : NULL;
    if (made && (slot = look_up(calls, call, hash, made, &vacant)) == made)
        use_slot(calls, slot);
    if (!slot)
        atomic_fetch_add_explicit(&calls->unseen, 1, memory_order_relaxed);
    else if (slot->counted->call.workspace != call->workspace)
        note_workspace(slot, call);
    return slot;
}

const mmt_plan *mmt_slot_plan(const struct mmt_slot *slot, enum mmt_fate *fate)
{
    const mmt_plan *plan = atomic_load_explicit(&slot->plan, memory_order_acquire);
    *fate = plan
                ? MMT_FATE_TAKEN
                : (enum mmt_fate) atomic_load_explicit(&slot->fate, memory_order_relaxed);
    return plan;
}

const mmt_plan *mmt_slot_await_plan(const struct mmt_slot *slot, enum mmt_fate *fate)
{
    const struct timespec pause = { 0, 100000 };
    const mmt_plan *plan = mmt_slot_plan(slot, fate);

    if (!plan && *fate == MMT_FATE_NOT_READY)
        sem_post(&slot->calls->wake);
    while (!plan && *fate == MMT_FATE_NOT_READY && !atomic_load(&slot->calls->silent)) {
        nanosleep(&pause, NULL);
        plan = mmt_slot_plan(slot, fate);
    }
    return plan;
}

const struct mmt_call *mmt_slot_call(const struct mmt_slot *slot)
{
    return &slot->counted->call;
}

const char *mmt_slot_label(const struct mmt_slot *slot)
{
    enum mmt_fate fate;
    return mmt_slot_plan(slot, &fate) && slot->label ? slot->label : "";
}

/* ---- counting -------------------------------------------------------------------- */

void mmt_slot_count(struct mmt_slot *slot, enum mmt_fate fate)
{
    atomic_fetch_add_explicit(&slot->counted->fates[fate], 1, memory_order_relaxed);
}

static int take(atomic_int *taken, int most)
{
    int number = atomic_load_explicit(taken, memory_order_relaxed);
    if (number < most)
        number = atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
    return number < most ? number + 1 : 0;
}

int mmt_slot_take_timing(struct mmt_slot *slot)
{
    const int number = take(&slot->timings, MMT_TIMED_CALLS + 1);
    return number > 1 ? number - 1 : 0;
}

int mmt_slot_take_check(struct mmt_slot *slot)
{
    return take(&slot->checks, MMT_CHECKED_CALLS);
}

void mmt_slot_time(struct mmt_slot *slot, double seconds)
{
    atomic_fetch_add_explicit(&slot->counted->picoseconds, (long long) (seconds * 1e12),
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&slot->counted->timed, 1, memory_order_relaxed);
}

void mmt_slot_gap(struct mmt_slot *slot, double seconds)
{
    atomic_llong *at = &slot->counted->gap;
    const long long gap = (long long) (seconds * 1e12);
    long long now = atomic_load_explicit(at, memory_order_relaxed);
    while (gap > 0 && (!now || gap < now))
        if (atomic_compare_exchange_weak_explicit(at, &now, gap, memory_order_relaxed,
                                                  memory_order_relaxed))
            return;
}

void mmt_calls_pass(struct mmt_calls *calls, const char *what)
{
    if (!calls)
        return;
    for (int i = 0; i < MMT_MOST_PASSED; i++) {
        struct mmt_passed *it = &calls->passed[i];
        const char *found = atomic_load_explicit(&it->what, memory_order_relaxed);
        if (!found && atomic_compare_exchange_strong(&it->what, &found, what))
            found = what;
        if (found != what)
            continue;
        atomic_fetch_add_explicit(&it->count, 1, memory_order_relaxed);
        return;
    }
}

const struct mmt_calls_options *mmt_calls_options(const struct mmt_calls *calls)
{
    return &calls->options;
}

mmt_device *mmt_calls_device(const struct mmt_calls *calls)
{
    return atomic_load_explicit(&calls->device, memory_order_acquire);
}

static bool wait_for(const struct mmt_calls *calls, const atomic_bool *what,
                     double seconds)
{
    const struct timespec pause = { 0, 1000000 };
    const double until = mmt_now() + seconds;

    while (!atomic_load(what) && !atomic_load(&calls->silent) && mmt_now() < until)
        nanosleep(&pause, NULL);
    return atomic_load(what);
}

bool mmt_calls_wait(struct mmt_calls *calls, double seconds)
{
    return wait_for(calls, &calls->ready, seconds);
}

void mmt_calls_wait_warm(struct mmt_calls *calls)
{
    static const double most = 0.2;
    if (!calls->options.record && !atomic_exchange(&calls->waited, true))
        wait_for(calls, &calls->warm, most);
}
