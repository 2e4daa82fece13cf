/* mmtune bundle */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tuner/bundle/make.h"
#include "tuner/common/suites.h"

static const char about[] =
    "usage: mmtune bundle -o FILE [OPTION...]\n\n"
    "Writes one file of profiles and compiled kernels, which a program ships in place\n"
    "of a profile: planning with it needs no compiler, and writes nothing. It has the\n"
    "kernels of the problems that are listed, and for all other shapes of their types\n"
    "and transposes those that the law of time names. For CUDA neither a card nor a\n"
    "driver need be here, but NVRTC; newer cards are served by PTX. Of OpenCL it holds\n"
    "what the driver of the device here makes, for that very driver.\n";

static mmt_status take_suite(void *suites, const char *name, mmt_error *err)
{
    return !strcmp(name, "default") || mmt_suite_find(name, err)
               ? mmt_words_take(suites, name, err)
               : err->status;
}

/* Returns -1 where there is something to make, else the exit status. */
static int read_options(int argc, char **argv, struct mmt_bundle_options *o)
{
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_DEVICE,
          .out = &o->device,
          .what = "for which it is made, a number or id of `mmtune devices`; default: "
                  "0, where neither --arch nor --profile is named" },
        { .option = MMT_OPTION_ARCH, .out = &o->archs },
        { .option = MMT_OPTION_PROFILE,
          .out = &o->profiles,
          .value = "LIST",
          .what = "of files: whose kernels are taken, for such cards; default: the "
                  "device's own, and none for --arch, which then serves any card of it",
          .each = mmt_words_take },
        { .option = MMT_OPTION_RECORDED,
          .out = &o->recorded,
          .what = "list what programs computed on the device" },
        { .option = MMT_OPTION_OP,
          .out = &o->op,
          .what = "what the problems are of: {}; default: gemm" },
        { .option = MMT_OPTION_TYPE,
          .out = o->types,
          .given = &o->some_types,
          .what = "of {}; default: f32 of shapes, and all of profiles" },
        { .option = MMT_OPTION_OUT, .out = &o->epilogue },
        { .option = MMT_OPTION_BIAS, .out = &o->epilogue },
        { .option = MMT_OPTION_ACTIVATION, .out = &o->epilogue },
        { .option = MMT_OPTION_SHAPE, .out = &o->shapes },
        { .option = MMT_OPTION_SUITE,
          .out = &o->suites,
          .words = mmt_suite_words(),
          .what = "of those that `mmtune suites` lists: {}; default: all problems that "
                  "the profiles have, where nothing else is listed",
          .each = take_suite },
        { .option = MMT_OPTION_TRANSPOSES,
          .out = &o->transposes,
          .what = "of {}: A first, t is transposed; default: nn of shapes, and all of "
                  "profiles" },
        { .option = MMT_OPTION_LD, .out = o->ld_padding },
        { .option = MMT_OPTION_OUTPUT, .out = &o->output, .what = "the bundle" },
        { .option = MMT_OPTION_ARRAY, .out = &o->array },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 0 };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;
    if (!o->output && !o->array)
        return mmt_wrong_usage(argv[0], "where to? such as -o app.mmb");
    if (o->recorded && (o->archs.count && !o->profiles.count))
        return mmt_wrong_usage(argv[0], "--recorded is of one device; name it by "
                                        "--device or --profile");
    return -1;
}

static void say_goal(const struct mmt_bundle_goal *goal)
{
    const struct mmt_caps *caps = &goal->profile->caps;
    size_t bytes = 0, built = 0;
    for (size_t i = 0; i < goal->needs.count; i++) {
        bytes += goal->needs.list[i].binary.size;
        built += mmt_bundle_has(&goal->needs.list[i]);
    }
    fprintf(stderr, "%s%s%s: %zu problems, %zu kernels, %.0f KiB, built in %.1f s\n",
            caps->architecture, *caps->name ? ", " : "", caps->name, goal->problems.count,
            built, (double) bytes / 1024, goal->seconds);
}

static mmt_status build_goals(struct mmt_bundle_goals *goals, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < goals->count && !status; i++) {
        status = mmt_bundle_build(&goals->list[i], err);
        if (!status)
            say_goal(&goals->list[i]);
    }
    return status;
}

/* Before minutes of compiling. */
static mmt_status check_files(const struct mmt_bundle_options *options, mmt_error *err)
{
    mmt_status status = MMT_OK;
    if (options->output)
        status = mmt_file_may_replace(options->output, err);
    if (options->array && !status)
        status = mmt_file_may_replace(options->array, err);
    return status;
}

static mmt_status write_files(const struct mmt_bundle_options *options,
                              const struct mmt_text *bundle, mmt_error *err)
{
    struct mmt_text array = { 0 };
    mmt_status status = MMT_OK;
    if (options->output)
        status = mmt_file_replace(options->output, bundle->data, bundle->length, err);
    if (options->array && !status) {
        mmt_bundle_print_array(bundle, options->array, &array);
        status = array.failed
                     ? mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a C file")
                     : mmt_file_replace(options->array, array.data, array.length, err);
    }
    mmt_text_finish(&array);
    return status;
}

static mmt_status make_bundle(const struct mmt_bundle_options *options, mmt_error *err)
{
    struct mmt_bundle_goals goals = { 0 };
    struct mmt_text bundle = { 0 };
    mmt_status status = check_files(options, err);
    if (!status)
        status = mmt_bundle_set_goals(options, &goals, err);
    if (!status)
        status = build_goals(&goals, err);
    if (!status)
        status = mmt_bundle_print(&goals, &bundle, err);
    if (!status)
        status = write_files(options, &bundle, err);
    if (!status && options->output)
        printf("%s: %.0f KiB\n", options->output, (double) bundle.length / 1024);
    mmt_bundle_goals_finish(&goals);
    mmt_text_finish(&bundle);
    return status;
}

int mmt_verb_bundle(int argc, char **argv)
{
    struct mmt_bundle_options options = { .epilogue = MMT_EPILOGUE_NONE };
    mmt_error err = { 0 };
    int code = read_options(argc, argv, &options);
    if (code < 0)
        code = make_bundle(&options, &err) ? mmt_failed_or_usage(argv[0], &err)
                                           : MMT_EXIT_DONE;
    mmt_words_finish(&options.archs);
    mmt_words_finish(&options.profiles);
    mmt_words_finish(&options.shapes);
    mmt_words_finish(&options.suites);
    return code;
}
