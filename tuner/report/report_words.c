/* What a report says first, in sentences. */
#include <math.h>

#include "tuner/bench/yardstick.h"
#include "tuner/common/options.h"
#include "tuner/measure/roofline.h"
#include "tuner/report/report.h"

/* How near problems' best kernels are to the roofline, and which is the most above it. */
struct reach {
    double sum, room; /* of natural logarithms; seconds */
    int count;
    const struct mmt_row *farthest;
};

static struct reach find_reach(const struct mmt_report *report)
{
    struct reach reach = { 0 };
    for (size_t first = 0; first < report->rows.count;) {
        const struct mmt_group group = mmt_rows_group(&report->rows, first);
        const struct mmt_row *best = mmt_group_best(&group);
        const double limit =
            mmt_roofline_seconds(&report->profile->roofline, best->problem);
        first += group.count;
        if (!(limit > 0))
            continue;
        reach.sum += log(limit / best->seconds);
        reach.count++;
        if (best->seconds - limit > reach.room) {
            reach.room = best->seconds - limit;
            reach.farthest = best;
        }
    }
    return reach;
}

static size_t count_problems(const struct mmt_rows *rows)
{
    size_t count = 0;
    for (size_t first = 0; first < rows->count; count++)
        first += mmt_rows_group(rows, first).count;
    return count;
}

static void say_reach(const struct reach *reach, struct mmt_text *text)
{
    char time[32], room[32];
    if (!reach->farthest)
        return;
    mmt_text_addf(
        text, "They reach %.3g %% of the roofline, a geometric mean. Most room is in ",
        100 * exp(reach->sum / reach->count));
    mmt_problem_print(reach->farthest->problem, text);
    mmt_text_addf(text, ": %s, of which %s are above the roofline.\n",
                  mmt_print_seconds(reach->farthest->seconds, time),
                  mmt_print_seconds(reach->room, room));
}

static void say_library(const struct mmt_profile *profile, struct mmt_text *text)
{
    struct mmt_standing standing = { 0 };
    for (size_t i = 0; i < profile->num_entries; i++)
        mmt_standing_add(&standing, &profile->entries[i]);
    if (!standing.count)
        return;
    mmt_text_add(text, "Beside the vendor's library: ");
    mmt_standing_print(&standing, text);
    mmt_text_add(text, ".\n");
}

static void say_next(const struct mmt_report *report, struct mmt_text *text)
{
    const struct mmt_profile *profile = report->profile;
    if (*profile->citation)
        return;
    mmt_text_add(text, "Next: ");
    if (!report->rows.count)
        mmt_text_add(text, "tune this device with `mmtune --device 0`.\n");
    else if (!report->recording)
        mmt_text_add(text, "record what a program multiplies with `mmtune run --record "
                           "-- PROGRAM`, then tune that with `mmtune --recorded`.\n");
    else if (mmt_recorded_add_up(report->recording).promised > 0)
        mmt_text_addf(text,
                      "tune the recorded products with `mmtune --recorded`; that may "
                      "save %.4g ms.\n",
                      1e3 * mmt_recorded_add_up(report->recording).promised);
    else
        mmt_text_add(text, "run the program with `mmtune run -- PROGRAM`.\n");
    if (profile->made.health.throttled)
        mmt_text_addf(text,
                      "In doubt: %d results were taken while the device was throttled "
                      "(%s).\n",
                      profile->made.health.throttled, profile->made.health.by);
}

void mmt_report_say(const struct mmt_report *report, struct mmt_text *text)
{
    const struct mmt_profile *profile = report->profile;
    const struct reach reach = find_reach(report);
    const size_t count = count_problems(&report->rows);
    mmt_text_addf(text, "%zu %s %s", count, count == 1 ? "problem" : "problems",
                  *profile->citation ? "were published" : "were tuned");
    if (*profile->made.date)
        mmt_text_addf(text, " on %.10s, with %d candidates", profile->made.date,
                      profile->made.tried);
    mmt_text_add(text, ".\n");
    say_reach(&reach, text);
    say_library(profile, text);
    say_next(report, text);
}
