// heat2d - one explicit step of the heat equation on an m x n grid, row major: inside,
//
//            N
//        W   A   E       C = A + alpha*((N + S) + (W + E) - 4*A)
//            S
//
// and on the border C = A. Every operation is rounded by itself, in this order, so that
// the bits of C do not depend on the device, nor on how the steps are put together.
//
// One block computes THREADS_M*THREAD_TILE_M rows of THREADS_N*VECTOR columns. A thread walks down
// THREAD_TILE_M rows of VECTOR columns and has three rows in registers: each is read once by it.
//
//              THREADS_N * VECTOR
//            [ ...            N N N N ]
//    THREAD_TILE_M  [ ...          W A A A A E ]   the next step's N, A and S
//            [ ...            S S S S ]     are this step's A, S and the row below
//
// W and E belong to the neighbouring threads: they come from memory, where the first-level
// cache has them, or through shared memory.
//
// Launch: block (THREADS_N, THREADS_M), grid (blocks along n * blocks along m, 1, batch).

#ifndef THREADS_M
#define THREADS_M 4           // rows of threads in a block
#endif
#ifndef THREADS_N
#define THREADS_N 64          // threads of a block along n
#endif
#ifndef THREAD_TILE_M
#define THREAD_TILE_M 8       // rows of a thread
#endif
#ifndef VECTOR
#define VECTOR 4              // columns of a thread
#endif
#ifndef SIDES
#define SIDES 0               // W and E come from: 0 memory, 1 shared memory
#endif
#ifndef ALIGNED
#define ALIGNED 0             // 1: every row starts at a whole vector
#endif

#if VECTOR < 1 || VECTOR > 16 || (VECTOR & (VECTOR - 1)) != 0
#error "VECTOR must be 1, 2, 4, 8 or 16"
#endif

#define TILE_M (THREADS_M * THREAD_TILE_M)
#define TILE_N (THREADS_N * VECTOR)
#define LINE   (SIDES == 1 ? TILE_N : 1) // of a row of threads, in shared memory

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

// A thread's elements of a row, of which `count` are left, with room for W and E.
DEVICE_FN void load_row(real out[VECTOR + 2], const GLOBAL real *from, int count)
{
    if (count >= VECTOR) {
        LOAD_VECTOR(out + 1, from);
    } else {
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            out[1 + e] = e < count ? from[e] : 0;
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

// What stands at both ends of the thread's elements.
DEVICE_FN void load_sides(real here[VECTOR + 2], const GLOBAL real *at,
                          SHARED_PTR real *line, bool leftmost, int count)
{
    bool near_west = false, near_east = false; // a thread of this block has it
    if (SIDES == 1) {
        near_west = THREAD_X > 0;
        near_east = THREAD_X < THREADS_N - 1;
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            line[e] = here[1 + e];
        BARRIER();
    }
    here[0] = near_west ? line[-1] : !leftmost && count > 0 ? at[-1] : 0;
    here[VECTOR + 1] = near_east ? line[VECTOR] : count > VECTOR ? at[VECTOR] : 0;
}

DEVICE_FN real step(real alpha, real here, real north, real south, real west, real east)
{
    const real around = (north + south) + (west + east);
    return here + product(alpha, around - product(4, here));
}

// A thread's way down its columns. `inside` says that nothing of the block is on the border
// or beyond it; it is known when compiling, and there are two sources of all this.
DEVICE_FN void walk(const GLOBAL real *a, int lda, GLOBAL real *c, int ldc, int m, int n,
                    real alpha, wide first, wide column, SHARED_PTR real *line, bool inside)
{
    const int count = inside ? VECTOR + 1 : (int) (n - column);
    const bool leftmost = !inside && column == 0;
    real north[VECTOR + 2], here[VECTOR + 2], south[VECTOR + 2], out[VECTOR];

    a += column;
    c += column;
    load_row(north, a + (inside ? first - 1 : within(first - 1, m)) * lda, count);
    load_row(here, a + (inside ? first : within(first, m)) * lda, count);
    UNROLL
    for (int w = 0; w < THREAD_TILE_M; w++) {
        const wide row = first + w;
        load_row(south, a + (inside ? row + 1 : within(row + 1, m)) * lda, count);
        load_sides(here, a + (inside ? row : within(row, m)) * lda,
                   line + w % 2 * THREADS_M * LINE, leftmost, count);
        const bool edge = !inside && (row == 0 || row == m - 1);
        UNROLL
        for (int e = 0; e < VECTOR; e++) {
            const bool border = edge || (leftmost && e == 0) || e == count - 1;
            out[e] = border ? here[1 + e]
                            : step(alpha, here[1 + e], north[1 + e], south[1 + e], here[e],
                                   here[2 + e]);
        }
        if (inside || row < m)
            store_row(c + row * ldc, out, count);
        UNROLL
        for (int e = 1; e <= VECTOR; e++)
            north[e] = here[e], here[e] = south[e];
    }
    if (SIDES == 1 && DEVICE_IS_CPU)
        BARRIER(); // without it PoCL 3.1 has all threads store what thread 0 may
}

// The same inside, as a CPU's compiler makes vectors of it.
DEVICE_FN void sweep(const GLOBAL real *a, int lda, GLOBAL real *c, int ldc, real alpha,
                     wide first, wide column)
{
    for (int w = 0; w < THREAD_TILE_M; w++) {
        const GLOBAL real *at = a + (first + w) * lda + column;
        GLOBAL real *to = c + (first + w) * ldc + column;
        for (int e = 0; e < VECTOR; e++)
            to[e] = step(alpha, at[e], at[e - lda], at[e + lda], at[e - 1], at[e + 1]);
    }
}

KERNEL BLOCK_SIZE(THREADS_N, THREADS_M)
void mmt_heat2d(int m, int n, real alpha, const GLOBAL real *scalars, wide scalars_start,
                const GLOBAL real *RESTRICT a, wide a_start, int lda, wide a_stride,
                GLOBAL real *RESTRICT c, wide c_start, int ldc, wide c_stride)
{
    SHARED real lines[2][THREADS_M][LINE]; // by turns
    SHARED_PTR real *line = lines[0][THREAD_Y] + (SIDES == 1 ? THREAD_X * VECTOR : 0);
    const int blocks_n = (n - 1) / TILE_N + 1;
    const wide tile_row = (wide) (BLOCK_X / blocks_n) * TILE_M;
    const wide tile_column = (wide) (BLOCK_X % blocks_n) * TILE_N;
    const wide row = tile_row + THREAD_Y * THREAD_TILE_M, column = tile_column + THREAD_X * VECTOR;

    if (scalars)
        alpha = scalars[scalars_start];
    a += a_start + BLOCK_Z * a_stride;
    c += c_start + BLOCK_Z * c_stride;
    const bool inside = tile_row > 0 && tile_row + TILE_M < m && tile_column > 0
                        && tile_column + TILE_N < n;
    if (!inside)
        walk(a, lda, c, ldc, m, n, alpha, row, column, line, false);
    else if (DEVICE_IS_CPU)
        sweep(a, lda, c, ldc, alpha, row, column);
    else
        walk(a, lda, c, ldc, m, n, alpha, row, column, line, true);
}
