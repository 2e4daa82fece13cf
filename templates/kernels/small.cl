// small - C = alpha*op(A)*op(B) + beta*C for many small matrices at once, row major.
//
// A team of threads computes one tile of C, which may well be all of it, and a block has
// teams for MATRICES neighbouring products of the batch. Where a tile is as deep as the
// matrix, all that a block needs is on its way at once, and it waits but once. A team has
// TURNS such products after each other; with AHEAD the tiles of the next are on their way
// while those of this one are multiplied. Elements of 16 and 8 bits become real numbers as
// they enter shared memory:
//
//   one team:               TILE_N
//                         +--------+   Both operands lie in shared memory as they lie in
//                         |   B    |   the matrix, with a gap after each row. Vectors are
//                TILE_K   |        |   read along their rows, so that a thread takes
//               +-------+ +--------+   STEP steps of k at a time, whatever is transposed.
//        TILE_M |   A   | | tile of|
//               |       | |   C    |   A thread has THREAD_TILE_M x THREAD_TILE_N elements of C.
//               +-------+ +--------+
//
// Launch: grid (tiles of m x tiles of n, 1, ceil(batch / (MATRICES * TURNS))),
// block (team, MATRICES). Helpers: vectors.h.

#ifndef TILE_M
#define TILE_M 32             // rows of C per team
#endif
#ifndef TILE_N
#define TILE_N 32             // columns of C per team
#endif
#ifndef TILE_K
#define TILE_K 32             // depth of one pass through shared memory
#endif
#ifndef THREAD_TILE_M
#define THREAD_TILE_M 4       // rows of C per thread
#endif
#ifndef THREAD_TILE_N
#define THREAD_TILE_N 4       // columns of C per thread
#endif
#ifndef MATRICES
#define MATRICES 1            // products of the batch that a block computes at once
#endif
#ifndef TURNS
#define TURNS 1               // how often it does
#endif
#ifndef VECTOR
#define VECTOR 4              // elements per access to global memory
#endif
#ifndef AHEAD
#define AHEAD 0               // the next tiles are on their way while two are multiplied
#endif
#ifndef K_UNROLL
#define K_UNROLL 2            // of STEP steps along k each, unrolled
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1          // least blocks on a multiprocessor
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif
#ifndef ALIGNED
#define ALIGNED 0
#endif

#define TEAM_M (TILE_M / THREAD_TILE_M)
#define TEAM_N (TILE_N / THREAD_TILE_N)
#define TEAM   (TEAM_M * TEAM_N)

#if TILE_M % THREAD_TILE_M || TILE_N % THREAD_TILE_N
#error "a tile must hold a whole number of per-thread pieces"
#endif

// Elements per access: to shared memory at most, to global memory, to fragments of A, B.
#if defined(TYPE_F64)
#define STEP 2
#else
#define STEP 4
#endif
#if ALIGNED
#define WIDE VECTOR
#else
#define WIDE 1
#endif
#if !TRANS_A || THREAD_TILE_M >= STEP
#define WIDE_A STEP
#else
#define WIDE_A THREAD_TILE_M
#endif
#if TRANS_B || THREAD_TILE_N >= STEP
#define WIDE_B STEP
#else
#define WIDE_B THREAD_TILE_N
#endif
#if TRANS_B || !ALIGNED
#define WIDE_C 1
#elif WIDE_B >= VECTOR
#define WIDE_C VECTOR
#else
#define WIDE_C WIDE_B
#endif

#if TILE_K % (K_UNROLL * STEP)
#error "TILE_K must be a multiple of K_UNROLL * STEP"
#endif

// Tiles as they are stored: rows of so many elements.
#define ROWS_A   (TRANS_A ? TILE_K : TILE_M)
#define LENGTH_A (TRANS_A ? TILE_M : TILE_K)
#define ROWS_B   (TRANS_B ? TILE_N : TILE_K)
#define LENGTH_B (TRANS_B ? TILE_K : TILE_N)
#define LINE_A   (LENGTH_A + STEP)
#define LINE_B   (LENGTH_B + STEP)
#define SIZE_A   (ROWS_A * LINE_A)
#define SIZE_B   (ROWS_B * LINE_B)

