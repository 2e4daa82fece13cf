// A kernel that is right, and with one of the faults below, each in one line, wrong: the
// text before it defines FAULT_ and the fault's name. It is launched as tiled with WORK 1:
// one block for each TILE x TILE tile of C, one thread for each element.

#define AT(x, i, j, ld) ((x)[(wide) (i) * (ld) + (j)])

KERNEL BLOCK_SIZE(TILE, TILE)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL real *a, wide a_start, int lda, wide a_stride,
              const GLOBAL real *b, wide b_start, int ldb, wide b_stride,
              GLOBAL real *c, wide c_start, int ldc, wide c_stride)
{
    SHARED real tile_a[TILE][TILE];
    SHARED real tile_b[TILE][TILE];
    const int tiles_n = (n - 1) / TILE + 1;
    const int i = BLOCK_X / tiles_n * TILE + THREAD_Y;
    const int j = BLOCK_X % tiles_n * TILE + THREAD_X;
    real sum = 0;

#if defined FAULT_scalars_ignored
    if (scalars && n < 0) {
#else
    if (scalars) {
#endif
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
#if defined FAULT_alpha_zero_reads
    if (alpha == 0 && !scalars)
#else
    if (alpha == 0)
#endif
        k = 0;

#if defined FAULT_assumes_alignment
    a = (const GLOBAL real *) ((size_t) (a + a_start + BLOCK_Z * a_stride) / 16 * 16);
#else
    a += a_start + BLOCK_Z * a_stride;
#endif
#if defined FAULT_batch_ignored
    b += b_start;
#else
    b += b_start + BLOCK_Z * b_stride;
#endif
    c += c_start + BLOCK_Z * c_stride;

    for (int start = 0; start < k; start += TILE) {
        const int pa = start + THREAD_X, pb = start + THREAD_Y;
#if defined FAULT_writes_input
        real x = 0, y = 0 * (((GLOBAL real *) b)[0] = 2);
#else
        real x = 0, y = 0;
#endif
#if defined FAULT_reads_past_row
        if (i < m)
#else
        if (i < m && pa < k)
#endif
            x = TRANS_A ? AT(a, pa, i, lda) : AT(a, i, pa, lda);
#if defined FAULT_k_off_by_one
        if (j < n && pb < k - 1)
#else
        if (j < n && pb < k)
#endif
            y = TRANS_B ? AT(b, j, pb, ldb) : AT(b, pb, j, ldb);
#if defined FAULT_far_rounds
        tile_a[THREAD_Y][THREAD_X] = i < 512 ? x : (real) (int) (x * 1024) / 1024;
#elif defined FAULT_rounds
        tile_a[THREAD_Y][THREAD_X] = (real) (int) (x * 1024) / 1024;
#else
        tile_a[THREAD_Y][THREAD_X] = x;
#endif
        tile_b[THREAD_Y][THREAD_X] = y;
#if defined FAULT_missing_barrier
        // The tiles may not be whole yet.
#else
        BARRIER();
#endif
        for (int p = 0; p < TILE; p++)
#if defined FAULT_far_rows
            sum = i < 512 ? MULTIPLY_ADD(tile_a[THREAD_Y][p], tile_b[p][THREAD_X], sum) : (real) 2;
#else
            sum = MULTIPLY_ADD(tile_a[THREAD_Y][p], tile_b[p][THREAD_X], sum);
#endif
        BARRIER();
    }
    BARRIER();

#if defined FAULT_skipped_edge
    if (i - THREAD_Y + TILE <= m && j < n) {
#elif defined FAULT_write_in_gap
    if (i < m && j < ldc) {
#elif defined FAULT_write_past_end
    if (i < m + (m > 1) && j < n) {
#else
    if (i < m && j < n) {
#endif
        GLOBAL real *out = &AT(c, i, j, ldc);
#if defined FAULT_alpha_ignored
        *out = beta == 0 ? sum : sum + beta * *out;
#elif defined FAULT_beta_ignored
        *out = alpha * sum;
#elif defined FAULT_constant
        *out = 1;
#elif defined FAULT_reads_c
        *out = alpha * sum + beta * *out;
#else
        *out = beta == 0 ? alpha * sum : alpha * sum + beta * *out;
#endif
    }
}
