// Who computes what in wgmma.cu: the tiles of C, a cluster of blocks at a time, in which order
// and how clusters get them.
//
// RASTER_ORDER is the order. Clusters are numbered along rows or columns, RASTER_GROUP of these
// side by side, or along a Hilbert curve: whatever few follow each other then have few rows and
// columns of tiles in common, so that the cache holds what they need.
//
//      rows, RASTER_GROUP 2        hilbert
//      0  2  4  6           0  1 14 15
//      1  3  5  7           3  2 13 12
//      8 10 12 14           4  7  8 11
//      9 11 13 15           5  6  9 10
//
// TILE_SCHEDULER is how many clusters there are at a time. "persistent": as many as run at once,
// each takes one tile after the other. "balanced": the fewest of these that need no more rounds.
// "data_parallel": one for each tile. "stream_k": as persistent, but tiles that would fill only a
// part of a round are done first and cut along k, so that each cluster has as much of them as any
// other:
//
//      stages of      |--- tile 0 ---|--- tile 1 ---|--- tile 2 ---|
//      clusters      |-- 0 --|-- 1 --|-- 2 --|-- 3 --|-- 4 --|-- 5 --|
//
// What a cluster has of such a tile goes to the workspace, and mmt_reduce_splits adds it up. The
// same is done where SPLIT_K clusters share each tile.

#define BALANCED   (TILE_SCHEDULER == 1)
#define STREAM_K   (TILE_SCHEDULER == 3)
#define HILBERT     (RASTER_ORDER == 2)
#define LEAVES      (SPLIT_K > 1 || STREAM_K)     // accumulators in the workspace
#define LEAST_SEGMENT   4                              // stages that are worth a part of a tile

#if (CLUSTER_K > 1 || SPLIT_K > 1) && (SCHEDULE || EPILOGUE_STAGES || TILE_SCHEDULER)
#error "blocks that share a tile are cooperative, have one, and store from registers"
#endif
#if CLUSTER_K > 1 && BLOCKS_M * ACCUMULATORS % (2 * CLUSTER_K)
#error "blocks of CLUSTER_K store pairs of acc each"
#endif

struct problem {
    int rows, columns;           // of the product or its transpose
    int depth;                   // stages along k, of all passes through it
    int clusters_m, clusters_n;  // clusters of tiles
    int cluster, clusters;       // this one, of so many that deal with tiles
    int mates, mate;             // rank of the first block of those that fetch for each
                                 // other, and which one of them this is
    int split;                   // clusters that share a tile
    int part, parts;             // this block's split of k, of so many of each tile
    int cut, runs;               // runs: tiles that are cut, into so many runs
};

// Where a tile begins.
struct place {
    int row, column;
};

// What a cluster does of a tile: so many stages from the first one on, and where in the
// workspace it leaves the accumulators, or -1.
struct piece {
    int tile, first, depth, part;
};

DEVICE_FN int tiles_of(const problem &p)
{
    return p.clusters_m * p.clusters_n;
}

// `split`: clusters that share a tile, which a source that lets them share one does not know.
DEVICE_FN problem find_problem(int m, int n, int k, real alpha, int split)
{
    const int rank = cluster_rank(BLOCKS);
    problem p;

    p.rows = SWAP ? n : m;
    p.columns = SWAP ? m : n;
    p.depth = alpha == 0 ? 0 : (k + TILE_K - 1) / TILE_K * PASSES;
    p.clusters_m = (p.rows - 1) / (TILE_M * CLUSTER_M) + 1;
    p.clusters_n = (p.columns - 1) / (TILE_N * CLUSTER_N) + 1;
    p.cluster = BLOCK_X / BLOCKS;
    p.clusters = gridDim.x / BLOCKS;
    p.mate = rank % MATES;
    p.mates = rank - p.mate;
    p.split = SPLIT_K > 1 ? split : 1;
    p.part = BLOCK_Y * CLUSTER_K + rank / MATES;
    p.parts = p.split * CLUSTER_K;
    p.cut = p.runs = 0;
    if (BALANCED) {
        const int rounds = (tiles_of(p) - 1) / p.clusters + 1;
        p.clusters = (tiles_of(p) - 1) / rounds + 1;
    }
    if (STREAM_K && p.depth > 0) {
        p.cut = tiles_of(p) % p.clusters;
        p.runs = min(max(p.cut * p.depth / LEAST_SEGMENT, p.cut), p.clusters);
    }
    return p;
}