// Elements of a tile that pass through a thread's registers.
#define PART(size) ((((size) / WIDE - 1) / TEAM + 1) * WIDE)
#define PART_A     PART(ROWS_A * LENGTH_A)
#define PART_B     PART(ROWS_B * LENGTH_B)

// A thread's place in its team, and where its first row and column stand in the tile. Its
// i-th row and j-th column are a constant further on: they come in groups as wide as a
// vector where vectors lie across k.
#define THREAD_M        ((int) ((unsigned) THREAD_X / TEAM_N))
#define THREAD_N        ((int) ((unsigned) THREAD_X % TEAM_N))
#define GROUP_M         (TRANS_A ? WIDE_A : 1)
#define GROUP_N         (TRANS_B ? 1 : WIDE_B)
#define FIRST_ROW       (THREAD_M * GROUP_M)
#define FIRST_COLUMN    (THREAD_N * GROUP_N)
#define ROWS_ON(i)      ((i) / GROUP_M * TEAM_M * GROUP_M + (i) % GROUP_M)
#define COLUMNS_ON(j)   ((j) / GROUP_N * TEAM_N * GROUP_N + (j) % GROUP_N)

#define PASTE_(a, b)            a##b
#define PASTE(a, b)             PASTE_(a, b)
#define LOAD1(space, type, to, from)  (*(to) = *(from))
#define STORE1(space, type, to, from) (*(to) = *(from))

// A thread's part of a tile that lies within the matrix. Where rows that it reads are equally
// far apart, so are the addresses.
DEVICE_FN void fetch(element *part, int rows, int length, const GLOBAL element *from, int ld)
{
    const int run = length / WIDE, apart = TEAM % run == 0 ? TEAM / run : 0;
    const wide stride = (wide) apart * ld;

    if (apart)
        from += (wide) of_run(THREAD_X, 0, TEAM, run) * ld;
    UNROLL
    for (int i = 0; i < PART(rows * length) / WIDE; i++) {
        const int row = of_run(THREAD_X, i, TEAM, run);
        const int column = in_run(THREAD_X, i, TEAM, run) * WIDE;
        if (carries(THREAD_X, i, TEAM, rows * run))
            PASTE(LOAD, WIDE)(GLOBAL, element, part + i * WIDE,
                              from + (apart ? i * stride : (wide) row * ld) + column);
    }
}

// The same on its way to shared memory. Only here are elements looked at.
DEVICE_FN void put(SHARED_PTR real *to, int line, int rows, int length, const element *part)
{
    const int run = length / WIDE;

    UNROLL
    for (int i = 0; i < PART(rows * length) / WIDE; i++) {
        const int row = of_run(THREAD_X, i, TEAM, run);
        const int column = in_run(THREAD_X, i, TEAM, run) * WIDE;
        real x[WIDE];
        UNROLL
        for (int e = 0; e < WIDE; e++)
            x[e] = to_real(part[i * WIDE + e]);
        if (carries(THREAD_X, i, TEAM, rows * run))
            PASTE(STORE, WIDE)(SHARED_PTR, real, to + row * line + column, x);
    }
}

// A tile of which only so many rows and columns exist; the others are 0.
DEVICE_FN void copy_edge(SHARED_PTR real *to, int line, int rows, int length,
                         const GLOBAL element *from, int ld, int rows_left, int length_left)
{
#pragma unroll 8
    for (int first = 0; first < rows * length; first += TEAM) {
        const int e = first + THREAD_X, i = e / length, j = e % length;
        if (first + TEAM <= rows * length || e < rows * length)
            to[i * line + j] =
                i < rows_left && j < length_left ? to_real(from[(wide) i * ld + j]) : 0;
    }
}

// STEP steps of the thread's rows of A, as fragment[step][row].
DEVICE_FN void load_a(real fragment[STEP][THREAD_TILE_M], const SHARED_PTR real *tile, int k)
{
#if TRANS_A
    UNROLL
    for (int p = 0; p < STEP; p++)
        UNROLL
        for (int i = 0; i < THREAD_TILE_M; i += WIDE_A)
            PASTE(LOAD, WIDE_A)(SHARED_PTR, real, &fragment[p][i],
                                tile + (k + p) * LINE_A + FIRST_ROW + ROWS_ON(i));
#else
    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++) {
        real part[STEP];
        PASTE(LOAD, WIDE_A)(SHARED_PTR, real, part,
                            tile + (FIRST_ROW + ROWS_ON(i)) * LINE_A + k);
        UNROLL
        for (int p = 0; p < STEP; p++)
            fragment[p][i] = part[p];
    }
