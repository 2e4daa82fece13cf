/* mmtune templates: the kernels, their knobs, and what of them a device can run. */
#include "tuner/common/options.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 20000 };

static const char about[] =
    "usage: mmtune templates [NAME...] [OPTION...]\n\n"
    "Lists the templates and their knobs, and with a device how many of their\n"
    "configurations are legal on it.\n";

/* ---- counting -------------------------------------------------------------------- */

/* Why configurations are refused: sentences with a static lifetime, so pointers tell them
 * apart but for equal words. */
struct reason {
    const char *why;
    uint64_t count;
};

struct census {
    uint64_t size, looked_at, legal;
    struct reason reasons[64];
    int num_reasons;
};

static void count_reason(struct census *census, const char *why)
{
    int i = 0;
    while (i < census->num_reasons && strcmp(census->reasons[i].why, why))
        i++;
    if (i == (int) (sizeof census->reasons / sizeof *census->reasons))
        return;
    if (i == census->num_reasons)
        census->reasons[census->num_reasons++].why = why;
    census->reasons[i].count++;
}

static int more_frequent(const void *left, const void *right)
{
    const struct reason *a = left, *b = right;
    return (a->count < b->count) - (a->count > b->count);
}

/* Looks at every configuration, or, where there are very many, at evenly spread ones: the
 * golden ratio's multiples fall evenly on every knob. */
static void take_census(const struct mmt_template *template, mmt_type type,
                        const struct mmt_caps *caps, struct census *census)
{
    struct mmt_variant variant = { .op = template->op,
                                   .type = type,
                                   .out = mmt_type_own_output(type),
                                   .aligned = true };
    struct mmt_config config;
    census->size = mmt_space_size(template);
    census->looked_at = census->size < 2000000 ? census->size : SAMPLES;
    for (uint64_t i = 0; i < census->looked_at; i++) {
        double part = (double) i * 0.61803398874989485;
        part -= (double) (uint64_t) part;
        mmt_space_at(template,
                     census->looked_at == census->size
                         ? i
                         : (uint64_t) (part * (double) census->size),
                     &config);
        const char *why = mmt_config_check_device(&config, &variant, caps);
        if (why)
            count_reason(census, why);
        else
            census->legal++;
    }
    qsort(census->reasons, (size_t) census->num_reasons, sizeof *census->reasons,
          more_frequent);
}

/* ---- for people ------------------------------------------------------------------ */

static void print_knob(const struct mmt_knob *knob)
{
    printf("  %-14s %s:", knob->name, knob->what);
    for (int i = 0; i < knob->num_values; i++) {
        if (knob->names)
            printf(" %s", knob->names[i]);
        else
            printf(" %d", knob->values[i]);
    }
    printf("\n");
}

static void print_census(const struct census *census, mmt_type type, bool why)
{
    double share = 100.0 * (double) census->legal / (double) census->looked_at;
    if (census->looked_at == census->size)
        printf("  %s: %llu of %llu configurations are legal (%.3g %%)\n",
               mmt_type_name(type), (unsigned long long) census->legal,
               (unsigned long long) census->size, share);
    else
        printf("  %s: about %.2g of %.2g configurations are legal (%.3g %% of %d looked "
               "at)\n",
               mmt_type_name(type), share / 100 * (double) census->size,
               (double) census->size, share, SAMPLES);
    for (int i = 0; why && i < census->num_reasons; i++)
        printf("  %7.3g %%  %s\n",
               100.0 * (double) census->reasons[i].count / (double) census->looked_at,
               census->reasons[i].why);
}

static void print_template(const struct mmt_template *template)
{
    const struct mmt_op_row *op = mmt_op_row(template->op);
    printf("%s", template->name);
    if (template->key)
        printf(" %s=%s, or %s", template->knobs->name, template->knobs->names[0],
               template->key);
    printf(": %s\n", template->what);
    if (template->op != MMT_GEMM)
        printf("  computes %s: %s\n", op->name, op->what);
    printf("  in %s, %s, %s;", template->file,
           template->dialects == MMT_CUDA_CXX   ? "CUDA"
           : template->dialects == MMT_OPENCL_C ? "OpenCL"
                                                : "CUDA and OpenCL",
           template->preferred_on == MMT_GPU   ? "meant for GPUs"
           : template->preferred_on == MMT_CPU ? "meant for CPUs"
           : template->preferred_on            ? "meant for GPUs and CPUs"
                                               : "tried only where it is named");
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        if (template->types & 1u << type)
            printf(" %s", mmt_type_name(type));
    printf("\n");
    for (int i = 0; i < template->num_knobs; i++)
        print_knob(&template->knobs[i]);
}

/* ---- for programs ---------------------------------------------------------------- */

