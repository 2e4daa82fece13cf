/* libcublas as its documentation describes it, for matrices in host memory: handles and
 * their state, and the products, each also with sizes of 64 bits. By the clock of
 * tests/emulation/fake/card each takes MMT_FAKE_CUBLAS_US, 2000 where that is not set, or
 * a quarter of it where the handle was given MMT_FAKE_CUBLAS_LARGE bytes or more.
 *
 * As in the vendor's, references to its own functions are bound within, and some products
 * are left to libcublasLt: here cublasHgemm calls cublasLtMatmul. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulation/fake/fake_cublas.h"
#include "tuner/verify/number.h"

struct handle {
    void *stream, *workspace, *lt;
    size_t workspace_size;
    int pointer_mode, math_mode, sm_count;
};

/* cudaDataType */
enum { R_32F = 0, R_64F = 1, R_16F = 2 };

size_t cublasLtGetVersion(void);
int cublasLtGetProperty(int property, int *value);
const char *cublasLtGetStatusName(int status);
const char *cublasLtGetStatusString(int status);
int cublasLtCreate(void **handle);
int cublasLtDestroy(void *handle);
int cublasLtMatmulDescCreate(void **out, int compute, int scale);
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value,
                                   size_t size);
int cublasLtMatmulDescDestroy(void *desc);
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns,
                               int64_t ld);
int cublasLtMatrixLayoutDestroy(void *layout);
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *la,
                   const void *b, void *lb, const void *beta, const void *c, void *lc,
                   void *d, void *ld, const uint64_t algorithm[8], void *workspace,
                   size_t workspace_size, void *stream);

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- handles ----------------------------------------------------------------------- */

/* The memory of the handle that was destroyed last: the next one has its address. */
static _Atomic(struct handle *) freed;

/* What a test does behind that, while the handle is still being destroyed. */
EXPORT(void) (*cublas_fake_destroying)(void);

EXPORT(int) cublasCreate_v2(struct handle **out)
{
    fake_count(__func__);
    if (!out)
        return INVALID_VALUE;
    fake_card_enter();
    struct handle *handle = atomic_exchange(&freed, NULL);
    if (!handle)
        handle = malloc(sizeof *handle);
    *handle = (struct handle){ 0 };
    *out = handle;
    return cublasLtCreate(&handle->lt);
}

EXPORT(int) cublasDestroy_v2(struct handle *handle)
{
    fake_count(__func__);
    if (!handle)
        return NOT_INITIALIZED;
    cublasLtDestroy(handle->lt);
    free(atomic_exchange(&freed, handle));
    if (cublas_fake_destroying)
        cublas_fake_destroying();
    return SUCCESS;
}

/* Takes the workspace back, too. */
EXPORT(int) cublasSetStream_v2(struct handle *handle, void *stream)
{
    fake_count(__func__);
    if (!handle)
        return NOT_INITIALIZED;
    handle->stream = stream;
    handle->workspace = NULL, handle->workspace_size = 0;
    return SUCCESS;
}

EXPORT(int) cublasSetWorkspace_v2(struct handle *handle, void *workspace, size_t size)
{
    fake_count(__func__);
    if (!handle)
        return NOT_INITIALIZED;
    if ((uintptr_t) workspace % 256)
        return INVALID_VALUE;
    handle->workspace = workspace, handle->workspace_size = size;
    return SUCCESS;
}

#define GETTER(name, out_type, member)                                                   \
    EXPORT(int) name(struct handle *handle, out_type *out)                               \
    {                                                                                    \
        fake_count(__func__);                                                            \
        if (!handle)                                                                     \
            return NOT_INITIALIZED;                                                      \
        if (!out)                                                                        \
            return INVALID_VALUE;                                                        \
        *out = handle->member;                                                           \
        return SUCCESS;                                                                  \
    }
GETTER(cublasGetStream_v2, void *, stream)
GETTER(cublasGetPointerMode_v2, int, pointer_mode)
GETTER(cublasGetMathMode, int, math_mode)
GETTER(cublasGetSmCountTarget, int, sm_count)

#define SETTER(name, member, most)                                                       \
    EXPORT(int) name(struct handle *handle, int value)                                   \
    {                                                                                    \
        fake_count(__func__);                                                            \
        if (!handle)                                                                     \
            return NOT_INITIALIZED;                                                      \
        if (value < 0 || value > most)                                                   \
            return INVALID_VALUE;                                                        \
        handle->member = value;                                                          \
        return SUCCESS;                                                                  \
    }
