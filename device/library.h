/* Libraries opened at run time, so that one program runs on machines with and without
 * them.
 *
 * A list of symbols is an .fn file, one a line: FN(name) must be there, OPTIONAL(name)
 * may be. Its includer makes a struct of typed pointers from it, and this table. */
#ifndef MMT_DEVICE_LIBRARY_H
#define MMT_DEVICE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct mmt_symbol {
    const char *name;
    size_t offset; /* of the pointer in the struct, bytes */
    bool optional;
};

/* Opens a library and fills the struct `table`; optional symbols that it lacks are NULL.
 * Where `file` is NULL they are those of the program and of what it was linked with.
 * False where the file cannot be opened or a symbol is missing: `why` then has a
 * sentence. An open library is never closed: those of drivers keep threads and exit
 * handlers. */
bool mmt_library_open(const char *file, const struct mmt_symbol *symbols, size_t count,
                      void *table, char why[256]);

#endif
