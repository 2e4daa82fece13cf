#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "runtime/select_internal.h"

static bool same_kind(const mmt_problem *a, const mmt_problem *b)
{
    return a->op == b->op && a->type == b->type && !a->trans_a == !b->trans_a &&
           !a->trans_b == !b->trans_b;
}

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

/* The entry of this very problem, tuned here and usable; NULL where there is none. */
static const struct mmt_entry *find_tuned(const struct mmt_profile *profile,
                                          const mmt_problem *problem,
                                          const struct mmt_caps *caps,
                                          const struct mmt_terms *terms)
{
    for (size_t i = 0; profile && i < profile->num_entries; i++) {
        const struct mmt_entry *entry = &profile->entries[i];
        if (same_kind(&entry->problem, problem) &&
            mmt_problem_equal(&entry->problem, problem) && !entry->source[0] &&
            mmt_is_usable(&entry->config, problem, caps, terms))
            return entry;
    }
    return NULL;
}

/* Fills *out by the first range that holds the problem and whose kernel for it is usable;
 * false where there is none. */
static bool select_range(const struct mmt_profile *profile, const mmt_problem *problem,
                         const struct mmt_caps *caps, const struct mmt_terms *terms,
                         struct mmt_selection *out)
{
    for (size_t i = 0; profile && i < profile->num_ranges; i++) {
        const struct mmt_range *range = &profile->ranges[i];
        const int at =
            same_kind(&range->problem, problem) ? mmt_range_find(range, problem) : -1;
        if (at < 0 || !mmt_is_usable(&range->segments[at].config, problem, caps, terms))
            continue;
        *out = (struct mmt_selection){
            .config = range->segments[at].config,
            .why = MMT_SELECTION_RANGE,
            .range = { range->problem.m, mmt_range_end(range), range->segments[at].m_to,
                       at, range->num_segments },
            .layer = range->layer,
        };
        return true;
    }
    return false;
}

/* The entry of the nearest shape that was tuned here, of those not as far away as
 * `within`; NULL where there is none. With `caps`, of those that are usable. */
