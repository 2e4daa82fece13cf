#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/tune/tune.h"
#include "tuner/bench/yardstick.h"

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
struct bout {
    struct mmt_tuning *t;
    const mmt_problem *problem;
    struct mmt_arms arms;
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
    bool doubts; /* the roofline is measured again, because of this result */
    struct mmt_event doubted;
};

double mmt_tune_limit(const struct mmt_tuning *t, const mmt_problem *problem, double best)
{
    double host = mmt_problem_bytes(problem) / 200e6;
    return t->options.limit + host + (isfinite(best) ? 20 * best : 0);
}

/* ---- candidates under way -------------------------------------------------------- */

static int count_under_way(const struct bout *b)
{
    int count = 0;
    for (int i = 0; i < MOST_UNDERWAY; i++)
        count += b->list[i].state != EMPTY;
    return count;
}

static struct candidate *find(struct bout *b, const struct mmt_config *config)
{
    for (int i = 0; i < MOST_UNDERWAY; i++)
        if (b->list[i].state != EMPTY && mmt_config_equal(&b->list[i].config, config))
            return &b->list[i];
    return NULL;
}

/* The one that waits longest in that state. */
static struct candidate *oldest(struct bout *b, int state)
{
    struct candidate *found = NULL;
    for (int i = 0; i < MOST_UNDERWAY; i++)
        if ((int) b->list[i].state == state && (!found || b->list[i].turn < found->turn))
            found = &b->list[i];
    return found;
}

static struct candidate *put_under_way(struct bout *b, const struct mmt_config *config)
{
    for (int i = 0; i < MOST_UNDERWAY; i++) {
        if (b->list[i].state != EMPTY)
            continue;
        b->list[i] = (struct candidate){ .state = PROPOSED,
                                         .config = *config,
                                         .turn = b->turns++ };
        return &b->list[i];
    }
    return NULL;
}

/* ---- what is tried in any case --------------------------------------------------- */

static bool is_known(struct bout *b, const struct mmt_config *config)
{
    return mmt_journal_find(b->t->journal, b->problem, config) != NULL;
}

static void add_extra(struct bout *b, const struct mmt_config *config)
{
    if (b->num_extras == MOST_EXTRAS || is_known(b, config) ||
        mmt_config_refuse(config, b->problem, &b->t->caps))
        return;
    b->extras[b->num_extras++] = *config;
}

/* For "so many times naive", where it does not take too much of the time. */
static void add_naive(struct bout *b)
{
    const struct mmt_template *naive = mmt_template_find("naive");
    double rate = b->t->naive_rate[b->problem->type];
    if (rate == 0) /* nothing is known yet: a hundredth of the peak */
        rate = b->t->roofline.peak_flops[b->problem->type] / 100;
    double expected = rate > 0 ? mmt_problem_flops(b->problem) / rate : 0;
    double room = isfinite(b->ends) ? b->ends - mmt_now() : 600;
    if (!naive || expected > fmin(4, room / 20))
        return;
    struct mmt_config config = { .template = naive };
    memcpy(config.values, naive->seeds[0], (size_t) naive->num_knobs * sizeof(int));
    add_extra(b, &config);
}

static void add_others_winners(struct bout *b)
{
    const struct mmt_profile *other = b->t->other;
    for (size_t i = 0; other && i < other->num_entries; i++)
        if (mmt_problem_equal(&other->entries[i].problem, b->problem))
            add_extra(b, &other->entries[i].config);
}

/* What a program gets before this run, of what was tuned or by default; false where that
 * is no candidate here. */
static bool find_known(const struct mmt_tuning *t, const mmt_problem *problem,
                       struct mmt_config *out)
{
    struct mmt_selection selection;
    mmt_error why;
    if (mmt_select(t->layers, problem, &t->caps, NULL, &selection, &why) ||
        !mmt_tune_is_meant(t, selection.config.template, problem) ||
        mmt_config_refuse(&selection.config, problem, &t->caps))
        return false;
    *out = selection.config;
    return true;
}

/* No problem may be slower after this run: without a time of what is known there is no
 * winner. */
