/* wgmma.cu as its host sees it: the knobs in the order in which that file names them, and
 * what it derives from them. For wgmma.c, what cannot be, and wgmma_launch.c. */
#ifndef MMT_TEMPLATES_WGMMA_H
#define MMT_TEMPLATES_WGMMA_H

#include "templates/gemm.h"

// clang-format off
enum {
    SWAP, PACK_A, PACK_B, TILE_M, TILE_N, TILE_K_BYTES, STAGES, CONSUMERS, SCHEDULE, CLUSTER, CLUSTER_K, SPLIT_K,
    TILE_SCHEDULER, RASTER_ORDER, RASTER_GROUP, WGMMA_PENDING, PROMOTE, EPILOGUE_STAGES, PROMOTION,
    TRANSPOSE_IN_REGISTERS, OVERLAP_EPILOGUE, NUM_KNOBS,
};
// clang-format on

enum { COOPERATIVE, PINGPONG };
enum { PERSISTENT, BALANCED, DATA_PARALLEL, STREAM_K };
enum { ROWS, COLUMNS, HILBERT };
enum {
    ALONE = 11,
    BELOW = 21,
    BESIDE = 12,
    FOUR_BELOW = 41,
    FOUR_BESIDE = 14,
    SQUARE = 22,
    HIGH = 42,
    WIDE = 24
};

/* ---- what the kernel file derives too -------------------------------------------- */

enum { LINE = 128, BLOCK_M = 64, WARPGROUP = 128 };

/* Lines of 128 bytes that a stage has along k. */
static inline int lines_deep(const int *v)
{
    return v[TILE_K_BYTES] / LINE;
}

static inline int consumers_of_a_tile(const int *v)
{
    return v[SCHEDULE] == PINGPONG ? 1 : v[CONSUMERS];
}

static inline int threads(const int *v)
{
    return WARPGROUP * v[CONSUMERS] + (v[CONSUMERS] == 1 ? 32 : WARPGROUP);
}

static inline int blocks_of_cluster(const int *v)
{
    return v[CLUSTER] / 10 * (v[CLUSTER] % 10) * v[CLUSTER_K];
}

static inline int cluster_m(const int *v)
{
    return v[CLUSTER] / 10;
}

static inline int cluster_n(const int *v)
{
    return v[CLUSTER] % 10;
}

/* Instructions below each other in a consumer's part of a tile. */
static inline int blocks_of_consumer(const int *v)
{
    return v[TILE_M] / BLOCK_M / consumers_of_a_tile(v);
}

/* Sums of a thread. */
static inline int accumulators(const int *v)
{
    return blocks_of_consumer(v) * v[TILE_N] / 2;
}

/* Sums of which a thread has registers, beside all else. */
static inline int most_sums(const int *v)
{
    return v[CONSUMERS] == 3 ? 128 : 192;
}

/* f32 and i32 are taken apart into slices, which tensor cores take. */
static inline bool in_slices(mmt_type type)
{
    return mmt_type_slices(type) > 1;
}

/* Bytes of an element in a tile. */
static inline int element_bytes(mmt_type type)
{
    return (int) mmt_type_size(mmt_type_slice(type));
}

/* Tiles that a stage has of an operand: one of each slice of f32, and of i32 where a
 * thread has room for as many accumulators. Else k is gone through once for each product
 * of slices. */
static inline int tiles_of_operand(const int *v, mmt_type type)
{
    bool room =
        type != MMT_I32 || mmt_type_slices(type) * accumulators(v) <= most_sums(v);
    return room ? mmt_type_slices(type) : 1;
}

static inline int passes(const int *v, mmt_type type)
{
    return tiles_of_operand(v, type) == mmt_type_slices(type) ? 1 : 10;
}

/* Elements of a line of a tile. */
static inline int atom(mmt_type type)
{
    return LINE / element_bytes(type);
}

/* Whether an operand is packed first: those of any alignment are, and those that are not
 * stored along k where elements must run along it, being not of 2 bytes; but the
 * instruction's left one may be transposed on its way to registers. */
static inline bool packs_a(const int *v, mmt_type type, bool trans_a)
{
    bool transposed = v[TRANSPOSE_IN_REGISTERS] && !v[SWAP];
    return v[PACK_A] || (element_bytes(type) != 2 && trans_a && !transposed);
}

static inline bool packs_b(const int *v, mmt_type type, bool trans_b)
{
    bool transposed = v[TRANSPOSE_IN_REGISTERS] && v[SWAP];
    return v[PACK_B] || (element_bytes(type) != 2 && !trans_b && !transposed);
}

