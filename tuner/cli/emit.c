/* mmtune emit */
#include "base/file.h"
#include "tuner/common/options.h"

#include <stdio.h>
#include <string.h>

enum {
    DIALECT = 'd',
    TYPE = 't',
    TRANSPOSES = 256,
    OUT,
    BIAS,
    ACTIVATION,
    UNALIGNED,
    OUTPUT = 'o',
    HELP = 'h',
};

static const struct option options[] = {
    { "dialect", required_argument, NULL, DIALECT },
    { "type", required_argument, NULL, TYPE },
    { "transposes", required_argument, NULL, TRANSPOSES },
    { "out", required_argument, NULL, OUT },
    { "bias", required_argument, NULL, BIAS },
    { "activation", required_argument, NULL, ACTIVATION },
    { "unaligned", no_argument, NULL, UNALIGNED },
    { "kind", required_argument, NULL, 'k' },
    { "output", required_argument, NULL, OUTPUT },
    { "help", no_argument, NULL, HELP },
    { 0 },
};

static int print_emit_help(void)
{
    printf(
        "usage: mmtune emit CONFIGURATION [OPTION...]\n\n"
        "Prints the source of one configuration, such as 'simt TILE_M=128', which\n"
        "compiles outside mmtune. Knobs that are not named have the values of the first\n"
        "starting point that serves the type.\n\n"
        "  --dialect cuda|opencl    default: what the template is written for\n"
        "  --type TYPE              f32, bf16 and so on; default: f32\n"
        "  --out TYPE               C's, where the type has a choice; default: its own\n"
        "  --bias row|column        added to C; default: none\n"
        "  --activation NAME        relu, gelu, gelu_tanh or silu; default: none\n"
        "  --transposes nn|nt|tn|tt default: nn\n"
        "  --unaligned              the source for operands of any alignment\n"
        "  --kind gpu|cpu           what it is to run on; default: the template's first\n"
        "  -o, --output FILE        instead of standard output\n");
    return MMT_EXIT_DONE;
}

struct request {
    struct mmt_config config;
    mmt_type type;
    struct mmt_epilogue epilogue;
    bool trans_a, trans_b, unaligned;
    unsigned dialect, kind; /* 0: whatever the template is for */
    const char *output;
};

static mmt_status read_word(const char *option, const char *given, const char *first,
                            unsigned first_bit, const char *second, unsigned second_bit,
                            unsigned *out, mmt_error *err)
{
    *out = !strcmp(given, first) ? first_bit : !strcmp(given, second) ? second_bit : 0;
    if (*out)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_ARGUMENT, "--%s is '%s'; it is %s or %s", option,
                    given, first, second);
}

static mmt_status read_transposes(const char *given, struct request *request,
                                  mmt_error *err)
{
    unsigned bits;
    mmt_status status = mmt_option_transposes(given, &bits, err);
    if (status)
        return status;
    if (bits & (bits - 1))
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--transposes is '%s'; one source has one pair: nn, nt, tn or tt",
                        given);
    request->trans_a = bits & (MMT_TN | MMT_TT);
    request->trans_b = bits & (MMT_NT | MMT_TT);
    return MMT_OK;
}

static mmt_status read_option(int option, struct request *request, mmt_error *err)
{
    switch (option) {
    case DIALECT:
        return read_word("dialect", optarg, "cuda", MMT_CUDA_CXX, "opencl", MMT_OPENCL_C,
                         &request->dialect, err);
    case 'k':
        return read_word("kind", optarg, "gpu", MMT_GPU, "cpu", MMT_CPU, &request->kind,
                         err);
    case TYPE:
        return mmt_option_type(optarg, &request->type, err);
    case TRANSPOSES:
        return read_transposes(optarg, request, err);
    case OUT:
        return mmt_option_epilogue("out", optarg, &request->epilogue, err);
    case BIAS:
        return mmt_option_epilogue("bias", optarg, &request->epilogue, err);
    case ACTIVATION:
        return mmt_option_epilogue("activation", optarg, &request->epilogue, err);
    case UNALIGNED:
        request->unaligned = true;
        return MMT_OK;
    default:
        request->output = optarg;
        return MMT_OK;
    }
}

/* The dialect and kind that were not asked for. */
static mmt_status fill_in(struct request *request, mmt_error *err)
{
    const struct mmt_template *template = request->config.template;
    if (!request->dialect)
        request->dialect =
            template->dialects & MMT_CUDA_CXX ? MMT_CUDA_CXX : MMT_OPENCL_C;
    if (!request->kind)
        request->kind = template->kinds == MMT_CPU ? MMT_CPU : MMT_GPU;
    if (!(template->dialects & request->dialect))
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "the template %s is written for %s alone", template->name,
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

/* Nothing is known of the device, so that nothing of it rules a starting point out. */
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
    struct mmt_caps any = { .dialect = request->dialect,
                            .kind = request->kind,
                            .architecture = "sm_90a",
                            .sm = 90,
                            .f64 = true };
    return mmt_config_parse_for(words, problem, &any, &request->config, err);
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
    return mmt_emit(&request->config, &variant, request->dialect, request->kind, text,
                    err);
}

static mmt_status write_text(const struct mmt_text *text, const char *output,
                             mmt_error *err)
{
    if (output)
        return mmt_file_replace(output, text->data, text->length, err);
    fwrite(text->data, 1, text->length, stdout); /* main tells where that fails */
    return MMT_OK;
}

int mmt_verb_emit(int argc, char **argv)
{
    struct request request = { .epilogue = MMT_EPILOGUE_NONE };
    struct mmt_text text = { 0 };
    mmt_error err = { 0 };
    for (int option; (option = mmt_option_next(argc, argv, options)) != -1;) {
        if (option == '?')
            return MMT_EXIT_USAGE;
        if (option == HELP)
            return print_emit_help();
        if (read_option(option, &request, &err))
            return mmt_failed_or_usage(argv[0], &err);
    }
    if (optind == argc)
        return mmt_wrong_usage(argv[0], "which configuration? such as 'tiled TILE=32'");
    mmt_status status = emit_config(argv + optind, argc - optind, &request, &text, &err);
    if (!status)
        status = write_text(&text, request.output, &err);
    mmt_text_finish(&text);
    return status ? mmt_failed_or_usage(argv[0], &err) : MMT_EXIT_DONE;
}
