// syrk - C = alpha*A*A^T + beta*C on and below the diagonal of C, n x n, row major: square
// tiles through shared memory. What is above the diagonal is neither read nor written.
//
// One block computes a TILE x TILE tile of C; a thread WORK elements of one of its columns,
// TILE/WORK rows apart. Each pass takes TILE columns of the rows of A that the tile's rows
// and columns stand for.
//
//                   A^T                  the rows of tiles that blocks take, T = 5 and 4:
//                [ columns ] TILE
//        TILE    +---+                     y = 0   row 4 4 4 4 4      3 3 3 3 0
//   A  [ rows ]  | C |  TILE               y = 1   row 3 3 3 3 0      2 2 2 1 1
//                +---+                     y = 2   row 2 2 2 1 1
//
// Of T rows of tiles, row r has r + 1 on or below the diagonal. A long row and a short one
// are together as wide as any other two, so that blocks are numbered along such pairs.
//
// Launch: block (TILE, TILE/WORK), grid (T * (T + 1) / 2, 1, batch) with T = ceil(n/TILE).

#ifndef TILE
#define TILE 16       // rows and columns of C per block, and depth of one pass
#endif
#ifndef WORK
#define WORK 4        // elements of C per thread, in one column
#endif
#ifndef UNROLL_K
#define UNROLL_K 16   // steps of the inner loop over k that are written out; TILE: all
#endif

#define STEP (TILE / WORK) // rows from one of a thread's elements to the next
#define LINE (TILE + 1)    // a spare element keeps columns out of one bank

#if TILE % WORK
#error "a tile must hold a whole number of per-thread pieces"
#endif
#if TILE % UNROLL_K
#error "UNROLL_K must divide TILE"
#endif

// The first row and column of the block's tile.
DEVICE_FN void place_tile_of_block(int n, int *row, int *column)
{
    const int tiles = (n - 1) / TILE + 1, odd = tiles % 2;
    const int width = tiles + 1 - odd;
    const int pair = BLOCK_X / width, at = BLOCK_X % width;
    const int length = tiles - pair; // of the long row
    *row = (at < length ? length - 1 : pair - odd) * TILE;
    *column = (at < length ? at : at - length) * TILE;
}

// Copy the columns from *a on of TILE rows of A: `rows` and `depth` are left there.
DEVICE_FN void load(SHARED_PTR real (*tile)[LINE], const GLOBAL real *a, int lda,
                    int rows, int depth)
{
    UNROLL
    for (int w = 0; w < WORK; w++) {
        const int i = THREAD_Y + w * STEP, p = THREAD_X;
        tile[i][p] = i < rows && p < depth ? a[(wide) i * lda + p] : (real) 0;
    }
}

// Add the products of the two tiles' rows to the thread's sums.
DEVICE_FN void multiply(real *sum, SHARED_PTR real (*rows)[LINE],
                        SHARED_PTR real (*columns)[LINE])
{
    NO_UNROLL
    for (int start = 0; start < TILE; start += UNROLL_K) {
        UNROLL
        for (int p = start; p < start + UNROLL_K; p++) {
            UNROLL
            for (int w = 0; w < WORK; w++)
                sum[w] = MULTIPLY_ADD(rows[THREAD_Y + w * STEP][p], columns[THREAD_X][p],
                                      sum[w]);
        }
    }
}

// beta = 0 never reads C.
DEVICE_FN void store(GLOBAL real *c, real alpha, real sum, real beta)
{
    *c = beta == 0 ? alpha * sum : MULTIPLY_ADD(beta, *c, alpha * sum);
}

KERNEL BLOCK_SIZE(TILE, STEP)
void mmt_syrk(int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL real *a, wide a_start, int lda, wide a_stride,
              GLOBAL real *c, wide c_start, int ldc, wide c_stride)
{
    SHARED real rows[TILE][LINE];
    SHARED real columns[TILE][LINE];
    int tile_row, tile_column;
    real sum[WORK] = { 0 };

    place_tile_of_block(n, &tile_row, &tile_column);
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0; // A may be absent

    a += a_start + BLOCK_Z * a_stride;
    for (int start = 0; start < k; start += TILE) {
        load(rows, a + (wide) tile_row * lda + start, lda, n - tile_row, k - start);
        load(columns, a + (wide) tile_column * lda + start, lda, n - tile_column, k - start);
        BARRIER();
        multiply(sum, rows, columns);
        BARRIER();
    }

    BARRIER(); // without it PoCL 3.1 stores twice where k is 0 and TILE is 1
    const int column = tile_column + THREAD_X;
    c += c_start + BLOCK_Z * c_stride;
    UNROLL
    for (int w = 0; w < WORK; w++) {
        const int row = tile_row + THREAD_Y + w * STEP;
        if (row < n && column <= row)
            store(c + (wide) row * ldc + column, alpha, sum[w], beta);
    }
}
