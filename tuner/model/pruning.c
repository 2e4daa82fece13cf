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

static bool is_of(const struct mmt_record *r, const struct mmt_template *template,
                  const mmt_problem *problem)
{
    return mmt_record_is_candidate(r) && r->result.outcome == MMT_TIMED &&
           r->config.template == template && mmt_problem_equal(&r->problem, problem);
}

static bool collect_pairs(const struct mmt_journal *journal, const struct mmt_caps *caps,
                          const struct mmt_template *template, const mmt_problem *problem,
                          struct pairs *out)
{
    size_t all;
    const struct mmt_record *records = mmt_journal_records(journal, &all);
    *out = (struct pairs){ malloc((all + 1) * sizeof(double)),
                           malloc((all + 1) * sizeof(double)), 0 };
    if (!out->estimates || !out->seconds)
        return false;
    for (size_t i = 0; i < all; i++) {
        if (!is_of(&records[i], template, problem))
            continue;
        out->estimates[out->count] = mmt_cost_estimate(&records[i].config, problem, caps);
        out->seconds[out->count++] = records[i].result.time.median;
    }
    return true;
}

static void finish_pairs(struct pairs *pairs)
{
    free(pairs->estimates);
    free(pairs->seconds);
}

/* Whether the journal has no earlier candidate of this template on this problem. */
static bool is_first(const struct mmt_record *records, size_t place)
{
    for (size_t i = 0; i < place; i++)
        if (is_of(&records[i], records[place].config.template, &records[place].problem))
            return false;
    return true;
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
    snprintf(fresh.template, sizeof fresh.template, "%s", record->config.template->name);
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
        if (is_of(&records[i], records[i].config.template, &records[i].problem) &&
            is_first(records, i))
            status = judge_record(journal, profile, &records[i], err);
    return status;
}

/* ---- what is not worth trying ---------------------------------------------------- */

static bool has_earned(const struct mmt_profile *profile, mmt_type type,
                       const struct mmt_template *template)
{
    for (size_t i = 0; i < profile->num_pruning; i++)
        if (profile->pruning[i].type == type &&
            !strcmp(profile->pruning[i].template, template->name))
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
