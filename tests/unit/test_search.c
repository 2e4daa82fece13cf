/* The strategies on a small space that is made up: what holds for every one of them. */
#include <math.h>
#include <string.h>

#include "tests/support/test.h"
#include "tuner/search/search.h"

enum { KNOBS = 4, POINTS = 6 * 5 * 4 * 3 };

static const int num_values[KNOBS] = { 6, 5, 4, 3 };
static const char *const names[KNOBS] = { "A", "B", "C", "D" };
static const double a[] = { 1, 2, 4, 8, 16, 32 }, b[] = { 8, 16, 32, 64, 128 },
                    c[] = { 0, 1, 2, 3 }, d[] = { 3, 1, 2 };
static const double *const values[KNOBS] = { a, b, c, d };

/* A third of the points are illegal. */
static bool legal(void *ctx, const int *index)
{
    int *asked = ctx;
    ++*asked;
    return (index[0] + index[1] + index[2]) % 3 != 0;
}

static double seconds(const int *index)
{
    double x = index[0] - 3.0, y = index[1] - 2.0, z = index[2] - 1.0;
    return 1e-3 * (1 + x * x + y * y + 0.5 * z * z + 0.2 * (index[3] != 1) + 0.1 * x * y);
}

static int place(const int *index)
{
    return ((index[0] * 5 + index[1]) * 4 + index[2]) * 3 + index[3];
}

static int asked;

static struct mmt_search *start(const char *strategy, uint64_t seed)
{
    static struct mmt_search_space space = { .num_knobs = KNOBS,
                                             .num_values = num_values,
                                             .names = names,
                                             .values = values,
                                             .legal = legal,
                                             .ctx = &asked };
    static const int first[2][MMT_SEARCH_MAX_KNOBS] = { { 0, 0, 0, 0 }, { 2, 2, 0, 2 } };
    struct mmt_search *search = mmt_search_create(strategy, &space, seed, first, 2, &err);
    CHECK(search != NULL);
    return search;
}

static int count_legal(void)
{
    int count = 0;
    for (int i = 0; i < POINTS; i++) {
        int index[KNOBS] = { i / 60, i / 12 % 5, i / 3 % 4, i % 3 };
        count += legal(&asked, index);
    }
    return count;
}

/* Every legal point once and no other, the starts first, several under way at a time; a
 * seventh of the tells are rejections. */
static void test_all_points(const char *strategy)
{
    struct mmt_search *search = start(strategy, 3);
    bool seen[POINTS] = { false };
    int under_way[5][MMT_SEARCH_MAX_KNOBS] = { 0 }, waiting = 0, given = 0;
    for (;;) {
        int *index = under_way[waiting];
        bool more = mmt_search_ask(search, index);
        if (more) {
            CHECK(legal(&asked, index) && !seen[place(index)]);
            CHECK(given > 0 || place(index) == ((2 * 5 + 2) * 4 + 0) * 3 + 2);
            seen[place(index)] = true;
            given++;
            waiting++;
        }
        if (more && waiting < 5)
            continue;
        if (!waiting)
            break;
        index = under_way[--waiting];
        mmt_search_tell(search, index, place(index) % 7 ? seconds(index) : INFINITY);
    }
    CHECK_EQ_INT(given, count_legal());
    mmt_search_free(search);
}

static int tries_to_best(const char *strategy, uint64_t seed)
{
    struct mmt_search *search = start(strategy, seed);
    int index[MMT_SEARCH_MAX_KNOBS] = { 0 }, tries = 0;
    unsigned sum = 0;
    while (mmt_search_ask(search, index) && ++tries) {
        sum = sum * 31 + (unsigned) place(index);
        mmt_search_tell(search, index, seconds(index));
        if (seconds(index) < 1.0006e-3 * (1 + 0.5) && index[0] == 3 && index[1] == 2)
            break;
    }
    mmt_search_free(search);
    return tries * 100000 + (int) (sum % 100000);
}

/* The same seed gives the same candidates; the guided ones need fewer than chance. */
static void test_repeats_and_learns(const char *strategy, bool guided)
{
    int total = 0, chance = 0;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        int first = tries_to_best(strategy, seed);
        CHECK_EQ_INT(tries_to_best(strategy, seed), first);
        total += first / 100000;
        chance += tries_to_best("random", seed) / 100000;
    }
    if (guided)
        CHECK(total < 0.8 * chance);
}

/* What an earlier run measured is not proposed again. */
static void test_told_unasked(const char *strategy)
{
    struct mmt_search *search = start(strategy, 1);
    int known[MMT_SEARCH_MAX_KNOBS] = { 3, 2, 0, 1 }, index[MMT_SEARCH_MAX_KNOBS] = { 0 };
    mmt_search_tell(search, known, seconds(known));
    while (mmt_search_ask(search, index)) {
        CHECK(place(index) != place(known));
        mmt_search_tell(search, index, seconds(index));
    }
    mmt_search_free(search);
}

/* A point in 16^10 of a space of 16^12 is legal, in clusters: what no draw at random and
 * no walk over all points finds. */
static bool legal_rarely(void *ctx, const int *index)
{
    int *count = ctx, away = 0;
    for (int i = 0; i < 12; i++)
        away += index[i] != i;
    ++*count;
    return away <= 2;
}

/* Points are found beside those that are known, with no end of the search in sight and
 * without many questions; nothing is told, as of candidates that wait for a compiler. */
static void test_rare_points(const char *strategy)
{
    static const int sixteen[12] = { 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16 };
    static const double value[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 };
    static const char *const name[12] = { "A", "B", "C", "D", "E", "F",
                                          "G", "H", "I", "J", "K", "L" };
    static const int first[1][MMT_SEARCH_MAX_KNOBS] = { { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                                          10, 11 } };
    const double *all[12];
    int count = 0, index[MMT_SEARCH_MAX_KNOBS] = { 0 };
    for (int i = 0; i < 12; i++)
        all[i] = value;
    const struct mmt_search_space space = { .num_knobs = 12,
                                            .num_values = sixteen,
                                            .names = name,
                                            .values = all,
                                            .legal = legal_rarely,
                                            .ctx = &count };
    struct mmt_search *search = mmt_search_create(strategy, &space, 5, first, 1, &err);
    for (int i = 0; i < 60; i++)
        CHECK(mmt_search_ask(search, index));
    CHECK(count < 60 * 50000);
    mmt_search_free(search);
}

int main(void)
{
    mmt_error err;
    const struct mmt_search_space none = { 0 };
    CHECK_REFUSED(mmt_search_create("magic", &none, 1, NULL, 0, &err), MMT_ERROR_ARGUMENT,
                  "population");
    for (int i = 0; mmt_search_names[i]; i++) {
        const char *name = mmt_search_names[i];
        bool guided = strcmp(name, "random") && strcmp(name, "exhaustive");
        test_all_points(name);
        test_told_unasked(name);
        test_repeats_and_learns(name, guided);
        if (strcmp(name, "exhaustive"))
            test_rare_points(name);
    }
    return test_end("search");
}
