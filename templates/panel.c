/* panel.cl as its host sees it. */
#include "templates/panel.h"

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [THREAD_TILE_M] = MMT_KNOB("THREAD_TILE_M", "rows of C in a register tile", 1, 2, 4,
                               6, 8, 10, 12, 14),
    [THREAD_TILE_N] =
        MMT_KNOB("THREAD_TILE_N", "vectors of C in a row of a register tile", 1, 2, 3, 4),
    [VECTOR] = MMT_KNOB("VECTOR", "elements in a vector", 2, 4, 8, 16),
    [PANELS_M] = MMT_KNOB_OF_LAUNCH("PANELS_M", "register tiles of a work-item along m",
                                    1, 2, 4, 8, 16, 32),
    [PANELS_N] = MMT_KNOB_OF_LAUNCH("PANELS_N", "register tiles of a work-item along n",
                                    1, 2, 4, 8),
    [BLOCK_K] =
        MMT_KNOB_OF_LAUNCH("BLOCK_K", "depth of one pass over a work-item's tiles", 128,
                           256, 512, 1024, 2048),
    [K_UNROLL] = MMT_KNOB("K_UNROLL", "steps of k unrolled", 1, 2, 4),
    [PACK_A] = MMT_KNOB("PACK_A", "copy A into panels first", 0, 1),
    [PACK_B] = MMT_KNOB("PACK_B", "copy B into panels first", 0, 1),
};

/* For each number of elements that a vector may have; the device's own are chosen by
 * arithmetic (panel_candidates.c). */
// clang-format off
#define SEED(tile_n, vector, pack_a)                                                     \
    { [THREAD_TILE_M] = 6, [THREAD_TILE_N] = tile_n, [VECTOR] = vector, [PANELS_M] = 8, [PANELS_N] = 4, \
      [BLOCK_K] = 256, [K_UNROLL] = 4, [PACK_A] = pack_a, [PACK_B] = 1 }
static const int seeds[][MMT_MAX_KNOBS] = {
    SEED(4, 16, 0), SEED(4, 16, 1), SEED(2, 8, 0), SEED(2, 8, 1), SEED(2, 4, 0), SEED(2, 4, 1), SEED(2, 2, 0), SEED(2, 2, 1),
};
#undef SEED
// clang-format on

static const enum mmt_arg pack_a_args[] = { MMT_ARG_M, MMT_ARG_N,         MMT_ARG_K,
                                            MMT_ARG_A, MMT_ARG_WORKSPACE, MMT_ARG_END };
static const enum mmt_arg pack_b_args[] = { MMT_ARG_M, MMT_ARG_N,         MMT_ARG_K,
                                            MMT_ARG_B, MMT_ARG_WORKSPACE, MMT_ARG_END };
static const enum mmt_arg gemm_args[] = {
    MMT_ARG_M,       MMT_ARG_N,    MMT_ARG_K,    MMT_ARG_ALPHA, MMT_ARG_BETA,
    MMT_ARG_SCALARS, MMT_ARG_A,    MMT_ARG_B,    MMT_ARG_C,     MMT_ARG_WORKSPACE,
    MMT_ARG_SECOND,  MMT_ARG_BIAS, MMT_ARG_TILE, MMT_ARG_END,
};

static const char *panel_check_device(const int *v, const struct mmt_variant *variant,
                                      const struct mmt_caps *caps)
{
    if (variant->trans_b && !v[PACK_B])
        return "a transposed B has no vectors along n: it must be packed";
    if (mmt_type_in(variant->type, MMT_CONVERTED_TYPES) && !v[PACK_B])
        return "elements of B are converted while they are packed: it must be";
    const char *why = mmt_gemm_check_vector(v[VECTOR], variant->type, caps);
    if (why)
        return why;
    if (caps->vector_bytes && !fits_registers(v, caps))
        return "a register tile, a row of B and a factor of A are more than the device "
               "has vector registers";
    return NULL;
}

static const char *panel_check_problem(const int *v, const mmt_problem *p)
{
    if (v[PACK_B] && !p->trans_b && p->m <= v[THREAD_TILE_M] &&
        !mmt_type_in(p->type, MMT_CONVERTED_TYPES))
        return "C is no higher than a register tile: B is read once, so that packing it "
               "gains nothing";
    if (!v[PACK_A] && p->trans_a && p->n > width(v) * v[PANELS_N])
        return "every tile along n would read the transposed A across its rows: it must "
               "be packed";
    return mmt_gemm_check_problem(tiles(v, p));
}

static void add(struct mmt_launches *out, const char *entry, const enum mmt_arg *args,
                int64_t x, int64_t y, int64_t batch)
{
    out->launch[out->count++] = (struct mmt_launch){
        .entry = entry,
        .args = args,
        .grid = { (unsigned) x, (unsigned) y, (unsigned) batch },
        .block = { 1, 1, 1 },
    };
}

/* Whether C has fewer bits than what is added up. */
static bool rounds_c(const mmt_problem *p)
{
    return mmt_type_size(p->out) < mmt_gemm_real_size(p->type);
}

static struct mmt_tile panel_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[THREAD_TILE_M] * v[PANELS_M], width(v) * v[PANELS_N],
                              PACK_K, v[BLOCK_K] };
}

static void panel_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                         struct mmt_launches *out)
{
    int64_t rows = mmt_gemm_pieces(p->m, v[THREAD_TILE_M]),
            cols = mmt_gemm_pieces(p->n, width(v));
    int64_t strips = p->k > 0 ? mmt_gemm_pieces(p->k, PACK_K) : 1;
    const size_t depth =
        (size_t) mmt_gemm_pieces(p->k, 16) * 16 * mmt_gemm_real_size(p->type);
    size_t b_at = 0;

    *out = (struct mmt_launches){ 0 };
    if (v[PACK_A]) {
        const int64_t count = matrices(p, p->stride_a);
        add(out, "pack_a", pack_a_args, mmt_gemm_pieces(rows, PACK_PANELS), strips,
            count);
        b_at = (size_t) (count * rows * v[THREAD_TILE_M]) * depth;
    }
    out->workspace = b_at;
    if (v[PACK_B]) {
        const int64_t count = matrices(p, p->stride_b);
        add(out, "pack_b", pack_b_args, mmt_gemm_pieces(cols, PACK_PANELS), strips,
            count);
        out->launch[out->count - 1].workspace_at = b_at;
        out->workspace += (size_t) (count * cols * width(v)) * depth;
    }
    add(out, "mmt_gemm", gemm_args, tiles(v, p), 1, p->batch);
    struct mmt_launch *multiplies = &out->launch[out->count - 1];
    multiplies->second_workspace_at = b_at;
    multiplies->tile[0] = v[THREAD_TILE_M] * v[PANELS_M];
    multiplies->tile[1] = width(v) * v[PANELS_N];
    multiplies->tile[2] = rounds_c(p) && p->k > v[BLOCK_K] ? (int) p->k : v[BLOCK_K];
}

const struct mmt_template mmt_template_panel = {
    .name = "panel",
    .what =
        "one core a work-item, explicit vectors, A and B packed into panels: for CPUs",
    .op = MMT_GEMM,
    .types = MMT_ALL_TYPES,
    .fused = true,
    .dialects = MMT_OPENCL_C,
    .preferred_on = MMT_CPU,
    .rates = { .slowed = 1, .launch = 11000 },
    .file = "panel.cl",
    .helpers = { "cpu_vectors.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = panel_check_device,
    .check_problem = panel_check_problem,
    .tile = panel_tile,
    .launch = panel_launch,
    .cycles = mmt_panel_cycles,
    .candidates = mmt_panel_candidates,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
