/* The best candidates against each other: timed in turns, so that a change of the clock
 * meets all alike; ties go to the one that spends less; and a win counts when it was seen
 * twice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/tune/compiled.h"
#include "tuner/tune/finals.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/roofline.h"

/* Closer than this is a tie; further behind than that is no finalist; and what reaches
 * that share of the roofline's operations may draw all the power that there is. */
static const double tie = 0.005, behind = 1.2, hard = 0.4;

enum { MOST_FINALISTS = 8, MOST_GROUPS = 4 };

/* ---- who takes part -------------------------------------------------------------- */

static int compare_times(const void *left, const void *right)
{
    const struct mmt_record *a = left, *b = right;
    return (a->result.time.median > b->result.time.median) -
           (a->result.time.median < b->result.time.median);
}

/* All candidates of the problem with a time, the fastest first; malloc'ed, or NULL. */
static struct mmt_record *list_timed(const struct mmt_run *run,
                                     const mmt_problem *problem, int *count)
{
    const struct mmt_journal *journal = run->files.journal;
    const struct mmt_record *r = mmt_journal_first(journal, problem);
    struct mmt_record *out = malloc((mmt_journal_count(journal) + 1) * sizeof *out);
    *count = 0;
    for (; out && r; r = mmt_journal_next(journal, r))
        if (mmt_record_is_candidate(r) && r->result.outcome == MMT_TIMED &&
            mmt_tune_allows(run, problem, &r->config))
            out[(*count)++] = *r;
    if (out)
        qsort(out, (size_t) *count, sizeof *out, compare_times);
    return out;
}

/* A problem on a GPU whose arithmetic keeps it busy. */
static bool is_power_limited(const struct mmt_run *run, const struct mmt_record *best)
{
    const double ceiling = run->limits.ceiling[best->problem.type];
    return run->device.caps.kind == MMT_GPU && ceiling > 0 &&
           mmt_problem_flops(&best->problem) / ceiling > hard * best->result.time.median;
}

static bool same_tile(const struct mmt_record *a, const struct mmt_record *b)
{
    const struct mmt_work x = mmt_config_work(&a->config, a->problem.type),
                          y = mmt_config_work(&b->config, b->problem.type);
    return a->config.template == b->config.template && x.m == y.m && x.n == y.n;
}

/* Brings forward the first record that has the tile of fewer than SAME of those before
 * `at` and is not too far behind; false if there is none. */
static bool bring_forward(struct mmt_record *timed, int count, int at, double slowest)
{
    enum { SAME = 3 };
    for (int i = at; i < count && timed[i].result.time.median <= slowest; i++) {
        int same = 0;
        for (int j = 0; j < at; j++)
            same += same_tile(&timed[i], &timed[j]);
        if (same >= SAME)
            continue;
        const struct mmt_record next = timed[i];
        memmove(&timed[at + 1], &timed[at], (size_t) (i - at) * sizeof *timed);
        timed[at] = next;
        return true;
    }
    return false;
}

/* Whether times tell beyond doubt that the first is no rival of the second. */
static bool is_far_behind(const struct mmt_result *a, const struct mmt_result *b)
{
    return a->time.median > 2 * b->time.median && !*a->throttled && !*b->throttled;
}

/* What programs get without this run takes part in any case: nothing is entered that was
 * not compared with it. */
static int add_known(const struct mmt_run *run, struct mmt_record *timed, int selected,
                     int count)
{
    struct mmt_config known;
    int at = selected;
    if (!count || !mmt_tune_known(run, &timed[0].problem, &known))
        return selected;
    while (at < count && !mmt_config_equal(&timed[at].config, &known))
        at++;
    if (at == count || is_far_behind(&timed[at].result, &timed[0].result))
        return selected;
    const struct mmt_record record = timed[at];
    memmove(&timed[selected + 1], &timed[selected],
            (size_t) (at - selected) * sizeof *timed);
    timed[selected] = record;
    return selected + 1;
}

int mmt_tune_select_finalists(const struct mmt_run *run, struct mmt_record *timed,
                              int count)
{
    const bool power_limited = is_power_limited(run, timed);
    const int most = power_limited ? MOST_FINALISTS : 5;
    const double slowest = behind * timed[0].result.time.median;
    int selected = 0;

    while (power_limited && selected < most &&
           bring_forward(timed, count, selected, slowest))
        selected++;
    while (selected < count && selected < most &&
           timed[selected].result.time.median <= slowest)
        selected++;
    return add_known(run, timed, selected, count);
}

