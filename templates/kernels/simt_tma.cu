// simt_tma - C = alpha*A*B + beta*C by ordinary FMAs on what TMA brings.
//
// One block computes a TILE_M x TILE_N tile of C. One of its threads asks TMA
// (TMA, sm_90 on) for tiles of A and B, TILE_K deep, which land in a pipeline of STAGES stages as
// they are stored; no other thread has anything to do with it. A barrier a stage says that it has
// landed, and the block's, each time, that all have read it: not only asked for it, since the
// engine does not stand in line with what threads ask of shared memory, but for a fence. A thread
// owns THREAD_TILE_M x THREAD_TILE_N elements of C (register_tile.h):
//
//              TILE_N
//             [  B  ]  TILE_K
//     TILE_K  +-----+
//   [   A   ] |  C  |  TILE_M
//             +-----+
//
// An operand stored along k is deep: a line of the tile, TILE_K elements, is a row of at most
// 128 bytes, whose 16-byte pieces are exchanged so that neighbouring lines have the same depths
// in different banks. A thread reads one piece of each of its lines, which serves MAX_VECTOR
// steps. An operand stored across k is flat, and read step by step, which takes fewer
// instructions: with PACK_A or PACK_B a launch before this one writes such a copy of the operand
// to the workspace (pack.h), wherever it begins.
//
// Where C has few tiles, several blocks share one: each multiplies a split of k and leaves its
// accumulators in the workspace, and mmt_reduce_splits adds them up. Or blocks are persistent and
// compute one tile after the other, and share what is left in the end (TILE_SCHEDULER,
// stream_k.h).
//
// Launch: block (THREADS), grid (ceil(m/TILE_M) * ceil(n/TILE_N), splits of k, batch); then
// mmt_reduce_splits where SPLIT_K > 1. Where blocks are persistent: grid (blocks, 1, batch); then
// mmt_reduce_stream_k where TILE_SCHEDULER is STREAM_K. Before it mmt_pack, mmt_pack_a or
// mmt_pack_b. Helpers: hopper.h, pack.h, split_k.h, grid.h, tiles.h, stream_k.h, register_tile.h.

#ifndef TILE_M
#define TILE_M 128            // rows of C per block
#endif
#ifndef TILE_N
#define TILE_N 128            // columns of C per block
#endif
#ifndef TILE_K
#define TILE_K 16             // depth of one stage of the pipeline
#endif
#ifndef THREAD_TILE_M
#define THREAD_TILE_M 8       // rows of C per thread
#endif
#ifndef THREAD_TILE_N
#define THREAD_TILE_N 8       // columns of C per thread
#endif
#ifndef WARP_M
#define WARP_M 8              // threads of a warp down the tile
#endif
#ifndef WARP_N
#define WARP_N 4              // threads of a warp across the tile
#endif
#ifndef LANES
#define LANES 0               // a warp's threads run: 0 along rows, 1 down columns,
#endif                        // 2 along pairs of rows
#ifndef C_VECTOR
#define C_VECTOR 1            // elements of C per store to global memory
#endif
#ifndef REGISTER_STAGES
#define REGISTER_STAGES 2     // 2: fetch the operands of the next step during this one
#endif
#ifndef FMA_ORDER
#define FMA_ORDER 3           // order of a step's FMAs: 0 rows, 1 columns,
#endif                        // 2 rows_serpentine, 3 columns_serpentine,
                              // 4 blocks2x2_serpentine, 5 blocks2x2_down
#ifndef RASTER_GROUP
#define RASTER_GROUP 8        // rows of tiles that neighbouring blocks share
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1          // blocks that a multiprocessor should hold at least
#endif
#ifndef SPLIT_K
#define SPLIT_K 1             // blocks that share a tile of C: 1, or 2 for any more
#endif
#ifndef TILE_SCHEDULER
#define TILE_SCHEDULER 0      // blocks get 0 one tile, 1 one after the other, 2 equal segments
#endif                        // of what is left in the end, besides
#ifndef STAGES
#define STAGES 3              // stages of the pipeline
#endif
#ifndef PASSES
#define PASSES 1              // of the loop for a stage, whose steps stand in the source
#endif
#ifndef LOADS
#define LOADS 0               // loads from shared memory come 0 as the compiler has them, 1 in
#endif                        // the source's order
#ifndef PACK_A
#define PACK_A 0              // 1: A may be unaligned, and is copied so that it is flat
#endif
#ifndef PACK_B
#define PACK_B 0              // 1: the same of B
#endif

