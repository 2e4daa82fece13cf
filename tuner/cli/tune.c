/* mmtune tune */
#include <stdlib.h>
#include <string.h>

#include "tuner/cli/cards.h"
#include "tuner/cli/request.h"
#include "tuner/search/search.h"
#include "tuner/tune/tune.h"

static const char about[] =
    "usage: mmtune [tune] [OPTION...]\n"
    "       mmtune [tune] --recorded [FILE] [OPTION...]\n"
    "       mmtune [tune] --device all [OPTION...]\n\n"
    "Tunes a device and writes what it learned into a profile. Run again, it goes on\n"
    "from the journal beside the profile. Ctrl-C finishes the candidate at hand and\n"
    "writes; twice, it stops at once; nothing that was measured is lost.\n\n"
    "Several cards of one kind share the problems, each in a process of its own, and\n"
    "make one profile. FILE.cards beside it has what each of them learned.\n";

/* The op of the run: what --template computes, where one is named. */
static mmt_status choose_op(struct mmt_tune_request *request, mmt_error *err)
{
    struct mmt_tune_options *o = &request->options;
    const struct mmt_template *template =
        o->template ? mmt_template_find(o->template) : NULL;
    if (template && request->some_op && template->op != o->op)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--template %s computes %s, but --op is %s", o->template,
                        mmt_op_row(template->op)->name, mmt_op_row(o->op)->name);
    if (template)
        o->op = template->op;
    return MMT_OK;
}

static mmt_status check_suites(const struct mmt_tune_options *o, mmt_error *err)
{
    const char *name = mmt_op_row(o->op)->name;
    for (int i = 0; i < o->suites.count && o->op != MMT_GEMM; i++)
        if (strcmp(o->suites.each[i], "default"))
            return mmt_fail(err, MMT_ERROR_ARGUMENT,
                            "--suite %s is of products; give %s a --shape, or no suite",
                            o->suites.each[i], name);
    if (o->op != MMT_GEMM && o->ld_padding[1])
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--ld odd is of products; %s has no leading dimensions", name);
    return MMT_OK;
}

static mmt_status read_shape(const struct mmt_tune_options *o, const char *given,
                             struct mmt_shape *shape, mmt_error *err)
{
    mmt_status status = mmt_option_range(given, o->op, shape, err);
    if (status)
        return status;
    if (shape->m_to && o->ld_padding[1])
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--ld odd goes with single shapes; '%s' is a range of m, whose "
                        "leading dimensions are packed",
                        given);
    mmt_problem problem = mmt_shape_problem(o->op, MMT_F32, shape);
    return mmt_problem_normalise(&problem, &problem, err);
}

/* Shapes and suites can be read once the operation is known. */
mmt_status mmt_tune_read_problems(struct mmt_tune_request *request, mmt_error *err)
{
    struct mmt_tune_options *o = &request->options;
    mmt_status status = choose_op(request, err);
    if (!status)
        status = check_suites(o, err);
    if (status || !request->shapes.count)
        return status;
    o->shapes = calloc((size_t) request->shapes.count, sizeof *o->shapes);
    if (!o->shapes)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for %d shapes",
                        request->shapes.count);
    o->num_shapes = request->shapes.count;
    for (int i = 0; i < o->num_shapes && !status; i++)
        status = read_shape(o, request->shapes.each[i], &o->shapes[i], err);
    return status;
}

/* What programs computed says itself which problems these are. */
static int check_recorded(struct mmt_tune_request *request, int argc, char **argv)
{
    struct mmt_tune_options *o = &request->options;
    const bool shaped = request->shapes.count || o->suites.count || o->transposes ||
                        o->ld_padding[0] || o->ld_padding[1] || o->epilogue.out >= 0;
    if (!o->recorded && (request->f32 || optind < argc))
        return request->f32
                   ? mmt_wrong_usage(argv[0], "--f32 goes with --recorded")
                   : mmt_wrong_usage(argv[0], "'%s' is one word too many", argv[optind]);
    if (o->recorded && (o->shard.count > 1 || mmt_are_cards(o->device)))
        return mmt_wrong_usage(argv[0],
                               "--recorded finds verdicts, each of which holds for one "
                               "card alone: name one --device, and no --shard");
    if (o->recorded && shaped)
        return mmt_wrong_usage(argv[0],
                               "--recorded says which problems are tuned; leave --shape, "
                               "--suite, --transposes, --ld and --out out");
    o->recording = optind < argc ? argv[optind] : NULL;
    o->emulated = request->f32 && !strcmp(request->f32, "emulated");
    return -1;
}

mmt_status mmt_tune_take_suite(void *suites, const char *name, mmt_error *err)
{
    return !strcmp(name, "default") || mmt_suite_find(name, err)
               ? mmt_words_take(suites, name, err)
               : err->status;
}

