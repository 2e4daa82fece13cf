/* mmtune regret */
#include "tuner/cli/regret.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/peak.h"
#include "tuner/verify/data.h"
#include "tuner/report/rows.h"
#include "tuner/search/search.h"
#include "tuner/measure/stats.h"
#include "tuner/model/fit.h"

static const char about[] =
    "usage: mmtune regret [OPTION...]\n\n"
    "Measures what is lost on shapes that were never tuned: the kernel that the\n"
    "library would choose for random shapes, against the best of those that it ranks\n"
    "first, and against the best that a fresh search finds.\n";

struct request {
    const char *device, *profile;
    bool types[MMT_NUM_TYPES];
    bool types_given, json;
    int64_t shapes, seed, budget;
    double limit; /* seconds */
};

enum { MOST_COMPARED = 26 };
_Static_assert((int) MOST_COMPARED <= (int) MMT_MAX_TOGETHER, "one job compares them");

/* One shape's outcome. */
struct outcome {
    mmt_problem problem;
    struct mmt_selection selection;
    struct mmt_config configs[MOST_COMPARED]; /* the selection, then the ranking */
    double seconds[MOST_COMPARED];            /* of each; INFINITY where it failed */
    struct mmt_config found;        /* by the fresh search; no template: nothing else */
    double selected, ranked, fresh; /* seconds; fresh: 0 where there was none */
    int compared;
};

struct regrets {
    double *ranked, *fresh; /* fractions: 0.1 is a tenth slower than the best */
    int num_ranked, num_fresh;
    int failed;
};

/* Candidates alone, as they are spelled everywhere, or plain. */
static mmt_status read_budget(const struct mmt_take *take, const char *value,
                              mmt_error *err)
{
    char plain[32];
    size_t length = strlen(value);
    bool marked = length > 1 && length < sizeof plain && value[length - 1] == 'c';
    snprintf(plain, sizeof plain, "%.*s", marked ? (int) length - 1 : 31, value);
    return mmt_option_number("--budget", plain, 0, 100000, take->out, err);
}

/* ---- random shapes --------------------------------------------------------------- */

struct dice {
    uint64_t seed, next;
};

static double roll_dice(struct dice *dice)
{
    return (double) (mmt_data_noise(dice->seed, dice->next++) >> 11) /
           9007199254740992.0; /* 2^53 */
}

/* As programs multiply: mmt_fit_shape. */
static mmt_problem draw_shape(struct dice *dice, const mmt_problem *kind, int64_t index)
{
    double part[3];
    for (int i = 0; i < 3; i++)
        part[i] = roll_dice(dice);
    return mmt_fit_shape(kind, part, index);
}

/* What a device may be given: an execution at a quarter of its peak takes no more than a
 * second, and inputs, their copies and the output take half of its memory. */
static bool is_affordable(const struct mmt_profile *profile, const struct mmt_caps *caps,
                          const mmt_problem *problem)
{
    double peak = profile->roofline.peak_flops[problem->type];

    if (peak <= 0)
        peak = mmt_derived_peak(caps, problem->type);
    if (peak > 0 && mmt_problem_flops(problem) > peak / 4)
        return false;
    return !caps->memory || 4 * mmt_problem_bytes(problem) + 2 * (double) caps->cache <
                                (double) caps->memory / 2;
}

static mmt_problem next_shape(struct dice *dice, const struct mmt_profile *profile,
                              const struct mmt_caps *caps, const mmt_problem *kind,
                              int64_t index)
{
    mmt_problem problem, normal;
    do
        problem = draw_shape(dice, kind, index);
    while (mmt_problem_normalise(&problem, &normal, NULL) != MMT_OK ||
           !is_affordable(profile, caps, &normal));
    return normal;
}

/* ---- one shape ------------------------------------------------------------------- */

static void add_config(struct mmt_config *configs, int *count,
                       const struct mmt_config *config)
{
    for (int i = 0; i < *count; i++)
        if (mmt_config_equal(&configs[i], config))
            return;
    configs[(*count)++] = *config;
}

