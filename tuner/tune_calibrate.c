/* The best few kernels of each type and transposes on shapes that are no goals, so that
 * what they cost on any shape can be fitted (docs/cost-model.md). */
#include <math.h>
#include <stdlib.h>

#include "tuner/calibrate.h"

enum { FEWEST_SHAPES = 8, USUAL_SHAPES = 48, TIMINGS_FOR_A_TRY = 2 };

/* Between one shape and the one that comes next to it for kernels that serve few. */
enum { FURTHER = MMT_MOST_CALIBRATION_SHAPES / 2 };

/* Seconds: of a worker for a timing, and for a new shape's data; of a compiler. */
static const struct pace {
    double timing, shape, compiling;
} pace_gpu = { 0.004, 0.05, 0.6 }, pace_cpu = { 0.04, 0.1, 2 };

static bool is_over(const struct mmt_calibration *c)
{
    return mmt_pool_interrupts() || c->t->pool.broken.status || c->left <= 0 ||
           mmt_now() >= c->ends;
}

/* ---- building what this run has not built yet ------------------------------------ */

/* Whether a form is compiled. */
static bool is_there(const struct mmt_calibration *c, const struct mmt_form *form)
{
    return form->verified || mmt_tune_is_built(c->t, c->kind, &form->config);
}

/* Whether a pick's form has to be compiled for it: another may have the same. */
static bool is_missing(const struct mmt_calibration *c, int pick,
                       const struct mmt_form *form)
{
    return !is_there(c, form) && !mmt_pick_is_shared(c, pick, form);
}

/* Compiles a part of what is missing on all workers, and waits for it; the device then
 * has enough to do until the rest is there (compile_some). A device that computes where
 * compilers do needs all of it before. */
static void build(struct mmt_calibration *c)
{
    enum { PART = 6 };
    struct mmt_config missing[MMT_MOST_STRANGE];
    const double now = mmt_now();
    int count = 0;
    for (int i = 0; i < c->count; i++)
        for (int j = 0; j < c->picks[i].num_forms && count < MMT_MOST_STRANGE; j++)
            if (is_missing(c, i, &c->picks[i].forms[j]))
                missing[count++] = c->picks[i].forms[j].config;
    if (!c->t->pool.shared)
        count = (count + PART - 1) / PART;
    mmt_tune_build(c->t, c->kind, missing, count, now + (c->ends - now) / 3);
}

/* Gives idle compilers what is missing. */
static void compile_some(struct mmt_calibration *c)
{
    struct mmt_worker *worker;
    for (; c->next < c->count * MMT_MOST_FORMS &&
           (worker = mmt_pool_idle(&c->t->pool, MMT_COMPILER));
         c->next++) {
        const int pick = c->next / MMT_MOST_FORMS, i = c->next % MMT_MOST_FORMS;
        const struct mmt_pick *p = &c->picks[pick];
        if (i < p->num_forms && is_missing(c, pick, &p->forms[i]))
            mmt_tune_compile(c->t, worker, c->kind, &p->forms[i].config);
    }
}

/* The same while the device is at work, and behind it what the next calibration will
 * time, as far as is known now. */
static void compile_meanwhile(struct mmt_calibration *c)
{
    if (c->t->pool.shared)
        return;
    compile_some(c);
    if (c->ahead)
        compile_some(c->ahead);
}

/* ---- timing ---------------------------------------------------------------------- */

/* The form that serves a problem; NULL where none was foreseen. */
static const struct mmt_form *find_form(const struct mmt_calibration *c,
                                        const struct mmt_pick *p,
                                        const mmt_problem *problem)
{
    const struct mmt_config config = mmt_config_settle(&p->config, problem, &c->t->caps);
    return mmt_pick_form(p, &config);
}

/* Whether what serves the problem is compiled: the device does not wait for compilers. */
static bool is_ready(const struct mmt_calibration *c, const struct mmt_pick *p,
                     const mmt_problem *problem)
{
    const struct mmt_form *form = find_form(c, p, problem);
    return !form || is_there(c, form);
}

/* A text that was found right need not be checked again, whosever it is. */
static void note_verified(struct mmt_calibration *c, const struct mmt_config *config)
{
    for (int i = 0; i < c->count; i++)
        for (int j = 0; j < c->picks[i].num_forms; j++) {
            struct mmt_form *form = &c->picks[i].forms[j];
            form->verified =
                form->verified || mmt_config_same_text(&form->config, config);
        }
}

