/* Which kernels a calibration times, and on which shapes: calibration.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "runtime/runtime.h"
#include "tuner/tune/calibration.h"
#include "tuner/model/fit.h"

enum {
    MOST_SUGGESTED = 40,
    MOST_SEEDS = 256,
    ESTIMATED_SHAPES = 100,
    PROPOSING_SHAPES = 32,
    MORE_THAN_KNOWN = 16,
    MORE_THAN_PORTFOLIO = 8,
    FEW_SHAPES = 48,
    DEFAULTS = 6,  /* what programs run without a profile */
    PROPOSALS = 12 /* for each shape: one of each template, and then some */
};

/* Slower than that many times the best, a kernel is not of interest for what it is. */
static const double behind = 2;

/* Rounded, as a peak that was measured is not always the same. */
void mmt_calibration_shapes(const struct mmt_run *run, const mmt_problem *kind,
                            mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES])
{
    double peak = run->limits.roofline.peak_flops[kind->type];
    mmt_fit_shapes(kind, peak > 0 ? exp2(floor(log2(peak / 10))) : 1e9, shapes,
                   MMT_MOST_CALIBRATION_SHAPES);
}

/* ---- which kernels --------------------------------------------------------------- */

/* Whether two configurations cut the problem alike: then what one costs tells what the
 * other does. */
static bool launch_alike(const struct mmt_calibration *c, const struct mmt_config *a,
                         const struct mmt_config *b)
{
    const struct mmt_caps *caps = &c->run->device.caps;
    struct mmt_bound x, y;
    if (a->template != b->template)
        return false;
    if (mmt_config_equal(a, b))
        return true;
    if (!mmt_bind(a, c->kind, caps, &x) || !mmt_bind(b, c->kind, caps, &y))
        return false;
    const struct mmt_work of_a = mmt_config_work(a, c->kind->type),
                          of_b = mmt_config_work(b, c->kind->type);
    bool same = x.launches.count == y.launches.count &&
                of_a.depth * of_a.splits == of_b.depth * of_b.splits;
    for (int i = 0; same && i < x.launches.count; i++) {
        const struct mmt_launch *p = &x.launches.launch[i], *q = &y.launches.launch[i];
        same = !memcmp(p->grid, q->grid, sizeof p->grid) &&
               !memcmp(p->block, q->block, sizeof p->block);
    }
    return same;
}

/* A template that is worth trying for some problems alone is selected where it won: among
 * the few that serve all sorts of shapes it would take another's place. */
static bool is_for_all_sorts(const struct mmt_calibration *c,
                             const struct mmt_template *template)
{
    return !template->prefers || c->run->options.template == template;
}

struct mmt_config mmt_calibration_leave_counts(const struct mmt_config *config)
{
    struct mmt_config left = *config;
    for (int i = 0; i < left.template->num_knobs; i++) {
        const struct mmt_knob *knob = &left.template->knobs[i];
        if (knob->launch_time && knob->automatic)
            left.values[i] = knob->values[0];
    }
    return left;
}

static void add_specialisation(struct mmt_calibration_kernel *kernel,
                               const struct mmt_config *config, bool verified)
{
    int i = 0;
    while (i < kernel->num_specialisations &&
           !mmt_config_same_text(&kernel->specialisations[i].config, config))
        i++;
    if (i == kernel->num_specialisations && i < MMT_MOST_SPECIALISATIONS)
        kernel->specialisations[kernel->num_specialisations++] =
            (struct mmt_specialisation){ *config, verified };
}

/* In the order in which the shapes are timed. `on`: the problem for which the
 * configuration was found right; NULL: for none. */
