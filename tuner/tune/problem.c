/* The loop: propose, compile, verify and time, journal; then the finals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/tune/built.h"
#include "tuner/tune/compiled.h"
#include "tuner/tune/finals.h"
#include "tuner/tune/goals.h"
#include "tuner/tune/machine_fault.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/problem.h"
#include "tuner/tune/roofline.h"
#include "tuner/tune/template_search.h"

enum { MOST_UNDERWAY = 96, MOST_EXTRAS = 20, MOST_AHEAD = 32, MOST_READY = 64 };

/* A configuration between being proposed and being recorded. */
struct candidate {
    enum { EMPTY, PROPOSED, COMPILING, BUILT, MEASURING } state;
    struct mmt_config config;
    int turn;     /* in the order in which they were proposed */
    int kills;    /* workers that were killed at it from outside */
    double since; /* mmt_now() when its compiling began */
};

/* The tuning of one problem. */
struct tuning_job {
    struct mmt_run *run;
    const mmt_problem *problem;
    struct mmt_template_searches searches;
    struct candidate list[MOST_UNDERWAY];
    int turns;
    int most;       /* candidates under way at a time */
    bool measuring; /* where the cores are shared: which half of the cycle it is */
    struct mmt_config extras[MOST_EXTRAS]; /* tried before what the searches propose */
    int num_extras, next_extra;
    struct mmt_config ahead[MOST_AHEAD]; /* the next problem's first candidates */
    int num_ahead, next_ahead;           /* num_ahead < 0: not looked at yet */
    struct mmt_config ready[MOST_READY]; /* compiled for earlier problems */
    int num_ready, next_ready;
    int seen_built; /* of what is compiled, that much was looked at */
    bool found;     /* something was timed that is no baseline */
    bool waits;     /* for a result of what is known to be fast here */
    struct mmt_config known;
    double begun, ends, last_end; /* mmt_now(): of its share; of the run */
    double budget;                /* seconds for timing one candidate */
    int64_t left;                 /* candidates */
    bool probing;          /* the roofline is measured again, because of this result */
    struct mmt_event held; /* that result */
};

/* ---- candidates under way -------------------------------------------------------- */

static int count_under_way(const struct tuning_job *job)
{
    int count = 0;
    for (int i = 0; i < MOST_UNDERWAY; i++)
        count += job->list[i].state != EMPTY;
    return count;
}

static struct candidate *find_candidate(struct tuning_job *job,
                                        const struct mmt_config *config)
{
    for (int i = 0; i < MOST_UNDERWAY; i++)
        if (job->list[i].state != EMPTY && mmt_config_equal(&job->list[i].config, config))
            return &job->list[i];
    return NULL;
}

/* The one that waits longest in that state. */
static struct candidate *oldest_candidate(struct tuning_job *job, int state)
{
    struct candidate *found = NULL;
    for (int i = 0; i < MOST_UNDERWAY; i++)
        if ((int) job->list[i].state == state &&
            (!found || job->list[i].turn < found->turn))
            found = &job->list[i];
    return found;
}

static struct candidate *put_under_way(struct tuning_job *job,
                                       const struct mmt_config *config)
{
    for (int i = 0; i < MOST_UNDERWAY; i++) {
        if (job->list[i].state != EMPTY)
            continue;
        job->list[i] = (struct candidate){ .state = PROPOSED,
                                           .config = *config,
                                           .turn = job->turns++ };
        return &job->list[i];
    }
    return NULL;
}

/* ---- what is tried in any case --------------------------------------------------- */

static bool is_known(struct tuning_job *job, const struct mmt_config *config)
{
    return mmt_journal_find(job->run->files.journal, job->problem, config) != NULL;
}

static void add_extra(struct tuning_job *job, const struct mmt_config *config)
{
    if (job->num_extras == MOST_EXTRAS || is_known(job, config) ||
        !mmt_tune_allows(job->run, job->problem, config) ||
        mmt_config_check_problem(config, job->problem, &job->run->device.caps))
        return;
    job->extras[job->num_extras++] = *config;
}

