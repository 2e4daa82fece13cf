/* Says which knobs of small_k.cl cannot be, and chooses those that are auto by the law of
 * time: the threads of a block, what each computes, and the depth of its stripes. */
#include <math.h>
#include <string.h>

#include "templates/law.h"
#include "templates/small_k.h"

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

/* C is written as it is computed: nothing is left to store. */
static double cycles_of(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    enum { BESIDES = 24 };
    const size_t size = mmt_gemm_real_size(p->type);
    const struct mmt_law law = {
        .rates = &mmt_law_streaming,
        .m = tile_m(v),
        .n = tile_n(v),
        .k = (double) (mmt_gemm_pieces(p->k, v[TILE_K]) * v[TILE_K]),
        .blocks = (double) mmt_gemm_pieces(p->m, tile_m(v)) *
                  (double) mmt_gemm_pieces(p->n, tile_n(v)) * (double) p->batch,
        .threads = threads(v),
        .resident =
            mmt_law_resident(threads(v), shared_bytes(v, size),
                             (unsigned) size / 4 * 2 * accumulators(v) + BESIDES, caps),
        .step = v[TILE_K],
        .stages = 1,
        .rate = MMT_LAW_LANES * 4.0 / (double) size,
        .fetched = (double) mmt_type_size(p->type),
        .bytes = mmt_problem_bytes(p),
        .launches = 1,
    };
    return mmt_law_cycles(&law, caps);
}

double mmt_small_k_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    return caps->kind == MMT_GPU && caps->sms
               ? cycles_of(v, p, caps) - mmt_law_streaming.launch
               : 0;
}

/* ---- what is auto ---------------------------------------------------------------- */

/* Blocks of at most 16 accumulators a thread: with more, large products take longer than
 * is counted. 0 columns of a thread: as many as it stores at once, at least two. */
struct block {
    int threads_m, threads_n, work_m, work_n;
};

enum { NUM_BLOCKS = 8 };

static const struct block blocks[NUM_BLOCKS] = {
    { 8, 16, 1, 0 },  { 16, 16, 1, 0 }, { 16, 16, 4, 4 }, { 8, 16, 2, 0 },
    { 16, 16, 2, 0 }, { 8, 32, 4, 4 },  { 4, 64, 4, 4 },  { 8, 16, 4, 4 },
};

static void name(int *knob, int value)
{
    *knob = *knob ? *knob : value;
}

static void use_block(int *v, const struct block *block)
{
    const int stored = v[C_VECTOR] > 2 ? v[C_VECTOR] : 2;
    name(&v[THREADS_M], block->threads_m);
    name(&v[THREADS_N], block->threads_n);
    name(&v[THREAD_TILE_M], block->work_m);
    name(&v[THREAD_TILE_N], block->work_n ? block->work_n : stored);
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

/* Of the blocks that the device can run, the one that takes least; the first where C is
 * not served or nothing is known to count by. */
void mmt_small_k_resolve(int *v, const struct mmt_knob *knobs, const mmt_problem *p,
                         const struct mmt_caps *caps)
{
    const bool counts = p->k <= DEEPEST && caps->sms && caps->kind == MMT_GPU;
    const int count = leaves_block(v) ? NUM_BLOCKS : 1;
    int given[NUM_KNOBS];
    double least = INFINITY;

    memcpy(given, v, sizeof given);
    for (int i = 0; i < count && (counts || least == INFINITY); i++) {
        int now[NUM_KNOBS];
        memcpy(now, given, sizeof now);
        use_block(now, &blocks[i]);
        const bool runs = find_tile(now, &knobs[TILE_K], p, caps);
        const double takes = !runs ? INFINITY : counts ? cycles_of(now, p, caps) : 0;
        if (i > 0 && takes >= least)
            continue;
        least = takes;
        memcpy(v, now, sizeof now);
    }
}
