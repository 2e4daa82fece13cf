/* A program of BLAS that multiplies and ends in the way that it is told: ends WAY [COUNT]
 *
 * Its BLAS is the file MMT_ENDS_BLAS, which way "dlclose" closes and opens again between
 * products. Way "state" tells what the process has besides
 * memory, before the first product and behind the last. */
#include <dirent.h>
#include <dlfcn.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef void sgemm(const char *, const char *, const int *, const int *, const int *,
                   const float *, const float *, const int *, const float *, const int *,
                   const float *, float *, const int *, size_t, size_t);
enum { SIDE = 32 };
static sgemm *function;

/* As a program finds what it is not linked to: the first that is loaded. */
static void *open_blas(void)
{
    void *handle = dlopen(getenv("MMT_ENDS_BLAS"), RTLD_NOW | RTLD_GLOBAL);
    function = (sgemm *) dlsym(RTLD_DEFAULT, "sgemm_");
    if (!handle || !function) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(98);
    }
    return handle;
}

static void multiply(int count)
{
    static _Thread_local float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    const int n = SIDE;
    const float one = 1, zero = 0;
    for (int i = 0; i < SIDE * SIDE; i++)
        a[i] = 1, b[i] = 2;
    for (int i = 0; i < count; i++)
        function("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
    if (count && (c[0] != 2 * SIDE || c[SIDE * SIDE - 1] != 2 * SIDE)) {
        fprintf(stderr, "a product is wrong\n");
        _exit(99);
    }
}

static void *multiply_on(void *unused)
{
    for (;;)
        multiply(1);
    return NULL;
}

static void *multiply_count(void *count)
{
    usleep(100000);
    multiply(*(int *) count);
    return NULL;
}

/* ---- what a process has
 * ---------------------------------------------------------------- */

static void print_signals(void)
{
    enum { LIBC_FLAG = 0x04000000 }; /* SA_RESTORER, of whatever libc has set once */
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int i = 1; i < 65; i++) {
        struct sigaction action;
        if (!sigaction(i, NULL, &action))
            printf("signal %d %p %x %d\n", i, (void *) action.sa_handler,
                   (unsigned) action.sa_flags & ~LIBC_FLAG, sigismember(&blocked, i));
    }
}

static void print_limits(void)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        getrlimit(i, &limit);
        printf("limit %d %lu %lu\n", i, (unsigned long) limit.rlim_cur,
               (unsigned long) limit.rlim_max);
    }
}

/* Those of files and pipes: a driver keeps its own devices open. */
static void print_descriptors(void)
{
    for (int i = 0; i < 64; i++) {
        struct stat found;
        if (!fstat(i, &found) && (S_ISREG(found.st_mode) || S_ISFIFO(found.st_mode)))
            printf("descriptor %d %lu\n", i, (unsigned long) found.st_ino);
    }
}

static void print_state(void)
{
    char folder[4096];
    const mode_t mask = umask(0);
    umask(mask);
    print_signals();
    print_limits();
    print_descriptors();
    for (char **at = environ; *at; at++)
        printf("variable %s\n", *at);
    printf("rounding %d exceptions %d\n", fegetround(), fegetexcept());
#ifdef __x86_64__
    unsigned modes;
    __asm__ volatile("stmxcsr %0" : "=m"(modes));
    printf("modes %x\n", modes & ~0x3fu); /* but for what was raised */
#endif
    printf("locale %s mask %o folder %s\n", setlocale(LC_ALL, NULL), mask,
           getcwd(folder, sizeof folder));
}

/* ---- ways to end
 * ------------------------------------------------------------------------ */

static void exit_on_signal(int number)
{
    exit(7);
}

static volatile int nothing;

static void end_by_signal(int number)
{
    raise(number);
    printf("the signal is survived\n");
}

static void open_and_close(int count)
{
    for (int i = 0; i < 2; i++) {
        void *handle = open_blas();
        multiply(count);
        dlclose(handle);
    }
}

static void multiply_in_children(int count, int children)
{
    for (int i = 0; i < children; i++)
        if (!fork()) {
            multiply(count);
            _exit(0);
        }
    while (wait(NULL) > 0)
        continue;
}

static int end(const char *way, int count, char *const argv[])
{
    static const struct {
        const char *way;
        int number;
    } signals[] = { { "term", SIGTERM }, { "kill", SIGKILL }, { "segv", SIGSEGV },
                    { "fpe", SIGFPE },   { "bus", SIGBUS },   { "hup", SIGHUP } };
    pthread_t thread;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!strcmp(way, signals[i].way))
            end_by_signal(signals[i].number);
    if (!strcmp(way, "exit"))
        exit(3);
    if (!strcmp(way, "_exit"))
        _exit(3);
    if (!strcmp(way, "quick_exit"))
        quick_exit(3);
    if (!strcmp(way, "abort"))
        abort();
    if (!strcmp(way, "divide")) {
#ifdef __x86_64__
        int high = 0, low = 1; /* what the language leaves open, the processor does not */
        __asm__ volatile("idivl %2" : "+a"(low), "+d"(high) : "r"(nothing) : "cc");
#else
        raise(SIGFPE);
#endif
        printf("1 / 0 is survived\n");
    }
    if (!strcmp(way, "exec"))
        execl("/proc/self/exe", argv[0], "return", argv[2], NULL);
    if (!strcmp(way, "pthread_exit"))
        pthread_exit(NULL);
    if (!strcmp(way, "last_thread")) {
        static int more;
        more = count;
        pthread_create(&thread, NULL, multiply_count, &more);
        pthread_exit(NULL);
    }
    if (!strcmp(way, "threads"))
        for (int i = 0; i < 3; i++)
            pthread_create(&thread, NULL, multiply_on, NULL);
    if (!strcmp(way, "handler")) {
        signal(SIGALRM, exit_on_signal);
        ualarm(30000, 0);
        multiply_on(NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "return";
    const int count = argc > 2 ? atoi(argv[2]) : 1;
    const bool states = !strcmp(way, "state");

    if (states)
        print_state();
    if (!strcmp(way, "dlclose"))
        open_and_close(count);
    else {
        open_blas();
        multiply(count);
    }
    if (!strcmp(way, "children"))
        multiply_in_children(count, 3);
    if (states) {
        printf("--\n");
        print_state();
    }
    fflush(stdout);
    return end(way, count, argv);
}
