/* Fills the caller's mmt_error with a sentence; prints nothing, and writes no more of an
 * older caller's struct than that has. */
#include "base/error.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

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

static const char *const argument_names[] = {
    [MMT_ARGUMENT_NONE] = "",
    [MMT_ARGUMENT_DEVICE] = "device",
    [MMT_ARGUMENT_PROFILE] = "profile",
    [MMT_ARGUMENT_PROBLEM] = "problem",
    [MMT_ARGUMENT_PLAN] = "plan",
    [MMT_ARGUMENT_ARGS] = "args",
    [MMT_ARGUMENT_QUEUE] = "queue",
    [MMT_ARGUMENT_SIZE] = "size",
    [MMT_ARGUMENT_OP] = "op",
    [MMT_ARGUMENT_TYPE] = "type",
    [MMT_ARGUMENT_OUT] = "out",
    [MMT_ARGUMENT_TRANS_A] = "trans_a",
    [MMT_ARGUMENT_TRANS_B] = "trans_b",
    [MMT_ARGUMENT_M] = "m",
    [MMT_ARGUMENT_N] = "n",
    [MMT_ARGUMENT_K] = "k",
    [MMT_ARGUMENT_LDA] = "lda",
    [MMT_ARGUMENT_LDB] = "ldb",
    [MMT_ARGUMENT_LDC] = "ldc",
    [MMT_ARGUMENT_BATCH] = "batch",
    [MMT_ARGUMENT_BATCH_BY] = "batch_by",
    [MMT_ARGUMENT_STRIDE_A] = "stride_a",
    [MMT_ARGUMENT_STRIDE_B] = "stride_b",
    [MMT_ARGUMENT_STRIDE_C] = "stride_c",
    [MMT_ARGUMENT_BIAS] = "bias",
    [MMT_ARGUMENT_ACTIVATION] = "activation",
    [MMT_ARGUMENT_A] = "A",
    [MMT_ARGUMENT_B] = "B",
    [MMT_ARGUMENT_C] = "C",
    [MMT_ARGUMENT_ALPHA] = "alpha",
    [MMT_ARGUMENT_BETA] = "beta",
    [MMT_ARGUMENT_SCALARS] = "scalars",
    [MMT_ARGUMENT_WORKSPACE] = "workspace",
    [MMT_ARGUMENT_CONFIGURATION] = "configuration",
    [MMT_ARGUMENT_EFFORT] = "effort",
    [MMT_ARGUMENT_F32_MODE] = "f32_mode",
    [MMT_ARGUMENT_EVENTS] = "events",
    [MMT_ARGUMENT_COUNT] = "count",
    [MMT_ARGUMENT_OFFSETS_A] = "offsets_a",
    [MMT_ARGUMENT_OFFSETS_B] = "offsets_b",
    [MMT_ARGUMENT_OFFSETS_C] = "offsets_c",
    [MMT_ARGUMENT_ROWS] = "rows",
    [MMT_ARGUMENT_COLUMNS] = "columns",
    [MMT_ARGUMENT_LD_HOST] = "ld_host",
    [MMT_ARGUMENT_LD_DEVICE] = "ld_device",
    [MMT_ARGUMENT_HOST] = "host",
    [MMT_ARGUMENT_MATRIX] = "matrix",
    [MMT_ARGUMENT_LAYOUT] = "layout",
    [MMT_ARGUMENT_HANDLE] = "handle",
    [MMT_ARGUMENT_MEASURE_SECONDS] = "measure_seconds",
};

const char *mmt_argument_name(mmt_argument argument)
{
    size_t count = sizeof(argument_names) / sizeof(argument_names[0]);
    return (size_t) argument < count ? argument_names[argument] : "";
}

const char *mmt_version(void)
{
    return EXPANDED_VERSION(MMT_VERSION_MAJOR, MMT_VERSION_MINOR, MMT_VERSION_PATCH);
}

/* An error of 0.1 has the same size; its text ended where `argument` stands. */
_Static_assert(sizeof(mmt_error) == 1032, "the caller's mmt_error has these bytes");

static void fail(mmt_error *err, mmt_status status, int native, mmt_argument argument,
                 const char *format, va_list args)
{
    if (!err)
        return;

    /* The arguments may point into err->text: it is written last. */
    char text[sizeof(err->text)] = "";
    mmt_text_print_list(text, sizeof(text), format, args);
    memcpy(err->text, text, sizeof(text));
    err->status = status;
    err->native = native;
    err->argument = argument;
}

mmt_status mmt_fail(mmt_error *err, mmt_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, status, 0, MMT_ARGUMENT_NONE, format, args);
    va_end(args);
    return status;
}

mmt_status mmt_fail_native(mmt_error *err, mmt_status status, int native,
                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, status, native, MMT_ARGUMENT_NONE, format, args);
    va_end(args);
    return status;
}

mmt_status mmt_fail_argument(mmt_error *err, mmt_argument argument, const char *format,
                             ...)
{
    va_list args;
    va_start(args, format);
    fail(err, MMT_ERROR_ARGUMENT, 0, argument, format, args);
    va_end(args);
    return MMT_ERROR_ARGUMENT;
}

mmt_status mmt_blame(mmt_error *err, mmt_status status, mmt_argument argument)
{
    if (err && status)
        err->argument = argument;
    return status;
}
