// dmma - C = alpha*A*B + beta*C in double precision on NVIDIA's tensor cores (sm_80 on).
//
// One block computes a TILE_M x TILE_N tile of C; WARPS_M x WARPS_N warps share it, each
// with a rectangle of it made of blocks of 8 x 8. STAGES pairs of tiles of A and B, TILE_K
// deep, stand in shared memory, all but one of them on their way there by cp.async.
//
// Tiles keep the order that they have in memory: a "deep" one (A as it is, B transposed)
// holds lines that run along k, the other kind holds rows of lines at one depth. Threads
// read 16 bytes at a time from either: in a deep tile two neighbouring depths of a line,
// in the other two neighbouring lines at one depth. So that both agree, the depths and
// lines of a tile are dealt to the tensor core in this order, g being a thread's quad
// within the warp and t its place in the quad:
//
//     depth  8 * s + 2 * t + q           at place t of the q-th quarter of step s
//     line   8 * i + g                   of the i-th block, deep
//            16 * p + 2 * g + i          of block 2 * p + i, else
//
// Chunks of 16 bytes are exchanged by xor, which frees all of this of bank conflicts.
//
// Where C has few tiles, SPLIT_K blocks share one: each multiplies a part of k and leaves
// its sums in the workspace, and mmt_add_parts adds them up.
//
// Launch: block (THREADS), grid (ceil(m/TILE_M) * ceil(n/TILE_N), SPLIT_K, batch); then
// mmt_add_parts where SPLIT_K > 1. Helpers: tiles.h.

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
#define FRAGMENTS 2           // 2: fetch the operands of the next step during this one
#endif
#ifndef GROUP
#define GROUP 8               // rows of tiles that neighbouring blocks share
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1          // blocks that a multiprocessor should hold at least
#endif
#ifndef SPLIT_K
#define SPLIT_K 1             // blocks that share a tile of C
#endif

#define MMA_M    (MMA / 100)
#define MMA_K    (MMA % 100)
#define STEP     (MMA_K > 8 ? MMA_K : 8)   // depth for which operands are fetched at once
#define STEPS    (TILE_K / STEP)
#define QUARTERS (STEP / 4)
#define THREADS  (WARPS_M * WARPS_N * 32)
#define VECTOR   (ALIGNED ? 2 : 1)         // elements that are copied at once
#define BLOCKS_M (TILE_M / WARPS_M / 8)
#define BLOCKS_N (TILE_N / WARPS_N / 8)
#define SPACE_A  (TILE_M * TILE_K)
#define SPACE    (SPACE_A + TILE_N * TILE_K)

// Helpers serve both operands; these constants tell them which one is meant.
#define OPERAND   int tile, bool deep
#define OPERAND_A TILE_M, !TRANS_A
#define OPERAND_B TILE_N, TRANS_B
#define SAME      tile, deep

#if TILE_M % (16 * WARPS_M) || TILE_N % (16 * WARPS_N)
#error "a warp's rectangle must be a whole number of 16 x 16"
#endif
#if FRAGMENTS == 2 && STEPS % 2
#error "two fragments need an even number of steps in TILE_K"
#endif

// Where a tile in shared memory holds an element.
DEVICE_FN int place(int line, int depth, OPERAND)
{
    if (deep)
        return line * TILE_K + (depth ^ (TILE_K % 16 ? 0 : line % 2 * 8));
    return depth * tile + (line ^ depth / 2 % 4 * 4);
}

// Copies run along a tile's rows as they stand in memory, `run` threads to a row.
DEVICE_FN int run_length(OPERAND)
{
    return (deep ? TILE_K : tile) / VECTOR;
}

// Start copying `bytes` bytes from `from`; what lies behind them in a vector is set to 0.
// `to` is an address in shared memory.
DEVICE_FN void copy(unsigned to, const real *from, int bytes)
{
#if ALIGNED
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(from), "r"(bytes) : "memory");
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                 :: "r"(to), "l"(from), "r"(bytes) : "memory");
#endif
}

