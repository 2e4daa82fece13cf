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

// Read a block of the rows by units of `unit`, a word or an element: whatever of the last word
// of a row is used.
#define READ_BLOCK(unit, each)                                                            \
    do {                                                                                  \
        unit read[PLACES(each)];                                                          \
        UNROLL                                                                            \
        for (int i = 0; i < PLACES(each); i++) {                                          \
            const int place = (i * THREADS_PACK + THREAD_X) * (each);                     \
            const int d = place / PACK_BLOCK, l = place % PACK_BLOCK;                     \
            if (depth + d < k && line + l < lines)                                        \
                read[i] = *(const unit *) (from + (wide) (depth + d) * ld + line + l);    \
        }                                                                                 \
        UNROLL                                                                            \
        for (int i = 0; i < PLACES(each); i++) {                                          \
            const int place = (i * THREADS_PACK + THREAD_X) * (each);                     \
            *(unit *) &tile[place / PACK_BLOCK][place % PACK_BLOCK] = read[i];            \
        }                                                                                 \
    } while (0)

// Lines that are stored as columns. `by_words`: the rows begin at whole words.
DEVICE_FN void pack_columns(unsigned *to, int ld_to, const element *from, int ld, int lines,
                            int k, bool by_words)
{
    __shared__ __align__(4) element tile[PACK_BLOCK][PACK_BLOCK + WORD];
    const int blocks = (lines - 1) / PACK_BLOCK + 1, words = PACK_BLOCK / WORD;
    const int depth = BLOCK_X / blocks * PACK_BLOCK, line = BLOCK_X % blocks * PACK_BLOCK;

    if (by_words)
        READ_BLOCK(unsigned, WORD);
    else
        READ_BLOCK(element, 1);
    __syncthreads();
    UNROLL
    for (int i = 0; i < PLACES(WORD); i++) {
        const int place = i * THREADS_PACK + THREAD_X;
        const int l = place / words, d = place % words * WORD;
        unsigned word = 0;
        UNROLL
        for (int e = 0; e < WORD; e++)
            word |= bits_of(tile[d + e][l]) << 8 * SIZE * e;
        if (line + l < lines && depth + d < k)
            to[((wide) (line + l) * ld_to + depth + d) / WORD] = word;
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

    if (TRANS_B)
        pack_rows(to, packed_ld(k), from, ldb, n, k);
    else
        pack_columns(to, packed_ld(k), from, ldb, n, k, !PACK_B);
}
#endif
