/* Which knobs of small_k.cl cannot be. What it leaves to the problem: the threads of a
 * block, what each computes, and the depth of its stripes; and the count of cycles by
 * which they are chosen. */
#include <math.h>
#include <string.h>

#include "templates/split.h"
#include "templates/small_k.h"

/* ---- the count ------------------------------------------------------------------- */

enum { WARP = 32 };

/* Elements of the stripes that a thread copies. */
const char *mmt_small_k_check_device(const int *v, const struct mmt_variant *variant,
                                     const struct mmt_caps *caps)
{
    enum { MOST_SUMS = 64, MOST_SHARE = 32, MOST_SHARED = 48 << 10, STACK = 1 << 20 };
    const size_t size = mmt_gemm_real_size(variant->type);
    const size_t shared = shared_bytes(v, size);

    if (v[C_VECTOR] > mmt_gemm_vector(variant->type))
        return "C_VECTOR may cover at most 16 bytes";
    if (v[THREAD_TILE_N] % v[C_VECTOR])
        return "THREAD_TILE_N must be a multiple of C_VECTOR";
    if (accumulators(v) * size > MOST_SUMS * sizeof(float))
        return "THREAD_TILE_M * THREAD_TILE_N accumulators may take at most 64 "
               "registers, so "
               "that many blocks "
               "fit on a multiprocessor";
    if (v[TILE_K] * (tile_m(v) + tile_n(v)) * size >
        MOST_SHARE * sizeof(float) * (size_t) threads(v))
        return "a thread's share of the stripes may take at most 32 registers";
    if (shared > MOST_SHARED)
        return "the stripes take more than 48 KiB of shared memory";
    if (caps->kind == MMT_GPU && (unsigned) threads(v) < caps->warp)
        return "the block has fewer threads than a warp";
    if (caps->kind == MMT_CPU && size * (size_t) (accumulators(v) * threads(v)) > STACK)
        return "sums of a block may take at most 1 MiB on a CPU";
    return mmt_gemm_check_device(threads(v), 1, shared, caps);
}

static double share(const int *v)
{
    return (double) mmt_gemm_pieces(tile_m(v) * v[TILE_K], threads(v)) +
           (double) mmt_gemm_pieces(tile_n(v) * v[TILE_K], threads(v));
}

/* Blocks that a multiprocessor has at a time; it keeps some shared memory of each. */
static int resident(const int *v, size_t size, const struct mmt_caps *caps)
{
    enum { BESIDES = 24, OF_A_COPY = 4, LEAST = 32, KEPT = 1024 };
    const unsigned registers =
        (unsigned) size / 4 * (unsigned) (accumulators(v) + OF_A_COPY * (int) share(v)) +
        BESIDES;
    return mmt_split_resident(threads(v), shared_bytes(v, size) + KEPT,
                              registers > LEAST ? registers : LEAST, caps);
}

/* Stores of warps that cover the rows of C. */
static double stores(const int *v, const mmt_problem *p)
{
    const int lanes = v[THREADS_N] < WARP ? v[THREADS_N] : WARP;
    const int wide = p->ldc % v[C_VECTOR] == 0 ? v[C_VECTOR] : 1;
    return (double) mmt_gemm_pieces(p->n, lanes * wide) * (double) p->m *
           (double) p->batch * lanes / WARP;
}

/* Cycles that memory takes. Rows of C that begin within a sector cut two of them for each
 * tile; of what further tiles read of A and B again, the cache has most. */
static double in_memory(const int *v, const mmt_problem *p, double down, double across,
                        const struct mmt_caps *caps)
{
    enum { SECTOR = 32 };
    static const double reached = 1.15; /* of its rate: the cache holds the last of C */
    static const double cut = 64.5, again = 0.397;
    const double size = (double) mmt_type_size(p->type), m = (double) p->m;
    const double read = size * (double) p->k * (m * across + (double) p->n * down);
    const bool is_cut = p->ldc * (int64_t) mmt_type_size(p->out) % SECTOR != 0;

    return (mmt_problem_bytes(p) +
            (double) p->batch * (again * read + (is_cut ? cut * m * across : 0))) /
           (reached * mmt_split_memory_rate(caps));
}