static void add_specialisations(const struct mmt_calibration *c,
                                struct mmt_calibration_kernel *kernel,
                                const struct mmt_config *config, const mmt_problem *on)
{
    const struct mmt_caps *caps = &c->run->device.caps;
    struct mmt_config right = *config;
    mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES];
    if (on)
        right = mmt_config_resolve(config, on, caps);
    if (!config->template->resolve) {
        add_specialisation(kernel, config, on != NULL);
        return;
    }
    mmt_calibration_shapes(c->run, c->kind, shapes);
    for (int i = 0; i < MMT_MOST_CALIBRATION_SHAPES; i++) {
        const mmt_problem *shape = &shapes[(c->start + i) % MMT_MOST_CALIBRATION_SHAPES];
        struct mmt_bound bound;
        if (mmt_bind(&kernel->config, shape, caps, &bound))
            add_specialisation(kernel, &bound.config,
                               on && mmt_config_same_text(&bound.config, &right));
    }
}

const struct mmt_specialisation *mmt_calibration_find(
    const struct mmt_calibration_kernel *kernel, const struct mmt_config *config)
{
    for (int i = 0; i < kernel->num_specialisations; i++)
        if (mmt_config_same_text(&kernel->specialisations[i].config, config))
            return &kernel->specialisations[i];
    return NULL;
}

bool mmt_calibration_is_shared(const struct mmt_calibration *c, int kernel,
                               const struct mmt_specialisation *spec)
{
    for (int i = 0; i < kernel; i++)
        if (c->kernels[i].config.template == spec->config.template &&
            mmt_calibration_find(&c->kernels[i], &spec->config))
            return true;
    return false;
}

/* Specialisations of the next kernel that no other needs compiled. */
static int count_uncompiled(const struct mmt_calibration *c)
{
    const struct mmt_calibration_kernel *kernel = &c->kernels[c->count];
    int uncompiled = 0;
    for (int i = 0; i < kernel->num_specialisations; i++)
        uncompiled +=
            !kernel->specialisations[i].verified &&
            !mmt_calibration_is_shared(c, c->count, &kernel->specialisations[i]);
    return uncompiled;
}

static bool add_kernel(struct mmt_calibration *c, const struct mmt_config *config,
                       const mmt_problem *verified_on, bool even_alike)
{
    const struct mmt_config left = mmt_calibration_leave_counts(config);
    if (!is_for_all_sorts(c, config->template))
        return false;
    if (c->count == c->most)
        return false;
    for (int i = 0; i < c->count; i++)
        if (even_alike ? mmt_config_equal(&c->kernels[i].config, &left)
                       : launch_alike(c, &c->kernels[i].config, &left))
            return false;
    struct mmt_calibration_kernel *next = &c->kernels[c->count];
    *next = (struct mmt_calibration_kernel){ .config = left };
    add_specialisations(c, next, config, verified_on);
    const int uncompiled = c->uncompiled + count_uncompiled(c);
    if (uncompiled > c->uncompiled && uncompiled > c->most_uncompiled)
        return false;
    c->uncompiled = uncompiled;
    c->count++;
    return true;
}

/* A candidate of the kind, and how far it was behind the best of its problem. */
struct ranked {
    double slowdown;
    const struct mmt_record *record;
};

static int compare_slowdown(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return (a->slowdown > b->slowdown) - (a->slowdown < b->slowdown);
}

/* All that were timed for problems of the kind, the nearest to the best first;
 * malloc'ed. */
static struct ranked *rank_candidates(const struct mmt_calibration *c, int *count)
{
    size_t all;
    const struct mmt_record *records = mmt_journal_records(c->run->files.journal, &all),
                            *of = NULL;
    struct ranked *out = malloc((all + 1) * sizeof *out);
    double best = INFINITY;
    *count = 0;
    for (size_t i = 0; out && i < all; i++) {
        const struct mmt_record *r = &records[i];
        if (!mmt_record_is_candidate(r) || r->result.outcome != MMT_TIMED ||
            !mmt_same_kind(&r->problem, c->kind))
            continue;
        if (!of || !mmt_problem_equal(&of->problem, &r->problem))
            best = mmt_journal_best(c->run->files.journal, &r->problem);
        of = r;
        out[(*count)++] = (struct ranked){ r->result.time.median / best, r };
    }
    if (out)
        qsort(out, (size_t) *count, sizeof *out, compare_slowdown);
    return out;
}

