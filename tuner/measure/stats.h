/* Statistics of samples that are few, positive and skewed by interruptions: order
 * statistics only. Functions sort `samples` in place; `count` is at least 1. */
#ifndef MMT_TUNER_MEASURE_STATS_H
#define MMT_TUNER_MEASURE_STATS_H

#include <stdbool.h>

struct mmt_summary {
    double median;
    double lower_quartile, upper_quartile;
    double low, high; /* 95 % confidence interval of the median; with fewer than six
                       * samples there is none, and these are the least and the largest */
    bool confident;   /* whether there is one */
};

struct mmt_summary mmt_stats_summarise(double *samples, int count);

/* The value below which that part (0 to 1) of the samples lies, linearly between them. */
double mmt_stats_quantile(double *samples, int count, double part);

/* Spearman's, of pairs: 1 where one order is the other, -1 where it is the reverse; 0 of
 * fewer than two pairs, or where all are alike. Sorts nothing. */
double mmt_stats_rank_correlation(const double *a, const double *b, int count);

/* Half of the confidence interval as a part of the median; infinite where there is none.
 */
double mmt_stats_precision(const struct mmt_summary *summary);

#endif
