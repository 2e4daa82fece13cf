// Packing an operand: copying it to the workspace so that its lines begin at multiples of 16 bytes.
// Lines are the rows of A or the columns of B, which run along k, or with PACK_FLAT the columns of
// A or the rows of B, which run across it. Kernels do that to operands that TMA cannot
// take, or not in the order they want, A first, then B, for all matrices of the batch.
//
// For tensor cores that take no f32 and no i32, numbers are taken apart on the way, into slices:
// f32 into three bf16, its bf16 slices, which together are the number itself, the upper one
// first; i32 into its four bytes, the lowest one first. A matrix's first slices are packed first,
// then the others.

#ifndef SIZE
#define SIZE ((int) sizeof(element))   // bytes of an element that is packed
#endif
#ifndef SLICES
#define SLICES 1              // of a number, of SIZE bytes each
#endif
#ifndef PACKED_A
#define PACKED_A PACK_A
#define PACKED_B PACK_B
#endif
#ifndef PACK_FLAT
#define PACK_FLAT 0
#endif

#define PACK_BLOCK   64       // lines, and elements of each, that a block packs
#define THREADS_PACK 256
#define WORD         (SIZE < 4 ? 4 / SIZE : 1)   // elements that are written at once

#ifdef TYPE_F64
typedef unsigned long long word;
#else
typedef unsigned word;
#endif

DEVICE_FN int packed_ld(int length)
{
    return (length + 16 / SIZE - 1) / (16 / SIZE) * (16 / SIZE);
}

DEVICE_FN word bits_of(element x)
{
    word bits = 0;
    memcpy(&bits, &x, sizeof(x));
    return bits;
}

#define PLACES(each) (PACK_BLOCK * PACK_BLOCK / (each) / THREADS_PACK)   // of a thread
#define TILE_WORDS   (PACK_BLOCK / WORD)                                 // of a line in a block
#define LINES_APART  (THREADS_PACK / TILE_WORDS)   // between two that a thread writes words of

#if SLICES > 1 && defined(TYPE_F32)
// Of two numbers each slice, the nearest to what those above it leave, which is exact: 24 bits are
// three times 8. SCALE makes the least f32, 2^-149, the least normal bf16, so that nothing is lost
// of small numbers: tensor cores take subnormal ones, but align products by the exponents as they
// are stored. A number whose upper slice is not finite then, just below 2^105 at least, has a NaN
// among its bf16 slices.
DEVICE_FN void words_of(word words[SLICES], const element *x)
{
    float low = x[0] * SCALE, high = x[1] * SCALE;
    UNROLL
    for (int slice_of_f32 = 0; slice_of_f32 < SLICES; slice_of_f32++) {
        words[slice_of_f32] = pair_of_bf16(low, high);
        low -= FLOAT_OF_BITS(words[slice_of_f32] << 16);
        high -= FLOAT_OF_BITS(words[slice_of_f32] & 0xffff0000u);
    }
}
#elif SLICES > 1
// Of four numbers each byte.
DEVICE_FN void words_of(word words[SLICES], const element *x)
{
    UNROLL
    for (int e = 0; e < SLICES; e++)
        words[e] = x[e];
    turn(words, false);
}
#else
// A word of elements that stand in WORD places.
DEVICE_FN void words_of(word words[SLICES], const element *x)
{
    words[0] = 0;
    UNROLL
    for (int e = 0; e < WORD; e++)
        words[0] |= bits_of(x[e]) << 8 * SIZE * e;
}
#endif

// Below, `lines` and their `length` are what is left of a matrix from the block on, and with `all`
// they are whole blocks, of which nothing need be asked. Slices are `apart` words apart. A thread's
// places differ by constants, and all is read before any is written, so that reads do not wait for
// each other.

// Lines that are stored as rows.
DEVICE_FN void pack_rows(word *to, int ld_to, wide apart, const element *from, int ld, int lines,
                         int length, bool all)
{
    const int line = THREAD_X / TILE_WORDS, depth = THREAD_X % TILE_WORDS * WORD;
    element read[PLACES(1)];

    from += (wide) line * ld + depth;
    to += ((wide) line * ld_to + depth) / WORD;
    UNROLL
    for (int i = 0; i < PLACES(1); i++) {
        const int below = i / WORD * LINES_APART, e = i % WORD;
        read[i] = 0;
        if (all || (line + below < lines && depth + e < length))
            read[i] = from[(wide) below * ld + e];
    }
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        word words[SLICES];
        words_of(words, read + i * WORD);
        UNROLL
        for (int slice = 0; slice < SLICES; slice++)
            if (all || (line + i * LINES_APART < lines && depth < length))
                to[slice * apart + (wide) (i * LINES_APART) * (ld_to / WORD)] = words[slice];
    }
}

