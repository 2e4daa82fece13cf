/* The knobs of mma.cl, in the order in which that file names them, for the types that
 * tensor cores take and for f32 in slices. */
#include "templates/gemm.h"

// clang-format off
enum {
    TILE_M, TILE_N, TILE_K_BYTES, WARPS_M, WARPS_N, STAGES, REGISTER_STAGES, PROMOTE, RASTER_GROUP, MIN_BLOCKS,
    SPLIT_K, NUM_KNOBS,
};
// clang-format on

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [TILE_M] = MMT_KNOB("TILE_M", "rows of C per block", 16, 32, 64, 96, 128, 192, 256),
    [TILE_N] =
        MMT_KNOB("TILE_N", "columns of C per block", 16, 32, 64, 96, 128, 192, 256),
    [TILE_K_BYTES] =
        MMT_KNOB("TILE_K_BYTES", "depth of a tile along k, in bytes", 32, 64, 128),
    [WARPS_M] = MMT_KNOB("WARPS_M", "warps down the tile", 1, 2, 4),
    [WARPS_N] = MMT_KNOB("WARPS_N", "warps across the tile", 1, 2, 4),
    [STAGES] =
        MMT_KNOB("STAGES", "tiles of each operand in shared memory", 2, 3, 4, 5, 6),
    [REGISTER_STAGES] =
        MMT_KNOB("REGISTER_STAGES", "steps whose operands are in registers", 1, 2),
    [PROMOTE] = MMT_KNOB("PROMOTE", "f8: stages summed before full precision; else 0", 0,
                         1, 2, 4, 8),
    [RASTER_GROUP] = MMT_KNOB(
        "RASTER_GROUP", "rows of tiles that neighbouring blocks share", 1, 4, 8, 16),
    [MIN_BLOCKS] = MMT_KNOB("MIN_BLOCKS", "least blocks on a multiprocessor", 1, 2, 3, 4),
    [SPLIT_K] =
        MMT_KNOB("SPLIT_K", "blocks that share a tile of C", 1, 2, 3, 4, 8, 16, 32, 64),
};

// clang-format off
/* A knob that a row leaves out is 0. */
static const int seeds[][MMT_MAX_KNOBS] = {
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 4, [STAGES] = 4,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 4, [STAGES] = 4,
      [REGISTER_STAGES] = 1, [PROMOTE] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 4, [STAGES] = 3,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 256, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 4, [STAGES] = 3,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K_BYTES] = 128, [WARPS_M] = 4, [WARPS_N] = 2, [STAGES] = 2,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 4, [STAGES] = 2,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 64, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 64, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 3,
      [REGISTER_STAGES] = 2, [PROMOTE] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 64, [TILE_N] = 128, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [SPLIT_K] = 1 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [SPLIT_K] = 1 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 3,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 3, [SPLIT_K] = 1 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 3,
      [REGISTER_STAGES] = 2, [PROMOTE] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 4, [STAGES] = 4,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 4 },
    { [TILE_M] = 128, [TILE_N] = 256, [TILE_K_BYTES] = 32, [WARPS_M] = 2, [WARPS_N] = 4, [STAGES] = 4,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 3,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [SPLIT_K] = 16 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 3,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [SPLIT_K] = 8 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 3,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 3, [SPLIT_K] = 8 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 3,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 2, [SPLIT_K] = 8 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K_BYTES] = 32, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 6,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 3, [SPLIT_K] = 8 },
    { [TILE_M] = 64, [TILE_N] = 32, [TILE_K_BYTES] = 128, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 2,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 3, [SPLIT_K] = 4 },
    { [TILE_M] = 32, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 1, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 16, [MIN_BLOCKS] = 2, [SPLIT_K] = 1 },
    { [TILE_M] = 16, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 1, [WARPS_N] = 2, [STAGES] = 5,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 2, [SPLIT_K] = 8 },
    { [TILE_M] = 16, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 1, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 2, [PROMOTE] = 2, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 2, [SPLIT_K] = 8 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 2,
      [REGISTER_STAGES] = 2, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 1, [STAGES] = 2,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K_BYTES] = 64, [WARPS_M] = 2, [WARPS_N] = 1, [STAGES] = 2,
      [REGISTER_STAGES] = 1, [PROMOTE] = 4, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
};

