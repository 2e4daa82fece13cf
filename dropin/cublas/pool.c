/* Lends parts of one allocation as workspaces to handles and streams, by atomic slots;
 * allocates nothing during a call. */
#include "dropin/cublas/pool.h"

/* Of a part that changes hands; no handle is at that address. */
enum { NOBODY = 1 };

/* CUDA's name for the default stream of whichever thread asks: many streams. */
enum { STREAM_PER_THREAD = 2 };

void mmt_pool_make(struct mmt_pool *pool, mmt_device *device, size_t part, size_t most)
{
    const size_t bytes = (part + 255) / 256 * 256;
    size_t parts = bytes ? most / bytes : 0;

    parts = parts > MMT_MOST_PARTS ? MMT_MOST_PARTS : parts;
    if (!parts || mmt_buffer_create(device, parts * bytes, &pool->memory, NULL))
        return;
    pool->bytes = bytes;
    atomic_store_explicit(&pool->parts, (int) parts, memory_order_release);
}

static uint64_t address(const struct mmt_pool *pool, int i)
{
    return pool->memory.handle + pool->memory.offset + (uint64_t) i * pool->bytes;
}

static uint64_t bind(struct mmt_pool *pool, int parts, uintptr_t handle, uintptr_t stream)
{
    for (int i = 0; i < parts; i++) {
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&pool->part[i].handle, &none, NOBODY))
            continue;
        atomic_store_explicit(&pool->part[i].stream, stream, memory_order_relaxed);
        atomic_store_explicit(&pool->part[i].handle, handle, memory_order_release);
        return address(pool, i);
    }
    return 0;
}

uint64_t mmt_pool_take(struct mmt_pool *pool, const void *handle, const void *stream,
                       size_t bytes)
{
    const int parts = atomic_load_explicit(&pool->parts, memory_order_acquire);
    const uintptr_t owner = (uintptr_t) handle, of = (uintptr_t) stream;

    if (!parts || bytes > pool->bytes || of == STREAM_PER_THREAD)
        return 0;
    for (int i = 0; i < parts; i++)
        if (atomic_load_explicit(&pool->part[i].handle, memory_order_acquire) == owner &&
            atomic_load_explicit(&pool->part[i].stream, memory_order_relaxed) == of)
            return address(pool, i);
    return bind(pool, parts, owner, of);
}

unsigned mmt_pool_withdraw(struct mmt_pool *pool, const void *handle)
{
    const int parts = atomic_load_explicit(&pool->parts, memory_order_acquire);
    unsigned withdrawn = 0;
    for (int i = 0; i < parts; i++) {
        uintptr_t owner = (uintptr_t) handle;
        if (atomic_compare_exchange_strong(&pool->part[i].handle, &owner, NOBODY))
            withdrawn |= 1u << i;
    }
    return withdrawn;
}

void mmt_pool_give(struct mmt_pool *pool, unsigned parts, const void *handle)
{
    for (int i = 0; i < MMT_MOST_PARTS; i++)
        if (parts >> i & 1)
            atomic_store_explicit(&pool->part[i].handle, (uintptr_t) handle,
                                  memory_order_release);
}
