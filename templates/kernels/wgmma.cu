// wgmma - C = activation(alpha*op(A)*op(B) + beta*C + bias) on the tensor cores of sm_90a.
//
// Blocks are persistent and compute one TILE_M x TILE_N tile of C after the other. One thread asks
// TMA for tiles of A and B, TILE_K deep, which land in a pipeline of
// STAGES stages; CONSUMERS warpgroups multiply straight from there and keep their accumulators in
// registers. Two barriers a stage say where it stands:
//
//              empty[s]                          full[s]
//       +----------------------+        +------------------------+
//       v                      |        |                        v
//    producer --- TMA ---> [ stage s: A tile, B tile ] ---> consumers --> acc --> C
//
// Cooperative consumers share a tile, TILE_M / CONSUMERS rows each. In pingpong each has a tile
// of its own and they multiply in turn, so that one stores while the next multiplies. With
// OVERLAP_EPILOGUE cooperative ones, too, store a tile of C, in words of two, while the tensor
// cores are at the next.
//
// The blocks of a CLUSTER, RxC, compute neighbouring tiles: each fetches its part of what
// they have in common, and TMA hands it to all of them. RASTER_ORDER and TILE_SCHEDULER say which
// cluster computes which tiles, and when (wgmma_scheduler.h).
//
// Where C has few tiles, CLUSTER_K blocks of a cluster share each: a block sums up its split of
// k, then its part of the accumulators of all, which it reads from their shared memory. SPLIT_K
// clusters may share a tile besides: they leave their accumulators in the workspace, and
// mmt_reduce_splits adds them up. With TILE_SCHEDULER "stream_k" only those tiles are cut along k
// that would not fill all blocks. All is added in the same order each time.
//
// Of f32 the tensor cores multiply three bf16 for each number, and of i32 four bytes (pack.h,
// wgmma_tile.h). What does not come out finite is computed again as it is written (wgmma_store.h).
//
// Launch: mmt_pack, mmt_pack_a or mmt_pack_b where one is needed (pack.h); mmt_gemm, block
// (THREADS), grid (persistent blocks, whole clusters, or where tiles are shared all of them;
// SPLIT_K; batch); mmt_reduce_splits where SPLIT_K > 1 or with TILE_SCHEDULER "stream_k"
// (wgmma_accumulators.h).
//
// Helpers: hopper.h, wgmma_tile.h (the tensor cores), pack.h, wgmma_scheduler.h (who computes
// what), wgmma_store.h (from accumulators to C), wgmma_accumulators.h (which accumulators go
// there, and splits of k).

#ifndef SWAP
#define SWAP 0                // 1: compute the transpose of C
#endif
#ifndef PACK_A
#define PACK_A 0              // 1: A and its rows may be unaligned: it is packed
#endif
#ifndef PACK_B
#define PACK_B 0              // 1: the same of B
#endif
#ifndef TILE_M
#define TILE_M 128            // rows of a tile, 64 for each instruction
#endif
#ifndef TILE_N
#define TILE_N 256            // columns of a tile, all of them in one instruction
#endif
#ifndef TILE_K_BYTES
#define TILE_K_BYTES 128      // depth of a stage along k, in bytes: 128 or 256
#endif
#ifndef STAGES
#define STAGES 4              // stages of the pipeline
#endif
#ifndef CONSUMERS
#define CONSUMERS 2           // warpgroups that multiply
#endif
#ifndef SCHEDULE
#define SCHEDULE 0            // 0 cooperative, 1 pingpong
#endif
#ifndef CLUSTER
#define CLUSTER 21            // tiles of a cluster: 10 * below each other + side by side
#endif
#ifndef CLUSTER_K
#define CLUSTER_K 1           // blocks of a cluster that share a tile, each a split of k
#endif
#ifndef SPLIT_K
#define SPLIT_K 1             // clusters that share a tile, each a split of k: 1, or 2 for any more
#endif
#ifndef TILE_SCHEDULER
#define TILE_SCHEDULER 0      // clusters there are: 0 as many as run at once, 1 as few of
#endif                        // these as take no longer, 2 one a tile, 3 as 0, and a part
                              // of a round is shared by all
