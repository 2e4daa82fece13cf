/* Solves the heat equation by long vectors and by a fused kernel, and checks both against
 * plain loops on the host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "longvector.h"

/* ---- the scheme ------------------------------------------------------------------- */

void mmt_scheme_close(struct mmt_scheme *x)
{
    mmt_plan_free(x->add);
    mmt_plan_free(x->gather);
    mmt_plan_free(x->step);
    mmt_plan_free(x->border);
    mmt_plan_free(x->fused);
    if (x->borrows)
        return;
    mmt_buffer_free(x->device, x->v);
    mmt_buffer_free(x->device, x->t);
    mmt_buffer_free(x->device, x->u);
}

mmt_status mmt_scheme_plan(const struct mmt_study_device *device,
                           const mmt_problem *problem, mmt_plan **out, mmt_error *err)
{
    mmt_plan_options options = mmt_plan_defaults();
    options.max_workspace = 0;
    *out = mmt_plan_create(device->device, device->profile, problem, &options, err);
    return *out ? MMT_OK : MMT_ERROR_UNSUPPORTED;
}

int64_t mmt_scheme_first(int64_t inner)
{
    return (inner + 1) * (inner + 2) - 1;
}

int64_t mmt_scheme_second(int64_t inner)
{
    return inner * (inner + 2) - 2;
}

static mmt_status make_plans(const struct mmt_study_device *device, mmt_type type,
                             int64_t inner, struct mmt_scheme *x, mmt_error *err)
{
    mmt_problem add = mmt_axpby_problem(type, mmt_scheme_first(inner));
    mmt_problem gather = mmt_axpby_problem(type, mmt_scheme_second(inner));
    mmt_problem fused = mmt_heat2d_problem(type, x->side, x->side);
    mmt_problem border = mmt_axpby_problem(type, 2);
    border.m = inner + 1;
    border.lda = border.ldb = border.ldc = x->side;

    mmt_status status = mmt_scheme_plan(device, &add, &x->add, err);
    if (status == MMT_OK)
        status = mmt_scheme_plan(device, &gather, &x->gather, err);
    if (status == MMT_OK)
        status = mmt_scheme_plan(device, &gather, &x->step, err);
    if (status == MMT_OK)
        status = mmt_scheme_plan(device, &border, &x->border, err);
    if (status == MMT_OK)
        status = mmt_scheme_plan(device, &fused, &x->fused, err);
    return status;
}

