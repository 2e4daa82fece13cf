// small_k - C = activation(alpha*op(A)*op(B) + beta*C + bias) where k is small, row major.
//
// Such a product does little more than write C, so that memory sets the pace, and all depends on
// who writes what: neighbouring threads write neighbouring columns, whole lines of memory at a
// time, wherever rows begin. A block computes a tile of C from stripes of A and B in shared
// memory, of TILE_K steps of k, few enough that many blocks fit on a multiprocessor: while some
// wait for their stripes, others write. Elements of 16 and 8 bits become real numbers on their
// way to shared memory.
//
//                         TILE_N = THREADS_N * THREAD_TILE_N
//                        [  B  ]  TILE_K
//                TILE_K  +-----+
//              [   A   ] |  C  |  TILE_M = THREADS_M * THREAD_TILE_M
//                        +-----+
//
// A thread computes THREAD_TILE_M rows of its THREAD_TILE_N columns, which stand THREADS_N
// vectors apart.
//
// Launch: block (THREADS), grid (ceil(m/TILE_M) * ceil(n/TILE_N), 1, batch). Helpers: grid.h,
// tiles.h.

#ifndef THREADS_M
#define THREADS_M 4           // threads of a block down the tile
#endif
#ifndef THREADS_N
#define THREADS_N 32          // threads of a block across the tile
#endif
#ifndef THREAD_TILE_M
#define THREAD_TILE_M 8       // rows of C per thread
#endif
#ifndef THREAD_TILE_N
#define THREAD_TILE_N 4       // columns of C per thread
#endif
#ifndef C_VECTOR
#define C_VECTOR 4            // of these, elements that are stored at once
#endif
#ifndef TILE_K
#define TILE_K 8              // steps of k in shared memory
#endif
#ifndef TRANS_A
#define TRANS_A 0             // 1: A is stored k x m
#endif
#ifndef TRANS_B
#define TRANS_B 0             // 1: B is stored n x k
#endif
#ifndef ALIGNED
#define ALIGNED 0
#endif

#define THREADS (THREADS_M * THREADS_N)

// Elements of C that stand side by side for one thread.
#define WIDE (ALIGNED ? C_VECTOR : 1)

// From one step of a stripe to the next: steps that lie side by side in memory are written to
// different banks.
#define PITCH(lines) ((lines) + 4)

#if THREAD_TILE_N % C_VECTOR || C_VECTOR > MAX_VECTOR
#error "a thread's columns must be a whole number of C's vectors of at most 16 bytes"
#endif

// A thread's j-th column of the tile.
DEVICE_FN int column_of(int thread, int j)
{
    return (j / WIDE * THREADS_N + thread) * WIDE + j % WIDE;
}

// Where the block's part of a stripe begins, its lines and steps that are inside, and whether the
// steps of a line lie side by side.
typedef struct stripe {
    const GLOBAL element *from;
    int ld, lines, steps;
    bool along_k;
} stripe;

// Elements of a stripe of so many lines that a thread copies, at most, and the i-th of these.
#define SHARE(lines)    (((lines) * TILE_K - 1) / THREADS + 1)
#define IN_STRIPE(i)    ((i) * THREADS + THREAD_X)
#define LINE_OF(e, all) (s.along_k ? (e) / TILE_K : (e) % (all))
#define STEP_OF(e, all) (s.along_k ? (e) % TILE_K : (e) / (all))

// A thread's share of a stripe of at most so many lines: all is read before any is written, so that
// reads do not wait for each other. Lines that are outside are 0.
DEVICE_FN void fetch(element *share, stripe s, int most)
{
    UNROLL
    for (int i = 0; i < SHARE(most); i++) {
        const int line = LINE_OF(IN_STRIPE(i), most), step = STEP_OF(IN_STRIPE(i), most);
        share[i] = 0;
        if (line < s.lines && step < s.steps)
            share[i] = s.from[s.along_k ? (wide) line * s.ld + step : (wide) step * s.ld + line];
    }
}

DEVICE_FN void put(SHARED_PTR real *to, const element *share, stripe s, int most)
{
    UNROLL
    for (int i = 0; i < SHARE(most); i++)
        if (most * TILE_K % THREADS == 0 || IN_STRIPE(i) < most * TILE_K)
            to[STEP_OF(IN_STRIPE(i), most) * PITCH(most) + LINE_OF(IN_STRIPE(i), most)] =
                to_real(share[i]);
}

