/* Ranking by arithmetic: what templates name for a problem, what was tuned nearby, and of
 * a bundle the kernels that it has, by the law of time (docs/lab/law.md). */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "runtime/select_internal.h"

/* ---- a list of the best ------------------------------------------------------------ */

struct ranking {
    const struct mmt_question *q;
    struct mmt_ranked *best;
    int count;
};

static bool may_enter(const struct ranking *r, double seconds)
{
    return r->count < MMT_MOST_RANKED || seconds < r->best[r->count - 1].seconds;
}

/* Puts one into its place among so many. */
static void place(struct mmt_ranked *ranked, int count, const struct mmt_ranked *next)
{
    for (; count > 0 && ranked[count - 1].seconds > next->seconds; count--)
        ranked[count] = ranked[count - 1];
    ranked[count] = *next;
}

/* Keeps the best, the first of equals first, each once. */
static void insert(struct ranking *r, const struct mmt_ranked *next)
{
    if (!may_enter(r, next->seconds))
        return;
    for (int i = 0; i < r->count; i++)
        if (mmt_config_equal(&r->best[i].config, &next->config))
            return;
    if (r->count == MMT_MOST_RANKED)
        r->count--;
    place(r->best, r->count++, next);
}

static void add(struct ranking *r, const struct mmt_config *config)
{
    struct mmt_bound bound;
    struct mmt_ranked next = { .config = *config };
    if (!mmt_bind_within(r->q, config, &bound))
        return;
    next.seconds = mmt_expected_seconds(&next, &bound);
    insert(r, &next);
}

static bool is_in_bundle(const struct ranking *r)
{
    return r->q->terms && r->q->terms->in;
}

/* ---- what templates name ----------------------------------------------------------- */

/* How many a template is asked for. */
enum { NAMED = 24 };

static bool add_named(struct ranking *r, const struct mmt_template *template)
{
    struct mmt_candidate list[NAMED];
    const int named = template->candidates
                          ? template->candidates(r->q->problem, r->q->caps, list, NAMED)
                          : 0;
    for (int i = 0; i < named; i++) {
        const double cycles = list[i].cycles + template->rates.launch;
        struct mmt_ranked next = { .config.template = template,
                                   .seconds = mmt_cost_seconds(cycles, r->q->caps) };
        memcpy(next.config.values, list[i].values, sizeof next.config.values);
        if (may_enter(r, next.seconds) && mmt_is_usable(r->q, &next.config))
            insert(r, &next);
    }
    return named > 0;
}

static int find_splits(const struct mmt_template *template)
{
    int knob = 0;
    while (knob < template->num_knobs && strcmp(template->knobs[knob].name, "SPLIT_K"))
        knob++;
    return knob;
}

/* Splits of k that may pay: until two blocks of each multiprocessor have work, and of 64
 * elements at least. */
static bool may_split(const struct ranking *r, const struct mmt_config *config,
                      int splits)
{
    const struct mmt_tile tile = config->template->tile(config->values, r->q->problem);
    const double tiles = ceil((double) r->q->problem->m / tile.m) *
                         ceil((double) r->q->problem->n / tile.n) *
                         (double) r->q->problem->batch;
    return splits == 1 ||
           (tiles * splits <= 4.0 * r->q->caps->sms && r->q->problem->k / splits >= 64);
}

/* A starting point, with each number of splits of k that it may have. */
static void add_seed(struct ranking *r, const struct mmt_template *template, int seed)
{
    const int splits = find_splits(template);
    struct mmt_config config = { .template = template };

    memcpy(config.values, template->seeds[seed],
           (size_t) template->num_knobs * sizeof(int));
    if (splits == template->num_knobs) {
        add(r, &config);
        return;
    }
    for (int i = 0; i < template->knobs[splits].num_values; i++) {
        config.values[splits] = template->knobs[splits].values[i];
        if (config.values[splits] && may_split(r, &config, config.values[splits]))
            add(r, &config);
    }
}

/* A bundle may have starting points of what names others. */
static void add_template(struct ranking *r, const struct mmt_template *template)
{
    const bool named = add_named(r, template);
    for (int s = 0; s < template->num_seeds && !(named && !is_in_bundle(r)); s++)
        add_seed(r, template, s);
}

/* Those that are meant for such a problem; where the terms rule them out, others that are
 * for such devices; last lessons. */
enum choice { MEANT, OTHER, LESSON, NUM_CHOICES };

