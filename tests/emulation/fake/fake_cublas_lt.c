/* libcublasLt as its documentation describes it, for matrices in host memory, with
 * descriptors whose attributes are checked for value and size. It proposes four
 * algorithms: the first right and slow, the second unfit to run, the third right and
 * fast, the fourth with a state that says not to use it. Without an algorithm it takes
 * the first.
 *
 * By the clock of the stand-in driver the first takes MMT_FAKE_CUBLAS_US, 2000
 * where that is not set, and the third a quarter of it. With MMT_FAKE_CUBLAS=dies the
 * first product ends the process, and MMT_FAKE_CUBLAS_LOG gets a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulation/fake/fake_cublas.h"
#include "tuner/verify/number.h"

enum { SLOW = 11, UNFIT = 12, FAST = 13 };
enum { RELU = 2, BIAS = 4, GELU = 32, DEFAULT = 1 }; /* cublasLtEpilogue_t */

/* Descriptors have the sizes that are documented, since programs may copy them. */
enum { DESC_BYTES = 256, LAYOUT_BYTES = 64 };

struct desc {
    int32_t compute, scale, pointer_mode, transposes[3], fill;
    uint32_t epilogue;
    const void *bias;
    int64_t bias_stride;
    void *aux;
    int64_t aux_ld, aux_stride, alpha_stride;
    int32_t sm_count;
    void *scales[4], *amax;
    int32_t aux_type;
    int8_t fast_accumulation;
    int32_t bias_type, scale_modes[4];
};

struct layout {
    uint32_t type;
    int32_t order;
    uint64_t rows, columns;
    int64_t ld;
    int32_t batch;
    int64_t stride;
};

_Static_assert(sizeof(struct desc) <= DESC_BYTES, "it fits");
_Static_assert(sizeof(struct layout) <= LAYOUT_BYTES, "it fits");

struct preference {
    uint32_t search, reductions;
    uint64_t workspace;
    uint32_t alignments[4];
};

