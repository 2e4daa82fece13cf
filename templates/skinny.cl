// skinny - C = alpha*op(A)*op(B) + beta*C where one side of C is short, row major.
//
// Such a product reads its long operand once and does little with it, so that memory sets
// the pace. With SHORT rows, m is short and B is long; with SHORT columns it is n and A.
// In both cases a block reads one stripe of the long operand, for one part of k:
//
//               k, of which a block takes one of SPLIT_K parts
//              +---------------------------------+      +----------+
//   long side  |   [ WORK_LONG x WORK_K a thread |      | WORK_    |
//   of C       |     at a time, in vectors ]     |  x   | SHORT,   |  k, in shared memory,
//              |   TILE_LONG                     |      | the short|  TILE_K deep
//              +---------------------------------+      | operand  |
//                                                       +----------+
//
// THREADS_K threads share an element of C and add their sums up at the end: each step
// halves the sums that a thread still has. The long operand lies along k, and then
// neighbouring threads are neighbours along k; or across it, and then they are neighbours
// along the long side. The next piece of it is on its way while one is multiplied.
//
// Launch: mmt_gemm, grid (long tiles x short tiles, parts of k, batch);
//         add_parts, grid (ceil(m*n/ADD_THREADS), 1, batch), where SPLIT_K > 1, adds up the
//         parts that the first has left in the workspace.

#ifndef SHORT
#define SHORT 0          // short side of C: 0 rows, 1 columns
#endif
#ifndef WORK_SHORT
#define WORK_SHORT 1     // elements of C per thread, along the short side
#endif
#ifndef WORK_LONG
#define WORK_LONG 4      // elements of C per thread, along the long side
#endif
#ifndef WORK_K
#define WORK_K 4         // steps of k per thread at a time
#endif
#ifndef THREADS_LONG
#define THREADS_LONG 32  // threads of a block along the long side
#endif
#ifndef THREADS_K
#define THREADS_K 8      // threads of a block along k
#endif
#ifndef VECTOR
#define VECTOR 4         // elements of the long operand per load
#endif
#ifndef TILE_K
#define TILE_K 512       // depth of the short operand in shared memory
#endif
#ifndef BUFFERS
#define BUFFERS 2        // pieces of the long operand in a thread's registers
#endif
#ifndef SPLIT_K
#define SPLIT_K 1        // parts of k at most, each for blocks of its own
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif
#ifndef ALIGNED
#define ALIGNED 0
#endif

#define ROWS_ARE_SHORT (SHORT == 0)
#define ALONG_K        (ROWS_ARE_SHORT ? TRANS_B : !TRANS_A)  // the long operand's rows
#define SHORT_ALONG_K  (ROWS_ARE_SHORT ? !TRANS_A : TRANS_B)  // the short operand's rows

#define THREADS     (THREADS_LONG * THREADS_K)
#define ADD_THREADS 128
#define TILE_LONG   (THREADS_LONG * WORK_LONG)
#define STEP_K      (THREADS_K * WORK_K)
#define SUMS        (WORK_LONG * WORK_SHORT)
#define PIECE       (WORK_LONG * WORK_K)
#define LINE        (TILE_K + 4)  // of a staged row: columns evade bank conflicts

// Elements that neighbour each other in a thread's piece.
#if ALIGNED
#define WIDE VECTOR
#else
#define WIDE 1
#endif
#if ALONG_K
#define WIDE_LONG 1
#define WIDE_K    WIDE
#else
#define WIDE_LONG WIDE
#define WIDE_K    VECTOR
#endif

// Where a thread's i-th element along the long side, and its p-th along k, stand in the
// block's, and where that element stands in the piece.
#define LONG_AT(thread, i) \
    (((i) / WIDE_LONG * THREADS_LONG + (thread)) * WIDE_LONG + (i) % WIDE_LONG)
#define K_AT(thread, p) (((p) / WIDE_K * THREADS_K + (thread)) * WIDE_K + (p) % WIDE_K)
#define PIECE_AT(i, p)  (ALONG_K ? (i) * WORK_K + (p) : (p) * WORK_LONG + (i))
#define SUM_AT(i, s)    ((s) * WORK_LONG + (i))

// A thread's place in its block.
#define THREAD_LONG (ALONG_K ? THREAD_X / THREADS_K : THREAD_X % THREADS_LONG)
#define THREAD_K    (ALONG_K ? THREAD_X % THREADS_K : THREAD_X / THREADS_LONG)

// Sums that a thread has when it meets the thread `distance` further along k, and in the end.
#define HELD(distance) \
    (SUMS * 2 * (distance) > THREADS_K ? SUMS * 2 * (distance) / THREADS_K : 1)
#define LEFT      (SUMS > THREADS_K ? SUMS / THREADS_K : 1)
#define MOST_KEPT ((SUMS + 1) / 2)

// Elements of shared memory: for the short operand, and later for exchanged sums.
#define STAGED    (WORK_SHORT * LINE)
#define EXCHANGED (THREADS_K > 1 ? MOST_KEPT * THREADS : 0)
#define POOL      (STAGED > EXCHANGED ? STAGED : EXCHANGED)

