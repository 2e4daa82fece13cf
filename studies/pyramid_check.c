/* Are the bits those of plain sweeps, and the counts those of Table 1? */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pyramid.h"

static mmt_status check_shape(const struct mmt_study_device *device,
                              struct mmt_pyramid_grid *grid,
                              const struct mmt_pyramid_shape *shape, const void *plain,
                              mmt_error *err)
{
    struct mmt_pyramid_counts total, interior, table;
    struct mmt_pyramid *pyramid;
    mmt_status status = mmt_pyramid_open(device, grid, shape, &pyramid, err);
    if (status != MMT_OK)
        return status;

    memset(grid->next, 0xff, mmt_pyramid_bytes(grid));
    status = mmt_pyramid_pass(pyramid, &total, &interior, err);
    mmt_pyramid_close(pyramid);
    if (status != MMT_OK)
        return status;

    if (memcmp(grid->next, plain, mmt_pyramid_bytes(grid)))
        return mmt_study_fail(err, MMT_ERROR_DEVICE,
                              "h = %" PRId64 ", R = %" PRId64
                              "%s: other bits than %" PRId64 " plain sweeps",
                              shape->height, shape->width,
                              shape->overlap ? ", overlapped" : "", shape->height);
    table = mmt_pyramid_table1(grid, shape);
    if (interior.blocks &&
        (interior.sent != table.sent || interior.received != table.received ||
         interior.stencils != table.stencils))
        return mmt_study_fail(
            err, MMT_ERROR_DEVICE,
            "h = %" PRId64 ", R = %" PRId64
            ": a block moves or computes something else than Table 1 says",
            shape->height, shape->width);
    return MMT_OK;
}

static int plain_passes(struct mmt_pyramid_grid *grid, int64_t h, double least, int most,
                        void *spare)
{
    double change = INFINITY;
    int passes = 0;
    for (; passes < most && change > least; passes++) {
        mmt_pyramid_plain(grid, h, spare);
        change = mmt_pyramid_change(grid);
        mmt_pyramid_turn(grid);
    }
    return passes;
}

/* The stop test looks at all blocks: as many passes as plain sweeps need, and their bits.
 */
static mmt_status check_end(const struct mmt_study_options *options,
                            const struct mmt_study_device *device, mmt_type type,
                            mmt_error *err)
{
    enum { PLANES = 25, SIDE = 11, MOST = 1000 };
    const struct mmt_pyramid_shape shape = { 3, 9, false };
    const double least = 1e-4;
    struct mmt_pyramid_grid grid, plain;
    struct mmt_pyramid *pyramid = NULL;
    struct mmt_pyramid_end end = { 0 };
    mmt_status status =
        mmt_pyramid_grid_make(type, PLANES, SIDE, options->seed, &grid, err);
    if (status != MMT_OK)
        return status;
    status = mmt_pyramid_grid_make(type, PLANES, SIDE, options->seed, &plain, err);
    if (status != MMT_OK) {
        mmt_pyramid_grid_free(&grid);
        return status;
    }
    void *spare = malloc(mmt_pyramid_bytes(&grid));
    status = spare ? mmt_pyramid_open(device, &grid, &shape, &pyramid, err)
                   : mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for a grid");
    if (status == MMT_OK)
        status = mmt_pyramid_solve(pyramid, &grid, least, MOST, &end, err);
    if (status == MMT_OK) {
        int passes = plain_passes(&plain, shape.height, least, MOST, spare);
        bool same = passes == end.passes && end.change <= least &&
                    !memcmp(grid.now, plain.now, mmt_pyramid_bytes(&grid));
        mmt_study_say(options,
                      "until no node of any block changes by more than %g: %d passes of "
                      "%d sweeps, and plain sweeps need %d",
                      least, end.passes, (int) shape.height, passes);
        if (!same)
            status =
                mmt_study_fail(err, MMT_ERROR_DEVICE,
                               "pyramids end after %d passes, plain sweeps after %d, or "
                               "with other bits",
                               end.passes, passes);
    }
    mmt_pyramid_close(pyramid);
    free(spare);
    mmt_pyramid_grid_free(&grid);
    mmt_pyramid_grid_free(&plain);
    return status;
}

mmt_status mmt_pyramid_check(const struct mmt_study_options *options,
                             const struct mmt_study_device *device, mmt_type type,
                             mmt_error *err)
{
    enum { PLANES = 37, SIDE = 19, HIGHEST = 5 };
    struct mmt_pyramid_grid grid;
    int shapes = 0;
    mmt_status status =
        mmt_pyramid_grid_make(type, PLANES, SIDE, options->seed, &grid, err);
    if (status != MMT_OK)
        return status;

    void *spare = malloc(mmt_pyramid_bytes(&grid)),
         *plain = malloc(mmt_pyramid_bytes(&grid));
    if (!spare || !plain)
        status = mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for a grid");
    for (int64_t h = 1; h <= HIGHEST && status == MMT_OK; h++) {
        struct mmt_pyramid_grid host = grid;
        host.next = plain;
        mmt_pyramid_plain(&host, h, spare);
        for (int64_t width = 2 * h + 1; width <= PLANES && status == MMT_OK; width += 5)
            for (int overlap = 0; overlap < 2 && status == MMT_OK; overlap++, shapes++)
                status = check_shape(device, &grid,
                                     &(struct mmt_pyramid_shape){ h, width, overlap },
                                     plain, err);
    }
    if (status == MMT_OK)
        mmt_study_say(
            options,
            "%d pyramids of heights 1 to %d: the bits of plain sweeps; interior "
            "blocks move and compute what Table 1 says",
            shapes, HIGHEST);
    free(spare);
    free(plain);
    mmt_pyramid_grid_free(&grid);
    return status ? status : check_end(options, device, type, err);
}
