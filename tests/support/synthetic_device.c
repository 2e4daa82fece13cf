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
        .sms = 132,
        .warp = 32,
    };
}

struct mmt_caps synthetic_cpu(unsigned vector_bytes)
{
    return (struct mmt_caps){
        .dialect = MMT_OPENCL_C,
        .kind = MMT_CPU,
        .f64 = true,
        .max_threads = 4096,
        .max_block = { 4096, 4096, 4096 },
        .max_grid = { INT32_MAX, INT32_MAX, INT32_MAX },
        .shared = 1 << 20,
        .sms = 2,
        .warp = 1,
        .vector_bytes = vector_bytes,
        .cache = 32 << 20,
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

struct mmt_config synthetic_kernel(int tile_m, int tile_n, int work)
{
    char text[256];
    snprintf(text, sizeof text,
             "simt TILE_M=%d TILE_N=%d TILE_K=16 THREAD_TILE_M=%d THREAD_TILE_N=%d "
             "WARP_M=4 WARP_N=8 "
             "LANES=rows C_VECTOR=2 SHARED_LAYOUT=pad K_UNROLL=16 MIN_BLOCKS=1 SPLIT_K=0",
             tile_m, tile_n, work, work);
    return synthetic_config(text);
}

double synthetic_seconds(const struct mmt_config *config, const mmt_problem *problem,
                         double more)
{
    const struct mmt_caps caps = synthetic_gpu();
    const struct mmt_tile tile = config->template->tile(config->values, problem);
    return mmt_cost_seconds(mmt_cost_estimate(config, problem, &caps), &caps) *
           exp(tile.m > 64 ? more : 0);
}

void synthetic_kernels(struct mmt_config kernels[SYNTHETIC_KERNELS])
{
    static const int tiles[SYNTHETIC_KERNELS / 2][3] = {
        { 32, 32, 2 },   { 32, 64, 4 },  { 64, 32, 4 },   { 64, 64, 4 },
        { 64, 128, 4 },  { 128, 64, 8 }, { 128, 128, 8 }, { 128, 256, 8 },
        { 256, 128, 8 }, { 64, 64, 2 },  { 32, 128, 4 },  { 128, 128, 4 },
    };
    for (int i = 0; i < SYNTHETIC_KERNELS; i++) {
        const int *t = tiles[i / 2];
        mmt_error err;
        kernels[i] = synthetic_kernel(t[0], t[1], t[2]);
        if (i % 2)
            must(mmt_config_set(&kernels[i], "FMA_ORDER", "rows", &err), &err);
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
