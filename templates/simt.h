/* What the knobs of simt.c, simt_async.c and simt_tma.c say alike: a thread's own
 * elements of C, as register_tile.h has them, and how tiles are dealt to blocks. */
#ifndef MMT_TEMPLATES_SIMT_H
#define MMT_TEMPLATES_SIMT_H

#include "templates/gemm.h"
#include "templates/split.h"

/* The first knobs of all; each has others from SIMT_KNOBS on, those with a ring one. */
// clang-format off
enum {
    TILE_M, TILE_N, TILE_K, THREAD_TILE_M, THREAD_TILE_N, WARP_M, WARP_N, LANES,
    C_VECTOR, REGISTER_STAGES, FMA_ORDER, RASTER_GROUP, MIN_BLOCKS, SPLIT_K, TILE_SCHEDULER,
    SIMT_KNOBS,
    STAGES = SIMT_KNOBS, RING_KNOBS,
};
// clang-format on

enum { ROWS, COLUMNS, PAIRS };
enum { DATA_PARALLEL, PERSISTENT, STREAM_K };
enum { ROWS_ON, COLS_ON, ROWS_BACK, COLS_BACK, ACROSS, DOWN };

static const char *const mmt_simt_lanes[] = { "rows", "columns", "pairs" };
static const char *const mmt_simt_schedulers[] = { "data_parallel", "persistent",
                                                   "stream_k" };
static const char *const mmt_simt_orders[] = {
    "rows",
    "columns",
    "rows_serpentine",
    "columns_serpentine",
    "blocks2x2_serpentine",
    "blocks2x2_down",
};

/* The knobs whose values are the same in all. */
// clang-format off
#define MMT_SIMT_KNOBS                                                                   \
    [WARP_M] = MMT_KNOB("WARP_M", "threads of a warp down the tile", 1, 2, 4, 8, 16,     \
                        32),                                                             \
    [WARP_N] = MMT_KNOB("WARP_N", "threads of a warp across the tile", 1, 2, 4, 8, 16,   \
                        32),                                                             \
    [LANES] = { "LANES", "order of a warp's threads", 3, { ROWS, COLUMNS, PAIRS },       \
                mmt_simt_lanes },                                                        \
    [C_VECTOR] = MMT_KNOB("C_VECTOR", "elements of C per global store", 1, 2, 4),        \
    [REGISTER_STAGES] = MMT_KNOB("REGISTER_STAGES", "steps whose operands are in registers", 1, 2),  \
    [FMA_ORDER] = { "FMA_ORDER", "order of a step's FMAs", 6,                   \
                    { ROWS_ON, COLS_ON, ROWS_BACK, COLS_BACK, ACROSS, DOWN },            \
                    mmt_simt_orders },                                                   \
    [RASTER_GROUP] = MMT_KNOB("RASTER_GROUP", "rows of tiles that neighbouring blocks share", 1, 4, 8, \
                       16),                                                              \
    [MIN_BLOCKS] = MMT_KNOB("MIN_BLOCKS", "least blocks on a multiprocessor", 1, 2, 3,   \
                            4),                                                          \
    [SPLIT_K] = MMT_GEMM_KNOB_SPLITS("blocks that share a tile of C; 0: as suits it", 2,     \
                                    true, 0, MMT_GEMM_SPLITS),                            \
    [TILE_SCHEDULER] = { "TILE_SCHEDULER",                                                                   \
               "a block's work: a tile, one after the other, or runs of the rest, too",      \
               3, { DATA_PARALLEL, PERSISTENT, STREAM_K }, mmt_simt_schedulers }

/* All knobs of kernels whose tiles come through a ring in shared memory. */
#define MMT_SIMT_RING_KNOBS                                                              \
    [TILE_M] = MMT_KNOB("TILE_M", "rows of C per block", 32, 64, 96, 128, 192, 256),     \
    [TILE_N] = MMT_KNOB("TILE_N", "columns of C per block", 32, 64, 96, 128, 192, 256),  \
    [TILE_K] = MMT_KNOB("TILE_K", "depth of one stage of the pipeline", 8, 16, 32),           \
    [THREAD_TILE_M] = MMT_KNOB("THREAD_TILE_M", "rows of C per thread", 2, 4, 6, 8, 12, 16),           \
    [THREAD_TILE_N] = MMT_KNOB("THREAD_TILE_N", "columns of C per thread", 2, 4, 6, 8, 12, 16),        \
    MMT_SIMT_KNOBS,                                                                      \
    [STAGES] = MMT_KNOB("STAGES", "stages of the pipeline in shared memory", 2, 3, 4, 5)
// clang-format on

static inline int mmt_simt_warp(const int *v)
{
    return v[WARP_M] * v[WARP_N];
}

