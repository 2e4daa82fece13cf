/* Makes temporary folders, and removes those whose owner is gone. */
#include "tuner/journal/own_folder.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

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

static mmt_status lock_folder(struct mmt_log *lock, const char *folder, mmt_error *err)
{
    struct mmt_text path = { 0 };
    mmt_text_addf(&path, "%s/%s", folder, lock_name);
    mmt_status status =
        mmt_log_open(lock, mmt_text_string(&path), MMT_LOG_OWN, NULL, err);
    mmt_text_finish(&path);
    return status;
}

/* Whether nobody uses a folder. One without a lock was made by a process that was killed
 * at once. */
static bool is_left(const char *folder)
{
    static const double day = 86400;
    struct mmt_text path = { 0 };
    struct mmt_log lock;
    struct stat st;
    bool left = false;
    mmt_text_addf(&path, "%s/%s", folder, lock_name);
    if (!access(mmt_text_string(&path), F_OK)) {
        left = !lock_folder(&lock, folder, NULL);
        mmt_log_close(&lock);
    } else if (errno == ENOENT && !lstat(folder, &st)) {
        left = difftime(time(NULL), st.st_mtime) > day;
    }
    mmt_text_finish(&path);
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
        mmt_text_addf(&path, "%s/%s", parent, entry->d_name);
        if (!strncmp(entry->d_name, prefix, length) && entry->d_name[length] == '-' &&
            is_left(mmt_text_string(&path)))
            remove_tree(mmt_text_string(&path));
        mmt_text_finish(&path);
    }
    closedir(folder);
}

mmt_status mmt_own_folder_make(struct mmt_own_folder *folder, const char *parent,
                               const char *prefix, mmt_error *err)
{
    *folder = (struct mmt_own_folder){ 0 };
    mmt_status status = mmt_file_make_own_folder(parent, NULL, err);
    if (status)
        return status;
    sweep_folder(parent, prefix);
    if (asprintf(&folder->path, "%s/%s-XXXXXX", parent, prefix) < 0) {
        folder->path = NULL;
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a folder in '%s'", parent);
    }
    if (mkdtemp(folder->path))
        status = lock_folder(&folder->lock, folder->path, err);
    else
        status =
            mmt_fail_native(err, MMT_ERROR_IO, errno, "cannot make a folder in '%s': %s",
                            parent, strerror(errno));
    if (status)
        mmt_own_folder_remove(folder);
    return status;
}

void mmt_own_folder_remove(struct mmt_own_folder *folder)
{
    if (folder->path)
        remove_tree(folder->path);
    free(folder->path);
    folder->path = NULL;
    mmt_log_close(&folder->lock);
}
