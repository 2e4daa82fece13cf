// What becomes of a tile's sums in wgmma.cu: they go out to C (wgmma_store.h), are left in the
// workspace as a split of k, or are added to those of the other blocks of a cluster; and the kernel
// that adds up what parts have left.

// ---- through the workspace ------------------------------------------------------------

// Parts of tiles stand in the workspace, those of a matrix of the batch after those of the one
// before. Each holds pairs of accumulators: for each pair of a thread a line, which holds one of
// each thread.
DEVICE_FN real *part_at(real *workspace, const problem &p, int part, int mate)
{
    const int all = SPLIT_K > 1 ? tiles_of(p) * p.split : p.runs + p.cut;
    const wide before = ((wide) BLOCK_Z * all + part) * MATES + mate;
    return workspace + before * (TILE_M * TILE_N);
}

DEVICE_FN real2 *pair_at(real *part, int s, int thread)
{
    return (real2 *) part + s / 2 * (OWNERS * 128) + thread;
}

// What a thread does with two sums, the s-th and the next: leave them in the workspace, or
// finish them and, unless C goes through shared memory, store them.
DEVICE_FN void put_out(real *x, const output &out, place tile, int s, int thread, real *part)
{
    const int r = tile.row + row_of(s, thread), q = tile.column + column_of(s, thread);
    if (LEAVES && part) {
        *pair_at(part, s, thread) = { x[0], x[1] };
        return;
    }
    finish(x, out, r, q);
    if (EPILOGUE_STAGES == 0)
        store(x, out, r, q);
}

// `patch`: this warp's, where C is stored by rows.
DEVICE_FN void put_out_all(real sum[BLOCKS_M][ACCUMULATORS], const output &out, place tile,
                           unsigned patch, int thread, real *part)
{
    if (LEAVES && part) {
        UNROLL
        for (int s = 0; s < ALL_ACCUMULATORS; s += 2)
            put_out(&sum[s / ACCUMULATORS][s % ACCUMULATORS], out, tile, s, thread, part);
        return;
    }
#if defined(TYPE_F32)
    if (__any_sync(0xffffffff, !all_finite(sum[0], ALL_ACCUMULATORS))) {   // a whole warp
        put_out_plainly(out, tile, 0, ALL_ACCUMULATORS, thread);
        return;
    }
#endif
#if PAIRED && SWAP
    if (whole_columns(out, tile) && out.fours && out.rows % 4 == 0) {
        UNROLL
        for (int i = 0; i < BLOCKS_M; i += 2)
            store_fours(sum[i], sum[i + 1], out, tile, i * ACCUMULATORS, thread);
        return;
    }
#endif
    if (EPILOGUE_STAGES == 0 && whole_columns(out, tile) && (!BY_ROWS || out.sectors)) {
        UNROLL
        for (int i = 0; i < BLOCKS_M; i++)
            store_rows<ACCUMULATORS>(sum[i], out, tile, i * ACCUMULATORS, thread);
        return;
    }
#if BY_ROWS
    store_by_rows(sum, out, tile, patch, thread);
#else
    UNROLL
    for (int i = 0; i < BLOCKS_M; i++) {
        // Where C's columns begin is found anew for each 64 rows: registers are scarce here.
        const place own = { tile.row, SWAP ? (int) keep(tile.column) : tile.column };
        UNROLL
        for (int s = 0; s < ACCUMULATORS; s += 2)
            put_out(&sum[i][s], out, own, i * ACCUMULATORS + s, thread, 0);
    }
#endif
}

#if CLUSTER_K > 1
// Accumulators in shared memory: a line for each of a thread's, a column for each thread.
DEVICE_FN unsigned acc_at(unsigned acc, int s)
{
    return acc + 4 * (s * CONSUMERS * 128 + THREAD_X);
}

DEVICE_FN void put_acc(real sum[BLOCKS_M][ACCUMULATORS], unsigned to)
{
    UNROLL
    for (int s = 0; s < ALL_ACCUMULATORS; s++)
        store_word(acc_at(to, s), ACC_TO_WORD(sum[s / ACCUMULATORS][s % ACCUMULATORS]));
}

DEVICE_FN real get_acc(unsigned from, int s, int block)
{
    return WORD_TO_ACC(load_word_of(acc_at(from, s), block));
}

