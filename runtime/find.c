/* The profiles of a device, wherever they are: its user's, a site's, and those that were
 * installed with the library; and the one that plans of programs write. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/runtime.h"

struct found {
    mmt_profile *profile;
    struct stat file; /* a folder may be named twice */
};

struct search {
    const struct mmt_caps *caps;
    struct mmt_text stem, warnings;
    struct found *found;
    size_t count;
    char foreign[512]; /* why the last of such a name is another device's, or "" */
};

/* ---- files ------------------------------------------------------------------------ */

static bool is_known(const struct search *search, const struct stat *file)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->found[i].file.st_dev == file->st_dev &&
            search->found[i].file.st_ino == file->st_ino)
            return true;
    return false;
}

static mmt_status append(struct search *search, mmt_profile *profile,
                         const struct stat *file, mmt_error *err)
{
    struct found *grown =
        reallocarray(search->found, search->count + 1, sizeof *search->found);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a profile");
    search->found = grown;
    search->found[search->count++] = (struct found){ profile, *file };
    return MMT_OK;
}

/* A file that cannot be used hides no other. */
static mmt_status add_file(struct search *search, const char *path, mmt_error *err)
{
    struct stat file;
    mmt_error own = { 0 };
    if (stat(path, &file) || !S_ISREG(file.st_mode) || is_known(search, &file))
        return MMT_OK;
    mmt_profile *profile = mmt_profile_load(path, &own);
    if (!profile) {
        mmt_text_addf(&search->warnings, "%s\n", own.text);
        return MMT_OK;
    }
    const bool foreign = mmt_profile_foreign(profile, search->caps, search->foreign);
    mmt_status status = foreign ? MMT_OK : append(search, profile, &file, err);
    if (foreign || status)
        mmt_profile_free(profile);
    return status;
}

static bool is_profile(const char *name, const char *stem)
{
    const size_t length = strlen(name);
    return !strncmp(name, stem, strlen(stem)) && length > 5 &&
           !strcmp(name + length - 5, ".json");
}

static mmt_status add_folder(struct search *search, const char *folder, mmt_error *err)
{
    mmt_status status = MMT_OK;
    struct dirent **names;
    const int count = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        struct mmt_text path = { 0 };
        mmt_text_addf(&path, "%s/%s", folder, names[i]->d_name);
        if (!status && is_profile(names[i]->d_name, mmt_text_string(&search->stem)))
            status = add_file(search, mmt_text_string(&path), err);
        mmt_text_finish(&path);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return status;
}

/* ---- places ------------------------------------------------------------------------ */

/* `list`: folders with ':' between them; what is to be added to each is `below`. */
static mmt_status add_list(struct search *search, const char *list, const char *below,
                           mmt_error *err)
{
    mmt_status status = MMT_OK;
    while (list && *list && !status) {
        const int length = (int) strcspn(list, ":");
        struct mmt_text folder = { 0 };
        mmt_text_addf(&folder, "%.*s%s", length, list, below);
        if (*list == '/')
            status = add_folder(search, mmt_text_string(&folder), err);
        mmt_text_finish(&folder);
        list += length + (list[length] == ':');
    }
    return status;
}

static mmt_status add_places(struct search *search, mmt_error *err)
{
    const char *shared = secure_getenv("XDG_DATA_DIRS");
    struct mmt_text own = { 0 };
    mmt_file_data_folder(&own);
    mmt_status status = add_folder(search, mmt_text_string(&own), err);
    mmt_text_finish(&own);
    if (!status)
        status = add_list(search, secure_getenv("MMTUNE_PROFILE_PATH"), "", err);
    if (!status)
        status =
            add_list(search, shared && *shared ? shared : "/usr/local/share:/usr/share",
                     "/mmtune/profiles", err);
    return status ? status : add_folder(search, MMT_SHIPPED_PROFILES, err);
}

/* ---- as one -------------------------------------------------------------------------
 */

/* Those that were measured on this very device, then the newest. */
static bool counts_more(const struct found *a, const struct found *b,
                        const struct mmt_caps *caps)
{
    const bool own_a = mmt_caps_are_one(&a->profile->caps, caps),
               own_b = mmt_caps_are_one(&b->profile->caps, caps);
    if (own_a != own_b)
        return own_a;
    return strcmp(a->profile->made.date, b->profile->made.date) > 0;
}

static void sort_found(struct search *search)
{
    for (size_t i = 1; i < search->count; i++) {
        const struct found next = search->found[i];
        size_t at = i;
        for (; at && counts_more(&next, &search->found[at - 1], search->caps); at--)
            search->found[at] = search->found[at - 1];
        search->found[at] = next;
    }
}

static mmt_profile *combine(struct search *search, mmt_error *err)
{
    mmt_profile *all = mmt_profile_create();
    mmt_status status =
        all ? MMT_OK : mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a profile");
    if (all)
        all->caps = *search->caps;
    sort_found(search);
    for (size_t i = 0; i < search->count && !status; i++)
        status = mmt_profile_add_layer(all, search->found[i].profile, err);
    if (!status) {
        mmt_text_add(&all->warnings, mmt_text_string(&search->warnings));
        return all;
    }
    mmt_profile_free(all);
    return NULL;
}

