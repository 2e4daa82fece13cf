/* mmtune verify: each candidate in a worker, so that one that crashes or hangs ends
 * alone. */
#include "base/clock.h"
#include "tuner/cli/races.h"
#include "tuner/common/options.h"
#include "tuner/verify/data.h"
#include "tuner/tune/tune.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "usage: mmtune verify [CONFIGURATION...] [OPTION...]\n\n"
    "Runs every check that tuning makes before it times anything. Without a\n"
    "configuration, such as 'tiled TILE=16', it takes the first starting point of\n"
    "every template, or all of the template that is named, and some at random.\n"
    "@FILE has configurations, one a line. On a CPU each that is right is run by\n"
    "oclgrind, too, where that is installed, to find data races.\n";

struct request {
    const char *device;
    const char *template; /* a name; NULL: all */
    bool given_ops[MMT_NUM_OPS];
    unsigned ops; /* a bit for each that is verified */
    bool types[MMT_NUM_TYPES];
    bool types_given;
    struct mmt_epilogue epilogue;
    unsigned transposes;
    struct mmt_words shapes; /* as they were given; none: the usual ones */
    int64_t sample, seed;
    double limit;               /* seconds */
    bool races;                 /* looked for as long as that */
    struct mmt_config *configs; /* those named, with the first seed's other values */
    int num_configs;
    struct mmt_words words; /* of each of them */
};

/* What was looked at for races last. */
struct raced {
    const struct mmt_template *template;
    mmt_problem problem;
};

/* What is asked, who does it, and what came of it. */
struct run {
    const struct request *request;
    struct mmt_run tune; /* of which the device and one worker are used */
    int right, wrong, failed, skipped;
    int checks, unchecked; /* that right configurations passed, and that were not run */
    const char *no_races;  /* mmt_races_why_not */
    struct raced raced;
};

static bool is_over(const struct run *run)
{
    return mmt_pool_interrupts() || run->tune.pool.broken.status;
}

/* ---- reading the command line ---------------------------------------------------- */

static mmt_status add_config(struct request *request, const char *words, mmt_error *err)
{
    const size_t count = (size_t) request->num_configs + 1;
    struct mmt_config *grown = realloc(request->configs, count * sizeof *grown);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %zu configurations",
                        count);
    request->configs = grown;
    mmt_status status = mmt_config_parse(words, &grown[request->num_configs++], err);
    return status ? status : mmt_words_take(&request->words, words, err);
}

/* The configuration whose words are being read. */
struct reading {
    struct request *request;
    struct mmt_text text;
};

static mmt_status end_config(struct reading *reading, mmt_error *err)
{
    mmt_status status = MMT_OK;
    if (reading->text.length)
        status = add_config(reading->request, mmt_text_string(&reading->text), err);
    mmt_text_finish(&reading->text);
    return status;
}

/* A word without '=' in its beginning names a template, and so begins a configuration. */
static mmt_status take_words(void *self, const char *words, mmt_error *err)
{
    struct reading *reading = self;
    mmt_status status = MMT_OK;
    words += strspn(words, " ");
    if (words[strcspn(words, "= ")] != '=')
        status = end_config(reading, err);
    mmt_text_addf(&reading->text, "%s%s", reading->text.length ? " " : "", words);
    return status;
}

static mmt_status read_configs(char **words, int count, struct request *request,
                               mmt_error *err)
{
    struct reading reading = { .request = request };
    mmt_status status = MMT_OK;
    for (int i = 0; i < count && !status; i++)
        status = mmt_option_each(words[i], &reading, take_words, err);
    if (!status)
        status = end_config(&reading, err);
    mmt_text_finish(&reading.text);
    return status;
}

/* ---- one configuration ----------------------------------------------------------- */

static void say_check(const char *word, const mmt_problem *p,
                      const struct mmt_config *config, const char *check,
                      const char *reason)
{
    struct mmt_text text = { 0 };

    mmt_config_print(config, &text);
    printf("%-6s %s %c%c  %s%s%s%s%s\n", word, mmt_type_name(p->type),
           p->trans_a ? 't' : 'n', p->trans_b ? 't' : 'n', mmt_text_string(&text),
           *reason  ? "\n       "
           : *check ? "; "
                    : "",
           check, *check && *reason ? ": " : "", reason);
    fflush(stdout);
    mmt_text_finish(&text);
}