#define DEEP_A (TRANSPOSE_A && !PACK_A)
#define DEEP_B (TRANSPOSE_B && !PACK_B)

// Steps for which a thread holds an operand at once.
#define SPAN(deep) ((deep) ? MAX_VECTOR : 1)
#define SPAN_A     SPAN(DEEP_A)
#define SPAN_B     SPAN(DEEP_B)
#define LONGER     (SPAN_A > SPAN_B ? SPAN_A : SPAN_B)

#define BYTES_REAL ((int) sizeof(real))
#define SPACE_A    (TILE_K * TILE_M)
#define SPACE_B    (TILE_K * TILE_N)
#define SLOT       (SPACE_A + SPACE_B)
#define PIECES     (TILE_K / MAX_VECTOR)   // 16-byte pieces of a line of a deep operand

#define STEPS      (TILE_K / PASSES)        // of a pass
#define PASS_M     (STEPS * TILE_M)         // elements of a flat operand for it
#define PASS_N     (STEPS * TILE_N)

// The step of a stage's last pass at which the next one's first operands are wanted, and the one
// behind which this stage may be filled: where its last operands are asked for or, with loads in
// order, are there.
#define WANTS_NEXT (STEPS - LONGER)
#define LETS_GO    (LOADS ? STEPS - 1 : STEPS - REGISTER_STAGES)

#if TILE_M % BANKS || TILE_N % BANKS || TILE_K % (8 * PASSES)
#error "a tile must hold whole rows of banks, and a pass a multiple of 8 steps"
#endif
#if (DEEP_A || DEEP_B) && (PIECES > 8 || PASSES > 1)
#error "an operand along k has at most 128 bytes of each line in a stage, read in one pass"
#endif

// ---- the pipeline -------------------------------------------------------------------------

// The stage that is read next, and whether the pipeline has been round an odd number of times.
struct place {
    int stage;
    unsigned odd;
};

DEVICE_FN place after(place at)
{
    return at.stage == STAGES - 1 ? place{ 0, at.odd ^ 1 } : place{ at.stage + 1, at.odd };
}

// Address in shared memory of a stage's barrier.
DEVICE_FN unsigned full(unsigned pipe, int stage)
{
    return pipe + STAGES * SLOT * BYTES_REAL + 8 * stage;
}

DEVICE_FN void start_pipeline(unsigned pipe)
{
    for (int s = 0; s < STAGES; s++)
        barrier_init(full(pipe, s), 1);
    barriers_ready();
}

DEVICE_FN void await_stage(unsigned pipe, place at)
{
    barrier_wait(full(pipe, at.stage), at.odd);
}

// Ask for the tiles of a job that begin at that depth, if there are any. Nobody reads the stage.
DEVICE_FN void ask(unsigned pipe, int stage, const tensor_map *a, const tensor_map *b,
                   const struct job *job, int depth)
{
    const unsigned to = pipe + stage * (SLOT * BYTES_REAL), landed = full(pipe, stage);

    if (depth >= job->end)
        return;
    barrier_expect(landed, SLOT * BYTES_REAL);
    copy_in(to, a, DEEP_A ? depth : job->row, DEEP_A ? job->row : depth, BLOCK_Z, landed, 0);
    copy_in(to + SPACE_A * BYTES_REAL, b, DEEP_B ? depth : job->column,
            DEEP_B ? job->column : depth, BLOCK_Z, landed, 0);
}

// ---- operands -------------------------------------------------------------------------

// TMA exchanges the pieces of a deep operand's line by this number of it, in shared
// memory's rows of 128 bytes.
DEVICE_FN int exchange(int line)
{
    return line * TILE_K / BANKS % PIECES;
}

// Where a thread's first line is in its operand's tile, in elements; of a deep one, its first
// piece.
DEVICE_FN int first_element(int line, bool deep)
{
    return deep ? line * TILE_K + exchange(line) * MAX_VECTOR : line;
}