static void fail_to_find(const struct search *search, const char *id, mmt_error *err)
{
    struct mmt_text path = { 0 };
    const char *broken = mmt_text_string(&search->warnings);
    mmt_profile_path(search->caps, &path);
    if (*broken)
        mmt_fail(err, MMT_ERROR_FORMAT, "%.*s", (int) strcspn(broken, "\n"), broken);
    else if (*search->foreign)
        mmt_fail(err, MMT_ERROR_NOT_FOUND,
                 "there is no profile of this device: %s; `mmtune --device %s` makes one",
                 search->foreign, id);
    else
        mmt_fail(
            err, MMT_ERROR_NOT_FOUND,
            "there is no profile '%s', nor one that is installed; `mmtune --device %s` "
            "makes one",
            mmt_text_string(&path), id);
    mmt_text_finish(&path);
}

static void search_finish(struct search *search)
{
    for (size_t i = 0; i < search->count; i++)
        mmt_profile_free(search->found[i].profile);
    free(search->found);
    mmt_text_finish(&search->stem);
    mmt_text_finish(&search->warnings);
}

mmt_profile *mmt_profile_find_for(const struct mmt_caps *caps, const char *id,
                                  mmt_error *err)
{
    struct search search = { .caps = caps };
    mmt_profile *profile = NULL;
    mmt_profile_stem(search.caps, &search.stem);
    const mmt_status status = add_places(&search, err);
    if (!status && search.count)
        profile = combine(&search, err);
    else if (!status)
        fail_to_find(&search, id, err);
    search_finish(&search);
    return profile;
}

mmt_profile *mmt_profile_find(const mmt_device *device, mmt_error *err)
{
    if (device)
        return mmt_profile_find_for(&device->caps, device->id, err);
    mmt_fail(err, MMT_ERROR_ARGUMENT, "mmt_profile_find needs a device");
    return NULL;
}

/* ---- what plans measured ------------------------------------------------------------
 */

/* What `tuned` knows was tuned by name, longer and against more. */
static void drop_known(struct mmt_profile *profile, const struct mmt_profile *tuned)
{
    for (size_t i = 0; tuned && i < tuned->num_entries; i++)
        if (!tuned->entries[i].source[0])
            mmt_profile_remove_entries(profile, &tuned->entries[i].problem, "");
}

static void sign(struct mmt_profile *profile, const struct mmt_caps *caps)
{
    const time_t now = time(NULL);
    struct tm utc;
    profile->caps = *caps;
    snprintf(profile->made.version, sizeof profile->made.version, "%s", mmt_version());
    strftime(profile->made.date, sizeof profile->made.date, "%Y-%m-%dT%H:%M:%SZ",
             gmtime_r(&now, &utc));
}

/* A file that is broken, or another device's, is written anew. */
static struct mmt_profile *load_measured(const char *path, const struct mmt_caps *caps,
                                         mmt_error *err)
{
    char unused[512];
    struct mmt_profile *profile = mmt_profile_load(path, NULL);
    if (profile && mmt_profile_foreign(profile, caps, unused)) {
        mmt_profile_free(profile);
        profile = NULL;
    }
    profile = profile ? profile : mmt_profile_create();
    if (!profile)
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a profile");
    return profile;
}

static mmt_status store(const struct mmt_profile *learned, const struct mmt_caps *caps,
                        const char *path, mmt_error *err)
{
    struct mmt_text usual = { 0 };
    struct mmt_profile *profile = load_measured(path, caps, err);
    mmt_status status =
        profile ? mmt_profile_take_learned(profile, learned, err) : MMT_ERROR_MEMORY;

    if (!status) {
        mmt_profile_path(caps, &usual);
        struct mmt_profile *tuned = mmt_profile_load(mmt_text_string(&usual), NULL);
        drop_known(profile, tuned);
        mmt_profile_free(tuned);
        mmt_text_finish(&usual);
        sign(profile, caps);
        status = mmt_profile_save(profile, path, err);
    }
    mmt_profile_free(profile);
    return status;
}

/* Adds the path of the file and makes its folder. */
static mmt_status find_place(const struct mmt_caps *caps, struct mmt_text *path,
                             mmt_error *err)
{
    mmt_file_data_folder(path);
    mmt_status status = mmt_file_make_folder(mmt_text_string(path), err);
    mmt_text_add(path, "/");
    mmt_profile_stem(caps, path);
    mmt_text_add(path, "-planned.json");
    return status;
}

/* Waits for others who write it. Where a file system has no locks, one of two that write
 * at once may lose what it measured, and measures it again. -1: there is no lock. */
static int lock_file(const char *path)
{
    struct mmt_text name = { 0 };
    int fd = -1;
    mmt_text_addf(&name, "%s.lock", path);
    if (!mmt_file_open_log(mmt_text_string(&name), &fd, NULL))
        flock(fd, LOCK_EX);
    mmt_text_finish(&name);
    return fd;
}

mmt_status mmt_profile_store(const mmt_profile *profile, const mmt_device *device,
                             mmt_error *err)
{
    struct mmt_text path = { 0 };

    if (!profile || !device)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "mmt_profile_store needs a profile and its device");
    if (!mmt_profile_count_learned(profile))
        return MMT_OK;
    mmt_status status = find_place(&device->caps, &path, err);
    if (!status) {
        const int lock = lock_file(mmt_text_string(&path));
        status = store(profile, &device->caps, mmt_text_string(&path), err);
        if (lock >= 0)
            close(lock);
    }
    mmt_text_finish(&path);
    return status;
}
