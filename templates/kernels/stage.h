// Tiles of A and B on their way to shared memory, for kernels whose tensor cores take operands
// that run along k, and as they stand there: TILE_K_BYTES deep.
//
// Rows stay as they are in memory, but for elements of 1 byte that do not run along k: these
// are transposed on their way, four by four. Copies go by themselves where they may (ASYNC; pieces
// of 16 bytes, or of 4, which rows must begin at multiples of), and else through registers:
// loaded before a stage is multiplied, stored behind it.
//
// Within a row chunks of 16 bytes are exchanged by xor, so that the eight rows that a warp
// fetches at once meet in no bank.

#define SIZE      ((int) sizeof(element))
#define TILE_K    (TILE_K_BYTES / SIZE)
#define THREADS   (WARPS_M * WARPS_N * 32)
#define PIECE     (ALIGNED ? 16 : 4)       // bytes that are copied at once
#define RUN       (PIECE / SIZE)           // elements
#define SPACE_A   (TILE_M * TILE_K_BYTES)    // bytes of A's tile
#define SPACE     ((TILE_M + TILE_N) * TILE_K_BYTES)

// A thread's sums and operands, in registers. Where these leave room for it, all loads of a
// stage are under way at once: none waits behind a branch, and pieces are held as two elements
// of 2 bytes rather than one word, which would wait for both.
#define HELD      (TILE_M * TILE_N / THREADS + \
                   REGISTER_STAGES * (TILE_M / WARPS_M + TILE_N / WARPS_N) / 4)
#define AT_ONCE   (HELD + SPACE / 4 / THREADS <= 160)
#define HALVES    (SIZE == 2 && !ALIGNED && HELD + SPACE / 2 / THREADS <= 160)

// Helpers serve both operands; these constants tell them which one is meant.
#define OPERAND   int tile, bool deep
#define OPERAND_A TILE_M, !TRANS_A
#define OPERAND_B TILE_N, TRANS_B
#define SAME      tile, deep
#define HELD_WORDS(tile) ((HALVES ? 4 : 2) * (tile) * TILE_K_BYTES / 4 / THREADS + 4)

// ---- a tile in shared memory ------------------------------------------------------------

CONSTANT_FN bool is_transposed(OPERAND)
{
    return SIZE == 1 && !deep;
}

// Of a row in shared memory.
CONSTANT_FN int row_bytes(OPERAND)
{
    return deep || is_transposed(SAME) ? TILE_K_BYTES : tile * SIZE;
}

// Chunks of a row that are exchanged with each other: a power of two, at most 8.
CONSTANT_FN int exchanged(OPERAND)
{
    return row_bytes(SAME) % 128 == 0 ? 8 : row_bytes(SAME) % 64 == 0 ? 4 : 2;
}

// What the chunks of a row are exchanged by. Eight rows that follow each other meet in no
// bank, nor do, where 4-byte elements are fetched one by one, two chunks each of four rows;
// and neighbouring threads that turn elements store them to different banks.
DEVICE_FN int exchange(int row, OPERAND)
{
    const int p = exchanged(SAME), r = row / (8 / p);
    if (SIZE == 4 && !deep)
        return r % (p / 2) * 2;
    return (is_transposed(SAME) ? r ^ row / 8 : r) % p;
}

// Where a tile holds a byte of a row.
DEVICE_FN int place(int row, int byte, OPERAND)
{
    return row * row_bytes(SAME) + (byte ^ exchange(row, SAME) * 16);
}

// ---- from memory to shared memory -------------------------------------------------------

// A thread's part in copying one operand. What it copies at once is a piece of a row, or
// where elements are transposed, four neighbours of four rows. The j-th is j * pass_of rows
// further on.
struct copier {
    const GLOBAL element *from;       // its first piece in the tile to be copied next
    int row, at;               // that piece's place in the tile as it stands in memory
    int lines, ld;             // lines that the matrix has from the tile on; its ld
    bool words;                // rows begin at multiples of 4 bytes
};

// Whether copies always go by themselves.
CONSTANT_FN bool is_async(OPERAND)
{
    return ASYNC && (SIZE == 4 || (ALIGNED && !is_transposed(SAME)));
}

