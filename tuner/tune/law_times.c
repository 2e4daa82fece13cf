/* What the law of time expects, timed: for shapes that programs multiply, the
 * first of its ranking and some behind them. A model learns from them how this card is
 * off (docs/lab/law.md). At last compilers make what programs will ask for. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "costmodel/costmodel.h"
#include "runtime/runtime.h"
#include "tuner/model/fit.h"
#include "tuner/tune/built.h"
#include "tuner/tune/compiled.h"
#include "tuner/tune/deal.h"
#include "tuner/tune/fit.h"
#include "tuner/tune/machine_fault.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/phases.h"
#include "tuner/tune/roofline.h"

/* Of each shape's ranking; shapes that compilers have ahead of the device; and all. */
enum { FIRST = 4, FURTHER = 2, EACH = FIRST + FURTHER, AHEAD = 12, SHAPES = 300 };

/* Seconds of a worker for a timing. */
static const double timing_seconds = 0.015;

struct item {
    mmt_problem problem;
    struct mmt_config config;
    bool handed; /* to a compiler: what cannot be built is not tried again */
};

/* Shapes whose kernels are being built, and the first of them is timed next. */
struct window {
    struct mmt_run *run;
    const mmt_problem *shapes;
    int first, next; /* of the shapes: in the window are those between */
    struct item items[AHEAD][EACH];
    int counts[AHEAD];
    double ends;
    int64_t left; /* timings */
};

static bool is_over(const struct window *w)
{
    return mmt_pool_interrupts() || w->run->pool.broken.status || w->left <= 0 ||
           mmt_now() >= w->ends;
}

/* ---- which shapes ---------------------------------------------------------------- */

/* The same in every run, so that what is known need not be timed again: their operations
 * are bounded by a rounded peak, as one that was measured is not always the same. */
static void list_shapes(const struct mmt_run *run, const mmt_problem *kind,
                        mmt_problem shapes[SHAPES])
{
    const double peak = run->limits.roofline.peak_flops[kind->type];
    mmt_fit_shapes(kind, peak > 0 ? exp2(floor(log2(peak / 10))) : 1e9, shapes, SHAPES);
}

/* ---- which kernels --------------------------------------------------------------- */

/* The profile whose model programs will have. */
static const struct mmt_profile *find_teller(const struct mmt_run *run, mmt_type type)
{
    const struct mmt_profile *own = run->files.profile, *others = run->files.layers;
    const struct mmt_model *mine = mmt_profile_model(own, type);
    const struct mmt_model *theirs = others ? mmt_profile_model(others, type) : NULL;
    return theirs && (!mine || theirs->shapes > mine->shapes) ? others : own;
}

static bool is_new(const struct mmt_run *run, const mmt_problem *problem,
                   const struct mmt_config *config)
{
    return (!run->options.template ||
            mmt_template_is(config->template, run->options.template)) &&
           mmt_journal_whole(run->files.journal, problem, config) != MMT_WHOLE_WRONG &&
           !mmt_journal_find_any(run->files.journal, problem, config);
}

/* The first, and two further down, in turn others: what is ranked too low is seen, too.
 */
static void list_kernels(struct window *w, int shape)
{
    const mmt_problem *problem = &w->shapes[shape];
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    const int count = mmt_select_rank(find_teller(w->run, problem->type), problem,
                                      &w->run->device.caps, NULL, ranked);
    const int places[FURTHER] = { FIRST + shape % 5, FIRST + 6 + shape % 11 };
    struct item *items = w->items[shape % AHEAD];
    int listed = 0;

    for (int i = 0; i < EACH; i++) {
        const int place = i < FIRST ? i : places[i - FIRST];
        if (place < count && is_new(w->run, problem, &ranked[place].config))
            items[listed++] = (struct item){ *problem, ranked[place].config };
    }
    w->counts[shape % AHEAD] = listed;
}

/* ---- building -------------------------------------------------------------------- */

/* Gives idle compilers what the window lacks, its first shape before the others. */
static void build_some(struct window *w)
{
    for (int shape = w->first; shape < w->next; shape++)
        for (int i = 0; i < w->counts[shape % AHEAD]; i++) {
            struct item *item = &w->items[shape % AHEAD][i];
            if (!item->handed &&
                !mmt_tune_build_ahead(w->run, &item->problem, &item->config, 1))
                return;
            item->handed = true;
        }
}

/* Whether compilers have anything to do. */
static bool is_building(const struct window *w)
{
    for (int i = 0; i < w->run->pool.count; i++)
        if (w->run->pool.workers[i].busy)
            return true;
    return false;
}