static bool waits_for_known(const struct mmt_tuning *t, const mmt_problem *problem)
{
    struct mmt_config known;
    return find_known(t, problem, &known) &&
           !mmt_journal_find(t->journal, problem, &known);
}

static void add_known(struct bout *b)
{
    if (find_known(b->t, b->problem, &b->known))
        add_extra(b, &b->known);
    b->waits = b->num_extras > 0;
}

/* ---- proposing ------------------------------------------------------------------- */

static bool next_proposal(struct bout *b, struct mmt_config *out)
{
    /* The best guess first: then there is something to hold the others against. */
    if (b->next_extra < b->num_extras && (b->turns > 0 || b->waits)) {
        *out = b->extras[b->next_extra++];
        return true;
    }
    if (mmt_arms_ask(&b->arms, out))
        return true;
    if (b->next_extra == b->num_extras)
        return false;
    *out = b->extras[b->next_extra++];
    return true;
}

/* False where nothing is left to propose. What the journal knows already is told to the
 * search and passed over; so is what is under way as an extra, which will be told. */
static bool propose(struct bout *b)
{
    struct mmt_config config;
    while (next_proposal(b, &config)) {
        const struct mmt_record *known =
            mmt_journal_find(b->t->journal, b->problem, &config);
        if (known) {
            mmt_arms_tell(&b->arms, &config, &known->result);
        } else if (!find(b, &config)) {
            put_under_way(b, &config);
            return true;
        }
    }
    return false;
}

/* ---- handing out work ------------------------------------------------------------ */

static struct mmt_job measuring_job(const struct bout *b, const struct mmt_config *config)
{
    return (struct mmt_job){
        .task = MMT_TASK_MEASURE,
        .problem = *b->problem,
        .seed = (uint64_t) b->t->options.seed,
        .count = 1,
        .configs = { *config },
        .verify = { true },
        .best_seconds = isfinite(b->arms.best) ? b->arms.best : 0,
        .best_mhz = b->arms.best_mhz,
        .budget_seconds = b->budget,
    };
}

/* Whether a worker is at it already: one that was sent ahead. */
static bool is_compiling(const struct bout *b, const struct mmt_config *config)
{
    for (int i = 0; i < b->t->pool.count; i++) {
        const struct mmt_worker *w = &b->t->pool.workers[i];
        if (w->busy && w->job.task == MMT_TASK_COMPILE &&
            mmt_problem_equal(&w->job.problem, b->problem) &&
            mmt_config_equal(&w->job.configs[0], config))
            return true;
    }
    return false;
}

static void compile_own(struct bout *b)
{
    struct mmt_worker *worker;
    struct candidate *next;
    for (int i = 0; i < MOST_UNDERWAY; i++)
        if (b->list[i].state == PROPOSED &&
            mmt_tune_is_built(b->t, b->problem, &b->list[i].config))
            b->list[i].state = BUILT;
    while ((next = oldest(b, PROPOSED)) &&
           (worker = mmt_pool_idle(&b->t->pool, MMT_COMPILER))) {
        if (!is_compiling(b, &next->config))
            mmt_tune_compile(b->t, worker, b->problem, &next->config);
        next->state = COMPILING;
        next->since = mmt_now();
    }
}

/* ---- the next problem's first candidates ----------------------------------------- */

static const mmt_problem *next_goal(const struct mmt_tuning *t)
{
    return t->goal + 1 < t->num_goals + t->num_practice ? &t->goals[t->goal + 1] : NULL;
}

/* Whether what would be compiled from now on comes too late for this problem; but a short
 * share is not all spent on the next one. */
static bool is_closing(const struct bout *b)
{
    double last = fmin(b->t->compile_seconds, 0.3 * (b->ends - b->begun));
    return next_goal(b->t) && b->found && !b->t->pool.shared &&
           mmt_now() >= b->ends - last;
}

/* What the next problem's search will begin with, as far as is known now. */
static void look_ahead(struct bout *b)
{
    struct mmt_arms arms;
    mmt_error why;
    b->num_ahead = find_known(b->t, next_goal(b->t), &b->ahead[0]);
    if (mmt_arms_create(b->t, next_goal(b->t), &arms, &why))
        return;
    while (b->num_ahead < MOST_AHEAD && mmt_arms_ask(&arms, &b->ahead[b->num_ahead]))
        b->num_ahead++;
    mmt_arms_free(&arms);
}

