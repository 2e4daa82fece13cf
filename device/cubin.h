/* A cubin, NVIDIA's ELF file of compiled kernels: what it says about one of them. */
#ifndef MMT_DEVICE_CUBIN_H
#define MMT_DEVICE_CUBIN_H

#include "device/device.h"

/* Whether these bytes are an ELF file at all; PTX is text. */
bool mmt_cubin_is(const void *data, size_t size);

/* False where the file has no kernel of that name or is damaged. */
bool mmt_cubin_usage(const void *data, size_t size, const char *entry,
                     struct mmt_usage *out);

#endif
