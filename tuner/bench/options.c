#include "tuner/bench/options.h"

#include <stdlib.h>
#include <string.h>

enum {
    AGAINST = 256,
    SUITE,
    OUT,
    SHAPE,
    TRANSPOSES,
    LD,
    PROFILE,
    SECONDS,
    SEED,
    CSV,
    JSON,
    TUNED,
    EFFORT
};

static const struct option table[] = {
    { "device", required_argument, NULL, 'd' },
    { "against", required_argument, NULL, AGAINST },
    { "clblast-tuned", required_argument, NULL, TUNED },
    { "suite", required_argument, NULL, SUITE },
    { "shape", required_argument, NULL, SHAPE },
    { "type", required_argument, NULL, 't' },
    { "out", required_argument, NULL, OUT },
    { "transposes", required_argument, NULL, TRANSPOSES },
    { "ld", required_argument, NULL, LD },
    { "profile", required_argument, NULL, PROFILE },
    { "configuration", required_argument, NULL, 'c' },
    { "effort", required_argument, NULL, EFFORT },
    { "seconds", required_argument, NULL, SECONDS },
    { "seed", required_argument, NULL, SEED },
    { "csv", required_argument, NULL, CSV },
    { "json", no_argument, NULL, JSON },
    { "help", no_argument, NULL, 'h' },
    { 0 },
};

static int print_bench_help(void)
{
    printf(
        "usage: mmtune bench [OPTION...]\n\n"
        "Times our kernels and other libraries' in turn, on the same random data, in\n"
        "buffers that are rotated past the last-level cache. Every answer is checked\n"
        "before it is timed. A ratio is mmtune's speed-up: above 1, it is faster.\n\n"
        "  -d, --device DEVICE     default: 0\n"
        "  --against LIST          of cublas,clblast,openblas, which must be there;\n"
        "                          or none; default: those that are there\n"
        "  --clblast-tuned FOLDER  CLBlast with what its own tuners wrote there\n"
        "                          (clblast_xgemm*.json)\n"
        "  --suite LIST            of those that `mmtune suites` lists\n"
        "  --shape LIST            of MxNxK or MxNxKxBATCH, or @FILE with one a line;\n"
        "                          default: the suite 'default'\n"
        "  -t, --type LIST         of f32,f64,i32,bf16,f16,tf32,f8e4m3,f8e5m2,i8;\n"
        "                          default: f32\n"
        "  --out TYPE              C's, where a type has a choice; default: its own\n"
        "  --transposes LIST       of nn,nt,tn,tt; default: nn\n"
        "  --ld LIST               of tight,odd: leading dimensions without gap, or odd\n"
        "                          ones that leave no row aligned; default: tight\n"
        "  --profile FILE          or none: the defaults, whatever there is; default:\n"
        "                          the device's own, or else the defaults\n"
        "  -c, --configuration C   this one instead of what the profile selects\n"
        "  --effort NAME           estimate, or measure: plans time the kernels that\n"
        "                          promise most; default: estimate\n"
        "  --seconds NUMBER        for each library and problem; default: 1\n"
        "  --seed NUMBER           of the data; default: 1\n"
        "  --csv FILE              also writes a line for each library and problem\n"
        "  --json                  one JSON document instead of the table\n");
    return MMT_EXIT_DONE;
}

/* ---- lists
 * ------------------------------------------------------------------------------
 */

static mmt_status take_reference(void *self, const char *piece, mmt_error *err)
{
    struct mmt_bench_options *options = self;
    const struct mmt_reference *reference = mmt_reference_find(piece, err);
    if (!reference)
        return MMT_ERROR_ARGUMENT;
    for (int i = 0; i < options->num_references; i++)
        if (options->references[i] == reference)
            return MMT_OK;
    options->references[options->num_references++] = reference;
    return MMT_OK;
}

static mmt_status read_against(struct mmt_bench_options *options, const char *list,
                               mmt_error *err)
{
    options->named = true;
    return strcmp(list, "none") ? mmt_option_each(list, options, take_reference, err)
                                : MMT_OK;
}

static mmt_status add_shapes(struct mmt_bench_options *options,
                             const struct mmt_shape *shapes, int count, mmt_error *err)
{
    size_t total = (size_t) (options->num_shapes + count);
    struct mmt_shape *all = realloc(options->shapes, total * sizeof *all);

    if (!all)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %zu shapes", total);
    memcpy(all + options->num_shapes, shapes, (size_t) count * sizeof *all);
    options->shapes = all;
    options->num_shapes = (int) total;
    return MMT_OK;
}

