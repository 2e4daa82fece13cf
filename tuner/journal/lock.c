/* Locks files by flock, or by a file that names its owner, and removes folders whose
 * owner is gone. */
#include "tuner/journal/lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

/* ---- the owner of a file that stands for a lock ---------------------------------- */

/* One word each; "?" where the system does not tell. */
struct owner {
    char host[65], boot[64], space[64];
    long pid;
    unsigned long long started; /* clock ticks since the boot */
};

static void read_word(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file || !fgets(out, (int) size, file))
        snprintf(out, size, "?");
    out[strcspn(out, " \n")] = '\0';
    if (file)
        fclose(file);
}

/* 0 where there is no such process. */
static unsigned long long started_at(long pid)
{
    struct mmt_text text = { 0 };
    char path[64];
    unsigned long long ticks = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (!mmt_file_read(path, 1 << 16, &text, NULL)) {
        /* The name in parentheses may hold anything; what follows are 20 words. */
        const char *at = strrchr(mmt_text_string(&text), ')');
        for (int word = 0; at && word < 20; word++)
            at = strchr(at + 1, ' ');
        ticks = at ? strtoull(at, NULL, 10) : 0;
    }
    mmt_text_finish(&text);
    return ticks;
}

static struct owner this_process(void)
{
    struct owner self = { .pid = (long) getpid() };
    if (gethostname(self.host, sizeof self.host - 1) || !*self.host)
        snprintf(self.host, sizeof self.host, "?");
    read_word("/proc/sys/kernel/random/boot_id", self.boot, sizeof self.boot);
    ssize_t length = readlink("/proc/self/ns/pid", self.space, sizeof self.space - 1);
    if (length <= 0)
        snprintf(self.space, sizeof self.space, "?");
    self.started = started_at(self.pid);
    return self;
}

static bool read_owner(const char *path, struct owner *out)
{
    struct mmt_text text = { 0 };
    *out = (struct owner){ 0 };
    bool good = !mmt_file_read(path, 4096, &text, NULL) &&
                sscanf(mmt_text_string(&text), "%64s %63s %63s %ld %llu", out->host,
                       out->boot, out->space, &out->pid, &out->started) == 5;
    mmt_text_finish(&text);
    return good;
}

/* Only where that can be known: of an owner elsewhere nothing can. */
static bool is_gone(const struct owner *owner)
{
    const struct owner self = this_process();
    if (strcmp(owner->host, self.host))
        return false;
    if (strcmp(owner->boot, self.boot))
        return true;
    return !strcmp(owner->space, self.space) && started_at(owner->pid) != owner->started;
}

/* ---- locks ----------------------------------------------------------------------- */

static bool write_owner(int fd)
{
    const struct owner self = this_process();
    return dprintf(fd, "%s %s %s %ld %llu\n", self.host, self.boot, self.space, self.pid,
                   self.started) > 0;
}

/* Removes the lock file of an owner that is gone. Renamed first, so that it is looked at
 * and removed by one process alone; the file of one that came in between goes back. */
static bool clear_away(const char *path)
{
    struct owner owner;
    char *aside = NULL;
    if (!read_owner(path, &owner) || !is_gone(&owner) ||
        asprintf(&aside, "%s.%ld", path, (long) getpid()) < 0)
        return false;
    bool cleared = !rename(path, aside);
    if (cleared && (!read_owner(aside, &owner) || !is_gone(&owner))) {
        cleared = false;
        if (link(aside, path))
            rename(aside, path);
    }
    unlink(aside);
    free(aside);
    return cleared;
}

static enum mmt_locked make_file(struct mmt_lock *lock, const char *path,
                                 struct mmt_text *said)
{
    struct owner owner;
    char *file = NULL;
    int fd = -1;
    if (asprintf(&file, "%s.lock", path) < 0)
        return MMT_LOCK_FAILED;
    for (int attempt = 0; attempt < 2 && fd < 0; attempt++) {
        fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && (errno != EEXIST || !clear_away(file)))
            break;
    }
    int code = errno;
    if (fd >= 0 && write_owner(fd) && !close(fd)) {
        lock->file = file;
        return MMT_LOCK_TAKEN;
    }
    enum mmt_locked result = fd < 0 && code == EEXIST ? MMT_LOCK_HELD : MMT_LOCK_FAILED;
    if (fd >= 0) {
        code = errno;
        unlink(file);
    }
    if (result == MMT_LOCK_FAILED)
        mmt_text_addf(said, "'%s' cannot be written: %s\n", file, strerror(code));
    else if (read_owner(file, &owner))
        mmt_text_addf(said,
                      "'%s' says that process %ld on %s uses it; if that has ended, "
                      "remove this file\n",
                      file, owner.pid, owner.host);
    free(file);
    return result;
}

