/* mmtune show */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/model/segments.h"
#include "tuner/measure/roofline.h"
#include "tuner/report/bundle.h"
#include "tuner/report/holdings.h"
#include "tuner/report/rows.h"
#include "tuner/common/options.h"
#include "tuner/bench/yardstick.h"

static const char about[] =
    "usage: mmtune show [FILE | --device DEVICE] [OPTION...]\n\n"
    "Prints a profile: the device, how the profile was made, and for each problem\n"
    "the best configuration, its time, its rate, its share of the roofline and how\n"
    "much faster it is than the naive kernel and than the vendor's library, where\n"
    "that was timed beside it; for each range of m its kernels, and by how much the\n"
    "median m is slower than the best that was timed there; and on how many calls of\n"
    "programs ours is faster than their library. Without a file, the profile of a\n"
    "device. Of a bundle, what is inside. Published figures are shown with their\n"
    "source; those that cannot be right are marked * and say why.\n";

/* ---- for people ------------------------------------------------------------------ */

static void print_limits(const struct mmt_caps *caps)
{
    printf("  %s, driver %s, compiler %s\n", caps->architecture, caps->driver,
           caps->compiler);
    printf("  %u %s, %.2f GHz, %.1f GiB memory, %zu KiB shared memory a block\n",
           caps->sms, caps->kind == MMT_CPU ? "cores" : "multiprocessors",
           caps->clock_khz / 1e6, (double) caps->memory / (1 << 30), caps->shared >> 10);
}

static void print_roofline(const struct mmt_profile *profile)
{
    const struct mmt_roofline *r = &profile->roofline;
    const char *before = "  at most ";
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        if (profile->roofline.peak_flops[type] == 0)
            continue;
        struct mmt_text rate = { 0 };
        mmt_roofline_print(r->peak_flops[type], r->peak_spread[type], type, &rate);
        printf("%s%s %s", before, mmt_type_name(type), mmt_text_string(&rate));
        mmt_text_finish(&rate);
        before = ", ";
    }
    if (r->bandwidth > 0)
        printf("%smemory %.1f GB/s", before, r->bandwidth / 1e9);
    if (r->bandwidth_spread > 0)
        printf(" (spread %.1f %%)", 100 * r->bandwidth_spread);
    if (r->bandwidth > 0 || *before == ',')
        printf("\n");
}

static void print_made(const struct mmt_profile *profile)
{
    char budget[32] = "no limit of time";
    if (profile->made.budget > 0)
        snprintf(budget, sizeof budget, "%.0f s", profile->made.budget);
    printf("  made by mmtune %s on %s, seed %llu, budget %s: %d tried, %d skipped as "
           "illegal, %d wrong, %d failed\n",
           profile->made.version, profile->made.date,
           (unsigned long long) profile->made.seed, budget, profile->made.tried,
           profile->made.skipped, profile->made.wrong, profile->made.failed);
}

static void print_health(const struct mmt_profile *profile)
{
    const struct mmt_made_health *health = &profile->made.health;
    if (health->fastest > 0)
        printf("  while tuning %.0f to %.0f MHz, at most %.0f degrees Celsius\n",
               health->slowest, health->fastest, health->hottest);
    if (health->throttled)
        printf("  the device was throttled while %d results were taken: %s\n",
               health->throttled, health->by);
}

static void print_pruning(const struct mmt_profile *profile)
{
    if (profile->num_pruning)
        printf("\nestimates before measuring: rank correlation with the times\n");
    for (size_t i = 0; i < profile->num_pruning; i++) {
        const struct mmt_pruning *pruning = &profile->pruning[i];
        printf("  %s %s  %.2f of %d\n", mmt_type_name(pruning->type), pruning->template,
               pruning->correlation, pruning->samples);
    }
}

/* Which files were measured on something else than the device that is shown. */
static void print_layers(const struct mmt_profile *profile)
{
    for (size_t i = 0; i < profile->num_layers; i++) {
        const struct mmt_layer *layer = &profile->layers[i];
        const char *card = mmt_caps_other_card(&layer->caps, &profile->caps);
        char why[512];
        if (mmt_caps_foreign(&layer->caps, &profile->caps, why))
            printf("  %s: %s\n", layer->path, why);
        else if (card)
            printf("  %s: measured on %s\n", layer->path, card);
    }
}

