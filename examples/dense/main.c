/* A walk through the container: sums, products, moves and copies, held against the host,
 * with an account of live matrices and memory.
 *
 *     cc main.c dense.c sizes.c $(pkg-config --cflags --libs mmtune) -lm
 *     ./a.out [DEVICE [ORDER [MIB]]]
 *
 * MIB is memory of the device that three matrices are to fill, as large as they can be.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared.h"
#include "dense.h"
#include "sizes.h"

static const struct argument order_argument = { "ORDER", "rows", 1, 20000, 100 };
static const struct argument memory_argument = { "MIB", "MiB", 1, 1 << 30, 64 };

static void fill(double *x, int64_t count, unsigned seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (seed >> 8) / 16777216.0 - 0.5;
    }
}

/* The largest difference between a matrix and what the host has; negative: it failed. */
static double distance(const struct dense *matrix, const double *host, double *room)
{
    double most = 0;
    if (!dense_to_host(matrix, room))
        return -1;
    for (int64_t i = 0; i < matrix->rows * matrix->columns; i++)
        most = fmax(most, fabs(room[i] - host[i]));
    return most;
}

static int count_failures;

static void expect(bool held, const char *what)
{
    printf("%-58s %s\n", what, held ? "ok" : "WRONG");
    count_failures += !held;
}

/* What the host computes, and room for what comes back. */
struct host {
    int64_t n;
    double *a, *b, *out, *room;
};

/* Each operation against its twin on the host. */
static void operations(const struct host *h, const struct dense *a, const struct dense *b)
{
    int64_t count = h->n * h->n;
    struct dense out = { 0 };

    expect(dense_add(a, b, &out), "A + B");
    dense_host_add(count, h->a, h->b, h->out);
    expect(distance(&out, h->out, h->room) == 0, "    is exact");
    dense_free(&out);
    expect(dense_subtract(a, b, &out), "A - B");
    dense_host_subtract(count, h->a, h->b, h->out);
    expect(distance(&out, h->out, h->room) == 0, "    is exact");
    dense_free(&out);
    expect(dense_scale(-0.75, a, &out), "-3/4 A");
    dense_host_scale(count, -0.75, h->a, h->out);
    expect(distance(&out, h->out, h->room) == 0, "    is exact");
    dense_free(&out);
    expect(dense_multiply(a, b, &out), "A B");
    dense_host_multiply(h->n, h->n, h->n, h->a, h->b, h->out);
    double apart = distance(&out, h->out, h->room);
    expect(apart >= 0 && apart < 1e-13 * (double) h->n,
           "    equals the host's but for rounding");
    dense_free(&out);
    double dot = 0, host_dot = 0;
    expect(dense_dot(a, b, &dot), "the sum of a_ij b_ij");
    for (int64_t i = 0; i < count; i++)
        host_dot += h->a[i] * h->b[i];
    expect(fabs(dot - host_dot) < 1e-14 * (double) count,
           "    equals the host's but for rounding");
}

/* Who owns what: sums live beside their terms, moves make nothing, copies do. */
static void life(struct dense_context *context, const struct host *h,
                 const struct dense *a, const struct dense *b)
{
    struct dense sum = { 0 }, copy = { 0 }, ones = { 0 }, odd = { 0 }, none = { 0 };

    expect(dense_add(a, b, &sum) && dense_live(context) == 3,
           "C = A + B: three matrices live");
    expect(dense_copy(&sum, &copy) && dense_live(context) == 4,
           "with a copy of C there are four");
    struct dense moved = dense_move(&sum);
    expect(!sum.data.handle && dense_live(context) == 4,
           "a move makes none, and leaves an empty matrix");
    for (int64_t i = 0; i < h->n * h->n; i++)
        h->out[i] = 1;
    expect(dense_filled(context, h->n, h->n, 1, &ones) &&
               distance(&ones, h->out, h->room) == 0,
           "a matrix of ones");
    expect(dense_create(context, h->n + 1, h->n, &odd) && !dense_add(a, &odd, &none) &&
               !dense_multiply(a, &odd, &none),
           "shapes that do not fit are refused");
    printf("    \"%s\"\n", dense_error(context));
    struct dense *all[] = { &sum, &copy, &moved, &ones, &odd };
    for (int i = 0; i < 5; i++)
        dense_free(all[i]);
}

