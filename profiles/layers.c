/* Several profiles of one device as one: what one of them does not know, another may. */
#include "profiles/fields.h"

#include <string.h>

bool mmt_caps_are_one(const struct mmt_caps *a, const struct mmt_caps *b)
{
    if (a->uuid[0] && b->uuid[0])
        return !strcmp(a->uuid, b->uuid);
    return !strcmp(a->backend, b->backend) && !strcmp(a->name, b->name) &&
           !strcmp(a->driver, b->driver) && a->sms == b->sms && a->memory == b->memory &&
           a->clock_khz == b->clock_khz;
}

/* ---- kernels for all shapes of a type and transposes ------------------------------ */

static bool same_kind(const struct mmt_kept *a, const struct mmt_kept *b)
{
    return a->type == b->type && a->trans_a == b->trans_a && a->trans_b == b->trans_b;
}

static const struct mmt_kept *find_kept(const struct mmt_profile *profile,
                                        const struct mmt_kept *kind)
{
    for (size_t i = 0; i < profile->num_kept; i++)
        if (same_kind(&profile->kept[i], kind))
            return &profile->kept[i];
    return NULL;
}

bool mmt_profile_keeps(const struct mmt_profile *profile, const struct mmt_kept *kind)
{
    return find_kept(profile, kind) != NULL;
}

mmt_status mmt_profile_take_kept(struct mmt_profile *into, const struct mmt_profile *from,
                                 const struct mmt_kept *kind, mmt_error *err)
{
    mmt_status status = MMT_OK;
    size_t left = 0;
    for (size_t i = 0; i < into->num_kept; i++)
        if (!same_kind(&into->kept[i], kind))
            into->kept[left++] = into->kept[i];
    into->num_kept = left;
    for (size_t i = 0; i < from->num_kept && !status; i++)
        if (same_kind(&from->kept[i], kind))
            status = mmt_profile_add_kept(into, &from->kept[i], err);
    return status;
}

/* Whether a set rests on more than another; one that does not tell was made by a version
 * that calibrated for hours what it shipped. */
static bool rests_on_more(const struct mmt_kept *a, const struct mmt_kept *b)
{
    return b->shapes && (!a->shapes || a->shapes > b->shapes);
}

static mmt_status add_kept(struct mmt_profile *into, const struct mmt_profile *from,
                           int layer, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_kept && !status; i++) {
        const struct mmt_kept *kind = &from->kept[i], *known = find_kept(into, kind);
        if (find_kept(from, kind) != kind || (known && !rests_on_more(kind, known)))
            continue;
        status = mmt_profile_take_kept(into, from, kind, err);
        for (size_t j = 0; j < into->num_kept; j++)
            if (same_kind(&into->kept[j], kind))
                into->kept[j].layer = layer;
    }
    return status;
}

/* ---- entries and the rest -----------------------------------------------------------
 */

/* Whether an entry that counts more serves the problem. */
static bool has_entry(const struct mmt_profile *into, const struct mmt_entry *entry)
{
    for (size_t i = 0; i < into->num_entries; i++) {
        const struct mmt_entry *known = &into->entries[i];
        if (!known->source[0] == !entry->source[0] &&
            mmt_problem_equal(&known->problem, &entry->problem) &&
            (!entry->source[0] || mmt_config_equal(&known->config, &entry->config)) &&
            !mmt_config_refuse(&known->config, &known->problem, &into->caps))
            return true;
    }
    return false;
}

static mmt_status add_entries(struct mmt_profile *into, const struct mmt_profile *from,
                              int layer, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_entries && !status; i++) {
        struct mmt_entry entry = from->entries[i];
        entry.layer = layer;
        if (!has_entry(into, &entry))
            status = mmt_profile_add_entry(into, &entry, err);
    }
    return status;
}

static bool has_guide(const struct mmt_profile *into, const struct mmt_guide *guide)
{
    for (size_t i = 0; i < into->num_guides; i++)
        if (into->guides[i].type == guide->type &&
            !strcmp(into->guides[i].template, guide->template))
            return true;
    return false;
}

static mmt_status add_guides(struct mmt_profile *into, const struct mmt_profile *from,
                             mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_guides && !status; i++)
        if (!has_guide(into, &from->guides[i]))
            status = mmt_profile_add_guide(into, &from->guides[i], err);
    return status;
}

static void add_warnings(struct mmt_text *into, const struct mmt_profile *from,
                         const char *path)
{
    const char *line = mmt_text_string(&from->warnings);
    while (*line) {
        const int length = (int) strcspn(line, "\n");
        mmt_text_addf(into, "%s%s%.*s\n", path, *path ? ": " : "", length, line);
        line += length + (line[length] == '\n');
    }
}

static mmt_status begin_layer(struct mmt_profile *into, const struct mmt_profile *from,
                              mmt_error *err)
{
    struct mmt_layer layer = { 0 };
    if (from->num_layers)
        layer = from->layers[0];
    layer.own = mmt_caps_are_one(&from->caps, &into->caps);
    if (!into->num_layers)
        into->made = from->made;
    if (into->roofline.bandwidth <= 0)
        into->roofline = from->roofline;
    add_warnings(&into->warnings, from, layer.path);
    return mmt_profile_append(&into->layers, &into->num_layers, &layer, sizeof layer,
                              err);
}

mmt_status mmt_profile_add_layer(struct mmt_profile *into, const struct mmt_profile *from,
                                 mmt_error *err)
{
    const int number = (int) into->num_layers;
    mmt_status status = begin_layer(into, from, err);
    if (!status)
        status = add_entries(into, from, number, err);
    if (!status)
        status = add_kept(into, from, number, err);
    return status ? status : add_guides(into, from, err);
}
