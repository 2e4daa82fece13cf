/* What became of the calls of a run. */
#include "tuner/cli/run.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "recording/recording.h"
#include "tuner/common/options.h"
#include "tuner/report/recorded.h"

enum { MOST_LINES = 10 }; /* of a table of calls */

/* A run's calls on one device. */
struct device_calls {
    const struct mmt_recorded *list;
    size_t count;
    int64_t calls;
};

static struct device_calls sum_up(const struct mmt_recorded *list, size_t count)
{
    struct device_calls sum = { list, count, 0 };
    for (size_t i = 0; i < count; i++)
        sum.calls += mmt_recorded_calls(&list[i]);
    return sum;
}

/* ---- while recording --------------------------------------------------------------- */

/* How --device names the device whose profile has that stem; "" where it is gone. */
static void find_device(const char *stem, char id[64])
{
    struct mmt_device_info *list = NULL;
    mmt_error err;
    size_t count = 0;
    id[0] = '\0';
    if (mmt_device_list(&list, &count, NULL, &err))
        return;
    for (size_t i = 0; i < count && !id[0]; i++) {
        struct mmt_text other = { 0 };
        mmt_profile_stem(&list[i].caps, &other);
        if (!strcmp(mmt_text_string(&other), stem))
            snprintf(id, 64, "%d", list[i].number);
        mmt_text_finish(&other);
    }
    free(list);
}

static void report_recorded(const char *stem, const struct device_calls *sum)
{
    char device[64];
    fprintf(stderr, "mmtune run: recorded %lld call%s of %zu kind%s on %s",
            (long long) sum->calls, sum->calls == 1 ? "" : "s", sum->count,
            sum->count == 1 ? "" : "s", stem);
    find_device(stem, device);
    if (device[0])
        fprintf(stderr, "; next: mmtune --device %s --recorded", device);
    fprintf(stderr, "\n");
}

/* ---- while serving ----------------------------------------------------------------- */

static int64_t count_fate(const struct device_calls *sum, int fate)
{
    int64_t calls = 0;
    for (size_t i = 0; i < sum->count; i++)
        calls += sum->list[i].fates[fate];
    return calls;
}

static double sum_saved(const struct device_calls *sum)
{
    double saved = 0;
    for (size_t i = 0; i < sum->count; i++)
        saved += sum->list[i].saved;
    return saved;
}

static void report_served(const char *stem, const struct device_calls *sum)
{
    const int64_t taken = count_fate(sum, MMT_FATE_TAKEN);
    const double saved = sum_saved(sum);
    char time[32];
    fprintf(stderr, "mmtune run: took over %lld of %lld calls on %s (%.1f %%)",
            (long long) taken, (long long) sum->calls, stem,
            100 * (double) taken / (double) sum->calls);
    if (taken)
        fprintf(stderr, ", which saved %s of the device's time, as measured by tuning",
                saved > 0 ? mmt_print_seconds(saved, time) : "nothing");
    fprintf(stderr, "\n");
    if (taken == sum->calls)
        return;
    fprintf(stderr, "  passed on:");
    for (int fate = MMT_FATE_TAKEN + 1, told = 0; fate < MMT_NUM_FATES; fate++) {
        const int64_t calls = count_fate(sum, fate);
        if (calls)
            fprintf(stderr, "%s %lld %s", told++ ? "," : "", (long long) calls,
                    mmt_fate_name((enum mmt_fate) fate));
    }
    fprintf(stderr, "\n");
}

/* ---- all devices ------------------------------------------------------------------- */

/* Leaves the calls of one run at the list's beginning; how many kinds they are. */
static size_t keep_run(struct mmt_recording *recording, const char *id)
{
    size_t kept = 0;
    for (size_t i = 0; i < recording->count; i++)
        if (!strcmp(recording->list[i].run, id))
            recording->list[kept++] = recording->list[i];
    return kept;
}

static int64_t report_file(const char *path, const char *stem, const char *id,
                           bool record)
{
    struct mmt_recording recording = { 0 };
    mmt_error err = { 0 };
    if (mmt_recording_read(path, true, &recording, &err)) {
        fprintf(stderr, "mmtune run: %s\n", err.text);
        return 0;
    }
    const struct device_calls sum = sum_up(recording.list, keep_run(&recording, id));
    if (sum.calls && record)
        report_recorded(stem, &sum);
    else if (sum.calls)
        report_served(stem, &sum);
    mmt_recording_free(&recording);
    return sum.calls;
}

/* The name of a recording without its ending. */
static bool is_recording(const char *name, char stem[NAME_MAX])
{
    static const char ending[] = ".jsonl";
    const size_t length = strlen(name);
    if (length < sizeof ending || strcmp(name + length - sizeof ending + 1, ending))
        return false;
    snprintf(stem, NAME_MAX, "%.*s", (int) (length - sizeof ending + 1), name);
    return true;
}

static void print_tables(const char *id)
{
    struct mmt_text text = { 0 };
    mmt_recorded_print_run(id, MOST_LINES, &text);
    fputs(mmt_text_string(&text), stderr);
    mmt_text_finish(&text);
}

int64_t mmt_run_report(const char *id, bool record)
{
    struct mmt_text folder = { 0 };
    int64_t calls = 0;
    char stem[NAME_MAX];
    mmt_file_state_folder(&folder);
    DIR *files = opendir(mmt_text_string(&folder));
    for (struct dirent *it; files && (it = readdir(files));) {
        struct mmt_text path = { 0 };
        if (!is_recording(it->d_name, stem))
            continue;
        mmt_text_addf(&path, "%s/%s", mmt_text_string(&folder), it->d_name);
        calls += report_file(mmt_text_string(&path), stem, id, record);
        mmt_text_finish(&path);
    }
    if (files)
        closedir(files);
    mmt_text_finish(&folder);
    if (calls && record)
        print_tables(id);
    if (calls)
        fprintf(stderr, "  these calls again: mmtune recorded --run %s\n", id);
    return calls;
}