static bool is_choice(const struct ranking *r, const struct mmt_template *template,
                      enum choice choice)
{
    const struct mmt_caps *caps = r->q->caps;
    const bool meant = mmt_config_meant(template, r->q->problem, caps);
    switch (choice) {
    case MEANT:
        return meant && !template->last_resort;
    case OTHER:
        return template->preferred_on & caps->kind && !template->last_resort;
    default:
        return meant;
    }
}

/* ---- what a bundle has besides ----------------------------------------------------- */

static void add_unlisted(struct ranking *r, const struct mmt_profile *profile)
{
    for (size_t i = 0; i < profile->num_unlisted; i++) {
        const struct mmt_unlisted_kernel *kernel = &profile->unlisted[i];
        if (kernel->right & mmt_kind_bit(r->q->problem))
            add(r, &kernel->config);
    }
}

/* ---- what the profile knows of the law --------------------------------------------- */

/* Corrects what the law expects by what this card's times taught, and orders anew. */
static void correct_by_model(struct ranking *r, const struct mmt_model *model)
{
    struct mmt_ranked done[MMT_MOST_RANKED];
    for (int i = 0; i < r->count; i++) {
        struct mmt_ranked next = r->best[i];
        next.model = model;
        struct mmt_bound bound;
        mmt_bind_within(r->q, &next.config, &bound);
        next.seconds = mmt_expected_seconds(&next, &bound);
        place(done, i, &next);
    }
    memcpy(r->best, done, (size_t) r->count * sizeof *done);
}

/* ---- what was tuned nearby --------------------------------------------------------- */

/* Squared octaves between two shapes of which one's time tells the other's. */
static const double near_enough = 0.25;

/* Takes a configuration out that is expected to take longer; false where it is expected
 * to take less. */
static bool take_out(struct ranking *r, const struct mmt_ranked *next)
{
    int left = 0;
    for (int i = 0; i < r->count; i++) {
        if (!mmt_config_equal(&r->best[i].config, &next->config))
            r->best[left++] = r->best[i];
        else if (r->best[i].seconds <= next->seconds)
            return false;
    }
    r->count = left;
    return true;
}

/* The kernel of the nearest entry: its time there, times what the law expects it to grow
 * by, where that is less than what the law expects: a busy machine makes no kernel slow.
 */
static void add_near(struct ranking *r, const struct mmt_model *model)
{
    const struct mmt_entry *near = mmt_find_nearest(r->q, near_enough);
    struct mmt_bound here, there;
    if (!near || near->time.median <= 0)
        return;
    struct mmt_ranked next = { .config = near->config, .model = model, .near = near };
    if (!mmt_bind_within(r->q, &next.config, &here) ||
        !mmt_bind(&next.config, &near->problem, r->q->caps, &there))
        return;
    next.seconds = near->time.median * mmt_expected_seconds(&next, &here) /
                   mmt_expected_seconds(&next, &there);
    if (take_out(r, &next))
        insert(r, &next);
}

bool mmt_has_law(const mmt_problem *problem)
{
    return problem->op == MMT_GEMM;
}

int mmt_rank(const struct mmt_question *q, struct mmt_ranked ranked[MMT_MOST_RANKED])
{
    struct ranking r = { q, ranked, 0 };
    if (!mmt_has_law(q->problem))
        return 0;
    if (q->profile && is_in_bundle(&r))
        add_unlisted(&r, q->profile);
    for (int choice = MEANT; choice < NUM_CHOICES && !r.count; choice++)
        for (int t = 0; mmt_templates[t]; t++)
            if (is_choice(&r, mmt_templates[t], choice))
                add_template(&r, mmt_templates[t]);
    const struct mmt_model *model =
        q->profile ? mmt_profile_model(q->profile, q->problem->type) : NULL;
    if (model && model->heeded > 0)
        correct_by_model(&r, model);
    add_near(&r, model);
    return r.count;
}

int mmt_select_rank(const struct mmt_profile *profile, const mmt_problem *problem,
                    const struct mmt_caps *caps, const struct mmt_terms *terms,
                    struct mmt_ranked ranked[MMT_MOST_RANKED])
{
    const struct mmt_question q = { profile, problem, caps, terms };
    return mmt_rank(&q, ranked);
}

double mmt_expected_seconds(const struct mmt_ranked *ranked,
                            const struct mmt_bound *bound)
{
    if (!ranked->model)
        return mmt_cost_seconds(mmt_cost_estimate_bound(bound), bound->caps);
    const struct mmt_view view = mmt_cost_view(bound);
    return mmt_cost_seconds(view.estimate, bound->caps) *
           exp(ranked->model->heeded * mmt_cost_correction(ranked->model, &view));
}
