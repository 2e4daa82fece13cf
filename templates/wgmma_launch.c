/* How wgmma.cu is launched, and which shapes it serves. */
#include "templates/law.h"
#include "templates/wgmma.h"

enum { MOST_BYTES = 1 << 27 }; /* of accumulators in the workspace */

/* ---- which shapes ---------------------------------------------------------------- */

static int64_t clusters(const int *v, const mmt_problem *p)
{
    int64_t rows = v[SWAP] ? p->n : p->m, columns = v[SWAP] ? p->m : p->n;
    return mmt_gemm_pieces(rows, v[TILE_M] * cluster_m(v)) *
           mmt_gemm_pieces(columns, v[TILE_N] * cluster_n(v));
}

/* Bytes of the accumulators of a cluster's tiles. */
static size_t sum_bytes(const int *v)
{
    return (size_t) (cluster_m(v) * cluster_n(v) * v[TILE_M] * v[TILE_N]) * 4;
}

static int64_t stages(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->k, atom(p->type) * lines_deep(v)) * passes(v, p->type);
}

const char *mmt_wgmma_check_problem(const int *v, const mmt_problem *p)
{
    enum { MOST_CLUSTERS = 1024, MOST_SLOTS = 1 << 20 };

    if (mmt_gemm_check_slices(p))
        return mmt_gemm_check_slices(p);
    if (!in_slices(p->type) && (v[PACK_A] || v[PACK_B]) && mmt_gemm_rows_fit(p, false) &&
        mmt_gemm_rows_fit(p, true))
        return "TMA takes the rows of A and B as they are: PACK_A and PACK_B "
               "must be 0";
    if (v[EPILOGUE_STAGES] && p->n * (int64_t) mmt_type_size(p->out) % 16)
        return "TMA stores rows of C whose length is a multiple of 16 bytes: "
               "EPILOGUE_STAGES must be 0";
    if (v[SPLIT_K] > 1 &&
        (double) clusters(v, p) * (double) sum_bytes(v) * v[SPLIT_K] * (double) p->batch >
            MOST_BYTES)
        return "SPLIT_K would leave more than 2^25 accumulators; C has tiles enough "
               "without";
    if (v[TILE_SCHEDULER] == STREAM_K && p->batch > 1)
        return "TILE_SCHEDULER stream_k is for one product; a batch has tiles enough";
    if (v[TILE_SCHEDULER] == STREAM_K && clusters(v, p) > MOST_CLUSTERS)
        return "C has so many tiles that what TILE_SCHEDULER stream_k saves, a part of a "
               "round, is "
               "little";
    if (v[TILE_SCHEDULER] == STREAM_K && stages(v, p) > MOST_SLOTS)
        return "TILE_SCHEDULER stream_k numbers the stages along k by an int, and these "
               "are more than "
               "2^20";
    const char *why = mmt_gemm_check_overlap(p, packs_a(v, p->type, p->trans_a),
                                             packs_b(v, p->type, p->trans_b));
    return why ? why : mmt_gemm_check_problem(clusters(v, p) * blocks_of_cluster(v));
}

/* Whether blocks may share a tile through the workspace at all. */
static bool may_split(const int *v)
{
    return v[SCHEDULE] == COOPERATIVE && v[TILE_SCHEDULER] == PERSISTENT &&
           !v[EPILOGUE_STAGES];
}

void mmt_wgmma_resolve(int *v, const struct mmt_knob *knobs, const mmt_problem *p,
                       const struct mmt_caps *caps)
{
    const double accumulators =
        (double) clusters(v, p) * (double) sum_bytes(v) * (double) p->batch;
    if (v[SPLIT_K])
        return;
    v[SPLIT_K] = 1;
    if (may_split(v))
        mmt_law_choose_splits(v, SPLIT_K, &knobs[SPLIT_K], MOST_BYTES / accumulators,
                              mmt_wgmma_cycles, p, caps);
}

/* ---- launching ------------------------------------------------------------------- */

