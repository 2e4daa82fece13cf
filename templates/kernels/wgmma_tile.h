// What wgmma.cu gives to the tensor cores: the sizes that follow from its knobs, how a tile of
// an operand stands in shared memory, and multiplying two of them.
//
// "Left" and "right" name the operands of the instruction: A and B, or with SWAP, which computes
// the transpose of C, B and A: then a tile's rows are columns of C, which suits an A of few rows.
// An operand that runs along k is "deep": its tile holds lines of 128 bytes along k. The other
// kind holds chunks, 128 bytes wide, of TILE_K rows. The TMA swizzles both as the tensor cores
// expect it. Elements that are not of 2 bytes must be deep: those that are stored otherwise are
// packed into the workspace first (pack.h), and so are operands of any alignment (PACK_A,
// PACK_B). Or, with TRANSPOSE_IN_REGISTERS, the left one is transposed on its way to registers,
// from which the instruction takes it as well.
//
// Of f32 and i32 the tensor cores know nothing: their numbers are packed as slices (pack.h), f32
// as three bf16, its bf16 slices, and i32 as its four bytes, and multiplied as on paper, but for
// what is below the last place of f32 or above 2^32. A stage has three tiles of either operand of
// f32, one of each slice, and their six products are added up from the smallest on. The ten of
// i32 are of four weights:
//
//      sum = ((((a3 b0 + a2 b1 + a1 b2 + a0 b3) << 8) + a2 b0 + a1 b1 + a0 b2) << 8) + ...
//
// Where a thread has registers for four sums at each of its places in C, one for each weight, a
// stage has a tile of each byte. Else it has one tile of either operand, as of i8, and k is gone
// through ten times, for one product each, from the greatest weight on: between two weights the
// accumulators are shifted.

#if defined(TYPE_TF32)
#define SIZE 4                // bytes of an element
#elif defined(TYPE_BF16) || defined(TYPE_F16) || defined(TYPE_F32)
#define SIZE 2
#else
#define SIZE 1
#endif
#if defined(TYPE_F32)
#define SLICES  3             // of a number
#define TILES   3             // of an operand in a stage: of all slices or of one
#define WEIGHTS 1             // that have sums of their own
#define SCALE   0x1p23f       // of a number before it is taken apart
#elif defined(TYPE_I32)
#define SLICES  4
#define WEIGHTS (4 * ALL_ACCUMULATORS <= (CONSUMERS == 3 ? 128 : 192) ? 4 : 1)
#define TILES   WEIGHTS
#else
#define SLICES  1
#define TILES   1
#define WEIGHTS 1
#endif
#define PASSES  (TILES == SLICES ? 1 : 10)     // through k
#if defined(OUT_BF16) || defined(OUT_F16)
#define RESULT_SIZE 2         // bytes of an element of C
#else
#define RESULT_SIZE 4
#endif

#define LINE      128                           // bytes of a line of a tile
#define ATOM      (LINE / SIZE)                 // elements of a line
#define DEPTH     (TILE_K_BYTES / 128)  // lines of 128 bytes along k
#define TILE_K    (ATOM * DEPTH)
#define WGMMA_K   (32 / SIZE)                   // depth of one instruction
#define STEPS     (TILE_K / WGMMA_K)
#define HALF      (STEPS / 2)                   // of a stage's steps: they are even
#define OWNERS    (SCHEDULE ? 1 : CONSUMERS)    // warpgroups that share a tile
#define TURNS     (SCHEDULE ? CONSUMERS : 1)    // tiles that a block has at work
#define BLOCKS_M  (TILE_M / 64 / OWNERS)        // instructions below each other
#define ACCUMULATORS      (TILE_N / 2)                  // registers that each of them adds to
#define ALL_ACCUMULATORS  (BLOCKS_M * ACCUMULATORS)             // of a thread
#define AT_ONCE   (PROMOTE ? 1 : BLOCKS_M)      // instructions below each other at a time
#define GROWING   (WEIGHTS * AT_ONCE)           // whose accumulators are so many instructions'
#define THREADS   (CONSUMERS * 128 + (CONSUMERS == 1 ? 32 : 128))
#define CLUSTER_M (CLUSTER / 10)                // blocks that share what they need of
#define CLUSTER_N (CLUSTER % 10)                // right, and of left
#define MATES     (CLUSTER_M * CLUSTER_N)
#define BLOCKS    (MATES * CLUSTER_K)           // of a cluster
#define PAIRED    (TRANSPOSE_IN_REGISTERS && SIZE == 1)  // two blocks of 64 rows share 128 lines

