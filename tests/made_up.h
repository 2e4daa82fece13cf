/* A device that is made up: its times follow known base costs, with noise. Draws are the
 * same everywhere, as no two of them stand in one expression. */
#ifndef MMT_TESTS_MADE_UP_H
#define MMT_TESTS_MADE_UP_H

#include "tuner/model/fit.h"

/* From 0 to 1, and of mean 0 and variance 1. */
double made_up_uniform(void);
double made_up_normal(void);

struct mmt_caps made_up_gpu(void);

/* Products of f32, normalised. */
mmt_problem made_up_shape(int64_t m, int64_t n, int64_t k);
mmt_problem made_up_any_shape(void);

struct mmt_config made_up_config(const char *text);

/* What a base cost's terms stand for, in the order that profiles have them in. */
enum {
    MADE_UP_ESTIMATE,
    MADE_UP_LAUNCH,
    MADE_UP_STEP,
    MADE_UP_WAVE_STEP,
    MADE_UP_BLOCK,
    MADE_UP_OUTPUT,
    MADE_UP_OUTPUT_STEP,
    MADE_UP_BYTE,
    MADE_UP_ROOT,
    MADE_UP_WORKSPACE,
    MADE_UP_UNALIGNED,
    MADE_UP_PADDED,
    MADE_UP_EDGE,
    MADE_UP_A,
    MADE_UP_B,
};

/* The kernel of a tile of that size at so many GFLOP/s on a multiprocessor. */
struct mmt_portfolio_kernel made_up_kernel(int tile_m, int tile_n, int work,
                                           double gflops);

/* Kernels of twelve tiles, two of each, at speeds that are drawn. */
enum { MADE_UP_KERNELS = 24 };
void made_up_kernels(struct mmt_portfolio_kernel kernels[MADE_UP_KERNELS]);

/* A problem of that type, transposed as the number's bits say: 2 A, 1 B. */
mmt_problem made_up_kind(mmt_type type, int transposes);

/* A kernel of bf16's family that has all types, of which there are two. */
struct mmt_portfolio_kernel made_up_any_type(const struct mmt_portfolio_kernel *like,
                                             int which);

/* mmt_kind_bit of each. */
uint64_t made_up_all_transposes(mmt_type type);

/* What such a kernel takes for a problem that it serves. */
double made_up_seconds(const struct mmt_portfolio_kernel *like,
                       const mmt_problem *problem, const struct mmt_caps *caps);

/* The same on the GPU that is made up, times exp(noise * made_up_normal()). */
struct mmt_fit_sample made_up_sample(const struct mmt_portfolio_kernel *like,
                                     const mmt_problem *problem, double noise);

#endif
