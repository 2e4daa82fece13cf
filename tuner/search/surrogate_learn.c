/* What the values say of the scales: those that make them likeliest, climbed to along the
 * posterior's slopes (Rasmussen and Williams, section 5.4) by steps of which only the
 * slopes' signs decide (Riedmiller and Braun, Rprop, 1993). */
#include <math.h>
#include <stdlib.h>

#include "tuner/search/surrogate_internal.h"

enum { ROUNDS = 8, FEW = 48 };

/* Of the logarithms' normal distribution, before anything is known. */
static const struct {
    double usual, spread;
} weights = { -1.2, 1.5 }, aparts = { -3.0, 1.5 }, shares = { 0, 1.5 },
  noises = { -4.6, 2 };

static double usual_of(const struct mmt_surrogate *s, int which)
{
    return which < s->dimensions        ? weights.usual
           : which < 2 * s->dimensions  ? aparts.usual
           : which == 2 * s->dimensions ? shares.usual
                                        : noises.usual;
}

static double spread_of(const struct mmt_surrogate *s, int which)
{
    return which < s->dimensions        ? weights.spread
           : which < 2 * s->dimensions  ? aparts.spread
           : which == 2 * s->dimensions ? shares.spread
                                        : noises.spread;
}

static void apply_scales(struct mmt_surrogate *s)
{
    const double *scale = s->scales;
    for (int d = 0; d < s->dimensions; d++) {
        s->weight[d] = (float) exp(scale[d]);
        s->apart[d] = (float) exp(scale[s->dimensions + d]);
    }
    s->share = (float) (1 / (1 + exp(-scale[2 * s->dimensions])));
    s->noise = exp(scale[2 * s->dimensions + 1]);
}

/* As before anything is learned. */
static void reset_scales(struct mmt_surrogate *s)
{
    for (int i = 0; i < 2 * s->dimensions + 2; i++)
        s->scales[i] = usual_of(s, i);
    apply_scales(s);
}

struct mmt_surrogate *mmt_surrogate_create(int dimensions)
{
    struct mmt_surrogate *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->dimensions = dimensions;
    s->x = calloc((size_t) dimensions, sizeof *s->x);
    s->factor = calloc(MOST, sizeof *s->factor);
    if (!s->x || !s->factor) {
        mmt_surrogate_free(s);
        return NULL;
    }
    reset_scales(s);
    return s;
}

/* The logarithm of the scales' posterior, as they are. */
static double log_posterior(struct mmt_surrogate *s)
{
    apply_scales(s);
    double sum = mmt_surrogate_solve(s, 0, s->count);
    for (int i = 0; i < 2 * s->dimensions + 2; i++) {
        double off = (s->scales[i] - usual_of(s, i)) / spread_of(s, i);
        sum -= off * off / 2;
    }
    return sum;
}

/* ---- slopes ---------------------------------------------------------------------- */

/* inverse[j][i] = (factor^-1)[i][j] */
static void invert(const struct mmt_surrogate *s, double (*inverse)[MOST])
{
    for (int j = 0; j < s->count; j++) {
        double *row = inverse[j];
        row[j] = 1 / s->factor[j][j];
        for (int i = j + 1; i < s->count; i++)
            row[i] =
                -mmt_surrogate_dot(s->factor[i] + j, row + j, i - j) / s->factor[i][i];
    }
}

/* The log likelihood's slope by the covariance of two points. */
static double pull(const struct mmt_surrogate *s, double (*inverse)[MOST], int i, int j)
{
    return s->alpha[i] * s->alpha[j] / s->variance -
           mmt_surrogate_dot(inverse[i] + i, inverse[j] + i, s->count - i);
}

/* What point i and the LANES points from `from` on add to the slopes. */
static void add_slopes(const struct mmt_surrogate *s, int i, int from, lanes pulls,
                       double *slope)
{
    int count = s->dimensions;
    lanes square, alone;

    mmt_surrogate_distances(s, *s->x + i, MOST, from, &square, &alone);
    lanes k = mmt_surrogate_together(square);
    slope[2 * count] += sum_lanes(pulls * (alone - k)) * s->share * (1 - s->share);
    lanes together = splat((s->share - 1) / 2) * k * k,
          by_itself = splat(-s->share / (float) count);
    for (int d = 0; d < count; d++) {
        lanes step = load(s->x[d] + from) - splat(s->x[d][i]);
        lanes far = splat(s->weight[d]) * step * step,
              apart = where(step != 0, splat(s->apart[d]));
        lanes one = splat(1) / (splat(1) + far + apart);
        lanes turn = pulls * (together + by_itself * one * one);
        slope[d] += sum_lanes(turn * far);
        slope[count + d] += sum_lanes(turn * apart);
    }
}

/* The log posterior's slopes by each scale, after `posterior`. */
static void find_slopes(const struct mmt_surrogate *s, double (*inverse)[MOST],
                        double *slope)
{
    int noise = 2 * s->dimensions + 1;

    for (int i = 0; i <= noise; i++) {
        double spread = spread_of(s, i);
        slope[i] = (usual_of(s, i) - s->scales[i]) / (spread * spread);
    }
    invert(s, inverse);
    for (int i = 0; i < s->count; i++) {
        slope[noise] += 0.5 * pull(s, inverse, i, i) * s->noise;
        for (int from = 0; from < i; from += LANES) {
            lanes pulls = splat(0);
            for (int j = from; j < from + LANES && j < i; j++)
                pulls[j - from] = (float) pull(s, inverse, i, j);
            add_slopes(s, i, from, pulls, slope);
        }
    }
}

/* ---- climbing -------------------------------------------------------------------- */

static void climb(struct mmt_surrogate *s, double (*inverse)[MOST])
{
    int count = 2 * s->dimensions + 2, rounds = s->count < FEW ? 2 * ROUNDS : ROUNDS;
    double slope[MOST_SCALES], last[MOST_SCALES] = { 0 }, pace[MOST_SCALES];
    double reached[MOST_SCALES], most = -INFINITY;

    for (int i = 0; i < count; i++)
        pace[i] = 0.3;
    while (rounds-- > 0) {
        double here = log_posterior(s);
        if (here > most)
            memcpy(reached, s->scales, sizeof reached);
        most = fmax(most, here);
        find_slopes(s, inverse, slope);
        for (int i = 0; i < count; i++) {
            double turn = slope[i] * last[i];
            pace[i] *= turn > 0 ? 1.4 : turn < 0 ? 0.5 : 1;
            pace[i] = fmin(fmax(pace[i], 0.01), 1);
            s->scales[i] += slope[i] > 0 ? pace[i] : slope[i] < 0 ? -pace[i] : 0;
            s->scales[i] = fmin(fmax(s->scales[i], -10), 4);
            last[i] = slope[i];
        }
    }
    if (isfinite(most))
        memcpy(s->scales, reached, sizeof reached);
}

/* Without memory the scales stay as they are. */
void mmt_surrogate_learn(struct mmt_surrogate *s, const float *x, const double *y,
                         int count)
{
    double(*inverse)[MOST] = calloc((size_t) count, sizeof *inverse);

    for (int i = 0; i < count; i++)
        for (int d = 0; d < s->dimensions; d++)
            s->x[d][i] = x[i * s->dimensions + d];
    s->y = y;
    s->count = count;
    if (inverse)
        climb(s, inverse);
    apply_scales(s);
    s->count = 0;
    free(inverse);
}
