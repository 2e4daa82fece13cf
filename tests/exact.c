#include "tests/exact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements -------------------------------------------------------------------- */

/* Whole numbers so small that every sum is exact; for integers all 32 bits, to see them
 * wrap. */
static uint64_t number(mmt_type type, uint64_t which)
{
    uint64_t hash = (which + 1) * 0x9e3779b97f4a7c15u;

    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 32;
    return type == MMT_I32 ? hash & 0xffffffffu : hash % 7 - 3;
}

static void put(mmt_type type, void *bytes, size_t at, uint64_t value)
{
    if (type == MMT_F32)
        ((float *) bytes)[at] = (float) (int64_t) value;
    else if (type == MMT_F64)
        ((double *) bytes)[at] = (double) (int64_t) value;
    else
        ((uint32_t *) bytes)[at] = (uint32_t) value;
}

static void put_poison(mmt_type type, void *bytes, size_t at)
{
    if (type == MMT_F32)
        ((float *) bytes)[at] = NAN;
    else if (type == MMT_F64)
        ((double *) bytes)[at] = NAN;
    else
        ((uint32_t *) bytes)[at] = 0xdeadbeefu ^ (uint32_t) at;
}

static double get(mmt_type type, const void *bytes, size_t at)
{
    if (type == MMT_F32)
        return ((const float *) bytes)[at];
    if (type == MMT_F64)
        return ((const double *) bytes)[at];
    return ((const uint32_t *) bytes)[at];
}

/* ---- matrices -------------------------------------------------------------------- */

static struct exact_matrix matrix(bool transposed, int rows, int columns, int64_t ld,
                                  int64_t stride, int64_t batch,
                                  const struct exact_call *call)
{
    return (struct exact_matrix){
        .rows = transposed ? columns : rows,
        .columns = transposed ? rows : columns,
        .ld = ld,
        .stride = stride,
        .batch = batch,
        .start = (size_t) (call->guard + call->offset),
    };
}

static size_t place(const struct exact_matrix *x, int64_t z, int64_t i, int64_t j)
{
    return x->start + (size_t) (z * x->stride + i * x->ld + j);
}

static bool number_elements(struct exact_matrix *x, mmt_type type, int guard,
                            uint64_t salt)
{
    const int64_t last =
        x->batch && x->rows && x->columns
            ? (x->batch - 1) * x->stride + (x->rows - 1) * x->ld + x->columns
            : 0;

    x->length = x->start + (size_t) last + (size_t) guard;
    x->length += x->length == 0; // a buffer cannot be empty
    x->values = calloc(x->length, sizeof(*x->values));
    x->inside = calloc(x->length, sizeof(*x->inside));
    if (!x->values || !x->inside)
        return false;
    for (int64_t z = 0; z < x->batch; z++)
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t j = 0; j < x->columns; j++) {
                const size_t at = place(x, z, i, j);
                x->values[at] = number(type, salt + at);
                x->inside[at] = true;
            }
    return true;
}

/* The matrix in memory, as it is before the execution; malloc'ed. */
static void *bytes_of(const struct exact_matrix *x, mmt_type type, bool all_poison)
{
    void *bytes = malloc(x->length * mmt_type_size(type));

    for (size_t at = 0; bytes && at < x->length; at++)
        if (x->inside[at] && !all_poison)
            put(type, bytes, at, x->values[at]);
        else
            put_poison(type, bytes, at);
    return bytes;
}

static mmt_status upload(struct exact_matrix *x, mmt_device *device, mmt_type type,
                         bool all_poison, mmt_error *err)
{
    const size_t size = mmt_type_size(type);
    void *bytes = bytes_of(x, type, all_poison);

    if (!bytes)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a matrix on the host");
    mmt_status status = mmt_buffer_create(device, x->length * size, &x->buffer, err);
    if (!status)
        status = mmt_buffer_write(device, x->buffer, bytes, x->length * size, err);
    free(bytes);
    x->operand = x->buffer;
    x->operand.offset += x->start * size;
    return status;
}

static mmt_status create_matrix(struct exact *data, struct exact_matrix *x, uint64_t salt,
                                bool all_poison, mmt_error *err)
{
    if (!number_elements(x, data->problem.type, data->call.guard, salt))
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a matrix on the host");
    return upload(x, data->device, data->problem.type, all_poison, err);
}

static mmt_status create_scalars(struct exact *data, mmt_error *err)
{
    struct exact_matrix *x = &data->scalars;

    *x = matrix(false, 1, 2, 2, 2, 1, &data->call);
    if (!number_elements(x, data->problem.type, data->call.guard, 0))
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the scalars on the host");
    x->values[x->start] = (uint64_t) (int64_t) data->call.alpha;
    x->values[x->start + 1] = (uint64_t) (int64_t) data->call.beta;
    return upload(x, data->device, data->problem.type, false, err);
}

