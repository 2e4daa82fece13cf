// jacobi3d - one Jacobi sweep on an m x n x k grid, of which element (i, j, l) stands at
// a[(i*n + j)*lda + l]: inside,
//
//      C = alpha*(((below + above) + (north + south)) + (west + east)) + beta*B
//
//      below, above: (i -+ 1, j, l)   north, south: (i, j -+ 1, l)   west, east: (i, j, l -+ 1)
//
// and on the border C = A. Every operation is rounded by itself, in this order, so that
// the bits of C do not depend on the device, nor on how the sweeps are put together.
// beta = 0 leaves B out.
//
// One block walks up WORK_M planes. In each it computes THREADS_N rows of THREADS_K*VECTOR
// columns; a thread has its elements of three planes in registers, and reads each once:
//
//            THREADS_K * VECTOR
//          [           N N N N    ]   the next step's below, here and above
//          [         W A A A A E  ]   are this step's here, above and
//          [           S S S S    ]   the plane after it
//           THREADS_N rows
//
// N, S, W and E belong to the neighbouring threads: they come from memory, where the
// first-level cache has them, or through shared memory.
//
// Launch: block (THREADS_K, THREADS_N), grid (blocks along k, n and m, 1, batch).

#ifndef THREADS_N
#define THREADS_N 8   // rows of a plane in a block
#endif
#ifndef THREADS_K
#define THREADS_K 32  // threads of a block along k
#endif
#ifndef VECTOR
#define VECTOR 4      // columns of a thread
#endif
#ifndef WORK_M
#define WORK_M 16     // planes of a block
#endif
#ifndef UNROLL_M
#define UNROLL_M 2    // planes unrolled
#endif
#ifndef SIDES
#define SIDES 0       // N, S, W and E come from: 0 memory, 1 shared memory
#endif
#ifndef ALIGNED
#define ALIGNED 0     // 1: every row starts at a whole vector
#endif

#if VECTOR != 1 && VECTOR != 2 && VECTOR != 4
#error "VECTOR must be 1, 2 or 4"
#endif

enum { PLANES_AT_ONCE = UNROLL_M }; // a pragma does not read macros everywhere

#define TILE_K  (THREADS_K * VECTOR)
#define SHARE_N (SIDES == 1 ? THREADS_N + 2 : 1) // a plane's tile in shared memory, with
#define SHARE_K (SIDES == 1 ? TILE_K + 2 : 1)    // what stands round it

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#if ALIGNED && VECTOR > 1
#define LOAD_VECTOR(to, from)  PASTE(LOAD, VECTOR)(GLOBAL, to, from)
#define STORE_VECTOR(to, from) PASTE(STORE, VECTOR)(GLOBAL, to, from)
#else
#define COPY_VECTOR(to, from)                  \
    do {                                       \
        UNROLL                                 \
        for (int e_ = 0; e_ < VECTOR; e_++)    \
            (to)[e_] = (from)[e_];             \
    } while (0)
#define LOAD_VECTOR(to, from)  COPY_VECTOR(to, from)
#define STORE_VECTOR(to, from) COPY_VECTOR(to, from)
#endif

// Beyond the border there is nothing to read; what stands in its place is not used.
DEVICE_FN wide within(wide i, int size)
{
    return i < 0 ? 0 : i < size ? i : size - 1;
}

// A thread's elements of a row, of which `count` are left.
DEVICE_FN void load_row(real out[VECTOR], const GLOBAL real *from, wide count)
{
    if (count >= VECTOR) {
        LOAD_VECTOR(out, from);
    } else {
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            out[e] = e < count ? from[e] : 0;
    }
}

DEVICE_FN void store_row(GLOBAL real *to, const real from[VECTOR], wide count)
{
    if (count >= VECTOR) {
        STORE_VECTOR(to, from);
    } else {
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            if (e < count)
                to[e] = from[e];
    }
}

// What surrounds a thread's elements in their plane.
struct sides {
    real north[VECTOR], south[VECTOR], west, east;
};

DEVICE_FN struct sides load_sides(const real here[VECTOR], const GLOBAL real *north,
                                  const GLOBAL real *at, const GLOBAL real *south,
                                  wide column, wide count)
{
    struct sides out;
    load_row(out.north, north, count);
    load_row(out.south, south, count);
    out.west = column > 0 && count > 0 ? at[-1] : 0;
    out.east = count > VECTOR ? at[VECTOR] : 0;
    return out;
}

