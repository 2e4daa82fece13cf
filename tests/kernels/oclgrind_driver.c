/* Every template under oclgrind, which simulates a device and sees what no answer shows:
 * accesses outside a buffer, races that a missing barrier makes, and values that were
 * never written. Buffers end where their matrices end.
 *
 *     oclgrind_driver [--sample]            runs itself under oclgrind, for each
 *                                           template and fault
 *     oclgrind_driver [--sample] TEMPLATE   what it runs there
 *
 * --sample takes each type once, with transposes in turn: of a template one in three of
 * those that other templates serve, too.
 * The planted faults show that oclgrind would have spoken. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "generator/generator.h"
#include "tests/support/exact.h"
#include "tests/support/scoped.h"
#include "tests/kernels/oclgrind_faults.h"

enum { VARIANTS = 4 * MMT_NUM_TYPES, DRAWS = 400000, CANDIDATES = 12, MAX_KEPT = 256 };

/* A simulator runs some million instructions a second: blocks of configurations that are
 * tried have at most so many threads and bytes of shared memory, and cover at most so
 * many elements of C. */
enum {
    MAX_THREADS = 64,
    MAX_SHARED = 8192,
    MAX_TILE = 32 * 32,
    SMALL_TILE = 128,
    MAX_SIDE = 512,
};

struct driver {
    bool sample;
    mmt_device *device;
    const struct mmt_caps *caps;
    uint64_t random;
    bool seen[MMT_MAX_KNOBS][MMT_MAX_VALUES];
    int executions, wrong;
    struct kept {
        struct exact data;
        mmt_operand workspace;
    } kept[MAX_KEPT]; /* freed at the end: see keep() */
};

/* ---- one execution --------------------------------------------------------------- */

static void complain(struct driver *driver, const char *config,
                     const mmt_problem *problem, const char *why)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(problem, &text);
    printf("WRONG: %s, %s: %s\n", config, mmt_text_string(&text), why);
    mmt_text_finish(&text);
    driver->wrong++;
}

static mmt_status execute(struct driver *driver, const mmt_plan *plan, struct kept *kept,
                          mmt_error *err)
{
    const struct exact *data = &kept->data;
    const size_t workspace = mmt_plan_workspace(plan);
    mmt_args args = exact_args(data);
    mmt_status status = MMT_OK;

    if (workspace)
        status = mmt_buffer_create(driver->device, workspace, &kept->workspace, err);
    args.workspace = kept->workspace;
    if (!status)
        status = mmt_execute(plan, &args, NULL, err);
    return status ? status : mmt_finish(driver->device, NULL, err);
}

/* Where memory is to be kept that must not be freed yet: oclgrind forgets which bytes of
 * a buffer were written where another stood there before. NULL where there is no room. */
static struct kept *keep(struct driver *driver)
{
    return driver->executions < MAX_KEPT ? &driver->kept[driver->executions++] : NULL;
}

static void free_kept(struct driver *driver)
{
    for (int i = 0; i < driver->executions; i++) {
        mmt_buffer_free(driver->device, driver->kept[i].workspace);
        exact_free(&driver->kept[i].data);
    }
}

static void check_call(struct driver *driver, const mmt_plan *plan, const char *config,
                       const mmt_problem *problem, const struct exact_call *call)
{
    struct kept *kept = keep(driver);
    mmt_error err = { .text = "more executions than this test has room for" };
    char why[200];
    mmt_status status =
        kept ? exact_create(&kept->data, driver->device, problem, call, &err)
             : MMT_ERROR_MEMORY;
    if (!status)
        status = execute(driver, plan, kept, &err);
    if (status)
        complain(driver, config, problem, err.text);
    else if (!exact_check(&kept->data, why, sizeof(why)))
        complain(driver, config, problem, why);
}

static void check_problem(struct driver *driver, const char *config,
                          const mmt_problem *problem, const struct exact_call *call)
{
    mmt_plan_options options = mmt_plan_defaults();
    mmt_error err = { 0 };
    options.configuration = config;
    SCOPED_PLAN *plan = mmt_plan_create(driver->device, NULL, problem, &options, &err);
    if (plan)
        check_call(driver, plan, config, problem, call);
    else
        complain(driver, config, problem, err.text);
}

/* ---- one configuration ----------------------------------------------------------- */