/* The command that makes the same checks of it again. */
static void say_again(const struct request *request, const mmt_problem *p,
                      const struct mmt_config *config)
{
    struct mmt_text text = { 0 };

    mmt_text_add(&text, "       again: mmtune verify '");
    mmt_config_print(config, &text);
    mmt_text_addf(&text, "' --type %s", mmt_type_name(p->type));
    if (request->device)
        mmt_text_addf(&text, " --device %s", request->device);
    if (mmt_op_row(p->op)->transposes)
        mmt_text_addf(&text, " --transposes %c%c", p->trans_a ? 't' : 'n',
                      p->trans_b ? 't' : 'n');
    if (p->out != mmt_type_own_output(p->type))
        mmt_text_addf(&text, " --out %s", mmt_type_name(p->out));
    if (p->bias)
        mmt_text_addf(&text, " --bias %s", mmt_bias_name(p->bias));
    if (p->activation)
        mmt_text_addf(&text, " --activation %s", mmt_activation_name(p->activation));
    if (p->batch_by)
        mmt_text_addf(&text, " --batch-by %s", mmt_batch_by_name(p->batch_by));
    mmt_text_add(&text, " --shape ");
    mmt_op_print_shape(p, &text);
    mmt_text_addf(&text, " --seed %" PRId64, request->seed);
    puts(mmt_text_string(&text));
    mmt_text_finish(&text);
}

static void count_result(struct run *run, const mmt_problem *problem,
                         const struct mmt_config *config, const struct mmt_result *result)
{
    char checks[MMT_REASON_SIZE + 64];
    switch (result->outcome) {
    case MMT_TIMED:
        run->right++;
        run->checks += result->checks;
        run->unchecked += result->unchecked;
        snprintf(checks, sizeof checks, "%d checks", result->checks);
        if (result->unchecked)
            snprintf(checks, sizeof checks, "%d checks, %d not run: %s", result->checks,
                     result->unchecked, result->reason);
        say_check("right", problem, config, checks, "");
        return;
    case MMT_WRONG:
        run->wrong++;
        say_check("WRONG", problem, config, "", result->reason);
        say_again(run->request, problem, config);
        return;
    case MMT_HUNG:
    case MMT_CRASHED:
        run->failed++;
        say_check("failed", problem, config, mmt_outcome_name(result->outcome),
                  result->reason);
        return;
    default:
        run->failed++;
        say_check("failed", problem, config, "", result->reason);
    }
}

/* Whether no other configuration of that template was looked at for such problems. */
static bool is_first(struct run *run, const struct mmt_job *job)
{
    const mmt_problem *p = &job->problem, *before = &run->raced.problem;
    const bool first = run->raced.template != job->configs[0].template ||
                       p->type != before->type || p->trans_a != before->trans_a ||
                       p->trans_b != before->trans_b;
    run->raced = (struct raced){ job->configs[0].template, *p };
    return first;
}

/* One check more, of a configuration that is right by all others; without --races of a
 * template's first, and for a tenth of the seconds that these took. */
static void check_races(struct run *run, const struct mmt_job *job, double seconds,
                        struct mmt_result *result)
{
    const double limit = run->request->limit, tenth = 1 + seconds / 10;
    if (run->no_races || result->outcome != MMT_TIMED ||
        (!run->request->races && !is_first(run, job)))
        return;
    const struct mmt_races races =
        mmt_races_find(&job->configs[0], &job->problem, &run->tune.device.caps,
                       run->request->races || tenth > limit ? limit : tenth);
    if (races.found) {
        result->outcome = MMT_WRONG;
    } else if (races.looked) {
        result->checks++;
        return;
    } else {
        result->unchecked++;
    }
    snprintf(result->reason, sizeof result->reason, "races: %s%s", races.what,
             races.found || run->request->races ? "" : "; --races waits");
}

static void verify_one(struct run *run, const mmt_problem *problem,
                       const struct mmt_config *config)
{
    const double limit = run->request->limit;
    struct mmt_job job = {
        .task = MMT_TASK_VERIFY,
        .epilogues = true,
        .problem = *problem,
        .seed = (uint64_t) run->request->seed,
        .count = 1,
        .configs = { *config },
    };
    const char *refusal =
        mmt_config_check_problem(config, problem, &run->tune.device.caps);
    struct mmt_event event;

    if (refusal) {
        run->failed++;
        say_check("failed", problem, config, "cannot run", refusal);
        return;
    }
    const double start = mmt_now();
    if (is_over(run) || !mmt_pool_do(&run->tune, &job, limit, &event))
        return;
    check_races(run, &job, mmt_now() - start, &event.reply.results[0]);
    if (!is_over(run))
        count_result(run, problem, config, &event.reply.results[0]);
}

