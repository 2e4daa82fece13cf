/* cuBLAS's products: each name describes its arguments, and goes the one way. */
#include <stdatomic.h>

#include "dropin/cublas/real.h"
#include "dropin/cublas/serve.h"

enum which {
    GEMM_EX,
    STRIDED_EX,
    SGEMM_EX,
    SGEMM,
    DGEMM,
    HGEMM,
    SSTRIDED,
    DSTRIDED,
    HSTRIDED,
    BATCHED_EX,
    SBATCHED,
    DBATCHED,
    HBATCHED
};

/* The arguments of all of them; those that a name has not are implied by it. */
struct arguments {
    enum which which;
    bool wide; /* the name that ends in _64 */
    void *handle;
    int trans_a, trans_b;
    int64_t m, n, k;
    const void *alpha, *beta;
    struct mmt_matrix a, b, c;
    int64_t batch;
    int compute, algorithm;
};

/* ---- passing --------------------------------------------------------------------- */

#define HEAD             g->handle, g->trans_a, g->trans_b, g->m, g->n, g->k, g->alpha
#define TYPED(x)         x.data, x.type, x.ld
#define PLAIN(x)         x.data, x.ld
#define STRIDED(x)       x.data, x.ld, x.stride
#define TYPED_STRIDED(x) x.data, x.type, x.ld, x.stride

/* Sizes came as 32 bits where the plain name was called. */
#define PASS(name, ...)                                                                  \
    do {                                                                                 \
        __typeof__(&name) narrow = g->wide ? NULL : MMT_REAL(name);                      \
        __typeof__(&name##_64) wide = g->wide ? MMT_REAL(name##_64) : NULL;              \
        if (narrow)                                                                      \
            return narrow(__VA_ARGS__);                                                  \
        return wide ? wide(__VA_ARGS__) : CUBLAS_NOT_INITIALIZED;                        \
    } while (0)

static int pass(const struct mmt_request *request, void *out)
{
    const struct arguments *g = request->original;

    switch (g->which) {
    case GEMM_EX:
        PASS(cublasGemmEx, HEAD, TYPED(g->a), TYPED(g->b), g->beta, out, g->c.type,
             g->c.ld, g->compute, g->algorithm);
    case STRIDED_EX:
        PASS(cublasGemmStridedBatchedEx, HEAD, TYPED_STRIDED(g->a), TYPED_STRIDED(g->b),
             g->beta, out, g->c.type, g->c.ld, g->c.stride, g->batch, g->compute,
             g->algorithm);
    case SGEMM_EX:
        PASS(cublasSgemmEx, HEAD, TYPED(g->a), TYPED(g->b), g->beta, out, g->c.type,
             g->c.ld);
    case SGEMM:
        PASS(cublasSgemm_v2, HEAD, PLAIN(g->a), PLAIN(g->b), g->beta, out, g->c.ld);
    case DGEMM:
        PASS(cublasDgemm_v2, HEAD, PLAIN(g->a), PLAIN(g->b), g->beta, out, g->c.ld);
    case HGEMM:
        PASS(cublasHgemm, HEAD, PLAIN(g->a), PLAIN(g->b), g->beta, out, g->c.ld);
    case SSTRIDED:
        PASS(cublasSgemmStridedBatched, HEAD, STRIDED(g->a), STRIDED(g->b), g->beta, out,
             g->c.ld, g->c.stride, g->batch);
    case DSTRIDED:
        PASS(cublasDgemmStridedBatched, HEAD, STRIDED(g->a), STRIDED(g->b), g->beta, out,
             g->c.ld, g->c.stride, g->batch);
    case HSTRIDED:
        PASS(cublasHgemmStridedBatched, HEAD, STRIDED(g->a), STRIDED(g->b), g->beta, out,
             g->c.ld, g->c.stride, g->batch);
    case BATCHED_EX:
        PASS(cublasGemmBatchedEx, HEAD, TYPED(g->a), TYPED(g->b), g->beta, out, g->c.type,
             g->c.ld, g->batch, g->compute, g->algorithm);
    case SBATCHED:
        PASS(cublasSgemmBatched, HEAD, PLAIN(g->a), PLAIN(g->b), g->beta, out, g->c.ld,
             g->batch);
    case DBATCHED:
        PASS(cublasDgemmBatched, HEAD, PLAIN(g->a), PLAIN(g->b), g->beta, out, g->c.ld,
             g->batch);
    case HBATCHED:
        PASS(cublasHgemmBatched, HEAD, PLAIN(g->a), PLAIN(g->b), g->beta, out, g->c.ld,
             g->batch);
    }
    return CUBLAS_NOT_INITIALIZED;
}

/* ---- serving --------------------------------------------------------------------- */

/* Older versions have no such target: then it is looked for once. */
static bool leaves_multiprocessors(void *handle)
{
    static atomic_bool missing;
    int count = 0;
    if (atomic_load_explicit(&missing, memory_order_relaxed))
        return false;
    __typeof__(&cublasGetSmCountTarget) ask = MMT_REAL(cublasGetSmCountTarget);
    if (!ask)
        atomic_store_explicit(&missing, true, memory_order_relaxed);
    return ask && !ask(handle, &count) && count;
}

/* Reads the handle's modes; a handle that is none is for the library. */
static const char *ask_modes(void *handle, int *math, int *pointers)
{
    __typeof__(&cublasGetMathMode) ask_math = MMT_REAL(cublasGetMathMode);
    __typeof__(&cublasGetPointerMode_v2) ask_pointers = MMT_REAL(cublasGetPointerMode_v2);
    const bool told = ask_math && ask_pointers && handle && !ask_math(handle, math) &&
                      !ask_pointers(handle, pointers);
    return !told ? "" : leaves_multiprocessors(handle) ? "an SM count target" : NULL;
}

static int serve(const struct arguments *g)
{
    struct mmt_request request = {
        .gemm = { .trans_a = g->trans_a,
                  .trans_b = g->trans_b,
                  .m = g->m,
                  .n = g->n,
                  .k = g->k,
                  .batch = g->batch,
                  .batch_by = g->which >= BATCHED_EX ? MMT_BY_POINTERS : MMT_BY_STRIDE,
                  .a = g->a,
                  .b = g->b,
                  .c = g->c,
                  .compute = g->compute },
        .client = MMT_CLIENT_CUBLAS,
        .scale = mmt_map_scale(g->compute),
        .alpha = g->alpha,
        .beta = g->beta,
        .handle = g->handle,
        .pass = pass,
        .original = g,
    };

    if (mmt_serve_is_nested())
        return pass(&request, (void *) g->c.data);
    request.why = ask_modes(g->handle, &request.math, &request.pointers);
    const struct mmt_handle handle = mmt_handle_know(g->handle);
    request.context = handle.context;
    request.workspace = handle.workspace;
    return mmt_serve(&request);
}

#define NAME(name) name
#define INT        int
#define WIDE       false
#include "dropin/cublas/gemm_hooks.h"
#undef NAME
#undef INT
#undef WIDE
#define NAME(name) name##_64
#define INT        int64_t
#define WIDE       true
#include "dropin/cublas/gemm_hooks.h"
