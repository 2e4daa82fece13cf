// Helpers of kernels whose threads own THREAD_TILE_M x THREAD_TILE_N elements of C each: which
// ones, their operands in shared memory, the order of FMAs, storing them. tiles.h and stream_k.h
// stand before it.
//
// A warp of WARP_M x WARP_N threads owns one rectangle of the tile. A thread's elements
// come in pieces that shared memory hands out 16 bytes at a time, strided so that the
// threads of a warp read without bank conflicts:
//
//      a warp's rectangle, WARP_M = 2, WARP_N = 4,        0 . . . 0 . . .
//      two pieces a side; the elements of thread 0:       . . . . . . . .
//                                                         0 . . . 0 . . .
//                                                         . . . . . . . .

#define BANKS (8 * MAX_VECTOR)   // elements in one row of shared memory's banks
#ifndef LOADS
#define LOADS 0               // 1: loads from shared memory keep the source's order (hopper.h)
#endif

#define PIECE(work) ((work) % MAX_VECTOR == 0 ? MAX_VECTOR : (work) % 2 == 0 ? 2 : 1)
#ifndef PIECE_M                  // a kernel whose tiles stand otherwise says 1
#define PIECE_M     PIECE(THREAD_TILE_M)
#endif
#ifndef PIECE_N
#define PIECE_N     PIECE(THREAD_TILE_N)
#endif

#define WARP_SIZE (WARP_M * WARP_N)
#define MEET()    (WARP_SIZE == 32 ? WARP_BARRIER() : BARRIER()) // those of a warp
#define WARPS_M   (TILE_M / (WARP_M * THREAD_TILE_M))
#define WARPS_N   (TILE_N / (WARP_N * THREAD_TILE_N))
#define THREADS   (WARPS_M * WARPS_N * WARP_SIZE)

// A thread's i-th row and j-th column of the tile.
#define ROW_AT(first, i)    ((first) + (i) / PIECE_M * WARP_M * PIECE_M + (i) % PIECE_M)
#define COLUMN_AT(first, j) ((first) + (j) / PIECE_N * WARP_N * PIECE_N + (j) % PIECE_N)

#define ROW_OF_ACC (THREADS * THREAD_TILE_N) // one row of all threads' sums
// Whether store_side_by_side is worth it.
#define SIDE_BY_SIDE (ALIGNED * C_VECTOR > 1 ? 0 : PIECE_N == 4)

// Where an operand's memory runs along k, its tile is transposed on its way.
#define TRANSPOSE_A !TRANS_A
#define TRANSPOSE_B TRANS_B

#if TILE_M % (WARP_M * THREAD_TILE_M) || TILE_N % (WARP_N * THREAD_TILE_N)
#error "a tile must hold a whole number of warps' rectangles"
#endif
#if C_VECTOR > MAX_VECTOR || THREAD_TILE_N % C_VECTOR
#error "a thread's columns must be a whole number of C's vectors of at most 16 bytes"
#endif
#if LANES == 2 && WARP_M % 2
#error "pairs of rows need an even WARP_M"
#endif
#if FMA_ORDER >= 4 && (THREAD_TILE_M % 2 || THREAD_TILE_N % 2)
#error "blocks of 2x2 need an even THREAD_TILE_M and THREAD_TILE_N"
#endif

// The s-th FMA of a step: which element of a thread's THREAD_TILE_M x THREAD_TILE_N it serves.
#define BACK_IF(odd, count, x) ((odd) ? (count) - 1 - (x) : (x))
#if FMA_ORDER == 0
#define FMA_ROW(s)    ((s) / THREAD_TILE_N)
#define FMA_COLUMN(s) ((s) % THREAD_TILE_N)
#elif FMA_ORDER == 1
#define FMA_ROW(s)    ((s) % THREAD_TILE_M)
#define FMA_COLUMN(s) ((s) / THREAD_TILE_M)
#elif FMA_ORDER == 2
#define FMA_ROW(s)    ((s) / THREAD_TILE_N)
#define FMA_COLUMN(s) BACK_IF(FMA_ROW(s) % 2, THREAD_TILE_N, (s) % THREAD_TILE_N)
#elif FMA_ORDER == 3
#define FMA_ROW(s)    BACK_IF(FMA_COLUMN(s) % 2, THREAD_TILE_M, (s) % THREAD_TILE_M)
#define FMA_COLUMN(s) ((s) / THREAD_TILE_M)
#elif FMA_ORDER == 4
#define FMA_ROW(s)    ((s) / (2 * THREAD_TILE_N) * 2 + (((s) + 1) / 2) % 2)
#define FMA_COLUMN(s) \
    BACK_IF((s) / (2 * THREAD_TILE_N) % 2, THREAD_TILE_N, (s) % (2 * THREAD_TILE_N) / 2)
#else
#define FMA_ROW(s) \
    BACK_IF((s) / (2 * THREAD_TILE_M) % 2, THREAD_TILE_M, (s) % (2 * THREAD_TILE_M) / 2)
