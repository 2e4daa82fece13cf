// Packing an operand: copying it to the workspace so that its lines, the rows of A or the columns
// of B, run along k and begin at multiples of 16 bytes. wgmma.cu does that to operands that are
// not stored so and must be, A first, then B, for all matrices of the batch.

#define PACK_BLOCK   64       // lines, and elements of each, that a block packs
#define THREADS_PACK 256
#define WORD         (4 / SIZE)   // elements that are written at once

DEVICE_FN int packed_ld(int k)
{
    return (k + 16 / SIZE - 1) / (16 / SIZE) * (16 / SIZE);
}

// Elements of all packed operands.
DEVICE_FN wide packed(int m, int n, int k)
{
    return (wide) gridDim.z * ((PACKED_A ? m : 0) + (PACKED_B ? n : 0)) * packed_ld(k);
}

DEVICE_FN unsigned bits_of(element x)
{
    unsigned bits = 0;
    memcpy(&bits, &x, sizeof(x));
    return bits;
}

#define PLACES(each) (PACK_BLOCK * PACK_BLOCK / (each) / THREADS_PACK)   // of a thread
#define TILE_WORDS   (PACK_BLOCK / WORD)                                 // of a line in a block
#define LINES_APART  (THREADS_PACK / TILE_WORDS)   // between two that a thread writes words of

// A word of elements that stand in WORD places.
DEVICE_FN unsigned word_of(const element *x)
{
    unsigned word = 0;
    UNROLL
    for (int e = 0; e < WORD; e++)
        word |= bits_of(x[e]) << 8 * SIZE * e;
    return word;
}

// Below, `lines` and `k` are what is left of a matrix from the block on, and with `all` they are
// whole blocks, of which nothing need be asked. A thread's places differ by constants, and all
// is read before any is written, so that reads do not wait for each other.

// Lines that are stored as rows.
DEVICE_FN void pack_rows(unsigned *to, int ld_to, const element *from, int ld, int lines, int k,
                         bool all)
{
    const int line = THREAD_X / TILE_WORDS, depth = THREAD_X % TILE_WORDS * WORD;
    element read[PLACES(1)];

    from += (wide) line * ld + depth;
    to += ((wide) line * ld_to + depth) / WORD;
    UNROLL
    for (int i = 0; i < PLACES(1); i++) {
        const int below = i / WORD * LINES_APART, e = i % WORD;
        read[i] = 0;
        if (all || (line + below < lines && depth + e < k))
            read[i] = from[(wide) below * ld + e];
    }
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++)
        if (all || (line + i * LINES_APART < lines && depth < k))
            to[(wide) (i * LINES_APART) * (ld_to / WORD)] = word_of(read + i * WORD);
}

// Lines that are stored as columns change places with the depth on the way through shared memory,
// by words: WORD elements of one line, one from each of WORD stored rows. Each row of `tile` is one
// word longer than a block, so that no two lanes of a warp write to one bank.

// A thread's words of the tile, element by element: rows may begin anywhere.
DEVICE_FN void read_elements(unsigned tile[PACK_BLOCK][TILE_WORDS + 1], const element *from, int ld,
                             int lines, int k, bool all)
{
    const int rows_apart = THREADS_PACK / PACK_BLOCK;   // of words
    const int line = THREAD_X % PACK_BLOCK, row = THREAD_X / PACK_BLOCK;
    element read[PLACES(1)];

    from += (wide) (row * WORD) * ld + line;
    UNROLL
    for (int i = 0; i < PLACES(1); i++) {
        const int below = i / WORD * rows_apart * WORD + i % WORD;
        read[i] = 0;
        if (all || (line < lines && row * WORD + below < k))
            read[i] = from[(wide) below * ld];
    }
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++)
        tile[line][row + i * rows_apart] = word_of(read + i * WORD);
}

// The same where rows begin at whole words: WORD of them, below each other, are WORD words of as
// many lines. Neighbouring lanes take the words of WORD depths, then of the next lines. Whatever
// follows a row's last line in its word is read, and not used.
DEVICE_FN void read_words(unsigned tile[PACK_BLOCK][TILE_WORDS + 1], const element *from, int ld,
                          int lines, int k, bool all)
{
    const int rows_apart = THREADS_PACK / PACK_BLOCK * WORD;
    const int line = THREAD_X / WORD % TILE_WORDS * WORD;
    const int row = THREAD_X / PACK_BLOCK * WORD + THREAD_X % WORD;
    const unsigned mask = 0xffffffffu >> (32 - 8 * SIZE);
    unsigned read[PLACES(WORD)];

    from += (wide) (row * WORD) * ld + line;
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        const int below = i / WORD * rows_apart * WORD + i % WORD;
        read[i] = 0;
        if (all || (line < lines && row * WORD + below < k))
            read[i] = *(const unsigned *) (from + (wide) below * ld);
    }
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        unsigned word = 0;
        UNROLL
        for (int e = 0; e < WORD; e++)
            word |= (read[i / WORD * WORD + e] >> 8 * SIZE * (i % WORD) & mask) << 8 * SIZE * e;
        tile[line + i % WORD][row + i / WORD * rows_apart] = word;
    }
}

