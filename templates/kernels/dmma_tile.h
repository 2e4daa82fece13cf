// Tiles of A and B on their way to shared memory, TILE_K deep, as they stand there, and a
// thread's operands of the tensor cores in them (dmma.cu).
//
// Tiles keep the order that they have in memory: a "deep" one (A as it is, B transposed)
// has rows that run along k, the other kind has a row for each depth. Within a row chunks
// of 32 bytes are exchanged by xor: so the 16 threads of half a warp, four rows by four
// neighbours or the other way round, meet in no bank. Padding would do that too, but then
// a line of 128 bytes that arrives from memory would straddle two rows of banks.

#define MMA_K   (MMA % 100)
#define QUADS   (MMA_K / 4)               // depths of an instruction that a thread holds
#define THREADS (WARPS_M * WARPS_N * 32)
#define VECTOR  (ALIGNED ? 2 : 1)         // elements that are copied at once

// Helpers serve both operands; these constants tell them which one is meant.
#define OPERAND   int tile, bool deep
#define OPERAND_A TILE_M, !TRANS_A
#define OPERAND_B TILE_N, TRANS_B
#define SAME      tile, deep

// A row of a tile, as it stands in memory, and how many of them there are.
DEVICE_FN int row_length(OPERAND)
{
    return deep ? TILE_K : tile;
}
DEVICE_FN int num_rows(OPERAND)
{
    return deep ? tile : TILE_K;
}

// What the places within a row are exchanged by.
DEVICE_FN int turn(unsigned row, OPERAND)
{
    return row_length(SAME) < 16 ? row / 2 % 2 * 4 : row % 4 * 4;
}

// Where a tile in shared memory holds an element.
DEVICE_FN int place(int row, int at, OPERAND)
{
    return row * row_length(SAME) + (at ^ turn(row, SAME));
}

#define SPACE_A (TILE_M * TILE_K)
#define SPACE_B (TILE_N * TILE_K)

// A thread's part in copying one operand. Its vectors are `pass` rows apart and, where a
// row has several of them, `beside` threads' vectors.
struct copier {
    const real *from;         // its first vector in the tile to be copied next
    unsigned to;              // that vector's place in a stage, an address
    int row, at;              // that vector's place in the tile as it stands in memory
    int limit;                // lines that the matrix has from that vector on
    int ld;
};

// Vectors of a row that a thread copies: several where the block could not copy four rows
// at once, which are transposed alike in the next four.
DEVICE_FN int across_of(OPERAND)
{
    const int run = row_length(SAME) / VECTOR, most = 4 * run / THREADS;
    return most > 1 && run % (most * 16 / VECTOR) == 0 ? most : 1;
}

// Threads that copy a row.
DEVICE_FN int beside(OPERAND)
{
    return row_length(SAME) / VECTOR / across_of(SAME);
}

// Rows of a tile that the block copies at once; threads beyond them have nothing to copy.
DEVICE_FN int pass_of(OPERAND)
{
    return THREADS / beside(SAME);
}

// Vectors that a thread copies, of a tile.
DEVICE_FN int vectors_of(OPERAND)
{
    return ((num_rows(SAME) - 1) / pass_of(SAME) + 1) * across_of(SAME);
}

DEVICE_FN struct copier start_copier(unsigned thread, const real *matrix, int ld, int line,
                                     int lines, int depth, unsigned shared, OPERAND)
{
    const int run = beside(SAME);
    struct copier c;

    c.row = thread / run, c.at = thread % run * VECTOR;
    c.limit = lines - line - (deep ? c.row : c.at), c.ld = ld;
    c.from = matrix + (deep ? (wide) (line + c.row) * ld + depth + c.at
                            : (wide) (depth + c.row) * ld + line + c.at);
    c.to = shared + 8 * place(c.row, c.at, SAME);
    if (THREADS % run && c.row >= pass_of(SAME))
        c.row = num_rows(SAME);
    return c;
}

// Start copying vector j to the stage at byte `in`, of a tile that has so many depths; the
// others become 0. `whole`: it has all of them, or is not wanted, and of lines outside the
// matrix, on which only sums outside of C depend, nothing is copied.
DEVICE_FN void copy_vector(const struct copier c, int j, unsigned in, int depth, bool whole,
                           OPERAND)
{
    const int first = j / across_of(SAME) * pass_of(SAME), row = c.row + first;
    const int next = j % across_of(SAME) * beside(SAME) * VECTOR, at = c.at + next;
    const bool all =
        THREADS % beside(SAME) == 0 && first + pass_of(SAME) <= num_rows(SAME);
    const int rows = deep ? c.limit - first : depth - row;
    const int along = deep ? depth - at : c.limit - next;
    const int bytes = rows > 0 && along > 0 ? smaller(along, VECTOR) * 8 : 0;
    const int further = place(row, at, SAME) - place(c.row, c.at, SAME);
    const unsigned to = c.to + in + 8 * further;
    const real *from = c.from + (wide) first * c.ld + next;

    if (!all && row >= num_rows(SAME))
        return;
    if (ALIGNED && whole)
        copy_16_if(c.limit > (deep ? first : next), to, from);
    else if (ALIGNED)
        copy_16(to, from, bytes);
    else if (whole)
        copy_8_if(c.limit > (deep ? first : next), to, from);
    else
        copy_8(to, from, bytes);
}

// Where a thread's first operand stands in a tile.
DEVICE_FN int own_place(int first, OPERAND)
{
    const int g = THREAD_X % 32 / 4, quad = THREAD_X % 4;

    return deep ? place(first + g, quad, SAME) : place(quad, g, SAME) + first;
}

// Fetch this thread's part of a block of 8 lines, MMA_K deep. `own` is where its first
// operand stands in shared memory, `line` and `depth` lead from there to the block. Rows
// of a multiple of 4 are transposed alike, and what a turn exchanges is within 16 elements.
DEVICE_FN void take(real to[QUADS], const real *shared, int own, int line, int depth,
                    OPERAND)
{
    UNROLL
    for (int q = 0; q < QUADS; q++) {
        const int row = deep ? line : depth + 4 * q, at = deep ? depth + 4 * q : line;
        to[q] = shared[row * row_length(SAME) + at / 16 * 16 + (own ^ at % 16)];
    }
}
