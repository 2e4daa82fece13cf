// The right twin of the kernels beside it whose names begin with fused_, each of which
// differs from it in one line. It is launched as naive with ORDER columns: one thread for
// each element of C.

KERNEL BLOCK_SIZE(BLOCK_N, BLOCK_M)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL element *a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *b, wide b_start, int ldb, wide b_stride,
              GLOBAL result *c, wide c_start, int ldc, wide c_stride,
              const GLOBAL result *bias, wide bias_start)
{
    const int blocks_n = (n - 1) / BLOCK_N + 1;
    const int i = BLOCK_X / blocks_n * BLOCK_M + THREAD_Y;
    const int j = BLOCK_X % blocks_n * BLOCK_N + THREAD_X;
    real sum = 0;

    if (i >= m || j >= n)
        return;
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0;
    a += a_start + BLOCK_Z * a_stride;
    b += b_start + BLOCK_Z * b_stride;
    c += c_start + BLOCK_Z * c_stride + (wide) i * ldc + j;
    bias += bias_start;

    for (int p = 0; p < k; p++) {
        const real x = to_real(TRANS_A ? a[(wide) p * lda + i] : a[(wide) i * lda + p]);
        const real y = to_real(TRANS_B ? b[(wide) j * ldb + p] : b[(wide) p * ldb + j]);
        sum = MULTIPLY_ADD(x, y, sum);
    }
    sum = activate(alpha * sum);
    sum = beta == 0 ? sum : MULTIPLY_ADD(beta, from_result(*c), sum);
    sum = sum + from_result(bias[i]);
    sum = activate(sum);
    *c = to_result(sum);
}