DEVICE_FN void write_words(unsigned *to, int ld_to, unsigned tile[PACK_BLOCK][TILE_WORDS + 1],
                           int lines, int k, bool all)
{
    const int line = THREAD_X / TILE_WORDS, word = THREAD_X % TILE_WORDS;

    to += (wide) line * (ld_to / WORD) + word;
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++)
        if (all || (line + i * LINES_APART < lines && word * WORD < k))
            to[(wide) (i * LINES_APART) * (ld_to / WORD)] = tile[line + i * LINES_APART][word];
}

DEVICE_FN void pack_columns(unsigned *to, int ld_to, const element *from, int ld, int lines, int k,
                            bool by_words, bool all)
{
    __shared__ unsigned tile[PACK_BLOCK][TILE_WORDS + 1];

    if (by_words)
        read_words(tile, from, ld, lines, k, all);
    else
        read_elements(tile, from, ld, lines, k, all);
    __syncthreads();
    write_words(to, ld_to, tile, lines, k, all);
}

// A block's part of an operand. `by_words`: rows begin at whole words. Blocks beside each other
// read what is stored side by side.
DEVICE_FN void pack(unsigned *to, const element *from, int ld, int lines, int k, bool columns,
                    bool by_words)
{
    const int beside = columns ? lines : max(k, 1), blocks = (beside - 1) / PACK_BLOCK + 1;
    const int above = BLOCK_X / blocks * PACK_BLOCK, left = BLOCK_X % blocks * PACK_BLOCK;
    const int line = columns ? left : above, depth = columns ? above : left;
    const bool all = lines - line >= PACK_BLOCK && k - depth >= PACK_BLOCK;

    from += (wide) above * ld + left;
    to += ((wide) line * packed_ld(k) + depth) / WORD;
    if (columns && all)
        pack_columns(to, packed_ld(k), from, ld, PACK_BLOCK, PACK_BLOCK, by_words, true);
    else if (columns)
        pack_columns(to, packed_ld(k), from, ld, lines - line, k - depth, by_words, false);
    else if (all)
        pack_rows(to, packed_ld(k), from, ld, PACK_BLOCK, PACK_BLOCK, true);
    else
        pack_rows(to, packed_ld(k), from, ld, lines - line, k - depth, false);
}

// Launch of both: block (THREADS_PACK), grid (ceil(lines/PACK_BLOCK) * ceil(k/PACK_BLOCK), 1,
// batch).
#if PACKED_A
KERNEL __launch_bounds__(THREADS_PACK)
void mmt_pack_a(int m, int k, const GLOBAL element *a, wide a_start, int lda, wide a_stride,
                GLOBAL real *workspace, wide workspace_start)
{
    const wide size = (wide) m * packed_ld(k);
    const element *from = a + a_start + BLOCK_Z * a_stride;
    unsigned *to = (unsigned *) ((element *) workspace + BLOCK_Z * size);

    AWAIT_LAUNCH();
    NEXT_MAY_BEGIN();   // which packs B: nothing older is at work then
    pack(to, from, lda, m, k, TRANS_A, !PACK_A);
}
#endif

#if PACKED_B
KERNEL __launch_bounds__(THREADS_PACK)
void mmt_pack_b(int m, int n, int k, const GLOBAL element *b, wide b_start, int ldb,
                wide b_stride, GLOBAL real *workspace, wide workspace_start)
{
    const wide size = (wide) n * packed_ld(k);
    const wide before = PACKED_A ? (wide) gridDim.z * m * packed_ld(k) : 0;
    const element *from = b + b_start + BLOCK_Z * b_stride;
    unsigned *to = (unsigned *) ((element *) workspace + before + BLOCK_Z * size);

    if (!PACKED_A)
        AWAIT_LAUNCH();
    NEXT_MAY_BEGIN();
    pack(to, from, ldb, n, k, !TRANS_B, !PACK_B);
    if (PACKED_A)
        AWAIT_LAUNCH();   // which packs A elsewhere, so that both are done when this one is
}
#endif
