/* Which few of many kernels serve all problems best: mmt_fit_choose of fit.h. */
#include <math.h>
#include <string.h>

#include "tuner/fit.h"

/* How good a set of kernels is: problems that nobody serves, then by how much the worst
 * loss is above what is allowed, then the mean. */
struct merit {
    int unserved;
    double worst, above, mean;
};

/* What is no difference between two sets: a kernel that gains less is not worth keeping.
 */
static const double slack = 0.0002;

/* Once the least worst loss is known, a tenth more is allowed for the sake of the others:
 * it hangs on one problem, and the mean on all. */
static const double spare = 0.1;

struct choice {
    const double *times, *best;
    const bool *slow; /* NULL: none is */
    int rows, cols;
    double allowed; /* the worst loss that is as good as none */
    int *chosen, count;
};

static double loss(const struct choice *choice, int row, int col)
{
    return choice->times[(size_t) row * choice->cols + col] / choice->best[col] - 1;
}

static bool is_slow(const struct choice *choice, int row)
{
    return choice->slow && choice->slow[row];
}

/* Whether there is room for a row in the place of `instead` (-1: besides the chosen). */
static bool admits(const struct choice *choice, int row, int instead)
{
    int others = 0;
    for (int i = 0; i < choice->count; i++)
        others += i != instead && is_slow(choice, choice->chosen[i]);
    return !is_slow(choice, row) || others < MMT_FIT_MOST_SLOW;
}

/* Of the chosen with `extra` (-1: none) in the place of `instead` (-1: besides them). */
static struct merit merit_of(const struct choice *choice, int extra, int instead)
{
    struct merit merit = { 0 };
    int served = 0;

    for (int col = 0; col < choice->cols; col++) {
        double least = extra < 0 ? INFINITY : loss(choice, extra, col);
        for (int i = 0; i < choice->count; i++)
            if (i != instead)
                least = fmin(least, loss(choice, choice->chosen[i], col));
        if (isinf(least)) {
            merit.unserved++;
            continue;
        }
        merit.worst = fmax(merit.worst, least);
        merit.mean += least;
        served++;
    }
    merit.above = fmax(merit.worst - choice->allowed, 0);
    merit.mean /= served ? served : 1;
    return merit;
}

static bool better(const struct merit *a, const struct merit *b, double by)
{
    if (a->unserved != b->unserved)
        return a->unserved < b->unserved;
    if (fabs(a->above - b->above) > by)
        return a->above < b->above;
    return a->mean < b->mean - by;
}

static bool covered(const struct choice *choice, int col, double tolerance)
{
    for (int i = 0; i < choice->count; i++)
        if (loss(choice, choice->chosen[i], col) <= tolerance)
            return true;
    return false;
}

static int newly_covered(const struct choice *choice, int row, double tolerance)
{
    int count = 0;
    for (int col = 0; col < choice->cols; col++)
        count += loss(choice, row, col) <= tolerance && !covered(choice, col, tolerance);
    return count;
}

static bool all_covered(const struct choice *choice, double tolerance)
{
    for (int col = 0; col < choice->cols; col++) {
        bool served = false;
        for (int row = 0; row < choice->rows && !served; row++)
            served = !isinf(loss(choice, row, col));
        if (served && !covered(choice, col, tolerance))
            return false;
    }
    return true;
}

/* Serves every problem that can be served with a loss of at most `tolerance`, each time
 * by the kernel that does so for most of what is left; false where `most` do not suffice.
 */
static bool cover(struct choice *choice, int most, double tolerance)
{
    choice->count = 0;
    for (;;) {
        int row = -1, gain = 0;
        for (int r = 0; r < choice->rows; r++) {
            int covers = admits(choice, r, -1) ? newly_covered(choice, r, tolerance) : 0;
            if (covers > gain) {
                gain = covers;
                row = r;
            }
        }
        if (row < 0)
            return all_covered(choice, tolerance);
        if (choice->count == most)
            return false;
        choice->chosen[choice->count++] = row;
    }
}

/* The set for the least tolerance for which covering succeeds. Tried upwards: covering
 * may fail with a larger tolerance than one with which it succeeds. */
