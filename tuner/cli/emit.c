/* mmtune emit */
#include "base/file.h"
#include "tuner/common/options.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char about[] =
    "usage: mmtune emit CONFIGURATION [OPTION...]\n\n"
    "Prints the source text of one configuration, such as 'simt TILE_M=128', which\n"
    "compiles outside mmtune. Knobs that are not named have the values of the first\n"
    "starting point that serves the type.\n";

struct request {
    struct mmt_config config;
    mmt_type type;
    struct mmt_epilogue epilogue;
    bool trans_a, trans_b, unaligned;
    unsigned dialect, kind; /* 0: whatever the template is for */
    const char *output;
};

static mmt_status read_type(const struct mmt_take *take, const char *value,
                            mmt_error *err)
{
    return mmt_option_type(value, take->out, err);
}

static mmt_status read_transposes(const struct mmt_take *take, const char *value,
                                  mmt_error *err)
{
    struct request *request = take->out;
    unsigned bits;
    mmt_status status = mmt_option_transposes(value, &bits, err);
    if (status)
        return status;
    if (bits & (bits - 1))
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--transposes is '%s'; one text has one pair: nn, nt, tn or tt",
                        value);
    request->trans_a = bits & (MMT_TN | MMT_TT);
    request->trans_b = bits & (MMT_NT | MMT_TT);
    return MMT_OK;
}

static const char *const dialects[] = { "cuda", "opencl", NULL };
static const char *const kinds[] = { "gpu", "cpu", NULL };

/* Both have a bit for each, in this order. */
static mmt_status read_bit(const struct mmt_take *take, const char *value, mmt_error *err)
{
    int which = 0;
    mmt_status status = mmt_option_choice(take, value, &which, err);
    if (!status)
        *(unsigned *) take->out = 1u << which;
    return status;
}

/* The dialect and kind that were not asked for. */
static mmt_status fill_in(struct request *request, mmt_error *err)
{
    const struct mmt_template *template = request->config.template;
    if (!request->dialect)
        request->dialect =
            template->dialects & MMT_CUDA_CXX ? MMT_CUDA_CXX : MMT_OPENCL_C;
    if (!request->kind)
        request->kind = template->preferred_on == MMT_CPU ? MMT_CPU : MMT_GPU;
    if (!(template->dialects & request->dialect))
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s is written for %s alone",
                        mmt_template_key(template),
                        request->dialect == MMT_CUDA_CXX ? "OpenCL" : "CUDA");
    return MMT_OK;
}

/* The source is the same for every shape; a starting point may be for large ones. */
static mmt_status make_problem(const struct request *request, mmt_problem *problem,
                               mmt_error *err)
{
    *problem =
        mmt_op_problem(request->config.template->op, request->type, 1024, 1024, 1024);
    problem->trans_a = request->trans_a;
    problem->trans_b = request->trans_b;
    mmt_epilogue_apply(&request->epilogue, problem);
    return mmt_problem_normalise(problem, problem, err);
}

/* No limit of it is known, so that none rules a configuration out. */
static struct mmt_caps any_device(const struct request *request)
{
    return (struct mmt_caps){ .dialect = request->dialect,
                              .kind = request->kind,
                              .architecture = "sm_90a",
                              .sm = 90,
                              .f64 = true,
                              .subgroups = ~0u,
                              .dpas = ~0u };
}

static mmt_status read_configuration(const char *words, struct request *request,
                                     mmt_problem *problem, mmt_error *err)
{
    mmt_status status = mmt_config_parse(words, &request->config, err);
    if (!status)
        status = fill_in(request, err);
    if (!status)
        status = make_problem(request, problem, err);
    if (status)
        return status;
    const struct mmt_caps any = any_device(request);
    return mmt_config_parse_for(words, problem, &any, &request->config, err);
}