static void walk(struct dense_context *context, const struct host *h)
{
    struct dense a = { 0 }, b = { 0 };

    expect(dense_from_host(context, h->n, h->n, h->a, &a) &&
               dense_from_host(context, h->n, h->n, h->b, &b),
           "two matrices from the host");
    if (a.data.handle && b.data.handle) {
        operations(h, &a, &b);
        life(context, h, &a, &b);
    }
    dense_free(&a);
    dense_free(&b);
    expect(dense_live(context) == 0 && dense_bytes(context) == 0, "nothing is left");
}

/* What could not be tried at all: neither right nor wrong. */
static void give_up(const struct dense_context *context, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, dense_error(context));
    count_failures++;
}

/* ---- how large may they be? ------------------------------------------------------- */

static const double gib = 1024.0 * 1024 * 1024;

/* The largest order that `memory` holds three times is there to be had, unless the device
 * has less, and what no device holds is refused. */
static void allocate_most(struct dense_context *context, double memory)
{
    int64_t n = dense_largest(3, memory);
    struct dense three[3] = { { 0 } }, too_large = { 0 };
    bool all = true;

    for (int i = 0; i < 3 && all; i++)
        all = dense_create(context, n, n, &three[i]);
    printf("three of order %lld in %.3f GiB\n", (long long) n, memory / gib);
    if (all)
        expect((double) dense_bytes(context) <= memory &&
                   !dense_plan_size(n + 1, 3, memory).fits,
               "are there, and the next order would not fit");
    else
        give_up(context, "MIB is more than this device gives");
    for (int i = 0; i < 3; i++)
        dense_free(&three[i]);
    expect(!dense_create(context, INT32_MAX, INT32_MAX, &too_large),
           "order 2147483647 is refused");
    printf("    \"%s\"\n", dense_error(context));
}

/* 25000 doubles squared are 4.66 GiB; three of them are not for a card of 12 GiB. */
static void sizes(void)
{
    struct dense_size paper = dense_plan_size(25000, 3, 12 * gib);
    struct dense_size tall = dense_plan_size(65535 * 32 + 1, 3, 1e18);
    int64_t most = dense_largest(3, 12 * gib);

    printf("order 25000: %.3f GiB each, %.2f GiB for three\n", paper.bytes_each / gib,
           paper.bytes / gib);
    expect(!paper.fits, "which 12 GiB do not hold");
    printf("three of order %lld fit\n", (long long) most);
    expect(dense_plan_size(most, 3, 12 * gib).fits &&
               !dense_plan_size(most + 1, 3, 12 * gib).fits,
           "and the next order is refused before anything is launched");
    expect(!tall.fits_y, "more than 65535 blocks of 32 rows do not fit the grid's y");
}

/* The paper's greatest orders by the grid alone beside those of today's cards. */
static void grids(void)
{
    printf("greatest order by the grid, rows: the paper 1482880, here %lld by its rule "
           "and %lld with 65535 blocks in y\n",
           (long long) dense_paper_order(2), (long long) dense_grid_order());
    printf(
        "with k split along z, rows: the paper 40960, here %lld by its rule and %lld\n",
        (long long) dense_paper_order(3), (long long) dense_grid_order());
    expect(dense_paper_order(2) == 1482880 && dense_paper_order(3) == 40960,
           "the paper's rule gives the paper's figures");
    expect(dense_plan_size(dense_grid_order(), 3, 1e18).fits_y &&
               !dense_plan_size(dense_grid_order() + 1, 3, 1e18).fits_y,
           "a card's rule gives the last order that fits the grid's y");
}

int main(int argc, char **argv)
{
    limit_arguments(argc, argv, 3);
    int64_t n = read_argument(argc, argv, 2, &order_argument);
    double mib = (double) read_argument(argc, argv, 3, &memory_argument);
    mmt_error err = { 0 };
    struct dense_context *context = dense_open(argc > 1 ? argv[1] : NULL, &err);
    if (!context)
        return report_failure(&err);

    double *memory = malloc(4 * (size_t) (n * n) * sizeof *memory);
    if (memory) {
        struct host host = { n, memory, memory + n * n, memory + 2 * n * n,
                             memory + 3 * n * n };
        fill(host.a, n * n, 1);
        fill(host.b, n * n, 2);
        walk(context, &host);
        dense_print_plans(context);
        allocate_most(context, mib * 1024 * 1024);
        sizes();
        grids();
    }
    expect(memory, "memory of the host");
    free(memory);
    dense_close(context);
    return count_failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
