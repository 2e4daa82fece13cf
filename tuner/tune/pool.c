/* The worker processes of a run, and Ctrl-C. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tuner/tune/built.h"
#include "tuner/tune/pool.h"

enum { MOST_WORKERS = 64, MOST_DEATHS = 3, MOST_KILLS = 3 };

/* ---- interruptions --------------------------------------------------------------- */

static volatile sig_atomic_t interrupts;
static int weight = 1; /* of a signal, in interrupts */
static int bell[2] = { -1, -1 };

static void on_signal(int signal)
{
    int code = errno;
    interrupts = interrupts + weight;
    if (write(bell[1], "", 1) < 0) /* it is full: then it rings already */
        errno = code;
    errno = code;
}

int mmt_pool_interrupts(void)
{
    return interrupts;
}

static void hear_signals(bool at_once)
{
    struct sigaction action = { .sa_handler = on_signal };
    weight = at_once ? 2 : 1;
    if (bell[0] < 0 && pipe2(bell, O_CLOEXEC | O_NONBLOCK))
        return;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, not the end */
}

/* ---- a folder for PoCL's own cache ----------------------------------------------- */

/* Gone with the run, but where its user has named one. */
static mmt_status make_pocl_folder(struct mmt_pool *pool, mmt_error *err)
{
    struct mmt_text parent = { 0 };
    if (secure_getenv("POCL_CACHE_DIR"))
        return MMT_OK;
    mmt_file_cache_folder(&parent);
    mmt_status status =
        mmt_own_folder_make(&pool->folder, mmt_text_string(&parent), "pocl", err);
    if (!status)
        setenv("POCL_CACHE_DIR", pool->folder.path, 1);
    mmt_text_finish(&parent);
    return status;
}

/* A run builds many times what programs ever use, some hundred megabytes, and needs what
 * was near a best once more at its end. */
static void keep_binaries(void)
{
    setenv("MMTUNE_CACHE_LIMIT", "2147483648", 0);
}

/* ---- starting and stopping ------------------------------------------------------- */

static int count_cores(void)
{
    const int count = mmt_processor_count();
    return count > MOST_WORKERS ? MOST_WORKERS : count;
}

/* CUDA compiles without the card: a compiling worker then holds none of its memory. */
static void name_device(const struct mmt_run *run, struct mmt_worker *worker)
{
    if (worker->role == MMT_COMPILER && !strcmp(run->device.caps.backend, "cuda"))
        snprintf(worker->device, sizeof worker->device, "null:%.32s",
                 run->device.caps.architecture);
    else
        snprintf(worker->device, sizeof worker->device, "%s", run->device.id);
}

/* A CPU that is measured computes on all cores, and nothing is compiled meanwhile; with
 * a GPU one core is left to the worker that measures. */
mmt_status mmt_pool_start(struct mmt_run *run, bool without_compilers, mmt_error *err)
{
    struct mmt_pool *pool = &run->pool;
    keep_binaries();
    pool->cores = count_cores();
    pool->shared = run->device.caps.kind == MMT_CPU;
    int all = pool->shared || pool->cores == 1 ? pool->cores : pool->cores - 1;
    int compilers = without_compilers ? 0 : all;
    hear_signals(pool->at_once);
    mmt_status status = pool->shared ? make_pocl_folder(pool, err) : MMT_OK;
    if (status)
        return status;
    pool->workers = calloc((size_t) compilers + 1, sizeof *pool->workers);
    if (!pool->workers)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for %d workers", compilers + 1);
    pool->count = compilers + 1;
    for (int i = 0; i < pool->count; i++) {
        pool->workers[i].role = i ? MMT_COMPILER : MMT_MEASURER;
        pool->workers[i].child.fd = pool->workers[i].words_fd = -1;
        name_device(run, &pool->workers[i]);
    }
    for (int i = 0; !status && i < pool->count; i++)
        status = mmt_worker_start(&pool->workers[i], err);
    return status;
}

