/* What the times of a tuning teach about shapes that were not tuned: the cost of each
 * kernel, and the few kernels that are worth keeping. docs/cost-model.md says how. */
#ifndef MMT_TUNER_FIT_H
#define MMT_TUNER_FIT_H

#include "profiles/profile.h"

/* A time that was measured: of a configuration that computes rightly, for a normalised
 * problem. */
struct mmt_fit_sample {
    mmt_problem problem;
    struct mmt_config config;
    double seconds;
    double weight;    /* of its error in a fit, against others'; 0 is 1 */
    bool calibration; /* by a calibration, which times the same kernels on many shapes;
                       * else by a search, which times what it proposes */
};

/* Of the kernels that are kept of one type and transposes, so many may be such that a
 * choice takes long over them (template.h, `searches`). */
enum { MMT_FIT_MOST_KEPT = 16, MMT_FIT_MOST_SLOW = 3, MMT_FIT_LEAST_SHAPES = 6 };

/* Fits one configuration's cost to its times on different problems of one type and
 * transposes; `config` of the samples is not looked at. With fewer than
 * MMT_FIT_LEAST_SHAPES, out->fitted stays false. */
mmt_status mmt_fit_cost(const struct mmt_config *config, const struct mmt_caps *caps,
                        const struct mmt_fit_sample *samples, size_t count,
                        struct mmt_cost *out, mmt_error *err);

/* Replaces what profile->kept has for each type and transposes that the samples are of,
 * unless that rests on more than twice as many problems: at most MMT_FIT_MOST_KEPT
 * configurations, MMT_FIT_MOST_SLOW of them slow ones, chosen so that the worst loss over
 * the samples' problems is least, within a tenth of it, and the mean then, each with its
 * fitted cost. profile->caps must be filled in. Of several samples of one configuration
 * and problem the last counts. Times count half way to what the fits expect; those that
 * are missing are predicted where the configuration was timed on enough problems. */
mmt_status mmt_fit_kept(struct mmt_profile *profile, const struct mmt_fit_sample *samples,
                        size_t count, mmt_error *err);

/* Shapes on which finalists are worth timing besides the tuned ones, so that their costs
 * can be fitted: `count` problems of the kind's type and transposes, spread evenly over
 * the logarithms of m, n and k from 1 to 8192, every third skewed, half of them in
 * multiples of 16 (below it of 4, below that of 1), each of at most that many operations
 * (at least 1e6). The first 24 are a good set, and so are the first 300. */
void mmt_fit_shapes(const mmt_problem *kind, double most_flops, mmt_problem *out,
                    int count);

/* Choosing alone: of `rows` kernels, times[row * cols + col] seconds on each of `cols`
 * problems (INFINITY: does not serve) and best[col] the least time known for each. Writes
 * at most `most` rows, the most useful first, MMT_FIT_MOST_SLOW of them of those that are
 * slow[row] (NULL: none is), and returns how many. `worst` gets the worst loss that is
 * left, 0.1 for a tenth; INFINITY where a problem is not served. -1 where memory is
 * exhausted. */
int mmt_fit_choose(const double *times, const double *best, const bool *slow, int rows,
                   int cols, int most, int *chosen, double *worst);

#endif
