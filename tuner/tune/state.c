/* What a run knows and keeps: questions about its goals, its profile and its recording,
 * and counts. Nothing here waits, prints or asks a worker. */
#include "tuner/tune/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Less than this many seconds, or candidates, for a problem teach little: a CPU's own
 * compilers take seconds for a kernel. */
enum { LEAST_SECONDS = 6, LEAST_SECONDS_CPU = 15, LEAST_CANDIDATES = 12 };

/* ---- the goals ------------------------------------------------------------------- */

const mmt_problem *mmt_tune_current(const struct mmt_run *run)
{
    return &run->goals.list[run->goals.at];
}

const mmt_problem *mmt_tune_next(const struct mmt_run *run)
{
    const struct mmt_run_problems *goals = &run->goals;
    return goals->at + 1 < goals->count ? &goals->list[goals->at + 1] : NULL;
}

bool mmt_tune_is_goal(const struct mmt_run *run, const mmt_problem *problem)
{
    for (int i = 0; i < run->goals.count; i++)
        if (mmt_problem_equal(&run->goals.list[i], problem))
            return true;
    return false;
}

mmt_status mmt_problems_add(struct mmt_run_problems *problems, const mmt_problem *problem,
                            mmt_error *err)
{
    mmt_problem *grown =
        realloc(problems->list, ((size_t) problems->count + 1) * sizeof *grown);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the list of problems");
    problems->list = grown;
    grown[problems->count++] = *problem;
    problems->all = problems->count;
    return MMT_OK;
}

static double gib(double bytes)
{
    return bytes / (1 << 30);
}

mmt_status mmt_tune_check_fits(const struct mmt_run *run, const mmt_problem *p,
                               mmt_error *err)
{
    double elements =
        2.0 * (double) mmt_problem_extent_a(p) + 2.0 * (double) mmt_problem_extent_b(p);
    double bytes = elements * (double) mmt_type_size(p->type) +
                   (double) mmt_problem_extent_c(p) * (double) mmt_type_size(p->out);
    struct mmt_text name = { 0 };

    if (!run->device.caps.memory || bytes <= (double) run->device.caps.memory)
        return MMT_OK;
    mmt_problem_print(p, &name);
    mmt_fail(err, MMT_ERROR_UNSUPPORTED,
             "%s takes %.1f GiB to tune; %s has %.1f GiB of memory",
             mmt_text_string(&name), gib(bytes), run->device.caps.name,
             gib((double) run->device.caps.memory));
    mmt_text_finish(&name);
    return MMT_ERROR_UNSUPPORTED;
}

double mmt_tune_room(const struct mmt_run *run)
{
    const struct mmt_budget *budget = &run->options.budget;
    double least = run->device.caps.kind == MMT_CPU ? LEAST_SECONDS_CPU : LEAST_SECONDS;
    const double room = budget->seconds > 0
                            ? budget->seconds / least
                            : (double) budget->candidates / LEAST_CANDIDATES;
    return room * fmax(run->options.cards.count, 1);
}

double mmt_tune_setting_up(const mmt_problem *problem)
{
    return mmt_problem_bytes(problem) / 0.4e9;
}

mmt_status mmt_ranges_add(struct mmt_run *run, const mmt_problem *problem, int64_t m_to,
                          mmt_error *err)
{
    const int count = run->ranges.count;
    for (int i = 0; i < count; i++)
        if (mmt_problem_equal(&run->ranges.list[i].problem, problem) &&
            run->ranges.list[i].m_to == m_to)
            return MMT_OK;
    struct mmt_tune_range *grown =
        realloc(run->ranges.list, ((size_t) count + 1) * sizeof *grown);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the list of ranges");
    run->ranges.list = grown;
    grown[run->ranges.count++] = (struct mmt_tune_range){ *problem, m_to };
    return MMT_OK;
}

bool mmt_tune_range_has(const struct mmt_tune_range *range, const mmt_problem *goal)
{
    const mmt_problem at = mmt_problem_with_m(&range->problem, goal->m);
    return goal->op == MMT_GEMM && goal->m >= range->problem.m &&
           goal->m <= range->m_to && mmt_problem_equal(&at, goal);
}

/* ---- configurations and times ---------------------------------------------------- */

bool mmt_tune_is_meant(const struct mmt_run *run, const struct mmt_template *template,
                       const mmt_problem *problem)
{
    const struct mmt_caps *caps = &run->device.caps;
    const char *named = run->options.template;
    if (!named)
        return mmt_config_meant(template, problem, caps);
    return mmt_template_is(template, named) && template->dialects & caps->dialect &&
           mmt_type_in(problem->type, template->types) && template->op == problem->op &&
           (!template->prefers || !strcmp(named, mmt_template_key(template)) ||
            template->prefers(problem, caps));
}

bool mmt_tune_allows(const struct mmt_run *run, const mmt_problem *problem,
                     const struct mmt_config *config)
{
    return !run->strict || problem->type != MMT_F32 ||
           !mmt_config_in_slices(config, MMT_F32);
}

