/* Ranges of m. What won for a few of its m, what came next there, and what the
 * law ranks first are timed on many more; then the few that serve it best enter the
 * profile (segments.h). All that is decided follows from the journal: a later run goes
 * on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/tune/compiled.h"
#include "tuner/tune/fit.h"
#include "tuner/tune/machine_fault.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/phases.h"
#include "tuner/tune/roofline.h"
#include "tuner/tune/whole_verify.h"
#include "tuner/model/segments.h"

enum {
    MOST_PICKS = 24, /* timed by one run */
    MOST_KERNELS = 64,
    FEWEST_PICKS = 4,
    NEXT_BEST = 2, /* of each goal's finals */
    USUAL_SEGMENTS = 4,
};

/* Seconds of a timing, with its share of compiling and of the data; and parts of a
 * budget, and of the time kept for ranges, that timing takes of it. */
static const double timing_gpu = 0.04, timing_cpu = 0.09, part_of_budget = 0.25,
                    part_of_timing = 0.6;

/* Seconds for the samples of one timing. */
static const double budget_seconds = 0.03;

/* A spread above that part of the time says that something else was at work: the kernel
 * is timed again, so many times in all at most. */
static const double disturbed = 0.1;
enum { MOST_TRIES = 3 };

/* Slower than that many times the best on both sides, a kernel is not timed between. */
static const double hopeless = 1.5;

struct ranging {
    struct mmt_run *run;
    const struct mmt_tune_range *range;
    int64_t m[MMT_MOST_RANGE_TIMES];
    int samples;
    struct mmt_config kernels[MOST_KERNELS];
    int count, most;
    bool out[MOST_KERNELS];               /* it failed: never again */
    bool checked[MOST_KERNELS];           /* by this run, as `seen` */
    struct mmt_config seen[MOST_KERNELS]; /* resolved */
    /* By kernel and sample; 0: not timed; INFINITY: it does not serve there. */
    double seconds[MOST_KERNELS][MMT_MOST_RANGE_TIMES];
    double ends;
};

static mmt_problem problem_at(const struct ranging *r, int sample)
{
    return mmt_problem_with_m(&r->range->problem, r->m[sample]);
}

static double timing_of(const struct mmt_run *run)
{
    return run->device.caps.kind == MMT_CPU ? timing_cpu : timing_gpu;
}

double mmt_tune_ranges_seconds(const struct mmt_run *run)
{
    const double timing = MMT_MOST_RANGE_TIMES * MOST_PICKS * timing_of(run),
                 verifying = 2 * USUAL_SEGMENTS * mmt_tune_whole_seconds(run);
    return fmin(run->ranges.count * (timing + verifying),
                run->ranges.count ? part_of_budget * run->options.budget.seconds : 0);
}

/* ---- what the journal knows ------------------------------------------------------ */

static struct ranging *begin_range(struct mmt_run *run,
                                   const struct mmt_tune_range *range, mmt_error *err)
{
    struct ranging *r = calloc(1, sizeof *r);
    if (!r) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory to time a range");
        return NULL;
    }
    r->run = run;
    r->range = range;
    r->most = MOST_KERNELS;
    r->samples = mmt_range_samples(range->problem.m, range->m_to, r->m);
    return r;
}

static int find_kernel(const struct ranging *r, const struct mmt_config *config)
{
    int i = 0;
    while (i < r->count && !mmt_config_equal(&r->kernels[i], config))
        i++;
    return i;
}

static void add_kernel(struct ranging *r, const struct mmt_config *config)
{
    if (r->count < r->most && find_kernel(r, config) == r->count)
        r->kernels[r->count++] = *config;
}

/* The sample of a problem; -1: it is none of the range's. */
static int find_sample(const struct ranging *r, const mmt_problem *problem)
{
    const mmt_problem at = mmt_problem_with_m(&r->range->problem, problem->m);
    for (int s = 0; s < r->samples; s++)
        if (r->m[s] == problem->m)
            return mmt_problem_equal(&at, problem) ? s : -1;
    return -1;
}