static mmt_status time_pick(struct mmt_calibration *c, struct mmt_pick *p,
                            const mmt_problem *problem, double *best, mmt_error *err)
{
    struct mmt_tuning *t = c->t;
    const struct mmt_form *form = find_form(c, p, problem);
    struct mmt_job job = {
        .task = MMT_TASK_MEASURE,
        .problem = *problem,
        .seed = (uint64_t) t->options.seed,
        .count = 1,
        .configs = { p->config },
        .verify = { !form || !form->verified },
        .best_seconds = isfinite(*best) ? *best : 0,
        .budget_seconds = 0.015,
        .brief = true,
    };
    struct mmt_event event;
    if (!mmt_pool_do(t, &job, mmt_tune_limit(t, problem, *best), &event))
        return MMT_OK;
    struct mmt_record record = { .problem = *problem,
                                 .config = p->config,
                                 .result = event.reply.results[0],
                                 .calibration = true };
    if (record.result.outcome == MMT_KILLED)
        return MMT_OK;
    mmt_tune_judge_anew(t, problem, &record.result);
    p->out = record.result.outcome != MMT_TIMED && record.result.outcome != MMT_SKIPPED;
    if (record.result.outcome == MMT_TIMED)
        p->took = record.result.time.median;
    if (record.result.outcome == MMT_TIMED && form && !form->verified)
        note_verified(c, &form->config);
    *best = fmin(*best, p->took);
    c->left--;
    mmt_report_calibration(t, &record);
    mmt_status status = mmt_tune_note_result(t, &record, err);
    return !status && mmt_tune_suspects(t) ? mmt_tune_ask_naive(t, err) : status;
}

/* The same, or what an earlier run has found. */
static mmt_status meet(struct mmt_calibration *c, struct mmt_pick *p,
                       const mmt_problem *problem, double *best, mmt_error *err)
{
    const struct mmt_record *known =
        mmt_journal_find_any(c->t->journal, problem, &p->config);
    if (!known)
        return time_pick(c, p, problem, best, err);
    if (known->result.outcome == MMT_TIMED)
        p->took = known->result.time.median;
    *best = fmin(*best, p->took);
    return MMT_OK;
}

/* Whether a pick has still to meet a shape, and can. */
static bool has_to_meet(const struct mmt_calibration *c, struct mmt_pick *p,
                        const mmt_problem *shapes, int shape)
{
    return !p->out && p->behind[shape] == 0 &&
           !mmt_config_refuse(&p->config, &shapes[shape], &c->t->caps) &&
           !mmt_pick_is_hopeless(p, shapes, shape) && is_ready(c, p, &shapes[shape]);
}

/* Times what serves the shape, all of it or what serves few shapes. */
static mmt_status time_picks(struct mmt_calibration *c, const mmt_problem *shapes,
                             int shape, bool all, mmt_error *err)
{
    mmt_status status = MMT_OK;
    double best = c->best[shape] > 0 ? c->best[shape] : INFINITY;
    for (int i = 0; i < c->count; i++)
        c->picks[i].took = INFINITY;
    for (int i = 0; !status && i < c->count && !is_over(c); i++) {
        struct mmt_pick *p = &c->picks[i];
        if ((all || p->rare) && has_to_meet(c, p, shapes, shape))
            status = meet(c, p, &shapes[shape], &best, err);
        compile_meanwhile(c);
    }
    for (int i = 0; i < c->count; i++)
        mmt_pick_compare(&c->picks[i], shape, best);
    c->best[shape] = isfinite(best) ? best : 0;
    return status;
}

/* Not the device's whole memory, and no shape that takes up all the time. */
static bool affordable(const struct mmt_calibration *c, const mmt_problem *problem,
                       double seconds)
{
    double peak = c->t->roofline.peak_flops[problem->type],
           memory = (double) c->t->caps.memory;
    if (memory > 0 &&
        4 * mmt_problem_bytes(problem) + 2 * (double) c->t->caps.cache > memory / 4)
        return false;
    return peak <= 0 || mmt_problem_flops(problem) / peak * 32 * c->count <= seconds;
}

/* Where timings are counted, there are none to spare. */
static void find_rare(struct mmt_calibration *c, const mmt_problem *shapes)
{
    const bool spare = c->left == INT64_MAX;
    for (int i = 0; i < c->count; i++) {
        int served = 0;
        for (int s = 0; s < MMT_MOST_CALIBRATION_SHAPES; s++)
            served += !mmt_config_refuse(&c->picks[i].config, &shapes[s], &c->t->caps);
        c->picks[i].rare = spare && 2 * served < MMT_MOST_CALIBRATION_SHAPES;
    }
}