// Every SPAN-th of a thread's operands, from that one on, for the SPAN steps of a group; the last
// of them once more where they are fewer. Constants: the lines of the tile, the thread's, those in
// a piece of 16 bytes, and a warp's threads.
template <int tile, int work, int piece, int warp, bool deep>
DEVICE_FN void take_share(real now[SPAN(deep)][work], const SHARED_PTR real *shared, int first,
                          int group, int share)
{
    if (!deep)
        take(now[0], shared + group * tile, first, 0, work, piece, warp * piece);
    UNROLL
    for (int l = 0; deep && l < work; l += SPAN(deep)) {
        const int i = smaller(l + share, work - 1);
        const int bits = (exchange(i * warp) ^ group) * MAX_VECTOR;
        real line[MAX_VECTOR];
        read_shared(line, shared + (first ^ bits) + i * warp * TILE_K, MAX_VECTOR);
        UNROLL
        for (int u = 0; u < SPAN(deep); u++)
            now[u][i] = line[u];
    }
}

DEVICE_FN void take_a(real now[SPAN_A][THREAD_TILE_M], const SHARED_PTR real *shared, int first,
                      int group, int share)
{
    take_share<TILE_M, THREAD_TILE_M, PIECE_M, WARP_M, DEEP_A>(now, shared, first, group, share);
}

DEVICE_FN void take_b(real now[SPAN_B][THREAD_TILE_N], const SHARED_PTR real *shared, int first,
                      int group, int share)
{
    take_share<TILE_N, THREAD_TILE_N, PIECE_N, WARP_N, DEEP_B>(now, shared, first, group, share);
}

// Whether the share is read at step u: one after the other for the next group, or, with one
// fragment, all at once for the group that begins.
DEVICE_FN bool is_due(int share, int u, int span)
{
    return REGISTER_STAGES == 2 ? share == u % span : u % span == 0;
}

