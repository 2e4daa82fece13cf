// From sums to C in wgmma.cu: alpha, beta, bias and activation, and the ways to store what they
// give: from registers, to unaligned rows, or through shared memory.
// wgmma_accumulators.h says which accumulators come here.

// A piece of C on its way out: 64 rows of a tile and PIECE_N of its columns, which divide
// TILE_N and have at most 128 bytes. Its lines are rows of C, with SWAP the tile's columns.
#define BYTES_WIDE  (TILE_N * RESULT_SIZE % 128 == 0  ? 128                                \
                     : TILE_N * RESULT_SIZE % 64 == 0 ? 64                                 \
                     : TILE_N * RESULT_SIZE % 32 == 0 ? 32                                 \
                                                      : 16)
#define PIECE_N     (BYTES_WIDE / RESULT_SIZE)
#define PIECES      (TILE_N / PIECE_N)          // beside each other
#define BYTES_PIECE (64 * BYTES_WIDE)
#define LINE_C      (SWAP ? 64 * RESULT_SIZE : BYTES_WIDE)
#define SECTOR      32        // bytes that memory takes at once

// A and B as they are stored, from this matrix of the batch on.
struct operands {
    const element *a, *b;
    int lda, ldb, k;
};

struct output {
    int rows, columns;
    real alpha, beta;
    result *c;
    const result *bias;
    int ldc;
    bool pairs;        // any two neighbours at an even column may be stored at once
    bool fours;        // any four of a row of C at a multiple of 4
    bool sectors;      // rows of C begin with a sector of memory
    operands stored;   // f32 alone
};

// Parameters of kernels that put C out, and how they become its operands.
#if defined(TYPE_F32)
#define STORED_PARAMETERS                                                            \
    const GLOBAL element *a, wide a_start, int lda, wide a_stride,                   \
    const GLOBAL element *b, wide b_start, int ldb, wide b_stride,
#define STORED_ARGUMENTS                                                              \
    , { a + a_start + BLOCK_Z * a_stride, b + b_start + BLOCK_Z * b_stride, lda, ldb, k }
#else
#define STORED_PARAMETERS
#define STORED_ARGUMENTS
#endif

DEVICE_FN output find_output(const problem &p, real alpha, real beta, result *c, int ldc,
                             wide stride, const result *bias,
                             const operands &stored = {})
{
    const bool pairs = ldc % 2 == 0 && stride % 2 == 0 &&
                       (unsigned long long) c % (2 * RESULT_SIZE) == 0;
    const bool fours = ldc % 4 == 0 && stride % 4 == 0 &&
                       (unsigned long long) c % (4 * RESULT_SIZE) == 0;
    const int line = SECTOR / RESULT_SIZE;
    const bool sectors = ldc % line == 0 && stride % line == 0 &&
                         (unsigned long long) c % SECTOR == 0;
    return { p.rows, p.columns, alpha, beta,    c + BLOCK_Z * stride, bias, ldc,
             pairs,  fours,     sectors, stored };
}

// ---- from registers -------------------------------------------------------------------

// Where C has row r and column q of the product or its transpose.
DEVICE_FN result *place_in(const output &out, int r, int q)
{
    return SWAP ? out.c + (wide) q * out.ldc + r : out.c + (wide) r * out.ldc + q;
}

// From a sum, of row r and column q of the product or its transpose, and what C has there before
// to what it gets; what is outside has no bias.
DEVICE_FN real finished(real x, const output &out, real before, int r, int q, bool inside)
{
    x *= out.alpha;
    if (out.beta != 0)
        x = MULTIPLY_ADD(out.beta, before, x);
    if (BIAS && inside)
        x += bias_at(out.bias, SWAP ? q : r, SWAP ? r : q);
    return activate(x);
}

// What C has there, where anybody asks.
DEVICE_FN real read_before(const output &out, const result *c, bool inside)
{
    return out.beta != 0 && inside ? from_result(*c) : (real) 0;
}

// The same of two neighbours, of columns q and q + 1; what is outside is read nowhere.
DEVICE_FN void finish(real *x, const output &out, int r, int q)
{
    const result *c = place_in(out, r, q);
    UNROLL
    for (int e = 0; e < 2; e++, c += SWAP ? out.ldc : 1) {
        const bool inside = r < out.rows && q + e < out.columns;
        x[e] = finished(x[e], out, read_before(out, c, inside), r, q + e, inside);
    }
}