DEVICE_FN void end_copies(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until the copies to the stage that comes next are done and visible to all.
DEVICE_FN void wait_for_stage(void)
{
    asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
    BARRIER();
}

// How far behind the place of a thread's first vector that of its j-th is, `pass` rows of
// a tile apart: a constant unless the rows are exchanged differently.
DEVICE_FN int distance(int row, int at, int j, int pass, OPERAND)
{
    const int r = row + j * pass;
    if (j * pass % (deep ? 2 : 8) == 0)
        return j * pass * (deep ? TILE_K : tile);
    return deep ? place(r, at, SAME) - place(row, at, SAME)
                : place(at, r, SAME) - place(at, row, SAME);
}

// Start copying this thread's part of a tile to shared memory's address `shared`. The
// matrix has `lines` lines and `left` depths there; the rest counts as 0, and `matrix`,
// where there surely is an element, is named in its stead. `from` is where the thread's
// first vector comes from.
DEVICE_FN void send(unsigned shared, const real *from, const real *matrix, int ld,
                    int lines, int left, int tid, OPERAND)
{
    const int run = run_length(SAME), pass = THREADS / run, rows = deep ? tile : TILE_K;
    const int row = tid / run, at = tid % run * VECTOR;
    const int across = (deep ? lines : left) - row, along = (deep ? left : lines) - at;
    const int bytes = smaller(along > 0 ? along : 0, VECTOR) * 8;
    const wide further = (wide) pass * ld;
    const unsigned to =
        shared + 8 * (deep ? place(row, at, SAME) : place(at, row, SAME));

    UNROLL
    for (int j = 0; j * pass < rows; j++, from += further) {
        const int size = j * pass < across ? bytes : 0;
        if ((j + 1) * pass <= rows || row + j * pass < rows)
            copy(to + 8 * distance(row, at, j, pass, SAME), size ? from : matrix, size);
    }
}

// Read a warp's `blocks` blocks of 8 lines from line `first` on, in the order in which
// the tensor core takes them. Blocks and quarters differ by constants in their places,
// which is why these are not asked of place().
DEVICE_FN void take(real (*to)[QUARTERS], const real *shared, int first, int step,
                    int blocks, int lane, OPERAND)
{
    const int g = lane / 4, t = lane % 4, turn = TILE_K % 16 ? 0 : g % 2 * 8;
    shared += deep ? (first + g) * TILE_K + 2 * t
                   : 2 * t * tile + first + (2 * g ^ 4 * t);

    UNROLL
    for (int i = 0; i < blocks; i += 2) {
        UNROLL
        for (int q = 0; q < QUARTERS; q += 2) {
            const int depth = step * STEP + 4 * q;
            UNROLL
            for (int h = 0; h < 2; h++) {
                const int at = deep ? 8 * (i + h) * TILE_K + (depth ^ turn)
                                    : (depth + h) * tile + 8 * i;
                const real2 pair = *(const real2 *) (shared + at);
                to[deep ? i + h : i][deep ? q : q + h] = pair.x;
                to[deep ? i + h : i + 1][deep ? q + 1 : q + h] = pair.y;
            }
        }
    }
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

// One step along k; every second column of blocks is walked upwards, so that neighbouring
// instructions share an operand.
DEVICE_FN void multiply(real sum[BLOCKS_M][BLOCKS_N][2], real a[BLOCKS_M][QUARTERS],
                        real b[BLOCKS_N][QUARTERS])
{
    const int high = MMA_M / 8, rows = BLOCKS_M / high;
    UNROLL
    for (int q = 0; q < QUARTERS; q += MMA_K / 4) {
        UNROLL
        for (int j = 0; j < BLOCKS_N; j++) {
            UNROLL
            for (int r = 0; r < rows; r++) {
                const int i = (j % 2 ? rows - 1 - r : r) * high, below = i + high - 1;
                mma(sum[i][j], sum[below][j], a[i] + q, a[below] + q, b[j] + q);
            }
        }
    }
}

// Store a warp's rectangle, which begins at `c`; `rows` and `columns` are left there.
DEVICE_FN void store_all(real *c, real sum[BLOCKS_M][BLOCKS_N][2], int ldc, int rows,
                         int columns, int lane, bool aligned, real alpha, real beta,
                         const real *bias, bool last)
{
    const int g = lane / 4, t = lane % 4;

    UNROLL
    for (int i = 0; i < BLOCKS_M; i++) {
        const int r = TRANS_A ? i / 2 * 16 + 2 * g + i % 2 : 8 * i + g;
        real *at = c + (wide) r * ldc;
        if (r >= rows)
            continue;
        UNROLL
        for (int j = 0; j < BLOCKS_N; j++) {
            const int q = TRANS_B ? 8 * j + 2 * t : j / 2 * 16 + 4 * t + j % 2 * 2;
            const real pair[2] = { TRANS_B ? sum[i][j][0] : sum[i][j & ~1][j % 2],
                                   TRANS_B ? sum[i][j][1] : sum[i][j | 1][j % 2] };
            store(at + q, pair, 2, columns - q, aligned, alpha, beta, bias_of(bias, r, q),
                  last);
        }
    }
}

KERNEL BLOCK_SIZE_RESIDENT(THREADS, 1, MIN_BLOCKS)
void mmt_gemm(int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              const GLOBAL real *a, wide a_start, int lda, wide a_stride,
              const GLOBAL real *b, wide b_start, int ldb, wide b_stride,
              GLOBAL real *c, wide c_start, int ldc, wide c_stride,
              GLOBAL real *workspace, wide workspace_start,
              const GLOBAL real *bias, wide bias_start)
{
    SHARED_POOL(real, shared, STAGES * SPACE);
    real now_a[FRAGMENTS][BLOCKS_M][QUARTERS], now_b[FRAGMENTS][BLOCKS_N][QUARTERS];
    real sum[BLOCKS_M][BLOCKS_N][2];

    if ((scalars ? scalars[scalars_start] : alpha) == 0)
        k = 0;

    int row, column;
    find_tile(m, n, &row, &column);
    const int rows = m - row, columns = n - column;
    const int part = SPLIT_K > 1 ? BLOCK_Y : 0, start = part_start(part, k);
    k = part_start(part + 1, k) - start;

    const int tid = THREAD_X, lane = tid % 32, warp = tid / 32;
    const int first_m = warp / WARPS_N * (TILE_M / WARPS_M);
    const int first_n = warp % WARPS_N * (TILE_N / WARPS_N);

    a += a_start + BLOCK_Z * a_stride + start * (TRANS_A ? (wide) lda : (wide) 1);
    b += b_start + BLOCK_Z * b_stride + start * (TRANS_B ? (wide) 1 : (wide) ldb);

    // Where this thread's first vectors come from.
    const int run_a = run_length(OPERAND_A), run_b = run_length(OPERAND_B);
    const GLOBAL real *from_a = a + row * (TRANS_A ? (wide) 1 : (wide) lda) +
                                (wide) (tid / run_a) * lda + tid % run_a * VECTOR;
    const GLOBAL real *from_b = b + column * (TRANS_B ? (wide) ldb : (wide) 1) +
                                (wide) (tid / run_b) * ldb + tid % run_b * VECTOR;
    const wide next_a = TRANS_A ? (wide) TILE_K * lda : TILE_K;
    const wide next_b = TRANS_B ? TILE_K : (wide) TILE_K * ldb;

    UNROLL
    for (int s = 0; s < BLOCKS_M * BLOCKS_N; s++)
        sum[s / BLOCKS_N][s % BLOCKS_N][0] = sum[s / BLOCKS_N][s % BLOCKS_N][1] = 0;

    // `coming` is the depth that has not been asked for yet; `in` and `out` are the
    // stages that copies go to, in bytes, and that operands are taken from, in elements.
    const unsigned to_a = (unsigned) __cvta_generic_to_shared(shared);
    const unsigned to_b = to_a + 8 * SPACE_A;
    int coming = k, in = 0, out = 0;

    UNROLL
    for (int s = 0; s < STAGES; s++) {
        if (s == STAGES - 1)
            break;
        if (coming > 0) {
            send(to_a + in, from_a, a, lda, rows, coming, tid, OPERAND_A);
            send(to_b + in, from_b, b, ldb, columns, coming, tid, OPERAND_B);
        }
        end_copies();
        from_a += next_a, from_b += next_b, coming -= TILE_K, in += 8 * SPACE;
    }
    if (FRAGMENTS == 2 && k > 0) {
        wait_for_stage();
        take(now_a[0], shared, first_m, 0, BLOCKS_M, lane, OPERAND_A);
        take(now_b[0], shared + SPACE_A, first_n, 0, BLOCKS_N, lane, OPERAND_B);
    }

    NO_UNROLL
    for (int left = k; left > 0; left -= TILE_K) {
        if (FRAGMENTS == 1)
            wait_for_stage();
        if (coming > 0) {
            send(to_a + in, from_a, a, lda, rows, coming, tid, OPERAND_A);
            send(to_b + in, from_b, b, ldb, columns, coming, tid, OPERAND_B);
        }
        end_copies();
        from_a += next_a, from_b += next_b, coming -= TILE_K;
        in = in == (STAGES - 1) * 8 * SPACE ? 0 : in + 8 * SPACE;

#if FRAGMENTS == 2
        UNROLL
#else
        NO_UNROLL
#endif
        for (int s = 0; s < STEPS; s++) {
            const int taken = s + FRAGMENTS - 1, into = taken % FRAGMENTS;
            if (FRAGMENTS == 2 && taken == STEPS) {
                out = out == (STAGES - 1) * SPACE ? 0 : out + SPACE;
                wait_for_stage();
            }
            take(now_a[into], shared + out, first_m, taken % STEPS, BLOCKS_M, lane,
                 OPERAND_A);
            take(now_b[into], shared + out + SPACE_A, first_n, taken % STEPS, BLOCKS_N,
                 lane, OPERAND_B);
            multiply(sum, now_a[s % FRAGMENTS], now_b[s % FRAGMENTS]);
        }
        if (FRAGMENTS == 1)
            out = out == (STAGES - 1) * SPACE ? 0 : out + SPACE;
    }
    if (SPLIT_K > 1) {
        store_all(partial_at(workspace + workspace_start, m, n, row + first_m,
                             column + first_n),
                  sum, partial_ld(n), rows - first_m, partial_ld(n) - column - first_n,
                  lane, true, 1, 0, 0, false);
        return;
    }
    // What only the end needs is fetched here: registers are scarce above.
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    c += c_start + BLOCK_Z * c_stride + (wide) (row + first_m) * ldc + column + first_n;
    store_all(c, sum, ldc, rows - first_m, columns - first_n, lane, ALIGNED, alpha, beta,
              bias_of(bias + bias_start, row + first_m, column + first_n), true);
}