#define FMA_COLUMN(s) ((s) / (2 * THREAD_TILE_M) * 2 + (((s) + 1) / 2) % 2)
#endif

DEVICE_FN void read_shared(real *to, const SHARED_PTR real *from, int vector)
{
#if LOADS
    unsigned words[4];
    load_in_order(words, from, vector * sizeof(real) / 4);
    memcpy(to, words, vector * sizeof(real));
    return;
#endif
    if (vector == 4)
        LOAD4(SHARED_PTR, real, to, from);
    else if (vector == 2)
        LOAD2(SHARED_PTR, real, to, from);
    else
        to[0] = from[0];
}

DEVICE_FN void write_shared(SHARED_PTR real *to, const real *from, int vector)
{
    if (vector == 4)
        STORE4(SHARED_PTR, real, to, from);
    else if (vector == 2)
        STORE2(SHARED_PTR, real, to, from);
    else
        to[0] = from[0];
}

// ---- tiles of A and B ------------------------------------------------------------------

// Where a job's part of a matrix begins, which itself begins at element `start`.
DEVICE_FN wide start_of_a(wide start, int lda, const struct job *job)
{
    return start + (TRANS_A ? job->row : job->begin) +
           (TRANS_A ? job->begin : job->row) * (wide) lda;
}

DEVICE_FN wide start_of_b(wide start, int ldb, const struct job *job)
{
    return start + (TRANS_B ? job->begin : job->column) +
           (TRANS_B ? job->column : job->begin) * (wide) ldb;
}

// A matrix as the kernel is given it, and where a job's part of it begins.
struct operand {
    const GLOBAL element *matrix;
    wide start;
    int ld;
    wide stride;
};

DEVICE_FN const GLOBAL element *part_of_a(struct operand a, const struct job *job)
{
    return a.matrix + start_of_a(a.start + BLOCK_Z * a.stride, a.ld, job);
}

DEVICE_FN const GLOBAL element *part_of_b(struct operand b, const struct job *job)
{
    return b.matrix + start_of_b(b.start + BLOCK_Z * b.stride, b.ld, job);
}

DEVICE_FN wide start_of_c(wide start, int ldc, const struct job *job)
{
    return start + (wide) job->row * ldc + job->column;
}

// The `work` lines of a thread at one depth, whose row of shared memory this is, in pieces
// that lie `stride` lines apart. A line's place is exchanged by `bits`. That of the first,
// `first`, is a number of whole warps' rectangles and something below `stride`; where those
// are whole rows of banks, `first` and the pieces can be exchanged apart from each other,
// which leaves fewer addresses to compute.
DEVICE_FN void take(real *to, const SHARED_PTR real *row, int first, int bits, int work,
                    int piece, int stride)
{
    const int low = bits % stride, high = bits - low;
    const bool apart = work / piece * stride % BANKS == 0;

    UNROLL
    for (int p = 0; p < work / piece; p++) {
        const int at = apart ? (first ^ low) + (p * stride ^ high)
                             : (first + p * stride) ^ bits;
        read_shared(to + p * piece, row + at, piece);
    }
}

// ---- C ---------------------------------------------------------------------------------

// A thread's first line of A and of B within the tile.
DEVICE_FN void find_lines(unsigned tid, int *in_tile_m, int *in_tile_n)
{
    const unsigned lane = tid % WARP_SIZE, warp = tid / WARP_SIZE;
    const unsigned lane_m = LANES == 0   ? lane / WARP_N
                            : LANES == 1 ? lane % WARP_M
                                         : lane / (2 * WARP_N) * 2 + lane % 2;
    const unsigned lane_n = LANES == 0   ? lane % WARP_N
                            : LANES == 1 ? lane / WARP_M
                                         : lane / 2 % WARP_N;
    *in_tile_m = warp / WARPS_N * (WARP_M * THREAD_TILE_M) + lane_m * PIECE_M;
    *in_tile_n = warp % WARPS_N * (WARP_N * THREAD_TILE_N) + lane_n * PIECE_N;
}

DEVICE_FN void start_acc(real acc[THREAD_TILE_M][THREAD_TILE_N])
{
    UNROLL
    for (int s = 0; s < THREAD_TILE_M * THREAD_TILE_N; s++)
        acc[s / THREAD_TILE_N][s % THREAD_TILE_N] = 0;
}

// One step along k. Compilers keep this order, and a FMA that shares an operand
// with the one before it spares the register file a read.
DEVICE_FN void multiply_add(real acc[THREAD_TILE_M][THREAD_TILE_N], const real *a, const real *b)
{
    UNROLL
    for (int s = 0; s < THREAD_TILE_M * THREAD_TILE_N; s++) {
        const int i = FMA_ROW(s), j = FMA_COLUMN(s);
        acc[i][j] = MULTIPLY_ADD(a[i], b[j], acc[i][j]);
    }
}

