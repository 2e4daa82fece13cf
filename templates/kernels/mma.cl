// mma - C = activation(alpha*op(A)*op(B) + beta*C + bias) on NVIDIA's tensor cores, by
// instructions of a warp: from sm_75 on, through CUDA or OpenCL, and for operands of any
// alignment.
//
// One block computes a TILE_M x TILE_N tile of C, or of one split of k; WARPS_M x WARPS_N
// warps share it, each with a rectangle of it made of blocks of 16 x 8. STAGES pairs of
// tiles of A and B, TILE_K_BYTES deep, stand in shared memory, all but one of them on
// their way there.
//
//      memory --- cp.async -------------+--> stage --- ldmatrix ---> registers --- mma
//          \----> registers --- turn ---+    (xor)                   (REGISTER_STAGES)
//
// How tiles get to a stage and stand there says stage.h. An operand that runs along k is
// "deep": its tile has a row for each line, A's rows or B's columns. The other kind has a row
// for each depth: ldmatrix turns elements of 2 bytes, those of 4 are fetched one by one, and
// those of 1 are transposed on their way, so that their tiles are always deep. Those of tf32
// are rounded in registers, and those of f32 taken apart there into three bf16 slices.
//
// SPLIT_K blocks may share a tile, each a split of k: they leave their accumulators in the
// workspace, and mmt_reduce_splits adds them up, in the same order each time.
//
// Launch: block (THREADS), grid (ceil(m/TILE_M) * ceil(n/TILE_N), SPLIT_K, batch); then
// mmt_reduce_splits where SPLIT_K > 1. Helpers: ptx.h, stage.h, grid.h.

#ifndef TILE_M
#define TILE_M 128            // rows of C per block
#endif
#ifndef TILE_N
#define TILE_N 128            // columns of C per block
#endif
#ifndef TILE_K_BYTES
#define TILE_K_BYTES 64       // depth of a tile along k, in bytes
#endif
#ifndef WARPS_M
#define WARPS_M 2             // warps down the tile
#endif
#ifndef WARPS_N
#define WARPS_N 4             // warps across the tile
#endif
#ifndef STAGES
#define STAGES 4              // tiles of each operand in shared memory
#endif
#ifndef REGISTER_STAGES
#define REGISTER_STAGES 2     // steps whose operands are in registers: 32 bytes, of f32 64
#endif
#ifndef PROMOTE
#define PROMOTE 0             // f8: stages that the tensor cores sum up, in 14 bits or so,
#endif                        // before that goes to registers of full precision; else 0
#ifndef RASTER_GROUP
#define RASTER_GROUP 8        // rows of tiles that neighbouring blocks share
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1          // blocks that a multiprocessor should hold at least
#endif
#ifndef SPLIT_K
#define SPLIT_K 1             // blocks that share a tile of C
#endif

#if defined(TYPE_F32)
#define FETCHES   2                        // of 32 bytes along k, for a step
#else
#define FETCHES   1
#endif
#define STEP_K    (FETCHES * 32 / SIZE)    // depth of a step
#define STEPS     (TILE_K_BYTES / 32 / FETCHES)
#define AHEAD     (REGISTER_STAGES - 1)          // steps that operands are fetched ahead
#define BLOCKS_M  (TILE_M / WARPS_M / 16)  // of a warp
#define BLOCKS_N  (TILE_N / WARPS_N / 8)

#if TILE_M % (16 * WARPS_M) || TILE_N % (16 * WARPS_N)
#error "a warp's rectangle must be a whole number of 16 x 16"
#endif
#if STEPS % REGISTER_STAGES
#error "fetching ahead needs an even number of steps"
#endif

// ---- from shared memory to registers ----------------------------------------------------

