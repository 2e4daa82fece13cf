/* Solves a linear system by conjugate gradients with two parameters, on one core and by
 * plans on the device. */
#include "cg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "cpu.h"

const char *mmt_cg_end_name(enum mmt_cg_end end)
{
    static const char *const names[] = { "solved", "stalled", "breakdown",
                                         "not positive definite", "singular" };
    return names[end];
}

mmt_status mmt_cg_check(const struct mmt_cg_system *system, mmt_error *err)
{
    int64_t n = system->n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double here = system->a[i * n + j], there = system->a[j * n + i];
            if (!isfinite(here))
                return mmt_study_fail(
                    err, MMT_ERROR_ARGUMENT,
                    "A(%" PRId64 ", %" PRId64 ") is %g; it must be finite", i, j, here);
            if (fabs(here - there) > 1e-12 * (fabs(here) + fabs(there)))
                return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                                      "A(%" PRId64 ", %" PRId64
                                      ") is %.17g and A(%" PRId64 ", %" PRId64
                                      ") %.17g; the method needs a symmetric matrix",
                                      i, j, here, j, i, there);
        }
    return MMT_OK;
}

/* ---- the recurrence, wherever it runs --------------------------------------------- */

/* (r, r), (r, dx), (A r, r), (A r, dx), (A dx, dx). */
struct dots {
    double rr, rd, arr, ard, add;
};

/* Whether the method ends here; else the two parameters of the next step. The first step
 * knows no dx. */
static bool iteration_ends(const struct dots *d, int step, double least, double *alpha,
                           double *beta, enum mmt_cg_end *end)
{
    if (d->rr <= least) {
        *end = MMT_CG_SOLVED;
        return true;
    }
    if (!(d->arr > 0)) {
        *end = MMT_CG_NOT_DEFINITE;
        return true;
    }
    double determinant = d->add * d->arr - d->ard * d->ard;
    *alpha = 0;
    *beta = -d->rr / d->arr;
    if (step == 0)
        return false;
    if (!(d->add > 0)) {
        *end = MMT_CG_NOT_DEFINITE;
        return true;
    }
    /* dx is parallel to r to rounding: a step of steepest descent is what is left. */
    if (determinant <= 1e-14 * d->add * d->arr)
        return false;
    *alpha = (d->rr * d->ard - d->rd * d->arr) / determinant;
    *beta = (d->rd * d->ard - d->rr * d->add) / determinant;
    if (isfinite(*alpha) && isfinite(*beta))
        return false;
    *end = MMT_CG_BREAKDOWN;
    return true;
}