// Where the part-th split of k begins.
DEVICE_FN int part_begin(const problem &p, int part)
{
    return (int) ((wide) p.depth * part / p.parts);
}

// ---- passes through k -----------------------------------------------------------------

// Slices of an operand are numbered from 0 on. In each pass one of either is multiplied: those
// whose numbers add up to the most come first, and to more than the last slice's number none do.
//
//      pass     0  1  2  3  4  5  6  7  8  9
//      left     3  2  1  0  2  1  0  1  0  0
//      right    0  1  2  3  0  1  2  0  1  0
struct slices {
    int left, right;
};

DEVICE_FN slices slices_of(int pass)
{
    int both = SLICES - 1;
    for (; pass > both; both--)
        pass -= both + 1;
    return { both - pass, pass };
}

DEVICE_FN int stages_of_pass(const problem &p)
{
    return p.depth / PASSES;
}

// Where along k a tile's stage begins, and of which slices: the first ones, where it has several.
DEVICE_FN int place_along_k(const problem &p, int stage)
{
    return (PASSES > 1 ? stage % stages_of_pass(p) : stage) * TILE_K;
}

DEVICE_FN slices first_slices(const problem &p, int stage)
{
    return PASSES > 1 ? slices_of(stage / stages_of_pass(p)) : slices{ 0, 0 };
}

// ---- runs -----------------------------------------------------------------------------

// Stages of the cut tiles are numbered tile by tile. Runs have the same number of them, the
// first few one more, and none has more than a tile: there are as many runs as tiles or more.
DEVICE_FN int run_begin(const problem &p, int run)
{
    const int stages = p.cut * p.depth;
    return run * (stages / p.runs) + min(run, stages % p.runs);
}

DEVICE_FN int segment_of(const problem &p, int stage)
{
    const int stages = p.cut * p.depth, length = stages / p.runs, longer = stages % p.runs;
    return stage < longer * (length + 1) ? stage / (length + 1) : (stage - longer) / length;
}

// ---- pieces ---------------------------------------------------------------------------

// How many pieces this cluster has, and how many stages: first those of its segment, if there are
// any, then whole tiles.
struct share {
    int pieces, cut, first, last, rest;
};

DEVICE_FN share find_share(const problem &p)
{
    share mine = { 0, 0, 0, 0, 0 };
    if (p.cluster >= p.clusters)
        return mine;
    mine.rest = part_begin(p, p.part + 1) - part_begin(p, p.part);
    if (STREAM_K && p.cluster < p.runs) {
        const int begin = run_begin(p, p.cluster), end = run_begin(p, p.cluster + 1);
        const int from = begin / p.depth, to = (end - 1) / p.depth;
        mine.cut = to - from + 1;
        mine.first = min(end, (from + 1) * p.depth) - begin;
        mine.last = end - to * p.depth;
    }
    mine.pieces =
        mine.cut + (tiles_of(p) - p.cut - p.cluster + p.clusters - 1) / p.clusters;
    return mine;
}

// Stages of the j-th piece. No run has parts of more than two tiles.
DEVICE_FN int depth_of(const share &mine, int j)
{
    return j >= mine.cut ? mine.rest : j == 0 ? mine.first : mine.last;
}

