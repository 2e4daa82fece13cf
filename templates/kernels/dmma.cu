// dmma - C = alpha*A*B + beta*C in double precision on NVIDIA's tensor cores (sm_80 on).
//
// One block computes a TILE_M x TILE_N tile of C, or of one split of k; WARPS_M x WARPS_N
// warps share it, each with a rectangle of it made of blocks of 8 x 8. STAGES pairs of
// tiles of A and B, TILE_K deep, stand in shared memory, all but one of them on their way
// there by cp.async.
//
//      one stage, TILE_K deep        f = 0   1   2 ...            BLOCKS_N   ...
//      a warp multiplies columns of      | | | | |   step 0   |       step 1       |
//      its blocks, one after the other   ^multiplied    ^fetched, REGISTER_STAGES - 1 ahead
//
// The operands of the next columns are under way from shared memory to registers while
// the tensor cores work, across the end of a step and of a stage. Where REGISTER_STAGES is twice
// a warp's columns they are those of the whole next step, and blocks are multiplied row by
// row: so no operand is replaced soon after its last use, which would wait until the tensor
// cores have read it.
//
// With SYNC=block the block meets once a stage, where the first column of the next one is
// fetched, and then copies at once. With SYNC=stages each stage has two barriers behind
// its tiles: `full` counts threads whose copies have landed, `empty` warps that have
// fetched all. Copies are assigned out among the columns of the second half of a stage, so
// that a warp may be half a stage ahead of the others before it waits for them.
//
// k may be cut into parts. The blocks of a cluster (sm_90 on) add theirs up through each other's
// shared memory; what several clusters have of a tile goes to the workspace, and
// mmt_reduce_splits adds it up. Either has a fixed order. Or blocks are persistent
// (TILE_SCHEDULER, stream_k.h): then the first tiles of the next job are on their way while the
// accumulators of the last are stored.
//
// What is no whole number of tiles along k is copied first, with zeros behind it; from then on
// nobody asks how deep a tile is, and where lines are outside the matrix nothing is copied:
// they have to do with no sum inside C.
//
// Launch: block (THREADS), grid (ceil(m/TILE_M) * ceil(n/TILE_N), splits of k * CLUSTER,
// batch); then mmt_reduce_splits where SPLIT_K > 1. Where blocks are persistent: grid (blocks, 1,
// batch); then mmt_reduce_stream_k where TILE_SCHEDULER is STREAM_K. Helpers: ptx.h,
// hopper.h, split_k.h, grid.h, tiles.h, stream_k.h, dmma_tile.h.

#ifndef TILE_M
#define TILE_M 128            // rows of C per block
#endif
#ifndef TILE_N
#define TILE_N 128            // columns of C per block
#endif
#ifndef TILE_K
#define TILE_K 16             // depth of one tile in shared memory
#endif
#ifndef WARPS_M
#define WARPS_M 4             // warps down the tile
#endif
#ifndef WARPS_N
#define WARPS_N 2             // warps across the tile
#endif
#ifndef MMA
#define MMA 804               // a tensor-core instruction: 100 * rows + depth; 804,
#endif                        // and from sm_90 on 1604, 1608, 1616; 8 columns each
#ifndef STAGES
#define STAGES 3              // tiles of each operand in shared memory
#endif
#ifndef REGISTER_STAGES
#define REGISTER_STAGES 4     // columns of blocks whose operands are in registers
#endif
#ifndef RASTER_GROUP
#define RASTER_GROUP 8        // rows of tiles that neighbouring blocks share
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1          // blocks that a multiprocessor should hold at least
#endif
#ifndef CLUSTER
#define CLUSTER 1             // blocks that share a tile of C and each other's memory
#endif
#ifndef SPLIT_K
#define SPLIT_K 1             // such clusters that share a tile of C: 1, or 2 for any more
#endif
#ifndef SYNC
#define SYNC 0                // warps hand stages on by 0 a barrier of the block, 1 two
#endif                        // of each stage
#ifndef TILE_SCHEDULER
#define TILE_SCHEDULER 0      // blocks get 0 one tile, 1 one after the other, 2 besides
#endif                        // equal segments of what is left

#define MMA_M    (MMA / 100)
#define STEPS    (TILE_K / MMA_K)
#define BLOCKS_M (TILE_M / WARPS_M / 8)
#define BLOCKS_N (TILE_N / WARPS_N / 8)
#define COLUMNS  (STEPS * BLOCKS_N)        // of a warp's blocks, in one stage
#define WHOLE    (REGISTER_STAGES > BLOCKS_N)    // operands of a whole step are fetched ahead
#define AHEAD    (WHOLE ? BLOCKS_N : REGISTER_STAGES - 1)
#define PAIRS_M  (BLOCKS_M * 8 / MMA_M)    // instructions for a column

