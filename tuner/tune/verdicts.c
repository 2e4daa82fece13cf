/* Whether ours or a program's library is faster on its calls: what decides whether they
 * are taken over. Each verdict is saved as it is made. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/bench/caller.h"
#include "tuner/tune/compiled.h"
#include "tuner/tune/machine_fault.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/messages_verdicts.h"
#include "tuner/tune/phases.h"
#include "tuner/tune/profile.h"
#include "tuner/tune/roofline.h"
#include "tuner/tune/whole_verify.h"

/* Seconds of sampling for a verdict, where time is short at least, and besides. */
static const double sampling = 0.4, least_sampling = 0.1, besides = 0.2;

const double mmt_tune_first_verdicts_part = 0.7;

/* Of the budget, at most, for verdicts after the goals. */
static const double part_after = 0.15;

/* Times a candidate's limit: loading a large library from a disk is slow. */
static const double patience = 6;

/* Kernels that are timed for a call, of those that are ranked and in all; seconds for
 * each; and calls for which they are compiled ahead. */
enum { MOST_OF_RANKED = 4, MOST_PROMISING = 6, FAR_AHEAD = 32 };
static const double promising_seconds = 0.05, promising_besides = 0.1;

/* A time of its own, not taken in turn with others', must be that much shorter. */
static const double alone = 1.03;

/* One call under one mode. */
struct question {
    const struct mmt_recorded *it;
    mmt_problem problem; /* whose kernels are tried: mmt_call_stand_in */
    const struct mmt_caller *caller;
    const struct mmt_tune_called *called;
    mmt_f32_mode mode;
    int most;                 /* kernels that are timed */
    double sampling;          /* seconds of it */
    bool energy;              /* there is time to tell it */
    struct mmt_config config; /* ours */
};

static const mmt_f32_mode modes_of[] = { MMT_F32_STRICT, MMT_F32_EMULATED };

static int count_modes(const struct mmt_run *run, const mmt_problem *problem)
{
    return 1 + (run->options.emulated && problem->type == MMT_F32);
}

double mmt_tune_verdicts_seconds(const struct mmt_run *run)
{
    return fmin(run->goals.count * (sampling + besides),
                part_after * run->options.budget.seconds);
}

/* ---- which library --------------------------------------------------------------- */

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t) (slash - path) : 0;
}

/* Libraries of one folder belong to each other: cuBLAS and its cuBLASLt. */
static bool is_one_program(const char *a, const char *b)
{
    return folder_length(a) == folder_length(b) && !strncmp(a, b, folder_length(a)) &&
           !*a == !*b;
}

static struct mmt_job job_for(const struct mmt_run *run, const struct mmt_recorded *it)
{
    struct mmt_job job = { .task = MMT_TASK_VERDICT,
                           .problem = it->call.problem,
                           .call = it->call,
                           .seed = (uint64_t) run->options.seed,
                           .budget_seconds = sampling,
                           .is_short = true };
    memcpy(job.path, it->path, sizeof job.path);
    return job;
}

static double limit_for(const struct mmt_run *run, const struct mmt_job *job)
{
    const double best = mmt_journal_best(run->files.journal, &job->problem);
    return patience * mmt_tune_limit(run, &job->problem, best);
}

/* Asks which version it is; once a run and file. NULL where memory or the pool is gone.
 */
