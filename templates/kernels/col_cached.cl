// col_cached - C = alpha*op(A)*op(B) + beta*C, row major: a column of op(B) is kept in
// shared memory while many rows of op(A) are multiplied by it.
//
// One block computes THREADS elements of one column of C, a thread one of them. The column
// of op(B) passes through shared memory, CHUNK elements at a time; every thread reads its
// own row of op(A) from global memory.
//
//                 1
//                [|]
//                [|]  CHUNK at a time
//        k       [|]  op(B)
//  [   op(A)   ] +-+
//  [           ] |C|  THREADS
//  [           ] +-+
//
// Neighbouring threads differ in the row: unless A is stored transposed, their reads of A
// and their writes of C lie a whole row apart.
//
// Launch: block (THREADS), grid (ceil(m/THREADS) * n, 1, batch).

#ifndef THREADS
#define THREADS 256   // threads of a block, and rows of C that it computes
#endif
#ifndef CHUNK
#define CHUNK 256     // elements of the column of op(B) in shared memory at a time
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

// Copy the next elements of a column of op(B), at most CHUNK of those that are left.
DEVICE_FN void load_column(SHARED_PTR real *column, const GLOBAL real *b, wide step, int left)
{
    for (int p = THREAD_X; p < CHUNK && p < left; p += THREADS)
        column[p] = b[p * step];
}

// Add the product of a piece of a row of op(A) and the piece of the column beside it.
DEVICE_FN real multiply(const GLOBAL real *a, wide step, const SHARED_PTR real *column,
                        int left, real sum)
{
    const int count = left < CHUNK ? left : CHUNK;

    for (int p = 0; p < count; p++)
        sum = MULTIPLY_ADD(a[p * step], column[p], sum);
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

    // Blocks walk down a column of C, so that neighbours read the same column of op(B).
    const int blocks_m = (m - 1) / THREADS + 1;
    const int column = BLOCK_X / blocks_m;
    const int row = BLOCK_X % blocks_m * THREADS + THREAD_X;
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
        load_column(cached, b, step_b, left);
        BARRIER();
        if (row < m)
            sum = multiply(a, step_a, cached, left, sum);
        BARRIER();
        a += CHUNK * step_a;
        b += CHUNK * step_b;
    }

    c += c_start + BLOCK_Z * c_stride;
    if (row < m)
        store(c + (wide) row * ldc + column, alpha, sum, beta);
}
