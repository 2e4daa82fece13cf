#include "tests/support/synthetic_device.h"

#include <math.h>
#include <stdio.h>

#include "costmodel/costmodel.h"
#include "tests/support/made.h"

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
    return product(side[0], side[1], side[2]);
}

struct mmt_config synthetic_kernel(int tile_m, int tile_n, int work)
{
    char text[256];
    snprintf(text, sizeof text,
             "simt TILE_M=%d TILE_N=%d TILE_K=16 THREAD_TILE_M=%d THREAD_TILE_N=%d "
             "WARP_M=4 WARP_N=8 "
             "LANES=rows C_VECTOR=2 SHARED_LAYOUT=pad K_UNROLL=16 MIN_BLOCKS=1 SPLIT_K=0",
             tile_m, tile_n, work, work);
    return config_of(text);
}

double synthetic_seconds(const struct mmt_config *config, const mmt_problem *problem,
                         double more)
{
    const struct mmt_caps caps = gpu_caps();
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
        kernels[i] = synthetic_kernel(t[0], t[1], t[2]);
        if (i % 2 &&
            !CHECK_OK(mmt_config_set(&kernels[i], "FMA_ORDER", "rows", &err), err))
            exit(1);
    }
}

mmt_problem synthetic_kind(mmt_type type, int transposes)
{
    mmt_problem problem = mmt_gemm_problem(type, 500, 600, 700);
    problem.trans_a = transposes / 2, problem.trans_b = transposes % 2;
    return normal_of(problem);
}
