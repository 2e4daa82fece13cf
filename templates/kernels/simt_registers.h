// How tiles come to shared memory with COPY=registers, on any device: through a thread's registers,
// which convert elements of 16 and 8 bits, while the tiles before them are multiplied. Both are
// stored k-major. register_tile.h stands before it.

#ifndef A_VECTOR
#define A_VECTOR 4            // elements of A per load from global memory
#endif
#ifndef B_VECTOR
#define B_VECTOR 4            // elements of B per load from global memory
#endif
#ifndef SHARED_LAYOUT
#define SHARED_LAYOUT 3       // how a tile that is transposed on its way to shared memory
#endif                        // evades bank conflicts: 0 plain, 1 pad, 2 swap, 3 swizzle
#ifndef K_UNROLL
#define K_UNROLL 16           // steps along k that are unrolled
#endif

#define LAYOUT_PAD  1
#define LAYOUT_SWAP 2
#define LAYOUT_XOR  3

#define PAD_A    (SHARED_LAYOUT == LAYOUT_PAD && TRANSPOSE_A ? MAX_VECTOR : 0)
#define PAD_B    (SHARED_LAYOUT == LAYOUT_PAD && TRANSPOSE_B ? MAX_VECTOR : 0)
#define LENGTH_A (TILE_M + PAD_A)
#define LENGTH_B (TILE_N + PAD_B)
#define SPACE_A  (TILE_K * LENGTH_A)
#define SPACE_B  (TILE_K * LENGTH_B)
#define SPACE    (STAGES * (SPACE_A + SPACE_B))

#define SHARED_OF_BLOCK(name) SHARED_POOL(real, name, SPACE)
#define SCRATCH               shared, SPACE   // of store_job: tiles have been here

#define LOADS_OF(tile, vector) ((tile * TILE_K / vector + THREADS - 1) / THREADS)
#define LOADS_A                LOADS_OF(TILE_M, A_VECTOR)
#define LOADS_B                LOADS_OF(TILE_N, B_VECTOR)

#if TILE_M % A_VECTOR || TILE_N % B_VECTOR || TILE_K % A_VECTOR || TILE_K % B_VECTOR
#error "a tile must hold a whole number of vectors"
#endif
#if A_VECTOR > MAX_VECTOR || B_VECTOR > MAX_VECTOR
#error "a vector may have at most 16 bytes"
#endif
#if TILE_K % K_UNROLL || (REGISTER_STAGES == 2 && K_UNROLL % 2)
#error "K_UNROLL must divide TILE_K, and be even for two fragments"
#endif
#if SHARED_LAYOUT == LAYOUT_XOR && (TILE_M % BANKS || TILE_N % BANKS)
#error "swizzle needs tiles that are whole rows of banks"
#endif

// Helpers serve both operands. Which one is meant they are told by constants: how many
// vectors a thread loads for a tile, the lines of a tile, the length of a row of it in
// shared memory, the elements of a vector, and whether the tile is transposed. A line of A is
// a row of op(A), a line of B is a column of op(B).
#define OPERAND   int loads, int tile, int length, int vector, int turn
#define OPERAND_A LOADS_A, TILE_M, LENGTH_A, A_VECTOR, TRANSPOSE_A
#define OPERAND_B LOADS_B, TILE_N, LENGTH_B, B_VECTOR, TRANSPOSE_B
#define SAME      loads, tile, length, vector, turn

// A tile's vectors stand in runs: along k if it is transposed, else from line to line; with
// swap, those of a transposed tile are counted the other way. A thread carries every
// THREADS-th.
DEVICE_FN int run_length(OPERAND)
{
    if (!turn)
        return tile / vector;
    return SHARED_LAYOUT == LAYOUT_SWAP ? tile : TILE_K / vector;
}

// Line and depth at which a thread's j-th vector begins.
DEVICE_FN int vector_line(unsigned tid, int j, OPERAND)
{
    const int run = run_length(SAME);
    if (!turn)
        return in_run(tid, j, THREADS, run) * vector;
    return SHARED_LAYOUT == LAYOUT_SWAP ? in_run(tid, j, THREADS, run)
                                        : of_run(tid, j, THREADS, run);
}

DEVICE_FN int vector_depth(unsigned tid, int j, OPERAND)
{
    const int run = run_length(SAME);
    if (!turn)
        return of_run(tid, j, THREADS, run);
    if (SHARED_LAYOUT == LAYOUT_SWAP)
        return of_run(tid, j, THREADS, run) * vector;
    return in_run(tid, j, THREADS, run) * vector;
}

