/* A kernel of a profile has passed the quick checks for its type and transposes. At the
 * end of a run winners meet all of them, as long as there is time. What a kernel was
 * found to be stands in the journal. */
#include <math.h>

#include "base/clock.h"
#include "tuner/tune/finals.h"
#include "tuner/tune/fit.h"
#include "tuner/tune/machine_fault.h"
#include "tuner/tune/messages.h"
#include "tuner/tune/whole_verify.h"

/* Seconds that one takes before any was seen; the part of the budget that is kept for
 * them at most; and a worker may take so many times a candidate's limit. */
static const double usual_gpu = 1, usual_cpu = 3, part_of_budget = 0.2, patience = 6;

/* Seconds that must be left for outputs, biases and activations: each compiles. */
static const double time_for_epilogues = 60;

/* ---- one verification ------------------------------------------------------------ */

double mmt_tune_whole_seconds(const struct mmt_run *run)
{
    if (run->pace.whole_seconds > 0)
        return run->pace.whole_seconds;
    return run->device.caps.kind == MMT_CPU ? usual_cpu : usual_gpu;
}

static void note_seconds(struct mmt_run *run, double seconds)
{
    if (run->pace.whole_seconds > 0)
        seconds = run->pace.whole_seconds + (seconds - run->pace.whole_seconds) / 4;
    run->pace.whole_seconds = seconds;
}

/* Outputs, biases and activations are verified with the first kernel of each template and
 * type: each of them compiles, and their source is the template's, not a kernel's own. */
static bool is_first(const struct mmt_run *run, const mmt_problem *problem,
                     const struct mmt_config *config)
{
    size_t count;
    const struct mmt_record *wholes = mmt_journal_wholes(run->files.journal, &count);
    for (size_t i = 0; i < count; i++)
        if (wholes[i].config.template == config->template &&
            wholes[i].problem.type == problem->type &&
            wholes[i].result.outcome == MMT_TIMED)
            return false;
    return true;
}

static mmt_status verify_next_best(struct mmt_run *run, const mmt_problem *problem,
                                   const struct mmt_config *config, bool *done,
                                   mmt_error *err)
{
    const struct mmt_job job = {
        .task = MMT_TASK_VERIFY,
        .problem = *problem,
        .seed = (uint64_t) run->options.seed,
        .count = 1,
        .configs = { *config },
        .epilogues = run->clock.finish - mmt_now() > time_for_epilogues &&
                     is_first(run, problem, config),
    };
    const double limit =
        patience *
        mmt_tune_limit(run, problem, mmt_journal_best(run->files.journal, problem));
    const double began = mmt_now();
    struct mmt_event event;
    *done = mmt_pool_do(run, &job, limit, &event) &&
            event.reply.results[0].outcome != MMT_KILLED;
    if (!*done)
        return MMT_OK;
    note_seconds(run, mmt_now() - began);
    struct mmt_record record = { .problem = *problem,
                                 .config = *config,
                                 .result = event.reply.results[0],
                                 .whole = true };
    run->counts.wrong += record.result.outcome == MMT_WRONG;
    mmt_report_whole(run, &record);
    mmt_status status = MMT_OK;
    if (mmt_outcome_may_be_machine(record.result.outcome))
        status = mmt_tune_ask_naive(run, err);
    if (status)
        return status;
    return mmt_journal_add(run->files.journal, &record, err);
}

mmt_status mmt_tune_verify_at(struct mmt_run *run, const mmt_problem *problem,
                              const struct mmt_config *config, enum mmt_whole *out,
                              mmt_error *err)
{
    bool done = true;
    mmt_status status = MMT_OK;
    *out = mmt_journal_whole(run->files.journal, problem, config);
    if (*out == MMT_WHOLE_UNKNOWN)
        status = verify_next_best(run, problem, config, &done, err);
    if (!status && done)
        *out = mmt_journal_whole(run->files.journal, problem, config);
    return status ? status : mmt_pool_check(&run->pool, err);
}

/* One more would not end in time. */
static bool is_over(const struct mmt_run *run)
{
    return mmt_pool_interrupts() ||
           mmt_now() + mmt_tune_whole_seconds(run) > run->clock.finish;
}

/* ---- winners --------------------------------------------------------------------- */

/* The next best takes the place of a winner that is wrong. */
static mmt_status replace_winner(struct mmt_run *run, const mmt_problem *problem,
                                 mmt_error *err)
{
    struct mmt_record next;
    bool found;
    mmt_tune_drop_refuted(run);
    mmt_status status =
        mmt_tune_finals(run, problem, run->clock.finish, &next, &found, err);
    run->found = run->found && found;
    if (!status && found)
        status = mmt_tune_learn(run, &next, err);
    if (!status && found)
        mmt_report_winner(run, &next);
    return status;
}

static mmt_status verify_winner(struct mmt_run *run, const mmt_problem *problem,
                                mmt_error *err)
{
    enum mmt_whole found = MMT_WHOLE_WRONG;
    mmt_status status = MMT_OK;
    while (!status && found == MMT_WHOLE_WRONG && !is_over(run)) {
        const struct mmt_entry *winner = mmt_tune_winner(run, problem);
        if (!winner)
            break;
        const struct mmt_config config = winner->config;
        status = mmt_tune_verify_at(run, problem, &config, &found, err);
        if (!status && found == MMT_WHOLE_WRONG)
            status = replace_winner(run, problem, err);
    }
    return status;
}

mmt_status mmt_tune_verify_winners(struct mmt_run *run, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (run->goals.at = 0; !status && run->goals.at < run->goals.count; run->goals.at++)
        status = verify_winner(run, &run->goals.list[run->goals.at], err);
    return status;
}

double mmt_tune_reserve(const struct mmt_run *run)
{
    return fmin(run->goals.count * mmt_tune_whole_seconds(run),
                part_of_budget * run->options.budget.seconds);
}