#if TILE_M % (16 * WARPS_M) || TILE_N % (16 * WARPS_N)
#error "a warp's rectangle must be a whole number of 16 x 16"
#endif
#if BLOCKS_N % REGISTER_STAGES && REGISTER_STAGES != 2 * BLOCKS_N
#error "a warp's columns of blocks must be a multiple of REGISTER_STAGES, or half of them"
#endif
#if REGISTER_STAGES > 1 && STEPS % 2
#error "fetching ahead needs an even number of steps in TILE_K"
#endif
#if SYNC && STAGES < 3
#error "barriers of stages need three stages"
#endif
#if TILE_SCHEDULER && SPLIT_K * CLUSTER > 1
#error "blocks that stay do not cut k into parts"
#endif

#if CLUSTER > 1
#define CLUSTERED __cluster_dims__(1, CLUSTER, 1)
#else
#define CLUSTERED
#endif

// Where a thread stands on its way along k.
struct way {
    struct copier a, b;
    const real *shared;
    unsigned address;          // of `shared`
    int own_a, own_b;          // the thread's first operands in a stage
    int coming;                // depths that have not been asked for yet
    int stop;                  // tiles are copied whole, or not at all, until it is less
    unsigned in;               // the stage that copies go to, in bytes
    int out;                   // the stage that operands come from, in elements
    unsigned parity;           // how often stages have begun anew, odd or even
};

// What a thread multiplies and adds up.
struct work {
    real a[2][BLOCKS_M][QUADS], b[REGISTER_STAGES][QUADS];
    real sum[BLOCKS_M][BLOCKS_N][2];
};

// ---- stages ---------------------------------------------------------------------------

#define SPACE     (SPACE_A + SPACE_B + (SYNC ? 16 : 0)) // whole rows of banks
#define VECTORS_A (vectors_of(OPERAND_A))
#define VECTORS   (VECTORS_A + vectors_of(OPERAND_B))

// The barriers of the stage at that byte.
DEVICE_FN unsigned full(const struct way *w, unsigned stage)
{
    return w->address + stage + 8 * (SPACE_A + SPACE_B);
}
DEVICE_FN unsigned empty(const struct way *w, unsigned stage)
{
    return full(w, stage) + 8;
}

// Start copying some of the vectors of the tiles that come next.
DEVICE_FN void copy_vectors(const struct way *w, int first, int end, int depth, bool whole)
{
    UNROLL
    for (int j = first; j < end; j++)
        if (j < VECTORS_A)
            copy_vector(w->a, j, w->in, depth, whole, OPERAND_A);
        else
            copy_vector(w->b, j - VECTORS_A, w->in, depth, whole, OPERAND_B);
}

// They are all on their way, so many steps deep: go on to the tiles after them, if there
// are any.
DEVICE_FN void end_copies(struct way *w, int depth)
{
    if (SYNC)
        arrive_when_copied(full(w, w->in));
    else
        end_group();
    w->a.from += TRANS_A ? (wide) depth * w->a.ld : depth;
    w->b.from += TRANS_B ? depth : (wide) depth * w->b.ld;
    w->coming -= depth;
    if (w->coming <= 0)
        w->a.limit = w->b.limit = 0;
    w->in = w->in == (STAGES - 1) * 8 * SPACE ? 0 : w->in + 8 * SPACE;
}

// Leave the stage that operands came from, and wait for the next one.
DEVICE_FN void next_stage(struct way *w)
{
    if (SYNC) {
        __syncwarp();
        if (THREAD_X % 32 == 0)
            barrier_arrive(empty(w, 8 * w->out));
    }
    w->parity ^= w->out == (STAGES - 1) * SPACE;
    w->out = w->out == (STAGES - 1) * SPACE ? 0 : w->out + SPACE;
    if (SYNC) {
        barrier_wait(full(w, 8 * w->out), w->parity);
    } else {
        AWAIT_COPIES(STAGES - 2);
        BARRIER();
    }
}

// Fetch the operands of some blocks of rows in a step of this stage or, from STEPS on, of the
// next one; and of a column of blocks, counted through all steps.
DEVICE_FN void fetch_rows(struct work *t, const struct way *w, int step, int first, int end)
{
    UNROLL
    for (int i = first; i < end; i++)
        take(t->a[step % 2][i], w->shared, w->own_a + w->out, 8 * i, step % STEPS * MMA_K,
             OPERAND_A);
}
DEVICE_FN void fetch_column(struct work *t, const struct way *w, int f)
{
    take(t->b[f % REGISTER_STAGES], w->shared, w->own_b + w->out, 8 * (f % BLOCKS_N),
         f % COLUMNS / BLOCKS_N * MMA_K, OPERAND_B);
}

