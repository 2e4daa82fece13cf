#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mmt_status fail_errno(mmt_error *err, const char *what, const char *path)
{
    int code = errno;
    mmt_status status = code == ENOENT   ? MMT_ERROR_NOT_FOUND
                        : code == ENOMEM ? MMT_ERROR_MEMORY
                                         : MMT_ERROR_IO;
    return mmt_fail_native(err, status, code, "cannot %s '%s': %s", what, path,
                           strerror(code));
}

/* ---- reading --------------------------------------------------------------------- */

static mmt_status read_all(int fd, const char *path, size_t limit, struct mmt_text *text,
                           mmt_error *err)
{
    char chunk[16384];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, "read", path);
        if (got == 0)
            return MMT_OK;
        if ((size_t) got > limit - text->length)
            return mmt_fail(err, MMT_ERROR_FORMAT,
                            "'%s' is longer than %zu bytes, the most that is read", path,
                            limit);
        mmt_text_add_bytes(text, chunk, (size_t) got);
        if (text->failed)
            return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory reading '%s'", path);
    }
}

mmt_status mmt_file_read(const char *path, size_t limit, struct mmt_text *text,
                         mmt_error *err)
{
    mmt_text_finish(text);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "open", path);

    mmt_status status = read_all(fd, path, limit, text, err);
    close(fd);
    if (status)
        mmt_text_finish(text);
    return status;
}

/* ---- folders --------------------------------------------------------------------- */

/* Whether there is a folder of that name now; else errno says why not. */
static bool make_one(const char *path)
{
    if (!mkdir(path, 0700))
        return true;

    int code = errno;
    struct stat found;
    if (!stat(path, &found) && S_ISDIR(found.st_mode))
        return true;
    errno = code == EEXIST ? ENOTDIR : code;
    return false;
}

mmt_status mmt_file_make_folder(const char *path, mmt_error *err)
{
    char *partial = strdup(path);
    if (!partial)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory making folder '%s'", path);

    bool made = true;
    for (char *end = partial; made && *end; end++) {
        if (*end != '/' || end == partial)
            continue;
        *end = 0;
        made = make_one(partial);
        *end = '/';
    }
    made = made && make_one(partial);
    mmt_status status = made ? MMT_OK : fail_errno(err, "make folder", partial);
    free(partial);
    return status;
}

/* The folder that `path` stands in: "." for a bare name. NULL where memory is exhausted.
 */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t) (slash - path));
}

/* ---- replacing ------------------------------------------------------------------- */

/* Opens a new file beside `path`; *name is malloc'ed. Its mode is what the umask leaves.
 */
static int open_beside(const char *path, char **name)
{
    static atomic_uint counter;
    for (int attempt = 0; attempt < 100; attempt++) {
        unsigned number = atomic_fetch_add(&counter, 1);
        if (asprintf(name, "%s.%ld-%u.tmp", path, (long) getpid(), number) < 0) {
            *name = NULL;
            errno = ENOMEM;
            return -1;
        }
        int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
        free(*name);
        *name = NULL;
    }
    return -1;
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = write(fd, bytes, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        length -= (size_t) put;
    }
    return true;
}

/* Some file systems cannot sync a folder and say EINVAL; there is no more to be done. */
static bool sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES; /* a folder that may be written but not read */
    bool synced = !fsync(fd) || errno == EINVAL || errno == ENOTSUP;
    int code = errno;
    close(fd);
    errno = code;
    return synced;
}

/* Writes, syncs, closes and renames; the file is gone where that fails. */
static mmt_status write_and_rename(int fd, const char *name, const char *path,
                                   const void *bytes, size_t length, mmt_error *err)
{
    bool written = write_all(fd, bytes, length) && !fsync(fd);
    int code = errno;
    if (close(fd) && written) {
        written = false;
        code = errno;
    }
    if (written && !rename(name, path))
        return MMT_OK;
    if (written)
        code = errno;
    unlink(name);
    errno = code;
    return fail_errno(err, "write", path);
}

static mmt_status replace_in(const char *folder, const char *path, const void *bytes,
                             size_t length, mmt_error *err)
{
    mmt_status status = mmt_file_make_folder(folder, err);
    if (status)
        return status;

    char *name = NULL;
    int fd = open_beside(path, &name);
    status = fd < 0 ? fail_errno(err, "write", path)
                    : write_and_rename(fd, name, path, bytes, length, err);
    free(name);
    if (status)
        return status;
    return sync_folder(folder) ? MMT_OK : fail_errno(err, "sync folder", folder);
}

/* A terminal, a pipe, /dev/stdout: what is there stays, and takes the bytes. */
static mmt_status write_into(const char *path, const void *bytes, size_t length,
                             mmt_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write_all(fd, bytes, length);
    int code = errno;
    if (fd >= 0)
        close(fd);
    errno = code;
    return written ? MMT_OK : fail_errno(err, "write", path);
}

mmt_status mmt_file_replace(const char *path, const void *bytes, size_t length,
                            mmt_error *err)
{
    struct stat found;
    char *target = NULL, *folder;
    mmt_status status;

    if (!stat(path, &found) && !S_ISREG(found.st_mode))
        return write_into(path, bytes, length, err);
    if (!lstat(path, &found) && S_ISLNK(found.st_mode))
        target = realpath(path, NULL); /* NULL where nothing is behind the link yet */
    folder = folder_of(target ? target : path);
    status = folder ? replace_in(folder, target ? target : path, bytes, length, err)
                    : mmt_fail(err, MMT_ERROR_MEMORY, "out of memory writing '%s'", path);
    free(folder);
    free(target);
    return status;
}

/* ---- where our files live -------------------------------------------------------- */

static void add_home(struct mmt_text *text)
{
    const char *home = getenv("HOME");
    if (home && *home) {
        mmt_text_add(text, home);
        return;
    }

    char buffer[4096];
    struct passwd entry, *found = NULL;
    getpwuid_r(getuid(), &entry, buffer, sizeof(buffer), &found);
    mmt_text_add(text, found ? found->pw_dir : "/");
}

/* The specification says that a relative path in the variable is to be ignored. */
static void add_xdg(struct mmt_text *text, const char *variable, const char *otherwise)
{
    const char *base = getenv(variable);
    if (base && *base == '/')
        mmt_text_add(text, base);
    else {
        add_home(text);
        mmt_text_add(text, otherwise);
    }
    mmt_text_add(text, "/mmtune");
}

void mmt_file_data_folder(struct mmt_text *text)
{
    add_xdg(text, "XDG_DATA_HOME", "/.local/share");
}

void mmt_file_cache_folder(struct mmt_text *text)
{
    add_xdg(text, "XDG_CACHE_HOME", "/.cache");
}
