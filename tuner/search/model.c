/* The model-guided strategy: a Gaussian process over the logarithms of the knobs guesses
 * how far a candidate is behind the best, and the next candidate is the one of which most
 * improvement can be expected (Jones, Schonlau and Welch, J. Global Optimization 13,
 * 1998), among the neighbours of the best so far and random points. Points whose time is
 * not known yet count with the time that is expected of them, so that several can be
 * under way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/search/strategy.h"
#include "tuner/search/surrogate.h"

enum {
    FIRST = 8,     /* random points before the model is asked */
    LEADERS = 6,   /* the best so far, whose neighbours are looked at */
    PAIRS = 2,     /* of them, those of which two knobs are changed at once */
    MUTANTS = 150, /* points with two to four knobs of a known one changed */
    RANDOM = 350,  /* points from anywhere */
    POOL = 3000,
    LEARN_EVERY = 8, /* tells between two fits of the scales */
    LEARN_FROM = 128 /* points, the fastest */
};

/* Of times, as the model sees them: 0 would be their logarithms, 1 the speeds. */
static const double power = 0.5;

struct known {
    int index[MMT_SEARCH_MAX_KNOBS];
    double log_seconds; /* as expected while `pending`; NAN where rejected */
    bool pending;
};

/* A candidate point, and the most improvement that can be expected of it. */
struct candidate {
    int index[MMT_SEARCH_MAX_KNOBS];
    double promise;
};

struct place {
    double log_seconds;
    int place;
};

struct mmt_model {
    struct known *points;  /* as they came */
    struct place *fastest; /* their places, the fastest first */
    int count, capacity;
    int told, learned_at;
    double log_best;
    int dimensions;
    struct mmt_surrogate *surrogate;
    float *x, features[MMT_SEARCH_MAX_KNOBS][UINT8_MAX];
    double *y;
    struct candidate *pool;
    int pooled;
};

/* ---- features -------------------------------------------------------------------- */

