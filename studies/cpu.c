/* Multiplies and adds matrices on one core of the host, in plain loops as the papers have
 * them. */
#include "cpu.h"

#include "../tuner/common/command.h"

const char *mmt_cpu_layout_name(enum mmt_cpu_layout layout)
{
    static const char *const names[] = { "A*B", "A^T*B", "A*B^T", "buffered" };
    return names[layout];
}

/* The same loops for each type. i32 wraps, so that it is computed unsigned. */
#define DEFINE(real)                                                                     \
    static inline real dot_##real(const real *a, int64_t step_a, const real *b,          \
                                  int64_t step_b, int64_t n)                             \
    {                                                                                    \
        real sum = 0;                                                                    \
        for (int64_t k = 0; k < n; k++)                                                  \
            sum += a[k * step_a] * b[k * step_b];                                        \
        return sum;                                                                      \
    }                                                                                    \
                                                                                         \
    static void buffered_##real(int64_t n, const real *a, const real *b, real *c,        \
                                real *column)                                            \
    {                                                                                    \
        for (int64_t j = 0; j < n && !mmt_interrupted; j++) {                            \
            for (int64_t k = 0; k < n; k++)                                              \
                column[k] = b[k * n + j];                                                \
            for (int64_t i = 0; i < n; i++)                                              \
                c[i * n + j] = dot_##real(a + i * n, 1, column, 1, n);                   \
        }                                                                                \
    }                                                                                    \
                                                                                         \
    static void gemm_##real(enum mmt_cpu_layout layout, int64_t n, const real *a,        \
                            const real *b, real *c, real *column)                        \
    {                                                                                    \
        if (layout == MMT_CPU_BUFFERED) {                                                \
            buffered_##real(n, a, b, c, column);                                         \
            return;                                                                      \
        }                                                                                \
        for (int64_t i = 0; i < n && !mmt_interrupted; i++)                              \
            for (int64_t j = 0; j < n; j++)                                              \
                c[i * n + j] =                                                           \
                    layout == MMT_CPU_AB    ? dot_##real(a + i * n, 1, b + j, n, n)      \
                    : layout == MMT_CPU_ATB ? dot_##real(a + i, n, b + j, n, n)          \
                                            : dot_##real(a + i * n, 1, b + j * n, 1, n); \
    }                                                                                    \
                                                                                         \
    static void add_##real(int64_t n, const real *a, const real *b, real *c)             \
    {                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                  \
            c[i] = a[i] + b[i];                                                          \
    }

typedef unsigned int whole;
DEFINE(float)
DEFINE(double)
DEFINE(whole)

bool mmt_cpu_gemm(mmt_type type, enum mmt_cpu_layout layout, int64_t n, const void *a,
                  const void *b, void *c, void *column)
{
    if (type == MMT_F32)
        gemm_float(layout, n, a, b, c, column);
    else if (type == MMT_F64)
        gemm_double(layout, n, a, b, c, column);
    else
        gemm_whole(layout, n, a, b, c, column);
    return !mmt_interrupted;
}

void mmt_cpu_add(mmt_type type, int64_t n, const void *a, const void *b, void *c)
{
    if (type == MMT_F32)
        add_float(n, a, b, c);
    else if (type == MMT_F64)
        add_double(n, a, b, c);
    else
        add_whole(n, a, b, c);
}