#ifndef RASTER_ORDER
#define RASTER_ORDER 0        // they get tiles along 0 rows, 1 columns, 2 a Hilbert curve;
#endif
#ifndef RASTER_GROUP
#define RASTER_GROUP 8        // so many rows or columns side by side
#endif
#ifndef WGMMA_PENDING
#define WGMMA_PENDING 1       // stages that the tensor cores may be behind
#endif
#ifndef PROMOTE
#define PROMOTE 0             // f8, f32: stages that the tensor cores sum up, in 14 bits or so
#endif                        // and without rounding, before full precision takes over; 1 with
                              // WGMMA_PENDING 1: it does while they are at the next 64 rows;
                              // other types: 0
#ifndef EPILOGUE_STAGES
#define EPILOGUE_STAGES 2     // pieces of C, 64 rows each, that a warpgroup has on their
#endif                        // way through shared memory; 0: C is stored from registers, or
                              // with PACK_A or PACK_B by rows (wgmma_store.h)
#ifndef L2_PROMOTION
#define L2_PROMOTION 128      // bytes that the L2 cache fetches at once: 0, 64, 128, 256;
#endif                        // the tensor maps of A and B say so
#ifndef TRANSPOSE_IN_REGISTERS
#define TRANSPOSE_IN_REGISTERS 0  // 1: the left operand, on its way to registers, not packed
#endif
#ifndef OVERLAP_EPILOGUE
#define OVERLAP_EPILOGUE 0    // C is stored while the next tile is multiplied
#endif

// Registers of a thread by role, where there is more than one consumer.
#define REGISTERS_PRODUCER (CONSUMERS == 2 ? 40 : 32)
#define REGISTERS_CONSUMER (CONSUMERS == 2 ? 232 : 160)

// ---- the pipeline -------------------------------------------------------------------------

// Addresses in shared memory: of the stages, of two barriers each, of what the producer tells
// beside each, and of the pieces, or each warp's patch, of C on their way out.
struct pipeline {
    unsigned stages, full, empty, jobs, pieces;
};

DEVICE_FN pipeline find_pipeline(unsigned stages)
{
    const unsigned pieces = stages + STAGES * BYTES_STAGE;
    const unsigned full = pieces + CONSUMERS * (EPILOGUE_STAGES * BYTES_PIECE + 4 * BYTES_PATCH);
    return { stages, full, full + 8 * STAGES, full + 16 * STAGES, pieces };
}

DEVICE_FN void start_pipeline(const pipeline &pipe)
{
    for (int s = 0; s < STAGES; s++) {
        barrier_init(pipe.full + 8 * s, 1);
        barrier_init(pipe.empty + 8 * s, OWNERS * 4 * MATES);   // a warp each
    }
    barriers_ready();
}

// Until the stage of that number is free, or has been filled.
DEVICE_FN void await_free(const pipeline &pipe, unsigned number)
{
    barrier_wait(pipe.empty + 8 * (number % STAGES), number / STAGES % 2 ^ 1);
}
DEVICE_FN void await_stage(const pipeline &pipe, unsigned number)
{
    barrier_wait(pipe.full + 8 * (number % STAGES), number / STAGES % 2);
}

// Tell all blocks that fetch for this one that the stage of that number is free.
DEVICE_FN void release(const problem &p, const pipeline &pipe, unsigned number, int lane)
{
    const unsigned empty = pipe.empty + 8 * (number % STAGES);
    if (MATES == 1 && lane == 0)
        barrier_arrive(empty);
    if (MATES > 1 && lane < MATES)
        barrier_arrive_at(empty, p.mates + lane);
}

// ---- jobs -----------------------------------------------------------------------------

// Where a tile begins in C and where in the workspace its accumulators go, or -1: the producer says
// so beside each stage. Consumers hear it when they have multiplied, and know how deep it is.
struct job {
    int row, column, part;
};

DEVICE_FN void tell(const pipeline &pipe, unsigned number, const job &job)
{
    const unsigned to = pipe.jobs + 16 * (number % STAGES);
    store_words(to, make_uint2(job.row, job.column));
    store_word(to + 8, job.part);
}

// A word of shared memory, the same for all threads. Once one of a warp has it all have read
// it, and its place is free.
DEVICE_FN int hear_word(unsigned from)
{
    return __shfl_sync(0xffffffff, (int) load_word(from), 0);
}

