/* Whole profiles: reading and writing. */
#include "profiles/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { MAX_FILE = 64 << 20 };

/* ---- reading --------------------------------------------------------------------- */

/* What is being read, and which hash each template of this library has. */
struct reading {
    const json_t *root;
    struct mmt_profile *profile;
    mmt_error *err;
};

static const json_t *get_array(const struct reading *reading, const char *key)
{
    const json_t *array = json_object_get(reading->root, key);
    if (json_is_array(array))
        return array;
    struct mmt_place at = { NULL, key, array, NULL, reading->err };
    mmt_place_wrong(&at, "an array");
    return NULL;
}

/* Leaves one item out and says so; what else is there is still of use. */
static void leave_out(const struct reading *reading, const char *path,
                      const mmt_problem *which, const mmt_error *why)
{
    struct mmt_text name = { 0 };
    if (which && which->size)
        mmt_problem_print(which, &name);
    mmt_json_warn(&reading->profile->warnings, "%s%s%s%s is left out: %s", path,
                  name.length ? " (" : "", mmt_text_string(&name), name.length ? ")" : "",
                  why->text);
    mmt_text_finish(&name);
}

static mmt_status read_entries(const struct reading *reading)
{
    const json_t *array = get_array(reading, "entries");
    for (size_t i = 0; i < json_array_size(array); i++) {
        char path[32];
        snprintf(path, sizeof path, "entries[%zu]", i);
        struct mmt_entry one = { 0 };
        mmt_error why = { 0 };
        if (mmt_fields_read(mmt_fields_entry, json_array_get(array, i), path, &one,
                            &reading->profile->warnings, &why))
            leave_out(reading, path, &one.problem, &why);
        else if (mmt_profile_add_entry(reading->profile, &one, reading->err))
            return MMT_ERROR_MEMORY;
    }
    return array ? MMT_OK : MMT_ERROR_FORMAT;
}

static mmt_status read_kept(const struct reading *reading)
{
    const json_t *array = get_array(reading, "kept");
    for (size_t i = 0; i < json_array_size(array); i++) {
        char path[32];
        snprintf(path, sizeof path, "kept[%zu]", i);
        struct mmt_kept one = { 0 };
        mmt_error why = { 0 };
        if (mmt_fields_read(mmt_fields_kept, json_array_get(array, i), path, &one,
                            &reading->profile->warnings, &why))
            leave_out(reading, path, NULL, &why);
        else if (mmt_profile_add_kept(reading->profile, &one, reading->err))
            return MMT_ERROR_MEMORY;
    }
    return array ? MMT_OK : MMT_ERROR_FORMAT;
}

/* What is only advice may be missing. */
static mmt_status read_guides(const struct reading *reading)
{
    if (!json_object_get(reading->root, "guides"))
        return MMT_OK;
    const json_t *array = get_array(reading, "guides");
    for (size_t i = 0; i < json_array_size(array); i++) {
        char path[32];
        snprintf(path, sizeof path, "guides[%zu]", i);
        struct mmt_guide one = { 0 };
        mmt_error why = { 0 };
        if (mmt_fields_read(mmt_fields_guide, json_array_get(array, i), path, &one,
                            &reading->profile->warnings, &why))
            leave_out(reading, path, NULL, &why);
        else if (mmt_profile_add_guide(reading->profile, &one, reading->err))
            return MMT_ERROR_MEMORY;
    }
    return array ? MMT_OK : MMT_ERROR_FORMAT;
}

static mmt_status read_published(const struct reading *reading)
{
    struct mmt_profile *profile = reading->profile;
    const json_t *array = get_array(reading, "published");
    profile->published = calloc(json_array_size(array) + 1, sizeof *profile->published);
    if (!profile->published)
        return mmt_fail(reading->err, MMT_ERROR_MEMORY, "out of memory");

    for (size_t i = 0; i < json_array_size(array); i++) {
        char path[32];
        snprintf(path, sizeof path, "published[%zu]", i);
        struct mmt_published one = { 0 };
        mmt_error why = { 0 };
        if (mmt_fields_read(mmt_fields_published, json_array_get(array, i), path, &one,
                            &profile->warnings, &why))
            leave_out(reading, path, &one.problem, &why);
        else
            profile->published[profile->num_published++] = one;
    }
    return array ? MMT_OK : MMT_ERROR_FORMAT;
}

/* Says once for each template that its kernels are no longer those that were measured. */
static void compare_hashes(struct mmt_profile *profile)
{
    for (int t = 0; mmt_templates[t]; t++) {
        struct mmt_hash hash;
        mmt_error why = { 0 };
        char now[33];
        size_t changed = 0;
        if (mmt_template_hash(mmt_templates[t], &hash, &why))
            continue;
        mmt_hash_print(hash, now);
        for (size_t i = 0; i < profile->num_entries; i++)
            changed += profile->entries[i].config.template == mmt_templates[t] &&
                       strcmp(profile->entries[i].template_hash, now) != 0;
        if (changed)
            mmt_json_warn(&profile->warnings,
                          "template %s has changed since it was measured for %zu %s, "
                          "which are kept; tune again for current times",
                          mmt_templates[t]->name, changed,
                          changed == 1 ? "entry" : "entries");
    }
}

