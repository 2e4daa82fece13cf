/* What the strategies of search.h share. */
#ifndef MMT_TUNER_SEARCH_STRATEGY_H
#define MMT_TUNER_SEARCH_STRATEGY_H

#include "tuner/search/search.h"

typedef uint8_t mmt_search_point[MMT_SEARCH_MAX_KNOBS];

/* Points that were given or told, open addressing; `used` is at most half of `room`. */
struct mmt_search_seen {
    mmt_search_point *points;
    bool *taken;
    size_t room, used;
};

struct mmt_model;
struct mmt_population;

struct mmt_search {
    struct mmt_search_space space;
    const struct mmt_strategy *strategy;
    uint64_t random;
    struct mmt_search_seen seen;
    int (*start)[MMT_SEARCH_MAX_KNOBS];
    int num_start, next_start;
    int sweep[MMT_SEARCH_MAX_KNOBS]; /* the next point of the exhaustive walk */
    bool swept;
    int here[MMT_SEARCH_MAX_KNOBS]; /* where the local search stands */
    double here_seconds;
    int rejected; /* tells in a row without progress since `here` was reached */
    struct mmt_model *model;
    struct mmt_population *population;
};

/* One strategy. `propose` finds a fresh point; the optional others are told what was
 * given and what became of it, and free what the strategy keeps. */
struct mmt_strategy {
    const char *name;
    bool (*propose)(struct mmt_search *search, int *index);
    bool (*given)(struct mmt_search *search, const int *index);
    void (*told)(struct mmt_search *search, const int *index, double seconds);
    void (*finish)(struct mmt_search *search);
};

extern const struct mmt_strategy mmt_strategy_model, mmt_strategy_population;

/* A random whole number from 0 to limit - 1. */
int mmt_search_below(struct mmt_search *search, int limit);

/* Whether a point is legal and was neither given nor told before. */
bool mmt_search_is_fresh(const struct mmt_search *search, const int *index);

/* A fresh point: at random; where those are rare, one beside a point that is known; where
 * those are too, the next of all, unless there are millions: then there is none. */
bool mmt_search_random(struct mmt_search *search, int *index);

/* The same, but false after that many tries at random. */
bool mmt_search_try_random(struct mmt_search *search, int *index, int tries);

#endif
