// Turning a matrix: what runs along its rows then runs down its columns.

#define TURN         64       // rows and columns that a block turns
#define THREADS_TURN 256
#define WORD         (4 / (int) sizeof(element))   // elements that go at once

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
            word |= bits_of(tile[r + e][c]) << 8 * (int) sizeof(element) * e;
        to[((wide) (column + c) * ld_to + row + r) / WORD] = word;
    }
}