#endif
}

// STEP steps of the thread's columns of B, as fragment[step][column].
DEVICE_FN void load_b(real fragment[STEP][THREAD_TILE_N], const SHARED_PTR real *tile, int k)
{
#if TRANS_B
    UNROLL
    for (int j = 0; j < THREAD_TILE_N; j++) {
        real part[STEP];
        PASTE(LOAD, WIDE_B)(SHARED_PTR, real, part,
                            tile + (FIRST_COLUMN + COLUMNS_ON(j)) * LINE_B + k);
        UNROLL
        for (int p = 0; p < STEP; p++)
            fragment[p][j] = part[p];
    }
#else
    UNROLL
    for (int p = 0; p < STEP; p++)
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j += WIDE_B)
            PASTE(LOAD, WIDE_B)(SHARED_PTR, real, &fragment[p][j],
                                tile + (k + p) * LINE_B + FIRST_COLUMN + COLUMNS_ON(j));
#endif
}

// Add the product of the two tiles to the thread's sums. What lies beyond `depth` is 0.
DEVICE_FN void multiply(real acc[THREAD_TILE_M][THREAD_TILE_N], const SHARED_PTR real *tile_a,
                        const SHARED_PTR real *tile_b, int depth)
{
    NO_UNROLL
    for (int start = 0; start < depth; start += K_UNROLL * STEP) {
        UNROLL
        for (int k = start; k < start + K_UNROLL * STEP; k += STEP) {
            real a[STEP][THREAD_TILE_M], b[STEP][THREAD_TILE_N];
            load_a(a, tile_a, k);
            load_b(b, tile_b, k);
            UNROLL
            for (int p = 0; p < STEP; p++)
                UNROLL
                for (int i = 0; i < THREAD_TILE_M; i++)
                    UNROLL
                    for (int j = 0; j < THREAD_TILE_N; j++)
                        acc[i][j] = MULTIPLY_ADD(a[p][i], b[p][j], acc[i][j]);
        }
    }
}

DEVICE_FN result scaled(real alpha, real acc, real beta, result old)
{
    return to_result(beta == 0 ? alpha * acc
                               : MULTIPLY_ADD(beta, from_result(old), alpha * acc));
}

// A group of C, of which `count` elements exist. beta = 0 never reads C.
DEVICE_FN void store(GLOBAL result *c, real alpha, const real *acc, real beta, int count)
{
    result group[WIDE_C] = { 0 };

    if (count >= WIDE_C) {
        if (beta != 0)
            PASTE(LOAD, WIDE_C)(GLOBAL, result, group, c);
        UNROLL
        for (int e = 0; e < WIDE_C; e++)
            group[e] = scaled(alpha, acc[e], beta, group[e]);
        PASTE(STORE, WIDE_C)(GLOBAL, result, c, group);
    } else {
        UNROLL
        for (int e = 0; e < WIDE_C; e++)
            if (e < count)
                c[e] = scaled(alpha, acc[e], beta, beta == 0 ? (result) 0 : c[e]);
    }
}

// A thread's sums; `c` is the tile's first element. `inside`: all of the tile exists, else
// so many of its rows and columns.
DEVICE_FN void store_tile(GLOBAL result *c, int ldc, real alpha,
                          real acc[THREAD_TILE_M][THREAD_TILE_N],
                          real beta, bool inside, int rows, int columns)
{
    c += (wide) FIRST_ROW * ldc + FIRST_COLUMN;
    rows -= FIRST_ROW, columns -= FIRST_COLUMN;
    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++)
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j += WIDE_C)
            if (inside || ROWS_ON(i) < rows)
                store(c + (wide) ROWS_ON(i) * ldc + COLUMNS_ON(j), alpha, acc[i] + j, beta,
                      inside ? WIDE_C : columns - COLUMNS_ON(j));
}

