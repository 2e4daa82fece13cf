// dots - C = alpha*A*B^T + beta*C on a CPU, for few rows of C: both operands lie along k.
//
// One work-item is one core at work: it computes tile_n columns of C, which the launch says, in
// register tiles of THREAD_TILE_M rows and THREAD_TILE_N columns. An element of C is a dot product of two rows in
// memory, so that a register tile has a vector of sums for each, and reads both rows VECTOR
// elements at a time, as they lie; B is read once for each tile of rows, and nothing is packed:
//
//                    b0 [ ---- ---- ---- ]   a row of B, along k
//                    b1 [ ---- ---- ---- ]
//   a0 [ ---- ---- ---- ]   c00 c01
//   a1 [ ---- ---- ---- ]   c10 c11          each the sum of a vector of sums
//
// Launch: mmt_gemm, grid (ceil(n / tile_n), 1, batch); work-groups of one.

#ifndef THREAD_TILE_M
#define THREAD_TILE_M 1       // rows of C in a register tile
#endif
#ifndef THREAD_TILE_N
#define THREAD_TILE_N 4       // columns of C in a register tile
#endif

#if TRANS_A || !TRANS_B
#error "rows of A and of B must lie along k: TRANS_A 0 and TRANS_B 1"
#endif

// A vector of elements, as real numbers.
DEVICE_FN vec load(const GLOBAL element *p)
{
#if defined(TYPE_F16)
    return PASTE(vload_half, VECTOR)(0, (const GLOBAL half *) p);
#elif defined(TYPE_BF16)
    return PASTE(as_float, VECTOR)(PASTE(convert_uint, VECTOR)(LOAD_VECTOR(p)) << 16);
#elif defined(TYPE_I8)
    return PASTE(as_uint, VECTOR)(PASTE(convert_int, VECTOR)(LOAD_VECTOR(p)));
#elif IS_CONVERTED
    real part[VECTOR];
    UNROLL
    for (int e = 0; e < VECTOR; e++)
        part[e] = to_real(p[e]);
    return LOAD_VECTOR(part);
#else
    return LOAD_VECTOR(p);
#endif
}

// The same of `count` elements, and zeros behind them.
DEVICE_FN vec load_part(const GLOBAL element *p, int count)
{
    real part[VECTOR];
    for (int e = 0; e < VECTOR; e++)
        part[e] = e < count ? to_real(p[e]) : 0;
    return LOAD_VECTOR(part);
}

DEVICE_FN real sum_of(vec sums)
{
    real part[VECTOR], sum = 0;
    STORE_VECTOR(sums, part);
    UNROLL
    for (int e = 0; e < VECTOR; e++)
        sum += part[e];
    return sum;
}

// Sums of a register tile, whose rows of A and of B these are.
DEVICE_FN void multiply(vec acc[THREAD_TILE_M][THREAD_TILE_N], const vec a[THREAD_TILE_M],
                        const vec b[THREAD_TILE_N])
{
    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++)
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j++)
            acc[i][j] = MULTIPLY_ADD(a[i], b[j], acc[i][j]);
}

// Columns of C from `column` on, for rows from `row` on; rows and columns past the last are
// computed as the last, and not stored.
DEVICE_FN void compute(int row, int column, int m, int n, int k, real alpha, real beta,
                       const GLOBAL element *a, int lda, const GLOBAL element *b, int ldb,
                       GLOBAL result *c, int ldc, const GLOBAL result *bias)
{
    const GLOBAL element *from_a[THREAD_TILE_M], *from_b[THREAD_TILE_N];
    vec acc[THREAD_TILE_M][THREAD_TILE_N], now_a[THREAD_TILE_M], now_b[THREAD_TILE_N];

    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++) {
        from_a[i] = a + (wide) min(row + i, m - 1) * lda;
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j++)
            acc[i][j] = (vec) 0;
    }
    UNROLL
    for (int j = 0; j < THREAD_TILE_N; j++)
        from_b[j] = b + (wide) min(column + j, n - 1) * ldb;

    int l = 0;
    NO_UNROLL
    for (; l + VECTOR <= k; l += VECTOR) {
        UNROLL
        for (int i = 0; i < THREAD_TILE_M; i++)
            now_a[i] = load(from_a[i] + l);
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j++)
            now_b[j] = load(from_b[j] + l);
        multiply(acc, now_a, now_b);
    }
    if (l < k) {
        UNROLL
        for (int i = 0; i < THREAD_TILE_M; i++)
            now_a[i] = load_part(from_a[i] + l, k - l);
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j++)
            now_b[j] = load_part(from_b[j] + l, k - l);
        multiply(acc, now_a, now_b);
    }

    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++)
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j++)
            if (row + i < m && column + j < n) {
                GLOBAL result *to = c + (wide) (row + i) * ldc + column + j;
                const real x = alpha * sum_of(acc[i][j]) + (beta == 0 ? 0 : beta * from_result(*to));
                *to = to_result(finish(x, bias_of(bias, row + i, column + j)));
            }
}

KERNEL BLOCK_SIZE(1, 1)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL element *RESTRICT a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *RESTRICT b, wide b_start, int ldb, wide b_stride,
              GLOBAL result *RESTRICT c, wide c_start, int ldc, wide c_stride,
              const GLOBAL result *RESTRICT bias, wide bias_start,
              int tile_m, int tile_n, int block_k)
{
    const int first = BLOCK_X * tile_n, past = min(n, first + tile_n);

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0; // A and B may be absent

    a += a_start + BLOCK_Z * a_stride;
    b += b_start + BLOCK_Z * b_stride;
    c += c_start + BLOCK_Z * c_stride;
    NO_UNROLL
    for (int column = first; column < past; column += THREAD_TILE_N)
        NO_UNROLL
        for (int row = 0; row < m; row += THREAD_TILE_M)
            compute(row, column, m, n, k, alpha, beta, a, lda, b, ldb, c, ldc,
                    bias + bias_start);
}