SETTER(cublasSetPointerMode_v2, pointer_mode, 1)
SETTER(cublasSetMathMode, math_mode, 0x1ff)
SETTER(cublasSetSmCountTarget, sm_count, 132)

EXPORT(int) cublasGetVersion_v2(struct handle *handle, int *version)
{
    fake_count(__func__);
    *version = (int) cublasLtGetVersion();
    return SUCCESS;
}

EXPORT(int) cublasGetProperty(int property, int *value)
{
    fake_count(__func__);
    return cublasLtGetProperty(property, value);
}

EXPORT(const char *) cublasGetStatusName(int status)
{
    return cublasLtGetStatusName(status);
}

EXPORT(const char *) cublasGetStatusString(int status)
{
    return cublasLtGetStatusString(status);
}

/* ---- products ---------------------------------------------------------------------- */

/* A product as all functions below name it. Types are cudaDataType. */
struct gemm {
    int op_a, op_b;
    int64_t m, n, k, batch;
    int compute;
    const void *alpha, *beta;
    int type_a, type_b, type_c;
    struct fake_matrix a, b, c;
};

static int64_t least_ld(int64_t rows)
{
    return rows > 1 ? rows : 1;
}

static bool is_valid(const struct gemm *it)
{
    return it->op_a >= 0 && it->op_a <= 2 && it->op_b >= 0 && it->op_b <= 2 &&
           it->m >= 0 && it->n >= 0 && it->k >= 0 && it->batch >= 0 &&
           it->a.ld >= least_ld(it->op_a ? it->k : it->m) &&
           it->b.ld >= least_ld(it->op_b ? it->n : it->k) &&
           it->c.ld >= least_ld(it->m) && it->alpha && it->beta;
}

static int check(const struct handle *handle, const struct gemm *it)
{
    if (!handle)
        return NOT_INITIALIZED;
    if (!is_valid(it))
        return INVALID_VALUE;
    if (fake_type_of(it->type_a) < 0 || fake_type_of(it->type_c) < 0 ||
        it->type_a != it->type_b ||
        !fake_goes(it->compute, fake_scalar_of(it->compute),
                   (mmt_type) fake_type_of(it->type_a),
                   (mmt_type) fake_type_of(it->type_c)))
        return NOT_SUPPORTED;
    return SUCCESS;
}

static struct fake_matrix typed(struct fake_matrix matrix, int cuda)
{
    matrix.type = (mmt_type) fake_type_of(cuda);
    return matrix;
}

static bool is_large(const struct handle *handle)
{
    const char *least = getenv("MMT_FAKE_CUBLAS_LARGE");
    return least && handle->workspace_size >= (size_t) atoll(least);
}

/* A workspace holds nothing from one call to the next. */
static void scribble(const struct handle *handle)
{
    const size_t most = 65536, size = handle->workspace_size;
    if (handle->workspace)
        memset(handle->workspace, 0xff, size < most ? size : most);
}

/* Scalars of either pointer mode are in host memory. */
static int multiply(struct handle *handle, const struct gemm *it)
{
    const int status = check(handle, it);
    if (status)
        return status;
    const mmt_type scalar = (mmt_type) fake_scalar_of(it->compute);
    const struct fake_product product = {
        .transposed = { it->op_a != 0, it->op_b != 0 },
        .m = it->m,
        .n = it->n,
        .k = it->k,
        .batch = it->batch,
        .alpha = (double) mmt_number_read(scalar, it->alpha),
        .beta = (double) mmt_number_read(scalar, it->beta),
        .a = typed(it->a, it->type_a),
        .b = typed(it->b, it->type_b),
        .c = typed(it->c, it->type_c),
    };
    fake_card_enter();
    scribble(handle);
    fake_clock_add(is_large(handle) ? 0.25 : 1);
    fake_product_compute(&product);
    return SUCCESS;
}

