/* Several profiles of one device as one: what one of them does not know, another may. */
#include "profiles/fields.h"

#include <stdio.h>
#include <string.h>

bool mmt_caps_are_one(const struct mmt_caps *a, const struct mmt_caps *b)
{
    if (a->uuid[0] && b->uuid[0])
        return !strcmp(a->uuid, b->uuid);
    /* PoCL's memory of a CPU is a part of what is free. */
    return !strcmp(a->backend, b->backend) && !strcmp(a->name, b->name) &&
           !strcmp(a->driver, b->driver) && a->sms == b->sms && a->kind == b->kind &&
           (a->kind == MMT_CPU || a->memory == b->memory) && a->clock_khz == b->clock_khz;
}

const char *mmt_caps_other_card(const struct mmt_caps *made_on,
                                const struct mmt_caps *caps)
{
    if (!strcmp(made_on->uuid, MMT_SEVERAL_CARDS))
        return "several cards of this kind";
    return made_on->uuid[0] && caps->uuid[0] && strcmp(made_on->uuid, caps->uuid)
               ? "another card of this kind"
               : NULL;
}

/* ---- models ----------------------------------------------------------------------- */

const struct mmt_model *mmt_profile_model(const struct mmt_profile *profile,
                                          mmt_type type)
{
    const mmt_type family = mmt_type_family(type);
    const struct mmt_model *best = NULL;
    for (size_t i = 0; i < profile->num_models; i++) {
        const struct mmt_model *model = &profile->models[i];
        if (model->family == family && model->shapes >= MMT_FEWEST_SHAPES &&
            (!best || model->shapes > best->shapes))
            best = model;
    }
    return best;
}

mmt_status mmt_profile_replace_model(struct mmt_profile *profile,
                                     const struct mmt_model *model, mmt_error *err)
{
    size_t left = 0;
    for (size_t i = 0; i < profile->num_models; i++)
        if (profile->models[i].family != model->family)
            profile->models[left++] = profile->models[i];
    profile->num_models = left;
    return mmt_profile_add_model(profile, model, err);
}

/* Which of several models counts depends on what they rest on. `missing`: those of
 * families alone that there is none of yet. */
static mmt_status add_models(struct mmt_profile *into, const struct mmt_profile *from,
                             int layer, bool missing, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_models && !status; i++) {
        struct mmt_model model = from->models[i];
        if (missing && mmt_profile_model(into, model.family))
            continue;
        model.layer = layer;
        status = mmt_profile_add_model(into, &model, err);
    }
    return status;
}

/* ---- entries and the rest -------------------------------------------------------- */

/* Whether an entry that counts more serves the problem. */
static bool has_entry(const struct mmt_profile *into, const struct mmt_entry *entry)
{
    for (size_t i = 0; i < into->num_entries; i++) {
        const struct mmt_entry *known = &into->entries[i];
        if (!known->source[0] == !entry->source[0] &&
            mmt_problem_equal(&known->problem, &entry->problem) &&
            (!entry->source[0] || mmt_config_equal(&known->config, &entry->config)) &&
            !mmt_config_check_problem(&known->config, &known->problem, &into->caps))
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

static mmt_status add_ranges(struct mmt_profile *into, const struct mmt_profile *from,
                             int layer, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_ranges && !status; i++) {
        struct mmt_range range = from->ranges[i];
        size_t known = 0;
        range.layer = layer;
        while (known < into->num_ranges && !mmt_range_same(&into->ranges[known], &range))
            known++;
        if (known == into->num_ranges)
            status = mmt_profile_add_range(into, &range, err);
    }
    return status;
}

static bool has_pruning(const struct mmt_profile *into, const struct mmt_pruning *pruning)
{
    for (size_t i = 0; i < into->num_pruning; i++)
        if (into->pruning[i].type == pruning->type &&
            !strcmp(into->pruning[i].template, pruning->template))
            return true;
    return false;
}

static mmt_status add_guides(struct mmt_profile *into, const struct mmt_profile *from,
                             mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_pruning && !status; i++)
        if (!has_pruning(into, &from->pruning[i]))
            status = mmt_profile_add_pruning(into, &from->pruning[i], err);
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
    struct mmt_layer layer = { .caps = from->caps };
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
        status = add_ranges(into, from, number, err);
    if (!status && into->layers[number].own)
        status = mmt_verdict_add_layer(into, from, number, err);
    if (!status)
        status = add_models(into, from, number, false, err);
    return status ? status : add_guides(into, from, err);
}

mmt_status mmt_profile_add_kin(struct mmt_profile *into, const struct mmt_profile *kin,
                               mmt_error *err)
{
    const int number = (int) into->num_layers;
    struct mmt_layer layer = { 0 };
    if (kin->num_layers)
        layer = kin->layers[0];
    layer.own = false;
    mmt_status status =
        mmt_profile_append(&into->layers, &into->num_layers, &layer, sizeof layer, err);
    return status ? status : add_models(into, kin, number, true, err);
}
