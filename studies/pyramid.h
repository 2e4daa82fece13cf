/* Jacobi's method for a grid that exceeds device memory, in pyramids (Vorotnikova,
 * Kochurov, Golovashkin, Computer Optics 2015 39(5), section 2).
 *
 * The grid has `planes` planes of `side` x `side` elements on the host. One pass makes h
 * sweeps over all of it, block by block. A block takes `width` = R planes and the same of
 * the right-hand side to the device, makes h sweeps, of which each has one valid plane
 * less on either side, and returns the R - 2h planes in the middle:
 *
 *     sweep h          [ R - 2h ]            returned
 *     ...             /          \
 *     sweep 1        /            \
 *     sent          [      R       ]
 *
 * At the first and the last plane of the grid, where values are given, nothing shrinks.
 * Results go to a second array of the host, so that no block reads what another wrote in
 * this pass. So a pass has the same bits as h plain sweeps, for any h and R. */
#ifndef MMT_STUDIES_PYRAMID_H
#define MMT_STUDIES_PYRAMID_H

#include "../examples/pyramids.h"
#include "study.h"

struct mmt_pyramid_grid {
    mmt_type type; /* f32 or f64 */
    int64_t planes, side;
    double scale;    /* of the right-hand side: beta of jacobi3d; alpha is 1/6 */
    const void *f;   /* the right-hand side, as large as the grid */
    const void *now; /* before the pass */
    void *next;      /* after it */
};

/* A grid of random numbers, and another as its right-hand side; `next` is zeros. Freed by
 * mmt_pyramid_grid_free. */
mmt_status mmt_pyramid_grid_make(mmt_type type, int64_t planes, int64_t side,
                                 int64_t seed, struct mmt_pyramid_grid *out,
                                 mmt_error *err);
void mmt_pyramid_grid_free(struct mmt_pyramid_grid *grid);

/* Bytes of one of its arrays. */
size_t mmt_pyramid_bytes(const struct mmt_pyramid_grid *grid);

struct mmt_pyramid_shape {
    int64_t height, width; /* h and R, planes */
    bool overlap;          /* copies beside computing: half the memory a block */
};

/* What a pass moved and computed. */
struct mmt_pyramid_counts {
    int64_t blocks;
    int64_t sent, received; /* elements */
    int64_t stencils;       /* evaluations for planes that a block needs */
    double seconds;         /* the host's clock */
};

/* What interior blocks count by the paper's Table 1: sent 2 R N^2, received (R - 2h) N^2,
 * stencils h (R - h - 1) (N - 2)^2. */
struct mmt_pyramid_counts mmt_pyramid_table1(const struct mmt_pyramid_grid *grid,
                                             const struct mmt_pyramid_shape *shape);

/* The memory and the plans for passes of one shape over one grid, which outlives it.
 * Fails where the shape leaves no plane to return: R must exceed 2h, unless one block
 * holds the whole grid. */
struct mmt_pyramid;
mmt_status mmt_pyramid_open(const struct mmt_study_device *device,
                            const struct mmt_pyramid_grid *grid,
                            const struct mmt_pyramid_shape *shape,
                            struct mmt_pyramid **out, mmt_error *err);
void mmt_pyramid_close(struct mmt_pyramid *pyramid);

/* One pass of h sweeps. `interior` (may be NULL) gets the counts of one block that
 * touches neither end of the grid, zeros where there is none. The first pass builds
 * kernels. */
mmt_status mmt_pyramid_pass(struct mmt_pyramid *pyramid, struct mmt_pyramid_counts *total,
                            struct mmt_pyramid_counts *interior, mmt_error *err);

/* Passes over `grid`, the one it was opened with, until none of its nodes, of whatever
 * block, changes by more than `least` in a pass, but at most `most` of them. `now` and
 * `next` take turns; afterwards `now` has the result. */
struct mmt_pyramid_end {
    int passes;
    double change; /* the greatest in the last pass */
};
mmt_status mmt_pyramid_solve(struct mmt_pyramid *pyramid, struct mmt_pyramid_grid *grid,
                             double least, int most, struct mmt_pyramid_end *out,
                             mmt_error *err);

/* The greatest difference between `now` and `next`. */
double mmt_pyramid_change(const struct mmt_pyramid_grid *grid);
void mmt_pyramid_turn(struct mmt_pyramid_grid *grid); /* exchanges them */

/* The same sweeps on one core of the host, for comparing bits: now -> next. `spare` is as
 * large as the grid. */
void mmt_pyramid_plain(const struct mmt_pyramid_grid *grid, int64_t sweeps, void *spare);

/* ---- pyramid_costs.c ------------------------------------------------------------- */

/* Times copies of blocks of `width` planes both ways, walking the grid as a pass does,
 * and sweeps over one: the least of a few. */
mmt_status mmt_pyramid_calibrate(const struct mmt_study_device *device,
                                 const struct mmt_pyramid_grid *grid, int64_t width,
                                 struct pyramid_costs *out, mmt_error *err);

/* ---- pyramid_claims.c ------------------------------------------------------------ */

/* What was measured of one grid, by heights. Gaps are parts of the measured time by which
 * the paper's model is off at most, NAN where no such height was measured. */
struct mmt_pyramid_findings {
    int64_t n, width;        /* N and R */
    int64_t lowest, highest; /* h that were measured */
    int64_t best;            /* that is fastest */
    int64_t chosen;          /* by the paper's model; 0: it had no height to choose */
    double lowest_each, highest_each; /* seconds of a sweep */
    double best_each, chosen_each;
    double gap_within, gap_beyond; /* for 2 < h < N / 10, and from N / 10 on */
};

/* Shows what the paper says of pyramids beside what was found. */
mmt_status mmt_pyramid_claims(const struct mmt_study_options *options, const char *device,
                              const struct mmt_pyramid_findings *found, mmt_error *err);

/* ---- pyramid_check.c -------------------------------------------------------------- */

/* Small grids in many shapes, and one until nothing changes, against plain sweeps and the
 * paper's Table 1; says so, or fails. */
mmt_status mmt_pyramid_check(const struct mmt_study_options *options,
                             const struct mmt_study_device *device, mmt_type type,
                             mmt_error *err);

#endif
