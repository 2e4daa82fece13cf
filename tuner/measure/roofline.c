/* Derives a device's greatest rates from what was measured, and from these the least time
 * of a problem. */
#include "tuner/measure/roofline.h"

#include <math.h>
#include <stdlib.h>

#include "base/peak.h"
#include "tuner/common/options.h"

/* A card's clock may be so much above what it tells. */
static const double above_told = 1.25;

/* Of what must move, a GPU's caches may have a half. */
static const double from_caches = 2;

static int compare_peaks(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

void mmt_roofline_of_rounds(double *rates, int count, double *best, double *spread)
{
    *best = *spread = 0;
    if (count == 0)
        return;
    qsort(rates, (size_t) count, sizeof *rates, compare_peaks);
    *best = rates[count - 1];
    const double median = (rates[(count - 1) / 2] + rates[count / 2]) / 2;
    if (*best > 0)
        *spread = 1 - median / *best;
}

static void add_peak(double *into, double *spread, double from, double its_spread)
{
    if (from <= *into)
        return;
    *into = from;
    *spread = its_spread;
}

void mmt_roofline_add(struct mmt_roofline *into, const struct mmt_roofline *from)
{
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        add_peak(&into->peak_flops[type], &into->peak_spread[type],
                 from->peak_flops[type], from->peak_spread[type]);
    add_peak(&into->bandwidth, &into->bandwidth_spread, from->bandwidth,
             from->bandwidth_spread);
}

static bool is_exact(const struct mmt_caps *caps)
{
    return caps->sm > 0;
}

void mmt_roofline_derive(struct mmt_roofline *roofline, const struct mmt_caps *caps)
{
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        if (!is_exact(caps) && roofline->peak_flops[type] > 0)
            continue;
        roofline->peak_flops[type] = mmt_derived_roof(caps, type);
        roofline->peak_spread[type] = 0;
    }
}

double mmt_roofline_ceiling(const struct mmt_roofline *roofline,
                            const struct mmt_caps *caps, mmt_type type)
{
    const double derived = mmt_derived_roof(caps, type);
    if (is_exact(caps))
        return above_told * derived;
    return fmax(derived, roofline->peak_flops[type] * (1 + roofline->peak_spread[type]));
}

static double at_rate(double amount, double rate)
{
    return rate > 0 ? amount / rate : 0;
}

/* Products may find operands in caches, however they are rotated; only of the other
 * operations memory is a bound. */
static bool is_bound_by_memory(const mmt_problem *problem)
{
    return !mmt_op_row(problem->op)->product;
}

double mmt_roofline_seconds(const struct mmt_roofline *roofline,
                            const mmt_problem *problem)
{
    return fmax(at_rate(mmt_problem_flops(problem), roofline->peak_flops[problem->type]),
                at_rate(mmt_problem_bytes(problem), roofline->bandwidth));
}

double mmt_roofline_least(const struct mmt_roofline *roofline,
                          const struct mmt_caps *caps, const mmt_problem *problem)
{
    const double compute = at_rate(mmt_problem_flops(problem),
                                   mmt_roofline_ceiling(roofline, caps, problem->type));
    if (!is_bound_by_memory(problem) || caps->kind != MMT_GPU)
        return compute;
    return fmax(compute, at_rate(mmt_problem_bytes(problem),
                                 from_caches * roofline->bandwidth *
                                     (1 + roofline->bandwidth_spread)));
}

bool mmt_roofline_is_exceeded(const struct mmt_roofline *roofline,
                              const struct mmt_caps *caps, const mmt_problem *problem,
                              double seconds)
{
    const double flops = mmt_problem_flops(problem), bytes = mmt_problem_bytes(problem);
    const double peak =
        roofline->peak_flops[problem->type] * (1 + roofline->peak_spread[problem->type]);
    const double rate = roofline->bandwidth * (1 + roofline->bandwidth_spread);
    if (!is_exact(caps) && seconds < at_rate(flops, peak))
        return true;
    return is_bound_by_memory(problem) && seconds < at_rate(bytes, rate);
}

void mmt_roofline_print(double rate, double spread, mmt_type type, struct mmt_text *out)
{
    char buffer[32];
    mmt_text_add(out, mmt_print_rate(rate, type, buffer));
    if (spread > 0)
        mmt_text_addf(out, " (spread %.1f %%)", 100 * spread);
}