#define PACKED_A   (PACK_A || (SIZE != 2 && TRANS_A && !(TRANSPOSE_IN_REGISTERS && !SWAP)))
#define PACKED_B   (PACK_B || (SIZE != 2 && !TRANS_B && !(TRANSPOSE_IN_REGISTERS && SWAP)))
#define A_DEEP     (PACKED_A || !TRANS_A)
#define B_DEEP     (PACKED_B || TRANS_B)
#define LEFT_DEEP  (SWAP ? B_DEEP : A_DEEP)
#define RIGHT_DEEP (SWAP ? A_DEEP : B_DEEP)
#define CHUNKS(tile, deep) ((deep) ? DEPTH : ((tile) + ATOM - 1) / ATOM)
#define LINES(tile, deep)  ((deep) ? (tile) : TILE_K)             // of a chunk
#define BYTES(tile, deep)  (CHUNKS(tile, deep) * LINES(tile, deep) * LINE)
#define BYTES_LEFT  (TILES * BYTES(TILE_M, LEFT_DEEP))
#define BYTES_STAGE  (BYTES_LEFT + TILES * BYTES(TILE_N, RIGHT_DEEP))

#if TILE_M % (64 * OWNERS) || TILE_N % 8 || TILE_N > 256
#error "a warpgroup needs whole blocks of 64 rows and a multiple of 8 columns up to 256"
#endif

// ---- words for each type --------------------------------------------------------------

#if defined(TYPE_BF16) || defined(TYPE_F32)
#define WGMMA_TYPES "k16.f32.bf16.bf16"
#elif defined(TYPE_F16)
#define WGMMA_TYPES "k16.f32.f16.f16"
#elif defined(TYPE_TF32)
#define WGMMA_TYPES "k8.f32.tf32.tf32"
#elif defined(TYPE_F8E4M3)
#define WGMMA_TYPES "k32.f32.e4m3.e4m3"
#elif defined(TYPE_F8E5M2)
#define WGMMA_TYPES "k32.f32.e5m2.e5m2"
#elif defined(TYPE_I32)
#define WGMMA_TYPES "k32.s32.u8.u8" // accumulators wrap, as mod 2^32 must
#else
#define WGMMA_TYPES "k32.s32.s8.s8"
#endif
#if SIZE == 2 && LEFT_DEEP && RIGHT_DEEP
#define WGMMA_SIGNS ", 1, 1, 0, 0"     // neither is negated; which of them is not deep
#elif SIZE == 2 && LEFT_DEEP
#define WGMMA_SIGNS ", 1, 1, 0, 1"
#elif SIZE == 2 && RIGHT_DEEP
#define WGMMA_SIGNS ", 1, 1, 1, 0"
#elif SIZE == 2
#define WGMMA_SIGNS ", 1, 1, 1, 1"
#elif defined(TYPE_I8) || defined(TYPE_I32)
#define WGMMA_SIGNS ""
#else
#define WGMMA_SIGNS ", 1, 1"
#endif
#if defined(TYPE_I8) || defined(TYPE_I32)
#define ACC_TO_WORD(x) (x)
#define WORD_TO_ACC(x) (x)
#else
#define ACC_TO_WORD(x) BITS_OF_FLOAT(x)
#define WORD_TO_ACC(x) FLOAT_OF_BITS(x)
#endif
#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

// ---- a tile in shared memory ----------------------------------------------------------

// How the tensor cores find a swizzled tile at that address of shared memory: groups of 8
// lines stand 1024 bytes apart, chunks as far as they are long. All in units of 16 bytes.
DEVICE_FN unsigned long long describe(unsigned address, bool deep)
{
    const unsigned long long swizzled = 1ull << 62, groups = 1024 / 16,
                             chunks = deep ? 1 : TILE_K * LINE / 16;
    return swizzled | groups << 32 | chunks << 16 | (address & 0x3ffff) / 16;
}

