/* Chooses at which m a range is timed, and cuts it into segments with one kernel each. */
#include "tuner/model/segments.h"

#include <math.h>

#include "tuner/measure/stats.h"

/* What a further kernel must gain, as a part of the mean time. */
static const double price = 0.005;

enum { SAMPLES = 28 /* without those that coincide */ };

/* ---- at which m ------------------------------------------------------------------- */

/* The power of two that is an eighth to a quarter of m, but no more than samples are
 * apart; 1 at least. */
static int64_t step_of(double m, double apart)
{
    int64_t step = 1;
    while (8 * (double) step <= m && 2 * (double) step <= apart)
        step *= 2;
    return step;
}

/* What stands for m, by the number of its turn. */
static int64_t round_in_turn(double m, double apart, int turn)
{
    const int64_t step = step_of(m, apart);
    const int64_t multiple = llround(m / (double) step) * step;
    return turn % 3 == 0 ? multiple : turn % 3 == 1 ? multiple + 1 : llround(m) | 1;
}

int mmt_range_samples(int64_t low, int64_t high, int64_t out[MMT_MOST_RANGE_TIMES])
{
    const double octaves = log2((double) high / (double) low) / (SAMPLES - 1);
    int count = 0;
    out[count++] = low;
    for (int i = 1; i < SAMPLES - 1; i++) {
        const double m = (double) low * exp2(octaves * i);
        const int64_t sample = round_in_turn(m, m * (exp2(octaves) - 1), i);
        if (sample > out[count - 1] && sample < high)
            out[count++] = sample;
    }
    if (high > low)
        out[count++] = high;
    return count;
}
_Static_assert((int) SAMPLES <= (int) MMT_MOST_RANGE_TIMES,
               "a profile has room for them");

int mmt_range_goals(int64_t low, int64_t high, int most, int64_t out[MMT_RANGE_GOALS])
{
    int64_t samples[MMT_MOST_RANGE_TIMES];
    const int all = mmt_range_samples(low, high, samples);
    const int count = most < all ? most : all;
    for (int i = 0; i < count; i++)
        out[i] = samples[count > 1 ? i * (all - 1) / (count - 1) : 0];
    return count;
}

int64_t mmt_range_break(int64_t sample, int64_t next)
{
    int64_t step = 1;
    while ((next - 1) / (2 * step) * (2 * step) >= sample)
        step *= 2;
    return (next - 1) / step * step;
}

/* ---- which kernels ---------------------------------------------------------------- */

/* What is being cut. */
struct cutting {
    const double *seconds;
    int kernels, samples;
    double best[MMT_MOST_RANGE_TIMES];
    /* Of the first samples in so many parts: the least sum of slowdowns, and the part
     * that ends there. */
    double least[MMT_MOST_SEGMENTS + 1][MMT_MOST_RANGE_TIMES + 1];
    struct mmt_part part[MMT_MOST_SEGMENTS + 1][MMT_MOST_RANGE_TIMES + 1];
    int before[MMT_MOST_SEGMENTS + 1][MMT_MOST_RANGE_TIMES + 1];
};

static double slow_down(const struct cutting *c, int kernel, int sample)
{
    return c->seconds[kernel * c->samples + sample] / c->best[sample] - 1;
}

static void find_best(struct cutting *c)
{
    for (int s = 0; s < c->samples; s++) {
        c->best[s] = INFINITY;
        for (int k = 0; k < c->kernels; k++)
            c->best[s] = fmin(c->best[s], c->seconds[k * c->samples + s]);
    }
}

/* The last of `parts` parts ends before the sample `end`: the kernel that it has and the
 * sample at which it begins. */
static void cut_samples(struct cutting *c, int parts, int end)
{
    double *least = &c->least[parts][end];
    *least = INFINITY;
    for (int k = 0; k < c->kernels; k++) {
        double sum = 0;
        for (int begin = end - 1; begin >= 0; begin--) {
            sum += slow_down(c, k, begin);
            if (c->least[parts - 1][begin] + sum >= *least)
                continue;
            *least = c->least[parts - 1][begin] + sum;
            c->part[parts][end] = (struct mmt_part){ k, end - 1 };
            c->before[parts][end] = begin;
        }
    }
}

static int choose_number(const struct cutting *c, int most)
{
    double least = INFINITY;
    int number = 0;
    for (int parts = 1; parts <= most; parts++) {
        const double sum = c->least[parts][c->samples] + price * c->samples * parts;
        if (sum < least)
            least = sum, number = parts;
    }
    return number;
}

int mmt_range_divide(const double *seconds, int kernels, int samples, int most,
                     struct mmt_part out[MMT_MOST_SEGMENTS])
{
    struct cutting c = { .seconds = seconds, .kernels = kernels, .samples = samples };
    find_best(&c);
    for (int s = 0; s < samples; s++)
        if (isinf(c.best[s]))
            return 0;
    c.least[0][0] = 0;
    for (int end = 1; end <= samples; end++)
        c.least[0][end] = INFINITY;
    for (int parts = 1; parts <= most; parts++) {
        c.least[parts][0] = INFINITY;
        for (int end = 1; end <= samples; end++)
            cut_samples(&c, parts, end);
    }
    const int number = choose_number(&c, most);
    for (int parts = number, end = samples; parts > 0; parts--) {
        out[parts - 1] = c.part[parts][end];
        end = c.before[parts][end];
    }
    return number;
}

/* ---- what was selected ------------------------------------------------------------ */

double mmt_range_slow_down(const struct mmt_range *range, int segment, double part)
{
    double all[MMT_MOST_RANGE_TIMES];
    int count = 0;
    for (int i = 0; i < range->num_times; i++) {
        const struct mmt_range_time *time = &range->times[i];
        const mmt_problem problem = mmt_problem_with_m(&range->problem, time->m);
        if (segment < 0 || mmt_range_find(range, &problem) == segment)
            all[count++] = time->seconds / time->best - 1;
    }
    return count ? mmt_stats_quantile(all, count, part) : 0;
}
