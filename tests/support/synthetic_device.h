/* A device that is made up: its times follow known base costs, with noise. Draws are the
 * same everywhere, as no two of them stand in one expression. */
#ifndef MMT_TESTS_SYNTHETIC_H
#define MMT_TESTS_SYNTHETIC_H

#include "tuner/model/fit.h"

/* From 0 to 1, and of mean 0 and variance 1. */
double synthetic_uniform(void);
double synthetic_normal(void);

/* Its multiprocessors; 0: it does not tell, and models rank instead of the law. */
extern unsigned synthetic_sms;
struct mmt_caps synthetic_gpu(void);

/* Products of f32, normalised. */
mmt_problem synthetic_shape(int64_t m, int64_t n, int64_t k);
mmt_problem synthetic_any_shape(void);

struct mmt_config synthetic_config(const char *text);

/* What a base cost's terms stand for, in the order that profiles have them in. */
enum {
    SYNTHETIC_ESTIMATE,
    SYNTHETIC_LAUNCH,
    SYNTHETIC_STEP,
    SYNTHETIC_WAVE_STEP,
    SYNTHETIC_BLOCK,
    SYNTHETIC_OUTPUT,
    SYNTHETIC_OUTPUT_STEP,
    SYNTHETIC_BYTE,
    SYNTHETIC_ROOT,
    SYNTHETIC_WORKSPACE,
    SYNTHETIC_UNALIGNED,
    SYNTHETIC_PADDED,
    SYNTHETIC_EDGE,
    SYNTHETIC_A,
    SYNTHETIC_B,
};

/* The kernel of a tile of that size at so many GFLOP/s on a multiprocessor. */
struct mmt_portfolio_kernel synthetic_kernel(int tile_m, int tile_n, int work,
                                             double gflops);

/* Kernels of twelve tiles, two of each, at speeds that are drawn. */
enum { SYNTHETIC_KERNELS = 24 };
void synthetic_kernels(struct mmt_portfolio_kernel kernels[SYNTHETIC_KERNELS]);

/* A problem of that type, transposed as the number's bits say: 2 A, 1 B. */
mmt_problem synthetic_kind(mmt_type type, int transposes);

/* A kernel of bf16's family that has all types, of which there are two. */
struct mmt_portfolio_kernel synthetic_any_type(const struct mmt_portfolio_kernel *like,
                                               int which);

/* mmt_kind_bit of each. */
uint64_t synthetic_all_transposes(mmt_type type);

/* What such a kernel takes for a problem that it serves. */
double synthetic_seconds(const struct mmt_portfolio_kernel *like,
                         const mmt_problem *problem, const struct mmt_caps *caps);

/* The same on the GPU that is made up, times exp(noise * synthetic_normal()). */
struct mmt_fit_sample synthetic_sample(const struct mmt_portfolio_kernel *like,
                                       const mmt_problem *problem, double noise);

#endif
