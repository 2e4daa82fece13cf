/* A device that is made up: its times follow the law of time, but for what the law does
 * not know. Draws are the same everywhere, as no two of them stand in one expression. */
#ifndef MMT_TESTS_SYNTHETIC_H
#define MMT_TESTS_SYNTHETIC_H

#include "tests/support/caps.h"
#include "tuner/model/fit.h"

/* From 0 to 1, and of mean 0 and variance 1. */
double synthetic_uniform(void);
double synthetic_normal(void);

/* A product of f32. */
mmt_problem synthetic_any_shape(void);

/* simt's kernel of a tile of that size. */
struct mmt_config synthetic_kernel(int tile_m, int tile_n, int work);

/* Kernels of twelve tiles, two of each. */
enum { SYNTHETIC_KERNELS = 24 };
void synthetic_kernels(struct mmt_config kernels[SYNTHETIC_KERNELS]);

/* A problem of that type, transposed as the number's bits say: 2 A, 1 B. */
mmt_problem synthetic_kind(mmt_type type, int transposes);

/* What a kernel takes for a problem on the GPU of gpu_caps: what the law of time
 * expects, but exp(more) times as long where a tile has more than 64 rows. */
double synthetic_seconds(const struct mmt_config *config, const mmt_problem *problem,
                         double more);

#endif