DEVICE_FN job hear(const pipeline &pipe, unsigned number)
{
    const unsigned from = pipe.jobs + 16 * (number % STAGES);
    return { hear_word(from), hear_word(from + 4), LEAVES ? hear_word(from + 8) : -1 };
}

// ---- the producer ---------------------------------------------------------------------

// The blocks that share what this one needs of left, side by side with it in the cluster, and those
// that share what it needs of right: a bit for each rank; 0: it is alone.
DEVICE_FN int blocks_beside(const problem &p)
{
    return CLUSTER_N > 1 ? ((1 << MATES) - 1) / ((1 << CLUSTER_M) - 1)
                               << (p.mates + p.mate % CLUSTER_M)
                         : 0;
}
DEVICE_FN int blocks_below(const problem &p)
{
    return CLUSTER_M > 1 ? ((1 << CLUSTER_M) - 1) << (p.mates + p.mate / CLUSTER_M * CLUSTER_M)
                         : 0;
}

// Fetch one of `parts` equal parts of the tile that begins at `line` and `depth`, for these
// `blocks`; of f32 that of each slice. `z` is the matrix that the map has there: of the first
// slices, where there are several.
DEVICE_FN void fetch(unsigned to, const tensor_map *map, int line, int depth, int z,
                     unsigned barrier, int part, int parts, int blocks, int tile,
                     bool deep)
{
    const int lines = LINES(tile, deep) / parts;
    const int x = deep ? depth : line, y = (deep ? line : depth) + part * lines;

    UNROLL
    for (int t = 0; t < TILES; t++)
        UNROLL
        for (int c = 0; c < CHUNKS(tile, deep); c++)
            copy_in(to + t * BYTES(tile, deep) +
                        (c * LINES(tile, deep) + part * lines) * LINE,
                    map, x + c * ATOM, y, z + t, barrier, blocks);
}

// Fetch the stages of a piece, from that number on. Where nothing is multiplied, one is filled
// with nothing.
DEVICE_FN void fetch_piece(const problem &p, const pipeline &pipe, const piece &w,
                           unsigned number, const tensor_map *left, const tensor_map *right)
{
    const place at = find_tile(p, w.tile, p.mate);
    const job job = { at.row, at.column, w.part };

    if (w.depth == 0) {
        await_free(pipe, number);
        tell(pipe, number, job);
        barrier_arrive(pipe.full + 8 * (number % STAGES));
    }
    NO_UNROLL
    for (int d = 0; d < w.depth; d++, number++) {
        const unsigned stage = pipe.stages + number % STAGES * BYTES_STAGE;
        const unsigned full = pipe.full + 8 * (number % STAGES);
        const int k = place_along_k(p, w.first + d);
        const slices first = first_slices(p, w.first + d);
        await_free(pipe, number);
        tell(pipe, number, job);
        barrier_expect(full, BYTES_STAGE);
        fetch(stage, left, at.row, k, BLOCK_Z * SLICES + first.left, full, p.mate / CLUSTER_M,
              CLUSTER_N, blocks_beside(p), TILE_M, LEFT_DEEP);
        fetch(stage + BYTES_LEFT, right, at.column, k, BLOCK_Z * SLICES + first.right, full,
              p.mate % CLUSTER_M, CLUSTER_M, blocks_below(p), TILE_N, RIGHT_DEEP);
    }
}

DEVICE_FN void produce(const problem &p, const pipeline &pipe, const tensor_map *left,
                       const tensor_map *right)
{
    const share mine = find_share(p);
    unsigned number = 0;

    NO_UNROLL
    for (int j = 0; j < mine.pieces; j++) {
        fetch_piece(p, pipe, find_piece(p, mine, j), number, left, right);
        number += max(depth_of(mine, j), 1);
    }
}

// ---- the consumers --------------------------------------------------------------------

// Pingpong: taking turns is also what keeps a warpgroup from mistaking the stages of
// another one's tile for its own, for a barrier tells odd rounds from even ones and no
// more.
DEVICE_FN void await_turn(int group)
{
    numbered_sync(1 + CONSUMERS + group, 256);
}

DEVICE_FN void give_turn(int group)
{
    numbered_arrive(1 + CONSUMERS + (group + 1) % CONSUMERS, 256);
}

