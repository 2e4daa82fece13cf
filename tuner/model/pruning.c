/* Judges by a journal how well estimates order a template's configurations, and up to
 * which estimate candidates are tried. */
#include "tuner/model/pruning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "tuner/measure/stats.h"

/* A correlation of that many samples rules candidates out; of fewer on one problem none
 * is taken. */
static const double earned = 0.6;
enum { LEAST_JUDGED = 60, LEAST_SAMPLES = 16 };

/* What came that near to the best is not to be ruled out, nor what is estimated at no
 * more than so many times as much. */
static const double near = 1.25, room = 1.5;

/* ---- what it is worth ------------------------------------------------------------ */

/* The estimates and times of a template on one problem. */
struct pairs {
    double *estimates, *seconds;
    int count;
};

static bool is_of(const struct mmt_record *r, const struct mmt_template *template)
{
    return mmt_record_is_candidate(r) && r->result.outcome == MMT_TIMED &&
           r->config.template == template;
}

static bool collect_pairs(const struct mmt_journal *journal, const struct mmt_caps *caps,
                          const struct mmt_template *template, const mmt_problem *problem,
                          struct pairs *out)
{
    const size_t all = mmt_journal_count(journal);
    const struct mmt_record *r = mmt_journal_first(journal, problem);
    *out = (struct pairs){ malloc((all + 1) * sizeof(double)),
                           malloc((all + 1) * sizeof(double)), 0 };
    if (!out->estimates || !out->seconds)
        return false;
    for (; r; r = mmt_journal_next(journal, r)) {
        if (!is_of(r, template))
            continue;
        out->estimates[out->count] = mmt_cost_estimate(&r->config, problem, caps);
        out->seconds[out->count++] = r->result.time.median;
    }
    return true;
}

static void finish_pairs(struct pairs *pairs)
{
    free(pairs->estimates);
    free(pairs->seconds);
}

/* Whether the journal has no earlier candidate of this template on this problem. */
static bool is_first(const struct mmt_journal *journal, const struct mmt_record *record)
{
    const struct mmt_record *r = mmt_journal_first(journal, &record->problem);
    while (r != record && !is_of(r, record->config.template))
        r = mmt_journal_next(journal, r);
    return r == record;
}

static mmt_status judge_record(const struct mmt_journal *journal,
                               struct mmt_profile *profile,
                               const struct mmt_record *record, mmt_error *err)
{
    struct pairs pairs;
    struct mmt_pruning *pruning = NULL, fresh = { .type = record->problem.type };
    mmt_status status = MMT_OK;
    if (!collect_pairs(journal, &profile->caps, record->config.template, &record->problem,
                       &pairs))
        status = mmt_fail(err, MMT_ERROR_MEMORY, "no memory to judge estimates");
    snprintf(fresh.template, sizeof fresh.template, "%s",
             mmt_template_key(record->config.template));
    for (size_t i = 0; i < profile->num_pruning; i++)
        if (profile->pruning[i].type == fresh.type &&
            !strcmp(profile->pruning[i].template, fresh.template))
            pruning = &profile->pruning[i];
    if (!status && pairs.count >= LEAST_SAMPLES && !pruning) {
        status = mmt_profile_add_pruning(profile, &fresh, err);
        pruning = status ? NULL : &profile->pruning[profile->num_pruning - 1];
    }
    if (!status && pairs.count >= LEAST_SAMPLES) {
        double rank =
            mmt_stats_rank_correlation(pairs.estimates, pairs.seconds, pairs.count);
        double sum =
            pruning->correlation * pruning->samples + fmax(rank, 0) * pairs.count;
        pruning->samples += pairs.count;
        pruning->correlation = sum / pruning->samples;
    }
    finish_pairs(&pairs);
    return status;
}

mmt_status mmt_pruning_judge(const struct mmt_journal *journal,
                             struct mmt_profile *profile, mmt_error *err)
{
    size_t all;
    const struct mmt_record *records = mmt_journal_records(journal, &all);
    mmt_status status = MMT_OK;
    profile->num_pruning = 0;
    for (size_t i = 0; !status && i < all; i++)
        if (is_of(&records[i], records[i].config.template) &&
            is_first(journal, &records[i]))
            status = judge_record(journal, profile, &records[i], err);
    return status;
}

/* ---- what is not worth trying ---------------------------------------------------- */

static bool has_earned(const struct mmt_profile *profile, mmt_type type,
                       const struct mmt_template *template)
{
    for (size_t i = 0; i < profile->num_pruning; i++)
        if (profile->pruning[i].type == type &&
            !strcmp(profile->pruning[i].template, mmt_template_key(template)))
            return profile->pruning[i].samples >= LEAST_JUDGED &&
                   profile->pruning[i].correlation >= earned;
    return false;
}

static double least_value(const double *values, int count)
{
    double result = INFINITY;
    for (int i = 0; i < count; i++)
        result = fmin(result, values[i]);
    return result;
}

double mmt_pruning_limit(const struct mmt_journal *journal,
                         const struct mmt_profile *profile, const mmt_problem *problem,
                         const struct mmt_template *template)
{
    struct pairs pairs;
    double limit = 0;
    if (!has_earned(profile, problem->type, template))
        return INFINITY;
    if (!collect_pairs(journal, &profile->caps, template, problem, &pairs) ||
        pairs.count < LEAST_SAMPLES)
        limit = INFINITY;
    double best = least_value(pairs.seconds, pairs.count);
    for (int i = 0; i < pairs.count && isfinite(limit); i++)
        if (pairs.seconds[i] <= near * best)
            limit = fmax(limit, room * pairs.estimates[i]);
    finish_pairs(&pairs);
    return limit;
}
