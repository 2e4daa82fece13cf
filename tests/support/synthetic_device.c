#include "tests/support/synthetic_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "generator/generator.h"
#include "costmodel/costmodel.h"

static void must(mmt_status status, const mmt_error *err)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

/* ---- chance that is the same everywhere ----------------------------------------------
 */

static uint64_t state = 1;

double synthetic_uniform(void)
{
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double) ((z ^ z >> 31) >> 11) / 9007199254740992.0; /* 2^53 */
}

double synthetic_normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += synthetic_uniform();
    return sum;
}

/* ---- a device that is made up ---------------------------------------------------------
 */

unsigned synthetic_sms = 132;

struct mmt_caps synthetic_gpu(void)
{
    return (struct mmt_caps){
        .dialect = MMT_CUDA_CXX,
        .kind = MMT_GPU,
        .f64 = true,
        .max_threads = 1024,
        .max_block = { 1024, 1024, 64 },
        .max_grid = { INT32_MAX, 65535, 65535 },
        .shared = 232448,
        .shared_per_sm = 233472,
        .registers = 65536,
        .registers_per_thread = 255,
        .registers_per_sm = 65536,
        .threads_per_sm = 2048,
        .blocks_per_sm = 32,
        .sms = synthetic_sms,
        .warp = 32,
    };
}

mmt_problem synthetic_shape(int64_t m, int64_t n, int64_t k)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, m, n, k), out;
    mmt_error err;
    must(mmt_problem_normalise(&problem, &out, &err), &err);
    return out;
}

static int64_t log_uniform(double most)
{
    return (int64_t) exp(synthetic_uniform() * log(most));
}

/* Half of the shapes in multiples of 8: those of programs, and those of chance. One side
 * after the other: arguments of one call would be drawn in the order of the compiler. */
mmt_problem synthetic_any_shape(void)
{
    int64_t by = synthetic_uniform() < 0.5 ? 8 : 1, side[3];
    for (int i = 0; i < 3; i++)
        side[i] = by * log_uniform(8192.0 / (double) by);
    return synthetic_shape(side[0], side[1], side[2]);
}

struct mmt_config synthetic_config(const char *text)
{
    struct mmt_config config = { 0 };
    mmt_error err;
    must(mmt_config_parse(text, &config, &err), &err);
    return config;
}

struct mmt_portfolio_kernel synthetic_kernel(int tile_m, int tile_n, int work,
                                             double gflops)
{
    char text[256];
    snprintf(text, sizeof text,
             "simt TILE_M=%d TILE_N=%d TILE_K=16 THREAD_TILE_M=%d THREAD_TILE_N=%d "
             "WARP_M=4 WARP_N=8 "
             "LANES=rows C_VECTOR=2 SHARED_LAYOUT=pad K_UNROLL=16 MIN_BLOCKS=1 SPLIT_K=0",
             tile_m, tile_n, work, work);
    const double step = 2.0 * tile_m * tile_n * 16 / (gflops * 1e9);
    return (struct mmt_portfolio_kernel){
        .family = MMT_F32,
        .config = synthetic_config(text),
        .right = synthetic_all_transposes(MMT_F32),
        .terms = { [SYNTHETIC_LAUNCH] = 4e-6,
                   [SYNTHETIC_STEP] = 0.8 * step,
                   [SYNTHETIC_WAVE_STEP] = 0.3 * step,
                   [SYNTHETIC_BLOCK] = 20 * step,
                   [SYNTHETIC_OUTPUT] = 0.02 * step / (work * work),
                   [SYNTHETIC_BYTE] = 1.0 / 3e12,
                   [SYNTHETIC_WORKSPACE] = 2.5e-13,
                   [SYNTHETIC_UNALIGNED] = 0.4 * step },
    };
}

uint64_t synthetic_all_transposes(mmt_type type)
{
    uint64_t kinds = 0;
    for (int transposes = 0; transposes < 4; transposes++) {
        mmt_problem kind = mmt_gemm_problem(type, 1, 1, 1);
        kind.trans_a = transposes / 2, kind.trans_b = transposes % 2;
        kinds |= mmt_kind_bit(&kind);
    }
    return kinds;
}

double synthetic_seconds(const struct mmt_portfolio_kernel *like,
                         const mmt_problem *problem, const struct mmt_caps *caps)
{
    struct mmt_bound bound;
    mmt_bind_known(&like->config, problem, caps, &bound);
    const struct mmt_view view = mmt_cost_view(&bound);
    return mmt_cost_base(like->terms, &view);
}

struct mmt_fit_sample synthetic_sample(const struct mmt_portfolio_kernel *like,
                                       const mmt_problem *problem, double noise)
{
    const struct mmt_caps caps = synthetic_gpu();
    const double seconds = synthetic_seconds(like, problem, &caps);
    return (struct mmt_fit_sample){ .problem = *problem,
                                    .config = like->config,
                                    .seconds = seconds * exp(noise * synthetic_normal()),
                                    .checked = true };
}

void synthetic_kernels(struct mmt_portfolio_kernel kernels[SYNTHETIC_KERNELS])
{
    static const int tiles[SYNTHETIC_KERNELS / 2][3] = {
        { 32, 32, 2 },   { 32, 64, 4 },  { 64, 32, 4 },   { 64, 64, 4 },
        { 64, 128, 4 },  { 128, 64, 8 }, { 128, 128, 8 }, { 128, 256, 8 },
        { 256, 128, 8 }, { 64, 64, 2 },  { 32, 128, 4 },  { 128, 128, 4 },
    };
    for (int i = 0; i < SYNTHETIC_KERNELS; i++) {
        const int *t = tiles[i / 2];
        double area = (double) t[0] * t[1], speed = 400 * area / (area + 4000);
        double gflops = speed * (0.85 + 0.3 * synthetic_uniform());
        mmt_error err;
        kernels[i] = synthetic_kernel(t[0], t[1], t[2], gflops);
        if (i % 2)
            must(mmt_config_set(&kernels[i].config, "FMA_ORDER", "rows", &err), &err);
    }
}

mmt_problem synthetic_kind(mmt_type type, int transposes)
{
    mmt_problem problem = mmt_gemm_problem(type, 500, 600, 700);
    mmt_error err;
    problem.trans_a = transposes / 2, problem.trans_b = transposes % 2;
    must(mmt_problem_normalise(&problem, &problem, &err), &err);
    return problem;
}

struct mmt_portfolio_kernel synthetic_any_type(const struct mmt_portfolio_kernel *like,
                                               int which)
{
    struct mmt_portfolio_kernel kernel = *like;
    kernel.config = synthetic_config(which ? "naive ORDER=columns" : "naive ORDER=rows");
    kernel.family = MMT_BF16;
    return kernel;
}