// Start multiplying the stage of that number. Where there are sums of several weights, only its
// first product of slices: the others follow once the stage before it has been waited for and
// released, so that it is filled anew meanwhile, however few instructions the tensor cores take
// in advance.
DEVICE_FN void start_stage(real acc[GROWING][ACCUMULATORS], const pipeline &pipe,
                           unsigned long long left,
                          unsigned long long right, unsigned number, bool add)
{
    const unsigned at = number % STAGES * (BYTES_STAGE / 16);
    await_stage(pipe, number);
    multiply(acc, left + at, right + at, add, WEIGHTS > 1 ? FIRST : ALL);
}

DEVICE_FN void start_others(real acc[GROWING][ACCUMULATORS], unsigned long long left,
                            unsigned long long right, unsigned number, bool add)
{
    const unsigned at = number % STAGES * (BYTES_STAGE / 16);
    multiply(acc, left + at, right + at, add, OTHERS);
}

// Of a piece's `depth` stages, from that number on, add up those that follow the `first` ones, to
// what the accumulators hold if `add`; they are under way still. If nobody reads them `again`,
// all but the last one are released.
DEVICE_FN void add_stages(real acc[GROWING][ACCUMULATORS], const problem &p, const pipeline &pipe,
                         unsigned long long left, unsigned long long right, unsigned number,
                         int first, int depth, bool add, bool again, int lane)
{
    NO_UNROLL
    for (int d = first; d < depth; d++) {
        start_stage(acc, pipe, left, right, number + d, add || d > 0);
        if (again)
            continue;
        AWAIT_WGMMA(WGMMA_PENDING);
        if (WGMMA_PENDING ? d > 0 : d < depth - 1)
            release(p, pipe, number + d - WGMMA_PENDING, lane);
        if (WEIGHTS > 1)
            start_others(acc, left, right, number + d, add || d > 0);
    }
}

#if PROMOTE
// From what the tensor cores have summed up to full precision; of f32 without SCALE.
DEVICE_FN void add_part(real acc[ACCUMULATORS], real part[1][ACCUMULATORS])
{
    fence_accumulators(part);
    UNROLL
    for (int s = 0; s < ACCUMULATORS; s++)
#if defined(TYPE_F32)
        acc[s] = MULTIPLY_ADD(part[0][s], 1 / (SCALE * SCALE), acc[s]);
#else
        acc[s] += part[0][s];
#endif
}

#endif

#if TRANSPOSE_IN_REGISTERS
// The same from nothing, with a left tile that comes to registers by halves: one while the tensor
// cores are at the other. All stages but the last one are released. `block`: this warpgroup's
// first of 64 rows.
DEVICE_FN void consume_transposed(real acc[BLOCKS_M][ACCUMULATORS], const problem &p,
                                  const pipeline &pipe,
                              int block, unsigned long long right, unsigned number,
                              int depth, int lane)
{
    const unsigned tiles = pipe.stages + block * 64 / ATOM * TILE_K * LINE;
    unsigned front[HALF][BLOCKS_M][4], back[HALF][BLOCKS_M][4], at[4];
#if PROMOTE
    real part[BLOCKS_M][ACCUMULATORS];
#else
    real(*part)[ACCUMULATORS] = acc;
#endif

    clear(acc);
    find_words(at, THREAD_X % 128);
    take_words(front, tiles + number % STAGES * BYTES_STAGE, 0, at);
    NO_UNROLL
    for (int d = 0; d < depth; d++, number++) {
        const unsigned tile = tiles + number % STAGES * BYTES_STAGE;
        const unsigned next = tiles + (number + 1) % STAGES * BYTES_STAGE;
        const unsigned long long other = right + number % STAGES * (BYTES_STAGE / 16);

        multiply_words(part, front, other, 0, !PROMOTE);
        AWAIT_WGMMA(1);
        fence_words(back);
        if (d > 0)
            release(p, pipe, number - 1, lane);
        take_words(back, tile, HALF, at);

        multiply_words(part, back, other, HALF, true);
        AWAIT_WGMMA(1);
        fence_words(front);
        if (d < depth - 1) {
            await_stage(pipe, number + 1);
            take_words(front, next, 0, at);
        }
#if PROMOTE
        AWAIT_WGMMA(0);
        UNROLL
        for (int i = 0; i < BLOCKS_M; i++)
            add_part(acc[i], &part[i]);
#endif
    }
    AWAIT_WGMMA(0);
    fence_words(front);
    fence_words(back);
}
#endif

