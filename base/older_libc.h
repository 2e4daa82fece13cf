/* What a libc before glibc 2.27 lacks. The build has each source include it where that is
 * so, as for a wheel; nobody else does. */
#ifndef MMT_BASE_OLDER_LIBC_H
#define MMT_BASE_OLDER_LIBC_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void *mmt_reallocarray(void *array, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(array, count * size);
}
#define reallocarray mmt_reallocarray

static inline int mmt_memfd_create(const char *name, unsigned flags)
{
    return (int) syscall(SYS_memfd_create, name, flags);
}
#define memfd_create mmt_memfd_create
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1U
#endif

/* Kernels of that time have no system call for it. */
static inline int mmt_getentropy(void *bytes, size_t count)
{
    const int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, bytes, count);
    if (fd >= 0)
        close(fd);
    return got == (ssize_t) count ? 0 : -1;
}
#define getentropy mmt_getentropy

#endif