bool mmt_tune_known(const struct mmt_run *run, const mmt_problem *problem,
                    struct mmt_config *out)
{
    const struct mmt_terms terms = { .max_workspace = SIZE_MAX,
                                     .strict_f32 = run->strict };
    struct mmt_selection selection;
    mmt_error why;
    if (mmt_select(run->files.layers, problem, &run->device.caps, &terms, &selection,
                   &why) ||
        !mmt_tune_is_meant(run, selection.config.template, problem) ||
        mmt_config_check_problem(&selection.config, problem, &run->device.caps))
        return false;
    *out = selection.config;
    return true;
}

double mmt_tune_limit(const struct mmt_run *run, const mmt_problem *problem, double best)
{
    double host = mmt_problem_bytes(problem) / 200e6;
    return run->options.limit + host + (isfinite(best) ? 20 * best : 0);
}

double mmt_tune_roofline(const struct mmt_run *run, const mmt_problem *problem)
{
    return mmt_roofline_seconds(&run->limits.roofline, problem);
}

/* ---- the profile ----------------------------------------------------------------- */

const struct mmt_entry *mmt_tune_winner(const struct mmt_run *run,
                                        const mmt_problem *problem)
{
    for (size_t i = 0; i < run->files.profile->num_entries; i++)
        if (!run->files.profile->entries[i].source[0] &&
            mmt_problem_equal(&run->files.profile->entries[i].problem, problem))
            return &run->files.profile->entries[i];
    return NULL;
}

bool mmt_tune_has_yardstick(const struct mmt_run *run, const struct mmt_entry *entry)
{
    const struct mmt_yardstick *it = &entry->yardstick;
    return it->library[0] && !strcmp(it->library, run->library.name) &&
           !strcmp(it->driver, run->device.caps.driver);
}

/* ---- counts ---------------------------------------------------------------------- */

void mmt_counts_add(struct mmt_counts *counts, enum mmt_outcome outcome)
{
    counts->tried++;
    counts->skipped += outcome == MMT_SKIPPED;
    counts->wrong += outcome == MMT_WRONG;
    counts->failed += mmt_outcome_may_be_machine(outcome);
    counts->killed += outcome == MMT_KILLED;
}

/* Whether a list, "thermal, power cap", has that word. */
static bool lists_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ','))
            return true;
    return false;
}

void mmt_tune_note_health(struct mmt_made_health *health, const struct mmt_result *result)
{
    size_t used = strlen(health->by);
    health->hottest = fmax(health->hottest, result->celsius);
    health->fastest = fmax(health->fastest, result->clock_mhz);
    if (result->clock_mhz > 0)
        health->slowest = health->slowest > 0 ? fmin(health->slowest, result->clock_mhz)
                                              : result->clock_mhz;
    if (!*result->throttled)
        return;
    health->throttled++;
    if (!lists_word(health->by, result->throttled))
        snprintf(health->by + used, sizeof health->by - used, "%s%s", used ? ", " : "",
                 result->throttled);
}

/* ---- what programs computed ------------------------------------------------------ */

struct mmt_tune_called *mmt_tune_find_called(const struct mmt_run *run,
                                             const struct mmt_recorded *it)
{
    for (int i = 0; i < run->recorded.num_called; i++) {
        struct mmt_tune_called *called = &run->recorded.called[i];
        if (called->client == it->call.client && !strcmp(called->path, it->path))
            return called;
    }
    return NULL;
}

struct mmt_verdicts_sum mmt_tune_sum_verdicts(const struct mmt_run *run)
{
    const struct mmt_recording *recording = &run->recorded.recording;
    const mmt_f32_mode mode = run->options.emulated ? MMT_F32_EMULATED : MMT_F32_STRICT;
    struct mmt_verdicts_sum sum = { 0 };
    for (size_t i = 0; i < recording->count; i++) {
        const struct mmt_recorded *it = &recording->list[i];
        const struct mmt_tune_called *called = mmt_tune_find_called(run, it);
        const char *library = called && called->name[0] ? called->name : it->library;
        const double calls = (double) mmt_recorded_calls(it);
        const struct mmt_verdict *verdict;
        if (it->call.client == MMT_CLIENT_MMTUNE)
            continue;
        const enum mmt_fate fate =
            mmt_profile_verdict(run->files.profile, &it->call, mode,
                                run->device.caps.driver, library, &verdict);
        const double seconds = it->timed ? mmt_recorded_seconds(it)
                               : verdict ? calls * verdict->theirs
                                         : 0;
        sum.kinds++;
        sum.calls += calls;
        sum.seconds += seconds;
        sum.theirs += fate == MMT_FATE_SLOWER;
        if (fate != MMT_FATE_TAKEN)
            continue;
        sum.ours++;
        sum.our_calls += calls;
        sum.our_seconds += seconds;
        sum.saved += seconds * (1 - verdict->ours / verdict->theirs);
    }
    return sum;
}
