// How tiles come to shared memory with COPY=tma (sm_90 on): one of the block's threads asks TMA for
// tiles of A and B, which land in a pipeline of STAGES stages as they are stored; no other thread
// has anything to do with it. A barrier a stage says that it has landed, and the block's, each
// time, that all have read it: not only asked for it, since the engine does not stand in line with
// what threads ask of shared memory, but for a fence.
//
// An operand stored along k is deep: a line of the tile, TILE_K elements, is a row of at most
// 128 bytes, whose 16-byte pieces are exchanged so that neighbouring lines have the same depths
// in different banks. A thread reads one piece of each of its lines, which serves MAX_VECTOR
// steps. An operand stored across k is flat, and read step by step, which takes fewer
// instructions: with PACK_A or PACK_B a launch before this one, mmt_pack, mmt_pack_a or
// mmt_pack_b, writes such a copy of the operand to the workspace (pack.h), wherever it begins.
// hopper.h and register_tile.h stand before it.

#ifndef PASSES
#define PASSES 1              // of the loop for a stage, whose steps stand in the source
#endif
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

#define SHARED_OF_BLOCK(name) SHARED_RING(real, name)
#define SCRATCH               (real *) 0, 0   // of store_job: TMA may write to the tiles

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

// Before any thread looks at a barrier.
DEVICE_FN void start_pipeline(const real *shared)
{
    if (THREAD_X == 0) {
        for (int s = 0; s < STAGES; s++)
            barrier_init(full((unsigned) __cvta_generic_to_shared(shared), s), 1);
        barriers_ready();
    }
    BARRIER();
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

// ---- the product ----------------------------------------------------------------------

// A thread's operands of a group of steps, and the stage that is read next.
#define FEED                                               \
    real now_a[REGISTER_STAGES][SPAN_A][THREAD_TILE_M];    \
    real now_b[REGISTER_STAGES][SPAN_B][THREAD_TILE_N];    \
    struct place at = { 0, 0 }
#define FED now_a, now_b, at

// Multiply a job's tiles, from the stage `at` on, and find the thread's first lines.
DEVICE_FN void multiply_tiles(real acc[THREAD_TILE_M][THREAD_TILE_N],
                              real now_a[REGISTER_STAGES][SPAN_A][THREAD_TILE_M],
                              real now_b[REGISTER_STAGES][SPAN_B][THREAD_TILE_N],
                              struct place &at, const real *shared, const tensor_map *map_a,
                              const tensor_map *map_b, const struct job *job, int ldc,
                              int *in_tile_m, int *in_tile_n)
{
    const unsigned pipe = (unsigned) __cvta_generic_to_shared(shared), tid = THREAD_X;
    const int stages = (job->end - job->begin + TILE_K - 1) / TILE_K;
    const int end = PASSES == 1 ? job->end : job->begin + stages * TILE_K;

    start_acc(acc);
    if (tid == 0) {
        struct place to_fill = at;
        NO_UNROLL
        for (int s = 0; s < STAGES; s++, to_fill = after(to_fill))
            ask(pipe, to_fill.stage, map_a, map_b, job, job->begin + s * TILE_K);
    }

    // Places of this thread's operands in the pass at hand, in elements of the pipeline.
    find_lines(TILE_SCHEDULER == DATA_PARALLEL ? tid : own_thread(), in_tile_m, in_tile_n);
    int first_m = at.stage * SLOT + first_element(*in_tile_m, DEEP_A);
    int first_n = at.stage * SLOT + SPACE_A + first_element(*in_tile_n, DEEP_B);

    if (REGISTER_STAGES == 2 && job->begin < job->end) {
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
    for (int depth = job->begin; depth < end; depth += STEPS) {
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
                    ask(pipe, at.stage, map_a, map_b, job,
                        depth - (PASSES - 1) * STEPS + STAGES * TILE_K);
                pass = 0;
            }
        }
        at = next, first_m += on_m, first_n += on_n;
    }
}
