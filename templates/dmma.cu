// dmma - C = alpha*A*B + beta*C in double precision on NVIDIA's tensor cores (sm_80 on).
//
// One block computes a TILE_M x TILE_N tile of C, or of one part of k; WARPS_M x WARPS_N
// warps share it, each with a rectangle of it made of blocks of 8 x 8. STAGES pairs of
// tiles of A and B, TILE_K deep, stand in shared memory, all but one of them on their way
// there by cp.async.
//
//      one stage, TILE_K deep        f = 0   1   2 ...            BLOCKS_N   ...
//      a warp multiplies columns of      | | | | |   step 0   |       step 1       |
//      its blocks, one after the other   ^multiplied    ^fetched, FRAGMENTS - 1 ahead
//
// The operands of the next columns are under way from shared memory to registers while
// the tensor cores work, across the end of a step and of a stage; the one barrier of a
// stage stands where the first column of the next is fetched.
//
// Tiles keep the order that they have in memory: a "deep" one (A as it is, B transposed)
// has rows that run along k, the other kind has a row for each depth. Within a row chunks
// of 32 bytes are exchanged by xor: so the 16 threads of half a warp, four rows by four
// neighbours or the other way round, meet in no bank. Padding would do that too, but then
// a line of 128 bytes that arrives from memory would straddle two rows of banks.
//
// k may be cut into SPLIT_K * CLUSTER parts. The blocks of a cluster (sm_90 on) add up
// their tiles through each other's shared memory; SPLIT_K sums go to the workspace, and
// mmt_add_parts adds those up. Either has a fixed order.
//
// Launch: block (THREADS), grid (ceil(m/TILE_M) * ceil(n/TILE_N), SPLIT_K * CLUSTER,
// batch); then mmt_add_parts where SPLIT_K > 1. Helpers: tiles.h.

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
#ifndef FRAGMENTS
#define FRAGMENTS 4           // columns of blocks whose operands are in registers
#endif
#ifndef GROUP
#define GROUP 8               // rows of tiles that neighbouring blocks share
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1          // blocks that a multiprocessor should hold at least
#endif
#ifndef CLUSTER
#define CLUSTER 1             // blocks that share a tile of C and each other's memory
#endif
#ifndef SPLIT_K
#define SPLIT_K 1             // such clusters that share a tile of C
#endif

#define MMA_M    (MMA / 100)
#define MMA_K    (MMA % 100)
#define QUADS    (MMA_K / 4)               // depths of an instruction that a thread holds
#define STEPS    (TILE_K / MMA_K)
#define THREADS  (WARPS_M * WARPS_N * 32)
#define VECTOR   (ALIGNED ? 2 : 1)         // elements that are copied at once
#define BLOCKS_M (TILE_M / WARPS_M / 8)
#define BLOCKS_N (TILE_N / WARPS_N / 8)
#define COLUMNS  (STEPS * BLOCKS_N)        // of a warp's blocks, in one stage
#define AHEAD    (FRAGMENTS - 1)

// Helpers serve both operands; these constants tell them which one is meant.
#define OPERAND   int tile, bool deep
#define OPERAND_A TILE_M, !TRANS_A
#define OPERAND_B TILE_N, TRANS_B
#define SAME      tile, deep

#if TILE_M % (16 * WARPS_M) || TILE_N % (16 * WARPS_N)
#error "a warp's rectangle must be a whole number of 16 x 16"
#endif
#if BLOCKS_N % FRAGMENTS
#error "a warp's columns of blocks must be a multiple of FRAGMENTS"
#endif
#if FRAGMENTS > 1 && STEPS % 2
#error "fetching ahead needs an even number of steps in TILE_K"
#endif

#if CLUSTER > 1
#define CLUSTERED __cluster_dims__(1, CLUSTER, 1)
#else
#define CLUSTERED
#endif

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
DEVICE_FN int turn(int row, OPERAND)
{
    return row_length(SAME) < 16 ? row / 2 % 2 * 4 : row % 4 * 4;
}

// Where a tile in shared memory holds an element.
DEVICE_FN int place(int row, int at, OPERAND)
{
    return row * row_length(SAME) + (at ^ turn(row, SAME));
}

#define SPACE_A (TILE_M * TILE_K)
#define SPACE   (SPACE_A + TILE_N * TILE_K)

// A thread's part in copying one operand: vector j of it is j * `pass` rows further on.
struct copier {
    const real *from;         // its first vector in the tile to be copied next
    unsigned to;              // that vector's place in a stage, an address
    int row, at;              // that vector's place in the tile as it stands in memory
    int lines, ld;            // lines that the matrix has from the tile on; its ld
};

