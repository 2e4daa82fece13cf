// wgmma - C = activation(alpha*op(A)*op(B) + beta*C + bias) on the tensor cores of sm_90a.
//
// Blocks stay and compute one TILE_M x TILE_N tile of C after the other. One thread asks
// the copy engine (TMA) for tiles of A and B, TILE_K deep, which land in a ring of
// STAGES slots; CONSUMERS warpgroups multiply straight from there and keep their sums in
// registers. Two barriers a slot say where it stands:
//
//              empty[s]                          full[s]
//       +----------------------+        +------------------------+
//       v                      |        |                        v
//    producer --- TMA ---> [ slot s: A tile, B tile ] ---> consumers --> sums --> C
//
// Cooperative consumers share a tile, TILE_M / CONSUMERS rows each. In pingpong each has
// a tile of its own and they multiply in turn, so that one stores while the next
// multiplies.
//
// The blocks of a CLUSTER, RxC, compute neighbouring tiles: each fetches its part of what
// they have in common, and the engine hands it to all of them.
//
// Where C has few tiles, CLUSTER_K blocks of a cluster share each: a block sums up its
// part of k, then its part of the sums of all, which it reads from their shared memory.
// SPLIT_K clusters may share a tile besides: they leave their sums in the workspace, and
// mmt_add_parts adds them up. All is added in the same order each time.
//
// "Left" and "right" name the operands of the instruction: A and B, or with SWAP, which
// computes the transpose of C, B and A: then a tile's rows are columns of C, which suits
// an A of few rows. An operand that runs along k is "deep": its tile holds lines of 128
// bytes along k. The other kind holds chunks, 128 bytes wide, of TILE_K rows. The engine
// swizzles both as the tensor cores expect it. Elements that are not of 2 bytes must be
// deep: those that are stored otherwise are turned into the workspace first.
//
// Launch: mmt_turn_a, mmt_turn_b where they are needed, block (THREADS_TURN), grid
// (ceil(rows/TURN) * ceil(columns/TURN), 1, batch); mmt_gemm, block (THREADS), grid
// (blocks that stay, whole clusters, or where tiles are shared all of them; SPLIT_K;
// batch); mmt_add_parts where SPLIT_K > 1. Helpers: hopper.h, turn.h.

#ifndef SWAP
#define SWAP 0                // 1: compute the transpose of C
#endif
#ifndef TILE_M
#define TILE_M 128            // rows of a tile, 64 for each instruction
#endif
#ifndef TILE_N
#define TILE_N 256            // columns of a tile, all of them in one instruction
#endif
#ifndef DEPTH
#define DEPTH 1               // depth of a slot in units of 128 bytes
#endif
#ifndef STAGES
#define STAGES 4              // slots of the ring
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
#define CLUSTER_K 1           // blocks of a cluster that share a tile, each a part of k
#endif
#ifndef SPLIT_K
#define SPLIT_K 1             // clusters that share a tile, each a part of k
#endif
#ifndef WALK
#define WALK 0                // clusters are dealt along 0 rows, 1 columns,
#endif
#ifndef GROUP
#define GROUP 8               // so many of these side by side
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 1           // slots that the tensor cores may be behind
#endif
#ifndef PROMOTE
#define PROMOTE 0             // f8: slots that the tensor cores sum up, in 14 bits or so,
#endif                        // before full precision takes over; other types: 0
#ifndef STORE_SLOTS
#define STORE_SLOTS 2         // pieces of C, 64 rows each, that a warpgroup has on their
#endif                        // way through shared memory; 0: C is stored from registers
#ifndef L2_PROMOTION
#define L2_PROMOTION 128      // bytes that the L2 cache fetches at once: 0, 64, 128, 256;
#endif                        // the maps of A and B say so

#if defined(TYPE_TF32)
#define SIZE 4                // bytes of an element
#elif defined(TYPE_BF16) || defined(TYPE_F16)
#define SIZE 2
#else
#define SIZE 1
#endif
#if defined(OUT_BF16) || defined(OUT_F16)
#define RESULT_SIZE 2         // bytes of an element of C
#else
#define RESULT_SIZE 4
#endif

