/* Profiles and bundles, from files and from memory. */
#include "profiles/fields.h"

#include "base/file.h"

enum { MAX_FILE = 64 << 20 };

/* Reads a whole profile, which comes from a file of that name, or from memory. */
static mmt_profile *read_named(const char *json, size_t length, const char *name,
                               mmt_error *err)
{
    mmt_profile *profile = mmt_profile_read(json, length, err);
    if (profile && !mmt_profile_name_layer(profile, name, err)) {
        mmt_profile_finish(profile);
        return profile;
    }
    mmt_profile_free(profile);
    return NULL;
}

mmt_profile *mmt_profile_parse(const char *text, size_t length, mmt_error *err)
{
    struct mmt_bundle *bundle;
    if (!text) {
        mmt_fail(err, MMT_ERROR_ARGUMENT, "the text of a profile is NULL");
        return NULL;
    }
    if (!mmt_bundle_is(text, length))
        return read_named(text, length, "memory", err);
    return mmt_bundle_open(text, length, &bundle, err)
               ? NULL
               : mmt_profile_of_bundle(bundle, "memory", err);
}

static mmt_profile *load_json(const char *path, mmt_error *why, mmt_error *err)
{
    struct mmt_text text = { 0 };
    mmt_profile *profile = NULL;
    if (!mmt_file_read(path, MAX_FILE, &text, err))
        profile = read_named(mmt_text_string(&text), text.length, path, why);
    mmt_text_finish(&text);
    return profile;
}

mmt_profile *mmt_profile_load(const char *path, mmt_error *err)
{
    struct mmt_bundle *bundle = NULL;
    mmt_profile *profile = NULL;
    mmt_error why = { 0 };

    if (!path) {
        mmt_fail(err, MMT_ERROR_ARGUMENT, "the path of a profile is NULL");
        return NULL;
    }
    if (!mmt_bundle_load(path, &bundle, &why))
        profile = bundle ? mmt_profile_of_bundle(bundle, path, &why)
                         : load_json(path, &why, err);
    if (why.status)
        mmt_fail(err, why.status, "'%s' cannot be used: %s", path, why.text);
    return profile;
}

struct mmt_profile *mmt_profile_load_plain(const char *path, mmt_error *err)
{
    struct mmt_profile *profile = mmt_profile_load(path, err);
    if (!profile || !profile->bundle)
        return profile;
    mmt_fail(err, MMT_ERROR_ARGUMENT,
             "'%s' is a bundle; it must be a profile, such as one that it was made of",
             path);
    mmt_profile_free(profile);
    return NULL;
}
