/* Products that ours has no kernels for: each is counted, and goes to the library as it
 * came. */
#include "dropin/cublas/real.h"
#include "dropin/cublas/serve.h"

#define HOOK __attribute__((visibility("default"))) int

static const char complex_numbers[] = "complex numbers";

#define PASS(name, why, ...)                                                             \
    {                                                                                    \
        __typeof__(&name) real = MMT_REAL(name);                                         \
        const uint64_t workspace = mmt_serve_enter(handle, why);                         \
        const int status =                                                               \
            real ? real(handle, trans_a, trans_b, m, n, k, alpha, __VA_ARGS__)           \
                 : CUBLAS_NOT_INITIALIZED;                                               \
        mmt_serve_leave(workspace);                                                      \
        return status;                                                                   \
    }

#define PLAIN(name, INT)                                                                 \
    HOOK name(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,               \
              const void *alpha, const void *a, INT lda, const void *b, INT ldb,         \
              const void *beta, void *c, INT ldc)                                        \
        PASS(name, complex_numbers, a, lda, b, ldb, beta, c, ldc)

#define STRIDED(name, INT)                                                               \
    HOOK name(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,               \
              const void *alpha, const void *a, INT lda, long long stride_a,             \
              const void *b, INT ldb, long long stride_b, const void *beta, void *c,     \
              INT ldc, long long stride_c, INT batch)                                    \
        PASS(name, complex_numbers, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,    \
             stride_c, batch)

#define POINTERS(name, INT)                                                              \
    HOOK name(void *handle, int trans_a, int trans_b, INT m, INT n, INT k,               \
              const void *alpha, const void *const *a, INT lda, const void *const *b,    \
              INT ldb, const void *beta, void *const *c, INT ldc, INT batch)             \
        PASS(name, complex_numbers, a, lda, b, ldb, beta, c, ldc, batch)

#define BOTH(form, name) form(name, int) form(name##_64, int64_t)
BOTH(PLAIN, cublasCgemm_v2)
BOTH(PLAIN, cublasZgemm_v2)
BOTH(STRIDED, cublasCgemmStridedBatched)
BOTH(STRIDED, cublasZgemmStridedBatched)
BOTH(POINTERS, cublasCgemmBatched)
BOTH(POINTERS, cublasZgemmBatched)
