/* What programs computed, as goals: what may save most time first, and a range where many
 * m meet the same n and k. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recording/counts.h"
#include "tuner/model/segments.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/recorded.h"

enum {
    FEWEST_M = 4,     /* that make a range */
    GOALS_OF_ONE = 4, /* of a range's m those that may save most */
    SPREAD_GOALS = 3, /* and, where there is room, both ends and one between them */
};

/* That part of the time is shared evenly among goals, the rest by what may be saved. */
static const double evenly = 0.5;

/* A problem, whoever asked for it. */
struct wanted {
    mmt_problem problem;
    double saves; /* seconds, perhaps */
    int range;    /* of the run's; -1: none */
};

struct wishes {
    struct wanted *list;
    int count;
};

/* ---- which configurations -------------------------------------------------------- */

/* What callers of this library get for a problem by a profile. */
static bool is_emulated_and_faster(const struct mmt_run *run,
                                   const struct mmt_profile *profile,
                                   const struct mmt_record *winner)
{
    struct mmt_selection now;
    return !mmt_select(profile, &winner->problem, &run->device.caps, NULL, &now, NULL) &&
           mmt_config_in_slices(&now.config, MMT_F32) &&
           !(now.seconds > winner->result.time.median);
}

bool mmt_tune_would_slow(const struct mmt_run *run, const struct mmt_record *winner)
{
    return run->strict && winner->problem.type == MMT_F32 &&
           (is_emulated_and_faster(run, run->files.profile, winner) ||
            is_emulated_and_faster(run, run->files.layers, winner));
}

/* Whether f32 has kernels here that emulate it. */
static bool has_emulation(const struct mmt_run *run, const mmt_problem *problem)
{
    for (int t = 0; problem->type == MMT_F32 && mmt_templates[t]; t++) {
        struct mmt_config config = { .template = mmt_templates[t] };
        memcpy(config.values, mmt_templates[t]->seeds[0],
               (size_t) mmt_templates[t]->num_knobs * sizeof(int));
        if (mmt_config_meant(mmt_templates[t], problem, &run->device.caps) &&
            mmt_config_in_slices(&config, MMT_F32))
            return true;
    }
    return false;
}

/* ---- what was wanted ------------------------------------------------------------- */

/* What ours should take for a kind of call, in all, and whether that was measured. */
static double expect(const struct mmt_run *run, const struct mmt_recorded *it,
                     bool *measured)
{
    const mmt_problem problem = mmt_call_stand_in(&it->call);
    const struct mmt_terms terms = {
        .max_workspace = it->call.workspace ? it->call.workspace : SIZE_MAX,
        .strict_f32 = !run->options.emulated && it->call.client != MMT_CLIENT_MMTUNE,
    };
    struct mmt_selection now;
    const bool known =
        !mmt_select(run->files.layers, &problem, &run->device.caps, &terms, &now, NULL) &&
        now.seconds > 0;
    *measured = known && mmt_selection_is_known(&now);
    return (double) mmt_recorded_calls(it) *
           (known ? now.seconds : mmt_tune_roofline(run, &problem));
}

/* Seconds that a kind of call may save: by the law, but where a kernel was tuned for it,
 * or the law hopes for nothing, what a verdict for ours asks at least. */
struct hope {
    double saves;
    bool by_law;
};

static struct hope hope_for(const struct mmt_run *run, const struct mmt_recorded *it)
{
    bool measured;
    const double ours = expect(run, it, &measured);
    const double theirs = it->timed > 0 ? mmt_recorded_seconds(it) : ours;
    const double least = MMT_FASTER_MARGIN * theirs;
    return !measured && theirs - ours > least ? (struct hope){ theirs - ours, true }
                                              : (struct hope){ least, false };
}

static bool is_served(struct mmt_run *run, const mmt_problem *p)
{
    mmt_error why;
    if (p->op != run->options.op || !mmt_problem_extent_c(p) ||
        (run->options.some_types && !run->options.types[p->type]) ||
        (p->type == MMT_F64 && !run->device.caps.f64))
        return false;
    if (!mmt_tune_check_fits(run, p, &why))
        return true;
    mmt_report_note(run, "%s", why.text);
    return false;
}

