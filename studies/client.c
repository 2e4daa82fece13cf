/* A clock, errors and growable text, on the C library alone. */
#include "client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double mmt_study_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* The arguments may point into err->text: it is written last. */
mmt_status mmt_study_fail(mmt_error *err, mmt_status status, const char *format, ...)
{
    mmt_error filled = { .status = status };
    va_list args;
    va_start(args, format);
    vsnprintf(filled.text, sizeof filled.text, format, args);
    va_end(args);
    if (err)
        *err = filled;
    return status;
}

void mmt_study_text_add(struct mmt_study_text *text, const char *string)
{
    const size_t more = strlen(string);
    char *grown = text->failed ? NULL : realloc(text->data, text->length + more + 1);
    text->failed |= !grown;
    if (!grown)
        return;
    memcpy(grown + text->length, string, more + 1);
    text->data = grown;
    text->length += more;
}

void mmt_study_text_addf(struct mmt_study_text *text, const char *format, ...)
{
    char *string;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&string, format, args);
    va_end(args);
    text->failed |= length < 0;
    if (length < 0)
        return;
    mmt_study_text_add(text, string);
    free(string);
}

const char *mmt_study_text_string(const struct mmt_study_text *text)
{
    return text->data ? text->data : "";
}

void mmt_study_text_finish(struct mmt_study_text *text)
{
    free(text->data);
    *text = (struct mmt_study_text){ 0 };
}