// All of the j-th piece. From one run to the next, and from one tile to the next, the place in
// the workspace goes up by one.
DEVICE_FN piece find_piece(const problem &p, const share &mine, int j)
{
    piece w;
    w.depth = depth_of(mine, j);
    if (j < mine.cut) {
        const int begin = run_begin(p, p.cluster);
        w.tile = begin / p.depth + j;
        w.first = j > 0 ? 0 : begin % p.depth;
        w.part = p.cluster + w.tile;
    } else {
        w.tile = p.cut + p.cluster + (j - mine.cut) * p.clusters;
        w.first = part_begin(p, p.part);
        w.part = SPLIT_K > 1 ? w.tile * p.split + p.part / CLUSTER_K : -1;
    }
    return w;
}

// Tiles whose accumulators are in the workspace: the first ones.
DEVICE_FN int tiles_left(const problem &p)
{
    return SPLIT_K > 1 ? tiles_of(p) : p.cut;
}

// Where those of one are, `count` after each other.
DEVICE_FN int first_part(const problem &p, int tile, int *count)
{
    if (!STREAM_K) {
        *count = p.split;
        return tile * p.split;
    }
    const int run = segment_of(p, tile * p.depth);
    *count = segment_of(p, (tile + 1) * p.depth - 1) - run + 1;
    return run + tile;
}

// ---- the order ------------------------------------------------------------------------

// The i-th cell of a Hilbert curve through any rectangle. It leaves a corner along the
// longer side and ends at that side's other corner. A rectangle is cut until it is a line:
// a long one in two, else in three, of which the curve goes up one, along one and down one:
//
//      across |  +----------------+
//             |  |     second     |
//             |  +-------+--------+
//             |  | first | third  |
//             |  +-------+--------+
//             |         along
//
// Where it can be, what is cut off is even, so that the curve has no diagonal step.
DEVICE_FN place find_hilbert(int i, int width, int height)
{
    int x = 0, y = 0;                                        // where it begins
    int along = max(width, height), across = min(width, height);
    int along_x = width >= height, along_y = !along_x;       // one step along
    int across_x = along_y, across_y = along_x;

    while (along > 1 && across > 1) {
        const int half = along / 2, up = across / 2 + (across > 2 && across / 2 % 2);
        const int even = half + (along > 2 && half % 2);
        const int first = up * half, second = along * (across - up);
        const int t = along_x, u = along_y;
        if (2 * along > 3 * across) {
            if (i < even * across) {
                along = even;
            } else {
                i -= even * across;
                x += even * along_x, y += even * along_y;
                along -= even;
            }
        } else if (i < first) {
            along = up, across = half;
            along_x = across_x, along_y = across_y;
            across_x = t, across_y = u;
        } else if (i < first + second) {
            i -= first;
            x += up * across_x, y += up * across_y;
            across -= up;
        } else {
            i -= first + second;
            x += (along - 1) * along_x + (up - 1) * across_x;
            y += (along - 1) * along_y + (up - 1) * across_y;
            across = along - half, along = up;
            along_x = -across_x, along_y = -across_y;
            across_x = -t, across_y = -u;
        }
    }
    return across == 1 ? place{ y + i * along_y, x + i * along_x }
                       : place{ y + i * across_y, x + i * across_x };
}

// The same along rows or columns.
DEVICE_FN place find_grouped(int i, const problem &p)
{
    const int along = RASTER_ORDER ? p.clusters_m : p.clusters_n;
    const int across = RASTER_ORDER ? p.clusters_n : p.clusters_m;
    const int group = i / (RASTER_GROUP * along), rest = i % (RASTER_GROUP * along);
    const int lanes = min(RASTER_GROUP, across - group * RASTER_GROUP);
    const int x = rest / lanes, y = group * RASTER_GROUP + rest % lanes;
    return { RASTER_ORDER ? x : y, RASTER_ORDER ? y : x };
}

// Where a block's tile of the i-th cluster begins.
DEVICE_FN place find_tile(const problem &p, int i, int mate)
{
    const place at = HILBERT ? find_hilbert(i, p.clusters_n, p.clusters_m) : find_grouped(i, p);
    return { (at.row * CLUSTER_M + mate % CLUSTER_M) * TILE_M,
             (at.column * CLUSTER_N + mate / CLUSTER_M) * TILE_N };
}