/* ---- what an earlier run has decided --------------------------------------------- */

/* The last time that a configuration was timed in finals; NULL: never. */
static const struct mmt_record *last_final(const struct mmt_run *run,
                                           const mmt_problem *problem,
                                           const struct mmt_config *config)
{
    const struct mmt_journal *journal = run->files.journal;
    const struct mmt_record *r = mmt_journal_first(journal, problem), *last = NULL;
    for (; r; r = mmt_journal_next(journal, r))
        if (r->final && r->result.outcome == MMT_TIMED &&
            mmt_config_equal(&r->config, config))
            last = r;
    return last;
}

/* Whether a time is less than another beyond the spreads of both. */
static bool is_surely_faster(const struct mmt_result *a, const struct mmt_result *b)
{
    return a->time.median + a->time.spread < b->time.median - b->time.spread;
}

/* The fastest of the finalists as far as is known: by their last finals, or by the time
 * that makes them finalists. */
static struct mmt_record best_known(const struct mmt_run *run,
                                    const struct mmt_record *finalists, int count)
{
    struct mmt_record best = { .result.time.median = INFINITY };
    for (int i = 0; i < count; i++) {
        const struct mmt_record *last =
            last_final(run, &finalists[i].problem, &finalists[i].config);
        const struct mmt_record *known = last ? last : &finalists[i];
        if (known->result.time.median < best.result.time.median)
            best = *known;
    }
    return best;
}

bool mmt_tune_is_decided(const struct mmt_run *run, const struct mmt_record *finalists,
                         int count, struct mmt_record *winner)
{
    const mmt_problem *problem = &finalists[0].problem;
    const struct mmt_entry *entry = mmt_tune_winner(run, problem);
    bool decided = false;
    for (int i = 0; entry && i < count; i++) {
        const struct mmt_record *last = last_final(run, problem, &finalists[i].config);
        if (!finalists[i].earlier || !last)
            return false;
        if (mmt_config_equal(&entry->config, &finalists[i].config)) {
            *winner = *last;
            decided = true;
        }
    }
    for (int i = 0; decided && i < count; i++)
        decided = !is_surely_faster(
            &last_final(run, problem, &finalists[i].config)->result, &winner->result);
    return decided;
}

/* ---- one round ------------------------------------------------------------------- */

static void set_job(const struct mmt_run *run, const struct mmt_record *finalists,
                    int count, double seconds, struct mmt_job *job)
{
    *job = (struct mmt_job){
        .task = MMT_TASK_FINALS,
        .problem = finalists[0].problem,
        .seed = (uint64_t) run->options.seed,
        .count = count,
        .budget_seconds = seconds,
    };
    for (int i = 0; i < count; i++) {
        job->configs[i] = finalists[i].config;
        job->verify[i] = finalists[i].earlier || !finalists[i].result.checked;
    }
}

/* What fails, hangs or dies is held: it counts where another finalist does better. */
static mmt_status record_finalist(struct mmt_run *run, struct mmt_record *finalist,
                                  const struct mmt_result *result, bool last,
                                  mmt_error *err)
{
    finalist->result = *result;
    finalist->final = true;
    finalist->earlier = false;
    mmt_tune_judge_anew(run, &finalist->problem, &finalist->result);
    mmt_report_health(run, result);
    if (!mmt_outcome_may_be_machine(finalist->result.outcome))
        return mmt_journal_add(run->files.journal, finalist, err);
    return last ? mmt_journal_hold(run->files.journal, finalist, err) : MMT_OK;
}

/* Times them all in one job; *done is false where that job came to nothing. `last`: it is
 * not done once more. */
static mmt_status time_together(struct mmt_run *run, struct mmt_record *finalists,
                                int count, double seconds, bool last, bool *done,
                                mmt_error *err)
{
    struct mmt_job job;
    struct mmt_event event;
    set_job(run, finalists, count, seconds, &job);
    job.power_limited = is_power_limited(run, &finalists[0]);
    double limit =
        mmt_tune_limit(run, &job.problem, finalists[count - 1].result.time.median) +
        4 * seconds * count;
    *done = mmt_pool_do(run, &job, limit, &event) && event.reply.count == count &&
            event.reply.results[0].outcome != MMT_KILLED;
    mmt_status status = MMT_OK;
    for (int i = 0; *done && !status && i < count; i++)
        status = record_finalist(run, &finalists[i], &event.reply.results[i], last, err);
    return status;
}

