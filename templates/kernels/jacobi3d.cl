// jacobi3d - one Jacobi sweep on an m x n x k grid, of which element (i, j, l) stands at
// a[(i*n + j)*lda + l]: inside,
//
//      C = alpha*(((below + above) + (north + south)) + (west + east)) + beta*B
//
//      below, above: at (i -+ 1, j, l)     north, south: at (i, j -+ 1, l)
//      west, east:   at (i, j, l -+ 1)
//
// and on the border C = A. Every operation is rounded by itself, in this order, so that
// the bits of C do not depend on the device, nor on how the sweeps are put together.
// beta = 0 leaves B out.
//
// One block walks up THREAD_TILE_M planes. In each it computes THREADS_N rows of THREADS_K*VECTOR
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
#define THREADS_N 8           // rows of a plane in a block
#endif
#ifndef THREADS_K
#define THREADS_K 32          // threads of a block along k
#endif
#ifndef VECTOR
#define VECTOR 4              // columns of a thread
#endif
#ifndef THREAD_TILE_M
#define THREAD_TILE_M 16      // planes of a block
#endif
#ifndef UNROLL_M
#define UNROLL_M 2            // planes unrolled: 2, 4, or 1, as the compiler thinks right
#endif
#ifndef SIDES
#define SIDES 0               // N, S, W and E come from: 0 memory, 1 shared memory
#endif
#ifndef ALIGNED
#define ALIGNED 0             // 1: every row starts at a whole vector
#endif

#if VECTOR < 1 || VECTOR > 16 || (VECTOR & (VECTOR - 1)) != 0
#error "VECTOR must be 1, 2, 4, 8 or 16"
#endif

#define TILE_K  (THREADS_K * VECTOR)
#define SHARE_N (SIDES == 1 ? THREADS_N + 2 : 1) // a plane's tile in shared memory, with
#define SHARE_K (SIDES == 1 ? TILE_K + 2 : 1)    // what stands round it

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#if ALIGNED && (VECTOR == 2 || VECTOR == 4)
#define LOAD_VECTOR(to, from)  PASTE(LOAD, VECTOR)(GLOBAL, real, to, from)
#define STORE_VECTOR(to, from) PASTE(STORE, VECTOR)(GLOBAL, real, to, from)
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
DEVICE_FN void load_row(real out[VECTOR], const GLOBAL real *from, int count)
{
    if (count >= VECTOR) {
        LOAD_VECTOR(out, from);
    } else {
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            out[e] = e < count ? from[e] : 0;
    }
}

DEVICE_FN void store_row(GLOBAL real *to, const real from[VECTOR], int count)
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

DEVICE_FN void load_sides(struct sides *out, const GLOBAL real *north,
                          const GLOBAL real *at, const GLOBAL real *south, bool leftmost,
                          int count)
{
    load_row(out->north, north, count);
    load_row(out->south, south, count);
    out->west = !leftmost && count > 0 ? at[-1] : 0;
    out->east = count > VECTOR ? at[VECTOR] : 0;
}

// The same from a tile that the threads of the block fill together; those along its edges
// bring what stands round it. `tile` begins at the thread's own element.
DEVICE_FN void share_sides(struct sides *out, const real here[VECTOR],
                           const GLOBAL real *north, const GLOBAL real *at,
                           const GLOBAL real *south, bool leftmost, int count,
                           SHARED_PTR real *tile)
{
    UNROLL
    for (int e = 0; e < VECTOR; e++)
        tile[e] = here[e];
    if (THREAD_Y == 0) {
        load_row(out->north, north, count);
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            tile[e - SHARE_K] = out->north[e];
    }
    if (THREAD_Y == THREADS_N - 1) {
        load_row(out->south, south, count);
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            tile[e + SHARE_K] = out->south[e];
    }
    if (THREAD_X == 0)
        tile[-1] = !leftmost && count > 0 ? at[-1] : 0;
    if (THREAD_X == THREADS_K - 1)
        tile[VECTOR] = count > VECTOR ? at[VECTOR] : 0;
    BARRIER();
    UNROLL
    for (int e = 0; e < VECTOR; e++)
        out->north[e] = tile[e - SHARE_K], out->south[e] = tile[e + SHARE_K];
    out->west = tile[-1];
    out->east = tile[VECTOR];
}

DEVICE_FN real around(real below, real above, real north, real south, real west, real east)
{
    return ((below + above) + (north + south)) + (west + east);
}

// Where a thread is, and what it works on.
struct place {
    wide first, last, row, column; // planes from first to before last
    int m, n, k;
};

