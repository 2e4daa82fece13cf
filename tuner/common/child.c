/* Starts and ends processes of this program's own, and hands them messages. */
#include "tuner/common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int spawn_child(pid_t *pid, char *const argv[], char *const environment[],
                       const int fds[3])
{
    const int fd = fds[0], words = fds[1], memory = fds[2];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (int out = 1; out <= 2; out++)
        if (words < 0)
            posix_spawn_file_actions_addopen(&actions, out, "/dev/null", O_WRONLY, 0);
        else
            posix_spawn_file_actions_adddup2(&actions, words, out);
    posix_spawn_file_actions_adddup2(&actions, fd, MMT_CHILD_FD);
    if (memory >= 0)
        posix_spawn_file_actions_adddup2(&actions, memory, MMT_CHILD_MEMORY_FD);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    const int code = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, argv,
                                 environment ? environment : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

int mmt_child_start(struct mmt_child *child, char *const argv[],
                    char *const environment[], int words, int memory)
{
    int pair[2] = { -1, -1 }, lifted[3] = { -1, -1, -1 };
    int code = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ? errno : 0;
    const int given[3] = { pair[1], words, memory };
    /* Above the descriptors that the child is given, so that no dup2 runs over another.
     */
    for (int i = 0; i < 3 && !code; i++)
        if (given[i] >= 0 && (lifted[i] = fcntl(given[i], F_DUPFD_CLOEXEC, 10)) < 0)
            code = errno;
    *child = (struct mmt_child){ .fd = pair[0] };
    if (!code && (code = spawn_child(&child->pid, argv, environment, lifted)))
        child->pid = 0;
    for (int i = 0; i < 3; i++)
        if (lifted[i] >= 0)
            close(lifted[i]);
    if (pair[1] >= 0)
        close(pair[1]);
    if (code)
        mmt_child_stop(child);
    return code;
}

int mmt_child_stop(struct mmt_child *child)
{
    int status = 0;
    if (child->fd >= 0)
        close(child->fd);
    if (child->pid > 0) {
        kill(-child->pid, SIGKILL);
        while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    *child = (struct mmt_child){ .fd = -1 };
    return status;
}

bool mmt_child_send(int fd, const void *bytes, size_t size)
{
    for (const char *at = bytes; size;) {
        const ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t) sent;
    }
    return true;
}

bool mmt_child_receive(int fd, void *bytes, size_t size)
{
    for (char *at = bytes; size;) {
        const ssize_t got = recv(fd, at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t) got;
    }
    return true;
}

static double used_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

void mmt_child_rest(void)
{
    const struct timespec pause = { 0, 2000000 };

    for (int i = 0; i < 50; i++) {
        const double before = used_seconds();
        nanosleep(&pause, NULL);
        if (used_seconds() - before < 2e-4)
            return;
    }
}
