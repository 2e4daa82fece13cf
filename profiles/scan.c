/* A look at a text before it is parsed: what it would cost. */
#include "profiles/fields.h"

enum { MAX_DEPTH = 16, MAX_VALUES = 1000000 };

/* Past the closing quote of the string that begins at `at`, or to the end. */
static size_t skip_string(const char *json, size_t length, size_t at)
{
    for (at++; at < length && json[at] != '"'; at++)
        if (json[at] == '\\')
            at++;
    return at;
}

mmt_status mmt_json_scan(const char *json, size_t length, mmt_error *err)
{
    long depth = 0, values = 0, line = 1;
    for (size_t at = 0; at < length; at++) {
        switch (json[at]) {
        case '"':
            at = skip_string(json, length, at);
            break;
        case '[':
        case '{':
            depth++;
            values++;
            break;
        case ']':
        case '}':
            depth--;
            break;
        case ',':
            values++;
            break;
        case '\n':
            line++;
        }
        if (depth > MAX_DEPTH)
            return mmt_fail(err, MMT_ERROR_FORMAT,
                            "line %ld is nested more than %d deep; a profile never is",
                            line, MAX_DEPTH);
        if (values > MAX_VALUES)
            return mmt_fail(err, MMT_ERROR_FORMAT,
                            "more than %d values; a profile never has as many",
                            MAX_VALUES);
    }
    return MMT_OK;
}
