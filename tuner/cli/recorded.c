/* mmtune recorded */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tuner/common/options.h"
#include "tuner/report/recorded.h"
#include "tuner/report/rows.h"

static const char about[] =
    "usage: mmtune recorded [OPTION...]\n\n"
    "Prints which products programs computed on a device, as they were recorded under\n"
    "`mmtune run`, the greatest share of time first: how long the library took, how\n"
    "often, the speed-up of ours where `mmtune --recorded` has timed both, and what\n"
    "became of the calls. Of what is not tuned, the speed-up is told that the model of\n"
    "the device's kernels expects.\n";

struct request {
    const char *device, *file, *run;
    bool json, prune;
};

/* What makes a difference to nobody: less than that part of the time, or, of calls whose
 * time is unknown, of the calls. */
static const double least_part = 1e-3;

static bool is_worth_keeping(void *context, const struct mmt_recorded *it)
{
    const struct mmt_recorded_sum *sum = context;
    const double seconds = mmt_recorded_seconds(it);
    return seconds > 0
               ? seconds >= least_part * sum->seconds
               : (double) mmt_recorded_calls(it) >= least_part * (double) sum->calls;
}

static mmt_status prune(struct mmt_recorded_view *view, mmt_error *err)
{
    const char *path = mmt_text_string(&view->path);
    struct mmt_recorded_sum sum = mmt_recorded_add_up(view);
    const size_t before = view->recording.count;
    mmt_status status = mmt_recording_prune(path, is_worth_keeping, &sum, err);
    mmt_recording_free(&view->recording);
    if (!status)
        status = mmt_recording_read(path, false, &view->recording, err);
    if (!status)
        fprintf(stderr, "mmtune recorded: %zu of %zu kinds of calls are kept in '%s'\n",
                view->recording.count, before, path);
    return status;
}

static void print_view(const struct mmt_recorded_view *view, bool json)
{
    struct mmt_text text = { 0 };
    if (json) {
        mmt_print_json(mmt_recorded_json(view));
        return;
    }
    mmt_recorded_print_table(view, 0, &text);
    printf("%s\n%s", mmt_text_string(&view->path), mmt_text_string(&text));
    mmt_text_finish(&text);
}

static int read_options(int argc, char **argv, struct request *request)
{
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_DEVICE, .out = &request->device },
        { .option = MMT_OPTION_FILE, .out = &request->file },
        { .option = MMT_OPTION_RUN, .out = &request->run },
        { .option = MMT_OPTION_PRUNE, .out = &request->prune },
        { .option = MMT_OPTION_JSON, .out = &request->json },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 0 };
    const int code = mmt_command_read(&command, argc, argv);
    if (code < 0 && request->run && request->prune)
        return mmt_wrong_usage(argv[0], "--prune is of all runs; leave --run out");
    return code;
}

int mmt_verb_recorded(int argc, char **argv)
{
    struct request request = { 0 };
    struct mmt_recorded_view view;
    mmt_error err = { 0 };
    const int code = read_options(argc, argv, &request);
    if (code >= 0)
        return code;
    mmt_status status =
        mmt_recorded_open(request.device, request.file, request.run, &view, &err);
    if (status == MMT_ERROR_NOT_FOUND && err.native == ENOENT) {
        fprintf(stderr,
                "mmtune recorded: %s; `mmtune run --record -- PROGRAM` makes one\n",
                err.text);
        return MMT_EXIT_FAILED;
    }
    if (status)
        return mmt_failed_or_usage(argv[0], &err);
    fputs(mmt_text_string(&view.recording.warnings), stderr);
    if (request.prune)
        status = prune(&view, &err);
    if (!status)
        print_view(&view, request.json);
    mmt_recorded_close(&view);
    return status ? mmt_failed(argv[0], &err) : MMT_EXIT_DONE;
}
