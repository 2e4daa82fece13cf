// split_naive - C = alpha*op(A)*op(B) + beta*C, row major: one thread for each element of C
// and each split of k; a second launch adds the parts up.
//
// As naive, but a third index of the grid cuts the sum over k into SPLIT_K parts, so that a
// small C with a long k has threads enough. Each thread leaves its part of the sum in the
// workspace, [batch][part][row][column]; nothing is added up atomically, and the same
// numbers give the same bits.
//
//            BLOCK_N
//           [  p0   ]
//           [ op(B) ]  k
//   k       [  p3   ]
//  [p0 .. p3] +-----+
//   op(A)     |  C  |  BLOCK_M     C = p0 + p1 + p2 + p3
//             +-----+
//
// Launch: mmt_gemm   block (BLOCK_N, BLOCK_M), grid (blocks of C, SPLIT_K, batch)
//         add_parts  block (ADD_THREADS, 1), grid (ceil(m*n/ADD_THREADS), 1, batch)

#ifndef BLOCK_M
#define BLOCK_M 8     // rows of C per block
#endif
#ifndef BLOCK_N
#define BLOCK_N 32    // columns of C per block
#endif
#ifndef SPLIT_K
#define SPLIT_K 8     // splits of k
#endif
#ifndef TRANS_A
#define TRANS_A 0     // 1: A is stored k x m
#endif
#ifndef TRANS_B
#define TRANS_B 0     // 1: B is stored n x k
#endif

#define ADD_THREADS 32

#if BLOCK_M < 1 || BLOCK_N < 1 || SPLIT_K < 1
#error "a block must have rows and columns, and k at least one part"
#endif

// beta = 0 never reads C.
DEVICE_FN void store(GLOBAL real *c, real alpha, real sum, real beta)
{
    *c = beta == 0 ? alpha * sum : MULTIPLY_ADD(beta, *c, alpha * sum);
}

KERNEL BLOCK_SIZE(BLOCK_N, BLOCK_M)
void mmt_gemm(int m, int n, int k, real alpha,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL real *RESTRICT a, wide a_start, int lda, wide a_stride,
              const GLOBAL real *RESTRICT b, wide b_start, int ldb, wide b_stride,
              GLOBAL real *RESTRICT workspace, wide workspace_start)
{
    const int across = (n - 1) / BLOCK_N + 1;
    const int row = BLOCK_X / across * BLOCK_M + THREAD_Y;
    const int column = BLOCK_X % across * BLOCK_N + THREAD_X;
    if (row >= m || column >= n)
        return;

    if (scalars)
        alpha = scalars[scalars_start];
    if (alpha == 0)
        k = 0; // A and B may be absent

    const wide step_a = TRANS_A ? lda : 1, step_b = TRANS_B ? 1 : ldb;
    const wide part = ((wide) k + SPLIT_K - 1) / SPLIT_K, first = BLOCK_Y * part;
    const int depth = (int) (k - first < part ? k - first : part);
    real sum = 0;

    FIND_MATRIX(a, BLOCK_Z);
    FIND_MATRIX(b, BLOCK_Z);
    a += a_start + BLOCK_Z * a_stride + (TRANS_A ? (wide) row : (wide) row * lda)
         + first * step_a;
    b += b_start + BLOCK_Z * b_stride + (TRANS_B ? (wide) column * ldb : (wide) column)
         + first * step_b;
    for (int p = 0; p < depth; p++)
        sum = MULTIPLY_ADD(a[p * step_a], b[p * step_b], sum);

    workspace += workspace_start + ((wide) BLOCK_Z * SPLIT_K + BLOCK_Y) * m * n;
    workspace[(wide) row * n + column] = sum;
}

KERNEL BLOCK_SIZE(ADD_THREADS, 1)
void add_parts(int m, int n, real alpha, real beta,
               const GLOBAL real *scalars, wide scalars_start,
               GLOBAL real *RESTRICT c, wide c_start, int ldc, wide c_stride,
               const GLOBAL real *RESTRICT workspace, wide workspace_start)
{
    const wide size = (wide) m * n, at = (wide) BLOCK_X * ADD_THREADS + THREAD_X;
    real sum = 0;

    if (at >= size)
        return;
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    workspace += workspace_start + (wide) BLOCK_Z * SPLIT_K * size + at;
    UNROLL
    for (int p = 0; p < SPLIT_K; p++)
        sum += workspace[p * size];
    FIND_MATRIX(c, BLOCK_Z);
    store(c + c_start + BLOCK_Z * c_stride + at / n * ldc + at % n, alpha, sum, beta);
}