// Fetch 16 lines, 32 bytes deep, as the tensor core takes them: one block of A, or two of
// B below each other. The four words a lane gets have places: of A, lines 8 further down
// come first, and then those 16 bytes further on; of B, the other way round.
DEVICE_FN void take(unsigned to[4], const SHARED_PTR unsigned char *tile_at, unsigned address,
                    int line, int depth, bool of_b, OPERAND)
{
    const int lane = THREAD_X % 32, i = lane / 8;
    const int further = (of_b ? i / 2 : i % 2) * 8, deeper = of_b ? i % 2 : i / 2;

    if (deep || is_transposed(SAME)) {
        const int row = line + further + lane % 8, byte = depth * SIZE + deeper * 16;
        load_matrices(to, address + place(row, byte, SAME));
    } else if (SIZE == 2) {
        const int row = depth + deeper * 8 + lane % 8;
        load_transposed(to, address + place(row, (line + further) * 2, SAME));
    } else {
        UNROLL
        for (int w = 0; w < 4; w++) {
            const int row = depth + (of_b ? w % 2 : w / 2) * 4 + lane % 4;
            const int at = line + (of_b ? w / 2 : w % 2) * 8 + lane / 4;
            to[w] = *(const SHARED_PTR unsigned *) (tile_at + place(row, at * 4, SAME));
        }
    }
#if defined(TYPE_TF32)
    UNROLL
    for (int w = 0; w < 4; w++)
        to[w] = round_to_tf32(to[w]);
#endif
}

// ---- along k ----------------------------------------------------------------------------

// Where a thread stands on its way along k.
struct way {
    struct copier a, b;
    unsigned held_a[HELD_WORDS(TILE_M)], held_b[HELD_WORDS(TILE_N)];
    SHARED_PTR unsigned char *shared;
    unsigned address;          // the same
    int first_m, first_n;      // its warp's rectangle in the tile
    int coming;                // depths that have not been asked for yet
    int in, out;               // stages that are copied to and fetched from, in bytes
};

// What a thread multiplies and adds up.
struct work {
    unsigned a[REGISTER_STAGES][BLOCKS_M][4 * FETCHES];
    unsigned b[REGISTER_STAGES][BLOCKS_N / 2][4 * FETCHES];
    real acc[BLOCKS_M][BLOCKS_N][4];
#if PROMOTE
    real part[BLOCKS_M][BLOCKS_N][4];  // what the tensor cores add to meanwhile
#endif
};

#if PROMOTE
#define PART part
#else
#define PART acc
#endif

DEVICE_FN void clear(real acc[BLOCKS_M][BLOCKS_N][4])
{
    UNROLL
    for (int s = 0; s < BLOCKS_M * BLOCKS_N * 4; s++)
        acc[s / 4 / BLOCKS_N][s / 4 % BLOCKS_N][s % 4] = 0;
}

// What the tensor cores have added up goes to full precision.
DEVICE_FN void promote(struct work *t)
{
#if PROMOTE
    UNROLL
    for (int s = 0; s < BLOCKS_M * BLOCKS_N * 4; s++)
        t->acc[s / 4 / BLOCKS_N][s / 4 % BLOCKS_N][s % 4] +=
            t->part[s / 4 / BLOCKS_N][s / 4 % BLOCKS_N][s % 4];
    clear(t->part);
#endif
}

DEVICE_FN int next_stage(int stage)
{
    return stage == (STAGES - 1) * SPACE ? 0 : stage + SPACE;
}

// Start copying the tiles that come next, or load them.
DEVICE_FN void copy_stage(struct way *w, bool inside)
{
    const unsigned to = w->address + w->in;

    copy_tile(w->a, to, w->held_a, w->coming, inside, OPERAND_A);
    copy_tile(w->b, to + SPACE_A, w->held_b, w->coming, inside, OPERAND_B);
    if (ASYNC)
        end_group();
    w->a.from += TRANS_A ? (wide) TILE_K * w->a.ld : TILE_K;
    w->b.from += TRANS_B ? TILE_K : (wide) TILE_K * w->b.ld;
    w->coming -= TILE_K;
}

// What of them is in registers goes to shared memory.
DEVICE_FN void put_stage(struct way *w)
{
    SHARED_PTR unsigned char *to = w->shared + w->in;

    put_tile(w->a, to, w->held_a, OPERAND_A);
    put_tile(w->b, to + SPACE_A, w->held_b, OPERAND_B);
    w->in = next_stage(w->in);
}

