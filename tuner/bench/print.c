/* The table of `mmtune bench`. */
#include "tuner/bench/bench.h"

#include <math.h>

static double rate_of_row(const struct mmt_bench_row *row,
                          const struct mmt_bench_time *time)
{
    return mmt_problem_flops(&row->problem) / time->time.median;
}

static void print_problem(const mmt_problem *problem)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(problem, &text);
    fputs(mmt_text_string(&text), stdout);
    mmt_text_finish(&text);
}

void mmt_bench_print_head(const struct mmt_bench *bench)
{
    printf("%s, %s\n", mmt_device_name(bench->device),
           bench->configuration ? "one configuration for all"
           : bench->profile     ? "with its profile"
                                : "without a profile: defaults");
    for (int i = 0; i < bench->num_references; i++)
        printf("%s: %s\n", bench->references[i].reference->name,
               bench->references[i].what);
    fflush(stdout);
}

/* ---- a problem ------------------------------------------------------------------- */

static void print_time(const struct mmt_bench_row *row, const struct mmt_contestant *who,
                       const struct mmt_bench_time *time)
{
    char seconds[32], flops[32], ratio[32] = "";
    double spread = (time->time.upper_quartile - time->time.lower_quartile) / 2;

    if (time->ratio > 0)
        snprintf(ratio, sizeof ratio, "%.3f%s", time->ratio, time->tie ? "~" : "");
    printf("  %-13s %10s +-%4.1f %%  %15s  %7s  %s\n", who->name,
           mmt_print_seconds(time->time.median, seconds),
           100 * spread / time->time.median,
           mmt_print_rate(rate_of_row(row, time), row->problem.type, flops), ratio,
           time->what);
}

void mmt_bench_print_row(const struct mmt_bench *bench, const struct mmt_bench_row *row)
{
    print_problem(&row->problem);
    if (row->has_health && row->health.throttled)
        printf("  (throttled: %s, %.0f MHz)", row->health.why, row->health.clock_mhz);
    printf("\n");
    if (row->reason[0])
        printf("  not measured: %s\n", row->reason);
    for (int i = 0; i < bench->num_contestants && !row->reason[0]; i++) {
        const struct mmt_bench_time *time = &row->times[i];
        if (time->reason[0])
            printf("  %-13s %s\n", bench->contestants[i].name, time->reason);
        else
            print_time(row, &bench->contestants[i], time);
    }
    fflush(stdout);
}

/* ---- means ----------------------------------------------------------------------- */

struct mmt_bench_mean mmt_bench_mean_of(const struct mmt_bench *bench, int contestant,
                                        mmt_type type)
{
    struct mmt_bench_mean mean = { 0 };
    double sum = 0;

    for (int i = 0; i < bench->num_rows; i++) {
        const struct mmt_bench_row *row = &bench->rows[i];
        double ratio = row->times[contestant].ratio;
        if (row->problem.type != type || !(ratio > 0))
            continue;
        sum += log(ratio);
        if (!mean.count || ratio < mean.worst_ratio) {
            mean.worst = row;
            mean.worst_ratio = ratio;
        }
        if (!mean.count || ratio > mean.best_ratio) {
            mean.best = row;
            mean.best_ratio = ratio;
        }
        mean.count++;
    }
    mean.mean = mean.count ? exp(sum / mean.count) : 0;
    return mean;
}

static void print_mean(const struct mmt_bench *bench, int contestant, mmt_type type)
{
    struct mmt_bench_mean mean = mmt_bench_mean_of(bench, contestant, type);

    if (!mean.count)
        return;
    printf("\nagainst %s, %s: geometric mean %.3f over %d problem%s\n  worst %.3f: ",
           bench->contestants[contestant].name, mmt_type_name(type), mean.mean,
           mean.count, mean.count > 1 ? "s" : "", mean.worst_ratio);
    print_problem(&mean.worst->problem);
    printf("\n  best %.3f: ", mean.best_ratio);
    print_problem(&mean.best->problem);
    printf("\n  over:\n");
    for (int i = 0; i < bench->num_rows; i++) {
        const struct mmt_bench_row *row = &bench->rows[i];
        if (row->problem.type != type || !(row->times[contestant].ratio > 0))
            continue;
        printf("    %.3f  ", row->times[contestant].ratio);
        print_problem(&row->problem);
        printf("\n");
    }
}

static bool any_tie(const struct mmt_bench *bench)
{
    for (int i = 0; i < bench->num_rows; i++)
        for (int j = 1; j < bench->num_contestants; j++)
            if (bench->rows[i].times[j].tie)
                return true;
    return false;
}

/* ---- where mmtune is slower ------------------------------------------------------ */

enum { MOST_LISTED = 5 };

/* Fills `worst` with the problems on which mmtune is surely slower, the worst first;
 * returns how many there are, also of those that `worst` has no room for. */
static int list_slower(const struct mmt_bench *bench, int contestant,
                       const struct mmt_bench_row *worst[MOST_LISTED])
{
    int count = 0;

    for (int i = 0; i < bench->num_rows; i++) {
        const struct mmt_bench_row *row = &bench->rows[i];
        const struct mmt_bench_time *time = &row->times[contestant];
        int at = count < MOST_LISTED ? count : MOST_LISTED;
        if (!(time->ratio > 0 && time->ratio < 1) || time->tie)
            continue;
        for (; at > 0 && time->ratio < worst[at - 1]->times[contestant].ratio; at--)
            if (at < MOST_LISTED)
                worst[at] = worst[at - 1];
        if (at < MOST_LISTED)
            worst[at] = row;
        count++;
    }
    return count;
}

static void print_slower(const struct mmt_bench *bench, int contestant)
{
    const struct mmt_bench_row *worst[MOST_LISTED];
    const int count = list_slower(bench, contestant, worst);

    if (count)
        printf("\nslower than %s on %d problem%s:\n", bench->contestants[contestant].name,
               count, count > 1 ? "s" : "");
    for (int i = 0; i < count && i < MOST_LISTED; i++) {
        printf("  %.3f  ", worst[i]->times[contestant].ratio);
        print_problem(&worst[i]->problem);
        printf("\n");
    }
    if (count > MOST_LISTED)
        printf("  and %d more\n", count - MOST_LISTED);
}

void mmt_bench_print_means(const struct mmt_bench *bench)
{
    for (int i = 1; i < bench->num_contestants; i++)
        for (int type = 0; type < MMT_NUM_TYPES; type++)
            print_mean(bench, i, type);
    for (int i = 1; i < bench->num_contestants; i++)
        if (bench->contestants[i].way == 0)
            print_slower(bench, i);
    if (bench->num_contestants > 1)
        printf(
            "\nA ratio is mmtune's speed-up over the other: above 1, it is faster.%s\n",
            any_tie(bench) ? " ~: a tie, the medians' 95 % intervals overlap." : "");
}