#if PROMOTE == 1 && WGMMA_PENDING
// A piece's units of work are its stages, each for one 64 rows after the other. Even ones and odd
// ones have registers of their own for their part of the accumulators. Start a unit; `number` is
// that of the piece's first stage.
DEVICE_FN void start_unit(real part[1][ACCUMULATORS], const pipeline &pipe, unsigned long long left,
                          unsigned long long right, unsigned number, int unit, bool odd)
{
    const int block = odd % BLOCKS_M;
    const unsigned stage = number + unit / BLOCKS_M, at = stage % STAGES * (BYTES_STAGE / 16);
    if (block == 0)
        await_stage(pipe, stage);
    multiply(part, left + operand(block, 0, TILE_M, LEFT_DEEP) + at, right + at, false);
}

// Start the unit after that one, and add up that one's part while the tensor cores are at it.
DEVICE_FN void pass_unit(real acc[BLOCKS_M][ACCUMULATORS],
                         real part[1][ACCUMULATORS], real next[1][ACCUMULATORS],
                         const problem &p, const pipeline &pipe, unsigned long long left,
                         unsigned long long right, unsigned number, int unit, bool odd,
                         int lane)
{
    const int block = odd % BLOCKS_M;
    start_unit(next, pipe, left, right, number, unit + 1, !odd);
    AWAIT_WGMMA(1);
    if (block == BLOCKS_M - 1)
        release(p, pipe, number + unit / BLOCKS_M, lane);
    add_part(acc[block], part);
}

// The same from nothing, and the last stage is done with, too. An even unit is under way where
// the loop begins and where it ends: ways that meet must agree on it. With two blocks of 64 rows
// the last unit is never even; yet without that way ptxas has each unit waited for.
DEVICE_FN void consume(real acc[BLOCKS_M][ACCUMULATORS], const problem &p, const pipeline &pipe,
                       unsigned long long left, unsigned long long right, unsigned number,
                       int depth, int lane)
{
    const int units = depth * BLOCKS_M;
    real even[1][ACCUMULATORS], odd[1][ACCUMULATORS];
    int unit = 0;

    clear(acc);
    if (depth == 0)
        return;
    start_unit(even, pipe, left, right, number, unit, false);
    NO_UNROLL
    for (; unit < units - 2; unit += 2) {
        pass_unit(acc, even, odd, p, pipe, left, right, number, unit, false, lane);
        pass_unit(acc, odd, even, p, pipe, left, right, number, unit + 1, true, lane);
    }
    if (unit < units - 1) {
        pass_unit(acc, even, odd, p, pipe, left, right, number, unit, false, lane);
        AWAIT_WGMMA(0);
        add_part(acc[BLOCKS_M - 1], odd);
    } else {
        AWAIT_WGMMA(0);
        add_part(acc[0], even);
    }
}
#elif PROMOTE
// The same from nothing. The tensor cores sum up PROMOTE stages at a time for each 64 rows in
// turn, and the last stage is done with, too.
DEVICE_FN void consume(real acc[BLOCKS_M][ACCUMULATORS], const problem &p, const pipeline &pipe,
                       unsigned long long left, unsigned long long right, unsigned number,
                       int depth, int lane)
{
    clear(acc);
    NO_UNROLL
    for (int rest = depth; rest > 0; rest -= PROMOTE, number += PROMOTE) {
        const int stages = min(rest, PROMOTE);
        UNROLL
        for (int i = 0; i < BLOCKS_M; i++) {
            const bool again = i < BLOCKS_M - 1;
            real part[1][ACCUMULATORS];
            add_stages(part, p, pipe, left + operand(i, 0, TILE_M, LEFT_DEEP), right, number, 0,
                      stages, false, again, lane);
            AWAIT_WGMMA(0);
            if (!again && rest > PROMOTE)
                release(p, pipe, number + PROMOTE - 1, lane);
            add_part(acc[i], part);
        }
    }
}
#elif PASSES > 1
// The same from nothing, of a piece that has its tile's stages from the `begin`-th on, and the last
// stage is done with, too. The products of one weight follow those of the weight above, 256 times
// as much, and so the accumulators grow by that in between.
DEVICE_FN void consume(real acc[BLOCKS_M][ACCUMULATORS], const problem &p, const pipeline &pipe,
                       unsigned long long left, unsigned long long right, unsigned number,
                       int begin, int depth, int lane)
{
    int done = 0, end = -begin;   // of the piece's stages; of those of a weight

    clear(acc);
    NO_UNROLL
    for (int products = SLICES; products > 0; products--) {
        end += products * stages_of_pass(p);
        const int next = min(max(end, 0), depth);
        shift(acc);
        add_stages(acc, p, pipe, left, right, number, done, next, true, false, lane);
        AWAIT_WGMMA(0);
        fence_accumulators(acc);
        done = next;
    }
}
#else
// The same from nothing.
DEVICE_FN void consume(real acc[GROWING][ACCUMULATORS], const problem &p, const pipeline &pipe,
                       unsigned long long left, unsigned long long right, unsigned number,
                       int depth, int lane)
{
    clear(acc);
    add_stages(acc, p, pipe, left, right, number, 0, depth, true, false, lane);
}
#endif

