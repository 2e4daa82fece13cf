/* How a kernel is launched: the shape, and the common arguments that it takes. */
#ifndef MMT_BASE_LAUNCH_H
#define MMT_BASE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The arguments that a kernel of the op gemm may take, in the order in which its launch
 * lists them. One entry may stand for several kernel parameters:
 *
 *   MMT_ARG_M, _N, _K     int
 *   MMT_ARG_ALPHA, _BETA  real                      (host values)
 *   MMT_ARG_SCALARS       const GLOBAL real *, long  device alpha and beta or a null
 *                                                    pointer; start in elements
 *   MMT_ARG_A, _B         const GLOBAL element *, long start, int ld, long batch stride
 *   MMT_ARG_C             GLOBAL result *, long start, int ld, long batch stride
 *   MMT_ARG_BIAS          const GLOBAL result *, long start; a null pointer where the
 *                         problem has none
 *   MMT_ARG_WORKSPACE     GLOBAL real *, long start
 *   MMT_ARG_SECOND        GLOBAL real *, long start: the workspace once more, from where
 *                         the launch says
 *   MMT_ARG_BATCH         int: the matrices of this launch, for kernels of which a block
 *                         computes several
 *   MMT_ARG_SPLITS         int: the launch's `splits`, for a kernel that adds them up
 *   MMT_ARG_TILE          int, int, int: the launch's `tile`
 *   MMT_ARG_TENSOR_MAP_A, _B, _C const __grid_constant__ struct of 128 bytes, aligned to
 * 64: what TMA of newer NVIDIA cards is told of the matrix as it is stored, in three
 * dimensions: along a row, down the rows, the batch. The launch states the box that it
 * moves at once
 *
 * Starts, leading dimensions and strides are in elements. */
enum mmt_arg {
    MMT_ARG_END = 0,
    MMT_ARG_M,
    MMT_ARG_N,
    MMT_ARG_K,
    MMT_ARG_ALPHA,
    MMT_ARG_BETA,
    MMT_ARG_SCALARS,
    MMT_ARG_A,
    MMT_ARG_B,
    MMT_ARG_C,
    MMT_ARG_BIAS,
    MMT_ARG_WORKSPACE,
    MMT_ARG_SECOND,
    MMT_ARG_BATCH,
    MMT_ARG_SPLITS,
    MMT_ARG_TILE,
    MMT_ARG_TENSOR_MAP_A,
    MMT_ARG_TENSOR_MAP_B,
    MMT_ARG_TENSOR_MAP_C,
};

/* What a map of A or B describes: the operand, or a copy of it in the workspace that an
 * earlier launch made, whose rows begin at multiples of 16 bytes. */
enum mmt_packed {
    MMT_AS_STORED,
    MMT_PACKED_DEEP,   /* the rows of A or the columns of B, one after the other */
    MMT_PACKED_FLAT,   /* the columns of A or the rows of B, one after the other */
    MMT_PACKED_SLICES, /* of f32 and i32, deep: for each of the batch as many matrices as
                        * a number has slices */
};

/* What TMA moves at once: `inner` elements of each of `outer` rows. In shared
 * memory they stand row after row, in 16-byte pieces that are exchanged ("swizzled")
 * within that many bytes, the length of a row: 16 (as they are), 32, 64 or 128. */
struct mmt_box {
    unsigned inner, outer, swizzle;
    unsigned promotion; /* bytes the last-level cache gets at once: 0, 64, 128, 256 */
    enum mmt_packed packed;
    size_t at;         /* of a copy: where in the workspace, bytes */
    bool serves_batch; /* of a copy: one is there for all matrices */
};

enum { MMT_MAX_LAUNCHES = 4 };

/* One launch. The grid counts blocks, not threads. Dimension z of the grid is the batch:
 * more matrices than a grid may have there are split into several launches by the
 * runtime, which moves A, B and C on. */
struct mmt_launch {
    const char *entry;        /* the kernel's name in the text */
    const enum mmt_arg *args; /* ends with MMT_ARG_END */
    unsigned grid[3], block[3];
    size_t workspace_at; /* where MMT_ARG_WORKSPACE begins in the workspace, bytes */
    size_t second_workspace_at; /* the same of MMT_ARG_SECOND */
    size_t shared;              /* bytes of dynamic shared memory (CUDA); also what an
                                 * OpenCL text declares as local memory */
    struct mmt_box box[3];      /* of A, B and C, where there are maps of them */
    unsigned edge_blocks; /* of its blocks along x, those that pack an operand's edge */
    int splits;           /* of k, whose sums are in the workspace: MMT_ARG_SPLITS */
    int tile[3];          /* of a block, along m, n and k: MMT_ARG_TILE */
    int64_t tiles;   /* of C, where persistent blocks share them and cut the last of them
                      * along k into equal runs; else 0 */
    bool persistent; /* a block computes one tile after another, so that the grid may
                      * be cut to what the device runs at once */
    bool pdl_waits;  /* the kernel calls PDL_WAIT: where the device has words for that,
                      * it may begin while what the queue has before it is at work */
    bool grid_of_previous; /* its grid has as many blocks along x as that of the launch
                            * before it once that is cut */
};

/* The launches of one execution, in order, each after the one before it is done. */
struct mmt_launches {
    int count;
    struct mmt_launch launch[MMT_MAX_LAUNCHES];
    size_t workspace; /* bytes, shared by all launches of the execution */
};

#endif
