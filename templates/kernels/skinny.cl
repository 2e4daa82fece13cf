// skinny - C = alpha*op(A)*op(B) + beta*C where one side of C is short, row major.
//
// Such a product reads its long operand once and does little with it, so that memory sets
// the pace. With SHORT rows, m is short and B is long; with SHORT columns it is n and A;
// with SHORT either, for an A and a B that lie alike, whichever it is. A block reads one
// stripe of the long operand, for one split of k:
//
//               k, of which a block takes one part of as many as the grid has
//              +--------------------------------+      +----------+
//   long side  |  [ THREAD_TILE_LONG x THREAD_TILE_K a thread |      | the      |
//   of C       |    at a time, in vectors ]     |  x   | short    |  k, TILE_K of it in
//              |  TILE_LONG                     |      | operand  |  shared memory
//              +--------------------------------+      |          |
//                                                      +----------+
//                                                       THREAD_TILE_SHORT
//
// THREADS_K threads share an element of C and add their accumulators up at the end: each step
// halves the accumulators that a thread still has, through shared memory or, of threads of one
// subgroup, by shuffles. The long operand lies along k, and then
// neighbouring threads are neighbours along k; or across it, and then they are neighbours
// along the long side. A thread's piece of it is multiplied slice by slice, and each
// slice makes room for the same one of the next piece: memory always has a request. Elements
// of 16 and 8 bits become real numbers as they are multiplied, and as they are staged; but bytes
// that lie along k in both operands are multiplied four at a time, where the device can.
//
// Launch: mmt_gemm, grid (long tiles x short tiles, splits of k that are not empty, batch);
//         add_parts, grid (ceil(m*n * sharers / ADD_THREADS), 1, batch), where k has several,
//         adds up the parts that the first has left in the workspace.

#ifndef SHORT
#define SHORT 0               // short side of C: 0 rows, 1 columns, 2 the shorter of both
#endif
#ifndef THREAD_TILE_SHORT
#define THREAD_TILE_SHORT 1   // elements of C per thread, along the short side
#endif
#ifndef THREAD_TILE_LONG
#define THREAD_TILE_LONG 4    // elements of C per thread, along the long side
#endif
#ifndef THREAD_TILE_K
#define THREAD_TILE_K 4       // steps of k per thread at a time
#endif
#ifndef THREADS_LONG
#define THREADS_LONG 32       // threads of a block along the long side
#endif
#ifndef THREADS_K
#define THREADS_K 8           // threads of a block along k
#endif
#ifndef VECTOR
#define VECTOR 4              // elements of the long operand per load
#endif
#ifndef TILE_K
#define TILE_K 512            // depth of the short operand in shared memory
#endif
#ifndef SUBGROUP
#define SUBGROUP 0            // threads of a subgroup that add up by shuffles; 0: by shared memory
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1          // least blocks on a multiprocessor
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

#define ALONG_K       (SHORT == 1 ? !TRANS_A : TRANS_B)  // the long operand's rows
#define SHORT_ALONG_K (SHORT == 1 ? TRANS_B : !TRANS_A)  // the short operand's rows

#define THREADS      (THREADS_LONG * THREADS_K)
#define TILE_LONG    (THREADS_LONG * THREAD_TILE_LONG)
#define STEP_K       (THREADS_K * THREAD_TILE_K)
#define ACCUMULATORS         (THREAD_TILE_LONG * THREAD_TILE_SHORT)
#define PIECE        (THREAD_TILE_LONG * THREAD_TILE_K)
#define LINE         (TILE_K + 4)  // of a staged row: columns evade bank conflicts
#define PARTS        GRID_Y  // of k, each for blocks of its own
#define ADD_THREADS  128
#define PARTS_EACH   8             // that a thread adds up at once
#define MOST_SHARERS 16       // threads that share an element's parts

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
#define PIECE_AT(i, p)  (ALONG_K ? (i) * THREAD_TILE_K + (p) : (p) * THREAD_TILE_LONG + (i))
#define ACC_AT(i, s)    ((s) * THREAD_TILE_LONG + (i))

// A thread's place in its block.
#define THREAD      ((unsigned int) THREAD_X)
#define THREAD_LONG ((int) (ALONG_K ? THREAD / THREADS_K : THREAD % THREADS_LONG))
#define THREAD_K    ((int) (ALONG_K ? THREAD % THREADS_K : THREAD / THREADS_LONG))