void mmt_pool_stop(struct mmt_pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        mmt_worker_stop(&pool->workers[i]);
    free(pool->workers);
    mmt_own_folder_remove(&pool->folder);
    *pool = (struct mmt_pool){ 0 };
}

/* ---- work ------------------------------------------------------------------------ */

struct mmt_worker *mmt_pool_idle(struct mmt_pool *pool, enum mmt_role role)
{
    for (int i = 0; i < pool->count; i++) {
        struct mmt_worker *w = &pool->workers[i];
        if (w->role == role && w->ready && !w->busy)
            return w;
    }
    return NULL;
}

mmt_status mmt_pool_check(const struct mmt_pool *pool, mmt_error *err)
{
    if (pool->broken.status)
        *err = pool->broken;
    return pool->broken.status;
}

int mmt_pool_busy(const struct mmt_pool *pool, enum mmt_role role)
{
    int busy = 0;
    for (int i = 0; i < pool->count; i++)
        busy += pool->workers[i].role == role && pool->workers[i].busy;
    return busy;
}

static void replace_worker(struct mmt_pool *pool, struct mmt_worker *worker,
                           const struct mmt_result *death)
{
    mmt_error err = { 0 };
    mmt_worker_stop(worker);
    if (worker->deaths >= MOST_DEATHS)
        mmt_fail(&err, MMT_ERROR_DEVICE,
                 "a worker process on %s died %d times in a row: %s", worker->device,
                 worker->deaths, death ? death->reason : "");
    else
        mmt_worker_start(worker, &err);
    if (err.status)
        pool->broken = err;
}

/* True where a job has ended. A worker that dies without one is replaced silently. */
static bool attend_worker(struct mmt_pool *pool, struct mmt_worker *worker,
                          struct mmt_event *event)
{
    bool had_job = worker->busy;
    event->job = worker->job;
    switch (mmt_worker_hear(worker, &event->reply)) {
    case MMT_HEARD_NOTHING:
        return false;
    case MMT_HEARD_REPLY:
        if (*event->reply.cache)
            memcpy(pool->cache, event->reply.cache, sizeof pool->cache);
        if (event->reply.spoilt)
            replace_worker(pool, worker, NULL);
        return true;
    case MMT_HEARD_DEATH:
        pool->killed += event->reply.results[0].outcome == MMT_KILLED;
        replace_worker(pool, worker, &event->reply.results[0]);
        return had_job;
    }
    return false;
}

/* Sleeps until something is heard or the nearest deadline. True where a signal has rung:
 * it may have come before the caller looked. */
static bool wait_for_events(struct mmt_pool *pool, double until)
{
    struct pollfd fds[MOST_WORKERS + 2];
    int count = 0;
    fds[count++] = (struct pollfd){ .fd = bell[0], .events = POLLIN };
    for (int i = 0; i < pool->count; i++) {
        fds[count++] =
            (struct pollfd){ .fd = pool->workers[i].child.fd, .events = POLLIN };
        until = fmin(until, pool->workers[i].deadline);
    }
    double wait = fmin(fmax((until - mmt_now()) * 1e3, 0), 60e3);
    char ring[16];
    if (poll(fds, (nfds_t) count, (int) ceil(wait)) <= 0 || !fds[0].revents)
        return false;
    while (read(bell[0], ring, sizeof ring) > 0)
        ;
    return true;
}

bool mmt_pool_next(struct mmt_pool *pool, double until, struct mmt_event *event)
{
    int interrupted = interrupts;
    for (;;) {
        for (int i = 0; i < pool->count; i++)
            if (attend_worker(pool, &pool->workers[i], event))
                return true;
        if (pool->broken.status || interrupts != interrupted || mmt_now() >= until)
            return false;
        if (wait_for_events(pool, until))
            return false;
    }
}

static bool given_up(const struct mmt_pool *pool)
{
    return pool->broken.status || interrupts > 1;
}

/* Waits for the end of that job on that worker. */
static bool wait_for(struct mmt_run *run, enum mmt_task task, struct mmt_event *event)
{
    while (!given_up(&run->pool)) {
        if (!mmt_pool_next(&run->pool, INFINITY, event))
            continue;
        if (event->job.task == task)
            return true;
        mmt_tune_note_built(run, event);
    }
    return false;
}

