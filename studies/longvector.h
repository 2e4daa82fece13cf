/* The explicit scheme on long vectors, and what its operations cost: see longvector.c. */
#ifndef MMT_STUDIES_LONGVECTOR_H
#define MMT_STUDIES_LONGVECTOR_H

#include "study.h"

/* ---- longvector_scheme.c ---------------------------------------------------------- */

/* A grid on the device with the plans of its steps. */
struct mmt_scheme {
    mmt_device *device;
    int64_t side; /* s = N + 2 */
    size_t element;
    bool borrows; /* its arrays are another's */
    mmt_plan *add, *gather, *step, *border, *fused;
    mmt_operand v, t, u;
};

#define MMT_SCHEME_ALPHA 0.125

/* Elements of the first addition, and of the second and the saxpy, for N = inner. */
int64_t mmt_scheme_first(int64_t inner);
int64_t mmt_scheme_second(int64_t inner);

/* `larger`, if not NULL, lends its arrays and must outlive the scheme. */
mmt_status mmt_scheme_open(const struct mmt_study_device *device, mmt_type type,
                           int64_t inner, const struct mmt_scheme *larger,
                           struct mmt_scheme *out, mmt_error *err);
void mmt_scheme_close(struct mmt_scheme *scheme);

/* A field of side x side that is 100 but for `from` nodes along each side, which are 0.
 */
void mmt_scheme_fill(mmt_type type, int64_t side, int64_t from, void *field);

/* The two parts of a step: both additions and the saxpy; zeros on the border. */
mmt_status mmt_scheme_vectors(const struct mmt_scheme *scheme, double keep,
                              mmt_queue queue, mmt_error *err);
mmt_status mmt_scheme_border(const struct mmt_scheme *scheme, mmt_queue queue,
                             mmt_error *err);

/* Copies the field to the device, makes so many steps and copies it back. `keep` is what
 * a node keeps of itself: 1 - 4 alpha or, as printed, 1. */
mmt_status mmt_scheme_run(struct mmt_scheme *scheme, mmt_timer *timer, double keep,
                          int steps, void *field, mmt_error *err);

/* Holds vectors and fused kernel against plain steps of the host for several N, tells
 * what becomes of the form as printed, and fails where more than rounding differs. */
mmt_status mmt_scheme_check(const struct mmt_study_options *options, mmt_type type,
                            const struct mmt_study_device *device, mmt_timer *timer,
                            mmt_error *err);

/* One operation of axpby: C = a_times A + b_times B. */
mmt_status mmt_scheme_combine(const mmt_plan *plan, double a_times, mmt_operand a,
                              double b_times, mmt_operand b, mmt_operand c,
                              mmt_queue queue, mmt_error *err);
mmt_status mmt_scheme_plan(const struct mmt_study_device *device,
                           const mmt_problem *problem, mmt_plan **out, mmt_error *err);

/* ---- longvector_costs.c ----------------------------------------------------------- */

enum { MMT_VECTOR_KNOTS = 64, MMT_VECTOR_POINTS = 128 };

/* What was measured at ascending N, straight between them on logarithmic scales. */
struct mmt_vector_curve {
    int count;
    double at[MMT_VECTOR_KNOTS], value[MMT_VECTOR_KNOTS];
};

/* The paper's constants, in which one vector operation takes kernel + each ceil(length /
 * streams), where `each` is add or saxpy, and both copies of n bytes tau_fixed + n
 * tau_byte; and what they are at each N. */
struct mmt_vector_costs {
    double kernel, add, saxpy, border; /* seconds; add and saxpy for each round */
    double streams;                    /* elements */
    double tau_fixed, tau_byte;        /* seconds; per byte, both ways */
    int64_t chosen_length; /* at which an element of an addition takes least, by model */
    double chosen_loss;    /* by this part of the least time above it */
    double library_gain;   /* mmtune's speed over cuBLAS's, longest vector; NAN: none */
    struct mmt_vector_curve level;  /* three operations, times as long as by (1) */
    struct mmt_vector_curve edge;   /* the border with its launch, seconds */
    struct mmt_vector_curve copies; /* seconds */
};

/* One addition of so many elements. */
struct mmt_vector_point {
    int64_t length;
    double seconds;
};

/* kernel, streams and add from additions of ascending length, of which those count whose
 * three arrays fit into the cache (bytes; 0: none). Where these take but the time of a
 * launch, at whatever length, all count. None of the three is below zero, and add is 0
 * where no length makes a difference. Returns how many count. */
int mmt_vector_fit(const struct mmt_vector_point *points, int count, size_t element,
                   size_t cache, struct mmt_vector_costs *out);

/* What was measured on one grid: seconds of both additions and the saxpy, of the border,
 * and of both copies. */
struct mmt_vector_knot {
    int64_t inner;
    double vectors, border, copies;
};

/* Completes costs that have kernel, add, saxpy and streams; knots ascend by N. */
void mmt_vector_learn(struct mmt_vector_costs *costs, const struct mmt_vector_knot *knots,
                      int count, size_t element);

/* Seconds of so many steps and both copies, by the paper's model or with levels. */
double mmt_vector_predict(const struct mmt_vector_costs *costs, int64_t inner,
                          size_t element, int steps, bool levels);

/* Measures kernel, streams, add and saxpy with vectors of up to `most` elements, and
 * draws one addition over its length beside what they make of it. After `until`, by
 * mmt_study_now, fewer lengths are measured, spread over all. */
mmt_status mmt_vector_calibrate(const struct mmt_study_options *options,
                                const struct mmt_study_device *device, mmt_timer *timer,
                                mmt_type type, int64_t most, double until,
                                struct mmt_vector_costs *out, mmt_error *err);

/* Shows the constants, and what they are at each N. */
mmt_status mmt_vector_show(const struct mmt_study_options *options,
                           const struct mmt_vector_costs *costs, mmt_error *err);

/* ---- longvector_axpy.c ----------------------------------------------------------- */

/* Times y = y + x by mmtune and by cuBLAS in turn at some of the lengths, with two arrays
 * that hold the longest, shows and draws both. `gain`: cuBLAS's time over mmtune's at the
 * longest; NAN, in words, where cuBLAS is not there. */
mmt_status mmt_vector_race(const struct mmt_study_options *options,
                           const struct mmt_study_device *device, mmt_timer *timer,
                           mmt_type type, const mmt_operand arrays[2],
                           const struct mmt_vector_point *points, int count, double *gain,
                           mmt_error *err);

/* ---- longvector_claims.c --------------------------------------------------------- */

/* What model (1) is off, root mean squares of parts of the measured time: over all sizes,
 * near a step, and at the others. */
struct mmt_vector_findings {
    int count, near_count;
    double delta, near, elsewhere;
};

/* Shows what the paper claims beside what was found. */
mmt_status mmt_vector_claims(const struct mmt_study_options *options, const char *device,
                             const struct mmt_vector_costs *costs,
                             const struct mmt_vector_findings *found, mmt_error *err);

/* The middle of `count` values, which are sorted. */
double mmt_median_of(double *values, int count);

#endif