static const struct mmt_entry *find_nearest(const struct mmt_profile *profile,
                                            const mmt_problem *problem,
                                            const struct mmt_caps *caps,
                                            const struct mmt_terms *terms, double within)
{
    const struct mmt_entry *best = NULL;
    double least = within;

    for (size_t i = 0; profile && i < profile->num_entries; i++) {
        const struct mmt_entry *entry = &profile->entries[i];
        if (!same_kind(&entry->problem, problem) || entry->source[0] ||
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

/* ---- the fitted cost ----------------------------------------------------------------
 */

/* Shapes this many octaves apart still tell a good deal of each other: half way down the
 * bell by which the nearest shape's time corrects the model. */
static const double reach = 0.5;

/* Farther away a shape tells nothing of which kernel is fast: two octaves, squared; on a
 * CPU less, as the default is nearly as fast there (docs/lab/measurements.md, "On a
 * CPU"). */
static double out_of_reach(const struct mmt_caps *caps)
{
    return caps->kind == MMT_CPU ? reach * reach : 4;
}

/* A correction that is trusted no more than this is ignored: to resolve a kernel for
 * another problem, too, may take a fifth of a selection. */
static const double least_trust = 0.05;

/* The entry of the nearest shape that tells something of this one. */
static const struct mmt_entry *find_telling(const struct mmt_profile *profile,
                                            const mmt_problem *problem)
{
    const double farthest = -log2(least_trust) * reach * reach;
    return find_nearest(profile, problem, NULL, NULL, farthest);
}

/* What the time of the nearest problem tells of a kernel: how far its model was wrong
 * there (the logarithm), for the kernel that was the best; for another, how far its model
 * was too good to be true, as it was no faster than the best. */
static double correction_of(const struct mmt_model *model,
                            const struct mmt_portfolio_kernel *kernel,
                            const struct mmt_entry *near, const struct mmt_caps *caps)
{
    struct mmt_bound there;
    if (near->time.median <= 0 ||
        !mmt_bind(&kernel->config, &near->problem, caps, &there))
        return 0;
    const double wrong = log(near->time.median / mmt_cost_predict(model, kernel, &there));
    return mmt_config_equal(&kernel->config, &near->config) ? wrong : fmax(wrong, 0);
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

static void insert_ranked(struct mmt_ranked *ranked, int count, struct mmt_ranked next)
{
    for (; count > 0 && ranked[count - 1].seconds > next.seconds; count--)
        ranked[count] = ranked[count - 1];
    ranked[count] = next;
}

/* The kernels of the family that serve, by what the model expects of them. */
static int rank_portfolio(const struct mmt_profile *profile, const mmt_problem *problem,
                          const struct mmt_caps *caps, const struct mmt_terms *terms,
                          struct mmt_ranked ranked[MMT_MOST_RANKED])
{
    const struct mmt_model *model =
        profile ? mmt_profile_model_for(profile, problem) : NULL;
    int count = 0;

    for (size_t i = 0; model && i < profile->num_portfolio && count < MMT_MOST_RANKED;
         i++) {
        const struct mmt_portfolio_kernel *kernel = &profile->portfolio[i];
        if (kernel->family != model->family || kernel->layer != model->layer ||
            !(kernel->right & mmt_kind_bit(problem)))
            continue;
        struct mmt_bound runs;
        if (!mmt_bind_within(&kernel->config, problem, caps, terms, &runs))
            continue;
        const double seconds = mmt_cost_predict(model, kernel, &runs);
        insert_ranked(ranked, count++, (struct mmt_ranked){ model, kernel, seconds });
    }
    return count;
}

static bool is_ranked(const struct mmt_config *config, const struct mmt_ranked *ranked,
                      int count)
{
    for (int i = 0; i < count; i++)
        if (mmt_config_equal(&ranked[i].kernel->config, config))
            return true;
    return false;
}

/* Corrects what is expected by the nearest entry, and orders anew: all kernels, or those
 * alone that may be the fastest then, as others' times only grow. */
static void correct_ranking(struct mmt_ranked *ranked, int count, bool all,
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
            mmt_config_equal(&next.kernel->config, &near->config))
            next.seconds *=
                exp(trust * correction_of(next.model, next.kernel, near, caps));
        insert_ranked(done, i, next);
    }
    memcpy(ranked, done, (size_t) count * sizeof *ranked);
}

int mmt_select_rank(const struct mmt_profile *profile, const mmt_problem *problem,
                    const struct mmt_caps *caps, const struct mmt_terms *terms,
                    struct mmt_ranked ranked[MMT_MOST_RANKED])
{
    const int count = rank_portfolio(profile, problem, caps, terms, ranked);
    const struct mmt_entry *near = find_telling(profile, problem);
    correct_ranking(ranked, count, true, near, problem, caps);
    return count;
}

/* ---- selecting ----------------------------------------------------------------------
 */

static void select_entry(const struct mmt_entry *entry, const mmt_problem *problem,
                         struct mmt_selection *out)
{
    bool exact = mmt_problem_equal(&entry->problem, problem);

    out->config = entry->config;
    out->why = exact ? MMT_SELECTION_EXACT : MMT_SELECTION_NEAREST;
    out->seconds = exact ? entry->time.median : 0;
    out->nearest = entry->problem;
    out->layer = entry->layer;
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
static bool stands_apart(const struct mmt_entry *near, const mmt_problem *problem,
                         const struct mmt_caps *caps, const struct mmt_terms *terms,
                         const struct mmt_ranked *ranked, int count)
{
    if (!near || problem_distance(&near->problem, problem) > reach * reach ||
        !is_same_specialisation(near, problem))
        return false;
    return !is_ranked(&near->config, ranked, count) &&
           expected_of(near, problem, caps, terms) <= ranked->seconds;
}

static void select_ranked(const struct mmt_ranked *ranked, int count,
                          struct mmt_selection *out)
{
    out->config = ranked->kernel->config;
    out->why = MMT_SELECTION_COST;
    out->seconds = ranked->seconds;
    out->compared = count;
    out->residual = ranked->model->residual;
    out->layer = ranked->kernel->layer;
}

static bool select_measured(const struct mmt_profile *profile, const mmt_problem *problem,
                            const struct mmt_caps *caps, const struct mmt_terms *terms,
                            struct mmt_selection *out)
{
    struct mmt_entry entry;
    if (!profile || !mmt_profile_learned(profile, problem, &entry) ||
        !mmt_is_usable(&entry.config, problem, caps, terms))
        return false;
    select_entry(&entry, problem, out);
    out->why = MMT_SELECTION_MEASURED;
    out->config = mmt_within_terms(&out->config, problem, caps, terms);
    return true;
}

static mmt_status fail_outside(const mmt_problem *problem, const struct mmt_caps *caps,
                               mmt_error *err)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(problem, &text);
    mmt_fail(err, MMT_ERROR_UNSUPPORTED,
             "the bundle has no kernel for %s on %s; `mmtune show` lists what is inside",
             mmt_text_string(&text), caps->architecture);
    mmt_text_finish(&text);
    return MMT_ERROR_UNSUPPORTED;
}

/* The selection by these terms alone, whatever memory the device has. */
static mmt_status select_by(const struct mmt_profile *profile, const mmt_problem *problem,
                            const struct mmt_caps *caps, const struct mmt_terms *terms,
                            struct mmt_selection *out, mmt_error *err)
{
    const struct mmt_entry *near = find_tuned(profile, problem, caps, terms);
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    int count = 0;

    *out = (struct mmt_selection){ .why = MMT_SELECTION_DEFAULT, .layer = -1 };
    if (select_measured(profile, problem, caps, terms, out))
        return MMT_OK;
    const bool in_range = !near && select_range(profile, problem, caps, terms, out);
    if (!near && !in_range) {
        count = rank_portfolio(profile, problem, caps, terms, ranked);
        near = find_telling(profile, problem);
        correct_ranking(ranked, count, false, near, problem, caps);
        if (!count) /* then it may be farther away */
            near = find_nearest(profile, problem, caps, terms, out_of_reach(caps));
    }
    if (count && mmt_select_untimed(ranked->seconds, problem, caps, terms, out))
        return MMT_OK;
    if (count && !stands_apart(near, problem, caps, terms, ranked, count))
        select_ranked(ranked, count, out);
    else if (near)
        select_entry(near, problem, out);
    if (out->config.template) {
        out->config = mmt_within_terms(&out->config, problem, caps, terms);
        return MMT_OK;
    }
    if (mmt_select_default(problem, caps, terms, &out->config))
        return MMT_OK;
    if (problem->type == MMT_F64 && !caps->f64)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s has no double precision",
                        caps->name);
    if (terms && terms->in)
        return fail_outside(problem, caps, err);
    if (!terms || terms->max_workspace == SIZE_MAX)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "no template serves %s on %s",
                        mmt_type_name(problem->type), caps->name);
    return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                    "no template serves %s on %s with at most %zu bytes of workspace",
                    mmt_type_name(problem->type), caps->name, terms->max_workspace);
}

