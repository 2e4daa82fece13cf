/* The population strategy: differential evolution (Storn and Price, J. Global
 * Optimization 11, 1997) over the knobs' indices. A child steps from its parent towards
 * the best and along the difference of two others, knob by knob; it takes its parent's
 * place where it is faster. A population that has not got any better for long keeps its
 * best and starts anew. Children may be under way while others are born. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/search/strategy.h"

enum {
    MEMBERS = 16,
    PATIENCE = 5 * MEMBERS, /* results without progress before a new start */
    TRIES = 100,            /* for a child that is legal and new */
    MOST_UNDERWAY = 128,
};

/* Of a hundred: knobs that change, and knobs that take any value at all. */
static const int crossing = 65, mutation = 6;

struct member {
    int index[MMT_SEARCH_MAX_KNOBS];
    double seconds;
};

struct child {
    int index[MMT_SEARCH_MAX_KNOBS];
    int parent; /* -1: none */
    bool taken;
};

struct mmt_population {
    struct member members[MEMBERS];
    int count, next; /* next: whose child is born next */
    struct child children[MOST_UNDERWAY];
    int parent; /* of the point that was proposed last */
    int idle;   /* results since the last progress */
};

static struct mmt_population *population_of(struct mmt_search *s)
{
    if (!s->population)
        s->population = calloc(1, sizeof *s->population);
    return s->population;
}

/* ---- birth ----------------------------------------------------------------------- */

static const struct member *best_of(const struct mmt_population *p)
{
    const struct member *best = &p->members[0];
    for (int i = 1; i < p->count; i++)
        if (p->members[i].seconds < best->seconds)
            best = &p->members[i];
    return best;
}

static const struct member *any_of(struct mmt_search *s, const struct mmt_population *p)
{
    return &p->members[mmt_search_below(s, p->count)];
}

/* Half of the way to the best, and half of the difference of two others; what that leaves
 * between two values falls to either side by chance. */
static int step_value(struct mmt_search *s, int from, int best, int difference, int count)
{
    int twice = 2 * from + (best - from) + difference;
    int to = (twice + mmt_search_below(s, 2)) / 2;
    return to < 0 ? 0 : to >= count ? count - 1 : to;
}

static void breed_point(struct mmt_search *s, const struct mmt_population *p, int *index)
{
    const struct member *parent = &p->members[p->parent], *best = best_of(p);
    const struct member *a = any_of(s, p), *b = any_of(s, p);
    int sure = mmt_search_below(s, s->space.num_knobs);

    memcpy(index, parent->index, sizeof parent->index);
    for (int k = 0; k < s->space.num_knobs; k++) {
        int count = s->space.num_values[k];
        if (mmt_search_below(s, 100) < mutation)
            index[k] = mmt_search_below(s, count);
        else if (k == sure || mmt_search_below(s, 100) < crossing)
            index[k] =
                step_value(s, index[k], best->index[k], a->index[k] - b->index[k], count);
    }
}

static bool propose_by_population(struct mmt_search *s, int *index)
{
    struct mmt_population *p = population_of(s);
    if (!p)
        return mmt_search_random(s, index);
    p->parent = -1;
    if (p->count < MEMBERS)
        return mmt_search_random(s, index);
    p->parent = p->next++ % MEMBERS;
    for (int try = 0; try < TRIES; try++) {
        breed_point(s, p, index);
        if (mmt_search_is_fresh(s, index))
            return true;
    }
    return mmt_search_random(s, index);
}

/* ---- life and death -------------------------------------------------------------- */

static bool is_given(struct mmt_search *s, const int *index)
{
    struct mmt_population *p = population_of(s);
    for (int i = 0; p && i < MOST_UNDERWAY; i++) {
        struct child *child = &p->children[i];
        if (child->taken)
            continue;
        *child = (struct child){ .parent = p->parent, .taken = true };
        memcpy(child->index, index, sizeof *index * (size_t) s->space.num_knobs);
        return true;
    }
    return true; /* it will be told like one that nobody asked for */
}

/* Whose place a point may take: its parent's, or that of the slowest. */
static int place_of(struct mmt_population *p, const int *index, int knobs)
{
    int slowest = 0;
    for (int i = 0; i < MOST_UNDERWAY; i++) {
        struct child *child = &p->children[i];
        if (!child->taken || memcmp(child->index, index, sizeof *index * (size_t) knobs))
            continue;
        child->taken = false;
        if (child->parent >= 0 && child->parent < p->count)
            return child->parent;
    }
    for (int i = 1; i < p->count; i++)
        if (p->members[i].seconds > p->members[slowest].seconds)
            slowest = i;
    return slowest;
}

static void start_anew(struct mmt_population *p)
{
    p->members[0] = *best_of(p);
    p->count = 1;
    p->idle = 0;
}

static void tell_population(struct mmt_search *s, const int *index, double seconds)
{
    struct mmt_population *p = population_of(s);
    if (!p)
        return;
    int place = place_of(p, index, s->space.num_knobs);
    p->idle++;
    if (isfinite(seconds) && p->count < MEMBERS)
        place = p->count++;
    else if (!(seconds < p->members[place].seconds))
        place = -1;
    if (place >= 0) {
        p->members[place] = (struct member){ .seconds = seconds };
        memcpy(p->members[place].index, index,
               sizeof *index * (size_t) s->space.num_knobs);
        p->idle = 0;
    }
    if (p->count == MEMBERS && p->idle > PATIENCE)
        start_anew(p);
}

static void finish_population(struct mmt_search *s)
{
    free(s->population);
    s->population = NULL;
}

const struct mmt_strategy mmt_strategy_population = {
    .name = "population",
    .propose = propose_by_population,
    .given = is_given,
    .told = tell_population,
    .finish = finish_population,
};
