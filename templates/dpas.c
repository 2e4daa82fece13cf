/* The knobs of dpas.cl, in this order. */
#include "templates/gemm.h"

enum { TILE_M, TILE_N, SUBGROUPS_M, SUBGROUPS_N, SUBGROUP, NUM_KNOBS };

enum {
    ROWS = 8
}; /* of a block of the instruction; its columns are a subgroup's threads */

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [TILE_M] = MMT_KNOB("TILE_M", "rows of C per block", 8, 16, 32, 64, 128, 256),
    [TILE_N] = MMT_KNOB("TILE_N", "columns of C per block", 8, 16, 32, 64, 128, 256),
    [SUBGROUPS_M] = MMT_KNOB("SUBGROUPS_M", "subgroups down the tile", 1, 2, 4, 8),
    [SUBGROUPS_N] = MMT_KNOB("SUBGROUPS_N", "subgroups across the tile", 1, 2, 4, 8),
    [SUBGROUP] = MMT_KNOB("SUBGROUP", "threads of a subgroup, as the device has", 8, 16),
};

static const int seeds[][MMT_MAX_KNOBS] = {
    { 128, 128, 4, 4, 16 }, { 128, 64, 4, 4, 8 }, { 64, 64, 2, 2, 16 },
    { 64, 32, 2, 2, 8 },    { 32, 32, 2, 2, 16 }, { 32, 32, 2, 2, 8 },
    { 8, 64, 1, 4, 16 },    { 8, 64, 1, 4, 8 },   { 8, 16, 1, 1, 16 },
    { 8, 8, 1, 1, 8 },
};

static int threads(const int *v)
{
    return v[SUBGROUPS_M] * v[SUBGROUPS_N] * v[SUBGROUP];
}

static const char *dpas_check_device(const int *v, const struct mmt_variant *variant,
                                     const struct mmt_caps *caps)
{
    enum { MOST = 8 }; /* blocks of a subgroup whose sums and fragments fit registers */
    const int rows = ROWS * v[SUBGROUPS_M], columns = v[SUBGROUP] * v[SUBGROUPS_N];

    if (!caps->dpas)
        return "the device has no matrix units that OpenCL reaches "
               "(cl_intel_subgroup_matrix_multiply_accumulate)";
    if (!(caps->dpas & (unsigned) v[SUBGROUP]))
        return "SUBGROUP must be the device's smallest, which its matrix units take";
    if (v[TILE_M] % rows || v[TILE_N] % columns)
        return "a subgroup must have whole blocks of 8 rows and SUBGROUP columns";
    if (v[TILE_M] / rows * (v[TILE_N] / columns) > MOST)
        return "a subgroup may have at most 8 blocks, or its sums leave registers";
    return mmt_gemm_check_device(threads(v), 1, 0, caps);
}

static int64_t tiles(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[TILE_M]) * mmt_gemm_pieces(p->n, v[TILE_N]);
}

static const char *dpas_check_problem(const int *v, const mmt_problem *p)
{
    return mmt_gemm_check_problem(tiles(v, p));
}

/* Of k that one instruction takes: 32 bytes. */
static int depth(mmt_type type)
{
    return 32 / (int) mmt_type_size(type);
}

static struct mmt_tile dpas_tile(const int *v, const mmt_problem *p)
{
    return (struct mmt_tile){ v[TILE_M], v[TILE_N], depth(p->type), depth(p->type) };
}

static struct mmt_work dpas_work(const int *v, mmt_type type)
{
    return (struct mmt_work){ .m = v[TILE_M],
                              .n = v[TILE_N],
                              .depth = depth(type),
                              .step = depth(type),
                              .splits = 1 };
}

static void dpas_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                        struct mmt_launches *out)
{
    mmt_gemm_launch(threads(v), 1, tiles(v, p), p->batch, out);
    out->launch[0].args = mmt_gemm_fused_args;
}

static struct mmt_alignment dpas_alignment(const int *v, const mmt_problem *p)
{
    return (struct mmt_alignment){ 4, 4, (unsigned) mmt_type_size(p->out) };
}

const struct mmt_template mmt_template_dpas = {
    .name = "dpas",
    .what = "Intel's matrix units through OpenCL, by instructions of a subgroup",
    .op = MMT_GEMM,
    .types = MMT_TYPE_BIT(MMT_BF16) | MMT_TYPE_BIT(MMT_F16) | MMT_TYPE_BIT(MMT_I8),
    .fused = true,
    .dialects = MMT_OPENCL_C,
    .preferred_on = MMT_GPU,
    .fma_per_cycle_per_sm = 32,
    .file = "dpas.cl",
    .helpers = { "dpas.h" },
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .check_device = dpas_check_device,
    .check_problem = dpas_check_problem,
    .tile = dpas_tile,
    .work = dpas_work,
    .launch = dpas_launch,
    .alignment = dpas_alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