#if OVERLAP_EPILOGUE
// The same, and the last tile's C goes out meanwhile, a piece with each of the first stages, or
// first of all where there are fewer stages than pieces. All stages are done with: ptxas lets no
// two ways meet while sums are under way.
DEVICE_FN void consume_and_store(real acc[BLOCKS_M][ACCUMULATORS], const problem &p,
                                 const pipeline &pipe,
                                 unsigned long long left, unsigned long long right,
                                 unsigned number, int depth, int lane, const parcel &last,
                                 const tensor_map *map, unsigned stages, int thread, int group)
{
    if (depth < PARCEL_PIECES) {
        store_parcel(last, map, stages, thread, group);
        clear(acc);
        add_stages(acc, p, pipe, left, right, number, 0, depth, true, false, lane);
        AWAIT_WGMMA(0);
        fence_accumulators(acc);
        return;
    }
    UNROLL
    for (int d = 0; d < PARCEL_PIECES; d++) {
        start_stage(acc, pipe, left, right, number + d, d > 0);
        store_piece(last, d, map, stages, thread, group);
        AWAIT_WGMMA(WGMMA_PENDING);
        if (WGMMA_PENDING ? d > 0 : d < depth - 1)
            release(p, pipe, number + d - WGMMA_PENDING, lane);
    }
    add_stages(acc, p, pipe, left, right, number, PARCEL_PIECES, depth, true, false, lane);
    AWAIT_WGMMA(0);
    fence_accumulators(acc);
}
#endif

