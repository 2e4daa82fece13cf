// panel - C = alpha*op(A)*op(B) + beta*C on a CPU, row major.
//
// One work-item is one core at work: it computes a tile of C, of register tiles, each
// THREAD_TILE_M rows of THREAD_TILE_N vectors. The launch says how many: tile_m is PANELS_M
// times THREAD_TILE_M, tile_n is PANELS_N times WIDTH, block_k is BLOCK_K. Two launches before
// may copy A and B into panels, so that the multiplication reads both in the order in which
// they lie; elements of 16 and 8 bits become real numbers there:
//
//   panel of A: THREAD_TILE_M rows       panel of B: WIDTH = THREAD_TILE_N * VECTOR columns
//     k=0  a0 a1 a2 ...             k=0  b0 b1 b2 ...
//     k=1  a0 a1 a2 ...             k=1  b0 b1 b2 ...
//
// k is taken in blocks of block_k: the block of A that a work-item's register tiles read stays
// in the second-level cache while it meets all panels of B of the work-item, one after the
// other. A C of 16 bits takes all of k at once, so that it is rounded once. Rows of A that lie
// as they came are read one beside the other, each element once a register tile: few of them
// need no panel.
//
// The workspace has the panels of all A, one matrix after the other, then those of all B; of
// an operand that the whole batch shares there is one matrix, which is packed once.
//
// Launch: pack_a, grid (panels / PACK_PANELS, ceil(k/PACK_K), matrices of A), where PACK_A is 1;
//         pack_b, grid (panels / PACK_PANELS, ceil(k/PACK_K), matrices of B), where PACK_B is 1;
//         mmt_gemm, grid (tiles of m x tiles of n, 1, batch); work-groups of one.

#ifndef THREAD_TILE_M
#define THREAD_TILE_M 6       // rows of C in a register tile
#endif
#ifndef THREAD_TILE_N
#define THREAD_TILE_N 4       // vectors of C in a row of a register tile
#endif
#ifndef K_UNROLL
#define K_UNROLL 4            // steps of k unrolled
#endif
#ifndef PACK_A
#define PACK_A 0              // copy A into panels first
#endif
#ifndef PACK_B
#define PACK_B 1              // copy B into panels first
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

#if (TRANS_B || IS_CONVERTED) && !PACK_B
#error "a transposed B has no vectors along n, and one of 16 or 8 bits none to multiply: pack it"
#endif

#define WIDTH       (THREAD_TILE_N * VECTOR)
#define PACK_K      32        // steps of k that a work-item copies
#define PACK_PANELS 8         // into so many panels

// Where element (i, l) of op(A) and (l, j) of op(B) lie, from the first.
#define A_AT(i, l) (TRANS_A ? (wide) (l) * lda + (i) : (wide) (i) * lda + (l))
#define B_AT(l, j) (TRANS_B ? (wide) (j) * ldb + (l) : (wide) (l) * ldb + (j))

DEVICE_FN wide round_up(int x, int step) { return (wide) (x + step - 1) / step * step; }

// Steps of k that a panel has room for: panels start at whole cache lines.
DEVICE_FN wide panel_depth(int k) { return round_up(k, 16); }

// Elements of workspace that the panels of one A and of one B take.
DEVICE_FN wide panels_of_a(int m, int k)
{
    return PACK_A ? round_up(m, THREAD_TILE_M) * panel_depth(k) : 0;
}
DEVICE_FN wide panels_of_b(int n, int k)
{
    return PACK_B ? round_up(n, WIDTH) * panel_depth(k) : 0;
}

// Copies `steps` steps of k into panels that are `width` wide and `panel` elements apart.
// `from` has `count` elements across, which lie `across` from each other; steps of k lie
// `step` apart. What the last panel lacks are zeros.
DEVICE_FN void pack(GLOBAL real *to, wide panel, int width, const GLOBAL element *from,
                    int count, wide across, wide step, int steps)
{
    for (; count > 0; count -= width, from += width * across, to += panel)
        if (count < width || steps < PACK_K)
            for (int l = 0; l < steps; l++)
                for (int j = 0; j < width; j++)
                    to[l * width + j] = j < count ? to_real(from[j * across + l * step]) : 0;
        else if (across == 1)
            for (int l = 0; l < PACK_K; l++)
                for (int j = 0; j < width; j++)
                    to[l * width + j] = to_real(from[j + l * step]);
        else // eight neighbours at once, before their cache line is gone again
            for (int l = 0; l < PACK_K; l += 8)
                for (int j = 0; j < width; j++)
                    UNROLL
                    for (int e = l; e < l + 8; e++)
                        to[e * width + j] = to_real(from[j * across + e * step]);
}