/* For "so many times naive", where it does not take too much of the time. */
static void add_naive(struct tuning_job *job)
{
    const struct mmt_template *naive = mmt_template_find("naive");
    double rate = job->run->limits.naive_rate[job->problem->type];
    if (rate == 0) /* nothing is known yet: a hundredth of the peak */
        rate = job->run->limits.roofline.peak_flops[job->problem->type] / 100;
    double expected = rate > 0 ? mmt_problem_flops(job->problem) / rate : 0;
    double room = isfinite(job->ends) ? job->ends - mmt_now() : 600;
    if (!naive || expected > fmin(4, room / 20))
        return;
    struct mmt_config config = { .template = naive };
    memcpy(config.values, naive->seeds[0], (size_t) naive->num_knobs * sizeof(int));
    add_extra(job, &config);
}

static void add_others_winners(struct tuning_job *job)
{
    const struct mmt_profile *other = job->run->files.other;
    for (size_t i = 0; other && i < other->num_entries; i++)
        if (mmt_problem_equal(&other->entries[i].problem, job->problem))
            add_extra(job, &other->entries[i].config);
}

/* No problem may be slower after this run: without a time of what is known there is no
 * winner. */
static bool waits_for_known(const struct mmt_run *run, const mmt_problem *problem)
{
    struct mmt_config known;
    return mmt_tune_known(run, problem, &known) &&
           !mmt_journal_find(run->files.journal, problem, &known);
}

static void add_known(struct tuning_job *job)
{
    if (mmt_tune_known(job->run, job->problem, &job->known))
        add_extra(job, &job->known);
    job->waits = job->num_extras > 0;
}

/* ---- proposing ------------------------------------------------------------------- */

static bool next_proposal(struct tuning_job *job, struct mmt_config *out)
{
    /* The best guess first: then there is something to hold the others against. */
    if (job->next_extra < job->num_extras && (job->turns > 0 || job->waits)) {
        *out = job->extras[job->next_extra++];
        return true;
    }
    if (mmt_searches_ask(&job->searches, out))
        return true;
    if (job->next_extra == job->num_extras)
        return false;
    *out = job->extras[job->next_extra++];
    return true;
}

/* False where nothing is left to propose. What the journal knows already is told to the
 * search and passed over; so is what is under way as an extra, which will be told. */
static bool propose_candidate(struct tuning_job *job)
{
    struct mmt_config config;
    while (next_proposal(job, &config)) {
        const struct mmt_record *known =
            mmt_journal_find(job->run->files.journal, job->problem, &config);
        if (known) {
            mmt_searches_tell(&job->searches, &config, &known->result);
        } else if (!find_candidate(job, &config)) {
            put_under_way(job, &config);
            return true;
        }
    }
    return false;
}

/* ---- handing out work ------------------------------------------------------------ */

static struct mmt_job measuring_request(const struct tuning_job *job,
                                        const struct mmt_config *config)
{
    return (struct mmt_job){
        .task = MMT_TASK_MEASURE,
        .problem = *job->problem,
        .seed = (uint64_t) job->run->options.seed,
        .count = 1,
        .configs = { *config },
        .verify = { true },
        .best_seconds = isfinite(job->searches.best) ? job->searches.best : 0,
        .best_mhz = job->searches.best_mhz,
        .budget_seconds = job->budget,
    };
}

/* Whether a worker is at it already: one that was sent ahead. */
static bool is_compiling(const struct tuning_job *job, const struct mmt_config *config)
{
    for (int i = 0; i < job->run->pool.count; i++) {
        const struct mmt_worker *w = &job->run->pool.workers[i];
        if (w->busy && w->job.task == MMT_TASK_COMPILE &&
            mmt_problem_equal(&w->job.problem, job->problem) &&
            mmt_config_equal(&w->job.configs[0], config))
            return true;
    }
    return false;
}

static void compile_own(struct tuning_job *job)
{
    struct mmt_worker *worker;
    struct candidate *next;
    for (int i = 0; i < MOST_UNDERWAY; i++)
        if (job->list[i].state == PROPOSED &&
            mmt_tune_is_built(job->run, job->problem, &job->list[i].config))
            job->list[i].state = BUILT;
    while ((next = oldest_candidate(job, PROPOSED)) &&
           (worker = mmt_pool_idle(&job->run->pool, MMT_COMPILER))) {
        if (!is_compiling(job, &next->config))
            mmt_tune_compile(job->run, worker, job->problem, &next->config);
        next->state = COMPILING;
        next->since = mmt_now();
    }
}

/* ---- the next problem's first candidates ----------------------------------------- */