/* Those of f32, for few rows and for few columns. */
static const int bf16x3_seeds[][MMT_MAX_KNOBS] = {
    { [TILE_M] = 16, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 1, [WARPS_N] = 4, [STAGES] = 5,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 4, [SPLIT_K] = 1 },
    { [TILE_M] = 16, [TILE_N] = 128, [TILE_K_BYTES] = 128, [WARPS_M] = 1, [WARPS_N] = 4, [STAGES] = 4,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 3, [SPLIT_K] = 1 },
    { [TILE_M] = 16, [TILE_N] = 32, [TILE_K_BYTES] = 128, [WARPS_M] = 1, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 2, [SPLIT_K] = 1 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K_BYTES] = 128, [WARPS_M] = 1, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 3, [SPLIT_K] = 1 },
    { [TILE_M] = 32, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 1, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 4, [SPLIT_K] = 1 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 3,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 3, [SPLIT_K] = 1 },
    { [TILE_M] = 64, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 1, [WARPS_N] = 2, [STAGES] = 3,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 3, [SPLIT_K] = 1 },
    { [TILE_M] = 96, [TILE_N] = 64, [TILE_K_BYTES] = 128, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 2,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 1, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 96, [TILE_N] = 96, [TILE_K_BYTES] = 128, [WARPS_M] = 2, [WARPS_N] = 2, [STAGES] = 4,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 4, [MIN_BLOCKS] = 2, [SPLIT_K] = 1 },
    { [TILE_M] = 128, [TILE_N] = 128, [TILE_K_BYTES] = 128, [WARPS_M] = 2, [WARPS_N] = 4, [STAGES] = 3,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 4, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
    { [TILE_M] = 64, [TILE_N] = 16, [TILE_K_BYTES] = 128, [WARPS_M] = 4, [WARPS_N] = 1, [STAGES] = 3,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 16, [MIN_BLOCKS] = 3, [SPLIT_K] = 1 },
    { [TILE_M] = 64, [TILE_N] = 32, [TILE_K_BYTES] = 128, [WARPS_M] = 2, [WARPS_N] = 1, [STAGES] = 4,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 16, [MIN_BLOCKS] = 4, [SPLIT_K] = 1 },
    { [TILE_M] = 32, [TILE_N] = 32, [TILE_K_BYTES] = 64, [WARPS_M] = 1, [WARPS_N] = 1, [STAGES] = 2,
      [REGISTER_STAGES] = 1, [RASTER_GROUP] = 8, [MIN_BLOCKS] = 1, [SPLIT_K] = 1 },
};
// clang-format on

/* ---- what the kernel file derives too ---------------------------------------------- */

enum { CHUNK = 32, PAIR = 2 };

/* f32 is multiplied as bf16 slices. */
static bool in_slices(mmt_type type)
{
    return mmt_type_slices(type) > 1;
}

/* Of 32 bytes along k, for a step. */
static int fetches(mmt_type type)
{
    return in_slices(type) ? 2 : 1;
}

static int threads(const int *v)
{
    return 32 * v[WARPS_M] * v[WARPS_N];
}

static size_t shared_bytes(const int *v)
{
    return (size_t) (v[STAGES] * v[TILE_K_BYTES] * (v[TILE_M] + v[TILE_N]));
}

static bool is_turned(const struct mmt_variant *variant, bool deep)
{
    return mmt_type_size(variant->type) == 1 && !deep;
}

static int piece_bytes(const struct mmt_variant *variant)
{
    return variant->aligned ? 16 : 4;
}

/* Threads that copy a row of a tile, or 16 where they turn it. */
static int threads_beside(const int *v, const struct mmt_variant *variant, int tile,
                          bool deep)
{
    const int row = deep ? v[TILE_K_BYTES] : tile * (int) mmt_type_size(variant->type);
    return is_turned(variant, deep) ? tile : row / piece_bytes(variant);
}

/* Registers of a thread for what goes through them to shared memory. */
static int held(const int *v, const struct mmt_variant *variant, int tile, bool deep,
                const struct mmt_caps *caps)
{
    const bool whole = variant->aligned && !is_turned(variant, deep);
    if (caps->sm >= 80 && (mmt_type_size(variant->type) == 4 || whole))
        return 0;
    return tile * v[TILE_K_BYTES] / 4 / threads(v);
}

/* What a step of f32 takes besides: all slices of A, those of two blocks of B, the words
 * of one that are being taken apart, and the least of its partial sums, those of one
 * column of blocks. */
static int step_registers(const struct mmt_variant *variant, int blocks_m)
{
    return in_slices(variant->type) ? 3 * 4 * (blocks_m + 1) + 8 + 4 * blocks_m : 0;
}

/* 32-bit registers that a thread cannot do without: accumulators, operands, and what
 * addresses and a loop take besides. */
