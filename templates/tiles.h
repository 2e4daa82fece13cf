// Helpers of kernels of which a block computes a tile of C, TILE_M x TILE_N: storing, and
// adding up the sums of blocks that share a tile. grid.h stands before it.

#ifdef TYPE_F64
#define MAX_VECTOR 2          // elements in 16 bytes
#else
#define MAX_VECTOR 4
#endif
#ifndef C_VECTOR
#define C_VECTOR MAX_VECTOR   // elements of C per store to global memory
#endif
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

    NEXT_MAY_BEGIN();
    AWAIT_LAUNCH();
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
