/* Copies structs of the public header between callers of older and newer headers, by the
 * size that they begin with. */
#include <string.h>

#include "base/error.h"
#include "base/grow.h"

/* No header will have a struct of more bytes: such a size was never filled in. */
enum { MOST = 4096 };

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

void mmt_struct_fill(void *out, size_t size, const void *ours, size_t known)
{
    memset(out, 0, size);
    memcpy(out, ours, least_of(size, known));
    memcpy(out, &size, sizeof size);
}

mmt_status mmt_struct_read(void *out, size_t known, size_t least, const void *in,
                           const char *name, const char *start, mmt_error *err)
{
    const unsigned char *bytes = in;
    size_t size;

    memcpy(&size, in, sizeof size);
    if (size < least || size > MOST)
        return mmt_fail_argument(
            err, MMT_ARGUMENT_SIZE,
            "%s.size is %zu; it must be from %zu to %d: start from %s()", name, size,
            least, (int) MOST, start);
    for (size_t i = known; i < size; i++)
        if (bytes[i])
            return mmt_fail(
                err, MMT_ERROR_UNSUPPORTED,
                "%s has a member that is not 0 behind the %zu bytes that this "
                "library knows; it takes a newer library",
                name, known);
    memcpy(out, in, least_of(size, known));
    memcpy(out, &known, sizeof known);
    return MMT_OK;
}