/* Whether what would be compiled from now on comes too late for this problem; but a short
 * share is not all spent on the next one. */
static bool is_closing(const struct tuning_job *job)
{
    double last = fmin(job->run->pace.compile_seconds, 0.3 * (job->ends - job->begun));
    return mmt_tune_next(job->run) && job->found && !job->run->pool.shared &&
           mmt_now() >= job->ends - last;
}

/* What the next problem's search will begin with, as far as is known now. */
static void look_ahead(struct tuning_job *job)
{
    struct mmt_template_searches searches;
    mmt_error why;
    job->num_ahead = mmt_tune_known(job->run, mmt_tune_next(job->run), &job->ahead[0]);
    if (mmt_searches_create(job->run, mmt_tune_next(job->run), &searches, &why))
        return;
    while (job->num_ahead < MOST_AHEAD &&
           mmt_searches_ask(&searches, &job->ahead[job->num_ahead]))
        job->num_ahead++;
    mmt_searches_free(&searches);
}

/* Compilers would be idle until the next problem begins; what they build stays in the
 * cache on disk, and nobody waits for their reports. */
static void compile_ahead(struct tuning_job *job)
{
    struct mmt_worker *worker;
    if (job->num_ahead < 0)
        look_ahead(job);
    while (job->next_ahead < job->num_ahead &&
           (worker = mmt_pool_idle(&job->run->pool, MMT_COMPILER)))
        mmt_tune_compile(job->run, worker, mmt_tune_next(job->run),
                         &job->ahead[job->next_ahead++]);
}

static void start_compiling(struct tuning_job *job)
{
    if (is_closing(job))
        compile_ahead(job);
    else
        compile_own(job);
}

static bool is_baseline(const struct mmt_config *config)
{
    return !strcmp(config->template->name, "naive");
}

/* The most promising of what earlier problems had compiled; NULL where nothing is left.
 * Where candidates are counted the search alone says what is tried. */
static struct candidate *take_ready(struct tuning_job *job)
{
    if (job->run->pool.shared || job->run->options.budget.candidates || job->turns == 0)
        return NULL;
    for (;;) {
        while (job->next_ready < job->num_ready) {
            const struct mmt_config *config = &job->ready[job->next_ready++];
            if (find_candidate(job, config) || is_known(job, config) ||
                !mmt_tune_allows(job->run, job->problem, config))
                continue;
            struct candidate *taken = put_under_way(job, config);
            if (taken)
                taken->state = BUILT;
            return taken;
        }
        if (job->seen_built == job->run->built.count)
            return NULL;
        job->seen_built = job->run->built.count;
        job->num_ready =
            mmt_tune_list_ready(job->run, job->problem, job->ready, MOST_READY);
        job->next_ready = 0;
    }
}

static void start_measuring(struct tuning_job *job)
{
    struct mmt_worker *worker = mmt_pool_idle(&job->run->pool, MMT_MEASURER);
    struct candidate *next = worker ? oldest_candidate(job, BUILT) : NULL;
    if (worker && !next)
        next = take_ready(job);
    if (!next)
        return;
    struct mmt_job request = measuring_request(job, &next->config);
    request.low_priority = is_baseline(&next->config) ||
                           mmt_searches_is_low_priority(&job->searches, &next->config);
    double limit = mmt_tune_limit(job->run, job->problem, job->searches.best);
    if (is_baseline(&next->config)) /* it is slow, and that is to be known */
        limit *= 4;
    mmt_worker_send(worker, &request, limit, limit);
    next->state = MEASURING;
    mmt_report_status(job->run, &next->config, job->searches.best);
}

/* A problem is not left without a time, nor with the plainest kernel's alone or without
 * that of what is known, as long as the run's own end allows. */
static bool is_over(const struct tuning_job *job)
{
    double ends = job->found && !job->waits ? job->ends : fmax(job->ends, job->last_end);
    return mmt_pool_interrupts() || job->left <= 0 || mmt_now() >= ends ||
           job->run->pool.broken.status;
}

/* Fills the list up; false where it stays empty. */
static bool fill_list(struct tuning_job *job)
{
    int64_t room = job->most < job->left ? job->most : job->left;
    while (count_under_way(job) < room && propose_candidate(job))
        ;
    return count_under_way(job) > 0;
}

