#include "tests/support/exact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/verify/number.h"

/* ---- elements -------------------------------------------------------------------- */

/* Whole numbers so small that every sum is exact; for integers all bits, to see them
 * wrap. */
static uint64_t number(mmt_type type, uint64_t which)
{
    uint64_t hash = (which + 1) * 0x9e3779b97f4a7c15u;

    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 32;
    if (type == MMT_I8)
        return (uint64_t) (int64_t) (int8_t) hash;
    return type == MMT_I32 ? (uint64_t) (int64_t) (int32_t) hash : hash % 7 - 3;
}

/* Of tf32 the f32 that is next to it towards 0: rounded it is the number, cut off another
 * one. */
static void put(mmt_type type, void *bytes, size_t at, uint64_t value)
{
    void *to = (char *) bytes + at * mmt_type_size(type);

    mmt_number_write(type, (double) (int64_t) value, to);
    if (type == MMT_TF32 && value)
        --*(uint32_t *) to;
}

static void put_poison(mmt_type type, void *bytes, size_t at)
{
    uint32_t pattern = 0xdeadbeefu ^ (uint32_t) at;
    void *to = (char *) bytes + at * mmt_type_size(type);

    if (mmt_type_in(type, MMT_WHOLE_TYPES))
        memcpy(to, &pattern, mmt_type_size(type));
    else
        mmt_number_write(type, NAN, to);
}

static double get(mmt_type type, const void *bytes, size_t at)
{
    return (double) mmt_number_read(type,
                                    (const char *) bytes + at * mmt_type_size(type));
}

/* ---- matrices -------------------------------------------------------------------- */

static struct exact_matrix matrix(mmt_type type, struct mmt_stored stored, int64_t ld,
                                  int64_t stride, int64_t batch,
                                  const struct exact_call *call)
{
    return (struct exact_matrix){
        .type = type,
        .rows = stored.rows,
        .columns = stored.cols,
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

static bool number_elements(struct exact_matrix *x, int guard, uint64_t salt)
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
                x->values[at] = number(x->type, salt + at);
                x->inside[at] = true;
            }
    return true;
}

/* What the op leaves alone of C is poison, too. */
static void poison_rest(struct exact_matrix *c, const mmt_problem *p)
{
    for (int64_t z = 0; z < c->batch; z++)
        for (int64_t i = 0; i < c->rows; i++)
            for (int64_t j = mmt_op_computed(p, i); j < c->columns; j++)
                c->inside[place(c, z, i, j)] = false;
}

/* The matrix in memory, as it is before the execution; malloc'ed. */
static void *bytes_of(const struct exact_matrix *x, bool all_poison)
{
    void *bytes = malloc(x->length * mmt_type_size(x->type));

    for (size_t at = 0; bytes && at < x->length; at++)
        if (x->inside[at] && !all_poison)
            put(x->type, bytes, at, x->values[at]);
        else
            put_poison(x->type, bytes, at);
    return bytes;
}