// Multiply this warpgroup's tiles, or its rows of the block's, and put them out.
DEVICE_FN void multiply_all(const problem &p, const pipeline &pipe, const output &out,
                            const tensor_map *map_c, real *workspace, int group)
{
    const int thread = THREAD_X % 128, lane = THREAD_X % 32;
    const int member = SCHEDULE ? thread : THREAD_X;      // of those that share a tile
    const int block = SCHEDULE ? 0 : group * BLOCKS_M;    // of 64 rows of it
    const unsigned long long left =
        describe(pipe.stages, LEFT_DEEP) + operand(block, 0, TILE_M, LEFT_DEEP);
    const unsigned long long right = describe(pipe.stages + BYTES_LEFT, RIGHT_DEEP);
    const share mine = find_share(p);
    real acc[WEIGHTS * BLOCKS_M][ACCUMULATORS];
    unsigned number = 0, first;
#if OVERLAP_EPILOGUE
    const unsigned pieces = pipe.pieces + group * EPILOGUE_STAGES * BYTES_PIECE;
    parcel last = {};   // not full
#endif

    if (SCHEDULE && group == CONSUMERS - 1)
        give_turn(group);
    NO_UNROLL
    for (int j = 0; j < mine.pieces; j++) {
        const int depth = depth_of(mine, j);
        first = number, number += max(depth, 1);
        if (SCHEDULE && j % TURNS != group)
            continue;
        if (SCHEDULE)
            await_turn(group);
        await_stage(pipe, first);
#if TRANSPOSE_IN_REGISTERS
        consume_transposed(acc, p, pipe, block, right, first, depth, lane);
#elif OVERLAP_EPILOGUE
        consume_and_store(acc, p, pipe, left, right, first, depth, lane, last, map_c, pieces,
                          thread, group);
#elif PASSES > 1
        consume(acc, p, pipe, left, right, first, find_piece(p, mine, j).first, depth, lane);
#else
        consume(acc, p, pipe, left, right, first, depth, lane);
#endif
        if (SCHEDULE)
            give_turn(group);
        if (!PROMOTE && !OVERLAP_EPILOGUE) {
            AWAIT_WGMMA(0);
            fence_accumulators(acc);
        }
        const job job = hear(pipe, number - 1);
        release(p, pipe, number - 1, lane);
#if WEIGHTS > 1
        add_weights(acc);
#endif

        const place tile = { job.row, job.column };
        real *part = 0;
        if (LEAVES && job.part >= 0)
            part = part_at(workspace, p, job.part, p.mate);
#if CLUSTER_K > 1
        numbered_sync(1, CONSUMERS * 128);   // the one tile of this block: the pipeline is free
        put_acc(acc, pipe.stages);
        cluster_sync(BLOCKS);
        put_out_shared(pipe.stages, p, out, tile, member, part);
#else
        put_out_all(acc, out, tile, pipe.pieces + THREAD_X / 32 * BYTES_PATCH, member, part);
#endif
#if OVERLAP_EPILOGUE
        fill_parcel(last, acc, { tile.row + block * 64, tile.column });
#elif EPILOGUE_STAGES
        if (!part)
            store_pieces(acc, map_c, pipe.pieces + group * EPILOGUE_STAGES * BYTES_PIECE,
                         { tile.row + block * 64, tile.column }, thread, group);
#endif
    }
#if OVERLAP_EPILOGUE
    store_parcel(last, map_c, pieces, thread, group);
#endif
    if (EPILOGUE_STAGES && thread == 0)
        AWAIT_COPIES_OUT(0);
}

// ---- the kernel -----------------------------------------------------------------------

KERNEL __launch_bounds__(THREADS, 1)
#if BLOCKS > 1
__cluster_dims__(BLOCKS, 1, 1)
#endif
void mmt_gemm(const __grid_constant__ tensor_map map_a,
              const __grid_constant__ tensor_map map_b,
#if EPILOGUE_STAGES
              const __grid_constant__ tensor_map map_c,
#endif
              int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              STORED_PARAMETERS
              GLOBAL result *c, wide c_start, int ldc, wide c_stride,
              const GLOBAL result *bias, wide bias_start,
              GLOBAL real *workspace, wide workspace_start)
{
    const int group = __shfl_sync(0xffffffff, THREAD_X / 128, 0);   // known to be uniform
    SHARED_TILES(stages);
    const pipeline pipe = find_pipeline(stages);

    PDL_TRIGGER();
    if (THREAD_X == 0) {
        if (!scalars && alpha != 0 && k > 0) {
            prefetch(&map_a);
            prefetch(&map_b);
        }
        start_pipeline(pipe);
    }
    cluster_sync(BLOCKS);
    PDL_WAIT();   // which packs, or made A, B or C

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    const problem p = find_problem(m, n, k, alpha, gridDim.y);
    if (group == CONSUMERS) {
        if (CONSUMERS > 1)
            FEWER_REGISTERS(REGISTERS_PRODUCER);
        if (THREAD_X % 128 == 0)
            produce(p, pipe, SWAP ? &map_b : &map_a, SWAP ? &map_a : &map_b);
        if (CLUSTER_K > 1)
            cluster_sync(BLOCKS);
    } else {
        if (CONSUMERS > 1)
            MORE_REGISTERS(REGISTERS_CONSUMER);
        const output out = find_output(p, alpha, beta, c + c_start, ldc, c_stride,
                                       bias + bias_start STORED_ARGUMENTS);
#if EPILOGUE_STAGES
        multiply_all(p, pipe, out, &map_c, workspace, group);
#else
        multiply_all(p, pipe, out, 0, workspace, group);
#endif
    }
    cluster_sync(BLOCKS);   // nothing of a block that others write to may be gone
}
