#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` characters and the terminator. */
static bool reserve(struct mmt_text *text, size_t more)
{
    if (text->failed || more >= SIZE_MAX / 2 - text->length)
        return !(text->failed = true);

    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return true;

    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < needed)
        capacity *= 2;

    char *data = realloc(text->data, capacity);
    if (!data)
        return !(text->failed = true);
    text->data = data;
    text->capacity = capacity;
    return true;
}

void mmt_text_add_bytes(struct mmt_text *text, const void *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    if (length)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = 0;
}

void mmt_text_add(struct mmt_text *text, const char *string)
{
    mmt_text_add_bytes(text, string, strlen(string));
}

void mmt_text_addf(struct mmt_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);

    if (length < 0)
        text->failed = true;
    else if (reserve(text, (size_t) length)) {
        vsnprintf(text->data + text->length, (size_t) length + 1, format, again);
        text->length += (size_t) length;
    }
    va_end(again);
}

char mmt_text_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char) (c - 'a' + 'A') : c;
}

char mmt_text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

bool mmt_text_is_control(char c)
{
    return (c >= 0 && c < ' ') || c == 0x7f;
}

bool mmt_text_read_size(const char *string, int64_t *bytes)
{
    static const char units[] = "KMG";
    char *end;

    errno = 0;
    const long long number =
        *string >= '0' && *string <= '9' ? strtoll(string, &end, 10) : -1;
    const char *unit = number >= 0 && *end ? strchr(units, mmt_text_upper(*end)) : NULL;
    const int shift = unit ? 10 * (int) (unit - units + 1) : 0;
    if (number < 0 || errno || end[unit != NULL] || number > LLONG_MAX >> shift)
        return false;
    *bytes = number << shift;
    return true;
}

const char *mmt_text_string(const struct mmt_text *text)
{
    return text->data ? text->data : "";
}

void mmt_text_finish(struct mmt_text *text)
{
    free(text->data);
    *text = (struct mmt_text){ 0 };
}
