// Words for what only sm_90 and newer can say: barriers that count bytes, clusters of
// blocks, TMA, warpgroups. Addresses in shared memory are 32 bits
// wide.

struct __align__(64) tensor_map {
    unsigned long long opaque[16];
};

// A value that the compiler shall keep rather than compute again in a loop; or, said where it is
// used, find there rather than keep through a loop.
DEVICE_FN unsigned keep(unsigned value)
{
    asm volatile("" : "+r"(value));
    return value;
}

// THREAD_X, found where this stands.
DEVICE_FN unsigned own_thread(void)
{
    unsigned thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

// The launch's shared memory, which begins where a swizzle does.
#define SHARED_TILES(name)                                                           \
    extern __shared__ __align__(1024) unsigned char mmt_tiles[];                     \
    const unsigned name = keep((unsigned) __cvta_generic_to_shared(mmt_tiles))

// The same as an array.
#define SHARED_RING(type, name)                                                      \
    extern __shared__ __align__(1024) unsigned char mmt_tiles[];                     \
    type *name = (type *) mmt_tiles

// ---- barriers -------------------------------------------------------------------------

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

// Before its memory serves another purpose.
DEVICE_FN void barrier_end(unsigned barrier)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(barrier) : "memory");
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

// sm_80 has barriers, too, but a thread there asks again and again.
#if __CUDA_ARCH__ >= 900
#define TRY_WAIT "try_wait"
#else
#define TRY_WAIT "test_wait"
#endif

DEVICE_FN void barrier_wait(unsigned barrier, unsigned parity)
{
    unsigned done;
    do {
        asm volatile("{ .reg .pred done;\n"
                     "mbarrier." TRY_WAIT ".parity.shared::cta.b64 done, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, done; }"
                     : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}

// What barrier_init wrote is seen by TMA and by the other blocks of a cluster that
// syncs after this.
DEVICE_FN void barriers_ready(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// The block's barriers by number, for that many threads; __syncthreads() is number 0.
DEVICE_FN void numbered_sync(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(threads) : "memory");
}

DEVICE_FN void numbered_arrive(int number, int threads)
{
    asm volatile("bar.arrive %0, %1;" :: "r"(number), "r"(threads) : "memory");
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

// ---- TMA ------------------------------------------------------------------

// Have TMA look at a map before it is needed.
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

// Until all that copy_out took has been read, but for that many, a constant, of the last ones.
#define AWAIT_COPIES_OUT(behind) \
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(behind) : "memory")

// What this thread has written to shared memory is seen by TMA and the tensor
// cores; what it has read there comes before what TMA writes after this.
DEVICE_FN void shared_ready(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- shared memory --------------------------------------------------------------------

// One, two or four words, read in the order of the source: the compiler moves no such load past
// another one.
DEVICE_FN void load_in_order(unsigned *words, const void *place, int count)
{
    const unsigned from = (unsigned) __cvta_generic_to_shared(place);
    if (count == 4)
        asm volatile("ld.volatile.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(from));
    else if (count == 2)
        asm volatile("ld.volatile.shared.v2.b32 {%0, %1}, [%2];"
                     : "=r"(words[0]), "=r"(words[1]) : "r"(from));
    else
        asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(words[0]) : "r"(from));
}

DEVICE_FN void store_word(unsigned to, unsigned word)
{
    asm volatile("st.shared.b32 [%0], %1;" :: "r"(to), "r"(word) : "memory");
}

DEVICE_FN void store_words(unsigned to, uint2 words)
{
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};"
                 :: "r"(to), "r"(words.x), "r"(words.y) : "memory");
}

DEVICE_FN unsigned load_word(unsigned from)
{
    unsigned word;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(from) : "memory");
    return word;
}

// The word that a block of the cluster has at that place.
DEVICE_FN unsigned load_word_of(unsigned from, int block)
{
    unsigned word;
    asm volatile("{ .reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %1, %2;\n"
                 "ld.shared::cluster.b32 %0, [there]; }"
                 : "=r"(word) : "r"(from), "r"(block) : "memory");
    return word;
}

// Two neighbours that a block of the cluster has at that place.
DEVICE_FN void load_pair_of(double to[2], unsigned from, int block)
{
    asm volatile("{ .reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %2, %3;\n"
                 "ld.shared::cluster.v2.f64 {%0, %1}, [there]; }"
                 : "=d"(to[0]), "=d"(to[1]) : "r"(from), "r"(block) : "memory");
}

// Store matrices of 8 x 8 elements of 16 bits, of which a thread holds two neighbours
// each. Each eight threads in turn say where the rows of one go or, if it is transposed, its
// columns.
template <bool transposed> DEVICE_FN void store_matrices(unsigned to, unsigned a, unsigned b)
{
    if (transposed)
        asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
                     :: "r"(to), "r"(a), "r"(b) : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                     :: "r"(to), "r"(a), "r"(b) : "memory");
}

template <bool transposed>
DEVICE_FN void store_matrices(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d)
{
    if (transposed)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                     :: "r"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     :: "r"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

// ---- warpgroups -----------------------------------------------------------------------

// Registers that each thread of a warpgroup keeps or gets: a constant.
#define FEWER_REGISTERS(count) \
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(count))
#define MORE_REGISTERS(count) \
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(count))

// Instructions of the tensor cores stand between these two; they run on by themselves.
DEVICE_FN void wgmma_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

DEVICE_FN void wgmma_end(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until at most `behind` such groups, a constant, are not done.
#define AWAIT_WGMMA(behind) \
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(behind) : "memory")

// One instruction of a warpgroup: `what` is its shape, depth and types, `signs` its last
// operands. SUM_NAMES, SUM_LIST and the names behind them come with the configuration, for
// it names each register of a thread's accumulators.
#define WGMMA(what, signs, acc, left, right, add)                                    \
    asm volatile("{ .reg .pred add;\n"                                               \
                 "setp.ne.s32 add, " ADD_NAME ", 0;\n"                               \
                 "wgmma.mma_async.sync.aligned." what " " ACC_NAMES ", " LEFT_NAME   \
                 ", " RIGHT_NAME ", add" signs "; }"                                 \
                 : ACC_LIST(acc) : "l"(left), "l"(right), "r"((int) (add)))

// The same of a left operand in registers, of which each thread has four words.
#define WGMMA_TRANSPOSED(what, signs, acc, left, right, add)                             \
    asm volatile("{ .reg .pred add;\n"                                               \
                 "setp.ne.s32 add, " ADD_NAME ", 0;\n"                               \
                 "wgmma.mma_async.sync.aligned." what " " ACC_NAMES ", " LEFT_NAME   \
                 ", " RIGHT_NAME ", add" signs "; }"                                 \
                 : ACC_LIST(acc)                                                     \
                 : "r"((left)[0]), "r"((left)[1]), "r"((left)[2]), "r"((left)[3]),   \
                   "l"(right), "r"((int) (add)))

// The tensor cores are done with a register: the compiler must not look at it, nor put anything
// else there, before this.
DEVICE_FN void fence_register(float &x)
{
    asm volatile("" : "+f"(x) :: "memory");
}

DEVICE_FN void fence_register(unsigned &x)
{
    asm volatile("" : "+r"(x) :: "memory");
}

// ---- numbers --------------------------------------------------------------------------

// Two of them in a word, to the nearest.
DEVICE_FN unsigned pair_of_bf16(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

DEVICE_FN unsigned pair_of_f16(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
