/* simt.cl as its host sees it: the knobs, in the order in which that file and its helpers
 * name them. */
#ifndef MMT_TEMPLATES_SIMT_H
#define MMT_TEMPLATES_SIMT_H

#include "templates/gemm.h"

// clang-format off
enum {
    COPY, TILE_M, TILE_N, TILE_K, THREAD_TILE_M, THREAD_TILE_N, WARP_M, WARP_N, LANES,
    C_VECTOR, REGISTER_STAGES, FMA_ORDER, RASTER_GROUP, MIN_BLOCKS, SPLIT_K, TILE_SCHEDULER,
    STAGES, NUM_SHARED,
};
/* Those of one COPY alone. */
enum { A_VECTOR = NUM_SHARED, B_VECTOR, SHARED_LAYOUT, K_UNROLL, NUM_OF_REGISTERS };
enum { PASSES = NUM_SHARED, LOADS, PACK_A, PACK_B, NUM_OF_TMA };
// clang-format on

enum { REGISTERS, CP_ASYNC, TMA };
enum { ROWS, COLUMNS, PAIRS };
enum { DATA_PARALLEL, PERSISTENT, STREAM_K };
enum { ROWS_ON, COLS_ON, ROWS_BACK, COLS_BACK, ACROSS, DOWN };
enum { PLAIN, PAD, SWAP, SWIZZLE };
enum { FREE, IN_ORDER };

#endif