/* A kernel that serves few shapes would be timed on too few to be fitted: after each
 * shape comes a further one for such alone. */
static mmt_status go_round(struct mmt_calibration *c, const mmt_problem *shapes,
                           double seconds, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int i = 0; !status && i < MMT_MOST_CALIBRATION_SHAPES && !is_over(c); i++) {
        const int further = i + FURTHER;
        if (affordable(c, &shapes[i], seconds))
            status = time_picks(c, shapes, i, true, err);
        if (!status && further < MMT_MOST_CALIBRATION_SHAPES &&
            affordable(c, &shapes[further], seconds))
            status = time_picks(c, shapes, further, false, err);
    }
    return status;
}

/* Where there is time left, a second round is for what was not compiled in the first. */
static mmt_status time_shapes(struct mmt_calibration *c, mmt_error *err)
{
    const double seconds = c->ends - mmt_now();
    mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES];
    mmt_calibration_shapes(c->t, c->kind, shapes);
    find_rare(c, shapes);
    mmt_status status = go_round(c, shapes, seconds, err);
    return status ? status : go_round(c, shapes, seconds, err);
}

/* ---- all kinds ------------------------------------------------------------------- */

/* So many kernels that four dozen shapes fit into the time, or eight shapes into the
 * number of timings; and as much to compile as compilers have done when two thirds of
 * that time are over: a device that does not share their cores is at work meanwhile. */
static void set_sizes(struct mmt_calibration *c)
{
    const struct pace *pace = c->t->caps.kind == MMT_CPU ? &pace_cpu : &pace_gpu;
    double seconds = isfinite(c->ends) ? c->ends - mmt_now() : 60;
    double room = (seconds / USUAL_SHAPES - pace->shape) / pace->timing;
    int compilers = c->t->pool.count - 1;
    if (c->left < INT64_MAX)
        room = (double) c->left / FEWEST_SHAPES;
    c->most = (int) fmin(fmax(room, c->left < INT64_MAX ? 3 : 6), MMT_MOST_PICKS);
    const double part = c->t->pool.shared ? 1.0 / 3 : 2.0 / 3;
    c->most_strange =
        (int) fmin(part * seconds / pace->compiling * compilers, MMT_MOST_STRANGE);
}

static struct mmt_calibration *plan(struct mmt_tuning *t, const mmt_problem *kind,
                                    double ends, int64_t left)
{
    struct mmt_calibration *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    *c = (struct mmt_calibration){ .t = t, .kind = kind, .ends = ends, .left = left };
    set_sizes(c);
    mmt_calibration_pick(c);
    return c;
}

/* `next` is the kind that comes after it, or NULL. */
static mmt_status calibrate(struct mmt_tuning *t, const mmt_problem *kind,
                            const mmt_problem *next, double ends, int64_t left,
                            mmt_error *err)
{
    struct mmt_calibration *c = plan(t, kind, ends, left);
    mmt_status status = MMT_OK;
    if (!c)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to calibrate kernels");
    if (c->count > 0) {
        build(c);
        c->ahead = next ? plan(t, next, ends, left) : NULL;
        status = time_shapes(c, err);
        free(c->ahead);
    }
    free(c);
    return status;
}

/* The first of the next kind, behind that goal; NULL: there is none. */
static const mmt_problem *next_kind(const struct mmt_tuning *t, int goal)
{
    while (++goal < t->num_goals)
        if (mmt_tune_opens_kind(t, goal))
            return &t->goals[goal];
    return NULL;
}

/* Kinds share the time evenly, however many goals they have. */
mmt_status mmt_tune_calibrate(struct mmt_tuning *t, mmt_error *err)
{
    int64_t timings =
        t->options.budget.candidates ? TIMINGS_FOR_A_TRY * t->counts.tried : INT64_MAX;
    int kinds = mmt_tune_count_kinds(t), done = 0;
    mmt_status status = MMT_OK;
    for (int i = 0; !status && i < t->num_goals && !mmt_pool_interrupts(); i++) {
        if (!mmt_tune_opens_kind(t, i))
            continue;
        double now = mmt_now();
        double ends =
            isfinite(t->ends) ? now + (t->ends - now) / (kinds - done++) : INFINITY;
        status = calibrate(t, &t->goals[i], next_kind(t, i), ends,
                           timings == INT64_MAX ? timings : timings / kinds, err);
        if (!status)
            status = mmt_tune_end_suspicion(t, err);
        if (!status)
            status = mmt_tune_save(t, false, err);
    }
    if (!status && t->pool.broken.status) {
        *err = t->pool.broken;
        status = err->status;
    }
    return status;
}