// The e-th element of the short operand that is staged, in runs that lie along it; and
// how many loads a thread has under way.
#define RUN         (SHORT_ALONG_K ? 32 : 1)
#define SHORT_OF(e) ((e) / RUN % THREAD_TILE_SHORT)
#define K_OF(e)     ((e) / (RUN * THREAD_TILE_SHORT) * RUN + (e) % RUN)
#define GRAIN       (STEP_K > 32 ? STEP_K : 32)
#define ROUNDS      ((THREAD_TILE_SHORT * TILE_K - 1) / THREADS + 1)
#define BATCH       (ROUNDS < 8 ? ROUNDS : 8)

// Accumulators that a thread has when it meets the thread `distance` further along k, and in the
// end; and how many threads have the same ones then.
#define HELD(distance) \
    (ACCUMULATORS * 2 * (distance) > THREADS_K ? ACCUMULATORS * 2 * (distance) / THREADS_K : 1)
#define LEFT      (ACCUMULATORS > THREADS_K ? ACCUMULATORS / THREADS_K : 1)
#define COPIES    (THREADS_K > ACCUMULATORS ? THREADS_K / ACCUMULATORS : 1)
#define MOST_KEPT ((ACCUMULATORS + 1) / 2)

// Elements of shared memory: for the short operand, and later for exchanged sums.
#define STAGED    (THREAD_TILE_SHORT * LINE)
#define EXCHANGED (THREADS_K > 1 ? MOST_KEPT * THREADS : 0)
#define POOL      (STAGED > EXCHANGED ? STAGED : EXCHANGED)

// What is staged: real numbers, or elements that are multiplied four at a time.
#if defined(DOT4) && ALIGNED && ALONG_K && SHORT_ALONG_K && VECTOR == 4
#define DOTS 1
typedef element staged_element;
#define TO_STAGED(x)         (x)
#define FOUR(space, from)    (*(const space unsigned int *) (from))
#define LOAD_WIDE(to, from)  (*(unsigned int *) (to) = FOUR(GLOBAL, from))
#else
#define DOTS 0
typedef real staged_element;
#define TO_STAGED(x)         to_real(x)
#define LOAD_WIDE(to, from)  PASTE(LOAD, WIDE)(GLOBAL, element, to, from)
#endif

#define PASTE_(a, b)                 a##b
#define PASTE(a, b)                  PASTE_(a, b)
#define LOAD1(space, type, to, from) (*(to) = *(from))
#define LOAD_STAGED(to, from)        PASTE(LOAD, WIDE_K)(SHARED_PTR, real, to, from)

#if THREAD_TILE_K % VECTOR || (!ALONG_K && THREAD_TILE_LONG % VECTOR)
#error "a thread's piece must consist of whole vectors"
#endif
#if SHORT == 2 && TRANS_A == TRANS_B
#error "either side may be short where A and B lie alike"
#endif
#if TILE_K % STEP_K
#error "TILE_K must be a multiple of THREADS_K * THREAD_TILE_K"
#endif

// Where the tile begins whose own elements begin at `own`: the last one reaches back into
// its neighbour, if it then lies within the matrix and its vectors stay aligned.
DEVICE_FN int begin_inside(int own, int length)
{
    const int last = length - TILE_LONG;
    return own > last && last >= 0 && last % WIDE_LONG == 0 ? last : own;
}

// Steps of k in a part; the last part may have fewer.
DEVICE_FN wide part_of(int k)
{
    const int steps = k > 0 ? (k - 1) / STEP_K + 1 : 0;
    return (wide) ((steps + PARTS - 1) / PARTS) * STEP_K;
}

// The slice of a thread's piece that begins at step `slice`, WIDE_K steps deep, of the
// block's piece that begins at x and lies within the matrix.
DEVICE_FN void load_slice(element *piece, int slice, const GLOBAL element *x, int ld)
{
    const int l = THREAD_LONG, t = THREAD_K;
#if ALONG_K
    UNROLL
    for (int i = 0; i < THREAD_TILE_LONG; i++)
        LOAD_WIDE(piece + PIECE_AT(i, slice),
                  x + (wide) LONG_AT(l, i) * ld + K_AT(t, slice));
#else
    UNROLL
    for (int p = slice; p < slice + WIDE_K; p++)
        UNROLL
        for (int i = 0; i < THREAD_TILE_LONG; i += WIDE)
            LOAD_WIDE(piece + PIECE_AT(i, p), x + (wide) K_AT(t, p) * ld + LONG_AT(l, i));
#endif
}