#if PACK_A
KERNEL BLOCK_SIZE(1, 1)
void pack_a(int m, int n, int k, const GLOBAL element *RESTRICT a, wide a_start, int lda,
            wide a_stride, GLOBAL real *RESTRICT workspace, wide workspace_start)
{
    const int rows = PACK_PANELS * THREAD_TILE_M, row = BLOCK_X * rows, first = BLOCK_Y * PACK_K;
    GLOBAL real *panels = workspace + workspace_start + row * panel_depth(k)
                          + BLOCK_Z * panels_of_a(m, k);

    pack(panels + first * THREAD_TILE_M, THREAD_TILE_M * panel_depth(k), THREAD_TILE_M,
         a + a_start + BLOCK_Z * a_stride + A_AT(row, first), min(m - row, rows),
         A_AT(1, 0), A_AT(0, 1), min(PACK_K, k - first));
}
#endif

#if PACK_B
KERNEL BLOCK_SIZE(1, 1)
void pack_b(int m, int n, int k, const GLOBAL element *RESTRICT b, wide b_start, int ldb,
            wide b_stride, GLOBAL real *RESTRICT workspace, wide workspace_start)
{
    const int cols = PACK_PANELS * WIDTH, col = BLOCK_X * cols, first = BLOCK_Y * PACK_K;
    GLOBAL real *panels = workspace + workspace_start + col * panel_depth(k)
                          + BLOCK_Z * panels_of_b(n, k);

    pack(panels + first * WIDTH, WIDTH * panel_depth(k), WIDTH,
         b + b_start + BLOCK_Z * b_stride + B_AT(first, col), min(n - col, cols),
         B_AT(0, 1), B_AT(1, 0), min(PACK_K, k - first));
}
#endif

// C += alpha * acc (C = beta*C + alpha*acc on the first block of k), of `rows` x `cols`. After
// the last block comes what follows a product; `bias` is that of the tile's first element.
DEVICE_FN void store(vec acc[THREAD_TILE_M][THREAD_TILE_N], real alpha, real beta,
                     GLOBAL result *c, int ldc, int rows, int cols, int is_last,
                     const GLOBAL result *bias)
{
    real tile[THREAD_TILE_M][WIDTH];

    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++) {
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j++)
            STORE_VECTOR((vec) alpha * acc[i][j], tile[i] + j * VECTOR);
    }
    NO_UNROLL
    for (int i = 0; i < min(rows, THREAD_TILE_M); i++) {
        GLOBAL result *to = c + (wide) i * ldc;
        int j = 0;
#if !defined(OUT_BF16) && !defined(OUT_F16)
        const int whole = BIAS + ACTIVATION > 0 && is_last ? 0 : min(cols, WIDTH) / VECTOR * VECTOR;
        NO_UNROLL
        for (; j < whole; j += VECTOR) {
            vec sum = LOAD_VECTOR(tile[i] + j);
            if (beta != 0)
                sum += (vec) beta * LOAD_VECTOR(to + j);
            STORE_VECTOR(sum, to + j);
        }
#endif
        NO_UNROLL
        for (; j < min(cols, WIDTH); j++) {
            const real sum = tile[i][j] + (beta == 0 ? 0 : beta * from_result(to[j]));
            to[j] = to_result(is_last ? finish(sum, bias_of(bias, i, j)) : sum);
        }
    }
}

// A factor of A, from a panel or as it is stored.
#if PACK_A
typedef real factor;
#define FACTOR(x) (x)
#else
typedef element factor;
#define FACTOR(x) to_real(x)
#endif

// One step of k: a column of A meets a row of B.
DEVICE_FN void multiply(vec acc[THREAD_TILE_M][THREAD_TILE_N], const GLOBAL factor *a,
                        const wide a_rows[THREAD_TILE_M], const vec b[THREAD_TILE_N])
{
    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i++) {
        const vec x = (vec) FACTOR(a[a_rows[i]]);
        UNROLL
        for (int j = 0; j < THREAD_TILE_N; j++)
            acc[i][j] = MULTIPLY_ADD(x, b[j], acc[i][j]);
    }
}

// A vector of B of which only `count` elements exist.
DEVICE_FN vec load_part(const GLOBAL real *b, int count)
{
    real part[VECTOR];
    for (int e = 0; e < VECTOR; e++)
        part[e] = e < count ? b[e] : 0;
    return LOAD_VECTOR(part);
}

// A step of k in which all columns of B exist.
DEVICE_FN void multiply_step(vec acc[THREAD_TILE_M][THREAD_TILE_N], const GLOBAL factor *a,
                             const wide a_rows[THREAD_TILE_M], const GLOBAL real *b)
{
    vec row[THREAD_TILE_N];
    UNROLL
    for (int j = 0; j < THREAD_TILE_N; j++)
        row[j] = LOAD_VECTOR(b + j * VECTOR);
    multiply(acc, a, a_rows, row);
}

