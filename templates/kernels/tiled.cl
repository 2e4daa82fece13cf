// tiled - C = alpha*op(A)*op(B) + beta*C, row major: square tiles through shared memory,
// with the published cures of bank conflicts and several results per thread.
//
// One block computes a TILE x TILE tile of C; a thread WORK elements of it, which lie
// TILE/WORK apart down a column (WORK_ALONG rows) or along a row (columns). Every thread
// loads the elements of the tiles of op(A) and op(B) that lie where its elements of C lie.
//
//               TILE                   the elements of thread 0 with TILE = 8, WORK = 2,
//             [op(B)]  TILE            along rows:           along columns:
//      TILE   +-----+                  0 . . . . . . .       0 . . . 0 . . .
//    [ op(A) ]|  C  |  TILE            . . . . . . . .       . . . . . . . .
//             +-----+                  . . . . . . . .       . . . . . . . .
//                                      . . . . . . . .       . . . . . . . .
//                                      0 . . . . . . .       . . . . . . . .
//
// SHARED_LAYOUT says how the tile of op(B) lies in shared memory. Neighbouring threads
// differ in the column, and read it together:
//   plain        [column][k]: elements TILE apart. In 32 banks of 4 bytes, TILE 32 brings all
//                of a warp's elements into one bank, when they are read, and when a tile that
//                comes along rows of B is stored
//   pad          the same with a spare element after each TILE: elements TILE + 1 apart
//   pad_aligned  with 16 spare bytes, which leave loads of 16 bytes aligned: eight threads
//                of these find all banks; loads of one element of 4 bytes meet by fours
//   swizzle      [column][k] without spare bytes: the elements of a column change places,
//                by an exclusive or with the column
//   swap         [k][column], the indices exchanged: neighbouring elements
// The tile of op(A) lies as [row][k], where the threads of one row read the same element;
//   pad_both     is pad with a spare element there too, which no bank asks for: it leaves
//                rows of op(A) unaligned, and takes their loads of 16 bytes
//
// Launch: block (TILE, TILE/WORK) where WORK_ALONG is rows, (TILE/WORK, TILE) where it is
// columns; grid (ceil(m/TILE) * ceil(n/TILE), 1, batch).

#ifndef TILE
#define TILE 16           // rows and columns of C per block, and depth of one pass
#endif
#ifndef SHARED_LAYOUT
#define SHARED_LAYOUT 1   // 0 plain, 1 pad, 2 swap, 3 pad_both, 4 pad_aligned, 5 swizzle
#endif
#ifndef WORK
#define WORK 4            // elements of C per thread
#endif
#ifndef WORK_ALONG
#define WORK_ALONG 0      // a thread's elements lie in different: 0 rows, 1 columns
#endif
#ifndef UNROLL_K
#define UNROLL_K 16       // steps of the inner loop over k that are written out; TILE: all
#endif
#ifndef TRANS_A
#define TRANS_A 0         // 1: A is stored k x m
#endif
#ifndef TRANS_B
#define TRANS_B 0         // 1: B is stored n x k
#endif

#define LAYOUT_PAD         1
#define LAYOUT_SWAP        2
#define LAYOUT_PAD_BOTH    3
#define LAYOUT_PAD_ALIGNED 4
#define LAYOUT_SWIZZLE     5
#define ALONG_ROWS         (WORK_ALONG == 0)

#define THREADS_X    (ALONG_ROWS ? TILE : TILE / WORK)
#define THREADS_Y    (ALONG_ROWS ? TILE / WORK : TILE)
#define VECTOR       (16 / (int) sizeof(real)) // elements of the widest load
#define LINE_A       (TILE + (SHARED_LAYOUT == LAYOUT_PAD_BOTH))
#define LINE_B       (TILE + (SHARED_LAYOUT == LAYOUT_PAD || SHARED_LAYOUT == LAYOUT_PAD_BOTH) \
                      + (SHARED_LAYOUT == LAYOUT_PAD_ALIGNED ? VECTOR : 0))

// Where a thread's w-th element stands in a tile.
#define TILE_ROW(w)    (THREAD_Y + (ALONG_ROWS ? (w) * (TILE / WORK) : 0))
#define TILE_COLUMN(w) (THREAD_X + (ALONG_ROWS ? 0 : (w) * (TILE / WORK)))

// The element of step p and column j of the tile of op(B).
#if SHARED_LAYOUT == LAYOUT_SWAP
#define B_AT(tile, p, j) tile[p][j]
#elif SHARED_LAYOUT == LAYOUT_SWIZZLE
#define B_AT(tile, p, j) tile[j][(p) ^ (j)]
#else
#define B_AT(tile, p, j) tile[j][p]
#endif