static mmt_problem problem_of(const struct mmt_variant *variant, int64_t m, int64_t n,
                              int64_t k, int64_t batch)
{
    mmt_problem wanted = mmt_op_problem(variant->op, variant->type, m, n, k);
    mmt_problem problem = wanted;
    wanted.bias = variant->bias;
    wanted.trans_a = variant->trans_a;
    wanted.trans_b = variant->trans_b;
    wanted.batch = batch;
    const struct mmt_stored a = mmt_op_stored(&wanted, MMT_OPERAND_A);
    wanted.stride_a = a.rows * a.cols; /* B is shared by the batch */
    mmt_problem_normalise(&wanted, &problem, NULL);
    return problem;
}

static struct mmt_launches launches_of(const struct driver *driver,
                                       const struct mmt_config *config,
                                       const mmt_problem *problem)
{
    struct mmt_launches launches = { 0 };
    mmt_config_launch(config, problem, driver->caps, &launches);
    return launches;
}

static unsigned count_blocks(const struct driver *driver, const struct mmt_config *config,
                             const struct mmt_variant *variant, int launch, int m, int n)
{
    const mmt_problem problem = problem_of(variant, m, n, 1, 1);
    const struct mmt_launches launches = launches_of(driver, config, &problem);
    const unsigned *grid = launches.launch[launch].grid;
    return grid[0] * grid[1];
}

/* The most rows, or columns, of C that take a launch no more blocks than one element; 0
 * where that is more than MAX_SIDE. */
static int side_of_launch(const struct driver *driver, const struct mmt_config *config,
                          const struct mmt_variant *variant, bool rows, int launch)
{
    const unsigned least = count_blocks(driver, config, variant, launch, 1, 1);
    for (int side = 1; side <= MAX_SIDE; side++)
        if (count_blocks(driver, config, variant, launch, rows ? side + 1 : 1,
                         rows ? 1 : side + 1) > least)
            return side;
    return 0;
}

static int side_of(const struct driver *driver, const struct mmt_config *config,
                   const struct mmt_variant *variant, bool rows)
{
    int most = 1;
    for (int i = 0; i < MMT_MAX_LAUNCHES; i++) {
        const int side = side_of_launch(driver, config, variant, rows, i);
        most = side > most ? side : most;
    }
    return most;
}

static bool is_small(const struct driver *driver, const struct mmt_config *config,
                     const struct mmt_variant *variant)
{
    const mmt_problem problem = problem_of(variant, 17, 9, 5, 1);
    const struct mmt_launches launches = launches_of(driver, config, &problem);
    for (int i = 0; i < launches.count; i++) {
        const unsigned *block = launches.launch[i].block;
        if (block[0] * block[1] * block[2] > MAX_THREADS ||
            launches.launch[i].shared > MAX_SHARED)
            return false;
    }
    return side_of(driver, config, variant, true) *
               side_of(driver, config, variant, false) <=
           MAX_TILE;
}

/* So many rows or columns, or fewer where those need more than two blocks as well. */
static int64_t few(const struct driver *driver, const struct mmt_config *config,
                   const struct mmt_variant *variant, bool rows, int64_t most)
{
    const bool grows = side_of_launch(driver, config, variant, rows, 0) > 0;
    const int64_t enough = 2 * side_of(driver, config, variant, rows) + 1;
    return grows && enough < most ? enough : most;
}

/* Rows of that many elements start at aligned places. */
static int64_t aligned(int64_t size)
{
    return (size + 3) / 4 * 4;
}

/* More than one pass along k; of a grid, more than one block. */
static int64_t depth_of(const struct mmt_variant *variant, int64_t tile)
{
    if (!mmt_op_row(variant->op)->sums)
        return 40;
    return tile > SMALL_TILE ? 72 : 140;
}

/* The smallest there is; a batch of odd sizes, aligned nowhere; one more and one less
 * than a block covers, beside a C that must not be read; and rows that all start at
 * aligned places, for the aligned source. */
static void check_config(struct driver *driver, const struct mmt_config *config,
                         const struct mmt_variant *variant)
{
    static const struct exact_call plain = { .alpha = 1, .beta = 0 };
    static const struct exact_call odd = {
        .alpha = -2, .beta = 3, .scalars = true, .offset = 1
    };
    const int m = side_of(driver, config, variant, true);
    const int n = side_of(driver, config, variant, false);
    const int more = variant->trans_a != variant->trans_b ? 1 : -1;
    const struct {
        mmt_problem problem;
        const struct exact_call *call;
    } checks[] = {
        { problem_of(variant, 1, 1, 1, 1), &plain },
        { problem_of(variant, few(driver, config, variant, true, 17),
                     few(driver, config, variant, false, 9), 5, 2),
          &odd },
        { problem_of(variant, m + more, n - more, 3, 1), &plain },
        { problem_of(variant, aligned(few(driver, config, variant, true, 8)),
                     aligned(few(driver, config, variant, false, 12)),
                     depth_of(variant, m * n), 1),
          &plain },
    };
    SCOPED_TEXT words = { 0 };
    mmt_config_print(config, &words);
    printf("%s, %s, A %d B %d transposed\n", mmt_text_string(&words),
           mmt_type_name(variant->type), variant->trans_a, variant->trans_b);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        if (!mmt_config_check_problem(config, &checks[i].problem, driver->caps))
            check_problem(driver, mmt_text_string(&words), &checks[i].problem,
                          checks[i].call);
}

