/* Reads and replaces whole files, and finds our folders; never loads what another user
 * could have written. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
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

/* Two kinds of names, and what holds for each:
 *
 * A name that the user gave (a profile, -o, MMTUNE_TEMPLATE_DIR) may be a link. It is
 * followed for reading; for writing, only where the link belongs to this user or to root:
 * in /tmp anybody may put one in the way.
 *
 * A name that the program made up (the cache, a journal, a temporary file) is never
 * followed. What stands there is opened only where it is a regular file. In the cache it
 * must be this user's, writable by nobody else; a journal stands where the user wants it,
 * and must be this user's or of whoever has the folder.
 *
 * Whatever is opened is opened once, without waiting, and judged by its descriptor. */

enum { FILE_MODE = 0600, FOLDER_MODE = 0700, OTHERS_WRITE = S_IWGRP | S_IWOTH };

static const char *kind_of(mode_t mode)
{
    return S_ISFIFO(mode)   ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISDIR(mode)  ? "a folder"
           : S_ISLNK(mode)  ? "a symbolic link"
           : S_ISREG(mode)  ? "a file"
                            : "a device";
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

static mmt_status require_regular(int fd, const char *path, struct stat *found,
                                  mmt_error *err)
{
    if (fstat(fd, found))
        return fail_errno(err, "open", path);
    if (S_ISREG(found->st_mode))
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_IO, "'%s' is %s; a regular file is needed", path,
                    kind_of(found->st_mode));
}

/* A file of ours, that nobody else could have written. */
static mmt_status require_own(int fd, const char *path, mmt_error *err)
{
    struct stat found;
    mmt_status status = require_regular(fd, path, &found, err);
    if (status)
        return status;
    if (found.st_uid != geteuid())
        return mmt_fail(err, MMT_ERROR_IO,
                        "'%s' belongs to user %ld; one of user %ld is needed", path,
                        (long) found.st_uid, (long) geteuid());
    if (found.st_mode & OTHERS_WRITE)
        return mmt_fail(err, MMT_ERROR_IO,
                        "'%s' may be written by others (mode %04o); `chmod go-w` mends "
                        "that",
                        path, (unsigned) found.st_mode & 07777);
    return MMT_OK;
}

mmt_status mmt_file_read_open(int fd, const char *path, size_t limit,
                              struct mmt_text *text, mmt_error *err)
{
    mmt_text_finish(text);
    if (lseek(fd, 0, SEEK_SET))
        return fail_errno(err, "read", path);
    mmt_status status = read_all(fd, path, limit, text, err);
    if (status)
        mmt_text_finish(text);
    return status;
}

mmt_status mmt_file_read(const char *path, size_t limit, struct mmt_text *text,
                         mmt_error *err)
{
    struct stat found;
    mmt_text_finish(text);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "open", path);
    mmt_status status = require_regular(fd, path, &found, err);
    if (!status)
        status = mmt_file_read_open(fd, path, limit, text, err);
    close(fd);
    return status;
}

mmt_status mmt_file_read_own(int folder, const char *name, size_t limit,
                             struct mmt_text *text, mmt_error *err)
{
    mmt_text_finish(text);
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "open", name);
    mmt_status status = require_own(fd, name, err);
    if (!status)
        status = mmt_file_read_open(fd, name, limit, text, err);
    close(fd);
    return status;
}

/* ---- folders --------------------------------------------------------------------- */

/* Whether there is a folder of that name now; else errno says why not. A umask that takes
 * rights from the user itself is put right. */
