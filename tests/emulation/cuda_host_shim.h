/* What CUDA has for words of 32 bits and for short vectors, for kernels that are compiled
 * for a host. */
#ifndef MMT_TESTS_CUDA_HOST_SHIM_H
#define MMT_TESTS_CUDA_HOST_SHIM_H

#include <stdint.h>

struct alignas(4) ushort2 {
    unsigned short x, y;
};
struct alignas(8) ushort4 {
    unsigned short x, y, z, w;
};
struct alignas(2) uchar2 {
    unsigned char x, y;
};
struct alignas(4) uchar4 {
    unsigned char x, y, z, w;
};
struct alignas(2) char2 {
    signed char x, y;
};
struct alignas(4) char4 {
    signed char x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return { x, y };
}

static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return { x, y, z, w };
}

/* Byte i of the result is the one of y, x that the i-th digit of `which` names. */
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned which)
{
    const uint64_t both = (uint64_t) y << 32 | x;
    unsigned bytes = 0;
    for (int i = 0; i < 4; i++)
        bytes |= (unsigned) (both >> 8 * (which >> 4 * i & 7) & 0xff) << 8 * i;
    return bytes;
}

#endif
