// The right twin of the kernels beside it, each of which differs from it in one line. It is
// launched as tiled with WORK 1: one block for each TILE x TILE tile of C, one thread for
// each element.

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

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0;

    a = (const GLOBAL real *) ((size_t) (a + a_start + BLOCK_Z * a_stride) / 16 * 16);
    b += b_start + BLOCK_Z * b_stride;
    c += c_start + BLOCK_Z * c_stride;

    for (int start = 0; start < k; start += TILE) {
        const int pa = start + THREAD_X, pb = start + THREAD_Y;
        real x = 0, y = 0;
        if (i < m && pa < k)
            x = TRANS_A ? AT(a, pa, i, lda) : AT(a, i, pa, lda);
        if (j < n && pb < k)
            y = TRANS_B ? AT(b, j, pb, ldb) : AT(b, pb, j, ldb);
        tile_a[THREAD_Y][THREAD_X] = x;
        tile_b[THREAD_Y][THREAD_X] = y;
        BARRIER();
        for (int p = 0; p < TILE; p++)
            sum = MULTIPLY_ADD(tile_a[THREAD_Y][p], tile_b[p][THREAD_X], sum);
        BARRIER();
    }
    BARRIER();

    if (i < m && j < n) {
        GLOBAL real *out = &AT(c, i, j, ldc);
        *out = beta == 0 ? alpha * sum : alpha * sum + beta * *out;
    }
}
