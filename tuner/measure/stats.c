/* Quantiles, the confidence interval of a median, and the correlation of ranks. */
#include <math.h>
#include <stdlib.h>

#include "tuner/measure/stats.h"

static int compare_samples(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double interpolate(const double *sorted, int count, double part)
{
    double place = part * (count - 1);
    int below = (int) floor(place), above = below + 1 < count ? below + 1 : below;

    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

double mmt_stats_quantile(double *samples, int count, double part)
{
    qsort(samples, (size_t) count, sizeof *samples, compare_samples);
    return interpolate(samples, count, part);
}

/* The largest r (from 1) such that fewer than r of `count` samples fall below the true
 * median in at most 2.5 % of all cases; 0 where there is none. The number that falls
 * below is binomial with p = 1/2; beyond a few hundred it is as good as normal. */
static int rank_of_interval(int count)
{
    if (count > 500)
        return (int) floor(count / 2.0 - 0.98 * sqrt(count));

    double term = pow(0.5, count), sum = 0;
    int rank = 0;
    while (rank < count && sum + term <= 0.025) {
        sum += term;
        rank++;
        term *= (double) (count - rank + 1) / rank;
    }
    return rank;
}

struct mmt_summary mmt_stats_summarise(double *samples, int count)
{
    int rank = rank_of_interval(count);

    qsort(samples, (size_t) count, sizeof *samples, compare_samples);
    return (struct mmt_summary){
        .median = interpolate(samples, count, 0.5),
        .lower_quartile = interpolate(samples, count, 0.25),
        .upper_quartile = interpolate(samples, count, 0.75),
        .low = samples[rank ? rank - 1 : 0],
        .high = samples[rank ? count - rank : count - 1],
        .confident = rank > 0,
    };
}

double mmt_stats_precision(const struct mmt_summary *summary)
{
    if (!summary->confident)
        return INFINITY;
    return (summary->high - summary->low) / 2 / summary->median;
}

/* ---- ranks ----------------------------------------------------------------------- */

/* The rank of a value, from 0; those that are equal share the middle of their ranks. */
static double rank_of(const double *values, int count, double value)
{
    int below = 0, equal = 0;
    for (int i = 0; i < count; i++) {
        below += values[i] < value;
        equal += values[i] == value;
    }
    return below + (equal - 1) / 2.0;
}

double mmt_stats_rank_correlation(const double *a, const double *b, int count)
{
    double middle = (count - 1) / 2.0, ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < count; i++) {
        double x = rank_of(a, count, a[i]) - middle, y = rank_of(b, count, b[i]) - middle;
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}
