/* What the nearest shape that was tuned tells of a problem. */
#include <math.h>
#include <stdlib.h>

#include "runtime/select_internal.h"

static double octaves_between(int64_t a, int64_t b)
{
    return a == b ? 0 : log2((double) (a > 0 ? a : 1) / (double) (b > 0 ? b : 1));
}

/* How unlike two shapes are: squared distance of their logarithms, with a little for
 * leading dimensions and what is done to C that one of them does not share. */
static double problem_distance(const mmt_problem *a, const mmt_problem *b)
{
    double m = octaves_between(a->m, b->m), n = octaves_between(a->n, b->n),
           k = octaves_between(a->k, b->k);
    double batch = octaves_between(a->batch, b->batch);
    int gaps = (a->lda != b->lda) + (a->ldb != b->ldb) + (a->ldc != b->ldc);
    int ends = (a->out != b->out) + (a->bias != b->bias) +
               (a->activation != b->activation) + (a->batch_by != b->batch_by);
    return m * m + n * n + k * k + batch * batch + 1e-3 * (gaps + ends);
}

static int count_bits(int64_t size)
{
    return size > 0 ? 64 - __builtin_clzll((unsigned long long) size) : 0;
}

/* What the octaves between two sizes are at least, squared. */
static int octaves_apart(int64_t a, int64_t b)
{
    const int bits_apart = abs(count_bits(a) - count_bits(b));
    return bits_apart > 1 ? (bits_apart - 1) * (bits_apart - 1) : 0;
}

/* What the distance is at least: found without logarithms. */
static double least_distance(const mmt_problem *a, const mmt_problem *b)
{
    return octaves_apart(a->m, b->m) + octaves_apart(a->n, b->n) +
           octaves_apart(a->k, b->k);
}

const struct mmt_entry *mmt_find_nearest(const struct mmt_question *q, double within)
{
    const struct mmt_entry *best = NULL;
    double least = within;

    for (size_t i = 0; q->profile && i < q->profile->num_entries; i++) {
        const struct mmt_entry *entry = &q->profile->entries[i];
        if (!mmt_same_kind(&entry->problem, q->problem) || entry->source[0] ||
            least_distance(&entry->problem, q->problem) > least)
            continue;
        const double d = problem_distance(&entry->problem, q->problem);
        if (d < least && mmt_is_usable(q, &entry->config)) {
            least = d;
            best = entry;
        }
    }
    return best;
}
