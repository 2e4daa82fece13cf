/* Whole profiles: reading and writing. */
#include "profiles/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* A list of the file and the array of a profile that it fills. */
struct list {
    const char *key;
    const struct mmt_field *fields; /* of an item */
    size_t size, array, count;      /* of an item; where its array and their number are */
    bool may_lack;
    bool has_problem; /* an item has one, which names it where it is left out */
    size_t problem;   /* where */
    mmt_status (*check)(void *item, mmt_error *err); /* optional */
};

#define LIST(name, items, row_fields, type)                                              \
    .key = name, .fields = row_fields, .size = sizeof(type),                             \
    .array = offsetof(struct mmt_profile, items),                                        \
    .count = offsetof(struct mmt_profile, num_##items)
static const struct list own_lists[] = {
    { LIST("entries", entries, mmt_fields_entry, struct mmt_entry), .has_problem = true },
    { LIST("ranges", ranges, mmt_fields_range, struct mmt_range), .may_lack = true,
      .has_problem = true, .check = mmt_range_check },
    { LIST("verdicts", verdicts, mmt_fields_verdict, struct mmt_verdict),
      .may_lack = true, .has_problem = true,
      .problem = offsetof(struct mmt_verdict, call.problem) },
    { LIST("unlisted", unlisted, mmt_fields_unlisted, struct mmt_unlisted_kernel),
      .may_lack = true },
    { LIST("models", models, mmt_fields_model, struct mmt_model), .may_lack = true,
      .check = mmt_model_check },
    { LIST("guides", pruning, mmt_fields_pruning, struct mmt_pruning), .may_lack = true },
    { 0 },
};
static const struct list paper_lists[] = {
    { LIST("published", published, mmt_fields_published, struct mmt_published),
      .has_problem = true },
    { 0 },
};
_Static_assert(!offsetof(struct mmt_entry, problem) &&
                   !offsetof(struct mmt_range, problem) &&
                   !offsetof(struct mmt_published, problem),
               "these begin with their problem");

static const struct list *lists_of(const struct mmt_profile *profile)
{
    return *profile->citation ? paper_lists : own_lists;
}

/* ---- reading --------------------------------------------------------------------- */

/* What is being read. */
struct reading {
    const json_t *root;
    struct mmt_profile *profile;
    mmt_error *err;
};

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

static mmt_status read_item(const struct reading *reading, const struct list *list,
                            const json_t *json, const char *path, void *item)
{
    mmt_error why = { 0 };
    memset(item, 0, list->size);
    mmt_status status = mmt_fields_read(list->fields, json, path, item,
                                        &reading->profile->warnings, &why);
    if (!status && list->check)
        status = list->check(item, &why);
    if (!status)
        return mmt_profile_append((char *) reading->profile + list->array,
                                  (void *) ((char *) reading->profile + list->count),
                                  item, list->size, reading->err);
    leave_out(reading, path,
              list->has_problem ? (void *) ((char *) item + list->problem) : NULL, &why);
    return MMT_OK;
}

static mmt_status read_list(const struct reading *reading, const struct list *list)
{
    const json_t *array = json_object_get(reading->root, list->key);
    mmt_status status = MMT_OK;
    if (!array && list->may_lack)
        return MMT_OK;
    if (!json_is_array(array)) {
        struct mmt_place at = { NULL, list->key, array, NULL, reading->err };
        return mmt_place_wrong(&at, "an array");
    }

    void *item = malloc(list->size);
    if (!item)
        return mmt_fail(reading->err, MMT_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < json_array_size(array) && !status; i++) {
        char path[32];
        snprintf(path, sizeof path, "%s[%zu]", list->key, i);
        status = read_item(reading, list, json_array_get(array, i), path, item);
    }
    free(item);
    return status;
}

/* Whether what was measured was a template, and with another source than now. */
static bool has_changed(const struct mmt_template *template, const char *now,
                        const struct mmt_config *config, const char *then)
{
    return config->template == template && strcmp(then, now) != 0;
}

/* The kernels of ranges whose template has changed. */
static size_t count_changed(const struct mmt_profile *profile,
                            const struct mmt_template *template, const char *now)
{
    size_t changed = 0;
    for (size_t i = 0; i < profile->num_ranges; i++) {
        const struct mmt_range *range = &profile->ranges[i];
        for (int j = 0; j < range->num_segments; j++)
            changed += has_changed(template, now, &range->segments[j].config,
                                   range->segments[j].template_hash);
    }
    return changed;
}

/* Says once that kernels are no longer those that were measured; a kernel of a range
 * counts as an entry. */
static void compare_hashes(struct mmt_profile *profile)
{
    struct mmt_text names = { 0 };
    size_t all = 0;
    for (int t = 0; mmt_templates[t]; t++) {
        struct mmt_hash hash;
        mmt_error why = { 0 };
        char now[33];
        if (mmt_template_hash(mmt_templates[t], &hash, &why))
            continue;
        mmt_hash_print(hash, now);
        mmt_verdict_drop_changed(profile, mmt_templates[t], now);
        size_t changed = count_changed(profile, mmt_templates[t], now);
        for (size_t i = 0; i < profile->num_entries; i++)
            changed += has_changed(mmt_templates[t], now, &profile->entries[i].config,
                                   profile->entries[i].template_hash);
        if (changed)
            mmt_text_addf(&names, "%s%s", all ? ", " : "",
                          mmt_template_key(mmt_templates[t]));
        all += changed;
    }
    if (all)
        mmt_json_warn(&profile->warnings,
                      "%zu %s of templates that have changed since (%s), and kept; tune "
                      "again for current times",
                      all, all == 1 ? "entry is" : "entries are",
                      mmt_text_string(&names));
    mmt_text_finish(&names);
}

static void drop_old_models(struct mmt_profile *profile)
{
    size_t left = 0;
    for (size_t i = 0; i < profile->num_models; i++)
        if (profile->models[i].law == MMT_LAW_EDITION)
            profile->models[left++] = profile->models[i];
    profile->num_models = left;
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
    for (const struct list *list = lists_of(profile); list->key && !status; list++)
        status = read_list(reading, list);
    drop_old_models(profile);
    if (!status)
        compare_hashes(profile);
    return status;
}

static json_t *parse_json(const char *json, size_t length, mmt_error *err)
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
    json_t *root = parse_json(json, length, err);
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

mmt_status mmt_profile_name_layer(struct mmt_profile *profile, const char *path,
                                  mmt_error *err)
{
    struct mmt_layer layer = { 0 };
    const size_t length = strlen(path), most = sizeof layer.path - 1;

    strcpy(layer.path, path + (length > most ? length - most : 0));
    memcpy(layer.date, profile->made.date, sizeof layer.date);
    layer.caps = profile->caps;
    return mmt_profile_append(&profile->layers, &profile->num_layers, &layer,
                              sizeof layer, err);
}

/* ---- writing --------------------------------------------------------------------- */

/* Puts the items of an array under the list's key; none under one that may lack. */
static mmt_status write_list(const struct mmt_profile *profile, const struct list *list,
                             json_t *root, mmt_error *err)
{
    const char *items;
    size_t count;
    mmt_status status = MMT_OK;
    memcpy(&items, (const char *) profile + list->array, sizeof items);
    memcpy(&count, (const char *) profile + list->count, sizeof count);
    if (!count && list->may_lack)
        return MMT_OK;

    json_t *array = json_array();
    for (size_t i = 0; i < count && !status; i++) {
        char path[32];
        snprintf(path, sizeof path, "%s[%zu]", list->key, i);
        json_t *object = json_object();
        status =
            mmt_fields_write(list->fields, object, path, items + i * list->size, err);
        json_array_append_new(array, object);
    }
    if (json_object_set_new(root, list->key, array) && !status)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory writing a profile");
    return status;
}

static mmt_status write_root(const struct mmt_profile *p, json_t *root, mmt_error *err)
{
    json_object_set_new(root, "format", json_integer(MMT_PROFILE_FORMAT));
    mmt_status status = mmt_fields_write(*p->citation ? mmt_fields_paper : mmt_fields_own,
                                         root, "", p, err);
    for (const struct list *list = lists_of(p); list->key && !status; list++)
        status = write_list(p, list, root, err);
    return status;
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
