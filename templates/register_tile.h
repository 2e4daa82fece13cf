// What kernels share whose threads own WORK_M x WORK_N elements of C each, in registers:
// which ones, the order of their multiply-adds, storing them, and adding up the sums of
// blocks that share a tile of C. Kernels name it as their helpers and stand behind it.

#ifdef TYPE_F64
#define MAX_VECTOR 2          // elements in 16 bytes
#define BANKS      16         // elements in one row of shared memory's banks
#else
#define MAX_VECTOR 4
#define BANKS      32
#endif

// A thread's elements come in pieces that shared memory hands out 16 bytes at a time.
#define PIECE(work) ((work) % MAX_VECTOR == 0 ? MAX_VECTOR : (work) % 2 == 0 ? 2 : 1)
#define PIECE_M     PIECE(WORK_M)
#define PIECE_N     PIECE(WORK_N)

#define WARP_SIZE (WARP_M * WARP_N)
#define WARPS_M   (TILE_M / (WARP_M * WORK_M))
#define WARPS_N   (TILE_N / (WARP_N * WORK_N))
#define THREADS   (WARPS_M * WARPS_N * WARP_SIZE)

// Where an operand's memory runs along k, its tile is turned on its way.
#define TURN_A !TRANS_A
#define TURN_B TRANS_B

#if TILE_M % (WARP_M * WORK_M) || TILE_N % (WARP_N * WORK_N)
#error "a tile must hold a whole number of warps' rectangles"
#endif
#if C_VECTOR > MAX_VECTOR || WORK_N % C_VECTOR
#error "a thread's columns must be a whole number of C's vectors of at most 16 bytes"
#endif
#if LANES == 2 && WARP_M % 2
#error "pairs of rows need an even WARP_M"
#endif
#if FMA_ORDER >= 4 && (WORK_M % 2 || WORK_N % 2)
#error "blocks of 2x2 need an even WORK_M and WORK_N"
#endif

// The s-th multiply-add of a step: which element of a thread's WORK_M x WORK_N it serves.
#define BACK_IF(odd, count, x) ((odd) ? (count) - 1 - (x) : (x))
#if FMA_ORDER == 0
#define FMA_ROW(s)    ((s) / WORK_N)
#define FMA_COLUMN(s) ((s) % WORK_N)
#elif FMA_ORDER == 1
#define FMA_ROW(s)    ((s) % WORK_M)
#define FMA_COLUMN(s) ((s) / WORK_M)
#elif FMA_ORDER == 2
#define FMA_ROW(s)    ((s) / WORK_N)
#define FMA_COLUMN(s) BACK_IF(FMA_ROW(s) % 2, WORK_N, (s) % WORK_N)
#elif FMA_ORDER == 3
#define FMA_ROW(s)    BACK_IF(FMA_COLUMN(s) % 2, WORK_M, (s) % WORK_M)
#define FMA_COLUMN(s) ((s) / WORK_M)
#elif FMA_ORDER == 4
#define FMA_ROW(s)    ((s) / (2 * WORK_N) * 2 + (((s) + 1) / 2) % 2)
#define FMA_COLUMN(s) BACK_IF((s) / (2 * WORK_N) % 2, WORK_N, (s) % (2 * WORK_N) / 2)
#else
#define FMA_ROW(s)    BACK_IF((s) / (2 * WORK_M) % 2, WORK_M, (s) % (2 * WORK_M) / 2)
#define FMA_COLUMN(s) ((s) / (2 * WORK_M) * 2 + (((s) + 1) / 2) % 2)
#endif

DEVICE_FN int smaller(int a, int b)
{
    return a < b ? a : b;
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

DEVICE_FN void read_shared(real *to, const SHARED_PTR real *from, int vector)
{
    if (vector == 4)
        LOAD4(SHARED_PTR, to, from);
    else if (vector == 2)
        LOAD2(SHARED_PTR, to, from);
    else
        to[0] = from[0];
}

// The tile of this block: GROUP rows of tiles are walked column by column.
DEVICE_FN void find_tile(int m, int n, int *row, int *column)
{
    const unsigned tiles_m = (m - 1) / TILE_M + 1, tiles_n = (n - 1) / TILE_N + 1;
    const unsigned group = BLOCK_X / (GROUP * tiles_n);
    const unsigned in_group = BLOCK_X % (GROUP * tiles_n);
    const unsigned group_rows = smaller(GROUP, tiles_m - group * GROUP);
    *row = (group * GROUP + in_group % group_rows) * TILE_M;
    *column = in_group / group_rows * TILE_N;
}

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
    *in_tile_m = warp / WARPS_N * (WARP_M * WORK_M) + lane_m * PIECE_M;
    *in_tile_n = warp % WARPS_N * (WARP_N * WORK_N) + lane_n * PIECE_N;
}

