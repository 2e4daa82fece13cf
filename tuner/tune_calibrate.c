/* The best few kernels of each type and transposes on shapes that are no goals, so that
 * what they cost on any shape can be fitted (docs/cost-model.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cost.h"
#include "tuner/fit.h"
#include "tuner/tune.h"

enum {
    MOST_PICKS = 48,
    MOST_SPECIALISTS = 4, /* besides them */
    MOST_SUGGESTED = 24,
    MOST_SEEDS = 256,
    PROPOSALS = 12, /* for each shape: one of each template, and then some */
    MOST_SHAPES = 100,
    FEWEST_SHAPES = 8,
    USUAL_SHAPES = 36,
    TIMINGS_FOR_A_TRY = 2
};

/* Seconds: of a worker for a timing, and for a new shape's data; of a compiler. */
static const struct pace {
    double timing, shape, compiling;
} pace_gpu = { 0.008, 0.05, 1 }, pace_cpu = { 0.04, 0.1, 2 };

static const double compile_limit = 60;

/* Slower than that many times the best, a kernel is not of interest for what it is. */
static const double behind = 2;

struct pick {
    struct mmt_config config;
    bool verified; /* found right and compiled by this run */
    bool out;      /* it failed here: never again */
};

/* The calibration of one type and transposes. */
struct calibration {
    struct mmt_tuning *t;
    const mmt_problem *kind; /* one of its goals */
    struct pick picks[MOST_PICKS + MOST_SPECIALISTS];
    int count, most, strange; /* strange: how many must be compiled, and how many may */
    int most_strange;
    double ends;
    int64_t left; /* timings */
};

static bool same_kind(const mmt_problem *a, const mmt_problem *b)
{
    return a->op == b->op && a->type == b->type && a->trans_a == b->trans_a &&
           a->trans_b == b->trans_b;
}

/* The same shapes in every run, so that what is known need not be timed again: rounded,
 * as a peak that was measured is not always the same. */
static void list_shapes(const struct calibration *c, mmt_problem shapes[MOST_SHAPES])
{
    double peak = c->t->peak[c->kind->type];
    mmt_fit_shapes(c->kind, peak > 0 ? exp2(floor(log2(peak / 10))) : 1e9, shapes,
                   MOST_SHAPES);
}

static bool is_over(const struct calibration *c)
{
    return mmt_pool_interrupts() || c->t->pool.broken.status || c->left <= 0 ||
           mmt_now() >= c->ends;
}

/* ---- which kernels --------------------------------------------------------------- */

/* Whether two configurations cut the problem alike: then what one costs tells what the
 * other does. */
static bool alike(const struct calibration *c, const struct mmt_config *a,
                  const struct mmt_config *b)
{
    const struct mmt_caps *caps = &c->t->caps;
    struct mmt_launches x = { 0 }, y = { 0 };
    if (a->template != b->template)
        return false;
    if (mmt_config_equal(a, b))
        return true;
    if (mmt_config_refuse(a, c->kind, caps) || mmt_config_refuse(b, c->kind, caps))
        return false;
    a->template->launch(a->values, c->kind, caps, &x);
    b->template->launch(b->values, c->kind, caps, &y);
    bool same = x.count == y.count && mmt_cost_depth(a) == mmt_cost_depth(b);
    for (int i = 0; same && i < x.count; i++)
        same = !memcmp(x.launch[i].grid, y.launch[i].grid, sizeof x.launch[i].grid) &&
               !memcmp(x.launch[i].block, y.launch[i].block, sizeof x.launch[i].block);
    return same;
}

static bool pick(struct calibration *c, const struct mmt_config *config, bool verified,
                 bool even_alike)
{
    if (c->count == c->most || (!verified && c->strange == c->most_strange))
        return false;
    for (int i = 0; i < c->count; i++)
        if (even_alike ? mmt_config_equal(&c->picks[i].config, config)
                       : alike(c, &c->picks[i].config, config))
            return false;
    c->strange += !verified;
    c->picks[c->count++] = (struct pick){ .config = *config, .verified = verified };
    return true;
}

/* A candidate of the kind, and how far it was behind the best of its problem. */
struct ranked {
    double loss;
    const struct mmt_record *record;
};

static int less_lost(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return (a->loss > b->loss) - (a->loss < b->loss);
}

static double best_of(const struct mmt_record *records, size_t count,
                      const mmt_problem *problem)
{
    double best = INFINITY;
    for (size_t i = 0; i < count; i++)
        if (mmt_record_is_candidate(&records[i]) &&
            records[i].result.outcome == MMT_TIMED &&
            mmt_problem_equal(&records[i].problem, problem))
            best = fmin(best, records[i].result.time.median);
    return best;
}

