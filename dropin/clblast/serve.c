/* Executing a call: as one execution of a plan, or as a list of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mmtune/opencl.h>

#include "base/problem.h"
#include "device/opencl_api.h"
#include "dropin/clblast/call.h"

/* A call on its way: row-major, as plans are. */
struct job {
    const struct mmt_clblast_call *call;
    struct mmt_clblast_device *device;
    cl_command_queue queue;
    struct mmt_clblast_matrix a, b, c; /* of the problem; the strides of one execution */
    bool is_one;                       /* all products in one execution */
    mmt_problem problem;
};

/* ---- numbers ---------------------------------------------------------------------- */

static double of_half(cl_half bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

double mmt_clblast_scalar(mmt_type type, const void *list, size_t i)
{
    return type == MMT_F64   ? ((const double *) list)[i]
           : type == MMT_F16 ? of_half(((const cl_half *) list)[i])
                             : ((const float *) list)[i];
}

/* ---- answers ---------------------------------------------------------------------- */

static int code_of_argument(const struct job *job, mmt_argument argument)
{
    const bool swapped = job->a.buffer != job->call->a.buffer;
    switch (argument) {
    case MMT_ARGUMENT_A:
        return swapped ? CLBLAST_INVALID_MATRIX_B : CLBLAST_INVALID_MATRIX_A;
    case MMT_ARGUMENT_B:
        return swapped ? CLBLAST_INVALID_MATRIX_A : CLBLAST_INVALID_MATRIX_B;
    case MMT_ARGUMENT_C:
        return CLBLAST_INVALID_MATRIX_C;
    case MMT_ARGUMENT_QUEUE:
        return CL_INVALID_COMMAND_QUEUE;
    default:
        return CLBLAST_UNKNOWN_ERROR;
    }
}

/* What a failure of ours is called there. */
static int code_of(const struct job *job, const mmt_error *err)
{
    if (err->argument)
        return code_of_argument(job, err->argument);
    if (err->status == MMT_ERROR_UNSUPPORTED && job->call->type == MMT_F64)
        return CLBLAST_NO_DOUBLE_PRECISION;
    if (err->status == MMT_ERROR_COMPILE)
        return CL_BUILD_PROGRAM_FAILURE;
    if (err->status == MMT_ERROR_MEMORY)
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return err->status == MMT_ERROR_DEVICE && err->native < 0 ? err->native
                                                              : CLBLAST_UNKNOWN_ERROR;
}

/* ---- from a call to a problem ---------------------------------------------------- */

/* Whether ours counts as far; where it does not, CLBlast's 32 bits seldom do. */
static bool is_in_range(const struct mmt_clblast_call *call)
{
    return call->m <= MMT_MOST_DIMENSION && call->n <= MMT_MOST_DIMENSION &&
           call->k <= MMT_MOST_DIMENSION && call->a.ld && call->b.ld &&
           call->a.ld <= INT32_MAX && call->b.ld <= INT32_MAX &&
           call->c.ld <= INT32_MAX && call->batch <= INT32_MAX &&
           call->a.stride <= INT64_MAX / 2 && call->b.stride <= INT64_MAX / 2 &&
           call->c.stride <= INT64_MAX / 2;
}

/* Ours computes the lower triangle of row-major matrices, from an A whose rows are
 * multiplied with each other. */
static bool is_our_triangle(const struct mmt_clblast_call *call)
{
    const bool row = call->layout == CLBLAST_ROW_MAJOR;
    return row == (call->triangle == CLBLAST_LOWER) &&
           row == (call->trans_a == CLBLAST_NO);
}

/* Whether a list that is no batch with strides is better passed: CLBlast has one launch
 * for all of it, and ours, one for each product, takes longer below some 24 x 24 x 24
 * (PoCL). Of f16 CLBlast has nothing on many devices. */
static bool is_better_passed(const struct job *job)
{
    const struct mmt_clblast_call *call = job->call;
    return call->routine == MMT_CLBLAST_BATCHED && !job->is_one &&
           call->type != MMT_F16 &&
           (double) call->m * (double) call->n * (double) call->k < 24 * 24 * 24 &&
           mmt_clblast_real("CLBlastSgemmBatched");
}

/* Whether a list's offsets are equally far apart, and how far. */
static bool is_even(struct mmt_clblast_matrix *x, size_t batch)
{
    const size_t *offsets = x->offsets;

    x->stride = batch > 1 ? offsets[1] - offsets[0] : 0;
    for (size_t i = 1; i < batch; i++)
        if (offsets[i] < offsets[i - 1] || offsets[i] - offsets[i - 1] != x->stride)
            return false;
    return true;
}

static bool are_scalars_equal(const struct mmt_clblast_call *call, const void *list)
{
    const double first = mmt_clblast_scalar(call->type, list, 0);
    for (size_t i = 1; i < call->batch; i++)
        if (mmt_clblast_scalar(call->type, list, i) != first)
            return false;
    return true;
}

/* Whether a list is a batch with strides, as most lists are. */
static bool is_strided(struct job *job)
{
    const struct mmt_clblast_call *call = job->call;
    if (call->routine != MMT_CLBLAST_BATCHED)
        return true;
    return is_even(&job->a, call->batch) && is_even(&job->b, call->batch) &&
           is_even(&job->c, call->batch) && are_scalars_equal(call, call->alphas) &&
           are_scalars_equal(call, call->betas);
}

static mmt_problem problem_of(const struct job *job)
{
    const struct mmt_clblast_call *call = job->call;
    const bool row = call->layout == CLBLAST_ROW_MAJOR;
    const bool a = call->trans_a != CLBLAST_NO, b = call->trans_b != CLBLAST_NO;
    mmt_problem p =
        call->routine == MMT_CLBLAST_SYRK
            ? mmt_syrk_problem(call->type, (int64_t) call->n, (int64_t) call->k)
            : mmt_gemm_problem(call->type, (int64_t) (row ? call->m : call->n),
                               (int64_t) (row ? call->n : call->m), (int64_t) call->k);

    p.lda = (int64_t) job->a.ld;
    p.ldc = (int64_t) job->c.ld;
    if (call->routine == MMT_CLBLAST_SYRK)
        return p;
    p.trans_a = row ? a : b;
    p.trans_b = row ? b : a;
    p.ldb = (int64_t) job->b.ld;
    if (!job->is_one || call->batch < 2)
        return p;
    p.batch = (int64_t) call->batch;
    p.stride_a = (int64_t) job->a.stride;
    p.stride_b = (int64_t) job->b.stride;
    p.stride_c = (int64_t) job->c.stride;
    return p;
}

/* A batch whose matrices of C are neither apart nor side by side is a list, too. */
static void describe(struct job *job)
{
    const struct mmt_clblast_call *call = job->call;
    const bool swapped =
        call->layout != CLBLAST_ROW_MAJOR && call->routine != MMT_CLBLAST_SYRK;
    mmt_problem normalised;

    job->a = swapped ? call->b : call->a;
    job->b = swapped ? call->a : call->b;
    job->c = call->c;
    job->is_one = is_strided(job);
    job->problem = problem_of(job);
    if (job->is_one && call->batch > 1 &&
        (!job->problem.stride_c ||
         mmt_problem_normalise(&job->problem, &normalised, NULL))) {
        job->is_one = false;
        job->problem = problem_of(job);
    }
}

/* ---- executing -------------------------------------------------------------------- */

static mmt_operand operand_of(const struct job *job, const struct mmt_clblast_matrix *x,
                              size_t offset)
{
    return mmt_opencl_operand(x->buffer, offset * mmt_type_size(job->call->type));
}

static mmt_status execute_one(const struct job *job, const mmt_plan *plan, mmt_args *args,
                              const cl_event *after, cl_event *done, mmt_error *err)
{
    const struct mmt_clblast_call *call = job->call;

    args->a = operand_of(job, &job->a, job->a.offsets[0]);
    args->b = operand_of(job, &job->b, job->b.offsets[0]);
    args->c = operand_of(job, &job->c, job->c.offsets[0]);
    args->alpha = mmt_clblast_scalar(call->type, call->alphas, 0);
    args->beta = mmt_clblast_scalar(call->type, call->betas, 0);
    if (!done)
        return mmt_execute(plan, args, mmt_opencl_queue(job->queue), err);
    return mmt_opencl_execute(plan, args, job->queue, after ? 1 : 0, after, done, err);
}

/* The lists of mmt_execute_batch, in memory that the caller frees. */
static int64_t *list_offsets(const struct job *job, const struct mmt_clblast_matrix *x,
                             int64_t *out)
{
    const bool listed = job->call->routine == MMT_CLBLAST_BATCHED;
    for (size_t i = 0; i < job->call->batch; i++)
        out[i] = (int64_t) (listed ? x->offsets[i] : x->offsets[0] + i * x->stride);
    return out;
}

static double *list_scalars(const struct job *job, const void *list, double *out)
{
    const bool listed = job->call->routine == MMT_CLBLAST_BATCHED;
    for (size_t i = 0; i < job->call->batch; i++)
        out[i] = mmt_clblast_scalar(job->call->type, list, listed ? i : 0);
    return out;
}

/* A marker at the end of the list is done when all of it is, on any queue. */
static mmt_status mark(const struct job *job, cl_int code, cl_event *done, mmt_error *err)
{
    if (!code && done)
        code = clEnqueueMarkerWithWaitList(job->queue, 0, NULL, done);
    return code ? mmt_fail_native(err, MMT_ERROR_DEVICE, code,
                                  "the queue takes no marker or barrier")
                : MMT_OK;
}

static mmt_status execute_list(const struct job *job, const mmt_plan *plan,
                               mmt_args *args, const cl_event *after, cl_event *done,
                               mmt_error *err)
{
    const struct mmt_clblast_call *call = job->call;
    const size_t count = call->batch;
    int64_t *offsets = malloc(3 * count * sizeof *offsets);
    double *scalars = malloc(2 * count * sizeof *scalars);
    mmt_status status = MMT_OK;

    args->a = operand_of(job, &job->a, 0);
    args->b = operand_of(job, &job->b, 0);
    args->c = operand_of(job, &job->c, 0);
    if (!offsets || !scalars)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a list of %zu products",
                          count);
    else if (after)
        status = mark(job, clEnqueueBarrierWithWaitList(job->queue, 1, after, NULL), NULL,
                      err);
    if (!status)
        status = mmt_execute_batch(plan, args, (int64_t) count,
                                   list_offsets(job, &job->a, offsets),
                                   list_offsets(job, &job->b, offsets + count),
                                   list_offsets(job, &job->c, offsets + 2 * count),
                                   list_scalars(job, call->alphas, scalars),
                                   list_scalars(job, call->betas, scalars + count),
                                   mmt_opencl_queue(job->queue), err);
    free(offsets);
    free(scalars);
    return status ? status : mark(job, CL_SUCCESS, done, err);
}