static inline int mmt_simt_threads(const int *v)
{
    return (v[TILE_M] / v[THREAD_TILE_M]) * (v[TILE_N] / v[THREAD_TILE_N]);
}

/* Multiply-adds that stand in the text one after the other for so many steps along k. */
static inline int mmt_simt_unrolled(const int *v, int steps)
{
    return steps * v[THREAD_TILE_M] * v[THREAD_TILE_N];
}

/* 32-bit registers of a thread's accumulators and operands. */
static inline unsigned mmt_simt_registers(const int *v, mmt_type type)
{
    const int words = (int) mmt_gemm_real_size(type) / 4;
    const int operands = v[REGISTER_STAGES] * (v[THREAD_TILE_M] + v[THREAD_TILE_N]);
    return (unsigned) (words * (v[THREAD_TILE_M] * v[THREAD_TILE_N] + operands));
}

static inline struct mmt_tile mmt_simt_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[TILE_M], v[TILE_N], v[TILE_K], v[TILE_K] };
}

static inline struct mmt_work mmt_simt_work(const int *v, mmt_type type)
{
    (void) type;
    return (struct mmt_work){
        .m = v[TILE_M],
        .n = v[TILE_N],
        .depth = v[TILE_K],
        .step = v[TILE_K],
        .stages = v[STAGES],
        .splits = v[SPLIT_K],
    };
}

static inline const char *mmt_simt_check_shape(const int *v, mmt_type type)
{
    if (v[TILE_M] % (v[WARP_M] * v[THREAD_TILE_M]) ||
        v[TILE_N] % (v[WARP_N] * v[THREAD_TILE_N]))
        return "TILE_M must be a multiple of WARP_M * THREAD_TILE_M, TILE_N of WARP_N * "
               "THREAD_TILE_N";
    if (v[C_VECTOR] > mmt_gemm_vector(type))
        return "C_VECTOR may cover at most 16 bytes";
    if (v[THREAD_TILE_N] % v[C_VECTOR])
        return "THREAD_TILE_N must be a multiple of C_VECTOR";
    if (v[LANES] == PAIRS && (v[WARP_M] % 2 || v[WARP_N] == 1))
        return "LANES pairs needs an even WARP_M and a WARP_N above 1";
    if (v[LANES] == COLUMNS && (v[WARP_M] == 1 || v[WARP_N] == 1))
        return "LANES columns is the same as rows where WARP_M or WARP_N is 1";
    if (v[FMA_ORDER] >= ACROSS && (v[THREAD_TILE_M] % 2 || v[THREAD_TILE_N] % 2))
        return "FMA_ORDER in blocks of 2x2 needs an even THREAD_TILE_M and THREAD_TILE_N";
    return NULL;
}

static inline const char *mmt_simt_check_threads(const int *v,
                                                 const struct mmt_caps *caps)
{
    const unsigned count = (unsigned) mmt_simt_threads(v);

    if (caps->max_threads && count > caps->max_threads)
        return "the tile has more threads than a block may have on this device";
    if (caps->max_block[0] && count > caps->max_block[0])
        return "the tile has more threads than a block may have in a row on this device";
    return NULL;
}

/* Registers that a thread may have where a multiprocessor holds MIN_BLOCKS blocks; 0
 * where the device does not say. */
static inline unsigned mmt_simt_registers_allowed(const int *v,
                                                  const struct mmt_caps *caps)
{
    unsigned allowed = caps->registers_per_thread;
    const unsigned all =
        caps->registers_per_sm ? caps->registers_per_sm : caps->registers;
    const unsigned share = all / (unsigned) (mmt_simt_threads(v) * v[MIN_BLOCKS]);
    if (all && (!allowed || share < allowed))
        allowed = share;
    return allowed;
}

/* Blocks that stay and have runs: all are resident. */
static inline unsigned mmt_simt_stay(const int *v, const struct mmt_caps *caps)
{
    return (caps->sms ? caps->sms : 1) * (unsigned) v[MIN_BLOCKS];
}

static inline const char *mmt_simt_check_splits(const int *v, const struct mmt_caps *caps)
{
    if (v[TILE_SCHEDULER] != DATA_PARALLEL && v[SPLIT_K] > 1)
        return "TILE_SCHEDULER=persistent and TILE_SCHEDULER=stream_k need a SPLIT_K of "
               "1";
    if (v[TILE_SCHEDULER] == PERSISTENT && caps->dialect == MMT_OPENCL_C)
        return "TILE_SCHEDULER=persistent needs a platform that says how many blocks run "
               "at once";
    if (v[TILE_SCHEDULER] == STREAM_K)
        return mmt_gemm_check_stream_k(mmt_simt_stay(v, caps), v[TILE_M] * v[TILE_N],
                                       caps);
    return mmt_gemm_check_splits(v[SPLIT_K], caps);
}

