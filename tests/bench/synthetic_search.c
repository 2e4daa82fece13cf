/* The default search on spaces that are made up and unlike each other: knobs that
 * multiply, knobs that all interact, mostly illegal, mostly flat, a needle, cliffs, three
 * knobs, fourteen, twenty points in all, values that are mere names, a rough one.
 * Nowhere is it worse than chance or far behind any other strategy, and over all of them
 * it is better than every other. */
#include <math.h>

#include "tests/support/test.h"
#include "tuner/search/search.h"

enum { VALUES = 8, SEEDS = 5, TRIES = 150 };

struct space;

struct landscape {
    const char *name;
    int num_knobs, num_values[MMT_SEARCH_MAX_KNOBS];
    double pairs; /* the part of all pairs of knobs that interact */
    double (*seconds)(const struct space *space, const int *index);
    bool (*legal)(void *space, const int *index);
};

struct space {
    struct landscape landscape;
    double values[MMT_SEARCH_MAX_KNOBS][VALUES];
    double alone[MMT_SEARCH_MAX_KNOBS][VALUES];
    double together[MMT_SEARCH_MAX_KNOBS][MMT_SEARCH_MAX_KNOBS][VALUES][VALUES];
};

/* ---- chance: a number between 0 and 1 for each key -------------------------------- */

static double chance(uint64_t key)
{
    key += 0x9e3779b97f4a7c15;
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9;
    key = (key ^ key >> 27) * 0x94d049bb133111eb;
    return (double) ((key ^ key >> 31) >> 11) * 0x1p-53;
}

static double whim(const struct space *space, const int *index)
{
    uint64_t key = 1;
    for (int i = 0; i < space->landscape.num_knobs; i++)
        key = key * 1000003 + (uint64_t) index[i];
    return chance(key);
}

static double noise(const struct space *space, const int *index)
{
    return 1 + 0.02 * whim(space, index);
}

/* ---- landscapes ------------------------------------------------------------------ */

static double multiplied(const struct space *space, const int *index)
{
    double product = noise(space, index);
    for (int i = 0; i < space->landscape.num_knobs; i++) {
        product *= space->alone[i][index[i]];
        for (int j = 0; j < i; j++)
            product *= space->together[i][j][index[i]][index[j]];
    }
    return product;
}

/* Neighbours have changed places, so that no order of values means much. */
static double named(const struct space *space, const int *index)
{
    int other[MMT_SEARCH_MAX_KNOBS];
    for (int i = 0; i < space->landscape.num_knobs; i++) {
        int last = space->landscape.num_values[i] - 1;
        other[i] = (index[i] ^ 1) > last ? last : index[i] ^ 1;
    }
    return multiplied(space, other);
}

/* Every point for itself, more than the knobs. */
static double rough(const struct space *space, const int *index)
{
    return pow(multiplied(space, index), 0.3) * exp(0.9 * whim(space, index));
}

static double flat(const struct space *space, const int *index)
{
    return pow(multiplied(space, index), 0.04);
}

/* Twice as fast where five knobs are right, a little where four are. */
static double needle(const struct space *space, const int *index)
{
    int right = 0;
    for (int i = 0; i < 5; i++)
        right += index[i] == (i * 7 + 2) % space->landscape.num_values[i];
    double seconds = pow(multiplied(space, index), 0.15);
    return right == 5 ? 0.5 * seconds : right == 4 ? 0.8 * seconds : seconds;
}

/* Four times as slow beyond a limit that the best lie close to. */
static double cliffs(const struct space *space, const int *index)
{
    double registers = space->values[0][index[0]] * space->values[1][index[1]];
    double reuse = 1 + 64 / registers;
    return multiplied(space, index) * reuse * (registers > 128 ? 4 : 1);
}

static bool any(void *space, const int *index)
{
    (void) space, (void) index;
    return true;
}

/* One point in a hundred. */
static bool rarely(void *ctx, const int *index)
{
    const struct space *space = ctx;
    double product = 1;
    for (int i = 0; i < 4; i++)
        product *= space->values[i][index[i]];
    for (int i = 4; i + 1 < space->landscape.num_knobs; i += 2)
        if (index[i] > index[i + 1])
            return false;
    return product == 64;
}