#define LINE      128                           // bytes of a line of a tile
#define ATOM      (LINE / SIZE)                 // elements of a line
#define TILE_K    (ATOM * DEPTH)
#define WGMMA_K   (32 / SIZE)                   // depth of one instruction
#define STEPS     (TILE_K / WGMMA_K)
#define OWNERS    (SCHEDULE ? 1 : CONSUMERS)    // warpgroups that share a tile
#define TURNS     (SCHEDULE ? CONSUMERS : 1)    // tiles that a block has at work
#define BLOCKS_M  (TILE_M / 64 / OWNERS)        // instructions below each other
#define SUMS      (TILE_N / 2)                  // registers that each of them adds to
#define THREADS   (CONSUMERS * 128 + (CONSUMERS == 1 ? 32 : 128))
#define CLUSTER_M (CLUSTER / 10)                // blocks that share what they need of
#define CLUSTER_N (CLUSTER % 10)                // right, and of left
#define MATES     (CLUSTER_M * CLUSTER_N)
#define BLOCKS    (MATES * CLUSTER_K)           // of a cluster
#define PARTS     (CLUSTER_K * SPLIT_K)         // of k

#define TURN_A     (SIZE != 2 && TRANS_A)
#define TURN_B     (SIZE != 2 && !TRANS_B)
#define LEFT_DEEP  (SIZE != 2 || (SWAP ? TRANS_B : !TRANS_A))
#define RIGHT_DEEP (SIZE != 2 || (SWAP ? !TRANS_A : TRANS_B))
#define CHUNKS(tile, deep) ((deep) ? DEPTH : ((tile) + ATOM - 1) / ATOM)
#define LINES(tile, deep)  ((deep) ? (tile) : TILE_K)             // of a chunk
#define BYTES(tile, deep)  (CHUNKS(tile, deep) * LINES(tile, deep) * LINE)
#define BYTES_LEFT  BYTES(TILE_M, LEFT_DEEP)
#define BYTES_SLOT  (BYTES_LEFT + BYTES(TILE_N, RIGHT_DEEP))

// A piece of C on its way out: 64 lines of at most 128 bytes that divide TILE_N.
#define LINE_C      (TILE_N * RESULT_SIZE % 128 == 0  ? 128                                \
                     : TILE_N * RESULT_SIZE % 64 == 0 ? 64                                 \
                     : TILE_N * RESULT_SIZE % 32 == 0 ? 32                                 \
                                                      : 16)
#define PIECE_N     (LINE_C / RESULT_SIZE)
#define PIECES      (TILE_N / PIECE_N)          // beside each other
#define BYTES_PIECE (64 * LINE_C)

// Registers of a thread by role, where there is more than one consumer.
#define REGISTERS_PRODUCER (CONSUMERS == 2 ? 40 : 32)
#define REGISTERS_CONSUMER (CONSUMERS == 2 ? 232 : 160)

#if CLUSTER_K * SPLIT_K > 1 && (SCHEDULE || STORE_SLOTS) ||                                \
    CLUSTER_K > 1 && BLOCKS_M * SUMS % (2 * CLUSTER_K)
#error "blocks that share a tile are cooperative and store pairs of sums from registers"
#endif
#if TILE_M % (64 * OWNERS) || TILE_N % 8 || TILE_N > 256
#error "a warpgroup needs whole blocks of 64 rows and a multiple of 8 columns up to 256"
#endif

// ---- waiting for each other -----------------------------------------------------------

// Numbered barriers: among the threads of a warpgroup; among all that multiply, where
// warpgroups do not sync by themselves besides.
DEVICE_FN void group_sync(int group)
{
    numbered_sync(1 + group, 128);
}

DEVICE_FN void consumers_sync(void)
{
    numbered_sync(1, CONSUMERS * 128);
}

// Pingpong: taking turns is also what keeps a warpgroup from mistaking the slots of
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

// ---- the ring -------------------------------------------------------------------------

