/* How high to build pyramids over a grid that exceeds a device's memory, and how many:
 * (numBlocks, h) = buildPyramids(memory, N) of Vorotnikova, Kochurov, Golovashkin,
 * Computer Optics 2015 39(5), doi 10.18287/0134-2452-2015-39-5-801-807.
 *
 * The grid has N planes of N x N values, and so has the right-hand side. A block takes R
 * planes of both to the device, makes h sweeps there and returns the R - 2h planes that
 * are valid. The first and the last block lose planes on one side alone. So
 *
 *     R = memory / (3 N^2 bytes of a value)        two arrays and the right-hand side
 *     numBlocks = ceil((N - 2h) / (R - 2h))
 *     T = numBlocks (2 R t_send + (R - 2h) t_receive + h (R - h - 1) t_plane)
 *
 * which is the paper's equation (2), (3R - 2h) t_copy, where planes take as long there as
 * back. T is the time of h sweeps: T / h is made least. The paper says T, which would
 * always choose the least height.
 *
 * Plain C on the C library alone. All functions may be called from any thread. */
#ifndef PYRAMIDS_H
#define PYRAMIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds for one plane of N x N values, measured on the device at hand. */
struct pyramid_costs {
    double send, receive; /* to the device, and back */
    double plane;         /* one sweep over it */
};

struct pyramids {
    int64_t blocks, height; /* numBlocks and h, which is also the sweeps of a pass */
    int64_t width;          /* R, planes; N where one block holds the grid */
    double seconds;         /* T that is expected of a pass */
};

/* R for so many bytes of device memory, at most N. `value`: bytes of one. */
int64_t pyramid_width(int64_t memory, int64_t n, size_t value);

int64_t pyramid_blocks(int64_t n, int64_t width, int64_t height);

/* T, for any height of at least 1 and below R / 2, or any where R is N. */
double pyramid_seconds(const struct pyramid_costs *costs, int64_t n, int64_t width,
                       int64_t height);

/* The heights that are tried, ascending: 1, and up to 14 above 2 and below N / 10, where
 * the paper vouches for the model, as far as blocks are wide enough. How many. */
enum { PYRAMID_HEIGHTS = 15 };
int pyramid_heights(int64_t n, int64_t width, int64_t heights[PYRAMID_HEIGHTS]);

/* The pyramids with the least T / h. False where the memory does not hold a block of 3
 * planes, which height 1 needs: 9 N^2 values. N is at least 3. */
bool build_pyramids(int64_t memory, int64_t n, size_t value,
                    const struct pyramid_costs *costs, struct pyramids *out);

#endif