// Fetch the operands of column f of this stage or, from COLUMNS on, of the next one: then
// go there first. The rows, too, where a step begins.
DEVICE_FN void fetch(struct work *t, struct way *w, int f)
{
    if (f % COLUMNS == 0)
        next_stage(w);
    if (f % BLOCKS_N == 0)
        fetch_rows(t, w, f / BLOCKS_N, 0, BLOCKS_M);
    fetch_column(t, w, f);
}

// How many vectors have been asked for before column f.
DEVICE_FN int dealt(int f)
{
    const int rest = COLUMNS - COLUMNS / 2, past = f - COLUMNS / 2;
    return past <= 0 ? 0 : VECTORS * past / rest;
}

// Among the columns of a stage, copy others to the one before it: to that of the first
// stage nothing has been copied yet, but it is left like any other.
DEVICE_FN void copy_beside(struct way *w, int f, bool whole)
{
    if (!SYNC && f == 0)
        copy_vectors(w, 0, VECTORS, w->coming, whole);
    if (SYNC && f == COLUMNS / 2)
        barrier_wait(empty(w, w->in), w->parity);
    if (SYNC)
        copy_vectors(w, dealt(f), dealt(f + 1), w->coming, whole);
    if (f == (SYNC ? COLUMNS - 1 : 0))
        end_copies(w, TILE_K);
}

// One tensor-core instruction: blocks `c` and, where MMA_M is 16, `c_lower` below it.
DEVICE_FN void mma(real *c, real *c_lower, const real *a, const real *lower,
                   const real *b)
{
#if MMA == 804
    mma_8x8x4(c, a, b);
#elif MMA == 1604
    mma_16x8x4(c, c_lower, a, lower, b);
#elif MMA == 1608
    mma_16x8x8(c, c_lower, a, lower, b);
#else
    mma_16x8x16(c, c_lower, a, lower, b);
#endif
}

// The q-th instruction of a step: column by column or, where all operands of the step are
// there, row by row.
DEVICE_FN void multiply_blocks(struct work *t, int step, int q)
{
    const int high = MMA_M / 8, i = high * (WHOLE ? q / BLOCKS_N : q % PAIRS_M);
    const int j = WHOLE ? q % BLOCKS_N : q / PAIRS_M, f = step * BLOCKS_N + j;

    mma(t->sum[i][j], t->sum[i + high - 1][j], t->a[step % 2][i],
        t->a[step % 2][i + high - 1], t->b[f % REGISTER_STAGES]);
}

// Fetch a part of what the next step needs, beside the q-th instruction of this one. Its
// places were last used in the step before, rows by as many instructions earlier as there
// are columns.
DEVICE_FN void fetch_beside(struct work *t, struct way *w, int step, int q)
{
    const int high = MMA_M / 8, i = high * (q / BLOCKS_N);

    if (q == 0 && step == STEPS - 1)
        next_stage(w);
    if (q % BLOCKS_N == 0)
        fetch_rows(t, w, step + 1, i, i + high);
    if (q < BLOCKS_N)
        fetch_column(t, w, (step + 1) * BLOCKS_N + q);
}

// Multiply the tiles of a stage, and start copying others into the one before it.
DEVICE_FN void multiply_stage(struct work *t, struct way *w, bool whole)
{
    UNROLL
    for (int f = 0; f < COLUMNS; f++) {
        const int step = f / BLOCKS_N;
        if (!WHOLE)
            fetch(t, w, f + AHEAD);
        copy_beside(w, f, whole);
        UNROLL
        for (int q = f % BLOCKS_N * PAIRS_M; q < (f % BLOCKS_N + 1) * PAIRS_M; q++) {
            if (WHOLE)
                fetch_beside(t, w, step, q);
            multiply_blocks(t, step, q);
        }
    }
}

// ---- a tile ---------------------------------------------------------------------------

// The barriers of all stages, by one thread: made, or made memory again.
DEVICE_FN void set_barriers(const struct way *w, bool make)
{
    for (unsigned s = 0; s < STAGES && SYNC && THREAD_X == 0; s++)
        if (make) {
            barrier_init(full(w, s * 8 * SPACE), THREADS);
            barrier_init(empty(w, s * 8 * SPACE), THREADS / 32);
        } else {
            barrier_end(full(w, s * 8 * SPACE));
            barrier_end(empty(w, s * 8 * SPACE));
        }
    if (SYNC)
        BARRIER();
}