static unsigned registers(const int *v, const struct mmt_variant *variant,
                          const struct mmt_caps *caps)
{
    enum { BESIDES = 40 };
    const int blocks_m = v[TILE_M] / v[WARPS_M] / 16,
              blocks_n = v[TILE_N] / v[WARPS_N] / 8;
    const int fetched = v[REGISTER_STAGES] - in_slices(variant->type);
    const int operands =
        fetched * fetches(variant->type) * (4 * blocks_m + 2 * blocks_n) +
        step_registers(variant, blocks_m);
    const int accumulators = 4 * blocks_m * blocks_n * (v[PROMOTE] ? 2 : 1);
    return (unsigned) (accumulators + operands +
                       held(v, variant, v[TILE_M], !variant->trans_a, caps) +
                       held(v, variant, v[TILE_N], variant->trans_b, caps) + BESIDES);
}

/* ---- what cannot be ---------------------------------------------------------------- */

static const char *check_device(const struct mmt_variant *variant,
                                const struct mmt_caps *caps)
{
    const bool old = variant->type == MMT_F16 || variant->type == MMT_I8;

    if (caps->sm < 75)
        return "tensor cores as this template uses them need sm_75 or newer";
    if (caps->sm < 80 && !old)
        return "sm_75 multiplies f16 and i8 on its tensor cores; the others need newer "
               "ones";
    if (caps->sm < 89 && mmt_type_in(variant->type, MMT_F8_TYPES))
        return "8-bit floating-point numbers on tensor cores need sm_89 or newer";
    return NULL;
}

static const char *check_shape(const int *v, const struct mmt_variant *variant)
{
    const int beside_a = threads_beside(v, variant, v[TILE_M], !variant->trans_a);
    const int beside_b = threads_beside(v, variant, v[TILE_N], variant->trans_b);

    if (v[TILE_M] % (16 * v[WARPS_M]) || v[TILE_N] % (16 * v[WARPS_N]))
        return "TILE_M and TILE_N must be multiples of 16 * WARPS";
    if (!v[PROMOTE] == mmt_type_in(variant->type, MMT_F8_TYPES))
        return "PROMOTE is for accumulators of 8-bit floating-point numbers, and they "
               "need it";
    if (v[TILE_K_BYTES] % (CHUNK * fetches(variant->type) * v[REGISTER_STAGES]))
        return "TILE_K_BYTES must be a multiple of REGISTER_STAGES times 32, of f32 64";
    if (beside_a > threads(v) || beside_b > threads(v))
        return "a row of a tile in memory has more pieces than the block has threads";
    return NULL;
}

static const char *mma_check_device(const int *v, const struct mmt_variant *variant,
                                    const struct mmt_caps *caps)
{
    enum { RESERVED = 1024 }; /* bytes of shared memory, of every block */
    const size_t shared = shared_bytes(v);
    const char *why = check_device(variant, caps);
    if (!why)
        why = check_shape(v, variant);
    if (!why)
        why = mmt_gemm_check_device(threads(v), 1, shared, caps);
    if (!why)
        why =
            mmt_gemm_check_resident(v[MIN_BLOCKS], threads(v),
                                    registers(v, variant, caps), shared + RESERVED, caps);
    return why;
}

static int64_t tiles(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[TILE_M]) * mmt_gemm_pieces(p->n, v[TILE_N]);
}

static const char *mma_check_problem(const int *v, const mmt_problem *problem)
{
    const char *why = mmt_gemm_check_problem(tiles(v, problem));
    if (!why)
        why = mmt_gemm_check_slices(problem);
    return why ? why : mmt_gemm_check_split_problem(v[SPLIT_K], problem);
}

/* ---- launching --------------------------------------------------------------------- */

/* A thread adds the parts of two neighbours of C up. */
static void add_parts(const int *v, const mmt_problem *p, struct mmt_launches *out)
{
    enum { THREADS_ADD = 128 };
    static const enum mmt_arg args[] = {
        MMT_ARG_M, MMT_ARG_N,         MMT_ARG_ALPHA, MMT_ARG_BETA, MMT_ARG_SCALARS,
        MMT_ARG_C, MMT_ARG_WORKSPACE, MMT_ARG_BIAS,  MMT_ARG_END,
    };
    static const enum mmt_arg f32_args[] = {
        MMT_ARG_M,       MMT_ARG_N,         MMT_ARG_ALPHA, MMT_ARG_BETA,
        MMT_ARG_SCALARS, MMT_ARG_K,         MMT_ARG_A,     MMT_ARG_B,
        MMT_ARG_C,       MMT_ARG_WORKSPACE, MMT_ARG_BIAS,  MMT_ARG_END,
    };
    const int64_t accumulators = p->m * mmt_gemm_partial_ld(p);

    out->launch[out->count++] = (struct mmt_launch){
        .entry = "mmt_reduce_splits",
        .args = in_slices(p->type) ? f32_args : args,
        .grid = { (unsigned) mmt_gemm_pieces(accumulators, PAIR * THREADS_ADD), 1,
                  (unsigned) p->batch },
        .block = { THREADS_ADD, 1, 1 },
        .pdl_waits = true,
    };
    out->workspace = (size_t) (accumulators * p->batch * v[SPLIT_K]) *
                     mmt_type_size(mmt_type_scalar(p->type));
}

