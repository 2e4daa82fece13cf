/* The two-parameter method of conjugate gradients, written with the container of matrices
 * (Ustyuzhanin, Pitskhelauri, Nekrasov, IRJ 2024 No. 143, Fig. 5).
 *
 *     cc cg.c dense.c $(pkg-config --cflags --libs mmtune) -lm
 *     ./a.out [DEVICE [ORDER]]
 *
 *     r = A x - b
 *     D = (A dx, dx) (A r, r) - (A r, dx)^2
 *     alpha = ((r, r) (A r, dx) - (r, dx) (A r, r)) / D
 *     beta  = ((r, dx) (A r, dx) - (r, r) (A dx, dx)) / D
 *     dx = alpha dx + beta r,   x = x + dx
 *
 * In the first step dx is 0, alpha 0 and beta -(r, r) / (A r, r). The paper makes all
 * steps; here the method stops where |r| is at most TOLERANCE times |b|, before D is 0 /
 * 0. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared.h"
#include "dense.h"

#define TOLERANCE 1e-12

static const struct argument order_argument = { "ORDER", "unknowns", 1, 10000, 300 };

/* *to becomes *from, which is left empty. */
static void assign(struct dense *to, struct dense *from)
{
    dense_free(to);
    *to = dense_move(from);
}

/* out = A x - b. */
static bool residual(const struct dense *a, const struct dense *x, const struct dense *b,
                     struct dense *out)
{
    struct dense image = { 0 };
    bool done = dense_multiply(a, x, &image) && dense_subtract(&image, b, out);
    dense_free(&image);
    return done;
}

/* alpha and beta of a step. */
static bool find_parameters(const struct dense *a, const struct dense *r,
                            const struct dense *dx, bool first, double *alpha,
                            double *beta)
{
    struct dense ar = { 0 }, adx = { 0 };
    double rr = 0, rd = 0, arr = 0, ard = 0, add = 0;
    bool done = dense_multiply(a, r, &ar) && dense_multiply(a, dx, &adx) &&
                dense_dot(r, r, &rr) && dense_dot(r, dx, &rd) &&
                dense_dot(&ar, r, &arr) && dense_dot(&ar, dx, &ard) &&
                dense_dot(&adx, dx, &add);
    double d = add * arr - ard * ard;
    *alpha = first ? 0 : (rr * ard - rd * arr) / d;
    *beta = first ? -rr / arr : (rd * ard - rr * add) / d;
    dense_free(&ar);
    dense_free(&adx);
    return done;
}

/* dx = alpha dx + beta r, x = x + dx. */
static bool advance(double alpha, double beta, const struct dense *r, struct dense *dx,
                    struct dense *x)
{
    struct dense old = { 0 }, new = { 0 }, sum = { 0 };
    bool done = dense_scale(alpha, dx, &old) && dense_scale(beta, r, &new) &&
                dense_add(&old, &new, &sum);
    if (done)
        assign(dx, &sum);
    done = done && dense_add(x, dx, &sum);
    if (done)
        assign(x, &sum);
    dense_free(&old);
    dense_free(&new);
    return done;
}

/* From x = 0; the number of steps, at most as many as there are unknowns and ten for
 * rounding. Negative: an operation failed. */
static int solve(const struct dense *a, const struct dense *b, struct dense *x)
{
    struct dense r = { 0 }, dx = { 0 };
    double bb = 0, rr = 0, alpha, beta;
    int most = (int) b->rows + 10, step = 0;
    bool done = dense_scale(0, b, x) && dense_copy(x, &dx) && dense_dot(b, b, &bb);

    for (; done && step <= most; step++) {
        dense_free(&r);
        done = residual(a, x, b, &r) && dense_dot(&r, &r, &rr);
        if (!done || rr <= TOLERANCE * TOLERANCE * bb || step == most)
            break;
        done = find_parameters(a, &r, &dx, step == 0, &alpha, &beta) &&
               advance(alpha, beta, &r, &dx, x);
    }
    dense_free(&r);
    dense_free(&dx);
    return done ? step : -1;
}

/* Symmetric and diagonally dominant; b = A times a known solution. */
static void make_system(int64_t n, double *a, double *known, double *b)
{
    for (int64_t i = 0; i < n; i++) {
        known[i] = sin((double) i);
        for (int64_t j = 0; j < n; j++)
            a[i * n + j] = cos((double) (i * j % 97)) / (double) n + (i == j ? 2 : 0);
    }
    dense_host_multiply(n, n, 1, a, known, b);
}

static int solve_on(struct dense_context *context, int64_t n, double *memory)
{
    double *known = memory + n * n, *found = known + n, *b = found + n, worst = 0;
    struct dense a = { 0 }, right = { 0 }, x = { 0 };
    int steps = -1;

    make_system(n, memory, known, b);
    if (dense_from_host(context, n, n, memory, &a) &&
        dense_from_host(context, n, 1, b, &right))
        steps = solve(&a, &right, &x);
    if (steps >= 0 && !dense_to_host(&x, found))
        steps = -1;
    dense_free(&a);
    dense_free(&right);
    dense_free(&x);
    if (steps < 0) {
        fprintf(stderr, "%s\n", dense_error(context));
        return EXIT_FAILURE;
    }
    dense_print_plans(context);
    for (int64_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(found[i] - known[i]));
    printf("order %lld: %d steps, largest error %.2g of numbers up to 1; %d matrices are "
           "left\n",
           (long long) n, steps, worst, dense_live(context));
    return worst < 1e-9 && !dense_live(context) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    limit_arguments(argc, argv, 2);
    int64_t n = read_argument(argc, argv, 2, &order_argument);
    mmt_error err = { 0 };
    struct dense_context *context = dense_open(argc > 1 ? argv[1] : NULL, &err);
    if (!context)
        return report_failure(&err);

    double *memory = malloc((size_t) (n * (n + 3)) * sizeof *memory);
    int code = EXIT_FAILURE;
    if (memory)
        code = solve_on(context, n, memory);
    else
        fprintf(stderr, "no memory for a system of order %lld\n", (long long) n);
    free(memory);
    dense_close(context);
    return code;
}
