/* One execution: the launches of a kernel with their arguments. */
#include <stdlib.h>
#include <string.h>

#include "runtime/kernel_internal.h"

/* Kernel parameters as they are being gathered for one launch. */
struct values {
    struct mmt_value value[MMT_MAX_KERNEL_VALUES];
    struct mmt_tensor_map map[3];
    int count;
};

static void add_i32(struct values *v, int64_t value)
{
    v->value[v->count++] =
        (struct mmt_value){ .kind = MMT_VALUE_I32, .i32 = (int32_t) value };
}

static void add_i64(struct values *v, int64_t value)
{
    v->value[v->count++] = (struct mmt_value){ .kind = MMT_VALUE_I64, .i64 = value };
}

static void add_scalar(struct values *v, mmt_type type, double value)
{
    struct mmt_value *slot = &v->value[v->count++];
    mmt_type scalar = mmt_type_scalar(type);
    if (scalar == MMT_F64)
        *slot = (struct mmt_value){ .kind = MMT_VALUE_F64, .f64 = value };
    else if (scalar == MMT_F32)
        *slot = (struct mmt_value){ .kind = MMT_VALUE_F32, .f32 = (float) value };
    else
        *slot = (struct mmt_value){ .kind = MMT_VALUE_I32,
                                    .i32 = (int32_t) (uint32_t) (int64_t) value };
}

/* CUDA adds the offset to the pointer; OpenCL hands the kernel a start beside the buffer.
 */
static void add_buffer(struct values *v, const struct mmt_kernel *kernel,
                       mmt_operand operand, mmt_type type, int64_t elements)
{
    int64_t size = (int64_t) mmt_type_size(type);
    bool pointers = kernel->device->caps.dialect == MMT_CUDA_CXX;
    int64_t bytes = (int64_t) operand.offset + elements * size;
    uint64_t handle =
        operand.handle && pointers ? operand.handle + (uint64_t) bytes : operand.handle;

    v->value[v->count++] =
        (struct mmt_value){ .kind = MMT_VALUE_BUFFER, .buffer = handle };
    add_i64(v, pointers ? 0 : bytes / size);
}

/* Of a batch by pointers, the operand is an array of them. */
static void add_matrix(struct values *v, const struct mmt_kernel *kernel,
                       mmt_operand operand, mmt_type type, int64_t ld, int64_t stride,
                       int64_t first)
{
    const bool pointers = kernel->problem.batch_by == MMT_BY_POINTERS;
    if (pointers && operand.handle)
        operand.offset += (size_t) first * sizeof(uint64_t);
    add_buffer(v, kernel, operand, type, pointers ? 0 : first * stride);
    add_i32(v, ld);
    add_i64(v, pointers ? 0 : stride);
}

/* A matrix as it is stored, its shape in elements, seen as `batch` of them. Where a step
 * is between things of which there is one, any step does. */
struct stored {
    mmt_operand operand;
    mmt_type type;
    int64_t rows, columns, ld, stride;
};

static struct mmt_tensor tensor_of(const struct stored *matrix, int64_t first,
                                   int64_t batch, const struct mmt_box *box)
{
    int64_t size = (int64_t) mmt_type_size(matrix->type), ld = matrix->ld * size,
            stride = batch > 1 ? matrix->stride * size : ld * matrix->rows;
    uint64_t start = matrix->operand.offset + (uint64_t) (first * matrix->stride * size);

    return (struct mmt_tensor){
        .type = matrix->type,
        .address = matrix->operand.handle ? matrix->operand.handle + start : 0,
        .inner = matrix->columns,
        .outer = matrix->rows,
        .batch = batch,
        .ld = ld,
        .stride = stride,
        .box = *box,
    };
}

/* The copy of an operand of so many lines along k, in the workspace, where every part of
 * the batch has its turn, unless one copy serves all. */
static struct stored packed_box(const mmt_problem *p, int64_t lines, const mmt_args *args,
                                const struct mmt_box *box)
{
    const bool flat = box->packed == MMT_PACKED_FLAT;
    const mmt_type type =
        box->packed == MMT_PACKED_SLICES ? mmt_type_slice(p->type) : p->type;
    const int64_t rows = flat ? p->k : lines, columns = flat ? lines : p->k;
    const int64_t per_piece = 16 / (int64_t) mmt_type_size(type);
    const int64_t ld = (columns + per_piece - 1) / per_piece * per_piece;
    const int64_t stride = box->serves_batch ? 0 : rows * ld;
    struct stored other = { args->workspace, type, rows, columns, ld, stride };
    other.operand.offset += box->at;
    return other;
}

static mmt_status add_map(struct values *v, const struct mmt_kernel *kernel,
                          const struct mmt_launch *launch, enum mmt_arg arg,
                          const mmt_args *args, int64_t first, int64_t batch,
                          mmt_error *err)
{
    const mmt_problem *p = &kernel->problem;
    const struct stored matrices[] = {
        { args->a, p->type, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, p->lda,
          p->stride_a },
        { args->b, p->type, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, p->ldb,
          p->stride_b },
        { args->c, p->out, p->m, p->n, p->ldc, p->stride_c },
    };
    int i = (int) arg - MMT_ARG_TENSOR_MAP_A;
    const struct mmt_box *box = &launch->box[i];
    struct stored matrix =
        box->packed ? packed_box(p, i ? p->n : p->m, args, box) : matrices[i];
    const int64_t matrices_of_one =
        box->packed == MMT_PACKED_SLICES ? mmt_type_slices(p->type) : 1;
    struct mmt_tensor tensor =
        tensor_of(&matrix, box->packed ? 0 : first, batch * matrices_of_one, box);

    v->value[v->count++] = (struct mmt_value){ .kind = MMT_VALUE_MAP, .map = &v->map[i] };
    return mmt_tensor_map_encode(kernel->device, &tensor, &v->map[i], err);
}