// The same where only `length` elements exist along the long side and `depth` along k;
// the others are 0.
DEVICE_FN void load_edge(element *piece, int slice, const GLOBAL element *x, int ld, int length,
                         int depth)
{
    UNROLL
    for (int p = slice; p < slice + WIDE_K; p += ALONG_K ? WIDE : 1)
        UNROLL
        for (int i = 0; i < THREAD_TILE_LONG; i += WIDE_LONG) {
            const int l = LONG_AT(THREAD_LONG, i), t = K_AT(THREAD_K, p);
            const wide at = ALONG_K ? (wide) l * ld + t : (wide) t * ld + l;
            element *to = piece + PIECE_AT(i, p);
            if (l + WIDE_LONG <= length && t + (ALONG_K ? WIDE : 1) <= depth)
                LOAD_WIDE(to, x + at);
            else
                UNROLL
                for (int e = 0; e < WIDE; e++)
                    to[e] = (ALONG_K ? l < length && t + e < depth
                                     : l + e < length && t < depth)
                                ? x[at + e] : (element) 0;
        }
}

DEVICE_FN void load(element *piece, int slice, const GLOBAL element *x, int ld, int length,
                    int depth)
{
    if (length >= TILE_LONG && depth >= STEP_K)
        load_slice(piece, slice, x, ld);
    else
        load_edge(piece, slice, x, ld, length, depth);
}

// Copy the short operand's next steps, of which `depth` exist; the others are 0. Loads go
// out BATCH at a time; neighbouring threads are neighbours in memory.
DEVICE_FN void stage(SHARED_PTR staged_element *staged, const GLOBAL element *x, int ld, int width,
                     int depth)
{
    const int steps = depth >= TILE_K ? TILE_K : (depth - 1) / GRAIN * GRAIN + GRAIN;

    NO_UNROLL
    for (int first = THREAD_X; first < THREAD_TILE_SHORT * steps; first += BATCH * THREADS) {
        element batch[BATCH];
        UNROLL
        for (int i = 0; i < BATCH; i++) {
            const int s = SHORT_OF(first + i * THREADS), p = K_OF(first + i * THREADS);
            const wide at = SHORT_ALONG_K ? (wide) s * ld + p : (wide) p * ld + s;
            batch[i] = s < width && p < depth ? x[at] : (element) 0;
        }
        UNROLL
        for (int i = 0; i < BATCH; i++)
            if (first + i * THREADS < THREAD_TILE_SHORT * steps)
                staged[SHORT_OF(first + i * THREADS) * LINE + K_OF(first + i * THREADS)] =
                    TO_STAGED(batch[i]);
    }
}

// Add a slice's products with the staged columns to the thread's sums. Only here are its
// elements looked at, and converted once for all columns.
DEVICE_FN void multiply(real *acc, const element *piece, int slice,
                        const SHARED_PTR staged_element *staged)
{
#if DOTS
    UNROLL
    for (int s = 0; s < THREAD_TILE_SHORT; s++) {
        const unsigned int x = FOUR(SHARED_PTR, staged + s * LINE + K_AT(THREAD_K, slice));
        UNROLL
        for (int i = 0; i < THREAD_TILE_LONG; i++)
            acc[ACC_AT(i, s)] = DOT4(FOUR(, piece + PIECE_AT(i, slice)), x, acc[ACC_AT(i, s)]);
    }
#else
#if IS_CONVERTED
    real own[PIECE];
    UNROLL
    for (int e = 0; e < WIDE_K; e++)
        UNROLL
        for (int i = 0; i < THREAD_TILE_LONG; i++)
            own[PIECE_AT(i, slice + e)] = to_real(piece[PIECE_AT(i, slice + e)]);
#else
    const real *own = piece;
#endif
    UNROLL
    for (int s = 0; s < THREAD_TILE_SHORT; s++) {
        real x[WIDE_K];
        LOAD_STAGED(x, staged + s * LINE + K_AT(THREAD_K, slice));
        UNROLL
        for (int e = 0; e < WIDE_K; e++)
            UNROLL
            for (int i = 0; i < THREAD_TILE_LONG; i++)
                acc[ACC_AT(i, s)] = MULTIPLY_ADD(own[PIECE_AT(i, slice + e)], x[e],
                                                 acc[ACC_AT(i, s)]);
    }
#endif
}

