/* A worker's own side: a process with one device, one job at a time. */
#include "tuner/worker/tasks.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tuner/common/options.h"

/* ---- jobs ------------------------------------------------------------------------ */

/* What is checked, at whatever shape, is what will be timed. */
static void resolve_job(const struct worker *w, struct mmt_job *job)
{
    for (int i = 0; i < job->count; i++)
        job->configs[i] = mmt_config_resolve(&job->configs[i], &job->problem,
                                             mmt_device_caps(w->device));
}

static void note_cache(struct mmt_reply *reply)
{
    struct mmt_text trouble = { 0 };
    if (mmt_cache_trouble(&trouble))
        snprintf(reply->cache, sizeof reply->cache, "%s", mmt_text_string(&trouble));
    mmt_text_finish(&trouble);
}

static mmt_status do_job(struct worker *w, const struct mmt_job *job,
                         struct mmt_reply *reply, mmt_error *err)
{
    if (job->task == MMT_TASK_YARDSTICK)
        return mmt_worker_time_yardstick(w, job, reply, err);
    if (job->task == MMT_TASK_VERDICT)
        return mmt_worker_time_verdict(w, job, reply, err);
    return mmt_worker_do(w, job, reply, err);
}

/* False where the worker should end. */
static bool serve_job(struct worker *w, const char *line)
{
    struct mmt_job job;
    struct mmt_reply reply = { .count = 1 };
    struct mmt_text answer = { 0 };
    mmt_error err = { 0 };
    mmt_status status;
    if (mmt_wire_read_job(line, &job, &err)) {
        resolve_job(w, &job);
        reply.count = job.count ? job.count : 1;
        status = do_job(w, &job, &reply, &err);
    } else {
        status = err.status;
    }
    for (int i = 0; status && i < reply.count; i++)
        if (reply.results[i].outcome == MMT_TIMED)
            mmt_worker_fail(&reply.results[i], &err);
    reply.spoilt = mmt_worker_spoils(status);
    note_cache(&reply);
    if (!mmt_wire_write_reply(&reply, &answer))
        return false;
    mmt_worker_say(&answer);
    mmt_text_finish(&answer);
    return !reply.spoilt;
}

/* The first to go when memory runs out; and where the device is a CPU, whose driver maps
 * no more than it uses, nine tenths of the machine's memory at most. */
static void limit_memory(const struct mmt_caps *caps)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "w");
    if (file) {
        fputs("1000", file);
        fclose(file);
    }
    if (caps->kind != MMT_CPU)
        return;
    double bytes =
        0.9 * (double) sysconf(_SC_PHYS_PAGES) * (double) sysconf(_SC_PAGESIZE);
    struct rlimit limit = { (rlim_t) bytes, (rlim_t) bytes };
    setrlimit(RLIMIT_DATA, &limit);
}

static void serve_all(struct worker *w)
{
    FILE *in = fdopen(MMT_CHILD_FD, "r");
    char *line = NULL;
    size_t room = 0;
    while (in && getline(&line, &room, in) > 0 && serve_job(w, line))
        ;
    free(line);
}

int mmt_verb_worker(int argc, char **argv)
{
    mmt_error err = { 0 };
    struct worker w = { 0 };
    const struct rlimit no_core = { 0, 0 };
    if (argc != 3)
        return MMT_EXIT_USAGE;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, not the end */
    w.device = mmt_device_open(argv[2], &err);
    if (!w.device) {
        fprintf(stderr, "%s\n", err.text);
        return MMT_EXIT_FAILED;
    }
    fcntl(MMT_CHILD_FD, F_SETFD, FD_CLOEXEC); /* what it starts must not hold it open */
    limit_memory(mmt_device_caps(w.device));
    mmt_worker_note("ready");
    serve_all(&w);
    _exit(MMT_EXIT_DONE); /* a device that is in any state is not closed, but left */
}
