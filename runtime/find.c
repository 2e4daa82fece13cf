/* The profiles of a device, wherever they are: its user's, a site's, and those that were
 * installed with the library; and for types of which these have no model, that of the
 * nearest GPU of its architecture. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/place.h"
#include "runtime/runtime.h"
#include "own_paths.h"

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
    bool of_kin;       /* looks for others of the architecture instead */
    mmt_profile *kin;  /* of these the nearest, that has a model */
    mmt_profile_visitor *visit; /* gets each path instead; NULL: none does */
    void *visitor;
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

static mmt_status append_layer(struct search *search, mmt_profile *profile,
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

/* How unlike two GPUs of one architecture are; INFINITY where they are of two. CPUs with
 * the same instructions differ too much in their caches: there defaults are faster. */
static double caps_distance(const struct mmt_caps *a, const struct mmt_caps *b)
{
    if (strcmp(a->backend, b->backend) || a->kind != MMT_GPU || b->kind != MMT_GPU ||
        strcmp(a->architecture, b->architecture) || !*a->architecture || !a->sms ||
        !b->sms || !a->clock_khz || !b->clock_khz)
        return INFINITY;
    return fabs(log((double) a->sms / b->sms)) +
           fabs(log((double) a->clock_khz / b->clock_khz));
}

/* How many types have one. */
static int count_models(const struct mmt_profile *profile)
{
    int count = 0;
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        count += mmt_profile_model(profile, (mmt_type) type) != NULL;
    return count;
}

/* Keeps the profile if it is nearer than the nearest one so far. A file that cannot be
 * used is somebody else's matter. */
static void keep_kin(struct search *search, const char *path)
{
    mmt_profile *next = mmt_profile_load(path, NULL), *nearest = search->kin;
    char unused[512];
    if (next && count_models(next) && mmt_profile_foreign(next, search->caps, unused) &&
        caps_distance(&next->caps, search->caps) <
            (nearest ? caps_distance(&nearest->caps, search->caps) : INFINITY)) {
        search->kin = next;
        next = nearest;
    }
    mmt_profile_free(next);
}

/* Whether it is of the same CPU with more processors than a container, say, may use. */
static bool has_more_processors(const mmt_profile *profile, const struct mmt_caps *caps)
{
    const struct mmt_caps *made_on = &profile->caps;
    return caps->kind == MMT_CPU && made_on->kind == MMT_CPU && !*profile->citation &&
           !strcmp(made_on->backend, caps->backend) &&
           !strcmp(made_on->name, caps->name) &&
           !strcmp(made_on->architecture, caps->architecture) && made_on->sms > caps->sms;
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
    if (profile->bundle) {
        mmt_text_addf(&search->warnings, "'%s' is a bundle, which is loaded by name\n",
                      path);
        mmt_profile_free(profile);
        return MMT_OK;
    }
    const bool foreign = !has_more_processors(profile, search->caps) &&
                         mmt_profile_foreign(profile, search->caps, search->foreign);
    mmt_status status = foreign ? MMT_OK : append_layer(search, profile, &file, err);
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

/* What becomes of a file of a folder. */
static mmt_status look_at(struct search *search, const char *name, const char *path,
                          mmt_error *err)
{
    if (search->visit && is_profile(name, ""))
        search->visit(search->visitor, path);
    else if (!search->visit && search->of_kin && is_profile(name, search->caps->backend))
        keep_kin(search, path);
    else if (!search->visit && !search->of_kin &&
             is_profile(name, mmt_text_string(&search->stem)))
        return add_file(search, path, err);
    return MMT_OK;
}

static mmt_status add_folder(struct search *search, const char *folder, mmt_error *err)
{
    mmt_status status = MMT_OK;
    struct dirent **names;
    const int count = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        struct mmt_text path = { 0 };
        mmt_text_addf(&path, "%s/%s", folder, names[i]->d_name);
        if (!status)
            status = look_at(search, names[i]->d_name, mmt_text_string(&path), err);
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

/* Those that were installed with the library: where its prefix is now, else where it was
 * meant to be. */
static mmt_status add_installed(struct search *search, mmt_error *err)
{
    struct mmt_text folder = { 0 };
    struct stat is;
    mmt_status status;
    if (mmt_place_prefix(&folder)) {
        mmt_text_add(&folder, "/" MMT_DATADIR "/mmtune/profiles");
        if (stat(mmt_text_string(&folder), &is))
            mmt_text_finish(&folder);
    }
    status = add_folder(
        search, folder.length ? mmt_text_string(&folder) : MMT_SHIPPED_PROFILES, err);
    mmt_text_finish(&folder);
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
    return status ? status : add_installed(search, err);
}

/* ---- as one ---------------------------------------------------------------------- */

/* Those that were measured on this very device, then with as many processors or few more,
 * then the newest. */
static bool counts_more(const struct found *a, const struct found *b,
                        const struct mmt_caps *caps)
{
    const bool own_a = mmt_caps_are_one(&a->profile->caps, caps),
               own_b = mmt_caps_are_one(&b->profile->caps, caps);
    if (own_a != own_b)
        return own_a;
    if (a->profile->caps.sms != b->profile->caps.sms)
        return a->profile->caps.sms < b->profile->caps.sms;
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

/* Adds the models of the nearest device of the architecture that `all` has none of. */
static mmt_status add_kin(struct search *search, mmt_profile *all, mmt_error *err)
{
    mmt_status status = MMT_OK;
    search->of_kin = true;
    if (count_models(all) < MMT_NUM_TYPES)
        status = add_places(search, err);
    if (status || !search->kin)
        return status;
    return mmt_profile_add_kin(all, search->kin, err);
}

/* As one; NULL and MMT_ERROR_NOT_FOUND where nothing is known. */
static mmt_profile *combine_layers(struct search *search, const char *id, mmt_error *err)
{
    mmt_profile *all = mmt_profile_create();
    mmt_status status =
        all ? MMT_OK : mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a profile");
    if (all)
        all->caps = *search->caps;
    sort_found(search);
    for (size_t i = 0; i < search->count && !status; i++)
        status = mmt_profile_add_layer(all, search->found[i].profile, err);
    if (!status)
        status = add_kin(search, all, err);
    if (!status && !all->num_layers) {
        fail_to_find(search, id, err);
        status = MMT_ERROR_NOT_FOUND;
    }
    if (!status) {
        mmt_text_add(&all->warnings, mmt_text_string(&search->warnings));
        mmt_profile_finish(all);
        return all;
    }
    mmt_profile_free(all);
    return NULL;
}

static void search_finish(struct search *search)
{
    for (size_t i = 0; i < search->count; i++)
        mmt_profile_free(search->found[i].profile);
    free(search->found);
    mmt_profile_free(search->kin);
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
    if (!status)
        profile = combine_layers(&search, id, err);
    search_finish(&search);
    return profile;
}

mmt_status mmt_profile_visit(mmt_profile_visitor *visit, void *self, mmt_error *err)
{
    struct search search = { .visit = visit, .visitor = self };
    return add_places(&search, err);
}

mmt_profile *mmt_profile_find(const mmt_device *device, mmt_error *err)
{
    if (device)
        return mmt_profile_find_for(&device->caps, device->id, err);
    mmt_fail(err, MMT_ERROR_ARGUMENT, "mmt_profile_find needs a device");
    return NULL;
}

static mmt_status check_combined(const mmt_device *device,
                                 const mmt_profile *const *profiles, size_t count,
                                 mmt_error *err)
{
    char why[512];
    if (!device)
        return mmt_fail_argument(err, MMT_ARGUMENT_DEVICE,
                                 "mmt_profile_combine needs a device");
    if (!profiles || !count)
        return mmt_fail_argument(err, MMT_ARGUMENT_PROFILE,
                                 "mmt_profile_combine needs at least one profile");
    for (size_t i = 0; i < count; i++) {
        if (!profiles[i])
            return mmt_fail_argument(err, MMT_ARGUMENT_PROFILE,
                                     "profile %zu of %zu is NULL", i, count);
        if (profiles[i]->bundle)
            return mmt_fail_argument(err, MMT_ARGUMENT_PROFILE,
                                     "profile %zu of %zu is a bundle, which nothing is "
                                     "added to; plan with it alone",
                                     i, count);
        if (mmt_profile_foreign(profiles[i], &device->caps, why))
            return mmt_fail_argument(err, MMT_ARGUMENT_PROFILE, "profile %zu of %zu: %s",
                                     i, count, why);
    }
    return MMT_OK;
}

mmt_profile *mmt_profile_combine(const mmt_device *device,
                                 const mmt_profile *const *profiles, size_t count,
                                 mmt_error *err)
{
    mmt_status status = check_combined(device, profiles, count, err);
    mmt_profile *all = status ? NULL : mmt_profile_create();
    if (!status && !all)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a profile");
    if (all)
        all->caps = device->caps;
    for (size_t i = 0; i < count && !status; i++)
        status = mmt_profile_add_layer(all, profiles[i], err);
    if (!status) {
        mmt_profile_finish(all);
        return all;
    }
    mmt_profile_free(all);
    return NULL;
}
