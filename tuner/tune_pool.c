#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tuner/tune.h"

enum { MOST_WORKERS = 64, MOST_DEATHS = 3 };

/* ---- interruptions --------------------------------------------------------------------
 */

static volatile sig_atomic_t interrupts;
static int bell[2] = { -1, -1 };

static void on_signal(int signal)
{
    int code = errno;
    interrupts = interrupts + 1;
    if (write(bell[1], "", 1) < 0) /* it is full: then it rings already */
        errno = code;
    errno = code;
}

int mmt_pool_interrupts(void)
{
    return interrupts;
}

static void hear_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    if (bell[0] < 0 && pipe2(bell, O_CLOEXEC | O_NONBLOCK))
        return;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, not the end */
}

/* ---- a folder for PoCL's own cache ----------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int flag,
                      struct FTW *place)
{
    return remove(path);
}

static void remove_tree(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What tuners that were killed have left: "pocl-PID" of processes that are no more. */
static void sweep(const char *parent)
{
    DIR *folder = opendir(parent);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct mmt_text path = { 0 };
        int pid;
        if (sscanf(entry->d_name, "pocl-%d", &pid) != 1 || pid <= 0)
            continue;
        if (!kill(pid, 0) || errno != ESRCH)
            continue;
        mmt_text_addf(&path, "%s/%s", parent, entry->d_name);
        remove_tree(mmt_text_string(&path));
        mmt_text_finish(&path);
    }
    closedir(folder);
}

static mmt_status make_pocl_folder(struct mmt_pool *pool, mmt_error *err)
{
    struct mmt_text path = { 0 };
    mmt_file_cache_folder(&path);
    mmt_status status = mmt_file_make_own_folder(mmt_text_string(&path), NULL, err);
    if (status) {
        mmt_text_finish(&path);
        return status;
    }
    sweep(mmt_text_string(&path));
    mmt_text_addf(&path, "/pocl-%d", (int) getpid());
    status = mmt_file_make_folder(mmt_text_string(&path), err);
    if (status) {
        mmt_text_finish(&path);
        return status;
    }
    pool->folder = path.data;
    setenv("POCL_CACHE_DIR", pool->folder, 1);
    return MMT_OK;
}

/* A run builds many times what programs ever use, some hundred megabytes, and needs what
 * was near a best once more at its end. */
static void keep_binaries(void)
{
    setenv("MMTUNE_CACHE_LIMIT", "2147483648", 0);
}

/* ---- starting and stopping ------------------------------------------------------- */

static int cores(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return count < 1 ? 1 : count > MOST_WORKERS ? MOST_WORKERS : count;
}

/* CUDA compiles without the card: a compiling worker then holds none of its memory. */
static void name_device(const struct mmt_tuning *t, struct mmt_worker *worker)
{
    if (worker->role == MMT_COMPILER && !strcmp(t->caps.backend, "cuda"))
        snprintf(worker->device, sizeof worker->device, "null:%.32s",
                 t->caps.architecture);
    else
        snprintf(worker->device, sizeof worker->device, "%s", t->id);
}

/* A CPU that is measured computes on all cores, and nothing is compiled meanwhile; with
 * a GPU one core is left to the worker that measures. */
mmt_status mmt_pool_start(struct mmt_tuning *t, bool alone, mmt_error *err)
{
    struct mmt_pool *pool = &t->pool;
    keep_binaries();
    pool->cores = cores();
    pool->shared = t->caps.kind == MMT_CPU;
    int all = pool->shared || pool->cores == 1 ? pool->cores : pool->cores - 1;
    int compilers = alone ? 0 : all;
    hear_signals();
    mmt_status status = pool->shared ? make_pocl_folder(pool, err) : MMT_OK;
    if (status)
        return status;
    pool->workers = calloc((size_t) compilers + 1, sizeof *pool->workers);
    if (!pool->workers)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for %d workers", compilers + 1);
    pool->count = compilers + 1;
    for (int i = 0; i < pool->count; i++) {
        pool->workers[i].role = i ? MMT_COMPILER : MMT_MEASURER;
        pool->workers[i].fd = pool->workers[i].words_fd = -1;
        name_device(t, &pool->workers[i]);
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
    if (pool->folder)
        remove_tree(pool->folder);
    free(pool->folder);
    *pool = (struct mmt_pool){ 0 };
}

/* ---- work
 * -----------------------------------------------------------------------------------------
 */

struct mmt_worker *mmt_pool_idle(struct mmt_pool *pool, enum mmt_role role)
{
    for (int i = 0; i < pool->count; i++) {
        struct mmt_worker *w = &pool->workers[i];
        if (w->role == role && w->ready && !w->busy)
            return w;
    }
    return NULL;
}

int mmt_pool_busy(const struct mmt_pool *pool, enum mmt_role role)
{
    int busy = 0;
    for (int i = 0; i < pool->count; i++)
        busy += pool->workers[i].role == role && pool->workers[i].busy;
    return busy;
}

static void replace(struct mmt_pool *pool, struct mmt_worker *worker,
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
static bool attend(struct mmt_pool *pool, struct mmt_worker *worker,
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
            replace(pool, worker, NULL);
        return true;
    case MMT_HEARD_DEATH:
        replace(pool, worker, &event->reply.results[0]);
        return had_job;
    }
    return false;
}

/* Sleeps until something is heard or the nearest deadline. */
static void doze(struct mmt_pool *pool, double until)
{
    struct pollfd fds[MOST_WORKERS + 2];
    int count = 0;
    fds[count++] = (struct pollfd){ .fd = bell[0], .events = POLLIN };
    for (int i = 0; i < pool->count; i++) {
        fds[count++] = (struct pollfd){ .fd = pool->workers[i].fd, .events = POLLIN };
        until = fmin(until, pool->workers[i].deadline);
    }
    double wait = fmin(fmax((until - mmt_now()) * 1e3, 0), 60e3);
    char ring[16];
    if (poll(fds, (nfds_t) count, (int) ceil(wait)) > 0 && fds[0].revents)
        while (read(bell[0], ring, sizeof ring) > 0)
            ;
}

bool mmt_pool_next(struct mmt_pool *pool, double until, struct mmt_event *event)
{
    int interrupted = interrupts;
    for (;;) {
        for (int i = 0; i < pool->count; i++)
            if (attend(pool, &pool->workers[i], event))
                return true;
        if (pool->broken.status || interrupts != interrupted || mmt_now() >= until)
            return false;
        doze(pool, until);
        if (interrupts != interrupted)
            return false;
    }
}

static bool given_up(const struct mmt_pool *pool)
{
    return pool->broken.status || interrupts > 1;
}

bool mmt_pool_do(struct mmt_tuning *t, const struct mmt_job *job, double limit,
                 struct mmt_event *event)
{
    struct mmt_pool *pool = &t->pool;
    struct mmt_worker *worker;
    while (!(worker = mmt_pool_idle(pool, MMT_MEASURER))) {
        if (mmt_pool_next(pool, mmt_now() + 0.1, event))
            mmt_tune_note_built(t, event);
        if (given_up(pool))
            return false;
    }
    mmt_worker_send(worker, job, limit, limit);
    while (!given_up(pool)) {
        if (!mmt_pool_next(pool, INFINITY, event))
            continue;
        if (event->job.task == job->task)
            return true;
        mmt_tune_note_built(t, event);
    }
    return false;
}
