/* What became of the calls of a run. */
#include "tuner/cli/run.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "recording/counts.h"
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

/* Of kinds that could be taken over: how many, and seconds until all of them were. */
static int count_ready(const struct device_calls *sum, double *seconds)
{
    int kinds = 0;
    *seconds = 0;
    for (size_t i = 0; i < sum->count; i++) {
        kinds += sum->list[i].ready > 0;
        *seconds = fmax(*seconds, sum->list[i].ready);
    }
    return kinds;
}

static void report_ready(const struct device_calls *sum)
{
    char time[32];
    double seconds;
    const int kinds = count_ready(sum, &seconds);
    if (kinds)
        fprintf(stderr,
                "  kernels for %d kind%s of calls were ready %s after the first handle\n",
                kinds, kinds == 1 ? "" : "s", mmt_print_seconds(seconds, time));
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
    report_ready(sum);
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

/* A run while it is told of. */
struct report {
    const char *id;
    bool record;
    int64_t calls;
    struct mmt_text owed; /* what is not in its recording, sentences */
    struct unwritten {
        char stem[NAME_MAX];
        struct mmt_recorded it;
    } * list; /* and the run's calls among it */
    size_t count;
};

static void keep_owed(void *context, const struct mmt_counts_owed *it)
{
    struct report *report = context;
    void *more =
        reallocarray(report->list, report->count + it->count, sizeof *report->list);
    mmt_counts_print_owed(it, &report->owed);
    if (!more)
        return;
    report->list = more;
    for (size_t i = 0; i < it->count; i++)
        if (!strcmp(it->list[i].run, report->id)) {
            struct unwritten *next = &report->list[report->count++];
            snprintf(next->stem, sizeof next->stem, "%s", it->stem);
            next->it = it->list[i];
        }
}

/* Leaves the calls of one run at the list's beginning; how many kinds they are. */
static size_t keep_run(struct mmt_recording *recording, const char *id)
{
    size_t kept = 0;
    for (size_t i = 0; i < recording->count; i++)
        if (!strcmp(recording->list[i].run, id))
            recording->list[kept++] = recording->list[i];
    return kept;
}

/* Of one device, whose recording is there or not. What was not written is told once. */
static void report_device(struct report *report, const char *path, const char *stem)
{
    struct mmt_recording recording = { 0 };
    mmt_error err = { 0 };
    if (path && mmt_recording_read(path, true, &recording, &err))
        fprintf(stderr, "mmtune run: %s\n", err.text);
    recording.count = keep_run(&recording, report->id);
    for (size_t i = 0; i < report->count; i++)
        if (!strcmp(report->list[i].stem, stem) &&
            !mmt_recording_add(&recording, &report->list[i].it, NULL))
            report->list[i--] = report->list[--report->count];
    const struct device_calls sum = sum_up(recording.list, recording.count);
    if (sum.calls && report->record)
        report_recorded(stem, &sum);
    else if (sum.calls)
        report_served(stem, &sum);
    report->calls += sum.calls;
    mmt_recording_free(&recording);
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

void mmt_run_each_recording(void (*take)(void *context, const char *path,
                                         const char *stem),
                            void *context)
{
    struct mmt_text folder = { 0 };
    char stem[NAME_MAX];
    mmt_file_state_folder(&folder);
    DIR *files = opendir(mmt_text_string(&folder));
    for (struct dirent *it; files && (it = readdir(files));) {
        struct mmt_text path = { 0 };
        if (!is_recording(it->d_name, stem))
            continue;
        mmt_text_addf(&path, "%s/%s", mmt_text_string(&folder), it->d_name);
        take(context, mmt_text_string(&path), stem);
        mmt_text_finish(&path);
    }
    if (files)
        closedir(files);
    mmt_text_finish(&folder);
}

static void report_file(void *report, const char *path, const char *stem)
{
    report_device(report, path, stem);
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
    struct report report = { .id = id, .record = record };
    mmt_counts_collect(keep_owed, &report);
    mmt_run_each_recording(report_file, &report);
    while (report.count) {
        char stem[NAME_MAX];
        snprintf(stem, sizeof stem, "%s", report.list[0].stem);
        report_device(&report, NULL, stem);
    }
    if (report.calls && record)
        print_tables(id);
    if (report.calls && !report.owed.length)
        fprintf(stderr, "  these calls again: mmtune recorded --run %s\n", id);
    for (const char *at = mmt_text_string(&report.owed); *at; at += strcspn(at, "\n") + 1)
        fprintf(stderr, "mmtune run: %.*s\n", (int) strcspn(at, "\n"), at);
    mmt_text_finish(&report.owed);
    free(report.list);
    return report.calls;
}