/* All that were timed and not far behind, the nearest to the best first; malloc'ed. */
static struct ranked *rank(const struct calibration *c, int *count)
{
    size_t all;
    const struct mmt_record *records = mmt_journal_records(c->t->journal, &all),
                            *of = NULL;
    struct ranked *out = malloc((all + 1) * sizeof *out);
    double best = INFINITY;
    *count = 0;
    for (size_t i = 0; out && i < all; i++) {
        const struct mmt_record *r = &records[i];
        if (!mmt_record_is_candidate(r) || r->result.outcome != MMT_TIMED ||
            !same_kind(&r->problem, c->kind))
            continue;
        if (!of || !mmt_problem_equal(&of->problem, &r->problem))
            best = best_of(records, all, &r->problem);
        of = r;
        out[(*count)++] = (struct ranked){ r->result.time.median / best, r };
    }
    if (out)
        qsort(out, (size_t) *count, sizeof *out, less_lost);
    return out;
}

static bool is_verified(const struct mmt_record *record)
{
    return !record->earlier && record->result.time.samples > 1;
}

static void pick_winners(struct calibration *c)
{
    for (int i = 0; i < c->t->num_goals; i++)
        for (size_t e = 0; e < c->t->profile->num_entries; e++) {
            const struct mmt_entry *entry = &c->t->profile->entries[e];
            if (entry->source[0] || !same_kind(&c->t->goals[i], c->kind) ||
                !mmt_problem_equal(&entry->problem, &c->t->goals[i]))
                continue;
            const struct mmt_record *record =
                mmt_journal_find(c->t->journal, &entry->problem, &entry->config);
            if (record)
                pick(c, &entry->config, is_verified(record), true);
        }
}

/* Of each template the one that came nearest to a best, if not far behind: those that are
 * would take the places of kernels that matter. */
static void pick_templates(struct calibration *c, const struct ranked *ranked, int count)
{
    for (int i = 0; i < count && ranked[i].loss < behind; i++) {
        int first = 0;
        while (ranked[first].record->config.template != ranked[i].record->config.template)
            first++;
        if (first == i)
            pick(c, &ranked[i].record->config, is_verified(ranked[i].record), false);
    }
}

/* Those that are kept for the same type with other transposes: a set that serves all
 * sorts of shapes. */
static void pick_siblings(struct calibration *c)
{
    const struct mmt_profile *profile = c->t->profile;
    const struct mmt_variant variant = mmt_variant_of(c->kind, false);
    for (size_t i = 0; i < profile->num_kept; i++) {
        const struct mmt_kept *kept = &profile->kept[i];
        if (kept->type == c->kind->type && kept->cost.fitted &&
            (kept->trans_a != variant.trans_a || kept->trans_b != variant.trans_b) &&
            mmt_tune_is_meant(c->t, kept->config.template, c->kind) &&
            !mmt_config_reject(&kept->config, &variant, &c->t->caps))
            pick(c, &kept->config, false, false);
    }
}

/* What the templates suggest and this device can run: the first suggestion of each, then
 * the second of each, …; returns how many. */
static int list_seeds(const struct calibration *c, struct mmt_config *out, int most)
{
    const struct mmt_variant variant = mmt_variant_of(c->kind, false);
    int count = 0, more = 1;
    for (int seed = 0; more; seed++) {
        more = 0;
        for (int i = 0; mmt_templates[i] && count < most; i++) {
            const struct mmt_template *template = mmt_templates[i];
            if (seed >= template->num_seeds ||
                !mmt_tune_is_meant(c->t, template, c->kind))
                continue;
            more = 1;
            out[count] = (struct mmt_config){ .template = template };
            memcpy(out[count].values, template->seeds[seed],
                   (size_t) template->num_knobs * sizeof(int));
            count += !mmt_config_reject(&out[count], &variant, &c->t->caps);
        }
    }
    return count;
}

static bool is_listed(const struct mmt_config *list, int count,
                      const struct mmt_config *config)
{
    int i = 0;
    while (i < count && !mmt_config_equal(&list[i], config))
        i++;
    return i < count;
}

/* What a search would begin with on each of the shapes, behind `count` that are listed
 * already; returns how many there are then. */