static void add_workspace(struct values *v, const struct mmt_kernel *kernel,
                          const mmt_args *args, size_t at)
{
    mmt_operand from = args->workspace;
    from.offset += at;
    add_buffer(v, kernel, from, mmt_type_scalar(kernel->problem.type), 0);
}

/* `batch` matrices from `first` on are what this launch computes. */
static void add_argument(struct values *v, const struct mmt_kernel *kernel,
                         const struct mmt_launch *launch, enum mmt_arg arg,
                         const mmt_args *args, int64_t first, int64_t batch)
{
    const mmt_problem *p = &kernel->problem;
    const bool given = !args->scalars.handle; /* else they may be anything */
    const double alpha = given ? args->alpha : 1, beta = given ? args->beta : 0;
    const bool no_product = alpha == 0;

    switch (arg) {
    case MMT_ARG_END:
        return;
    case MMT_ARG_M:
        add_i32(v, p->m);
        return;
    case MMT_ARG_N:
        add_i32(v, p->n);
        return;
    case MMT_ARG_K: /* as BLAS has it: A and B are not read where alpha is 0 */
        add_i32(v, no_product && mmt_op_row(p->op)->sums ? 0 : p->k);
        return;
    case MMT_ARG_ALPHA:
        add_scalar(v, p->type, alpha);
        return;
    case MMT_ARG_BETA:
        add_scalar(v, p->type, beta);
        return;
    case MMT_ARG_SCALARS:
        add_buffer(v, kernel, args->scalars, mmt_type_scalar(p->type), 0);
        return;
    case MMT_ARG_A:
        add_matrix(v, kernel, args->a, p->type, p->lda, p->stride_a, first);
        return;
    case MMT_ARG_B:
        add_matrix(v, kernel, args->b, p->type, p->ldb, p->stride_b, first);
        return;
    case MMT_ARG_C:
        add_matrix(v, kernel, args->c, p->out, p->ldc, p->stride_c, first);
        return;
    case MMT_ARG_BIAS:
        add_buffer(v, kernel, args->bias, p->out, 0);
        return;
    case MMT_ARG_WORKSPACE:
        add_workspace(v, kernel, args, launch->workspace_at);
        return;
    case MMT_ARG_SECOND:
        add_workspace(v, kernel, args, launch->second_workspace_at);
        return;
    case MMT_ARG_BATCH:
        add_i32(v, batch);
        return;
    case MMT_ARG_SPLITS:
        add_i32(v, launch->splits);
        return;
    case MMT_ARG_TILE:
        for (int i = 0; i < 3; i++)
            add_i32(v, launch->tile[i]);
        return;
    case MMT_ARG_TENSOR_MAP_A:
    case MMT_ARG_TENSOR_MAP_B:
    case MMT_ARG_TENSOR_MAP_C:
        return; /* these can fail: gather */
    }
}

static mmt_status gather_values(struct values *v, const struct mmt_kernel *kernel,
                                const struct mmt_launch *launch, const mmt_args *args,
                                int64_t first, int64_t batch, mmt_error *err)
{
    mmt_status status = MMT_OK;

    v->count = 0;
    for (const enum mmt_arg *arg = launch->args; *arg != MMT_ARG_END && !status; arg++) {
        if (*arg >= MMT_ARG_TENSOR_MAP_A && *arg <= MMT_ARG_TENSOR_MAP_C)
            status = add_map(v, kernel, launch, *arg, args, first, batch, err);
        else
            add_argument(v, kernel, launch, *arg, args, first, batch);
    }
    return status;
}

/* Parts share the workspace, so that each comes after the one before. */
static unsigned order_of(const struct mmt_launches *launches, int i, bool shares)
{
    const bool after = i > 0 || (shares && launches->workspace > 0);
    return (after ? MMT_ORDER_AFTER : MMT_ORDER_OF_QUEUE) |
           (launches->launch[i].pdl_waits ? MMT_ORDER_WAITS : MMT_ORDER_OF_QUEUE);
}

static mmt_status run_part(const struct mmt_kernel *kernel,
                           const struct mmt_kernel_part *part, int64_t first,
                           const mmt_args *args, const struct mmt_turn *turn,
                           mmt_error *err)
{
    const bool shares = first > 0 || turn->follows;
    const struct mmt_launches *launches = &part->launches;

    for (int i = 0; i < launches->count; i++) {
        const struct mmt_launch *launch = &launches->launch[i];
        struct values v;
        mmt_status status =
            gather_values(&v, kernel, launch, args, first, part->batch, err);
        if (status == MMT_OK)
            status = mmt_function_launch(kernel->functions[i], launch->grid, v.value,
                                         v.count, order_of(launches, i, shares),
                                         turn->queue, turn->events, err);
        if (status != MMT_OK)
            return status;
    }
    return MMT_OK;
}

mmt_status mmt_kernel_run(const struct mmt_kernel *kernel, const mmt_args *args,
                          const struct mmt_turn *turn, mmt_error *err)
{
    int64_t first = 0;

    for (int64_t i = 0; i < kernel->num_whole; i++, first += kernel->whole.batch) {
        mmt_status status = run_part(kernel, &kernel->whole, first, args, turn, err);
        if (status != MMT_OK)
            return status;
    }
    return kernel->rest.batch ? run_part(kernel, &kernel->rest, first, args, turn, err)
                              : MMT_OK;
}
