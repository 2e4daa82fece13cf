/* Threads of others in the program, such as PoCL's. */
#ifndef MMT_TESTS_THREADS_H
#define MMT_TESTS_THREADS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the thread sleeps, by what Linux says of it; so does one that has ended. */
static bool thread_sleeps(const char *id)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", id);
    FILE *file = fopen(path, "r");
    const size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[size] = '\0';
    const char *name_ends = strrchr(text, ')');
    if (file)
        fclose(file);
    return !name_ends || strchr("SZX", name_ends[2]);
}

static bool others_sleep(void)
{
    DIR *threads = opendir("/proc/self/task");
    bool all = threads;
    for (const struct dirent *it; all && (it = readdir(threads));)
        all = *it->d_name == '.' || atoi(it->d_name) == gettid() ||
              thread_sleeps(it->d_name);
    if (threads)
        closedir(threads);
    return all;
}

/* Waits until every other thread sleeps. PoCL 3.1 says that a command is done before its
 * thread has let go of it: what it may still touch is released, and counted, only then.
 * Two looks, since one may find a thread asleep that another one then wakes. */
static void wait_for_threads(void)
{
    for (int looks = 0; looks < 2; looks = others_sleep() ? looks + 1 : 0)
        usleep(1000);
}

#endif
