/* Executing a plan: which of its kernels, and whether it may run. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "base/grow.h"
#include "runtime/plan.h"

void mmt_args_init(mmt_args *out, size_t size)
{
    const mmt_args args = { .alpha = 1 };
    mmt_struct_fill(out, size, &args, sizeof args);
}

/* A cl_mem is a handle, not an address: buffers start aligned, and the offset decides. */
static bool is_aligned(const struct mmt_plan *plan, mmt_operand operand, unsigned bytes)
{
    uint64_t start = operand.offset;
    if (plan->device->caps.dialect == MMT_CUDA_CXX)
        start += operand.handle;
    return start % bytes == 0;
}

static const struct mmt_kernel *kernel_for_args(const struct mmt_plan *plan,
                                                const mmt_args *args)
{
    if (plan->problem.batch_by == MMT_BY_POINTERS) /* what they point to is not known */
        return mmt_plan_kernel(plan);
    bool aligned = plan->aligned && is_aligned(plan, args->a, plan->bound.alignment.a) &&
                   is_aligned(plan, args->b, plan->bound.alignment.b) &&
                   is_aligned(plan, args->c, plan->bound.alignment.c);
    return aligned ? plan->aligned : plan->any;
}

bool mmt_scalar_is_whole(double value)
{
    return value == trunc(value) && fabs(value) <= 9007199254740992.0; /* 2^53 */
}

static mmt_status check_scalars(const struct mmt_plan *plan, const mmt_args *args,
                                mmt_error *err)
{
    const char *type = mmt_type_name(plan->problem.type);

    if (!mmt_type_in(plan->problem.type, MMT_WHOLE_TYPES) || args->scalars.handle)
        return MMT_OK;
    if (!mmt_scalar_is_whole(args->alpha))
        return mmt_fail_argument(err, MMT_ARGUMENT_ALPHA,
                                 "alpha is %g; %s needs a whole number", args->alpha,
                                 type);
    if (!mmt_scalar_is_whole(args->beta))
        return mmt_fail_argument(err, MMT_ARGUMENT_BETA,
                                 "beta is %g; %s needs a whole number", args->beta, type);
    return MMT_OK;
}

static mmt_status check_operand(const struct mmt_plan *plan, mmt_argument which,
                                mmt_operand operand, mmt_type type, bool needed,
                                mmt_error *err)
{
    const bool is_array =
        which == MMT_ARGUMENT_A || which == MMT_ARGUMENT_B || which == MMT_ARGUMENT_C;
    size_t element = is_array && plan->problem.batch_by == MMT_BY_POINTERS
                         ? sizeof(uint64_t)
                         : mmt_type_size(type);
    uint64_t start = operand.offset;

    if (needed && !operand.handle)
        return mmt_fail_argument(err, which, "%s is null, but this execution uses it",
                                 mmt_argument_name(which));
    if (plan->device->caps.dialect == MMT_CUDA_CXX)
        start += operand.handle;
    if (start % element)
        return mmt_fail_argument(
            err, which, "%s starts at byte %llu; it must be a multiple of %zu",
            mmt_argument_name(which), (unsigned long long) start, element);
    return MMT_OK;
}

static mmt_status check_workspace(const struct mmt_plan *plan, const mmt_args *args,
                                  mmt_error *err)
{
    size_t needed = plan->bytes.workspace;

    if (!needed || (args->workspace.handle && is_aligned(plan, args->workspace, 256)))
        return MMT_OK;
    if (!args->workspace.handle)
        return mmt_fail_argument(
            err, MMT_ARGUMENT_WORKSPACE,
            "workspace is null, but this plan needs %zu bytes of it; with "
            "own_workspace in its options it makes them itself",
            needed);
    return mmt_fail_argument(
        err, MMT_ARGUMENT_WORKSPACE,
        "the workspace's offset is %zu; it must start at a multiple of 256 "
        "bytes",
        args->workspace.offset);
}

static mmt_status check_args(const struct mmt_plan *plan, const mmt_args *args,
                             mmt_error *err)
{
    const mmt_problem *p = &plan->problem;
    mmt_type scalar = mmt_type_scalar(p->type);
    bool unknown = args->scalars.handle != 0;
    bool a = mmt_op_needs(p, MMT_OPERAND_A, args->alpha, args->beta, unknown);
    bool b = mmt_op_needs(p, MMT_OPERAND_B, args->alpha, args->beta, unknown);
    mmt_status status;

    if ((status = check_operand(plan, MMT_ARGUMENT_A, args->a, p->type, a, err)) ||
        (status = check_operand(plan, MMT_ARGUMENT_B, args->b, p->type, b, err)) ||
        (status = check_operand(plan, MMT_ARGUMENT_C, args->c, p->out, true, err)) ||
        (status =
             check_operand(plan, MMT_ARGUMENT_BIAS, args->bias, p->out, p->bias, err)) ||
        (status = check_operand(plan, MMT_ARGUMENT_SCALARS, args->scalars, scalar, false,
                                err)))
        return status;
    if ((status = check_workspace(plan, args, err)))
        return status;
    return check_scalars(plan, args, err);
}