// Two neighbours as words of C's type; in 16 bits both are in the first.
DEVICE_FN uint2 pack(const real *x)
{
#if defined(OUT_BF16)
    return make_uint2(pair_of_bf16(x[0], x[1]), 0);
#elif defined(OUT_F16)
    return make_uint2(pair_of_f16(x[0], x[1]), 0);
#else
    return make_uint2(ACC_TO_WORD(x[0]), ACC_TO_WORD(x[1]));
#endif
}

// Store two neighbours of a row of C at once.
DEVICE_FN void store_pair(result *c, const real *x)
{
    if (RESULT_SIZE == 4)
        *(uint2 *) c = pack(x);
    else
        *(unsigned *) c = pack(x).x;
}

// Store two neighbours, with SWAP of a column, one after the other.
DEVICE_FN void store_both(result *c, const output &out, const real *x)
{
    c[0] = to_result(x[0]);
    c[SWAP ? out.ldc : 1] = to_result(x[1]);
}

// Store two neighbouring elements, or what is inside of them.
DEVICE_FN void store(const real *x, const output &out, int r, int q)
{
    if (r >= out.rows || q >= out.columns)
        return;
    result *c = place_in(out, r, q);
    if (q + 1 == out.columns)
        c[0] = to_result(x[0]);
    else if (!SWAP && out.pairs)
        store_pair(c, x);
    else
        store_both(c, out, x);
}

// Where every column of a tile is inside, neighbours may be stored at once or never are, and C is
// not read, nothing is asked of an element but whether its row is inside.
DEVICE_FN bool whole_columns(const output &out, place tile)
{
    return out.beta == 0 && (SWAP || out.pairs) && tile.column + TILE_N <= out.columns;
}

// What is known of C then.
DEVICE_FN output as_unread(const output &out)
{
    return { out.rows, out.columns, out.alpha,   0,         out.c, out.bias, out.ldc,
             true,     out.fours,   out.sectors, out.stored };
}

// Finish and store `count` sums of the same 64 rows of such a tile, from the s-th on.
template <int count>
DEVICE_FN void store_rows(real *x, const output &out, place tile, int s, int thread)
{
    const output unread = as_unread(out);
    const wide step = SWAP ? 8 * (wide) out.ldc : 8;
    const int q = tile.column + column_of(s, thread);

    UNROLL
    for (int first = 0; first < 4; first += 2) {
        const int r = tile.row + row_of(s + first, thread);
        if (r >= out.rows)
            continue;
        result *c = place_in(out, r, q);
        UNROLL
        for (int i = first; i < count; i += 4, c += step) {
            finish(x + i, unread, r, q + i / 4 * 8);
            if (SWAP)
                store_both(c, unread, x + i);
            else
                store_pair(c, x + i);
        }
    }
}

#if PAIRED && SWAP
// Finish and store the accumulators of two blocks of such a tile, whose first is the s-th: a
// thread has four neighbours of a row of C, where C has them all.
DEVICE_FN void store_fours(real upper[ACCUMULATORS], real lower[ACCUMULATORS],
                           const output &out, place tile,
                           int s, int thread)
{
    const output unread = as_unread(out);
    const int r = tile.row + row_of(s, thread), q = tile.column + column_of(s, thread);
    result *c = place_in(out, r, q);

    if (r >= out.rows)
        return;
    UNROLL
    for (int i = 0; i < ACCUMULATORS; i += 4, c += 8 * (wide) out.ldc) {
        UNROLL
        for (int w = 0; w < 4; w++)
            finish((w < 2 ? upper : lower) + i + w % 2 * 2, unread, r + w, q + i / 4 * 8);
        UNROLL
        for (int e = 0; e < 2; e++) {
            const real x[] = { upper[i + e], upper[i + e + 2], lower[i + e], lower[i + e + 2] };
            const uint2 first = pack(x), second = pack(x + 2);
            result *to = c + (wide) e * out.ldc;
            if (RESULT_SIZE == 4)
                *(uint4 *) to = make_uint4(first.x, first.y, second.x, second.y);
            else
                *(uint2 *) to = make_uint2(first.x, second.x);
        }
    }
}
#endif