static void start(struct choice *choice, int most)
{
    const double least = 0.002, largest = 100, ratio = 1.1;

    for (double tolerance = least; tolerance < largest; tolerance *= ratio)
        if (cover(choice, most, tolerance))
            return;
    choice->count = 0;
}

/* Adds the kernel that helps most; false where none helps. */
static bool grow(struct choice *choice, struct merit *now)
{
    struct merit best = *now;
    int row = -1;

    for (int r = 0; r < choice->rows; r++) {
        if (!admits(choice, r, -1))
            continue;
        struct merit with = merit_of(choice, r, -1);
        if (row < 0 ? better(&with, now, slack) : better(&with, &best, 0)) {
            best = with;
            row = r;
        }
    }
    if (row < 0)
        return false;
    choice->chosen[choice->count++] = row;
    *now = best;
    return true;
}

/* Puts one kernel in another's place where that helps; false where no exchange does. */
static bool exchange(struct choice *choice, struct merit *now)
{
    for (int i = 0; i < choice->count; i++)
        for (int r = 0; r < choice->rows; r++) {
            if (!admits(choice, r, i))
                continue;
            struct merit with = merit_of(choice, r, i);
            if (better(&with, now, slack)) {
                choice->chosen[i] = r;
                *now = with;
                return true;
            }
        }
    return false;
}

/* The row of those that are slow, or of those that are not, that serves best in the place
 * of `instead`; -1 where there is none. */
static int find_best(const struct choice *choice, bool slow, int instead,
                     struct merit *best)
{
    int row = -1;

    for (int r = 0; r < choice->rows; r++) {
        if (is_slow(choice, r) != slow)
            continue;
        struct merit with = merit_of(choice, r, instead);
        if (row < 0 || better(&with, best, 0)) {
            *best = with;
            row = r;
        }
    }
    return row;
}

/* Gives up a slow kernel for another slow one elsewhere, where that helps: no exchange of
 * one alone does that. */
static bool trade(struct choice *choice, struct merit *now)
{
    struct merit with;

    for (int i = 0; i < choice->count; i++) {
        const int given_up = choice->chosen[i];
        const int instead =
            is_slow(choice, given_up) ? find_best(choice, false, i, &with) : -1;
        if (instead < 0)
            continue;
        choice->chosen[i] = instead;
        for (int j = 0; j < choice->count; j++) {
            if (j == i || is_slow(choice, choice->chosen[j]))
                continue;
            const int row = find_best(choice, true, j, &with);
            if (!better(&with, now, slack))
                continue;
            choice->chosen[j] = row;
            *now = with;
            return true;
        }
        choice->chosen[i] = given_up;
    }
    return false;
}

/* Drops a kernel without which nothing is lost. */
static bool shrink(struct choice *choice, struct merit *now)
{
    for (int i = 0; i < choice->count && choice->count > 1; i++) {
        struct merit without = merit_of(choice, -1, i);
        if (better(now, &without, slack))
            continue;
        memmove(choice->chosen + i, choice->chosen + i + 1,
                (size_t) (choice->count - i - 1) * sizeof *choice->chosen);
        choice->count--;
        *now = without;
        return true;
    }
    return false;
}

/* Until nothing helps. */
static struct merit improve(struct choice *choice, int most)
{
    struct merit now = merit_of(choice, -1, -1);

    while (choice->count < most && grow(choice, &now))
        continue;
    for (int round = 0; round < 4 * most; round++)
        if (!exchange(choice, &now) && !trade(choice, &now))
            break;
    while (shrink(choice, &now))
        continue;
    return now;
}

int mmt_fit_choose(const double *times, const double *best, const bool *slow, int rows,
                   int cols, int most, int *chosen, double *worst)
{
    struct choice choice = { .times = times,
                             .best = best,
                             .slow = slow,
                             .rows = rows,
                             .cols = cols,
                             .chosen = chosen };

    start(&choice, most);
    struct merit now = improve(&choice, most);
    choice.allowed = (1 + spare) * now.worst;
    now = improve(&choice, most);
    *worst = now.unserved ? INFINITY : now.worst;
    return choice.count;
}