static void print_head(const struct mmt_profile *profile)
{
    mmt_print_card(profile);
    printf("\n");
    if (*profile->citation) {
        printf("  %s, compiler %s\n  %s\n", profile->caps.architecture,
               profile->caps.compiler, profile->citation);
        return;
    }
    print_limits(&profile->caps);
    print_roofline(profile);
    print_made(profile);
    print_health(profile);
    print_layers(profile);
}

/* "2.931 ms +-0.012 ms, 46.9 TFLOP/s" */
static void print_time(const struct mmt_row *row)
{
    char time[32], spread[32], rate[32];
    printf("%10s", mmt_print_seconds(row->seconds, time));
    if (row->spread > 0)
        printf(" +-%s", mmt_print_seconds(row->spread, spread));
    printf("  %s", mmt_print_speed(row->problem, row->seconds, rate));
}

/* "  speed-up over cuBLAS 1.100, over its best 0.800" */
static void print_yardstick(const struct mmt_yardstick *it)
{
    if (!it->library[0])
        return;
    printf("  speed-up over %.*s %.3f", (int) strcspn(it->library, " "), it->library,
           it->first / it->ours);
    if (it->best > 0)
        printf(", over its best %.3f", it->best / it->ours);
}

static void print_entry(const struct mmt_row *row)
{
    const struct mmt_entry *entry = row->entry;
    print_time(row);
    if (entry->roofline > 0)
        printf("  %.1f %% of the roofline", 100 * entry->roofline);
    if (entry->naive > 0)
        printf("  %.3g times as fast as naive", entry->naive / entry->time.median);
    print_yardstick(&entry->yardstick);
    printf("\n            %s\n", row->name);
    if (entry->source[0])
        printf("            tried from %s\n", entry->source);
}

static void print_published(const struct mmt_row *row)
{
    print_time(row);
    printf("  %s%s (%s)\n", row->name, row->suspect ? " *" : "", row->published->where);
    if (row->suspect)
        printf("            * %s\n", row->published->note);
}

static void print_group(const struct mmt_group *group)
{
    printf("\n");
    mmt_print_problem(group->row->problem);
    printf("\n");
    for (size_t i = 0; i < group->count; i++)
        if (group->row[i].entry)
            print_entry(&group->row[i]);
        else
            print_published(&group->row[i]);
}

static void print_segment(const struct mmt_range *range, int i)
{
    struct mmt_text config = { 0 };
    mmt_config_print(&range->segments[i].config, &config);
    printf("  %10" PRId64 "  %8.1f %%  %s\n", range->segments[i].m_to,
           100 * mmt_range_slow_down(range, i, 0.5), mmt_text_string(&config));
    mmt_text_finish(&config);
}

static void print_range(const struct mmt_range *range)
{
    struct mmt_text name = { 0 };
    mmt_range_print(range, &name);
    printf("\n%s: at %d m, 95 %% are within %.1f %% of the best that was timed there\n",
           mmt_text_string(&name), range->num_times,
           100 * mmt_range_slow_down(range, -1, 0.95));
    printf("  %10s  %10s  kernel\n", "m up to", "slowdown");
    for (int i = 0; i < range->num_segments; i++)
        print_segment(range, i);
    mmt_text_finish(&name);
}

static void print_holdings(const struct mmt_profile *profile)
{
    struct mmt_text text = { 0 };
    mmt_holdings_print(profile, &text);
    if (text.length)
        printf("\nproducts, by type and transposes\n%s", mmt_text_string(&text));
    mmt_text_finish(&text);
}

static void print_standing(const struct mmt_profile *profile)
{
    struct mmt_standing standing = { 0 };
    struct mmt_text text = { 0 };
    for (size_t i = 0; i < profile->num_entries; i++)
        mmt_standing_add(&standing, &profile->entries[i]);
    if (!standing.count)
        return;
    mmt_standing_print(&standing, &text);
    printf("\n%s\n", mmt_text_string(&text));
    mmt_text_finish(&text);
}