/* The record's problem, if the configuration was found right for it; else NULL. */
static const mmt_problem *verified_on(const struct mmt_record *record)
{
    return !record->earlier && record->result.checked ? &record->problem : NULL;
}

static void add_winners(struct mmt_calibration *c)
{
    for (int i = 0; i < c->run->goals.count; i++)
        for (size_t e = 0; e < c->run->files.profile->num_entries; e++) {
            const struct mmt_entry *entry = &c->run->files.profile->entries[e];
            if (entry->source[0] || !mmt_same_kind(&c->run->goals.list[i], c->kind) ||
                !mmt_problem_equal(&entry->problem, &c->run->goals.list[i]))
                continue;
            const struct mmt_record *record =
                mmt_journal_find(c->run->files.journal, &entry->problem, &entry->config);
            if (record)
                add_kernel(c, &entry->config, verified_on(record), true);
        }
}

/* What was best on problems that are no goals: where a run explored, or an earlier one
 * had its own goals. */
static void add_bests(struct mmt_calibration *c, const struct ranked *ranked, int count)
{
    for (int i = 0; i < count && ranked[i].slowdown <= 1; i++)
        if (!mmt_tune_is_goal(c->run, &ranked[i].record->problem))
            add_kernel(c, &ranked[i].record->config, verified_on(ranked[i].record), true);
}

/* Of each template the one that came nearest to a best, if not far behind: those that are
 * would take the places of kernels that matter. */
static void add_templates(struct mmt_calibration *c, const struct ranked *ranked,
                          int count)
{
    for (int i = 0; i < count && ranked[i].slowdown < behind; i++) {
        int first = 0;
        while (ranked[first].record->config.template != ranked[i].record->config.template)
            first++;
        if (first == i)
            add_kernel(c, &ranked[i].record->config, verified_on(ranked[i].record),
                       false);
    }
}

/* Whether the kind can be computed by it at all, and is meant to be. */
static bool is_possible(const struct mmt_calibration *c, const struct mmt_config *config)
{
    return mmt_tune_is_meant(c->run, config->template, c->kind) &&
           mmt_config_suits(config, c->kind, &c->run->device.caps);
}

/* A portfolio of the family. */
static void add_portfolio(struct mmt_calibration *c, const struct mmt_profile *profile)
{
    for (size_t i = 0; i < profile->num_portfolio; i++)
        if (profile->portfolio[i].family == mmt_type_family(c->kind->type) &&
            is_possible(c, &profile->portfolio[i].config))
            add_kernel(c, &profile->portfolio[i].config, NULL, true);
}

/* What other runs on such a device found: their portfolio is timed again, not found
 * again, and so is what won for a problem. */
static void add_known(struct mmt_calibration *c)
{
    const struct mmt_profile *known = c->run->files.layers;
    add_portfolio(c, c->run->files.profile);
    if (!known)
        return;
    add_portfolio(c, known);
    if (mmt_profile_model(known, c->kind->type))
        return; /* it was selected among these */
    for (size_t i = 0; i < known->num_entries; i++)
        if (known->entries[i].problem.op == MMT_GEMM && !known->entries[i].source[0] &&
            mmt_type_family(known->entries[i].problem.type) ==
                mmt_type_family(c->kind->type) &&
            is_possible(c, &known->entries[i].config))
            add_kernel(c, &known->entries[i].config, NULL, true);
}

/* What programs have of a device of which nothing is known: after the run they are to be
 * no slower anywhere. Those that serve most of the shapes. */
static void add_defaults(struct mmt_calibration *c)
{
    mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES];
    struct mmt_config configs[ESTIMATED_SHAPES];
    int times[ESTIMATED_SHAPES] = { 0 }, count = 0;

    mmt_calibration_shapes(c->run, c->kind, shapes);
    for (int i = 0; i < ESTIMATED_SHAPES; i++) {
        struct mmt_selection selection;
        int known = 0;
        if (mmt_select(NULL, &shapes[i], &c->run->device.caps, NULL, &selection, NULL))
            continue;
        while (known < count && !mmt_config_equal(&configs[known], &selection.config))
            known++;
        if (known == count)
            configs[count++] = selection.config;
        times[known]++;
    }
    for (int n = 0; n < DEFAULTS && n < count; n++) {
        int most = 0;
        for (int i = 1; i < count; i++)
            most = times[i] > times[most] ? i : most;
        add_kernel(c, &configs[most], NULL, true);
        times[most] = 0;
    }
}

