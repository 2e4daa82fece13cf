/* Prints, parses and compares configurations, and reads knobs and values by their older
 * names. */
#include "generator/generator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"

/* ---- spelling -------------------------------------------------------------------- */

static const char *spell(const struct mmt_knob *knob, int which, char buffer[16])
{
    if (knob->names)
        return knob->names[which];
    snprintf(buffer, 16, "%d", knob->values[which]);
    return buffer;
}

const char *mmt_config_value(const struct mmt_config *config, int knob, char buffer[16])
{
    const struct mmt_knob *k = &config->template->knobs[knob];
    for (int i = 0; i < k->num_values; i++)
        if (k->values[i] == config->values[knob])
            return spell(k, i, buffer);
    snprintf(buffer, 16, "%d", config->values[knob]);
    return buffer;
}

void mmt_config_print(const struct mmt_config *config, struct mmt_text *text)
{
    char buffer[16];
    mmt_text_add(text, config->template->name);
    for (int i = 0; i < config->template->num_knobs; i++)
        mmt_text_addf(text, " %s=%s", config->template->knobs[i].name,
                      mmt_config_value(config, i, buffer));
}

/* ---- reading --------------------------------------------------------------------- */

const struct mmt_template *mmt_config_template(const char *name, mmt_error *err)
{
    const struct mmt_template *found = mmt_template_find(mmt_alias_template(name));
    if (!found)
        mmt_near_fail(err, name, mmt_template_names, "there are",
                      "there is no template '%s'", name);
    return found;
}

const char *mmt_config_template_name(const char *name, mmt_error *err)
{
    const struct mmt_template *found = mmt_config_template(name, err);
    if (!found)
        return NULL;
    return strcmp(mmt_alias_template(name), found->name) ? found->key : found->name;
}

static mmt_status fail_knob(const struct mmt_template *template, const char *name,
                            mmt_error *err)
{
    const char *names[MMT_MAX_KNOBS + 1] = { NULL };
    for (int i = 0; i < template->num_knobs; i++)
        names[i] = template->knobs[i].name;
    return mmt_near_fail(err, name, names, "it has", "%s has no knob '%s'",
                         mmt_template_key(template), name);
}

/* Whether its values are the template's spaces. */
static bool is_first_of_spaces(const struct mmt_template *template,
                               const struct mmt_knob *knob)
{
    return template->key && knob == template->knobs;
}

static mmt_status fail_value(const struct mmt_template *template,
                             const struct mmt_knob *knob, const char *value,
                             mmt_error *err)
{
    char buffers[MMT_MAX_VALUES][16];
    const char *names[MMT_MAX_VALUES + 1] = { NULL };
    int count = 0;
    for (int i = 0; i < knob->num_values; i++, count++)
        names[count] = spell(knob, i, buffers[count]);
    for (int t = 0; is_first_of_spaces(template, knob) && mmt_templates[t]; t++)
        if (mmt_templates[t] != template &&
            !strcmp(mmt_templates[t]->name, template->name))
            names[count++] = mmt_templates[t]->knobs[0].names[0];
    return mmt_near_fail(err, value, names, "it may be", "%s of %s cannot be '%s'",
                         knob->name, template->name, value);
}

/* -1 where there is none of that name. */
static int find_knob(const struct mmt_template *template, const char *name)
{
    for (int i = 0; i < template->num_knobs; i++)
        if (!strcmp(template->knobs[i].name, name))
            return i;
    return -1;
}

mmt_status mmt_config_set(struct mmt_config *config, const char *knob, const char *value,
                          mmt_error *err)
{
    int which = find_knob(config->template, knob);
    if (which < 0)
        return fail_knob(config->template, knob, err);

    char buffer[16];
    const struct mmt_knob *k = &config->template->knobs[which];
    for (int i = 0; i < k->num_values; i++) {
        if (strcmp(spell(k, i, buffer), value))
            continue;
        config->values[which] = k->values[i];
        return MMT_OK;
    }
    return fail_value(config->template, k, value, err);
}

/* Cuts the next word off *at, in place; NULL at the end. */
static char *cut_word(char **at)
{
    char *start = *at + strspn(*at, " \t\n");
    if (!*start)
        return NULL;
    char *end = start + strcspn(start, " \t\n");
    *at = *end ? end + 1 : end;
    *end = 0;
    return start;
}