/* The least of several times counts: what disturbs them makes them longer. */
static void take_time(struct ranging *r, int kernel, int sample,
                      const struct mmt_result *result)
{
    double *seconds = &r->seconds[kernel][sample];
    if (result->outcome != MMT_TIMED)
        *seconds = INFINITY;
    else if (*seconds == 0 || result->time.median < *seconds)
        *seconds = result->time.median;
}

/* Takes over the times of other shapes. What a search timed is not taken: the least of
 * many times flatters the winner. With `all`, of kernels that are not listed, too. */
static void read_times(struct ranging *r, bool all)
{
    size_t count;
    const struct mmt_record *records = mmt_journal_records(r->run->files.journal, &count);
    for (size_t i = 0; i < count; i++) {
        const struct mmt_record *record = &records[i];
        const int s = record->calibration ? find_sample(r, &record->problem) : -1;
        if (s < 0 || !mmt_journal_stands(r->run->files.journal, record))
            continue;
        if (all)
            add_kernel(r, &record->config);
        const int k = find_kernel(r, &record->config);
        if (k < r->count)
            take_time(r, k, s, &record->result);
    }
}

/* ---- which kernels --------------------------------------------------------------- */

/* The same with all launch-time counts auto that can be. */
static struct mmt_config leave_counts(const struct mmt_config *config)
{
    struct mmt_config left = *config;
    for (int i = 0; i < left.template->num_knobs; i++) {
        const struct mmt_knob *knob = &left.template->knobs[i];
        if (knob->launch_time && knob->automatic)
            left.values[i] = knob->values[0];
    }
    return left;
}

/* Its winner, and the same with auto counts. */
static void add_winner(struct ranging *r, const mmt_problem *problem)
{
    const struct mmt_entry *winner = mmt_tune_winner(r->run, problem);
    if (!winner)
        return;
    const struct mmt_config left = leave_counts(&winner->config);
    add_kernel(r, &winner->config);
    add_kernel(r, &left);
}

/* Goals of a recording may be between the samples. */
static void add_winners(struct ranging *r)
{
    for (int s = 0; s < r->samples; s++) {
        const mmt_problem problem = problem_at(r, s);
        add_winner(r, &problem);
    }
    for (int i = 0; i < r->run->goals.count; i++)
        if (mmt_tune_range_has(r->range, &r->run->goals.list[i]))
            add_winner(r, &r->run->goals.list[i]);
}

/* What the law ranks as number `place` at each sample. */
static void add_ranked(struct ranging *r, int place)
{
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    for (int s = 0; s < r->samples; s++) {
        const mmt_problem problem = problem_at(r, s);
        const int count = mmt_select_rank(r->run->files.profile, &problem,
                                          &r->run->device.caps, NULL, ranked);
        if (count > place &&
            mmt_tune_is_meant(r->run, ranked[place].config.template, &problem))
            add_kernel(r, &ranked[place].config);
    }
}

static int compare_times(const void *left, const void *right)
{
    const struct mmt_record *const *a = left, *const *b = right;
    return ((*a)->result.time.median > (*b)->result.time.median) -
           ((*a)->result.time.median < (*b)->result.time.median);
}

/* The next best of the finals that were held for a problem. */
static void add_next_best(struct ranging *r, const mmt_problem *problem)
{
    enum { MOST_FINALS = 64 };
    const struct mmt_journal *journal = r->run->files.journal;
    const struct mmt_record *record = mmt_journal_first(journal, problem);
    const struct mmt_record *finals[MOST_FINALS];
    int count = 0;
    for (; record && count < MOST_FINALS; record = mmt_journal_next(journal, record))
        if (record->final && record->result.outcome == MMT_TIMED)
            finals[count++] = record;
    qsort(finals, (size_t) count, sizeof *finals, compare_times);
    for (int i = 0, before = r->count; i < count && r->count < before + NEXT_BEST; i++)
        add_kernel(r, &finals[i]->config);
}

static void add_kernels(struct ranging *r)
{
    const double room = isfinite(r->ends) ? r->ends - mmt_now() : INFINITY;
    const double most = room / (r->samples * timing_of(r->run));
    r->most = (int) fmin(fmax(most, FEWEST_PICKS), MOST_PICKS);
    add_winners(r);
    add_ranked(r, 0);
    for (int s = 0; s < r->samples; s++) {
        const mmt_problem problem = problem_at(r, s);
        add_next_best(r, &problem);
    }
    add_ranked(r, 1);
}

