#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(x)            #x
#define VERSION(a, b, c)      TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)
#define EXPANDED_VERSION(...) VERSION(__VA_ARGS__)

static const char *const status_names[] = {
    [MMT_OK] = "no error",
    [MMT_ERROR_ARGUMENT] = "wrong argument",
    [MMT_ERROR_UNSUPPORTED] = "not supported",
    [MMT_ERROR_NOT_FOUND] = "not found",
    [MMT_ERROR_FORMAT] = "wrong format",
    [MMT_ERROR_MEMORY] = "out of memory",
    [MMT_ERROR_COMPILE] = "kernel does not compile",
    [MMT_ERROR_DEVICE] = "device error",
    [MMT_ERROR_IO] = "input/output error",
};

const char *mmt_status_name(mmt_status status)
{
    size_t count = sizeof(status_names) / sizeof(status_names[0]);
    return (size_t) status < count ? status_names[status] : "unknown status";
}

const char *mmt_version(void)
{
    return EXPANDED_VERSION(MMT_VERSION_MAJOR, MMT_VERSION_MINOR, MMT_VERSION_PATCH);
}

static void fail(mmt_error *err, mmt_status status, int native, const char *format,
                 va_list args)
{
    if (!err)
        return;

    /* The arguments may point into err->text: it is written last. */
    char text[sizeof(err->text)] = "";
    vsnprintf(text, sizeof(text), format, args);
    memcpy(err->text, text, sizeof(text));
    err->status = status;
    err->native = native;
}

mmt_status mmt_fail(mmt_error *err, mmt_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, status, 0, format, args);
    va_end(args);
    return status;
}

mmt_status mmt_fail_native(mmt_error *err, mmt_status status, int native,
                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, status, native, format, args);
    va_end(args);
    return status;
}
