// Tiles of C assigned to persistent blocks, for kernels with the knob TILE_SCHEDULER.
//
//      TILE_SCHEDULER data_parallel     a block for each tile
//      TILE_SCHEDULER persistent    a tile for each block, then another, and so on
//      TILE_SCHEDULER stream_k      the same, but what is left for the last round, fewer tiles than
//                     blocks, is shared: laid end to end, their steps of k are cut into
//                     equal segments, one a block
//
//           tile    |      0      |      1      |      2      |     steps ..
//           block   |    0    |    1    |    2    |    3    |
//
// A segment has parts of at most two tiles. Their sums go to the workspace, and mmt_reduce_stream_k
// adds those of each tile up, always in the same order.
//
// Stands behind tiles.h.

#define DATA_PARALLEL  0
#define PERSISTENT 1
#define STREAM_K   2

#define STAY GRID_X           // blocks, where they stay
#define AREA (TILE_M * TILE_N)

// What a block computes: depths `begin` to `end` of a tile; `part`: the first or the
// second of its segment, or -1 for a tile of its own.
struct job {
    int row, column, begin, end, part;
};

DEVICE_FN int count_tiles(int m, int n)
{
    return ((m - 1) / TILE_M + 1) * ((n - 1) / TILE_N + 1);
}
DEVICE_FN int count_steps(int k)
{
    return (int) (((wide) k + TILE_K - 1) / TILE_K);
}

// The first of `steps` steps, of all shared tiles, that belongs to the block's segment.
DEVICE_FN wide segment_start(int block, wide steps)
{
    return steps * block / STAY;
}

// The block to whose segment a step belongs.
DEVICE_FN int segment_of(wide step, wide steps)
{
    return (int) (((step + 1) * STAY - 1) / steps);
}

DEVICE_FN void set_job(struct job *job, int tile, int m, int n, int begin, int end,
                       int part)
{
    place_tile(tile, m, n, &job->row, &job->column);
    job->begin = begin, job->end = end, job->part = part;
}

// The two parts of this block's segment, if they are not empty.
DEVICE_FN bool find_part(int part, int tiles, int m, int n, int k, struct job *job)
{
    const int all = count_steps(k), shared = tiles % STAY;
    const wide steps = (wide) all * shared, from = segment_start(BLOCK_X, steps);
    const wide to = segment_start(BLOCK_X + 1, steps);
    const int tile = from < to ? (int) (from / all) + part : 0;
    const wide first = (wide) tile * all;

    if (from >= to || first >= to)
        return false;
    set_job(job, tiles - shared + tile, m, n, part ? 0 : (int) (from - first) * TILE_K,
            to - first < all ? (int) (to - first) * TILE_K : k, part);
    return true;
}

// The turn-th job of this block; false where it has none any more. Blocks that do not stay
// have one, for a split of k.
DEVICE_FN bool find_job(int turn, int m, int n, int k, struct job *job)
{
    const int tiles = count_tiles(m, n), tile = turn * STAY + BLOCK_X;
    const int rounds = tiles / STAY, part = SPLIT_K * CLUSTER > 1 ? BLOCK_Y : 0;

    if (TILE_SCHEDULER == DATA_PARALLEL && turn == 0)
        set_job(job, BLOCK_X, m, n, part_start(part, k), part_start(part + 1, k), -1);
    if (TILE_SCHEDULER == DATA_PARALLEL)
        return turn == 0;
    if (TILE_SCHEDULER == STREAM_K && turn >= rounds)
        return turn < rounds + 2 && find_part(turn - rounds, tiles, m, n, k, job);
    if (tile < tiles)
        set_job(job, tile, m, n, 0, k, -1);
    return tile < tiles;
}

// Where the accumulators of a part of a segment go: a tile, row by row.
DEVICE_FN GLOBAL real *part_of_segment(GLOBAL real *workspace, int block, int part)
{
    return workspace + (((wide) BLOCK_Z * STAY + block) * 2 + part) * AREA;
}

#if TILE_SCHEDULER == STREAM_K
// A block adds the parts of a slice of a shared tile, a thread 16 bytes of all of them or, where
// a tile has many, ADDERS_Y threads share them. Either way they are added in an order that
// depends on nothing but the sizes and the number of blocks.
//
// Launch: block (ADDERS_X, ADDERS_Y), grid (persistent blocks in mmt_gemm, any, batch).
#define ADDERS_X 32
#define ADDERS_Y 8
#define AT_ONCE  8            // parts that are on their way to a thread