// Lines that are stored as columns change places with the depth on the way through shared memory,
// by words: WORD elements of one line, one from each of WORD stored rows. Each row of `tile` is one
// word longer than a block, so that no two lanes of a warp write to one bank.
typedef word word_tile[PACK_BLOCK][TILE_WORDS + 1];

// A thread's words of the tile, element by element: rows may be unaligned.
DEVICE_FN void read_elements(word_tile tile[SLICES], const element *from, int ld, int lines,
                             int length, bool all)
{
    const int rows_apart = THREADS_PACK / PACK_BLOCK;   // of words
    const int line = THREAD_X % PACK_BLOCK, row = THREAD_X / PACK_BLOCK;
    element read[PLACES(1)];

    from += (wide) (row * WORD) * ld + line;
    UNROLL
    for (int i = 0; i < PLACES(1); i++) {
        const int below = i / WORD * rows_apart * WORD + i % WORD;
        read[i] = 0;
        if (all || (line < lines && row * WORD + below < length))
            read[i] = from[(wide) below * ld];
    }
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        word words[SLICES];
        words_of(words, read + i * WORD);
        UNROLL
        for (int slice = 0; slice < SLICES; slice++)
            tile[slice][line][row + i * rows_apart] = words[slice];
    }
}

// The same where rows begin at whole words: WORD of them, below each other, are WORD words of as
// many lines. Neighbouring lanes take the words of WORD depths, then of the next lines. Whatever
// follows a row's last line in its word is read, and not used. Not for slices.
DEVICE_FN void read_words(word_tile tile, const element *from, int ld, int lines, int length,
                          bool all)
{
    const int rows_apart = THREADS_PACK / PACK_BLOCK * WORD;
    const int line = THREAD_X / WORD % TILE_WORDS * WORD;
    const int row = THREAD_X / PACK_BLOCK * WORD + THREAD_X % WORD;
    const word mask = ~(word) 0 >> 8 * ((int) sizeof(word) - SIZE);
    word read[PLACES(WORD)];

    from += (wide) (row * WORD) * ld + line;
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        const int below = i / WORD * rows_apart * WORD + i % WORD;
        read[i] = 0;
        if (all || (line < lines && row * WORD + below < length))
            read[i] = *(const word *) (from + (wide) below * ld);
    }
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        word all_of_line = 0;
        UNROLL
        for (int e = 0; e < WORD; e++)
            all_of_line |= (read[i / WORD * WORD + e] >> 8 * SIZE * (i % WORD) & mask) << 8 * SIZE * e;
        tile[line + i % WORD][row + i / WORD * rows_apart] = all_of_line;
    }
}

DEVICE_FN void write_words(word *to, int ld_to, const word_tile tile, int lines, int length,
                           bool all)
{
    const int line = THREAD_X / TILE_WORDS, first = THREAD_X % TILE_WORDS;

    to += (wide) line * (ld_to / WORD) + first;
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++)
        if (all || (line + i * LINES_APART < lines && first * WORD < length))
            to[(wide) (i * LINES_APART) * (ld_to / WORD)] = tile[line + i * LINES_APART][first];
}

DEVICE_FN void pack_columns(word_tile tile[SLICES], word *to, int ld_to, wide apart,
                            const element *from, int ld, int lines, int length, bool by_words,
                            bool all)
{
    if (by_words)
        read_words(tile[0], from, ld, lines, length, all);
    else
        read_elements(tile, from, ld, lines, length, all);
    __syncthreads();
    UNROLL
    for (int slice = 0; slice < SLICES; slice++)
        write_words(to + slice * apart, ld_to, tile[slice], lines, length, all);
}

// Blocks that pack so many lines, or as many elements of each.
DEVICE_FN int pack_blocks(int count)
{
    return (max(count, 1) - 1) / PACK_BLOCK + 1;
}