static struct mmt_worker *wait_for_idle(struct mmt_run *run, struct mmt_event *event)
{
    struct mmt_worker *worker;
    while (!(worker = mmt_pool_idle(&run->pool, MMT_MEASURER))) {
        if (mmt_pool_next(&run->pool, mmt_now() + 0.1, event))
            mmt_tune_note_built(run, event);
        if (given_up(&run->pool))
            return NULL;
    }
    return worker;
}

bool mmt_pool_do(struct mmt_run *run, const struct mmt_job *job, double limit,
                 struct mmt_event *event)
{
    for (int kills = 0; kills < MOST_KILLS; kills++) {
        struct mmt_worker *worker = wait_for_idle(run, event);
        if (!worker)
            return false;
        mmt_worker_send(worker, job, limit, limit);
        if (!wait_for(run, job->task, event))
            return false;
        if (event->reply.results[0].outcome != MMT_KILLED)
            break;
    }
    return true;
}

/* ---- the naive kernel as if for the first time ----------------------------------- */

static mmt_status restart_measurer(struct mmt_pool *pool)
{
    mmt_error err = { 0 };
    mmt_worker_stop(&pool->workers[0]);
    if (mmt_worker_start(&pool->workers[0], &err))
        pool->broken = err;
    return err.status;
}

bool mmt_pool_renew(struct mmt_pool *pool)
{
    return !restart_measurer(pool);
}

static void set_or_unset(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* The variables are put back for workers that start later. */
static mmt_status restart_with_caches(struct mmt_pool *pool, const char *folder)
{
    static const char *const names[] = { "XDG_CACHE_HOME", "POCL_CACHE_DIR" };
    char *before[2];
    for (int i = 0; i < 2; i++) {
        const char *now = secure_getenv(names[i]);
        before[i] = now ? strdup(now) : NULL;
        setenv(names[i], folder, 1);
    }
    mmt_status status = restart_measurer(pool);
    for (int i = 0; i < 2; i++) {
        set_or_unset(names[i], before[i]);
        free(before[i]);
    }
    return status;
}

static struct mmt_job naive_job(const struct mmt_run *run)
{
    struct mmt_job job = { .task = MMT_TASK_MEASURE,
                           .seed = (uint64_t) run->options.seed,
                           .count = 1,
                           .verify = { true },
                           .budget_seconds = 0.01 };
    const struct mmt_template *naive = mmt_template_find("naive");
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 64, 64, 64);
    mmt_problem_normalise(&problem, &job.problem, NULL);
    job.configs[0].template = naive;
    memcpy(job.configs[0].values, naive->seeds[0],
           (size_t) naive->num_knobs * sizeof(int));
    return job;
}

void mmt_pool_try_naive(struct mmt_run *run, struct mmt_result *out)
{
    const double limit = fmax(60, 4 * run->options.limit);
    const struct mmt_job job = naive_job(run);
    struct mmt_own_folder folder;
    struct mmt_text parent = { 0 };
    struct mmt_event event;
    mmt_error err = { 0 };
    *out = (struct mmt_result){ .outcome = MMT_FAILED };
    mmt_file_cache_folder(&parent);
    if (mmt_own_folder_make(&folder, mmt_text_string(&parent), "pocl", &err)) {
        snprintf(out->reason, sizeof out->reason, "%.*s", MMT_REASON_SIZE - 1, err.text);
    } else if (!restart_with_caches(&run->pool, folder.path)) {
        if (mmt_pool_do(run, &job, limit, &event))
            *out = event.reply.results[0];
        else if (given_up(&run->pool))
            snprintf(out->reason, sizeof out->reason, "%.*s", MMT_REASON_SIZE - 1,
                     run->pool.broken.text);
        if (!run->pool.broken.status)
            restart_measurer(&run->pool);
        mmt_own_folder_remove(&folder);
    }
    mmt_text_finish(&parent);
}
