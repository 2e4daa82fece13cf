/* A calibration's own: which kernels it times, and on which shapes
 * (calibration_kernels.c), and how (calibration.c). */
#ifndef MMT_TUNER_TUNE_CALIBRATION_H
#define MMT_TUNER_TUNE_CALIBRATION_H

#include "tuner/tune/tune.h"

enum {
    MMT_MOST_CALIBRATION_KERNELS = 96,
    MMT_MOST_CALIBRATION_SHAPES = 300,
    MMT_MOST_SPECIALISATIONS = 112,
    MMT_MOST_UNCOMPILED = 960, /* specialisations that are compiled for one calibration */
};

/* What a calibration kernel is compiled to for some of the shapes: those that resolve to
 * the same source. */
struct mmt_specialisation {
    struct mmt_config config; /* resolved for one of them */
    bool verified;            /* found right and compiled by this run */
};

struct mmt_calibration_kernel {
    struct mmt_config config;
    /* One, unless knobs is auto. */
    struct mmt_specialisation specialisations[MMT_MOST_SPECIALISATIONS];
    int num_specialisations;
    bool out;    /* it failed here: never again */
    bool timed;  /* it was timed here, on any shape */
    double took; /* seconds, on the shape at hand; INFINITY: unknown */
    float behind[MMT_MOST_CALIBRATION_SHAPES]; /* times the best's, on each of the shapes
                                                * that it was timed on; 0: not */
};

/* The calibration of one type and transposes: the first of a family selects its
 * portfolio, the others time that. */
struct mmt_calibration {
    struct mmt_run *run;
    const mmt_problem *kind; /* any problem of it */
    bool first;              /* of its family */
    int start;               /* the first shape that is timed */
    bool introduces;         /* only those that were timed on no shape are timed now */
    struct mmt_calibration_kernel kernels[MMT_MOST_CALIBRATION_KERNELS];
    int count, most;
    int uncompiled, most_uncompiled; /* specialisations that must be compiled, and how
                                      * many may be, at most MMT_MOST_UNCOMPILED */
    double best[MMT_MOST_CALIBRATION_SHAPES]; /* seconds, on each of the shapes; 0: none
                                               * was timed there */
    double ends;
    int64_t left; /* timings */
};

/* The same shapes in every run, so that what is known need not be timed again. */
void mmt_calibration_shapes(const struct mmt_run *run, const mmt_problem *kind,
                            mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES]);

/* Fills c->kernels. Of a family's first kind: winners, what is known of such a device,
 * the nearest of each template, and what is suggested for shapes that are no goals; of
 * the others the portfolio. False where there is nothing to time. */
bool mmt_calibration_list_kernels(struct mmt_calibration *c);

/* The same with all launch-time counts auto that can be: several kernels that differ in
 * such a count alone would take several places for what one of them does. */
struct mmt_config mmt_calibration_leave_counts(const struct mmt_config *config);

/* The specialisation that a resolved configuration compiles to; NULL where the kernel has
 * none. */
const struct mmt_specialisation *mmt_calibration_find(
    const struct mmt_calibration_kernel *kernel, const struct mmt_config *config);

/* Whether a kernel before this one has the same specialisation. */
bool mmt_calibration_is_shared(const struct mmt_calibration *c, int kernel,
                               const struct mmt_specialisation *spec);

/* Notes, once all were timed on a shape, how far behind the `best` seconds a kernel was.
 */
void mmt_calibration_compare(struct mmt_calibration_kernel *kernel, int shape,
                             double best);

/* Whether a kernel was far behind the best on the shapes next to this one, of those that
 * it was timed on: what its timing would take is worth more to others. Further away it
 * may be the best: large tiles are for large problems, and most shapes are small or thin.
 */
bool mmt_calibration_is_hopeless(const struct mmt_calibration_kernel *kernel,
                                 const mmt_problem *shapes, int shape);

#endif