#define PASTE_(a, b)           a##b
#define PASTE(a, b)            PASTE_(a, b)
#define LOAD1(space, to, from) (*(to) = *(from))
#define LOAD_WIDE(to, from)    PASTE(LOAD, WIDE)(GLOBAL, to, from)
#define LOAD_STAGED(to, from)  PASTE(LOAD, WIDE_K)(SHARED_PTR, to, from)

#if WORK_K % VECTOR || (!ALONG_K && WORK_LONG % VECTOR)
#error "a thread's piece must consist of whole vectors"
#endif
#if TILE_K % STEP_K
#error "TILE_K must be a multiple of THREADS_K * WORK_K"
#endif

// Steps of k in a part; the last part may have fewer.
DEVICE_FN wide part_of(int k)
{
    const int steps = k > 0 ? (k - 1) / STEP_K + 1 : 0;
    return (wide) ((steps + SPLIT_K - 1) / SPLIT_K) * STEP_K;
}

// A thread's piece of the long operand, whose tile begins at x and lies within the matrix.
DEVICE_FN void load_whole(real *piece, const GLOBAL real *x, int ld)
{
    const int l = THREAD_LONG, t = THREAD_K;
#if ALONG_K
    UNROLL
    for (int i = 0; i < WORK_LONG; i++)
        UNROLL
        for (int p = 0; p < WORK_K; p += WIDE)
            LOAD_WIDE(piece + PIECE_AT(i, p), x + (wide) LONG_AT(l, i) * ld + K_AT(t, p));
#else
    UNROLL
    for (int p = 0; p < WORK_K; p++)
        UNROLL
        for (int i = 0; i < WORK_LONG; i += WIDE)
            LOAD_WIDE(piece + PIECE_AT(i, p), x + (wide) K_AT(t, p) * ld + LONG_AT(l, i));
#endif
}

// The same where only `length` elements exist along the long side and `depth` along k.
DEVICE_FN void load_edge(real *piece, const GLOBAL real *x, int ld, int length, int depth)
{
    UNROLL
    for (int i = 0; i < WORK_LONG; i++)
        UNROLL
        for (int p = 0; p < WORK_K; p++) {
            const int l = LONG_AT(THREAD_LONG, i), t = K_AT(THREAD_K, p);
            const wide at = ALONG_K ? (wide) l * ld + t : (wide) t * ld + l;
            piece[PIECE_AT(i, p)] = l < length && t < depth ? x[at] : (real) 0;
        }
}

DEVICE_FN void load_piece(real *piece, const GLOBAL real *x, int ld, int length, int depth)
{
    if (length >= TILE_LONG && depth >= STEP_K)
        load_whole(piece, x, ld);
    else
        load_edge(piece, x, ld, length, depth);
}

// Copy the short operand's next TILE_K steps; what does not exist is 0.
DEVICE_FN void stage(SHARED_PTR real *staged, const GLOBAL real *x, int ld, int width,
                     int depth)
{
#pragma unroll 4
    for (int e = THREAD_X; e < WORK_SHORT * TILE_K; e += THREADS) {
        const int s = SHORT_ALONG_K ? e / TILE_K : e % WORK_SHORT;
        const int p = SHORT_ALONG_K ? e % TILE_K : e / WORK_SHORT;
        const wide at = SHORT_ALONG_K ? (wide) s * ld + p : (wide) p * ld + s;
        staged[s * LINE + p] = s < width && p < depth ? x[at] : (real) 0;
    }
}

// Add a piece's products with the staged columns to the thread's sums.
DEVICE_FN void multiply(real *sum, const real *piece, const SHARED_PTR real *staged)
{
    UNROLL
    for (int p = 0; p < WORK_K; p += WIDE_K)
        UNROLL
        for (int s = 0; s < WORK_SHORT; s++) {
            real x[WIDE_K];
            LOAD_STAGED(x, staged + s * LINE + K_AT(THREAD_K, p));
            UNROLL
            for (int e = 0; e < WIDE_K; e++)
                UNROLL
                for (int i = 0; i < WORK_LONG; i++)
                    sum[SUM_AT(i, s)] = MULTIPLY_ADD(piece[PIECE_AT(i, p + e)], x[e],
                                                     sum[SUM_AT(i, s)]);
        }
}

// Add up over the threads along k: of two that meet, each hands over half of its sums, or
// both the one that they have. Returns which sum the thread's LEFT ones begin with.
DEVICE_FN int add_up(real *sum, SHARED_PTR real *pool)
{
    int first = 0;

    UNROLL
    for (int distance = THREADS_K / 2; distance > 0; distance /= 2) {
        const int held = HELD(distance), kept = (held + 1) / 2, past = held - kept;
        const int other = THREAD_X ^ distance * (ALONG_K ? 1 : THREADS_LONG);
        const int upper = (THREAD_K & distance) != 0;
        BARRIER();
        UNROLL
        for (int i = 0; i < MOST_KEPT; i++)
            if (i < kept)
                pool[i * THREADS + THREAD_X] = upper ? sum[i] : sum[i + past];
        BARRIER();
        UNROLL
        for (int i = 0; i < MOST_KEPT; i++)
            if (i < kept)
                sum[i] = (upper ? sum[i + past] : sum[i]) + pool[i * THREADS + other];
        first += upper ? past : 0;
    }
    return first;
}