// Fetch the operands of a step of this stage or, from STEPS on, of the next one: then go
// there first.
DEVICE_FN void fetch(struct work *t, struct way *w, int step)
{
    const int f = step % REGISTER_STAGES, depth = step % STEPS * STEP_K;

    if (step % STEPS == 0) {
        put_stage(w);
        w->out = next_stage(w->out);
#if ASYNC
        AWAIT_COPIES(STAGES - 2);
#endif
        BARRIER();
    }
    UNROLL
    for (int i = 0; i < BLOCKS_M * FETCHES; i++)
        take(t->a[f][i / FETCHES] + i % FETCHES * 4, w->shared + w->out,
             w->address + w->out, w->first_m + i / FETCHES * 16,
             depth + i % FETCHES * (32 / SIZE), false, OPERAND_A);
    UNROLL
    for (int j = 0; j < BLOCKS_N / 2 * FETCHES; j++)
        take(t->b[f][j / FETCHES] + j % FETCHES * 4, w->shared + w->out + SPACE_A,
             w->address + w->out + SPACE_A, w->first_n + j / FETCHES * 16,
             depth + j % FETCHES * (32 / SIZE), true, OPERAND_B);
}

#if defined(TYPE_F32)
// ---- f32 in slices ----------------------------------------------------------------------

// An f32 is the sum of three bf16, its slices. Six of the nine products of two numbers'
// slices count; the others are at most 2^-24 of the whole. SCALE makes the least f32 a
// normal bf16. A number whose upper slice is not finite then, just below 2^105 at least,
// has a NaN among them.
#define SLICES 3
#define SCALE  0x1p23f

// Slices of two numbers, in pairs: each is the bf16 nearest to what those above it leave.
// The differences are exact.
DEVICE_FN void take_apart(unsigned slices[SLICES], unsigned low_bits, unsigned high_bits)
{
    float low = FLOAT_OF_BITS(low_bits) * SCALE, high = FLOAT_OF_BITS(high_bits) * SCALE;
    UNROLL
    for (int s = 0; s < SLICES; s++) {
        slices[s] = pair_of_bf16(low, high);
        low -= FLOAT_OF_BITS(slices[s] << 16);
        high -= FLOAT_OF_BITS(slices[s] & 0xffff0000u);
    }
}

// Of a step's words of 16 lines, the slices as an instruction of bf16 takes them. Depths
// q and q + 4 of each fetch are neighbours there: A and B have the same order along k.
DEVICE_FN void take_all_apart(unsigned to[SLICES][4], const unsigned words[8], bool of_b)
{
    UNROLL
    for (int w = 0; w < 4; w++) {
        const int fetch = of_b ? w % 2 : w / 2, line = of_b ? w / 2 : w % 2;
        const int low = fetch * 4 + (of_b ? line * 2 : line);
        unsigned slices[SLICES];
        take_apart(slices, words[low], words[low + (of_b ? 1 : 2)]);
        UNROLL
        for (int s = 0; s < SLICES; s++)
            to[s][w] = slices[s];
    }
}

// Columns of blocks that are interleaved: each mma waits for the one before it on the
// same accumulators.
#define INTERLEAVED (BLOCKS_M < 4 ? 2 : 1)