/* Where cores are shared, a batch is compiled, then all of it is measured. While the
 * machine is suspected nothing new is begun. */
static bool hand_out(struct tuning_job *job)
{
    if (mmt_tune_suspects(job->run))
        return true;
    bool shared = job->run->pool.shared;
    if (shared && job->measuring && !oldest_candidate(job, BUILT) &&
        !oldest_candidate(job, MEASURING))
        job->measuring = false;
    if ((!shared || !job->measuring) && !fill_list(job))
        return false;
    if (!shared || !job->measuring)
        start_compiling(job);
    if (shared && !job->measuring && !oldest_candidate(job, PROPOSED) &&
        !mmt_pool_busy(&job->run->pool, MMT_COMPILER))
        job->measuring = true;
    if (!shared || job->measuring)
        start_measuring(job);
    return true;
}

/* ---- taking results -------------------------------------------------------------- */

/* Has the worker that is idle now measure the roofline, before a result counts that beats
 * it; false: the result counts as it is. */
static bool probe_first(struct tuning_job *job, const struct mmt_event *event)
{
    const struct mmt_job request = { .task = MMT_TASK_PROBE };
    struct mmt_worker *worker = mmt_pool_idle(&job->run->pool, MMT_MEASURER);
    if (!worker ||
        !mmt_tune_is_exceeded(job->run, &event->job.problem, &event->reply.results[0]))
        return false;
    job->run->limits.probes++;
    job->probing = true;
    job->held = *event;
    mmt_worker_send(worker, &request, MMT_PROBE_LIMIT, MMT_PROBE_LIMIT);
    return true;
}

/* The result that was waiting for a probe. */
static const struct mmt_event *end_probe(struct tuning_job *job,
                                         const struct mmt_event *probed)
{
    job->probing = false;
    mmt_tune_take_probe(job->run, &probed->reply);
    return &job->held;
}

static mmt_status record_result(struct tuning_job *job, const struct mmt_config *config,
                                struct mmt_result *result, mmt_error *err)
{
    struct mmt_run *run = job->run;
    mmt_tune_judge(run, job->problem, result);
    struct mmt_record line = { .problem = *job->problem,
                               .config = *config,
                               .result = *result };
    mmt_status status = mmt_tune_note_result(run, &line, err);
    if (status)
        return status;
    mmt_counts_add(&run->counts, result->outcome);
    job->left--;
    run->clock.candidates_left--;
    mmt_searches_tell(&job->searches, config, result);
    if (is_baseline(config) && result->outcome == MMT_TIMED)
        run->limits.naive_rate[job->problem->type] =
            mmt_problem_flops(job->problem) / result->time.median;
    job->found = job->found || (result->outcome == MMT_TIMED && !is_baseline(config));
    job->waits = job->waits && !mmt_config_equal(config, &job->known);
    mmt_report_result(run, &line, job->searches.best);
    return MMT_OK;
}

/* Ends of jobs that were begun for an earlier problem find no candidate here. */
static mmt_status take_result(struct tuning_job *job, const struct mmt_event *event,
                              mmt_error *err)
{
    const bool probed = event->job.task == MMT_TASK_PROBE;
    if (probed && !job->probing)
        return MMT_OK;
    event = probed ? end_probe(job, event) : event;
    const struct mmt_config *config = &event->job.configs[0];
    struct mmt_result result = event->reply.results[0];
    bool built = event->job.task == MMT_TASK_COMPILE && event->reply.count == 1 &&
                 result.outcome == MMT_TIMED;
    struct candidate *candidate = mmt_problem_equal(&event->job.problem, job->problem)
                                      ? find_candidate(job, config)
                                      : NULL;
    if (built && !is_baseline(config))
        mmt_tune_add_built(job->run, &event->job.problem, config);
    if (!candidate || event->reply.count != 1)
        return MMT_OK;
    if (built) {
        if (candidate->state == COMPILING) /* not built ahead, before its turn came */
            job->run->pace.compile_seconds +=
                0.1 * (mmt_now() - candidate->since - job->run->pace.compile_seconds);
        candidate->state = BUILT;
        return MMT_OK;
    }
    if (result.outcome == MMT_KILLED && candidate->kills++ < 1) {
        candidate->state = candidate->state == MEASURING ? BUILT : PROPOSED;
        return MMT_OK;
    }
    if (!probed && probe_first(job, event))
        return MMT_OK;
    candidate->state = EMPTY;
    return record_result(job, config, &result, err);
}

