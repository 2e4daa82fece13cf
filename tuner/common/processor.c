/* Tells how many processors there are, how busy they are, and what share of one a process
 * got. */
#include "tuner/common/processor.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* ---- one process ----------------------------------------------------------------- */

static void add_thread(const char *process, const char *thread,
                       struct mmt_processor_time *sum)
{
    char path[64];
    double ran, waited; /* ns */
    snprintf(path, sizeof path, "/proc/%s/task/%.16s/schedstat", process, thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (fscanf(file, "%lf %lf", &ran, &waited) == 2) {
        sum->ran += ran * 1e-9;
        sum->waited += waited * 1e-9;
    }
    fclose(file);
}

struct mmt_processor_time mmt_processor_time(pid_t pid)
{
    struct mmt_processor_time sum = { 0 };
    char process[16] = "self", path[32];
    if (pid)
        snprintf(process, sizeof process, "%d", (int) pid);
    snprintf(path, sizeof path, "/proc/%s/task", process);
    DIR *threads = opendir(path);
    for (struct dirent *at; threads && (at = readdir(threads));)
        if (at->d_name[0] != '.')
            add_thread(process, at->d_name, &sum);
    if (threads)
        closedir(threads);
    return sum;
}

/* Threads that have ended since then took their times along. */
double mmt_processor_share(pid_t pid, const struct mmt_processor_time *since)
{
    const struct mmt_processor_time now = mmt_processor_time(pid);
    const double ran = fmax(now.ran - since->ran, 0),
                 waited = fmax(now.waited - since->waited, 0);
    return ran + waited > 0 ? ran / (ran + waited) : 1;
}

/* ---- the machine ----------------------------------------------------------------- */

int mmt_processor_count(void)
{
    cpu_set_t set;
    const int count = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return count < 1 ? 1 : count;
}

static double count_running(void)
{
    int running = 1;
    FILE *file = fopen("/proc/loadavg", "re");
    if (file && fscanf(file, "%*f %*f %*f %d", &running) != 1)
        running = 1;
    if (file)
        fclose(file);
    return running - 1;
}

double mmt_processor_load(void)
{
    enum { LOOKS = 10 };
    const struct timespec pause = { 0, 100000000 / LOOKS };
    const double all = (double) sysconf(_SC_NPROCESSORS_ONLN);
    double sum = 0;
    for (int i = 0; i < LOOKS; i++) {
        sum += count_running();
        nanosleep(&pause, NULL);
    }
    return sum / LOOKS * fmin(mmt_processor_count() / all, 1);
}
