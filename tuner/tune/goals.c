/* Which problems a run tunes, and how the budget is shared among them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/peak.h"
#include "tuner/model/segments.h"
#include "tuner/tune/goals.h"
#include "tuner/tune/recorded.h"

static bool serves_type(const struct mmt_run *run, mmt_type type)
{
    return run->options.types[type] && (type != MMT_F64 || run->device.caps.f64);
}

static mmt_problem make_problem(const struct mmt_run *run, mmt_type type,
                                unsigned transposes, const struct mmt_shape *shape)
{
    mmt_problem problem = mmt_shape_problem(run->options.op, type, shape);
    problem.trans_a = (transposes & (MMT_TN | MMT_TT)) != 0;
    problem.trans_b = (transposes & (MMT_NT | MMT_TT)) != 0;
    mmt_epilogue_apply(&run->options.epilogue, &problem);
    return problem;
}

static mmt_status add_goal(struct mmt_run *run, mmt_type type, unsigned transposes,
                           const struct mmt_shape *shape, bool odd, mmt_error *err)
{
    mmt_problem problem = make_problem(run, type, transposes, shape);
    if (odd)
        mmt_ld_padding_apply(&problem);
    mmt_status status = mmt_problem_normalise(&problem, &problem, err);
    if (!status && !run->options.suites.count)
        status = mmt_tune_check_fits(run, &problem, err);
    if (status || mmt_tune_is_goal(run, &problem))
        return status;
    return mmt_problems_add(&run->goals, &problem, err);
}

/* Packed leading dimensions, unless odd ones alone were asked for. */
static mmt_status add_paddings(struct mmt_run *run, mmt_type type, unsigned transposes,
                               const struct mmt_shape *shape, mmt_error *err)
{
    const bool *ld_padding = run->options.ld_padding;
    mmt_status status = MMT_OK;
    if (ld_padding[0] || !ld_padding[1])
        status = add_goal(run, type, transposes, shape, false, err);
    if (!status && ld_padding[1])
        status = add_goal(run, type, transposes, shape, true, err);
    return status;
}

/* A run that nobody told otherwise tunes the first type of each family by name, and
 * serves the others with what it finds. */
static bool has_goals(const struct mmt_run *run, mmt_type type)
{
    return serves_type(run, type) &&
           (run->options.some_types || run->options.op != MMT_GEMM ||
            !run->options.types[mmt_type_family(type)] || mmt_type_family(type) == type);
}

/* Shape by shape, so that a run that is cut short has the first shapes of all types. */
static mmt_status add_goals(struct mmt_run *run, const struct mmt_shape *shapes,
                            int count, unsigned transposes, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (unsigned bit = MMT_NN; !status && bit <= MMT_TT; bit <<= 1)
        for (int i = 0; !status && i < count; i++)
            for (int type = 0; !status && type < MMT_NUM_TYPES; type++)
                if (transposes & bit && has_goals(run, (mmt_type) type))
                    status = add_paddings(run, (mmt_type) type, bit, &shapes[i], err);
    return status;
}

static int count_types(const struct mmt_run *run)
{
    int types = 0;
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        types += has_goals(run, (mmt_type) type);
    return types;
}

/* Problems of each type that the budget has room for. */
static double count_room(const struct mmt_run *run)
{
    return mmt_tune_room(run) / count_types(run);
}

/* ---- ranges of m ----------------------------------------------------------------- */

static mmt_status add_range(struct mmt_run *run, mmt_type type, unsigned transposes,
                            const struct mmt_shape *shape, mmt_error *err)
{
    mmt_problem problem = make_problem(run, type, transposes, shape);
    const mmt_status status = mmt_problem_normalise(&problem, &problem, err);
    return status ? status : mmt_ranges_add(run, &problem, shape->m_to, err);
}

/* A range of each type and transposes, and some of its m as goals: both ends and one
 * between them at least. */
static mmt_status add_ranges(struct mmt_run *run, const struct mmt_shape *range,
                             unsigned transposes, mmt_error *err)
{
    struct mmt_shape shapes[MMT_RANGE_GOALS];
    int64_t m[MMT_RANGE_GOALS];
    const int most = (int) fmin(fmax(count_room(run), 3), MMT_RANGE_GOALS);
    const int count = mmt_range_goals(range->m, range->m_to, most, m);
    for (int i = 0; i < count; i++) {
        shapes[i] = *range;
        shapes[i].m = m[i];
    }
    mmt_status status = add_goals(run, shapes, count, transposes, err);
    for (unsigned bit = MMT_NN; !status && bit <= MMT_TT; bit <<= 1)
        for (int type = 0; !status && type < MMT_NUM_TYPES; type++)
            if (transposes & bit && has_goals(run, (mmt_type) type))
                status = add_range(run, (mmt_type) type, bit, range, err);
    return status;
}

/* ---- suites ---------------------------------------------------------------------- */

/* As many shapes as the budget has room for; where it has room for all of them, also the
 * other transposes of the first product. */
static mmt_status add_default(struct mmt_run *run, mmt_error *err)
{
    struct mmt_shape shapes[MMT_DEFAULT_SHAPES];
    const double room = count_room(run);
    int count = (int) fmin(fmax(room, 1), MMT_DEFAULT_SHAPES);
    unsigned transposes = run->options.transposes;
    if (run->options.op != MMT_GEMM) {
        int usual = mmt_suite_of_op(run->options.op, run->device.caps.memory, shapes);
        return add_goals(run, shapes, count < usual ? count : usual, MMT_NN, err);
    }
    double measured = run->device.caps.sm ? 0 : run->limits.roofline.peak_flops[MMT_F32];
    mmt_suite_default(fmax(measured, mmt_derived_peak(&run->device.caps, MMT_F32)),
                      shapes);
    mmt_status status =
        add_goals(run, shapes, count, transposes ? transposes : MMT_NN, err);
    if (!status && !transposes && room >= MMT_DEFAULT_SHAPES + 3)
        status = add_goals(run, shapes, 1, MMT_NT | MMT_TN | MMT_TT, err);
    return status;
}

