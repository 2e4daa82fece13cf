/* What corrects the law of time: a family's times over what the law expects of them,
 * learned by trees that all its kernels share (docs/lab/law.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "tuner/model/boost.h"
#include "tuner/model/fit.h"

/* A sample of the family, bound. */
struct timed {
    const struct mmt_fit_sample *sample;
    int problem; /* its number */
    double best; /* seconds, of all on its problem */
};

struct times {
    struct timed *list;
    int count, problems;
};

enum { NUMBERS = 18 };

static void list_numbers(const struct timed *timed, int64_t out[NUMBERS])
{
    const mmt_problem *p = &timed->sample->problem;
    const int64_t numbers[NUMBERS] = {
        p->type,  p->trans_a, p->trans_b, p->m,          p->n,        p->k,
        p->lda,   p->ldb,     p->ldc,     p->stride_a,   p->stride_b, p->stride_c,
        p->batch, p->out,     p->bias,    p->activation, p->op,       p->batch_by,
    };
    memcpy(out, numbers, sizeof numbers);
}

static int by_problem(const void *left, const void *right)
{
    int64_t a[NUMBERS], b[NUMBERS];
    list_numbers(left, a);
    list_numbers(right, b);
    for (int i = 0; i < NUMBERS; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static bool is_of(const struct mmt_fit_sample *sample, mmt_type family)
{
    return sample->problem.op == MMT_GEMM &&
           mmt_type_family(sample->problem.type) == family && sample->seconds > 0;
}

static bool collect(const struct mmt_fit_sample *samples, size_t count, mmt_type family,
                    struct times *out)
{
    out->list = malloc((count + 1) * sizeof *out->list);
    for (size_t i = 0; i < count && out->list; i++)
        if (is_of(&samples[i], family))
            out->list[out->count++].sample = &samples[i];
    return out->list != NULL;
}

/* Numbers the problems, and finds the best time of each. */
static void compare(struct times *times)
{
    qsort(times->list, (size_t) times->count, sizeof *times->list, by_problem);
    for (int i = 0, first = 0; i < times->count; i++) {
        if (by_problem(&times->list[first], &times->list[i]))
            first = i;
        if (i == first) {
            times->list[i].best = INFINITY;
            times->problems++;
        }
        times->list[i].problem = times->problems - 1;
        times->list[first].best =
            fmin(times->list[first].best, times->list[i].sample->seconds);
    }
    for (int i = 1; i < times->count; i++)
        if (times->list[i].problem == times->list[i - 1].problem)
            times->list[i].best = times->list[i - 1].best;
}

/* A time far behind the best counts less: it will not be chosen. */
static bool make_sample(const struct timed *timed, const struct mmt_caps *caps,
                        struct mmt_boost_sample *out)
{
    const struct mmt_fit_sample *s = timed->sample;
    struct mmt_bound bound;
    if (!mmt_bind(&s->config, &s->problem, caps, &bound))
        return false;
    out->view = mmt_cost_view(&bound);
    out->target = log(s->seconds / mmt_cost_seconds(out->view.estimate, caps));
    out->weight = timed->best / s->seconds;
    return true;
}

/* ---- what a model is worth on problems that it does not know ---------------------- */

/* Of so many parts of the problems each is left out of a fit once. */
enum { PARTS = 5 };

/* Parts of a correction that may count. Of many kernels the one is chosen of which a
 * model errs most in its favour: so less than all of it. */
static const double heeds[] = { 0, 0.35, 0.7 };
enum { HEEDS = sizeof heeds / sizeof *heeds };

struct worth {
    double sum, weights;  /* of squared errors */
    double behind[HEEDS]; /* sums of ln(time of the first / best time) */
};

/* All, or without one part. */
static mmt_status fit(const struct times *times, const struct mmt_caps *caps, int left,
                      struct mmt_model *model, mmt_error *err)
{
    struct mmt_boost_sample *samples =
        malloc((size_t) (times->count + 1) * sizeof *samples);
    int count = 0;

    if (!samples)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to fit a model");
    for (int i = 0; i < times->count; i++)
        if (times->list[i].problem % PARTS != left)
            count += make_sample(&times->list[i], caps, &samples[count]);
    const mmt_status status = mmt_boost(samples, count, model, err);
    free(samples);
    return status;
}

/* One problem: `count` times from `list` on. */
static void judge_problem(const struct timed *list, int count,
                          const struct mmt_caps *caps, const struct mmt_model *model,
                          struct worth *out)
{
    double least[HEEDS], behind[HEEDS] = { 0 };
    for (int h = 0; h < HEEDS; h++)
        least[h] = INFINITY;
    for (int i = 0; i < count; i++) {
        struct mmt_boost_sample sample;
        if (!make_sample(&list[i], caps, &sample))
            continue;
        const double correction = mmt_cost_correction(model, &sample.view);
        const double off = sample.target - correction;
        out->sum += sample.weight * off * off, out->weights += sample.weight;
        for (int h = 0; h < HEEDS; h++) {
            const double expected = log(sample.view.estimate) + heeds[h] * correction;
            if (expected < least[h])
                least[h] = expected, behind[h] = -log(sample.weight);
        }
    }
    for (int h = 0; h < HEEDS; h++)
        out->behind[h] += behind[h];
}

static void judge(const struct times *times, const struct mmt_caps *caps, int left,
                  const struct mmt_model *model, struct worth *out)
{
    for (int i = 0, end; i < times->count; i = end) {
        for (end = i + 1;
             end < times->count && times->list[end].problem == times->list[i].problem;)
            end++;
        if (times->list[i].problem % PARTS == left)
            judge_problem(&times->list[i], end - i, caps, model, out);
    }
}

/* Fills in `residual` and `heeded`. */
static mmt_status validate(const struct times *times, const struct mmt_caps *caps,
                           struct mmt_model *model, mmt_error *err)
{
    struct worth worth = { 0 };
    mmt_status status = MMT_OK;
    int best = 0;
    for (int left = 0; left < PARTS && !status; left++) {
        status = fit(times, caps, left, model, err);
        if (!status)
            judge(times, caps, left, model, &worth);
    }
    for (int h = 1; h < HEEDS; h++)
        if (worth.behind[h] < worth.behind[best])
            best = h;
    model->residual = worth.weights > 0 ? sqrt(worth.sum / worth.weights) : 0;
    model->heeded = heeds[best];
    return status;
}

mmt_status mmt_fit_model(const struct mmt_fit_sample *samples, size_t count,
                         const struct mmt_caps *caps, mmt_type family,
                         struct mmt_model *model, mmt_error *err)
{
    enum { NONE = -1 };
    struct times times = { 0 };
    mmt_status status = MMT_OK;
    *model = (struct mmt_model){ .family = family, .law = MMT_LAW_EDITION };
    mmt_model_name(model);
    if (!collect(samples, count, family, &times))
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to fit a model");
    compare(&times);
    model->shapes = times.problems;
    if (times.count)
        status = validate(&times, caps, model, err);
    if (!status && times.count)
        status = fit(&times, caps, NONE, model, err);
    free(times.list);
    return status;
}

/* Where what was fitted anew rests on less than half, the journal that had the rest is
 * gone. */
static mmt_status fit_family(struct mmt_profile *profile, mmt_type family,
                             const struct mmt_fit_sample *samples, size_t count,
                             mmt_error *err)
{
    const struct mmt_model *was = mmt_profile_model(profile, family);
    struct mmt_model *model = malloc(sizeof *model);
    if (!model)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to fit a model");
    mmt_status status = mmt_fit_model(samples, count, &profile->caps, family, model, err);
    if (!status && !(was && 2 * model->shapes < was->shapes))
        status = mmt_profile_replace_model(profile, model, err);
    free(model);
    return status;
}

mmt_status mmt_fit_models(struct mmt_profile *profile,
                          const struct mmt_fit_sample *samples, size_t count,
                          mmt_error *err)
{
    bool done[MMT_NUM_TYPES] = { false };
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const mmt_type family = mmt_type_family(samples[i].problem.type);
        if (samples[i].problem.op != MMT_GEMM || done[family])
            continue; /* where memory bounds, the nearest problem tells enough */
        done[family] = true;
        status = fit_family(profile, family, samples, count, err);
    }
    return status;
}