/* The figures were fitted to 18000 times on H100s (docs/lab/cost-model.md). */
double mmt_small_k_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    /* Cycles: in which a block begins and its last store leaves, in which a round of
     * stripes comes, of a thread's multiply-add; by which a multiprocessor is kept busy
     * by a thread, by a warp's element of a stripe, multiply-add and store; between two
     * blocks that are handed out; of an element whose code is met first. */
    static const double begin = 1200, fetch = 245, one_by_one = 2.01, thread = 1.2,
                        copied = 6.54, multiplied = 0.472, stored = 3.97,
                        handed_out = 2.2, text = 26.6, ramp = 27.9;
    if (caps->kind != MMT_GPU || !caps->sms)
        return 0;
    const double words = (double) mmt_gemm_real_size(p->type) / 4, k = (double) p->k;
    const double down = (double) mmt_gemm_pieces(p->m, tile_m(v));
    const double across = (double) mmt_gemm_pieces(p->n, tile_n(v));
    const double tiles = down * across * (double) p->batch;
    const double rounds = (double) mmt_gemm_pieces(p->k, v[TILE_K]);
    const double warps = (double) threads(v) / WARP;
    const double waits = fetch * rounds + one_by_one * k * accumulators(v);
    const double busy =
        thread * threads(v) +
        words * warps * (copied * share(v) * rounds + multiplied * k * accumulators(v)) +
        stored * stores(v, p) / tiles;
    const double memory = in_memory(v, p, down, across, caps);
    const double waves = mmt_split_waves(ceil(tiles / caps->sms),
                                         resident(v, mmt_gemm_real_size(p->type), caps),
                                         begin + waits, busy);
    const double rows =
        (double) p->m < v[THREAD_TILE_M] ? (double) p->m : v[THREAD_TILE_M];

    return fmax(fmax(waves, memory), handed_out * tiles) + waits + ramp * sqrt(memory) +
           text * rows * v[THREAD_TILE_N];
}

/* ---- what is auto ---------------------------------------------------------------- */

/* Blocks of at most 16 accumulators a thread: with more, large products take longer than
 * is counted. */
struct block {
    int threads_m, threads_n, work_m, work_n;
};

enum { NUM_BLOCKS = 8 };

/* For stores of four elements, and of fewer. */
static const struct block wide[NUM_BLOCKS] = {
    { 8, 16, 1, 4 }, { 16, 16, 1, 4 }, { 16, 16, 4, 4 }, { 8, 16, 2, 4 },
    { 16, 16, 2, 4 }, { 8, 32, 4, 4 }, { 4, 64, 4, 4 },  { 8, 16, 4, 4 },
}, narrow[NUM_BLOCKS] = {
    { 8, 16, 1, 2 }, { 8, 16, 2, 2 }, { 16, 16, 4, 4 }, { 8, 16, 4, 2 },
    { 16, 16, 2, 2 }, { 8, 32, 4, 4 }, { 4, 64, 4, 4 }, { 8, 16, 4, 4 },
};

static void use(int *v, const struct block *block)
{
    v[THREADS_M] = v[THREADS_M] ? v[THREADS_M] : block->threads_m;
    v[THREADS_N] = v[THREADS_N] ? v[THREADS_N] : block->threads_n;
    v[THREAD_TILE_M] = v[THREAD_TILE_M] ? v[THREAD_TILE_M] : block->work_m;
    v[THREAD_TILE_N] = v[THREAD_TILE_N] ? v[THREAD_TILE_N] : block->work_n;
}

/* The least depth that holds k of those that the device can run, or else the largest;
 * whether there is one. (Where k is 0, and where it is deeper than is served, the least.)
 */
static bool find_tile(int *v, const struct mmt_knob *depths, const mmt_problem *p,
                      const struct mmt_caps *caps)
{
    const struct mmt_variant variant = { .type = p->type };
    const int64_t deep = p->k <= DEEPEST ? p->k : 0;
    int best = 0;

    if (v[TILE_K])
        return !mmt_small_k_check_device(v, &variant, caps);
    for (int i = 1; i < depths->num_values && (!best || best < deep); i++) {
        v[TILE_K] = depths->values[i];
        if (!mmt_small_k_check_device(v, &variant, caps))
            best = v[TILE_K];
    }
    v[TILE_K] = best ? best : depths->values[1];
    return best > 0;
}

static bool leaves_block(const int *v)
{
    return !v[THREADS_M] || !v[THREADS_N] || !v[THREAD_TILE_M] || !v[THREAD_TILE_N];
}

/* The block with the least count, or the first that the device can run, where C is not
 * served or nothing is known to count by. */
void mmt_small_k_resolve(int *v, const struct mmt_knob *knobs, const mmt_problem *p,
                         const struct mmt_caps *caps)
{
    const struct block *blocks = v[C_VECTOR] > 2 ? wide : narrow;
    const bool counts = p->k <= DEEPEST && caps->sms && caps->kind == MMT_GPU;
    int given[NUM_KNOBS];
    double least = INFINITY;

    if (!leaves_block(v) && v[TILE_K])
        return;
    memcpy(given, v, sizeof given);
    for (int i = 0; i < NUM_BLOCKS && (counts || least == INFINITY); i++) {
        int now[NUM_KNOBS];
        memcpy(now, given, sizeof now);
        use(now, &blocks[i]);
        const bool runs = find_tile(now, &knobs[TILE_K], p, caps);
        const double takes = !runs    ? INFINITY
                             : counts ? mmt_small_k_cycles(now, p, caps)
                                      : 0;
        if (i > 0 && takes >= least)
            continue;
        least = takes;
        memcpy(v, now, sizeof now);
        if (!leaves_block(given))
            break;
    }
}