// ---- to unaligned rows -----------------------------------------------------------------

// A product whose operands may be unaligned has a C that may, too: what eight rows share a store
// of would break the sectors of memory. So a warp's sums pass through a patch of shared memory of
// its own, in which they change threads, and neighbouring threads store neighbours in C. A patch is
//
//      8 rows of 32 elements in C, or with SWAP 16 rows of 16
//
// and its rows are a few words longer, so that no two threads meet in a bank. Where the pipeline
// leaves no room for patches, sums go to C from registers all the same.
#define PATCH_WIDE (SWAP ? 16 : 32)
#define PATCH_LINE (PATCH_WIDE + (SWAP ? 4 : 8))                    // words
#define PATCH_ACCUMULATORS 8          // of a thread
// Of 64 rows of a tile.
#define PATCHES    (SWAP ? (ACCUMULATORS + 7) / 8 : (ACCUMULATORS + 15) / 16 * 2)
#define PATCH_ROOM (PATCH_ACCUMULATORS * 32 / PATCH_WIDE * PATCH_LINE * 4)
#define BY_ROWS                                                                             \
    ((PACK_A || PACK_B) && !TRANSPOSE_IN_REGISTERS && CLUSTER_K == 1 && \
     STAGES * (BYTES_STAGE + 32) + CONSUMERS * 4 * PATCH_ROOM <= 227 * 1024)
#if BY_ROWS
#define BYTES_PATCH PATCH_ROOM

// Write a thread's accumulators of the p-th patch of 64 rows, whose accumulators these are.
DEVICE_FN void write_patch(unsigned to, const real acc[ACCUMULATORS], int p, int lane)
{
    UNROLL
    for (int i = 0; i < PATCH_ACCUMULATORS; i += 2) {
        const int s = SWAP ? p * 8 + i : p / 2 * 16 + p % 2 * 2 + i * 2;
        const int row = lane / 4 + (SWAP ? i % 4 * 4 : 0);
        const int column = lane % 4 * 2 + (SWAP ? i / 4 * 8 : i * 4);
        if (s >= ACCUMULATORS)
            continue;
        const uint2 words = make_uint2(ACC_TO_WORD(acc[s]), ACC_TO_WORD(acc[s + 1]));
        if (SWAP) {
            store_word(to + (column * PATCH_LINE + row) * 4, words.x);
            store_word(to + ((column + 1) * PATCH_LINE + row) * 4, words.y);
        } else {
            store_words(to + (row * PATCH_LINE + column) * 4, words);
        }
    }
}

// Finish and store a patch that begins at that row and column of the product or its transpose, as
// far as it is in the tile, which has columns below `end`. All is read before any is written, so
// that reads do not wait for each other.
DEVICE_FN void store_patch(unsigned from, const output &out, int row, int column, int end,
                           int lane)
{
    const int across = lane % PATCH_WIDE, above = lane / PATCH_WIDE * 4;
    const int r = row + (SWAP ? across : 0), q = column + (SWAP ? above : across);
    const int lines = r < out.rows && q < end ? (SWAP ? end - q : out.rows - r) : 0;
    result *c = place_in(out, r, q);
    real before[PATCH_ACCUMULATORS];

    UNROLL
    for (int i = 0; i < PATCH_ACCUMULATORS; i++) {
        const int line = SWAP ? i / 4 * 8 + i % 4 : i;
        before[i] = read_before(out, c + (wide) line * out.ldc, line < lines);
    }
    UNROLL
    for (int i = 0; i < PATCH_ACCUMULATORS; i++) {
        const int line = SWAP ? i / 4 * 8 + i % 4 : i;
        const unsigned word = load_word(from + ((above + line) * PATCH_LINE + across) * 4);
        if (line < lines)
            c[(wide) line * out.ldc] =
                to_result(finished(WORD_TO_ACC(word), out, before[i], r + (SWAP ? 0 : line),
                                   q + (SWAP ? line : 0), true));
    }
}

