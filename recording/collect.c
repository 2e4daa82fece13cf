/* Adding up what processes have counted, from outside. Whatever a file says is checked
 * before it is used: it may be damaged anywhere. */
#include "recording/counts_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

/* A recording that has become longer is added up. */
static const size_t most_recorded_bytes = (size_t) 16 << 20;

/* Seconds after which a file that nobody writes to belongs to no process: of whether that
 * of another container or machine lives nothing is known. */
enum { FORGOTTEN = 30 * 86400 };

/* One file, read. */
struct file {
    struct mmt_text path;
    int fd;
    struct stat state;
    struct mmt_text bytes;
    const struct mmt_counts_head *head;
    const struct mmt_counted *rows;
    int number;
};

/* ---- reading ----------------------------------------------------------------------- */

static bool ends(const char *string, size_t size)
{
    return memchr(string, 0, size) != NULL;
}

/* No folder leads out of that of recordings. */
static bool head_is_whole(const struct mmt_counts_head *head)
{
    return !memcmp(head->magic, MMT_COUNTS_MAGIC, sizeof head->magic) &&
           head->row_size == sizeof(struct mmt_counted) && head->fates == MMT_NUM_FATES &&
           ends(head->version, sizeof head->version) &&
           ends(head->owner.host, sizeof head->owner.host) &&
           ends(head->owner.boot, sizeof head->owner.boot) &&
           ends(head->stem, sizeof head->stem) &&
           ends(head->library, sizeof head->library) &&
           ends(head->path, sizeof head->path) && ends(head->run, sizeof head->run) &&
           head->stem[0] && head->stem[0] != '.' && !strchr(head->stem, '/');
}

/* A line has no greater numbers. */
static bool numbers_are_whole(const struct mmt_counted *row)
{
    const int64_t most = INT64_C(1) << 53;
    bool whole = row->told.timed >= 0 && row->told.picoseconds >= 0 &&
                 row->call.workspace < (size_t) most &&
                 row->call.most_workspace < (size_t) most && row->least < (size_t) most &&
                 row->most < (size_t) most && row->timed >= 0 && row->timed < most &&
                 row->picoseconds >= 0 && row->picoseconds / 1000 < most &&
                 row->saves >= 0 && row->ready >= 0 && row->ready * 1e9 < (double) most &&
                 row->gap >= 0 && row->gap / 1000 < most &&
                 row->saves * (double) row->fates[MMT_FATE_TAKEN] * 1e9 < (double) most;
    for (int i = 0; i < MMT_NUM_FATES; i++)
        whole &= row->told.fates[i] >= 0 && row->fates[i] >= 0 && row->fates[i] < most;
    return whole;
}

static bool row_is_whole(const struct mmt_counted *row)
{
    mmt_problem again;
    return (unsigned) row->call.client < MMT_NUM_CLIENTS &&
           (unsigned) row->call.compute < MMT_NUM_COMPUTES &&
           mmt_call_may_align(row->call.alignment) &&
           (!row->call.compute || row->call.problem.type == MMT_F16) &&
           row->call.problem.size == sizeof again &&
           !mmt_problem_normalise(&row->call.problem, &again, NULL) &&
           mmt_problem_equal(&row->call.problem, &again) && numbers_are_whole(row);
}

static bool read_again(struct file *file, const char *name)
{
    const size_t most =
        MMT_COUNTS_HEAD + (size_t) MMT_MOST_COUNTED * sizeof(struct mmt_counted);
    if (mmt_file_read_open(file->fd, name, most, &file->bytes, NULL) ||
        file->bytes.length < MMT_COUNTS_HEAD)
        return false;
    file->head = (const void *) file->bytes.data;
    file->rows = (const void *) (file->bytes.data + MMT_COUNTS_HEAD);
    file->number =
        (int) ((file->bytes.length - MMT_COUNTS_HEAD) / sizeof(struct mmt_counted));
    return head_is_whole(file->head);
}

static bool read_file(int folder, const char *name, struct file *out)
{
    out->fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (out->fd < 0)
        return false;
    while (flock(out->fd, LOCK_EX) && errno == EINTR)
        continue;
    return !fstat(out->fd, &out->state) && S_ISREG(out->state.st_mode) &&
           out->state.st_nlink && out->state.st_uid == geteuid() && read_again(out, name);
}

static void close_file(struct file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    mmt_text_finish(&file->bytes);
    mmt_text_finish(&file->path);
}

/* ---- whose it is ------------------------------------------------------------------- */

static bool is_of_this_machine(const struct mmt_process *owner,
                               const struct mmt_process *self)
{
    return !strcmp(owner->boot, self->boot) || !strcmp(owner->host, self->host);
}

/* Whether its process has ended, for all that can be known. */
static bool is_over(const struct file *file, const struct mmt_process *self)
{
    return file->state.st_mtime < time(NULL) - FORGOTTEN ||
           mmt_process_is_gone(&file->head->owner, self);
}

/* ---- adding up --------------------------------------------------------------------- */

