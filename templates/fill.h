/* How many parts of k fill a device: what a launch chooses where SPLIT_K is 0, so that
 * one kernel serves shapes of few tiles and of many. The constants are those of recent
 * cards, within a factor of two; docs/cost-model.md says what they lose against the best.
 */
#ifndef MMT_TEMPLATES_FILL_H
#define MMT_TEMPLATES_FILL_H

#include <math.h>

#include "templates/gemm.h"

/* The blocks of a launch that is not cut yet; a step is what a block advances along k at
 * once. Times are in cycles. */
struct mmt_fill {
    int64_t blocks; /* of all matrices of the batch */
    int depth;      /* of a step, elements of k */
    double busy;    /* for which a step keeps a multiprocessor busy */
    double waits;   /* that a block alone takes for a step */
    double adding;  /* that the launch takes which adds parts up, beside their bytes */
    unsigned fit;   /* blocks that run on a multiprocessor at once */
};

/* How many blocks of so many threads fit on a multiprocessor; 1 if the device does not
 * say. */
static inline unsigned mmt_fill_fit(int threads, unsigned registers, size_t shared,
                                    const struct mmt_caps *caps)
{
    const size_t per_block[] = { 1, (size_t) threads, shared,
                                 registers * (size_t) threads };
    const size_t have[] = { caps->blocks_per_sm, caps->threads_per_sm,
                            caps->shared_per_sm, caps->registers_per_sm };
    size_t fit = 0;

    for (int i = 0; i < 4; i++)
        if (have[i] && per_block[i] && (!fit || have[i] / per_block[i] < fit))
            fit = have[i] / per_block[i];
    return fit > 0 ? (unsigned) fit : 1;
}

/* What multiplying takes where k is cut into so many parts, and adding up what the parts
 * leave, `sums` bytes each. */
static inline double mmt_fill_cycles(const struct mmt_fill *fill, int parts, int64_t k,
                                     double sums, double sms)
{
    static const double around = 1500, added_bytes = 24;
    const double steps = (double) mmt_gemm_pieces(mmt_gemm_pieces(k, fill->depth), parts);
    const double blocks = ceil((double) fill->blocks * parts / sms);
    const double rounds = ceil(blocks / fill->fit);

    return fmax(blocks * steps * fill->busy, rounds * steps * fill->waits) +
           rounds * around +
           (parts > 1 ? fill->adding + parts * sums / (sms * added_bytes) : 0);
}

/* The number of parts, none of them empty, that should take the least time; more of them
 * only if that should save a twenty-fifth. */
static inline int mmt_fill_parts(const struct mmt_fill *fill, const mmt_problem *p,
                                 const struct mmt_caps *caps)
{
    static const int choices[] = { MMT_GEMM_PARTS };
    static const double worth = 0.96;
    const int64_t steps = mmt_gemm_pieces(p->k, fill->depth);
    const double size = (double) mmt_type_size(p->type), sms = fmax(caps->sms, 1);
    const double sums =
        (double) p->m * (double) mmt_gemm_partial_ld(p) * (double) p->batch;
    double least = INFINITY;
    int best = 1;

    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const int parts = choices[i];
        if (parts > 1 && (parts > steps || parts * sums > MMT_GEMM_MOST_PARTIAL))
            break;
        const double cycles = mmt_fill_cycles(fill, parts, p->k, sums * size, sms);
        if (cycles < worth * least)
            least = cycles, best = parts;
    }
    return best;
}

#endif
