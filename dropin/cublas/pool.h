/* Workspaces of ours, for calls whose handle has none: a few equal parts of device
 * memory, each bound to one handle and one of its streams until the handle is destroyed.
 * What one stream does is in order, so that a part is never used twice at once. */
#ifndef MMT_DROPIN_CUBLAS_POOL_H
#define MMT_DROPIN_CUBLAS_POOL_H

#include <stdatomic.h>

#include "dropin/calls.h"

enum { MMT_MOST_PARTS = 8 };

/* Bytes of a workspace behind what a kernel needs, for scalars in device memory that are
 * apart. */
enum { MMT_SCALARS_ROOM = 256 };

struct mmt_pool {
    mmt_operand memory;
    size_t bytes; /* of a part */
    atomic_int parts;
    struct {
        _Atomic uintptr_t handle; /* 0: free; 1: nobody's, while it changes hands */
        _Atomic uintptr_t stream;
    } part[MMT_MOST_PARTS];
};

/* Makes parts of `part` bytes, as many as fit in `most`. None where even one does not
 * fit, or there is no memory left. Once, before other threads use the pool's parts. */
void mmt_pool_make(struct mmt_pool *pool, mmt_device *device, size_t part, size_t most);

/* The address of the part for that handle and stream, of that many bytes at least;
 * 0: there is none left. Any thread; two that share a handle may bind two parts at once,
 * of which later calls find one. */
uint64_t mmt_pool_take(struct mmt_pool *pool, const void *handle, const void *stream,
                       size_t bytes);

/* Takes a handle's parts from it, as a set of bits; nobody has them then. Any thread, one
 * at a time for one handle. */
unsigned mmt_pool_withdraw(struct mmt_pool *pool, const void *handle);

/* Gives such parts to a handle, or frees them for all (NULL), once all that was queued
 * with them is done. */
void mmt_pool_give(struct mmt_pool *pool, unsigned parts, const void *handle);

#endif
