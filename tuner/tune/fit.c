/* What a run's times teach the profile: pruning and models; and what was found wrong,
 * which goes. */
#include <stdlib.h>

#include "base/clock.h"
#include "tuner/model/fit.h"
#include "tuner/model/pruning.h"
#include "tuner/tune/fit.h"
#include "tuner/tune/profile.h"

/* Fitting takes the better part of a second where a journal has thousands of times:
 * between problems, a twentieth of the time at most. */
static bool is_due(const struct mmt_run *run)
{
    return mmt_now() >= run->pace.fitted_at + 20 * run->pace.fit_seconds;
}

/* The models come from all that was ever timed. */
mmt_status mmt_tune_fit(struct mmt_run *run, mmt_error *err)
{
    struct mmt_fit_samples samples = { 0 };
    double began = mmt_now();
    mmt_status status = mmt_fit_add_journal(&samples, run->files.journal, err);
    if (!status)
        status = mmt_fit_models(run->files.profile, samples.list, samples.count, err);
    free(samples.list);
    run->pace.fitted_at = mmt_now();
    run->pace.fit_seconds = run->pace.fitted_at - began;
    return status;
}

static bool is_refuted(const void *journal, const mmt_problem *problem,
                       const struct mmt_config *config)
{
    return mmt_journal_whole(journal, problem, config) == MMT_WHOLE_WRONG;
}

void mmt_tune_drop_refuted(struct mmt_run *run)
{
    const size_t entries = run->files.profile->num_entries;
    mmt_tune_drop(run->files.profile, is_refuted, run->files.journal);
    run->files.refuted = run->files.refuted || run->files.profile->num_entries < entries;
}

/* Whether this run changes the profile that stands there: one that tried nothing leaves
 * it alone, and one that timed nothing makes none. Where all that it had was found wrong,
 * an empty one takes its place. */
static bool has_learned(const struct mmt_run *run)
{
    const struct mmt_profile *p = run->files.profile;
    return (mmt_journal_count(run->files.journal) > run->files.known ||
            run->library.taken || run->recorded.taken) &&
           (p->num_entries || p->num_models || p->num_verdicts || run->files.refuted);
}

mmt_status mmt_tune_update(struct mmt_run *run, bool last, mmt_error *err)
{
    if (!has_learned(run))
        return MMT_OK;
    mmt_status status = mmt_pruning_judge(run->files.journal, run->files.profile, err);
    if (!status && (last || is_due(run)))
        status = mmt_tune_fit(run, err);
    if (!status)
        mmt_tune_drop_refuted(run);
    return status ? status : mmt_tune_save(run, err);
}

mmt_status mmt_tune_learn(struct mmt_run *run, const struct mmt_record *winner,
                          mmt_error *err)
{
    const mmt_status status = mmt_tune_enter(run, winner, err);
    return status ? status : mmt_tune_update(run, false, err);
}