/* Whether the operands of the instruction run along k. */
static inline bool left_deep(const int *v, mmt_type type, bool trans_a, bool trans_b)
{
    return v[SWAP] ? trans_b || packs_b(v, type, trans_b)
                   : !trans_a || packs_a(v, type, trans_a);
}

static inline bool right_deep(const int *v, mmt_type type, bool trans_a, bool trans_b)
{
    return v[SWAP] ? !trans_a || packs_a(v, type, trans_a)
                   : trans_b || packs_b(v, type, trans_b);
}

/* Bytes of an operand's tiles in a stage. */
static inline int tile_bytes(const int *v, int tile, mmt_type type, bool deep)
{
    int chunks = (tile + atom(type) - 1) / atom(type);
    int lines = deep ? lines_deep(v) * tile : chunks * atom(type) * lines_deep(v);
    return tiles_of_operand(v, type) * lines * LINE;
}

/* Columns of a tile in a piece of C on its way out, of 64 rows. */
static inline int columns_of_piece(const int *v, mmt_type out)
{
    int bytes = LINE;
    while (v[TILE_N] * (int) mmt_type_size(out) % bytes)
        bytes /= 2;
    return bytes / (int) mmt_type_size(out);
}

/* Bytes of shared memory through which accumulators go to unaligned rows of C,
 * if the ring leaves so much; a warp has a patch of its own. */
static inline int bytes_of_patches(const int *v, int ring)
{
    const int bytes = WARPGROUP / 32 * v[CONSUMERS] * 8 * (32 + 8) * 4;
    const bool by_rows =
        (v[PACK_A] || v[PACK_B]) && !v[TRANSPOSE_IN_REGISTERS] && v[CLUSTER_K] == 1;
    return by_rows && ring + bytes <= 227 * 1024 ? bytes : 0;
}

static inline size_t shared_bytes(const int *v, mmt_type type, mmt_type out, bool trans_a,
                                  bool trans_b)
{
    int stage = tile_bytes(v, v[TILE_M], type, left_deep(v, type, trans_a, trans_b)) +
                tile_bytes(v, v[TILE_N], type, right_deep(v, type, trans_a, trans_b));
    int piece = BLOCK_M * columns_of_piece(v, out) * (int) mmt_type_size(out);
    int barriers = 2 * (int) sizeof(uint64_t), job = 4 * (int) sizeof(int);
    int ring = v[STAGES] * (stage + barriers + job);
    return (size_t) (ring + v[CONSUMERS] * v[EPILOGUE_STAGES] * piece +
                     bytes_of_patches(v, ring));
}

/* Whether an instruction's accumulators are promoted while the next one runs. */
static inline bool has_two_parts(const int *v)
{
    return v[PROMOTE] == 1 && v[WGMMA_PENDING];
}

/* Of these, accumulators that are promoted: one or two instructions', with
 * TRANSPOSE_IN_REGISTERS all. */
static inline int parts(const int *v)
{
    if (!v[PROMOTE])
        return 0;
    return v[TRANSPOSE_IN_REGISTERS] ? accumulators(v)
                                     : v[TILE_N] / 2 << has_two_parts(v);
}

/* Sums, and parts of them; operands that are transposed, as many words as a stage has;
 * and C, two elements in each, that is stored late. */
static inline int registers_of_sums(const int *v)
{
    const int steps = 4 * lines_deep(v);
    return accumulators(v) + parts(v) +
           (v[TRANSPOSE_IN_REGISTERS] ? 4 * steps * blocks_of_consumer(v) : 0) +
           (v[OVERLAP_EPILOGUE] ? accumulators(v) / 2 : 0);
}

static inline bool shares_tiles(const int *v)
{
    return v[CLUSTER_K] > 1 || v[SPLIT_K] > 1;
}

double mmt_wgmma_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps);
int mmt_wgmma_candidates(const mmt_problem *p, const struct mmt_caps *caps,
                         struct mmt_candidate *out, int most);
const char *mmt_wgmma_check_problem(const int *v, const mmt_problem *problem);
void mmt_wgmma_resolve(int *v, const struct mmt_knob *knobs, const mmt_problem *problem,
                       const struct mmt_caps *caps);
void mmt_wgmma_launch(const int *v, const mmt_problem *problem,
                      const struct mmt_caps *caps, struct mmt_launches *out);

#endif