static mmt_status add_suite(struct mmt_run *run, const char *name, mmt_error *err)
{
    const unsigned transposes =
        run->options.transposes ? run->options.transposes : MMT_NN;
    if (!strcmp(name, "default"))
        return add_default(run, err);
    const struct mmt_suite *suite = mmt_suite_find(name, err);
    return suite ? add_goals(run, suite->shapes, suite->count, transposes, err)
                 : err->status;
}

/* Unless told, types for which the device has nothing but the plainest kernel are left
 * out, but for those of which every program makes use. */
static bool is_usual(const struct mmt_run *run, mmt_type type)
{
    mmt_problem problem = mmt_gemm_problem(type, 4096, 4096, 4096);
    struct mmt_config config;
    return mmt_type_in(type, MMT_PLAIN_TYPES) ||
           (run->options.op == MMT_GEMM &&
            !mmt_problem_normalise(&problem, &problem, NULL) &&
            mmt_config_default(&problem, &run->device.caps, &config) &&
            strcmp(config.template->name, "naive"));
}

mmt_status mmt_tune_choose_types(struct mmt_run *run, mmt_error *err)
{
    if (run->options.some_types && run->options.types[MMT_F64] && !run->device.caps.f64)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "%s has no double precision: --type f64 cannot be tuned",
                        run->device.caps.name);
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        if (!run->options.some_types)
            run->options.types[type] = is_usual(run, (mmt_type) type);
    }
    return MMT_OK;
}

mmt_status mmt_tune_set_goals(struct mmt_run *run, mmt_error *err)
{
    const struct mmt_tune_options *o = &run->options;
    unsigned transposes = o->transposes ? o->transposes : MMT_NN;
    mmt_status status = MMT_OK;
    if (o->recorded)
        return mmt_tune_set_recorded_goals(run, err);
    for (int i = 0; i < o->num_shapes && !status; i++)
        status = o->shapes[i].m_to ? add_ranges(run, &o->shapes[i], transposes, err)
                                   : add_goals(run, &o->shapes[i], 1, transposes, err);
    for (int i = 0; i < o->suites.count && !status; i++)
        status = add_suite(run, o->suites.each[i], err);
    if (!status && !o->suites.count && !o->num_shapes)
        status = add_default(run, err);
    return status;
}

static bool is_first(const struct mmt_run *run, int goal)
{
    for (int i = 0; i < goal; i++)
        if (mmt_same_kind(&run->goals.list[i], &run->goals.list[goal]))
            return false;
    return true;
}

int mmt_tune_count_kinds(const struct mmt_run *run)
{
    int kinds = 0;
    for (int i = 0; i < run->goals.count; i++)
        kinds += run->goals.list[i].op == MMT_GEMM && is_first(run, i);
    return kinds;
}

/* A type's first problem is searched from nothing, the others begin where it ended. */
static double weight_of(const struct mmt_run *run, int goal)
{
    if (run->goals.weights)
        return run->goals.weights[goal];
    for (int i = 0; i < goal; i++)
        if (run->goals.list[i].type == run->goals.list[goal].type)
            return 1;
    return 2;
}

/* What falls to this card of all that is left, while its own goal is its alone. */
static double part_of_card(const struct mmt_run *run, double own, double left)
{
    return own + (left - own) / fmax(run->options.cards.count, 1);
}

/* The part of run->goals.at in what is left. */
static double share_of_time(const struct mmt_run *run)
{
    const double own = weight_of(run, run->goals.at);
    double left = 0;
    for (int i = run->goals.at; i < run->goals.count; i++)
        left += weight_of(run, i);
    return own / part_of_card(run, own, left);
}

/* Seconds beside its search: setting up, and on a GPU that its arithmetic keeps busy the
 * finals, which are held at the power limit. */
static double beside_search(const struct mmt_run *run, const mmt_problem *problem)
{
    const double power_limited_finals = 1.3, shortest = 30e-6,
                 peak = run->limits.roofline.peak_flops[problem->type];
    double compute = peak > 0 ? mmt_problem_flops(problem) / peak : 0;
    bool power_limited = run->device.caps.kind == MMT_GPU && compute > shortest &&
                         compute >= mmt_tune_roofline(run, problem);
    return mmt_tune_setting_up(problem) + (power_limited ? power_limited_finals : 0);
}

/* Each has its own time for what is beside its search, but no more than half of all goes
 * there; the rest is shared. */
double mmt_tune_share_time(const struct mmt_run *run)
{
    double now = mmt_now(), left = run->clock.goals_end - now, all = 0;
    if (!isfinite(left))
        return INFINITY;
    for (int i = run->goals.at; i < run->goals.count; i++)
        all += beside_search(run, &run->goals.list[i]);
    all = part_of_card(run, beside_search(run, mmt_tune_current(run)), all);
    double part = all > 0 ? fmin(1, fmax(left, 0) / 2 / all) : 0;
    return now + part * beside_search(run, &run->goals.list[run->goals.at]) +
           (left - part * all) * share_of_time(run);
}

int64_t mmt_tune_share_candidates(const struct mmt_run *run)
{
    return run->options.budget.candidates
               ? (int64_t) ceil((double) run->clock.candidates_left * share_of_time(run))
               : INT64_MAX;
}