// Fetch one of `parts` equal parts of the tile that begins at `line` and `depth`, for
// that many blocks from the one of rank `first` on.
DEVICE_FN void fetch(unsigned to, const tensor_map *map, int line, int depth, int z,
                     unsigned barrier, int part, int parts, int first, int tile,
                     bool deep)
{
    const int lines = LINES(tile, deep) / parts;
    const int blocks = parts > 1 ? ((1 << parts) - 1) << first : 0;
    const int x = deep ? depth : line, y = (deep ? line : depth) + part * lines;

    UNROLL
    for (int c = 0; c < CHUNKS(tile, deep); c++)
        copy_in(to + (c * LINES(tile, deep) + part * lines) * LINE, map, x + c * ATOM, y, z,
                barrier, blocks);
}

// ---- the tensor cores -----------------------------------------------------------------

#if defined(TYPE_BF16)
#define WGMMA_TYPES "k16.f32.bf16.bf16"
#elif defined(TYPE_F16)
#define WGMMA_TYPES "k16.f32.f16.f16"
#elif defined(TYPE_TF32)
#define WGMMA_TYPES "k8.f32.tf32.tf32"
#elif defined(TYPE_F8E4M3)
#define WGMMA_TYPES "k32.f32.e4m3.e4m3"
#elif defined(TYPE_F8E5M2)
#define WGMMA_TYPES "k32.f32.e5m2.e5m2"
#else
#define WGMMA_TYPES "k32.s32.s8.s8"
#endif
#if SIZE == 2 && LEFT_DEEP && RIGHT_DEEP
#define WGMMA_SIGNS ", 1, 1, 0, 0"     // neither is negated; which of them is not deep
#elif SIZE == 2 && LEFT_DEEP
#define WGMMA_SIGNS ", 1, 1, 0, 1"
#elif SIZE == 2 && RIGHT_DEEP
#define WGMMA_SIGNS ", 1, 1, 1, 0"
#elif SIZE == 2
#define WGMMA_SIGNS ", 1, 1, 1, 1"
#elif defined(TYPE_I8)
#define WGMMA_SIGNS ""
#else
#define WGMMA_SIGNS ", 1, 1"
#endif
#if defined(TYPE_I8)
#define SUM_TO_WORD(x) (x)
#define WORD_TO_SUM(x) (x)
#else
#define SUM_TO_WORD(x) BITS_OF_FLOAT(x)
#define WORD_TO_SUM(x) FLOAT_OF_BITS(x)
#endif
#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

// How the tensor cores find a swizzled tile at that address of shared memory: groups of 8
// lines stand 1024 bytes apart, chunks as far as they are long. All in units of 16 bytes.
DEVICE_FN unsigned long long describe(unsigned address, bool deep)
{
    const unsigned long long swizzled = 1ull << 62, groups = 1024 / 16,
                             chunks = deep ? 1 : TILE_K * LINE / 16;
    return swizzled | groups << 32 | chunks << 16 | (address & 0x3ffff) / 16;
}

// Where in a tile, in units of 16 bytes, the operand of an instruction begins.
DEVICE_FN int operand(int block, int step, int tile, bool deep)
{
    if (deep)
        return (step / 4 * tile + block * 64) * LINE / 16 + step % 4 * 2;
    return (block * 64 / ATOM * TILE_K + step * WGMMA_K) * LINE / 16;
}

// Start multiplying the tiles of a slot, and add to what the sums hold if `add`.
DEVICE_FN void multiply(real sum[BLOCKS_M][SUMS], unsigned long long left,
                        unsigned long long right, bool add)
{
    wgmma_begin();
    UNROLL
    for (int s = 0; s < STEPS; s++)
        UNROLL
        for (int i = 0; i < BLOCKS_M; i++)
            WGMMA("m64n" TEXT(TILE_N) WGMMA_TYPES, WGMMA_SIGNS, sum[i],
                  left + operand(i, s, TILE_M, LEFT_DEEP),
                  right + operand(0, s, TILE_N, RIGHT_DEEP), add || s > 0);
    wgmma_end();
}

DEVICE_FN void settle(real sum[BLOCKS_M][SUMS])
{
    UNROLL
    for (int s = 0; s < BLOCKS_M * SUMS; s++)
        settle_sum(sum[s / SUMS][s % SUMS]);
}