// Where the part-th of SPLIT_K parts of k begins: all have the same whole number of tiles
// or one more. Of a k with fewer tiles than that, some are empty.
DEVICE_FN int part_start(int part, int k)
{
    const wide tiles = ((wide) k + TILE_K - 1) / TILE_K;
    const wide start = tiles * part / SPLIT_K * TILE_K;
    return start < k ? (int) start : k;
}

// One step along k. Compilers keep this order, and a multiply-add that shares an operand
// with the one before it spares the register file a read.
DEVICE_FN void multiply_add(real sum[WORK_M][WORK_N], const real *a, const real *b)
{
    UNROLL
    for (int s = 0; s < WORK_M * WORK_N; s++) {
        const int i = FMA_ROW(s), j = FMA_COLUMN(s);
        sum[i][j] = MULTIPLY_ADD(a[i], b[j], sum[i][j]);
    }
}

// Store C_VECTOR neighbouring elements of a row of C, of which `count` are in the matrix.
DEVICE_FN void store(GLOBAL real *c, const real *sum, int count, bool aligned, real alpha,
                     real beta)
{
    real out[C_VECTOR];

    if (aligned && C_VECTOR > 1 && count >= C_VECTOR) {
        real old[C_VECTOR] = { 0 };
        if (beta != 0)
            read_global(old, c, C_VECTOR, aligned);
        UNROLL
        for (int e = 0; e < C_VECTOR; e++)
            out[e] = alpha * sum[e] + beta * old[e];
#if C_VECTOR == 4
        STORE4(GLOBAL, c, out);
#elif C_VECTOR == 2
        STORE2(GLOBAL, c, out);
#endif
        return;
    }
    UNROLL
    for (int e = 0; e < C_VECTOR; e++)
        if (e < count)
            c[e] = beta == 0 ? alpha * sum[e] : alpha * sum[e] + beta * c[e];
}

DEVICE_FN void store_all(GLOBAL real *c, real sum[WORK_M][WORK_N], int ldc, int rows,
                         int columns, int first_m, int first_n, bool aligned, real alpha,
                         real beta)
{
    UNROLL
    for (int i = 0; i < WORK_M; i++) {
        const int r = first_m + i / PIECE_M * WARP_M * PIECE_M + i % PIECE_M;
        if (r < rows) {
            UNROLL
            for (int j = 0; j < WORK_N; j += C_VECTOR) {
                const int q = first_n + j / PIECE_N * WARP_N * PIECE_N + j % PIECE_N;
                store(c + (wide) r * ldc + q, sum[i] + j, columns - q, aligned, alpha,
                      beta);
            }
        }
    }
}

// Blocks that share a tile leave the sums of their parts of k in the workspace: for each
// matrix of the batch SPLIT_K matrices like C, with rows of a multiple of 4 elements.
DEVICE_FN int partial_ld(int n)
{
    return (n + 3) / 4 * 4;
}

DEVICE_FN void store_partial(GLOBAL real *workspace, real sum[WORK_M][WORK_N], int m,
                             int n, int row, int column, int first_m, int first_n)
{
    const int ld = partial_ld(n);
    workspace += ((wide) BLOCK_Z * SPLIT_K + BLOCK_Y) * m * ld + (wide) row * ld + column;
    store_all(workspace, sum, ld, m - row, ld - column, first_m, first_n, true, 1, 0);
}

#if SPLIT_K > 1
// A thread adds PARTS_EACH parts of C_VECTOR neighbouring elements, ADDERS_Y threads all
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
                   const GLOBAL real *workspace, wide workspace_start)
{
    SHARED real others[ADDERS_Y][C_VECTOR][ADDERS_X];
    const int ld = partial_ld(n), x = THREAD_X, y = THREAD_Y;
    const wide all = (wide) m * ld, mine = ((wide) BLOCK_X * ADDERS_X + x) * C_VECTOR;
    const wide at = mine < all ? mine : 0;
    real sum[C_VECTOR] = { 0 };

    workspace += workspace_start + BLOCK_Z * SPLIT_K * all + at;
    UNROLL
    for (int p = 0; p < PARTS_EACH; p++) {
        const int part = y * PARTS_EACH + p;
        real more[C_VECTOR] = { 0 };
        if (part < SPLIT_K)
            read_global(more, workspace + part * all, C_VECTOR, true);
        UNROLL
        for (int e = 0; e < C_VECTOR; e++)
            sum[e] += more[e];
    }
    UNROLL
    for (int e = 0; e < C_VECTOR; e++)
        others[y][e][x] = sum[e];
    BARRIER();
    if (y > 0 || mine >= all)
        return;
    UNROLL
    for (int other = 1; other < ADDERS_Y; other++)
        UNROLL
        for (int e = 0; e < C_VECTOR; e++)
            sum[e] += others[other][e][x];

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    const int row = (int) (at / ld), column = (int) (at % ld);
    c += c_start + BLOCK_Z * c_stride + (wide) row * ldc + column;
    store(c, sum, n - column, ALIGNED, alpha, beta);
}
#endif