/* Logarithms where all values are positive, else 0 to 2 over their range. */
static double feature_of(const struct mmt_search_space *space, int knob, int value)
{
    const double *values = space->values[knob];
    double least = values[0], most = values[0];

    for (int i = 1; i < space->num_values[knob]; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    if (least > 0)
        return log2(values[value] / least);
    return most > least ? 2 * (values[value] - least) / (most - least) : 0;
}

static void add_features(const struct mmt_search_space *space, const struct mmt_model *m,
                         const int *index, float *x)
{
    double derived[MMT_SEARCH_MAX_FEATURES];
    int count = space->features ? space->features(space->ctx, index, derived) : 0;

    for (int i = 0; i < space->num_knobs; i++)
        *x++ = m->features[i][index[i]];
    for (int i = 0; i < count; i++)
        *x++ = (float) derived[i];
}

static void compute_features(const struct mmt_search_space *space, struct mmt_model *m)
{
    for (int i = 0; i < space->num_knobs; i++)
        for (int value = 0; value < space->num_values[i]; value++)
            m->features[i][value] = (float) feature_of(space, i, value);
}

static int count_dimensions(const struct mmt_search_space *space)
{
    double derived[MMT_SEARCH_MAX_FEATURES];
    int none[MMT_SEARCH_MAX_KNOBS] = { 0 };
    return space->num_knobs +
           (space->features ? space->features(space->ctx, none, derived) : 0);
}

/* ---- what is known --------------------------------------------------------------- */

static void finish_model(struct mmt_search *search)
{
    struct mmt_model *m = search->model;
    if (!m)
        return;
    mmt_surrogate_free(m->surrogate);
    free(m->points);
    free(m->fastest);
    free(m->x);
    free(m->y);
    free(m->pool);
    free(m);
    search->model = NULL;
}

static struct mmt_model *model_of(struct mmt_search *search)
{
    if (search->model)
        return search->model;
    struct mmt_model *m = search->model = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->dimensions = count_dimensions(&search->space);
    m->surrogate = mmt_surrogate_create(m->dimensions);
    m->x = malloc(sizeof *m->x * (size_t) m->dimensions * MMT_SURROGATE_POINTS);
    m->y = malloc(sizeof *m->y * MMT_SURROGATE_POINTS);
    m->pool = malloc(sizeof *m->pool * POOL);
    if (!m->surrogate || !m->x || !m->y || !m->pool)
        finish_model(search);
    else
        compute_features(&search->space, m);
    return search->model;
}

static struct known *find_known(struct mmt_model *m, const int *index, int knobs)
{
    for (int i = m->count - 1; i >= 0; i--)
        if (!memcmp(m->points[i].index, index, sizeof *index * (size_t) knobs))
            return &m->points[i];
    return NULL;
}

static struct known *add_known(struct mmt_model *m, const int *index, int knobs)
{
    if (m->count == m->capacity) {
        int capacity = m->capacity ? 2 * m->capacity : 256;
        struct known *points = realloc(m->points, sizeof *points * (size_t) capacity);
        if (!points)
            return NULL;
        m->points = points;
        struct place *fastest = realloc(m->fastest, sizeof *fastest * (size_t) capacity);
        if (!fastest)
            return NULL;
        m->fastest = fastest;
        m->capacity = capacity;
    }
    struct known *point = &m->points[m->count++];
    *point = (struct known){ .log_seconds = NAN };
    memcpy(point->index, index, sizeof *index * (size_t) knobs);
    return point;
}

/* What was rejected last; equals as they came. */
static int faster_first(const void *a, const void *b)
{
    const struct place *one = a, *two = b;
    double x = one->log_seconds, y = two->log_seconds;
    if (isnan(x) != isnan(y))
        return isnan(x) - isnan(y);
    return x > y ? 1 : x < y ? -1 : one->place - two->place;
}

static int earlier_first(const void *a, const void *b)
{
    return ((const struct place *) a)->place - ((const struct place *) b)->place;
}

static void order_by_time(struct mmt_model *m)
{
    for (int i = 0; i < m->count; i++)
        m->fastest[i] = (struct place){ m->points[i].log_seconds, i };
    qsort(m->fastest, (size_t) m->count, sizeof *m->fastest, faster_first);
}

/* The fastest but for `rank` others. */
static const struct known *known_of_rank(const struct mmt_model *m, int rank)
{
    return &m->points[m->fastest[rank].place];
}

/* ---- the model ------------------------------------------------------------------- */

/* The slowest time that was measured stands for what was rejected. */
static double slowest_known(const struct mmt_model *m)
{
    double worst = NAN;
    for (int i = 0; i < m->count; i++)
        worst = fmax(worst, m->points[i].log_seconds);
    return worst;
}

/* What the model sees of a time, 0 for the best: between logarithm and speed (Box and
 * Cox, J. Royal Statistical Society B 26, 1964), so that what is slow differs little. */
static double to_loss(const struct mmt_model *m, double log_seconds)
{
    return (1 - exp(power * (m->log_best - log_seconds))) / power;
}

static double from_loss(const struct mmt_model *m, double loss)
{
    return m->log_best - log(fmax(1 - power * loss, 1e-3)) / power;
}

static void to_rows(struct mmt_search *search, struct mmt_model *m,
                    const struct place *places, int count, double worst)
{
    for (int i = 0; i < count; i++) {
        const struct known *point = &m->points[places[i].place];
        add_features(&search->space, m, point->index, m->x + i * m->dimensions);
        m->y[i] = to_loss(m, isnan(point->log_seconds) ? worst : point->log_seconds);
    }
}

static void learn_scales(struct mmt_search *search, struct mmt_model *m, double worst)
{
    int count = m->count < LEARN_FROM ? m->count : LEARN_FROM;
    if (m->told < m->learned_at + LEARN_EVERY + m->told / 16)
        return;
    m->learned_at = m->told;
    to_rows(search, m, m->fastest, count, worst);
    mmt_surrogate_learn(m->surrogate, m->x, m->y, count);
}

/* Fits what is known, the fastest where there is more than the model can hold; in the
 * order in which it came, so that little has to be done again. */
static void fit_model(struct mmt_search *search, struct mmt_model *m)
{
    struct place held[MMT_SURROGATE_POINTS];
    int count = m->count < MMT_SURROGATE_POINTS ? m->count : MMT_SURROGATE_POINTS;
    double worst = slowest_known(m);

    order_by_time(m);
    m->log_best = known_of_rank(m, 0)->log_seconds;
    learn_scales(search, m, worst);
    memcpy(held, m->fastest, sizeof *held * (size_t) count);
    qsort(held, (size_t) count, sizeof *held, earlier_first);
    to_rows(search, m, held, count, worst);
    mmt_surrogate_fit(m->surrogate, m->x, m->y, count);
}

/* Of a loss that is expected to be `mean`. */
static double expected_improvement(double mean, double deviation)
{
    double z = -mean / deviation;
    return -mean * 0.5 * erfc(-z * M_SQRT1_2) +
           deviation * exp(-z * z / 2) / sqrt(2 * M_PI);
}

/* ---- candidates ------------------------------------------------------------------ */

static void pool_candidates(struct mmt_search *search, struct mmt_model *m,
                            const int *index)
{
    if (m->pooled < POOL && mmt_search_is_fresh(search, index))
        memcpy(m->pool[m->pooled++].index, index, sizeof m->pool->index);
}

/* All points that differ from `index` in one knob of `first` and up and, with `pairs`,
 * one more after it. */
static void pool_neighbours(struct mmt_search *search, struct mmt_model *m, int *index,
                            int first, bool pairs)
{
    for (int knob = first; knob < search->space.num_knobs; knob++) {
        int old = index[knob];
        for (int value = 0; value < search->space.num_values[knob]; value++) {
            if (value == old)
                continue;
            index[knob] = value;
            pool_candidates(search, m, index);
            if (pairs)
                pool_neighbours(search, m, index, knob + 1, false);
        }
        index[knob] = old;
    }
}

/* Random changes to points that are known to be good. */
static void pool_mutants(struct mmt_search *search, struct mmt_model *m)
{
    int index[MMT_SEARCH_MAX_KNOBS],
        good = m->count < 3 * LEADERS ? m->count : 3 * LEADERS;

    for (int i = 0; i < MUTANTS * 4; i++) {
        memcpy(index, known_of_rank(m, mmt_search_below(search, good))->index,
               sizeof index);
        for (int change = 2 + mmt_search_below(search, 3); change > 0; change--) {
            int knob = mmt_search_below(search, search->space.num_knobs);
            index[knob] = mmt_search_below(search, search->space.num_values[knob]);
        }
        pool_candidates(search, m, index);
    }
}

static void fill_pool(struct mmt_search *search, struct mmt_model *m)
{
    int index[MMT_SEARCH_MAX_KNOBS];

    m->pooled = 0;
    for (int i = 0; i < RANDOM; i++)
        if (mmt_search_try_random(search, index, 40))
            memcpy(m->pool[m->pooled++].index, index, sizeof index);
    pool_mutants(search, m);
    for (int i = 0; i < LEADERS && i < m->count; i++) {
        memcpy(index, known_of_rank(m, i)->index, sizeof index);
        pool_neighbours(search, m, index, 0, i < PAIRS);
    }
}

/* ---- the strategy ---------------------------------------------------------------- */

static int most_promising_first(const void *a, const void *b)
{
    double x = ((const struct candidate *) a)->promise,
           y = ((const struct candidate *) b)->promise;
    return (x < y) - (x > y);
}

/* The pool, ordered by what each point could promise at most. */
static void order_pool(struct mmt_search *search, struct mmt_model *m)
{
    float x[MMT_SURROGATE_DIMENSIONS];
    double mean, deviation;

    for (int i = 0; i < m->pooled; i++) {
        add_features(&search->space, m, m->pool[i].index, x);
        mmt_surrogate_guess(m->surrogate, x, &mean, &deviation);
        m->pool[i].promise = expected_improvement(mean, deviation);
    }
    qsort(m->pool, (size_t) m->pooled, sizeof *m->pool, most_promising_first);
}

static bool propose_by_model(struct mmt_search *search, int *index)
{
    struct mmt_model *m = model_of(search);
    float x[MMT_SURROGATE_DIMENSIONS];
    double most = -1, mean, deviation;

    if (!m || m->count < FIRST || isnan(slowest_known(m)))
        return mmt_search_random(search, index);
    fit_model(search, m);
    fill_pool(search, m);
    order_pool(search, m);
    for (int i = 0; i < m->pooled && m->pool[i].promise > most; i++) {
        add_features(&search->space, m, m->pool[i].index, x);
        mmt_surrogate_predict(m->surrogate, x, &mean, &deviation);
        double gain = expected_improvement(mean, deviation);
        if (gain > most) {
            most = gain;
            memcpy(index, m->pool[i].index, sizeof m->pool->index);
        }
    }
    return most >= 0 || mmt_search_random(search, index);
}

static bool is_given(struct mmt_search *search, const int *index)
{
    struct mmt_model *m = model_of(search);
    struct known *point = m ? add_known(m, index, search->space.num_knobs) : NULL;
    float x[MMT_SURROGATE_DIMENSIONS];
    double loss, deviation;

    if (!point)
        return false;
    point->pending = true;
    if (m->learned_at > 0) {
        add_features(&search->space, m, index, x);
        mmt_surrogate_predict(m->surrogate, x, &loss, &deviation);
        point->log_seconds = from_loss(m, loss);
    }
    return true;
}

static void tell_model(struct mmt_search *search, const int *index, double seconds)
{
    struct mmt_model *m = model_of(search);
    if (!m)
        return;
    struct known *point = find_known(m, index, search->space.num_knobs);
    if (!point)
        point = add_known(m, index, search->space.num_knobs);
    if (!point)
        return;
    point->pending = false;
    point->log_seconds = isfinite(seconds) && seconds > 0 ? log(seconds) : NAN;
    m->told++;
}

const struct mmt_strategy mmt_strategy_model = {
    .name = "model",
    .propose = propose_by_model,
    .given = is_given,
    .told = tell_model,
    .finish = finish_model,
};