static mmt_status check_format(const json_t *root, mmt_error *err)
{
    const json_t *format = json_object_get(root, "format");
    if (json_is_integer(format) && json_integer_value(format) == MMT_PROFILE_FORMAT)
        return MMT_OK;
    if (!json_is_object(root) || !format)
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "it is no profile: it does not begin with \"format\"");

    char shown[64];
    mmt_json_show(format, shown, sizeof shown);
    return mmt_fail(err, MMT_ERROR_FORMAT,
                    "its format is %s; this mmtune reads format %d", shown,
                    MMT_PROFILE_FORMAT);
}

static mmt_status read_root(const struct reading *reading)
{
    struct mmt_profile *profile = reading->profile;
    bool paper = json_object_get(reading->root, "citation");
    mmt_status status = check_format(reading->root, reading->err);
    if (!status)
        status = mmt_fields_read(paper ? mmt_fields_paper : mmt_fields_own, reading->root,
                                 "", profile, &profile->warnings, reading->err);
    if (status)
        return status;
    if (paper && !profile->citation[0])
        return mmt_fail(reading->err, MMT_ERROR_FORMAT,
                        "citation is empty; published figures must say whose they are");
    if (paper)
        return read_published(reading);

    status = read_entries(reading);
    if (!status)
        status = read_kept(reading);
    if (!status)
        status = read_guides(reading);
    if (!status)
        compare_hashes(profile);
    return status;
}

static json_t *parse(const char *json, size_t length, mmt_error *err)
{
    if (mmt_json_scan(json, length, err))
        return NULL;

    json_error_t where;
    json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &where);
    if (root)
        return root;
    for (char *c = where.text; *c; c++)
        if ((unsigned char) *c < ' ' || (unsigned char) *c >= 0x7f)
            *c = '?';
    mmt_fail(err, MMT_ERROR_FORMAT, "line %d, column %d: %s", where.line, where.column,
             where.text);
    return NULL;
}

struct mmt_profile *mmt_profile_read(const char *json, size_t length, mmt_error *err)
{
    json_t *root = parse(json, length, err);
    if (!root)
        return NULL;

    struct mmt_profile *profile = mmt_profile_create();
    struct reading reading = { root, profile, err };
    mmt_status status =
        profile ? read_root(&reading) : mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    if (!status && profile->warnings.failed)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    json_decref(root);
    if (!status)
        return profile;
    mmt_profile_free(profile);
    return NULL;
}

mmt_profile *mmt_profile_load(const char *path, mmt_error *err)
{
    if (!path) {
        mmt_fail(err, MMT_ERROR_ARGUMENT, "the path of a profile is NULL");
        return NULL;
    }
    struct mmt_text text = { 0 };
    if (mmt_file_read(path, MAX_FILE, &text, err))
        return NULL;

    mmt_error why = { 0 };
    mmt_profile *profile = mmt_profile_read(mmt_text_string(&text), text.length, &why);
    mmt_text_finish(&text);
    if (!profile)
        mmt_fail(err, why.status, "'%s' cannot be used: %s", path, why.text);
    return profile;
}

/* ---- writing --------------------------------------------------------------------- */

/* Puts an array of structs under a key of the root. */
static mmt_status write_array(json_t *root, const char *key,
                              const struct mmt_field *fields, const void *items,
                              size_t count, size_t size, mmt_error *err)
{
    json_t *array = json_array();
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        char path[32];
        snprintf(path, sizeof path, "%s[%zu]", key, i);
        json_t *object = json_object();
        status =
            mmt_fields_write(fields, object, path, (const char *) items + i * size, err);
        json_array_append_new(array, object);
    }
    if (json_object_set_new(root, key, array) && !status)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory writing a profile");
    return status;
}

static mmt_status write_root(const struct mmt_profile *p, json_t *root, mmt_error *err)
{
    json_object_set_new(root, "format", json_integer(MMT_PROFILE_FORMAT));
    mmt_status status = mmt_fields_write(*p->citation ? mmt_fields_paper : mmt_fields_own,
                                         root, "", p, err);
    if (status)
        return status;
    if (*p->citation)
        return write_array(root, "published", mmt_fields_published, p->published,
                           p->num_published, sizeof *p->published, err);

    status = write_array(root, "entries", mmt_fields_entry, p->entries, p->num_entries,
                         sizeof *p->entries, err);
    if (!status)
        status = write_array(root, "kept", mmt_fields_kept, p->kept, p->num_kept,
                             sizeof *p->kept, err);
    if (status || !p->num_guides)
        return status;
    return write_array(root, "guides", mmt_fields_guide, p->guides, p->num_guides,
                       sizeof *p->guides, err);
}

mmt_status mmt_profile_print(const struct mmt_profile *profile, struct mmt_text *text,
                             mmt_error *err)
{
    json_t *root = json_object();
    mmt_status status = write_root(profile, root, err);
    if (!status)
        status = mmt_json_layout(root, text, err);
    json_decref(root);
    return status;
}

mmt_status mmt_profile_save(const struct mmt_profile *profile, const char *path,
                            mmt_error *err)
{
    struct mmt_text text = { 0 };
    mmt_error why = { 0 };
    mmt_status status = mmt_profile_print(profile, &text, &why);
    if (status)
        mmt_fail(err, status, "'%s' cannot be written: %s", path, why.text);
    else
        status = mmt_file_replace(path, mmt_text_string(&text), text.length, err);
    mmt_text_finish(&text);
    return status;
}