static mmt_status execute(const struct job *job, const mmt_plan *plan, mmt_args *args,
                          const cl_event *after, cl_event *done, mmt_error *err)
{
    return job->is_one ? execute_one(job, plan, args, after, done, err)
                       : execute_list(job, plan, args, after, done, err);
}

/* What uses a workspace needs an event: the next one who gets it waits for that. */
static mmt_status execute_with_workspace(const struct job *job, const mmt_plan *plan,
                                         mmt_args *args, size_t bytes, mmt_error *err)
{
    cl_event done = NULL;
    struct mmt_clblast_workspace *workspace =
        mmt_clblast_borrow(job->device, job->queue, bytes, err);

    if (!workspace)
        return err->status;
    args->workspace = workspace->memory;
    mmt_status status =
        execute(job, plan, args, workspace->after ? &workspace->after : NULL, &done, err);
    if (!status && job->call->event) {
        clRetainEvent(done);
        *job->call->event = done;
    }
    if (status) /* some of its launches may be queued */
        clFinish(job->queue);
    mmt_clblast_give_back(job->device, workspace, done);
    return status;
}

static mmt_status queue_job(const struct job *job, const mmt_plan *plan, mmt_error *err)
{
    const size_t bytes = mmt_plan_workspace(plan);
    mmt_args args = mmt_args_defaults();
    return bytes ? execute_with_workspace(job, plan, &args, bytes, err)
                 : execute(job, plan, &args, NULL, job->call->event, err);
}

