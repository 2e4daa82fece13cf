/* Solve A x = b by conjugate gradients, everything but two numbers a step on the device.
 *
 *     cc cg.c $(pkg-config --cflags --libs mmtune) -lm && ./a.out [DEVICE [ORDER]]
 *
 * A is symmetric and positive definite. Each step is one matrix-vector product, two dot
 * products and three sums of vectors, all by tuned kernels. */
#include <math.h>
#include <mmtune/mmtune.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared.h"

enum { MOST_STEPS = 1000 };

static const struct argument order_argument = { "ORDER", "unknowns", 1, 30000, 500 };

/* The device, its plans, and the vectors. r, p and A p stand one after the other. */
struct solver {
    mmt_device *device;
    mmt_profile *profile;
    mmt_plan *times_a, *dots, *sum;
    mmt_operand a, x, r, p, ap, results, workspace;
    int64_t n;
};

static mmt_operand at(mmt_operand array, int64_t element)
{
    array.offset += (size_t) element * sizeof(double);
    return array;
}

static mmt_status make_plans(struct solver *s, mmt_error *err)
{
    mmt_problem times_a = mmt_gemm_problem(MMT_F64, s->n, 1, s->n);
    mmt_problem dots = mmt_dot_problem(MMT_F64, 2, s->n); /* (r, p), (p, A p) */
    mmt_problem sum = mmt_axpby_problem(MMT_F64, s->n);
    mmt_plan **plans[] = { &s->times_a, &s->dots, &s->sum };
    const mmt_problem *problems[] = { &times_a, &dots, &sum };
    size_t workspace = 0;

    for (int i = 0; i < 3; i++) {
        *plans[i] = mmt_plan_create(s->device, s->profile, problems[i], NULL, err);
        if (!*plans[i])
            return err->status;
        print_plan(*plans[i]);
        if (mmt_plan_workspace(*plans[i]) > workspace)
            workspace = mmt_plan_workspace(*plans[i]);
    }
    return workspace ? mmt_buffer_create(s->device, workspace, &s->workspace, err)
                     : MMT_OK;
}