static json_t *knob_json(const struct mmt_knob *knob)
{
    json_t *values = json_array();
    for (int i = 0; i < knob->num_values; i++)
        json_array_append_new(values, knob->names ? json_string(knob->names[i])
                                                  : json_integer(knob->values[i]));
    return json_pack("{s:s, s:s, s:o}", "name", knob->name, "what", knob->what, "values",
                     values);
}

static json_t *template_json(const struct mmt_template *template)
{
    json_t *knobs = json_array();
    for (int i = 0; i < template->num_knobs; i++)
        json_array_append_new(knobs, knob_json(&template->knobs[i]));
    struct mmt_hash of_text;
    char hash[33] = ""; /* stays so where the text cannot be read */
    if (!mmt_template_hash(template, &of_text, NULL))
        mmt_hash_print(of_text, hash);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:f}", "name", template->name,
                     "key", mmt_template_key(template), "op",
                     mmt_op_row(template->op)->name, "what", template->what, "file",
                     template->file, "hash", hash, "knobs", knobs, "configurations",
                     (double) mmt_space_size(template));
}

static json_t *census_json(const struct census *census, bool why)
{
    json_t *out = json_pack("{s:I, s:I}", "looked_at", (json_int_t) census->looked_at,
                            "legal", (json_int_t) census->legal);
    json_t *reasons = json_object();
    for (int i = 0; i < census->num_reasons; i++)
        json_object_set_new(reasons, census->reasons[i].why,
                            json_integer((json_int_t) census->reasons[i].count));
    if (why)
        json_object_set(out, "reasons", reasons);
    json_decref(reasons);
    return out;
}

/* ---- the verb -------------------------------------------------------------------- */

struct request {
    const char *device;
    bool types[MMT_NUM_TYPES];
    bool why, json;
};

static json_t *show_template(const struct mmt_template *template,
                             const struct request *request, const struct mmt_caps *caps)
{
    json_t *json = request->json ? template_json(template) : NULL;
    json_t *legal = json ? json_object() : NULL;
    if (!json)
        print_template(template);
    for (int type = 0; caps && type < MMT_NUM_TYPES; type++) {
        struct census census = { 0 };
        if (!request->types[type] || !(template->types & 1u << type))
            continue;
        take_census(template, type, caps, &census);
        if (json)
            json_object_set_new(legal, mmt_type_name(type),
                                census_json(&census, request->why));
        else
            print_census(&census, type, request->why);
    }
    if (json)
        json_object_set_new(json, "legal", legal);
    else
        printf("\n");
    return json;
}

static void show_all(const struct mmt_words *names, const struct request *request,
                     const struct mmt_caps *caps)
{
    json_t *all = request->json ? json_array() : NULL;
    for (int i = 0; i < (names->count ? names->count : 1); i++)
        for (int t = 0; mmt_templates[t]; t++) {
            if (names->count && !mmt_template_is(mmt_templates[t], names->each[i]))
                continue;
            json_t *one = show_template(mmt_templates[t], request, caps);
            if (all)
                json_array_append_new(all, one);
        }
    if (!all)
        return;
    json_dumpf(all, stdout, JSON_INDENT(2));
    printf("\n");
    json_decref(all);
}

static mmt_status take_name(void *names, const char *name, mmt_error *err)
{
    const char *known = mmt_config_template_name(name, err);
    return known ? mmt_words_take(names, known, err) : err->status;
}

/* The words are lists of names. */
static int show(const struct request *request, char **words, int count, const char *verb)
{
    struct mmt_words names = { 0 };
    mmt_device *device = NULL;
    mmt_error err = { 0 };
    mmt_status status = MMT_OK;
    for (int i = 0; i < count && !status; i++)
        status = mmt_option_each(words[i], &names, take_name, &err);
    if (!status && request->device && !(device = mmt_device_open(request->device, &err)))
        status = err.status;
    if (!status)
        show_all(&names, request, device ? mmt_device_caps(device) : NULL);
    mmt_device_close(device);
    mmt_words_finish(&names);
    return status ? mmt_failed_or_usage(verb, &err) : MMT_EXIT_DONE;
}

int mmt_verb_templates(int argc, char **argv)
{
    struct request request = { .types = { [MMT_F32] = true } };
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_DEVICE,
          .out = &request.device,
          .what = "a number or id of `mmtune devices`; default: none, with --why 0" },
        { .option = MMT_OPTION_TYPE,
          .out = request.types,
          .what = "count for these: {}; default: f32" },
        { .option = MMT_OPTION_WHY, .out = &request.why },
        { .option = MMT_OPTION_JSON, .out = &request.json },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), INT_MAX };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;
    if (request.why && !request.device)
        request.device = "0";
    return show(&request, argv + optind, argc - optind, argv[0]);
}