/* ---- timing ---------------------------------------------------------------------- */

static bool is_over(const struct ranging *r)
{
    return mmt_pool_interrupts() || r->run->pool.broken.status || mmt_now() >= r->ends;
}

static double best_at(const struct ranging *r, int sample)
{
    double best = INFINITY;
    for (int k = 0; k < r->count; k++)
        if (r->seconds[k][sample] > 0)
            best = fmin(best, r->seconds[k][sample]);
    return best;
}

/* Whether a kernel was far behind at the next sample in that direction that it met, or
 * met none. */
static bool is_behind(const struct ranging *r, int kernel, int sample, int step)
{
    for (int s = sample + step; s >= 0 && s < r->samples; s += step)
        if (r->seconds[kernel][s] > 0)
            return r->seconds[kernel][s] > hopeless * best_at(r, s);
    return true;
}

static bool is_to_be_timed(const struct ranging *r, int kernel, int sample, bool goal)
{
    const mmt_problem problem = problem_at(r, sample);
    return !r->out[kernel] && r->seconds[kernel][sample] == 0 &&
           !mmt_config_check_problem(&r->kernels[kernel], &problem,
                                     &r->run->device.caps) &&
           (goal || !is_behind(r, kernel, sample, -1) ||
            !is_behind(r, kernel, sample, 1));
}

/* Whether this run has not found the specialisation right yet that serves the problem. */
static bool is_to_be_checked(struct ranging *r, int kernel, const mmt_problem *problem)
{
    const struct mmt_config runs =
        mmt_config_resolve(&r->kernels[kernel], problem, &r->run->device.caps);
    const bool seen = r->checked[kernel] && mmt_config_same_text(&r->seen[kernel], &runs);
    r->seen[kernel] = runs;
    return !seen;
}

/* False where nothing came of it, and nothing is known of the kernel. */
static bool measure_sample(struct ranging *r, int kernel, int sample,
                           struct mmt_record *record)
{
    const mmt_problem problem = problem_at(r, sample);
    const double best = best_at(r, sample);
    struct mmt_job job = {
        .problem = problem,
        .configs = { r->kernels[kernel] },
        .verify = { is_to_be_checked(r, kernel, &problem) },
        .best_seconds = isfinite(best) ? best : 0,
        .budget_seconds = budget_seconds,
    };
    return mmt_tune_time_short(r->run, &job, mmt_tune_limit(r->run, &problem, best),
                               record);
}

/* *again: the time was disturbed. */
static mmt_status time_once(struct ranging *r, int kernel, int sample, bool *again,
                            mmt_error *err)
{
    struct mmt_record record;
    const struct mmt_result *result = &record.result;
    *again = false;
    if (!measure_sample(r, kernel, sample, &record))
        return MMT_OK;
    const bool timed = result->outcome == MMT_TIMED;
    r->out[kernel] = !timed && result->outcome != MMT_SKIPPED;
    r->checked[kernel] = timed;
    take_time(r, kernel, sample, result);
    *again = timed && result->time.spread > disturbed * result->time.median;
    mmt_report_law_time(r->run, &record);
    mmt_status status = mmt_tune_note_result(r->run, &record, err);
    return !status && mmt_tune_suspects(r->run) ? mmt_tune_ask_naive(r->run, err)
                                                : status;
}

static mmt_status time_kernel(struct ranging *r, int kernel, int sample, mmt_error *err)
{
    bool again = true;
    mmt_status status = MMT_OK;
    for (int i = 0; i < MOST_TRIES && again && !status && !is_over(r); i++)
        status = time_once(r, kernel, sample, &again, err);
    return status;
}

/* `goal`: all that can serve there are timed; else those that are not far behind on both
 * sides. All are compiled before. */
