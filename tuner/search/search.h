/* Search: which candidate to try next. Knows knobs, their values and what was measured;
 * nothing of templates, devices or matrices.
 *
 * Ask and tell: every candidate that was asked for is told once, with its time or with
 * INFINITY where it was rejected (wrong, failed, hung). Several may be outstanding before
 * their tells, and tells may come in any order. The same seed, the same asks and the same
 * tells in the same order give the same candidates. */
#ifndef MMT_TUNER_SEARCH_SEARCH_H
#define MMT_TUNER_SEARCH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { MMT_SEARCH_MAX_KNOBS = 24, MMT_SEARCH_MAX_FEATURES = 64 };

/* A space of num_values[0] x num_values[1] x … points; a point is an index for each knob.
 * It and all that it points to must outlive the search. */
struct mmt_search_space {
    int num_knobs;               /* 1 … MMT_SEARCH_MAX_KNOBS */
    const int *num_values;       /* of each knob, 1 … 255 */
    const char *const *names;    /* of each knob, for messages */
    const double *const *values; /* values[knob][index], ascending or not */
    bool (*legal)(void *ctx, const int *index); /* cheap: asked thousands of times */
    /* Optional: figures derived from a point (occupancy, shared memory, …), at most
     * MMT_SEARCH_MAX_FEATURES, always the same number, which is returned. */
    int (*features)(void *ctx, const int *index, double *out);
    void *ctx;
};

struct mmt_search;

/* The strategies' names, the default first; ends with NULL. */
extern const char *const mmt_search_names[];

/* Starts a search. `start` holds num_start points worth trying first, the best first;
 * those that are illegal are passed over. An unknown strategy is refused by name. NULL on
 * failure. */
struct mmt_search *mmt_search_create(const char *strategy,
                                     const struct mmt_search_space *space, uint64_t seed,
                                     const int (*start)[MMT_SEARCH_MAX_KNOBS],
                                     int num_start, mmt_error *err);

/* The next candidate: legal, and never one that was given or told before. False where
 * nothing is left (all points of the space were given), or where the strategy must hear
 * of outstanding candidates first; then it never is false with none outstanding, unless
 * nothing is left. */
bool mmt_search_ask(struct mmt_search *search, int *index);

/* The time of a candidate, INFINITY where it was rejected. A point that was never asked
 * for may be told too: what an earlier run measured. */
void mmt_search_tell(struct mmt_search *search, const int *index, double seconds);

void mmt_search_free(struct mmt_search *search);

#endif
