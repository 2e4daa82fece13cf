#include "dense.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared.h"

enum { PLANS = 32 };
#define MOST_ELEMENTS (INT64_MAX / (int64_t) sizeof(double))

/* Plans are dear to make and cheap to keep: those of the last PLANS problems are kept. */
struct entry {
    mmt_problem problem;
    mmt_plan *plan;
};

struct dense_context {
    mmt_device *device;
    mmt_profile *profile; /* NULL: the device was not tuned */
    struct entry plans[PLANS];
    int next;
    mmt_operand workspace;
    size_t workspace_size;
    mmt_error err;
    int live;
    size_t bytes;
};

/* ---- context ---------------------------------------------------------------------- */

struct dense_context *dense_open(const char *device, mmt_error *err)
{
    struct dense_context *context = calloc(1, sizeof *context);
    mmt_device *opened = mmt_device_open(device, err);

    if (!context || !opened) {
        mmt_device_close(opened);
        free(context);
        return NULL;
    }
    context->device = opened;
    context->profile = mmt_profile_find(opened, NULL);
    return context;
}

void dense_close(struct dense_context *context)
{
    if (!context)
        return;
    for (int i = 0; i < PLANS; i++)
        mmt_plan_free(context->plans[i].plan);
    mmt_buffer_free(context->device, context->workspace);
    mmt_profile_free(context->profile);
    mmt_device_close(context->device);
    free(context);
}

const char *dense_error(const struct dense_context *context)
{
    return context->err.text;
}

void dense_print_plans(const struct dense_context *context)
{
    for (int i = 0; i < PLANS; i++)
        if (context->plans[i].plan)
            print_plan(context->plans[i].plan);
}

int dense_live(const struct dense_context *context)
{
    return context->live;
}

size_t dense_bytes(const struct dense_context *context)
{
    return context->bytes;
}

static bool refuse(struct dense_context *context, const char *what, const struct dense *a,
                   const struct dense *b)
{
    context->err.status = MMT_ERROR_ARGUMENT;
    snprintf(context->err.text, sizeof context->err.text,
             "%s: %lld x %lld and %lld x %lld do not fit", what, (long long) a->rows,
             (long long) a->columns, (long long) b->rows, (long long) b->columns);
    return false;
}

/* ---- life ------------------------------------------------------------------------- */

static size_t size_of(const struct dense *matrix)
{
    return (size_t) (matrix->rows * matrix->columns) * sizeof(double);
}

bool dense_create(struct dense_context *context, int64_t rows, int64_t columns,
                  struct dense *out)
{
    struct dense made = { context, rows, columns, { 0 } };

    if (rows < 1 || columns < 1 || rows > INT32_MAX || columns > INT32_MAX) {
        context->err.status = MMT_ERROR_ARGUMENT;
        snprintf(context->err.text, sizeof context->err.text,
                 "a matrix cannot be %lld x %lld; each must be from 1 to 2147483647",
                 (long long) rows, (long long) columns);
        return false;
    }
    if (rows > MOST_ELEMENTS / columns) {
        context->err.status = MMT_ERROR_MEMORY;
        snprintf(
            context->err.text, sizeof context->err.text,
            "a matrix of %lld x %lld would take %.3g GiB, more than can be addressed",
            (long long) rows, (long long) columns,
            (double) rows * (double) columns * sizeof(double) / 0x1p30);
        return false;
    }
    if (mmt_buffer_create(context->device, size_of(&made), &made.data, &context->err))
        return false;
    context->live++;
    context->bytes += size_of(&made);
    *out = made;
    return true;
}

void dense_free(struct dense *matrix)
{
    if (matrix->data.handle) {
        mmt_buffer_free(matrix->context->device, matrix->data);
        matrix->context->live--;
        matrix->context->bytes -= size_of(matrix);
    }
    *matrix = (struct dense){ 0 };
}

struct dense dense_move(struct dense *from)
{
    struct dense moved = *from;
    *from = (struct dense){ 0 };
    return moved;
}

bool dense_from_host(struct dense_context *context, int64_t rows, int64_t columns,
                     const double *values, struct dense *out)
{
    if (!dense_create(context, rows, columns, out))
        return false;
    if (mmt_buffer_write(context->device, out->data, values, size_of(out),
                         &context->err) == MMT_OK)
        return true;
    dense_free(out);
    return false;
}

bool dense_filled(struct dense_context *context, int64_t rows, int64_t columns,
                  double value, struct dense *out)
{
    double *values = malloc((size_t) (rows * columns) * sizeof *values);
    for (int64_t i = 0; values && i < rows * columns; i++)
        values[i] = value;
    bool made = values && dense_from_host(context, rows, columns, values, out);
    free(values);
    return made;
}

bool dense_to_host(const struct dense *matrix, double *values)
{
    struct dense_context *context = matrix->context;
    return mmt_finish(context->device, NULL, &context->err) == MMT_OK &&
           mmt_buffer_read(context->device, values, matrix->data, size_of(matrix),
                           &context->err) == MMT_OK;
}

