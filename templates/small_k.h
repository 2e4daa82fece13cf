/* small_k.cl as its host sees it: the knobs in the order in which that file names them,
 * and what it derives from them. For small_k.c, how it is launched, and
 * small_k_resolve.c, what cannot be and what is auto. */
#ifndef MMT_TEMPLATES_SMALL_K_H
#define MMT_TEMPLATES_SMALL_K_H

#include "templates/gemm.h"

enum { THREADS_M, THREADS_N, THREAD_TILE_M, THREAD_TILE_N, C_VECTOR, TILE_K, NUM_KNOBS };

/* Steps of k with which a product does little more than write C. */
enum { DEEPEST = 16 };

static inline int threads(const int *v)
{
    return v[THREADS_M] * v[THREADS_N];
}

static inline int tile_m(const int *v)
{
    return v[THREADS_M] * v[THREAD_TILE_M];
}

static inline int tile_n(const int *v)
{
    return v[THREADS_N] * v[THREAD_TILE_N];
}

static inline int accumulators(const int *v)
{
    return v[THREAD_TILE_M] * v[THREAD_TILE_N];
}

/* Stripes of A and B; a step of each is 4 elements apart from the next. */
static inline size_t shared_bytes(const int *v, size_t size)
{
    enum { APART = 4 };
    return size * (size_t) (v[TILE_K] * (tile_m(v) + tile_n(v) + 2 * APART));
}

/* ---- small_k_resolve.c ----------------------------------------------------------- */

const char *mmt_small_k_check_device(const int *v, const struct mmt_variant *variant,
                                     const struct mmt_caps *caps);

/* `knobs`: all of them, of which it takes the values of TILE_K. */
void mmt_small_k_resolve(int *v, const struct mmt_knob *knobs, const mmt_problem *p,
                         const struct mmt_caps *caps);

/* Cycles that it should take, the launch apart; 0 where nothing is known of the device.
 */
double mmt_small_k_cycles(const int *v, const mmt_problem *p,
                          const struct mmt_caps *caps);

#endif