static struct mmt_tune_called *ask_library(struct mmt_run *run,
                                           const struct mmt_recorded *it)
{
    struct mmt_run_recorded *recorded = &run->recorded;
    const struct mmt_job job = job_for(run, it);
    struct mmt_event event;
    struct mmt_tune_called *grown =
        realloc(recorded->called, ((size_t) recorded->num_called + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    recorded->called = grown;
    if (!mmt_pool_do(run, &job, limit_for(run, &job), &event))
        return NULL;
    struct mmt_tune_called *called = &grown[recorded->num_called++];
    *called = (struct mmt_tune_called){ .client = it->call.client };
    memcpy(called->path, it->path, sizeof called->path);
    if (event.reply.results[0].outcome == MMT_TIMED)
        memcpy(called->name, event.reply.library, sizeof called->name);
    memcpy(called->why, event.reply.results[0].reason, sizeof called->why);
    if (!called->name[0])
        mmt_report_note(run, "calls of %s have no verdicts: %s",
                        mmt_caller_of(called->client)->title, called->why);
    if (*event.reply.note)
        mmt_report_note(run, "%s", event.reply.note);
    return called;
}

static double end_of(const struct mmt_run *run)
{
    return run->phase == MMT_PHASE_FIRST_VERDICTS ? run->clock.first_verdicts_end
                                                  : run->clock.verdicts_end;
}

static bool is_over(const struct mmt_run *run)
{
    return mmt_pool_interrupts() || run->pool.broken.status || mmt_now() >= end_of(run);
}

/* ---- which kernel of ours -------------------------------------------------------- */

static size_t room_of(const struct question *q)
{
    return mmt_caller_room(q->caller, &q->it->call, q->mode == MMT_F32_EMULATED);
}

/* Whether it computes a call within the caller's workspace and mode. */
static bool is_allowed(const struct mmt_run *run, const struct question *q,
                       const struct mmt_config *config)
{
    struct mmt_bound bound;
    const struct mmt_call *call = &q->it->call;
    bool aligned;
    if (q->mode == MMT_F32_STRICT && call->problem.type == MMT_F32 &&
        mmt_config_in_slices(config, MMT_F32))
        return false;
    return mmt_bind(config, &call->problem, &run->device.caps, &bound) &&
           mmt_bound_serves(&bound, call->alignment, &aligned) &&
           bound.launches.workspace <= room_of(q) &&
           mmt_journal_whole(run->files.journal, &q->problem, config) != MMT_WHOLE_WRONG;
}

static bool is_new(const struct mmt_run *run, const struct question *q,
                   const struct mmt_config *config)
{
    return is_allowed(run, q, config) &&
           !mmt_journal_find_any(run->files.journal, &q->problem, config);
}

/* Those that promise most by what is known of the device, and were not timed for the
 * call; returns how many. Portfolios leave out templates that are worth trying for some
 * problems alone: of these a starting point. */
static int list_promising(const struct mmt_run *run, const struct question *q,
                          struct mmt_config out[MOST_PROMISING])
{
    const mmt_problem *problem = &q->problem;
    const struct mmt_caps *caps = &run->device.caps;
    const struct mmt_terms terms = { .max_workspace = room_of(q),
                                     .strict_f32 = q->mode == MMT_F32_STRICT };
    struct mmt_config all[MOST_PROMISING];
    int found = mmt_select_candidates(run->files.layers, problem, caps, &terms, all,
                                      MOST_OF_RANKED);
    for (int t = 0; mmt_templates[t] && found < MOST_PROMISING; t++)
        if (mmt_templates[t]->prefers &&
            mmt_config_meant(mmt_templates[t], problem, caps) &&
            isfinite(
                mmt_select_start(mmt_templates[t], problem, caps, &terms, &all[found])))
            found++;
    int count = 0;
    for (int i = 0; i < found && count < q->most; i++)
        if (is_new(run, q, &all[i]) && !mmt_config_in(&all[i], out, count))
            out[count++] = all[i];
    return count;
}

/* As at a shape that is no goal: found right by a few checks, with few samples. */
static mmt_status time_promising(struct mmt_run *run, const struct question *q,
                                 mmt_error *err)
{
    const mmt_problem *problem = &q->problem;
    struct mmt_config configs[MOST_PROMISING];
    const int count = list_promising(run, q, configs);
    mmt_status status = MMT_OK;
    mmt_tune_build(run, problem, configs, count, end_of(run));
    for (int i = 0; i < count && !status && !is_over(run); i++) {
        struct mmt_record record;
        struct mmt_job job = { .problem = *problem,
                               .configs = { configs[i] },
                               .verify = { true },
                               .budget_seconds = promising_seconds };
        if (mmt_tune_time_short(run, &job, limit_for(run, &job), &record))
            status = mmt_tune_note_result(run, &record, err);
    }
    return status;
}

static double time_of(const struct mmt_record *record)
{
    return record->result.time.median * (record->final ? 1 : alone);
}

/* The fastest that was timed for the problem; NULL: none. */
static const struct mmt_record *best_record(const struct mmt_run *run,
                                            const struct question *q)
{
    const struct mmt_journal *journal = run->files.journal;
    const struct mmt_record *r = mmt_journal_first(journal, &q->problem);
    const struct mmt_record *best = NULL;
    for (; r; r = mmt_journal_next(journal, r))
        if (r->result.outcome == MMT_TIMED && is_allowed(run, q, &r->config) &&
            (!best || time_of(r) < time_of(best)))
            best = r;
    return best;
}

/* The entry's where the call allows it and nothing else was faster, else the best that
 * was timed, else what is selected for the problem: by a range, say. False where nothing
 * serves. */
static bool pick_ours(const struct mmt_run *run, struct question *q)
{
    const mmt_problem *problem = &q->problem;
    const struct mmt_terms terms = { .max_workspace = room_of(q),
                                     .strict_f32 = q->mode == MMT_F32_STRICT };
    const struct mmt_entry *entry = mmt_tune_winner(run, problem);
    const struct mmt_record *record = best_record(run, q);
    struct mmt_selection selection;
    if (entry && is_allowed(run, q, &entry->config) &&
        !(record && time_of(record) < entry->time.median))
        q->config = entry->config;
    else if (record)
        q->config = record->config;
    else if (mmt_select(run->files.profile, problem, &run->device.caps, &terms,
                        &selection, NULL))
        return false;
    else
        q->config = selection.config;
    return is_allowed(run, q, &q->config);
}

/* Whether a search proposed it: what was selected by others was verified wholly there. */
static bool is_own(const struct mmt_run *run, const struct question *q)
{
    return mmt_journal_find(run->files.journal, &q->problem, &q->config);
}

/* ---- one verdict ----------------------------------------------------------------- */

static struct mmt_verdict verdict_for(const struct mmt_run *run, const struct question *q)
{
    struct mmt_verdict verdict = { .call = q->it->call,
                                   .f32_mode = q->mode,
                                   .config = q->config };
    struct mmt_hash hash;
    if (!mmt_template_hash(q->config.template, &hash, NULL))
        mmt_hash_print(hash, verdict.template_hash);
    memcpy(verdict.library, q->called->name, sizeof verdict.library);
    memcpy(verdict.driver, run->device.caps.driver, sizeof verdict.driver);
    mmt_profile_now(verdict.date);
    return verdict;
}

/* Whether the profile has it by the same kernel, driver and library. */
static bool is_known(const struct mmt_run *run, const struct mmt_verdict *verdict)
{
    for (size_t i = 0; i < run->files.profile->num_verdicts; i++) {
        const struct mmt_verdict *it = &run->files.profile->verdicts[i];
        if (mmt_call_equal(&it->call, &verdict->call) &&
            it->f32_mode == verdict->f32_mode &&
            it->call.workspace == verdict->call.workspace &&
            it->call.most_workspace == verdict->call.most_workspace &&
            !strcmp(it->library, verdict->library) &&
            !strcmp(it->driver, verdict->driver) &&
            !strcmp(it->template_hash, verdict->template_hash) &&
            mmt_config_equal(&it->config, &verdict->config))
            return true;
    }
    return false;
}

/* False where nothing came of it. A program may have found a better algorithm of cuBLASLt
 * than its first: what was recorded counts where it is faster, and its energy is unknown.
 * What the library does not compute is passed over. */
static bool time_call(struct mmt_run *run, const struct question *q,
                      struct mmt_verdict *verdict)
{
    struct mmt_job job = job_for(run, q->it);
    struct mmt_event event;
    const struct mmt_result *results = event.reply.results;
    job.count = 1;
    job.configs[0] = q->config;
    job.budget_seconds = q->sampling;
    job.energy = q->energy;
    if (!mmt_pool_do(run, &job, limit_for(run, &job), &event))
        return false;
    if (event.reply.count == 2 && results[0].outcome == MMT_TIMED &&
        results[1].outcome == MMT_TIMED) {
        verdict->ours = results[0].time.median;
        verdict->theirs = results[1].time.median;
        verdict->our_joules = results[0].joules;
        verdict->their_joules = results[1].joules;
        const double recorded = q->it->timed ? q->it->seconds / q->it->timed : INFINITY;
        if (q->it->call.client == MMT_CLIENT_CUBLASLT && recorded < verdict->theirs) {
            verdict->theirs = recorded;
            verdict->our_joules = verdict->their_joules = 0;
        }
        return true;
    }
    struct mmt_text name = { 0 };
    mmt_problem_print(&job.problem, &name);
    mmt_report_note(run, "%s has no verdict beside %s: %s", mmt_text_string(&name),
                    q->called->name, results[0].reason);
    mmt_text_finish(&name);
    return false;
}

/* The other mode's verdict serves a caller whose kernel emulates nothing. */
static bool is_needed(const struct question *q)
{
    return q->mode == MMT_F32_STRICT || mmt_config_in_slices(&q->config, MMT_F32);
}

static mmt_status judge(struct mmt_run *run, struct question *q, mmt_error *err)
{
    enum mmt_whole found = MMT_WHOLE_UNKNOWN;
    mmt_status status = time_promising(run, q, err);
    if (status || !pick_ours(run, q) || !is_needed(q))
        return status;
    struct mmt_verdict verdict = verdict_for(run, q);
    if (is_known(run, &verdict))
        return MMT_OK;
    if (is_own(run, q))
        status = mmt_tune_verify_at(run, &q->problem, &q->config, &found, err);
    if (!status && found == MMT_WHOLE_WRONG)
        return judge(run, q, err);
    if (status || mmt_pool_interrupts() || !time_call(run, q, &verdict))
        return status;
    status = mmt_profile_replace_verdict(run->files.profile, &verdict, err);
    if (status)
        return status;
    run->recorded.taken++;
    mmt_report_verdict(run, &verdict);
    return mmt_tune_save(run, err);
}

/* How many kernels are tried, how long it is sampled, and whether energy is told. Calls
 * that may gain share the time, so that each has its turn; the others its rest, which
 * limits energy alone. */
static void share_time(const struct mmt_run *run, size_t number, int modes,
                       struct question *q)
{
    const bool is_hopeful = number < run->recorded.hopeful;
    const size_t end = is_hopeful ? run->recorded.hopeful : run->recorded.recording.count;
    const double share =
        (end_of(run) - mmt_now()) / (double) (end - number) / (double) modes;
    const double each = promising_seconds + promising_besides;
    const double rest = is_hopeful ? share - besides : INFINITY;
    q->most = (int) fmin(fmax((rest - least_sampling) / each, 1), MOST_PROMISING);
    q->sampling = fmin(fmax(rest - q->most * each, least_sampling), sampling);
    q->energy = share >= besides + q->most * each + sampling + MMT_ENERGY_SECONDS;
}

/* ---- all of them ----------------------------------------------------------------- */

static mmt_status judge_modes(struct mmt_run *run, size_t number, mmt_error *err)
{
    const struct mmt_recorded *it = &run->recorded.recording.list[number];
    const int modes = count_modes(run, &it->call.problem);
    const struct mmt_tune_called *called = mmt_tune_find_called(run, it);
    mmt_status status = MMT_OK;
    if (!called)
        called = ask_library(run, it);
    if (!called || !called->name[0])
        return MMT_OK;
    for (int i = 0; i < modes && !status && !is_over(run); i++) {
        struct question q = { .it = it,
                              .problem = mmt_call_stand_in(&it->call),
                              .caller = mmt_caller_of(it->call.client),
                              .called = called,
                              .mode = modes_of[i] };
        share_time(run, number, modes - i, &q);
        status = judge(run, &q, err);
    }
    return status;
}

static bool has_verdict(const struct mmt_run *run, const struct mmt_recorded *it)
{
    const struct mmt_tune_called *called = mmt_tune_find_called(run, it);
    const struct mmt_verdict *verdict;
    const enum mmt_fate fate = mmt_profile_verdict(
        run->files.profile, &it->call, MMT_F32_STRICT, run->device.caps.driver,
        called ? called->name : it->library, &verdict);
    return fate == MMT_FATE_TAKEN || fate == MMT_FATE_SLOWER;
}

static bool is_of(const struct mmt_recorded *it, const char *path)
{
    return mmt_caller_of(it->call.client) && is_one_program(it->path, path);
}

/* Compilers begin with what the calls from number *next up to `end` will try, as far as
 * they are idle, so that nobody waits for them then. Not where they share their cores
 * with the device. */
static void build_ahead(struct mmt_run *run, const char *path, size_t *next, size_t end)
{
    const struct mmt_recording *recording = &run->recorded.recording;
    struct mmt_config configs[MOST_PROMISING];
    bool idle = !run->pool.shared;
    for (; *next < end && *next < recording->count; *next += idle) {
        const struct mmt_recorded *it = &recording->list[*next];
        for (int i = 0; i < count_modes(run, &it->call.problem) && is_of(it, path); i++) {
            struct question q = { .it = it,
                                  .problem = mmt_call_stand_in(&it->call),
                                  .caller = mmt_caller_of(it->call.client),
                                  .mode = modes_of[i] };
            share_time(run, *next, 1, &q);
            idle = idle && mmt_tune_build_ahead(run, &q.problem, configs,
                                                list_promising(run, &q, configs));
        }
        if (!idle)
            return;
    }
}

/* Those whose library is in the folder of that path. */
static mmt_status judge_program(struct mmt_run *run, const char *path, mmt_error *err)
{
    const struct mmt_recording *recording = &run->recorded.recording;
    mmt_status status = MMT_OK;
    size_t ahead = 0;
    for (size_t i = 0; i < recording->count && !status; i++) {
        const struct mmt_recorded *it = &recording->list[i];
        if (!is_of(it, path))
            continue;
        if (is_over(run)) {
            run->recorded.left += !has_verdict(run, it);
            continue;
        }
        build_ahead(run, path, &ahead, i + FAR_AHEAD);
        status = judge_modes(run, i, err);
    }
    return status;
}

/* Whether none before it is of the same program. */
static bool is_first(const struct mmt_recording *recording, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (mmt_caller_of(recording->list[i].call.client) &&
            is_one_program(recording->list[i].path, recording->list[at].path))
            return false;
    return mmt_caller_of(recording->list[at].call.client);
}

static bool is_of_several(struct mmt_run *run)
{
    if (strcmp(run->device.caps.uuid, MMT_SEVERAL_CARDS))
        return false;
    mmt_report_note(run,
                    "'%s' is of several cards, and a verdict is of one; -o names a "
                    "file of this card's own",
                    run->files.path);
    return true;
}

/* A process holds the libraries of one program. The first has none yet; later ones may
 * hold the yardstick's. */
mmt_status mmt_tune_verdicts(struct mmt_run *run, mmt_error *err)
{
    const struct mmt_recording *recording = &run->recorded.recording;
    const bool is_first_time = run->phase == MMT_PHASE_FIRST_VERDICTS;
    bool held = !is_first_time;
    mmt_status status = MMT_OK;
    if (is_of_several(run))
        return MMT_OK;
    run->recorded.left = 0;
    for (size_t i = 0; i < recording->count && !status; i++) {
        if (!is_first(recording, i))
            continue;
        if (held && !mmt_pool_renew(&run->pool))
            break;
        held = true;
        status = judge_program(run, recording->list[i].path, err);
    }
    if (is_first_time && held && !status && !run->pool.broken.status)
        mmt_pool_renew(&run->pool);
    if (!is_first_time && run->recorded.left && !mmt_pool_interrupts())
        mmt_report_note(
            run,
            "%d kinds of calls have no verdict yet: the same command goes on, "
            "a longer --budget has room for more",
            run->recorded.left);
    if (!is_first_time && !status)
        mmt_tune_leave(run);
    return status ? status : mmt_pool_check(&run->pool, err);
}

/* ---- what they add up to --------------------------------------------------------- */
