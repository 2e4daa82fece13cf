// dpas - C = activation(alpha*op(A)*op(B) + beta*C + bias) on Intel's matrix units, by
// instructions of a subgroup through OpenCL; for operands of any alignment.
//
// One block computes a TILE_M x TILE_N tile of C; SUBGROUPS_M x SUBGROUPS_N subgroups share it,
// each with a rectangle of it made of BLOCKS_M x BLOCKS_N blocks of 8 rows and SUBGROUP columns.
// Fragments come from global memory, as a cache has what neighbours read too:
//
//                       DEPTH                    a lane has a column of a block
//                     +-------+ +-----+------+
//          8 rows     |   A   | |     |      |   of B the depths of its column
//                     +-------+ |  B  |  B   |
//                     |   A   | |     |      |   of A some depths of each row
//                     +-------+ +-----+------+
//                               SUBGROUP columns
//
// Launch: block (SUBGROUPS_M * SUBGROUPS_N * SUBGROUP), grid (tiles of C, 1, batch).

#ifndef TILE_M
#define TILE_M 64             // rows of C per block
#endif
#ifndef TILE_N
#define TILE_N 64             // columns of C per block
#endif
#ifndef SUBGROUPS_M
#define SUBGROUPS_M 2         // subgroups down the tile
#endif
#ifndef SUBGROUPS_N
#define SUBGROUPS_N 2         // subgroups across the tile
#endif
#ifndef TRANS_A
#define TRANS_A 0             // 1: A is stored k x m
#endif
#ifndef TRANS_B
#define TRANS_B 0             // 1: B is stored n x k
#endif
#ifndef ALIGNED
#define ALIGNED 0             // rows of A and B begin at multiples of 4 bytes
#endif

#define BLOCKS_M (TILE_M / SUBGROUPS_M / 8)
#define BLOCKS_N (TILE_N / SUBGROUPS_N / SUBGROUP)
#define THREADS  (SUBGROUPS_M * SUBGROUPS_N * SUBGROUP)
#define LANE     (THREAD_X % SUBGROUP)

#if TILE_M % (8 * SUBGROUPS_M) || TILE_N % (SUBGROUP * SUBGROUPS_N)
#error "a subgroup must have whole blocks"
#endif

// The bits of an element.
DEVICE_FN unsigned int bits_of(element x)
{
    return (unsigned int) x & (0xffffffffu >> (32 - 8 * (int) sizeof(element)));
}

// `count` elements `step` apart, of which `there` are in the matrix, as bits; the others are 0.
DEVICE_FN unsigned int gather(const GLOBAL element *from, wide step, int count, int there)
{
    unsigned int bits = 0;
    UNROLL
    for (int e = 0; e < count; e++)
        if (e < there)
            bits |= bits_of(from[e * step]) << (8 * (int) sizeof(element) * e);
    return bits;
}

// A fragment of A, of which `rows` and `depth` are in the matrix.
DEVICE_FN void load_a(part a[8], const GLOBAL element *x, int ld, int rows, int depth)
{
    const bool whole = ALIGNED && !TRANS_A && rows >= 8 && depth >= DEPTH;
    const int at = LANE * PART;

    UNROLL
    for (int i = 0; i < 8; i++)
        if (whole)
            a[i] = read_parts(x + (wide) i * ld);
        else
            a[i] = (part) gather(x + (TRANS_A ? (wide) at * ld + i : (wide) i * ld + at),
                                 TRANS_A ? ld : 1, PART, i < rows ? depth - at : 0);
}

// A fragment of B, of which `columns` and `depth` are in the matrix.
DEVICE_FN void load_b(unsigned int b[8], const GLOBAL element *x, int ld, int columns, int depth)
{
    const bool whole = ALIGNED && TRANS_B && columns > LANE && depth >= DEPTH;

    x += TRANS_B ? (wide) LANE * ld : (wide) LANE;
    UNROLL
    for (int i = 0; i < 8; i++) {
        const GLOBAL element *from = x + (TRANS_B ? (wide) 1 : (wide) ld) * (i * WORD);
        if (whole)
            b[i] = *(const GLOBAL unsigned int *) from;
        else
            b[i] = gather(from, TRANS_B ? 1 : ld, WORD, columns > LANE ? depth - i * WORD : 0);
    }
}

// beta = 0 never reads C.
DEVICE_FN void store(GLOBAL result *c, real alpha, real acc, real beta, const GLOBAL result *bias)
{
    real x = alpha * acc;
    if (beta != 0)
        x = MULTIPLY_ADD(beta, from_result(*c), x);
    *c = to_result(finish(x, bias));
}

KERNEL BLOCK_SIZE(THREADS, 1) SUBGROUP_SIZE(SUBGROUP)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL element *a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *b, wide b_start, int ldb, wide b_stride,
              GLOBAL result *c, wide c_start, int ldc, wide c_stride,
              const GLOBAL result *bias, wide bias_start)
{
    const int tiles_n = (n - 1) / TILE_N + 1, subgroup = THREAD_X / SUBGROUP;
    const int row = BLOCK_X / tiles_n * TILE_M + subgroup / SUBGROUPS_N * BLOCKS_M * 8;
    const int column =
        BLOCK_X % tiles_n * TILE_N + subgroup % SUBGROUPS_N * BLOCKS_N * SUBGROUP;
    real acc[BLOCKS_M][BLOCKS_N][8] = { { { 0 } } };

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0; // A and B may be absent

    a += a_start + BLOCK_Z * a_stride + (TRANS_A ? (wide) row : (wide) row * lda);
    b += b_start + BLOCK_Z * b_stride + (TRANS_B ? (wide) column * ldb : (wide) column);
    NO_UNROLL
    for (int left = k; left > 0; left -= DEPTH) {
        part from_a[BLOCKS_M][8];
        unsigned int from_b[BLOCKS_N][8];
        UNROLL
        for (int i = 0; i < BLOCKS_M; i++)
            load_a(from_a[i], a + (TRANS_A ? (wide) 1 : (wide) lda) * (8 * i), lda,
                   m - row - 8 * i, left);
        UNROLL
        for (int j = 0; j < BLOCKS_N; j++)
            load_b(from_b[j], b + (TRANS_B ? (wide) ldb : (wide) 1) * (SUBGROUP * j), ldb,
                   n - column - SUBGROUP * j, left);
        UNROLL
        for (int i = 0; i < BLOCKS_M; i++)
            UNROLL
            for (int j = 0; j < BLOCKS_N; j++)
                multiply_matrices(acc[i][j], from_a[i], from_b[j]);
        a += TRANS_A ? (wide) DEPTH * lda : (wide) DEPTH;
        b += TRANS_B ? (wide) DEPTH : (wide) DEPTH * ldb;
    }

    c += c_start + BLOCK_Z * c_stride;
    UNROLL
    for (int i = 0; i < BLOCKS_M * 8; i++)
        UNROLL
        for (int j = 0; j < BLOCKS_N; j++) {
            const int at_m = row + i, at_n = column + j * SUBGROUP + LANE;
            if (at_m < m && at_n < n)
                store(c + (wide) at_m * ldc + at_n, alpha, acc[i / 8][j][i % 8], beta,
                      bias_of(bias + bias_start, at_m, at_n));
        }
}
