#include "runtime/select_internal.h"

/* The entry of this very problem, tuned here and usable; NULL where there is none. */
static const struct mmt_entry *find_tuned(const struct mmt_profile *profile,
                                          const mmt_problem *problem,
                                          const struct mmt_caps *caps,
                                          const struct mmt_terms *terms)
{
    for (size_t i = 0; profile && i < profile->num_entries; i++) {
        const struct mmt_entry *entry = &profile->entries[i];
        if (mmt_same_kind(&entry->problem, problem) &&
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
            mmt_same_kind(&range->problem, problem) ? mmt_range_find(range, problem) : -1;
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

/* ---- selecting ------------------------------------------------------------------- */

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

static void select_ranked(const struct mmt_ranked *ranked, int count,
                          const mmt_problem *problem, struct mmt_selection *out)
{
    if (ranked->near) {
        select_entry(ranked->near, problem, out);
        return;
    }
    out->config = ranked->config;
    out->why = MMT_SELECTION_LAW;
    out->seconds = ranked->seconds;
    out->compared = count;
}

/* Farther away a shape tells nothing of which kernel is fast: two octaves, squared. */
static const double out_of_reach = 4;

/* What was not tuned: by a ranking, or where no law is known, by the nearest problem. */
static bool select_untuned(const struct mmt_profile *profile, const mmt_problem *problem,
                           const struct mmt_caps *caps, const struct mmt_terms *terms,
                           struct mmt_selection *out)
{
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    const int count = mmt_select_rank(profile, problem, caps, terms, ranked);
    if (count) {
        select_ranked(ranked, count, problem, out);
        return true;
    }
    const struct mmt_entry *near =
        mmt_find_nearest(profile, problem, caps, terms, out_of_reach);
    if (near)
        select_entry(near, problem, out);
    return near;
}

/* The selection by these terms alone, whatever memory the device has. */
static mmt_status select_by(const struct mmt_profile *profile, const mmt_problem *problem,
                            const struct mmt_caps *caps, const struct mmt_terms *terms,
                            struct mmt_selection *out, mmt_error *err)
{
    const struct mmt_entry *tuned = find_tuned(profile, problem, caps, terms);

    *out = (struct mmt_selection){ .why = MMT_SELECTION_DEFAULT, .layer = -1 };
    if (select_measured(profile, problem, caps, terms, out))
        return MMT_OK;
    if (tuned)
        select_entry(tuned, problem, out);
    if (tuned || select_range(profile, problem, caps, terms, out) ||
        select_untuned(profile, problem, caps, terms, out)) {
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