enum mmt_locked mmt_lock_take(struct mmt_lock *lock, int fd, const char *path,
                              struct mmt_text *said)
{
    *lock = (struct mmt_lock){ 0 };
    if (!flock(fd, LOCK_EX | LOCK_NB))
        return MMT_LOCK_TAKEN;
    if (errno == EWOULDBLOCK)
        return MMT_LOCK_HELD;
    mmt_text_addf(said,
                  "the file system of '%s' has no locks (flock: %s); the file '%s.lock' "
                  "stands for one\n",
                  path, strerror(errno), path);
    return make_file(lock, path, said);
}

void mmt_lock_release(struct mmt_lock *lock)
{
    if (lock->file)
        unlink(lock->file);
    free(lock->file);
    lock->file = NULL;
}

/* ---- folders --------------------------------------------------------------------- */

static const char lock_name[] = "owner";

static int remove_one(const char *path, const struct stat *status, int flag,
                      struct FTW *place)
{
    return remove(path);
}

static void remove_tree(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Whether nobody uses a folder. One without a lock was made by an older version, or by a
 * process that was killed at once. */
static bool is_left(const char *folder)
{
    static const double day = 86400;
    struct mmt_text path = { 0 }, said = { 0 };
    struct mmt_lock lock;
    struct stat st;
    bool left = false;
    mmt_text_addf(&path, "%s/%s", folder, lock_name);
    int fd = open(mmt_text_string(&path), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        left = mmt_lock_take(&lock, fd, mmt_text_string(&path), &said) == MMT_LOCK_TAKEN;
        mmt_lock_release(&lock);
        close(fd);
    } else if (errno == ENOENT && !lstat(folder, &st)) {
        left = difftime(time(NULL), st.st_mtime) > day;
    }
    mmt_text_finish(&path);
    mmt_text_finish(&said);
    return left;
}

static void sweep_folder(const char *parent, const char *prefix)
{
    const size_t length = strlen(prefix);
    DIR *folder = opendir(parent);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct mmt_text path = { 0 };
        const bool named =
            !strncmp(entry->d_name, prefix, length) && entry->d_name[length] == '-';
        const bool unnamed = !strncmp(entry->d_name, "new-", 4);
        mmt_text_addf(&path, "%s/%s", parent, entry->d_name);
        if ((named || unnamed) && is_left(mmt_text_string(&path)))
            remove_tree(mmt_text_string(&path));
        mmt_text_finish(&path);
    }
    closedir(folder);
}

/* Opens and locks the file in a folder that nobody else knows yet. */
static bool lock_folder(struct mmt_own_folder *folder, const char *made,
                        struct mmt_text *said)
{
    struct mmt_text path = { 0 };
    mmt_text_addf(&path, "%s/%s", made, lock_name);
    folder->fd =
        open(mmt_text_string(&path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (folder->fd < 0)
        mmt_text_addf(said, "%s", strerror(errno));
    bool locked = folder->fd >= 0 && mmt_lock_take(&folder->lock, folder->fd, path.data,
                                                   said) == MMT_LOCK_TAKEN;
    mmt_text_finish(&path);
    return locked;
}

/* The lock file moves with its folder. */
static bool name_folder(struct mmt_own_folder *folder, const char *made)
{
    if (rename(made, folder->path))
        return false;
    if (!folder->lock.file)
        return true;
    free(folder->lock.file);
    if (asprintf(&folder->lock.file, "%s/%s.lock", folder->path, lock_name) < 0)
        folder->lock.file = NULL;
    return folder->lock.file != NULL;
}

mmt_status mmt_own_folder_make(struct mmt_own_folder *folder, const char *parent,
                               const char *prefix, mmt_error *err)
{
    struct mmt_text made = { 0 }, said = { 0 };
    *folder = (struct mmt_own_folder){ .fd = -1 };
    mmt_status status = mmt_file_make_own_folder(parent, NULL, err);
    if (status)
        return status;
    sweep_folder(parent, prefix);
    /* Under another name until it is locked, so that no sweep meets it without. */
    mmt_text_addf(&made, "%s/new-XXXXXX", parent);
    if (made.failed || !mkdtemp(made.data)) {
        status =
            mmt_fail_native(err, MMT_ERROR_IO, errno, "cannot make a folder in '%s': %s",
                            parent, strerror(errno));
    } else if (!lock_folder(folder, made.data, &said) ||
               asprintf(&folder->path, "%s/%s-%s", parent, prefix,
                        made.data + made.length - 6) < 0 ||
               !name_folder(folder, made.data)) {
        status = mmt_fail(err, MMT_ERROR_IO, "cannot make and lock a folder in '%s': %s",
                          parent, said.length ? said.data : strerror(errno));
        remove_tree(made.data);
        mmt_own_folder_remove(folder);
    }
    mmt_text_finish(&made);
    mmt_text_finish(&said);
    return status;
}

void mmt_own_folder_remove(struct mmt_own_folder *folder)
{
    if (!folder->path && folder->fd <= 0)
        return;
    if (folder->path)
        remove_tree(folder->path);
    mmt_lock_release(&folder->lock);
    if (folder->fd >= 0)
        close(folder->fd);
    free(folder->path);
    *folder = (struct mmt_own_folder){ .fd = -1 };
}