/* ---- many ------------------------------------------------------------------------ */

/* The problems of one type and transposes, the usual one first; a configuration is
 * verified on the first that it serves. */
struct problems {
    const mmt_problem *problem;
    int count, at; /* `at`: the one that is being verified on */
};

/* Of the problems, `count` if it serves none. */
static int first_served(const struct mmt_config *config, const struct problems *problems,
                        const struct mmt_caps *caps)
{
    int i = 0;
    while (i < problems->count &&
           mmt_config_check_problem(config, &problems->problem[i], caps))
        i++;
    return i;
}

/* All of them where the template was named, else the first that can run. */
static void verify_seeds(struct run *run, const struct problems *problems,
                         const struct mmt_template *template)
{
    const bool all = run->request->template;
    bool found = false;

    for (int i = 0; i < template->num_seeds && (all || !found); i++) {
        struct mmt_config config = { .template = template };
        memcpy(config.values, template->seeds[i], sizeof template->seeds[i]);
        const int first = first_served(&config, problems, &run->tune.device.caps);
        found = first < problems->count;
        if (first == problems->at)
            verify_one(run, &problems->problem[first], &config);
        else if (!found && problems->at == 0)
            run->skipped++;
    }
}

/* Draws until there are enough that can run, but not without end. */
static void verify_sample(struct run *run, const struct problems *problems,
                          const struct mmt_template *template)
{
    const struct request *request = run->request;
    uint64_t size = mmt_space_size(template);
    int64_t found = 0;

    for (int64_t i = 0;
         i < 100 * request->sample && found < request->sample && !is_over(run); i++) {
        struct mmt_config config;
        uint64_t noise = mmt_data_noise((uint64_t) request->seed, (uint64_t) i);
        mmt_space_at(template, noise % size, &config);
        if (first_served(&config, problems, &run->tune.device.caps) != problems->at)
            continue;
        found++;
        verify_one(run, &problems->problem[problems->at], &config);
    }
}

static void verify_templates(struct run *run, const struct problems *problems)
{
    const char *only = run->request->template;
    for (int i = 0; mmt_templates[i]; i++) {
        if (mmt_templates[i]->op != problems->problem->op ||
            (only && !mmt_template_is(mmt_templates[i], only)))
            continue;
        verify_seeds(run, problems, mmt_templates[i]);
        verify_sample(run, problems, mmt_templates[i]);
    }
}

/* The first problem that a configuration serves as `mmt_config_parse_for` completes it;
 * the first of all where it serves none. */
static int first_named(const char *words, const struct problems *problems,
                       const struct mmt_caps *caps, struct mmt_config *out)
{
    for (int i = 0; i < problems->count; i++)
        if (!mmt_config_parse_for(words, &problems->problem[i], caps, out, NULL) &&
            !mmt_config_check_problem(out, &problems->problem[i], caps))
            return i;
    mmt_config_parse_for(words, &problems->problem[0], caps, out, NULL);
    return 0;
}

/* What none of the problems is served by fails on the first, with the reason. */
static void verify_named(struct run *run, const struct problems *problems)
{
    const struct request *request = run->request;
    for (int i = 0; i < request->num_configs; i++) {
        struct mmt_config config = request->configs[i];
        if (config.template->op == problems->problem->op &&
            first_named(request->words.each[i], problems, &run->tune.device.caps,
                        &config) == problems->at)
            verify_one(run, &problems->problem[problems->at], &config);
    }
}

enum { MOST_SHAPES = 5 };

/* The usual shapes, or one that was asked for. */
struct shapes {
    struct mmt_shape each[MOST_SHAPES];
    int count;
};

static mmt_status verify_variant(struct run *run, const mmt_problem *like,
                                 const struct shapes *shapes, mmt_error *err)
{
    mmt_problem each[MOST_SHAPES];
    struct problems problems = { each, shapes->count, 0 };
    mmt_status status = MMT_OK;

    for (int i = 0; i < shapes->count && status == MMT_OK; i++) {
        each[i] = mmt_shape_problem(like->op, like->type, &shapes->each[i]);
        each[i].trans_a = like->trans_a;
        each[i].trans_b = like->trans_b;
        mmt_epilogue_apply(&run->request->epilogue, &each[i]);
        status = mmt_problem_normalise(&each[i], &each[i], err);
    }
    for (; problems.at < shapes->count && status == MMT_OK; problems.at++)
        if (run->request->num_configs)
            verify_named(run, &problems);
        else
            verify_templates(run, &problems);
    return status;
}

