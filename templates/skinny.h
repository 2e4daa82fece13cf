/* skinny.cl as its host sees it: the knobs in the order in which that file names them,
 * and what it derives from them. For skinny.c, how it is launched, and skinny_resolve.c,
 * what cannot be and what is auto. */
#ifndef MMT_TEMPLATES_SKINNY_H
#define MMT_TEMPLATES_SKINNY_H

#include "templates/gemm.h"

enum {
    SHORT,
    THREAD_TILE_SHORT,
    THREAD_TILE_LONG,
    THREAD_TILE_K,
    THREADS_LONG,
    THREADS_K,
    VECTOR,
    TILE_K,
    SPLIT_K,
    MIN_BLOCKS,
    SUBGROUP,
    NUM_KNOBS
};

enum { ROWS, COLUMNS, EITHER };
enum { LONGEST_SHORT = 16 };

/* ---- what the kernel file derives too -------------------------------------------- */

static inline bool rows_are_short(const int *v, const mmt_problem *p)
{
    return v[SHORT] == EITHER ? p->m <= p->n : v[SHORT] == ROWS;
}

/* Whether A and B lie alike, both along k or both across it. */
static inline bool lie_alike(bool trans_a, bool trans_b)
{
    return trans_a != trans_b;
}

/* Whether the long operand lies along k. */
static inline bool along_k(const int *v, bool trans_a, bool trans_b)
{
    return v[SHORT] == COLUMNS ? !trans_a : trans_b;
}

static inline int threads(const int *v)
{
    return v[THREADS_LONG] * v[THREADS_K];
}

static inline int accumulators(const int *v)
{
    return v[THREAD_TILE_LONG] * v[THREAD_TILE_SHORT];
}

static inline int piece(const int *v)
{
    return v[THREAD_TILE_LONG] * v[THREAD_TILE_K];
}

/* Elements of shared memory: for the short operand, and later for exchanged accumulators.
 */
static inline int pool(const int *v)
{
    const int staged = v[THREAD_TILE_SHORT] * (v[TILE_K] + 4);
    const int exchanged = v[THREADS_K] > 1 ? (accumulators(v) + 1) / 2 * threads(v) : 0;
    return staged > exchanged ? staged : exchanged;
}

/* 32-bit registers that a thread cannot do without. */
static inline unsigned registers(const int *v, size_t size)
{
    enum { BESIDES = 24 };
    return (unsigned) (size / 4) * (unsigned) (accumulators(v) + piece(v) + v[VECTOR]) +
           BESIDES;
}

static inline int64_t short_side(const int *v, const mmt_problem *p)
{
    return rows_are_short(v, p) ? p->m : p->n;
}

static inline int64_t long_side(const int *v, const mmt_problem *p)
{
    return rows_are_short(v, p) ? p->n : p->m;
}

/* Pieces that cover `size` elements. All of these knobs' values are powers of two, and a
 * choice counts many blocks: no division. */
static inline int64_t covering(int64_t size, int piece)
{
    return (size + piece - 1) >> __builtin_ctz((unsigned) piece);
}

/* Steps along k. */
static inline int64_t steps_of(const int *v, int64_t k)
{
    return covering(k, v[THREADS_K] * v[THREAD_TILE_K]);
}

/* Tiles that cover C's long side, and those that cover its short side. */
static inline int64_t tiles_along(const int *v, const mmt_problem *p)
{
    return covering(long_side(v, p), v[THREADS_LONG] * v[THREAD_TILE_LONG]);
}

static inline int64_t tiles_across(const int *v, const mmt_problem *p)
{
    return covering(short_side(v, p), v[THREAD_TILE_SHORT]);
}

static inline int64_t tiles(const int *v, const mmt_problem *p)
{
    return tiles_along(v, p) * tiles_across(v, p);
}

/* Splits of k that are not empty. */
static inline int64_t filled_splits(const int *v, int64_t k)
{
    const int64_t steps = steps_of(v, k);
    const int64_t of_a_split = mmt_gemm_pieces(steps, v[SPLIT_K]);
    return of_a_split > 0 ? mmt_gemm_pieces(steps, (int) of_a_split) : 1;
}

/* ---- skinny_resolve.c ------------------------------------------------------------ */

const char *mmt_skinny_check_device(const int *v, const struct mmt_variant *variant,
                                    const struct mmt_caps *caps);

/* `knobs`: all of them, of which it takes the values of those that are left. */
void mmt_skinny_resolve(int *v, const struct mmt_knob *knobs, const mmt_problem *p,
                        const struct mmt_caps *caps);

/* Cycles that it should take, the first launch apart; 0 where nothing is known of the
 * device. */
double mmt_skinny_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps);

#endif