/* Waits for one, while compilers are kept busy; where the device computes on their cores,
 * for all that the shape has. */
static void await_built(struct window *w, const struct item *item)
{
    struct mmt_event event;
    while (w->run->pool.count > 1 && !is_over(w)) {
        build_some(w);
        if (w->run->pool.shared
                ? !is_building(w)
                : mmt_tune_is_built(w->run, &item->problem, &item->config) ||
                      !mmt_tune_is_being_built(w->run, &item->problem, &item->config))
            return;
        if (mmt_pool_next(&w->run->pool, fmin(w->ends, mmt_now() + 0.2), &event))
            mmt_tune_note_built(w->run, &event);
    }
}

/* ---- timing ---------------------------------------------------------------------- */

/* One that would be chosen is verified, by a few checks. */
static mmt_status time_kernel(struct window *w, const struct item *item, bool verify,
                              double *best, mmt_error *err)
{
    struct mmt_run *run = w->run;
    struct mmt_record record;
    struct mmt_job job = {
        .problem = item->problem,
        .configs = { item->config },
        .verify = { verify },
        .best_seconds = isfinite(*best) ? *best : 0,
        .budget_seconds = timing_seconds,
    };
    w->left--;
    if (!mmt_tune_time_short(run, &job, mmt_tune_limit(run, &item->problem, *best),
                             &record))
        return MMT_OK;
    if (record.result.outcome == MMT_TIMED)
        *best = fmin(*best, record.result.time.median);
    mmt_report_law_time(run, &record);
    const mmt_status status = mmt_tune_note_result(run, &record, err);
    return !status && mmt_tune_suspects(run) ? mmt_tune_ask_naive(run, err) : status;
}

static mmt_status time_shape(struct window *w, mmt_error *err)
{
    double best = mmt_journal_best(w->run->files.journal, &w->shapes[w->first]);
    mmt_status status = MMT_OK;
    for (int i = 0; i < w->counts[w->first % AHEAD] && !status && !is_over(w); i++) {
        const struct item *item = &w->items[w->first % AHEAD][i];
        await_built(w, item);
        if (!is_over(w))
            status = time_kernel(w, item, i == 0, &best, err);
    }
    return status;
}

/* Not the device's whole memory, and no shape that takes up all the time. */
static bool is_affordable(const struct window *w, const mmt_problem *problem)
{
    const struct mmt_run *run = w->run;
    const double peak = run->limits.roofline.peak_flops[problem->type],
                 memory = (double) run->device.caps.memory;
    if (memory > 0 &&
        4 * mmt_problem_bytes(problem) + 2 * (double) run->device.caps.cache > memory / 4)
        return false;
    return peak <= 0 ||
           mmt_problem_flops(problem) / peak * 32 * EACH <= w->ends - mmt_now();
}

/* Shapes from `start` on, each once. */
static mmt_status time_kind(struct mmt_run *run, const mmt_problem *kind, int start,
                            double ends, int64_t timings, mmt_error *err)
{
    mmt_problem all[SHAPES], shapes[SHAPES];
    struct window *w = calloc(1, sizeof *w);
    mmt_status status = MMT_OK;
    const int ahead = run->pool.shared ? 1 : AHEAD;
    int count = 0;

    if (!w)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to time kernels");
    *w = (struct window){ .run = run, .shapes = shapes, .ends = ends, .left = timings };
    list_shapes(run, kind, all);
    for (int i = 0; i < SHAPES; i++) {
        const mmt_problem *shape = &all[(start + i) % SHAPES];
        if (is_affordable(w, shape))
            shapes[count++] = *shape;
    }
    for (; w->first < count && !status && !is_over(w); w->first++) {
        for (; w->next < count && w->next < w->first + ahead; w->next++)
            list_kernels(w, w->next);
        status = time_shape(w, err);
    }
    free(w);
    return status;
}

/* ---- all kinds ------------------------------------------------------------------- */

/* Most kinds; shapes between the first of kinds. */
enum { KINDS = 4 * MMT_NUM_TYPES, APART = 29, MOST_WEIGHT = 2 };

/* Parts of the time. Most programs multiply f32, bf16 or f16, few i32; the transposes are
 * those of layers forward and of their gradients. What takes as long as another type of
 * its family is timed less. */