/* Of a function with sizes of 32 bits, and of its twin with sizes of 64. */
#define BOTH(define, name, ...)                                                          \
    define(name, int, __VA_ARGS__) define(name##_64, int64_t, __VA_ARGS__)

/* The product of a function whose parameters have these names; matrices come last. */
#define PRODUCT(batch, compute, type_a, type_b, type_c, ...)                             \
    &(const struct gemm)                                                                 \
    {                                                                                    \
        op_a, op_b, m, n, k, batch, compute, alpha, beta, type_a, type_b, type_c,        \
            __VA_ARGS__                                                                  \
    }
#define ONE(x)                                                                           \
    {                                                                                    \
        .data = x, .ld = ld##x                                                           \
    }
#define STRIDED(x)                                                                       \
    {                                                                                    \
        .data = x, .ld = ld##x, .stride = stride_##x                                     \
    }
#define LISTED(x)                                                                        \
    {                                                                                    \
        .list = (const void *const *) x, .ld = ld##x                                     \
    }

#define GEMM(name, size, element, code, computes)                                        \
    EXPORT(int)                                                                          \
    name(struct handle *handle, int op_a, int op_b, size m, size n, size k,              \
         const element *alpha, const element *a, size lda, const element *b, size ldb,   \
         const element *beta, element *c, size ldc)                                      \
    {                                                                                    \
        fake_count(__func__);                                                            \
        return multiply(handle,                                                          \
                        PRODUCT(1, computes, code, code, code, ONE(a), ONE(b), ONE(c))); \
    }
BOTH(GEMM, cublasSgemm_v2, float, R_32F, COMPUTE_32F)
BOTH(GEMM, cublasDgemm_v2, double, R_64F, COMPUTE_64F)

#define GEMM_STRIDED(name, size, element, code, computes)                                \
    EXPORT(int)                                                                          \
    name(struct handle *handle, int op_a, int op_b, size m, size n, size k,              \
         const element *alpha, const element *a, size lda, long long stride_a,           \
         const element *b, size ldb, long long stride_b, const element *beta,            \
         element *c, size ldc, long long stride_c, size batch)                           \
    {                                                                                    \
        fake_count(__func__);                                                            \
        return multiply(handle, PRODUCT(batch, computes, code, code, code, STRIDED(a),   \
                                        STRIDED(b), STRIDED(c)));                        \
    }
BOTH(GEMM_STRIDED, cublasSgemmStridedBatched, float, R_32F, COMPUTE_32F)
BOTH(GEMM_STRIDED, cublasDgemmStridedBatched, double, R_64F, COMPUTE_64F)
BOTH(GEMM_STRIDED, cublasHgemmStridedBatched, uint16_t, R_16F, COMPUTE_16F)

#define GEMM_BATCHED(name, size, element, code, computes)                                \
    EXPORT(int)                                                                          \
    name(struct handle *handle, int op_a, int op_b, size m, size n, size k,              \
         const element *alpha, const element *const a[], size lda,                       \
         const element *const b[], size ldb, const element *beta, element *const c[],    \
         size ldc, size batch)                                                           \
    {                                                                                    \
        fake_count(__func__);                                                            \
        return multiply(handle, PRODUCT(batch, computes, code, code, code, LISTED(a),    \
                                        LISTED(b), LISTED(c)));                          \
    }
BOTH(GEMM_BATCHED, cublasSgemmBatched, float, R_32F, COMPUTE_32F)
BOTH(GEMM_BATCHED, cublasDgemmBatched, double, R_64F, COMPUTE_64F)
BOTH(GEMM_BATCHED, cublasHgemmBatched, uint16_t, R_16F, COMPUTE_16F)

#define GEMM_EX(name, size, ...)                                                         \
    EXPORT(int)                                                                          \
    name(struct handle *handle, int op_a, int op_b, size m, size n, size k,              \
         const void *alpha, const void *a, int type_a, size lda, const void *b,          \
         int type_b, size ldb, const void *beta, void *c, int type_c, size ldc,          \
         int compute, int algorithm)                                                     \
    {                                                                                    \
        fake_count(__func__);                                                            \
        return multiply(handle, PRODUCT(1, compute, type_a, type_b, type_c, ONE(a),      \
                                        ONE(b), ONE(c)));                                \
    }
BOTH(GEMM_EX, cublasGemmEx)

#define SGEMM_EX(name, size, ...)                                                        \
    EXPORT(int)                                                                          \
    name(struct handle *handle, int op_a, int op_b, size m, size n, size k,              \
         const float *alpha, const void *a, int type_a, size lda, const void *b,         \
         int type_b, size ldb, const float *beta, void *c, int type_c, size ldc)         \
    {                                                                                    \
        fake_count(__func__);                                                            \
        return multiply(handle, PRODUCT(1, COMPUTE_32F, type_a, type_b, type_c, ONE(a),  \
                                        ONE(b), ONE(c)));                                \
    }
BOTH(SGEMM_EX, cublasSgemmEx)

#define GEMM_STRIDED_EX(name, size, ...)                                                 \
    EXPORT(int)                                                                          \
    name(struct handle *handle, int op_a, int op_b, size m, size n, size k,              \
         const void *alpha, const void *a, int type_a, size lda, long long stride_a,     \
         const void *b, int type_b, size ldb, long long stride_b, const void *beta,      \
         void *c, int type_c, size ldc, long long stride_c, size batch, int compute,     \
         int algorithm)                                                                  \
    {                                                                                    \
        fake_count(__func__);                                                            \
        return multiply(handle, PRODUCT(batch, compute, type_a, type_b, type_c,          \
                                        STRIDED(a), STRIDED(b), STRIDED(c)));            \
    }
BOTH(GEMM_STRIDED_EX, cublasGemmStridedBatchedEx)

#define GEMM_BATCHED_EX(name, size, ...)                                                 \
    EXPORT(int)                                                                          \
    name(struct handle *handle, int op_a, int op_b, size m, size n, size k,              \
         const void *alpha, const void *const a[], int type_a, size lda,                 \
         const void *const b[], int type_b, size ldb, const void *beta, void *const c[], \
         int type_c, size ldc, size batch, int compute, int algorithm)                   \
    {                                                                                    \
        fake_count(__func__);                                                            \
        return multiply(handle, PRODUCT(batch, compute, type_a, type_b, type_c,          \
                                        LISTED(a), LISTED(b), LISTED(c)));               \
    }
BOTH(GEMM_BATCHED_EX, cublasGemmBatchedEx)

/* Of one element: real and imaginary part. */
#define CGEMM(name, size, ...)                                                           \
    EXPORT(int)                                                                          \
    name(struct handle *handle, int op_a, int op_b, size m, size n, size k,              \
         const float *alpha, const float *a, size lda, const float *b, size ldb,         \
         const float *beta, float *c, size ldc)                                          \
    {                                                                                    \
        fake_count(__func__);                                                            \
        if (op_a || op_b || m != 1 || n != 1 || k != 1 || alpha[0] != 1 || alpha[1] ||   \
            beta[0] || beta[1])                                                          \
            return INVALID_VALUE;                                                        \
        c[0] = a[0] * b[0] - a[1] * b[1];                                                \
        c[1] = a[0] * b[1] + a[1] * b[0];                                                \
        return 0;                                                                        \
    }
BOTH(CGEMM, cublasCgemm_v2)

/* ---- products that libcublasLt computes -------------------------------------------- */

static void make_layout(void **out, int op, int64_t rows, int64_t columns, int64_t ld)
{
    cublasLtMatrixLayoutCreate(out, R_16F, (uint64_t) (op ? columns : rows),
                               (uint64_t) (op ? rows : columns), ld);
}

static int multiply_by_lt(struct handle *handle, const struct gemm *it, void *c)
{
    void *desc = NULL, *layouts[3];
    int status = check(handle, it);
    if (status || !it->m || !it->n)
        return status;
    fake_card_enter();
    cublasLtMatmulDescCreate(&desc, it->compute, R_16F);
    cublasLtMatmulDescSetAttribute(desc, 3, &it->op_a, sizeof it->op_a);
    cublasLtMatmulDescSetAttribute(desc, 4, &it->op_b, sizeof it->op_b);
    make_layout(&layouts[0], it->op_a, it->m, it->k, it->a.ld);
    make_layout(&layouts[1], it->op_b, it->k, it->n, it->b.ld);
    make_layout(&layouts[2], 0, it->m, it->n, it->c.ld);
    status = cublasLtMatmul(handle->lt, desc, it->alpha, it->a.data, layouts[0],
                            it->b.data, layouts[1], it->beta, c, layouts[2], c,
                            layouts[2], NULL, NULL, 0, handle->stream);
    for (int i = 0; i < 3; i++)
        cublasLtMatrixLayoutDestroy(layouts[i]);
    cublasLtMatmulDescDestroy(desc);
    return status;
}

#define HGEMM(name, size, ...)                                                           \
    EXPORT(int)                                                                          \
    name(struct handle *handle, int op_a, int op_b, size m, size n, size k,              \
         const uint16_t *alpha, const uint16_t *a, size lda, const uint16_t *b,          \
         size ldb, const uint16_t *beta, uint16_t *c, size ldc)                          \
    {                                                                                    \
        fake_count(__func__);                                                            \
        return multiply_by_lt(                                                           \
            handle,                                                                      \
            PRODUCT(1, COMPUTE_16F, R_16F, R_16F, R_16F, ONE(a), ONE(b), ONE(c)), c);    \
    }
BOTH(HGEMM, cublasHgemm)