static mmt_status time_sample(struct ranging *r, int sample, bool goal, mmt_error *err)
{
    struct mmt_config configs[MOST_KERNELS];
    const mmt_problem problem = problem_at(r, sample);
    mmt_status status = MMT_OK;
    int count = 0;
    for (int k = 0; k < r->count; k++)
        if (is_to_be_timed(r, k, sample, goal))
            configs[count++] = r->kernels[k];
    mmt_tune_build(r->run, &problem, configs, count, r->ends);
    for (int k = 0; k < r->count && !status && !is_over(r); k++)
        if (is_to_be_timed(r, k, sample, goal))
            status = time_kernel(r, k, sample, err);
    return status;
}

/* The samples that are goals, then every other one, then the rest: where time runs out,
 * all parts of the range were met. */
static mmt_status time_samples(struct ranging *r, mmt_error *err)
{
    int64_t goals[MMT_RANGE_GOALS];
    const int count =
        mmt_range_goals(r->range->problem.m, r->range->m_to, MMT_RANGE_GOALS, goals);
    mmt_status status = MMT_OK;
    for (int s = 0, g = 0; s < r->samples && g < count && !status; s++)
        if (r->m[s] == goals[g]) {
            status = time_sample(r, s, true, err);
            g++;
        }
    for (int first = 1; first >= 0; first--)
        for (int s = first; s < r->samples && !status; s += 2)
            status = time_sample(r, s, false, err);
    return status;
}

/* ---- selecting ------------------------------------------------------------------- */

/* Drops the samples at which nothing was timed. */
static void drop_unmet(struct ranging *r)
{
    int left = 0;
    for (int s = 0; s < r->samples; s++) {
        if (isinf(best_at(r, s)))
            continue;
        r->m[left] = r->m[s];
        for (int k = 0; k < r->count; k++)
            r->seconds[k][left] = r->seconds[k][s] > 0 ? r->seconds[k][s] : INFINITY;
        left++;
    }
    r->samples = left;
}

static int divide_range(const struct ranging *r, struct mmt_part parts[MMT_MOST_SEGMENTS])
{
    double seconds[MOST_KERNELS * MMT_MOST_RANGE_TIMES];
    for (int k = 0; k < r->count; k++)
        memcpy(&seconds[k * r->samples], r->seconds[k],
               (size_t) r->samples * sizeof *seconds);
    return mmt_range_divide(seconds, r->count, r->samples, MMT_MOST_SEGMENTS, parts);
}

static void add_segment(const struct ranging *r, const struct mmt_part *part,
                        struct mmt_range *out)
{
    struct mmt_segment *segment = &out->segments[out->num_segments++];
    struct mmt_hash hash;
    segment->config = r->kernels[part->kernel];
    segment->m_to = r->range->m_to;
    if (part->last + 1 < r->samples)
        segment->m_to = mmt_range_break(r->m[part->last], r->m[part->last + 1]);
    if (!mmt_template_hash(segment->config.template, &hash, NULL))
        mmt_hash_print(hash, segment->template_hash);
    for (int s = out->num_times; s <= part->last; s++)
        out->times[out->num_times++] =
            (struct mmt_range_time){ r->m[s], r->seconds[part->kernel][s],
                                     best_at(r, s) };
}

static mmt_status put_range(struct mmt_profile *profile, const struct mmt_range *range,
                            mmt_error *err)
{
    for (size_t i = 0; i < profile->num_ranges; i++)
        if (mmt_range_same(&profile->ranges[i], range)) {
            profile->ranges[i] = *range;
            return MMT_OK;
        }
    return mmt_profile_add_range(profile, range, err);
}

/* Selects among all that was ever timed on the range. *out has no segments where both
 * ends were not met, or no kernels serve it all. */
static mmt_status select_segments(struct mmt_run *run, const struct mmt_tune_range *range,
                                  struct mmt_range *out, mmt_error *err)
{
    struct mmt_part parts[MMT_MOST_SEGMENTS];
    struct ranging *r = begin_range(run, range, err);
    *out = (struct mmt_range){ .problem = range->problem };
    if (!r)
        return err->status;
    read_times(r, true);
    drop_unmet(r);
    const bool ends =
        r->samples && r->m[0] == range->problem.m && r->m[r->samples - 1] == range->m_to;
    const int count = ends ? divide_range(r, parts) : 0;
    for (int i = 0; i < count; i++)
        add_segment(r, &parts[i], out);
    free(r);
    return count ? put_range(run->files.profile, out, err) : MMT_OK;
}

