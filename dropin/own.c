/* What is ours in a program's process: the objects and threads that steps of ours have
 * brought there. */
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dropin/table.h"

/* ---- a list of numbers ----------------------------------------------------------- */

struct numbers {
    uint64_t *list;
    size_t count, room;
};

static bool has(const struct numbers *numbers, uint64_t number)
{
    for (size_t i = 0; i < numbers->count; i++)
        if (numbers->list[i] == number)
            return true;
    return false;
}

static void add(struct numbers *numbers, uint64_t number)
{
    if (numbers->count == numbers->room) {
        const size_t room = 2 * numbers->room + 64;
        void *more = reallocarray(numbers->list, room, sizeof *numbers->list);
        if (!more)
            return;
        numbers->list = more;
        numbers->room = room;
    }
    numbers->list[numbers->count++] = number;
}

/* Of all that is there now, what was not there before. */
static void add_new(struct numbers *ours, const struct numbers *before,
                    const struct numbers *now)
{
    for (size_t i = 0; i < now->count; i++)
        if (!has(before, now->list[i]) && !has(ours, now->list[i]))
            add(ours, now->list[i]);
}

/* Steps of several threads take turns: what one of them brings is not the other's. */
static struct {
    pthread_mutex_t lock;
    struct numbers objects_before, threads_before; /* of the step that is taken */
    struct numbers objects, threads;               /* that steps have brought */
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local int depth __attribute__((tls_model("initial-exec")));

/* ---- objects --------------------------------------------------------------------- */

static int list_object(struct dl_phdr_info *object, size_t size, void *context)
{
    add(context, object->dlpi_addr);
    return 0;
}

static int covers(struct dl_phdr_info *object, size_t size, void *context)
{
    const uintptr_t address = *(uintptr_t *) context;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD &&
            address - object->dlpi_addr - part->p_vaddr < part->p_memsz)
            return has(&own.objects, object->dlpi_addr);
    }
    return 0;
}

static bool is_of_ours(const struct sigaction *action)
{
    uintptr_t address = action->sa_flags & SA_SIGINFO ? (uintptr_t) action->sa_sigaction
                                                      : (uintptr_t) action->sa_handler;
    return address > (uintptr_t) SIG_IGN && dl_iterate_phdr(covers, &address);
}

/* ---- threads --------------------------------------------------------------------- */

static bool read_thread(long thread, const char *file, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/%s", thread, file);
    FILE *in = fopen(path, "re");
    const size_t got = in ? fread(text, 1, size - 1, in) : 0;
    if (in)
        fclose(in);
    text[got] = '\0';
    return got > 0;
}

/* Threads that are begun while every signal is blocked block every signal. */
static bool blocks_all(long thread)
{
    static const char blocked[] = "\nSigBlk:\t";
    char text[4096];
    const char *at =
        read_thread(thread, "status", text, sizeof text) ? strstr(text, blocked) : NULL;
    return at &&
           strtoull(at + sizeof blocked - 1, NULL, 16) >= UINT64_C(0xfffffffe00000000);
}

static void list_threads(struct numbers *out, bool that_block_all)
{
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *it; tasks && (it = readdir(tasks));) {
        const long thread = strtol(it->d_name, NULL, 10);
        if (thread > 0 && (!that_block_all || blocks_all(thread)))
            add(out, (uint64_t) thread);
    }
    if (tasks)
        closedir(tasks);
}

static bool main_thread_has_ended(void)
{
    char text[512];
    const char *behind =
        read_thread(getpid(), "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    return behind && (behind[2] == 'Z' || behind[2] == 'X');
}

void mmt_own_this_thread(void)
{
    pthread_mutex_lock(&own.lock);
    add(&own.threads, (uint64_t) syscall(SYS_gettid));
    pthread_mutex_unlock(&own.lock);
}

void mmt_own_forked(void)
{
    pthread_mutex_init(&own.lock, NULL);
    own.threads.count = own.objects_before.count = own.threads_before.count = 0;
}

bool mmt_only_ours_left(void)
{
    struct numbers all = { 0 };
    bool ours = main_thread_has_ended();
    if (!ours)
        return false;
    pthread_mutex_lock(&own.lock);
    list_threads(&all, false);
    for (size_t i = 0; i < all.count && ours; i++)
        ours = all.list[i] == (uint64_t) getpid() || has(&own.threads, all.list[i]);
    pthread_mutex_unlock(&own.lock);
    free(all.list);
    return ours && all.count > 0;
}

/* ---- a step ---------------------------------------------------------------------- */

void mmt_step_begin(struct mmt_step *step)
{
    sigset_t all;
    step->outer = !depth++;
    if (!step->outer)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &step->mask);
    fegetenv(&step->modes);
    step->has_variable = secure_getenv("HWLOC_PLUGINS_PATH") != NULL;
    pthread_mutex_lock(&own.lock);
    dl_iterate_phdr(list_object, &own.objects_before);
    list_threads(&own.threads_before, false);
    for (int i = 1; i < NSIG && i < 65; i++)
        if (sigaction(i, NULL, &step->actions[i]))
            step->actions[i].sa_handler = SIG_ERR;
}

static void put_back(const struct mmt_step *step)
{
    for (int i = 1; i < NSIG && i < 65; i++) {
        struct sigaction now;
        if (step->actions[i].sa_handler != SIG_ERR && !sigaction(i, NULL, &now) &&
            now.sa_handler != step->actions[i].sa_handler && is_of_ours(&now))
            sigaction(i, &step->actions[i], NULL);
    }
}

void mmt_step_end(const struct mmt_step *step)
{
    struct numbers objects = { 0 }, threads = { 0 };
    depth--;
    if (!step->outer)
        return;
    dl_iterate_phdr(list_object, &objects);
    list_threads(&threads, true);
    add_new(&own.objects, &own.objects_before, &objects);
    add_new(&own.threads, &own.threads_before, &threads);
    free(objects.list);
    free(threads.list);
    own.objects_before.count = own.threads_before.count = 0;
    put_back(step);
    if (!step->has_variable) /* children of the program would have it */
        unsetenv("HWLOC_PLUGINS_PATH");
    pthread_mutex_unlock(&own.lock);
    fesetenv(&step->modes);
    pthread_sigmask(SIG_SETMASK, &step->mask, NULL);
}
