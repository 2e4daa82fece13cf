/* What the descriptors of cublasLt say, read by its getters.
 *
 * Getters take some ns each, and a call has dozens of them. A descriptor is plain memory
 * of a documented size, which a program may have on its stack: the same bytes say the
 * same. So what the last ones said is remembered. */
#ifndef MMT_DROPIN_CUBLAS_DESCRIPTORS_H
#define MMT_DROPIN_CUBLAS_DESCRIPTORS_H

#include <stdbool.h>

#include "dropin/cublas/cublas.h"

struct mmt_layout {
    int32_t type, order, batch;
    uint32_t batch_mode;
    uint64_t rows, columns;
    int64_t ld, stride;
};

struct mmt_desc {
    int32_t compute, scale, pointers, trans_a, trans_b, trans_c, fill;
    uint32_t epilogue;
    int32_t bias_type; /* -1: that of D */
    int64_t bias_stride;
    const void *bias;
    bool scales; /* there are scale pointers, or one for the largest magnitude */
    bool emulation;
    bool shares; /* leaves multiprocessors to others, or computes along with them */
};

/* False where the library does not tell. Any thread. */
bool mmt_layout_read(void *layout, struct mmt_layout *out);
bool mmt_desc_read(void *desc, struct mmt_desc *out);

#endif
