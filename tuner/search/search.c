/* The strategies that need no model: exhaustive, random, local; and the ask and tell that
 * all strategies share. */
#include "tuner/search/strategy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers: xorshift64*, one stream a search ---------------------------- */

static uint64_t draw_number(struct mmt_search *s)
{
    s->random ^= s->random >> 12;
    s->random ^= s->random << 25;
    s->random ^= s->random >> 27;
    return s->random * 0x2545f4914f6cdd1dull;
}

int mmt_search_below(struct mmt_search *s, int limit)
{
    return (int) ((draw_number(s) >> 33) % (uint64_t) limit);
}

/* ---- what was given -------------------------------------------------------------- */

static size_t slot_of(const struct mmt_search_seen *seen, const mmt_search_point p)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int i = 0; i < MMT_SEARCH_MAX_KNOBS; i++)
        hash = (hash ^ p[i]) * 0x100000001b3ull;
    size_t slot = (hash ^ hash >> 29) & (seen->room - 1);
    while (seen->taken[slot] && memcmp(seen->points[slot], p, sizeof(mmt_search_point)))
        slot = (slot + 1) & (seen->room - 1);
    return slot;
}

static void to_point(const struct mmt_search *s, const int *index, mmt_search_point p)
{
    memset(p, 0, sizeof(mmt_search_point));
    for (int i = 0; i < s->space.num_knobs; i++)
        p[i] = (uint8_t) index[i];
}

static bool is_seen(const struct mmt_search *s, const int *index)
{
    mmt_search_point p;
    to_point(s, index, p);
    return s->seen.taken[slot_of(&s->seen, p)];
}

static bool grow_seen(struct mmt_search_seen *seen)
{
    struct mmt_search_seen bigger = { .room = seen->room ? seen->room * 2 : 1024 };
    bigger.points = calloc(bigger.room, sizeof *bigger.points);
    bigger.taken = calloc(bigger.room, sizeof *bigger.taken);
    if (!bigger.points || !bigger.taken) {
        free(bigger.points);
        free(bigger.taken);
        return false;
    }
    for (size_t i = 0; i < seen->room; i++)
        if (seen->taken[i]) {
            size_t slot = slot_of(&bigger, seen->points[i]);
            memcpy(bigger.points[slot], seen->points[i], sizeof(mmt_search_point));
            bigger.taken[slot] = true;
        }
    bigger.used = seen->used;
    free(seen->points);
    free(seen->taken);
    *seen = bigger;
    return true;
}

/* False only where memory is exhausted: then the search ends rather than repeat itself.
 */
static bool mark_seen(struct mmt_search *s, const int *index)
{
    if (s->seen.used * 2 >= s->seen.room && !grow_seen(&s->seen))
        return false;
    mmt_search_point p;
    to_point(s, index, p);
    size_t slot = slot_of(&s->seen, p);
    if (!s->seen.taken[slot]) {
        memcpy(s->seen.points[slot], p, sizeof(mmt_search_point));
        s->seen.taken[slot] = true;
        s->seen.used++;
    }
    return true;
}

bool mmt_search_is_fresh(const struct mmt_search *s, const int *index)
{
    return !is_seen(s, index) && s->space.legal(s->space.ctx, index);
}

/* ---- exhaustive ------------------------------------------------------------------ */

/* Steps to the next point, last knob fastest; false after the last. */
static bool step_index(const struct mmt_search_space *space, int *index)
{
    for (int i = space->num_knobs - 1; i >= 0; i--) {
        if (++index[i] < space->num_values[i])
            return true;
        index[i] = 0;
    }
    return false;
}

static bool propose_exhaustive(struct mmt_search *s, int *index)
{
    while (!s->swept) {
        memcpy(index, s->sweep, sizeof s->sweep);
        s->swept = !step_index(&s->space, s->sweep);
        if (mmt_search_is_fresh(s, index))
            return true;
    }
    return false;
}

/* ---- random ---------------------------------------------------------------------- */

bool mmt_search_try_random(struct mmt_search *s, int *index, int tries)
{
    while (tries-- > 0) {
        for (int i = 0; i < s->space.num_knobs; i++)
            index[i] = mmt_search_below(s, s->space.num_values[i]);
        if (mmt_search_is_fresh(s, index))
            return true;
    }
    return false;
}

/* One knob to a neighbouring value, or, one time in three, two knobs to any value. */
static void move_point(struct mmt_search *s, int *index)
{
    int moves = mmt_search_below(s, 3) ? 1 : 2;
    for (int i = 0; i < moves; i++) {
        int knob = mmt_search_below(s, s->space.num_knobs),
            count = s->space.num_values[knob];
        int to = moves == 1 && mmt_search_below(s, 2)
                     ? index[knob] + (mmt_search_below(s, 2) ? 1 : -1)
                     : mmt_search_below(s, count);
        index[knob] = to < 0 ? 0 : to >= count ? count - 1 : to;
    }
}

/* Any point that was given or told before; false where there is none. */
static bool draw_seen(struct mmt_search *s, int *index)
{
    const struct mmt_search_seen *seen = &s->seen;
    if (seen->used == 0)
        return false;
    size_t slot = (size_t) (draw_number(s) % seen->room);
    while (!seen->taken[slot])
        slot = (slot + 1) % seen->room;
    for (int i = 0; i < s->space.num_knobs; i++)
        index[i] = seen->points[slot][i];
    return true;
}