// The same from a tile that the threads of the block fill together; those along its edges
// bring what stands round it. `tile` begins at the thread's own element.
DEVICE_FN struct sides share_sides(const real here[VECTOR], const GLOBAL real *north,
                                   const GLOBAL real *at, const GLOBAL real *south,
                                   wide column, wide count, SHARED_PTR real *tile)
{
    struct sides out;
    UNROLL
    for (int e = 0; e < VECTOR; e++)
        tile[e] = here[e];
    if (THREAD_Y == 0) {
        load_row(out.north, north, count);
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            tile[e - SHARE_K] = out.north[e];
    }
    if (THREAD_Y == THREADS_N - 1) {
        load_row(out.south, south, count);
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            tile[e + SHARE_K] = out.south[e];
    }
    if (THREAD_X == 0)
        tile[-1] = column > 0 && count > 0 ? at[-1] : 0;
    if (THREAD_X == THREADS_K - 1)
        tile[VECTOR] = count > VECTOR ? at[VECTOR] : 0;
    BARRIER();
    UNROLL
    for (int e = 0; e < VECTOR; e++)
        out.north[e] = tile[e - SHARE_K], out.south[e] = tile[e + SHARE_K];
    out.west = tile[-1];
    out.east = tile[VECTOR];
    return out;
}

DEVICE_FN real sum_of_six(real below, real above, real north, real south, real west, real east)
{
    return ((below + above) + (north + south)) + (west + east);
}

KERNEL BLOCK_SIZE(THREADS_K, THREADS_N)
void mmt_jacobi3d(int m, int n, int k, real alpha, real beta,
                  const GLOBAL real *scalars, wide scalars_start,
                  const GLOBAL real *RESTRICT a, wide a_start, int lda, wide a_stride,
                  const GLOBAL real *RESTRICT b, wide b_start, int ldb, wide b_stride,
                  GLOBAL real *RESTRICT c, wide c_start, int ldc, wide c_stride)
{
    SHARED real tiles[2][SHARE_N][SHARE_K]; // by turns
    const int blocks_k = (k - 1) / TILE_K + 1, blocks_n = (n - 1) / THREADS_N + 1;
    const wide column = (wide) (BLOCK_X % blocks_k) * TILE_K + THREAD_X * VECTOR;
    const wide row = (wide) (BLOCK_X / blocks_k % blocks_n) * THREADS_N + THREAD_Y;
    const wide first = (wide) (BLOCK_X / blocks_k / blocks_n) * WORK_M;
    const wide last = first + WORK_M < m ? first + WORK_M : m;
    const wide count = row < n ? k - column : 0;
    const int tile_row = SIDES == 1 ? THREAD_Y + 1 : 0;
    const int tile_column = SIDES == 1 ? THREAD_X * VECTOR + 1 : 0;
    real below[VECTOR], here[VECTOR], above[VECTOR], rest[VECTOR], out[VECTOR];

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    a += a_start + BLOCK_Z * a_stride + column;
    b += b_start + BLOCK_Z * b_stride + column;
    c += c_start + BLOCK_Z * c_stride + column;

    const wide plane = (wide) n * lda, at = within(row, n) * lda;
    const wide north = within(row - 1, n) * lda, south = within(row + 1, n) * lda;
    load_row(below, a + within(first - 1, m) * plane + at, count);
    load_row(here, a + first * plane + at, count);
#pragma unroll PLANES_AT_ONCE
    for (wide i = first; i < last; i++) {
        const GLOBAL real *from = a + i * plane;
        load_row(above, a + within(i + 1, m) * plane + at, count);
        if (beta != 0)
            load_row(rest, b + (i * n + within(row, n)) * ldb, count);
        const struct sides sides =
            SIDES == 1 ? share_sides(here, from + north, from + at, from + south, column, count,
                                     &tiles[i % 2][tile_row][tile_column])
                       : load_sides(here, from + north, from + at, from + south, column, count);
        UNROLL
        for (int e = 0; e < VECTOR; e++) {
            const real west = e > 0 ? here[e > 0 ? e - 1 : 0] : sides.west;
            const real east = e < VECTOR - 1 ? here[e < VECTOR - 1 ? e + 1 : 0] : sides.east;
            const real sum = product(alpha, sum_of_six(below[e], above[e], sides.north[e],
                                                       sides.south[e], west, east));
            const bool border = i == 0 || i == m - 1 || row == 0 || row == n - 1
                                || column + e == 0 || column + e == k - 1;
            out[e] = border ? here[e] : beta == 0 ? sum : sum + product(beta, rest[e]);
        }
        store_row(c + (i * n + row) * ldc, out, count);
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            below[e] = here[e], here[e] = above[e];
    }
}
