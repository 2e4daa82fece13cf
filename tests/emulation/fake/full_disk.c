/* LD_PRELOAD: a disk that is full from a certain call on, for all processes that share a
 * counter.
 *
 *   FULL_FOLDER   what lies below it is on that disk
 *   FULL_AFTER    calls that write there and succeed
 *   FULL_COUNTER  a file outside, of eight bytes, that counts them */
#undef _FILE_OFFSET_BITS /* it would give `open` the name of `open64` */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define NEXT(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static _Atomic uint64_t *counter(void)
{
    static _Atomic(_Atomic uint64_t *) mapped;
    if (mapped)
        return mapped;
    const char *path = getenv("FULL_COUNTER");
    int fd = path ? (int) syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    void *page =
        fd < 0 ? MAP_FAILED
               : mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (page != MAP_FAILED)
        mapped = page;
    return mapped;
}

/* Counts a call; whether it finds the disk full. */
static bool is_full(void)
{
    const char *after = getenv("FULL_AFTER");
    if (!counter() || !after)
        return false;
    const bool full = atomic_fetch_add(counter(), 1) >= strtoull(after, NULL, 10);
    if (full)
        errno = ENOSPC;
    return full;
}

static bool is_there(const char *path)
{
    const char *folder = getenv("FULL_FOLDER");
    return folder && path && !strncmp(path, folder, strlen(folder));
}

static bool is_on_it(int fd)
{
    char link[64], path[4096];
    int code = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    errno = code;
    return is_there(path);
}

static bool is_new(const char *path, int flags)
{
    return flags & O_CREAT && is_there(path) && access(path, F_OK);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    return size && is_on_it(fd) && is_full() ? -1 : NEXT(write)(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return is_on_it(fd) && is_full() ? -1 : NEXT(pwrite)(fd, bytes, size, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    return is_on_it(fd) && is_full() ? -1 : NEXT(pwrite64)(fd, bytes, size, at);
}

static int mode_of(int flags, va_list list)
{
    return flags & O_CREAT ? (int) va_arg(list, mode_t) : 0;
}

#define OPEN(name)                                                                       \
    int name(const char *path, int flags, ...)                                           \
    {                                                                                    \
        va_list list;                                                                    \
        va_start(list, flags);                                                           \
        int mode = mode_of(flags, list);                                                 \
        va_end(list);                                                                    \
        return is_new(path, flags) && is_full() ? -1 : NEXT(name)(path, flags, mode);    \
    }
OPEN(open)
OPEN(open64)

FILE *fopen(const char *path, const char *mode)
{
    return *mode != 'r' && is_there(path) && is_full() ? NULL : NEXT(fopen)(path, mode);
}

int mkdir(const char *path, mode_t mode)
{
    return is_there(path) && access(path, F_OK) && is_full() ? -1
                                                             : NEXT(mkdir)(path, mode);
}

char *mkdtemp(char *path)
{
    return is_there(path) && is_full() ? NULL : NEXT(mkdtemp)(path);
}

int mkostemp(char *path, int flags)
{
    return is_there(path) && is_full() ? -1 : NEXT(mkostemp)(path, flags);
}

int mkostemp64(char *path, int flags)
{
    return mkostemp(path, flags);
}

/* A folder may have to grow for it. */
int rename(const char *from, const char *to)
{
    return is_there(to) && is_full() ? -1 : NEXT(rename)(from, to);
}

int fsync(int fd)
{
    return is_on_it(fd) && is_full() ? -1 : NEXT(fsync)(fd);
}
