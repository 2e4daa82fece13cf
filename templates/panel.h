/* panel.cl as its host sees it: the knobs in the order in which that file names them, and
 * what it derives from them. For panel.c, and panel_candidates.c. */
#ifndef MMT_TEMPLATES_PANEL_H
#define MMT_TEMPLATES_PANEL_H

#include "templates/gemm.h"

enum {
    THREAD_TILE_M,
    THREAD_TILE_N,
    VECTOR,
    PANELS_M,
    PANELS_N,
    BLOCK_K,
    K_UNROLL,
    PACK_A,
    PACK_B,
    NUM_KNOBS
};

/* As in panel.cl: steps of k, and panels, that a work-item packs. */
enum { PACK_K = 32, PACK_PANELS = 8 };

static inline int width(const int *v)
{
    return v[THREAD_TILE_N] * v[VECTOR];
}

static inline int64_t tiles(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(p->m, v[THREAD_TILE_M] * v[PANELS_M]) *
           mmt_gemm_pieces(p->n, width(v) * v[PANELS_N]);
}

/* Whether a register tile, a row of B and a factor of A have registers. */
static inline bool fits_registers(const int *v, const struct mmt_caps *caps)
{
    return (v[THREAD_TILE_M] + 1) * v[THREAD_TILE_N] + 1 <=
           mmt_gemm_vector_registers(caps);
}

/* Matrices that are packed of a batch: one where all share it. */
static inline int64_t matrices(const mmt_problem *p, int64_t stride)
{
    return stride == 0 ? 1 : p->batch;
}

/* ---- panel_candidates.c: mmt_template.cycles and .candidates --------------------- */

extern const struct mmt_template mmt_template_panel;

double mmt_panel_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps);
int mmt_panel_candidates(const mmt_problem *p, const struct mmt_caps *caps,
                         struct mmt_candidate *out, int most);

#endif