/* NULL if a multiprocessor can hold MIN_BLOCKS blocks of so much shared memory, whose
 * threads have so many registers. */
static inline const char *mmt_simt_check_resident(const int *v, size_t shared,
                                                  unsigned registers,
                                                  const struct mmt_caps *caps)
{
    const unsigned blocks = (unsigned) v[MIN_BLOCKS];
    const unsigned allowed = mmt_simt_registers_allowed(v, caps);

    if (caps->shared && shared > caps->shared)
        return "the tiles take more shared memory than a block may have on this device";
    if (blocks > 1 && caps->dialect == MMT_OPENCL_C)
        return "MIN_BLOCKS cannot be said in OpenCL and must be 1";
    if (caps->shared_per_sm && shared * blocks > caps->shared_per_sm)
        return "MIN_BLOCKS blocks take more shared memory than a multiprocessor has";
    if (caps->threads_per_sm && mmt_simt_threads(v) * blocks > caps->threads_per_sm)
        return "MIN_BLOCKS blocks have more threads than a multiprocessor holds";
    if (allowed && registers > allowed)
        return "sums, operands and the next tile take more registers than a thread may "
               "have";
    return mmt_simt_check_splits(v, caps);
}

static inline int64_t mmt_simt_tiles(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[TILE_M]) * mmt_gemm_pieces(p->n, v[TILE_N]);
}

/* Leaves as many splits of k as suit the problem, where that is asked for. A step moves
 * two tiles to shared memory, which have `stages` places there. Blocks that stay share
 * what is left anyway. */
static inline void mmt_simt_resolve(int *v, const struct mmt_knob *knobs, int stages,
                                    size_t shared, unsigned registers,
                                    const mmt_problem *p, const struct mmt_caps *caps)
{
    /* Cycles in which a step's operands come, and those before and after all steps; bytes
     * that are multiplied, and that are stored, in a cycle. */
    enum { FETCH = 2000, AROUND = 400, MULTIPLIED = 512, STORED = 40 };

    if (v[SPLIT_K])
        return;
    v[SPLIT_K] = 1;
    if (v[TILE_SCHEDULER] != DATA_PARALLEL)
        return;
    const double size = (double) mmt_gemm_real_size(p->type);
    const double area = v[TILE_M] * v[TILE_N];
    const double feeding = 1 + 0.75 / v[THREAD_TILE_M] + 0.75 / v[THREAD_TILE_N];
    const struct mmt_split split = {
        .tiles = (double) mmt_simt_tiles(v, p) * (double) p->batch,
        .steps = (double) mmt_gemm_pieces(p->k, v[TILE_K]),
        .resident = mmt_split_resident(mmt_simt_threads(v), shared, registers, caps),
        .step = area * v[TILE_K] * size / MULTIPLIED * feeding,
        .latency = (double) FETCH / stages,
        .block = AROUND + area * size / STORED,
        .adding = MMT_SPLIT_ADDING,
        .accumulators = mmt_gemm_partial_sums(p) * size,
        .added = MMT_SPLIT_ADDED,
        .most = MMT_GEMM_MOST_PARTIAL / mmt_gemm_partial_sums(p),
    };
    v[SPLIT_K] = mmt_split_count(&split, &knobs[SPLIT_K], caps);
}

static inline const char *mmt_simt_check_problem(const int *v, const mmt_problem *p)
{
    const char *why = mmt_gemm_check_problem(mmt_simt_tiles(v, p));

    if (!why && v[TILE_SCHEDULER] == STREAM_K && p->batch > 1)
        why = "TILE_SCHEDULER=stream_k is for one product; a batch has tiles enough";
    return why ? why : mmt_gemm_check_split_problem(v[SPLIT_K], p);
}

static inline void mmt_simt_launch(const int *v, const mmt_problem *p, size_t shared,
                                   const struct mmt_caps *caps, struct mmt_launches *out)
{
    const int64_t blocks =
        v[TILE_SCHEDULER] == STREAM_K ? mmt_simt_stay(v, caps) : mmt_simt_tiles(v, p);

    mmt_gemm_launch(mmt_simt_threads(v), 1, blocks, p->batch, out);
    out->launch[0].args = mmt_gemm_workspace_args;
    out->launch[0].shared = shared;
    out->launch[0].pdl_waits = true;
    out->launch[0].persistent = v[TILE_SCHEDULER] == PERSISTENT;
    mmt_gemm_split(v[SPLIT_K], p, out);
    if (v[TILE_SCHEDULER] == STREAM_K)
        mmt_gemm_share_stream_k(mmt_simt_tiles(v, p), v[TILE_M] * v[TILE_N], p, out);
}

#endif
