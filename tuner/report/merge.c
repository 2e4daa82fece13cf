/* Profiles of one device as one: of several runs, or of several machines that have the
 * same card. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/model/fit.h"
#include "tuner/journal/journal.h"
#include "tuner/measure/roofline.h"
#include "tuner/report/merge.h"
#include "tuner/report/rows.h"
#include "tuner/common/options.h"

/* ---- merging --------------------------------------------------------------------- */

/* What is selected for execution is one for each problem; what was tried from another
 * profile (`--with`) is one for each problem and configuration. */
static bool same_entry(const struct mmt_entry *a, const struct mmt_entry *b)
{
    if (!mmt_problem_equal(&a->problem, &b->problem) || !a->source[0] != !b->source[0])
        return false;
    return !a->source[0] || mmt_config_equal(&a->config, &b->config);
}

/* The vendor's library was timed beside one configuration: of two records beside it the
 * newer stays. */
static void merge_known(struct mmt_entry *known, const struct mmt_entry *entry)
{
    struct mmt_yardstick record = known->yardstick;
    const bool same = mmt_config_equal(&known->config, &entry->config) &&
                      !strcmp(known->template_hash, entry->template_hash);
    if (strcmp(entry->yardstick.date, record.date) > 0)
        record = entry->yardstick;
    if (entry->time.median < known->time.median)
        *known = *entry;
    if (same)
        known->yardstick = record;
}

static mmt_status merge_entry(struct mmt_profile *into, const struct mmt_entry *entry,
                              mmt_error *err)
{
    for (size_t i = 0; i < into->num_entries; i++) {
        struct mmt_entry *known = &into->entries[i];
        if (!same_entry(known, entry))
            continue;
        merge_known(known, entry);
        return MMT_OK;
    }
    return mmt_profile_add_entry(into, entry, err);
}

/* Of a range that both have, the kernels that are faster where both were timed. */
static mmt_status merge_range(struct mmt_profile *into, const struct mmt_range *range,
                              mmt_error *err)
{
    for (size_t i = 0; i < into->num_ranges; i++) {
        struct mmt_range *known = &into->ranges[i];
        if (!mmt_range_same(known, range))
            continue;
        if (mmt_range_ratio(known, range) > 1)
            *known = *range;
        return MMT_OK;
    }
    return mmt_profile_add_range(into, range, err);
}

/* The newer of two of one call, mode and library. */
static mmt_status merge_verdict(struct mmt_profile *into, const struct mmt_verdict *it,
                                mmt_error *err)
{
    for (size_t i = 0; i < into->num_verdicts; i++) {
        const struct mmt_verdict *known = &into->verdicts[i];
        if (mmt_call_equal(&known->call, &it->call) && known->f32_mode == it->f32_mode &&
            !strcmp(known->library, it->library) && strcmp(known->date, it->date) > 0)
            return MMT_OK;
    }
    return mmt_profile_replace_verdict(into, it, err);
}

/* Times of one card say nothing of another. */
static mmt_status merge_verdicts(struct mmt_profile *into, const struct mmt_profile *from,
                                 mmt_error *err)
{
    mmt_status status = MMT_OK;
    if (!mmt_caps_are_one(&into->caps, &from->caps))
        into->num_verdicts = 0;
    else
        for (size_t i = 0; i < from->num_verdicts && !status; i++)
            status = merge_verdict(into, &from->verdicts[i], err);
    return status;
}

static const struct mmt_model *find_model(const struct mmt_profile *profile,
                                          mmt_type family)
{
    for (size_t i = 0; i < profile->num_models; i++)
        if (profile->models[i].family == family)
            return &profile->models[i];
    return NULL;
}

/* Of each family the model that rests on more shapes. */
static mmt_status merge_models(struct mmt_profile *into, const struct mmt_profile *from,
                               mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_models && !status; i++) {
        const struct mmt_model *model = &from->models[i];
        const struct mmt_model *known = find_model(into, model->family);
        if (!known || model->shapes > known->shapes)
            status = mmt_profile_replace_model(into, model, err);
    }
    return status;
}