/* ---- computing -------------------------------------------------------------------- */

static bool same(const mmt_problem *a, const mmt_problem *b)
{
    return a->op == b->op && a->m == b->m && a->n == b->n && a->k == b->k;
}

static const mmt_plan *plan_for(struct dense_context *context, const mmt_problem *problem)
{
    for (int i = 0; i < PLANS; i++)
        if (context->plans[i].plan && same(&context->plans[i].problem, problem))
            return context->plans[i].plan;
    struct entry *entry = &context->plans[context->next++ % PLANS];
    mmt_plan *plan =
        mmt_plan_create(context->device, context->profile, problem, NULL, &context->err);
    if (!plan || mmt_finish(context->device, NULL, &context->err) != MMT_OK) {
        mmt_plan_free(plan);
        return NULL;
    }
    mmt_plan_free(entry->plan);
    *entry = (struct entry){ *problem, plan };
    return plan;
}

/* All executions share one workspace, which is right on one queue, in order. */
static bool provide_workspace(struct dense_context *context, size_t size)
{
    if (size <= context->workspace_size)
        return true;
    if (mmt_finish(context->device, NULL, &context->err) != MMT_OK)
        return false;
    mmt_buffer_free(context->device, context->workspace);
    context->workspace = (mmt_operand){ 0 };
    context->workspace_size = 0;
    if (mmt_buffer_create(context->device, size, &context->workspace, &context->err))
        return false;
    context->workspace_size = size;
    return true;
}

/* out = alpha a (op) b + beta …, into new memory of rows x columns. */
static bool compute(const mmt_problem *problem, double alpha, const struct dense *a,
                    double beta, const struct dense *b, int64_t rows, int64_t columns,
                    struct dense *out)
{
    struct dense_context *context = a->context;
    const mmt_plan *plan = plan_for(context, problem);
    mmt_args args = mmt_args_defaults();

    if (!plan || !provide_workspace(context, mmt_plan_workspace(plan)) ||
        !dense_create(context, rows, columns, out))
        return false;
    args.alpha = alpha, args.beta = beta;
    args.a = a->data, args.c = out->data, args.workspace = context->workspace;
    if (b)
        args.b = b->data;
    if (mmt_execute(plan, &args, NULL, &context->err) == MMT_OK)
        return true;
    dense_free(out);
    return false;
}

static bool combine(const char *what, double alpha, const struct dense *a, double beta,
                    const struct dense *b, struct dense *out)
{
    if (a->rows != b->rows || a->columns != b->columns)
        return refuse(a->context, what, a, b);
    mmt_problem problem = mmt_axpby_problem(MMT_F64, a->columns);
    problem.m = a->rows;
    return compute(&problem, alpha, a, beta, b, a->rows, a->columns, out);
}

bool dense_add(const struct dense *a, const struct dense *b, struct dense *out)
{
    return combine("a sum", 1, a, 1, b, out);
}

bool dense_subtract(const struct dense *a, const struct dense *b, struct dense *out)
{
    return combine("a difference", 1, a, -1, b, out);
}

bool dense_scale(double factor, const struct dense *a, struct dense *out)
{
    return combine("a multiple", factor, a, 0, a, out);
}

bool dense_copy(const struct dense *from, struct dense *out)
{
    return dense_scale(1, from, out);
}

bool dense_multiply(const struct dense *a, const struct dense *b, struct dense *out)
{
    if (a->columns != b->rows)
        return refuse(a->context, "a product", a, b);
    mmt_problem problem = mmt_gemm_problem(MMT_F64, a->rows, b->columns, a->columns);
    return compute(&problem, 1, a, 0, b, a->rows, b->columns, out);
}

bool dense_dot(const struct dense *a, const struct dense *b, double *out)
{
    struct dense result = { 0 };
    if (a->rows != b->rows || a->columns != b->columns)
        return refuse(a->context, "a dot product", a, b);
    mmt_problem problem = mmt_dot_problem(MMT_F64, 1, a->rows * a->columns);
    bool done =
        compute(&problem, 1, a, 0, b, 1, 1, &result) && dense_to_host(&result, out);
    dense_free(&result);
    return done;
}

/* ---- the host's twin -------------------------------------------------------------- */

void dense_host_add(int64_t count, const double *a, const double *b, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

void dense_host_subtract(int64_t count, const double *a, const double *b, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = a[i] - b[i];
}

void dense_host_scale(int64_t count, double factor, const double *a, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = factor * a[i];
}

void dense_host_multiply(int64_t rows, int64_t inner, int64_t columns, const double *a,
                         const double *b, double *out)
{
    memset(out, 0, (size_t) (rows * columns) * sizeof *out);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < inner; k++)
            for (int64_t j = 0; j < columns; j++)
                out[i * columns + j] += a[i * inner + k] * b[k * columns + j];
}