static void add_wish(struct wishes *wishes, const mmt_problem *problem, double saves)
{
    int i = 0;
    while (i < wishes->count && !mmt_problem_equal(&wishes->list[i].problem, problem))
        i++;
    if (i == wishes->count)
        wishes->list[wishes->count++] = (struct wanted){ *problem, 0, -1 };
    wishes->list[i].saves += saves;
}

static int compare_wishes(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    return (a->saves < b->saves) - (a->saves > b->saves);
}

static mmt_status list_wishes(struct mmt_run *run, struct wishes *wishes, mmt_error *err)
{
    const struct mmt_recording *recording = &run->recorded.recording;
    wishes->list = calloc(recording->count + 1, sizeof *wishes->list);
    if (!wishes->list)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for %zu recorded calls",
                        recording->count);
    for (size_t i = 0; i < recording->count; i++) {
        const mmt_problem problem = mmt_call_stand_in(&recording->list[i].call);
        if (is_served(run, &problem))
            add_wish(wishes, &problem, hope_for(run, &recording->list[i]).saves);
    }
    qsort(wishes->list, (size_t) wishes->count, sizeof *wishes->list, compare_wishes);
    return MMT_OK;
}

/* ---- ranges ---------------------------------------------------------------------- */

/* Whether two differ in m alone, and have no gaps in A and C. */
static bool is_of_one(const mmt_problem *a, const mmt_problem *b)
{
    const mmt_problem packed = mmt_problem_with_m(a, a->m),
                      other = mmt_problem_with_m(a, b->m);
    return a->op == MMT_GEMM && mmt_problem_equal(&packed, a) &&
           mmt_problem_equal(&other, b);
}

/* Makes a range of those that differ from number `first` in m alone. Not where f32 can be
 * emulated: a range serves callers who allow that, too. */
static mmt_status find_range(struct mmt_run *run, struct wishes *wishes, int first,
                             mmt_error *err)
{
    const mmt_problem *problem = &wishes->list[first].problem;
    int64_t low = problem->m, high = problem->m;
    int members = 0;
    if (wishes->list[first].range >= 0 || has_emulation(run, problem))
        return MMT_OK;
    for (int i = first; i < wishes->count; i++) {
        const mmt_problem *other = &wishes->list[i].problem;
        if (!is_of_one(problem, other))
            continue;
        members++;
        low = other->m < low ? other->m : low;
        high = other->m > high ? other->m : high;
    }
    if (members < FEWEST_M)
        return MMT_OK;
    for (int i = first; i < wishes->count; i++)
        if (is_of_one(problem, &wishes->list[i].problem))
            wishes->list[i].range = run->ranges.count;
    const mmt_problem least = mmt_problem_with_m(problem, low);
    return mmt_ranges_add(run, &least, high, err);
}

/* ---- goals ----------------------------------------------------------------------- */

static mmt_status add_goal(struct mmt_run *run, const mmt_problem *problem, double saves,
                           mmt_error *err)
{
    double *weights =
        realloc(run->goals.weights, ((size_t) run->goals.count + 1) * sizeof *weights);
    if (!weights)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the list of problems");
    run->goals.weights = weights;
    weights[run->goals.count] = saves;
    return mmt_problems_add(&run->goals, problem, err);
}

/* How many goals are of a range already. */
static int count_of_range(const struct mmt_run *run, const struct mmt_tune_range *range)
{
    int count = 0;
    for (int i = 0; i < run->goals.count; i++)
        count += is_of_one(&range->problem, &run->goals.list[i]);
    return count;
}

static mmt_status add_spread(struct mmt_run *run, const struct mmt_tune_range *range,
                             int room, mmt_error *err)
{
    int64_t m[MMT_RANGE_GOALS];
    const int count = mmt_range_goals(range->problem.m, range->m_to, SPREAD_GOALS, m);
    mmt_status status = MMT_OK;
    for (int i = 0; i < count && run->goals.count < room && !status; i++) {
        const mmt_problem problem = mmt_problem_with_m(&range->problem, m[i]);
        if (!mmt_tune_is_goal(run, &problem))
            status = add_goal(run, &problem, 0, err);
    }
    return status;
}