DEVICE_FN void clear(real sum[BLOCKS_M][SUMS])
{
    UNROLL
    for (int s = 0; s < BLOCKS_M * SUMS; s++)
        sum[s / SUMS][s % SUMS] = 0;
}

// ---- tiles ----------------------------------------------------------------------------

// The product or its transpose; this block's slots along k, so many from the first one
// on; clusters of tiles; the blocks that fetch for each other: the rank of the first of
// them, and which one this is.
struct problem {
    int rows, columns, first, depth, clusters_m, clusters_n, mates, mate;
};

// Where a tile begins.
struct place {
    int row, column;
};

// This block's tile of the i-th cluster.
DEVICE_FN place find_tile(const problem &p, int i)
{
    const int along = WALK ? p.clusters_m : p.clusters_n;
    const int across = WALK ? p.clusters_n : p.clusters_m;
    const int group = i / (GROUP * along), rest = i % (GROUP * along);
    const int lanes = min(GROUP, across - group * GROUP);
    const int x = rest / lanes, y = group * GROUP + rest % lanes;
    const int m = WALK ? x : y, n = WALK ? y : x;
    return { (m * CLUSTER_M + p.mate % CLUSTER_M) * TILE_M,
             (n * CLUSTER_N + p.mate / CLUSTER_M) * TILE_N };
}

// ---- the workspace --------------------------------------------------------------------

// For all matrices of the batch: A turned, B turned, the sums of SPLIT_K clusters. Rows
// of the former begin at multiples of 16 bytes, those of the latter hold pairs.
DEVICE_FN int turned_ld(int k)
{
    return (k + 16 / SIZE - 1) / (16 / SIZE) * (16 / SIZE);
}

DEVICE_FN int parts_ld(int n)
{
    return (n + 1) / 2 * 2;
}

DEVICE_FN real *parts_at(real *workspace, int m, int n, int k, int part)
{
    const wide lines = (wide) gridDim.z * ((TURN_A ? m : 0) + (TURN_B ? n : 0));
    real *parts = (real *) ((element *) workspace + lines * turned_ld(k));
    return parts + ((wide) BLOCK_Z * SPLIT_K + part) * m * parts_ld(n);
}

// ---- the way out ----------------------------------------------------------------------

struct output {
    int rows, columns;
    real alpha, beta;
    result *c;
    const result *bias;
    int ldc;
    bool pairs;        // any two neighbours at an even column may be stored at once
    real *parts;       // SPLIT_K: where this cluster's sums go, a matrix like C
    int ld_parts;
};

// From a sum to what C gets in row i and column j, if it is inside.
DEVICE_FN real finished(real x, const output &out, int i, int j, bool inside)
{
    x *= out.alpha;
    if (out.beta != 0 && inside)
        x = MULTIPLY_ADD(out.beta, from_result(out.c[(wide) i * out.ldc + j]), x);
    if (BIAS && inside)
        x += bias_at(out.bias, i, j);
    return activate(x);
}

// Two neighbouring sums, of row r and columns q and q + 1 of the product or its transpose.
DEVICE_FN void finish(real *x, const output &out, int r, int q)
{
    UNROLL
    for (int e = 0; e < 2; e++)
        x[e] = finished(x[e], out, SWAP ? q + e : r, SWAP ? r : q + e,
                        r < out.rows && q + e < out.columns);
}

// Two neighbours as words of C's type; in 16 bits both are in the first.
DEVICE_FN uint2 pack(const real *x)
{
#if defined(OUT_BF16)
    return make_uint2(pair_of_bf16(x[0], x[1]), 0);
#elif defined(OUT_F16)
    return make_uint2(pair_of_f16(x[0], x[1]), 0);
#else
    return make_uint2(SUM_TO_WORD(x[0]), SUM_TO_WORD(x[1]));
#endif
}

// Store two neighbouring elements from registers.
DEVICE_FN void store(const real *x, const output &out, int r, int q)
{
    if (r >= out.rows)
        return;
    result *c = SWAP ? out.c + (wide) q * out.ldc + r : out.c + (wide) r * out.ldc + q;
    if (!SWAP && out.pairs && q + 1 < out.columns) {
        if (RESULT_SIZE == 4)
            *(uint2 *) c = pack(x);
        else
            *(unsigned *) c = pack(x).x;
        return;
    }
    if (q < out.columns)
        c[0] = to_result(x[0]);
    if (q + 1 < out.columns)
        c[SWAP ? out.ldc : 1] = to_result(x[1]);
}

