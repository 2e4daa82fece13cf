/* On a CPU, a portfolio for each family of types: the best few kernels on shapes that are
 * no goals, in the family's first type and transposes, then in all others
 * (docs/lab/cost-model.md).
 */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tuner/tune/calibration.h"

enum { FEWEST_SHAPES = 8, USUAL_SHAPES = 48, TIMINGS_FOR_A_TRY = 2 };

/* Two kernels on the fewest shapes: fewer timings compare nothing. */
enum { FEWEST_TIMINGS = 2 * FEWEST_SHAPES };

/* Seconds: of a worker for a timing, and for a new shape's data; of a compiler. */
static const double timing_takes = 0.04, shape_takes = 0.1, compiling_takes = 2;

static bool is_over(const struct mmt_calibration *c)
{
    return mmt_pool_interrupts() || c->run->pool.broken.status || c->left <= 0 ||
           mmt_now() >= c->ends;
}

/* ---- building what this run has not built yet ------------------------------------ */

/* Whether a specialisation is compiled. */
static bool is_compiled(const struct mmt_calibration *c,
                        const struct mmt_specialisation *spec)
{
    return spec->verified || mmt_tune_is_built(c->run, c->kind, &spec->config);
}

/* Whether a kernel's specialisation has to be compiled for it: another may have the same.
 */
static bool is_missing(const struct mmt_calibration *c, int kernel,
                       const struct mmt_specialisation *spec)
{
    return !is_compiled(c, spec) && !mmt_calibration_is_shared(c, kernel, spec);
}

/* Compiles on all workers, and waits for it: the device computes where compilers do. */
static void build_missing(struct mmt_calibration *c)
{
    struct mmt_config missing[MMT_MOST_UNCOMPILED];
    const double now = mmt_now();
    int count = 0;
    for (int j = 0; j < MMT_MOST_SPECIALISATIONS; j++)
        for (int i = 0; i < c->count && count < MMT_MOST_UNCOMPILED; i++)
            if (j < c->kernels[i].num_specialisations &&
                is_missing(c, i, &c->kernels[i].specialisations[j]))
                missing[count++] = c->kernels[i].specialisations[j].config;
    mmt_tune_build(c->run, c->kind, missing, count, now + (c->ends - now) / 3);
}

/* ---- timing ---------------------------------------------------------------------- */

/* The specialisation that serves a problem; NULL where none was foreseen. */
static const struct mmt_specialisation *find_specialisation(
    const struct mmt_calibration *c, const struct mmt_calibration_kernel *p,
    const mmt_problem *problem)
{
    const struct mmt_config config =
        mmt_config_resolve(&p->config, problem, &c->run->device.caps);
    return mmt_calibration_find(p, &config);
}

/* Whether what serves the problem is compiled: the device does not wait for compilers. */
static bool is_ready(const struct mmt_calibration *c,
                     const struct mmt_calibration_kernel *p, const mmt_problem *problem)
{
    const struct mmt_specialisation *spec = find_specialisation(c, p, problem);
    return !spec || is_compiled(c, spec);
}

/* A specialisation that was found right need not be checked again, whosever it is. */
static void note_verified(struct mmt_calibration *c, const struct mmt_config *config)
{
    for (int i = 0; i < c->count; i++)
        for (int j = 0; j < c->kernels[i].num_specialisations; j++) {
            struct mmt_specialisation *spec = &c->kernels[i].specialisations[j];
            spec->verified =
                spec->verified || mmt_config_same_text(&spec->config, config);
        }
}