// Rows of a tile that the block copies at once; threads beyond them have nothing to copy.
DEVICE_FN int pass_of(OPERAND)
{
    return THREADS / (row_length(SAME) / VECTOR);
}

// Vectors that a thread copies, of a tile.
DEVICE_FN int vectors_of(OPERAND)
{
    return (num_rows(SAME) - 1) / pass_of(SAME) + 1;
}

DEVICE_FN struct copier start_copier(const real *matrix, int ld, int line, int lines,
                                     int depth, unsigned shared, OPERAND)
{
    const int run = row_length(SAME) / VECTOR;
    struct copier c;

    c.row = THREAD_X / run, c.at = THREAD_X % run * VECTOR;
    c.lines = lines - line, c.ld = ld;
    c.from = matrix + (deep ? (wide) (line + c.row) * ld + depth + c.at
                            : (wide) (depth + c.row) * ld + line + c.at);
    c.to = shared + 8 * place(c.row, c.at, SAME);
    if (THREADS % run && c.row >= pass_of(SAME))
        c.row = num_rows(SAME);
    return c;
}

// Start copying a vector to shared memory's address `to`.
DEVICE_FN void copy_whole(unsigned to, const real *from)
{
#if ALIGNED
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
                 :: "r"(to), "l"(from) : "memory");
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;"
                 :: "r"(to), "l"(from) : "memory");
#endif
}

// The same, but only its first `bytes` bytes; the rest is set to 0.
DEVICE_FN void copy_bytes(unsigned to, const real *from, int bytes)
{
#if ALIGNED
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(from), "r"(bytes) : "memory");
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                 :: "r"(to), "l"(from), "r"(bytes) : "memory");
#endif
}

// Start copying vector j to the stage at byte `in`. `left` depths are left to copy, and
// `inside` says that all of the tile is in the matrix.
DEVICE_FN void copy_vector(const struct copier c, int j, unsigned in, int left,
                           bool inside, OPERAND)
{
    const int first = j * pass_of(SAME), row = c.row + first;
    const bool all = THREADS % (row_length(SAME) / VECTOR) == 0 &&
                     first + pass_of(SAME) <= num_rows(SAME);
    const int across = (deep ? c.lines : left) - row;
    const int along = (deep ? left : c.lines) - c.at;
    const int bytes = across > 0 && along > 0 ? smaller(along, VECTOR) * 8 : 0;
    const unsigned to = c.to + in + 8 * (place(row, c.at, SAME) - place(c.row, c.at, SAME));
    const real *from = c.from + (wide) first * c.ld;

    if (!all && row >= num_rows(SAME))
        return;
    if (inside)
        copy_whole(to, from);
    else
        copy_bytes(to, from, bytes);
}

// Until the copies to the stage that comes next are done and visible to all.
DEVICE_FN void wait_for_stage(void)
{
    asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
    BARRIER();
}

// Where a thread's first operand stands in a tile.
DEVICE_FN int own_place(int first, OPERAND)
{
    const int g = THREAD_X % 32 / 4, quad = THREAD_X % 4;

    return deep ? place(first + g, quad, SAME) : place(quad, g, SAME) + first;
}

// Fetch this thread's part of a block of 8 lines, MMA_K deep. `own` is where its first
// operand stands in shared memory, `line` and `depth` lead from there to the block. Rows
// of a multiple of 4 are turned alike, and what a turn exchanges is within 16 elements.
DEVICE_FN void take(real to[QUADS], const real *shared, int own, int line, int depth,
                    OPERAND)
{
    UNROLL
    for (int q = 0; q < QUADS; q++) {
        const int row = deep ? line : depth + 4 * q, at = deep ? depth + 4 * q : line;
        to[q] = shared[row * row_length(SAME) + at / 16 * 16 + (own ^ at % 16)];
    }
}

// Where a thread stands on its way along k.
struct way {
    struct copier a, b;
    const real *shared;
    int own_a, own_b;          // the thread's first operands in a stage
    int coming;                // depths that have not been asked for yet
    unsigned in;               // the stage that copies go to, in bytes
    int out;                   // the stage that operands come from, in elements
};

// What a thread multiplies and adds up.
struct work {
    real a[2][BLOCKS_M][QUADS], b[FRAGMENTS][QUADS];
    real sum[BLOCKS_M][BLOCKS_N][2];
};