// Whether these do.
DEVICE_FN bool goes_async(IN(struct copier) c, OPERAND)
{
    return is_async(SAME) || (ASYNC && !is_transposed(SAME) && c.words);
}

// Rows of a tile as it stands in memory.
CONSTANT_FN int num_rows(OPERAND)
{
    return deep ? tile : TILE_K;
}

// Threads that copy beside each other, and the rows that they copy.
CONSTANT_FN int threads_beside(OPERAND)
{
    return is_transposed(SAME) ? tile : (deep ? TILE_K : tile) / RUN;
}
CONSTANT_FN int rows_beside(OPERAND)
{
    return is_transposed(SAME) ? 16 : 1;
}

// Rows that the block copies at once; threads beyond them have nothing to copy.
CONSTANT_FN int pass_of(OPERAND)
{
    return THREADS / threads_beside(SAME) * rows_beside(SAME);
}

CONSTANT_FN int pieces_of(OPERAND)
{
    return (num_rows(SAME) - 1) / pass_of(SAME) + 1;
}

// Words of a piece that a thread holds on their way through registers; of all pieces at
// most HELD_WORDS: threads that copy beside each other may leave just under half without work.
CONSTANT_FN int held_by(OPERAND)
{
    return is_transposed(SAME) ? 4 : HALVES ? 2 : PIECE / 4;
}

DEVICE_FN struct copier start_copier(const GLOBAL element *matrix, int ld, int line, int lines,
                                     int depth, OPERAND)
{
    const int beside = threads_beside(SAME), t = THREAD_X % beside;
    struct copier c;

    c.row = THREAD_X / beside * rows_beside(SAME);
    c.at = t * RUN;
    if (is_transposed(SAME))
        c.row += t % 4 * 4, c.at = t / 4 * 4;
    if (THREADS % beside && THREAD_X / beside >= THREADS / beside)
        c.row = num_rows(SAME);
    c.lines = lines - line, c.ld = ld;
    c.words = ALIGNED || ((size_t) matrix % 4 == 0 && ld % (4 / SIZE) == 0);
    c.from = matrix + (deep ? (wide) (line + c.row) * ld + depth + c.at
                            : (wide) (depth + c.row) * ld + line + c.at);
    return c;
}

// A word of elements, of which those behind the first `count` are 0.
#if AT_ONCE
DEVICE_FN unsigned load_word(const GLOBAL element *from, int count, bool words)
{
    const bool whole = words && count >= 4 / SIZE;
    unsigned word = words ? load_if(whole, from, 4) : 0;
    UNROLL
    for (int e = 0; e < 4 / SIZE - words; e++)
        word |= load_if(e < count && !whole, from + e, SIZE) << 8 * SIZE * e;
    return word;
}
#else
DEVICE_FN unsigned bits_of(const GLOBAL element *x)
{
    return SIZE == 1   ? *(const GLOBAL unsigned char *) x
           : SIZE == 2 ? *(const GLOBAL unsigned short *) x
                       : *(const GLOBAL unsigned *) x;
}

DEVICE_FN unsigned load_word(const GLOBAL element *from, int count, bool words)
{
    unsigned word = 0;
    if (words && count >= 4 / SIZE)
        return *(const GLOBAL unsigned *) from;
    UNROLL
    for (int e = 0; e < 4 / SIZE; e++)
        if (e < count)
            word |= bits_of(from + e) << 8 * SIZE * e;
    return word;
}
#endif

// How many elements of piece j are in the matrix, along a row, and of how many rows from
// its first on. `left` depths are left to copy, and `inside` says that all of the tile is in
// the matrix.
DEVICE_FN int along(IN(struct copier) c, int left, bool inside, OPERAND)
{
    return inside ? 16 : (deep ? left : c.lines) - c.at;
}
DEVICE_FN int across(IN(struct copier) c, int j, int left, bool inside, OPERAND)
{
    return inside ? 4 : (deep ? c.lines : left) - c.row - j * pass_of(SAME);
}