static struct mmt_tile mma_tile(const int *v, const mmt_problem *p)
{
    const int depth = v[TILE_K_BYTES] / (int) mmt_type_size(p->type);
    return (struct mmt_tile){ v[TILE_M], v[TILE_N], depth, depth };
}

static struct mmt_work mma_work(const int *v, mmt_type type)
{
    const int depth = v[TILE_K_BYTES] / (int) mmt_type_size(type);
    return (struct mmt_work){
        .m = v[TILE_M],
        .n = v[TILE_N],
        .depth = depth,
        .step = depth,
        .stages = v[STAGES],
        .splits = v[SPLIT_K],
    };
}

static void mma_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                       struct mmt_launches *out)
{
    mmt_gemm_launch(threads(v), 1, tiles(v, p), p->batch, out);
    out->launch[0].args = mmt_gemm_workspace_args;
    out->launch[0].grid[1] = (unsigned) v[SPLIT_K];
    out->launch[0].shared = shared_bytes(v);
    out->launch[0].pdl_waits = true;
    if (v[SPLIT_K] > 1)
        add_parts(v, p, out);
}

static struct mmt_alignment mma_alignment(const int *v, const mmt_problem *problem)
{
    return (struct mmt_alignment){ 16, 16,
                                   PAIR * (unsigned) mmt_type_size(problem->out) };
}

/* Where both sides of C are long, packing slices first costs little beside multiplying
 * them. */
static bool bf16x3_prefers(const mmt_problem *p, const struct mmt_caps *caps)
{
    (void) caps;
    enum { SHORT = 256 };
    return p->m <= SHORT || p->n <= SHORT;
}

/* Hopper's wgmma is the faster one, of which OpenCL knows nothing. */
static bool mma_prefers(const mmt_problem *p, const struct mmt_caps *caps)
{
    (void) p;
    return caps->dialect == MMT_OPENCL_C || caps->sm < 90 || caps->sm >= 100;
}

/* What both templates of mma.cl have. */
#define OF_MMA_CL                                                                        \
    .op = MMT_GEMM, .fused = true, .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,              \
    .preferred_on = MMT_GPU, .fma_per_cycle_per_sm = 512, .file = "mma.cl",              \
    .helpers = { "ptx.h", "transpose.h", "stage.h", "grid.h" }, .knobs = knobs,          \
    .num_knobs = NUM_KNOBS, .check_device = mma_check_device,                            \
    .check_problem = mma_check_problem, .tile = mma_tile, .work = mma_work,              \
    .launch = mma_launch, .alignment = mma_alignment

const struct mmt_template mmt_template_mma = {
    .name = "mma",
    .what =
        "16-bit, tf32 and 8-bit types on the tensor cores of NVIDIA's sm_75 and newer",
    .types = 1 << MMT_BF16 | 1 << MMT_F16 | 1 << MMT_TF32 | 1 << MMT_F8E4M3 |
             1 << MMT_F8E5M2 | 1 << MMT_I8,
    .prefers = mma_prefers,
    OF_MMA_CL,
    .rates = { .slowed = 0.96,
               .feeding = 0.53,
               .l2 = 48,
               .latency = 1200,
               .around = 350,
               .stored = 0.39,
               .launch = 5100,
               .launch_again = 1300,
               .unaligned = 8 },
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};

const struct mmt_template mmt_template_mma_bf16x3 = {
    .name = "mma_bf16x3",
    .what = "f32 as three bf16 slices on the tensor cores of NVIDIA's sm_80 and newer",
    .types = 1 << MMT_F32,
    .prefers = bf16x3_prefers,
    OF_MMA_CL,
    .rates = { .slowed = 1.22,
               .feeding = 0.33,
               .few_warps = 1.8,
               .l2 = 43,
               .latency = 1470,
               .around = 490,
               .stored = 0.54,
               .launch = 4260,
               .unaligned = 4.7 },
    .seeds = bf16x3_seeds,
    .num_seeds = sizeof(bf16x3_seeds) / sizeof(bf16x3_seeds[0]),
};