// Where the s-th of a thread's sums stands in a warpgroup's part of the tile. Each four
// of an instruction's are two neighbours of a row and of the row 8 further down; the
// next four are 8 columns further.
DEVICE_FN int row_of(int s, int thread)
{
    return s / SUMS * 64 + thread / 32 * 16 + thread % 32 / 4 + s % 4 / 2 * 8;
}

DEVICE_FN int column_of(int s, int thread)
{
    return s % SUMS / 4 * 8 + thread % 4 * 2 + s % 2;
}

// Leave two neighbouring sums in the workspace.
DEVICE_FN void store_part(const real *x, const output &out, int r, int q)
{
    UNROLL
    for (int e = 0; e < 2; e++)
        if (r < out.rows && q + e < out.columns)
            out.parts[SWAP ? (wide) (q + e) * out.ld_parts + r
                           : (wide) r * out.ld_parts + q + e] = x[e];
}

// Finish two neighbouring sums and, unless C goes through shared memory, store them.
DEVICE_FN void put_out(real *x, const output &out, int r, int q)
{
    if (SPLIT_K > 1) {
        store_part(x, out, r, q);
    } else {
        finish(x, out, r, q);
        if (STORE_SLOTS == 0)
            store(x, out, r, q);
    }
}

DEVICE_FN void put_out_all(real sum[BLOCKS_M][SUMS], const output &out, int row, int column,
                           int thread)
{
    UNROLL
    for (int s = 0; s < BLOCKS_M * SUMS; s += 2)
        put_out(&sum[s / SUMS][s % SUMS], out, row + row_of(s, thread),
                column + column_of(s, thread));
}

#if CLUSTER_K > 1
// Sums in shared memory: a line for each of a thread's, a column for each thread.
DEVICE_FN unsigned sum_at(unsigned sums, int s)
{
    return sums + 4 * (s * CONSUMERS * 128 + THREAD_X);
}

DEVICE_FN void put_sums(real sum[BLOCKS_M][SUMS], unsigned to)
{
    UNROLL
    for (int s = 0; s < BLOCKS_M * SUMS; s++)
        store_word(sum_at(to, s), SUM_TO_WORD(sum[s / SUMS][s % SUMS]));
}

DEVICE_FN real get_sum(unsigned from, int s, int block)
{
    return WORD_TO_SUM(load_word_of(sum_at(from, s), block));
}

// Add up and put out this block's part of the sums of all that share its tile.
DEVICE_FN void put_out_part(unsigned from, const problem &p, const output &out, int row,
                            int column, int thread)
{
    const int part = BLOCKS_M * SUMS / CLUSTER_K;
    UNROLL
    for (int i = 0; i < part; i += 2) {
        const int s = p.mates / MATES * part + i;
        real x[2] = { 0, 0 };
        UNROLL
        for (int b = 0; b < CLUSTER_K; b++) {
            x[0] += get_sum(from, s, p.mate + b * MATES);
            x[1] += get_sum(from, s + 1, p.mate + b * MATES);
        }
        put_out(x, out, row + row_of(s, thread), column + column_of(s, thread));
    }
}
#endif

#if STORE_SLOTS
// A byte of a piece of C, swizzled as the engine undoes it.
DEVICE_FN unsigned swizzle(unsigned at)
{
    return at ^ at / 8 % LINE_C / 16 * 16;
}

