// Helpers of kernels of which a block computes a tile of C, TILE_M x TILE_N, by steps of
// TILE_K: which tile and which part of k, storing, and adding up the sums of blocks that
// share a tile.

#ifdef TYPE_F64
#define MAX_VECTOR 2          // elements in 16 bytes
#else
#define MAX_VECTOR 4
#endif
#ifndef C_VECTOR
#define C_VECTOR MAX_VECTOR   // elements of C per store to global memory
#endif
#ifndef CLUSTER
#define CLUSTER 1             // blocks along y that add their parts up before they store
#endif                        // them as one

DEVICE_FN int smaller(int a, int b)
{
    return a < b ? a : b;
}

// Where a tile begins: GROUP rows of tiles are walked column by column.
DEVICE_FN void place_tile(unsigned tile, int m, int n, int *row, int *column)
{
    const unsigned tiles_m = (m - 1) / TILE_M + 1, tiles_n = (n - 1) / TILE_N + 1;
    const unsigned group = tile / (GROUP * tiles_n);
    const unsigned in_group = tile % (GROUP * tiles_n);
    const unsigned group_rows = smaller(GROUP, tiles_m - group * GROUP);
    *row = (group * GROUP + in_group % group_rows) * TILE_M;
    *column = in_group / group_rows * TILE_N;
}

// The tile of this block.
DEVICE_FN void find_tile(int m, int n, int *row, int *column)
{
    place_tile(BLOCK_X, m, n, row, column);
}

// Where the part-th of SPLIT_K * CLUSTER parts of k begins: all have the same whole number
// of tiles or one more. Of a k with fewer tiles than that, some are empty.
DEVICE_FN int part_start(int part, int k)
{
    const wide tiles = ((wide) k + TILE_K - 1) / TILE_K;
    const wide start = tiles * part / (SPLIT_K * CLUSTER) * TILE_K;
    return start < k ? (int) start : k;
}

// `vector` elements; `aligned`: they stand at a multiple of their size.
DEVICE_FN void read_global(real *to, const GLOBAL real *from, int vector, bool aligned)
{
    if (aligned && vector == 4) {
        LOAD4(GLOBAL, to, from);
    } else if (aligned && vector == 2) {
        LOAD2(GLOBAL, to, from);
    } else {
        UNROLL
        for (int e = 0; e < vector; e++)
            to[e] = from[e];
    }
}

// Store `vector` neighbouring elements of a row of C, of which `count` are in the matrix.
// `last`: they are no sums of a part of k, so bias and activation follow.
DEVICE_FN void store(GLOBAL real *c, const real *sum, int vector, int count, bool aligned,
                     real alpha, real beta, const GLOBAL real *bias, bool last)
{
    real out[MAX_VECTOR];

    if (aligned && vector > 1 && count >= vector) {
        UNROLL
        for (int e = 0; e < vector; e++)
            out[e] = alpha * sum[e];
        if (beta != 0) {
            real old[MAX_VECTOR];
            read_global(old, c, vector, aligned);
            UNROLL
            for (int e = 0; e < vector; e++)
                out[e] += beta * old[e];
        }
        UNROLL
        for (int e = 0; e < vector; e++)
            if (last)
                out[e] = finish(out[e], bias_of(bias, 0, e));
        if (vector == 4)
            STORE4(GLOBAL, c, out);
        else
            STORE2(GLOBAL, c, out);
        return;
    }
    UNROLL
    for (int e = 0; e < vector; e++)
        if (e < count) {
            const real x = beta == 0 ? alpha * sum[e] : alpha * sum[e] + beta * c[e];
            c[e] = last ? finish(x, bias_of(bias, 0, e)) : x;
        }
}

// Blocks that share a tile leave the sums of their parts of k in the workspace: for each
// matrix of the batch SPLIT_K matrices like C, with rows of a multiple of 4 elements.
DEVICE_FN int partial_ld(int n)
{
    return (n + 3) / 4 * 4;
}

DEVICE_FN GLOBAL real *partial_at(GLOBAL real *workspace, int m, int n, int row,
                                  int column)
{
    const wide part = (wide) BLOCK_Z * SPLIT_K + BLOCK_Y / CLUSTER;
    return workspace + (part * m + row) * partial_ld(n) + column;
}

#if SPLIT_K > 1
// A thread adds PARTS_EACH parts of MAX_VECTOR neighbouring elements, ADDERS_Y threads all
// of them, always in the same order.
//
// Launch: block (ADDERS_X, ADDERS_Y), grid (ceil(vectors of C / ADDERS_X), 1, batch).
#define PARTS_EACH 8
#define ADDERS_X   (SPLIT_K > 16 ? 32 : 64)
#define ADDERS_Y   ((SPLIT_K + PARTS_EACH - 1) / PARTS_EACH)

KERNEL BLOCK_SIZE(ADDERS_X, ADDERS_Y)
void mmt_add_parts(int m, int n, real alpha, real beta,
                   const GLOBAL real *scalars, wide scalars_start,
                   GLOBAL real *c, wide c_start, int ldc, wide c_stride,
                   const GLOBAL real *workspace, wide workspace_start,
                   const GLOBAL real *bias, wide bias_start)
{
    SHARED real others[ADDERS_Y][MAX_VECTOR][ADDERS_X];
    const int ld = partial_ld(n), x = THREAD_X, y = THREAD_Y;
    const wide all = (wide) m * ld, mine = ((wide) BLOCK_X * ADDERS_X + x) * MAX_VECTOR;
    const wide at = mine < all ? mine : 0;
    real sum[MAX_VECTOR] = { 0 };

    workspace += workspace_start + BLOCK_Z * SPLIT_K * all + at;
    UNROLL
    for (int p = 0; p < PARTS_EACH; p++) {
        const int part = y * PARTS_EACH + p;
        real more[MAX_VECTOR] = { 0 };
        if (part < SPLIT_K)
            read_global(more, workspace + part * all, MAX_VECTOR, true);
        UNROLL
        for (int e = 0; e < MAX_VECTOR; e++)
            sum[e] += more[e];
    }
    UNROLL
    for (int e = 0; e < MAX_VECTOR; e++)
        others[y][e][x] = sum[e];
    BARRIER();
    if (y > 0 || mine >= all)
        return;
    UNROLL
    for (int other = 1; other < ADDERS_Y; other++)
        UNROLL
        for (int e = 0; e < MAX_VECTOR; e++)
            sum[e] += others[other][e][x];

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    const int row = (int) (at / ld), column = (int) (at % ld);
    c += c_start + BLOCK_Z * c_stride + (wide) row * ldc + column;
    UNROLL
    for (int e = 0; e < MAX_VECTOR; e += C_VECTOR)
        store(c + e, sum + e, C_VECTOR, n - column - e, ALIGNED, alpha, beta,
              bias_of(bias + bias_start, row, column + e), true);
}
#endif