DEVICE_FN void multiply_whole(vec acc[THREAD_TILE_M][THREAD_TILE_N], const GLOBAL factor *a,
                              const wide a_rows[THREAD_TILE_M], wide a_step,
                              const GLOBAL real *b, wide b_step, int first, int last)
{
    int l = first;
    NO_UNROLL
    for (; l + K_UNROLL <= last; l += K_UNROLL) {
        UNROLL
        for (int u = 0; u < K_UNROLL; u++)
            multiply_step(acc, a + (l + u) * a_step, a_rows, b + (l + u) * b_step);
    }
    NO_UNROLL
    for (; l < last; l++)
        multiply_step(acc, a + l * a_step, a_rows, b + l * b_step);
}

// The same where only `columns` of B exist.
DEVICE_FN void multiply_edge(vec acc[THREAD_TILE_M][THREAD_TILE_N], const GLOBAL factor *a,
                             const wide a_rows[THREAD_TILE_M], wide a_step, const GLOBAL real *b,
                             wide b_step, int first, int last, int columns)
{
    for (int l = first; l < last; l++) {
        vec row[THREAD_TILE_N];
        for (int j = 0; j < THREAD_TILE_N; j++)
            row[j] = load_part(b + l * b_step + j * VECTOR, columns - j * VECTOR);
        multiply(acc, a + l * a_step, a_rows, row);
    }
}

KERNEL BLOCK_SIZE(1, 1)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL element *RESTRICT a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *RESTRICT b, wide b_start, int ldb, wide b_stride,
              GLOBAL result *RESTRICT c, wide c_start, int ldc, wide c_stride,
              const GLOBAL real *RESTRICT packed_a, wide packed_a_start,
              const GLOBAL real *RESTRICT packed_b, wide packed_b_start,
              const GLOBAL result *RESTRICT bias, wide bias_start,
              int tile_m, int tile_n, int block_k)
{
    const int tiles_m = (m + tile_m - 1) / tile_m;
    const int first_row = BLOCK_X % tiles_m * tile_m, past_row = min(m, first_row + tile_m);
    const int first_col = BLOCK_X / tiles_m * tile_n, past_col = min(n, first_col + tile_n);

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    packed_a += packed_a_start + (a_stride == 0 ? 0 : BLOCK_Z * panels_of_a(m, k));
    packed_b += packed_b_start + (b_stride == 0 ? 0 : BLOCK_Z * panels_of_b(n, k));
    a += a_start + BLOCK_Z * a_stride;
    b += b_start + BLOCK_Z * b_stride;
    c += c_start + BLOCK_Z * c_stride;
    const int steps = alpha == 0 ? 0 : k; // then A and B do not count, whatever they hold
    if (!(fabs((float) alpha) <= 1)) // what alpha times a part of the sum may exceed
        block_k = max(k, 1);

    for (int first = 0; first == 0 || first < steps; first += block_k)
        for (int col = first_col; col < past_col; col += WIDTH)
            for (int row = first_row; row < past_row; row += THREAD_TILE_M) {
                const int last = min(first + block_k, steps);
                vec acc[THREAD_TILE_M][THREAD_TILE_N];
                wide a_rows[THREAD_TILE_M]; // from the tile's first row; those past m are the last
                UNROLL
                for (int i = 0; i < THREAD_TILE_M; i++) {
                    a_rows[i] = PACK_A ? i : A_AT(min(row + i, m - 1) - row, 0);
                    UNROLL
                    for (int j = 0; j < THREAD_TILE_N; j++)
                        acc[i][j] = (vec) 0;
                }
#if PACK_A
                const GLOBAL factor *a_at = packed_a + row * panel_depth(k);
#else
                const GLOBAL factor *a_at = a + A_AT(row, 0);
#endif
#if PACK_B
                const GLOBAL real *b_at = packed_b + col * panel_depth(k);
#else
                const GLOBAL real *b_at = b + B_AT(0, col);
#endif
                const wide a_step = PACK_A ? THREAD_TILE_M : A_AT(0, 1);
                const wide b_step = PACK_B ? WIDTH : B_AT(1, 0);

                if (PACK_B || col + WIDTH <= n)
                    multiply_whole(acc, a_at, a_rows, a_step, b_at, b_step, first, last);
                else
                    multiply_edge(acc, a_at, a_rows, a_step, b_at, b_step, first, last,
                                  n - col);
                store(acc, alpha, first == 0 ? beta : (real) 1, c + (wide) row * ldc + col,
                      ldc, m - row, n - col, last == steps,
                      bias_of(bias + bias_start, row, col));
            }
}
