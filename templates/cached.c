/* row_cached.cl and col_cached.cl as their hosts see them: one has the knobs of the
 * other, for rows in the place of columns. */
#include "templates/gemm.h"

enum { THREADS, CHUNK, NUM_KNOBS };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [THREADS] =
        MMT_KNOB("THREADS", "threads of a block, and elements of C that it computes", 64,
                 128, 256, 512, 1024),
    [CHUNK] = MMT_KNOB("CHUNK", "elements in shared memory at a time", 64, 128, 256, 512,
                       1024, 2048),
};

static const int seeds[][MMT_MAX_KNOBS] = {
    { 256, 256 }, { 64, 64 }, { 128, 512 }, { 512, 512 }, { 1024, 1024 },
};

static const char *check_device(const int *v, const struct mmt_variant *variant,
                                const struct mmt_caps *caps)
{
    return mmt_gemm_check_device(v[THREADS], 1, v[CHUNK] * mmt_type_size(variant->type),
                                 caps);
}

/* ---- a row of op(A), and THREADS elements of a row of C ------------------------------
 */

static int64_t row_blocks(const int *v, const mmt_problem *p)
{
    return p->m * mmt_gemm_pieces(p->n, v[THREADS]);
}

static const char *row_check_problem(const int *v, const mmt_problem *p)
{
    return mmt_gemm_check_problem(row_blocks(v, p));
}

static struct mmt_tile row_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ 1, v[THREADS], 1, v[CHUNK] };
}

static void row_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                       struct mmt_launches *out)
{
    mmt_gemm_launch(v[THREADS], 1, row_blocks(v, p), p->batch, out);
}

/* ---- a column of op(B), and THREADS elements of a column of C ------------------------
 */

static int64_t col_blocks(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[THREADS]) * p->n;
}

static const char *col_check_problem(const int *v, const mmt_problem *p)
{
    return mmt_gemm_check_problem(col_blocks(v, p));
}

static struct mmt_tile col_tile(const int *v, const mmt_problem *p)
{
    (void) p;
    return (struct mmt_tile){ v[THREADS], 1, 1, v[CHUNK] };
}

static void col_launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                       struct mmt_launches *out)
{
    mmt_gemm_launch(v[THREADS], 1, col_blocks(v, p), p->batch, out);
}

/* ---- both ----------------------------------------------------------------------------
 */

#define CACHED(side, sentence)                                                           \
    const struct mmt_template mmt_template_##side##_cached = {                           \
        .name = #side "_cached",                                                         \
        .what = sentence,                                                                \
        .op = MMT_GEMM,                                                                  \
        .types = MMT_PLAIN_TYPES,                                                        \
        .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,                                         \
        .preferred_on = MMT_GPU,                                                         \
        .last_resort = true,                                                             \
        .file = #side "_cached.cl",                                                      \
        .knobs = knobs,                                                                  \
        .num_knobs = NUM_KNOBS,                                                          \
        .check_device = check_device,                                                    \
        .check_problem = side##_check_problem,                                           \
        .tile = side##_tile,                                                             \
        .launch = side##_launch,                                                         \
        .seeds = seeds,                                                                  \
        .num_seeds = sizeof(seeds) / sizeof(*seeds),                                     \
    }
CACHED(row, "one row of op(A) in shared memory, multiplied by many columns of op(B)");
CACHED(col, "one column of op(B) in shared memory, multiplied by many rows of op(A)");
