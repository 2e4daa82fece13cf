// simt - C = alpha*A*B + beta*C for any device, by ordinary FMAs.
//
// One block computes a TILE_M x TILE_N tile of C. Tiles of A and B, TILE_K deep, come to shared
// memory while those before them are multiplied, in one of three ways, COPY:
//
//   registers  loaded, converted and stored by each thread; on any device (simt_registers.h)
//   cp_async   by asynchronous copies, from sm_80 on (simt_async.h)
//   tma        by TMA, which one thread asks, from sm_90 on (simt_tma.h)
//
// A thread owns THREAD_TILE_M x THREAD_TILE_N elements of C (register_tile.h):
//
//              TILE_N
//             [  B  ]  TILE_K
//     TILE_K  +-----+
//   [   A   ] |  C  |  TILE_M
//             +-----+
//
// Where C has few tiles, several blocks share one: each multiplies a split of k and leaves its
// accumulators in the workspace, and mmt_reduce_splits adds them up. Or blocks are persistent and
// compute one tile after the other, and share what is left in the end (TILE_SCHEDULER,
// stream_k.h).
//
// Launch: block (THREADS), grid (ceil(m/TILE_M) * ceil(n/TILE_N), splits of k, batch); then
// mmt_reduce_splits where SPLIT_K > 1. Where blocks are persistent: grid (blocks, 1, batch); then
// mmt_reduce_stream_k where TILE_SCHEDULER is STREAM_K. Helpers: split_k.h, grid.h, tiles.h,
// stream_k.h, register_tile.h and what the copies need.

#ifndef COPY
#define COPY 0                // how tiles come to shared memory: 0 registers, 1 cp_async, 2 tma
#endif
#ifndef TILE_M
#define TILE_M 128            // rows of C per block
#endif
#ifndef TILE_N
#define TILE_N 128            // columns of C per block
#endif
#ifndef TILE_K
#define TILE_K 16             // depth of a tile
#endif
#ifndef THREAD_TILE_M
#define THREAD_TILE_M 8       // rows of C per thread
#endif
#ifndef THREAD_TILE_N
#define THREAD_TILE_N 8       // columns of C per thread
#endif
#ifndef WARP_M
#define WARP_M 4              // threads of a warp down the tile
#endif
#ifndef WARP_N
#define WARP_N 8              // threads of a warp across the tile
#endif
#ifndef LANES
#define LANES 2               // a warp's threads run: 0 along rows, 1 down columns,
#endif                        // 2 along pairs of rows
#ifndef C_VECTOR
#define C_VECTOR 4            // elements of C per store to global memory
#endif
#ifndef REGISTER_STAGES
#define REGISTER_STAGES 1     // 2: fetch the operands of the next step during this one
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
#define STAGES 2              // tiles of each operand in shared memory
#endif

#define BY_TMA (COPY == 2)

KERNEL BLOCK_SIZE_RESIDENT(THREADS, 1, MIN_BLOCKS)
void mmt_gemm(
#if BY_TMA
              const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
#endif
              int m, int n, int k, real alpha, real beta,
              const GLOBAL real *scalars, wide scalars_start,
#if !BY_TMA
              const GLOBAL element *a, wide a_start, int lda, wide a_stride,
              const GLOBAL element *b, wide b_start, int ldb, wide b_stride,
#endif
              GLOBAL result *c, wide c_start, int ldc, wide c_stride,
              GLOBAL real *workspace, wide workspace_start,
              const GLOBAL result *bias, wide bias_start)
{
    SHARED_OF_BLOCK(shared);

    PDL_TRIGGER();
#if BY_TMA
    start_pipeline(shared);
#endif
    PDL_WAIT();
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    if (alpha == 0)
        k = 0;
    FIND_MATRIX(a, BLOCK_Z);
    FIND_MATRIX(b, BLOCK_Z);
    FIND_MATRIX(c, BLOCK_Z);

    FEED;
    real acc[THREAD_TILE_M][THREAD_TILE_N];
    struct job job;
    int in_tile_m, in_tile_n;
    find_lines(THREAD_X, &in_tile_m, &in_tile_n);

    NO_UNROLL
    for (int turn = 0; find_job(turn, m, n, k, &job); turn++) {
#if BY_TMA
        multiply_tiles(acc, FED, shared, &map_a, &map_b, &job, ldc, &in_tile_m, &in_tile_n);
        // Found once more, so that the loop has the registers.
        if (TILE_SCHEDULER) {
            find_job(keep(turn), m, n, k, &job);
            find_lines(own_thread(), &in_tile_m, &in_tile_n);
        }
        GLOBAL result *to = c + start_of_c(c_start + BLOCK_Z * c_stride, ldc, &job);
#else
        const struct operand of_a = { a, a_start, lda, a_stride };
        const struct operand of_b = { b, b_start, ldb, b_stride };
        const int rows = m - job.row, columns = n - job.column, depth = job.end - job.begin;
        GLOBAL result *to = c + start_of_c(c_start + BLOCK_Z * c_stride, ldc, &job);
        multiply_tiles(acc, FED, shared, of_a, of_b, &job, rows, columns, depth, in_tile_m,
                       in_tile_n);
#endif
        store_job(&job, to, workspace + workspace_start, SCRATCH, acc, m, n, ldc, in_tile_m,
                  in_tile_n, alpha, beta, bias + bias_start);
        if (TILE_SCHEDULER && !BY_TMA)
            BARRIER();
    }
}
