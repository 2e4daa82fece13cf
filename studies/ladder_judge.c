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

/* One core's runs are few and long: they have no spread. */
static double noise_of(const struct mmt_judge *j, const struct mmt_subject *s, int64_t n)
{
    if (!s->algorithm)
        return 0;
    const struct mmt_climb *climb =
        mmt_judge_climb(j, s->algorithm, s->variant, s->type, n);
    const struct mmt_phases *p = &climb->phases;
    return mmt_phases_noise(s->kernel ? p->marks_spread : p->spread, p->repetitions);
}

double mmt_judge_noise(const struct mmt_judge *j, const struct mmt_subject *slow,
                       const struct mmt_subject *fast, int64_t n)
{
    return hypot(noise_of(j, slow, n), noise_of(j, fast, n));
}

const char *mmt_judge_print_noise(double noise, char out[16])
{
    out[0] = 0;
    if (noise > 0)
        snprintf(out, 16, " +- %.3g %%", noise * 100);
    return out;
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

/* ---- one kernel over another ------------------------------------------------------ */

static const char *manner_of(const struct mmt_subject *s)
{
    return s->kernel ? "computing" : "with copying";
}

static void judge_one_way(const struct mmt_judge *j, const struct mmt_versus *v)
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
    else {
        double noise = mmt_judge_noise(j, &v->slow, &v->fast, n);
        char told[16];
        mmt_claims_add(j->claims, &v->claim, mmt_judge_id(j),
                       mmt_claims_judge(ratio, noise, v->least, v->most),
                       "%.3g times%s, n = %" PRId64 ", %s, %s", ratio,
                       mmt_judge_print_noise(noise, told), n, mmt_type_name(v->fast.type),
                       manner_of(&v->fast));
    }
}

void mmt_judge_versus(const struct mmt_judge *j, const struct mmt_versus *v)
{
    struct mmt_versus computing = *v;
    computing.slow.kernel = computing.fast.kernel = true;
    judge_one_way(j, v);
    if (mmt_judge_largest(j, &v->slow, &v->fast))
        judge_one_way(j, &computing);
}

static void judge_best_one_way(const struct mmt_judge *j, const struct mmt_claim *claim,
                               const struct mmt_subject *best)
{
    const struct mmt_ladder_paper *paper = j->ladder->paper;
    const struct mmt_rung *own = rung_of(j, best->algorithm, best->variant), *next = NULL;
    struct mmt_subject other = *best, nearest = *best;
    int64_t n = mmt_judge_largest(j, best, best);
    double least = NAN;
    char told[16];

    for (int r = 0; r < paper->num_rungs; r++) {
        const struct mmt_rung *rung = &paper->rungs[r];
        other.algorithm = rung->algorithm, other.variant = rung->variant;
        double t = rung == own || !rung->where[0] ? NAN : mmt_judge_seconds(j, &other, n);
        if (isnan(t) || t >= least)
            continue;
        least = t;
        next = rung;
        nearest = other;
    }
    if (!next) {
        mmt_claims_leave(j->claims, claim, mmt_judge_id(j),
                         "nothing to compare with, in %s", mmt_type_name(best->type));
        return;
    }
    double gain = mmt_judge_gain(j, &nearest, best, n),
           noise = mmt_judge_noise(j, &nearest, best, n);
    mmt_claims_add(j->claims, claim, mmt_judge_id(j),
                   mmt_claims_judge(gain, noise, 1, INFINITY),
                   "%.3g times%s as fast as the next, %s, n = %" PRId64 ", %s, %s", gain,
                   mmt_judge_print_noise(noise, told), next->what, n,
                   mmt_type_name(best->type), manner_of(best));
}

void mmt_judge_best(const struct mmt_judge *j, const struct mmt_claim *claim,
                    const struct mmt_subject *best)
{
    struct mmt_subject computing = *best;
    computing.kernel = true;
    judge_best_one_way(j, claim, best);
    if (mmt_judge_largest(j, best, best))
        judge_best_one_way(j, claim, &computing);
}

/* ---- one core --------------------------------------------------------------------- */

/* The least and the greatest gain over one core, each with what comes of its noise. */
static void judge_core_one_way(const struct mmt_judge *j, const struct mmt_claim *claim,
                               const struct mmt_subject *fast, double least, double most)
{
    const struct mmt_subject core = { .type = fast->type };
    double low = NAN, high = NAN;
    enum mmt_verdict verdict = MMT_HOLDS;
    char span[48];

    for (int i = 0; i < j->ladder->num_sizes; i++) {
        int64_t n = j->ladder->sizes[i];
        double gain = mmt_judge_gain(j, &core, fast, n);
        if (isnan(gain))
            continue;
        enum mmt_verdict here =
            mmt_claims_judge(gain, mmt_judge_noise(j, &core, fast, n), least, most);
        if (here == MMT_FAILS || verdict == MMT_HOLDS)
            verdict = here;
        low = fmin(low, gain);
        high = fmax(high, gain);
    }
    if (isnan(low)) {
        mmt_claims_leave(j->claims, claim, mmt_judge_id(j),
                         "no size was climbed with one core, in %s",
                         mmt_type_name(fast->type));
        return;
    }
    snprintf(span, sizeof span, low == high ? "%.4g" : "%.4g to %.4g", low, high);
    mmt_claims_add(j->claims, claim, mmt_judge_id(j), verdict, "%s times, %s, %s", span,
                   mmt_type_name(fast->type), manner_of(fast));
}

void mmt_judge_core(const struct mmt_judge *j, const struct mmt_claim *claim,
                    const struct mmt_subject *fast, double least, double most)
{
    struct mmt_subject computing = *fast;
    computing.kernel = true;
    judge_core_one_way(j, claim, fast, least, most);
    if (mmt_judge_largest(j, fast, fast))
        judge_core_one_way(j, claim, &computing, least, most);
}