#if TILE % WORK
#error "a tile must hold a whole number of per-thread pieces"
#endif
#if TILE % UNROLL_K
#error "UNROLL_K must divide TILE"
#endif
#if SHARED_LAYOUT < 0 || SHARED_LAYOUT > 5
#error "SHARED_LAYOUT must be 0 (plain), 1 (pad), 2 (swap), 3 (pad_both), 4 (pad_aligned) or 5 (swizzle)"
#endif
#if WORK_ALONG < 0 || WORK_ALONG > 1
#error "WORK_ALONG must be 0 (rows) or 1 (columns)"
#endif

// Element (i, j) of a tile of a stored matrix, 0 outside the matrix.
DEVICE_FN real entry(const GLOBAL real *x, int ld, int i, int j, int rows, int columns)
{
    return i < rows && j < columns ? x[(wide) i * ld + j] : (real) 0;
}

// Copy the tile of op(A) whose first element is *a: `rows` and `depth` are left there.
DEVICE_FN void load_a(SHARED_PTR real (*tile)[LINE_A], const GLOBAL real *a, int lda,
                      int rows, int depth)
{
    UNROLL
    for (int w = 0; w < WORK; w++) {
        const int i = TILE_ROW(w), j = TILE_COLUMN(w);
        if (TRANS_A)
            tile[j][i] = entry(a, lda, i, j, depth, rows);
        else
            tile[i][j] = entry(a, lda, i, j, rows, depth);
    }
}

// The same for op(B), with `depth` and `columns`.
DEVICE_FN void load_b(SHARED_PTR real (*tile)[LINE_B], const GLOBAL real *b, int ldb,
                      int depth, int columns)
{
    UNROLL
    for (int w = 0; w < WORK; w++) {
        const int i = TILE_ROW(w), j = TILE_COLUMN(w);
        if (TRANS_B)
            B_AT(tile, j, i) = entry(b, ldb, i, j, columns, depth);
        else
            B_AT(tile, i, j) = entry(b, ldb, i, j, depth, columns);
    }
}

// Add the product of the two tiles to the thread's sums.
DEVICE_FN void multiply(real *sum, SHARED_PTR real (*tile_a)[LINE_A],
                        SHARED_PTR real (*tile_b)[LINE_B])
{
    NO_UNROLL
    for (int start = 0; start < TILE; start += UNROLL_K) {
        UNROLL
        for (int p = start; p < start + UNROLL_K; p++) {
            UNROLL
            for (int w = 0; w < WORK; w++)
                sum[w] = MULTIPLY_ADD(tile_a[TILE_ROW(w)][p],
                                      B_AT(tile_b, p, TILE_COLUMN(w)), sum[w]);
        }
    }
}

// beta = 0 never reads C.
DEVICE_FN void store(GLOBAL real *c, real alpha, real sum, real beta)
{
    *c = beta == 0 ? alpha * sum : MULTIPLY_ADD(beta, *c, alpha * sum);
}

KERNEL BLOCK_SIZE(THREADS_X, THREADS_Y)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL real *RESTRICT a, wide a_start, int lda, wide a_stride,
              const GLOBAL real *RESTRICT b, wide b_start, int ldb, wide b_stride,
              GLOBAL real *RESTRICT c, wide c_start, int ldc, wide c_stride)
{
    SHARED real tile_a[TILE][LINE_A];
    SHARED real tile_b[TILE][LINE_B];
    real sum[WORK] = { 0 };

    // Blocks walk along the rows of C.
    const int tiles_n = (n - 1) / TILE + 1;
    const int row = BLOCK_X / tiles_n * TILE, column = BLOCK_X % tiles_n * TILE;

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0; // A and B may be absent

    FIND_MATRIX(a, BLOCK_Z);
    FIND_MATRIX(b, BLOCK_Z);
    FIND_MATRIX(c, BLOCK_Z);
    a += a_start + BLOCK_Z * a_stride + (TRANS_A ? (wide) row : (wide) row * lda);
    b += b_start + BLOCK_Z * b_stride + (TRANS_B ? (wide) column * ldb : (wide) column);
    for (int left = k; left > 0; left -= TILE) {
        load_a(tile_a, a, lda, m - row, left);
        load_b(tile_b, b, ldb, left, n - column);
        BARRIER();
        multiply(sum, tile_a, tile_b);
        BARRIER();
        a += TRANS_A ? (wide) TILE * lda : TILE;
        b += TRANS_B ? TILE : (wide) TILE * ldb;
    }
    BARRIER(); // without it PoCL 3.1 stores twice where k is 0 and THREADS_X is 1

    c += c_start + BLOCK_Z * c_stride + (wide) row * ldc + column;
    UNROLL
    for (int w = 0; w < WORK; w++) {
        const int i = TILE_ROW(w), j = TILE_COLUMN(w);
        if (row + i < m && column + j < n)
            store(c + (wide) i * ldc + j, alpha, sum[w], beta);
    }
}
