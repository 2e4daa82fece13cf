/* Opens a shared library and fills a table with its functions; says why where one is
 * missing. */
#include "device/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool mmt_library_open(const char *file, const struct mmt_symbol *symbols, size_t count,
                      void *table, char why[256])
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        snprintf(why, 256, "%s", reason ? reason : "dlopen does not say why");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol && !symbols[i].optional) {
            snprintf(why, 256, "%s has no %s",
                     file ? file : "what the program is linked with", symbols[i].name);
            return false;
        }
        memcpy((char *) table + symbols[i].offset, &symbol, sizeof(symbol));
    }
    return true;
}
