/* Growable text, and numbers as machines write them: in the locale "C", whatever the
 * program has set. */
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers as machines read them ---------------------------------------------- */

/* Of this thread alone; what it returns is given back to uselocale. That of "C" is always
 * there. */
static locale_t enter_plain(void)
{
    static _Atomic(locale_t) plain;
    locale_t known = plain;
    if (!known)
        plain = known = newlocale(LC_ALL_MASK, "C", (locale_t) 0);
    return uselocale(known);
}

int mmt_text_print_list(char *out, size_t size, const char *format, va_list list)
{
    const locale_t before = enter_plain();
    const int length = vsnprintf(out, size, format, list);
    uselocale(before);
    return length;
}

int mmt_text_print(char *out, size_t size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int length = mmt_text_print_list(out, size, format, list);
    va_end(list);
    return length;
}

double mmt_text_read_number(const char *string, char **end)
{
    const locale_t before = enter_plain();
    const double number = strtod(string, end);
    uselocale(before);
    return number;
}

/* ---- text ------------------------------------------------------------------------ */

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
    int length = mmt_text_print_list(NULL, 0, format, args);
    va_end(args);

    if (length < 0)
        text->failed = true;
    else if (reserve(text, (size_t) length)) {
        mmt_text_print_list(text->data + text->length, (size_t) length + 1, format,
                            again);
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

bool mmt_text_is_alnum(char c)
{
    return mmt_text_lower(c) != mmt_text_upper(c) || (c >= '0' && c <= '9');
}

bool mmt_text_is_control(char c)
{
    return (c >= 0 && c < ' ') || c == 0x7f;
}

int mmt_text_character(const char *string)
{
    const unsigned char *at = (const unsigned char *) string;
    const int length = *at < 0x80                   ? 1
                       : *at >= 0xc2 && *at <= 0xdf ? 2
                       : (*at & 0xf0) == 0xe0       ? 3
                       : *at >= 0xf0 && *at <= 0xf4 ? 4
                                                    : 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    /* overlong, a half of a pair, or beyond the last character */
    if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
        (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
        return 0;
    return length;
}

void mmt_text_make_plain(char *string)
{
    while (*string) {
        const int length = mmt_text_character(string);
        if (!length || mmt_text_is_control(*string))
            *string = '?';
        string += length ? length : 1;
    }
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
