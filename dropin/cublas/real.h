/* The vendor's functions themselves, behind those of the same names that stand before
 * them. Any thread. */
#ifndef MMT_DROPIN_CUBLAS_REAL_H
#define MMT_DROPIN_CUBLAS_REAL_H

#include <stdatomic.h>

#include "dropin/cublas/cublas.h"

#define MMT_REAL_BOTH(X, name) X(name) X(name##_64)
#define MMT_REAL_ALL(X)                                                                  \
    MMT_REAL_BOTH(X, cublasGemmEx)                                                       \
    MMT_REAL_BOTH(X, cublasGemmStridedBatchedEx)                                         \
    MMT_REAL_BOTH(X, cublasSgemmEx)                                                      \
    MMT_REAL_BOTH(X, cublasSgemm_v2)                                                     \
    MMT_REAL_BOTH(X, cublasDgemm_v2)                                                     \
    MMT_REAL_BOTH(X, cublasHgemm)                                                        \
    MMT_REAL_BOTH(X, cublasSgemmStridedBatched)                                          \
    MMT_REAL_BOTH(X, cublasDgemmStridedBatched)                                          \
    MMT_REAL_BOTH(X, cublasHgemmStridedBatched)                                          \
    MMT_REAL_BOTH(X, cublasGemmBatchedEx)                                                \
    MMT_REAL_BOTH(X, cublasSgemmBatched)                                                 \
    MMT_REAL_BOTH(X, cublasDgemmBatched)                                                 \
    MMT_REAL_BOTH(X, cublasHgemmBatched)                                                 \
    MMT_REAL_BOTH(X, cublasCgemmBatched)                                                 \
    MMT_REAL_BOTH(X, cublasZgemmBatched)                                                 \
    MMT_REAL_BOTH(X, cublasCgemm_v2)                                                     \
    MMT_REAL_BOTH(X, cublasZgemm_v2)                                                     \
    MMT_REAL_BOTH(X, cublasCgemmStridedBatched)                                          \
    MMT_REAL_BOTH(X, cublasZgemmStridedBatched)                                          \
    X(cublasCreate_v2)                                                                   \
    X(cublasDestroy_v2)                                                                  \
    X(cublasSetStream_v2)                                                                \
    X(cublasGetStream_v2)                                                                \
    X(cublasSetWorkspace_v2)                                                             \
    X(cublasGetPointerMode_v2)                                                           \
    X(cublasGetMathMode)                                                                 \
    X(cublasGetSmCountTarget)                                                            \
    X(cublasGetProperty)                                                                 \
    X(cublasLtGetVersion)                                                                \
    X(cublasLtMatmulDescGetAttribute)                                                    \
    X(cublasLtMatrixLayoutGetAttribute)                                                  \
    X(cublasLtMatmul)

enum mmt_real {
#define REAL(name) MMT_REAL_##name,
    MMT_REAL_ALL(REAL)
#undef REAL
        MMT_NUM_REAL
};

extern _Atomic(void *) mmt_real_found[MMT_NUM_REAL];

/* Looks for a function: behind this library, then in what the process has loaded for some
 * part of itself alone. NULL where it is nowhere. */
void *mmt_real_find(enum mmt_real which);

static inline void *mmt_real_function(enum mmt_real which)
{
    void *found = atomic_load_explicit(&mmt_real_found[which], memory_order_relaxed);
    return found ? found : mmt_real_find(which);
}

/* The function of that name, or NULL. */
#define MMT_REAL(name) ((__typeof__(&name)) mmt_real_function(MMT_REAL_##name))

/* The file that cuBLAS was loaded from, or else cuBLASLt; "" for neither. */
void mmt_real_path(char path[256]);

/* "cuBLAS 13.1.0"; "" where it cannot be asked. */
void mmt_real_name(char name[48]);

#endif