// A thread's way up through the planes. `inside` says that nothing of the block is on the
// four sides of the grid or beyond; it is known when compiling, and there are two sources of
// all this.
DEVICE_FN void walk(struct place at, real alpha, real beta, const GLOBAL real *a, int lda,
                    const GLOBAL real *b, int ldb, GLOBAL real *c, int ldc,
                    SHARED_PTR real *tile, bool inside)
{
    const wide plane = (wide) at.n * lda, row = inside ? at.row : within(at.row, at.n);
    const wide north = inside ? row - 1 : within(at.row - 1, at.n);
    const wide south = inside ? row + 1 : within(at.row + 1, at.n);
    const int left = at.row < at.n ? (int) (at.k - at.column) : 0;
    const int count = inside ? VECTOR + 1 : left;
    const bool leftmost = !inside && at.column == 0;
    const bool edge_of_plane = !inside && (at.row == 0 || at.row == at.n - 1);
    real below[VECTOR], above[VECTOR], rest[VECTOR], out[VECTOR];
    real here[VECTOR + 2]; // with room for west and east
    struct sides sides;

    a += at.column;
    b += at.column;
    c += at.column;
    load_row(below, a + within(at.first - 1, at.m) * plane + row * lda, count);
    load_row(here + 1, a + at.first * plane + row * lda, count);
#if UNROLL_M == 2
#pragma unroll 2
#elif UNROLL_M == 4
#pragma unroll 4
#endif
    for (wide i = at.first; i < at.last; i++) {
        const GLOBAL real *from = a + i * plane;
        load_row(above, a + within(i + 1, at.m) * plane + row * lda, count);
        if (beta != 0)
            load_row(rest, b + (i * at.n + row) * ldb, count);
        if (SIDES == 1)
            share_sides(&sides, here + 1, from + north * lda, from + row * lda,
                        from + south * lda, leftmost, count,
                        tile + i % 2 * SHARE_N * SHARE_K);
        else
            load_sides(&sides, from + north * lda, from + row * lda, from + south * lda,
                       leftmost, count);
        here[0] = sides.west;
        here[VECTOR + 1] = sides.east;
        const bool edge = edge_of_plane || i == 0 || i == at.m - 1;
        UNROLL
        for (int e = 0; e < VECTOR; e++) {
            const real acc = product(alpha, around(below[e], above[e], sides.north[e],
                                                   sides.south[e], here[e], here[e + 2]));
            const bool border = edge || (leftmost && e == 0) || e == count - 1;
            out[e] = border ? here[e + 1] : beta == 0 ? acc : acc + product(beta, rest[e]);
        }
        store_row(c + (i * at.n + row) * ldc, out, count);
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            below[e] = here[e + 1], here[e + 1] = above[e];
    }
    if (SIDES == 1 && DEVICE_IS_CPU)
        BARRIER(); // without it PoCL 3.1 has all threads store what thread 0 may
}

// The same inside, as a CPU's compiler makes vectors of it.
DEVICE_FN void sweep(struct place at, real alpha, real beta, const GLOBAL real *a, int lda,
                     const GLOBAL real *b, int ldb, GLOBAL real *c, int ldc)
{
    for (wide i = at.first; i < at.last; i++) {
        const wide row = i * at.n + at.row, plane = (wide) at.n * lda;
        const GLOBAL real *from = a + row * lda + at.column;
        const GLOBAL real *rest = b + row * ldb + at.column;
        GLOBAL real *to = c + row * ldc + at.column;
        for (int e = 0; e < VECTOR; e++) {
            const real acc =
                product(alpha, around(from[e - plane], from[e + plane], from[e - lda],
                                      from[e + lda], from[e - 1], from[e + 1]));
            to[e] = beta == 0 ? acc : acc + product(beta, rest[e]);
        }
    }
}

KERNEL BLOCK_SIZE(THREADS_K, THREADS_N)
void mmt_jacobi3d(int m, int n, int k, real alpha, real beta,
                  const GLOBAL real *scalars, wide scalars_start,
                  const GLOBAL real *RESTRICT a, wide a_start, int lda, wide a_stride,
                  const GLOBAL real *RESTRICT b, wide b_start, int ldb, wide b_stride,
                  GLOBAL real *RESTRICT c, wide c_start, int ldc, wide c_stride)
{
    SHARED real tiles[2][SHARE_N][SHARE_K]; // by turns
    SHARED_PTR real *tile = SIDES == 1 ? &tiles[0][THREAD_Y + 1][THREAD_X * VECTOR + 1]
                                       : &tiles[0][0][0];
    const int blocks_k = (k - 1) / TILE_K + 1, blocks_n = (n - 1) / THREADS_N + 1;
    const wide column = (wide) (BLOCK_X % blocks_k) * TILE_K;
    const wide row = (wide) (BLOCK_X / blocks_k % blocks_n) * THREADS_N;
    const wide first = (wide) (BLOCK_X / blocks_k / blocks_n) * THREAD_TILE_M;
    const wide last = first + THREAD_TILE_M < m ? first + THREAD_TILE_M : m;
    const struct place at = { first, last, row + THREAD_Y, column + THREAD_X * VECTOR,
                              m, n, k };

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    a += a_start + BLOCK_Z * a_stride;
    b += b_start + BLOCK_Z * b_stride;
    c += c_start + BLOCK_Z * c_stride;
    const bool inside = row > 0 && row + THREADS_N < n && column > 0 && column + TILE_K < k;
    if (!inside)
        walk(at, alpha, beta, a, lda, b, ldb, c, ldc, tile, false);
    else if (DEVICE_IS_CPU && first > 0 && last < m)
        sweep(at, alpha, beta, a, lda, b, ldb, c, ldc);
    else
        walk(at, alpha, beta, a, lda, b, ldb, c, ldc, tile, true);
}