static const struct landscape landscapes[] = {
    { "multiplied", 10, { 5, 5, 4, 4, 4, 3, 3, 3, 2, 2 }, 0.2, multiplied, any },
    { "all interact", 8, { 6, 6, 5, 5, 4, 4, 3, 3 }, 1, multiplied, any },
    { "mostly illegal", 10, { 6, 6, 6, 6, 4, 4, 4, 4, 3, 3 }, 0.2, multiplied, rarely },
    { "mostly flat", 9, { 5, 5, 4, 4, 4, 3, 3, 3, 2 }, 0.2, flat, any },
    { "a needle", 8, { 5, 5, 4, 4, 4, 3, 3, 3 }, 0.2, needle, any },
    { "cliffs", 9, { 8, 8, 5, 4, 4, 3, 3, 2, 2 }, 0.2, cliffs, any },
    { "three knobs", 3, { 8, 8, 8 }, 1, multiplied, any },
    { "fourteen knobs",
      14,
      { 5, 4, 4, 4, 4, 3, 3, 3, 3, 3, 2, 2, 2, 2 },
      0.15,
      multiplied,
      any },
    { "twenty points", 2, { 5, 4 }, 1, multiplied, any },
    { "mere names", 8, { 6, 6, 5, 5, 4, 4, 3, 3 }, 0.2, named, any },
    { "rough", 8, { 6, 6, 5, 5, 4, 4, 3, 3 }, 0.2, rough, any },
};

static void make(struct space *space, const struct landscape *landscape, uint64_t key)
{
    space->landscape = *landscape;
    for (int i = 0; i < space->landscape.num_knobs; i++) {
        int count = space->landscape.num_values[i];
        double best = chance(++key) * (count - 1), slope = chance(++key);
        for (int v = 0; v < count; v++) {
            space->values[i][v] = 1 << v;
            space->alone[i][v] = 1 + 0.25 * slope * fabs(v - best);
        }
        for (int j = 0; j < i; j++) {
            bool interact = chance(++key) < space->landscape.pairs;
            for (int v = 0; v < VALUES; v++)
                for (int w = 0; w < VALUES; w++)
                    space->together[i][j][v][w] =
                        interact ? exp(0.5 * chance(++key) - 0.25) : 1;
        }
    }
}

/* ---- searching ------------------------------------------------------------------- */

/* The least time after TRIES, the logarithms' mean over the seeds. */
static double search(struct space *space, const char *strategy)
{
    const double *values[MMT_SEARCH_MAX_KNOBS];
    const char *names[MMT_SEARCH_MAX_KNOBS];
    double sum = 0;
    for (int i = 0; i < space->landscape.num_knobs; i++)
        values[i] = space->values[i], names[i] = "KNOB";
    struct mmt_search_space view = { .num_knobs = space->landscape.num_knobs,
                                     .num_values = space->landscape.num_values,
                                     .names = names,
                                     .values = values,
                                     .legal = space->landscape.legal,
                                     .ctx = space };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct mmt_search *s = mmt_search_create(strategy, &view, seed, NULL, 0, &err);
        double best = INFINITY;
        int index[MMT_SEARCH_MAX_KNOBS];
        for (int i = 0; i < TRIES && CHECK(s != NULL) && mmt_search_ask(s, index); i++) {
            double seconds = space->landscape.seconds(space, index);
            mmt_search_tell(s, index, seconds);
            best = fmin(best, seconds);
        }
        mmt_search_free(s);
        sum += log(best) / SEEDS;
    }
    return exp(sum);
}

int main(void)
{
    static const char *const others[] = { "random", "local", "population" };
    static struct space space;
    double lead[3] = { 0 }; /* logarithms of our speed-ups over theirs */

    for (size_t i = 0; i < sizeof landscapes / sizeof *landscapes; i++) {
        make(&space, &landscapes[i], 1000 * i);
        double ours = search(&space, mmt_search_names[0]);
        printf("%-16s %s %.4f", landscapes[i].name, mmt_search_names[0], ours);
        for (int j = 0; j < 3; j++) {
            double theirs = search(&space, others[j]);
            printf(", %s %.4f", others[j], theirs);
            lead[j] += log(theirs / ours);
            CHECK(ours <= (j > 0 ? 1.1 : 1) * theirs);
        }
        printf("\n");
        fflush(stdout);
    }
    for (int j = 0; j < 3; j++)
        CHECK(lead[j] > 0);
    return test_end("synthetic_search");
}