// Where in a tile, in units of 16 bytes, the operand of an instruction begins.
DEVICE_FN int operand(int block, int step, int tile, bool deep)
{
    if (deep)
        return (step / 4 * tile + block * 64) * LINE / 16 + step % 4 * 2;
    return (block * 64 / ATOM * TILE_K + step * WGMMA_K) * LINE / 16;
}

// ---- sums -----------------------------------------------------------------------------

// Of a stage's products.
enum choice { ALL, FIRST, OTHERS };

// Start multiplying the tiles of a stage, all or some of the products, and add to what the
// accumulators hold if `add`. Of bf16 slices, the smallest products come first, and what is below
// them, at most 2^-24 of the whole, is left out: 0 are the upper ones. Bytes are numbered from
// the lowest one on.
DEVICE_FN void multiply(real acc[GROWING][ACCUMULATORS], unsigned long long left,
                        unsigned long long right, bool add, choice which = ALL)
{
    wgmma_begin();
    UNROLL
    for (int both = TILES - 1; both >= 0; both--)
        UNROLL
        for (int l = both, r = 0; l >= 0; l--, r++) {
            if (which != ALL && (which == FIRST) != (both == TILES - 1 && r == 0))
                continue;
            UNROLL
            for (int s = 0; s < STEPS; s++)
                UNROLL
                for (int i = 0; i < AT_ONCE; i++)
                    WGMMA("m64n" TEXT(TILE_N) WGMMA_TYPES, WGMMA_SIGNS,
                          acc[(WEIGHTS > 1 ? both * AT_ONCE : 0) + i],
                          left + operand(i, s, TILE_M, LEFT_DEEP) +
                              l * (BYTES(TILE_M, LEFT_DEEP) / 16),
                          right + operand(0, s, TILE_N, RIGHT_DEEP) +
                              r * (BYTES(TILE_N, RIGHT_DEEP) / 16),
                          add || both < TILES / WEIGHTS - 1 || r > 0 || s > 0);
        }
    wgmma_end();
}

#if PAIRED
// The operand's words are of four depths of a line, those of the tile of four lines at a depth:
// a thread turns four at a time, two for a block of 64 rows and two for the one below it. It
// finds the w-th at[w]. Half of the threads begin with the third of four depths: then no two
// of a warp meet in a bank.
DEVICE_FN void find_words(unsigned at[4], int thread)
{
    const int line = thread / 4 * 4, depths = thread % 4;
    UNROLL
    for (int w = 0; w < 4; w++) {
        const int depth = depths * 4 + (w ^ depths / 2 * 2);
        at[w] = depth * LINE + (line ^ depth % 8 * 16);
    }
}

// A pair of blocks' words for half a step, whose depths of the tile begin there.
DEVICE_FN void take_pair(unsigned *upper, unsigned *lower, unsigned depths, const unsigned at[4])
{
    unsigned x[4];
    UNROLL
    for (int w = 0; w < 4; w++)
        x[w] = load_word(depths + at[w]);
    turn(x, THREAD_X % 4 / 2);
    upper[0] = x[0], upper[1] = x[1];
    lower[0] = x[2], lower[1] = x[3];
}

// The words of a stage's steps from the first one on. The stage's tile stands at that address.
DEVICE_FN void take_words(unsigned words[HALF][BLOCKS_M][4], unsigned tile, int first,
                          const unsigned at[4])
{
    UNROLL
    for (int s = 0; s < HALF; s++)
        UNROLL
        for (int i = 0; i < BLOCKS_M; i += 2) {
            const unsigned depths = tile + (i / 2 * TILE_K + (first + s) * WGMMA_K) * LINE;
            take_pair(words[s][i], words[s][i + 1], depths, at);
            take_pair(words[s][i] + 2, words[s][i + 1] + 2, depths + WGMMA_K / 2 * LINE, at);
        }
}
#elif TRANSPOSE_IN_REGISTERS
// Where in a left tile the first block's words of this thread stand: the w-th is of 8 lines
// further down for every odd w, and of 4 depths further on from w = 2 on. Eight depths are a
// multiple of what a swizzle goes by.
DEVICE_FN void find_words(unsigned at[4], int thread)
{
    const int warp = thread / 32, lane = thread % 32;
    UNROLL
    for (int w = 0; w < 4; w++) {
        const int line = warp % 2 * 16 + w % 2 * 8 + lane / 4, depth = lane % 4 + w / 2 * 4;
        at[w] = (warp / 2 * TILE_K + depth) * LINE + (line * SIZE ^ depth * 16);
    }
}