/* Bytes that a workspace may have beside the operands, as far as is known. */
static size_t room_beside(const mmt_problem *problem, const struct mmt_caps *caps)
{
    const double size = (double) mmt_type_size(problem->type);
    const double operands =
        size * (double) mmt_problem_extent_a(problem) +
        size * (double) mmt_problem_extent_b(problem) +
        (double) mmt_type_size(problem->out) * (double) mmt_problem_extent_c(problem);
    const size_t most = caps->max_buffer ? caps->max_buffer : SIZE_MAX;

    if (!caps->memory)
        return most;
    if (operands >= (double) caps->memory)
        return 0;
    const size_t room = caps->memory - (size_t) operands;
    return room < most ? room : most;
}

mmt_status mmt_select(const struct mmt_profile *profile, const mmt_problem *problem,
                      const struct mmt_caps *caps, const struct mmt_terms *terms,
                      struct mmt_selection *out, mmt_error *err)
{
    mmt_status status = select_by(profile, problem, caps, terms, out, err);
    struct mmt_launches launches = { 0 };

    if (status != MMT_OK)
        return status;
    mmt_config_launch(&out->config, problem, caps, &launches);
    const size_t room = room_beside(problem, caps);
    if (launches.workspace <= room)
        return MMT_OK;
    struct mmt_terms tighter = terms ? *terms : (struct mmt_terms){ 0 };
    tighter.max_workspace = room;
    status = select_by(profile, problem, caps, &tighter, out, err);
    return status ? mmt_fail(err, status,
                             "every kernel for this %s product needs more workspace than "
                             "the %zu bytes that %s has beside its operands",
                             mmt_type_name(problem->type), room, caps->name)
                  : MMT_OK;
}