/* The last of --fresh and --resume counts. */
static mmt_status read_resume(const struct mmt_take *take, const char *value,
                              mmt_error *err)
{
    *(bool *) take->out = false;
    return MMT_OK;
}

/* Returns -1 where the run may begin, else the exit status. */
static int read_options(int argc, char **argv, struct mmt_tune_request *request)
{
    struct mmt_tune_options *o = &request->options;
    static const char *const modes[] = { "strict", "emulated", NULL };
    mmt_error err = { 0 };
    *o = (struct mmt_tune_options){ .epilogue = MMT_EPILOGUE_NONE,
                                    .search = mmt_search_names[0],
                                    .budget = { .seconds = 300 },
                                    .limit = 5,
                                    .seed = 1 };
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_DEVICE,
          .out = &o->device,
          .what = "a number or id of `mmtune devices`, several with commas between, or "
                  "all: CUDA's cards, without these other GPUs, without these CPUs; "
                  "default: 0" },
        { .option = MMT_OPTION_SHARD, .out = &o->shard },
        { .option = MMT_OPTION_RECORDED, .out = &o->recorded },
        { .option = MMT_OPTION_F32, .out = &request->f32, .words = modes },
        { .option = MMT_OPTION_OP,
          .out = &o->op,
          .given = &request->some_op,
          .what = "what is computed: {}; default: gemm, or what the template computes" },
        { .option = MMT_OPTION_TYPE,
          .out = o->types,
          .given = &o->some_types,
          .what = "of {}; default: those that the device computes well" },
        { .option = MMT_OPTION_OUT, .out = &o->epilogue },
        { .option = MMT_OPTION_SHAPE,
          .out = &request->shapes,
          .what = "of MxNxK, or MxNxKxBATCH for a batch; of axpby N or MxN, of dot K or "
                  "MxK, of heat2d MxN, of syrk NxK; 1-8192xNxK is a range of m: a few "
                  "kernels serve each m" },
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
        { .option = MMT_OPTION_BUDGET, .out = &o->budget },
        { .option = MMT_OPTION_SEED,
          .out = &o->seed,
          .what = "of the search and of the data; default: 1" },
        { .option = MMT_OPTION_LIMIT, .out = &o->limit },
        { .option = MMT_OPTION_WITH, .out = &o->with },
        { .option = MMT_OPTION_OUTPUT,
          .out = &o->output,
          .what = "the profile; default: the place where programs look" },
        { .option = MMT_OPTION_RESUME, .out = &o->fresh, .read = read_resume },
        { .option = MMT_OPTION_FRESH, .out = &o->fresh },
        { .option = MMT_OPTION_JSON,
          .out = &o->json,
          .what = "JSON lines, one an event" },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 1 };
    int code = mmt_command_read(&command, argc, argv);
    if (code < 0)
        code = check_recorded(request, argc, argv);
    if (code >= 0)
        return code;
    if (mmt_tune_read_problems(request, &err))
        return mmt_failed_or_usage(argv[0], &err);
    return -1;
}

static int end_interrupted(const struct mmt_run *run, const char *verb)
{
    const struct mmt_journal *journal = run->files.journal;
    const size_t written = journal ? mmt_journal_written(journal) : 0;
    struct mmt_text saved = { 0 };
    if (written)
        mmt_text_addf(
            &saved, "%zu results of this run are saved in '%s'; the same command goes on",
            written, mmt_journal_path(journal));
    else
        mmt_text_add(&saved, "nothing was tried yet; the same command begins anew");
    const int code = mmt_say_interrupted(verb, mmt_text_string(&saved));
    mmt_text_finish(&saved);
    return code;
}

static int run_tuning(const struct mmt_tune_options *options, const char *verb)
{
    struct mmt_run run = { .options = *options };
    mmt_error err = { 0 };
    const mmt_status status = mmt_tune_run(&run, &err);
    int code = status ? mmt_failed(verb, &err) : MMT_EXIT_DONE;
    if (mmt_pool_interrupts())
        code = end_interrupted(&run, verb);
    mmt_tune_finish(&run);
    return code;
}

void mmt_tune_request_finish(struct mmt_tune_request *request)
{
    mmt_words_finish(&request->shapes);
    mmt_words_finish(&request->options.suites);
    free(request->options.shapes);
}

int mmt_verb_tune(int argc, char **argv)
{
    struct mmt_tune_request request = { .some_op = false };
    int code = read_options(argc, argv, &request);
    if (code < 0)
        code = mmt_are_cards(request.options.device)
                   ? mmt_tune_on_cards(&request.options, argv[0], run_tuning)
                   : run_tuning(&request.options, argv[0]);
    mmt_tune_request_finish(&request);
    return code;
}
