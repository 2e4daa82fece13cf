/* FNV-1a, 128 bits wide: names files and recognises sources; guards against nothing
 * hostile. */
#ifndef MMT_BASE_HASH_H
#define MMT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct mmt_hash {
    uint64_t high, low;
};

/* The hash of nothing, to be added to. */
struct mmt_hash mmt_hash_start(void);
struct mmt_hash mmt_hash_add(struct mmt_hash hash, const void *bytes, size_t length);

/* 32 hexadecimal digits and the terminator. */
void mmt_hash_print(struct mmt_hash hash, char out[33]);

#endif