// Finish and store a thread's accumulators of a tile.
DEVICE_FN void store_patches(real acc[BLOCKS_M][ACCUMULATORS], const output &out, place tile,
                             unsigned patch, int thread)
{
    const int lane = thread % 32, end = min(out.columns, tile.column + TILE_N);
    UNROLL
    for (int i = 0; i < BLOCKS_M; i++) {
        const int row = tile.row + row_of(i * ACCUMULATORS, thread - lane);
        UNROLL
        for (int p = 0; p < PATCHES; p++) {
            WARP_BARRIER();
            write_patch(patch, acc[i], p, lane);
            WARP_BARRIER();
            store_patch(patch, out, row + (SWAP ? 0 : p % 2 * 8),
                        tile.column + (SWAP ? p * 16 : p / 2 * 32), end, lane);
        }
    }
}

DEVICE_FN void store_by_rows(real acc[BLOCKS_M][ACCUMULATORS], const output &out, place tile,
                             unsigned patch, int thread)
{
    if (out.beta == 0)
        store_patches(acc, as_unread(out), tile, patch, thread);
    else
        store_patches(acc, out, tile, patch, thread);
}
#else
#define BYTES_PATCH 0
#endif

// ---- in plain arithmetic ----------------------------------------------------------------

#if defined(TYPE_F32)
// Of a number that is not finite the bf16 slices are not either, and their products are NaN where
// its own may be infinite. So sums that are not finite are computed once more, from A and B
// themselves: C has infinities and NaN where plain arithmetic has them.

DEVICE_FN bool all_finite(const real *x, int count)
{
    real none = 0;
    UNROLL
    for (int s = 0; s < count; s++)
        none += x[s] * 0;
    return none == 0;
}

// The sum of row r and column q of the product or its transpose, in the order of k.
DEVICE_FN real sum_plainly(const operands &from, int r, int q)
{
    const element *a = from.a + (wide) (SWAP ? q : r) * (TRANS_A ? 1 : from.lda);
    const element *b = from.b + (wide) (SWAP ? r : q) * (TRANS_B ? from.ldb : 1);
    const wide step_a = TRANS_A ? from.lda : 1, step_b = TRANS_B ? 1 : from.ldb;
    real acc = 0;

    NO_UNROLL
    for (int p = 0; p < from.k; p++, a += step_a, b += step_b)
        acc = MULTIPLY_ADD(*a, *b, acc);
    return acc;
}

// Two neighbouring sums, as far as they are inside.
DEVICE_FN void sum_both_plainly(real x[2], const output &out, int r, int q)
{
    UNROLL
    for (int e = 0; e < 2; e++)
        if (r < out.rows && q + e < out.columns)
            x[e] = sum_plainly(out.stored, r, q + e);
}

// Sum up plainly, finish and store a thread's `count` sums of a tile, from the s-th on.
DEVICE_FN void put_out_plainly(const output &out, place tile, int s, int count, int thread)
{
    NO_UNROLL
    for (const int end = s + count; s < end; s += 2) {
        const int r = tile.row + row_of(s, thread), q = tile.column + column_of(s, thread);
        real x[2] = { 0, 0 };
        sum_both_plainly(x, out, r, q);
        finish(x, out, r, q);
        store(x, out, r, q);
    }
}
#endif

// ---- through shared memory ------------------------------------------------------------

#if EPILOGUE_STAGES
// The threads of a warpgroup wait for each other.
DEVICE_FN void group_sync(int group)
{
    numbered_sync(1 + group, 128);
}

// A byte of a piece of C, swizzled as TMA undoes it.
DEVICE_FN unsigned swizzle(unsigned at)
{
    return at ^ at / 8 % LINE_C / 16 * 16;
}

#if RESULT_SIZE == 2
// The i-th pair of C's elements, of accumulators or of what they were packed to.
DEVICE_FN unsigned pair_of(const real *acc, int i)
{
    return pack(acc + 2 * i).x;
}

DEVICE_FN unsigned pair_of(const unsigned *packed, int i)
{
    return packed[i];
}