KERNEL BLOCK_SIZE_RESIDENT(TEAM, MATRICES, MIN_BLOCKS)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL element *a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *b, wide b_start, int ldb, wide b_stride,
              GLOBAL result *c, wide c_start, int ldc, wide c_stride, int batch)
{
    SHARED_POOL(real, pool, MATRICES * (SIZE_A + SIZE_B));
    SHARED_PTR real *tile_a = pool + THREAD_Y * (SIZE_A + SIZE_B);
    SHARED_PTR real *tile_b = tile_a + SIZE_A;
    const int tiles_n = (n - 1) / TILE_N + 1;
    const int row = BLOCK_X / tiles_n * TILE_M, column = BLOCK_X % tiles_n * TILE_N;
    const bool whole = m - row >= TILE_M && n - column >= TILE_N;
    wide matrix = (wide) BLOCK_Z * (TURNS * MATRICES) + THREAD_Y;
    element part_a[PART_A], part_b[PART_B];

    PDL_TRIGGER();
    PDL_WAIT();
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0; // A and B may be absent
    FIND_MATRIX(a, matrix < batch ? matrix : 0);
    FIND_MATRIX(b, matrix < batch ? matrix : 0);
    FIND_MATRIX(c, matrix < batch ? matrix : 0);
    a += a_start + matrix * a_stride + (TRANS_A ? (wide) row : (wide) row * lda);
    b += b_start + matrix * b_stride + (TRANS_B ? (wide) column * ldb : (wide) column);
    c += c_start + matrix * c_stride + (wide) row * ldc + column;
    if (AHEAD && whole && matrix < batch && k >= TILE_K) {
        fetch(part_a, ROWS_A, LENGTH_A, a, lda);
        fetch(part_b, ROWS_B, LENGTH_B, b, ldb);
    }
    NO_UNROLL
    for (int turn = 0; turn < TURNS; turn++) {
        // A team for which no product is left has nothing to do, but waits with the others.
        const int rows = matrix < batch ? m - row : 0;
        const int columns = matrix < batch ? n - column : 0;
        const bool inside = whole && matrix < batch;
        const GLOBAL element *from_a = a, *from_b = b;
        real acc[THREAD_TILE_M][THREAD_TILE_N] = { { 0 } };

        matrix += MATRICES;
        a += MATRICES * a_stride, b += MATRICES * b_stride;
        for (int left = k; left > 0; left -= TILE_K) {
            const bool last = left <= TILE_K;
            BARRIER();
            if (inside && left >= TILE_K) {
                if (!AHEAD) {
                    fetch(part_a, ROWS_A, LENGTH_A, from_a, lda);
                    fetch(part_b, ROWS_B, LENGTH_B, from_b, ldb);
                }
                put(tile_a, LINE_A, ROWS_A, LENGTH_A, part_a);
                put(tile_b, LINE_B, ROWS_B, LENGTH_B, part_b);
            } else {
                copy_edge(tile_a, LINE_A, ROWS_A, LENGTH_A, from_a, lda,
                          TRANS_A ? left : rows, TRANS_A ? rows : left);
                copy_edge(tile_b, LINE_B, ROWS_B, LENGTH_B, from_b, ldb,
                          TRANS_B ? columns : left, TRANS_B ? left : columns);
            }
            BARRIER();
            from_a += TRANS_A ? (wide) TILE_K * lda : TILE_K;
            from_b += TRANS_B ? TILE_K : (wide) TILE_K * ldb;
            if (AHEAD && (last ? turn < TURNS - 1 && whole && matrix < batch && k >= TILE_K
                               : inside && left >= 2 * TILE_K)) {
                fetch(part_a, ROWS_A, LENGTH_A, last ? a : from_a, lda);
                fetch(part_b, ROWS_B, LENGTH_B, last ? b : from_b, ldb);
            }
            multiply(acc, tile_a, tile_b, last ? left : TILE_K);
        }

        BARRIER(); // without it PoCL 3.1 stores twice where k is 0 and TEAM is 1

        if (inside)
            store_tile(c, ldc, alpha, acc, beta, true, TILE_M, TILE_N);
        else
            store_tile(c, ldc, alpha, acc, beta, false, rows, columns);
        c += MATRICES * c_stride;
    }
}