DEVICE_FN void store_all(GLOBAL result *c, real acc[THREAD_TILE_M][THREAD_TILE_N], int ldc,
                         int rows, int columns, int first_m, int first_n, real alpha, real beta,
                         const GLOBAL result *bias)
{
    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++) {
        const int r = ROW_AT(first_m, i);
        if (r < rows) {
            UNROLL
            for (int j = 0; j < THREAD_TILE_N; j += C_VECTOR) {
                const int q = COLUMN_AT(first_n, j);
                store(c + (wide) r * ldc + q, acc[i] + j, C_VECTOR, columns - q, ALIGNED, alpha,
                      beta, bias_of(bias, r, q));
            }
        }
    }
}

DEVICE_FN void store_parts(GLOBAL real *part, real acc[THREAD_TILE_M][THREAD_TILE_N], int ld,
                           int rows, int columns, int first_m, int first_n, real one)
{
    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++) {
        const int r = ROW_AT(first_m, i);
        if (r < rows) {
            UNROLL
            for (int j = 0; j < THREAD_TILE_N; j += C_VECTOR) {
                const int q = COLUMN_AT(first_n, j);
                store_part(part + (wide) r * ld + q, acc[i] + j, C_VECTOR, columns - q, one);
            }
        }
    }
}

// The same where no vector can be stored: each element of a piece would be stored by
// itself, PIECE_N away from those of the neighbouring threads, and every store of a warp
// touch PIECE_N times the lines that it fills. So a warp's threads hand their columns on
// through `scratch`, a row at a time, and neighbours store neighbouring columns. With two
// rows of scratch one is written while the other may still be read.
DEVICE_FN void store_side_by_side(GLOBAL result *c, SHARED_PTR real *scratch, bool two_rows,
                                  real acc[THREAD_TILE_M][THREAD_TILE_N], int ldc, int rows,
                                  int columns, int first_m, int first_n, real alpha,
                                  real beta, const GLOBAL result *bias)
{
    enum { ACROSS = WARP_N * THREAD_TILE_N };
    const int lane = (unsigned) THREAD_X % WARP_SIZE;
    const int in_warp_m = first_m % (WARP_M * PIECE_M), in_warp_n = first_n % ACROSS;
    const int own = in_warp_m / PIECE_M * ACROSS + in_warp_n;

    first_m -= in_warp_m, first_n -= in_warp_n;
    scratch += (THREAD_X - lane) * THREAD_TILE_N;
    BARRIER(); // tiles have been here
    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++) {
        SHARED_PTR real *row = scratch + (two_rows ? i % 2 * ROW_OF_ACC : 0);
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j += PIECE_N) {
            real piece[PIECE_N];
            UNROLL
            for (int e = 0; e < PIECE_N; e++)
                piece[e] = alpha * acc[i][j + e];
            write_shared(row + own + j * WARP_N, piece, PIECE_N);
        }
        MEET();
        UNROLL
        for (int e = 0; e < THREAD_TILE_N; e++) {
            const int at = e * WARP_SIZE + lane, q = first_n + at % ACROSS;
            const int r =
                first_m + (i / PIECE_M * WARP_M + at / ACROSS) * PIECE_M + i % PIECE_M;
            const real x = row[at];
            if (r < rows && q < columns)
                store(c + (wide) r * ldc + q, &x, 1, 1, false, 1, beta,
                      bias_of(bias, r, q));
        }
        if (!two_rows)
            MEET();
    }
}

// The sums of a job: to C, where its part begins, or, of a split of k, to the workspace.
// `scratch` has room for so many elements; it and they are free once all threads are
// here.
DEVICE_FN void store_job(const struct job *job, GLOBAL result *c, GLOBAL real *workspace,
                         SHARED_PTR real *scratch, int room, real acc[THREAD_TILE_M][THREAD_TILE_N],
                         int m, int n, int ldc, int first_m, int first_n, real alpha,
                         real beta, const GLOBAL result *bias)
{
    const int row = job->row, column = job->column, rows = m - row;
    // 1, which the compiler cannot know: what is stored in vectors stands in registers
    // that follow each other, and if those were the accumulators' own, FMAs would meet
    // in their banks.
    const real one = m > 0 ? 1 : 0;

    bias = bias_of(bias, row, column);
    if (SPLIT_K > 1)
        store_parts(partial_at(workspace, m, n, row, column), acc, partial_ld(n), rows,
                    partial_ld(n) - column, first_m, first_n, one);
    else if (TILE_SCHEDULER == STREAM_K && job->part >= 0)
        store_parts(part_of_segment(workspace, BLOCK_X, job->part), acc, TILE_N, TILE_M, TILE_N,
                    first_m, first_n, one);
    else if (SIDE_BY_SIDE && room >= ROW_OF_ACC)
        store_side_by_side(c, scratch, room >= 2 * ROW_OF_ACC, acc, ldc, rows,
                           n - column, first_m, first_n, alpha, beta, bias);
    else
        store_all(c, acc, ldc, rows, n - column, first_m, first_n, alpha, beta, bias);
}
