/* Starting points of wgmma.cu for each type and way through it, the most usual first;
 * what suits a problem best, wgmma_candidates.c names. */
#ifndef MMT_TEMPLATES_WGMMA_STARTS_H
#define MMT_TEMPLATES_WGMMA_STARTS_H

#include "templates/wgmma.h"

/* A row says what is not as in most. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"

// clang-format off
#define ROW(tile_m, tile_n, stages, consumers, schedule, cluster, ...)                                        \
    {                                                                                                         \
        [TILE_M] = (tile_m), [TILE_N] = (tile_n), [TILE_K_BYTES] = 128, [STAGES] = (stages),                  \
        [CONSUMERS] = (consumers), [SCHEDULE] = (schedule), [CLUSTER] = (cluster), [CLUSTER_K] = 1,           \
        [SPLIT_K] = 1, [TILE_SCHEDULER] = PERSISTENT, [RASTER_ORDER] = ROWS, [RASTER_GROUP] = 8,              \
        [WGMMA_PENDING] = 1, [PROMOTION] = 128, __VA_ARGS__                                                   \
    }

static const int seeds[][MMT_MAX_KNOBS] = {
    ROW(128, 256, 4, 2, COOPERATIVE, BELOW, [EPILOGUE_STAGES] = 2),
    ROW(128, 256, 4, 2, COOPERATIVE, ALONE, [RASTER_GROUP] = 12, [EPILOGUE_STAGES] = 2, [OVERLAP_EPILOGUE] = 1),
    ROW(128, 192, 4, 2, PINGPONG, BELOW, [SWAP] = 1, [EPILOGUE_STAGES] = 2),
    ROW(128, 128, 6, 2, PINGPONG, BELOW, [EPILOGUE_STAGES] = 2),
    ROW(256, 128, 4, 2, COOPERATIVE, BELOW, [EPILOGUE_STAGES] = 2),
    ROW(128, 128, 5, 2, COOPERATIVE, ALONE, [TILE_SCHEDULER] = STREAM_K, [EPILOGUE_STAGES] = 2),
    ROW(192, 104, 5, 3, COOPERATIVE, BESIDE, [EPILOGUE_STAGES] = 2),
    ROW(64, 128, 8, 1, COOPERATIVE, BELOW, [EPILOGUE_STAGES] = 1),
    ROW(64, 64, 8, 1, COOPERATIVE, ALONE, [EPILOGUE_STAGES] = 1),
    ROW(64, 160, 6, 1, COOPERATIVE, FOUR_BELOW, [EPILOGUE_STAGES] = 1),
    ROW(64, 64, 12, 1, COOPERATIVE, FOUR_BESIDE, [SWAP] = 1),
    ROW(64, 16, 8, 1, COOPERATIVE, ALONE, [SWAP] = 1, [TILE_K_BYTES] = 256),
    ROW(64, 64, 6, 1, COOPERATIVE, ALONE, [SWAP] = 1, [TILE_K_BYTES] = 256, [TILE_SCHEDULER] = STREAM_K),
    ROW(64, 64, 6, 1, COOPERATIVE, ALONE, [CLUSTER_K] = 4),
    ROW(128, 128, 5, 2, COOPERATIVE, ALONE, [CLUSTER_K] = 2),
    ROW(128, 256, 4, 2, COOPERATIVE, ALONE, [SWAP] = 1, [TILE_SCHEDULER] = BALANCED, [RASTER_GROUP] = 16,
        [EPILOGUE_STAGES] = 2, [OVERLAP_EPILOGUE] = 1),
    ROW(128, 128, 6, 2, COOPERATIVE, ALONE, [SPLIT_K] = 0),
    ROW(64, 64, 8, 1, COOPERATIVE, ALONE, [SPLIT_K] = 0),
    /* tf32, i8: an operand that does not run along k is transposed */
    ROW(128, 256, 4, 2, COOPERATIVE, BELOW, [SWAP] = 1, [TRANSPOSE_IN_REGISTERS] = 1),
    ROW(256, 128, 4, 2, COOPERATIVE, BELOW, [SWAP] = 1, [TRANSPOSE_IN_REGISTERS] = 1),
    ROW(64, 64, 8, 1, COOPERATIVE, ALONE, [SWAP] = 1, [TRANSPOSE_IN_REGISTERS] = 1),
    ROW(128, 16, 8, 1, COOPERATIVE, ALONE, [SWAP] = 1, [TRANSPOSE_IN_REGISTERS] = 1),
    ROW(128, 64, 8, 1, COOPERATIVE, ALONE, [TRANSPOSE_IN_REGISTERS] = 1),
    /* rows that TMA cannot take; i32 in passes */
    ROW(128, 256, 4, 2, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1),
    ROW(128, 128, 6, 2, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1, [SPLIT_K] = 0),
    ROW(64, 64, 8, 1, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1),
    ROW(128, 192, 4, 2, PINGPONG, BELOW, [PACK_A] = 1, [PACK_B] = 1),
    ROW(128, 128, 6, 2, COOPERATIVE, ALONE, [PACK_A] = 1),
    ROW(128, 128, 6, 2, COOPERATIVE, ALONE, [PACK_B] = 1),
    ROW(64, 48, 4, 1, COOPERATIVE, ALONE, [SWAP] = 1, [PACK_A] = 1, [PACK_B] = 1, [TILE_K_BYTES] = 256),
    ROW(64, 48, 4, 1, COOPERATIVE, ALONE, [SWAP] = 1, [PACK_B] = 1, [TILE_K_BYTES] = 256),
    /* i32 with a sum for each weight */
    ROW(128, 96, 2, 2, COOPERATIVE, BESIDE, [PACK_A] = 1, [PACK_B] = 1, [SPLIT_K] = 0),
    ROW(128, 96, 2, 2, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1, [TILE_SCHEDULER] = STREAM_K),
    ROW(64, 64, 3, 1, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1, [CLUSTER_K] = 4),
    ROW(64, 32, 2, 1, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1, [TILE_SCHEDULER] = DATA_PARALLEL),
    ROW(64, 16, 5, 1, COOPERATIVE, ALONE, [SWAP] = 1, [PACK_A] = 1, [PACK_B] = 1, [SPLIT_K] = 0),
    /* f8 */
    ROW(128, 128, 6, 2, COOPERATIVE, BELOW, [PROMOTE] = 1, [EPILOGUE_STAGES] = 2),
    ROW(256, 128, 4, 2, COOPERATIVE, BELOW, [PROMOTE] = 2, [EPILOGUE_STAGES] = 2),
    ROW(128, 192, 4, 2, COOPERATIVE, BELOW, [PROMOTE] = 4, [EPILOGUE_STAGES] = 2),
    ROW(128, 96, 6, 2, PINGPONG, BELOW, [PROMOTE] = 4, [EPILOGUE_STAGES] = 2),
    ROW(128, 128, 6, 2, COOPERATIVE, ALONE, [TILE_SCHEDULER] = STREAM_K, [PROMOTE] = 4, [EPILOGUE_STAGES] = 2),
    ROW(64, 64, 8, 1, COOPERATIVE, ALONE, [PROMOTE] = 4, [EPILOGUE_STAGES] = 1),
    ROW(64, 16, 8, 1, COOPERATIVE, ALONE, [SWAP] = 1, [TILE_K_BYTES] = 256, [PROMOTE] = 4),
    ROW(64, 64, 6, 1, COOPERATIVE, ALONE, [CLUSTER_K] = 4, [PROMOTE] = 4),
    ROW(64, 64, 8, 1, COOPERATIVE, ALONE, [SPLIT_K] = 0, [PROMOTE] = 4),
    ROW(128, 64, 8, 1, COOPERATIVE, ALONE, [SWAP] = 1, [PROMOTE] = 1, [TRANSPOSE_IN_REGISTERS] = 1, [SPLIT_K] = 0),
    ROW(128, 16, 8, 1, COOPERATIVE, ALONE, [SWAP] = 1, [CLUSTER_K] = 4, [PROMOTE] = 1, [TRANSPOSE_IN_REGISTERS] = 1),
    ROW(128, 64, 8, 1, COOPERATIVE, ALONE, [PROMOTE] = 1, [TRANSPOSE_IN_REGISTERS] = 1),
    ROW(128, 128, 6, 2, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1, [PROMOTE] = 4),
    ROW(64, 64, 8, 1, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1, [PROMOTE] = 4),
    /* f32 */
    ROW(128, 128, 2, 2, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1, [SPLIT_K] = 0, [PROMOTE] = 1),
    ROW(128, 112, 2, 2, COOPERATIVE, BELOW, [SWAP] = 1, [PACK_A] = 1, [PACK_B] = 1, [TILE_SCHEDULER] = BALANCED,
        [RASTER_GROUP] = 4, [PROMOTE] = 1, [PROMOTION] = 256),
    ROW(128, 160, 2, 2, COOPERATIVE, FOUR_BELOW, [PACK_A] = 1, [PACK_B] = 1, [SPLIT_K] = 0, [PROMOTE] = 1),
    ROW(128, 128, 2, 2, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1, [TILE_SCHEDULER] = STREAM_K, [PROMOTE] = 1),
    ROW(128, 96, 2, 2, PINGPONG, ALONE, [PACK_A] = 1, [PACK_B] = 1, [PROMOTE] = 1),
    ROW(128, 64, 3, 2, COOPERATIVE, BELOW, [PACK_A] = 1, [PACK_B] = 1, [SPLIT_K] = 0, [PROMOTE] = 1),
    ROW(64, 64, 4, 1, COOPERATIVE, ALONE, [PACK_A] = 1, [PACK_B] = 1, [SPLIT_K] = 0, [PROMOTE] = 1),
    ROW(64, 32, 5, 1, COOPERATIVE, ALONE, [SWAP] = 1, [PACK_A] = 1, [PACK_B] = 1, [SPLIT_K] = 0, [PROMOTE] = 1),
};
// clang-format on

#pragma GCC diagnostic pop

#undef ROW

#endif
