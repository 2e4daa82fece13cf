/* No kernel enters a profile before it was verified wholly: a winner at its own problem,
 * and each kernel, a winner's or the portfolio's, at one whose k is over its largest
 * block of k. What a kernel was found to be stands in the journal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cost.h"
#include "tuner/tune.h"

/* Seconds that one takes before any was seen; a part of the budget is kept for those of
 * the portfolio; and a worker may take so many times a candidate's limit. */
static const double usual_gpu = 1, usual_cpu = 3, part_of_budget = 0.2, patience = 6;

/* ---- at which problem ------------------------------------------------------------- */

static bool ends_in_k(const char *name)
{
    const size_t length = strlen(name);
    return length > 2 && !strcmp(name + length - 2, "_K");
}

/* Elements of k after which a kernel begins anew with whatever it has blocks for. */
static int64_t largest_block(const struct mmt_config *config, mmt_type type)
{
    int64_t largest = mmt_cost_depth(config, type);
    for (int i = 0; i < config->template->num_knobs; i++)
        if (ends_in_k(config->template->knobs[i].name) && config->values[i] > largest)
            largest = config->values[i];
    return largest;
}

bool mmt_tune_is_deep(const struct mmt_tuning *t, const mmt_problem *problem,
                      const struct mmt_config *config)
{
    const struct mmt_config settled = mmt_config_settle(config, problem, &t->caps);
    return problem->op != MMT_GEMM || problem->k > largest_block(&settled, problem->type);
}

/* Rows that begin where they did modulo 16 elements. */
static int64_t alike(int64_t length, int64_t before, int64_t ld)
{
    enum { ALIGNED = 16 };
    if (ld == before && length % ALIGNED == before % ALIGNED)
        return length;
    return (length + ALIGNED - 1) / ALIGNED * ALIGNED + ld % ALIGNED;
}

static mmt_problem resized(const mmt_problem *p, int64_t most, int64_t k)
{
    mmt_problem other = *p;
    other.m = p->m < most ? p->m : most + p->m % 16;
    other.n = p->n < most ? p->n : most + p->n % 16;
    other.k = k;
    other.batch = p->batch < 2 ? p->batch : 2;
    other.lda = alike(p->trans_a ? other.m : k, p->trans_a ? p->m : p->k, p->lda);
    other.ldb = alike(p->trans_b ? k : other.n, p->trans_b ? p->k : p->n, p->ldb);
    other.ldc = alike(other.n, p->n, p->ldc);
    other.stride_a = other.stride_b = other.stride_c = 0;
    return other;
}

/* A k over twice the largest block that a configuration has for a problem. */
static int64_t deep_k(const struct mmt_tuning *t, const mmt_problem *problem,
                      const struct mmt_config *config, int64_t rest)
{
    const struct mmt_config settled = mmt_config_settle(config, problem, &t->caps);
    return (2 * largest_block(&settled, problem->type) + 31) / 16 * 16 + rest;
}

/* Where k is split as the problem asks for, a smaller C has more parts, and a deeper k
 * perhaps more still. */
static bool deepen(const struct mmt_tuning *t, const mmt_problem *problem,
                   const struct mmt_config *config, int64_t most, mmt_problem *out)
{
    enum { TRIES = 12 };
    *out = *problem;
    for (int i = 0; i < TRIES; i++) {
        const int64_t k = deep_k(t, out, config, problem->k % 16);
        const mmt_problem deep = resized(problem, most, k);
        if (mmt_problem_normalise(&deep, out, NULL) ||
            mmt_config_refuse(config, out, &t->caps))
            return false;
        if (mmt_tune_is_deep(t, out, config))
            return true;
    }
    return false;
}

bool mmt_tune_deepen(const struct mmt_tuning *t, const mmt_problem *problem,
                     const struct mmt_config *config, mmt_problem *out)
{
    enum { SMALL = 256 };
    return deepen(t, problem, config, SMALL, out) ||
           deepen(t, problem, config, INT64_MAX, out);
}

/* ---- one verification ------------------------------------------------------------- */

double mmt_tune_whole_seconds(const struct mmt_tuning *t)
{
    if (t->whole_seconds > 0)
        return t->whole_seconds;
    return t->caps.kind == MMT_CPU ? usual_cpu : usual_gpu;
}

static void note_seconds(struct mmt_tuning *t, double seconds)
{
    if (t->whole_seconds > 0)
        seconds = t->whole_seconds + (seconds - t->whole_seconds) / 4;
    t->whole_seconds = seconds;
}

static mmt_status verify(struct mmt_tuning *t, const mmt_problem *problem,
                         const struct mmt_config *config, bool *done, mmt_error *err)
{
    const struct mmt_job job = {
        .task = MMT_TASK_VERIFY,
        .problem = *problem,
        .seed = (uint64_t) t->options.seed,
        .count = 1,
        .configs = { *config },
        .epilogues = mmt_tune_is_deep(t, problem, config),
    };
    const double limit =
        patience * mmt_tune_limit(t, problem, mmt_journal_best(t->journal, problem));
    const double began = mmt_now();
    struct mmt_event event;
    *done = mmt_pool_do(t, &job, limit, &event);
    if (!*done)
        return MMT_OK;
    note_seconds(t, mmt_now() - began);
    struct mmt_record record = { .problem = *problem,
                                 .config = *config,
                                 .result = event.reply.results[0],
                                 .whole = true };
    t->counts.wrong += record.result.outcome == MMT_WRONG;
    mmt_report_whole(t, &record);
    return mmt_journal_add(t->journal, &record, err);
}

