/* A BLAS that is slow, plain and counts: sgemm and dgemm of Fortran and CBLAS. As
 * Netlib's, its CBLAS calls its Fortran through the loader. How often each was called
 * stands in the file MMT_STAND_IN_LOG when the process ends.
 *
 * Compiled with FLEXIBLAS it is what FlexiBLAS shows its hooks instead: the rest of the
 * chain. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static atomic_int calls[4];
static const char *const names[4] = { "sgemm", "dgemm", "cblas_sgemm", "cblas_dgemm" };

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("MMT_STAND_IN_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    for (int i = 0; file && i < 4; i++)
        fprintf(file, "%s %d\n", names[i], atomic_load(&calls[i]));
    if (file)
        fclose(file);
}

#define GEMM(scalar, name, count)                                                        \
    EXPORT void name(const char *ta, const char *tb, const int *m, const int *n,         \
                     const int *k, const scalar *alpha, const scalar *a, const int *lda, \
                     const scalar *b, const int *ldb, const scalar *beta, scalar *c,     \
                     const int *ldc, size_t length_a, size_t length_b);                  \
    void name(const char *ta, const char *tb, const int *m, const int *n, const int *k,  \
              const scalar *alpha, const scalar *a, const int *lda, const scalar *b,     \
              const int *ldb, const scalar *beta, scalar *c, const int *ldc,             \
              size_t length_a, size_t length_b)                                          \
    {                                                                                    \
        atomic_fetch_add(&calls[count], 1);                                              \
        for (int j = 0; j < *n; j++)                                                     \
            for (int i = 0; i < *m; i++) {                                               \
                scalar sum = 0;                                                          \
                for (int p = 0; p < *k; p++)                                             \
                    sum += (*ta == 'N' ? a[i + p * *lda] : a[p + i * *lda]) *            \
                           (*tb == 'N' ? b[p + j * *ldb] : b[j + p * *ldb]);             \
                scalar *at = &c[i + j * *ldc];                                           \
                *at = *alpha * sum + (*beta != 0 ? *beta * *at : 0);                     \
            }                                                                            \
    }

#ifdef FLEXIBLAS
GEMM(float, flexiblas_chain_sgemm_, 0)
GEMM(double, flexiblas_chain_dgemm_, 1)

EXPORT int flexiblas_current_backend(char *name, size_t length);
int flexiblas_current_backend(char *name, size_t length)
{
    return snprintf(name, length, "STANDIN");
}
#else
GEMM(float, sgemm_, 0)
GEMM(double, dgemm_, 1)

enum { ROW_MAJOR = 101, AS_STORED = 111 };

#define CBLAS(scalar, name, fortran, count)                                              \
    EXPORT void name(int layout, int ta, int tb, int m, int n, int k, scalar alpha,      \
                     const scalar *a, int lda, const scalar *b, int ldb, scalar beta,    \
                     scalar *c, int ldc);                                                \
    void name(int layout, int ta, int tb, int m, int n, int k, scalar alpha,             \
              const scalar *a, int lda, const scalar *b, int ldb, scalar beta,           \
              scalar *c, int ldc)                                                        \
    {                                                                                    \
        const char *fa = ta == AS_STORED ? "N" : "T", *fb = tb == AS_STORED ? "N" : "T"; \
        atomic_fetch_add(&calls[count], 1);                                              \
        if (layout == ROW_MAJOR)                                                         \
            fortran(fb, fa, &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc, 1, 1); \
        else                                                                             \
            fortran(fa, fb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1); \
    }

CBLAS(float, cblas_sgemm, sgemm_, 2)
CBLAS(double, cblas_dgemm, dgemm_, 3)
#endif