// Hand over accumulators to the thread `lanes` away, and take its in their place.
DEVICE_FN void exchange(real *handed, int count, int lanes, SHARED_PTR real *pool)
{
#if SUBGROUP
    if (lanes < SUBGROUP) {
        UNROLL
        for (int i = 0; i < MOST_KEPT; i++)
            if (i < count)
                handed[i] = SHUFFLE_XOR(handed[i], lanes);
        return;
    }
#endif
    BARRIER();
    UNROLL
    for (int i = 0; i < MOST_KEPT; i++)
        if (i < count)
            pool[i * THREADS + THREAD_X] = handed[i];
    BARRIER();
    UNROLL
    for (int i = 0; i < MOST_KEPT; i++)
        if (i < count)
            handed[i] = pool[i * THREADS + (THREAD_X ^ lanes)];
}

// Add up over the threads along k: of two that meet, each hands over half of its accumulators, or
// both the one that they have. Returns which sum the thread's LEFT ones begin with.
DEVICE_FN int add_up(real *acc, SHARED_PTR real *pool)
{
    real handed[MOST_KEPT];
    int first = 0;

    UNROLL
    for (int distance = THREADS_K / 2; distance > 0; distance /= 2) {
        const int held = HELD(distance), kept = (held + 1) / 2, past = held - kept;
        const int upper = (THREAD_K & distance) != 0;
        UNROLL
        for (int i = 0; i < MOST_KEPT; i++)
            if (i < kept)
                handed[i] = upper ? acc[i] : acc[i + past];
        exchange(handed, kept, distance * (ALONG_K ? 1 : THREADS_LONG), pool);
        UNROLL
        for (int i = 0; i < MOST_KEPT; i++)
            if (i < kept)
                acc[i] = (upper ? acc[i + past] : acc[i]) + handed[i];
        first += upper ? past : 0;
    }
    return first;
}

// beta = 0 never reads C.
DEVICE_FN void store(GLOBAL result *c, real alpha, real acc, real beta)
{
    *c = to_result(beta == 0 ? alpha * acc
                             : MULTIPLY_ADD(beta, from_result(*c), alpha * acc));
}