// Write a warpgroup's piece of C, whose first sum is *sum, to shared memory.
DEVICE_FN void write_piece(unsigned to, const real *sum, int thread)
{
    const int lane = thread % 32, row = thread / 32 * 16;
#if RESULT_SIZE == 2
    const int line = (row + lane % 16) * LINE_C;
    UNROLL
    for (int j = 0; j < PIECE_N; j += 16, sum += 8)
        if (PIECE_N >= 16)
            store_matrices(to + swizzle(line + j * 2 + lane / 16 * 16), pack(sum).x,
                           pack(sum + 2).x, pack(sum + 4).x, pack(sum + 6).x);
        else
            store_matrices(to + line, pack(sum).x, pack(sum + 2).x);
#else
    UNROLL
    for (int s = 0; s < PIECE_N / 2; s += 2) {
        const int line = (row + lane / 4 + s % 4 * 4) * LINE_C;
        store_words(to + swizzle(line + s / 4 * 32 + lane % 4 * 8), pack(sum + s));
    }
#endif
}

// Store a warpgroup's sums through its slots, as many pieces at a time.
DEVICE_FN void store_pieces(real sum[BLOCKS_M][SUMS], const tensor_map *map, unsigned slots,
                            int row, int column, int thread, int group)
{
    UNROLL
    for (int p = 0; p < BLOCKS_M * PIECES; p++) {
        const int slot = p % STORE_SLOTS;
        if (slot == 0) {
            if (thread == 0)
                await_copies_out();
            group_sync(group);
        }
        write_piece(slots + slot * BYTES_PIECE, &sum[p / PIECES][p % PIECES * PIECE_N / 2],
                    thread);
        if (slot < STORE_SLOTS - 1 && p < BLOCKS_M * PIECES - 1)
            continue;
        shared_ready();
        group_sync(group);
        if (thread == 0)
            UNROLL
            for (int q = p - slot; q <= p; q++)
                copy_out(map, column + q % PIECES * PIECE_N, row + q / PIECES * 64, BLOCK_Z,
                         slots + q % STORE_SLOTS * BYTES_PIECE);
    }
}
#endif

// ---- the roles ------------------------------------------------------------------------

// Addresses in shared memory.
struct ring {
    unsigned slots, full, empty;
};

// Fetch what all tiles of this block need, slot after slot.
DEVICE_FN void produce(const problem &p, const ring &ring, const tensor_map *left,
                       const tensor_map *right)
{
    unsigned number = 0;

    NO_UNROLL
    for (int i = BLOCK_X / BLOCKS; i < p.clusters_m * p.clusters_n;
         i += gridDim.x / BLOCKS) {
        const place at = find_tile(p, i);
        NO_UNROLL
        for (int d = 0; d < p.depth; d++, number++) {
            const unsigned s = number % STAGES, slot = ring.slots + s * BYTES_SLOT;
            const unsigned full = ring.full + 8 * s;
            barrier_wait(ring.empty + 8 * s, number / STAGES % 2 ^ 1);
            barrier_expect(full, BYTES_SLOT);
            const int k = (p.first + d) * TILE_K;
            fetch(slot, left, at.row, k, BLOCK_Z, full, p.mate / CLUSTER_M, CLUSTER_N,
                  p.mates, TILE_M, LEFT_DEEP);
            fetch(slot + BYTES_LEFT, right, at.column, k, BLOCK_Z, full, p.mate % CLUSTER_M,
                  CLUSTER_M, p.mates, TILE_N, RIGHT_DEEP);
        }
    }
}

// Tell all blocks that fetch for this one that the slot of that number is free.
DEVICE_FN void release(const problem &p, const ring &ring, unsigned number, int lane)
{
    const unsigned empty = ring.empty + 8 * (number % STAGES);
    if (MATES == 1 && lane == 0)
        barrier_arrive(empty);
    if (MATES > 1 && lane < MATES)
        barrier_arrive_at(empty, p.mates + lane);
}

// Sum up one tile's slots, from that number on.
DEVICE_FN void consume(real sum[BLOCKS_M][SUMS], const problem &p, const ring &ring,
                       unsigned long long left, unsigned long long right, unsigned number,
                       int lane)
{
#if PROMOTE
    real part[BLOCKS_M][SUMS];
#endif
    clear(sum);
    NO_UNROLL
    for (int d = 0; d < p.depth; d++, number++) {
        const unsigned s = number % STAGES, at = s * (BYTES_SLOT / 16);
        barrier_wait(ring.full + 8 * s, number / STAGES % 2);
#if PROMOTE
        multiply(part, left + at, right + at, d % PROMOTE);
        AWAIT_WGMMA(0);
        release(p, ring, number, lane);
        if (d % PROMOTE < PROMOTE - 1 && d < p.depth - 1)
            continue;
        settle(part);
        UNROLL
        for (int i = 0; i < BLOCKS_M * SUMS; i++)
            sum[i / SUMS][i % SUMS] += part[i / SUMS][i % SUMS];
#else
        multiply(sum, left + at, right + at, true);
        AWAIT_WGMMA(IN_FLIGHT);
        if (d >= IN_FLIGHT)
            release(p, ring, number - IN_FLIGHT, lane);
#endif
    }
}

