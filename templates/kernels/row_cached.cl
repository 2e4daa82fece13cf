// row_cached - C = alpha*op(A)*op(B) + beta*C, row major: a row of op(A) is kept in shared
// memory while many columns of op(B) are multiplied by it.
//
// One block computes THREADS elements of one row of C, a thread one of them. The row of
// op(A) passes through shared memory, CHUNK elements at a time; every thread reads its own
// column of op(B) from global memory.
//
//                          THREADS
//                         [       ]
//                         [ op(B) ]  k
//      CHUNK at a time    [       ]
//    [      op(A)      ]  +-------+
//                         |   C   |  1
//                         +-------+
//
// Neighbouring threads differ in the column: unless B is stored transposed, they read
// neighbouring elements of B, and they always write neighbouring elements of C.
//
// Launch: block (THREADS), grid (m * ceil(n/THREADS), 1, batch).

#ifndef THREADS
#define THREADS 256   // threads of a block, and columns of C that it computes
#endif
#ifndef CHUNK
#define CHUNK 256     // elements of the row of op(A) in shared memory at a time
#endif
#ifndef TRANS_A
#define TRANS_A 0     // 1: A is stored k x m
#endif
#ifndef TRANS_B
#define TRANS_B 0     // 1: B is stored n x k
#endif

#if THREADS < 1 || CHUNK < 1
#error "a block must have at least one thread and a chunk at least one element"
#endif

// Copy the next elements of a row of op(A), at most CHUNK of those that are left.
DEVICE_FN void load_row(SHARED_PTR real *row, const GLOBAL real *a, wide step, int left)
{
    for (int p = THREAD_X; p < CHUNK && p < left; p += THREADS)
        row[p] = a[p * step];
}

// Add the product of a piece of the row and the piece of a column of op(B) under it.
DEVICE_FN real multiply(const SHARED_PTR real *row, const GLOBAL real *b, wide step,
                        int left, real sum)
{
    const int count = left < CHUNK ? left : CHUNK;

    for (int p = 0; p < count; p++)
        sum = MULTIPLY_ADD(row[p], b[p * step], sum);
    return sum;
}

// beta = 0 never reads C.
DEVICE_FN void store(GLOBAL real *c, real alpha, real sum, real beta)
{
    *c = beta == 0 ? alpha * sum : MULTIPLY_ADD(beta, *c, alpha * sum);
}

KERNEL BLOCK_SIZE(THREADS, 1)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL real *RESTRICT a, wide a_start, int lda, wide a_stride,
              const GLOBAL real *RESTRICT b, wide b_start, int ldb, wide b_stride,
              GLOBAL real *RESTRICT c, wide c_start, int ldc, wide c_stride)
{
    SHARED real cached[CHUNK];

    // Blocks walk along a row of C, so that neighbours read the same row of op(A).
    const int blocks_n = (n - 1) / THREADS + 1;
    const int row = BLOCK_X / blocks_n;
    const int column = BLOCK_X % blocks_n * THREADS + THREAD_X;
    const wide step_a = TRANS_A ? lda : 1, step_b = TRANS_B ? 1 : ldb;

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
    real sum = 0;
    for (int left = k; left > 0; left -= CHUNK) {
        load_row(cached, a, step_a, left);
        BARRIER();
        if (column < n)
            sum = multiply(cached, b, step_b, left, sum);
        BARRIER();
        a += CHUNK * step_a;
        b += CHUNK * step_b;
    }

    c += c_start + BLOCK_Z * c_stride;
    if (column < n)
        store(c + (wide) row * ldc + column, alpha, sum, beta);
}
