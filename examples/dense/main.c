/* A walk through the container: sums, products, moves and copies, held against the host,
 * with an account of live matrices and memory.
 *
 *     dense [DEVICE [ORDER]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dense.h"

enum { SKIP = 77, USUAL_ORDER = 100 };

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

/* (a + b) a, moved along; afterwards only what still has an owner lives. */
static void walk(struct dense_context *context, int64_t n, double *host[5])
{
    struct dense a = { 0 }, b = { 0 }, sum = { 0 }, product = { 0 }, moved, copy = { 0 };
    struct dense odd = { 0 }, none = { 0 };

    expect(dense_from_host(context, n, n, host[0], &a) &&
               dense_from_host(context, n, n, host[1], &b),
           "two matrices from the host");
    expect(dense_add(&a, &b, &sum) && dense_live(context) == 3,
           "C = A + B: three matrices live");
    dense_host_add(n * n, host[0], host[1], host[2]);
    expect(distance(&sum, host[2], host[4]) == 0, "sums are exact");

    expect(dense_copy(&sum, &copy) && dense_live(context) == 4,
           "with a copy of C there are four");
    dense_free(&copy);
    moved = dense_move(&sum);
    expect(!sum.data.handle && dense_live(context) == 3,
           "a move makes none, and leaves an empty matrix");

    expect(dense_multiply(&moved, &a, &product), "(A + B) A");
    dense_host_multiply(n, n, n, host[2], host[0], host[3]);
    expect(fabs(distance(&product, host[3], host[4])) < 1e-13 * (double) n,
           "equal to the host's product but for rounding");

    expect(dense_create(context, n + 1, n, &odd) && !dense_add(&a, &odd, &none) &&
               !dense_multiply(&a, &odd, &none),
           "shapes that do not fit are refused");
    printf("    \"%s\"\n", dense_error(context));
    struct dense *all[] = { &a, &b, &sum, &product, &moved, &odd };
    for (int i = 0; i < 6; i++)
        dense_free(all[i]);
    expect(dense_live(context) == 0 && dense_bytes(context) == 0, "nothing is left");
}

/* 25000 doubles squared are 4.66 GiB; three of them are not for a card of 12 GiB. */
static void sizes(void)
{
    const double gib = 1024.0 * 1024 * 1024;
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

int main(int argc, char **argv)
{
    int64_t n = argc > 2 ? atoll(argv[2]) : USUAL_ORDER;
    double *host[5];
    mmt_error err;
    struct dense_context *context = dense_open(argc > 1 ? argv[1] : NULL, &err);

    if (!context) {
        fprintf(stderr, "%s\n", err.text);
        return err.status == MMT_ERROR_NOT_FOUND ? SKIP : EXIT_FAILURE;
    }
    for (int i = 0; i < 5; i++)
        host[i] = malloc((size_t) (n * n) * sizeof(double));
    if (n < 1 || !host[0] || !host[1] || !host[2] || !host[3] || !host[4])
        return fprintf(stderr, "no memory for matrices of order %lld\n", (long long) n);
    fill(host[0], n * n, 1);
    fill(host[1], n * n, 2);
    walk(context, n, host);
    sizes();
    for (int i = 0; i < 5; i++)
        free(host[i]);
    dense_close(context);
    return count_failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