static double weight_of(mmt_type type, int transposes)
{
    static const double of_transposes[] = { 1, 1, 0.6, 0.2 };
    const mmt_type family = mmt_type_family(type);
    const double of_type = family == MMT_I32                         ? 0.4
                           : family == MMT_F32 || family == MMT_BF16 ? MOST_WEIGHT
                                                                     : 1;
    return of_transposes[transposes] * of_type * (type == family ? 1 : 0.3);
}

/* The types and transposes that a run is of, each with its weight; returns how many. */
static int list_kinds(const struct mmt_run *run, mmt_problem kinds[KINDS],
                      double weights[KINDS])
{
    static const unsigned bits[] = { MMT_NN, MMT_NT, MMT_TN, MMT_TT };
    int count = 0;
    for (int transposes = 0; transposes < 4; transposes++)
        for (int type = 0; type < MMT_NUM_TYPES; type++) {
            mmt_problem kind = mmt_gemm_problem((mmt_type) type, 1024, 1024, 1024);
            kind.trans_a = transposes / 2, kind.trans_b = transposes % 2;
            if (!run->options.types[type] || run->options.op != MMT_GEMM ||
                (run->options.transposes &&
                 !(run->options.transposes & bits[transposes])) ||
                mmt_problem_normalise(&kind, &kind, NULL))
                continue;
            weights[count] = weight_of((mmt_type) type, transposes);
            kinds[count++] = kind;
        }
    return count;
}

/* ---- what programs will ask for -------------------------------------------------- */

/* Of the time, for compilers alone. */
static const double building = 0.2;

/* Waits until a compiler has it. */
static void build(struct mmt_run *run, const mmt_problem *problem, double ends)
{
    struct mmt_selection chosen;
    struct mmt_event event;
    if (mmt_select(find_teller(run, problem->type), problem, &run->device.caps, NULL,
                   &chosen, NULL))
        return;
    while (mmt_now() < ends && !mmt_pool_interrupts() && !run->pool.broken.status &&
           !mmt_tune_build_ahead(run, problem, &chosen.config, 1))
        if (mmt_pool_next(&run->pool, fmin(ends, mmt_now() + 0.2), &event))
            mmt_tune_note_built(run, &event);
}

/* Compiles what is chosen for shapes such as programs multiply, until the time is over:
 * what is chosen often comes soon. A kind of half the weight has half the shapes. */
static void build_chosen(struct mmt_run *run, const mmt_problem *kinds,
                         const double *weights, int count, double ends)
{
    mmt_problem shapes[SHAPES];
    const int before = run->built.count;
    for (int i = 0; run->pool.count > 1 && i < SHAPES; i++)
        for (int kind = 0; kind < count && mmt_now() < ends; kind++) {
            const double part = weights[kind] / MOST_WEIGHT;
            const int at = (int) (i * part);
            if (i && at == (int) ((i - 1) * part))
                continue;
            list_shapes(run, &kinds[kind], shapes);
            build(run, &shapes[at], ends);
        }
    mmt_report_note(run, "compiled %d more kernels, which other shapes will need",
                    run->built.count - before);
}

/* ---- all ------------------------------------------------------------------------- */

mmt_status mmt_tune_time_law(struct mmt_run *run, mmt_error *err)
{
    enum { TIMINGS_FOR_A_TRY = 2 };
    mmt_problem kinds[KINDS];
    double weights[KINDS], sum = 0;
    const int count = list_kinds(run, kinds, weights);
    const double all = run->clock.ends - mmt_now();
    const double ends = run->clock.ends - (isfinite(all) ? building * all : 0);
    double timings = TIMINGS_FOR_A_TRY * (double) run->counts.tried;
    mmt_status status = MMT_OK;

    for (int i = 0; i < count; i++)
        sum += weights[i];
    for (int i = 0; i < count && !status && !mmt_pool_interrupts(); i++) {
        const double share = weights[i] / sum, now = mmt_now();
        const double left = ends - now;
        const double part = ceil(timings * share);
        status =
            time_kind(run, &kinds[i], i * APART + (int) (SHAPES * mmt_tune_offset(run)),
                      isfinite(left) ? now + left * share : INFINITY,
                      run->options.budget.candidates ? (int64_t) part : INT64_MAX, err);
        if (!status)
            status = mmt_tune_end_suspicion(run, err);
        if (!status)
            status = mmt_tune_update(run, false, err);
        sum -= weights[i];
        timings -= part;
    }
    if (!status && isfinite(all))
        status = mmt_tune_fit(run, err);
    if (!status && isfinite(all))
        build_chosen(run, kinds, weights, count, run->clock.ends);
    return status ? status : mmt_pool_check(&run->pool, err);
}
