// Helpers of kernels of which a block computes a tile of C, TILE_M x TILE_N, by steps of
// TILE_K: which tile and which split of k, and where sums of such a part stand.

#ifndef CLUSTER
#define CLUSTER 1             // blocks along y that add their parts up before they store
#endif                        // them as one
#ifndef PARTS
#define PARTS SPLIT_K         // of k that leave their accumulators in the workspace
#endif

DEVICE_FN int smaller(int a, int b)
{
    return a < b ? a : b;
}

DEVICE_FN int larger(int a, int b)
{
    return a > b ? a : b;
}

// Where a tile begins: RASTER_GROUP rows of tiles are walked column by column.
DEVICE_FN void place_tile(unsigned tile, int m, int n, int *row, int *column)
{
    const unsigned tiles_m = (m - 1) / TILE_M + 1, tiles_n = (n - 1) / TILE_N + 1;
    const unsigned group = tile / (RASTER_GROUP * tiles_n);
    const unsigned in_group = tile % (RASTER_GROUP * tiles_n);
    const unsigned group_rows = smaller(RASTER_GROUP, tiles_m - group * RASTER_GROUP);
    *row = (group * RASTER_GROUP + in_group % group_rows) * TILE_M;
    *column = in_group / group_rows * TILE_N;
}

// The tile of this block.
DEVICE_FN void find_tile(int m, int n, int *row, int *column)
{
    place_tile(BLOCK_X, m, n, row, column);
}

// Where the part-th of PARTS * CLUSTER splits of k begins: all have the same whole number
// of tiles or one more. Of a k with fewer tiles than that, some are empty.
DEVICE_FN int part_start(int part, int k)
{
    const wide tiles = ((wide) k + TILE_K - 1) / TILE_K;
    const wide start = tiles * part / (PARTS * CLUSTER) * TILE_K;
    return start < k ? (int) start : k;
}

// Blocks that share a tile leave the accumulators of their splits of k in the workspace: for each
// matrix of the batch PARTS matrices like C, with rows of a multiple of 4 elements.
DEVICE_FN int partial_ld(int n)
{
    return (n + 3) / 4 * 4;
}

DEVICE_FN GLOBAL real *partial_at(GLOBAL real *workspace, int m, int n, int row,
                                  int column)
{
    const wide part = (wide) BLOCK_Z * PARTS + BLOCK_Y / CLUSTER;
    return workspace + (part * m + row) * partial_ld(n) + column;
}