// The words of a stage's steps from the first one on. The stage's tile stands at that address.
DEVICE_FN void take_words(unsigned words[HALF][BLOCKS_M][4], unsigned tile, int first,
                          const unsigned at[4])
{
    UNROLL
    for (int s = 0; s < HALF; s++)
        UNROLL
        for (int i = 0; i < BLOCKS_M; i++)
            UNROLL
            for (int w = 0; w < 4; w++)
                words[s][i][w] = load_word(tile + at[w] + (first + s) * WGMMA_K * LINE +
                                           i * (64 / ATOM) * TILE_K * LINE);
}
#endif

#if TRANSPOSE_IN_REGISTERS
// As above, half of the steps from the first one on, with their left words in registers.
DEVICE_FN void multiply_words(real acc[BLOCKS_M][ACCUMULATORS],
                              const unsigned words[HALF][BLOCKS_M][4],
                              unsigned long long right, int first, bool add)
{
    wgmma_begin();
    UNROLL
    for (int s = 0; s < HALF; s++)
        UNROLL
        for (int i = 0; i < BLOCKS_M; i++)
            WGMMA_TRANSPOSED("m64n" TEXT(TILE_N) WGMMA_TYPES, WGMMA_SIGNS, acc[i], words[s][i],
                         right + operand(0, first + s, TILE_N, RIGHT_DEEP), add || s > 0);
    wgmma_end();
}

DEVICE_FN void fence_words(unsigned words[HALF][BLOCKS_M][4])
{
    UNROLL
    for (int w = 0; w < HALF * BLOCKS_M * 4; w++)
        fence_register(words[w / 4 / BLOCKS_M][w / 4 % BLOCKS_M][w % 4]);
}
#endif

DEVICE_FN void fence_accumulators(real acc[GROWING][ACCUMULATORS])
{
    UNROLL
    for (int s = 0; s < GROWING * ACCUMULATORS; s++)
        fence_register(acc[s / ACCUMULATORS][s % ACCUMULATORS]);
}

DEVICE_FN void clear(real acc[WEIGHTS * BLOCKS_M][ACCUMULATORS])
{
    UNROLL
    for (int s = 0; s < WEIGHTS * ALL_ACCUMULATORS; s++)
        acc[s / ACCUMULATORS][s % ACCUMULATORS] = 0;
}

#if WEIGHTS > 1
// Add to the accumulators of the least weight, which come first, those of the others.
DEVICE_FN void add_weights(real acc[WEIGHTS * BLOCKS_M][ACCUMULATORS])
{
    UNROLL
    for (int s = ALL_ACCUMULATORS; s < WEIGHTS * ALL_ACCUMULATORS; s++)
        acc[s % ALL_ACCUMULATORS / ACCUMULATORS][s % ACCUMULATORS] +=
            acc[s / ACCUMULATORS][s % ACCUMULATORS] << s / ALL_ACCUMULATORS * 8;
}
#elif PASSES > 1
// To the weight of the next slice above.
DEVICE_FN void shift(real acc[BLOCKS_M][ACCUMULATORS])
{
    UNROLL
    for (int s = 0; s < ALL_ACCUMULATORS; s++)
        acc[s / ACCUMULATORS][s % ACCUMULATORS] <<= 8;
}
#endif

// Where the s-th sum of a thread of those that share a tile stands in it. Each four of an
// instruction's are two neighbours of a row and of the row 8 further down, of paired blocks
// those of the next; the next four are 8 columns further.
DEVICE_FN int row_of(int s, int thread)
{
    const int block = thread / 128 * BLOCKS_M + s / ACCUMULATORS, lower = s % 4 / 2;
    if (PAIRED)
        return block / 2 * 128 + thread % 128 / 4 * 4 + block % 2 * 2 + lower;
    return block * 64 + thread % 128 / 32 * 16 + thread % 32 / 4 + lower * 8;
}

DEVICE_FN int column_of(int s, int thread)
{
    return s % ACCUMULATORS / 4 * 8 + thread % 4 * 2 + s % 2;
}