/* Where one of them breaks the job, each has one of its own. */
static mmt_status time_apart(struct mmt_run *run, struct mmt_record *finalists, int count,
                             double seconds, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int i = 0; !status && i < count && mmt_pool_interrupts() < 2; i++) {
        bool done;
        status = time_together(run, &finalists[i], 1, seconds, true, &done, err);
        if (!done)
            finalists[i].result.outcome = MMT_FAILED;
    }
    return status;
}

/* Whether nothing came of a finalist; one that is wrong alone need not be told again. */
static bool some_failed(const struct mmt_record *finalists, int count)
{
    for (int i = 0; i < count; i++)
        if (finalists[i].result.outcome != MMT_TIMED &&
            (count > 1 || finalists[i].result.outcome != MMT_WRONG))
            return true;
    return false;
}

/* Removes those that fell out. */
static int sort_out(struct mmt_record *finalists, int count)
{
    int left = 0;
    for (int i = 0; i < count; i++)
        if (finalists[i].result.outcome == MMT_TIMED)
            finalists[left++] = finalists[i];
    qsort(finalists, (size_t) left, sizeof *finalists, compare_times);
    return left;
}

static mmt_status time_round(struct mmt_run *run, struct mmt_record *finalists,
                             int *count, double seconds, mmt_error *err)
{
    bool done = false;
    mmt_status status = time_together(run, finalists, *count, seconds, false, &done, err);
    if (!status && (!done || some_failed(finalists, *count)) &&
        mmt_pool_interrupts() < 2 && !run->pool.broken.status) {
        status = time_apart(run, finalists, *count, seconds, err);
        done = true;
    }
    if (!status && run->pool.broken.status) {
        *err = run->pool.broken;
        return err->status;
    }
    if (!status && !done && mmt_pool_interrupts() > 1) {
        *count = 1; /* what was measured before holds */
        return MMT_OK;
    }
    if (!done)
        *count = 0;
    *count = sort_out(finalists, *count);
    return status;
}

/* ---- who wins -------------------------------------------------------------------- */

/* Registers first, since they bound how many blocks run at once; then shared memory. */
static bool spends_less(const struct mmt_result *a, const struct mmt_result *b)
{
    if (a->registers != b->registers)
        return a->registers >= 0 && a->registers < b->registers;
    return a->shared >= 0 && a->shared < b->shared;
}

const struct mmt_record *mmt_tune_favourite(const struct mmt_record *sorted, int count)
{
    const struct mmt_record *best = &sorted[0];
    for (int i = 1; i < count; i++)
        if (sorted[i].result.time.median <= (1 + tie) * sorted[0].result.time.median &&
            spends_less(&sorted[i].result, &best->result))
            best = &sorted[i];
    return best;
}

/* A round of the favourite and its nearest rival: the sum of both rounds decides, and in
 * a tie the favourite stays. Where both fall out they leave the list, and *count is less
 * by two. */
static mmt_status confirm_winner(struct mmt_run *run, struct mmt_record *sorted,
                                 int *count, double seconds, struct mmt_record *winner,
                                 mmt_error *err)
{
    const int favourite = (int) (mmt_tune_favourite(sorted, *count) - sorted);
    const int rival = favourite == 0;
    struct mmt_record pair[2] = { sorted[favourite], sorted[rival] };
    double total[2] = { pair[0].result.time.median, pair[1].result.time.median };
    const struct mmt_config favoured = pair[0].config;
    int left = 2;
    mmt_status status = time_round(run, pair, &left, seconds, err);
    if (status)
        return status;
    if (left == 0) {
        sorted[favourite].result.outcome = sorted[rival].result.outcome = MMT_FAILED;
        *count = sort_out(sorted, *count);
        return MMT_OK;
    }
    int first = mmt_config_equal(&pair[0].config, &favoured) ? 0 : 1;
    *winner = pair[0];
    if (left < 2)
        return MMT_OK;
    total[0] += pair[first].result.time.median;
    total[1] += pair[!first].result.time.median;
    *winner = total[0] <= (1 + tie) * total[1] ? pair[first] : pair[!first];
    return MMT_OK;
}

