#include "pyramids.h"

#include <math.h>

int64_t pyramid_width(int64_t memory, int64_t n, size_t value)
{
    int64_t width = memory / (3 * n * n * (int64_t) value);
    return width < n ? width : n;
}

int64_t pyramid_blocks(int64_t n, int64_t width, int64_t height)
{
    int64_t returned = width - 2 * height;
    return width >= n ? 1 : (n - 2 * height + returned - 1) / returned;
}

double pyramid_seconds(const struct pyramid_costs *costs, int64_t n, int64_t width,
                       int64_t height)
{
    int64_t lost = width < n ? height : 0; /* planes on either side */
    int64_t swept = width < n ? width - height - 1 : width - 2;
    return (double) pyramid_blocks(n, width, height) *
           ((double) (2 * width) * costs->send +
            (double) (width - 2 * lost) * costs->receive +
            (double) (height * swept) * costs->plane);
}

int pyramid_heights(int64_t n, int64_t width, int64_t heights[PYRAMID_HEIGHTS])
{
    int64_t most = (n - 1) / 10, widest = (width - 1) / 2;
    int count = 0;

    most = most < widest || width >= n ? most : widest;
    heights[count++] = 1;
    int64_t step = (most - 3) / (PYRAMID_HEIGHTS - 1) + 1;
    for (int64_t h = 3; h <= most && count < PYRAMID_HEIGHTS; h += step)
        heights[count++] = h;
    return count;
}

bool build_pyramids(int64_t memory, int64_t n, size_t value,
                    const struct pyramid_costs *costs, struct pyramids *out)
{
    int64_t heights[PYRAMID_HEIGHTS], width = pyramid_width(memory, n, value);
    double least = INFINITY;
    if (width < 3)
        return false;

    int count = pyramid_heights(n, width, heights);
    for (int i = 0; i < count; i++) {
        double seconds = pyramid_seconds(costs, n, width, heights[i]);
        if (seconds / (double) heights[i] >= least)
            continue;
        least = seconds / (double) heights[i];
        *out = (struct pyramids){ pyramid_blocks(n, width, heights[i]), heights[i], width,
                                  seconds };
    }
    return true;
}