/* Writes beside the counts that the recording has them now. */
static void tell(const struct file *file, int row, const struct mmt_tally *now)
{
    const off_t at = MMT_COUNTS_HEAD + (off_t) row * (off_t) sizeof(struct mmt_counted) +
                     (off_t) offsetof(struct mmt_counted, told);
    while (pwrite(file->fd, now, sizeof *now, at) < 0 && errno == EINTR)
        continue;
}

/* Whether all that the file has is in the recording now. */
static bool add(const struct file *file,
                void (*owed)(void *context, const struct mmt_counts_owed *it),
                void *context)
{
    const size_t room = (size_t) file->number + 1;
    struct mmt_recorded *list = calloc(room, sizeof *list);
    struct mmt_tally *now = calloc(room, sizeof *now);
    int *from = calloc(room, sizeof *from);
    struct mmt_text path = { 0 };
    mmt_error err = { 0 };
    size_t count = 0;
    mmt_status status = MMT_ERROR_MEMORY;

    mmt_recording_path(file->head->stem, &path);
    for (int i = 0; i < file->number && list && now && from; i++) {
        const struct mmt_counted *row = &file->rows[i];
        from[count] = i;
        count += row->used && row_is_whole(row) &&
                 mmt_counted_take(file->head, row, &list[count], &now[count]);
    }
    if (list && now && from)
        status = mmt_recording_append(mmt_text_string(&path), list, count, &err);
    for (size_t i = 0; i < count && !status; i++)
        tell(file, from[i], &now[i]);
    if (!status)
        mmt_recording_compact(mmt_text_string(&path), most_recorded_bytes, NULL);
    else if (owed)
        owed(context,
             &(struct mmt_counts_owed){ file->head->stem, mmt_text_string(&file->path),
                                        list, count, &err });
    free(list);
    free(now);
    free(from);
    mmt_text_finish(&path);
    return !status;
}

/* Whether the process is gone is asked before its last counts are read. */
static void collect(int folder, const char *name, struct file *file,
                    const struct mmt_process *self,
                    void (*owed)(void *context, const struct mmt_counts_owed *it),
                    void *context)
{
    const bool over = is_over(file, self);
    if (over && !read_again(file, name))
        return;
    if (add(file, owed, context) && over)
        unlinkat(folder, name, 0);
}

static bool is_counts(const char *name)
{
    const size_t length = strlen(name), ending = sizeof MMT_COUNTS_ENDING - 1;
    return length > ending && !strcmp(name + length - ending, MMT_COUNTS_ENDING);
}

void mmt_counts_collect(void (*owed)(void *context, const struct mmt_counts_owed *it),
                        void *context)
{
    const struct mmt_process self = mmt_process_self();
    struct mmt_text path = { 0 };
    int folder = -1;
    mmt_counts_folder(&path);
    mmt_file_open_own_folder(mmt_text_string(&path), &folder, NULL);
    DIR *files = folder < 0 ? NULL : fdopendir(folder);
    for (struct dirent *it; files && (it = readdir(files));) {
        struct file file = { .fd = -1 };
        if (!is_counts(it->d_name))
            continue;
        mmt_text_addf(&file.path, "%s/%s", mmt_text_string(&path), it->d_name);
        if (read_file(dirfd(files), it->d_name, &file) &&
            is_of_this_machine(&file.head->owner, &self))
            collect(dirfd(files), it->d_name, &file, &self, owed, context);
        close_file(&file);
    }
    if (files)
        closedir(files);
    else if (folder >= 0)
        close(folder);
    mmt_text_finish(&path);
}

/* ---- for readers ------------------------------------------------------------------- */

void mmt_counts_print_owed(const struct mmt_counts_owed *it, struct mmt_text *text)
{
    int64_t calls = 0;
    for (size_t i = 0; i < it->count; i++)
        calls += mmt_recorded_calls(&it->list[i]);
    mmt_text_addf(text,
                  "%lld call%s of %zu kind%s on %s %s not in the recording: %s; they are "
                  "in '%s', and are added when that can be\n",
                  (long long) calls, calls == 1 ? "" : "s", it->count,
                  it->count == 1 ? "" : "s", it->stem, calls == 1 ? "is" : "are",
                  it->why->text, it->file);
}

static void warn_of_owed(void *warnings, const struct mmt_counts_owed *it)
{
    mmt_counts_print_owed(it, warnings);
}

mmt_status mmt_recording_read_device(const char *stem, const char *file, bool by_run,
                                     struct mmt_text *path, struct mmt_recording *out,
                                     mmt_error *err)
{
    struct mmt_text owed = { 0 };
    if (file) {
        mmt_text_add(path, file);
    } else {
        mmt_recording_path(stem, path);
        mmt_counts_collect(warn_of_owed, &owed);
    }
    mmt_status status = mmt_recording_read(mmt_text_string(path), by_run, out, err);
    if (!status)
        mmt_text_add(&out->warnings, mmt_text_string(&owed));
    mmt_text_finish(&owed);
    return status;
}
