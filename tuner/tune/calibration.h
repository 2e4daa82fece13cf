/* A calibration's own: which kernels it times, and on which shapes
 * (calibration_kernels.c), and how (calibration.c). */
#ifndef MMT_TUNER_TUNE_CALIBRATION_H
#define MMT_TUNER_TUNE_CALIBRATION_H

#include "tuner/tune/tune.h"

enum {
    MMT_MOST_PICKS = 96,
    MMT_MOST_CALIBRATION_SHAPES = 300,
    MMT_MOST_FORMS = 112,
    MMT_MOST_STRANGE = 960, /* forms that are compiled for one calibration */
};

/* What a pick is for some of the shapes: those for which its texts are the same. */
struct mmt_form {
    struct mmt_config config; /* settled for one of them */
    bool verified;            /* found right and compiled by this run */
};

struct mmt_pick {
    struct mmt_config config;
    struct mmt_form forms[MMT_MOST_FORMS]; /* one, unless knobs are left to the problem */
    int num_forms;
    bool out;    /* it failed here: never again */
    bool met;    /* it was timed here, on any shape */
    bool far;    /* on the shape at hand it should take many times the least */
    double took; /* seconds, on the shape at hand; INFINITY: unknown */
    float behind[MMT_MOST_CALIBRATION_SHAPES]; /* times the best's, on each of the shapes
                                                * that it met; 0: on none */
};

/* The calibration of one type and transposes: the first of a family selects its
 * portfolio, the others time that. */
struct mmt_calibration {
    struct mmt_tuning *t;
    const mmt_problem *kind; /* any problem of it */
    bool first;              /* of its family */
    int start;               /* the first shape that is timed */
    bool introduces;         /* only those that have met none meet a shape now */
    struct mmt_pick picks[MMT_MOST_PICKS];
    int count, most;
    int strange, most_strange; /* forms that must be compiled, and how many may be, at
                                * most MMT_MOST_STRANGE */
    double best[MMT_MOST_CALIBRATION_SHAPES]; /* seconds, on each of the shapes; 0: none
                                               * has met it */
    double ends;
    int64_t left;                  /* timings */
    int next;                      /* form of a pick that a compiler is to have */
    struct mmt_calibration *ahead; /* what comes next, for compilers that are idle; NULL:
                                    * nothing does, or it is not planned yet */
};

/* The same shapes in every run, so that what is known need not be timed again. */
void mmt_calibration_shapes(const struct mmt_tuning *t, const mmt_problem *kind,
                            mmt_problem shapes[MMT_MOST_CALIBRATION_SHAPES]);

/* Fills c->picks. Of a family's first kind: winners, what is known of such a device, the
 * nearest of each template, and what is suggested for shapes that are no goals; of the
 * others the portfolio. False where there is nothing to time. */
bool mmt_calibration_pick(struct mmt_calibration *c);

/* The same with all launch-time counts auto that can be: several kernels that differ in
 * such a count alone would take several places for what one of them does. */
struct mmt_config mmt_pick_leave_counts(const struct mmt_config *config);

/* The form of a settled configuration's text; NULL where the pick has none. */
const struct mmt_form *mmt_pick_form(const struct mmt_pick *pick,
                                     const struct mmt_config *config);

/* Whether a pick before this one has a form of the same text. */
bool mmt_pick_is_shared(const struct mmt_calibration *c, int pick,
                        const struct mmt_form *form);

/* Notes, once all have met a shape, how far behind the `best` seconds a pick was. */
void mmt_pick_compare(struct mmt_pick *pick, int shape, double best);

/* Whether a pick was far behind the best on the shapes next to this one, of those that it
 * met: what its timing would take is worth more to others. Further away it may be the
 * best: large tiles are for large problems, and most shapes are small or thin. */
bool mmt_pick_is_hopeless(const struct mmt_pick *pick, const mmt_problem *shapes,
                          int shape);

#endif
