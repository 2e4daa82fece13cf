/* Judges claims about kernels of the ladder by the times that were measured; measures
 * nothing. */
#include "ladder_judge.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *mmt_judge_id(const struct mmt_judge *j)
{
    return j->ladder->devices[j->device].facts.id;
}

static const struct mmt_rung *rung_of(const struct mmt_judge *j, const char *algorithm,
                                      const char *variant)
{
    const struct mmt_ladder_paper *paper = j->ladder->paper;
    for (int r = 0; r < paper->num_rungs; r++) {
        const struct mmt_rung *rung = &paper->rungs[r];
        if (!strcmp(rung->algorithm, algorithm) &&
            (!variant || (rung->variant && !strcmp(rung->variant, variant))))
            return rung;
    }
    return NULL;
}

const struct mmt_climb *mmt_judge_climb(const struct mmt_judge *j, const char *algorithm,
                                        const char *variant, mmt_type type, int64_t n)
{
    return mmt_ladder_find(j->ladder, rung_of(j, algorithm, variant), type, n, j->device);
}

double mmt_judge_seconds(const struct mmt_judge *j, const struct mmt_subject *s,
                         int64_t n)
{
    const struct mmt_climb_cpu *cpu = mmt_ladder_cpu(j->ladder, s->type, n);
    if (!s->algorithm)
        return cpu ? cpu->seconds[MMT_CPU_AB] : NAN;
    const struct mmt_climb *climb =
        mmt_judge_climb(j, s->algorithm, s->variant, s->type, n);
    double t = mmt_climb_seconds(j->ladder, climb);
    return s->kernel && !isnan(t) ? climb->phases.marks : t;
}

/* t of the first over t of the second; NAN where one of them was not climbed. */
double mmt_judge_gain(const struct mmt_judge *j, const struct mmt_subject *slow,
                      const struct mmt_subject *fast, int64_t n)
{
    double t = mmt_judge_seconds(j, fast, n);
    return t > 0 ? mmt_judge_seconds(j, slow, n) / t : NAN;
}

/* The largest size at which both were climbed; 0 where none. */
int64_t mmt_judge_largest(const struct mmt_judge *j, const struct mmt_subject *a,
                          const struct mmt_subject *b)
{
    const struct mmt_ladder *ladder = j->ladder;
    for (int i = ladder->num_sizes - 1; i >= 0; i--)
        if (!isnan(mmt_judge_gain(j, a, b, ladder->sizes[i])))
            return ladder->sizes[i];
    return 0;
}

/* NAN: no size has it. */
struct span {
    double least, most;
};

static struct span gains(const struct mmt_judge *j, const struct mmt_subject *slow,
                         const struct mmt_subject *fast)
{
    struct span span = { NAN, NAN };
    for (int i = 0; i < j->ladder->num_sizes; i++) {
        double ratio = mmt_judge_gain(j, slow, fast, j->ladder->sizes[i]);
        span.least = fmin(span.least, ratio);
        span.most = fmax(span.most, ratio);
    }
    return span;
}

/* ---- one kernel over another ------------------------------------------------------ */

void mmt_judge_versus(const struct mmt_judge *j, const struct mmt_versus *v)
{
    int64_t n = v->n ? v->n : mmt_judge_largest(j, &v->slow, &v->fast);
    double ratio = mmt_judge_gain(j, &v->slow, &v->fast, n);

    if (isnan(ratio) && v->n)
        mmt_claims_leave(j->claims, &v->claim, mmt_judge_id(j),
                         "it needs --sizes %" PRId64 " and --type %s", v->n,
                         mmt_type_name(v->fast.type));
    else if (isnan(ratio) && v->slow.type != v->fast.type)
        mmt_claims_leave(j->claims, &v->claim, mmt_judge_id(j), "it needs --type %s,%s",
                         mmt_type_name(v->fast.type), mmt_type_name(v->slow.type));
    else if (isnan(ratio))
        mmt_claims_leave(j->claims, &v->claim, mmt_judge_id(j),
                         "no size was climbed with both kernels, in %s",
                         mmt_type_name(v->fast.type));
    else
        mmt_claims_add(
            j->claims, &v->claim, mmt_judge_id(j), ratio >= v->least && ratio <= v->most,
            "%.3g times, n = %" PRId64 ", %s", ratio, n, mmt_type_name(v->fast.type));
}

/* The named kernel over the fastest of the others that have a table in the paper. */
void mmt_judge_best(const struct mmt_judge *j, const struct mmt_claim *claim,
                    const struct mmt_subject *best)
{
    const struct mmt_ladder_paper *paper = j->ladder->paper;
    const struct mmt_rung *own = rung_of(j, best->algorithm, best->variant), *next = NULL;
    int64_t n = mmt_judge_largest(j, best, best);
    double least = NAN;

    for (int r = 0; r < paper->num_rungs; r++) {
        const struct mmt_rung *rung = &paper->rungs[r];
        double t = mmt_climb_seconds(
            j->ladder, mmt_ladder_find(j->ladder, rung, best->type, n, j->device));
        if (rung == own || !rung->where[0] || isnan(t) || t >= least)
            continue;
        least = t;
        next = rung;
    }
    if (!next)
        mmt_claims_leave(j->claims, claim, mmt_judge_id(j),
                         "nothing to compare with, in %s", mmt_type_name(best->type));
    else
        mmt_claims_add(j->claims, claim, mmt_judge_id(j),
                       least >= mmt_judge_seconds(j, best, n),
                       "%.3g times as fast as the next, %s, n = %" PRId64 ", %s",
                       least / mmt_judge_seconds(j, best, n), next->what, n,
                       mmt_type_name(best->type));
}

/* ---- one core --------------------------------------------------------------------- */

/* One core's t over the kernel's, at all sizes, is between both. */
void mmt_judge_core(const struct mmt_judge *j, const struct mmt_claim *claim,
                    const struct mmt_subject *fast, double least, double most)
{
    const struct mmt_subject core = { .type = fast->type };
    struct span span = gains(j, &core, fast);

    if (isnan(span.least))
        mmt_claims_leave(j->claims, claim, mmt_judge_id(j),
                         "no size was climbed with one core, in %s",
                         mmt_type_name(fast->type));
    else if (span.least == span.most)
        mmt_claims_add(j->claims, claim, mmt_judge_id(j),
                       span.least >= least && span.most <= most, "%.4g times, %s",
                       span.least, mmt_type_name(fast->type));
    else
        mmt_claims_add(j->claims, claim, mmt_judge_id(j),
                       span.least >= least && span.most <= most, "%.4g to %.4g times, %s",
                       span.least, span.most, mmt_type_name(fast->type));
}