/* Compilers would be idle until the next problem begins; what they build stays in the
 * cache on disk, and nobody waits for their reports. */
static void compile_ahead(struct bout *b)
{
    struct mmt_worker *worker;
    if (b->num_ahead < 0)
        look_ahead(b);
    while (b->next_ahead < b->num_ahead &&
           (worker = mmt_pool_idle(&b->t->pool, MMT_COMPILER)))
        mmt_tune_compile(b->t, worker, next_goal(b->t), &b->ahead[b->next_ahead++]);
}

static void start_compiling(struct bout *b)
{
    if (is_closing(b))
        compile_ahead(b);
    else
        compile_own(b);
}

static bool is_baseline(const struct mmt_config *config)
{
    return !strcmp(config->template->name, "naive");
}

/* The most promising of what earlier problems had compiled; NULL where nothing is left.
 * Where candidates are counted the search alone says what is tried. */
static struct candidate *take_ready(struct bout *b)
{
    if (b->t->pool.shared || b->t->options.budget.candidates || b->turns == 0)
        return NULL;
    for (;;) {
        while (b->next_ready < b->num_ready) {
            const struct mmt_config *config = &b->ready[b->next_ready++];
            if (find(b, config) || is_known(b, config))
                continue;
            struct candidate *taken = put_under_way(b, config);
            if (taken)
                taken->state = BUILT;
            return taken;
        }
        if (b->seen_built == b->t->num_built)
            return NULL;
        b->seen_built = b->t->num_built;
        b->num_ready = mmt_tune_list_ready(b->t, b->problem, b->ready, MOST_READY);
        b->next_ready = 0;
    }
}

static void start_measuring(struct bout *b)
{
    struct mmt_worker *worker = mmt_pool_idle(&b->t->pool, MMT_MEASURER);
    struct candidate *next = worker ? oldest(b, BUILT) : NULL;
    if (worker && !next)
        next = take_ready(b);
    if (!next)
        return;
    struct mmt_job job = measuring_job(b, &next->config);
    job.doubtful = is_baseline(&next->config) || mmt_arms_doubt(&b->arms, &next->config);
    double limit = mmt_tune_limit(b->t, b->problem, b->arms.best);
    if (is_baseline(&next->config)) /* it is slow, and that is to be known */
        limit *= 4;
    mmt_worker_send(worker, &job, limit, limit);
    next->state = MEASURING;
    mmt_report_status(b->t, &next->config, b->arms.best);
}

/* A problem is not left without a time, nor with the plainest kernel's alone or without
 * that of what is known, as long as the run's own end allows. */
static bool is_over(const struct bout *b)
{
    double ends = b->found && !b->waits ? b->ends : fmax(b->ends, b->last_end);
    return mmt_pool_interrupts() || b->left <= 0 || mmt_now() >= ends ||
           b->t->pool.broken.status;
}

/* Fills the list up; false where it stays empty. */
static bool fill(struct bout *b)
{
    int64_t room = b->most < b->left ? b->most : b->left;
    while (count_under_way(b) < room && propose(b))
        ;
    return count_under_way(b) > 0;
}

/* Where cores are shared, a batch is compiled, then all of it is measured. While the
 * machine is suspected nothing new is begun. */
static bool hand_out(struct bout *b)
{
    if (mmt_tune_suspects(b->t))
        return true;
    bool shared = b->t->pool.shared;
    if (shared && b->measuring && !oldest(b, BUILT) && !oldest(b, MEASURING))
        b->measuring = false;
    if ((!shared || !b->measuring) && !fill(b))
        return false;
    if (!shared || !b->measuring)
        start_compiling(b);
    if (shared && !b->measuring && !oldest(b, PROPOSED) &&
        !mmt_pool_busy(&b->t->pool, MMT_COMPILER))
        b->measuring = true;
    if (!shared || b->measuring)
        start_measuring(b);
    return true;
}