/* Where legal points are rare, others lie next to those that are known. */
static bool try_beside(struct mmt_search *s, int *index, int tries)
{
    while (tries-- > 0 && draw_seen(s, index)) {
        move_point(s, index);
        if (mmt_search_is_fresh(s, index))
            return true;
    }
    return false;
}

static bool is_small(const struct mmt_search_space *space)
{
    double points = 1;
    for (int i = 0; i < space->num_knobs; i++)
        points *= space->num_values[i];
    return points <= 4e6;
}

bool mmt_search_random(struct mmt_search *s, int *index)
{
    return mmt_search_try_random(s, index, 20000) || try_beside(s, index, 5000) ||
           (is_small(&s->space) && propose_exhaustive(s, index));
}

/* ---- local: walk to better neighbours, restart where there are none -------------- */

static bool propose_local(struct mmt_search *s, int *index)
{
    bool lost = s->rejected > 8 * s->space.num_knobs;
    if (lost)
        s->here_seconds = INFINITY, s->rejected = 0;
    for (int try = 0; try < 2000 && isfinite(s->here_seconds); try++) {
        memcpy(index, s->here, sizeof s->here);
        move_point(s, index);
        if (mmt_search_is_fresh(s, index))
            return true;
    }
    return mmt_search_random(s, index);
}

/* ---- the public header ----------------------------------------------------------- */

static const struct mmt_strategy local = { .name = "local", .propose = propose_local };
static const struct mmt_strategy uniform = { .name = "random",
                                             .propose = mmt_search_random };
static const struct mmt_strategy exhaustive = { .name = "exhaustive",
                                                .propose = propose_exhaustive };

/* "auto" is the best of them by measurement (docs/lab/2026-11.md). */
static const struct {
    const char *name;
    const struct mmt_strategy *strategy;
} strategies[] = {
    { "auto", &mmt_strategy_model },
    { "model", &mmt_strategy_model },
    { "population", &mmt_strategy_population },
    { "local", &local },
    { "random", &uniform },
    { "exhaustive", &exhaustive },
};

const char *const mmt_search_names[] = { "auto",   "model",      "population", "local",
                                         "random", "exhaustive", NULL };

static const struct mmt_strategy *find_strategy(const char *name)
{
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
        if (!strcmp(strategies[i].name, name))
            return strategies[i].strategy;
    return NULL;
}

static bool keep_start(struct mmt_search *s, const int (*start)[MMT_SEARCH_MAX_KNOBS],
                       int num_start)
{
    if (num_start == 0)
        return true;
    s->start = malloc((size_t) num_start * sizeof *s->start);
    if (!s->start)
        return false;
    memcpy(s->start, start, (size_t) num_start * sizeof *s->start);
    s->num_start = num_start;
    return true;
}

struct mmt_search *mmt_search_create(const char *strategy,
                                     const struct mmt_search_space *space, uint64_t seed,
                                     const int (*start)[MMT_SEARCH_MAX_KNOBS],
                                     int num_start, mmt_error *err)
{
    const struct mmt_strategy *chosen = find_strategy(strategy);
    if (!chosen) {
        mmt_fail(err, MMT_ERROR_ARGUMENT,
                 "there is no search \"%s\"; there are auto, model, population, local, "
                 "random and exhaustive",
                 strategy);
        return NULL;
    }
    struct mmt_search *s = calloc(1, sizeof *s);
    if (!s || !grow_seen(&s->seen) || !keep_start(s, start, num_start)) {
        mmt_search_free(s);
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a search");
        return NULL;
    }
    s->space = *space;
    s->strategy = chosen;
    s->random = (seed + 1) * 0x9e3779b97f4a7c15ull | 1;
    s->here_seconds = INFINITY;
    return s;
}

static bool propose_exhaustively(struct mmt_search *s, int *index)
{
    while (s->next_start < s->num_start) {
        memcpy(index, s->start[s->next_start++], sizeof *s->start);
        if (mmt_search_is_fresh(s, index))
            return true;
    }
    return s->strategy->propose(s, index);
}

bool mmt_search_ask(struct mmt_search *s, int *index)
{
    if (!propose_exhaustively(s, index) || !mark_seen(s, index))
        return false;
    return !s->strategy->given || s->strategy->given(s, index);
}

void mmt_search_tell(struct mmt_search *s, const int *index, double seconds)
{
    mark_seen(s, index);
    if (s->strategy->told)
        s->strategy->told(s, index, seconds);
    s->rejected++;
    if (!(seconds < s->here_seconds))
        return;
    memset(s->here, 0, sizeof s->here);
    memcpy(s->here, index, (size_t) s->space.num_knobs * sizeof *index);
    s->here_seconds = seconds;
    s->rejected = 0;
}

void mmt_search_free(struct mmt_search *s)
{
    if (!s)
        return;
    if (s->strategy && s->strategy->finish)
        s->strategy->finish(s);
    free(s->seen.points);
    free(s->seen.taken);
    free(s->start);
    free(s);
}