// The block-th part of an operand. `by_words`: rows begin at whole words. Blocks beside each other
// read what is stored side by side.
DEVICE_FN void pack(word_tile tile[SLICES], int block, word *to, const element *from, int ld,
                    int lines, int length, bool columns, bool by_words)
{
    const int blocks = pack_blocks(columns ? lines : length);
    const int above = block / blocks * PACK_BLOCK, left = block % blocks * PACK_BLOCK;
    const int line = columns ? left : above, depth = columns ? above : left;
    const int ld_to = packed_ld(length);
    const wide apart = (wide) lines * (ld_to / WORD);
    const bool all = lines - line >= PACK_BLOCK && length - depth >= PACK_BLOCK;

    from += (wide) above * ld + left;
    to += ((wide) line * ld_to + depth) / WORD;
    if (columns && all)
        pack_columns(tile, to, ld_to, apart, from, ld, PACK_BLOCK, PACK_BLOCK, by_words, true);
    else if (columns)
        pack_columns(tile, to, ld_to, apart, from, ld, lines - line, length - depth, by_words,
                     false);
    else if (all)
        pack_rows(to, ld_to, apart, from, ld, PACK_BLOCK, PACK_BLOCK, true);
    else
        pack_rows(to, ld_to, apart, from, ld, lines - line, length - depth, false);
}

// The same of an operand with `across` lines along k, which are stored one after the other unless
// they are `beside` each other.
DEVICE_FN void pack_operand(word_tile tile[SLICES], int block, GLOBAL real *workspace,
                            const element *from, int ld, int across, int k, bool beside,
                            bool by_words)
{
    const int lines = PACK_FLAT ? k : across, length = PACK_FLAT ? across : k;
    const wide before = BLOCK_Z * ((wide) lines * packed_ld(length) * SLICES);

    pack(tile, block, (word *) workspace + before / WORD, from, ld, lines, length,
         PACK_FLAT ? !beside : beside, by_words);
}

// Launch of each: block (THREADS_PACK), grid (ceil(lines/PACK_BLOCK) * ceil(length/PACK_BLOCK), 1,
// batch); of both operands so many blocks for A, and then for B.
#if PACKED_A && PACKED_B
KERNEL __launch_bounds__(THREADS_PACK)
void mmt_pack(int m, int n, int k, const GLOBAL element *a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *b, wide b_start, int ldb, wide b_stride,
              GLOBAL real *to_a, wide to_a_start, GLOBAL real *to_b, wide to_b_start)
{
    __shared__ word_tile tile[SLICES];
    const int of_a = pack_blocks(m) * pack_blocks(k);

    PDL_WAIT();
    PDL_TRIGGER();
    if (BLOCK_X < of_a)
        pack_operand(tile, BLOCK_X, to_a + to_a_start, a + a_start + BLOCK_Z * a_stride, lda, m, k,
                     TRANS_A, !PACK_A);
    else
        pack_operand(tile, BLOCK_X - of_a, to_b + to_b_start, b + b_start + BLOCK_Z * b_stride,
                     ldb, n, k, !TRANS_B, !PACK_B);
}
#elif PACKED_A
KERNEL __launch_bounds__(THREADS_PACK)
void mmt_pack_a(int m, int k, const GLOBAL element *a, wide a_start, int lda, wide a_stride,
                GLOBAL real *workspace, wide workspace_start)
{
    __shared__ word_tile tile[SLICES];

    PDL_WAIT();
    PDL_TRIGGER();
    pack_operand(tile, BLOCK_X, workspace + workspace_start, a + a_start + BLOCK_Z * a_stride, lda,
                 m, k, TRANS_A, !PACK_A);
}
#elif PACKED_B
KERNEL __launch_bounds__(THREADS_PACK)
void mmt_pack_b(int n, int k, const GLOBAL element *b, wide b_start, int ldb, wide b_stride,
                GLOBAL real *workspace, wide workspace_start)
{
    __shared__ word_tile tile[SLICES];

    PDL_WAIT();
    PDL_TRIGGER();
    pack_operand(tile, BLOCK_X, workspace + workspace_start, b + b_start + BLOCK_Z * b_stride, ldb,
                 n, k, !TRANS_B, !PACK_B);
}
#endif