/* Whether the operands that are used lie in their buffers. */
static mmt_status check_buffers(const struct mmt_plan *plan, const mmt_args *args,
                                mmt_error *err)
{
    const mmt_problem *p = &plan->problem;
    const bool unknown = args->scalars.handle != 0;
    const struct {
        mmt_argument which;
        mmt_operand operand;
        uint64_t bytes;
        bool used;
    } all[] = {
        { MMT_ARGUMENT_A, args->a, plan->bytes.a,
          mmt_op_needs(p, MMT_OPERAND_A, args->alpha, args->beta, unknown) },
        { MMT_ARGUMENT_B, args->b, plan->bytes.b,
          mmt_op_needs(p, MMT_OPERAND_B, args->alpha, args->beta, unknown) },
        { MMT_ARGUMENT_C, args->c, plan->bytes.c, true },
        { MMT_ARGUMENT_BIAS, args->bias, plan->bytes.bias, p->bias },
        { MMT_ARGUMENT_SCALARS, args->scalars, plan->bytes.scalars, unknown },
        { MMT_ARGUMENT_WORKSPACE, args->workspace, plan->bytes.workspace,
          plan->bytes.workspace },
    };
    mmt_status status = MMT_OK;
    for (int i = 0; i < (int) (sizeof all / sizeof *all) && !status; i++)
        if (all[i].used)
            status = mmt_buffer_check(plan->device, all[i].operand, all[i].which,
                                      all[i].bytes, err);
    return status;
}

/* The kernel for the operands, where nothing is wrong with them. */
static mmt_status choose_kernel(const struct mmt_plan *plan, const mmt_args *args,
                                const struct mmt_kernel **kernel, mmt_error *err)
{
    mmt_status status = check_args(plan, args, err);
    if (status)
        return status;
    *kernel = kernel_for_args(plan, args);
    return *kernel ? MMT_OK
                   : mmt_fail(err, MMT_ERROR_ARGUMENT,
                              "an operand is not aligned to 16 bytes, which aligned_only "
                              "promised");
}

/* Points *args to `own`, with all members, where the caller's header has others. */
static mmt_status read_args(const mmt_args **args, mmt_args *own, mmt_error *err)
{
    if ((*args)->size == sizeof *own)
        return MMT_OK;
    *own = mmt_args_defaults();
    mmt_status status = mmt_struct_read(own, sizeof *own, offsetof(mmt_args, bias), *args,
                                        "mmt_args", "mmt_args_defaults", err);
    *args = own;
    return status;
}

/* The plan's own workspace, where the caller gives none: then the execution comes after
 * the one that had it last. */
static void lend_workspace(const struct mmt_plan *plan, const mmt_args **args,
                           mmt_args *own, struct mmt_turn *turn)
{
    if (!plan->workspace.handle || (*args)->workspace.handle)
        return;
    *own = **args;
    own->workspace = plan->workspace;
    *args = own;
    turn->follows = true;
}

mmt_status mmt_execute_unbounded(const mmt_plan *plan, const mmt_args *args,
                                 mmt_queue queue, mmt_error *err)
{
    const struct mmt_turn turn = { .queue = queue };
    const struct mmt_kernel *kernel;
    mmt_args own;
    if (mmt_plan_is_empty(plan))
        return MMT_OK;
    mmt_status status = read_args(&args, &own, err);
    if (!status)
        status = choose_kernel(plan, args, &kernel, err);
    return status ? status : mmt_kernel_run(kernel, args, &turn, err);
}

mmt_status mmt_execute_turn(const mmt_plan *plan, const mmt_args *args,
                            struct mmt_turn turn, mmt_error *err)
{
    const struct mmt_kernel *kernel;
    mmt_args own;
    if (!plan || !args)
        return mmt_fail_argument(err, plan ? MMT_ARGUMENT_ARGS : MMT_ARGUMENT_PLAN,
                                 "mmt_execute needs a plan and mmt_args");
    if (mmt_plan_is_empty(plan))
        return MMT_OK;
    mmt_status status = read_args(&args, &own, err);
    if (status)
        return status;
    lend_workspace(plan, &args, &own, &turn);
    status = choose_kernel(plan, args, &kernel, err);
    if (status == MMT_OK)
        status = check_buffers(plan, args, err);
    return status ? status : mmt_kernel_run(kernel, args, &turn, err);
}

mmt_status mmt_execute(const mmt_plan *plan, const mmt_args *args, mmt_queue queue,
                       mmt_error *err)
{
    return mmt_execute_turn(plan, args, (struct mmt_turn){ .queue = queue }, err);
}

/* ---- lists of executions --------------------------------------------------------- */

/* The lists of mmt_execute_batch. */
struct batch {
    const mmt_plan *plan;
    const mmt_args *args;
    int64_t count;
    const int64_t *offsets[3];
    const double *alphas, *betas;
};

