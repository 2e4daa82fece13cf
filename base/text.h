/* Growable text. */
#ifndef MMT_BASE_TEXT_H
#define MMT_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as {0}. `data` is NULL or terminated. Once memory runs out, `failed` is set and
 * further additions do nothing, so that a caller checks once, at the end. */
struct mmt_text {
    char *data;
    size_t length, capacity;
    bool failed;
};

void mmt_text_add(struct mmt_text *text, const char *string);
void mmt_text_add_bytes(struct mmt_text *text, const void *bytes, size_t length);
__attribute__((format(printf, 2, 3))) void mmt_text_addf(struct mmt_text *text,
                                                         const char *format, ...);

/* snprintf, vsnprintf and strtod with a decimal point, whatever the locale of the
 * caller's program has: numbers are read again by others. The texts above have it, too.
 */
__attribute__((format(printf, 3, 4))) int mmt_text_print(char *out, size_t size,
                                                         const char *format, ...);
__attribute__((format(printf, 3, 0))) int mmt_text_print_list(char *out, size_t size,
                                                              const char *format,
                                                              va_list list);
double mmt_text_read_number(const char *string, char **end);

/* Reads a size: a whole number of bytes, or of K, M or G (1024, 1024^2 or 1024^3 bytes),
 * such as "512M". False where the string is none, or more than 2^63 - 1 bytes. */
bool mmt_text_read_size(const char *string, int64_t *bytes);

/* "" rather than NULL for a text that nothing was added to. */
const char *mmt_text_string(const struct mmt_text *text);

/* A character of ASCII as a capital, as a small letter, whether it is a letter or a
 * digit, and whether it controls a terminal: toupper and its like do as the locale of the
 * caller's program says, and Turkish has another i. */
char mmt_text_upper(char c);
char mmt_text_lower(char c);
bool mmt_text_is_alnum(char c);
bool mmt_text_is_control(char c);

/* The bytes of the character of UTF-8 that begins a string; 0: none does. */
int mmt_text_character(const char *string);

/* Puts '?' in the place of each byte that is no part of such a character, and of each
 * that controls a terminal. */
void mmt_text_make_plain(char *string);

/* Frees the characters and makes the text {0} again. */
void mmt_text_finish(struct mmt_text *text);

#endif
