/* dots.cl as its host sees it: the knobs in the order in which that file names them. */
#include <math.h>

#include "templates/gemm.h"

enum { THREAD_TILE_M, THREAD_TILE_N, VECTOR, NUM_KNOBS };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [THREAD_TILE_M] =
        MMT_KNOB("THREAD_TILE_M", "rows of C in a register tile", 1, 2, 3, 4),
    [THREAD_TILE_N] =
        MMT_KNOB("THREAD_TILE_N", "columns of C in a register tile", 1, 2, 3, 4),
    [VECTOR] = MMT_KNOB("VECTOR", "elements in a vector", 2, 4, 8, 16),
};

/* For each number of elements that a vector may have. */
// clang-format off
static const int seeds[][MMT_MAX_KNOBS] = {
    { 4, 4, 16 }, { 2, 4, 16 }, { 1, 4, 16 },
    { 4, 2, 8 },  { 3, 3, 8 },  { 2, 4, 8 },  { 1, 4, 8 },
    { 4, 2, 4 },  { 3, 3, 4 },  { 2, 4, 4 },  { 1, 4, 4 },
    { 4, 2, 2 },  { 1, 4, 2 },
};
// clang-format on

static const enum mmt_arg args[] = {
    MMT_ARG_M, MMT_ARG_N, MMT_ARG_K, MMT_ARG_ALPHA, MMT_ARG_BETA, MMT_ARG_SCALARS,
    MMT_ARG_A, MMT_ARG_B, MMT_ARG_C, MMT_ARG_BIAS,  MMT_ARG_TILE, MMT_ARG_END,
};

/* Columns of C for a work-item: whole register tiles, four work-items a core. */
static int64_t columns(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    enum { EACH = 4 };
    const int64_t tiles = mmt_gemm_pieces(p->n, v[THREAD_TILE_N]);
    return mmt_gemm_pieces(tiles, EACH * (caps->sms ? caps->sms : 1)) * v[THREAD_TILE_N];
}

static const char *dots_check_device(const int *v, const struct mmt_variant *variant,
                                     const struct mmt_caps *caps)
{
    if (variant->trans_a || !variant->trans_b)
        return "rows of A and of B must lie along k: it is for nt";
    const char *why = mmt_gemm_check_vector(v[VECTOR], variant->type, caps);
    if (why)
        return why;
    if (caps->vector_bytes &&
        v[THREAD_TILE_M] * (v[THREAD_TILE_N] + 1) + v[THREAD_TILE_N] >
            mmt_gemm_vector_registers(caps))
        return "sums and operands of a register tile are more than the device has vector "
               "registers";
    return NULL;
}

static struct mmt_tile dots_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[THREAD_TILE_M], v[THREAD_TILE_N], v[VECTOR], v[VECTOR] };
}

static void dots_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                        struct mmt_launches *out)
{
    const int64_t width = columns(v, p, caps);
    mmt_gemm_launch(1, 1, mmt_gemm_pieces(p->n, width), p->batch, out);
    out->launch[0].args = args;
    out->launch[0].tile[0] = v[THREAD_TILE_M];
    out->launch[0].tile[1] = (int) width;
}

/* Cycles of a core, as those of panel (docs/lab/law.md): an FMA of a vector, and one that
 * is loaded; more where it is converted, by vector instructions or number by number; for
 * a register tile, each of its elements, and a work-item. */
static double dots_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    static const double fma_cycles = 0.49, loaded = 1.1, widened = 1.2, converted = 3,
                        tile_cycles = 20, element_cycles = 10, item_cycles = 95;
    const unsigned by_vectors = 1 << MMT_F16 | 1 << MMT_BF16 | 1 << MMT_I8;
    const double tm = v[THREAD_TILE_M], tn = v[THREAD_TILE_N], cores = fmax(caps->sms, 1);
    const double width = (double) columns(v, p, caps);
    const double items = ceil((double) p->n / width) * (double) p->batch;
    const double tiles = (double) mmt_gemm_pieces(p->m, v[THREAD_TILE_M]) * width / tn;
    const double load = !mmt_type_in(p->type, MMT_CONVERTED_TYPES) ? loaded
                        : mmt_type_in(p->type, by_vectors)         ? loaded + widened
                                                           : converted * v[VECTOR];
    const double step = fmax(fma_cycles * tm * tn, load * (tm + tn));
    const double steps = ceil((double) p->k / v[VECTOR]);
    const double item =
        item_cycles + tiles * (tile_cycles + element_cycles * tm * tn + steps * step);
    return caps->kind == MMT_CPU ? ceil(items / cores) * item : 0;
}

const struct mmt_template mmt_template_dots = {
    .name = "dots",
    .what = "rows of A times rows of B along k, as they lie: for CPUs and few rows",
    .op = MMT_GEMM,
    .types = MMT_ALL_TYPES,
    .fused = true,
    .dialects = MMT_OPENCL_C,
    .preferred_on = MMT_CPU,
    .rates = { .slowed = 1, .launch = 11000 },
    .file = "dots.cl",
    .helpers = { "cpu_vectors.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = dots_check_device,
    .tile = dots_tile,
    .launch = dots_launch,
    .cycles = dots_cycles,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(seeds[0]),
};
