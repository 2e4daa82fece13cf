/* cuBLASLt as its documentation describes it, for matrices in host memory: column-major,
 * with descriptors whose attributes are checked for value and size. It proposes four
 * algorithms: the first right and slow, the second unfit to run, the third right and
 * fast, the fourth with a state that says not to use it.
 *
 * By the clock of tests/emulation/fake/card the first takes MMT_FAKE_CUBLAS_US, 2000
 * where that is not set, and the third a quarter of it. With MMT_FAKE_CUBLAS=dies the
 * first product ends the process, and MMT_FAKE_CUBLAS_LOG gets a line. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tuner/verify/number.h"

enum { SUCCESS, NOT_INITIALIZED, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_32F_FAST_TF32 = 77 };
enum { SLOW = 11, UNFIT = 12, FAST = 13 };

struct desc {
    int compute, scale;
    int32_t transposed[2];
};

struct layout {
    int type;
    uint64_t rows, columns;
    int64_t ld, stride;
    int32_t batch;
};

struct preference {
    uint64_t workspace;
};

struct result {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

/* cudaDataType in our words; what is not here is unknown. */
static const struct {
    int cuda;
    mmt_type type;
} types[] = {
    { 0, MMT_F32 },  { 1, MMT_F64 },   { 2, MMT_F16 },     { 3, MMT_I8 },
    { 10, MMT_I32 }, { 14, MMT_BF16 }, { 28, MMT_F8E4M3 },
};

static int type_of(int cuda)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].cuda == cuda)
            return (int) types[i].type;
    return -1;
}

/* Which types of A and B, and of C, go with a way to compute and its scalars. */
static bool goes(int compute, int scale, int input, int output)
{
    unsigned inputs = 1 << MMT_F32 | 1 << MMT_BF16 | 1 << MMT_F16 | 1 << MMT_F8E4M3;

    if (compute == COMPUTE_32F || compute == COMPUTE_32F_FAST_TF32)
        return scale == MMT_F32 && inputs >> input & 1 &&
               mmt_type_outputs((mmt_type) input) >> output & 1;
    if (compute == COMPUTE_64F)
        return scale == MMT_F64 && input == MMT_F64 && output == MMT_F64;
    return compute == COMPUTE_32I && scale == MMT_I32 && input == MMT_I8 &&
           output == MMT_I32;
}

#define EXPORT(type) __attribute__((visibility("default"))) type
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

EXPORT(size_t) cublasLtGetVersion(void)
{
    const char *given = getenv("MMT_FAKE_CUBLAS_VERSION");
    return given ? (size_t) atol(given) : 130100;
}

EXPORT(const char *) cublasLtGetStatusName(int status)
{
    return status == NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS";
}

EXPORT(int) cublasLtCreate(void **handle)
{
    *handle = malloc(1);
    return SUCCESS;
}

EXPORT(int) cublasLtDestroy(void *handle)
{
    free(handle);
    return SUCCESS;
}

/* ---- descriptors ------------------------------------------------------------------- */

EXPORT(int) cublasLtMatmulDescCreate(struct desc **out, int compute, int scale)
{
    if (type_of(scale) < 0)
        return NOT_SUPPORTED;
    *out = calloc(1, sizeof **out);
    **out = (struct desc){ compute, type_of(scale), { 0, 0 } };
    return SUCCESS;
}

EXPORT(int) cublasLtMatmulDescDestroy(struct desc *desc)
{
    free(desc);
    return SUCCESS;
}

EXPORT(int)
cublasLtMatmulDescSetAttribute(struct desc *desc, int attribute, const void *value,
                               size_t size)
{
    if ((attribute != 3 && attribute != 4) || size != sizeof(int32_t))
        return INVALID_VALUE;
    memcpy(&desc->transposed[attribute - 3], value, size);
    return desc->transposed[attribute - 3] == 1 ? SUCCESS : INVALID_VALUE;
}