/* Whether values that the text has are auto: other shapes make others. */
static bool is_open(const struct request *request, const mmt_problem *problem,
                    const struct mmt_caps *any)
{
    const struct mmt_config *config = &request->config;
    const struct mmt_config closed = mmt_config_resolve(config, problem, any);
    bool open = false;
    for (int i = 0; i < config->template->num_knobs; i++)
        open |= closed.values[i] != config->values[i] &&
                !config->template->knobs[i].launch_time;
    return open;
}

/* Refuses what no device of that kind and dialect can run, whatever its limits are. */
static mmt_status check_shape(const struct request *request, const mmt_problem *problem,
                              const struct mmt_variant *variant, mmt_error *err)
{
    const struct mmt_caps any = any_device(request);
    const char *why = mmt_config_check_device(&request->config, variant, &any);
    struct mmt_text config = { 0 };
    if (!why || is_open(request, problem, &any))
        return MMT_OK;
    mmt_config_print(&request->config, &config);
    mmt_fail(err, MMT_ERROR_UNSUPPORTED, "no %s can run %s: %s",
             request->kind == MMT_CPU ? "CPU" : "GPU", mmt_text_string(&config), why);
    mmt_text_finish(&config);
    return err->status;
}

/* The words that are no options are one configuration, quoted or not. */
static mmt_status emit_config(char **words, int count, struct request *request,
                              struct mmt_text *text, mmt_error *err)
{
    struct mmt_text all = { 0 };
    mmt_problem problem;
    for (int i = 0; i < count; i++)
        mmt_text_addf(&all, "%s%s", i ? " " : "", words[i]);
    mmt_status status = read_configuration(mmt_text_string(&all), request, &problem, err);
    mmt_text_finish(&all);
    if (status)
        return status;
    struct mmt_variant variant = mmt_variant_of(&problem, !request->unaligned);
    status =
        mmt_emit(&request->config, &variant, request->dialect, request->kind, text, err);
    return status ? status : check_shape(request, &problem, &variant, err);
}

static mmt_status write_text(const struct mmt_text *text, const char *output,
                             mmt_error *err)
{
    if (output)
        return mmt_file_replace(output, text->data, text->length, err);
    fwrite(text->data, 1, text->length, stdout); /* main tells where that fails */
    return MMT_OK;
}

static int read_options(int argc, char **argv, struct request *request)
{
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_DIALECT,
          .out = &request->dialect,
          .words = dialects,
          .read = read_bit },
        { .option = MMT_OPTION_TYPE,
          .out = &request->type,
          .value = "TYPE",
          .what = "one of {}; default: f32",
          .read = read_type },
        { .option = MMT_OPTION_OUT, .out = &request->epilogue },
        { .option = MMT_OPTION_BIAS, .out = &request->epilogue },
        { .option = MMT_OPTION_ACTIVATION, .out = &request->epilogue },
        { .option = MMT_OPTION_BATCH_BY, .out = &request->epilogue },
        { .option = MMT_OPTION_TRANSPOSES,
          .out = request,
          .value = "PAIR",
          .what = "one of {}: A first, t is transposed; default: nn",
          .read = read_transposes },
        { .option = MMT_OPTION_UNALIGNED, .out = &request->unaligned },
        { .option = MMT_OPTION_KIND,
          .out = &request->kind,
          .words = kinds,
          .read = read_bit },
        { .option = MMT_OPTION_OUTPUT, .out = &request->output },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), INT_MAX };
    return mmt_command_read(&command, argc, argv);
}

int mmt_verb_emit(int argc, char **argv)
{
    struct request request = { .epilogue = MMT_EPILOGUE_NONE };
    struct mmt_text text = { 0 };
    mmt_error err = { 0 };
    const int code = read_options(argc, argv, &request);
    if (code >= 0)
        return code;
    if (optind == argc)
        return mmt_wrong_usage(argv[0], "which configuration? such as 'tiled TILE=32'");
    mmt_status status = emit_config(argv + optind, argc - optind, &request, &text, &err);
    if (!status)
        status = write_text(&text, request.output, &err);
    mmt_text_finish(&text);
    return status ? mmt_failed_or_usage(argv[0], &err) : MMT_EXIT_DONE;
}