/* ---- the sample ------------------------------------------------------------------ */

static bool *seen_of(struct driver *driver, const struct mmt_config *config, int knob)
{
    int at = 0;
    while (config->template->knobs[knob].values[at] != config->values[knob])
        at++;
    return &driver->seen[knob][at];
}

static int count_unseen(struct driver *driver, const struct mmt_config *config)
{
    int unseen = 0;
    for (int i = 0; i < config->template->num_knobs; i++)
        unseen += !*seen_of(driver, config, i);
    return unseen;
}

static bool draw(struct driver *driver, const struct mmt_template *template,
                 const struct mmt_variant *variant, struct mmt_config *out)
{
    for (int i = 0; i < DRAWS; i++) {
        driver->random = driver->random * 6364136223846793005u + 1442695040888963407u;
        mmt_space_at(template, (driver->random >> 24) % mmt_space_size(template), out);
        if (!mmt_config_check_device(out, variant, driver->caps) &&
            is_small(driver, out, variant))
            return true;
    }
    return false;
}

/* Of several legal ones, that with the most values that have not been seen. */
static bool choose(struct driver *driver, const struct mmt_template *template,
                   const struct mmt_variant *variant, struct mmt_config *out)
{
    struct mmt_config other;
    if (!draw(driver, template, variant, out))
        return false;
    for (int i = 1; i < CANDIDATES && draw(driver, template, variant, &other); i++)
        if (count_unseen(driver, &other) > count_unseen(driver, out))
            *out = other;
    for (int i = 0; i < template->num_knobs; i++)
        *seen_of(driver, out, i) = true;
    return true;
}

/* Some templates are for some transposes alone: then no starting point is legal. */
static bool serves(const struct driver *driver, const struct mmt_template *template,
                   const struct mmt_variant *variant)
{
    bool legal = false;
    for (int i = 0; i < template->num_seeds; i++) {
        struct mmt_config config = { .template = template };
        memcpy(config.values, template->seeds[i],
               (size_t) template->num_knobs * sizeof(int));
        legal |= !mmt_config_check_device(&config, variant, driver->caps);
    }
    return legal && template->types & 1u << variant->type &&
           (variant->type != MMT_F64 || driver->caps->f64);
}

static bool has_turn(const struct mmt_template *template, mmt_type type)
{
    int place = 0, serving = 0;
    for (int i = 0; mmt_templates[i]; i++) {
        place = mmt_templates[i] == template ? i : place;
        serving += mmt_templates[i]->dialects & MMT_OPENCL_C &&
                   mmt_templates[i]->types & 1u << type;
    }
    return serving == 1 || (place + (int) type) % 3 == 0;
}

/* One configuration for each type and transpose that the template serves. */
static void check_template(struct driver *driver, const struct mmt_template *template)
{
    const bool transposes = mmt_op_row(template->op)->transposes;
    int configurations = 0;
    for (int i = 0; i < VARIANTS; i++) {
        const struct mmt_variant variant = { .op = template->op,
                                             .type = (mmt_type) (i / 4),
                                             .out = mmt_type_own_output(i / 4),
                                             .bias = template->fused ? i % 3 : 0,
                                             .trans_a = transposes && i & 2,
                                             .trans_b = transposes && i & 1 };
        struct mmt_config config;
        if (!serves(driver, template, &variant) ||
            (driver->sample && (i % 4 != i / 4 % 4 || !has_turn(template, variant.type))))
            continue;
        if (choose(driver, template, &variant, &config)) {
            check_config(driver, &config, &variant);
            configurations++;
        } else {
            printf("WRONG: no small configuration of %s for %s %d%d was found\n",
                   template->name, mmt_type_name(variant.type), variant.trans_a,
                   variant.trans_b);
            driver->wrong++;
        }
    }
    printf("%s: %d configurations, %d executions, %d wrong\n", template->name,
           configurations, driver->executions, driver->wrong);
}