// Start copying piece j to a tile in shared memory.
DEVICE_FN void copy_piece(IN(struct copier) c, int j, unsigned to, int left, bool inside,
                          OPERAND)
{
    const int row = c.row + j * pass_of(SAME), most = along(c, left, inside, SAME);
    const bool none = most <= 0 || across(c, j, left, inside, SAME) <= 0;
    const int bytes = none ? 0 : (most < RUN ? most : RUN) * SIZE;
    const GLOBAL element *from = c.from + (wide) (j * pass_of(SAME)) * c.ld;
    const unsigned at = to + place(row, c.at * SIZE, SAME);

    if (row >= num_rows(SAME))
        return;
    if (ALIGNED)
        copy_16(at, from, bytes);
    else
        copy_4(at, from, bytes);
}

// Load it, where `words` in whole words.
DEVICE_FN void load_piece(IN(struct copier) c, int j, unsigned *held, int left,
                          bool inside, bool words, OPERAND)
{
    const bool mine = c.row + j * pass_of(SAME) < num_rows(SAME);
    const int most = along(c, left, inside, SAME);
    const int rows = mine ? across(c, j, left, inside, SAME) : 0;
    const GLOBAL element *from = c.from + (wide) (j * pass_of(SAME)) * c.ld;

    if (!AT_ONCE && !mine)
        return;
    if (ALIGNED && !is_transposed(SAME) && rows > 0 && most >= RUN) {
        LOAD4(GLOBAL, uint, held, from);
        return;
    }
    UNROLL
    for (int i = 0; i < held_by(SAME); i++)
        if (HALVES)
            held[i] = load_if(rows > 0 && most > i, from + i, SIZE);
        else if (is_transposed(SAME))
            held[i] = load_word(from + (wide) i * c.ld, i < rows ? most : 0, words);
        else
            held[i] = load_word(from + i * (4 / SIZE),
                                rows > 0 ? most - i * (4 / SIZE) : 0, words);
}

// Store it, as it was loaded, to a tile in shared memory.
DEVICE_FN void put_piece(IN(struct copier) c, int j, SHARED_PTR unsigned char *to, unsigned *held,
                         OPERAND)
{
    const int row = c.row + j * pass_of(SAME);

    if (row >= num_rows(SAME))
        return;
    if (is_transposed(SAME)) {
        turn(held, false);
        UNROLL
        for (int i = 0; i < 4; i++)
            *(SHARED_PTR unsigned *) (to + place(c.at + i, row, SAME)) = held[i];
    } else if (ALIGNED) {
        STORE4(SHARED_PTR, uint, to + place(row, c.at * SIZE, SAME), held);
    } else {
        *(SHARED_PTR unsigned *) (to + place(row, c.at * SIZE, SAME)) =
            HALVES ? held[0] | held[1] << 16 : held[0];
    }
}

// Copies of 4 bytes are many, and the addresses of all would fill the registers. Where these are
// full anyway, a rolled loop needs more.
#if AT_ONCE && !ALIGNED
#define UNROLL_COPIES _Pragma("unroll 4")
#else
#define UNROLL_COPIES UNROLL
#endif

// Start copying all pieces, or load them.
DEVICE_FN void copy_tile(IN(struct copier) c, unsigned to, unsigned *held, int left,
                         bool inside, OPERAND)
{
    if (goes_async(c, SAME)) {
        UNROLL_COPIES
        for (int j = 0; j < pieces_of(SAME); j++)
            copy_piece(c, j, to, left, inside, SAME);
    } else if (c.words) {
        UNROLL
        for (int j = 0; j < pieces_of(SAME); j++)
            load_piece(c, j, held + j * held_by(SAME), left, inside, true, SAME);
    } else {
        UNROLL
        for (int j = 0; j < pieces_of(SAME); j++)
            load_piece(c, j, held + j * held_by(SAME), left, inside, false, SAME);
    }
}

// Store what was loaded of them.
DEVICE_FN void put_tile(IN(struct copier) c, SHARED_PTR unsigned char *to, unsigned *held, OPERAND)
{
    if (goes_async(c, SAME))
        return;
    UNROLL
    for (int j = 0; j < pieces_of(SAME); j++)
        put_piece(c, j, to, held + j * held_by(SAME), SAME);
}