/* All transposes that an operation has. */
static mmt_status verify_type(struct run *run, mmt_op op, mmt_type type,
                              const struct shapes *shapes, mmt_error *err)
{
    static const unsigned pairs[2][2] = { { MMT_NN, MMT_NT }, { MMT_TN, MMT_TT } };
    int count = mmt_op_row(op)->transposes ? 4 : 1;
    mmt_status status = MMT_OK;

    for (int pair = 0; pair < count && status == MMT_OK; pair++) {
        const mmt_problem like = {
            .op = op, .type = type, .trans_a = pair >> 1, .trans_b = pair & 1
        };
        if (count == 1 || run->request->transposes & pairs[pair >> 1][pair & 1])
            status = verify_variant(run, &like, shapes, err);
    }
    return status;
}

static mmt_status verify_types(struct run *run, mmt_op op, const struct shapes *shapes,
                               mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int type = 0; type < MMT_NUM_TYPES && status == MMT_OK; type++)
        if (run->request->types[type] &&
            mmt_type_in((mmt_type) type, mmt_op_row(op)->types))
            status = verify_type(run, op, (mmt_type) type, shapes, err);
    return status;
}

/* Each of the shapes that were asked for, or usual ones: of products also few rows, few
 * columns, a batch of small ones and little k, which kernels of their own are for. */
static mmt_status verify_op(struct run *run, mmt_op op, mmt_error *err)
{
    static const char *const usual[MMT_NUM_OPS][MOST_SHAPES] = {
        [MMT_GEMM] = { "512x384x640", "13x1000x640", "1000x13x640", "24x20x28x96",
                       "500x700x13" },
        [MMT_AXPBY] = { "1000003" },
        [MMT_DOT] = { "5x100003" },
        [MMT_HEAT2D] = { "700x1500" },
        [MMT_JACOBI3D] = { "70x90x300" },
        [MMT_SYRK] = { "300x500" },
    };
    const struct mmt_words *given = &run->request->shapes;
    struct shapes shapes = { .count = 0 };
    mmt_status status = MMT_OK;

    for (int i = 0; i < given->count && status == MMT_OK; i++) {
        shapes.count = 1;
        status = mmt_option_shape(given->each[i], op, &shapes.each[0], err);
        if (status == MMT_OK)
            status = verify_types(run, op, &shapes, err);
    }
    if (given->count)
        return status;
    for (; shapes.count < MOST_SHAPES && usual[op][shapes.count] && status == MMT_OK;
         shapes.count++)
        status = mmt_option_shape(usual[op][shapes.count], op, &shapes.each[shapes.count],
                                  err);
    return status == MMT_OK ? verify_types(run, op, &shapes, err) : status;
}

static mmt_status verify_all(struct run *run, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int op = 0; op < MMT_NUM_OPS && status == MMT_OK; op++)
        if (run->request->ops >> op & 1)
            status = verify_op(run, (mmt_op) op, err);
    if (status == MMT_OK && run->tune.pool.broken.status)
        *err = run->tune.pool.broken, status = err->status;
    return status;
}

/* Those of what is named; a shape alone is that of a product. */
static mmt_status choose_ops(struct request *request, mmt_error *err)
{
    struct mmt_shape shape;
    mmt_status status = MMT_OK;
    for (int op = 0; op < MMT_NUM_OPS; op++)
        request->ops |= (unsigned) request->given_ops[op] << op;
    if (request->template)
        request->ops = 1u << mmt_template_find(request->template)->op;
    for (int i = 0; i < request->num_configs; i++)
        request->ops |= 1u << request->configs[i].template->op;
    if (!request->ops)
        request->ops = request->shapes.count ? 1u << MMT_GEMM : (1u << MMT_NUM_OPS) - 1;
    for (int op = 0; op < MMT_NUM_OPS; op++)
        for (int i = 0; i < request->shapes.count && status == MMT_OK; i++)
            if (request->ops >> op & 1)
                status =
                    mmt_option_shape(request->shapes.each[i], (mmt_op) op, &shape, err);
    return status;
}

/* Every type that what is named serves, but for what this device does not have and nobody
 * asked for. */