// Tensor cores cut sums off: they add up one step's products, the smallest first, from
// nothing. Sums keep SCALE of both operands until they are stored: those of small numbers
// lose nothing. `b`: of two columns of blocks, of which these begin with the first-th.
DEVICE_FN void multiply_slices(real acc[BLOCKS_M][BLOCKS_N][4], int j,
                               const unsigned a[BLOCKS_M][SLICES][4],
                               const unsigned b[SLICES][4], int first)
{
    real part[INTERLEAVED * BLOCKS_M][4];

    UNROLL
    for (int s = 0; s < INTERLEAVED * BLOCKS_M * 4; s++)
        part[s / 4][s % 4] = 0;
    UNROLL
    for (int least = SLICES - 1; least >= 0; least--)
        UNROLL
        for (int s = 0; s <= least; s++)
            UNROLL
            for (int i = 0; i < INTERLEAVED * BLOCKS_M; i++)
                mma(part[i], a[i % BLOCKS_M][least - s], b[s] + (first + i / BLOCKS_M) * 2);
    UNROLL
    for (int s = 0; s < INTERLEAVED * BLOCKS_M * 4; s++)
        acc[s / 4 % BLOCKS_M][j + s / 4 / BLOCKS_M][s % 4] += part[s / 4][s % 4];
}

DEVICE_FN void multiply_step(struct work *t, int f)
{
    unsigned a[BLOCKS_M][SLICES][4], b[SLICES][4];

    UNROLL
    for (int i = 0; i < BLOCKS_M; i++)
        take_all_apart(a[i], t->a[f][i], false);
    UNROLL
    for (int j = 0; j < BLOCKS_N; j += INTERLEAVED) {
        if (j % 2 == 0)
            take_all_apart(b, t->b[f][j / 2], true);
        multiply_slices(t->acc, j, a, b, j % 2);
    }
}
#else
// A block of 16 x 8, 32 bytes deep.
DEVICE_FN void multiply(real c[4], const unsigned a[4], const unsigned b[2])
{
#if ASYNC
    mma(c, a, b);
#elif defined(TYPE_F16)
    mma(c, a, b);
    mma(c, a + 2, b + 1);
#else
    UNROLL
    for (int i = 0; i < 4; i++)
        mma(c + i % 2 * 2, a + i, b + i / 2);
#endif
}

DEVICE_FN void multiply_step(struct work *t, int f)
{
    UNROLL
    for (int i = 0; i < BLOCKS_M; i++)
        UNROLL
        for (int j = 0; j < BLOCKS_N; j++)
            multiply(t->PART[i][j], t->a[f][i], t->b[f][j / 2] + j % 2 * 2);
}
#endif

// Multiply the tiles of a stage, and copy others into the one before it. `left` depths are
// left to multiply.
DEVICE_FN void multiply_stage(struct work *t, struct way *w, int left, bool inside)
{
    UNROLL
    for (int step = 0; step < STEPS; step++) {
        fetch(t, w, step + AHEAD);
        if (step == 0)
            copy_stage(w, inside);
        multiply_step(t, step % REGISTER_STAGES);
    }
    if (PROMOTE && (left - 1) / TILE_K % (PROMOTE + !PROMOTE) == 0)
        promote(t);
}

// ---- the way out ------------------------------------------------------------------------

// Where a thread's s-th pair of accumulators stands in its warp's rectangle, from its
// lane's on.
DEVICE_FN int row_of(int s)
{
    return s / 2 / BLOCKS_N * 16 + s % 2 * 8;
}

DEVICE_FN int column_of(int s)
{
    return s / 2 % BLOCKS_N * 8;
}

// Store two neighbouring elements of a row of C, of which `count` are in the matrix.
DEVICE_FN void store_pair(GLOBAL result *c, const real *acc, int count, real alpha, real beta,
                          const GLOBAL result *bias)
{
    const bool whole = ALIGNED && count >= 2;
    result out[2] = { 0, 0 };

    if (beta != 0 && whole)
        LOAD2(GLOBAL, result, out, c);
    UNROLL
    for (int e = 0; e < 2; e++)
        if (e < count) {
            real x = alpha * acc[e];
            if (beta != 0)
                x += beta * from_result(whole ? out[e] : c[e]);
            out[e] = to_result(finish(x, bias_of(bias, 0, e)));
            if (!whole)
                c[e] = out[e];
        }
    if (whole)
        STORE2(GLOBAL, result, c, out);
}

#if defined(TYPE_F32)
DEVICE_FN void drop_scale(real *sums, int count)
{
    UNROLL
    for (int s = 0; s < count; s++)
        sums[s] *= 1 / (SCALE * SCALE);
}