mmt_status mmt_scheme_open(const struct mmt_study_device *device, mmt_type type,
                           int64_t inner, const struct mmt_scheme *larger,
                           struct mmt_scheme *x, mmt_error *err)
{
    *x = (struct mmt_scheme){ .device = device->device,
                              .side = inner + 2,
                              .element = mmt_type_size(type),
                              .borrows = larger != NULL };
    size_t bytes = (size_t) (x->side * x->side) * x->element;
    if (larger)
        x->v = larger->v, x->t = larger->t, x->u = larger->u;
    mmt_status status = make_plans(device, type, inner, x, err);
    if (larger) {
        if (status != MMT_OK)
            mmt_scheme_close(x);
        return status;
    }
    if (status == MMT_OK)
        status = mmt_buffer_create(device->device, bytes, &x->v, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(device->device, bytes, &x->t, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(device->device, bytes, &x->u, err);
    if (status != MMT_OK)
        mmt_scheme_close(x);
    return status;
}

static mmt_operand operand_at(const struct mmt_scheme *x, mmt_operand array,
                              int64_t element)
{
    array.offset += (size_t) element * x->element;
    return array;
}

mmt_status mmt_scheme_combine(const mmt_plan *plan, double a_times, mmt_operand a,
                              double b_times, mmt_operand b, mmt_operand c,
                              mmt_queue queue, mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    args.alpha = a_times, args.beta = b_times;
    args.a = a, args.b = b, args.c = c;
    return mmt_execute(plan, &args, queue, err);
}

mmt_status mmt_scheme_vectors(const struct mmt_scheme *x, double keep, mmt_queue queue,
                              mmt_error *err)
{
    int64_t s = x->side;
    mmt_status status =
        mmt_scheme_combine(x->add, 1, operand_at(x, x->v, 1), 1, operand_at(x, x->v, s),
                           operand_at(x, x->t, 1), queue, err);
    if (status == MMT_OK)
        status = mmt_scheme_combine(x->gather, 1, operand_at(x, x->t, 1), 1,
                                    operand_at(x, x->t, s + 2),
                                    operand_at(x, x->u, s + 1), queue, err);
    if (status == MMT_OK)
        status = mmt_scheme_combine(x->step, MMT_SCHEME_ALPHA, operand_at(x, x->u, s + 1),
                                    keep, operand_at(x, x->v, s + 1),
                                    operand_at(x, x->v, s + 1), queue, err);
    return status;
}

mmt_status mmt_scheme_border(const struct mmt_scheme *x, mmt_queue queue, mmt_error *err)
{
    const mmt_operand none = { 0 };
    return mmt_scheme_combine(x->border, 0, none, 0, none,
                              operand_at(x, x->v, x->side - 1), queue, err);
}

/* ---- is it the heat equation? ----------------------------------------------------- */

static double value_at(mmt_type type, const void *field, int64_t i)
{
    return type == MMT_F64 ? ((const double *) field)[i] : ((const float *) field)[i];
}

void mmt_scheme_fill(mmt_type type, int64_t side, int64_t from, void *field)
{
    memset(field, 0, (size_t) (side * side) * mmt_type_size(type));
    for (int64_t i = from; i < side - from; i++)
        for (int64_t j = from; j < side - from; j++) {
            if (type == MMT_F64)
                ((double *) field)[i * side + j] = 100;
            else
                ((float *) field)[i * side + j] = 100;
        }
}

/* A hot square in a cold field; the caller frees it. NULL: no memory. */
static void *make_field(mmt_type type, int64_t side)
{
    void *field = malloc((size_t) (side * side) * mmt_type_size(type));
    if (field)
        mmt_scheme_fill(type, side, side < 4 ? 1 : side / 4, field);
    return field;
}

mmt_status mmt_scheme_run(struct mmt_scheme *x, mmt_timer *timer, double keep, int steps,
                          void *field, mmt_error *err)
{
    size_t bytes = (size_t) (x->side * x->side) * x->element;
    mmt_status status = mmt_buffer_write(x->device, x->v, field, bytes, err);
    for (int i = 0; i < steps && status == MMT_OK; i++)
        if ((status = mmt_scheme_vectors(x, keep, mmt_timer_queue(timer), err)) == MMT_OK)
            status = mmt_scheme_border(x, mmt_timer_queue(timer), err);
    if (status == MMT_OK)
        status = mmt_finish(x->device, mmt_timer_queue(timer), err);
    if (status == MMT_OK)
        status = mmt_buffer_read(x->device, field, x->v, bytes, err);
    return status;
}

static mmt_status run_fused(struct mmt_scheme *x, mmt_timer *timer, int steps,
                            void *field, mmt_error *err)
{
    size_t bytes = (size_t) (x->side * x->side) * x->element;
    mmt_args args = mmt_args_defaults();
    mmt_status status = mmt_buffer_write(x->device, x->v, field, bytes, err);
    args.alpha = MMT_SCHEME_ALPHA;
    for (int i = 0; i < steps && status == MMT_OK; i++) {
        args.a = i % 2 ? x->t : x->v;
        args.c = i % 2 ? x->v : x->t;
        status = mmt_execute(x->fused, &args, mmt_timer_queue(timer), err);
    }
    if (status == MMT_OK)
        status = mmt_finish(x->device, mmt_timer_queue(timer), err);
    if (status == MMT_OK)
        status = mmt_buffer_read(x->device, field, steps % 2 ? x->t : x->v, bytes, err);
    return status;
}

/* The largest element, and with another field, the largest difference. */
static double largest_difference(mmt_type type, const void *x, const void *y,
                                 int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(value_at(type, x, i) - (y ? value_at(type, y, i) : 0)));
    return most;
}

/* The cross scheme as it is defined, on the host. */
#define DEFINE_STEPS(real)                                                               \
    static void steps_##real(int64_t side, int steps, real *field, real *spare)          \
    {                                                                                    \
        const real alpha = (real) MMT_SCHEME_ALPHA;                                      \
        for (int step = 0; step < steps; step++) {                                       \
            for (int64_t i = 1; i < side - 1; i++)                                       \
                for (int64_t j = 1; j < side - 1; j++) {                                 \
                    const real *at = field + i * side + j;                               \
                    spare[i * side + j] = at[0] + alpha * (at[-side] + at[side] +        \
                                                           at[-1] + at[1] - 4 * at[0]);  \
                }                                                                        \
            for (int64_t i = 1; i < side - 1; i++)                                       \
                memcpy(field + i * side + 1, spare + i * side + 1,                       \
                       (size_t) (side - 2) * sizeof *field);                             \
        }                                                                                \
    }
DEFINE_STEPS(float)
DEFINE_STEPS(double)

static bool run_host(mmt_type type, int64_t side, int steps, void *field)
{
    void *spare = malloc((size_t) (side * side) * mmt_type_size(type));
    if (spare && type == MMT_F64)
        steps_double(side, steps, field, spare);
    else if (spare)
        steps_float(side, steps, field, spare);
    free(spare);
    return spare != NULL;
}

/* How far vectors and fused kernel are from the host after so many steps, and what the
 * form as printed grows to. */
struct apart {
    double vectors, fused, printed;
};

static mmt_status compare_size(mmt_type type, const struct mmt_study_device *device,
                               mmt_timer *timer, int64_t inner, int steps,
                               struct apart *out, mmt_error *err)
{
    struct mmt_scheme x;
    int64_t side = inner + 2, count = side * side;
    void *fields[4];
    bool any = true;
    for (int i = 0; i < 4; i++)
        any &= (fields[i] = make_field(type, side)) != NULL;
    any = any && run_host(type, side, steps, fields[3]);
    mmt_status status =
        any ? mmt_scheme_open(device, type, inner, NULL, &x, err)
            : mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for a grid");
    if (status == MMT_OK) {
        double keep = 1 - 4 * MMT_SCHEME_ALPHA;
        status = mmt_scheme_run(&x, timer, keep, steps, fields[0], err);
        if (status == MMT_OK)
            status = run_fused(&x, timer, steps, fields[1], err);
        if (status == MMT_OK)
            status = mmt_scheme_run(&x, timer, 1, steps, fields[2], err);
        mmt_scheme_close(&x);
    }
    if (status == MMT_OK)
        *out = (struct apart){ largest_difference(type, fields[0], fields[3], count),
                               largest_difference(type, fields[1], fields[3], count),
                               largest_difference(type, fields[2], NULL, count) };
    for (int i = 0; i < 4; i++)
        free(fields[i]);
    return status;
}

mmt_status mmt_scheme_check(const struct mmt_study_options *options, mmt_type type,
                            const struct mmt_study_device *device, mmt_timer *timer,
                            mmt_error *err)
{
    enum { STEPS = 50 };
    static const int sizes[] = { 2, 5, 10, 37, 100 };
    const double u = type == MMT_F64 ? 0x1p-53 : 0x1p-24, most = 100 * STEPS * 4 * u;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct apart apart;
        mmt_status status =
            compare_size(type, device, timer, sizes[i], STEPS, &apart, err);
        if (status != MMT_OK)
            return status;
        mmt_study_say(options,
                      "N = %d, %d steps from 100: vectors and fused kernel are %.2g and "
                      "%.2g from the host's plain steps; the form as printed (no 1 - 4 "
                      "alpha) grows to %.2g",
                      sizes[i], STEPS, apart.vectors, apart.fused, apart.printed);
        if (fmax(apart.vectors, apart.fused) > most)
            return mmt_study_fail(
                err, MMT_ERROR_DEVICE,
                "N = %d: vectors and fused kernel are %g and %g from the "
                "host's steps, more than rounding can explain",
                sizes[i], apart.vectors, apart.fused);
    }
    return MMT_OK;
}