static void print_verdicts(const struct mmt_profile *profile)
{
    size_t faster = 0, cooler = 0;
    double sum = 0;
    for (size_t i = 0; i < profile->num_verdicts; i++) {
        const struct mmt_verdict *it = &profile->verdicts[i];
        if (!mmt_verdict_is_for_ours(it))
            continue;
        faster++;
        cooler += it->theirs < (1 + MMT_FASTER_MARGIN) * it->ours;
        sum += log(it->theirs / it->ours);
    }
    if (!profile->num_verdicts)
        return;
    printf("\nverdicts on programs' calls: %zu, of them %zu for ours",
           profile->num_verdicts, faster);
    if (faster)
        printf("; there the speed-up is %.3f, a geometric mean",
               exp(sum / (double) faster));
    if (cooler)
        printf("; %zu as fast with less energy", cooler);
    printf("\n");
}

static void print_people(const struct mmt_rows *rows)
{
    print_head(rows->profile);
    for (size_t first = 0; first < rows->count;) {
        struct mmt_group group = mmt_rows_group(rows, first);
        print_group(&group);
        first += group.count;
    }
    for (size_t i = 0; i < rows->profile->num_ranges; i++)
        print_range(&rows->profile->ranges[i]);
    print_standing(rows->profile);
    print_verdicts(rows->profile);
    print_holdings(rows->profile);
    print_pruning(rows->profile);
    if (!rows->count)
        printf("\nno problem was tuned\n");
}

/* ---- for programs ---------------------------------------------------------------- */

static json_t *made_json(const struct mmt_profile *profile)
{
    return json_pack("{s:s, s:s, s:o, s:f, s:i, s:i, s:i, s:i}", "version",
                     profile->made.version, "date", profile->made.date, "seed",
                     json_sprintf("%llu", (unsigned long long) profile->made.seed),
                     "budget_s", profile->made.budget, "tried", profile->made.tried,
                     "skipped", profile->made.skipped, "wrong", profile->made.wrong,
                     "failed", profile->made.failed);
}

static json_t *health_json(const struct mmt_made_health *health)
{
    return json_pack("{s:f, s:f, s:f, s:i, s:s}", "hottest_celsius", health->hottest,
                     "slowest_mhz", health->slowest, "fastest_mhz", health->fastest,
                     "throttled", health->throttled, "throttled_by", health->by);
}

static json_t *pruning_json(const struct mmt_profile *profile)
{
    json_t *all = json_array();
    for (size_t i = 0; i < profile->num_pruning; i++) {
        const struct mmt_pruning *pruning = &profile->pruning[i];
        json_array_append_new(
            all, json_pack("{s:s, s:s, s:f, s:i}", "type", mmt_type_name(pruning->type),
                           "template", pruning->template, "rank_correlation",
                           pruning->correlation, "samples", pruning->samples));
    }
    return all;
}

static json_t *roofline_json(const struct mmt_profile *profile)
{
    json_t *json = json_object();
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        char key[32];
        snprintf(key, sizeof key, "%s_gflops", mmt_type_name(type));
        json_object_set_new(json, key,
                            json_real(profile->roofline.peak_flops[type] / 1e9));
        snprintf(key, sizeof key, "%s_spread", mmt_type_name(type));
        json_object_set_new(json, key, json_real(profile->roofline.peak_spread[type]));
    }
    json_object_set_new(json, "bandwidth_gbs",
                        json_real(profile->roofline.bandwidth / 1e9));
    json_object_set_new(json, "bandwidth_spread",
                        json_real(profile->roofline.bandwidth_spread));
    return json;
}

static json_t *kernel_json(const struct mmt_row *row)
{
    const struct mmt_yardstick *it = row->entry ? &row->entry->yardstick : NULL;
    json_t *json = mmt_row_json(row);
    if (!it || !it->library[0])
        return json;
    json_object_set_new(json, "library", json_string(it->library));
    json_object_set_new(json, "library_driver", json_string(it->driver));
    json_object_set_new(json, "speedup_over_library", json_real(it->first / it->ours));
    if (it->best > 0)
        json_object_set_new(json, "speedup_over_library_best",
                            json_real(it->best / it->ours));
    return json;
}