static mmt_status time_kernel(struct mmt_calibration *c, struct mmt_calibration_kernel *p,
                              const mmt_problem *problem, double *best, mmt_error *err)
{
    struct mmt_run *run = c->run;
    const struct mmt_specialisation *spec = find_specialisation(c, p, problem);
    struct mmt_job job = {
        .task = MMT_TASK_MEASURE,
        .problem = *problem,
        .seed = (uint64_t) run->options.seed,
        .count = 1,
        .configs = { p->config },
        .verify = { !spec || !spec->verified },
        .best_seconds = isfinite(*best) ? *best : 0,
        .budget_seconds = 0.015,
        .is_short = true,
    };
    struct mmt_event event;
    if (!mmt_pool_do(run, &job, mmt_tune_limit(run, problem, *best), &event))
        return MMT_OK;
    struct mmt_record record = { .problem = *problem,
                                 .config = p->config,
                                 .result = event.reply.results[0],
                                 .calibration = true };
    if (record.result.outcome == MMT_KILLED)
        return MMT_OK;
    mmt_tune_judge_anew(run, problem, &record.result);
    p->out = record.result.outcome != MMT_TIMED && record.result.outcome != MMT_SKIPPED;
    if (record.result.outcome == MMT_TIMED)
        p->took = record.result.time.median;
    if (record.result.outcome == MMT_TIMED && spec && !spec->verified)
        note_verified(c, &spec->config);
    *best = fmin(*best, p->took);
    c->left--;
    mmt_report_calibration(run, &record);
    mmt_status status = mmt_tune_note_result(run, &record, err);
    return !status && mmt_tune_suspects(run) ? mmt_tune_ask_naive(run, err) : status;
}

/* The same, or what an earlier run has found. */
static mmt_status time_or_recall(struct mmt_calibration *c,
                                 struct mmt_calibration_kernel *p,
                                 const mmt_problem *problem, double *best, mmt_error *err)
{
    const struct mmt_record *known =
        mmt_journal_find_any(c->run->files.journal, problem, &p->config);
    if (!known)
        return time_kernel(c, p, problem, best, err);
    if (known->result.outcome == MMT_TIMED)
        p->took = known->result.time.median;
    *best = fmin(*best, p->took);
    return MMT_OK;
}

/* Whether a kernel has still to be timed on a shape, and can be. */
static bool has_to_time(const struct mmt_calibration *c, struct mmt_calibration_kernel *p,
                        const mmt_problem *shapes, int shape)
{
    return !p->out && p->behind[shape] == 0 && !(c->introduces && p->timed) &&
           !mmt_config_check_problem(&p->config, &shapes[shape], &c->run->device.caps) &&
           !mmt_calibration_is_hopeless(p, shapes, shape) &&
           is_ready(c, p, &shapes[shape]);
}

/* Times what serves the shape. */
static mmt_status time_kernels(struct mmt_calibration *c, const mmt_problem *shapes,
                               int shape, mmt_error *err)
{
    mmt_status status = MMT_OK;
    double best = c->best[shape] > 0 ? c->best[shape] : INFINITY;
    for (int i = 0; i < c->count; i++)
        c->kernels[i].took = INFINITY;
    for (int i = 0; !status && i < c->count && !is_over(c); i++) {
        struct mmt_calibration_kernel *p = &c->kernels[i];
        if (has_to_time(c, p, shapes, shape))
            status = time_or_recall(c, p, &shapes[shape], &best, err);
    }
    for (int i = 0; i < c->count; i++)
        mmt_calibration_compare(&c->kernels[i], shape, best);
    c->best[shape] = isfinite(best) ? best : 0;
    return status;
}

/* Not the device's whole memory, and no shape that takes up all the time. */
static bool is_affordable(const struct mmt_calibration *c, const mmt_problem *problem,
                          double seconds)
{
    double peak = c->run->limits.roofline.peak_flops[problem->type],
           memory = (double) c->run->device.caps.memory;
    if (memory > 0 &&
        4 * mmt_problem_bytes(problem) + 2 * (double) c->run->device.caps.cache >
            memory / 4)
        return false;
    return peak <= 0 || mmt_problem_flops(problem) / peak * 32 * c->count <= seconds;
}