/* A value by today's name; `buffer` is room for a number that is scaled. */
static const char *value_now(const char *knob, const char *value, int scale,
                             char buffer[16])
{
    if (scale == 1)
        return mmt_alias_value(knob, value);
    snprintf(buffer, 16, "%ld", strtol(value, NULL, 10) * scale);
    return buffer;
}

static mmt_status read_assignment(char *word, struct mmt_config *config, bool *given,
                                  mmt_error *err)
{
    char *equals = strchr(word, '=');
    if (!equals)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "'%s' sets no knob of %s; it must be KNOB=VALUE", word,
                        config->template->name);
    *equals = 0;
    int scale;
    char buffer[16];
    const char *knob = mmt_alias_knob(config->template, word, &scale);
    int which = find_knob(config->template, knob);
    if (which >= 0 && given[which])
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "%s is given twice", knob);
    if (which >= 0)
        given[which] = true;
    return mmt_config_set(config, knob, value_now(knob, equals + 1, scale, buffer), err);
}

/* Of a template's spaces the one that an assignment names; its own where none does. */
static const struct mmt_template *choose_space(const struct mmt_template *template,
                                               const char *words)
{
    const char *knob = template->knobs[0].name, *at = template->key ? words : NULL;
    const size_t length = strlen(knob);
    const struct mmt_template *space = NULL;
    while (at && !space && (at = strstr(at, knob))) {
        const bool is_word = at == words || strchr(" \t\n", at[-1]);
        char value[16] = "";
        at += length;
        if (is_word && sscanf(at, "=%15s", value) == 1)
            space = mmt_template_space(template, value);
    }
    return space ? space : template;
}

static mmt_status parse(char *words, int seed, struct mmt_config *out, mmt_error *err)
{
    const char *name = cut_word(&words);
    if (!name)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "a configuration is empty; it must begin with a template's name");

    struct mmt_config config = { .template = mmt_config_template(name, err) };
    if (!config.template)
        return MMT_ERROR_ARGUMENT;
    config.template = choose_space(config.template, words);
    memcpy(config.values, config.template->seeds[seed],
           sizeof(int) * (size_t) config.template->num_knobs);

    bool given[MMT_MAX_KNOBS] = { false };
    for (char *word; (word = cut_word(&words));) {
        mmt_status status = read_assignment(word, &config, given, err);
        if (status)
            return status;
    }
    *out = config;
    return MMT_OK;
}

static mmt_status parse_with(const char *string, int seed, struct mmt_config *out,
                             mmt_error *err)
{
    struct mmt_text copy = { 0 };
    mmt_text_add(&copy, string);
    mmt_status status = copy.failed ? mmt_fail(err, MMT_ERROR_MEMORY,
                                               "out of memory reading a configuration")
                                    : parse(copy.data, seed, out, err);
    mmt_text_finish(&copy);
    return status;
}

mmt_status mmt_config_parse(const char *string, struct mmt_config *out, mmt_error *err)
{
    return parse_with(string, 0, out, err);
}

mmt_status mmt_config_parse_for(const char *string, const mmt_problem *problem,
                                const struct mmt_caps *caps, struct mmt_config *out,
                                mmt_error *err)
{
    const struct mmt_variant variant = mmt_variant_of(problem, true);
    struct mmt_config other;
    bool runs = false;
    mmt_status status = parse_with(string, 0, out, err);

    for (int i = 0; !status && i < out->template->num_seeds; i++) {
        if ((status = parse_with(string, i, &other, err)))
            break;
        const bool serves = !mmt_config_check_problem(&other, problem, caps);
        if (serves || (!runs && !mmt_config_check_device(&other, &variant, caps))) {
            *out = other;
            runs = true;
        }
        if (serves)
            break;
    }
    return status;
}

bool mmt_config_last(const mmt_problem *problem, const struct mmt_caps *caps,
                     struct mmt_config *out)
{
    const struct mmt_template *last = NULL;
    for (int i = 0; mmt_templates[i]; i++)
        if (mmt_templates[i]->op == problem->op)
            last = mmt_templates[i];
    *out = (struct mmt_config){ .template = last };
    if (problem->op == MMT_GEMM)
        mmt_config_parse_for("naive", problem, caps, out, NULL);
    else
        memcpy(out->values, last->seeds[last->num_seeds - 1], sizeof out->values);
    return !mmt_config_check_problem(out, problem, caps);
}