// With swizzle, a line's place within a row of shared memory depends on the row, so that the
// lanes that turn one line's vectors write to different banks.
DEVICE_FN int twist(int depth, OPERAND)
{
    if (SHARED_LAYOUT != LAYOUT_XOR || !turn)
        return 0;
    const int across = TILE_K / vector;
    const int step = BANKS / across > MAX_VECTOR ? BANKS / across : MAX_VECTOR;
    return depth / vector * step % BANKS;
}

// Where the j-th vector of a thread goes in shared memory.
DEVICE_FN int destination(unsigned tid, int j, OPERAND)
{
    const int depth = vector_depth(tid, j, SAME);
    return depth * length + (vector_line(tid, j, SAME) ^ twist(depth, SAME));
}

// How far behind the destination of a thread's first vector that is: mostly a constant.
DEVICE_FN int distance(unsigned tid, int j, OPERAND)
{
    const int run = run_length(SAME), runs = j * (THREADS / run);
    if (THREADS % run == 0) {
        if (!turn)
            return runs * length;
        if (SHARED_LAYOUT == LAYOUT_SWAP)
            return runs * vector * length;
        if (SHARED_LAYOUT != LAYOUT_XOR || THREADS / run % BANKS == 0)
            return runs;
    }
    return destination(tid, j, SAME) - destination(tid, 0, SAME);
}

// Point at the vectors that this thread carries. Lines past the matrix's edge are read
// from its last line or vector, if it ends with a whole one: what they give is never
// stored.
DEVICE_FN void aim(const GLOBAL element **from, const GLOBAL element *matrix, int ld, int lines,
                   unsigned tid, OPERAND)
{
    UNROLL
    for (int j = 0; j < loads; j++) {
        const int at = vector_line(tid, j, SAME), depth = vector_depth(tid, j, SAME);
        if (turn)
            from[j] = matrix + (wide) smaller(at, lines - 1) * ld + depth;
        else if (lines % vector == 0)
            from[j] = matrix + (wide) depth * ld + smaller(at, lines - vector);
        else
            from[j] = matrix + (wide) depth * ld + at;
    }
}

// Read this thread's part of a tile into registers and go on to the next tile. `left` of
// the matrix's depth and `lines` of its lines are left; what lies behind counts as 0.
DEVICE_FN void fetch(element *to, const GLOBAL element **from, int ld, int lines, int left,
                     unsigned tid, OPERAND)
{
    const bool whole = left >= TILE_K && (turn || lines >= tile || lines % vector == 0);

    UNROLL
    for (int j = 0; j < loads; j++) {
        if (!carries(tid, j, THREADS, tile * TILE_K / vector))
            continue;
        if (whole) {
            READ_GLOBAL(element, to + j * vector, from[j], vector, ALIGNED);
            continue;
        }
        const int lines_left = lines - vector_line(tid, j, SAME);
        const int depth_left = left - vector_depth(tid, j, SAME);
        const int along = turn ? depth_left : lines_left;
        const int across = turn ? lines_left : depth_left;
        UNROLL
        for (int e = 0; e < vector; e++)
            to[j * vector + e] = across > 0 && e < along ? from[j][e] : 0;
    }
    UNROLL
    for (int j = 0; j < loads; j++)
        from[j] += turn ? TILE_K : (wide) TILE_K * ld;
}

// Write what was fetched to shared memory, the first vector to `to`. Only here are elements
// looked at, so that they are on their way while the tile before them is multiplied.
DEVICE_FN void deposit(SHARED_PTR real *to, const element *from, unsigned tid, OPERAND)
{
    UNROLL
    for (int j = 0; j < loads; j++) {
        SHARED_PTR real *at = to + distance(tid, j, SAME);
        real x[MAX_VECTOR];
        if (!carries(tid, j, THREADS, tile * TILE_K / vector))
            continue;
        UNROLL
        for (int e = 0; e < vector; e++)
            x[e] = to_real(from[j * vector + e]);
        if (!turn) {
            write_shared(at, x, vector);
            continue;
        }
        UNROLL
        for (int e = 0; e < vector; e++)
            at[e * length] = x[e];
    }
}

// A thread's operands at one depth.
DEVICE_FN void take_both(real *a, real *b, const SHARED_PTR real *shared, int first_m,
                         int first_n, int depth)
{
    take(a, shared + depth * LENGTH_A, first_m, twist(depth, OPERAND_A), THREAD_TILE_M, PIECE_M,
         WARP_M * PIECE_M);
    take(b, shared + depth * LENGTH_B, first_n, twist(depth, OPERAND_B), THREAD_TILE_N, PIECE_N,
         WARP_N * PIECE_N);
}

