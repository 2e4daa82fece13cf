/* What the knobs of several gemm kernels say alike. */
#ifndef MMT_TEMPLATES_GEMM_H
#define MMT_TEMPLATES_GEMM_H

#include "templates/template.h"

/* The parameters of a gemm kernel that needs no workspace. */
static const enum mmt_arg mmt_gemm_args[] = {
    MMT_ARG_M,       MMT_ARG_N, MMT_ARG_K, MMT_ARG_ALPHA, MMT_ARG_BETA,
    MMT_ARG_SCALARS, MMT_ARG_A, MMT_ARG_B, MMT_ARG_C,     MMT_ARG_END,
};

/* Those of one with the whole epilogue. */
static const enum mmt_arg mmt_gemm_fused_args[] = {
    MMT_ARG_M, MMT_ARG_N, MMT_ARG_K, MMT_ARG_ALPHA, MMT_ARG_BETA, MMT_ARG_SCALARS,
    MMT_ARG_A, MMT_ARG_B, MMT_ARG_C, MMT_ARG_BIAS,  MMT_ARG_END,
};

enum { MMT_GEMM_TYPES = MMT_PLAIN_TYPES };

/* Pieces of that size that cover `size` elements, the last one perhaps in part. */
static inline int64_t mmt_gemm_pieces(int64_t size, int piece)
{
    return (size + piece - 1) / piece;
}

/* NULL if a block may have x times y threads and that many bytes of shared memory. */
static inline const char *mmt_gemm_reject(int x, int y, size_t shared,
                                          const struct mmt_caps *caps)
{
    if (caps->max_threads && (unsigned) (x * y) > caps->max_threads)
        return "more threads than a block of this device may have";
    if (caps->max_block[0] && (unsigned) x > caps->max_block[0])
        return "a block is wider than this device allows";
    if (caps->max_block[1] && (unsigned) y > caps->max_block[1])
        return "a block is higher than this device allows";
    if (caps->shared && shared > caps->shared)
        return "more shared memory than a block of this device may have";
    return NULL;
}

/* NULL if that many blocks can be numbered by an int. */
static inline const char *mmt_gemm_refuse(int64_t blocks)
{
    return blocks > INT32_MAX ? "more blocks than a grid may have; choose larger ones"
                              : NULL;
}

/* One launch of mmt_gemm, with its shared memory declared in the kernel. */
static inline void mmt_gemm_launch(int x, int y, int64_t blocks, int64_t batch,
                                   struct mmt_launches *out)
{
    *out = (struct mmt_launches){
        .count = 1,
        .launch[0] = {
            .entry = "mmt_gemm",
            .args = mmt_gemm_args,
            .grid = { (unsigned) blocks, 1, (unsigned) batch },
            .block = { (unsigned) x, (unsigned) y, 1 },
        },
    };
}

#endif
