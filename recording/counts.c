/* A process's own counts. */
#include "recording/counts_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* Rows that a file has room for at first; it is doubled when they are given away. */
enum { FIRST_ROWS = 64 };

struct mmt_counts {
    struct mmt_counts_head *head;
    struct mmt_counted *rows;
    struct mmt_text file; /* "": memory of this process alone */
    dev_t device;
    ino_t inode;
    atomic_int room;  /* rows that there is memory for */
    atomic_bool full; /* there was no room for more */
};

static size_t bytes_of(int rows)
{
    return MMT_COUNTS_HEAD + (size_t) rows * sizeof(struct mmt_counted);
}

void mmt_counts_folder(struct mmt_text *path)
{
    const char *named = secure_getenv("MMTUNE_RUN_COUNTS");
    if (named && *named) {
        mmt_text_add(path, named);
        return;
    }
    mmt_file_state_folder(path);
    mmt_text_add(path, "/counts");
}

/* ---- the file ---------------------------------------------------------------------- */

static int write_zeros(int fd, off_t from, off_t to)
{
    static const char zeros[4096];
    while (from < to) {
        const size_t most =
            (size_t) (to - from) < sizeof zeros ? (size_t) (to - from) : sizeof zeros;
        const ssize_t put = pwrite(fd, zeros, most, from);
        if (put < 0 && errno != EINTR)
            return errno;
        from += put > 0 ? put : 0;
    }
    return 0;
}

/* Has the disk keep room for so many bytes: a page that is written to without it would
 * end the process, and so would a file that grows beyond the process's limit. */
static int reserve(int fd, size_t bytes)
{
    struct rlimit limit;
    struct stat now;
    if (fstat(fd, &now))
        return errno;
    if (now.st_size >= (off_t) bytes)
        return 0;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < bytes)
        return EFBIG;
    const int code = posix_fallocate(fd, now.st_size, (off_t) bytes - now.st_size);
    return code == EOPNOTSUPP || code == EINVAL || code == ENOSYS
               ? write_zeros(fd, now.st_size, (off_t) bytes)
               : code;
}