static mmt_status open_solver(struct solver *s, const char *device, mmt_error *err)
{
    size_t vector = (size_t) s->n * sizeof(double);
    mmt_status status;

    if (!(s->device = mmt_device_open(device, err)))
        return err->status;
    s->profile = mmt_profile_find(s->device, NULL); /* NULL: defaults serve */
    status = make_plans(s, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(s->device, (size_t) s->n * vector, &s->a, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(s->device, vector, &s->x, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(s->device, 3 * vector, &s->r, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(s->device, 2 * sizeof(double), &s->results, err);
    s->p = at(s->r, s->n);
    s->ap = at(s->r, 2 * s->n);
    return status;
}

static void close_solver(struct solver *s)
{
    mmt_operand buffers[] = { s->a, s->x, s->r, s->results, s->workspace };
    for (int i = 0; i < 5; i++)
        mmt_buffer_free(s->device, buffers[i]);
    mmt_plan_free(s->times_a);
    mmt_plan_free(s->dots);
    mmt_plan_free(s->sum);
    mmt_profile_free(s->profile);
    mmt_device_close(s->device);
}

/* One execution on the device's own queue, in order: c = alpha a b + beta c of a product,
 * c = alpha a + beta b of a sum. */
static mmt_status run(const struct solver *s, const mmt_plan *plan, double alpha,
                      mmt_operand a, double beta, mmt_operand b, mmt_operand c,
                      mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    args.alpha = alpha, args.beta = beta;
    args.a = a, args.b = b, args.c = c;
    args.workspace = s->workspace;
    return mmt_execute(plan, &args, NULL, err);
}

/* The dot products of `a` with `b` and of the vectors that stand behind them; waits. */
static mmt_status dots(const struct solver *s, mmt_operand a, mmt_operand b,
                       double out[2], mmt_error *err)
{
    mmt_status status = run(s, s->dots, 1, a, 0, b, s->results, err);
    if (status == MMT_OK)
        status = mmt_buffer_read(s->device, out, s->results, 2 * sizeof *out, err);
    return status;
}

__attribute__((format(printf, 3, 4))) static mmt_status give_up(mmt_error *err,
                                                                mmt_status status,
                                                                const char *why, ...)
{
    va_list list;
    va_start(list, why);
    vsnprintf(err->text, sizeof err->text, why, list);
    va_end(list);
    return err->status = status;
}

/* From x = 0: r = p = b. */
static mmt_status start(struct solver *s, const double *b, mmt_error *err)
{
    size_t vector = (size_t) s->n * sizeof(double);
    mmt_operand copies[] = { s->r, s->p, s->ap }; /* A p is written before it is read */
    double *zeros = calloc((size_t) s->n, sizeof *zeros);
    mmt_status status = zeros ? mmt_buffer_write(s->device, s->x, zeros, vector, err)
                              : give_up(err, MMT_ERROR_MEMORY,
                                        "no memory for %lld numbers", (long long) s->n);
    free(zeros);
    for (int i = 0; i < 3 && status == MMT_OK; i++)
        status = mmt_buffer_write(s->device, copies[i], b, vector, err);
    return status;
}

/* x, r and p after a step; *rr is (r, r) before and after. */
static mmt_status step(struct solver *s, double *rr, mmt_error *err)
{
    double d[2] = { 0 };
    mmt_status status = run(s, s->times_a, 1, s->a, 0, s->p, s->ap, err);
    if (status == MMT_OK) /* (r, p) and (p, A p) */
        status = dots(s, s->r, s->p, d, err);
    if (status == MMT_OK && !(d[1] > 0))
        status = give_up(
            err, MMT_ERROR_ARGUMENT,
            "(p, A p) is %g, which must be above 0: A is not positive definite", d[1]);
    double alpha = *rr / d[1];
    if (status == MMT_OK)
        status = run(s, s->sum, alpha, s->p, 1, s->x, s->x, err);
    if (status == MMT_OK)
        status = run(s, s->sum, -alpha, s->ap, 1, s->r, s->r, err);
    if (status == MMT_OK) /* (r, r) and (p, p) */
        status = dots(s, s->r, s->r, d, err);
    if (status == MMT_OK)
        status = run(s, s->sum, 1, s->r, d[0] / *rr, s->p, s->p, err);
    *rr = d[0];
    return status;
}

/* Until |r| is at most `tolerance` times |b|. */
static mmt_status solve(struct solver *s, const double *b, double tolerance, int *steps,
                        mmt_error *err)
{
    double d[2] = { 0 };
    mmt_status status = start(s, b, err);
    if (status == MMT_OK)
        status = dots(s, s->r, s->r, d, err);

    double rr = d[0], least = tolerance * tolerance * rr;
    for (*steps = 0; status == MMT_OK && rr > least; ++*steps)
        status = *steps < MOST_STEPS
                     ? step(s, &rr, err)
                     : give_up(err, MMT_ERROR_ARGUMENT,
                               "after %d steps |r| is still %g; it should be at most %g",
                               MOST_STEPS, sqrt(rr), sqrt(least));
    return status;
}

/* Diagonally dominant, so that it is positive definite; b = A times a known solution. */
static void make_system(int64_t n, double *a, double *known, double *b)
{
    unsigned seed = 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            seed = seed * 1664525u + 1013904223u;
            a[i * n + j] = a[j * n + i] =
                ((seed >> 8) / 16777216.0 - 0.5) / (double) n + (i == j ? 1 : 0);
        }
    for (int64_t i = 0; i < n; i++) {
        known[i] = sin((double) i);
        b[i] = 0;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            b[i] += a[i * n + j] * known[j];
}

/* The solution, into x; and on the way, on which device and in how many steps. */
static mmt_status solve_on(const char *name, int64_t n, const double *a, const double *b,
                           double *x, mmt_error *err)
{
    struct solver s = { .n = n };
    int steps = 0;
    mmt_status status = open_solver(&s, name, err);
    if (status == MMT_OK)
        status = mmt_buffer_write(s.device, s.a, a, (size_t) (n * n) * sizeof *a, err);
    if (status == MMT_OK)
        status = solve(&s, b, 1e-12, &steps, err);
    if (status == MMT_OK)
        status = mmt_buffer_read(s.device, x, s.x, (size_t) n * sizeof *x, err);
    if (status == MMT_OK)
        printf("%s: order %lld, %d steps", mmt_device_name(s.device), (long long) n,
               steps);
    close_solver(&s);
    return status;
}

int main(int argc, char **argv)
{
    limit_arguments(argc, argv, 2);
    int64_t n = read_argument(argc, argv, 2, &order_argument);
    mmt_error err = { 0 };
    double worst = 0;
    double *memory = calloc((size_t) (n * (n + 3)), sizeof *memory);
    double *a = memory, *known = memory + n * n, *b = known + n, *x = b + n;

    if (!memory) {
        fprintf(stderr, "no memory for a system of order %lld\n", (long long) n);
        return EXIT_FAILURE;
    }
    make_system(n, a, known, b);
    if (solve_on(argc > 1 ? argv[1] : NULL, n, a, b, x, &err)) {
        free(memory);
        return report_failure(&err);
    }
    for (int64_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(x[i] - known[i]));
    printf(", largest error %.2g of numbers up to 1\n", worst);
    free(memory);
    return worst < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