// Sums that are not finite are computed once more, from A and B themselves. Slices of a
// number that is not finite are not either, and their products are NaN where its own may
// be infinite. Sums from 2^82 on overflow while they have SCALE.
#define STORED_PARAMETERS                                                  \
    int k, const GLOBAL element *a, wide a_start, int lda, wide a_stride,  \
    const GLOBAL element *b, wide b_start, int ldb, wide b_stride,

DEVICE_FN bool all_finite(const real *x, int count)
{
    real none = 0;
    UNROLL
    for (int s = 0; s < count; s++)
        none += x[s] * 0;
    return none == 0;
}

// The sums of that row and column of C and of the next column, as far as there is one. A
// and B begin with the matrix.
DEVICE_FN void sum_pair_plainly(real sums[2], const GLOBAL element *a, int lda,
                                const GLOBAL element *b, int ldb, int k, int row,
                                int column, int count)
{
    const wide step_a = TRANS_A ? lda : 1, step_b = TRANS_B ? 1 : ldb;

    a += (wide) row * (TRANS_A ? 1 : lda);
    b += (wide) column * (TRANS_B ? ldb : 1);
    UNROLL
    for (int e = 0; e < 2; e++) {
        sums[e] = 0;
        NO_UNROLL
        for (int p = 0; p < k && e < count; p++)
            sums[e] = MULTIPLY_ADD(a[p * step_a], b[p * step_b], sums[e]);
        b += TRANS_B ? ldb : 1;
    }
}
#else
#define STORED_PARAMETERS
#endif

#if SPLIT_K > 1
#define THREADS_ADD 128

// Two neighbours of C a thread.
//
// Launch: block (THREADS_ADD), grid (ceil(m * partial_ld / 2 / THREADS_ADD), 1, batch).
KERNEL BLOCK_SIZE(THREADS_ADD, 1)
void mmt_reduce_splits(int m, int n, real alpha, real beta,
                   const GLOBAL real *scalars, wide scalars_start,
                   STORED_PARAMETERS
                   GLOBAL result *c, wide c_start, int ldc, wide c_stride,
                   GLOBAL real *workspace, wide workspace_start,
                   const GLOBAL result *bias, wide bias_start)
{
    const wide pairs = partial_ld(n) / 2, all = m * pairs;
    const wide mine = (wide) BLOCK_X * THREADS_ADD + THREAD_X;

    PDL_TRIGGER();
    PDL_WAIT();
    if (mine >= all)
        return;

    const GLOBAL real *from = partial_at(workspace + workspace_start, m, n, 0, 0) + 2 * mine;
    real acc[2] = { 0, 0 };
    UNROLL
    for (int part = 0; part < SPLIT_K; part++, from += 2 * all) {
        real more[2];
        LOAD2(GLOBAL, real, more, from);
        acc[0] += more[0], acc[1] += more[1];
    }
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    const int row = (int) (mine / pairs), column = (int) (mine % pairs) * 2;
    FIND_MATRIX(c, BLOCK_Z);
#if defined(TYPE_F32)
    FIND_MATRIX(a, BLOCK_Z);
    FIND_MATRIX(b, BLOCK_Z);
    if (!all_finite(acc, 2))
        sum_pair_plainly(acc, a + a_start + BLOCK_Z * a_stride, lda,
                         b + b_start + BLOCK_Z * b_stride, ldb, k, row, column,
                         n - column);
    else
        drop_scale(acc, 2);
#endif
    store_pair(c + c_start + BLOCK_Z * c_stride + (wide) row * ldc + column, acc,
               n - column, alpha, beta, bias_of(bias + bias_start, row, column));
}
#endif