struct result {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

EXPORT(size_t) cublasLtGetVersion(void)
{
    const char *given = getenv("MMT_FAKE_CUBLAS_VERSION");
    return given ? (size_t) atol(given) : 130100;
}

/* 0: the major version, 1: the minor one, 2: the patch level. */
EXPORT(int) cublasLtGetProperty(int property, int *value)
{
    static const size_t parts[] = { 10000, 100, 1 };
    if (property < 0 || property > 2)
        return INVALID_VALUE;
    *value = (int) (cublasLtGetVersion() / parts[property] % 100);
    return SUCCESS;
}

EXPORT(const char *) cublasLtGetStatusName(int status)
{
    return status == NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS";
}

EXPORT(const char *) cublasLtGetStatusString(int status)
{
    return status == NOT_SUPPORTED ? "not supported" : "another status";
}

EXPORT(int) cublasLtCreate(void **handle)
{
    fake_count(__func__);
    *handle = malloc(1);
    return SUCCESS;
}

EXPORT(int) cublasLtDestroy(void *handle)
{
    fake_count(__func__);
    free(handle);
    return SUCCESS;
}

/* ---- attributes -------------------------------------------------------------------- */

struct attribute {
    int number;
    size_t offset, size;
};
#define AT(number, object, member)                                                       \
    {                                                                                    \
        number, offsetof(struct object, member), sizeof(((struct object *) 0)->member)   \
    }

static const struct attribute desc_attributes[] = {
    AT(0, desc, compute),
    AT(1, desc, scale),
    AT(2, desc, pointer_mode),
    AT(3, desc, transposes[0]),
    AT(4, desc, transposes[1]),
    AT(5, desc, transposes[2]),
    AT(6, desc, fill),
    AT(7, desc, epilogue),
    AT(8, desc, bias),
    AT(10, desc, bias_stride),
    AT(11, desc, aux),
    AT(12, desc, aux_ld),
    AT(13, desc, aux_stride),
    AT(14, desc, alpha_stride),
    AT(15, desc, sm_count),
    AT(17, desc, scales[0]),
    AT(18, desc, scales[1]),
    AT(19, desc, scales[2]),
    AT(20, desc, scales[3]),
    AT(21, desc, amax),
    AT(22, desc, aux_type),
    AT(25, desc, fast_accumulation),
    AT(26, desc, bias_type),
    AT(31, desc, scale_modes[0]),
    AT(32, desc, scale_modes[1]),
    AT(33, desc, scale_modes[2]),
    AT(34, desc, scale_modes[3]),
    { -1 },
};

static const struct attribute layout_attributes[] = {
    AT(0, layout, type),   AT(1, layout, order),
    AT(2, layout, rows),   AT(3, layout, columns),
    AT(4, layout, ld),     AT(5, layout, batch),
    AT(6, layout, stride), { -1 },
};

static const struct attribute preference_attributes[] = {
    AT(0, preference, search),        AT(1, preference, workspace),
    AT(3, preference, reductions),    AT(5, preference, alignments[0]),
    AT(6, preference, alignments[1]), AT(7, preference, alignments[2]),
    AT(8, preference, alignments[3]), { -1 },
};

static const struct attribute *find(const struct attribute *list, int number)
{
    while (list->number >= 0 && list->number != number)
        list++;
    return list->number < 0 ? NULL : list;
}

static int set(const struct attribute *list, void *object, int number, const void *value,
               size_t size)
{
    const struct attribute *it = find(list, number);
    if (!object || !value || !it || size != it->size)
        return INVALID_VALUE;
    memcpy((char *) object + it->offset, value, size);
    return SUCCESS;
}

/* With a size of 0 it tells the size that is needed. */
static int get(const struct attribute *list, const void *object, int number, void *value,
               size_t size, size_t *written)
{
    const struct attribute *it = find(list, number);
    if (!object || !it || (size ? !value || size != it->size : !written))
        return INVALID_VALUE;
    if (written)
        *written = it->size;
    if (size)
        memcpy(value, (const char *) object + it->offset, size);
    return SUCCESS;
}

#define OBJECT(name, kind)                                                               \
    EXPORT(int) name##Destroy(struct kind *it)                                           \
    {                                                                                    \
        fake_count(__func__);                                                            \
        free(it);                                                                        \
        return SUCCESS;                                                                  \
    }                                                                                    \
    EXPORT(int)                                                                          \
    name##SetAttribute(struct kind *it, int attribute, const void *value, size_t size)   \
    {                                                                                    \
        fake_count(__func__);                                                            \
        return set(kind##_attributes, it, attribute, value, size);                       \
    }                                                                                    \
    EXPORT(int)                                                                          \
    name##GetAttribute(const struct kind *it, int attribute, void *value, size_t size,   \
                       size_t *written)                                                  \
    {                                                                                    \
        fake_count(__func__);                                                            \
        return get(kind##_attributes, it, attribute, value, size, written);              \
    }
OBJECT(cublasLtMatmulDesc, desc)
OBJECT(cublasLtMatrixLayout, layout)
OBJECT(cublasLtMatmulPreference, preference)

EXPORT(int) cublasLtMatmulDescCreate(struct desc **out, int compute, int scale)
{
    fake_count(__func__);
    if (fake_type_of(scale) < 0 || fake_scalar_of(compute) < 0)
        return NOT_SUPPORTED;
    *out = calloc(1, DESC_BYTES);
    **out = (struct desc){ .compute = compute,
                           .scale = scale,
                           .fill = 2, /* full */
                           .epilogue = DEFAULT,
                           .aux_type = -1,
                           .bias_type = -1 };
    return SUCCESS;
}

EXPORT(int)
cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows, uint64_t columns,
                           int64_t ld)
{
    fake_count(__func__);
    if (fake_type_of(type) < 0)
        return INVALID_VALUE;
    *out = calloc(1, LAYOUT_BYTES);
    **out = (struct layout){ (uint32_t) type, 0, rows, columns, ld, 1, 0 };
    return SUCCESS;
}

EXPORT(int) cublasLtMatmulPreferenceCreate(struct preference **out)
{
    fake_count(__func__);
    *out = calloc(1, sizeof **out);
    return SUCCESS;
}

/* ---- algorithms -------------------------------------------------------------------- */

/* The blocks of the slow algorithm alone may be walked another way, which is as slow. */
EXPORT(int)
cublasLtMatmulAlgoConfigSetAttribute(uint64_t algorithm[8], int attribute,
                                     const void *value, size_t size)
{
    uint32_t swizzled;

    fake_count(__func__);
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
    fake_count(__func__);
    if (algorithm[0] != SLOW)
        return NOT_SUPPORTED;
    *result = (struct result){ .algorithm = { algorithm[0], algorithm[1] } };
    return SUCCESS;
}

/* The rows or columns of op(X). */
static uint64_t rows_of(const struct desc *desc, const struct layout *it, int operand)
{
    return desc->transposes[operand] ? it->columns : it->rows;
}

static uint64_t columns_of(const struct desc *desc, const struct layout *it, int operand)
{
    return desc->transposes[operand] ? it->rows : it->columns;
}

static bool is_whole(const struct layout *it)
{
    return it->order >= 0 && it->order <= 1 &&
           it->ld >= (int64_t) (it->order ? it->columns : it->rows);
}

static bool is_alike(const struct layout *c, const struct layout *d)
{
    return c->type == d->type && c->rows == d->rows && c->columns == d->columns &&
           c->batch == d->batch;
}

/* op(A) is m x k, op(B) k x n, C and D m x n. */
static bool fits(const struct desc *desc, const struct layout *a, const struct layout *b,
                 const struct layout *c, const struct layout *d)
{
    return is_whole(a) && is_whole(b) && is_whole(c) && is_whole(d) && is_alike(c, d) &&
           rows_of(desc, a, 0) == c->rows && columns_of(desc, b, 1) == c->columns &&
           columns_of(desc, a, 0) == rows_of(desc, b, 1) && a->type == b->type &&
           a->batch == c->batch && b->batch == c->batch &&
           fake_goes(desc->compute, fake_type_of(desc->scale),
                     (mmt_type) fake_type_of((int) a->type),
                     (mmt_type) fake_type_of((int) c->type));
}

/* f8 is multiplied transposed alone, as cards do it. */
static bool is_served(const struct desc *desc, const struct layout *a)
{
    const uint32_t known = DEFAULT | RELU | BIAS | GELU;
    return !(desc->epilogue & ~known) && desc->pointer_mode <= 1 &&
           (fake_type_of((int) a->type) != MMT_F8E4M3 ||
            (desc->transposes[0] && !desc->transposes[1]));
}

EXPORT(int)
cublasLtMatmulAlgoGetHeuristic(void *handle, const struct desc *desc,
                               const struct layout *a, const struct layout *b,
                               const struct layout *c, const struct layout *d,
                               const struct preference *preference, int wanted,
                               struct result *results, int *found)
{
    fake_count(__func__);
    if (!preference || wanted < 1 || !fits(desc, a, b, c, d))
        return INVALID_VALUE;
    if (!is_served(desc, a))
        return NOT_SUPPORTED;
    *found = wanted < 4 ? wanted : 4;
    for (int i = 0; i < *found; i++)
        results[i] = (struct result){ .algorithm = { (uint64_t) (SLOW + i) },
                                      .state = i == 3 ? NOT_SUPPORTED : SUCCESS };
    return SUCCESS;
}

/* ---- the product ------------------------------------------------------------------- */

static struct fake_matrix matrix(const struct layout *layout, const void *data)
{
    return (struct fake_matrix){ .type = (mmt_type) fake_type_of((int) layout->type),
                                 .data = data,
                                 .ld = layout->ld,
                                 .stride = layout->stride,
                                 .row_major = layout->order == 1 };
}

static double scalar(const struct desc *desc, const void *value)
{
    return (double) mmt_number_read((mmt_type) fake_type_of(desc->scale), value);
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

EXPORT(int)
cublasLtMatmul(void *handle, const struct desc *desc, const void *alpha, const void *a,
               const struct layout *la, const void *b, const struct layout *lb,
               const void *beta, const void *c, const struct layout *lc, void *d,
               const struct layout *ld, const uint64_t algorithm[8], void *workspace,
               size_t workspace_size, void *stream)
{
    const bool fast = algorithm && algorithm[0] == FAST;

    fake_count(__func__);
    if (!handle || !fake_card_is_current())
        return NOT_INITIALIZED;
    if (!desc || !alpha || !beta || !la || !lb || !lc || !ld ||
        !fits(desc, la, lb, lc, ld) || (!workspace && workspace_size))
        return INVALID_VALUE;
    if (!is_served(desc, la) || (algorithm && !fast && algorithm[0] != SLOW))
        return NOT_SUPPORTED;
    misbehave();
    fake_clock_add(fast ? 0.25 : 1);
    const struct fake_product product = {
        .transposed = { desc->transposes[0] != 0, desc->transposes[1] != 0 },
        .m = (int64_t) lc->rows,
        .n = (int64_t) lc->columns,
        .k = (int64_t) columns_of(desc, la, 0),
        .batch = lc->batch,
        .alpha = scalar(desc, alpha),
        .beta = scalar(desc, beta),
        .a = matrix(la, a),
        .b = matrix(lb, b),
        .c = matrix(lc, c),
        .d = matrix(ld, d),
        .bias = desc->epilogue & BIAS ? desc->bias : NULL,
        .bias_type = (mmt_type) fake_type_of(desc->bias_type < 0 ? (int) ld->type
                                                                 : desc->bias_type),
        .bias_stride = desc->bias_stride,
        .activation = desc->epilogue & RELU   ? FAKE_RELU
                      : desc->epilogue & GELU ? FAKE_GELU
                                              : FAKE_NONE,
    };
    fake_product_compute(&product);
    return SUCCESS;
}