// Start copying the tiles that come next, and go on to those after them.
DEVICE_FN void copy_stage(struct way *w, bool inside)
{
    UNROLL
    for (int j = 0; j < vectors_of(OPERAND_A); j++)
        copy_vector(w->a, j, w->in, w->coming, inside, OPERAND_A);
    UNROLL
    for (int j = 0; j < vectors_of(OPERAND_B); j++)
        copy_vector(w->b, j, w->in, w->coming, inside, OPERAND_B);
    asm volatile("cp.async.commit_group;" ::: "memory");
    w->a.from += TRANS_A ? (wide) TILE_K * w->a.ld : TILE_K;
    w->b.from += TRANS_B ? TILE_K : (wide) TILE_K * w->b.ld;
    w->coming -= TILE_K;
    w->in = w->in == (STAGES - 1) * 8 * SPACE ? 0 : w->in + 8 * SPACE;
}

// Fetch the operands of column f of this stage or, from COLUMNS on, of the next one: then
// go there first.
DEVICE_FN void fetch(struct work *t, struct way *w, int f)
{
    const int step = f % COLUMNS / BLOCKS_N, depth = step * MMA_K, j = f % BLOCKS_N;

    if (f % COLUMNS == 0) {
        w->out = w->out == (STAGES - 1) * SPACE ? 0 : w->out + SPACE;
        wait_for_stage();
    }
    UNROLL
    for (int i = 0; i < BLOCKS_M && j == 0; i++)
        take(t->a[step % 2][i], w->shared, w->own_a + w->out, 8 * i, depth, OPERAND_A);
    take(t->b[f % FRAGMENTS], w->shared, w->own_b + w->out, 8 * j, depth, OPERAND_B);
}

// One tensor-core instruction: blocks `c` and, where MMA_M is 16, `c1` below it.
#if MMA == 804
DEVICE_FN void mma(real *c, real *c1, const real *a, const real *a1, const real *b)
{
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1]) : "d"(a[0]), "d"(b[0]));
}
#elif MMA == 1604
DEVICE_FN void mma(real *c, real *c1, const real *a, const real *a1, const real *b)
{
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, "
        "{%6}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c1[0]), "+d"(c1[1])
        : "d"(a[0]), "d"(a1[0]), "d"(b[0]));
}
#elif MMA == 1608
DEVICE_FN void mma(real *c, real *c1, const real *a, const real *a1, const real *b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c1[0]), "+d"(c1[1])
        : "d"(a[0]), "d"(a1[0]), "d"(a[1]), "d"(a1[1]), "d"(b[0]), "d"(b[1]));
}
#else
DEVICE_FN void mma(real *c, real *c1, const real *a, const real *a1, const real *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c1[0]), "+d"(c1[1])
        : "d"(a[0]), "d"(a1[0]), "d"(a[1]), "d"(a1[1]), "d"(a[2]), "d"(a1[2]),
          "d"(a[3]), "d"(a1[3]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}
#endif

// Multiply the tiles of a stage, and start copying others into the one before it.
DEVICE_FN void multiply_stage(struct work *t, struct way *w, bool inside)
{
    UNROLL
    for (int f = 0; f < COLUMNS; f++) {
        const int step = f / BLOCKS_N, j = f % BLOCKS_N, high = MMA_M / 8;
        fetch(t, w, f + AHEAD);
        if (f == 0)
            copy_stage(w, inside);
        UNROLL
        for (int i = 0; i < BLOCKS_M; i += high)
            mma(t->sum[i][j], t->sum[i + high - 1][j], t->a[step % 2][i],
                t->a[step % 2][i + high - 1], t->b[f % FRAGMENTS]);
    }
}

#if CLUSTER > 1
// Until every block of the cluster is here and sees what the others wrote before.
DEVICE_FN void wait_for_cluster(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Add two neighbouring elements from shared memory's address `at` of block `rank`.
DEVICE_FN void add_from(unsigned at, int rank, real sum[2])
{
    real x, y;

    asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(at) : "r"(rank));
    asm volatile("ld.shared::cluster.v2.f64 {%0, %1}, [%2];"
                 : "=d"(x), "=d"(y) : "r"(at) : "memory");
    sum[0] += x, sum[1] += y;
}

