/* Times calls of the library while a program is recorded, by pairs of events that the
 * keeper reads later; never waits. */
#include "dropin/cublas/timing.h"

enum { FREE, TAKEN, QUEUED };

/* Pairs that one call looks at for a free one. */
enum { MOST_LOOKS = 8 };

void mmt_timings_make(struct mmt_timings *timings, const struct mmt_driver *driver)
{
    for (int i = 0; i < MMT_MOST_TIMINGS; i++) {
        struct mmt_timing_pair *pair = &timings->pair[i];
        atomic_store(&pair->state, TAKEN);
        if (!driver->cuEventCreate(&pair->from, 0) &&
            !driver->cuEventCreate(&pair->to, 0))
            atomic_store(&pair->state, FREE);
    }
}

/* What this thread timed last, if no product came behind it. */
static _Thread_local struct {
    struct mmt_timing_pair *pair;
    void *stream;
} last __attribute__((tls_model("initial-exec")));

/* From the end of the product before. Where another one has taken that pair meanwhile,
 * its end is behind this beginning. */
static void read_gap(const struct mmt_timing_pair *pair, const struct mmt_driver *driver)
{
    float milliseconds;
    if (pair->before &&
        !driver->cuEventElapsedTime(&milliseconds, pair->before->to, pair->from) &&
        milliseconds > 0)
        mmt_slot_gap(pair->slot, 1e-3 * (double) milliseconds);
}

/* The device is not done with one that is not ready. */
static void read_pair(struct mmt_timing_pair *pair, const struct mmt_driver *driver)
{
    enum { NOT_READY = 600 };
    float milliseconds;

    if (driver->cuEventQuery(pair->to) == NOT_READY)
        return;
    if (!driver->cuEventElapsedTime(&milliseconds, pair->from, pair->to))
        mmt_slot_time(pair->slot, 1e-3 * (double) milliseconds);
    read_gap(pair, driver);
    atomic_store_explicit(&pair->state, FREE, memory_order_release);
}

void mmt_timings_read(struct mmt_timings *timings, const struct mmt_driver *driver)
{
    for (int i = 0; i < MMT_MOST_TIMINGS; i++)
        if (atomic_load_explicit(&timings->pair[i].state, memory_order_acquire) == QUEUED)
            read_pair(&timings->pair[i], driver);
}

static struct mmt_timing_pair *take_pair(struct mmt_timings *timings)
{
    for (int i = 0; i < MOST_LOOKS; i++) {
        const unsigned at = atomic_fetch_add(&timings->next, 1) % MMT_MOST_TIMINGS;
        struct mmt_timing_pair *pair = &timings->pair[at];
        int state = FREE;
        if (pair->to && atomic_compare_exchange_strong(&pair->state, &state, TAKEN))
            return pair;
    }
    return NULL;
}

struct mmt_timing_pair *mmt_timing_start(struct mmt_timings *timings,
                                         const struct mmt_driver *driver,
                                         struct mmt_slot *slot, void *stream)
{
    struct mmt_timing_pair *pair = NULL, *before = last.pair;

    last.pair = NULL;
    if (!mmt_driver_captures(driver, stream) && (pair = take_pair(timings)) &&
        mmt_slot_take_timing(slot) && !driver->cuEventRecord(pair->from, stream)) {
        pair->slot = slot;
        pair->before = last.stream == stream ? before : NULL;
        return pair;
    }
    if (pair)
        atomic_store_explicit(&pair->state, FREE, memory_order_release);
    return NULL;
}

void mmt_timing_end(struct mmt_timing_pair *pair, const struct mmt_driver *driver,
                    void *stream)
{
    const int next = driver->cuEventRecord(pair->to, stream) ? FREE : QUEUED;
    last.pair = next == QUEUED ? pair : NULL;
    last.stream = stream;
    atomic_store_explicit(&pair->state, next, memory_order_release);
}