/* ---- taking results
 * --------------------------------------------------------------------------------------
 */

void mmt_counts_add(struct mmt_counts *counts, enum mmt_outcome outcome)
{
    counts->tried++;
    counts->skipped += outcome == MMT_SKIPPED;
    counts->wrong += outcome == MMT_WRONG;
    counts->failed += mmt_outcome_is_doubtful(outcome);
    counts->killed += outcome == MMT_KILLED;
}

/* Has the worker that is idle now measure the roofline, before a result counts that beats
 * it; false: the result counts as it is. */
static bool doubt(struct bout *b, const struct mmt_event *event)
{
    const struct mmt_job job = { .task = MMT_TASK_PROBE };
    struct mmt_worker *worker = mmt_pool_idle(&b->t->pool, MMT_MEASURER);
    if (!worker || !mmt_tune_doubts(b->t, &event->job.problem, &event->reply.results[0]))
        return false;
    b->t->probes++;
    b->doubts = true;
    b->doubted = *event;
    mmt_worker_send(worker, &job, MMT_PROBE_LIMIT, MMT_PROBE_LIMIT);
    return true;
}

/* The result that was waiting for a probe. */
static const struct mmt_event *end_doubt(struct bout *b, const struct mmt_event *probed)
{
    b->doubts = false;
    if (probed->reply.results[0].outcome == MMT_TIMED)
        mmt_tune_set_roofline(b->t, &probed->reply.roofline);
    return &b->doubted;
}

static mmt_status record(struct bout *b, const struct mmt_config *config,
                         struct mmt_result *result, mmt_error *err)
{
    struct mmt_tuning *t = b->t;
    mmt_tune_judge(t, b->problem, result);
    struct mmt_record line = { .problem = *b->problem,
                               .config = *config,
                               .result = *result };
    mmt_status status = mmt_tune_note_result(t, &line, err);
    if (status)
        return status;
    mmt_counts_add(&t->counts, result->outcome);
    b->left--;
    t->candidates_left--;
    mmt_arms_tell(&b->arms, config, result);
    if (is_baseline(config) && result->outcome == MMT_TIMED)
        t->naive_rate[b->problem->type] =
            mmt_problem_flops(b->problem) / result->time.median;
    b->found = b->found || (result->outcome == MMT_TIMED && !is_baseline(config));
    b->waits = b->waits && !mmt_config_equal(config, &b->known);
    mmt_report_result(t, &line, b->arms.best);
    return MMT_OK;
}

/* Ends of jobs that were begun for an earlier problem find no candidate here. */
static mmt_status take(struct bout *b, const struct mmt_event *event, mmt_error *err)
{
    const bool probed = event->job.task == MMT_TASK_PROBE;
    if (probed && !b->doubts)
        return MMT_OK;
    event = probed ? end_doubt(b, event) : event;
    const struct mmt_config *config = &event->job.configs[0];
    struct mmt_result result = event->reply.results[0];
    bool built = event->job.task == MMT_TASK_COMPILE && event->reply.count == 1 &&
                 result.outcome == MMT_TIMED;
    struct candidate *candidate =
        mmt_problem_equal(&event->job.problem, b->problem) ? find(b, config) : NULL;
    if (built && !is_baseline(config))
        mmt_tune_add_built(b->t, &event->job.problem, config);
    if (!candidate || event->reply.count != 1)
        return MMT_OK;
    if (built) {
        if (candidate->state == COMPILING) /* not built ahead, before its turn came */
            b->t->compile_seconds +=
                0.1 * (mmt_now() - candidate->since - b->t->compile_seconds);
        candidate->state = BUILT;
        return MMT_OK;
    }
    if (result.outcome == MMT_KILLED && candidate->kills++ < 1) {
        candidate->state = candidate->state == MEASURING ? BUILT : PROPOSED;
        return MMT_OK;
    }
    if (!probed && doubt(b, event))
        return MMT_OK;
    candidate->state = EMPTY;
    return record(b, config, &result, err);
}

/* ---- the loop
 * ---------------------------------------------------------------------------------------------
 */

