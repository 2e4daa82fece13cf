/* Workers as their parent sees them. */
#include "tuner/worker/worker.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Opening a device for the first time (drivers, first-use caches) may take long, and so
 * may ending with an open one. */
enum { START_SECONDS = 120, END_SECONDS = 20 };

/* Its limit begins anew. */
static void enter_phase(struct mmt_worker *worker, const char *phase, double limit)
{
    worker->since = mmt_now();
    worker->used = mmt_processor_time(worker->child.pid);
    worker->deadline = worker->since + limit;
    snprintf(worker->phase, sizeof worker->phase, "%s", phase);
}

/* ---- starting -------------------------------------------------------------------- */

mmt_status mmt_worker_start(struct mmt_worker *worker, mmt_error *err)
{
    char *const argv[] = { "mmtune", "--worker",
                           worker->role == MMT_COMPILER ? "compile" : "measure",
                           worker->device, NULL };
    worker->words_fd = memfd_create("mmtune-worker", MFD_CLOEXEC);
    worker->ready = worker->busy = false;
    const int code = worker->words_fd < 0 ? errno
                                          : mmt_child_start(&worker->child, argv, NULL,
                                                            worker->words_fd, -1);
    if (!code) {
        enter_phase(worker, "start", START_SECONDS);
        return MMT_OK;
    }
    mmt_worker_stop(worker);
    return mmt_fail_native(err, MMT_ERROR_IO, code, "cannot start a worker process: %s",
                           strerror(code));
}

void mmt_worker_stop(struct mmt_worker *worker)
{
    mmt_child_stop(&worker->child);
    if (worker->words_fd >= 0)
        close(worker->words_fd);
    worker->words_fd = -1;
    worker->ready = worker->busy = false;
    worker->deadline = INFINITY;
    mmt_text_finish(&worker->heard);
}

/* ---- sending --------------------------------------------------------------------- */

void mmt_worker_send(struct mmt_worker *worker, const struct mmt_job *job, double limit,
                     double run_limit)
{
    struct mmt_text line = { 0 };
    worker->job = *job;
    worker->busy = true;
    worker->limit = limit;
    worker->run_limit = run_limit;
    enter_phase(worker, "start", limit);
    if (!mmt_wire_write_job(job, &line))
        worker->deadline = 0;
    mmt_child_send(worker->child.fd, line.data, line.length);
    mmt_text_finish(&line);
}

/* ---- hearing --------------------------------------------------------------------- */

/* The last line or two of what the worker printed, " (it said: …)", or nothing. */
static void add_last_words(int fd, char *out, size_t size)
{
    char words[240];
    off_t end = lseek(fd, 0, SEEK_END);
    off_t start = end > (off_t) sizeof words - 1 ? end - (off_t) sizeof words + 1 : 0;
    ssize_t got = pread(fd, words, sizeof words - 1, start);
    while (got > 0 && (words[got - 1] == '\n' || words[got - 1] == ' '))
        got--;
    if (got <= 0)
        return;
    words[got] = '\0';
    for (ssize_t i = 0; i < got; i++)
        if (words[i] < ' ' || words[i] > '~')
            words[i] = ' ';
    size_t length = strlen(out);
    snprintf(out + length, size - length, "; its last words: %s", words);
}

/* Signals that kernels do not raise: somebody sent them. */
static bool is_from_outside(int signal)
{
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT ||
           signal == SIGHUP || signal == SIGQUIT;
}

/* `ours`: this process has killed it. */
static void describe_death(const struct mmt_worker *worker, int status, bool ours,
                           struct mmt_result *out)
{
    out->outcome = MMT_CRASHED;
    if (!ours && WIFSIGNALED(status) && is_from_outside(WTERMSIG(status))) {
        out->outcome = MMT_KILLED;
        snprintf(out->reason, sizeof out->reason,
                 "the process was killed from outside: %s (phase %s)%s",
                 strsignal(WTERMSIG(status)), worker->phase,
                 WTERMSIG(status) == SIGKILL ? "; where nobody did that, memory ran out"
                                             : "");
        return;
    }
    if (WIFSIGNALED(status))
        snprintf(out->reason, sizeof out->reason, "the process died of it: %s (phase %s)",
                 strsignal(WTERMSIG(status)), worker->phase);
    else
        snprintf(out->reason, sizeof out->reason,
                 "the process ended with status %d (phase %s)", WEXITSTATUS(status),
                 worker->phase);
    add_last_words(worker->words_fd, out->reason, sizeof out->reason);
}