static int list_proposals(const struct calibration *c, struct mmt_config *out, int count,
                          int most)
{
    mmt_problem shapes[MOST_SHAPES];
    struct mmt_arms arms;
    list_shapes(c, shapes);
    for (int i = 0; i < MOST_SHAPES && count < most; i++) {
        if (mmt_arms_create(c->t, &shapes[i], &arms, NULL))
            break;
        for (int n = 0; n < PROPOSALS && count < most; n++)
            if (mmt_arms_ask(&arms, &out[count]))
                count += !is_listed(out, count, &out[count]);
        mmt_arms_free(&arms);
    }
    return count;
}

static bool serves(const struct calibration *c, const struct mmt_template *template,
                   const int *values, const mmt_problem *problem)
{
    struct mmt_config config = { .template = template };
    memcpy(config.values, values, (size_t) template->num_knobs * sizeof(int));
    return !mmt_config_refuse(&config, problem, &c->t->caps);
}

/* The first of a template's seeds that serves the problem; NULL where none does. */
static const int *serving_seed(const struct calibration *c,
                               const struct mmt_template *template,
                               const mmt_problem *problem)
{
    for (int i = 0; i < template->num_seeds; i++)
        if (serves(c, template, template->seeds[i], problem))
            return template->seeds[i];
    return NULL;
}

/* Whether a pick of that template serves the problem; *any: whether there are picks of
 * it.
 */
static bool is_served(const struct calibration *c, const struct mmt_template *template,
                      const mmt_problem *problem, bool *any)
{
    bool served = false;
    *any = false;
    for (int i = 0; i < c->count; i++) {
        const struct mmt_config *config = &c->picks[i].config;
        if (config->template != template)
            continue;
        *any = true;
        served = served || serves(c, template, config->values, problem);
    }
    return served;
}

/* Goals tell nothing of templates that are for other shapes than theirs: of such a
 * template, and of one that won for some shapes and refuses others, what it suggests
 * there. */
static void pick_specialists(struct calibration *c)
{
    const int most = c->most, before = c->count;
    mmt_problem shapes[MOST_SHAPES];
    bool any;

    list_shapes(c, shapes);
    c->most = c->count + MOST_SPECIALISTS;
    for (int t = 0; mmt_templates[t]; t++) {
        const struct mmt_template *template = mmt_templates[t];
        if (!mmt_tune_is_meant(c->t, template, c->kind))
            continue;
        for (int i = 0; i < MOST_SHAPES; i++) {
            struct mmt_config config = { .template = template };
            bool served = is_served(c, template, &shapes[i], &any);
            const int *seed = served ? NULL : serving_seed(c, template, &shapes[i]);
            if (!seed || (!any && serving_seed(c, template, c->kind)))
                continue;
            memcpy(config.values, seed, (size_t) template->num_knobs * sizeof(int));
            pick(c, &config, false, false);
        }
    }
    c->most = most + c->count - before;
}

/* Seconds, in units of its own, that each of the seeds should take for each of the
 * shapes: rows and columns of `times`; the least of each column. */
static void estimate(const struct calibration *c, const struct mmt_config *seeds,
                     int count, double *times, double *least)
{
    mmt_problem shapes[MOST_SHAPES];
    list_shapes(c, shapes);
    for (int col = 0; col < MOST_SHAPES; col++) {
        least[col] = INFINITY;
        for (int row = 0; row < count; row++) {
            double *time = &times[row * MOST_SHAPES + col];
            *time = mmt_config_refuse(&seeds[row], &shapes[col], &c->t->caps)
                        ? INFINITY
                        : mmt_cost_estimate(&seeds[row], &shapes[col], &c->t->caps);
            least[col] = fmin(least[col], *time);
        }
    }
}

/* The few of what is suggested that together should serve all shapes well. */
static void pick_suggested(struct calibration *c, const struct mmt_config *seeds,
                           int count)
{
    int chosen[MOST_SUGGESTED];
    double worst, least[MOST_SHAPES],
        *times = malloc((size_t) count * MOST_SHAPES * sizeof *times);
    if (!times)
        return;
    estimate(c, seeds, count, times, least);
    int found =
        mmt_fit_choose(times, least, count, MOST_SHAPES, MOST_SUGGESTED, chosen, &worst);
    for (int i = 0; i < found; i++)
        pick(c, &seeds[chosen[i]], false, false);
    free(times);
}

/* In turn one that came near to a best, and one that a template suggests. */
static void pick_others(struct calibration *c, const struct ranked *ranked, int near,
                        const struct mmt_config *seeds, int num_seeds)
{
    for (int i = 0, seed = 0; i < near || seed < num_seeds;) {
        while (i < near && ranked[i].loss < behind) {
            const struct mmt_record *r = ranked[i++].record;
            if (pick(c, &r->config, is_verified(r), false))
                break;
        }
        if (i < near && ranked[i].loss >= behind)
            i = near;
        while (seed < num_seeds)
            if (pick(c, &seeds[seed++], false, false))
                break;
    }
}