/* Where a file system writes what changes to another place, there may be none then. */
static void stay_in_place(int fd)
{
    int flags = 0;
    if (!ioctl(fd, FS_IOC_GETFLAGS, &flags)) {
        flags |= FS_NOCOW_FL;
        ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
}

/* A new file with room for the first rows, and its path; -1: there is none. */
static int make_file(struct mmt_text *path, mmt_error *err)
{
    struct mmt_text folder = { 0 };
    uint64_t number = 0;
    int in = -1, fd = -1, code = 0;
    char name[64];

    mmt_counts_folder(&folder);
    if (!mmt_file_make_own_folder(mmt_text_string(&folder), &in, err)) {
        getentropy(&number, sizeof number);
        snprintf(name, sizeof name, "%ld-%016llx" MMT_COUNTS_ENDING, (long) getpid(),
                 (unsigned long long) number);
        mmt_text_addf(path, "%s/%s", mmt_text_string(&folder), name);
        fd = openat(in, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        code = fd < 0 ? errno : 0;
    }
    if (fd >= 0) {
        stay_in_place(fd);
        code = reserve(fd, bytes_of(FIRST_ROWS));
    }
    if (code)
        mmt_fail_native(err, MMT_ERROR_IO, code, "cannot count in '%s': %s",
                        mmt_text_string(&folder), strerror(code));
    if (fd >= 0 && code) {
        unlinkat(in, name, 0);
        close(fd);
        fd = -1;
    }
    if (in >= 0)
        close(in);
    if (fd < 0)
        mmt_text_finish(path);
    mmt_text_finish(&folder);
    return fd;
}

mmt_status mmt_counts_check(mmt_error *err)
{
    struct mmt_text path = { 0 };
    const int fd = make_file(&path, err);
    if (fd < 0)
        return err->status;
    unlink(mmt_text_string(&path));
    close(fd);
    mmt_text_finish(&path);
    return MMT_OK;
}

static void fill_head(struct mmt_counts_head *head, const struct mmt_counts_of *of)
{
    memcpy(head->magic, MMT_COUNTS_MAGIC, sizeof head->magic);
    head->row_size = sizeof(struct mmt_counted);
    head->fates = MMT_NUM_FATES;
    snprintf(head->version, sizeof head->version, "%s", mmt_version());
    snprintf(head->stem, sizeof head->stem, "%s", of->stem);
    snprintf(head->library, sizeof head->library, "%s", of->library);
    snprintf(head->path, sizeof head->path, "%s", of->path);
    snprintf(head->run, sizeof head->run, "%s", of->run);
    head->owner = mmt_process_self();
}

/* ---- counting ---------------------------------------------------------------------- */

struct mmt_counts *mmt_counts_create(const struct mmt_counts_of *of, mmt_error *err)
{
    struct mmt_counts *counts = calloc(1, sizeof *counts);
    struct stat file;
    *err = (mmt_error){ .status = MMT_OK };
    if (!counts)
        return NULL;
    const int fd = make_file(&counts->file, err);
    void *memory =
        mmap(NULL, bytes_of(MMT_MOST_COUNTED), PROT_READ | PROT_WRITE,
             fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED, fd, 0);
    if (fd >= 0 && !fstat(fd, &file)) {
        counts->device = file.st_dev;
        counts->inode = file.st_ino;
    }
    if (fd >= 0)
        close(fd);
    if (memory == MAP_FAILED) {
        mmt_text_finish(&counts->file);
        free(counts);
        return NULL;
    }
    counts->head = memory;
    counts->rows = (void *) ((char *) memory + MMT_COUNTS_HEAD);
    atomic_store(&counts->room, fd < 0 ? MMT_MOST_COUNTED : FIRST_ROWS);
    fill_head(counts->head, of);
    return counts;
}

/* The file anew, since the program may have closed all descriptors; -1 where another file
 * has its name. */
static int open_again(const struct mmt_counts *counts)
{
    const int fd = open(mmt_text_string(&counts->file),
                        O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat file;
    if (fd >= 0 && (fstat(fd, &file) || file.st_dev != counts->device ||
                    file.st_ino != counts->inode)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Whether there is memory for the row of that number. Several threads may double it at
 * once: all do the same. */
static bool make_room(struct mmt_counts *counts, int number)
{
    int room;
    while ((room = atomic_load(&counts->room)) <= number && !atomic_load(&counts->full)) {
        const int fd = open_again(counts);
        if (fd < 0 || reserve(fd, bytes_of(2 * room)))
            atomic_store(&counts->full, true);
        else
            atomic_compare_exchange_strong(&counts->room, &room, 2 * room);
        if (fd >= 0)
            close(fd);
    }
    return number < atomic_load(&counts->room);
}

struct mmt_counted *mmt_counts_take(struct mmt_counts *counts, int *number)
{
    *number = atomic_load_explicit(&counts->head->number, memory_order_relaxed);
    if (*number < MMT_MOST_COUNTED && !atomic_load(&counts->full))
        *number = atomic_fetch_add(&counts->head->number, 1);
    return *number < MMT_MOST_COUNTED && make_room(counts, *number)
               ? &counts->rows[*number]
               : NULL;
}

bool mmt_counts_stay(const struct mmt_counts *counts)
{
    return counts->file.length > 0;
}

int mmt_counts_number(const struct mmt_counts *counts)
{
    const int number = atomic_load_explicit(&counts->head->number, memory_order_relaxed);
    const int room = atomic_load(&counts->room);
    return number < room ? number : room;
}

/* ---- what is new ------------------------------------------------------------------- */

static int64_t since(const atomic_llong *count, int64_t told, int64_t *now)
{
    *now = atomic_load_explicit(count, memory_order_relaxed);
    return *now > told ? *now - told : 0;
}

/* The call with the workspaces of all its calls. */
static struct mmt_call call_of(const struct mmt_counted *row)
{
    struct mmt_call call = row->call, others = row->call;
    others.workspace = atomic_load_explicit(&row->least, memory_order_relaxed);
    others.most_workspace = atomic_load_explicit(&row->most, memory_order_relaxed);
    if (others.workspace || others.most_workspace)
        mmt_call_add_workspace(&call, &others);
    return call;
}

bool mmt_counted_take(const struct mmt_counts_head *head, const struct mmt_counted *row,
                      struct mmt_recorded *out, struct mmt_tally *now)
{
    int64_t calls = 0;

    *out = (struct mmt_recorded){ .call = call_of(row) };
    for (int i = 0; i < MMT_NUM_FATES; i++) {
        out->fates[i] = since(&row->fates[i], row->told.fates[i], &now->fates[i]);
        calls += out->fates[i] != 0;
    }
    out->timed = since(&row->timed, row->told.timed, &now->timed);
    out->seconds = 1e-12 * (double) since(&row->picoseconds, row->told.picoseconds,
                                          &now->picoseconds);
    out->saved = row->saves * (double) out->fates[MMT_FATE_TAKEN];
    out->ready = row->ready;
    out->gap = 1e-12 * (double) atomic_load_explicit(&row->gap, memory_order_relaxed);
    snprintf(out->library, sizeof out->library, "%s", head->library);
    snprintf(out->path, sizeof out->path, "%s", head->path);
    snprintf(out->run, sizeof out->run, "%s", head->run);
    return calls || out->timed;
}

/* A line for each row that has something new, at most so many; *next is behind the last
 * one. */
enum { AT_ONCE = 64 };
static mmt_status write_some(struct mmt_counts *counts, const char *path, int *next,
                             mmt_error *err)
{
    struct mmt_recorded *list = calloc(AT_ONCE, sizeof *list);
    struct mmt_tally now[AT_ONCE];
    struct mmt_counted *rows[AT_ONCE];
    const int number = mmt_counts_number(counts);
    size_t count = 0;

    if (!list)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory to write down what was counted");
    for (; *next < number && count < AT_ONCE; ++*next) {
        rows[count] = &counts->rows[*next];
        count += atomic_load(&rows[count]->used) &&
                 mmt_counted_take(counts->head, rows[count], &list[count], &now[count]);
    }
    mmt_status status = mmt_recording_append(path, list, count, err);
    for (size_t i = 0; i < count && !status; i++)
        rows[i]->told = now[i];
    free(list);
    return status;
}

mmt_status mmt_counts_write(struct mmt_counts *counts, mmt_error *err)
{
    struct mmt_text path = { 0 };
    mmt_status status = MMT_OK;
    int next = 0;

    mmt_recording_path(counts->head->stem, &path);
    while (!status && next < mmt_counts_number(counts))
        status = write_some(counts, mmt_text_string(&path), &next, err);
    if (!status && counts->file.length)
        unlink(mmt_text_string(&counts->file));
    mmt_text_finish(&path);
    return status;
}
