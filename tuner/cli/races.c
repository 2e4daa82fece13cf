/* Data races of a kernel, found by oclgrind: what starts it and reads what it says, and
 * what runs in it. */
#include "tuner/cli/races.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "device/device.h"
#include "runtime/runtime.h"
#include "tuner/cli/run.h"
#include "tuner/common/options.h"
#include "tuner/tune/pool.h"
#include "tuner/verify/data.h"
#include "tuner/verify/trials.h"

extern char **environ;

/* ---- inside ---------------------------------------------------------------------- */

/* Three odd products, in which k is gone through three times however long a stretch of it
 * is taken at once; a whole tile, aligned. */
enum { ROWS = 2 };

static struct mmt_trial_row row_of(int which, const struct mmt_config *config,
                                   const mmt_problem *like, const struct mmt_caps *caps)
{
    const struct mmt_config own = mmt_config_resolve(config, like, caps);
    const struct mmt_side one = { 1, false, 0 }, three = { 3, false, 0 },
                          row = { 0, false, 3 }, column = { 0, false, 5 };
    const struct mmt_side deep = { 0, false,
                                   2 * own.template->tile(own.values, like).deep + 3 };
    return which ? (struct mmt_trial_row){ "races", { one, one, three, 0, 1 }, 1, 0 }
                 : (struct mmt_trial_row){ "races", { row, column, deep, 1, 3 }, 2, -1 };
}

/* oclgrind takes writes of one value for no race: numbers differ. */
static mmt_status fill_buffer(mmt_device *device, size_t elements, mmt_type type,
                              mmt_operand *out, mmt_error *err)
{
    const struct mmt_data data = { type, 1, 4, 0 };
    const size_t count = elements ? elements : 1, bytes = count * mmt_type_size(type);
    void *host = calloc(count, mmt_type_size(type));
    if (!host)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for %zu bytes", bytes);
    mmt_data_fill(&data, 0, host, count);
    mmt_status status = mmt_buffer_create(device, bytes, out, err);
    if (!status)
        status = mmt_buffer_write(device, *out, host, bytes, err);
    free(host);
    return status;
}

/* The process ends behind it: nothing is freed. */
static mmt_status execute(mmt_device *device, const struct mmt_trial_row *row,
                          const char *configuration, const mmt_problem *p, mmt_error *err)
{
    mmt_plan_options options = mmt_plan_defaults();
    mmt_args args = mmt_args_defaults();

    options.configuration = configuration;
    mmt_plan *plan = mmt_plan_create(device, NULL, p, &options, err);
    mmt_status status = plan ? MMT_OK : err->status;
    const size_t workspace = plan ? mmt_plan_workspace(plan) : 0;
    args.alpha = row->alpha;
    args.beta = row->beta;
    if (!status)
        status =
            fill_buffer(device, (size_t) mmt_problem_extent_a(p), p->type, &args.a, err);
    if (!status)
        status =
            fill_buffer(device, (size_t) mmt_problem_extent_b(p), p->type, &args.b, err);
    if (!status)
        status =
            fill_buffer(device, (size_t) mmt_problem_extent_c(p), p->out, &args.c, err);
    if (!status && p->bias)
        status = fill_buffer(device, (size_t) (p->m + p->n), p->out, &args.bias, err);
    if (!status && workspace)
        status = mmt_buffer_create(device, workspace, &args.workspace, err);
    if (!status)
        status = mmt_execute(plan, &args, NULL, err);
    return status ? status : mmt_finish(device, NULL, err);
}

/* As the CPU that is simulated is, so that texts and launches are those. */
static mmt_device *open_simulator(unsigned cores, unsigned vector_bytes, mmt_error *err)
{
    mmt_device *device = mmt_device_open("opencl:0", err);
    if (!device)
        return NULL;
    if (!strstr(mmt_device_name(device), "Oclgrind")) {
        mmt_fail(err, MMT_ERROR_DEVICE,
                 "the first OpenCL device is not oclgrind's but %s",
                 mmt_device_name(device));
        return NULL;
    }
    device->caps.kind = MMT_CPU;
    device->caps.warp = 1;
    device->caps.sms = cores;
    device->caps.vector_bytes = vector_bytes;
    return device;
}

int mmt_verb_races(int argc, char **argv)
{
    struct mmt_config config;
    mmt_problem like, problem;
    mmt_error err = { 0 };
    int served = 0;
    if (argc != 6 || mmt_config_parse(argv[1], &config, &err) ||
        mmt_problem_parse(argv[2], &like, &err) ||
        mmt_problem_normalise(&like, &like, &err))
        return MMT_EXIT_USAGE;
    const rlim_t seconds = (rlim_t) atoi(argv[5]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CPU, &(struct rlimit){ seconds, seconds });
    mmt_device *device =
        open_simulator((unsigned) atoi(argv[3]), (unsigned) atoi(argv[4]), &err);
    mmt_status status = device ? MMT_OK : err.status;
    for (int i = 0; i < ROWS && !status; i++) {
        const struct mmt_trial_row row = row_of(i, &config, &like, &device->caps);
        if (mmt_trial_fit(&row, &config, &like, &device->caps, &problem) == MMT_FIT) {
            status = execute(device, &row, argv[1], &problem, &err);
            served++;
        }
    }
    fflush(stdout);
    if (status || !served)
        fprintf(stderr, "%s\n", status ? err.text : "no small problem is served there");
    _exit(status || !served ? MMT_EXIT_FAILED : MMT_EXIT_DONE);
}