static mmt_status upload(struct exact_matrix *x, mmt_device *device, bool all_poison,
                         mmt_error *err)
{
    const size_t size = mmt_type_size(x->type);
    void *bytes = bytes_of(x, all_poison);

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

static mmt_status point(struct exact *data, struct exact_matrix *x, mmt_error *err)
{
    const size_t bytes = (size_t) x->batch * sizeof(uint64_t);
    uint64_t *array = malloc(bytes);

    if (!array)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for pointers on the host");
    for (int64_t z = 0; z < x->batch; z++)
        array[x->batch - 1 - z] = x->operand.handle + x->operand.offset +
                                  (uint64_t) (z * x->stride) * mmt_type_size(x->type);
    mmt_status status = mmt_buffer_create(data->device, bytes, &x->pointers, err);
    if (!status)
        status = mmt_buffer_write(data->device, x->pointers, array, bytes, err);
    free(array);
    x->operand = x->pointers;
    return status;
}

static mmt_status create_matrix(struct exact *data, struct exact_matrix *x, uint64_t salt,
                                bool all_poison, mmt_error *err)
{
    if (!number_elements(x, data->call.guard, salt))
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a matrix on the host");
    if (x == &data->c)
        poison_rest(x, &data->problem);
    mmt_status status = upload(x, data->device, all_poison, err);
    if (!status && x != &data->bias && data->problem.batch_by == MMT_BY_POINTERS)
        status = point(data, x, err);
    return status;
}

static mmt_status create_scalars(struct exact *data, mmt_error *err)
{
    struct exact_matrix *x = &data->scalars;

    *x = matrix(mmt_type_scalar(data->problem.type), (struct mmt_stored){ 1, 2 }, 2, 2, 1,
                &data->call);
    if (!number_elements(x, data->call.guard, 0))
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the scalars on the host");
    x->values[x->start] = (uint64_t) (int64_t) data->call.alpha;
    x->values[x->start + 1] = (uint64_t) (int64_t) data->call.beta;
    return upload(x, data->device, false, err);
}

static mmt_status create_bias(struct exact *data, mmt_error *err)
{
    const mmt_problem *p = &data->problem;
    const int64_t length = p->bias == MMT_BIAS_M ? p->m : p->n;

    data->bias =
        matrix(p->out, (struct mmt_stored){ 1, length }, length, 0, 1, &data->call);
    return create_matrix(data, &data->bias, 4u << 20, false, err);
}

mmt_status exact_create(struct exact *data, mmt_device *device,
                        const mmt_problem *problem, const struct exact_call *call,
                        mmt_error *err)
{
    const mmt_problem *p = problem;
    const struct mmt_stored a = mmt_op_stored(p, MMT_OPERAND_A),
                            b = mmt_op_stored(p, MMT_OPERAND_B),
                            c = mmt_op_stored(p, MMT_OPERAND_C);
    const bool reads_c = mmt_op_row(p->op)->sums && call->beta;
    mmt_status status = MMT_OK;

    *data = (struct exact){ .device = device, .problem = *p, .call = *call };
    data->a = matrix(p->type, a, p->lda, p->stride_a, p->batch, call);
    data->b = matrix(p->type, b, p->ldb, p->stride_b, p->batch, call);
    data->c = matrix(p->out, c, p->ldc, p->stride_c, p->batch, call);
    if (mmt_op_needs(p, MMT_OPERAND_A, call->alpha, call->beta, call->scalars))
        status = create_matrix(data, &data->a, 1u << 20, false, err);
    if (!status && mmt_op_needs(p, MMT_OPERAND_B, call->alpha, call->beta, call->scalars))
        status = create_matrix(data, &data->b, 2u << 20, false, err);
    if (!status)
        status = create_matrix(data, &data->c, 3u << 20, !reads_c, err);
    if (!status && call->scalars)
        status = create_scalars(data, err);
    if (!status && p->bias)
        status = create_bias(data, err);
    return status;
}

static void free_matrix(struct exact_matrix *x, mmt_device *device)
{
    if (x->buffer.handle)
        mmt_buffer_free(device, x->buffer);
    if (x->pointers.handle)
        mmt_buffer_free(device, x->pointers);
    free(x->values);
    free(x->inside);
}

void exact_free(struct exact *data)
{
    free_matrix(&data->a, data->device);
    free_matrix(&data->b, data->device);
    free_matrix(&data->c, data->device);
    free_matrix(&data->bias, data->device);
    free_matrix(&data->scalars, data->device);
}

/* ---- executing ------------------------------------------------------------------- */

mmt_args exact_args(const struct exact *data)
{
    mmt_args args = mmt_args_defaults();
    args.a = data->a.operand;
    args.b = data->b.operand;
    args.c = data->c.operand;
    args.bias = data->bias.operand;
    args.scalars = data->scalars.operand;
    args.alpha = data->call.scalars ? NAN : data->call.alpha;
    args.beta = data->call.scalars ? NAN : data->call.beta;
    return args;
}

mmt_status exact_execute(const struct exact *data, const mmt_plan *plan, mmt_error *err)
{
    mmt_args args = exact_args(data);
    const size_t workspace = mmt_plan_workspace(plan);
    mmt_status status = MMT_OK;

    if (workspace)
        status = mmt_buffer_create(data->device, workspace, &args.workspace, err);
    if (!status)
        status = mmt_execute(plan, &args, NULL, err);
    if (!status)
        status = mmt_finish(data->device, NULL, err);
    mmt_buffer_free(data->device, args.workspace);
    return status;
}

/* ---- answers --------------------------------------------------------------------- */

/* An element; 0 of what is absent. */
static uint64_t at(const struct exact_matrix *x, int64_t z, int64_t i, int64_t j)
{
    return x->values ? x->values[place(x, z, i, j)] : 0;
}

/* Whether an element of a grid has neighbours on all sides. */
static bool is_inside(const mmt_problem *p, int64_t i, int64_t j)
{
    const int64_t row = p->op == MMT_HEAT2D ? i : i % p->n;
    const int64_t rows = p->op == MMT_HEAT2D ? p->m : p->n;
    const int64_t columns = p->op == MMT_HEAT2D ? p->n : p->k;
    const bool inner = p->op == MMT_HEAT2D || (i >= p->n && i < (p->m - 1) * p->n);

    return inner && row > 0 && row < rows - 1 && j > 0 && j < columns - 1;
}

/* The same for arrays and grids. */
static uint64_t grid_answer(const struct exact *data, int64_t z, int64_t i, int64_t j)
{
    const mmt_problem *p = &data->problem;
    const struct exact_matrix *a = &data->a;
    const uint64_t alpha = (uint64_t) (int64_t) data->call.alpha;
    const uint64_t rest = (uint64_t) (int64_t) data->call.beta * at(&data->b, z, i, j);

    if (p->op == MMT_AXPBY)
        return alpha * at(a, z, i, j) + rest;
    if (!is_inside(p, i, j))
        return at(a, z, i, j);
    uint64_t around =
        at(a, z, i - 1, j) + at(a, z, i + 1, j) + at(a, z, i, j - 1) + at(a, z, i, j + 1);
    if (p->op == MMT_HEAT2D)
        return at(a, z, i, j) + alpha * (around - 4 * at(a, z, i, j));
    around += at(a, z, i - p->n, j) + at(a, z, i + p->n, j);
    return alpha * around + rest;
}

/* alpha op(A) op(B) + beta C + bias for one element, mod 2^64. */
static uint64_t answer(const struct exact *data, int64_t z, int64_t i, int64_t j)
{
    const mmt_problem *p = &data->problem;
    const struct exact_matrix *a = &data->a, *c = &data->c;
    const struct exact_matrix *b = p->op == MMT_SYRK ? a : &data->b;
    const struct exact_matrix *bias = &data->bias;
    const bool rows_of_b = p->trans_b || p->op == MMT_DOT || p->op == MMT_SYRK;
    const int64_t row_of_b = p->op == MMT_DOT ? i : j;
    uint64_t sum = 0, added = 0;

    if (!mmt_op_row(p->op)->sums)
        return grid_answer(data, z, i, j);
    for (int64_t q = 0; a->values && q < p->k; q++)
        sum += a->values[p->trans_a ? place(a, z, q, i) : place(a, z, i, q)] *
               b->values[rows_of_b ? place(b, z, row_of_b, q) : place(b, z, q, j)];
    if (p->bias)
        added = bias->values[place(bias, 0, 0, p->bias == MMT_BIAS_M ? i : j)];
    return (uint64_t) (int64_t) data->call.alpha * sum +
           (uint64_t) (int64_t) data->call.beta * c->values[place(c, z, i, j)] + added;
}

/* The same as C has it: cut to 32 bits or rounded, and without what RELU takes away. */
static double expected(const mmt_problem *p, uint64_t value)
{
    double right = (double) (int64_t) value;

    if (p->out == MMT_I32)
        right = (int32_t) (uint32_t) value;
    if (p->activation == MMT_RELU && right < 0)
        return 0;
    return p->out == MMT_I32 ? right : mmt_number_round(p->out, right);
}

static bool check_elements(const struct exact *data, const void *got, char *why,
                           size_t size)
{
    const mmt_type type = data->c.type;

    for (int64_t z = 0; z < data->c.batch; z++)
        for (int64_t i = 0; i < data->c.rows; i++)
            for (int64_t j = 0; j < mmt_op_computed(&data->problem, i); j++) {
                const size_t at = place(&data->c, z, i, j);
                const double right = expected(&data->problem, answer(data, z, i, j));
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
    const size_t width = mmt_type_size(data->c.type);
    unsigned char *before = bytes_of(&data->c, true);
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
    const size_t bytes = data->c.length * mmt_type_size(data->c.type);
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

bool exact_run(mmt_device *device, const mmt_plan *plan, const mmt_problem *problem,
               const struct exact_call *call, char *why, size_t size)
{
    struct exact data;
    mmt_error err = { 0 };
    mmt_status status = exact_create(&data, device, problem, call, &err);

    if (!status)
        status = exact_execute(&data, plan, &err);
    snprintf(why, size, "%s", err.text);
    const bool right = !status && exact_check(&data, why, size);
    exact_free(&data);
    return right;
}