static struct mmt_config config_of(const struct mmt_template *template, const int *values)
{
    struct mmt_config config = { .template = template };
    memcpy(config.values, values, (size_t) template->num_knobs * sizeof(int));
    return config;
}

/* What the templates suggest and this device can run: the first suggestion of each, then
 * the second of each, …; returns how many. */
static int list_seeds(const struct mmt_calibration *c, struct mmt_config *out, int most)
{
    int count = 0, more = 1;
    for (int seed = 0; more; seed++) {
        more = 0;
        for (int i = 0; mmt_templates[i] && count < most; i++) {
            const struct mmt_template *template = mmt_templates[i];
            if (seed >= template->num_seeds)
                continue;
            more = 1;
            out[count] = config_of(template, template->seeds[seed]);
            count += is_possible(c, &out[count]);
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

/* What a search would begin with on some of the shapes, behind `count` that are listed
 * already; returns how many there are then. Asking takes ten milliseconds a shape. */
static int list_proposals(const struct mmt_calibration *c, struct mmt_config *out,
                          int count, int most)
{
    mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES];
    struct mmt_template_searches searches;
    mmt_error why;
    mmt_calibration_shapes(c->run, c->kind, shapes);
    for (int i = 0; i < PROPOSING_SHAPES && count < most; i++) {
        if (mmt_searches_create(c->run, &shapes[i], &searches, &why))
            break;
        for (int n = 0; n < PROPOSALS && count < most; n++)
            if (mmt_searches_ask(&searches, &out[count]))
                count += !is_listed(out, count, &out[count]);
        mmt_searches_free(&searches);
    }
    return count;
}

/* Seconds, in units of its own, that each of the seeds should take for each of the
 * first shapes: rows and columns of `times`; the least of each column. */
static void estimate_seeds(const struct mmt_calibration *c,
                           const struct mmt_config *seeds, int count, double *times,
                           double *least)
{
    mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES];
    mmt_calibration_shapes(c->run, c->kind, shapes);
    for (int col = 0; col < ESTIMATED_SHAPES; col++) {
        least[col] = INFINITY;
        for (int row = 0; row < count; row++) {
            double *time = &times[row * ESTIMATED_SHAPES + col];
            struct mmt_bound bound;
            *time = mmt_bind(&seeds[row], &shapes[col], &c->run->device.caps, &bound)
                        ? mmt_cost_estimate_bound(&bound)
                        : INFINITY;
            least[col] = fmin(least[col], *time);
        }
    }
}

/* The few of what is suggested that together should serve all shapes well. */
static void add_suggested(struct mmt_calibration *c, const struct mmt_config *seeds,
                          int count)
{
    int selected[MOST_SUGGESTED];
    double least[ESTIMATED_SHAPES],
        *times = malloc((size_t) count * ESTIMATED_SHAPES * sizeof *times);
    if (!times)
        return;
    estimate_seeds(c, seeds, count, times, least);
    int found =
        mmt_fit_select(times, least, count, ESTIMATED_SHAPES, MOST_SUGGESTED, selected);
    for (int i = 0; i < found; i++)
        add_kernel(c, &seeds[selected[i]], NULL, false);
    free(times);
}

/* In turn one that came near to a best, and one that a template suggests. */
static void add_others(struct mmt_calibration *c, const struct ranked *ranked, int near,
                       const struct mmt_config *seeds, int num_seeds)
{
    for (int i = 0, seed = 0; i < near || seed < num_seeds;) {
        while (i < near && ranked[i].slowdown < behind) {
            const struct mmt_record *r = ranked[i++].record;
            if (add_kernel(c, &r->config, verified_on(r), false))
                break;
        }
        if (i < near && ranked[i].slowdown >= behind)
            i = near;
        while (seed < num_seeds)
            if (add_kernel(c, &seeds[seed++], NULL, false))
                break;
    }
}

/* ---- which of them on which shape ------------------------------------------------ */

void mmt_calibration_compare(struct mmt_calibration_kernel *kernel, int shape,
                             double best)
{
    if (isinf(kernel->took))
        return;
    kernel->timed = true;
    kernel->behind[shape] = (float) (kernel->took / best);
}

static double octaves_between(const mmt_problem *a, const mmt_problem *b)
{
    double m = log2((double) a->m / (double) b->m),
           n = log2((double) a->n / (double) b->n),
           k = log2((double) a->k / (double) b->k);
    return sqrt(m * m + n * n + k * k);
}

bool mmt_calibration_is_hopeless(const struct mmt_calibration_kernel *kernel,
                                 const mmt_problem *shapes, int shape)
{
    enum { NEIGHBOURS = 3 };
    const double far = 6, hopeless = 1.5;
    struct {
        double octaves, behind;
    } next[NEIGHBOURS + 1] = { { far, 0 }, { far, 0 }, { far, 0 } };

    for (int i = 0; i < MMT_MOST_CALIBRATION_SHAPES; i++) {
        if (kernel->behind[i] == 0)
            continue;
        double octaves = octaves_between(&shapes[i], &shapes[shape]);
        int at = NEIGHBOURS;
        for (; at > 0 && next[at - 1].octaves > octaves; at--)
            next[at] = next[at - 1];
        next[at].octaves = octaves;
        next[at].behind = kernel->behind[i];
    }
    bool all = true;
    for (int i = 0; i < NEIGHBOURS; i++)
        all = all && next[i].behind > hopeless;
    return all;
}

/* Whether a portfolio of the family is known: with few others more shapes are timed. */
static bool has_portfolio(const struct mmt_calibration *c)
{
    return c->run->files.layers && mmt_profile_model(c->run->files.layers, c->kind->type);
}

/* No more kernels than so many besides those that there are. */
static void limit_count(struct mmt_calibration *c, int more)
{
    if (c->most > c->count + more)
        c->most = c->count + more;
}

static void add_first(struct mmt_calibration *c, const struct ranked *ranked, int near,
                      struct mmt_config *seeds)
{
    const int num_seeds = list_seeds(c, seeds, MOST_SEEDS / 2);
    const int listed = list_proposals(c, seeds, num_seeds, MOST_SEEDS);
    add_winners(c);
    add_known(c);
    if (has_portfolio(c))
        limit_count(c, MORE_THAN_KNOWN);
    else
        add_defaults(c);
    add_bests(c, ranked, near);
    add_templates(c, ranked, near);
    add_suggested(c, seeds, listed);
    add_others(c, ranked, near, seeds, num_seeds);
}

/* What serves the family's first kind, and a few that may serve where that does not.
 * Where that was selected on few shapes, what was known before is not given up for it. */
static void add_again(struct mmt_calibration *c, struct mmt_config *seeds)
{
    const struct mmt_model *model =
        mmt_profile_model(c->run->files.profile, c->kind->type);
    add_portfolio(c, c->run->files.profile);
    if (c->run->files.layers && (!model || model->shapes < FEW_SHAPES))
        add_portfolio(c, c->run->files.layers);
    limit_count(c, MORE_THAN_PORTFOLIO);
    add_suggested(c, seeds, list_seeds(c, seeds, MOST_SEEDS));
}

bool mmt_calibration_list_kernels(struct mmt_calibration *c)
{
    struct mmt_config *seeds = malloc(MOST_SEEDS * sizeof *seeds);
    int near;
    struct ranked *ranked = rank_candidates(c, &near);
    if (seeds && ranked && c->first)
        add_first(c, ranked, near, seeds);
    else if (seeds)
        add_again(c, seeds);
    free(ranked);
    free(seeds);
    return c->count > 0;
}