mmt_status mmt_tune_verify_at(struct mmt_tuning *t, const mmt_problem *problem,
                              const struct mmt_config *config, enum mmt_whole *out,
                              mmt_error *err)
{
    bool done = true;
    mmt_status status = MMT_OK;
    *out = mmt_journal_whole(t->journal, problem, config);
    if (*out == MMT_WHOLE_UNKNOWN)
        status = verify(t, problem, config, &done, err);
    if (!status && done)
        *out = mmt_journal_whole(t->journal, problem, config);
    if (!status && t->pool.broken.status) {
        *err = t->pool.broken;
        status = err->status;
    }
    return status;
}

mmt_status mmt_tune_verify_winner(struct mmt_tuning *t, const mmt_problem *problem,
                                  const struct mmt_config *config, enum mmt_whole *out,
                                  mmt_error *err)
{
    mmt_problem deep;
    mmt_status status = mmt_tune_verify_at(t, problem, config, out, err);
    if (status || *out != MMT_WHOLE_RIGHT || mmt_tune_is_deep(t, problem, config) ||
        !mmt_tune_deepen(t, problem, config, &deep))
        return status;
    return mmt_tune_verify_at(t, &deep, config, out, err);
}

/* ---- the portfolio ---------------------------------------------------------------- */

static bool is_of_kept(const struct mmt_record *record, const struct mmt_kept *kept)
{
    const mmt_problem *p = &record->problem;
    return p->op == MMT_GEMM && p->type == kept->type && !p->trans_a == !kept->trans_a &&
           !p->trans_b == !kept->trans_b &&
           mmt_config_equal(&record->config, &kept->config);
}

/* Of the problems that a kernel of the portfolio was timed on, the one with the deepest
 * k; NULL: there is none. */
static const mmt_problem *deepest(const struct mmt_tuning *t, const struct mmt_kept *kept)
{
    size_t count;
    const struct mmt_record *records = mmt_journal_records(t->journal, &count);
    const mmt_problem *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (records[i].result.outcome == MMT_TIMED && is_of_kept(&records[i], kept) &&
            (!found || records[i].problem.k > found->k))
            found = &records[i].problem;
    return found;
}

/* The problem at which a kernel of the portfolio is verified: deep, or, where it serves
 * nothing that is, the deepest that it was timed on. */
static bool place_of(const struct mmt_tuning *t, const struct mmt_kept *kept,
                     mmt_problem *out)
{
    const mmt_problem *timed = deepest(t, kept);
    if (!timed)
        return false;
    if (!mmt_tune_deepen(t, timed, &kept->config, out))
        *out = *timed;
    return true;
}

/* Whether a whole verification at any deep problem found it right. */
static bool is_right(const struct mmt_tuning *t, const struct mmt_kept *kept)
{
    size_t count;
    const struct mmt_record *wholes = mmt_journal_wholes(t->journal, &count);
    mmt_problem place;
    for (size_t i = 0; i < count; i++)
        if (wholes[i].result.outcome == MMT_TIMED && is_of_kept(&wholes[i], kept) &&
            mmt_tune_is_deep(t, &wholes[i].problem, &kept->config))
            return true;
    return place_of(t, kept, &place) &&
           mmt_journal_whole(t->journal, &place, &kept->config) == MMT_WHOLE_RIGHT;
}

size_t mmt_tune_list_right(const struct mmt_tuning *t, struct mmt_kept *out)
{
    size_t count = 0;
    for (size_t i = 0; i < t->profile->num_kept; i++)
        if (is_right(t, &t->profile->kept[i]))
            out[count++] = t->profile->kept[i];
    return count;
}

double mmt_tune_reserve(const struct mmt_tuning *t)
{
    const double all =
        mmt_tune_count_kinds(t) * MMT_FIT_MOST_KEPT * mmt_tune_whole_seconds(t);
    return fmin(all, part_of_budget * t->options.budget.seconds);
}

/* One more would not end in time. */
static bool is_over(const struct mmt_tuning *t)
{
    return mmt_pool_interrupts() || mmt_now() + mmt_tune_whole_seconds(t) > t->finish;
}

/* Verifies the portfolio as it is chosen now; *again says that one fell out, so that it
 * is to be chosen anew. */
static mmt_status verify_all(struct mmt_tuning *t, bool *again, mmt_error *err)
{
    mmt_status status = MMT_OK;
    *again = false;
    for (size_t i = 0; !status && i < t->profile->num_kept && !is_over(t); i++) {
        const struct mmt_kept *kept = &t->profile->kept[i];
        enum mmt_whole found = MMT_WHOLE_RIGHT;
        mmt_problem place;
        if (!is_right(t, kept) && place_of(t, kept, &place))
            status = mmt_tune_verify_at(t, &place, &kept->config, &found, err);
        *again = *again || found == MMT_WHOLE_WRONG;
    }
    return status;
}

mmt_status mmt_tune_verify_portfolio(struct mmt_tuning *t, mmt_error *err)
{
    bool again = true;
    mmt_status status = MMT_OK;
    while (!status && again && !is_over(t)) {
        status = mmt_tune_choose_kept(t, err);
        if (!status)
            status = verify_all(t, &again, err);
    }
    return status;
}
