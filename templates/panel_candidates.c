/* Which configurations of panel suit a problem, found by arithmetic: register tiles that
 * fit the registers, operands packed or not, and as many tiles for a work-item as leave
 * no core idle. */
#include <math.h>
#include <string.h>

#include "templates/panel.h"

/* ---- what one takes -------------------------------------------------------------- */

/* Cycles of a core, fitted to times of two cores with AVX2 through PoCL
 * (docs/lab/law.md). A vector's FMA; a factor of A that is spread over a vector, and a
 * vector of B that is loaded; and how long a sum waits for the one before it. */
static const double fma_cycles = 0.49, spread = 0.6, loaded = 0.82, chained = 3.3;
/* A factor of A that is converted each time that it is spread; a guess. */
static const double converted = 3;
/* For a register tile and a vector of it each time k is gone through; for an element of
 * columns that fill no vector; for an element of a tile that B's last columns cut, each
 * step of k; for a work-item. */
static const double tile_cycles = 8.5, vector_stored = 9.3, element_stored = 4.4,
                    cut = 0.4, item_cycles = 95;
/* For a cache line of a work-item's A and B that lie across k and are not packed, where
 * the next one is that many bytes further. */
static const double a_line = 5.1, b_line = 2.6, far_apart = 2048;
/* For four bytes of a panel, as they lie, across, and across pages; and for the launch
 * that packs. */
static const double a_packed = 2.4, a_turned = 1.4, b_packed = 1.05, b_turned = 2.05,
                    b_paged = 5.5, launch_again = 8300;

static double most_of(double a, double b)
{
    return a > b ? a : b;
}

/* One step of k of a register tile. */
static double step_of(const int *v, mmt_type type)
{
    const double vectors = v[THREAD_TILE_M] * v[THREAD_TILE_N];
    const double factor =
        spread + (mmt_type_in(type, MMT_CONVERTED_TYPES) && !v[PACK_A] ? converted : 0);
    const double operands = factor * v[THREAD_TILE_M] + loaded * v[THREAD_TILE_N];
    return most_of(most_of(fma_cycles * vectors, operands), chained);
}

/* Lines of so many elements that a step of k has of an operand that lies across it. */
static double lines_of(double elements, double ld, double size)
{
    enum { LINE = 64 };
    return ld * size < far_apart ? 0 : elements * size / LINE + 1;
}

/* What a step of k of a work-item fetches of operands that were not packed. */
static double fetching_of(const int *v, const mmt_problem *p, double size)
{
    const double rows = fmin(v[THREAD_TILE_M] * v[PANELS_M], (double) p->m);
    const double columns = fmin(width(v) * v[PANELS_N], (double) p->n);
    return (v[PACK_A] || !p->trans_a ? 0
                                     : a_line * lines_of(rows, (double) p->lda, size)) +
           (v[PACK_B] ? 0 : b_line * lines_of(columns, (double) p->ldb, size));
}

/* The most work-items of a core, as a part of all; cores do not end at once. */
static double share_of(double items, const struct mmt_caps *caps)
{
    static const double apart = 0.5; /* of an item */
    const double cores = caps->sms ? caps->sms : 1;
    return (ceil(items / cores) + (items > 1 ? apart : 0)) / items;
}

/* Panels are packed whole. */
static double packing_of(const int *v, const mmt_problem *p, double size,
                         const struct mmt_caps *caps)
{
    const double words = size / 4 / (caps->sms ? caps->sms : 1), k = (double) p->k;
    const double rows = (double) (mmt_gemm_pieces(p->m, v[THREAD_TILE_M]) *
                                  v[THREAD_TILE_M] * matrices(p, p->stride_a));
    const double columns =
        (double) (mmt_gemm_pieces(p->n, width(v)) * width(v) * matrices(p, p->stride_b));
    const double turned = (double) p->ldb * size < far_apart ? b_turned : b_paged;
    double cycles = 0;
    if (v[PACK_A])
        cycles += launch_again + (p->trans_a ? a_turned : a_packed) * words * k * rows;
    if (v[PACK_B])
        cycles += launch_again + (p->trans_b ? turned : b_packed) * words * k * columns;
    return cycles;
}