static double dot_on_host(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void multiply_on_host(int64_t n, const double *a, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = dot_on_host(n, a + i * n, x);
}

double mmt_cg_residual(const struct mmt_cg_system *s, double *work)
{
    multiply_on_host(s->n, s->a, s->x, work);
    for (int64_t i = 0; i < s->n; i++)
        work[i] -= s->b[i];
    double size = dot_on_host(s->n, s->b, s->b);
    return sqrt(dot_on_host(s->n, work, work) / (size > 0 ? size : 1));
}

/* ---- one core --------------------------------------------------------------------- */

static void solve_host(const struct mmt_cg_system *s, int most, double tolerance,
                       double *work, struct mmt_cg_result *out)
{
    int64_t n = s->n;
    double *r = work, *dx = work + n, *ar = work + 2 * n, *adx = work + 3 * n;
    double least = tolerance * tolerance * dot_on_host(n, s->b, s->b), alpha, beta;

    memset(dx, 0, (size_t) n * sizeof *dx);
    out->end = MMT_CG_STALLED;
    for (out->steps = 0; out->steps <= most; out->steps++) {
        multiply_on_host(n, s->a, s->x, r);
        for (int64_t i = 0; i < n; i++)
            r[i] -= s->b[i];
        multiply_on_host(n, s->a, r, ar);
        multiply_on_host(n, s->a, dx, adx);
        struct dots d = { dot_on_host(n, r, r), dot_on_host(n, r, dx),
                          dot_on_host(n, ar, r), dot_on_host(n, ar, dx),
                          dot_on_host(n, adx, dx) };
        if (iteration_ends(&d, out->steps, least, &alpha, &beta, &out->end))
            return;
        if (out->steps == most)
            return;
        for (int64_t i = 0; i < n; i++) {
            dx[i] = alpha * dx[i] + beta * r[i];
            s->x[i] += dx[i];
        }
    }
}

mmt_status mmt_cg_host(const struct mmt_cg_system *system, int most_steps,
                       double tolerance, struct mmt_cg_result *out, mmt_error *err)
{
    double *work = malloc((size_t) (4 * system->n) * sizeof *work);
    if (!work)
        return mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for four vectors");
    double start = mmt_study_now();
    solve_host(system, most_steps, tolerance, work, out);
    out->seconds = mmt_study_now() - start;
    out->residual = mmt_cg_residual(system, work);
    free(work);
    return MMT_OK;
}

/* ---- the device ------------------------------------------------------------------- */

enum { R, DX, AR, ADX, VECTORS };
enum { DOTS = 6 };

/* Everything on the device. The vectors r, dx, A r, A dx stand one after the other, so
 * that two of them are the rows of one matrix; five of the six dot products of rows 0, 1
 * with rows 0, 1 and 2, 3 are wanted, and one launch computes them. */
struct solver {
    mmt_device *device;
    const struct mmt_cg_system *system;
    mmt_timer *timer;
    mmt_plan *residual, *images, *dots, *update, *copy;
    mmt_operand a, b, x, vectors, results, workspace;
};

static void close_solver(struct solver *s)
{
    mmt_plan *plans[] = { s->residual, s->images, s->dots, s->update, s->copy };
    mmt_operand buffers[] = { s->a, s->b, s->x, s->vectors, s->results, s->workspace };

    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        mmt_plan_free(plans[i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        mmt_buffer_free(s->device, buffers[i]);
    mmt_timer_free(s->timer);
}

static mmt_operand vector_operand(const struct solver *s, int which)
{
    mmt_operand operand = s->vectors;
    operand.offset += (size_t) which * (size_t) s->system->n * sizeof(double);
    return operand;
}

static mmt_problem dot_problem(int64_t n)
{
    mmt_problem p = mmt_dot_problem(MMT_F64, 2, n);
    p.lda = p.ldb = n;
    p.batch = 3;
    p.stride_a = n;
    p.stride_b = 0;
    return p;
}

static mmt_status plan_all(struct solver *s, const mmt_profile *profile, mmt_error *err)
{
    int64_t n = s->system->n;
    const mmt_problem problems[] = {
        mmt_gemm_problem(MMT_F64, n, 1, n), /* A x */
        mmt_gemm_problem(MMT_F64, 2, n, n), /* (r, dx) A, which is symmetric */
        dot_problem(n),
        mmt_axpby_problem(MMT_F64, n),
        mmt_axpby_problem(MMT_F64, n),
    };
    mmt_plan **plans[] = { &s->residual, &s->images, &s->dots, &s->update, &s->copy };
    size_t workspace = 0;

    for (int i = 0; i < 5; i++) {
        *plans[i] = mmt_plan_create(s->device, profile, &problems[i], NULL, err);
        if (!*plans[i])
            return MMT_ERROR_UNSUPPORTED;
        size_t needed = mmt_plan_workspace(*plans[i]);
        workspace = needed > workspace ? needed : workspace;
    }
    return workspace ? mmt_buffer_create(s->device, workspace, &s->workspace, err)
                     : MMT_OK;
}

static mmt_status open_solver(struct solver *s, const struct mmt_study_device *device,
                              const struct mmt_cg_system *system, mmt_error *err)
{
    size_t n = (size_t) system->n, element = sizeof(double);
    *s = (struct solver){ .device = device->device, .system = system };
    const struct {
        mmt_operand *out;
        size_t count;
    } buffers[] = { { &s->a, n * n },
                    { &s->b, n },
                    { &s->x, n },
                    { &s->vectors, VECTORS * n },
                    { &s->results, DOTS } };
    mmt_status status = plan_all(s, device->profile, err);

    for (int i = 0; i < 5 && status == MMT_OK; i++)
        status =
            mmt_buffer_create(s->device, buffers[i].count * element, buffers[i].out, err);
    if (status == MMT_OK && !(s->timer = mmt_timer_create(s->device, err)))
        status = MMT_ERROR_DEVICE;
    if (status != MMT_OK)
        close_solver(s);
    return status;
}

static mmt_status run_plan(const struct solver *s, const mmt_plan *plan, double alpha,
                           mmt_operand a, mmt_operand b, double beta, mmt_operand c,
                           mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    args.alpha = alpha, args.beta = beta;
    args.a = a, args.b = b, args.c = c;
    args.workspace = s->workspace;
    return mmt_execute(plan, &args, mmt_timer_queue(s->timer), err);
}

/* r = A x - b, then A r and A dx, then the dot products. */
static mmt_status read_dots(const struct solver *s, struct dots *out, mmt_error *err)
{
    const mmt_operand none = { 0 };
    double d[DOTS];
    mmt_status status = run_plan(s, s->copy, 1, s->b, none, 0, vector_operand(s, R), err);
    if (status == MMT_OK)
        status = run_plan(s, s->residual, 1, s->a, s->x, -1, vector_operand(s, R), err);
    if (status == MMT_OK)
        status = run_plan(s, s->images, 1, vector_operand(s, R), s->a, 0,
                          vector_operand(s, AR), err);
    if (status == MMT_OK)
        status = run_plan(s, s->dots, 1, vector_operand(s, R), vector_operand(s, R), 0,
                          s->results, err);
    if (status == MMT_OK)
        status = mmt_finish(s->device, mmt_timer_queue(s->timer), err);
    if (status == MMT_OK)
        status = mmt_buffer_read(s->device, d, s->results, sizeof d, err);
    /* batch i, row j: (vector i + j, vector j) */
    *out = (struct dots){ .rr = d[0], .rd = d[2], .arr = d[4], .ard = d[3], .add = d[5] };
    return status;
}

/* dx = alpha dx + beta r; x = x + dx. */
static mmt_status advance_iterate(const struct solver *s, double alpha, double beta,
                                  mmt_error *err)
{
    mmt_status status = run_plan(s, s->update, alpha, vector_operand(s, DX),
                                 vector_operand(s, R), beta, vector_operand(s, DX), err);
    if (status == MMT_OK)
        status = run_plan(s, s->update, 1, s->x, vector_operand(s, DX), 1, s->x, err);
    return status;
}

static mmt_status solve_device(struct solver *s, int most, double tolerance,
                               struct mmt_cg_result *out, mmt_error *err)
{
    const struct mmt_cg_system *system = s->system;
    size_t bytes = (size_t) system->n * sizeof(double);
    double least = tolerance * tolerance * dot_on_host(system->n, system->b, system->b);
    double alpha, beta, *zeros = calloc(1, bytes);
    struct dots d;
    mmt_status status =
        zeros ? MMT_OK : mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for a vector");

    if (status == MMT_OK)
        status =
            mmt_buffer_write(s->device, s->a, system->a, (size_t) system->n * bytes, err);
    if (status == MMT_OK)
        status = mmt_buffer_write(s->device, s->b, system->b, bytes, err);
    if (status == MMT_OK)
        status = mmt_buffer_write(s->device, s->x, system->x, bytes, err);
    if (status == MMT_OK)
        status = mmt_buffer_write(s->device, vector_operand(s, DX), zeros, bytes, err);
    out->end = MMT_CG_STALLED;
    for (out->steps = 0; status == MMT_OK && out->steps <= most; out->steps++) {
        status = read_dots(s, &d, err);
        if (status != MMT_OK || out->steps == most ||
            iteration_ends(&d, out->steps, least, &alpha, &beta, &out->end))
            break;
        status = advance_iterate(s, alpha, beta, err);
    }
    if (status == MMT_OK)
        status = mmt_buffer_read(s->device, system->x, s->x, bytes, err);
    free(zeros);
    return status;
}

mmt_status mmt_cg_device(const struct mmt_study_device *device,
                         const struct mmt_cg_system *system, int most_steps,
                         double tolerance, struct mmt_cg_result *out, mmt_error *err)
{
    struct solver solver;
    double *work = malloc((size_t) system->n * sizeof *work);
    mmt_status status =
        work ? open_solver(&solver, device, system, err)
             : mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for a vector");
    if (status == MMT_OK) {
        double start = mmt_study_now();
        status = solve_device(&solver, most_steps, tolerance, out, err);
        out->seconds = mmt_study_now() - start;
        close_solver(&solver);
    }
    if (status == MMT_OK)
        out->residual = mmt_cg_residual(system, work);
    free(work);
    return status;
}
