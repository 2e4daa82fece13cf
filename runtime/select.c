/* Which configuration serves a problem: the first of some steps that has an answer.
 * Nothing is built or timed. */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "runtime/select_internal.h"

static void take_entry(const struct mmt_question *q, const struct mmt_entry *entry,
                       struct mmt_selection *out)
{
    const bool exact = mmt_problem_equal(&entry->problem, q->problem);

    out->config = entry->config;
    out->why = exact ? MMT_SELECTION_EXACT : MMT_SELECTION_NEAREST;
    out->seconds = exact ? entry->time.median : 0;
    out->nearest = entry->problem;
    out->layer = entry->layer;
}

/* ---- the steps: each fills *out, or is false where it has no answer ---------------- */

/* A plan of this profile measured the very problem. */
static bool by_measuring(const struct mmt_question *q, struct mmt_selection *out)
{
    struct mmt_entry entry;
    if (!q->profile || !mmt_profile_learned(q->profile, q->problem, &entry) ||
        !mmt_is_usable(q, &entry.config))
        return false;
    take_entry(q, &entry, out);
    out->why = MMT_SELECTION_MEASURED;
    return true;
}

/* The very problem was tuned here. */
static bool by_entry(const struct mmt_question *q, struct mmt_selection *out)
{
    for (size_t i = 0; q->profile && i < q->profile->num_entries; i++) {
        const struct mmt_entry *entry = &q->profile->entries[i];
        if (mmt_same_kind(&entry->problem, q->problem) &&
            mmt_problem_equal(&entry->problem, q->problem) && !entry->source[0] &&
            mmt_is_usable(q, &entry->config)) {
            take_entry(q, entry, out);
            return true;
        }
    }
    return false;
}

/* The first range that holds the problem and whose kernel for it is usable. */
static bool by_range(const struct mmt_question *q, struct mmt_selection *out)
{
    for (size_t i = 0; q->profile && i < q->profile->num_ranges; i++) {
        const struct mmt_range *range = &q->profile->ranges[i];
        const int at = mmt_same_kind(&range->problem, q->problem)
                           ? mmt_range_find(range, q->problem)
                           : -1;
        if (at < 0 || !mmt_is_usable(q, &range->segments[at].config))
            continue;
        out->config = range->segments[at].config;
        out->why = MMT_SELECTION_RANGE;
        out->range.from = range->problem.m;
        out->range.to = mmt_range_end(range);
        out->range.segment_to = range->segments[at].m_to;
        out->range.segment = at;
        out->range.count = range->num_segments;
        out->layer = range->layer;
        return true;
    }
    return false;
}

static bool by_law(const struct mmt_question *q, struct mmt_selection *out)
{
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    const int count = mmt_rank(q, ranked);
    if (count && ranked->near) {
        take_entry(q, ranked->near, out);
    } else if (count) {
        out->config = ranked->config;
        out->why = MMT_SELECTION_LAW;
        out->seconds = ranked->seconds;
        out->compared = count;
    }
    return count > 0;
}

/* Of what has no law: farther away than two octaves, squared, a shape tells nothing of
 * which kernel is fast. */
static bool by_nearest(const struct mmt_question *q, struct mmt_selection *out)
{
    static const double out_of_reach = 4;
    const struct mmt_entry *near = mmt_find_nearest(q, out_of_reach);
    if (near)
        take_entry(q, near, out);
    return near;
}

/* The best starting point of the first template that has one: of those that are meant for
 * the device, or where these have none, of any. */
static bool by_default(const struct mmt_question *q, struct mmt_selection *out)
{
    out->why = MMT_SELECTION_DEFAULT;
    for (int any = 0; any < 2; any++)
        for (int t = 0; mmt_templates[t]; t++)
            if ((any || mmt_config_meant(mmt_templates[t], q->problem, q->caps)) &&
                isfinite(mmt_select_start(mmt_templates[t], q->problem, q->caps, q->terms,
                                          &out->config)))
                return true;
    return false;
}

typedef bool step(const struct mmt_question *q, struct mmt_selection *out);
static step *const steps[] = { by_measuring, by_entry,   by_range,
                               by_law,       by_nearest, by_default };

/* ---- starting points --------------------------------------------------------------- */

bool mmt_seed_within(const struct mmt_question *q, const struct mmt_template *template,
                     int seed, struct mmt_config *out, struct mmt_bound *bound)
{
    struct mmt_config config = { .template = template };
    memcpy(config.values, template->seeds[seed],
           (size_t) template->num_knobs * sizeof(int));
    *out = mmt_within_terms(q, &config);
    return mmt_bind_within(q, &config, bound);
}

/* One that leaves most multiprocessors idle may take fifty times as long. */
double mmt_select_start(const struct mmt_template *template, const mmt_problem *problem,
                        const struct mmt_caps *caps, const struct mmt_terms *terms,
                        struct mmt_config *out)
{
    static const double far = 1.25;
    const struct mmt_question q = { NULL, problem, caps, terms };
    double best = INFINITY;

    for (int s = 0; s < template->num_seeds; s++) {
        struct mmt_config config;
        struct mmt_bound runs;
        if (!mmt_seed_within(&q, template, s, &config, &runs))
            continue;
        double estimate = mmt_cost_estimate_bound(&runs);
        if (estimate <= best / far) {
            best = estimate;
            *out = config;
        }
    }
    return best;
}

/* ---- the answer -------------------------------------------------------------------- */

static mmt_status fail_outside(const struct mmt_question *q, mmt_error *err)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(q->problem, &text);
    mmt_fail(err, MMT_ERROR_UNSUPPORTED,
             "the bundle has no kernel for %s on %s; `mmtune show` lists what is inside",
             mmt_text_string(&text), q->caps->architecture);
    mmt_text_finish(&text);
    return MMT_ERROR_UNSUPPORTED;
}

static mmt_status fail_unserved(const struct mmt_question *q, mmt_error *err)
{
    const char *const type = mmt_type_name(q->problem->type), *const name = q->caps->name;
    if (q->problem->type == MMT_F64 && !q->caps->f64)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s has no double precision", name);
    if (q->terms && q->terms->in)
        return fail_outside(q, err);
    if (!q->terms || q->terms->max_workspace == SIZE_MAX)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "no template serves %s on %s", type,
                        name);
    return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                    "no template serves %s on %s with at most %zu bytes of workspace",
                    type, name, q->terms->max_workspace);
}

/* By these terms alone, whatever memory the device has. */
static mmt_status answer(const struct mmt_question *q, struct mmt_selection *out,
                         mmt_error *err)
{
    *out = (struct mmt_selection){ .layer = -1 };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i](q, out)) {
            out->config = mmt_within_terms(q, &out->config);
            return MMT_OK;
        }
    return fail_unserved(q, err);
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
    struct mmt_question q = { profile, problem, caps, terms };
    struct mmt_launches launches = { 0 };
    mmt_status status = answer(&q, out, err);

    if (status != MMT_OK)
        return status;
    mmt_config_launch(&out->config, problem, caps, &launches);
    const size_t room = room_beside(problem, caps);
    if (launches.workspace <= room)
        return MMT_OK;
    struct mmt_terms tighter = terms ? *terms : (struct mmt_terms){ 0 };
    tighter.max_workspace = room;
    q.terms = &tighter;
    status = answer(&q, out, err);
    return status ? mmt_fail(err, status,
                             "every kernel for this %s product needs more workspace than "
                             "the %zu bytes that %s has beside its operands",
                             mmt_type_name(problem->type), room, caps->name)
                  : MMT_OK;
}