double mmt_panel_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    const double size = (double) mmt_gemm_real_size(p->type), batch = (double) p->batch;
    const double items = (double) tiles(v, p) * batch;
    const double down = (double) mmt_gemm_pieces(p->m, v[THREAD_TILE_M]) * batch;
    const double register_tiles = down * (double) mmt_gemm_pieces(p->n, width(v));
    const double k = (double) p->k, passes = most_of(ceil(k / v[BLOCK_K]), 1);
    const double vectors = v[THREAD_TILE_M] * v[THREAD_TILE_N];
    const bool is_cut = !v[PACK_B] && p->n % width(v);

    double cycles = register_tiles * k * step_of(v, p->type) +
                    items * (item_cycles + k * fetching_of(v, p, size));
    cycles += is_cut ? down * k * cut * width(v) : 0;
    cycles += passes * (register_tiles * (tile_cycles + vector_stored * vectors) +
                        element_stored * (double) (p->m * (p->n % v[VECTOR])) * batch);
    return share_of(items, caps) * cycles + packing_of(v, p, size, caps);
}

/* ---- the list -------------------------------------------------------------------- */

struct outlook {
    const mmt_problem *problem;
    const struct mmt_caps *caps;
    struct mmt_candidate *best;
    int count, most;
};

/* Puts one into its place among so many. */
static void insert(struct outlook *o, const struct mmt_candidate *next)
{
    int at = o->most - 1;
    if (o->count < o->most)
        at = o->count++;
    else if (next->cycles >= o->best[at].cycles)
        return;
    for (; at > 0 && o->best[at - 1].cycles > next->cycles; at--)
        o->best[at] = o->best[at - 1];
    o->best[at] = *next;
}

static int last_value(int knob)
{
    return mmt_template_panel.knobs[knob].num_values - 1;
}

/* As deep as keeps a panel of B in the first-level cache. */
static int depth_of(const int *v, const mmt_problem *p)
{
    enum { CACHE = 32 << 10, LEAST = 256, MOST = 1024 };
    int depth = MOST;
    while (depth > LEAST && width(v) * depth * (int) mmt_gemm_real_size(p->type) > CACHE)
        depth /= 2;
    return depth;
}

/* Of all numbers of register tiles for a work-item the best that serves the problem. */
static void add_best(struct outlook *o, int *v)
{
    const struct mmt_knob *knobs = mmt_template_panel.knobs;
    struct mmt_candidate best = { .cycles = INFINITY };

    v[BLOCK_K] = depth_of(v, o->problem);
    for (int i = 0; i <= last_value(PANELS_M); i++)
        for (int j = 0; j <= last_value(PANELS_N); j++) {
            v[PANELS_M] = knobs[PANELS_M].values[i];
            v[PANELS_N] = knobs[PANELS_N].values[j];
            const double cycles = mmt_panel_cycles(v, o->problem, o->caps);
            if (cycles >= best.cycles || mmt_template_panel.check_problem(v, o->problem))
                continue;
            best.cycles = cycles;
            memcpy(best.values, v, sizeof best.values);
        }
    if (isfinite(best.cycles))
        insert(o, &best);
}

/* Of an A that lies across k, compilers gather the factors of unrolled steps into
 * vectors, which takes longer than it saves. */
static void add_packed(struct outlook *o, int *v)
{
    for (int pack = 0; pack < 4; pack++) {
        v[PACK_A] = pack / 2;
        v[PACK_B] = pack % 2;
        v[K_UNROLL] = o->problem->trans_a && !v[PACK_A] ? 1 : 4;
        if (v[PACK_B] ||
            !(o->problem->trans_b || mmt_type_in(o->problem->type, MMT_CONVERTED_TYPES)))
            add_best(o, v);
    }
}

/* Elements of the device's own vectors; of 128 bits where it does not tell. 0: VECTOR has
 * no such value. */
static int elements_of_vector(const mmt_problem *p, const struct mmt_caps *caps)
{
    const struct mmt_knob *knob = &mmt_template_panel.knobs[VECTOR];
    const unsigned bytes = caps->vector_bytes ? caps->vector_bytes : 16;
    const int elements = (int) (bytes / mmt_gemm_real_size(p->type));
    for (int i = 0; i < knob->num_values; i++)
        if (knob->values[i] == elements)
            return elements;
    return 0;
}

int mmt_panel_candidates(const mmt_problem *p, const struct mmt_caps *caps,
                         struct mmt_candidate *out, int most)
{
    const struct mmt_knob *knobs = mmt_template_panel.knobs;
    struct outlook o = { p, caps, out, 0, most };
    int v[MMT_MAX_KNOBS] = { [VECTOR] = elements_of_vector(p, caps) };
    if (most < 1 || caps->kind != MMT_CPU || !v[VECTOR])
        return 0;
    for (int i = 0; i <= last_value(THREAD_TILE_M); i++)
        for (int j = 0; j <= last_value(THREAD_TILE_N); j++) {
            v[THREAD_TILE_M] = knobs[THREAD_TILE_M].values[i];
            v[THREAD_TILE_N] = knobs[THREAD_TILE_N].values[j];
            if (fits_registers(v, caps))
                add_packed(&o, v);
        }
    return o.count;
}