static mmt_status time_range(struct mmt_run *run, const struct mmt_tune_range *range,
                             double ends, mmt_error *err)
{
    struct mmt_range selected;
    struct ranging *r = begin_range(run, range, err);
    if (!r)
        return err->status;
    r->ends = ends;
    add_kernels(r);
    read_times(r, false);
    mmt_status status = time_samples(r, err);
    free(r);
    if (!status)
        status = mmt_tune_end_suspicion(run, err);
    return status ? status : select_segments(run, range, &selected, err);
}

mmt_status mmt_tune_time_ranges(struct mmt_run *run, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int i = 0; i < run->ranges.count && !status && !mmt_pool_interrupts(); i++) {
        const double now = mmt_now(), left = part_of_timing *
                                             (run->clock.ranges_end - now) /
                                             (run->ranges.count - i);
        status = time_range(run, &run->ranges.list[i],
                            isfinite(left) ? now + left : INFINITY, err);
    }
    if (!status)
        status = mmt_pool_check(&run->pool, err);
    return status || !run->ranges.count ? status : mmt_tune_update(run, false, err);
}

/* ---- verifying ------------------------------------------------------------------- */

static bool may_verify(const struct mmt_run *run)
{
    return !mmt_pool_interrupts() &&
           mmt_now() + mmt_tune_whole_seconds(run) <= run->clock.finish;
}

/* Verifies a kernel at both ends of its segment. */
static mmt_status verify_segment(struct mmt_run *run, const struct mmt_range *range,
                                 int i, enum mmt_whole *out, mmt_error *err)
{
    const struct mmt_segment *segment = &range->segments[i];
    const int64_t ends[2] = { i ? range->segments[i - 1].m_to + 1 : range->problem.m,
                              segment->m_to };
    mmt_status status = MMT_OK;
    *out = MMT_WHOLE_RIGHT;
    for (int end = 0; end < 2 && !status && *out == MMT_WHOLE_RIGHT; end++) {
        const mmt_problem problem = mmt_problem_with_m(&range->problem, ends[end]);
        *out = mmt_journal_whole(run->files.journal, &problem, &segment->config);
        if (*out == MMT_WHOLE_UNKNOWN && may_verify(run))
            status = mmt_tune_verify_at(run, &problem, &segment->config, out, err);
    }
    return status;
}

static void report_range(struct mmt_run *run, const struct mmt_tune_range *range,
                         const struct mmt_range *selected, int right)
{
    struct mmt_text text = { 0 };
    mmt_range_print_to(&range->problem, range->m_to, &text);
    const char *name = mmt_text_string(&text);
    if (selected->num_segments)
        mmt_report_note(
            run,
            "%s: %d kernels, of which %d passed every check; at %d m, 95 %% are "
            "within %.1f %% of the best that was timed there",
            name, selected->num_segments, right, selected->num_times,
            100 * mmt_range_slow_down(selected, -1, 0.95));
    else
        mmt_report_note(run,
                        "%s has no kernels yet: both ends must be timed, within a longer "
                        "budget",
                        name);
    mmt_text_finish(&text);
}

/* Selects again as long as a kernel turns out to be wrong. */
static mmt_status verify_range(struct mmt_run *run, const struct mmt_tune_range *range,
                               mmt_error *err)
{
    struct mmt_range selected;
    mmt_status status = MMT_OK;
    bool wrong = true;
    int right = 0;
    while (!status && wrong) {
        status = select_segments(run, range, &selected, err);
        wrong = false;
        right = 0;
        for (int i = 0; i < selected.num_segments && !status && !wrong; i++) {
            enum mmt_whole found;
            status = verify_segment(run, &selected, i, &found, err);
            wrong = found == MMT_WHOLE_WRONG;
            right += found == MMT_WHOLE_RIGHT;
        }
    }
    if (!status)
        report_range(run, range, &selected, right);
    return status;
}

mmt_status mmt_tune_verify_ranges(struct mmt_run *run, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int i = 0; i < run->ranges.count && !status && !mmt_pool_interrupts(); i++)
        status = verify_range(run, &run->ranges.list[i], err);
    return status;
}