EXPORT(int)
cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows, uint64_t columns,
                           int64_t ld)
{
    if (ld < (int64_t) rows || type_of(type) < 0)
        return INVALID_VALUE;
    *out = calloc(1, sizeof **out);
    **out = (struct layout){ type_of(type), rows, columns, ld, 0, 1 };
    return SUCCESS;
}

EXPORT(int) cublasLtMatrixLayoutDestroy(struct layout *layout)
{
    free(layout);
    return SUCCESS;
}

EXPORT(int)
cublasLtMatrixLayoutSetAttribute(struct layout *layout, int attribute, const void *value,
                                 size_t size)
{
    if (attribute == 5 && size == sizeof layout->batch)
        memcpy(&layout->batch, value, size);
    else if (attribute == 6 && size == sizeof layout->stride)
        memcpy(&layout->stride, value, size);
    else
        return INVALID_VALUE;
    return SUCCESS;
}

EXPORT(int) cublasLtMatmulPreferenceCreate(struct preference **out)
{
    *out = calloc(1, sizeof **out);
    return SUCCESS;
}

EXPORT(int) cublasLtMatmulPreferenceDestroy(struct preference *preference)
{
    free(preference);
    return SUCCESS;
}

EXPORT(int)
cublasLtMatmulPreferenceSetAttribute(struct preference *preference, int attribute,
                                     const void *value, size_t size)
{
    if (attribute == 3)
        return size == sizeof(uint32_t) ? SUCCESS : INVALID_VALUE;
    if (attribute != 1 || size != sizeof preference->workspace)
        return INVALID_VALUE;
    memcpy(&preference->workspace, value, size);
    return SUCCESS;
}

/* The blocks of the slow algorithm alone may be walked another way, which is as slow. */
EXPORT(int)
cublasLtMatmulAlgoConfigSetAttribute(uint64_t algorithm[8], int attribute,
                                     const void *value, size_t size)
{
    uint32_t swizzled;

    if (attribute != 4 || size != sizeof swizzled)
        return INVALID_VALUE;
    memcpy(&swizzled, value, size);
    algorithm[1] = swizzled;
    return SUCCESS;
}

EXPORT(int)
cublasLtMatmulAlgoCheck(void *handle, const struct desc *desc, const struct layout *a,
                        const struct layout *b, const struct layout *c,
                        const struct layout *d, const uint64_t algorithm[8],
                        struct result *result)
{
    if (algorithm[0] != SLOW)
        return NOT_SUPPORTED;
    *result = (struct result){ .algorithm = { algorithm[0], algorithm[1] } };
    return SUCCESS;
}

/* ---- the product --------------------------------------------------------------------
 */

/* op(A) is m x k, op(B) k x n, C m x n. */
static bool fits(const struct desc *desc, const struct layout *a, const struct layout *b,
                 const struct layout *c)
{
    uint64_t m = desc->transposed[0] ? a->columns : a->rows;
    uint64_t k = desc->transposed[0] ? a->rows : a->columns;
    uint64_t inner = desc->transposed[1] ? b->columns : b->rows;
    uint64_t n = desc->transposed[1] ? b->rows : b->columns;
    return m == c->rows && n == c->columns && k == inner && a->type == b->type &&
           goes(desc->compute, desc->scale, a->type, c->type) && a->batch == c->batch &&
           b->batch == c->batch;
}

EXPORT(int)
cublasLtMatmulAlgoGetHeuristic(void *handle, const struct desc *desc,
                               const struct layout *a, const struct layout *b,
                               const struct layout *c, const struct layout *d,
                               const struct preference *preference, int wanted,
                               struct result *results, int *found)
{
    if (!fits(desc, a, b, c) || d != c || wanted < 8 ||
        preference->workspace > (uint64_t) 64 << 20)
        return INVALID_VALUE;
    if (a->type == MMT_F8E4M3 && (!desc->transposed[0] || desc->transposed[1]))
        return NOT_SUPPORTED;
    *found = 4;
    for (int i = 0; i < 4; i++)
        results[i] = (struct result){ .algorithm = { (uint64_t) (SLOW + i) },
                                      .state = i == 3 ? NOT_SUPPORTED : SUCCESS };
    return SUCCESS;
}