// ---- turning --------------------------------------------------------------------------

#if TURN_A
KERNEL __launch_bounds__(THREADS_TURN)
void mmt_turn_a(int m, int k, const GLOBAL element *a, wide a_start, int lda, wide a_stride,
                GLOBAL real *workspace, wide workspace_start)
{
    const wide size = (wide) m * turned_ld(k);
    turn((unsigned *) ((element *) workspace + BLOCK_Z * size), turned_ld(k),
         (const unsigned *) (a + a_start + BLOCK_Z * a_stride), lda, k, m);
}
#endif

#if TURN_B
// Behind A where it is turned too.
KERNEL __launch_bounds__(THREADS_TURN)
void mmt_turn_b(int m, int n, int k, const GLOBAL element *b, wide b_start, int ldb,
                wide b_stride, GLOBAL real *workspace, wide workspace_start)
{
    const wide size = (wide) n * turned_ld(k);
    const wide before = TURN_A ? (wide) gridDim.z * m * turned_ld(k) : 0;
    turn((unsigned *) ((element *) workspace + before + BLOCK_Z * size), turned_ld(k),
         (const unsigned *) (b + b_start + BLOCK_Z * b_stride), ldb, k, n);
}
#endif

// ---- adding up ------------------------------------------------------------------------

#if SPLIT_K > 1
#define THREADS_ADD 128

// Two neighbours of C a thread.
KERNEL __launch_bounds__(THREADS_ADD)
void mmt_add_parts(int m, int n, int k, real alpha, real beta,
                   const GLOBAL real *scalars, wide scalars_start,
                   GLOBAL result *c, wide c_start, int ldc, wide c_stride,
                   const GLOBAL result *bias, wide bias_start,
                   GLOBAL real *workspace, wide workspace_start)
{
    const int pairs = parts_ld(n) / 2;
    const wide at = (wide) BLOCK_X * THREADS_ADD + THREAD_X, all = (wide) m * pairs;
    if (at >= all)
        return;

    const real2 *from = (const real2 *) parts_at(workspace, m, n, k, 0) + at;
    real x[2] = { 0, 0 };
    UNROLL
    for (int part = 0; part < SPLIT_K; part++, from += all)
        x[0] += from->x, x[1] += from->y;

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    const int row = (int) (at / pairs), column = (int) (at % pairs) * 2;
    const output out = { m, n, alpha, beta, c + c_start + BLOCK_Z * c_stride,
                         bias + bias_start, ldc };
    for (int e = 0; e < 2 && column + e < n; e++) {
        real y = finished(x[e], out, row, column + e, true);
        out.c[(wide) row * ldc + column + e] = to_result(y);
    }
}
#endif

// ---- the kernel -----------------------------------------------------------------------

