/* A device that is made up: its times follow a known law, with noise. Draws are the same
 * everywhere, as no two of them stand in one expression. */
#ifndef MMT_TESTS_MADE_UP_H
#define MMT_TESTS_MADE_UP_H

#include "tuner/fit.h"

/* From 0 to 1, and of mean 0 and variance 1. */
double made_up_uniform(void);
double made_up_normal(void);

struct mmt_caps made_up_gpu(void);

/* Products of f32, normalised. */
mmt_problem made_up_shape(int64_t m, int64_t n, int64_t k);
mmt_problem made_up_any_shape(void);

struct mmt_config made_up_config(const char *text);

/* The law of a tile of that size at so many GFLOP/s on a multiprocessor. */
struct mmt_kept made_up_kernel(int tile_m, int tile_n, int work, double gflops,
                               int resident);

/* What a kernel of that law takes, times exp(noise * made_up_normal()). */
struct mmt_fit_sample made_up_sample(const struct mmt_kept *law,
                                     const mmt_problem *problem, double noise);

#endif