KERNEL BLOCK_SIZE_RESIDENT(THREADS, 1, MIN_BLOCKS)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL element *a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *b, wide b_start, int ldb, wide b_stride,
              GLOBAL result *c, wide c_start, int ldc, wide c_stride,
              GLOBAL real *workspace, wide workspace_start,
              const GLOBAL result *bias, wide bias_start)
{
    SHARED_POOL(unsigned char, shared, STAGES * SPACE);
    const int warp = THREAD_X / 32, g = THREAD_X % 32 / 4, q = THREAD_X % 4;
    struct work t;
    struct way w;

    PDL_TRIGGER();
    PDL_WAIT();
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0;

    FIND_MATRIX(a, BLOCK_Z);
    FIND_MATRIX(b, BLOCK_Z);
    FIND_MATRIX(c, BLOCK_Z);
    int row, column;
    find_tile(m, n, &row, &column);
    const int begin = part_start(BLOCK_Y, k), end = part_start(BLOCK_Y + 1, k);
    const int rows = m - row, columns = n - column;

    w.a = start_copier(a + a_start + BLOCK_Z * a_stride, lda, row, m, begin, OPERAND_A);
    w.b = start_copier(b + b_start + BLOCK_Z * b_stride, ldb, column, n, begin, OPERAND_B);
    w.shared = shared, w.address = SHARED_ADDRESS(shared);
    w.first_m = warp / WARPS_N * (TILE_M / WARPS_M);
    w.first_n = warp % WARPS_N * (TILE_N / WARPS_N);
    w.coming = end - begin, w.in = 0, w.out = (STAGES - 1) * SPACE;

    clear(t.acc);
    clear(t.PART);

    // Most tiles lie inside and are copied with no questions asked.
    const bool inside = rows >= TILE_M && columns >= TILE_N;

    if (end > begin) {
        NO_UNROLL
        for (int s = 0; s < STAGES - 1; s++) {
            if (s > 0)
                put_stage(&w);
            copy_stage(&w, false);
        }
        UNROLL
        for (int step = 0; step < AHEAD; step++)
            fetch(&t, &w, step);
    }
    int left = end - begin;
    NO_UNROLL
    for (; inside && w.coming >= TILE_K; left -= TILE_K)
        multiply_stage(&t, &w, left, true);
    NO_UNROLL
    for (; left > 0; left -= TILE_K)
        multiply_stage(&t, &w, left, false);

    c += c_start + BLOCK_Z * c_stride + (wide) row * ldc + column;
    bias = bias_of(bias + bias_start, row, column);
    GLOBAL real *partial = partial_at(workspace + workspace_start, m, n, row, column);
#if defined(TYPE_F32)
    if (SPLIT_K == 1 && !all_finite(t.acc[0][0], BLOCKS_M * BLOCKS_N * 4)) {
        NO_UNROLL
        for (int s = 0; s < BLOCKS_M * BLOCKS_N * 2; s++) {
            const int r = w.first_m + row_of(s) + g, at = w.first_n + column_of(s) + 2 * q;
            real sums[2];
            if (r >= rows)
                continue;
            sum_pair_plainly(sums, a + a_start + BLOCK_Z * a_stride, lda,
                             b + b_start + BLOCK_Z * b_stride, ldb, k, row + r,
                             column + at, columns - at);
            store_pair(c + (wide) r * ldc + at, sums, columns - at, alpha, beta,
                       bias_of(bias, r, at));
        }
        return;
    }
    if (SPLIT_K == 1)
        drop_scale(t.acc[0][0], BLOCKS_M * BLOCKS_N * 4);
#endif
    UNROLL
    for (int s = 0; s < BLOCKS_M * BLOCKS_N * 2; s++) {
        const int i = s / 2 / BLOCKS_N, j = s / 2 % BLOCKS_N;
        const int r = w.first_m + row_of(s) + g, at = w.first_n + column_of(s) + 2 * q;
        const real *acc = &t.acc[i][j][s % 2 * 2];
        if (r >= rows)
            continue;
        if (SPLIT_K == 1)
            store_pair(c + (wide) r * ldc + at, acc, columns - at, alpha, beta,
                       bias_of(bias, r, at));
        else if (at < columns)
            STORE2(GLOBAL, real, partial + (wide) r * partial_ld(n) + at, acc);
    }
}
