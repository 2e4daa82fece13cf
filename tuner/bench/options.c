/* Reads the options of `mmtune bench`: what is not given stays as the caller's defaults
 * have it. */
#include "tuner/bench/options.h"

#include <stdlib.h>
#include <string.h>

static const char about[] =
    "usage: mmtune bench [OPTION...]\n\n"
    "Times our kernels and other libraries' in turn, on the same random data, in\n"
    "buffers that are rotated past the last-level cache. Every answer is checked\n"
    "before it is timed. A ratio is their time over ours: above 1, we are faster.\n";

/* ---- lists ----------------------------------------------------------------------- */

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

static mmt_status read_against(const struct mmt_take *take, const char *value,
                               mmt_error *err)
{
    return strcmp(value, "none") ? mmt_option_each(value, take->out, take_reference, err)
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

static mmt_status take_shape(void *self, const char *piece, mmt_error *err)
{
    struct mmt_shape shape;
    mmt_status status = mmt_option_shape(piece, MMT_GEMM, &shape, err);
    return status ? status : add_shapes(self, &shape, 1, err);
}

/* ---- words and numbers ----------------------------------------------------------- */

static mmt_status check_seconds(const struct mmt_bench_options *options, mmt_error *err)
{
    if (options->seconds > 0)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_ARGUMENT,
                    "--seconds is 0; it must be more than 0 s, such as 20ms");
}

static mmt_status read_profile(const struct mmt_take *take, const char *value,
                               mmt_error *err)
{
    struct mmt_bench_options *options = take->out;
    options->no_profile = !strcmp(value, "none");
    options->profile = options->no_profile ? NULL : value;
    return MMT_OK;
}

static const char *const efforts[] = { "estimate", "measure", NULL };

static mmt_status read_effort(const struct mmt_take *take, const char *value,
                              mmt_error *err)
{
    int which = 0;
    mmt_status status = mmt_option_choice(take, value, &which, err);
    *(mmt_effort *) take->out = which ? MMT_EFFORT_MEASURE : MMT_EFFORT_ESTIMATE;
    return status;
}

/* ---- options --------------------------------------------------------------------- */

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

static int read_options(int argc, char **argv, struct mmt_bench_options *o)
{
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_DEVICE, .out = &o->device },
        { .option = MMT_OPTION_AGAINST,
          .out = o,
          .given = &o->named,
          .words = mmt_reference_words(),
          .read = read_against },
        { .option = MMT_OPTION_CLBLAST_TUNED, .out = &o->parameters },
        { .option = MMT_OPTION_SUITE,
          .out = o,
          .words = mmt_suite_words(),
          .each = take_suite },
        { .option = MMT_OPTION_SHAPE,
          .out = o,
          .what = "of MxNxK, or MxNxKxBATCH for a batch; default: the suite 'default'",
          .each = take_shape },
        { .option = MMT_OPTION_TYPE, .out = o->types },
        { .option = MMT_OPTION_OUT, .out = &o->epilogue },
        { .option = MMT_OPTION_TRANSPOSES, .out = &o->transposes },
        { .option = MMT_OPTION_LD, .out = o->ld_padding },
        { .option = MMT_OPTION_PROFILE,
          .out = o,
          .what = "whose kernels are timed, or none: the defaults, whatever there is; "
                  "default: the device's own, or else the defaults",
          .read = read_profile },
        { .option = MMT_OPTION_CONFIGURATION, .out = &o->configuration },
        { .option = MMT_OPTION_EFFORT,
          .out = &o->effort,
          .words = efforts,
          .read = read_effort },
        { .option = MMT_OPTION_SECONDS, .out = &o->seconds },
        { .option = MMT_OPTION_SEED, .out = &o->seed },
        { .option = MMT_OPTION_CSV, .out = &o->csv },
        { .option = MMT_OPTION_JSON, .out = &o->json },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 0 };
    mmt_error err = { 0 };
    const int code = mmt_command_read(&command, argc, argv);
    return code < 0 && check_seconds(o, &err) ? mmt_failed_or_usage(argv[0], &err) : code;
}

int mmt_bench_read_options(int argc, char **argv, struct mmt_bench_options *out)
{
    *out = (struct mmt_bench_options){
        .transposes = MMT_NN, .seconds = 1, .seed = 1, .epilogue = MMT_EPILOGUE_NONE
    };
    const int code = read_options(argc, argv, out);
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