/* The selection first, then what else is ranked; returns how many. */
static int list_ranked(const struct mmt_profile *profile, const struct mmt_caps *caps,
                       struct outcome *out)
{
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    const int all = mmt_select_rank(profile, &out->problem, caps, NULL, ranked);
    int count = 0;

    add_config(out->configs, &count, &out->selection.config);
    for (int i = 0; i < all && count < MOST_COMPARED - 1; i++)
        add_config(out->configs, &count, &ranked[i].config);
    return count;
}

static void take_times(int ranked, int count, struct outcome *out)
{
    out->selected = out->seconds[0];
    out->ranked = INFINITY;
    for (int i = 0; i < ranked; i++)
        out->ranked = fmin(out->ranked, out->seconds[i]);
    out->fresh = out->ranked;
    for (int i = ranked; i < count; i++)
        out->fresh = fmin(out->fresh, out->seconds[i]);
    out->compared = count;
}

static mmt_status do_shape(const struct request *request, struct mmt_run *run,
                           const struct mmt_profile *profile, struct outcome *out,
                           mmt_error *err)
{
    struct mmt_config fresh;
    bool found = false;
    mmt_status status =
        mmt_select(profile, &out->problem, &run->device.caps, NULL, &out->selection, err);
    if (status != MMT_OK)
        return status;
    int ranked = list_ranked(profile, &run->device.caps, out), count = ranked;

    if (request->budget)
        status =
            mmt_regret_search(run, &out->problem, request->budget, &fresh, &found, err);
    if (found)
        add_config(out->configs, &count, &fresh);
    if (count > ranked)
        out->found = fresh;
    if (status == MMT_OK)
        status =
            mmt_regret_time(run, &out->problem, out->configs, count, out->seconds, err);
    if (status != MMT_OK)
        return status;
    take_times(ranked, count, out);
    if (!request->budget)
        out->fresh = 0;
    return MMT_OK;
}

/* ---- reports --------------------------------------------------------------------- */

static const char *name_reason(const struct mmt_selection *selection)
{
    static const char *const words[] = {
        [MMT_SELECTION_EXACT] = "exact",     [MMT_SELECTION_RANGE] = "range",
        [MMT_SELECTION_NEAREST] = "nearest", [MMT_SELECTION_DEFAULT] = "default",
        [MMT_SELECTION_GIVEN] = "given",     [MMT_SELECTION_LAW] = "law",
    };
    return words[selection->why];
}

static double regret_of(double seconds, double best)
{
    return fmax(seconds / best - 1, 0);
}

/* What tools/record_times.py reads, as it reads a journal's lines. */
static void report_times(const struct outcome *out, const char *problem)
{
    for (int i = 0; i < out->compared; i++) {
        struct mmt_text config = { 0 };
        if (!isfinite(out->seconds[i]))
            continue;
        mmt_config_print(&out->configs[i], &config);
        printf("{\"event\": \"time\", \"problem\": \"%s\", \"status\": \"timed\", "
               "\"configuration\": \"%s\", \"seconds\": %.6g}\n",
               problem, mmt_text_string(&config), out->seconds[i]);
        mmt_text_finish(&config);
    }
}