// `steps` steps along k from `depth` on, in the tiles that `shared` holds. With two
// fragments the operands of the first step were taken before, and those of the step that
// comes after the last are taken here.
DEVICE_FN void multiply(real acc[THREAD_TILE_M][THREAD_TILE_N],
                        real a[REGISTER_STAGES][THREAD_TILE_M],
                        real b[REGISTER_STAGES][THREAD_TILE_N], const SHARED_PTR real *shared,
                        int first_m, int first_n, int depth, int steps)
{
    UNROLL
    for (int u = 0; u < steps; u++) {
        const int taken = u + REGISTER_STAGES - 1;
        take_both(a[taken % REGISTER_STAGES], b[taken % REGISTER_STAGES], shared, first_m, first_n,
                  depth + taken);
        multiply_add(acc, a[u % REGISTER_STAGES], b[u % REGISTER_STAGES]);
    }
}

// What a thread holds of A and of B: where its vectors of the next tile come from, these, and the
// operands of a step.
#define FEED                                                                          \
    const GLOBAL element *from_a[LOADS_A], *from_b[LOADS_B];                          \
    element next_a[LOADS_A * A_VECTOR], next_b[LOADS_B * B_VECTOR];                   \
    real now_a[REGISTER_STAGES][THREAD_TILE_M], now_b[REGISTER_STAGES][THREAD_TILE_N]
#define FED from_a, from_b, next_a, next_b, now_a, now_b

// Multiply a job's tiles, which have so many lines and depth left.
DEVICE_FN void multiply_tiles(real acc[THREAD_TILE_M][THREAD_TILE_N],
                              const GLOBAL element **from_a, const GLOBAL element **from_b,
                              element *next_a, element *next_b,
                              real now_a[REGISTER_STAGES][THREAD_TILE_M],
                              real now_b[REGISTER_STAGES][THREAD_TILE_N],
                              SHARED_PTR real *shared, struct operand a, struct operand b,
                              const struct job *job, int rows, int columns, int depth,
                              int in_tile_m, int in_tile_n)
{
    const unsigned tid = THREAD_X;
    const int lda = a.ld, ldb = b.ld;
    start_acc(acc);
    aim(from_a, part_of_a(a, job), lda, rows, tid, OPERAND_A);
    aim(from_b, part_of_b(b, job), ldb, columns, tid, OPERAND_B);

    // Places in shared memory, of tile A and of tile B behind it. With two buffers they
    // alternate between these and the same `other` elements further on.
    int put_a = destination(tid, 0, OPERAND_A);
    int put_b = destination(tid, 0, OPERAND_B) + SPACE_A;
    int first_m = in_tile_m, first_n = in_tile_n + SPACE_A;
    int other = STAGES == 2 ? SPACE_A + SPACE_B : 0;

    fetch(next_a, from_a, lda, rows, depth, tid, OPERAND_A);
    fetch(next_b, from_b, ldb, columns, depth, tid, OPERAND_B);
    deposit(shared + put_a, next_a, tid, OPERAND_A);
    deposit(shared + put_b, next_b, tid, OPERAND_B);
    BARRIER();
    if (REGISTER_STAGES == 2)
        take_both(now_a[0], now_b[0], shared, first_m, first_n, 0);

    NO_UNROLL
    for (int left = depth; left > 0; left -= TILE_K) {
        fetch(next_a, from_a, lda, rows, left - TILE_K, tid, OPERAND_A);
        fetch(next_b, from_b, ldb, columns, left - TILE_K, tid, OPERAND_B);

        NO_UNROLL
        for (int at = 0; at < TILE_K - K_UNROLL; at += K_UNROLL)
            multiply(acc, now_a, now_b, shared, first_m, first_n, at, K_UNROLL);
        multiply(acc, now_a, now_b, shared, first_m, first_n, TILE_K - K_UNROLL,
                 K_UNROLL - (REGISTER_STAGES - 1));

        if (STAGES == 1)
            BARRIER();
        put_a += other, put_b += other, first_m += other, first_n += other;
        other = -other;
        deposit(shared + put_a, next_a, tid, OPERAND_A);
        deposit(shared + put_b, next_b, tid, OPERAND_B);
        BARRIER();

        // The last of two fragments covers the wait for the next tile's first operands.
        if (REGISTER_STAGES == 2) {
            take_both(now_a[0], now_b[0], shared, first_m, first_n, 0);
            multiply_add(acc, now_a[REGISTER_STAGES - 1], now_b[REGISTER_STAGES - 1]);
        }
    }
}
