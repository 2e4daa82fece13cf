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

/* NULL if a block may have that shape and shared memory, and a thread such vectors. */
static inline const char *mmt_op_check_device(int vector, int x, int y, size_t shared,
                                              const struct mmt_caps *caps)
{
    if (vector > 4 && caps->kind == MMT_GPU)
        return "vectors of more than 4 elements are for a CPU";
    if (vector <= 4 && caps->kind == MMT_CPU)
        return "vectors of up to 4 elements are for a GPU";
    if (shared > 48 << 10)
        return "more shared memory than a kernel may declare";
    return mmt_gemm_check_device(x, y, shared, caps);
}

/* Bytes that a whole vector of that many elements stands at: no load is longer. */
static inline unsigned mmt_op_vector_bytes(int vector, mmt_type type)
{
    size_t bytes = (size_t) vector * mmt_type_size(type);
    return bytes < 16 ? (unsigned) bytes : 16;
}

#endif
