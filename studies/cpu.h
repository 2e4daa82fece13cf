/* One core of the host, as the papers have it: plain C, one thread, no library. */
#ifndef MMT_STUDIES_CPU_H
#define MMT_STUDIES_CPU_H

#include <stdbool.h>

#include <mmtune/mmtune.h>

/* How the operands lie, and which way the inner loop walks. */
enum mmt_cpu_layout {
    MMT_CPU_AB,       /* C = A B: the inner loop steps down a column of B */
    MMT_CPU_ATB,      /* A is stored transposed: down a column of both */
    MMT_CPU_ABT,      /* B is stored transposed: along a row of both */
    MMT_CPU_BUFFERED, /* C = A B; each column of B is copied into a row first */
    MMT_CPU_LAYOUTS
};

/* "A*B", "A^T*B", "A*B^T", "buffered". */
const char *mmt_cpu_layout_name(enum mmt_cpu_layout layout);

/* C = op(A) op(B), all n x n, of type f32, f64 or i32 (mod 2^32). `column` is room for n
 * elements of the type. False where Ctrl-C has ended it: then C is not whole. */
bool mmt_cpu_gemm(mmt_type type, enum mmt_cpu_layout layout, int64_t n, const void *a,
                  const void *b, void *c, void *column);

/* C = A + B, n elements of type f32, f64 or i32. */
void mmt_cpu_add(mmt_type type, int64_t n, const void *a, const void *b, void *c);

#endif