static json_t *group_json(const struct mmt_group *group)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < group->count; i++)
        json_array_append_new(kernels, kernel_json(&group->row[i]));
    return json_pack("{s:o, s:o, s:o}", "problem", mmt_problem_json(group->row->problem),
                     "best", kernel_json(mmt_group_best(group)), "kernels", kernels);
}

static json_t *ranges_json(const struct mmt_profile *profile)
{
    json_t *all = json_array();
    for (size_t i = 0; i < profile->num_ranges; i++)
        json_array_append_new(all, mmt_range_json(&profile->ranges[i]));
    return all;
}

static json_t *verdicts_json(const struct mmt_profile *profile)
{
    json_t *all = json_array();
    for (size_t i = 0; i < profile->num_verdicts; i++)
        json_array_append_new(all, mmt_verdict_json(&profile->verdicts[i]));
    return all;
}

static void print_programs(const struct mmt_rows *rows)
{
    json_t *problems = json_array();
    for (size_t first = 0; first < rows->count;) {
        struct mmt_group group = mmt_rows_group(rows, first);
        json_array_append_new(problems, group_json(&group));
        first += group.count;
    }
    json_t *root = json_pack("{s:o}", "device", mmt_card_json(rows->profile));
    if (!*rows->profile->citation) {
        json_object_set_new(root, "made", made_json(rows->profile));
        json_object_set_new(root, "roofline", roofline_json(rows->profile));
        json_object_set_new(root, "ranges", ranges_json(rows->profile));
        json_object_set_new(root, "verdicts", verdicts_json(rows->profile));
        json_object_set_new(root, "products", mmt_holdings_json(rows->profile));
        json_object_set_new(root, "guides", pruning_json(rows->profile));
        json_object_set_new(root, "health", health_json(&rows->profile->made.health));
    }
    json_object_set_new(root, "problems", problems);
    mmt_print_json(root);
}

/* ---- one shape ------------------------------------------------------------------- */

struct explain {
    struct mmt_words shapes; /* none: nothing is to be explained */
    mmt_op op;
    bool types[MMT_NUM_TYPES];
    unsigned transposes;
    bool some_op, some_types, some_transposes; /* that were given */
};

/* The problems that are asked for: one of each type and transposes. */
static mmt_status explain_all(const struct mmt_profile *profile,
                              const struct explain *asked, const struct mmt_shape *shape,
                              struct mmt_text *text, mmt_error *err)
{
    mmt_status status = MMT_OK;

    for (int i = 0; i < 4 * MMT_NUM_TYPES && status == MMT_OK; i++) {
        int type = i / 4, kind = i % 4;
        if (!asked->types[type] || !(asked->transposes & 1u << kind))
            continue;
        mmt_problem normal;
        mmt_problem problem = mmt_shape_problem(asked->op, (mmt_type) type, shape);
        problem.trans_a = 1 << kind == MMT_TN || 1 << kind == MMT_TT;
        problem.trans_b = 1 << kind == MMT_NT || 1 << kind == MMT_TT;
        status = mmt_problem_normalise(&problem, &normal, err);
        if (status == MMT_OK)
            status = mmt_explain(profile, &normal, &profile->caps, text, err);
        mmt_text_add(text, "\n");
    }
    return status;
}

static mmt_status check_shapes(const struct mmt_words *shapes, mmt_op op, mmt_error *err)
{
    struct mmt_shape shape;
    mmt_status status = MMT_OK;
    for (int i = 0; i < shapes->count && status == MMT_OK; i++)
        status = mmt_option_shape(shapes->each[i], op, &shape, err);
    return status;
}