// Add up and put out this block's part of the accumulators of all that share its tile.
DEVICE_FN void put_out_shared(unsigned from, const problem &p, const output &out, place tile,
                              int thread, real *part)
{
    const int mine = ALL_ACCUMULATORS / CLUSTER_K, first = p.mates / MATES * mine;
    real x[mine] = {};
    UNROLL
    for (int i = 0; i < mine; i++)
        UNROLL
        for (int b = 0; b < CLUSTER_K; b++)
            x[i] += get_acc(from, first + i, p.mate + b * MATES);
#if defined(TYPE_F32)
    if (!part && !all_finite(x, mine)) {
        put_out_plainly(out, tile, first, mine, thread);
        return;
    }
#endif
    if (mine % 4 == 0 && ACCUMULATORS % mine == 0 && !part && whole_columns(out, tile)) {
        store_rows<mine>(x, out, tile, first, thread);
        return;
    }
    UNROLL
    for (int i = 0; i < mine; i += 2)
        put_out(x + i, out, tile, first + i, thread, part);
}
#endif

// ---- adding up ------------------------------------------------------------------------

#if LEAVES
#define THREADS_ADD 256
#define PAIRS       (TILE_M * TILE_N / 2)      // of a tile: whole blocks of threads
#define PARTS_EACH  8                          // that are read at once

// Add the next parts of a pair, at most PARTS_EACH of those that are left.
DEVICE_FN void add_some(real x[2], const real2 *from, int left)
{
    real2 more[PARTS_EACH] = {};

    UNROLL
    for (int part = 0; part < PARTS_EACH; part++)
        if (part < left)
            more[part] = from[part * MATES * PAIRS];
    UNROLL
    for (int part = 0; part < PARTS_EACH; part++)
        x[0] += more[part].x, x[1] += more[part].y;
}

// A thread adds up the parts of two neighbours of C, in the order of k, some of them on their way
// to it at once, and goes on where there are more than threads.
//
// Launch: block (THREADS_ADD), grid (any; with TILE_SCHEDULER stream_k as many as mmt_gemm has, for
// that is how tiles were cut; any, batch).
KERNEL __launch_bounds__(THREADS_ADD)
void mmt_reduce_splits(int m, int n, int k, int parts, real alpha, real beta,
                   const GLOBAL real *scalars, wide scalars_start,
                   STORED_PARAMETERS
                   GLOBAL result *c, wide c_start, int ldc, wide c_stride,
                   const GLOBAL result *bias, wide bias_start,
                   GLOBAL real *workspace, wide workspace_start)
{
    PDL_TRIGGER();
    PDL_WAIT();
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    const problem p = find_problem(m, n, k, alpha, parts);
    const output out = find_output(p, alpha, beta, c + c_start, ldc, c_stride,
                                   bias + bias_start STORED_ARGUMENTS);
    const wide all = (wide) tiles_left(p) * MATES * PAIRS;
    const wide step = (wide) gridDim.x * gridDim.y * THREADS_ADD;

    for (wide i = (wide) (BLOCK_Y * gridDim.x + BLOCK_X) * THREADS_ADD + THREAD_X; i < all;
         i += step) {
        const int tile = (int) (i / PAIRS) / MATES, mate = (int) (i / PAIRS) % MATES;
        const int pair = (int) (i % PAIRS), thread = pair % (OWNERS * 128);
        const int s = pair / (OWNERS * 128) * 2;
        const place at = find_tile(p, tile, mate);
        const int r = at.row + row_of(s, thread), q = at.column + column_of(s, thread);
        if (r >= out.rows || q >= out.columns)
            continue;

        int count;
        const int first = first_part(p, tile, &count);
        const real2 *from = pair_at(part_at(workspace, p, first, mate), s, thread);
        real x[2] = { 0, 0 };
        NO_UNROLL
        for (int part = 0; part < count; part += PARTS_EACH, from += PARTS_EACH * MATES * PAIRS)
            add_some(x, from, count - part);
#if defined(TYPE_F32)
        if (!all_finite(x, 2))
            sum_both_plainly(x, out, r, q);
#endif
        finish(x, out, r, q);
        store(x, out, r, q);
    }
}
#endif