static bool make_one(const char *path)
{
    struct stat found;
    if (!mkdir(path, FOLDER_MODE))
        return !lstat(path, &found) &&
               ((found.st_mode & FOLDER_MODE) == FOLDER_MODE ||
                !fchmodat(AT_FDCWD, path, FOLDER_MODE, AT_SYMLINK_NOFOLLOW));

    int code = errno;
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

/* Whether a link is one that this user, or root, has put there. */
static bool is_trusted_link(const struct stat *link)
{
    return S_ISLNK(link->st_mode) && (link->st_uid == geteuid() || link->st_uid == 0);
}

static mmt_status refuse_link(const char *path, const struct stat *link, mmt_error *err)
{
    return mmt_fail(err, MMT_ERROR_IO,
                    "'%s' is a symbolic link of user %ld, which is not followed; name "
                    "what is meant, or remove it",
                    path, (long) link->st_uid);
}

/* Nobody else may put files into it, or take them away. */
static mmt_status require_own_folder(int fd, const char *path, mmt_error *err)
{
    struct stat found;
    if (fstat(fd, &found))
        return fail_errno(err, "open folder", path);
    if (found.st_uid != geteuid())
        return mmt_fail(err, MMT_ERROR_IO,
                        "the folder '%s' belongs to user %ld; one of user %ld, who runs "
                        "this, is needed",
                        path, (long) found.st_uid, (long) geteuid());
    if (found.st_mode & OTHERS_WRITE)
        return mmt_fail(err, MMT_ERROR_IO,
                        "the folder '%s' may be written by others (mode %04o); "
                        "`chmod go-w '%s'` mends that",
                        path, (unsigned) found.st_mode & 07777, path);
    return MMT_OK;
}

/* What was opened is the caller's where it is as it must be, and closed otherwise. */
static mmt_status hand_out(int fd, mmt_status status, int *out)
{
    if (status)
        close(fd);
    else
        *out = fd;
    return status;
}

mmt_status mmt_file_open_own_folder(const char *path, int *out, mmt_error *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    struct stat link;
    int fd = open(path, flags | O_NOFOLLOW);
    if (fd < 0 && !lstat(path, &link) && S_ISLNK(link.st_mode)) {
        if (!is_trusted_link(&link))
            return refuse_link(path, &link, err);
        fd = open(path, flags);
    }
    if (fd < 0)
        return fail_errno(err, "open folder", path);
    return hand_out(fd, require_own_folder(fd, path, err), out);
}

mmt_status mmt_file_make_own_folder(const char *path, int *out, mmt_error *err)
{
    int fd = -1;
    mmt_status status = mmt_file_make_folder(path, err);
    if (!status)
        status = mmt_file_open_own_folder(path, &fd, err);
    if (!status && out)
        *out = fd;
    else if (!status)
        close(fd);
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

mmt_status mmt_file_make_parent(const char *path, bool own, mmt_error *err)
{
    char *folder = folder_of(path);
    mmt_status status = !folder
                            ? mmt_fail(err, MMT_ERROR_MEMORY,
                                       "out of memory making the folder of '%s'", path)
                        : own ? mmt_file_make_own_folder(folder, NULL, err)
                              : mmt_file_make_folder(folder, err);
    free(folder);
    return status;
}

/* ---- replacing ------------------------------------------------------------------- */

/* Opens a new file in a folder, with `name` and something that nobody guesses behind it;
 * *made is malloc'ed. */
static int open_beside(int folder, const char *name, mode_t mode, char **made)
{
    uint64_t number;
    for (int attempt = 0; attempt < 100; attempt++) {
        if (getentropy(&number, sizeof number))
            return -1;
        if (asprintf(made, "%s.%016llx.tmp", name, (unsigned long long) number) < 0) {
            *made = NULL;
            errno = ENOMEM;
            return -1;
        }
        int fd = openat(folder, *made,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
        if (fd >= 0) /* whatever the umask */
            fchmod(fd, mode);
        if (fd >= 0 || errno != EEXIST)
            return fd;
        free(*made);
        *made = NULL;
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

/* Some file systems cannot sync a folder and say EINVAL, and one that may be written but
 * not read has no descriptor for it; there is no more to be done. */
static bool sync_folder(int folder)
{
    return !fsync(folder) || errno == EINVAL || errno == ENOTSUP || errno == EBADF;
}

/* Writes, syncs, closes and renames; the file is gone where that fails. */
static bool write_and_rename(int folder, int fd, const char *made, const char *name,
                             const void *bytes, size_t length)
{
    bool written = write_all(fd, bytes, length) && !fsync(fd);
    int code = errno;
    if (close(fd) && written) {
        written = false;
        code = errno;
    }
    if (written && !renameat(folder, made, folder, name))
        return true;
    if (written)
        code = errno;
    unlinkat(folder, made, 0);
    errno = code;
    return false;
}

/* Replaces what stands under `name`, whatever it is: a link goes, not what it leads to.
 */
static mmt_status replace_in(int folder, const char *name, const char *path, mode_t mode,
                             const void *bytes, size_t length, mmt_error *err)
{
    char *made = NULL;
    int fd = open_beside(folder, name, mode, &made);
    bool written = fd >= 0 && write_and_rename(folder, fd, made, name, bytes, length);
    int code = errno;
    free(made);
    errno = code;
    if (!written)
        return fail_errno(err, "write", path);
    return sync_folder(folder) ? MMT_OK : fail_errno(err, "sync the folder of", path);
}

mmt_status mmt_file_replace_own(int folder, const char *name, const void *bytes,
                                size_t length, mmt_error *err)
{
    return replace_in(folder, name, name, FILE_MODE, bytes, length, err);
}

/* Who may read a file stays as its user has set it; others never get to write it. */
static mode_t mode_for(int folder, const char *name)
{
    struct stat found;
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) || !S_ISREG(found.st_mode) ||
        found.st_uid != geteuid())
        return FILE_MODE;
    return FILE_MODE | (found.st_mode & (S_IRGRP | S_IROTH));
}

/* The descriptor of the folder that `path` stands in, and the rest of it; makes the
 * folder where it is missing. */
static mmt_status open_parent(const char *path, int *folder, const char **name,
                              mmt_error *err)
{
    const char *slash = strrchr(path, '/');
    char *parent = folder_of(path);
    if (!parent)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory writing '%s'", path);
    mmt_status status = mmt_file_make_folder(parent, err);
    if (!status) {
        *name = slash ? slash + 1 : path;
        *folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (*folder < 0 && errno == EACCES)
            *folder = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (*folder < 0)
            status = fail_errno(err, "write", path);
    }
    free(parent);
    return status;
}

/* `path` leads through no link any more. */
static mmt_status replace_at(const char *path, const void *bytes, size_t length,
                             mmt_error *err)
{
    const char *name;
    int folder;
    mmt_status status = open_parent(path, &folder, &name, err);
    if (status)
        return status;
    status = replace_in(folder, name, path, mode_for(folder, name), bytes, length, err);
    close(folder);
    return status;
}

/* Makes a file beside `path`, writes into it and removes it. */
static mmt_status try_beside(const char *path, mmt_error *err)
{
    const char *name;
    char *made = NULL;
    int folder;
    mmt_status status = open_parent(path, &folder, &name, err);
    if (status)
        return status;
    int fd = open_beside(folder, name, FILE_MODE, &made);
    if (fd < 0 || !write_all(fd, "\n", 1) || fsync(fd))
        status = fail_errno(err, "write", path);
    if (fd >= 0) {
        unlinkat(folder, made, 0);
        close(fd);
    }
    free(made);
    close(folder);
    return status;
}

/* A terminal, a pipe that is being read, /dev/stdout: what is there stays, and takes the
 * bytes. Nothing of a file that has come in its place meanwhile is touched. */
static mmt_status write_into(const char *path, const void *bytes, size_t length,
                             mmt_error *err)
{
    struct stat found;
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENXIO)
        return mmt_fail_native(err, MMT_ERROR_IO, ENXIO,
                               "cannot write '%s': it is a pipe that nobody reads; name "
                               "a regular file",
                               path);
    bool written = fd >= 0 && !fstat(fd, &found);
    if (written && S_ISREG(found.st_mode)) {
        close(fd);
        return mmt_fail(err, MMT_ERROR_IO, "'%s' has been changed while it was written",
                        path);
    }
    written = written && !fcntl(fd, F_SETFL, 0) && write_all(fd, bytes, length);
    int code = errno;
    if (fd >= 0)
        close(fd);
    errno = code;
    return written ? MMT_OK : fail_errno(err, "write", path);
}

/* What is to be replaced, malloc'ed: what a link that may be followed leads to, else
 * `path` itself. */
static char *find_target(const char *path, mmt_error *err)
{
    struct stat found;
    char *target = NULL;
    if (!lstat(path, &found) && S_ISLNK(found.st_mode)) {
        if (!is_trusted_link(&found)) {
            refuse_link(path, &found, err);
            return NULL;
        }
        target = realpath(path, NULL); /* NULL where nothing is behind the link yet */
    }
    if (!target && !(target = strdup(path)))
        mmt_fail(err, MMT_ERROR_MEMORY, "out of memory writing '%s'", path);
    return target;
}

mmt_status mmt_file_may_replace(const char *path, mmt_error *err)
{
    struct stat found;
    mmt_error why = { 0 };
    mmt_status status;
    char *target = find_target(path, &why);
    if (!target)
        status = mmt_fail(err, why.status, "%s", why.text);
    else if (!stat(target, &found) && !S_ISREG(found.st_mode))
        status = mmt_fail(err, MMT_ERROR_IO, "'%s' is %s; a regular file is needed", path,
                          kind_of(found.st_mode));
    else
        status = try_beside(target, err);
    free(target);
    return status;
}

mmt_status mmt_file_replace(const char *path, const void *bytes, size_t length,
                            mmt_error *err)
{
    struct stat found;
    mmt_error why = { 0 };
    mmt_status status;
    char *target = find_target(path, &why);
    if (!target)
        status = mmt_fail(err, why.status, "%s", why.text);
    else if (!stat(path, &found) && !S_ISREG(found.st_mode))
        status = write_into(path, bytes, length, err);
    else
        status = replace_at(target, bytes, length, err);
    free(target);
    return status;
}

/* ---- appending ------------------------------------------------------------------- */

/* In /tmp anybody may have put it there. Some file systems know no users: there it has
 * the folder's. */
static mmt_status require_own_log(int fd, const char *path, mmt_error *err)
{
    struct stat found, around;
    mmt_status status = require_regular(fd, path, &found, err);
    if (status || found.st_uid == geteuid())
        return status;
    char *folder = folder_of(path);
    bool trusted = folder && !stat(folder, &around) && around.st_uid == found.st_uid;
    free(folder);
    return trusted ? MMT_OK
                   : mmt_fail(err, MMT_ERROR_IO,
                              "'%s' belongs to user %ld; one of user %ld, who runs this, "
                              "is needed",
                              path, (long) found.st_uid, (long) geteuid());
}

mmt_status mmt_file_open_log(const char *path, int *out, mmt_error *err)
{
    const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = open(path, flags | O_CREAT | O_EXCL, FILE_MODE);
    if (fd >= 0)
        fchmod(fd, FILE_MODE); /* whatever the umask */
    else if (errno == EEXIST)
        fd = open(path, flags);
    if (fd < 0 && errno == ELOOP)
        return mmt_fail_native(err, MMT_ERROR_IO, ELOOP,
                               "'%s' is a symbolic link; a regular file is needed", path);
    if (fd < 0)
        return fail_errno(err, "write", path);
    return hand_out(fd, require_own_log(fd, path, err), out);
}

/* ---- where our files live -------------------------------------------------------- */

static void add_home(struct mmt_text *text)
{
    const char *home = secure_getenv("HOME");
    if (home && *home) {
        mmt_text_add(text, home);
        return;
    }

    char buffer[4096];
    struct passwd entry, *found = NULL;
    getpwuid_r(geteuid(), &entry, buffer, sizeof(buffer), &found);
    mmt_text_add(text, found ? found->pw_dir : "/");
}

/* The specification says that a relative path in the variable is to be ignored. */
static void add_xdg(struct mmt_text *text, const char *base, const char *otherwise)
{
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
    add_xdg(text, secure_getenv("XDG_DATA_HOME"), "/.local/share");
}

void mmt_file_cache_folder(struct mmt_text *text)
{
    add_xdg(text, secure_getenv("XDG_CACHE_HOME"), "/.cache");
}

void mmt_file_state_folder(struct mmt_text *text)
{
    add_xdg(text, secure_getenv("XDG_STATE_HOME"), "/.local/state");
}
