/* Tells processes apart by machine, boot, PID namespace, number and start time. */
#include "base/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first line, or "". */
static void read_line(const char *path, char *to, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, to, size - 1);
    if (fd >= 0)
        close(fd);
    to[got > 0 ? got : 0] = '\0';
    to[strcspn(to, "\n")] = '\0';
}

/* In clock ticks since the machine was; 0: there is no such process. */
static uint64_t started_at(int64_t pid)
{
    char path[64], text[1024];
    unsigned long long ticks = 0;
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long) pid);
    read_line(path, text, sizeof text);
    const char *behind = strrchr(text, ')'); /* the program's name may have anything */
    if (behind)
        sscanf(behind,
               ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
               "%*d %*d %*d %*d %llu",
               &ticks);
    return ticks;
}

struct mmt_process mmt_process_self(void)
{
    struct mmt_process self = { .pid = getpid(), .started = started_at(getpid()) };
    struct stat space;
    gethostname(self.host, sizeof self.host - 1);
    read_line("/proc/sys/kernel/random/boot_id", self.boot, sizeof self.boot);
    if (!*self.host)
        strcpy(self.host, "?");
    if (!*self.boot)
        strcpy(self.boot, "?");
    self.pid_space = stat("/proc/self/ns/pid", &space) ? 0 : space.st_ino;
    return self;
}

bool mmt_process_is_gone(const struct mmt_process *process,
                         const struct mmt_process *self)
{
    if (strcmp(process->boot, self->boot))
        return !strcmp(process->host, self->host);
    return process->started && process->pid_space == self->pid_space &&
           started_at(process->pid) != process->started;
}