static void report_shape(const struct request *request, const struct outcome *out)
{
    struct mmt_text problem = { 0 }, config = { 0 }, found = { 0 };
    char selected[32], expected[32];

    mmt_problem_print(&out->problem, &problem);
    mmt_config_print(&out->selection.config, &config);
    if (out->found.template)
        mmt_config_print(&out->found, &found);
    if (request->json) {
        printf("{\"event\": \"shape\", \"problem\": \"%s\", \"why\": \"%s\", "
               "\"config\": \"%s\", \"expected\": %.6g, \"chosen\": %.6g, "
               "\"best_ranked\": %.6g, \"compared\": %d",
               mmt_text_string(&problem), name_reason(&out->selection),
               mmt_text_string(&config), out->selection.seconds, out->selected,
               out->ranked, out->compared);
        if (out->fresh > 0)
            printf(", \"best_fresh\": %.6g, \"found\": \"%s\"", out->fresh,
                   mmt_text_string(&found));
        printf("}\n");
        report_times(out, mmt_text_string(&problem));
    } else {
        printf("%-30s %-8s %10s %10s %7.1f %%", mmt_text_string(&problem),
               name_reason(&out->selection),
               out->selection.seconds > 0
                   ? mmt_print_seconds(out->selection.seconds, expected)
                   : "-",
               mmt_print_seconds(out->selected, selected),
               100 * regret_of(out->selected, out->ranked));
        if (out->fresh > 0)
            printf(" %7.1f %%", 100 * regret_of(out->selected, out->fresh));
        printf("\n");
    }
    fflush(stdout);
    mmt_text_finish(&problem);
    mmt_text_finish(&config);
    mmt_text_finish(&found);
}

static double mean_regret(const double *regrets, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += regrets[i];
    return sum / count;
}

static void report_regrets(const struct request *request, const char *against,
                           double *regrets, int count)
{
    if (!count)
        return;
    double average = mean_regret(regrets, count);
    double high = mmt_stats_quantile(regrets, count, 0.95);
    double most = mmt_stats_quantile(regrets, count, 1);

    if (request->json)
        printf("{\"event\": \"regret\", \"against\": \"%s\", \"shapes\": %d, "
               "\"mean\": %.4f, \"p95\": %.4f, \"worst\": %.4f}\n",
               against, count, average, high, most);
    else
        printf(
            "regret against the best of %-12s %d shapes, mean %.1f %%, 95th percentile "
            "%.1f %%, worst %.1f %%\n",
            against, count, 100 * average, 100 * high, 100 * most);
}

static void report_head(const struct request *request)
{
    if (!request->json)
        printf("%-30s %-8s %10s %10s %9s%s\n", "problem", "by", "expected", "takes",
               "regret", request->budget ? "  to fresh" : "");
}

/* ---- the verb -------------------------------------------------------------------- */

/* All transposes of the types that are asked for, else of those that the profile has a
 * model of; returns how many. */
static int list_kinds(const struct request *request, const struct mmt_profile *profile,
                      mmt_problem kinds[4 * MMT_NUM_TYPES])
{
    int count = 0;
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        for (int transposes = 0; transposes < 4; transposes++) {
            mmt_problem kind = mmt_gemm_problem((mmt_type) type, 1, 1, 1);
            kind.trans_a = transposes / 2, kind.trans_b = transposes % 2;
            if (request->types_given ? request->types[type]
                                     : mmt_profile_model(profile, kind.type) != NULL)
                kinds[count++] = kind;
        }
    return count;
}

static void take_outcome(struct regrets *regrets, const struct outcome *out)
{
    regrets->ranked[regrets->num_ranked++] = regret_of(out->selected, out->ranked);
    if (out->fresh > 0)
        regrets->fresh[regrets->num_fresh++] = regret_of(out->selected, out->fresh);
}

static mmt_status do_shapes(const struct request *request, struct mmt_run *run,
                            const struct mmt_profile *profile, struct regrets *regrets,
                            mmt_error *err)
{
    mmt_problem kinds[4 * MMT_NUM_TYPES];
    struct dice dice = { .seed = (uint64_t) request->seed };
    int num_kinds = list_kinds(request, profile, kinds);

    if (!num_kinds)
        return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                        "the profile has a model of no type; `mmtune --device %s` makes "
                        "one, and `--type f32` takes the law of time as it is",
                        run->device.id);
    report_head(request);
    for (int64_t i = 0; i < request->shapes && !mmt_pool_interrupts(); i++) {
        struct outcome out = { .problem = next_shape(&dice, profile, &run->device.caps,
                                                     &kinds[i % num_kinds], i) };
        mmt_error failed = { 0 };
        mmt_status status = do_shape(request, run, profile, &out, &failed);
        if (mmt_pool_interrupts())
            break;
        if (status == MMT_OK) {
            report_shape(request, &out);
            take_outcome(regrets, &out);
        } else {
            mmt_failed("regret", &failed);
            regrets->failed++;
        }
    }
    report_regrets(request, "ranking", regrets->ranked, regrets->num_ranked);
    report_regrets(request, "fresh search", regrets->fresh, regrets->num_fresh);
    return MMT_OK;
}