// Store this block's share of the cluster's tile, which stands in every block's shared
// memory at `tile`, rows TILE_N + 8 apart.
DEVICE_FN void store_shared(real *c, unsigned tile, int ldc, int rows, int columns,
                            real alpha, real beta, const real *bias)
{
    const int run = TILE_N / 2;

    NO_UNROLL
    for (int pair = BLOCK_Y % CLUSTER * THREADS + THREAD_X; pair < TILE_M * run;
         pair += CLUSTER * THREADS) {
        const int row = pair / run, column = pair % run * 2;
        real sum[2] = { 0, 0 };
        UNROLL
        for (int i = 0; i < CLUSTER; i++)
            add_from(tile + 8 * (row * (TILE_N + 8) + column), i, sum);
        if (row < rows)
            store(c + (wide) row * ldc + column, sum, 2, columns - column,
                  SPLIT_K > 1 || ALIGNED, alpha, beta, bias_of(bias, row, column),
                  SPLIT_K == 1);
    }
}
#endif

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

    if ((scalars ? scalars[scalars_start] : alpha) == 0)
        k = 0;

    int row, column;
    find_tile(m, n, &row, &column);
    const int begin = part_start(BLOCK_Y, k), end = part_start(BLOCK_Y + 1, k);

    // This warp's rectangle and this thread's place in blocks.
    const int warp = THREAD_X / 32, g = THREAD_X % 32 / 4, quad = THREAD_X % 4;
    const int first_m = warp / WARPS_N * (TILE_M / WARPS_M);
    const int first_n = warp % WARPS_N * (TILE_N / WARPS_N);
    const unsigned address = (unsigned) __cvta_generic_to_shared(shared);

    w.a = start_copier(a + a_start + BLOCK_Z * a_stride, lda, row, m, begin, address,
                       OPERAND_A);
    w.b = start_copier(b + b_start + BLOCK_Z * b_stride, ldb, column, n, begin,
                       address + 8 * SPACE_A, OPERAND_B);
    w.shared = shared;
    w.own_a = own_place(first_m, OPERAND_A);
    w.own_b = own_place(first_n, OPERAND_B) + SPACE_A;
    w.coming = end - begin, w.in = 0, w.out = (STAGES - 1) * SPACE;

    UNROLL
    for (int s = 0; s < BLOCKS_M * BLOCKS_N; s++)
        t.sum[s / BLOCKS_N][s % BLOCKS_N][0] = t.sum[s / BLOCKS_N][s % BLOCKS_N][1] = 0;

    // Most tiles lie inside and are copied with no questions asked.
    const int rows = m - row;
    int columns = n - column;
    const bool inside = rows >= TILE_M && columns >= TILE_N;

    NO_UNROLL
    for (int s = 0; s < STAGES - 1; s++)
        if (inside && w.coming >= TILE_K)
            copy_stage(&w, true);
        else
            copy_stage(&w, false);
    if (end > begin) {
        UNROLL
        for (int f = 0; f < AHEAD; f++)
            fetch(&t, &w, f);
    }
    int left = end - begin;
    NO_UNROLL
    for (; inside && w.coming >= TILE_K; left -= TILE_K)
        multiply_stage(&t, &w, true);
    NO_UNROLL
    for (; left > 0; left -= TILE_K)
        multiply_stage(&t, &w, false);

    // What only the end needs is fetched here: registers are scarce above.
    if (SPLIT_K > 1) {
        ldc = partial_ld(n), columns = ldc - column;
        c = partial_at(workspace + workspace_start, m, n, row, column);
        alpha = 1, beta = 0;
    } else {
        if (scalars) {
            alpha = scalars[scalars_start];
            beta = scalars[scalars_start + 1];
        }
        c += c_start + BLOCK_Z * c_stride + (wide) row * ldc + column;
        bias = bias_of(bias + bias_start, row, column);
    }
#if CLUSTER > 1
    asm volatile("cp.async.wait_all;" ::: "memory");
    BARRIER();
#endif
    UNROLL
    for (int i = 0; i < BLOCKS_M; i++) {
        const int r = first_m + 8 * i + g;
        UNROLL
        for (int j = 0; j < BLOCKS_N; j++) {
            const int q = first_n + 8 * j + 2 * quad;
#if CLUSTER > 1
            STORE2(SHARED_PTR, shared + r * (TILE_N + 8) + q, t.sum[i][j]);
#else
            if (r < rows)
                store(c + (wide) r * ldc + q, t.sum[i][j], 2, columns - q,
                      SPLIT_K > 1 || ALIGNED, alpha, beta, bias_of(bias, r, q),
                      SPLIT_K == 1);
#endif
        }
    }
#if CLUSTER > 1
    wait_for_cluster();
    store_shared(c, address, ldc, rows, columns, alpha, beta, bias);
    wait_for_cluster(); // a block's shared memory must outlive its readers
#endif
}
