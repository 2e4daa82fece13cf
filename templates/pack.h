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

// Lines that are stored as rows. All is read before any is written, so that reads do not wait for
// each other.
DEVICE_FN void pack_rows(unsigned *to, int ld_to, const element *from, int ld, int lines,
                         int k)
{
    const int blocks = k > 0 ? (k - 1) / PACK_BLOCK + 1 : 1, words = PACK_BLOCK / WORD;
    const int line = BLOCK_X / blocks * PACK_BLOCK, depth = BLOCK_X % blocks * PACK_BLOCK;
    element read[PLACES(1)];

    UNROLL
    for (int i = 0; i < PLACES(1); i++) {
        const int place = i / WORD * THREADS_PACK + THREAD_X;
        const int l = line + place / words, d = depth + place % words * WORD + i % WORD;
        read[i] = 0;
        if (l < lines && d < k)
            read[i] = from[(wide) l * ld + d];
    }
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        const int place = i * THREADS_PACK + THREAD_X;
        const int l = line + place / words, d = depth + place % words * WORD;
        unsigned word = 0;
        UNROLL
        for (int e = 0; e < WORD; e++)
            word |= bits_of(read[i * WORD + e]) << 8 * SIZE * e;
        if (l < lines && d < k)
            to[((wide) l * ld_to + d) / WORD] = word;
    }
}

// Lines that are stored as columns change places with the depth on the way through shared memory,
// by words: WORD elements of one line, one from each of WORD stored rows. Each row of `tile` is one
// word longer than a block, so that no two lanes of a warp write to one bank.
#define TILE_WORDS (PACK_BLOCK / WORD)

// A thread's words of the tile, element by element: rows may begin anywhere.
DEVICE_FN void read_elements(unsigned tile[PACK_BLOCK][TILE_WORDS + 1], const element *from, int ld,
                             int lines, int k)
{
    element read[PLACES(1)];

    UNROLL
    for (int i = 0; i < PLACES(1); i++) {
        const int place = i / WORD * THREADS_PACK + THREAD_X;
        const int l = place % PACK_BLOCK, d = place / PACK_BLOCK * WORD + i % WORD;
        read[i] = 0;
        if (l < lines && d < k)
            read[i] = from[(wide) d * ld + l];
    }
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        const int place = i * THREADS_PACK + THREAD_X;
        unsigned word = 0;
        UNROLL
        for (int e = 0; e < WORD; e++)
            word |= bits_of(read[i * WORD + e]) << 8 * SIZE * e;
        tile[place % PACK_BLOCK][place / PACK_BLOCK] = word;
    }
}

// The same where rows begin at whole words: WORD of them, below each other, are WORD words of as
// many lines. Whatever follows a row's last line in its word is read, and not used.
DEVICE_FN void read_words(unsigned tile[PACK_BLOCK][TILE_WORDS + 1], const element *from, int ld,
                          int lines, int k)
{
    const unsigned mask = 0xffffffffu >> (32 - 8 * SIZE);
    unsigned read[PLACES(WORD)];

    // Neighbouring lanes take the words of WORD depths, then of the next lines.
#define LINE_OF(i)  ((i) / WORD * THREADS_PACK + THREAD_X) / WORD % (PACK_BLOCK / WORD) * WORD
#define WORD_OF(i)                                                                                 \
    (((i) / WORD * THREADS_PACK + THREAD_X) / PACK_BLOCK * WORD +                                  \
     ((i) / WORD * THREADS_PACK + THREAD_X) % WORD)
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        const int l = LINE_OF(i), d = WORD_OF(i) * WORD + i % WORD;
        read[i] = 0;
        if (l < lines && d < k)
            read[i] = *(const unsigned *) (from + (wide) d * ld + l);
    }
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        unsigned word = 0;
        UNROLL
        for (int e = 0; e < WORD; e++)
            word |= (read[i / WORD * WORD + e] >> 8 * SIZE * (i % WORD) & mask) << 8 * SIZE * e;
        tile[LINE_OF(i) + i % WORD][WORD_OF(i)] = word;
    }
#undef LINE_OF
#undef WORD_OF
}

// `by_words`: the rows begin at whole words.
DEVICE_FN void pack_columns(unsigned *to, int ld_to, const element *from, int ld, int lines, int k,
                            bool by_words)
{
    __shared__ unsigned tile[PACK_BLOCK][TILE_WORDS + 1];
    const int blocks = (lines - 1) / PACK_BLOCK + 1;
    const int depth = BLOCK_X / blocks * PACK_BLOCK, line = BLOCK_X % blocks * PACK_BLOCK;

    from += (wide) depth * ld + line;
    if (by_words)
        read_words(tile, from, ld, lines - line, k - depth);
    else
        read_elements(tile, from, ld, lines - line, k - depth);
    __syncthreads();
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        const int place = i * THREADS_PACK + THREAD_X;
        const int l = line + place / TILE_WORDS, d = depth + place % TILE_WORDS * WORD;
        if (l < lines && d < k)
            to[((wide) l * ld_to + d) / WORD] = tile[l - line][place % TILE_WORDS];
    }
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

    NEXT_MAY_BEGIN();
    if (TRANS_A)
        pack_columns(to, packed_ld(k), from, lda, m, k, !PACK_A);
    else
        pack_rows(to, packed_ld(k), from, lda, m, k);
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

    NEXT_MAY_BEGIN();
    if (TRANS_B)
        pack_rows(to, packed_ld(k), from, ldb, n, k);
    else
        pack_columns(to, packed_ld(k), from, ldb, n, k, !PACK_B);
    AWAIT_LAUNCH();   // which packs A elsewhere, so that both are done when this one is
}
#endif
