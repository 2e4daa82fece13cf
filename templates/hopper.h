// Words for what only sm_90 and newer can say: barriers that count bytes, clusters of blocks,
// and the copy engine (TMA). Addresses in shared memory are 32 bits wide.

struct __align__(64) tensor_map {
    unsigned long long opaque[16];
};

// A value that the compiler shall keep rather than compute again in a loop.
DEVICE_FN unsigned keep(unsigned value)
{
    asm volatile("" : "+r"(value));
    return value;
}

// ---- barriers ---------------------------------------------------------------------------

DEVICE_FN void barrier_init(unsigned barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals));
}

// Arrive, and let it wait for that many bytes besides.
DEVICE_FN void barrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(barrier), "r"(bytes) : "memory");
}

DEVICE_FN void barrier_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
}

// Arrive at the barrier that a block of the cluster has at the same place. Nothing is
// ordered by it: who has read something must have waited for that.
DEVICE_FN void barrier_arrive_at(unsigned barrier, int block)
{
    asm volatile("{ .reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there]; }"
                 :: "r"(barrier), "r"(block) : "memory");
}

DEVICE_FN void barrier_wait(unsigned barrier, unsigned parity)
{
    unsigned done;
    do {
        asm volatile("{ .reg .pred done;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, done; }"
                     : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}

// Among the 128 threads of a warpgroup; barrier 0 is that of the block.
DEVICE_FN void group_sync(int group)
{
    asm volatile("bar.sync %0, 128;" :: "r"(1 + group) : "memory");
}

// All threads of a cluster of that many blocks.
DEVICE_FN void cluster_sync(int blocks)
{
    if (blocks == 1)
        __syncthreads();
    else
        asm volatile("barrier.cluster.arrive.release;\n"
                     "barrier.cluster.wait.acquire;" ::: "memory");
}

DEVICE_FN int cluster_rank(int blocks)
{
    int rank = 0;
    if (blocks > 1)
        asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// ---- the copy engine --------------------------------------------------------------------

// Have the engine look at a map before it is needed.
DEVICE_FN void prefetch(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}

// Copy the box at (x, y) of matrix z to shared memory: to this block's, or to that of all
// blocks in the set `blocks`.
DEVICE_FN void copy_in(unsigned to, const tensor_map *map, int x, int y, int z,
                       unsigned barrier, int blocks)
{
    if (blocks)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
                     "complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], "
                     "[%5], %6;"
                     :: "r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier),
                        "h"((short) blocks) : "memory");
    else
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
                     "complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                     :: "r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
                     : "memory");
}

DEVICE_FN void copy_out(const tensor_map *map, int x, int y, int z, unsigned from)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group "
                 "[%0, {%1, %2, %3}], [%4];\n"
                 "cp.async.bulk.commit_group;"
                 :: "l"(map), "r"(x), "r"(y), "r"(z), "r"(from) : "memory");
}

// Until all that copy_out took has been read.
DEVICE_FN void await_copies_out(void)
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
