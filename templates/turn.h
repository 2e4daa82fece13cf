// Turning a matrix: what runs along its rows then runs down its columns. wgmma.cu does that to
// operands that must run along k and do not, A first, then B, for all matrices of the batch.

#define TURN         64       // rows and columns that a block turns
#define THREADS_TURN 256
#define WORD         (4 / SIZE)                 // elements that go at once

// Rows of a turned operand begin at multiples of 16 bytes.
DEVICE_FN int turned_ld(int k)
{
    return (k + 16 / SIZE - 1) / (16 / SIZE) * (16 / SIZE);
}

// Elements of all turned operands.
DEVICE_FN wide turned(int m, int n, int k)
{
    return (wide) gridDim.z * ((TURN_A ? m : 0) + (TURN_B ? n : 0)) * turned_ld(k);
}

DEVICE_FN unsigned bits_of(element x)
{
    unsigned bits = 0;
    memcpy(&bits, &x, sizeof(x));
    return bits;
}

// Turn a block of a matrix of `rows` x `columns`. Both sides are a whole number of words
// long, whatever of the last one is used.
DEVICE_FN void turn(unsigned *to, int ld_to, const unsigned *from, int ld, int rows,
                    int columns)
{
    __shared__ __align__(4) element tile[TURN][TURN + WORD];
    const int blocks = (columns - 1) / TURN + 1, words = TURN / WORD;
    const int row = BLOCK_X / blocks * TURN, column = BLOCK_X % blocks * TURN;

    for (int i = THREAD_X; i < TURN * words; i += THREADS_TURN) {
        const int r = i / words, c = i % words;
        if (row + r < rows && column + c * WORD < columns)
            *(unsigned *) &tile[r][c * WORD] =
                from[((wide) (row + r) * ld + column) / WORD + c];
    }
    __syncthreads();
    for (int i = THREAD_X; i < TURN * words; i += THREADS_TURN) {
        const int c = i / words, r = i % words * WORD;
        unsigned word = 0;
        if (column + c >= columns || row + r >= rows)
            continue;
        UNROLL
        for (int e = 0; e < WORD; e++)
            word |= bits_of(tile[r + e][c]) << 8 * SIZE * e;
        to[((wide) (column + c) * ld_to + row + r) / WORD] = word;
    }
}

// Launch of both: block (THREADS_TURN), grid (ceil(rows/TURN) * ceil(columns/TURN), 1, batch).
#if TURN_A
KERNEL __launch_bounds__(THREADS_TURN)
void mmt_turn_a(int m, int k, const GLOBAL element *a, wide a_start, int lda, wide a_stride,
                GLOBAL real *workspace, wide workspace_start)
{
    const wide size = (wide) m * turned_ld(k);
    turn((unsigned *) ((element *) workspace + BLOCK_Z * size), turned_ld(k),
         (const unsigned *) (a + a_start + BLOCK_Z * a_stride), lda, k, m);
}
#endif

#if TURN_B
KERNEL __launch_bounds__(THREADS_TURN)
void mmt_turn_b(int m, int n, int k, const GLOBAL element *b, wide b_start, int ldb,
                wide b_stride, GLOBAL real *workspace, wide workspace_start)
{
    const wide size = (wide) n * turned_ld(k);
    const wide before = TURN_A ? (wide) gridDim.z * m * turned_ld(k) : 0;
    turn((unsigned *) ((element *) workspace + before + BLOCK_Z * size), turned_ld(k),
         (const unsigned *) (b + b_start + BLOCK_Z * b_stride), ldb, k, n);
}
#endif
