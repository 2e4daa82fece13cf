// How tiles come to shared memory with COPY=cp_async (compute capability 8.0 on): by asynchronous
// copies, without passing through registers. Both are stored k-major in a pipeline of STAGES
// stages: while one is multiplied, up to STAGES - 1 more are under way. One barrier a tile says
// both that the next is there and that the last may be overwritten. ptx.h and register_tile.h
// stand before it.

#define LANES_K 8             // threads that turn one line of a tile side by side

// A tile that is transposed on its way goes element by element; else 16 bytes go at once if
// they may.
#define VECTOR_A (TRANSPOSE_A || !ALIGNED ? 1 : MAX_VECTOR)
#define VECTOR_B (TRANSPOSE_B || !ALIGNED ? 1 : MAX_VECTOR)

#define SPACE_A (TILE_K * TILE_M)
#define SPACE_B (TILE_K * TILE_N)
#define SLOT    (SPACE_A + SPACE_B)
#define SPACE   (STAGES * SLOT)

#define SHARED_OF_BLOCK(name) SHARED_POOL(real, name, SPACE)
#define SCRATCH               shared, SPACE   // of store_job: tiles have been here

#define COPIES(tile, vector) (((tile) * TILE_K / (vector) + THREADS - 1) / THREADS)
#define COPIES_A             COPIES(TILE_M, VECTOR_A)
#define COPIES_B             COPIES(TILE_N, VECTOR_B)

#if TILE_M % BANKS || TILE_N % BANKS || TILE_K % LANES_K
#error "a tile must hold whole rows of banks and whole runs of LANES_K"
#endif

// Helpers serve both operands. Which one is meant they are told by constants: the lines
// of its tile, the elements of a copy, and whether the tile is transposed. A line of A is a
// row of op(A), a line of B is a column of op(B).
#define OPERAND   int tile, int vector, int turn
#define OPERAND_A TILE_M, VECTOR_A, TRANSPOSE_A
#define OPERAND_B TILE_N, VECTOR_B, TRANSPOSE_B
#define SAME      tile, vector, turn

// A tile's vectors stand in runs from line to line, and a thread copies every THREADS-th.
// LANES_K neighbouring threads share one place in the run where the tile is transposed: they
// read a line's neighbouring elements.
DEVICE_FN int run_step(OPERAND)
{
    return turn ? THREADS / LANES_K : THREADS;
}

DEVICE_FN int first_vector(unsigned tid, OPERAND)
{
    return turn ? tid / LANES_K : tid;
}

// Line and depth at which a thread's j-th vector begins.
DEVICE_FN int vector_line(unsigned tid, int j, OPERAND)
{
    return in_run(first_vector(tid, SAME), j, run_step(SAME), tile / vector) * vector;
}

DEVICE_FN int vector_depth(unsigned tid, int j, OPERAND)
{
    const int run = of_run(first_vector(tid, SAME), j, run_step(SAME), tile / vector);
    return turn ? run * LANES_K + tid % LANES_K : run;
}

// Where the tile is transposed, a line's place within a row of shared memory depends on the
// row, so that the lanes that turn one line write to different banks.
DEVICE_FN int twist(int depth, OPERAND)
{
    return turn ? depth % LANES_K * MAX_VECTOR : 0;
}

// Where a thread's j-th vector goes, counted from the tile's beginning.
DEVICE_FN int destination(unsigned tid, int j, OPERAND)
{
    const int depth = vector_depth(tid, j, SAME);
    return depth * tile + (vector_line(tid, j, SAME) ^ twist(depth, SAME));
}

// Copy a vector, of which all behind the first `bytes` bytes is 0.
DEVICE_FN void copy_vector(unsigned to, const real *from, int vector, int bytes)
{
    if (vector * sizeof(real) == 16)
        copy_16(to, from, bytes);
    else if (vector * sizeof(real) == 8)
        copy_8(to, from, bytes);
    else
        copy_4(to, from, bytes);
}

// Copy the j-th vector of a thread's part of a tile: `from` is the tile's first element
// in global memory, `to` the address of its stage. `left` of the matrix's depth and
// `lines` of its lines are left. What lies behind either counts as 0 and is not read: the copies
// of all blocks of a thin matrix would meet in its last line.
DEVICE_FN void copy(unsigned to, const real *from, int ld, int lines, int left,
                    unsigned tid, int j, OPERAND)
{
    const int line = vector_line(tid, j, SAME), depth = vector_depth(tid, j, SAME);
    const int at = smaller(line, vector == 1 ? lines - 1 : (lines - 1) / vector * vector);
    const int inside = larger(smaller(lines - line, vector), 0), size = sizeof(real);
    const unsigned there = to + destination(tid, j, SAME) * size;

    if (!carries(tid, j, THREADS, tile * TILE_K / vector))
        return;
    from += turn ? (wide) at * ld + depth : (wide) depth * ld + at;
    copy_vector(there, from, vector, depth < left ? inside * size : 0);
}