/* Nothing is being compiled or measured for this problem. */
static bool is_at_rest(struct bout *b)
{
    return !oldest(b, COMPILING) && !oldest(b, MEASURING);
}

static mmt_status loop(struct bout *b, mmt_error *err)
{
    struct mmt_event event;
    mmt_status status = MMT_OK;
    while (!status && !is_over(b) && hand_out(b)) {
        if (mmt_tune_suspects(b->t) && is_at_rest(b))
            status = mmt_tune_ask_naive(b->t, err);
        else if (mmt_pool_next(&b->t->pool, mmt_now() + 0.2, &event))
            status = take(b, &event, err);
        mmt_report_status(b->t, NULL, b->arms.best);
    }
    /* What is being measured is finished, unless there is no time even for that. */
    while (!status && oldest(b, MEASURING) && mmt_pool_interrupts() < 2 &&
           !b->t->pool.broken.status)
        if (mmt_pool_next(&b->t->pool, INFINITY, &event))
            status = take(b, &event, err);
    if (!status)
        status = mmt_tune_end_suspicion(b->t, err);
    if (!status && b->t->pool.broken.status) {
        *err = b->t->pool.broken;
        status = err->status;
    }
    return status;
}

static void set_budget(struct bout *b, double ends)
{
    double room = ends - mmt_now();
    b->begun = mmt_now();
    b->ends = ends;
    b->budget = isfinite(room) ? fmin(fmax(room / 80, 0.03), 1) : 0.5;
    b->last_end = isfinite(room) ? b->t->goals_end - 0.1 * room : INFINITY;
    b->left = mmt_tune_share_candidates(b->t);
    int compilers = b->t->pool.count - 1;
    b->most = b->t->pool.shared ? compilers : compilers + 4;
    if (b->most > MOST_UNDERWAY)
        b->most = MOST_UNDERWAY;
}

mmt_status mmt_tune_search(struct mmt_tuning *t, const mmt_problem *problem, double ends,
                           mmt_error *err)
{
    struct bout *b = calloc(1, sizeof *b);
    if (!b)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to tune a problem");
    b->t = t;
    b->problem = problem;
    b->num_ahead = -1;
    mmt_status status = mmt_arms_create(t, problem, &b->arms, err);
    if (!status) {
        /* From the journal; and where there is nothing else, the baseline will do. */
        b->found = (isfinite(b->arms.best) && !is_baseline(&b->arms.best_config)) ||
                   mmt_arms_only(&b->arms, "naive");
        set_budget(b, ends);
        add_known(b);
        add_others_winners(b);
        add_naive(b);
        status = loop(b, err);
        mmt_arms_free(&b->arms);
    }
    free(b);
    return status;
}

mmt_status mmt_tune_find(struct mmt_tuning *t, const mmt_problem *problem, double ends,
                         struct mmt_record *winner, bool *found, mmt_error *err)
{
    /* A fifth of the time is kept for the finals, which need no more than ten seconds. */
    double finals = fmin(0.2 * (ends - mmt_now()), 10);
    *found = false;
    mmt_status status = mmt_tune_search(t, problem, ends - finals, err);
    if (!status && mmt_pool_interrupts() < 2 && !waits_for_known(t, problem))
        status = mmt_tune_finals(t, problem, ends, winner, found, err);
    return status;
}

mmt_status mmt_tune_problem(struct mmt_tuning *t, mmt_error *err)
{
    const mmt_problem *problem = &t->goals[t->goal];
    const double ends = mmt_tune_share_time(t);
    const double yardstick = mmt_tune_yardstick_most(t, ends);
    struct mmt_record winner;
    bool found;
    mmt_report_problem(t);
    mmt_status status = mmt_tune_find(
        t, problem, ends - fmin(yardstick, MMT_YARDSTICK_SECONDS), &winner, &found, err);
    mmt_error own = { 0 }; /* what was timed before something broke stands */
    mmt_status entered = found ? mmt_tune_enter(t, problem, &winner, &own) : MMT_OK;
    if (found && !entered) {
        mmt_report_winner(t, &winner);
        mmt_tune_yardstick(t, problem, yardstick);
    }
    if (!status && entered)
        *err = own;
    return status ? status : entered;
}