// beta = 0 never reads C.
DEVICE_FN void store(GLOBAL real *c, real alpha, real sum, real beta)
{
    *c = beta == 0 ? alpha * sum : MULTIPLY_ADD(beta, *c, alpha * sum);
}

KERNEL BLOCK_SIZE(THREADS, 1)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL real *RESTRICT a, wide a_start, int lda, wide a_stride,
              const GLOBAL real *RESTRICT b, wide b_start, int ldb, wide b_stride,
              GLOBAL real *RESTRICT c, wide c_start, int ldc, wide c_stride,
              GLOBAL real *RESTRICT workspace, wide workspace_start)
{
    SHARED_POOL(real, pool, POOL);
    const int length = ROWS_ARE_SHORT ? n : m, width = ROWS_ARE_SHORT ? m : n;
    const int tiles = (width - 1) / WORK_SHORT + 1;
    const int tile_long = BLOCK_X / tiles * TILE_LONG;
    const int tile_short = BLOCK_X % tiles * WORK_SHORT;
    real sum[SUMS] = { 0 }, piece[PIECE], next[PIECE];

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0; // A and B may be absent
    const wide part = part_of(k), first = BLOCK_Y * part;
    const int depth = (int) (k - first < part ? k - first : part);

    a += a_start + BLOCK_Z * a_stride;
    b += b_start + BLOCK_Z * b_stride;
    const int ld_long = ROWS_ARE_SHORT ? ldb : lda, ld_short = ROWS_ARE_SHORT ? lda : ldb;
    const wide step_long = ALONG_K ? 1 : ld_long, step_short = SHORT_ALONG_K ? 1 : ld_short;
    const GLOBAL real *x = (ROWS_ARE_SHORT ? b : a) + first * step_long
                           + (wide) tile_long * (ALONG_K ? ld_long : 1);
    const GLOBAL real *y = (ROWS_ARE_SHORT ? a : b) + first * step_short
                           + (wide) tile_short * (SHORT_ALONG_K ? ld_short : 1);

    if (BUFFERS == 2 && depth > 0)
        load_piece(next, x, ld_long, length - tile_long, depth);
    for (int left = depth; left > 0; left -= TILE_K) {
        BARRIER();
        stage(pool, y, ld_short, width - tile_short, left);
        BARRIER();
        y += TILE_K * step_short;
        NO_UNROLL
        for (int p = 0; p < TILE_K && p < left; p += STEP_K) {
            if (BUFFERS == 1) {
                load_piece(piece, x, ld_long, length - tile_long, left - p);
                x += STEP_K * step_long;
            } else {
                UNROLL
                for (int e = 0; e < PIECE; e++)
                    piece[e] = next[e];
                x += STEP_K * step_long;
                if (left - p > STEP_K)
                    load_piece(next, x, ld_long, length - tile_long, left - p - STEP_K);
            }
            multiply(sum, piece, pool + p);
        }
    }
    const int first_sum = add_up(sum, pool);

    c += c_start + BLOCK_Z * c_stride;
    workspace += workspace_start + ((wide) BLOCK_Z * SPLIT_K + BLOCK_Y) * m * n;
    if (THREAD_K % (THREADS_K * LEFT / SUMS > 0 ? THREADS_K * LEFT / SUMS : 1) != 0)
        return; // another thread has the same sums
    UNROLL
    for (int e = 0; e < LEFT; e++) {
        const int at_long = tile_long + LONG_AT(THREAD_LONG, (first_sum + e) % WORK_LONG);
        const int at_short = tile_short + (first_sum + e) / WORK_LONG;
        const int i = ROWS_ARE_SHORT ? at_short : at_long;
        const int j = ROWS_ARE_SHORT ? at_long : at_short;
        if (i >= m || j >= n)
            continue;
        if (SPLIT_K == 1)
            store(c + (wide) i * ldc + j, alpha, sum[e], beta);
        else
            workspace[(wide) i * n + j] = sum[e];
    }
}

#if SPLIT_K > 1
// One element of C is the sum of its parts, always in the same order.
KERNEL BLOCK_SIZE(ADD_THREADS, 1)
void add_parts(int m, int n, int k, real alpha, real beta,
               const GLOBAL real *scalars, wide scalars_start,
               GLOBAL real *RESTRICT c, wide c_start, int ldc, wide c_stride,
               const GLOBAL real *RESTRICT workspace, wide workspace_start)
{
    const wide size = (wide) m * n, at = (wide) BLOCK_X * ADD_THREADS + THREAD_X;
    real sum = 0;

    if (at >= size)
        return;
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    workspace += workspace_start + BLOCK_Z * SPLIT_K * size + at;
    const wide part = part_of(k);
    UNROLL
    for (int p = 0; p < SPLIT_K; p++)
        sum += p * part < k ? workspace[p * size] : (real) 0;
    store(c + c_start + BLOCK_Z * c_stride + at / n * ldc + at % n, alpha, sum, beta);
}
#endif