// The share of step u of TILE_K in a thread's copies of both operands' tiles.
DEVICE_FN void copy_share(unsigned to, const real *a, int lda, int rows, const real *b,
                          int ldb, int columns, int left, unsigned tid, int u)
{
    enum { ALL = COPIES_A + COPIES_B };
    UNROLL
    for (int j = u * ALL / TILE_K; j < (u + 1) * ALL / TILE_K; j++) {
        if (j < COPIES_A)
            copy(to, a, lda, rows, left, tid, j, OPERAND_A);
        else
            copy(to + SPACE_A * (int) sizeof(real), b, ldb, columns, left, tid,
                 j - COPIES_A, OPERAND_B);
    }
}

// A thread's operands at one depth.
DEVICE_FN void take_both(real *a, real *b, const SHARED_PTR real *shared, int first_m,
                         int first_n, int depth)
{
    take(a, shared + depth * TILE_M, first_m, twist(depth, OPERAND_A), THREAD_TILE_M, PIECE_M,
         WARP_M * PIECE_M);
    take(b, shared + depth * TILE_N, first_n, twist(depth, OPERAND_B), THREAD_TILE_N, PIECE_N,
         WARP_N * PIECE_N);
}

// A thread's operands of a step, and how far a tile is from the one before it.
#define FEED                                                                           \
    real now_a[REGISTER_STAGES][THREAD_TILE_M], now_b[REGISTER_STAGES][THREAD_TILE_N]; \
    const wide step_a = TRANS_A ? (wide) TILE_K * lda : TILE_K;                        \
    const wide step_b = TRANS_B ? TILE_K : (wide) TILE_K * ldb
#define FED now_a, now_b, step_a, step_b

// Multiply a job's tiles, which have so many lines and depth left.
DEVICE_FN void multiply_tiles(real acc[THREAD_TILE_M][THREAD_TILE_N],
                              real now_a[REGISTER_STAGES][THREAD_TILE_M],
                              real now_b[REGISTER_STAGES][THREAD_TILE_N], wide step_a,
                              wide step_b, SHARED_PTR real *shared, struct operand a,
                              struct operand b, const struct job *job, int rows, int columns,
                              int depth, int in_tile_m, int in_tile_n)
{
    const unsigned tid = THREAD_X;
    const int lda = a.ld, ldb = b.ld;
    const unsigned pipeline = (unsigned) __cvta_generic_to_shared(shared);
    const real *from_a = part_of_a(a, job), *from_b = part_of_b(b, job);
    int to_come = depth;

    start_acc(acc);

    // Places of this thread's operands in the stage that is read, of that stage, and of
    // the one that is filled, in elements of the pipeline.
    int first_m = in_tile_m, first_n = in_tile_n + SPACE_A, fill = 0, read = 0;

    NO_UNROLL
    for (; fill < (STAGES - 1) * SLOT && depth > 0; fill += SLOT) {
        UNROLL
        for (int u = 0; u < TILE_K; u++)
            copy_share(pipeline + fill * (int) sizeof(real), from_a, lda, rows, from_b, ldb,
                       columns, to_come, tid, u);
        end_group();
        from_a += step_a, from_b += step_b, to_come -= TILE_K;
    }
    AWAIT_COPIES(STAGES - 2);
    BARRIER();
    if (REGISTER_STAGES == 2 && depth > 0)
        take_both(now_a[0], now_b[0], shared, first_m, first_n, 0);

    NO_UNROLL
    for (int left = depth; left > 0; left -= TILE_K) {
        UNROLL
        for (int u = 0; u < TILE_K; u++) {
            const int taken = u + REGISTER_STAGES - 1;
            copy_share(pipeline + fill * (int) sizeof(real), from_a, lda, rows, from_b, ldb,
                       columns, to_come, tid, u);
            if (taken == TILE_K)
                break;
            take_both(now_a[taken % REGISTER_STAGES], now_b[taken % REGISTER_STAGES], shared,
                      first_m, first_n, taken);
            multiply_add(acc, now_a[u % REGISTER_STAGES], now_b[u % REGISTER_STAGES]);
        }
        end_group();
        from_a += step_a, from_b += step_b, to_come -= TILE_K;

        const int on = read == (STAGES - 1) * SLOT ? -read : SLOT;
        fill = read;
        read += on, first_m += on, first_n += on;
        AWAIT_COPIES(STAGES - 2);
        BARRIER();

        // The last of two fragments covers the wait for the next tile's first operands.
        if (REGISTER_STAGES == 2) {
            take_both(now_a[0], now_b[0], shared, first_m, first_n, 0);
            multiply_add(acc, now_a[REGISTER_STAGES - 1], now_b[REGISTER_STAGES - 1]);
        }
    }

    AWAIT_COPIES(0);
}
