/* How long the library's calls take, while a program is recorded: events around them,
 * which the keeper reads later. Nothing here waits. */
#ifndef MMT_DROPIN_CUBLAS_TIMING_H
#define MMT_DROPIN_CUBLAS_TIMING_H

#include <stdatomic.h>

#include "dropin/calls.h"
#include "dropin/cublas/driver.h"

enum { MMT_MOST_TIMINGS = 512 };

struct mmt_timing_pair {
    atomic_int state;               /* free, taken, queued */
    void *from, *to;                /* events; NULL until the keeper has made them */
    struct mmt_timing_pair *before; /* of the product that the thread put on the stream
                                     * before; NULL: that was not timed */
    struct mmt_slot *slot;
};

struct mmt_timings {
    atomic_uint next; /* where to look for a free pair */
    struct mmt_timing_pair pair[MMT_MOST_TIMINGS];
};

/* Makes the events, in the context that is current; reads those that have come. Both by
 * the keeper alone. */
void mmt_timings_make(struct mmt_timings *timings, const struct mmt_driver *driver);
void mmt_timings_read(struct mmt_timings *timings, const struct mmt_driver *driver);

/* Begins to time one of the slot's first calls, on a stream that captures nothing; NULL:
 * this call is not timed. mmt_timing_end ends it. Any thread. */
struct mmt_timing_pair *mmt_timing_start(struct mmt_timings *timings,
                                         const struct mmt_driver *driver,
                                         struct mmt_slot *slot, void *stream);
void mmt_timing_end(struct mmt_timing_pair *pair, const struct mmt_driver *driver,
                    void *stream);

#endif