/* The one that rests on more times. */
static mmt_status merge_pruning(struct mmt_profile *into,
                                const struct mmt_pruning *pruning, mmt_error *err)
{
    for (size_t i = 0; i < into->num_pruning; i++) {
        struct mmt_pruning *known = &into->pruning[i];
        if (known->type != pruning->type || strcmp(known->template, pruning->template))
            continue;
        if (pruning->samples > known->samples)
            *known = *pruning;
        return MMT_OK;
    }
    return mmt_profile_add_pruning(into, pruning, err);
}

static void merge_health(struct mmt_made_health *into, const struct mmt_made_health *from)
{
    into->hottest = fmax(into->hottest, from->hottest);
    into->fastest = fmax(into->fastest, from->fastest);
    if (from->slowest > 0)
        into->slowest =
            into->slowest > 0 ? fmin(into->slowest, from->slowest) : from->slowest;
    into->throttled += from->throttled;
    if (from->by[0])
        memcpy(into->by, from->by, sizeof into->by);
}

/* The date, version and seed are those of the last one. */
static void merge_made(struct mmt_profile *into, const struct mmt_profile *from)
{
    struct mmt_made_health health = into->made.health;
    const double budget = into->made.budget + from->made.budget;
    const int tried = into->made.tried + from->made.tried,
              skipped = into->made.skipped + from->made.skipped,
              wrong = into->made.wrong + from->made.wrong,
              failed = into->made.failed + from->made.failed;

    merge_health(&health, &from->made.health);
    into->made = from->made;
    into->made.budget = budget;
    into->made.tried = tried, into->made.skipped = skipped;
    into->made.wrong = wrong, into->made.failed = failed;
    into->made.health = health;
    const bool one = mmt_caps_are_one(&into->caps, &from->caps);
    into->caps = from->caps;
    if (!one)
        strcpy(into->caps.uuid, MMT_SEVERAL_CARDS);
    mmt_roofline_add(&into->roofline, &from->roofline);
}

static mmt_status merge_profile(struct mmt_profile *into, const struct mmt_profile *from,
                                mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_entries && !status; i++)
        status = merge_entry(into, &from->entries[i], err);
    for (size_t i = 0; i < from->num_ranges && !status; i++)
        status = merge_range(into, &from->ranges[i], err);
    if (!status)
        status = merge_verdicts(into, from, err);
    if (!status)
        status = merge_models(into, from, err);
    for (size_t i = 0; i < from->num_pruning && !status; i++)
        status = merge_pruning(into, &from->pruning[i], err);
    merge_made(into, from);
    return status;
}

/* ---- fitting anew ------------------------------------------------------------------ */

static mmt_status add_journal(struct mmt_fit_samples *samples, const char *path,
                              const struct mmt_caps *caps, mmt_error *err)
{
    struct mmt_text journal_path = { 0 };
    mmt_text_addf(&journal_path, "%s.journal", path);
    const bool is_there = !access(mmt_text_string(&journal_path), F_OK);
    mmt_text_finish(&journal_path);
    if (!is_there)
        return MMT_OK;
    struct mmt_journal *journal = mmt_journal_open(path, caps, false, err);
    if (!journal)
        return err->status;
    mmt_status status = mmt_fit_add_journal(samples, journal, err);
    fputs(mmt_journal_notes(journal), stderr);
    mmt_journal_close(journal);
    return status;
}

/* Fits the models to all times of all journals. */
static mmt_status fit_anew(struct mmt_profile *into, char **paths, int count,
                           mmt_error *err)
{
    struct mmt_fit_samples samples = { 0 };
    mmt_status status = MMT_OK;
    for (int i = 0; i < count && !status; i++)
        status = add_journal(&samples, paths[i], &into->caps, err);
    if (!status && !samples.count)
        status = mmt_fail(err, MMT_ERROR_NOT_FOUND,
                          "beside none of the %d profiles is a journal with times; "
                          "without --fit they are merged as they are",
                          count);
    if (!status)
        status = mmt_fit_models(into, samples.list, samples.count, err);
    free(samples.list);
    return status;
}

/* ---- the verb -------------------------------------------------------------------- */