mmt_status exact_create(struct exact *data, mmt_device *device,
                        const mmt_problem *problem, const struct exact_call *call,
                        mmt_error *err)
{
    const mmt_problem *p = problem;
    const int m = (int) p->m, n = (int) p->n, k = (int) p->k;
    const bool used = k && (call->alpha || call->scalars);
    mmt_status status = MMT_OK;

    *data = (struct exact){ .device = device, .problem = *p, .call = *call };
    data->a = matrix(p->trans_a, m, k, p->lda, p->stride_a, p->batch, call);
    data->b = matrix(p->trans_b, k, n, p->ldb, p->stride_b, p->batch, call);
    data->c = matrix(false, m, n, p->ldc, p->stride_c, p->batch, call);
    if (used)
        status = create_matrix(data, &data->a, 1u << 20, false, err);
    if (!status && used)
        status = create_matrix(data, &data->b, 2u << 20, false, err);
    if (!status)
        status = create_matrix(data, &data->c, 3u << 20, call->beta == 0, err);
    if (!status && call->scalars)
        status = create_scalars(data, err);
    return status;
}

static void free_matrix(struct exact_matrix *x, mmt_device *device)
{
    if (x->buffer.handle)
        mmt_buffer_free(device, x->buffer);
    free(x->values);
    free(x->inside);
}

void exact_free(struct exact *data)
{
    free_matrix(&data->a, data->device);
    free_matrix(&data->b, data->device);
    free_matrix(&data->c, data->device);
    free_matrix(&data->scalars, data->device);
}

/* ---- answers --------------------------------------------------------------------- */

/* alpha op(A) op(B) + beta C for one element, mod 2^64. */
static uint64_t answer(const struct exact *data, int64_t z, int64_t i, int64_t j)
{
    const mmt_problem *p = &data->problem;
    const struct exact_matrix *a = &data->a, *b = &data->b, *c = &data->c;
    uint64_t sum = 0;

    for (int64_t q = 0; a->values && q < p->k; q++)
        sum += a->values[p->trans_a ? place(a, z, q, i) : place(a, z, i, q)] *
               b->values[p->trans_b ? place(b, z, j, q) : place(b, z, q, j)];
    return (uint64_t) (int64_t) data->call.alpha * sum +
           (uint64_t) (int64_t) data->call.beta * c->values[place(c, z, i, j)];
}

static bool check_elements(const struct exact *data, const void *got, char *why,
                           size_t size)
{
    const mmt_type type = data->problem.type;

    for (int64_t z = 0; z < data->c.batch; z++)
        for (int64_t i = 0; i < data->c.rows; i++)
            for (int64_t j = 0; j < data->c.columns; j++) {
                const size_t at = place(&data->c, z, i, j);
                const uint64_t value = answer(data, z, i, j);
                const double right =
                    type == MMT_I32 ? (uint32_t) value : (double) (int64_t) value;
                if (get(type, got, at) == right)
                    continue;
                snprintf(why, size, "C(%d, %d) of matrix %d is %.17g, not %.17g", (int) i,
                         (int) j, (int) z, get(type, got, at), right);
                return false;
            }
    return true;
}

/* Poison must be what it was, bit for bit. */
static bool check_poison(const struct exact *data, const void *got, char *why,
                         size_t size)
{
    const size_t width = mmt_type_size(data->problem.type);
    unsigned char *before = bytes_of(&data->c, data->problem.type, true);
    bool right = before != NULL;

    if (!before)
        snprintf(why, size, "no memory for C on the host");
    for (size_t at = 0; right && at < data->c.length; at++)
        if (!data->c.inside[at] &&
            memcmp(before + at * width, (const char *) got + at * width, width)) {
            snprintf(why, size, "written outside C, %lld elements from its first",
                     (long long) at - (long long) data->c.start);
            right = false;
        }
    free(before);
    return right;
}

bool exact_check(const struct exact *data, char *why, size_t size)
{
    const size_t bytes = data->c.length * mmt_type_size(data->problem.type);
    void *got = malloc(bytes);
    mmt_error err = { .text = "no memory for C on the host" };
    bool right = got && !mmt_buffer_read(data->device, got, data->c.buffer, bytes, &err);

    if (!right)
        snprintf(why, size, "%s", err.text);
    right = right && check_elements(data, got, why, size) &&
            check_poison(data, got, why, size);
    free(got);
    return right;
}