static int explain_shapes(const char *verb, const char *path, const char *device,
                          const struct explain *asked)
{
    struct mmt_text text = { 0 };
    mmt_error err = { 0 };

    if (check_shapes(&asked->shapes, asked->op, &err) != MMT_OK)
        return mmt_wrong_usage(verb, "%s", err.text);
    struct mmt_profile *profile = mmt_profile_of(path, device, &err);
    if (!profile)
        return mmt_failed(verb, &err);
    mmt_status status = MMT_OK;
    for (int i = 0; i < asked->shapes.count && status == MMT_OK; i++) {
        struct mmt_shape shape;
        status = mmt_option_shape(asked->shapes.each[i], asked->op, &shape, &err);
        if (status == MMT_OK)
            status = explain_all(profile, asked, &shape, &text, &err);
    }
    printf("%s", mmt_text_string(&text));
    mmt_text_finish(&text);
    mmt_profile_free(profile);
    return status == MMT_OK ? MMT_EXIT_DONE : mmt_failed(verb, &err);
}

/* ---- the verb -------------------------------------------------------------------- */

/* -1 where the file is no bundle. */
static int show_bundle(const char *verb, const char *path, bool json)
{
    mmt_error err = { 0 }, why = { 0 };
    struct mmt_bundle *bundle = NULL;
    int code = -1;
    if (path && !mmt_bundle_load(path, &bundle, &why) && bundle &&
        !mmt_bundle_show(bundle, json, &why))
        code = MMT_EXIT_DONE;
    mmt_bundle_close(bundle);
    if (!why.status)
        return code;
    mmt_fail(&err, why.status, "'%s' cannot be shown: %s", path, why.text);
    return mmt_failed(verb, &err);
}

static int show_profile(const char *verb, const char *path, const char *device, bool json)
{
    mmt_error err = { 0 };
    struct mmt_rows rows;
    const int code = show_bundle(verb, path, json);
    if (code >= 0)
        return code;
    struct mmt_profile *profile = mmt_profile_of(path, device, &err);
    if (!profile || mmt_rows_collect(profile, &rows, &err)) {
        mmt_profile_free(profile);
        return mmt_failed(verb, &err);
    }
    if (json)
        print_programs(&rows);
    else
        print_people(&rows);
    mmt_rows_finish(&rows);
    mmt_profile_free(profile);
    return MMT_EXIT_DONE;
}

/* What the verb was asked for. */
struct request {
    const char *path, *device;
    struct explain asked;
    bool json;
};

/* Returns -1 where there is something to show, else the exit status. */
static int read_options(int argc, char **argv, struct request *request)
{
    struct explain *asked = &request->asked;
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_DEVICE,
          .out = &request->device,
          .what =
              "whose profile is shown, a number or id of `mmtune devices`; default: 0" },
        { .option = MMT_OPTION_EXPLAIN, .out = &asked->shapes },
        { .option = MMT_OPTION_OP,
          .out = &asked->op,
          .given = &asked->some_op,
          .what = "what the shapes of --explain are of: {}; default: gemm" },
        { .option = MMT_OPTION_TYPE,
          .out = asked->types,
          .given = &asked->some_types,
          .what = "explain for these: {}; default: f32" },
        { .option = MMT_OPTION_TRANSPOSES,
          .out = &asked->transposes,
          .given = &asked->some_transposes,
          .what = "explain for these: {}; default: nn" },
        { .option = MMT_OPTION_JSON, .out = &request->json },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 1 };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;
    request->path = optind < argc ? argv[optind] : NULL;
    if (request->path && request->device)
        return mmt_wrong_usage(argv[0],
                               "there is a file, '%s', and --device %s; it must be "
                               "one of them",
                               request->path, request->device);
    if (request->json && asked->shapes.count)
        return mmt_wrong_usage(argv[0], "--explain has no --json");
    if (!asked->shapes.count &&
        (asked->some_types || asked->some_transposes || asked->some_op))
        return mmt_wrong_usage(argv[0],
                               "--type, --transposes and --op go with --explain");
    return -1;
}

int mmt_verb_show(int argc, char **argv)
{
    struct request request = { .asked = { .types = { [MMT_F32] = true },
                                          .transposes = MMT_NN } };
    int exit = read_options(argc, argv, &request);
    if (exit < 0)
        exit = request.asked.shapes.count
                   ? explain_shapes(argv[0], request.path, request.device, &request.asked)
                   : show_profile(argv[0], request.path, request.device, request.json);
    mmt_words_finish(&request.asked.shapes);
    return exit;
}