static mmt_status go_round(struct mmt_calibration *c, const mmt_problem *shapes,
                           double seconds, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int i = 0; !status && i < MMT_MOST_CALIBRATION_SHAPES && !is_over(c); i++) {
        const int shape = (c->start + i) % MMT_MOST_CALIBRATION_SHAPES;
        if (is_affordable(c, &shapes[shape], seconds))
            status = time_kernels(c, shapes, shape, err);
    }
    return status;
}

/* Each kernel is timed on one shape, so that it is right for the kind; then those that
 * promise something there on the others. Where there is time left, a second round is for
 * what was not compiled in the first. */
static mmt_status time_shapes(struct mmt_calibration *c, mmt_error *err)
{
    const double seconds = c->ends - mmt_now();
    mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES];
    mmt_status status = MMT_OK;
    mmt_calibration_shapes(c->run, c->kind, shapes);
    for (int round = c->first ? 1 : 0; !status && round < 3; round++) {
        c->introduces = round == 0;
        status = go_round(c, shapes, seconds, err);
    }
    return status;
}

/* ---- all kinds ------------------------------------------------------------------- */

/* Whether such a device has a portfolio of the type's family. */
static bool knows_family(const struct mmt_run *run, mmt_type type)
{
    return run->files.layers && mmt_profile_model(run->files.layers, type);
}

/* So many kernels that four dozen shapes fit into the time, or eight shapes into the
 * number of timings; and as much to compile as compilers have done in a third of that
 * time. A known portfolio is timed whole, however few shapes that leaves to a kind. */
static void set_sizes(struct mmt_calibration *c)
{
    double seconds = isfinite(c->ends) ? c->ends - mmt_now() : 60;
    double room = (seconds - USUAL_SHAPES * shape_takes) / (USUAL_SHAPES * timing_takes);
    int compilers = c->run->pool.count - 1;
    if (c->left < INT64_MAX)
        room = (double) c->left / FEWEST_SHAPES;
    c->most =
        (int) fmin(fmax(room, c->left < INT64_MAX ? 3 : 6), MMT_MOST_CALIBRATION_KERNELS);
    c->most_uncompiled =
        (int) fmin(seconds / 3 / compiling_takes * compilers, MMT_MOST_UNCOMPILED);
    if (!c->first)
        c->most = MMT_MOST_CALIBRATION_KERNELS;
}

/* What is calibrated: a type and transposes, and its share of the time. */
struct part {
    mmt_problem kind;
    bool first; /* of its family */
    double weight;
    int start; /* the first of the shapes: others for each kind tell more */
};

enum { MOST_PARTS = 4 * MMT_NUM_TYPES, APART = 8 };

/* The first of a family finds its portfolio, unless such a device has one: then it is
 * timed again, as the others time it. Most programs multiply f32, and bf16 or f16; few
 * i32. */
static const double finding_weight = 6, first_weight = 2, other_weight = 1,
                    usual_weight = 2, rare_weight = 0.4;

static double weight_of(const mmt_problem *kind, double weight)
{
    const mmt_type family = mmt_type_family(kind->type);
    if (family == MMT_I32)
        return rare_weight * weight;
    return family == MMT_F32 || family == MMT_BF16 ? usual_weight * weight : weight;
}

struct parts {
    struct part list[MOST_PARTS];
    int count;
};

static const struct part *find_part(const struct parts *parts, const mmt_problem *kind,
                                    bool family_does)
{
    for (int i = 0; i < parts->count; i++) {
        const mmt_problem *known = &parts->list[i].kind;
        if (family_does ? mmt_type_family(known->type) == mmt_type_family(kind->type)
                        : mmt_kind_bit(known) == mmt_kind_bit(kind))
            return &parts->list[i];
    }
    return NULL;
}

/* Goals open kinds; each is the first of its family or one more. */
static void add_goals(const struct mmt_run *run, struct parts *parts)
{
    for (int i = 0; i < run->goals.count; i++) {
        const mmt_problem *goal = &run->goals.list[i];
        if (goal->op != MMT_GEMM || find_part(parts, goal, true))
            continue;
        const double weight =
            knows_family(run, goal->type) ? first_weight : finding_weight;
        parts->list[parts->count++] =
            (struct part){ *goal, true, weight_of(goal, weight) };
    }
}