/* ---- serving ---------------------------------------------------------------------- */

/* Where nothing was queued yet, another library may do better. */
static bool plan_and_queue(const struct job *job, int *code)
{
    struct mmt_blas_plan *plan = NULL;
    mmt_error err = { 0 };

    if (mmt_blas_borrow(mmt_clblast_blas(job->device), &job->problem, &plan, &err)) {
        *code = code_of(job, &err);
        return false;
    }
    const mmt_status status = queue_job(job, mmt_blas_plan_of(plan), &err);
    mmt_blas_give_back(plan);
    *code = status ? code_of(job, &err) : CL_SUCCESS;
    if (status)
        fprintf(stderr, "mmtune-clblast: %s\n", err.text);
    return true;
}

static cl_int ask_queue(const struct mmt_clblast_call *call, cl_context *context,
                        cl_device_id *id)
{
    cl_int code = call->queue && *call->queue ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
    if (!code)
        code = clGetCommandQueueInfo(*call->queue, CL_QUEUE_CONTEXT, sizeof *context,
                                     context, NULL);
    if (!code)
        code = clGetCommandQueueInfo(*call->queue, CL_QUEUE_DEVICE, sizeof *id, id, NULL);
    return code;
}

bool mmt_clblast_serve(const struct mmt_clblast_call *call, int *code)
{
    cl_context context = NULL;
    cl_device_id id = NULL;
    mmt_error err = { 0 };

    *code = CLBLAST_NOT_SERVED;
    if (mmt_opencl_api_open())
        return false;
    if ((*code = ask_queue(call, &context, &id)) || (*code = mmt_clblast_check(call)))
        return true;
    *code = CLBLAST_NOT_SERVED;
    if (!is_in_range(call) ||
        (call->routine == MMT_CLBLAST_SYRK && !is_our_triangle(call)))
        return false;

    struct job job = { .call = call, .queue = *call->queue };
    describe(&job);
    if (is_better_passed(&job))
        return false;
    job.device = mmt_clblast_hold(context, id, &err);
    if (!job.device) {
        *code = code_of(&job, &err);
        return false;
    }
    const bool served = plan_and_queue(&job, code);
    mmt_clblast_let_go(job.device);
    return served;
}