KERNEL __launch_bounds__(THREADS, 1)
#if BLOCKS > 1
__cluster_dims__(BLOCKS, 1, 1)
#endif
void mmt_gemm(const __grid_constant__ tensor_map map_a,
              const __grid_constant__ tensor_map map_b,
#if STORE_SLOTS
              const __grid_constant__ tensor_map map_c,
#endif
              int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              GLOBAL result *c, wide c_start, int ldc, wide c_stride,
              const GLOBAL result *bias, wide bias_start,
              GLOBAL real *workspace, wide workspace_start)
{
    const int thread = THREAD_X % 128, lane = THREAD_X % 32, rank = cluster_rank(BLOCKS);
    const int group = __shfl_sync(0xffffffff, THREAD_X / 128, 0);   // known to be uniform
    SHARED_TILES(slots);
    const unsigned store_slots = slots + STAGES * BYTES_SLOT;
    const unsigned full = store_slots + CONSUMERS * STORE_SLOTS * BYTES_PIECE;
    const ring ring = { slots, full, full + 8 * STAGES };

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    const int rows = SWAP ? n : m, columns = SWAP ? m : n;
    const int depth = alpha == 0 ? 0 : (k + TILE_K - 1) / TILE_K;
    const int mate = rank % MATES, part = BLOCK_Y * CLUSTER_K + rank / MATES;
    const int begin = (int) ((wide) depth * part / PARTS);
    const int end = (int) ((wide) depth * (part + 1) / PARTS);
    const problem p = { rows, columns, begin, end - begin,
                        (rows - 1) / (TILE_M * CLUSTER_M) + 1,
                        (columns - 1) / (TILE_N * CLUSTER_N) + 1, rank - mate, mate };

    if (THREAD_X == 0) {
        if (depth > 0) {
            prefetch(&map_a);
            prefetch(&map_b);
        }
        for (int s = 0; s < STAGES; s++) {
            barrier_init(ring.full + 8 * s, 1);
            barrier_init(ring.empty + 8 * s, OWNERS * 4 * MATES);   // a warp each
        }
        barriers_ready();
    }
    cluster_sync(BLOCKS);

    if (group == CONSUMERS) {
        if (CONSUMERS > 1)
            FEWER_REGISTERS(REGISTERS_PRODUCER);
        if (thread == 0)
            produce(p, ring, SWAP ? &map_b : &map_a, SWAP ? &map_a : &map_b);
        if (CLUSTER_K > 1)
            cluster_sync(BLOCKS);
    } else {
        if (CONSUMERS > 1)
            MORE_REGISTERS(REGISTERS_CONSUMER);
        real sum[BLOCKS_M][SUMS];
        const int first = SCHEDULE ? 0 : group * BLOCKS_M * 64, turn = SCHEDULE ? group : 0;
        const int step = gridDim.x / BLOCKS;
        const unsigned long long left =
            describe(ring.slots, LEFT_DEEP) + operand(first / 64, 0, TILE_M, LEFT_DEEP);
        const unsigned long long right = describe(ring.slots + BYTES_LEFT, RIGHT_DEEP);
        const output out = {
            rows, columns, alpha, beta, c + c_start + BLOCK_Z * c_stride, bias + bias_start,
            ldc, ldc % 2 == 0 && c_stride % 2 == 0 &&
                 (unsigned long long) (c + c_start) % (2 * RESULT_SIZE) == 0,
            SPLIT_K > 1 ? parts_at(workspace, m, n, k, BLOCK_Y) : 0, parts_ld(n)
        };
        unsigned number = turn * p.depth;

        if (SCHEDULE && group == CONSUMERS - 1)
            give_turn(group);
        NO_UNROLL
        for (int i = BLOCK_X / BLOCKS + turn * step; i < p.clusters_m * p.clusters_n;
             i += TURNS * step, number += TURNS * p.depth) {
            const place at = find_tile(p, i);
            const int row = at.row + first;
            if (SCHEDULE)
                await_turn(group);
            consume(sum, p, ring, left, right, number, lane);
            if (SCHEDULE)
                give_turn(group);
            if (!PROMOTE) {
                AWAIT_WGMMA(0);
                settle(sum);
                if (IN_FLIGHT && p.depth > 0)
                    release(p, ring, number + p.depth - 1, lane);
            }
#if CLUSTER_K > 1
            consumers_sync();            // the one tile of this block: the ring is free
            put_sums(sum, ring.slots);
            cluster_sync(BLOCKS);
            put_out_part(ring.slots, p, out, row, at.column, thread);
#else
            put_out_all(sum, out, row, at.column, thread);
#endif
#if STORE_SLOTS
            store_pieces(sum, &map_c, store_slots + group * STORE_SLOTS * BYTES_PIECE, row,
                         at.column, thread, group);
#endif
        }
        if (STORE_SLOTS && thread == 0)
            await_copies_out();
    }
    cluster_sync(BLOCKS);   // nothing of a block that others write to may be gone
}