/* A program that multiplies one way multiplies the other ways, too: gradients do. */
static void add_others(const struct mmt_run *run, struct parts *parts)
{
    static const unsigned bits[] = { MMT_NN, MMT_NT, MMT_TN, MMT_TT };
    const int firsts = parts->count;
    for (int i = 0; i < firsts; i++)
        for (int type = 0; type < MMT_NUM_TYPES; type++)
            for (int transposes = 0; transposes < 4; transposes++) {
                const struct part *first = &parts->list[i];
                mmt_problem kind = mmt_gemm_problem((mmt_type) type, first->kind.m,
                                                    first->kind.n, first->kind.k);
                kind.trans_a = transposes / 2, kind.trans_b = transposes % 2;
                if (!run->options.types[type] ||
                    mmt_type_family(kind.type) != mmt_type_family(first->kind.type) ||
                    (run->options.transposes &&
                     !(run->options.transposes & bits[transposes])) ||
                    find_part(parts, &kind, false) ||
                    mmt_problem_normalise(&kind, &kind, NULL))
                    continue;
                parts->list[parts->count++] =
                    (struct part){ kind, false, weight_of(&kind, other_weight) };
            }
}

static struct mmt_calibration *plan_part(struct mmt_run *run, const struct part *part,
                                         double ends, int64_t left)
{
    struct mmt_calibration *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    *c = (struct mmt_calibration){ .run = run,
                                   .kind = &part->kind,
                                   .first = part->first,
                                   .start = part->start,
                                   .ends = ends,
                                   .left = left };
    set_sizes(c);
    mmt_calibration_list_kernels(c);
    return c;
}

static mmt_status calibrate_part(struct mmt_run *run, const struct part *part,
                                 double ends, int64_t left, mmt_error *err)
{
    struct mmt_calibration *c = plan_part(run, part, ends, left);
    mmt_status status = MMT_OK;
    if (!c)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to calibrate kernels");
    if (c->count > 0 && left >= FEWEST_TIMINGS) {
        build_missing(c);
        status = time_shapes(c, err);
    }
    free(c);
    if (!status)
        status = mmt_tune_end_suspicion(run, err);
    if (!status && part->first)
        status = mmt_tune_fit(run, MMT_TYPE_BIT(mmt_type_family(part->kind.type)), err);
    return status ? status : mmt_tune_update(run, false, err);
}

/* The first kinds of all families, then the others, each with its share of what is left.
 */
mmt_status mmt_tune_calibrate(struct mmt_run *run, mmt_error *err)
{
    struct parts parts = { .count = 0 };
    double weights = 0;
    mmt_status status = MMT_OK;
    add_goals(run, &parts);
    add_others(run, &parts);
    int64_t timings = TIMINGS_FOR_A_TRY * run->counts.tried;
    for (int i = 0; i < parts.count; i++) {
        weights += parts.list[i].weight;
        parts.list[i].start = parts.list[i].first ? 0 : i * APART;
    }
    for (int i = 0; !status && i < parts.count && !mmt_pool_interrupts(); i++) {
        const struct part *part = &parts.list[i];
        const double now = mmt_now(), left = run->clock.calibration_end - now;
        const double share = part->weight / weights;
        const double ends = isfinite(left) ? now + left * share : INFINITY;
        const int64_t part_timings = (int64_t) ceil((double) timings * share);
        weights -= part->weight;
        timings -= part_timings;
        status = calibrate_part(run, part, ends,
                                run->options.budget.candidates ? part_timings : INT64_MAX,
                                err);
    }
    if (!status && run->pool.broken.status) {
        *err = run->pool.broken;
        status = err->status;
    }
    return status;
}