static const char about[] =
    "usage: mmtune merge A.json B.json [C.json...] [OPTION...]\n\n"
    "Makes one profile of several of the same device: of runs on different types, or\n"
    "on machines that have the same card. Of each problem's kernels the fastest stays,\n"
    "with what the vendor's library took beside it, the newest of several records.\n"
    "Of each family of types the model for all other shapes is the one that rests on\n"
    "the most of them.\n";

static mmt_status put_profile(const struct mmt_profile *profile, const char *out,
                              mmt_error *err)
{
    struct mmt_text text = { 0 };
    if (out)
        return mmt_profile_save(profile, out, err);
    mmt_status status = mmt_profile_print(profile, &text, err);
    if (!status)
        fputs(mmt_text_string(&text), stdout);
    mmt_text_finish(&text);
    return status;
}

/* What differs from the profiles before it, and may be merged nevertheless. */
static void note_device(const char *path, const struct mmt_profile *from,
                        const struct mmt_profile *before)
{
    if (strcmp(from->caps.driver, before->caps.driver))
        fprintf(stderr, "%s: measured under driver %s, the profile before it under %s\n",
                path, from->caps.driver, before->caps.driver);
    if (mmt_caps_other_card(&from->caps, &before->caps))
        fprintf(stderr, "%s: measured on %s, UUID %s\n", path,
                mmt_caps_other_card(&from->caps, &before->caps), from->caps.uuid);
    if (before->num_verdicts + from->num_verdicts &&
        !mmt_caps_are_one(&before->caps, &from->caps))
        fprintf(stderr,
                "%s: verdicts on programs' calls are left out, as they hold for one card "
                "and driver\n",
                path);
}

static mmt_status merge_file(struct mmt_profile *into, const char *path, bool quiet,
                             mmt_error *err)
{
    char why[512];
    struct mmt_profile *from = mmt_profile_of(path, NULL, err);
    mmt_status status = from ? MMT_OK : err->status;
    if (from && mmt_profile_foreign(from, &into->caps, why))
        status = mmt_fail(err, MMT_ERROR_ARGUMENT, "%s: %s", path, why);
    if (!status) {
        if (!quiet)
            note_device(path, from, into);
        status = merge_profile(into, from, err);
    }
    mmt_profile_free(from);
    return status;
}

static void forget_counts(struct mmt_profile *profile)
{
    profile->made.budget = 0;
    profile->made.tried = profile->made.skipped = 0;
    profile->made.wrong = profile->made.failed = 0;
    profile->made.health.throttled = 0;
}

mmt_status mmt_merge_files(const struct mmt_merge *merge, mmt_error *err)
{
    struct mmt_profile *all = mmt_profile_of(merge->paths[0], NULL, err);
    mmt_status status = all ? MMT_OK : err->status;
    char why[512];

    if (all && mmt_profile_foreign(all, &all->caps, why))
        status = mmt_fail(err, MMT_ERROR_ARGUMENT, "%s: %s", merge->paths[0], why);
    if (all && merge->again)
        forget_counts(all);
    for (int i = 1; i < merge->count && !status; i++)
        status = merge_file(all, merge->paths[i], merge->quiet, err);
    if (!status && merge->fits)
        status = fit_anew(all, merge->paths, merge->count, err);
    if (!status)
        status = put_profile(all, merge->out, err);
    mmt_profile_free(all);
    return status;
}

int mmt_verb_merge(int argc, char **argv)
{
    struct mmt_merge merge = { 0 };
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_FIT, .out = &merge.fits },
        { .option = MMT_OPTION_OUTPUT,
          .out = &merge.out,
          .what = "written whole or not at all; may be one of those that are read; "
                  "default: standard output" },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), INT_MAX };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;
    mmt_error err = { 0 };
    merge.paths = argv + optind;
    merge.count = argc - optind;
    if (merge.count < 2)
        return mmt_wrong_usage(argv[0], "%d %s named; it must be two profiles or more",
                               merge.count, merge.count == 1 ? "file is" : "files are");
    return mmt_merge_files(&merge, &err) ? mmt_failed(argv[0], &err) : MMT_EXIT_DONE;
}
