// The same as tiled.cl beside it, with bias and activation. It is launched as naive with
// ORDER columns: one thread for each element of C.

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
#if defined FAULT_bias_in_batch
    bias += bias_start + BLOCK_Z * m;
#else
    bias += bias_start;
#endif

    for (int p = 0; p < k; p++) {
        const real x = to_real(TRANS_A ? a[(wide) p * lda + i] : a[(wide) i * lda + p]);
        const real y = to_real(TRANS_B ? b[(wide) j * ldb + p] : b[(wide) p * ldb + j]);
#if defined FAULT_adds_in_16_bits
        sum = from_result(to_result(MULTIPLY_ADD(x, y, sum)));
#else
        sum = MULTIPLY_ADD(x, y, sum);
#endif
    }
#if defined FAULT_activated_early
    sum = activate(alpha * sum);
#elif defined FAULT_rounds_twice
    sum = from_result(to_result(alpha * sum));
#else
    sum = alpha * sum;
#endif
    sum = beta == 0 ? sum : MULTIPLY_ADD(beta, from_result(*c), sum);
#if defined FAULT_bias_of_column
    sum = sum + from_result(bias[j]);
#elif defined FAULT_bias_scaled
    sum = sum + alpha * from_result(bias[i]);
#else
    sum = sum + from_result(bias[i]);
#endif
#if defined FAULT_not_activated
    sum = sum + 0;
#else
    sum = activate(sum);
#endif
#if defined FAULT_cut_off
    *c = (result) (BITS_OF_FLOAT(sum) >> 16);
#else
    *c = to_result(sum);
#endif
}
