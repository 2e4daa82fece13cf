/* JSON for people who review it: an entry is a few filled lines, not fifty. */
#include "profiles/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 96, DIGITS = 9 };

static bool is_container(const json_t *value)
{
    return json_is_object(value) || json_is_array(value);
}

static void add_plain(const json_t *value, struct mmt_text *text)
{
    char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS));
    if (dump)
        mmt_text_add(text, dump);
    else
        text->failed = true;
    free(dump);
}

/* The items of an object or an array, in order. */
struct items {
    json_t *container;
    void *iter;
    size_t index;
};

static const json_t *next_item(struct items *items, const char **key)
{
    *key = NULL;
    if (json_is_array(items->container))
        return json_array_get(items->container, items->index++);

    items->iter = items->index++ == 0
                      ? json_object_iter(items->container)
                      : json_object_iter_next(items->container, items->iter);
    if (!items->iter)
        return NULL;
    *key = json_object_iter_key(items->iter);
    return json_object_iter_value(items->iter);
}

static bool holds_containers(const json_t *value)
{
    struct items items = { (json_t *) value, NULL, 0 };
    const char *key;
    const json_t *item;
    while ((item = next_item(&items, &key)))
        if (is_container(item))
            return true;
    return false;
}

static void add_key(const char *key, struct mmt_text *text)
{
    if (!key)
        return;
    json_t *string = json_string(key);
    add_plain(string, text);
    mmt_text_add(text, ": ");
    json_decref(string);
}

static void break_line(struct mmt_text *text, size_t *line, int depth)
{
    mmt_text_addf(text, "\n%*s", 2 * depth, "");
    *line = text->length - 2 * depth;
}

static void add_value(const json_t *value, struct mmt_text *text, size_t *line,
                      int depth);

/* Whether the next item still fits on this line. */
static bool fits_on_line(const char *key, const json_t *item, const struct mmt_text *text,
                         size_t line)
{
    struct mmt_text one = { 0 };
    add_key(key, &one);
    add_plain(item, &one);
    size_t end = text->length - line + one.length + 2;
    mmt_text_finish(&one);
    return end <= WIDTH;
}

static void add_filled(const json_t *value, struct mmt_text *text, size_t *line,
                       int depth)
{
    struct items items = { (json_t *) value, NULL, 0 };
    const char *key;
    const json_t *item = next_item(&items, &key);
    for (bool first = true; item; first = false) {
        mmt_text_add(text, first ? "" : ",");
        if (!first && fits_on_line(key, item, text, *line))
            mmt_text_add(text, " ");
        else if (!first)
            break_line(text, line, depth + 1);
        add_key(key, text);
        add_plain(item, text);
        item = next_item(&items, &key);
    }
}

static void add_listed(const json_t *value, struct mmt_text *text, size_t *line,
                       int depth)
{
    struct items items = { (json_t *) value, NULL, 0 };
    const char *key;
    const json_t *item = next_item(&items, &key);
    for (bool first = true; item; first = false) {
        mmt_text_add(text, first ? "" : ",");
        break_line(text, line, depth + 1);
        add_key(key, text);
        add_value(item, text, line, depth + 1);
        item = next_item(&items, &key);
    }
    break_line(text, line, depth);
}

static void add_value(const json_t *value, struct mmt_text *text, size_t *line, int depth)
{
    if (!is_container(value)) {
        add_plain(value, text);
        return;
    }
    mmt_text_add(text, json_is_array(value) ? "[" : "{");
    if (holds_containers(value))
        add_listed(value, text, line, depth);
    else
        add_filled(value, text, line, depth);
    mmt_text_add(text, json_is_array(value) ? "]" : "}");
}

mmt_status mmt_json_layout(const json_t *value, struct mmt_text *text, mmt_error *err)
{
    size_t line = text->length;
    add_value(value, text, &line, 0);
    mmt_text_add(text, "\n");
    if (text->failed)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory writing a profile");
    return MMT_OK;
}

/* ---- one value, in a sentence ---------------------------------------------------- */

/* UTF-8 may be cut in the middle: a character's rest is taken off with it. */
static void shorten_text(char *text, size_t limit)
{
    if (strlen(text) <= limit)
        return;
    size_t end = limit - 3;
    while (end > 0 && ((unsigned char) text[end] & 0xc0) == 0x80)
        end--;
    strcpy(text + end, "...");
}

void mmt_json_show(const json_t *value, char *out, size_t size)
{
    if (json_is_object(value) || json_is_array(value)) {
        snprintf(out, size, "%s", json_is_object(value) ? "an object" : "an array");
        return;
    }
    char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    if (dump)
        shorten_text(dump, size - 1);
    snprintf(out, size, "%s", dump ? dump : "?");
    free(dump);
    for (char *c = out; *c; c++)
        if (mmt_text_is_control(*c))
            *c = '?';
}

mmt_status mmt_place_wrong(const struct mmt_place *at, const char *right)
{
    char shown[64];
    mmt_json_show(at->value, shown, sizeof shown);
    return mmt_fail(at->err, MMT_ERROR_FORMAT, "%s is %s; it must be %s", at->path, shown,
                    right);
}