/* Winners first, and what serves where they do not; then the nearest of each template,
 * what is kept for other transposes, and suggestions for shapes that are no goals. */
static bool pick_all(struct calibration *c)
{
    struct mmt_config *seeds = malloc(MOST_SEEDS * sizeof *seeds);
    int near;
    struct ranked *ranked = rank(c, &near);
    if (seeds && ranked && near) {
        int num_seeds = list_seeds(c, seeds, MOST_SEEDS / 2);
        int listed = list_proposals(c, seeds, num_seeds, MOST_SEEDS);
        pick_winners(c);
        pick_specialists(c);
        pick_templates(c, ranked, near);
        pick_siblings(c);
        pick_suggested(c, seeds, listed);
        pick_others(c, ranked, near, seeds, num_seeds);
    }
    free(ranked);
    free(seeds);
    return c->count > 0;
}

/* ---- building what this run has not built yet ------------------------------------ */

static struct pick *find(struct calibration *c, const struct mmt_config *config)
{
    for (int i = 0; i < c->count; i++)
        if (mmt_config_equal(&c->picks[i].config, config))
            return &c->picks[i];
    return NULL;
}

/* Hands out what idle workers can take; returns how much. */
static int send_out(struct calibration *c, int *next)
{
    struct mmt_worker *worker;
    int sent = 0;
    for (; *next < c->count && (worker = mmt_pool_idle(&c->t->pool, MMT_COMPILER));
         ++*next) {
        struct mmt_job job = { .task = MMT_TASK_COMPILE,
                               .problem = *c->kind,
                               .count = 1,
                               .configs = { c->picks[*next].config } };
        if (c->picks[*next].verified)
            continue;
        mmt_worker_send(worker, &job, compile_limit, c->t->options.limit);
        sent++;
    }
    return sent;
}

/* True where one of ours was built or failed to. */
static bool take_in(struct calibration *c, const struct mmt_event *event)
{
    struct pick *p = find(c, &event->job.configs[0]);
    if (event->job.task != MMT_TASK_COMPILE || !p || p->verified ||
        !mmt_problem_equal(&event->job.problem, c->kind))
        return false;
    p->out = event->reply.results[0].outcome != MMT_TIMED;
    return true;
}

/* Compiles ahead on all workers; what is not ready in time stays out. */
static void build(struct calibration *c)
{
    struct mmt_event event;
    double now = mmt_now(), ends = now + (c->ends - now) / 3;
    int next = 0, waiting = 0;
    for (int i = 0; i < c->count; i++)
        c->picks[i].out = !c->picks[i].verified;
    do {
        waiting += send_out(c, &next);
        if ((waiting || next < c->count) &&
            mmt_pool_next(&c->t->pool, fmin(ends, mmt_now() + 0.2), &event))
            waiting -= take_in(c, &event);
    } while ((waiting || next < c->count) && !is_over(c) && mmt_now() < ends);
}

/* ---- timing ---------------------------------------------------------------------- */

static mmt_status time_pick(struct calibration *c, struct pick *p,
                            const mmt_problem *problem, double *best, mmt_error *err)
{
    struct mmt_tuning *t = c->t;
    double ceiling = t->ceiling[problem->type];
    struct mmt_job job = {
        .task = MMT_TASK_MEASURE,
        .problem = *problem,
        .seed = (uint64_t) t->options.seed,
        .count = 1,
        .configs = { p->config },
        .verify = { !p->verified },
        .best_seconds = isfinite(*best) ? *best : 0,
        .budget_seconds = 0.015,
        .fastest_seconds = ceiling > 0 ? mmt_problem_flops(problem) / ceiling : 0,
        .brief = true,
    };
    struct mmt_event event;
    if (!mmt_pool_do(&t->pool, &job, mmt_tune_limit(t, problem, *best), &event))
        return MMT_OK;
    struct mmt_record record = { .problem = *problem,
                                 .config = p->config,
                                 .result = event.reply.results[0],
                                 .calibration = true };
    p->verified = true;
    p->out = record.result.outcome != MMT_TIMED && record.result.outcome != MMT_SKIPPED;
    if (record.result.outcome == MMT_TIMED)
        *best = fmin(*best, record.result.time.median);
    c->left--;
    mmt_report_calibration(t, &record);
    return mmt_journal_add(t->journal, &record, err);
}

