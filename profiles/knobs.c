/* A configuration in JSON: its template by name, its knobs by name. */
#include "profiles/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mmt_status mmt_read_template(const struct mmt_place *at, void *to)
{
    struct mmt_config *config = to;
    const char *name = json_string_value(at->value);
    config->template = name ? mmt_template_find(mmt_alias_template(name)) : NULL;
    if (config->template)
        return MMT_OK;

    struct mmt_text names = { 0 };
    for (int i = 0; mmt_templates[i]; i++)
        mmt_text_addf(&names, "%s%s", i ? ", " : "one of ", mmt_template_names[i]);
    mmt_status status = mmt_place_wrong(at, mmt_text_string(&names));
    mmt_text_finish(&names);
    return status;
}

json_t *mmt_write_template(const struct mmt_place *at, const void *from)
{
    const struct mmt_config *config = from;
    if (config->template)
        return json_string(config->template->name);
    mmt_fail(at->err, MMT_ERROR_ARGUMENT, "%s: the entry has no template", at->path);
    return NULL;
}

/* Adds "one of 8, 16, 32". */
static void list_values(const struct mmt_knob *knob, struct mmt_text *text)
{
    mmt_text_add(text, knob->num_values > 1 ? "one of " : "");
    for (int i = 0; i < knob->num_values; i++)
        if (knob->names)
            mmt_text_addf(text, "%s%s", i ? ", " : "", knob->names[i]);
        else
            mmt_text_addf(text, "%s%d", i ? ", " : "", knob->values[i]);
}

/* The place of a value among a knob's, or -1. */
static int find_value(const struct mmt_knob *knob, const json_t *value, int scale)
{
    const char *word = json_string_value(value);
    for (int i = 0; i < knob->num_values; i++) {
        if (knob->names && word &&
            strcmp(mmt_alias_value(knob->name, word), knob->names[i]) == 0)
            return i;
        if (!knob->names && json_is_integer(value) && knob->values[i] % scale == 0 &&
            json_integer_value(value) == knob->values[i] / scale)
            return i;
    }
    return -1;
}

/* The member of a template's knobs that gives this one, by today's name or an earlier
 * one; NULL where there is none. */
static const json_t *find_member(const json_t *object,
                                 const struct mmt_template *template,
                                 const struct mmt_knob *knob, int *scale)
{
    const json_t *now = json_object_get(object, knob->name);
    *scale = 1;
    for (void *at = json_object_iter((json_t *) object); at && !now;
         at = json_object_iter_next((json_t *) object, at)) {
        const char *name = mmt_alias_knob(template, json_object_iter_key(at), scale);
        if (strcmp(name, knob->name) == 0)
            now = json_object_iter_value(at);
    }
    return now;
}

static mmt_status read_knob(const struct mmt_place *at,
                            const struct mmt_template *template,
                            const struct mmt_knob *knob, int *to)
{
    char path[160];
    snprintf(path, sizeof path, "%s.%s", at->path, knob->name);
    int scale;
    const json_t *value = find_member(at->value, template, knob, &scale);
    if (!value && (knob->num_values == 1 || knob->younger)) {
        *to = knob->values[0];
        return MMT_OK;
    }
    if (!value)
        return mmt_fail(at->err, MMT_ERROR_FORMAT, "%s is missing; %s has that knob",
                        path, template->name);

    int found = find_value(knob, value, scale);
    if (found >= 0) {
        *to = knob->values[found];
        return MMT_OK;
    }
    struct mmt_place place = { NULL, path, value, NULL, at->err };
    struct mmt_text right = { 0 };
    list_values(knob, &right);
    mmt_status status = mmt_place_wrong(&place, mmt_text_string(&right));
    mmt_text_finish(&right);
    return status;
}

static mmt_status refuse_unknown(const struct mmt_place *at,
                                 const struct mmt_template *template)
{
    void *iter = json_object_iter((json_t *) at->value);
    for (; iter; iter = json_object_iter_next((json_t *) at->value, iter)) {
        int i = 0, scale;
        const char *name = mmt_alias_knob(template, json_object_iter_key(iter), &scale);
        while (i < template->num_knobs && strcmp(template->knobs[i].name, name) != 0)
            i++;
        if (i < template->num_knobs)
            continue;

        char shown[64];
        json_t *key = json_string(json_object_iter_key(iter));
        mmt_json_show(key, shown, sizeof shown);
        json_decref(key);
        return mmt_fail(at->err, MMT_ERROR_FORMAT, "%s has %s, which is no knob of %s",
                        at->path, shown, template->name);
    }
    return MMT_OK;
}

/* Of a template's spaces the one whose knob has the value that is given. */
static const struct mmt_template *choose_space(const struct mmt_template *template,
                                               const json_t *knobs)
{
    const char *value =
        json_string_value(json_object_get(knobs, template->knobs[0].name));
    const struct mmt_template *space =
        template->key && value ? mmt_template_space(template, value) : NULL;
    return space ? space : template;
}

mmt_status mmt_read_knobs(const struct mmt_place *at, void *to)
{
    struct mmt_config *config = to;
    if (!json_is_object(at->value))
        return mmt_place_wrong(at, "an object");
    const struct mmt_template *template = choose_space(config->template, at->value);
    config->template = template;

    mmt_status status = refuse_unknown(at, template);
    for (int i = 0; i < template->num_knobs && !status; i++)
        status = read_knob(at, template, &template->knobs[i], &config->values[i]);
    return status;
}

/* NULL for what is none of the knob's values. */
static json_t *write_value(const struct mmt_knob *knob, int value)
{
    for (int i = 0; i < knob->num_values; i++)
        if (knob->values[i] == value)
            return knob->names ? json_string(knob->names[i]) : json_integer(value);
    return NULL;
}

json_t *mmt_write_knobs(const struct mmt_place *at, const void *from)
{
    const struct mmt_config *config = from;
    json_t *object = json_object();
    for (int i = 0; object && i < config->template->num_knobs; i++) {
        const struct mmt_knob *knob = &config->template->knobs[i];
        if (!json_object_set_new(object, knob->name,
                                 write_value(knob, config->values[i])))
            continue;
        mmt_fail(at->err, MMT_ERROR_ARGUMENT, "%s.%s is %d, which is none of its values",
                 at->path, knob->name, config->values[i]);
        json_decref(object);
        return NULL;
    }
    return object;
}