static mmt_status check_lists(const struct batch *batch, mmt_error *err)
{
    if (batch->plan->problem.batch_by == MMT_BY_POINTERS)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "the plan's batch is by pointers, which offsets do not move; "
                        "batch_by must be MMT_BY_STRIDE");
    if (batch->count < 0)
        return mmt_fail_argument(err, MMT_ARGUMENT_COUNT,
                                 "count is %" PRId64 "; it must not be negative",
                                 batch->count);
    if (batch->count > 1 && !batch->offsets[MMT_OPERAND_C])
        return mmt_fail_argument(err, MMT_ARGUMENT_OFFSETS_C,
                                 "offsets_c is null, with which %" PRId64
                                 " executions would store the same C",
                                 batch->count);
    if (batch->args->scalars.handle && (batch->alphas || batch->betas))
        return mmt_fail_argument(err,
                                 batch->alphas ? MMT_ARGUMENT_ALPHA : MMT_ARGUMENT_BETA,
                                 "%s is a list although args has scalars in device "
                                 "memory; it must be NULL",
                                 batch->alphas ? "alphas" : "betas");
    return MMT_OK;
}

static mmt_status move_operand(const struct batch *batch, int64_t i, enum mmt_which which,
                               mmt_operand *operand, mmt_error *err)
{
    const mmt_problem *p = &batch->plan->problem;
    const int64_t *offsets = batch->offsets[which];
    const mmt_type type = which == MMT_OPERAND_C ? p->out : p->type;
    size_t bytes;

    if (!offsets)
        return MMT_OK;
    if (offsets[i] >= 0 &&
        !__builtin_mul_overflow((size_t) offsets[i], mmt_type_size(type), &bytes) &&
        !__builtin_add_overflow(operand->offset, bytes, &operand->offset))
        return MMT_OK;
    const mmt_argument argument = (mmt_argument) (MMT_ARGUMENT_OFFSETS_A + (int) which);
    return mmt_fail_argument(err, argument,
                             "%s is %" PRId64 " elements; it must be from 0 on, and end "
                             "below 2^64 bytes",
                             mmt_argument_name(argument), offsets[i]);
}

/* The arguments of the i-th execution. */
static mmt_status make_args(const struct batch *batch, int64_t i, mmt_args *out,
                            mmt_error *err)
{
    *out = *batch->args;
    if (batch->alphas)
        out->alpha = batch->alphas[i];
    if (batch->betas)
        out->beta = batch->betas[i];
    mmt_status status = move_operand(batch, i, MMT_OPERAND_A, &out->a, err);
    if (!status)
        status = move_operand(batch, i, MMT_OPERAND_B, &out->b, err);
    return status ? status : move_operand(batch, i, MMT_OPERAND_C, &out->c, err);
}

static mmt_status prepare(const struct batch *batch, int64_t i, mmt_args *args,
                          const struct mmt_kernel **kernel, mmt_error *err)
{
    mmt_status status = make_args(batch, i, args, err);
    return status ? status : choose_kernel(batch->plan, args, kernel, err);
}

/* An error says of which execution it speaks. */
static mmt_status check_all(const struct batch *batch, mmt_error *err)
{
    const struct mmt_kernel *kernel;
    mmt_status status = MMT_OK;
    mmt_error why;
    mmt_args args;
    int64_t i;

    for (i = 0; i < batch->count && !status; i++) {
        status = prepare(batch, i, &args, &kernel, &why);
        if (!status)
            status = check_buffers(batch->plan, &args, &why);
    }
    if (!status)
        return MMT_OK;
    mmt_fail(err, status, "execution %" PRId64 " of %" PRId64 ": %s", i - 1, batch->count,
             why.text);
    return mmt_blame(err, status, why.argument);
}

static mmt_status run_all(const struct batch *batch, struct mmt_turn turn, mmt_error *err)
{
    const struct mmt_kernel *kernel;
    mmt_status status = MMT_OK;
    mmt_args args;

    for (int64_t i = 0; i < batch->count && !status; i++, turn.follows = true) {
        status = prepare(batch, i, &args, &kernel, err);
        if (!status)
            status = mmt_kernel_run(kernel, &args, &turn, err);
    }
    return status;
}

mmt_status mmt_execute_batch(const mmt_plan *plan, const mmt_args *args, int64_t count,
                             const int64_t *offsets_a, const int64_t *offsets_b,
                             const int64_t *offsets_c, const double *alphas,
                             const double *betas, mmt_queue queue, mmt_error *err)
{
    struct batch batch = { plan,   args, count, { offsets_a, offsets_b, offsets_c },
                           alphas, betas };
    struct mmt_turn turn = { .queue = queue };
    mmt_args own;

    if (!plan || !args)
        return mmt_fail_argument(err, plan ? MMT_ARGUMENT_ARGS : MMT_ARGUMENT_PLAN,
                                 "mmt_execute_batch needs a plan and mmt_args");
    mmt_status status = read_args(&batch.args, &own, err);
    if (!status)
        status = check_lists(&batch, err);
    if (status || mmt_plan_is_empty(plan))
        return status;
    lend_workspace(plan, &batch.args, &own, &turn);
    status = check_all(&batch, err);
    return status ? status : run_all(&batch, turn, err);
}