static mmt_status time_all(struct calibration *c, const mmt_problem *problem,
                           mmt_error *err)
{
    mmt_status status = MMT_OK;
    double best = INFINITY;
    for (int i = 0; !status && i < c->count && !is_over(c); i++) {
        struct pick *p = &c->picks[i];
        if (!p->out && !mmt_config_refuse(&p->config, problem, &c->t->caps) &&
            !mmt_journal_knows(c->t->journal, problem, &p->config))
            status = time_pick(c, p, problem, &best, err);
    }
    return status;
}

/* Not the device's whole memory, and no shape that takes up all the time. */
static bool affordable(const struct calibration *c, const mmt_problem *problem,
                       double seconds)
{
    double peak = c->t->peak[problem->type], memory = (double) c->t->caps.memory;
    if (memory > 0 &&
        4 * mmt_problem_bytes(problem) + 2 * (double) c->t->caps.cache > memory / 4)
        return false;
    return peak <= 0 || mmt_problem_flops(problem) / peak * 32 * c->count <= seconds;
}

static mmt_status time_shapes(struct calibration *c, mmt_error *err)
{
    double seconds = c->ends - mmt_now();
    mmt_problem shapes[MOST_SHAPES];
    mmt_status status = MMT_OK;
    list_shapes(c, shapes);
    for (int i = 0; !status && i < MOST_SHAPES && !is_over(c); i++)
        if (affordable(c, &shapes[i], seconds))
            status = time_all(c, &shapes[i], err);
    return status;
}

/* ---- all kinds ------------------------------------------------------------------- */

/* So many kernels that three dozen shapes fit into the time; or eight shapes into the
 * number of timings. */
static void set_sizes(struct calibration *c)
{
    const struct pace *pace = c->t->caps.kind == MMT_CPU ? &pace_cpu : &pace_gpu;
    double seconds = isfinite(c->ends) ? c->ends - mmt_now() : 60;
    double room = (seconds / USUAL_SHAPES - pace->shape) / pace->timing;
    int compilers = c->t->pool.count - 1;
    if (c->left < INT64_MAX)
        room = (double) c->left / FEWEST_SHAPES;
    c->most = (int) fmin(fmax(room, c->left < INT64_MAX ? 3 : 6), MOST_PICKS);
    c->most_strange = (int) fmin(seconds / 4 / pace->compiling * compilers, MOST_PICKS);
}

static mmt_status calibrate(struct mmt_tuning *t, const mmt_problem *kind, double ends,
                            int64_t left, mmt_error *err)
{
    struct calibration *c = calloc(1, sizeof *c);
    mmt_status status = MMT_OK;
    if (!c)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to calibrate kernels");
    *c = (struct calibration){ .t = t, .kind = kind, .ends = ends, .left = left };
    set_sizes(c);
    if (pick_all(c)) {
        build(c);
        status = time_shapes(c, err);
    }
    free(c);
    return status;
}

static bool is_first(const struct mmt_tuning *t, int goal)
{
    for (int i = 0; i < goal; i++)
        if (same_kind(&t->goals[i], &t->goals[goal]))
            return false;
    return true;
}

/* Whether a goal is the first of a kind to calibrate. Ops that memory bounds need none:
 * the nearest shape tells enough. */
static bool opens_kind(const struct mmt_tuning *t, int goal)
{
    return t->goals[goal].op == MMT_GEMM && is_first(t, goal);
}

int mmt_tune_count_kinds(const struct mmt_tuning *t)
{
    int kinds = 0;
    for (int i = 0; i < t->num_goals; i++)
        kinds += opens_kind(t, i);
    return kinds;
}

/* Kinds share the time evenly, however many goals they have. */
mmt_status mmt_tune_calibrate(struct mmt_tuning *t, mmt_error *err)
{
    int64_t timings =
        t->options.budget.candidates ? TIMINGS_FOR_A_TRY * t->counts.tried : INT64_MAX;
    int kinds = mmt_tune_count_kinds(t), done = 0;
    mmt_status status = MMT_OK;
    for (int i = 0; !status && i < t->num_goals && !mmt_pool_interrupts(); i++) {
        if (!opens_kind(t, i))
            continue;
        double now = mmt_now();
        double ends =
            isfinite(t->ends) ? now + (t->ends - now) / (kinds - done++) : INFINITY;
        status = calibrate(t, &t->goals[i], ends,
                           timings == INT64_MAX ? timings : timings / kinds, err);
        if (!status)
            status = mmt_tune_save(t, false, err);
    }
    if (!status && t->pool.broken.status) {
        *err = t->pool.broken;
        status = err->status;
    }
    return status;
}