/* Whether a process whose socket is closed ends by itself; it is not collected, so that
 * its process group keeps its number. */
static bool has_ended(pid_t pid)
{
    const struct timespec pause = { 0, 1000000 };
    siginfo_t info = { 0 };
    for (int i = 0; i < 1000 * END_SECONDS; i++) {
        if (!waitid(P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static enum mmt_heard bury_worker(struct mmt_worker *worker, bool ours,
                                  struct mmt_reply *reply)
{
    *reply = (struct mmt_reply){ .count = 1 };
    ours = ours || !has_ended(worker->child.pid);
    describe_death(worker, mmt_child_stop(&worker->child), ours, &reply->results[0]);
    worker->deaths = worker->ready ? 0 : worker->deaths + 1;
    mmt_worker_stop(worker);
    return MMT_HEARD_DEATH;
}

/* Making the data takes the host a while; a first run of a small problem takes no time.
 */
static double patience_with(const struct mmt_worker *worker)
{
    if (!strcmp(worker->phase, "data"))
        return 10 * worker->limit;
    if (!strcmp(worker->phase, "first run")) /* PoCL compiles in it, longer than before */
        return worker->run_limit + fmax(4 * worker->last_phase, 2);
    return worker->limit;
}

static double limit_of(const struct mmt_worker *worker)
{
    return worker->ready ? patience_with(worker) : START_SECONDS;
}

/* Moves the deadline of a worker that had to wait for a processor: on a busy machine the
 * clock runs ahead of it. False where its time is up. */
static bool extend_deadline(struct mmt_worker *worker)
{
    const double passed = mmt_now() - worker->since,
                 left = limit_of(worker) -
                        passed * mmt_processor_share(worker->child.pid, &worker->used);
    worker->deadline = mmt_now() + left;
    return left > 0.02 * limit_of(worker);
}

static enum mmt_heard end_hung(struct mmt_worker *worker, struct mmt_reply *reply)
{
    double limit = limit_of(worker);
    bury_worker(worker, true, reply);
    reply->results[0].outcome = MMT_HUNG;
    snprintf(reply->results[0].reason, sizeof reply->results[0].reason,
             "killed after %.1f seconds (phase %s)", limit, worker->phase);
    return MMT_HEARD_DEATH;
}

/* Takes the first whole line out of what was heard; malloc'ed, or NULL. */
static char *take_line(struct mmt_text *heard)
{
    char *end = heard->length ? memchr(heard->data, '\n', heard->length) : NULL;
    if (!end)
        return NULL;
    size_t length = (size_t) (end - heard->data);
    char *line = strndup(heard->data, length);
    memmove(heard->data, end + 1, heard->length - length); /* with the terminator */
    heard->length -= length + 1;
    return line;
}

static bool hear_line(struct mmt_worker *worker, const char *line,
                      struct mmt_reply *reply)
{
    char note[16];
    if (mmt_wire_read_note(line, note)) {
        worker->last_phase = mmt_now() - worker->since;
        worker->ready = true;
        worker->deaths = 0;
        enter_phase(worker, note, INFINITY);
        if (worker->busy)
            worker->deadline = worker->since + patience_with(worker);
        return false;
    }
    if (!worker->busy || !mmt_wire_read_reply(line, reply))
        return false;
    worker->busy = false;
    worker->deadline = INFINITY;
    return true;
}

static bool hear_lines(struct mmt_worker *worker, struct mmt_reply *reply)
{
    bool replied = false;
    for (char *line; !replied && (line = take_line(&worker->heard)); free(line))
        replied = hear_line(worker, line, reply);
    return replied;
}

enum mmt_heard mmt_worker_hear(struct mmt_worker *worker, struct mmt_reply *reply)
{
    char chunk[4096];
    ssize_t got = 0;
    if (worker->child.pid == 0)
        return MMT_HEARD_NOTHING;
    if (hear_lines(worker, reply))
        return MMT_HEARD_REPLY;
    while ((got = recv(worker->child.fd, chunk, sizeof chunk, MSG_DONTWAIT)) > 0)
        mmt_text_add_bytes(&worker->heard, chunk, (size_t) got);
    if (hear_lines(worker, reply))
        return MMT_HEARD_REPLY;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        return bury_worker(worker, false, reply);
    return mmt_now() > worker->deadline && !extend_deadline(worker)
               ? end_hung(worker, reply)
               : MMT_HEARD_NOTHING;
}