KERNEL BLOCK_SIZE_RESIDENT(THREADS, 1, MIN_BLOCKS)
#if SUBGROUP
SUBGROUP_SIZE(SUBGROUP)
#endif
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL element *a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *b, wide b_start, int ldb, wide b_stride,
              GLOBAL result *c, wide c_start, int ldc, wide c_stride,
              GLOBAL real *workspace, wide workspace_start)
{
    SHARED_POOL(real, pool, POOL);
    SHARED_PTR staged_element *const staged = (SHARED_PTR staged_element *) pool;
    const bool rows_short = SHORT == 2 ? m <= n : SHORT == 0;
    const int length = rows_short ? n : m, width = rows_short ? m : n;
    const int tiles = width > THREAD_TILE_SHORT ? (width - 1) / THREAD_TILE_SHORT + 1 : 1;
    const int own_long = (tiles > 1 ? BLOCK_X / tiles : BLOCK_X) * TILE_LONG;
    const int tile_long = begin_inside(own_long, length);
    const int tile_short = tiles > 1 ? BLOCK_X % tiles * THREAD_TILE_SHORT : 0;
    real acc[ACCUMULATORS] = { 0 };
    element piece[PIECE] __attribute__((aligned(8)));

    PDL_TRIGGER();
    PDL_WAIT();
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0; // A and B may be absent
    const wide part = part_of(k), first = BLOCK_Y * part;
    const int depth = (int) (k - first < part ? k - first : part);

    FIND_MATRIX(a, BLOCK_Z);
    FIND_MATRIX(b, BLOCK_Z);
    FIND_MATRIX(c, BLOCK_Z);
    a += a_start + BLOCK_Z * a_stride;
    b += b_start + BLOCK_Z * b_stride;
    const int ld_long = rows_short ? ldb : lda;
    const int ld_short = rows_short ? lda : ldb;
    const wide step_long = ALONG_K ? 1 : ld_long;
    const wide step_short = SHORT_ALONG_K ? 1 : ld_short;
    const GLOBAL element *x = (rows_short ? b : a) + first * step_long
                              + (wide) tile_long * (ALONG_K ? ld_long : 1);
    const GLOBAL element *y = (rows_short ? a : b) + first * step_short
                              + (wide) tile_short * (SHORT_ALONG_K ? ld_short : 1);

    UNROLL
    for (int slice = 0; slice < THREAD_TILE_K; slice += WIDE_K)
        load(piece, slice, x, ld_long, length - tile_long, depth);
    for (int left = depth; left > 0; left -= TILE_K) {
        BARRIER();
        stage(staged, y, ld_short, width - tile_short, left);
        BARRIER();
        y += TILE_K * step_short;
        NO_UNROLL
        for (int p = 0; p < TILE_K && p < left; p += STEP_K) {
            const int beyond = left - p - STEP_K;
            x += STEP_K * step_long;
            UNROLL
            for (int slice = 0; slice < THREAD_TILE_K; slice += WIDE_K) {
                multiply(acc, piece, slice, staged + p);
                if (beyond > 0)
                    load(piece, slice, x, ld_long, length - tile_long, beyond);
            }
        }
    }
    const int first_acc = add_up(acc, pool);

    c += c_start + BLOCK_Z * c_stride;
    workspace += workspace_start + ((wide) BLOCK_Z * PARTS + BLOCK_Y) * m * n;
    if (THREAD_K % COPIES != 0)
        return; // another thread has the same sums
    UNROLL
    for (int e = 0; e < LEFT; e++) {
        const int at_long = tile_long + LONG_AT(THREAD_LONG, (first_acc + e) % THREAD_TILE_LONG);
        const int at_short = tile_short + (first_acc + e) / THREAD_TILE_LONG;
        const int i = rows_short ? at_short : at_long;
        const int j = rows_short ? at_long : at_short;
        if (i >= m || j >= n || at_long < own_long)
            continue;
        if (PARTS == 1)
            store(c + (wide) i * ldc + j, alpha, acc[e], beta);
        else
            workspace[(wide) i * n + j] = acc[e];
    }
}

// One element of C is the sum of its parts, always in the same order: a thread adds PARTS_EACH
// at once, and where there are more, threads apart share them.
KERNEL BLOCK_SIZE(ADD_THREADS, 1)
void add_parts(int m, int n, int parts, real alpha, real beta,
               const GLOBAL real *scalars, wide scalars_start,
               GLOBAL result *c, wide c_start, int ldc, wide c_stride,
               const GLOBAL real *workspace, wide workspace_start)
{
    SHARED real others[ADD_THREADS];
    int sharers = 1;
    while (sharers < MOST_SHARERS && sharers * PARTS_EACH < parts)
        sharers *= 2;
    const int width = ADD_THREADS / sharers, x = THREAD_X % width, y = THREAD_X / width;
    const wide size = (wide) m * n, mine = (wide) BLOCK_X * width + x;
    const wide at = mine < size ? mine : 0;
    real acc = 0;

    PDL_TRIGGER();
    PDL_WAIT();
    workspace += workspace_start + (wide) BLOCK_Z * parts * size + at;
    NO_UNROLL
    for (int first = y * PARTS_EACH; first < parts; first += sharers * PARTS_EACH) {
        real more[PARTS_EACH];
        UNROLL
        for (int p = 0; p < PARTS_EACH; p++)
            more[p] = first + p < parts ? workspace[(first + p) * size] : (real) 0;
        UNROLL
        for (int p = 0; p < PARTS_EACH; p++)
            acc += more[p];
    }
    if (sharers > 1) {
        others[THREAD_X] = acc;
        BARRIER();
    }
    if (y > 0 || mine >= size)
        return;
    for (int other = 1; other < sharers; other++)
        acc += others[other * width + x];
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    FIND_MATRIX(c, BLOCK_Z);
    store(c + c_start + BLOCK_Z * c_stride + at / n * ldc + at % n, alpha, acc, beta);
}
