/* What the nearest shape that was tuned tells of a problem. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/costmodel.h"
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
    int ends =
        (a->out != b->out) + (a->bias != b->bias) + (a->activation != b->activation);
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

/* ---- the nearest entry ------------------------------------------------------------- */

const struct mmt_entry *mmt_find_nearest(const struct mmt_profile *profile,
                                         const mmt_problem *problem,
                                         const struct mmt_caps *caps,
                                         const struct mmt_terms *terms, double within)
{
    const struct mmt_entry *best = NULL;
    double least = within;

    for (size_t i = 0; profile && i < profile->num_entries; i++) {
        const struct mmt_entry *entry = &profile->entries[i];
        if (!mmt_same_kind(&entry->problem, problem) || entry->source[0] ||
            least_distance(&entry->problem, problem) > least)
            continue;
        double d = problem_distance(&entry->problem, problem);
        if (d < least && (!caps || mmt_is_usable(&entry->config, problem, caps, terms))) {
            least = d;
            best = entry;
        }
    }
    return best;
}

/* ---- how much it tells --------------------------------------------------------------
 */

/* Shapes this many octaves apart still tell a good deal of each other: half way down the
 * bell by which the nearest shape's time corrects the model. */
static const double reach = 0.5;

/* Farther away a shape tells nothing of which kernel is fast: two octaves, squared; on a
 * CPU less, as the default is nearly as fast there (docs/lab/measurements.md, "On a
 * CPU"). */
double mmt_out_of_reach(const struct mmt_caps *caps)
{
    return caps->kind == MMT_CPU ? reach * reach : 4;
}

/* A correction that is trusted no more than this is ignored: to resolve a kernel for
 * another problem, too, may take a fifth of a selection. */
static const double least_trust = 0.05;

const struct mmt_entry *mmt_find_telling(const struct mmt_profile *profile,
                                         const mmt_problem *problem)
{
    const double farthest = -log2(least_trust) * reach * reach;
    return mmt_find_nearest(profile, problem, NULL, NULL, farthest);
}

/* What the time of the nearest problem tells of a kernel: how far its model was wrong
 * there (the logarithm), for the kernel that was the best; for another, how far its model
 * was too good to be true, as it was no faster than the best. */
static double correction_of(const struct mmt_ranked *ranked, const struct mmt_entry *near,
                            const struct mmt_caps *caps)
{
    struct mmt_bound there;
    if (near->time.median <= 0 ||
        !mmt_bind(&ranked->config, &near->problem, caps, &there))
        return 0;
    const double wrong = log(near->time.median / mmt_expected_seconds(ranked, &there));
    return mmt_config_equal(&ranked->config, &near->config) ? wrong : fmax(wrong, 0);
}

/* A kernel's specialisation for operands of any alignment is another kernel. */
static bool is_same_specialisation(const struct mmt_entry *near,
                                   const mmt_problem *problem)
{
    struct mmt_alignment unused;
    return mmt_config_may_align(&near->config, problem, &unused) ==
           mmt_config_may_align(&near->config, &near->problem, &unused);
}

/* How much the nearest problem's time says about this one, 0 to 1; less where it is
 * another specialisation's. */
static double trust_in(const struct mmt_entry *near, const mmt_problem *problem)
{
    double trust = exp2(-problem_distance(&near->problem, problem) / (reach * reach));
    return is_same_specialisation(near, problem) ? trust : trust / 4;
}

void mmt_correct_ranking(struct mmt_ranked *ranked, int count, bool all,
                         const struct mmt_entry *near, const mmt_problem *problem,
                         const struct mmt_caps *caps)
{
    const double trust = near ? trust_in(near, problem) : 0;
    struct mmt_ranked done[MMT_MOST_RANKED];

    if (trust <= least_trust)
        return;
    for (int i = 0; i < count; i++) {
        struct mmt_ranked next = ranked[i];
        if (all || i == 0 || next.seconds < done[0].seconds ||
            mmt_config_equal(&next.config, &near->config))
            next.seconds *= exp(trust * correction_of(&next, near, caps));
        mmt_insert_ranked(done, i, &next);
    }
    memcpy(ranked, done, (size_t) count * sizeof *ranked);
}

static bool is_ranked(const struct mmt_config *config, const struct mmt_ranked *ranked,
                      int count)
{
    for (int i = 0; i < count; i++)
        if (mmt_config_equal(&ranked[i].config, config))
            return true;
    return false;
}

/* What the kernel of the nearest problem should take here: its time there, times what its
 * estimate grows by. INFINITY where it cannot run. */
static double expected_of(const struct mmt_entry *near, const mmt_problem *problem,
                          const struct mmt_caps *caps, const struct mmt_terms *terms)
{
    struct mmt_bound runs, there;
    if (!mmt_bind_within(&near->config, problem, caps, terms, &runs) ||
        !mmt_bind(&near->config, &near->problem, caps, &there))
        return INFINITY;
    return near->time.median * mmt_cost_estimate_bound(&runs) /
           mmt_cost_estimate_bound(&there);
}

/* The nearest problem's kernel is not in the portfolio, but the problem is too near to
 * leave it, unless it should be slower here than one that is: a tile may just miss a
 * wave. Not where it would run its other specialisation, whose time nobody knows. */
bool mmt_stands_apart(const struct mmt_entry *near, const mmt_problem *problem,
                      const struct mmt_caps *caps, const struct mmt_terms *terms,
                      const struct mmt_ranked *ranked, int count)
{
    if (!near || problem_distance(&near->problem, problem) > reach * reach ||
        !is_same_specialisation(near, problem))
        return false;
    return !is_ranked(&near->config, ranked, count) &&
           expected_of(near, problem, caps, terms) <= ranked->seconds;
}