// So many elements that stand side by side.
DEVICE_FN void read_shared(real *to, const SHARED_PTR real *from, int count)
{
    UNROLL
    for (int e = 0; e < count; e += MAX_VECTOR)
        if (count - e < 2)
            to[e] = from[e];
        else if (MAX_VECTOR == 2 || count - e < 4)
            LOAD2(SHARED_PTR, real, to + e, from + e);
        else
            LOAD4(SHARED_PTR, real, to + e, from + e);
}

DEVICE_FN void multiply_step(real acc[THREAD_TILE_M][THREAD_TILE_N], const SHARED_PTR real *a,
                             const SHARED_PTR real *b, int thread)
{
    real left[THREAD_TILE_M], right[THREAD_TILE_N];

    read_shared(left, a, THREAD_TILE_M);
    UNROLL
    for (int j = 0; j < THREAD_TILE_N; j += WIDE)
        read_shared(right + j, b + column_of(thread, j), WIDE);
    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++)
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j++)
            acc[i][j] = MULTIPLY_ADD(left[i], right[j], acc[i][j]);
}

KERNEL BLOCK_SIZE(THREADS, 1)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL element *a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *b, wide b_start, int ldb, wide b_stride,
              GLOBAL result *c, wide c_start, int ldc, wide c_stride,
              const GLOBAL result *bias, wide bias_start)
{
    SHARED_POOL(real, stripes, TILE_K * (PITCH(TILE_M) + PITCH(TILE_N)));
    SHARED_PTR real *lines_a = stripes, *lines_b = stripes + TILE_K * PITCH(TILE_M);
    const int across = THREAD_X % THREADS_N, down = THREAD_X / THREADS_N * THREAD_TILE_M;
    real acc[THREAD_TILE_M][THREAD_TILE_N];
    int row, column;

    PDL_TRIGGER();
    PDL_WAIT();
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0; // A and B may be absent

    find_tile(m, n, &row, &column);
    FIND_MATRIX(a, BLOCK_Z);
    FIND_MATRIX(b, BLOCK_Z);
    FIND_MATRIX(c, BLOCK_Z);
    a += a_start + BLOCK_Z * a_stride + (TRANS_A ? row : (wide) row * lda);
    b += b_start + BLOCK_Z * b_stride + (TRANS_B ? (wide) column * ldb : column);
    c += c_start + BLOCK_Z * c_stride + (wide) row * ldc + column;
    UNROLL
    for (int i = 0; i < THREAD_TILE_M * THREAD_TILE_N; i++)
        acc[i / THREAD_TILE_N][i % THREAD_TILE_N] = 0;

    NO_UNROLL
    for (int depth = 0; depth < k; depth += TILE_K) {
        const int steps = smaller(k - depth, TILE_K);
        const stripe of_a = { a + depth * (TRANS_A ? (wide) lda : 1), lda, m - row, steps,
                              !TRANS_A };
        const stripe of_b = { b + depth * (TRANS_B ? (wide) 1 : ldb), ldb, n - column, steps,
                              TRANS_B };
        element share_a[SHARE(TILE_M)], share_b[SHARE(TILE_N)];

        fetch(share_a, of_a, TILE_M);
        fetch(share_b, of_b, TILE_N);
        if (depth > 0)
            BARRIER();
        put(lines_a, share_a, of_a, TILE_M);
        put(lines_b, share_b, of_b, TILE_N);
        BARRIER();
        NO_UNROLL
        for (int step = 0; step < steps; step++)
            multiply_step(acc, lines_a + step * PITCH(TILE_M) + down,
                          lines_b + step * PITCH(TILE_N), across);
    }

    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++) {
        if (row + down + i < m) {
            UNROLL
            for (int j = 0; j < THREAD_TILE_N; j += WIDE) {
                const int q = column_of(across, j);
                store(c + (wide) (down + i) * ldc + q, acc[i] + j, WIDE, n - column - q, ALIGNED,
                      alpha, beta, bias_of(bias + bias_start, row + down + i, column + q));
            }
        }
    }
}
