#include "sizes.h"

#include <math.h>

enum { MOST_Y = 65535, BLOCK = 32 };

struct dense_size dense_plan_size(int64_t n, int live, double memory)
{
    struct dense_size size = { .n = n, .live = live };

    size.bytes_each = (double) n * (double) n * sizeof(double);
    size.bytes = live * size.bytes_each;
    size.blocks_y = (n + BLOCK - 1) / BLOCK;
    size.fits = size.bytes <= memory && n <= INT32_MAX;
    size.fits_y = size.blocks_y <= MOST_Y;
    return size;
}

int64_t dense_largest(int live, double memory)
{
    int64_t n = (int64_t) sqrt(memory / (live * (double) sizeof(double)));
    while (dense_plan_size(n + 1, live, memory).fits)
        n++;
    while (n > 0 && !dense_plan_size(n, live, memory).fits)
        n--;
    return n;
}

int64_t dense_paper_order(int dimensions)
{
    int64_t blocks = (int64_t) pow(INT32_MAX, 1.0 / dimensions);
    return (dimensions == 3 ? blocks - blocks % BLOCK : blocks) * BLOCK;
}

int64_t dense_grid_order(void)
{
    return (int64_t) MOST_Y * BLOCK;
}