// Add what the blocks from `b` on, but `end`, have of a shared tile; `at` is an element of it,
// `split` the block whose second part it is, if any's. Divisions take as long as reading, so
// whether a segment is empty is asked where there are fewer steps than blocks alone.
DEVICE_FN void add_segments(const GLOBAL real *workspace, int b, int end, int split, wide steps,
                        int at, real acc[MAX_VECTOR])
{
    NO_UNROLL
    for (; b < end; b += AT_ONCE) {
        real more[AT_ONCE][MAX_VECTOR] = { 0 };
        UNROLL
        for (int i = 0; i < AT_ONCE; i++) {
            if (b + i < end && (steps >= (wide) STAY ||
                                segment_start(b + i, steps) < segment_start(b + i + 1, steps)))
                READ_GLOBAL(real, more[i],
                            part_of_segment((GLOBAL real *) workspace, b + i, b + i == split) + at,
                            MAX_VECTOR, true);
        }
        UNROLL
        for (int i = 0; i < AT_ONCE; i++)
            UNROLL
            for (int e = 0; e < MAX_VECTOR; e++)
                acc[e] += more[i][e];
    }
}

KERNEL BLOCK_SIZE(ADDERS_X, ADDERS_Y)
void mmt_reduce_stream_k(int m, int n, int k, real alpha, real beta,
                  const GLOBAL real *scalars, wide scalars_start,
                  GLOBAL result *c, wide c_start, int ldc, wide c_stride,
                  const GLOBAL real *workspace, wide workspace_start,
                  const GLOBAL result *bias, wide bias_start)
{
    SHARED real others[ADDERS_Y][MAX_VECTOR][ADDERS_X];

    PDL_TRIGGER();
    PDL_WAIT();
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0;
    FIND_MATRIX(c, BLOCK_Z);

    const int tiles = count_tiles(m, n), shared = tiles % STAY, all = count_steps(k);
    const wide steps = (wide) all * shared;
    const int sharers = shared > 0 && STAY / shared >= 2 * ADDERS_Y ? ADDERS_Y : 1;
    const int x = THREAD_X, y = THREAD_Y % sharers;
    const int width = ADDERS_X * ADDERS_Y / sharers;      // vectors that a block adds at once
    const int place = THREAD_Y / sharers * ADDERS_X + x;
    const int rounds = (AREA / MAX_VECTOR - 1) / width + 1;   // of a tile
    const int blocks = STAY * GRID_Y;
    const int each = larger((shared * rounds + blocks - 1) / blocks, 1);    // of a slice
    const int slices = (rounds + each - 1) / each;

    NO_UNROLL
    for (int slice = BLOCK_Y * STAY + BLOCK_X; slice < shared * slices; slice += blocks) {
        const int tile = slice / slices, first = slice % slices * each;
        const wide from = (wide) tile * all;
        int top, left, begin = 0, count = 0, split = -1;

        place_tile(tiles - shared + tile, m, n, &top, &left);
        if (all > 0) {
            begin = segment_of(from, steps);
            count = segment_of(from + all - 1, steps) + 1 - begin;
            split = segment_start(begin, steps) < from ? begin : -1;
        }
        NO_UNROLL
        for (int round = first; round < smaller(first + each, rounds); round++) {
            const int at = (round * width + place) * MAX_VECTOR;
            const int row = top + at / TILE_N, column = left + at % TILE_N;
            const bool inside = at < AREA && row < m && column < n;
            real acc[MAX_VECTOR] = { 0 };

            if (inside)
                add_segments(workspace + workspace_start, begin + count * y / sharers,
                         begin + count * (y + 1) / sharers, split, steps, at, acc);
            if (sharers > 1) {
                UNROLL
                for (int e = 0; e < MAX_VECTOR; e++)
                    others[y][e][x] = acc[e];
                BARRIER();
                UNROLL
                for (int other = 1; other < ADDERS_Y; other++)
                    UNROLL
                    for (int e = 0; e < MAX_VECTOR; e++)
                        acc[e] += others[other][e][x];
                BARRIER();
            }
            GLOBAL result *to = c + c_start + BLOCK_Z * c_stride + (wide) row * ldc + column;
            if (inside && y == 0) {
                UNROLL
                for (int e = 0; e < MAX_VECTOR; e += C_VECTOR)
                    store(to + e, acc + e, C_VECTOR, n - column - e, ALIGNED, alpha, beta,
                          bias_of(bias + bias_start, row, column + e));
            }
        }
    }
}
#endif