// Write a warpgroup's piece of C, whose first sum or pair is *from, to shared memory: matrices
// of 8 x 8, those of 16 rows of the tile below each other. With SWAP they are transposed.
template <typename T> DEVICE_FN void write_piece(unsigned to, const T *from, int thread)
{
    const int lane = thread % 32, row = thread / 32 * 16;
    UNROLL
    for (int i = 0; i < PIECE_N / 4; i += 4) {
        const int line = SWAP ? i * 4 + lane / 16 * 8 + lane % 8 : row + lane % 16;
        const int at = SWAP ? row + lane / 8 % 2 * 8 : i * 4 + lane / 16 * 8;
        const unsigned place = to + swizzle(line * LINE_C + at * RESULT_SIZE);
        if (PIECE_N >= 16)
            store_matrices<SWAP>(place, pair_of(from, i), pair_of(from, i + 1),
                                 pair_of(from, i + 2), pair_of(from, i + 3));
        else
            store_matrices<SWAP>(place, pair_of(from, 0), pair_of(from, 1));
    }
}
#else
DEVICE_FN void write_piece(unsigned to, const real *acc, int thread)
{
    const int lane = thread % 32, row = thread / 32 * 16;
    UNROLL
    for (int s = 0; s < PIECE_N / 2; s += 2) {
        const int line = (row + lane / 4 + s % 4 * 4) * LINE_C;
        store_words(to + swizzle(line + s / 4 * 32 + lane % 4 * 8), pack(acc + s));
    }
}
#endif

// Have the p-th piece copied to C, to which the warpgroup's part of the tile begins at `at`.
DEVICE_FN void send_piece(const tensor_map *map, place at, int p, unsigned stage)
{
    const int row = at.row + p / PIECES * 64, column = at.column + p % PIECES * PIECE_N;
    copy_out(map, SWAP ? row : column, SWAP ? column : row, BLOCK_Z, stage);
}

// Until the stage of the p-th piece of a tile is free: stages take turns, from the first one on for
// each tile.
DEVICE_FN void await_place(int p)
{
    if (p == 0 && BLOCKS_M * PIECES % EPILOGUE_STAGES != 0)
        AWAIT_COPIES_OUT(0);
    else
        AWAIT_COPIES_OUT(EPILOGUE_STAGES - 1);
}

// Store a warpgroup's sums, which begin there in C, through its stages.
DEVICE_FN void store_pieces(real acc[BLOCKS_M][ACCUMULATORS], const tensor_map *map,
                            unsigned stages,
                            place at, int thread, int group)
{
    UNROLL
    for (int p = 0; p < BLOCKS_M * PIECES; p++) {
        const unsigned stage = stages + p % EPILOGUE_STAGES * BYTES_PIECE;
        if (thread == 0)
            await_place(p);
        group_sync(group);
        write_piece(stage, &acc[p / PIECES][p % PIECES * PIECE_N / 2], thread);
        shared_ready();
        group_sync(group);
        if (thread == 0)
            send_piece(map, at, p, stage);
    }
}
#endif

// ---- the same, late -------------------------------------------------------------------

#if OVERLAP_EPILOGUE
#define PARCEL_PIECES (BLOCKS_M * PIECES)

// A thread's part of a finished tile of C, pairs of elements, and where the warpgroup's begins.
struct parcel {
    unsigned pairs[BLOCKS_M][ACCUMULATORS / 2];
    place at;
    bool full;
};

DEVICE_FN void fill_parcel(parcel &parcel, const real acc[BLOCKS_M][ACCUMULATORS], place at)
{
    UNROLL
    for (int i = 0; i < ALL_ACCUMULATORS / 2; i++)
        parcel.pairs[i / (ACCUMULATORS / 2)][i % (ACCUMULATORS / 2)] =
            pair_of(acc[i / (ACCUMULATORS / 2)], i % (ACCUMULATORS / 2));
    parcel.at = at;
    parcel.full = true;
}

// Store the p-th of its pieces. If the parcel is not full, all but the copy is done, so that
// ptxas need not follow two ways.
DEVICE_FN void store_piece(const parcel &parcel, int p, const tensor_map *map, unsigned stages,
                           int thread, int group)
{
    const unsigned stage = stages + p % EPILOGUE_STAGES * BYTES_PIECE;
    if (thread == 0)
        await_place(p);
    group_sync(group);
    write_piece(stage, &parcel.pairs[p / PIECES][p % PIECES * (PIECE_N / 4)], thread);
    shared_ready();
    group_sync(group);
    if (parcel.full && thread == 0)
        send_piece(map, parcel.at, p, stage);
}

DEVICE_FN void store_parcel(const parcel &parcel, const tensor_map *map, unsigned stages,
                            int thread, int group)
{
    UNROLL
    for (int p = 0; p < PARCEL_PIECES; p++)
        store_piece(parcel, p, map, stages, thread, group);
}
#endif