// Whether a tile ends within a vector that runs along its lines.
DEVICE_FN bool is_odd(int line, int lines, OPERAND)
{
    return !deep && line + tile > lines && lines % VECTOR;
}

// Have the first tiles of a job copied. What is no whole number of tiles comes first, so that
// all others are whole; but last where the next ones would not begin with a vector.
DEVICE_FN void start(struct way *w, const struct job *job, unsigned thread, int m, int n,
                     const real *a, int lda, const real *b, int ldb)
{
    const int depth = job->end - job->begin, rest = depth % TILE_K;
    const bool odd = is_odd(job->row, m, OPERAND_A) || is_odd(job->column, n, OPERAND_B);
    int first = rest && rest % VECTOR == 0 ? rest : TILE_K;

    w->a = start_copier(thread, a, lda, job->row, m, job->begin, w->address,
                        OPERAND_A);
    w->b = start_copier(thread, b, ldb, job->column, n, job->begin,
                        w->address + 8 * SPACE_A, OPERAND_B);
    w->coming = depth, w->in = 0, w->out = (STAGES - 1) * SPACE;
    w->stop = odd ? depth + 1 : rest % VECTOR ? TILE_K : 1 - (STAGES - 1) * TILE_K;
    w->parity = 1;
    if (depth == 0)
        w->a.limit = w->b.limit = 0;
    set_barriers(w, true);
    NO_UNROLL
    for (int s = 0; s < STAGES - 1; s++) {
        if (first == TILE_K && w->coming >= w->stop)
            copy_vectors(w, 0, VECTORS, TILE_K, true);
        else
            copy_vectors(w, 0, VECTORS, smaller(first, w->coming), false);
        end_copies(w, first);
        first = TILE_K;
    }
}

// Whether there is a tile to multiply: all stages but one are ahead.
DEVICE_FN bool is_left(const struct way *w)
{
    return w->coming > -(STAGES - 1) * TILE_K;
}

// Multiply and add up all of a job.
DEVICE_FN void multiply(struct work *t, struct way *w)
{
    UNROLL
    for (int s = 0; s < BLOCKS_M * BLOCKS_N; s++)
        t->sum[s / BLOCKS_N][s % BLOCKS_N][0] = t->sum[s / BLOCKS_N][s % BLOCKS_N][1] = 0;
    if (is_left(w)) {
        UNROLL
        for (int f = 0; f < AHEAD; f++)
            fetch(t, w, f);
    }
    NO_UNROLL
    while (w->coming >= w->stop)
        multiply_stage(t, w, true);
    NO_UNROLL
    while (is_left(w))
        multiply_stage(t, w, false);

    // Nothing may land later, not even zeros, and no barrier hear of it.
    while (SYNC && (w->out + SPACE) % (STAGES * SPACE) * 8 != w->in)
        next_stage(w);
    AWAIT_COPIES(0);
}

// From here on the stages are free for something else.
DEVICE_FN void end(const struct way *w)
{
    BARRIER();
    set_barriers(w, false);
}

// Where sums go.
struct target {
    real *c;                   // what the tile's first element becomes
    const real *bias;
    int ldc, rows, columns;
    real alpha, beta;
    bool last;                 // they are those of C, not of a part
};

// Accumulators of a split of k, which stay as they are.
DEVICE_FN struct target part_target(const struct job *job, real *workspace, int m, int n)
{
    const int ld = partial_ld(n);

    if (TILE_SCHEDULER)
        return { part_of_segment(workspace, BLOCK_X, job->part), 0, TILE_N, TILE_M, TILE_N, 1,
                 0, false };
    return { partial_at(workspace, m, n, job->row, job->column), 0, ld, m - job->row,
             ld - job->column, 1, 0, false };
}

DEVICE_FN void store_pair(const struct target *to, const real sum[2], int row, int column)
{
    real *const at = to->c + (wide) row * to->ldc + column;

    if (row >= to->rows)
        return;
    if (to->last)
        store(at, sum, 2, to->columns - column, ALIGNED, to->alpha, to->beta,
              bias_of(to->bias, row, column));
    else if (column < to->columns)
        STORE2(GLOBAL, real, at, sum);
}

// A cluster's sums stand in every block's shared memory; store this block's share.
#define ACC_LD (TILE_N + 8)