static mmt_status take_suite(void *self, const char *piece, mmt_error *err)
{
    struct mmt_bench_options *options = self;
    if (!strcmp(piece, "default")) {
        options->usual = true;
        return MMT_OK;
    }
    const struct mmt_suite *suite = mmt_suite_find(piece, err);
    return suite ? add_shapes(options, suite->shapes, suite->count, err)
                 : MMT_ERROR_ARGUMENT;
}

static mmt_status read_shapes(struct mmt_bench_options *options, const char *list,
                              mmt_error *err)
{
    struct mmt_words words = { 0 };
    struct mmt_shape shape;
    mmt_status status = mmt_option_shapes(list, &words, err);
    for (int i = 0; i < words.count && status == MMT_OK; i++) {
        status = mmt_option_shape(words.each[i], MMT_GEMM, &shape, err);
        if (status == MMT_OK)
            status = add_shapes(options, &shape, 1, err);
    }
    mmt_words_finish(&words);
    return status;
}

static mmt_status read_seconds(struct mmt_bench_options *options, const char *string,
                               mmt_error *err)
{
    char *end;
    double value = strtod(string, &end);
    if (end == string || *end || !(value > 0) || value > 1e6)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--seconds is '%s'; it must be a number above 0, up to 1000000",
                        string);
    options->seconds = value;
    return MMT_OK;
}

static mmt_status read_effort(struct mmt_bench_options *options, const char *name,
                              mmt_error *err)
{
    const bool measure = !strcmp(name, "measure");
    options->effort = measure ? MMT_EFFORT_MEASURE : MMT_EFFORT_ESTIMATE;
    if (measure || !strcmp(name, "estimate"))
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_ARGUMENT,
                    "--effort is '%s'; it must be estimate or measure", name);
}

/* ---- options
 * -------------------------------------------------------------------------------
 */

static mmt_status read_option(int option, struct mmt_bench_options *options,
                              mmt_error *err)
{
    switch (option) {
    case AGAINST:
        return read_against(options, optarg, err);
    case SUITE:
        return mmt_option_each(optarg, options, take_suite, err);
    case SHAPE:
        return read_shapes(options, optarg, err);
    case 't':
        return mmt_option_types(optarg, options->types, err);
    case OUT:
        return mmt_option_epilogue("out", optarg, &options->epilogue, err);
    case TRANSPOSES:
        return mmt_option_transposes(optarg, &options->transposes, err);
    case LD:
        return mmt_option_ld_padding(optarg, options->ld_padding, err);
    case SECONDS:
        return read_seconds(options, optarg, err);
    case EFFORT:
        return read_effort(options, optarg, err);
    case SEED:
        return mmt_option_number("--seed", optarg, 0, INT64_MAX, &options->seed, err);
    case 'd':
        options->device = optarg;
        return MMT_OK;
    case PROFILE:
        options->no_profile = !strcmp(optarg, "none");
        options->profile = options->no_profile ? NULL : optarg;
        return MMT_OK;
    case 'c':
        options->configuration = optarg;
        return MMT_OK;
    case TUNED:
        options->parameters = optarg;
        return MMT_OK;
    case CSV:
        options->csv = optarg;
        return MMT_OK;
    default:
        options->json = true;
        return MMT_OK;
    }
}

static void fill_in(struct mmt_bench_options *options)
{
    bool any = false;
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        any |= options->types[type];
    if (!any)
        options->types[MMT_F32] = true;
    if (!options->ld_padding[0] && !options->ld_padding[1])
        options->ld_padding[0] = true;
    if (!options->num_shapes)
        options->usual = true;
    for (int i = 0; !options->named && mmt_references[i]; i++)
        options->references[options->num_references++] = mmt_references[i];
}

int mmt_bench_read_options(int argc, char **argv, struct mmt_bench_options *out)
{
    mmt_error err = { 0 };
    int code = -1;

    *out = (struct mmt_bench_options){
        .transposes = MMT_NN, .seconds = 1, .seed = 1, .epilogue = MMT_EPILOGUE_NONE
    };
    for (int option; code < 0 && (option = mmt_option_next(argc, argv, table)) != -1;) {
        if (option == '?')
            code = MMT_EXIT_USAGE;
        else if (option == 'h')
            code = print_bench_help();
        else if (read_option(option, out, &err))
            code = mmt_failed_or_usage(argv[0], &err);
    }
    if (code < 0 && optind < argc)
        code = mmt_wrong_usage(argv[0], "'%s' is one word too many", argv[optind]);
    if (code < 0)
        fill_in(out);
    else
        mmt_bench_free_options(out);
    return code;
}

void mmt_bench_free_options(struct mmt_bench_options *options)
{
    free(options->shapes);
    options->shapes = NULL;
}