DEVICE_FN unsigned low_bits(real x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

// All threads have read what they asked this stage for: TMA may write there. It does not
// stand in line with what has only been asked for. A fence waits for all of that. Where loads keep
// the source's order, so does whoever needs the last ones of the stage: here the number of threads
// that meet, in which their bits make no difference, as a leading dimension is not negative.
DEVICE_FN void let_go(const real last_a[SPAN_A][THREAD_TILE_M],
                      const real last_b[SPAN_B][THREAD_TILE_N],
                      int ld)
{
#if LOADS
    unsigned all = 0;
    UNROLL
    for (int i = 0; i < THREAD_TILE_M; i += PIECE_M)
        all |= low_bits(last_a[0][i]);
    UNROLL
    for (int j = 0; j < THREAD_TILE_N; j += PIECE_N)
        all |= low_bits(last_b[0][j]);
    numbered_sync(0, THREADS | (all & (unsigned) ld >> 31));
#else
    shared_ready();
    BARRIER();
#endif
}

// ---- the kernel -----------------------------------------------------------------------

KERNEL BLOCK_SIZE_RESIDENT(THREADS, 1, MIN_BLOCKS)
void mmt_gemm(const __grid_constant__ tensor_map map_a,
              const __grid_constant__ tensor_map map_b,
              int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
              GLOBAL real *c, wide c_start, int ldc, wide c_stride,
              GLOBAL real *workspace, wide workspace_start,
              const GLOBAL real *bias, wide bias_start)
{
    SHARED_RING(real, shared);
    const unsigned pipe = (unsigned) __cvta_generic_to_shared(shared), tid = THREAD_X;
    real now_a[REGISTER_STAGES][SPAN_A][THREAD_TILE_M];
    real now_b[REGISTER_STAGES][SPAN_B][THREAD_TILE_N];
    real acc[THREAD_TILE_M][THREAD_TILE_N];

    PDL_TRIGGER();
    if (tid == 0)
        start_pipeline(pipe);
    BARRIER();
    PDL_WAIT();
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0;

    struct job job;
    struct place at = { 0, 0 };

    NO_UNROLL
    for (int turn = 0; find_job(turn, m, n, k, &job); turn++) {
        const int stages = (job.end - job.begin + TILE_K - 1) / TILE_K;
        const int end = PASSES == 1 ? job.end : job.begin + stages * TILE_K;
        int in_tile_m, in_tile_n;

        start_acc(acc);
        if (tid == 0) {
            struct place to_fill = at;
            NO_UNROLL
            for (int s = 0; s < STAGES; s++, to_fill = after(to_fill))
                ask(pipe, to_fill.stage, &map_a, &map_b, &job, job.begin + s * TILE_K);
        }

        // Places of this thread's operands in the pass at hand, in elements of the pipeline.
        find_lines(TILE_SCHEDULER == DATA_PARALLEL ? tid : own_thread(), &in_tile_m, &in_tile_n);
        int first_m = at.stage * SLOT + first_element(in_tile_m, DEEP_A);
        int first_n = at.stage * SLOT + SPACE_A + first_element(in_tile_n, DEEP_B);

        if (REGISTER_STAGES == 2 && job.begin < job.end) {
            await_stage(pipe, at);
            UNROLL
            for (int s = 0; s < SPAN_A; s++)
                take_a(now_a[0], shared, first_m, 0, s);
            UNROLL
            for (int s = 0; s < SPAN_B; s++)
                take_b(now_b[0], shared, first_n, 0, s);
        }

        int pass = 0;   // of the stage
        NO_UNROLL
        for (int depth = job.begin; depth < end; depth += STEPS) {
            const bool last = ++pass == PASSES;
            place next = at;
            int on_m = PASS_M, on_n = PASS_N;   // to the next pass's operands
            UNROLL
            for (int u = 0; u < STEPS; u++) {
                if (REGISTER_STAGES == 1 && u == 0 && pass == 1)
                    await_stage(pipe, at);
                if (u == WANTS_NEXT && last) {
                    next = after(at);
                    on_m = (next.stage - at.stage) * SLOT - (PASSES - 1) * PASS_M;
                    on_n = (next.stage - at.stage) * SLOT - (PASSES - 1) * PASS_N;
                    if (REGISTER_STAGES == 2 && depth + STEPS < end)
                        await_stage(pipe, next);
                }

                // Those that are read now; behind a pass's last group, the next one's first.
                const int a = u / SPAN_A + REGISTER_STAGES - 1;
                const int b = u / SPAN_B + REGISTER_STAGES - 1;
                const int from_a = first_m + (a == STEPS / SPAN_A ? on_m : 0);
                const int from_b = first_n + (b == STEPS / SPAN_B ? on_n : 0);
                UNROLL
                for (int s = 0; s < SPAN_A; s++)
                    if (is_due(s, u, SPAN_A))
                        take_a(now_a[a % REGISTER_STAGES], shared, from_a, a % (STEPS / SPAN_A), s);
                UNROLL
                for (int s = 0; s < SPAN_B; s++)
                    if (is_due(s, u, SPAN_B))
                        take_b(now_b[b % REGISTER_STAGES], shared, from_b, b % (STEPS / SPAN_B), s);
                multiply_add(acc, now_a[u / SPAN_A % REGISTER_STAGES][u % SPAN_A],
                             now_b[u / SPAN_B % REGISTER_STAGES][u % SPAN_B]);
                if (u == LETS_GO && last) {
                    let_go(now_a[(STEPS / SPAN_A - 1) % REGISTER_STAGES],
                           now_b[(STEPS / SPAN_B - 1) % REGISTER_STAGES], ldc);
                    if (tid == 0)
                        ask(pipe, at.stage, &map_a, &map_b, &job,
                            depth - (PASSES - 1) * STEPS + STAGES * TILE_K);
                    pass = 0;
                }
            }
            at = next, first_m += on_m, first_n += on_n;
        }

        // Found once more, so that the loop has the registers.
        if (TILE_SCHEDULER != DATA_PARALLEL) {
            find_job(keep(turn), m, n, k, &job);
            find_lines(own_thread(), &in_tile_m, &in_tile_n);
        }
        store_job(&job, c + start_of_c(c_start + BLOCK_Z * c_stride, ldc, &job),
                  workspace + workspace_start, (real *) 0, 0, acc, m, n, ldc, in_tile_m, in_tile_n,
                  alpha, beta, bias + bias_start);
    }
}