DEVICE_FN void store_share(const struct target *to, unsigned acc)
{
    const int run = TILE_N / 2;

    NO_UNROLL
    for (int pair = BLOCK_Y % CLUSTER * THREADS + THREAD_X; pair < TILE_M * run;
         pair += CLUSTER * THREADS) {
        const int row = pair / run, column = pair % run * 2;
        real sum[2] = { 0, 0 }, more[2];
        UNROLL
        for (int i = 0; i < CLUSTER; i++) {
            load_pair_of(more, acc + 8 * (row * ACC_LD + column), i);
            sum[0] += more[0], sum[1] += more[1];
        }
        store_pair(to, sum, row, column);
    }
}

// Where the rectangle of a thread's warp begins in the tile.
DEVICE_FN int warp_row(unsigned thread)
{
    return thread / 32 / WARPS_N * (TILE_M / WARPS_M);
}
DEVICE_FN int warp_column(unsigned thread)
{
    return thread / 32 % WARPS_N * (TILE_N / WARPS_N);
}

// Store a thread's accumulators.
DEVICE_FN void store_acc(const struct target *to, const struct work *t, real *shared)
{
    const unsigned thread = keep(THREAD_X);
    const int row = warp_row(thread) + thread % 32 / 4;
    const int column = warp_column(thread) + thread % 4 * 2;

    UNROLL
    for (int i = 0; i < BLOCKS_M; i++)
        UNROLL
        for (int j = 0; j < BLOCKS_N; j++)
            if (CLUSTER > 1)
                STORE2(SHARED_PTR, real, shared + (row + 8 * i) * ACC_LD + column + 8 * j,
                       t->sum[i][j]);
            else
                store_pair(to, t->sum[i][j], row + 8 * i, column + 8 * j);
    if (CLUSTER > 1) {
        cluster_sync(CLUSTER);
        store_share(to, (unsigned) __cvta_generic_to_shared(shared));
        cluster_sync(CLUSTER); // a block's shared memory must outlive its readers
    }
}

KERNEL BLOCK_SIZE_RESIDENT(THREADS, 1, MIN_BLOCKS) CLUSTERED
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL real *a, wide a_start, int lda, wide a_stride,
              const GLOBAL real *b, wide b_start, int ldb, wide b_stride,
              GLOBAL real *c, wide c_start, int ldc, wide c_stride,
              GLOBAL real *workspace, wide workspace_start,
              const GLOBAL real *bias, wide bias_start)
{
    SHARED_POOL(real, shared, STAGES * SPACE);
    struct work t;
    struct way w;
    struct job job, done;

    PDL_TRIGGER();
    PDL_WAIT();
    if ((scalars ? scalars[scalars_start] : alpha) == 0)
        k = 0;
    if (!find_job(0, m, n, k, &job))
        return;

    FIND_MATRIX(a, BLOCK_Z);
    FIND_MATRIX(b, BLOCK_Z);
    FIND_MATRIX(c, BLOCK_Z);
    w.shared = shared;
    w.address = (unsigned) __cvta_generic_to_shared(shared);
    w.own_a = own_place(warp_row(THREAD_X), OPERAND_A);
    w.own_b = own_place(warp_column(THREAD_X), OPERAND_B) + SPACE_A;
    start(&w, &job, THREAD_X, m, n, a + a_start + BLOCK_Z * a_stride, lda,
          b + b_start + BLOCK_Z * b_stride, ldb);

    NO_UNROLL
    for (unsigned turn = 0, more = 1; more; turn++) {
        multiply(&t, &w);

        // What only the end needs is found here again: registers are scarce above.
        const unsigned now = keep(turn);
        const int batch = (int) keep(BLOCK_Z), rows = (int) keep(m);
        find_job(now, rows, n, k, &done);
        more = TILE_SCHEDULER && find_job(now + 1, rows, n, k, &job);
        if (more || CLUSTER > 1)
            end(&w);
        if (more)
            start(&w, &job, keep(THREAD_X), m, n, a + a_start + batch * a_stride, lda,
                  b + b_start + batch * b_stride, ldb);
        if (SPLIT_K > 1 || done.part >= 0) {
            const struct target part =
                part_target(&done, workspace + workspace_start, m, n);
            store_acc(&part, &t, shared);
        } else {
            const wide at = c_start + batch * c_stride + (wide) done.row * ldc;
            const struct target whole = {
                c + at + done.column, bias_of(bias + bias_start, done.row, done.column),
                ldc, m - done.row, n - done.column,
                scalars ? scalars[scalars_start] : alpha,
                scalars ? scalars[scalars_start + 1] : beta, true
            };
            store_acc(&whole, &t, shared);
        }
    }
}
