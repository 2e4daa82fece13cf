/* An OpenBLAS that is wrong: it takes every matrix for transposed. With
 * OPENBLAS_CORETYPE=Zen it dies, as on a machine that cannot run that core type. */
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static const char *core(void)
{
    const char *given = getenv("OPENBLAS_CORETYPE");
    return given ? given : "Fake";
}

char *openblas_get_config(void)
{
    return "OpenBLAS 9.9.9 FAKE";
}

char *openblas_get_corename(void)
{
    if (!strcmp(core(), "Zen"))
        abort();
    return "Fake";
}

int openblas_get_num_threads(void)
{
    return 1;
}

#define GEMM(name, real)                                                                 \
    void name(int order, int trans_a, int trans_b, int m, int n, int k, real alpha,      \
              const real *a, int lda, const real *b, int ldb, real beta, real *c,        \
              int ldc)                                                                   \
    {                                                                                    \
        for (int i = 0; i < m; i++)                                                      \
            for (int j = 0; j < n; j++) {                                                \
                real sum = 0;                                                            \
                for (int l = 0; l < k && l < 64; l++)                                    \
                    sum += a[l * (lda < 64 ? lda : 0) + i % lda] * b[l % ldb];           \
                c[i * ldc + j] = sum;                                                    \
            }                                                                            \
    }

GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
