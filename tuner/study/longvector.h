/* The explicit scheme on long vectors, and what its operations cost: see longvector.c. */
#ifndef MMT_TUNER_STUDY_LONGVECTOR_H
#define MMT_TUNER_STUDY_LONGVECTOR_H

#include "tuner/study/study.h"
#include "tuner/study/timer.h"

/* ---- longvector_scheme.c ---------------------------------------------------------- */

/* A grid on the device with the plans of its steps. */
struct mmt_scheme {
    mmt_device *device;
    int64_t side; /* s = N + 2 */
    size_t element;
    mmt_plan *add, *gather, *step, *border, *fused;
    mmt_operand v, t, u;
};

#define MMT_SCHEME_ALPHA 0.125

/* Elements of the first addition, and of the second and the saxpy, for N = inner. */
int64_t mmt_scheme_first(int64_t inner);
int64_t mmt_scheme_second(int64_t inner);

mmt_status mmt_scheme_open(const struct mmt_study_device *device, mmt_type type,
                           int64_t inner, struct mmt_scheme *out, mmt_error *err);
void mmt_scheme_close(struct mmt_scheme *scheme);

/* A hot square in a cold field, side x side; the caller frees it. NULL: no memory. */
void *mmt_scheme_field(mmt_type type, int64_t side);

/* Copies the field to the device, makes so many steps and copies it back. `keep` is what
 * a node keeps of itself: 1 - 4 alpha or, as printed, 1. */
mmt_status mmt_scheme_run(struct mmt_scheme *scheme, const struct mmt_study_timer *timer,
                          double keep, int steps, void *field, mmt_error *err);

/* Holds vectors and fused kernel against plain steps of the host for several N, tells
 * what becomes of the form as printed, and fails where more than rounding differs. */
mmt_status mmt_scheme_check(const struct mmt_study_options *options, mmt_type type,
                            const struct mmt_study_device *device,
                            struct mmt_study_timer *timer, mmt_error *err);

/* One operation of axpby: C = a_times A + b_times B. */
mmt_status mmt_scheme_combine(const mmt_plan *plan, double a_times, mmt_operand a,
                              double b_times, mmt_operand b, mmt_operand c,
                              mmt_queue queue, mmt_error *err);
mmt_status mmt_scheme_plan(const struct mmt_study_device *device,
                           const mmt_problem *problem, mmt_plan **out, mmt_error *err);

/* ---- longvector_costs.c ----------------------------------------------------------- */

/* One vector operation takes kernel + max(each ceil(length / streams), bytes /
 * bandwidth), where `each` is add or saxpy. Both copies of n bytes take tau_fixed + n
 * tau_byte. */
struct mmt_vector_costs {
    double kernel, add, saxpy, border; /* seconds; add and saxpy for each round */
    double streams, bandwidth;         /* elements; bytes/s, infinite: not seen */
    double tau_fixed, tau_byte;        /* seconds; per byte, both ways */
};

/* Measures them with vectors of up to `most` elements, and draws one addition over its
 * length beside what they make of it. */
mmt_status mmt_vector_calibrate(const struct mmt_study_options *options,
                                const struct mmt_study_device *device,
                                struct mmt_study_timer *timer, mmt_type type,
                                int64_t most, struct mmt_vector_costs *out,
                                mmt_error *err);

/* Seconds of one operation beyond its launch; by the paper's model, or with memory. */
double mmt_vector_seconds(const struct mmt_vector_costs *costs, double each,
                          int64_t length, size_t element, bool memory);

/* The middle of `count` values, which are sorted. */
double mmt_median_of(double *values, int count);

#endif
