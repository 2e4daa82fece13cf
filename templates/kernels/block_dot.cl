// block_dot - C = alpha*op(A)*op(B) + beta*C, row major: one block for each element of C.
//
// The threads of a block walk along k, each THREADS further at a time, and leave what they
// summed up in shared memory, where it is added in pairs:
//
//     k:  t0 t1 t2 t3 t0 t1 t2 t3 ...      [s0 s1 s2 s3] -> [s0+s2 s1+s3] -> [C]
//
// Every element of A and B is read anew for each element of C.
//
// Launch: block (THREADS, 1), grid (m * n, 1, batch).

#ifndef THREADS
#define THREADS 128   // of a block, a power of two
#endif
#ifndef TRANS_A
#define TRANS_A 0     // 1: A is stored k x m
#endif
#ifndef TRANS_B
#define TRANS_B 0     // 1: B is stored n x k
#endif

#if THREADS < 1 || (THREADS & (THREADS - 1)) != 0
#error "THREADS must be a power of two"
#endif

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
    SHARED real sums[THREADS];
    const wide step_a = TRANS_A ? lda : 1, step_b = TRANS_B ? 1 : ldb;
    const int row = BLOCK_X / n, column = BLOCK_X % n;
    real sum = 0;

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
    for (int p = THREAD_X; p < k; p += THREADS)
        sum = MULTIPLY_ADD(a[p * step_a], b[p * step_b], sum);

    sums[THREAD_X] = sum;
    for (int distance = THREADS / 2; distance > 0; distance /= 2) {
        BARRIER();
        if (THREAD_X < distance)
            sums[THREAD_X] += sums[THREAD_X + distance];
    }
    if (THREAD_X == 0)
        store(c + c_start + BLOCK_Z * c_stride + (wide) row * ldc + column, alpha,
              sums[0], beta);
}
