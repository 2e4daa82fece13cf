/* mmtune compile */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/cli/regret.h"
#include "tuner/cli/request.h"
#include "tuner/search/search.h"
#include "tuner/tune/compiled.h"
#include "tuner/tune/goals.h"
#include "tuner/tune/template_search.h"
#include "tuner/tune/tune.h"

static const char about[] =
    "usage: mmtune compile --for CARD [OPTION...]\n\n"
    "Compiles what `mmtune tune` with the same options tries first, on a machine "
    "without\n"
    "that card, and needs NVRTC alone. Both must have one cache (XDG_CACHE_HOME) and "
    "one\n"
    "version of NVRTC: then the run on the card finds the binaries by their hashes.\n";

enum { USUAL = 96, MOST = 4096 }; /* candidates of a problem */

struct compiling {
    struct mmt_tune_request request;
    const char *card;          /* --for */
    struct mmt_profile *known; /* of it, or an empty one */
    struct mmt_run run;
};

/* ---- which card -------------------------------------------------------------------- */

static mmt_status read_card(struct compiling *it, mmt_error *err)
{
    struct mmt_run *run = &it->run;
    run->options = it->request.options;
    if (strncmp(it->card, "null:", 5)) {
        it->known = mmt_profile_load_plain(it->card, err);
        if (!it->known)
            return err->status;
        run->device.caps = it->known->caps;
        snprintf(run->device.id, sizeof run->device.id, "null:%.26s",
                 run->device.caps.architecture);
        if (run->device.caps.sm)
            return MMT_OK;
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "'%s' is of %s, whose compiler is its driver; --for names a card "
                        "of CUDA",
                        it->card, run->device.caps.name);
    }
    mmt_device *device = mmt_device_open(it->card, err);
    it->known = mmt_profile_create();
    if (!device || !it->known)
        return device ? mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a profile")
                      : err->status;
    run->device.caps = device->caps;
    snprintf(run->device.id, sizeof run->device.id, "%s", device->id);
    mmt_device_close(device);
    return MMT_OK;
}

/* ---- what is compiled -------------------------------------------------------------- */

/* What a run begins with: what is known, then what searches propose that have heard of no
 * time. */
static int list_first(struct mmt_run *run, const mmt_problem *problem,
                      struct mmt_config *list, int most, mmt_error *err)
{
    struct mmt_template_searches searches;
    int count = mmt_tune_known(run, problem, &list[0]);
    if (mmt_searches_create(run, problem, &searches, err))
        return -1;
    while (count < most && mmt_searches_ask(&searches, &list[count]))
        count++;
    mmt_searches_free(&searches);
    return count;
}

static mmt_status compile_problem(struct mmt_run *run, int most, mmt_error *err)
{
    const mmt_problem *problem = mmt_tune_current(run);
    struct mmt_config *list = calloc((size_t) most + 1, sizeof *list);
    struct mmt_text name = { 0 };
    const int before = run->built.count;
    if (!list)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for %d candidates", most);
    const int count = list_first(run, problem, list, most, err);
    if (count > 0)
        mmt_tune_build(run, problem, list, count, INFINITY);
    mmt_problem_print(problem, &name);
    printf("%s: %d candidates, %d of them with a text of their own that compiles\n",
           mmt_text_string(&name), count > 0 ? count : 0, run->built.count - before);
    fflush(stdout);
    mmt_text_finish(&name);
    free(list);
    return count < 0 ? err->status : mmt_pool_check(&run->pool, err);
}

static mmt_status compile_all(struct compiling *it, mmt_error *err)
{
    struct mmt_run *run = &it->run;
    struct mmt_run_problems *goals = &run->goals;
    const int64_t all = run->options.budget.candidates;
    mmt_status status = mmt_regret_open(run, it->known, err);
    goals->count = 0; /* the searches' own */
    run->files.layers = it->known;
    if (!status)
        status = mmt_cache_check(err);
    if (!status)
        status = mmt_tune_choose_types(run, err);
    if (!status)
        status = mmt_tune_set_goals(run, err);
    const int most = (int) fmin(all ? ceil((double) all / goals->count) : USUAL, MOST);
    for (goals->at = 0; !status && goals->at < goals->count && !mmt_pool_interrupts();
         goals->at++)
        status = compile_problem(run, most, err);
    return status;
}

static int run_compile(struct compiling *it, const char *verb)
{
    mmt_error err = { 0 };
    mmt_status status = read_card(it, &err);
    const bool opened = !status;
    if (!status)
        status = compile_all(it, &err);
    if (!status && !it->run.built.count && !mmt_pool_interrupts())
        status = mmt_fail(&err, MMT_ERROR_COMPILE, "nothing could be compiled for %s",
                          it->card);
    if (opened)
        mmt_regret_close(&it->run);
    mmt_profile_free(it->known);
    if (mmt_pool_interrupts())
        return mmt_say_interrupted(verb, "what was compiled is in the cache");
    return status ? mmt_failed_or_usage(verb, &err) : MMT_EXIT_DONE;
}

int mmt_verb_compile(int argc, char **argv)
{
    struct compiling it = { .request.options = { .epilogue = MMT_EPILOGUE_NONE,
                                                 .search = mmt_search_names[0],
                                                 .limit = 60,
                                                 .seed = 1 } };
    struct mmt_tune_options *o = &it.request.options;
    mmt_error err = { 0 };
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_FOR, .out = &it.card },
        { .option = MMT_OPTION_OP, .out = &o->op, .given = &it.request.some_op },
        { .option = MMT_OPTION_TYPE,
          .out = o->types,
          .given = &o->some_types,
          .what = "of {}; default: those that the device computes well" },
        { .option = MMT_OPTION_OUT, .out = &o->epilogue },
        { .option = MMT_OPTION_SHAPE,
          .out = &it.request.shapes,
          .what = "of MxNxK, or MxNxKxBATCH for a batch; 1-8192xNxK is a range of m" },
        { .option = MMT_OPTION_SUITE,
          .out = &o->suites,
          .words = mmt_suite_words(),
          .each = mmt_tune_take_suite },
        { .option = MMT_OPTION_TRANSPOSES, .out = &o->transposes },
        { .option = MMT_OPTION_LD, .out = o->ld_padding },
        { .option = MMT_OPTION_TEMPLATE,
          .out = &o->template,
          .read = mmt_option_read_template },
        { .option = MMT_OPTION_SEARCH, .out = &o->search, .words = mmt_search_names },
        { .option = MMT_OPTION_BUDGET,
          .out = &o->budget,
          .what = "candidates of all problems, 2000c; default: 96 of each" },
        { .option = MMT_OPTION_SEED,
          .out = &o->seed,
          .what = "of the search; default: 1" },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 0 };
    int code = mmt_command_read(&command, argc, argv);
    if (code < 0 && !it.card)
        code = mmt_wrong_usage(argv[0], "--for must name a card, such as null:sm_90");
    if (code < 0 && o->budget.seconds > 0)
        code = mmt_wrong_usage(argv[0], "--budget must count candidates, such as 2000c");
    if (code < 0 && mmt_tune_read_problems(&it.request, &err))
        code = mmt_failed_or_usage(argv[0], &err);
    if (code < 0)
        code = run_compile(&it, argv[0]);
    mmt_tune_request_finish(&it.request);
    return code;
}