/* A part of an operand's tile, one for each of the blocks that share it. */
static struct mmt_box operand_box(const int *v, mmt_type type, int tile, bool deep,
                                  int parts)
{
    const int lines = deep ? tile : atom(type) * lines_deep(v);
    return (struct mmt_box){
        .inner = (unsigned) atom(type),
        .outer = (unsigned) (lines / parts),
        .swizzle = LINE,
        .promotion = (unsigned) v[PROMOTION],
    };
}

static struct mmt_box result_box(const int *v, mmt_type out)
{
    const unsigned columns = (unsigned) columns_of_piece(v, out);
    const unsigned inner = v[SWAP] ? BLOCK_M : columns;
    return (struct mmt_box){
        .inner = inner,
        .outer = v[SWAP] ? columns : BLOCK_M,
        .swizzle = inner * (unsigned) mmt_type_size(out),
    };
}

/* Clusters of one block for each multiprocessor. */
static int64_t clusters_abreast(const int *v, const struct mmt_caps *caps)
{
    const int64_t all = caps->sms / (unsigned) blocks_of_cluster(v);
    return all ? all : 1;
}

/* With TILE_SCHEDULER stream_k even few tiles are dealt to all multiprocessors. */
static int64_t clusters_launched(const int *v, const mmt_problem *p,
                                 const struct mmt_caps *caps)
{
    const int64_t tiles = clusters(v, p), abreast = clusters_abreast(v, caps);
    return v[TILE_SCHEDULER] == STREAM_K && tiles < abreast ? abreast : tiles;
}

/* The most parts of tiles that TILE_SCHEDULER stream_k leaves: each cluster's run has
 * one, and another one where it goes on to the next tile. No more clusters run at once
 * than shared memory and threads allow. */
static int64_t most_parts(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                          const struct mmt_launch *product)
{
    const size_t by_shared = caps->shared_per_sm / product->shared;
    const size_t by_threads = caps->threads_per_sm / (unsigned) threads(v);
    const size_t fit = by_shared < by_threads ? by_shared : by_threads;
    const int64_t blocks = (int64_t) (caps->sms * (fit ? fit : 1));
    const int64_t resident = blocks / blocks_of_cluster(v);
    const int64_t launched = clusters_launched(v, p, caps), tiles = clusters(v, p);
    const int64_t runs = launched < resident ? launched : resident;
    return runs + (tiles < runs ? tiles : runs);
}

static void add_product(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                        struct mmt_launches *out)
{
    static const enum mmt_arg args[] = {
        MMT_ARG_TENSOR_MAP_A,
        MMT_ARG_TENSOR_MAP_B,
        MMT_ARG_M,
        MMT_ARG_N,
        MMT_ARG_K,
        MMT_ARG_ALPHA,
        MMT_ARG_BETA,
        MMT_ARG_SCALARS,
        MMT_ARG_C,
        MMT_ARG_BIAS,
        MMT_ARG_WORKSPACE,
        MMT_ARG_END,
    };
    static const enum mmt_arg f32_args[] = {
        MMT_ARG_TENSOR_MAP_A,
        MMT_ARG_TENSOR_MAP_B,
        MMT_ARG_M,
        MMT_ARG_N,
        MMT_ARG_K,
        MMT_ARG_ALPHA,
        MMT_ARG_BETA,
        MMT_ARG_SCALARS,
        MMT_ARG_A,
        MMT_ARG_B,
        MMT_ARG_C,
        MMT_ARG_BIAS,
        MMT_ARG_WORKSPACE,
        MMT_ARG_END,
    };
    static const enum mmt_arg store_args[] = {
        MMT_ARG_TENSOR_MAP_A,
        MMT_ARG_TENSOR_MAP_B,
        MMT_ARG_TENSOR_MAP_C,
        MMT_ARG_M,
        MMT_ARG_N,
        MMT_ARG_K,
        MMT_ARG_ALPHA,
        MMT_ARG_BETA,
        MMT_ARG_SCALARS,
        MMT_ARG_C,
        MMT_ARG_BIAS,
        MMT_ARG_WORKSPACE,
        MMT_ARG_END,
    };
    const bool left = left_deep(v, p->type, p->trans_a, p->trans_b);
    const bool right = right_deep(v, p->type, p->trans_a, p->trans_b);
    const struct mmt_box boxes[] = {
        operand_box(v, p->type, v[TILE_M], left, cluster_n(v)),
        operand_box(v, p->type, v[TILE_N], right, cluster_m(v)),
    };

    out->launch[out->count++] = (struct mmt_launch){
        .entry = "mmt_gemm",
        .args = p->type == MMT_F32   ? f32_args
                : v[EPILOGUE_STAGES] ? store_args
                                     : args,
        .grid = { (unsigned) (clusters_launched(v, p, caps) * blocks_of_cluster(v)),
                  (unsigned) v[SPLIT_K], (unsigned) p->batch },
        .block = { (unsigned) threads(v), 1, 1 },
        .workspace_at = out->workspace,
        .shared = shared_bytes(v, p->type, p->out, p->trans_a, p->trans_b),
        .box = { boxes[v[SWAP]], boxes[!v[SWAP]], result_box(v, p->out) },
        .persistent = !shares_tiles(v) && v[TILE_SCHEDULER] != DATA_PARALLEL,
        .pdl_waits = true,
    };
}

