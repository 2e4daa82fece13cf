// naive - C = activation(alpha*op(A)*op(B) + beta*C + bias), row major: one thread for each
// element of C. Every type, on every device.
//
// One block computes a BLOCK_M x BLOCK_N piece of C. Every thread walks its own row of
// op(A) and its own column of op(B) in global memory; the caches alone see any reuse.
//
//            BLOCK_N
//           [       ]
//           [ op(B) ]  k
//      k    [       ]
//  [ op(A) ] +-----+
//            |  C  |  BLOCK_M
//            +-----+
//
// ORDER says in which index neighbouring threads differ. Along columns they read and write
// neighbouring elements of B and C; along rows each of them touches a row of its own.
//
// Launch: block (BLOCK_N, BLOCK_M) where ORDER is columns, (BLOCK_M, BLOCK_N) where it is
// rows; grid (ceil(m/BLOCK_M) * ceil(n/BLOCK_N), 1, batch).

#ifndef ORDER
#define ORDER 1       // neighbouring threads differ in their: 0 rows, 1 columns
#endif
#ifndef BLOCK_M
#define BLOCK_M 8     // rows of C per block
#endif
#ifndef BLOCK_N
#define BLOCK_N 32    // columns of C per block
#endif
#ifndef TRANS_A
#define TRANS_A 0     // 1: A is stored k x m
#endif
#ifndef TRANS_B
#define TRANS_B 0     // 1: B is stored n x k
#endif

#if ORDER == 0
#define THREADS_X     BLOCK_M
#define THREADS_Y     BLOCK_N
#define THREAD_ROW    THREAD_X
#define THREAD_COLUMN THREAD_Y
#elif ORDER == 1
#define THREADS_X     BLOCK_N
#define THREADS_Y     BLOCK_M
#define THREAD_ROW    THREAD_Y
#define THREAD_COLUMN THREAD_X
#else
#error "ORDER must be 0 (rows) or 1 (columns)"
#endif
#if BLOCK_M < 1 || BLOCK_N < 1
#error "a block must have at least one row and one column"
#endif

// The block's first row and column of C: blocks walk along the rows of C.
DEVICE_FN int first_row(int n)
{
    return BLOCK_X / ((n - 1) / BLOCK_N + 1) * BLOCK_M;
}

DEVICE_FN int first_column(int n)
{
    return BLOCK_X % ((n - 1) / BLOCK_N + 1) * BLOCK_N;
}

// One row of op(A) times one column of op(B).
DEVICE_FN real row_by_column(const GLOBAL element *a, int lda, int row,
                             const GLOBAL element *b, int ldb, int column, int k)
{
    const wide step_a = TRANS_A ? lda : 1, step_b = TRANS_B ? 1 : ldb;
    real sum = 0;

    a += TRANS_A ? (wide) row : (wide) row * lda;
    b += TRANS_B ? (wide) column * ldb : (wide) column;
    for (int p = 0; p < k; p++)
        sum = MULTIPLY_ADD(to_real(a[p * step_a]), to_real(b[p * step_b]), sum);
    return sum;
}

// beta = 0 never reads C.
DEVICE_FN void store(GLOBAL result *c, real alpha, real sum, real beta,
                     const GLOBAL result *bias)
{
    real x = alpha * sum;
    if (beta != 0)
        x = MULTIPLY_ADD(beta, from_result(*c), x);
    *c = to_result(finish(x, bias));
}

KERNEL BLOCK_SIZE(THREADS_X, THREADS_Y)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL element *RESTRICT a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *RESTRICT b, wide b_start, int ldb, wide b_stride,
              GLOBAL result *RESTRICT c, wide c_start, int ldc, wide c_stride,
              const GLOBAL result *RESTRICT bias, wide bias_start)
{
    const int row = first_row(n) + THREAD_ROW;
    const int column = first_column(n) + THREAD_COLUMN;
    if (row >= m || column >= n)
        return;

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0; // A and B may be absent

    FIND_MATRIX(a, BLOCK_Z);
    FIND_MATRIX(b, BLOCK_Z);
    FIND_MATRIX(c, BLOCK_Z);
    a += a_start + BLOCK_Z * a_stride;
    b += b_start + BLOCK_Z * b_stride;
    c += c_start + BLOCK_Z * c_stride;
    const real sum = row_by_column(a, lda, row, b, ldb, column, k);
    store(c + (wide) row * ldc + column, alpha, sum, beta,
          bias_of(bias + bias_start, row, column));
}
