/* Computes the 128-bit FNV-1a hash of bytes, and writes it as hexadecimal digits. */
#include "base/hash.h"

#include <stdio.h>

__extension__ typedef unsigned __int128 wide;

struct mmt_hash mmt_hash_start(void)
{
    return (struct mmt_hash){ 0x6c62272e07bb0142, 0x62b821756295c58d };
}

struct mmt_hash mmt_hash_add(struct mmt_hash hash, const void *bytes, size_t length)
{
    const wide prime = (wide) 1 << 88 | 0x13b;
    const unsigned char *byte = bytes;
    wide h = (wide) hash.high << 64 | hash.low;

    for (size_t i = 0; i < length; i++)
        h = (h ^ byte[i]) * prime;
    return (struct mmt_hash){ (uint64_t) (h >> 64), (uint64_t) h };
}

void mmt_hash_print(struct mmt_hash hash, char out[33])
{
    snprintf(out, 33, "%016llx%016llx", (unsigned long long) hash.high,
             (unsigned long long) hash.low);
}