/* Compiled on all workers at once: what an earlier run found may have to be. */
static void build_finalists(struct mmt_run *run, const struct mmt_record *finalists,
                            int count)
{
    struct mmt_config configs[MOST_FINALISTS + 2];
    for (int i = 0; i < count; i++)
        configs[i] = finalists[i].config;
    mmt_tune_build(run, &finalists[0].problem, configs, count, INFINITY);
}

static mmt_status hold_finals(struct mmt_run *run, struct mmt_record *finalists,
                              int *count, double ends, struct mmt_record *winner,
                              mmt_error *err)
{
    build_finalists(run, finalists, *count);
    double room = isfinite(ends) ? ends - mmt_now() : 10;
    double least = is_power_limited(run, finalists) ? 0.4 : 0.05;
    double seconds = fmin(fmax(room / (1.5 * *count + 4), least), 2);
    mmt_status status = time_round(run, finalists, count, seconds, err);
    for (bool confirmed = false; !status && !confirmed && *count > 0;) {
        const int before = *count;
        *winner = *mmt_tune_favourite(finalists, *count);
        if (*count > 1 && !mmt_pool_interrupts())
            status = confirm_winner(run, finalists, count, seconds, winner, err);
        confirmed = *count == before;
    }
    return status;
}

/* Finals of the next group, and of the winner so far, where there is one. */
static mmt_status time_finalists(struct mmt_run *run, const struct mmt_record *group,
                                 int count, double ends, struct mmt_record *winner,
                                 bool *found, mmt_error *err)
{
    struct mmt_record field[MOST_FINALISTS + 2]; /* the winner so far and the known one */
    int left = 0;
    if (*found)
        field[left++] = *winner;
    memcpy(&field[left], group, (size_t) count * sizeof *group);
    left += count;
    mmt_status status = hold_finals(run, field, &left, ends, winner, err);
    *found = left > 0;
    return status;
}

/* Whether the winner turned out to be slower than what the next one is known for. While
 * the device is throttled everybody does. */
static bool is_beaten(const struct mmt_record *winner, const struct mmt_record *timed,
                      int at, int count)
{
    return at < count && !*winner->result.throttled &&
           is_surely_faster(&timed[at].result, &winner->result);
}

/* What was timed before stands where nothing came of the finals, as far as it was not
 * found wrong in them. */
static void let_stand(struct mmt_run *run, const mmt_problem *problem,
                      struct mmt_record *winner, bool *found)
{
    int count;
    struct mmt_record *timed = list_timed(run, problem, &count);
    *found = timed && count > 0;
    if (*found)
        *winner = best_known(run, timed, count);
    free(timed);
}

mmt_status mmt_tune_finals(struct mmt_run *run, const mmt_problem *problem, double ends,
                           struct mmt_record *winner, bool *found, mmt_error *err)
{
    int count;
    struct mmt_record *timed = list_timed(run, problem, &count);
    if (!timed)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the finals");
    mmt_status status = MMT_OK;
    int at = 0, group = count ? mmt_tune_select_finalists(run, timed, count) : 0;
    *found =
        group && !mmt_pool_interrupts() && mmt_tune_is_decided(run, timed, group, winner);
    at = *found ? count : 0;
    /* Where all finalists fall out, or turn out slower than the next ones are known for,
     * these come in. */
    for (int i = 0; !status && at < count && !mmt_pool_interrupts() &&
                    (!*found || (is_beaten(winner, timed, at, count) && i < MOST_GROUPS));
         i++) {
        group = mmt_tune_select_finalists(run, &timed[at], count - at);
        status = time_finalists(run, &timed[at], group, ends, winner, found, err);
        at += group;
    }
    if (mmt_pool_interrupts() && at < count &&
        (!*found || is_beaten(winner, timed, at, count))) {
        *winner = best_known(run, &timed[at], at ? 1 : group);
        *found = true;
    }
    if (*found && !status) {
        status = mmt_journal_write_held(run->files.journal, err);
    } else if (count) {
        mmt_journal_drop_held(run->files.journal);
        let_stand(run, problem, winner, found);
        if (*found && !status)
            mmt_report_note(run,
                            "no finalist could be timed again; what the search timed "
                            "stands");
    }
    free(timed);
    return status;
}