/* ---- under oclgrind -------------------------------------------------------------- */

static int run_inside(const char *name, bool sample)
{
    const struct mmt_template *template = mmt_template_find(name);
    const struct fault *fault = fault_of(name);
    static struct driver driver = { .random = 1 };
    mmt_error err = { .text = "there is no template or fault of that name" };
    mmt_status status = MMT_OK;

    driver.sample = sample;
    driver.device = mmt_device_open("opencl:0", &err);
    if (!driver.device || !strstr(mmt_device_name(driver.device), "Oclgrind")) {
        printf("opencl:0 is not oclgrind's: %s\n",
               driver.device ? mmt_device_name(driver.device) : err.text);
        return 2;
    }
    driver.caps = mmt_device_caps(driver.device);
    if (template)
        check_template(&driver, template);
    else
        status =
            fault ? run_fault(driver.device, fault->source, &err) : MMT_ERROR_ARGUMENT;
    if (status)
        printf("%s: %s\n", name, err.text);
    free_kept(&driver);
    mmt_device_close(driver.device);
    return status || driver.wrong;
}

/* ---- outside --------------------------------------------------------------------- */

/* oclgrind's log, which stays empty while nothing is wrong. */
struct log {
    char path[64];
    char text[4096];
};

static bool make_log(struct log *log)
{
    snprintf(log->path, sizeof(log->path), "/tmp/oclgrind-XXXXXX");
    int file = mkstemp(log->path);
    if (file >= 0)
        close(file);
    return file >= 0;
}

static void read_log(struct log *log)
{
    FILE *file = fopen(log->path, "r");
    size_t length = file ? fread(log->text, 1, sizeof(log->text) - 1, file) : 0;
    log->text[length] = '\0';
    if (file)
        fclose(file);
    unlink(log->path);
}

/* The exit status of this program under oclgrind, 77 where that is not installed. Without
 * optimisation, or oclgrind meets instructions that it cannot watch for values never
 * written. */
static int run_under(char *program, const char *name, bool sample, struct log *log)
{
    char *words[] = { "oclgrind",
                      "--build-options",
                      "-cl-opt-disable",
                      "--check-api",
                      "--data-races",
                      "--uninitialized",
                      "--max-errors",
                      "2",
                      "--log",
                      log->path,
                      program,
                      sample ? "--sample" : (char *) name,
                      sample ? (char *) name : NULL,
                      NULL };
    pid_t child;
    int state;
    if (!make_log(log)) {
        printf("%s cannot be written: %s\n", log->path, strerror(errno));
        return 1;
    }
    int code = posix_spawnp(&child, words[0], NULL, NULL, words, environ);
    bool ended = !code && waitpid(child, &state, 0) == child;
    read_log(log);
    if (code)
        printf("oclgrind cannot be run: %s\n", strerror(code));
    if (ended && WIFSIGNALED(state))
        printf("%s ended by signal %d\n", name, WTERMSIG(state));
    return code == ENOENT ? 77 : ended && WIFEXITED(state) ? WEXITSTATUS(state) : 1;
}

static int examine_template(char *program, const char *name, bool sample)
{
    struct log log;
    int status = run_under(program, name, sample, &log);
    if (status != 77 && log.text[0])
        printf("WRONG: oclgrind on %s:%s\n", name, log.text);
    return status ? status : log.text[0] != '\0';
}

static int examine_fault(char *program, const struct fault *fault)
{
    struct log log;
    int status = run_under(program, fault->name, false, &log);
    if (status)
        return status;
    bool seen = strstr(log.text, fault->words);
    printf("%s: %s\n", fault->name, seen ? "seen" : "WRONG: oclgrind does not see it");
    return !seen;
}

int main(int argc, char **argv)
{
    const bool sample = argc > 1 && !strcmp(argv[1], "--sample");
    int worst = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 + sample)
        return run_inside(argv[1 + sample], sample);
    for (int i = 0; i < NUM_FAULTS && worst != 77; i++) {
        int status = examine_fault(argv[0], &faults[i]);
        worst = status > worst ? status : worst;
    }
    for (int i = 0; mmt_templates[i] && worst != 77; i++) {
        if (!(mmt_templates[i]->dialects & MMT_OPENCL_C))
            continue;
        int status = examine_template(argv[0], mmt_templates[i]->name, sample);
        worst = status > worst ? status : worst;
    }
    return worst;
}