static mmt_status prepare_regret(const struct request *request, struct mmt_run *run,
                                 struct mmt_profile **profile, mmt_error *err)
{
    char why[512];
    run->options = (struct mmt_tune_options){ .device = request->device,
                                              .search = mmt_search_names[0],
                                              .seed = request->seed,
                                              .limit = request->limit,
                                              .json = request->json,
                                              .quiet = true };
    mmt_status status = mmt_tune_find_device(run, err);
    if (status != MMT_OK)
        return status;
    *profile = mmt_profile_of(request->profile, request->device, err);
    if (!*profile)
        return err->status;
    if (mmt_profile_foreign(*profile, &run->device.caps, why))
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "%s", why);
    return mmt_regret_open(run, *profile, err);
}

static int run_regret(const struct request *request)
{
    size_t room = (size_t) request->shapes;
    struct regrets regrets = { .ranked = calloc(room, sizeof(double)),
                               .fresh = calloc(room, sizeof(double)) };
    struct mmt_run run = { .pool.at_once = true };
    struct mmt_profile *profile = NULL;
    mmt_error err = { 0 };
    mmt_status status = MMT_OK;

    if (!regrets.ranked || !regrets.fresh)
        status = mmt_fail(&err, MMT_ERROR_MEMORY, "no memory left for %zu shapes", room);
    if (status == MMT_OK)
        status = prepare_regret(request, &run, &profile, &err);
    if (status == MMT_OK)
        status = do_shapes(request, &run, profile, &regrets, &err);
    const int measured = regrets.num_ranked;
    mmt_regret_close(&run);
    mmt_profile_free(profile);
    free(regrets.ranked);
    free(regrets.fresh);
    if (status != MMT_OK)
        return mmt_failed_or_usage("regret", &err);
    if (mmt_pool_interrupts()) {
        char saved[80];
        snprintf(saved, sizeof saved, "the regrets are of %d of %lld shapes", measured,
                 (long long) request->shapes);
        return mmt_say_interrupted("regret", saved);
    }
    return regrets.failed ? MMT_EXIT_FAILED : MMT_EXIT_DONE;
}

int mmt_verb_regret(int argc, char **argv)
{
    struct request request = { .shapes = 30, .seed = 1, .budget = 20, .limit = 20 };
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_DEVICE, .out = &request.device },
        { .option = MMT_OPTION_PROFILE, .out = &request.profile },
        { .option = MMT_OPTION_TYPE,
          .out = request.types,
          .given = &request.types_given,
          .what = "of {}; default: those that the profile has a model of" },
        { .option = MMT_OPTION_SHAPES, .out = &request.shapes },
        { .option = MMT_OPTION_SEED,
          .out = &request.seed,
          .what = "of the shapes and data; default: 1" },
        { .option = MMT_OPTION_BUDGET,
          .out = &request.budget,
          .value = "COUNT",
          .what = "of candidates, 20 or 20c, that a fresh search tries for each shape; "
                  "default: 20; 0: no fresh search",
          .read = read_budget },
        { .option = MMT_OPTION_LIMIT,
          .out = &request.limit,
          .what = "for building and timing what is compared on one shape; default: 20 s, "
                  "and what the shape adds" },
        { .option = MMT_OPTION_JSON,
          .out = &request.json,
          .what = "JSON lines, one an event: each shape and its times, what is noted on "
                  "the way, then the losses" },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 0 };
    const int code = mmt_command_read(&command, argc, argv);
    return code >= 0 ? code : run_regret(&request);
}