/* ---- the loop -------------------------------------------------------------------- */

/* Nothing is being compiled or measured for this problem. */
static bool is_at_rest(struct tuning_job *job)
{
    return !oldest_candidate(job, COMPILING) && !oldest_candidate(job, MEASURING);
}

static mmt_status run_tuning_job(struct tuning_job *job, mmt_error *err)
{
    struct mmt_event event;
    mmt_status status = MMT_OK;
    while (!status && !is_over(job) && hand_out(job)) {
        if (mmt_tune_suspects(job->run) && is_at_rest(job))
            status = mmt_tune_ask_naive(job->run, err);
        else if (mmt_pool_next(&job->run->pool, mmt_now() + 0.2, &event))
            status = take_result(job, &event, err);
        mmt_report_status(job->run, NULL, job->searches.best);
    }
    /* What is being measured is finished, unless there is no time even for that. */
    while (!status && oldest_candidate(job, MEASURING) && mmt_pool_interrupts() < 2 &&
           !job->run->pool.broken.status)
        if (mmt_pool_next(&job->run->pool, INFINITY, &event))
            status = take_result(job, &event, err);
    if (!status)
        status = mmt_tune_end_suspicion(job->run, err);
    return status ? status : mmt_pool_check(&job->run->pool, err);
}

static void set_budget(struct tuning_job *job, double ends)
{
    double room = ends - mmt_now();
    job->begun = mmt_now();
    job->ends = ends;
    job->budget = isfinite(room) ? fmin(fmax(room / 80, 0.03), 1) : 0.5;
    job->last_end = isfinite(room) ? job->run->clock.goals_end - 0.1 * room : INFINITY;
    job->left = mmt_tune_share_candidates(job->run);
    int compilers = job->run->pool.count - 1;
    job->most = job->run->pool.shared ? compilers : compilers + 4;
    if (job->most > MOST_UNDERWAY)
        job->most = MOST_UNDERWAY;
}

static struct tuning_job *create_job(struct mmt_run *run, const mmt_problem *problem,
                                     double ends, mmt_error *err)
{
    struct tuning_job *job = calloc(1, sizeof *job);
    if (!job) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory to tune a problem");
        return NULL;
    }
    job->run = run;
    job->problem = problem;
    job->num_ahead = -1;
    if (mmt_searches_create(run, problem, &job->searches, err)) {
        free(job);
        return NULL;
    }
    /* From the journal; and where there is nothing else, the baseline will do. */
    job->found =
        (isfinite(job->searches.best) && !is_baseline(&job->searches.best_config)) ||
        mmt_searches_only(&job->searches, "naive");
    set_budget(job, ends);
    add_known(job);
    return job;
}

static mmt_status finish_job(struct tuning_job *job, mmt_error *err)
{
    mmt_status status = run_tuning_job(job, err);
    mmt_searches_free(&job->searches);
    free(job);
    return status;
}

static mmt_status search_until(struct mmt_run *run, const mmt_problem *problem,
                               double ends, mmt_error *err)
{
    struct tuning_job *job = create_job(run, problem, ends, err);
    if (!job)
        return err->status;
    add_others_winners(job);
    add_naive(job);
    return finish_job(job, err);
}

mmt_status mmt_tune_time_default(struct mmt_run *run, mmt_error *err)
{
    const mmt_problem *first = run->goals.list;
    if (!run->goals.count || !waits_for_known(run, first))
        return MMT_OK;
    struct tuning_job *job = create_job(run, first, INFINITY, err);
    if (!job)
        return err->status;
    mmt_report_default(run);
    job->left = job->left < 1 ? job->left : 1;
    return finish_job(job, err);
}

mmt_status mmt_tune_find(struct mmt_run *run, const mmt_problem *problem, double ends,
                         struct mmt_record *winner, bool *found, mmt_error *err)
{
    /* A fifth of the time is kept for the finals, which need no more than ten seconds. */
    double finals = fmin(0.2 * (ends - mmt_now()), 10);
    *found = false;
    mmt_status status = search_until(run, problem, ends - finals, err);
    if (!status && mmt_pool_interrupts() < 2 && !waits_for_known(run, problem))
        status = mmt_tune_finals(run, problem, ends, winner, found, err);
    return status;
}