static void choose_types(struct request *request, const struct mmt_caps *caps)
{
    unsigned served = request->num_configs ? 0 : ~0u;

    if (request->types_given)
        return;
    for (int i = 0; i < request->num_configs; i++)
        served |= request->configs[i].template->types;
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        request->types[type] = served >> type & 1 && (type != MMT_F64 || caps->f64);
}

static int verify_on_device(struct request *request, const char *verb)
{
    struct run run = { .request = request,
                       .tune.options.device = request->device,
                       .tune.pool.at_once = true };
    mmt_error err = { 0 };

    mmt_status status = mmt_tune_find_device(&run.tune, &err);
    if (status == MMT_OK)
        status = mmt_pool_start(&run.tune, true, &err);
    choose_types(request, &run.tune.device.caps);
    run.no_races = mmt_races_why_not(&run.tune.device.caps);
    if (status == MMT_OK)
        status = verify_all(&run, &err);
    mmt_pool_stop(&run.tune.pool);
    if (status != MMT_OK)
        return mmt_failed(verb, &err);
    printf("%s%d right, %d wrong, %d failed; %d cannot run on this device; %d checks",
           mmt_pool_interrupts() ? "interrupted: " : "", run.right, run.wrong, run.failed,
           run.skipped, run.checks);
    if (run.unchecked)
        printf(", %d not run", run.unchecked);
    printf("\n");
    if (run.no_races && *run.no_races)
        printf("data races were not looked for: %s\n", run.no_races);
    if (mmt_pool_interrupts())
        return MMT_EXIT_INTERRUPTED;
    if (run.wrong || run.failed || !run.right)
        return MMT_EXIT_FAILED;
    return MMT_EXIT_DONE;
}

/* Returns -1 where there is something to verify, else the exit status. */
static int read_options(int argc, char **argv, struct request *request)
{
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_DEVICE, .out = &request->device },
        { .option = MMT_OPTION_OP,
          .out = request->given_ops,
          .value = "LIST",
          .what = "of {}; default: all that what is named computes",
          .read = mmt_option_read_picks },
        { .option = MMT_OPTION_TEMPLATE,
          .out = &request->template,
          .read = mmt_option_read_template },
        { .option = MMT_OPTION_TYPE,
          .out = request->types,
          .given = &request->types_given,
          .what = "of {}; default: all that the device has" },
        { .option = MMT_OPTION_OUT, .out = &request->epilogue },
        { .option = MMT_OPTION_BIAS, .out = &request->epilogue },
        { .option = MMT_OPTION_ACTIVATION, .out = &request->epilogue },
        { .option = MMT_OPTION_BATCH_BY, .out = &request->epilogue },
        { .option = MMT_OPTION_TRANSPOSES,
          .out = &request->transposes,
          .what = "of {}: A first, t is transposed; default: all" },
        { .option = MMT_OPTION_SHAPE,
          .out = &request->shapes,
          .what =
              "of MxNxK or MxNxKxBATCH, where the last checks are made, one after the "
              "other; default: the first of some usual ones of the operation that a "
              "configuration serves" },
        { .option = MMT_OPTION_SAMPLE, .out = &request->sample },
        { .option = MMT_OPTION_SEED,
          .out = &request->seed,
          .what = "of the data and of what is drawn; default: 1" },
        { .option = MMT_OPTION_LIMIT,
          .out = &request->limit,
          .what = "for building, and for checking, one configuration; default: 120 s" },
        { .option = MMT_OPTION_RACES, .out = &request->races },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), INT_MAX };
    const int code = mmt_command_read(&command, argc, argv);
    mmt_error err = { 0 };
    if (code >= 0)
        return code;
    if (request->template && optind < argc)
        return mmt_wrong_usage(argv[0], "either --template or configurations, not both");
    if (read_configs(argv + optind, argc - optind, request, &err) != MMT_OK ||
        choose_ops(request, &err) != MMT_OK)
        return mmt_wrong_usage(argv[0], "%s", err.text);
    return -1;
}

int mmt_verb_verify(int argc, char **argv)
{
    struct request request = { .epilogue = MMT_EPILOGUE_NONE,
                               .transposes = MMT_NN | MMT_NT | MMT_TN | MMT_TT,
                               .sample = 2,
                               .seed = 1,
                               .limit = 120 };

    int exit = read_options(argc, argv, &request);
    if (exit < 0)
        exit = verify_on_device(&request, argv[0]);
    free(request.configs);
    mmt_words_finish(&request.words);
    mmt_words_finish(&request.shapes);
    return exit;
}