static mmt_status add_goals(struct mmt_run *run, const struct wishes *wishes,
                            mmt_error *err)
{
    const int room = (int) fmin(fmax(mmt_tune_room(run), 1), 1e6);
    mmt_status status = MMT_OK;
    for (int i = 0; i < wishes->count && run->goals.count < room && !status; i++) {
        const struct wanted *it = &wishes->list[i];
        if (it->range < 0 ||
            count_of_range(run, &run->ranges.list[it->range]) < GOALS_OF_ONE)
            status = add_goal(run, &it->problem, it->saves, err);
    }
    for (int i = 0; i < run->ranges.count && !status; i++)
        status = add_spread(run, &run->ranges.list[i], room, err);
    return status;
}

static void share_weights(struct mmt_run *run)
{
    double all = 0;
    for (int i = 0; i < run->goals.count; i++)
        all += run->goals.weights[i];
    for (int i = 0; i < run->goals.count; i++)
        run->goals.weights[i] =
            evenly / run->goals.count +
            (all > 0 ? (1 - evenly) * run->goals.weights[i] / all : 0);
}

static mmt_status read_recording(struct mmt_run *run, mmt_error *err)
{
    struct mmt_text stem = { 0 }, path = { 0 };
    mmt_error why = { 0 };
    mmt_profile_stem(&run->device.caps, &stem);
    mmt_status status =
        mmt_recording_read_device(mmt_text_string(&stem), run->options.recording, false,
                                  &path, &run->recorded.recording, &why);
    if (status == MMT_ERROR_NOT_FOUND)
        mmt_fail(err, status, "%s; `mmtune run --record -- PROGRAM` makes one", why.text);
    else if (status)
        mmt_fail_native(err, status, why.native, "%s", why.text);
    else if (!run->recorded.recording.count)
        status = mmt_fail(err, MMT_ERROR_NOT_FOUND, "'%s' has no calls in it",
                          mmt_text_string(&path));
    if (!status && run->recorded.recording.warnings.length)
        mmt_report_note(run, "%s: %s", mmt_text_string(&path),
                        mmt_text_string(&run->recorded.recording.warnings));
    mmt_text_finish(&stem);
    mmt_text_finish(&path);
    return status;
}

/* A kind of call, and what it may save. */
struct ranked {
    struct mmt_recorded it;
    struct hope hope;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->hope.by_law != b->hope.by_law)
        return a->hope.by_law ? -1 : 1;
    return (a->hope.saves < b->hope.saves) - (a->hope.saves > b->hope.saves);
}

/* Calls that may gain by the law come first, what may save most before the others: so
 * they have verdicts. */
static mmt_status rank_calls(struct mmt_run *run, mmt_error *err)
{
    struct mmt_recording *recording = &run->recorded.recording;
    struct ranked *list = calloc(recording->count + 1, sizeof *list);
    if (!list)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for %zu recorded calls",
                        recording->count);
    for (size_t i = 0; i < recording->count; i++)
        list[i] =
            (struct ranked){ recording->list[i], hope_for(run, &recording->list[i]) };
    qsort(list, recording->count, sizeof *list, compare_ranked);
    run->recorded.hopeful = 0;
    for (size_t i = 0; i < recording->count; i++) {
        recording->list[i] = list[i].it;
        run->recorded.hopeful += list[i].hope.by_law;
    }
    free(list);
    return MMT_OK;
}

mmt_status mmt_tune_set_recorded_goals(struct mmt_run *run, mmt_error *err)
{
    struct wishes wishes = { 0 };
    mmt_status status = read_recording(run, err);
    if (!status)
        status = rank_calls(run, err);
    if (!status)
        status = list_wishes(run, &wishes, err);
    for (int i = 0; i < wishes.count && !status; i++)
        status = find_range(run, &wishes, i, err);
    if (!status)
        status = add_goals(run, &wishes, err);
    if (!status && !run->goals.count)
        status = mmt_fail(err, MMT_ERROR_NOT_FOUND,
                          "none of the %zu recorded kinds of calls can be tuned on %s",
                          run->recorded.recording.count, run->device.caps.name);
    if (!status)
        share_weights(run);
    free(wishes.list);
    return status;
}