/* ---- outside --------------------------------------------------------------------- */

/* Whether a program stands in the folders of PATH. */
static bool is_on_path(const char *program)
{
    struct mmt_text path = { 0 };
    mmt_run_find_program(program, &path);
    const bool found = path.length > 0;
    mmt_text_finish(&path);
    return found;
}

const char *mmt_races_why_not(const struct mmt_caps *caps)
{
    if (caps->kind != MMT_CPU || caps->dialect != MMT_OPENCL_C)
        return "";
    return is_on_path("oclgrind") ? NULL : "install oclgrind, which is not on PATH";
}

/* What a process is told, and what it printed. */
struct simulation {
    struct mmt_text config, problem;
    char cores[16], threads[16], shared[16], vector_bytes[16], seconds[16],
        self[PATH_MAX];
    int words; /* a file without a name */
};

static bool prepare(struct simulation *s, const struct mmt_config *config,
                    const mmt_problem *problem, const struct mmt_caps *caps, double limit)
{
    mmt_config_print(config, &s->config);
    mmt_problem_print(problem, &s->problem);
    snprintf(s->cores, sizeof s->cores, "%u", caps->sms);
    snprintf(s->threads, sizeof s->threads, "%u", caps->max_threads);
    snprintf(s->shared, sizeof s->shared, "%zu", (size_t) caps->shared);
    snprintf(s->vector_bytes, sizeof s->vector_bytes, "%u", caps->vector_bytes);
    snprintf(s->seconds, sizeof s->seconds, "%d", limit < 1 ? 1 : (int) limit);
    const ssize_t length = readlink("/proc/self/exe", s->self, sizeof s->self - 1);
    s->words = memfd_create("mmtune-races", MFD_CLOEXEC);
    return s->words >= 0 && length > 0 && !s->config.failed && !s->problem.failed;
}

/* Its exit status as waitpid has it, or -1. */
static int simulate(struct simulation *s)
{
    char *const argv[] = { "oclgrind",
                           "--data-races",
                           "--max-errors",
                           "1",
                           "--max-wgsize",
                           s->threads,
                           "--local-mem-size",
                           s->shared,
                           s->self,
                           "--races",
                           (char *) mmt_text_string(&s->config),
                           (char *) mmt_text_string(&s->problem),
                           s->cores,
                           s->vector_bytes,
                           s->seconds,
                           NULL };
    posix_spawn_file_actions_t actions;
    pid_t child;
    int state = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, s->words, 1);
    posix_spawn_file_actions_adddup2(&actions, s->words, 2);
    if (!posix_spawnp(&child, argv[0], &actions, NULL, argv, environ))
        while (waitpid(child, &state, 0) < 0 && errno == EINTR)
            if (mmt_pool_interrupts())
                kill(child, SIGKILL);
    posix_spawn_file_actions_destroy(&actions);
    return state;
}

static void read_words(int file, char *out, size_t size)
{
    const ssize_t length = pread(file, out, size - 1, 0);
    out[length > 0 ? length : 0] = '\0';
}

/* "tiled.cl line 127" of "At line 127 (column 26) of tiled.cl:". */
static const char *add_place(const char *words, char *out, size_t size)
{
    int line;
    char file[64];
    const char *at = strstr(words, "At line ");
    const size_t length = strlen(out);
    if (at && sscanf(at, "At line %d (column %*d) of %63[^:]", &line, file) == 2)
        snprintf(out + length, size - length, "%s %s line %d", length ? " and" : "", file,
                 line);
    return at ? at + 1 : words + strlen(words);
}

/* What oclgrind says of a race is a line of what it is, and then a place for each of two
 * threads. */
static void describe_race(const char *words, char *out, size_t size)
{
    const char *race = words + strspn(words, "\n");
    char places[200] = "";
    add_place(add_place(words, places, sizeof places), places, sizeof places);
    snprintf(out, size, "%.*s:%s", (int) strcspn(race, "\n"), race,
             *places ? places : " in a place that oclgrind does not tell");
}

static void describe_end(int state, const char *words, const char *seconds, char *out,
                         size_t size)
{
    if (state >= 0 && WIFSIGNALED(state) &&
        (WTERMSIG(state) == SIGKILL || WTERMSIG(state) == SIGXCPU))
        snprintf(out, size, "oclgrind takes more than %s s for it", seconds);
    else
        snprintf(out, size, "oclgrind has not run it: %.*s",
                 *words ? (int) strcspn(words, "\n") : 8, *words ? words : "it ended");
}

struct mmt_races mmt_races_find(const struct mmt_config *config,
                                const mmt_problem *problem, const struct mmt_caps *caps,
                                double limit)
{
    struct mmt_races races = { 0 };
    struct simulation s = { .words = -1 };
    char words[4096] = "";
    const int state = prepare(&s, config, problem, caps, limit) ? simulate(&s) : -1;
    if (s.words >= 0)
        read_words(s.words, words, sizeof words);
    races.found = strstr(words, " data race ") != NULL;
    races.looked = races.found || state == 0;
    if (races.found)
        describe_race(words, races.what, sizeof races.what);
    else if (!races.looked)
        describe_end(state, words, s.seconds, races.what, sizeof races.what);
    mmt_text_finish(&s.config);
    mmt_text_finish(&s.problem);
    if (s.words >= 0)
        close(s.words);
    return races;
}
