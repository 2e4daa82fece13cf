/* What plans measured, as a profile of its own in the user's folder. */
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/runtime.h"

/* What `tuned` knows was tuned by name, longer and against more. */
static void drop_known(struct mmt_profile *profile, const struct mmt_profile *tuned)
{
    for (size_t i = 0; tuned && i < tuned->num_entries; i++)
        if (!tuned->entries[i].source[0])
            mmt_profile_remove_entries(profile, &tuned->entries[i].problem, "");
}

static void sign_profile(struct mmt_profile *profile, const struct mmt_caps *caps)
{
    profile->caps = *caps;
    snprintf(profile->made.version, sizeof profile->made.version, "%s", mmt_version());
    mmt_profile_now(profile->made.date);
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

static mmt_status store_profile(const struct mmt_profile *learned,
                                const struct mmt_caps *caps, const char *path,
                                mmt_error *err)
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
        sign_profile(profile, caps);
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
    profile = mmt_profile_for(profile, &device->caps, true, err);
    if (!profile)
        return MMT_ERROR_ARGUMENT;
    if (!mmt_profile_count_learned(profile))
        return MMT_OK;
    mmt_status status = find_place(&device->caps, &path, err);
    if (!status) {
        const int lock = lock_file(mmt_text_string(&path));
        status = store_profile(profile, &device->caps, mmt_text_string(&path), err);
        if (lock >= 0)
            close(lock);
    }
    mmt_text_finish(&path);
    return status;
}
