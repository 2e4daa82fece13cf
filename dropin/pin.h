/* Objects whose functions are kept. */
#ifndef MMT_DROPIN_PIN_H
#define MMT_DROPIN_PIN_H

#include <dlfcn.h>

/* Keeps the object that has that address loaded, whoever closes it: its functions may be
 * called for as long as the process lives. Any thread; may lock the loader. */
static inline void mmt_object_pin(const void *address)
{
    Dl_info info;
    if (address && dladdr(address, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

#endif
