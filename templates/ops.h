/* What the knobs of kernels that are no products say alike. */
#ifndef MMT_TEMPLATES_OPS_H
#define MMT_TEMPLATES_OPS_H

#include "templates/gemm.h"

/* One more launch, with its shared memory declared in the kernel. */
static inline void mmt_op_launch(const char *entry, const enum mmt_arg *args, int x,
                                 int y, int64_t blocks, int64_t batch,
                                 struct mmt_launches *out)
{
    out->launch[out->count++] = (struct mmt_launch){
        .entry = entry,
        .args = args,
        .grid = { (unsigned) blocks, 1, (unsigned) batch },
        .block = { (unsigned) x, (unsigned) y, 1 },
    };
}

/* Bytes that a whole vector of that many elements stands at: no load is longer. */
static inline unsigned mmt_op_vector_bytes(int vector, const struct mmt_variant *variant)
{
    size_t bytes = (size_t) vector * mmt_type_size(variant->type);
    return bytes < 16 ? (unsigned) bytes : 16;
}

#endif