/* Adds up what SPLIT_K clusters or, with TILE_SCHEDULER stream_k, those of one launch
 * left. */
static void add_parts(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                      struct mmt_launches *out)
{
    enum { THREADS_ADD = 256, PAIRS_EACH = 4 };
    static const enum mmt_arg args[] = {
        MMT_ARG_M,     MMT_ARG_N,         MMT_ARG_K,       MMT_ARG_SPLITS,
        MMT_ARG_ALPHA, MMT_ARG_BETA,      MMT_ARG_SCALARS, MMT_ARG_C,
        MMT_ARG_BIAS,  MMT_ARG_WORKSPACE, MMT_ARG_END,
    };
    static const enum mmt_arg f32_args[] = {
        MMT_ARG_M,    MMT_ARG_N,         MMT_ARG_K,   MMT_ARG_SPLITS, MMT_ARG_ALPHA,
        MMT_ARG_BETA, MMT_ARG_SCALARS,   MMT_ARG_A,   MMT_ARG_B,      MMT_ARG_C,
        MMT_ARG_BIAS, MMT_ARG_WORKSPACE, MMT_ARG_END,
    };
    const struct mmt_launch *product = &out->launch[out->count - 1];
    const bool runs = v[TILE_SCHEDULER] == STREAM_K;
    const int64_t pairs = (int64_t) sum_bytes(v) / 8;
    const int64_t parts =
        runs ? most_parts(v, p, caps, product) : clusters(v, p) * v[SPLIT_K];

    out->launch[out->count++] = (struct mmt_launch){
        .entry = "mmt_reduce_splits",
        .args = p->type == MMT_F32 ? f32_args : args,
        .grid = { runs ? product->grid[0]
                       : (unsigned) (clusters(v, p) * pairs / THREADS_ADD),
                  runs ? (unsigned) mmt_gemm_pieces(pairs, PAIRS_EACH * THREADS_ADD) : 1,
                  (unsigned) p->batch },
        .block = { THREADS_ADD, 1, 1 },
        .splits = v[SPLIT_K],
        .workspace_at = product->workspace_at,
        .grid_of_previous = runs,
        .pdl_waits = true,
    };
    out->workspace += (size_t) (p->batch * parts) * sum_bytes(v);
}

void mmt_wgmma_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                      struct mmt_launches *out)
{
    const bool pack_a = packs_a(v, p->type, p->trans_a);
    const bool pack_b = packs_b(v, p->type, p->trans_b);
    const enum mmt_packed how = in_slices(p->type) ? MMT_PACKED_SLICES : MMT_PACKED_DEEP;
    struct mmt_launch *product;
    size_t at[2] = { 0 };

    *out = (struct mmt_launches){ 0 };
    mmt_gemm_pack(p, pack_a, pack_b, how, out, at);
    product = &out->launch[out->count];
    add_product(v, p, caps, out);
    mmt_gemm_use_packed(product->box, p, pack_a, pack_b, how, at);
    if (v[SPLIT_K] > 1 || v[TILE_SCHEDULER] == STREAM_K)
        add_parts(v, p, caps, out);
}