static double element(const struct layout *l, const void *data, uint64_t row,
                      uint64_t column, int z)
{
    size_t place = row + column * (size_t) l->ld + (size_t) z * (size_t) l->stride;
    return (double) mmt_number_read((mmt_type) l->type,
                                    (const char *) data +
                                        place * mmt_type_size((mmt_type) l->type));
}

static double dot(const struct desc *desc, const struct layout *la, const void *a,
                  const struct layout *lb, const void *b, uint64_t i, uint64_t j, int z)
{
    uint64_t k = desc->transposed[0] ? la->rows : la->columns;
    double sum = 0;

    for (uint64_t l = 0; l < k; l++) {
        double x =
            desc->transposed[0] ? element(la, a, l, i, z) : element(la, a, i, l, z);
        double y =
            desc->transposed[1] ? element(lb, b, j, l, z) : element(lb, b, l, j, z);
        sum += x * y;
    }
    return sum;
}

static double scalar(const struct desc *desc, const void *value)
{
    return (double) mmt_number_read((mmt_type) desc->scale, value);
}

/* Tells the clock of a card that is not there, where it has one. */
static void tell_clock(bool fast)
{
    const char *given = getenv("MMT_FAKE_CUBLAS_US");
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = driver ? dlsym(driver, "fake_work") : NULL;
    void (*work)(double);

    memcpy(&work, &symbol, sizeof work);
    if (work)
        work((given ? atof(given) : 2000) * 1e-6 / (fast ? 4 : 1));
    if (driver)
        dlclose(driver);
}

static void misbehave(void)
{
    const char *how = getenv("MMT_FAKE_CUBLAS"), *log = getenv("MMT_FAKE_CUBLAS_LOG");
    FILE *file = how && log ? fopen(log, "a") : NULL;

    if (file) {
        fprintf(file, "%s\n", how);
        fclose(file);
    }
    if (how && !strcmp(how, "dies"))
        abort();
}

/* Whether the thread has a current context. */
static bool is_ready(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *context = NULL;
    void *symbol = driver ? dlsym(driver, "cuCtxGetCurrent") : NULL;
    int (*ask)(void **);

    memcpy(&ask, &symbol, sizeof ask);
    if (ask)
        ask(&context);
    if (driver)
        dlclose(driver);
    return context != NULL;
}

EXPORT(int)
cublasLtMatmul(void *handle, const struct desc *desc, const void *alpha, const void *a,
               const struct layout *la, const void *b, const struct layout *lb,
               const void *beta, const void *c, const struct layout *lc, void *d,
               const struct layout *ld, const uint64_t algorithm[8], void *workspace,
               size_t workspace_size, void *stream)
{
    const struct timespec pause = { 0, 6000000 }; /* a busy machine hides less */

    if (!is_ready())
        return NOT_INITIALIZED;
    if (!fits(desc, la, lb, lc) || c != d || lc != ld || scalar(desc, alpha) != 1 ||
        scalar(desc, beta) != 0 || !workspace || workspace_size < (size_t) 64 << 20)
        return INVALID_VALUE;
    if (algorithm[0] != SLOW && algorithm[0] != FAST)
        return NOT_SUPPORTED;
    misbehave();
    tell_clock(algorithm[0] == FAST);
    if (algorithm[0] == SLOW && !getenv("MMT_FAKE_CUBLAS_US"))
        nanosleep(&pause, NULL);
    for (int z = 0; z < lc->batch; z++)
        for (uint64_t j = 0; j < lc->columns; j++)
            for (uint64_t i = 0; i < lc->rows; i++) {
                size_t place = i + j * (size_t) lc->ld + (size_t) z * (size_t) lc->stride;
                double sum = dot(desc, la, a, lb, b, i, j, z);
                mmt_number_write((mmt_type) lc->type, sum,
                                 (char *) d + place * mmt_type_size((mmt_type) lc->type));
            }
    return SUCCESS;
}
