/* The profile of a run: what stood there, what is entered, what is written. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tuner/tune/profile.h"

/* ---- opening --------------------------------------------------------------------- */

/* Whether a profile stands there that was made on another such device: of a machine that
 * has the same home, and more cores, say. */
static bool is_taken(const struct mmt_run *run, const char *path)
{
    char why[512];
    struct mmt_profile *there = mmt_profile_load(path, NULL);
    const bool taken = there && mmt_profile_foreign(there, &run->device.caps, why);
    mmt_profile_free(there);
    return taken;
}

/* <backend>-<device>.json, or <backend>-<device>-<multiprocessors>.json. */
static void add_usual_path(const struct mmt_run *run, struct mmt_text *path)
{
    mmt_profile_path(&run->device.caps, path);
    if (!is_taken(run, mmt_text_string(path)))
        return;
    path->length -= strlen(".json");
    mmt_text_addf(path, "-%u.json", run->device.caps.sms);
}

/* What -o names is the user's own affair; our folder is nobody else's. */
static mmt_status make_data_folder(mmt_error *err)
{
    struct mmt_text path = { 0 };
    mmt_error why = { 0 };
    mmt_file_data_folder(&path);
    mmt_status status = mmt_file_make_own_folder(mmt_text_string(&path), NULL, &why);
    mmt_text_finish(&path);
    return status
               ? mmt_fail_native(err, status, why.native,
                                 "%s; -o names another place for the profile", why.text)
               : MMT_OK;
}

mmt_status mmt_tune_set_path(struct mmt_run *run, mmt_error *err)
{
    struct mmt_text path = { 0 };
    if (run->options.output)
        mmt_text_add(&path, run->options.output);
    else
        add_usual_path(run, &path);
    run->files.path = path.data;
    if (path.failed || !path.length)
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "the profile's path is empty");
    return run->options.output ? MMT_OK : make_data_folder(err);
}

/* ---- --fresh --------------------------------------------------------------------- */

static void add_before(const struct mmt_run *run, struct mmt_text *path)
{
    mmt_text_addf(path, "%s.before", run->files.path);
}

/* The profile as it was stands beside until a run ends whole; one that an earlier run
 * left there is the one that was whole. */
static mmt_status keep_before(const struct mmt_run *run, mmt_error *err)
{
    enum { MOST = 64 << 20 };
    struct mmt_text before = { 0 }, profile = { 0 };
    struct stat file;
    mmt_status status = MMT_OK;
    add_before(run, &before);
    if (!stat(run->files.path, &file) && S_ISREG(file.st_mode) &&
        access(mmt_text_string(&before), F_OK)) {
        status = mmt_file_read(run->files.path, MOST, &profile, err);
        if (!status)
            status = mmt_file_replace(mmt_text_string(&before), mmt_text_string(&profile),
                                      profile.length, err);
    }
    mmt_text_finish(&before);
    mmt_text_finish(&profile);
    return status;
}

void mmt_tune_drop_before(const struct mmt_run *run)
{
    struct mmt_text before = { 0 };
    add_before(run, &before);
    unlink(mmt_text_string(&before));
    mmt_text_finish(&before);
}

static bool has_such(const struct mmt_range *range, mmt_kernel_test *test,
                     const void *self)
{
    bool found = false;
    for (int i = 0; i < range->num_segments && !found; i++) {
        const mmt_problem last =
            mmt_problem_with_m(&range->problem, range->segments[i].m_to);
        found = test(self, &last, &range->segments[i].config);
    }
    return found;
}

void mmt_tune_drop(struct mmt_profile *p, mmt_kernel_test *test, const void *self)
{
    size_t left = 0;
    for (size_t i = 0; i < p->num_entries; i++)
        if (!test(self, &p->entries[i].problem, &p->entries[i].config))
            p->entries[left++] = p->entries[i];
    p->num_entries = left;
    left = 0;
    for (size_t i = 0; i < p->num_verdicts; i++)
        if (!test(self, &p->verdicts[i].call.problem, &p->verdicts[i].config))
            p->verdicts[left++] = p->verdicts[i];
    p->num_verdicts = left;
    left = 0;
    for (size_t i = 0; i < p->num_ranges; i++)
        if (!has_such(&p->ranges[i], test, self))
            p->ranges[left++] = p->ranges[i];
    p->num_ranges = left;
}

static bool is_forgotten(const void *self, const mmt_problem *problem,
                         const struct mmt_config *config)
{
    return mmt_forgets(self, problem, config);
}

/* ---- what stands there ----------------------------------------------------------- */

/* What stands at the path is gone on with; what cannot be is refused rather than lost. */
static mmt_status load_earlier(struct mmt_run *run, mmt_error *err)
{
    char why[512];
    mmt_error own = { 0 };
    if (access(run->files.path, F_OK))
        return MMT_OK;
    struct mmt_profile *earlier = mmt_profile_load_plain(run->files.path, &own);
    if (!earlier && run->options.fresh)
        return MMT_OK;
    if (!earlier)
        return mmt_fail_native(err, own.status, own.native,
                               "%s; name another file with -o, or --fresh replaces it",
                               own.text);
    const bool other =
        earlier->citation[0] || mmt_profile_foreign(earlier, &run->device.caps, why);
    if (other && run->options.fresh) {
        mmt_profile_free(earlier);
        return MMT_OK;
    }
    if (other) {
        mmt_fail(err, MMT_ERROR_FORMAT,
                 "'%s' %s; name another file with -o, or --fresh "
                 "replaces it",
                 run->files.path, earlier->citation[0] ? "is a paper's profile" : why);
        mmt_profile_free(earlier);
        return err->status;
    }
    mmt_profile_free(run->files.profile);
    run->files.profile = earlier;
    if (run->options.fresh)
        mmt_tune_drop(earlier, is_forgotten, &run->files.forget);
    if (!mmt_caps_are_one(&earlier->caps, &run->device.caps))
        strcpy(run->device.caps.uuid, MMT_SEVERAL_CARDS);
    return MMT_OK;
}

static mmt_status load_other(struct mmt_run *run, mmt_error *err)
{
    if (!run->options.with)
        return MMT_OK;
    run->files.other = mmt_profile_load_plain(run->options.with, err);
    return run->files.other ? MMT_OK : err->status;
}

static void describe_run(struct mmt_run *run)
{
    struct mmt_profile *p = run->files.profile;
    snprintf(p->made.version, sizeof p->made.version, "%s", mmt_version());
    mmt_profile_now(p->made.date);
    p->made.seed = (uint64_t) run->options.seed;
    p->made.budget = run->options.budget.seconds;
    p->caps = run->device.caps;
}

mmt_status mmt_tune_open_profile(struct mmt_run *run, mmt_error *err)
{
    run->files.profile = mmt_profile_create();
    if (!run->files.profile)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a profile");
    mmt_status status = mmt_tune_set_path(run, err);
    if (!status && run->options.fresh)
        status = keep_before(run, err);
    if (!status)
        status = load_earlier(run, err);
    if (!status)
        status = load_other(run, err);
    if (!status)
        run->files.layers = mmt_profile_find_for(&run->device.caps, run->device.id, NULL);
    if (!status)
        status = mmt_file_may_replace(run->files.path, err);
    if (!status)
        describe_run(run);
    return status;
}

/* ---- entering -------------------------------------------------------------------- */

static double naive_seconds(const struct mmt_run *run, const mmt_problem *problem)
{
    const struct mmt_record *r = mmt_journal_first(run->files.journal, problem);
    double least = INFINITY;
    for (; r; r = mmt_journal_next(run->files.journal, r))
        if (!strcmp(r->config.template->name, "naive") && r->result.outcome == MMT_TIMED)
            least = fmin(least, r->result.time.median);
    return isfinite(least) ? least : 0;
}

static struct mmt_entry make_entry(const struct mmt_run *run,
                                   const struct mmt_record *record, const char *source)
{
    double seconds = record->result.time.median;
    struct mmt_hash hash;
    struct mmt_entry entry = {
        .problem = record->problem,
        .config = record->config,
        .time = record->result.time,
        .gflops = mmt_problem_flops(&record->problem) / seconds / 1e9,
        .roofline = mmt_tune_roofline(run, &record->problem) / seconds,
        .naive = naive_seconds(run, &record->problem),
    };
    snprintf(entry.source, sizeof entry.source, "%s", source);
    if (!mmt_template_hash(record->config.template, &hash, NULL))
        mmt_hash_print(hash, entry.template_hash);
    return entry;
}

/* The library's times beside the same kernel stay. */
static void keep_yardstick(const struct mmt_run *run, struct mmt_entry *entry)
{
    const struct mmt_entry *before = mmt_tune_winner(run, &entry->problem);
    if (before && mmt_config_equal(&before->config, &entry->config) &&
        !strcmp(before->template_hash, entry->template_hash))
        entry->yardstick = before->yardstick;
}

static mmt_status enter_others(struct mmt_run *run, const mmt_problem *problem,
                               mmt_error *err)
{
    char source[64];
    mmt_status status = MMT_OK;
    if (!run->files.other)
        return MMT_OK;
    snprintf(source, sizeof source, "%.63s", run->files.other->caps.name);
    mmt_profile_remove_entries(run->files.profile, problem, source);
    for (size_t i = 0; !status && i < run->files.other->num_entries; i++) {
        const struct mmt_entry *theirs = &run->files.other->entries[i];
        if (theirs->source[0] || !mmt_problem_equal(&theirs->problem, problem))
            continue;
        const struct mmt_record *here =
            mmt_journal_find(run->files.journal, problem, &theirs->config);
        if (!here || here->result.outcome != MMT_TIMED)
            continue;
        struct mmt_entry entry = make_entry(run, here, source);
        status = mmt_profile_add_entry(run->files.profile, &entry, err);
    }
    return status;
}

mmt_status mmt_tune_enter(struct mmt_run *run, const struct mmt_record *winner,
                          mmt_error *err)
{
    struct mmt_entry entry = make_entry(run, winner, "");
    keep_yardstick(run, &entry);
    mmt_status status = mmt_profile_replace_entry(run->files.profile, &entry, err);
    return status ? status : enter_others(run, &winner->problem, err);
}

/* ---- saving ---------------------------------------------------------------------- */

static void count_records(struct mmt_run *run)
{
    size_t count;
    const struct mmt_record *records = mmt_journal_records(run->files.journal, &count);
    struct mmt_counts all = { 0 };
    for (size_t i = 0; i < count; i++)
        if (mmt_record_is_candidate(&records[i]))
            mmt_counts_add(&all, records[i].result.outcome);
    run->files.profile->made.tried = all.tried;
    run->files.profile->made.skipped = all.skipped;
    run->files.profile->made.wrong = all.wrong;
    run->files.profile->made.failed = all.failed;
    run->files.profile->made.health = (struct mmt_made_health){ 0 };
    for (size_t i = 0; i < count; i++)
        mmt_tune_note_health(&run->files.profile->made.health, &records[i].result);
}

mmt_status mmt_tune_save(struct mmt_run *run, mmt_error *err)
{
    if (!run->limits.doubtful)
        run->files.profile->roofline = run->limits.roofline;
    count_records(run);
    return mmt_profile_save(run->files.profile, run->files.path, err);
}
