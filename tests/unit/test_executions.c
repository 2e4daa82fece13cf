/* Executions that share a plan, on an out-of-order queue: with the plan's own workspace,
 * and as a list. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <mmtune/opencl.h>

#include "tests/support/device.h"
#include "tests/support/test.h"

static mmt_device *device;
static cl_command_queue queue; /* out of order */

enum { SIZE = 48, COUNT = SIZE * SIZE, BYTES = COUNT * (int) sizeof(float), MANY = 6 };

/* Matrices, one after the other; all elements of the i-th are first + i. */
static mmt_operand matrices_of(float first, int count)
{
    mmt_operand made = { 0, 0 };
    const size_t bytes = (size_t) count * BYTES;
    float *data = malloc(bytes);
    if (!CHECK(data))
        return made;
    for (int i = 0; i < count * COUNT; i++)
        data[i] = first + (float) (i / COUNT);
    CHECK_OK(mmt_buffer_create(device, bytes, &made, &err), err);
    CHECK_OK(mmt_buffer_write(device, made, data, bytes, &err), err);
    free(data);
    return made;
}

/* Of the matrix that begins so many matrices behind the operand. */
static int count_wrong(mmt_operand matrix, int behind, float right)
{
    static float data[COUNT];
    int wrong = 0;
    matrix.offset += (size_t) behind * BYTES;
    CHECK_OK(mmt_buffer_read(device, data, matrix, BYTES, &err), err);
    for (int i = 0; i < COUNT; i++)
        wrong += data[i] != right;
    return wrong;
}

static mmt_plan *plan_with(const char *configuration)
{
    return plan_by(device, mmt_gemm_problem(MMT_F32, SIZE, SIZE, SIZE), configuration);
}

/* ---- a plan's own workspace ------------------------------------------------------ */

static void test_own_workspace(void)
{
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, SIZE, SIZE, SIZE);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_args args = mmt_args_defaults();
    mmt_operand c = matrices_of(-1, MANY);

    options.configuration = "split_naive";
    options.own_workspace = 1;
    SCOPED_PLAN *plan = mmt_plan_create(device, NULL, &problem, &options, &err),
                *needs = plan_with("split_naive");
    if (!CHECK_MADE(plan))
        return;
    CHECK(mmt_plan_workspace(plan) == 0 && mmt_plan_workspace(needs) > 0);
    args.a = matrices_of(1, 1), args.b = matrices_of(1, 1), args.c = c;
    for (int i = 0; i < MANY; i++, args.c.offset += BYTES) {
        args.alpha = i + 1;
        CHECK_OK(mmt_execute(plan, &args, mmt_opencl_queue(queue), &err), err);
    }
    args.c = c;
    CHECK_FAILS(mmt_execute(needs, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "own_workspace");
    CHECK(!clFinish(queue));
    for (int i = 0; i < MANY; i++)
        CHECK_EQ_INT(count_wrong(c, i, (float) (SIZE * (i + 1))), 0);
    free_args(device, &args);
}

/* A buffer of OpenCL has no pointers. */
static void test_pointers(void)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, SIZE, SIZE, SIZE);
    problem.batch_by = MMT_BY_POINTERS;
    CHECK_REFUSED(mmt_plan_create(device, NULL, &problem, NULL, &err),
                  MMT_ERROR_UNSUPPORTED, "batch_by must be MMT_BY_STRIDE");
    CHECK_EQ_INT(err.argument, MMT_ARGUMENT_BATCH_BY);
}

/* What a plan makes for itself counts, too. */
static void test_cap(void)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, SIZE, SIZE, SIZE);
    mmt_plan_options options = mmt_plan_defaults();
    options.configuration = "split_naive";
    options.own_workspace = 1;
    options.max_workspace = 16;
    CHECK_REFUSED(mmt_plan_create(device, NULL, &problem, &options, &err),
                  MMT_ERROR_UNSUPPORTED, "max_workspace is 16");
}

/* ---- lists of executions --------------------------------------------------------- */

/* C_i = alpha_i A_(5 - i) B + beta_i C_i, with C_i = 10 + i; C stands backwards. */
static void check_batch(const char *configuration)
{
    SCOPED_PLAN *plan = plan_with(configuration);
    mmt_args args = mmt_args_defaults();
    int64_t offsets_a[MANY], offsets_c[MANY];
    double alphas[MANY], betas[MANY];

    args.a = matrices_of(1, MANY), args.b = matrices_of(2, 1);
    args.c = matrices_of(10, MANY);
    if (mmt_plan_workspace(plan))
        args.workspace = buffer_of(device, mmt_plan_workspace(plan));
    for (int i = 0; i < MANY; i++) {
        offsets_a[i] = (MANY - 1 - i) * COUNT;
        offsets_c[i] = i * COUNT;
        alphas[i] = i - 1, betas[i] = i % 2;
    }
    CHECK_OK(mmt_execute_batch(plan, &args, MANY, offsets_a, NULL, offsets_c, alphas,
                               betas, mmt_opencl_queue(queue), &err),
             err);
    CHECK(!clFinish(queue));
    for (int i = 0; i < MANY; i++)
        CHECK_EQ_INT(
            count_wrong(args.c, i,
                        (float) ((i - 1) * (MANY - i) * 2 * SIZE + i % 2 * (10 + i))),
            0);
    free_args(device, &args);
}

static void refuse(const mmt_plan *plan, const mmt_args *args, const int64_t *a,
                   const int64_t *c, const double *alphas, mmt_argument which,
                   const char *words)
{
    CHECK_FAILS(mmt_execute_batch(plan, args, 2, a, NULL, c, alphas, NULL, NULL, &err),
                err, MMT_ERROR_ARGUMENT, words);
    CHECK_EQ_STR(mmt_argument_name(err.argument), mmt_argument_name(which));
}

/* The first execution is right, and is not queued. */
static void test_all_or_none(void)
{
    SCOPED_PLAN *plan = plan_with("naive");
    mmt_args args = mmt_args_defaults();
    const int64_t right[] = { 0, COUNT }, beyond[] = { 0, COUNT + 1 },
                  negative[] = { 0, -1 }, far[] = { 0, INT64_MAX };
    const double alphas[] = { 1, 2 };

    args.a = matrices_of(1, 2), args.b = matrices_of(1, 1), args.c = matrices_of(-1, 2);
    refuse(plan, &args, beyond, right, NULL, MMT_ARGUMENT_A, "execution 1 of 2: A needs");
    refuse(plan, &args, right, beyond, NULL, MMT_ARGUMENT_C, "execution 1 of 2: C needs");
    refuse(plan, &args, right, negative, NULL, MMT_ARGUMENT_OFFSETS_C, "offsets_c is -1");
    refuse(plan, &args, far, right, NULL, MMT_ARGUMENT_OFFSETS_A, "offsets_a is");
    refuse(plan, &args, right, NULL, NULL, MMT_ARGUMENT_OFFSETS_C, "offsets_c is null");
    CHECK_FAILS(
        mmt_execute_batch(plan, &args, -1, NULL, NULL, NULL, NULL, NULL, NULL, &err), err,
        MMT_ERROR_ARGUMENT, "count is -1");
    args.scalars = args.b;
    refuse(plan, &args, right, right, alphas, MMT_ARGUMENT_ALPHA, "alphas is a list");
    args.scalars.handle = 0;
    CHECK_OK(mmt_execute_batch(plan, &args, 0, NULL, NULL, NULL, NULL, NULL, NULL, &err),
             err);
    CHECK_OK(mmt_finish(device, NULL, &err), err);
    CHECK_EQ_INT(count_wrong(args.c, 0, -1), 0);

    CHECK_OK(mmt_execute_batch(plan, &args, 1, NULL, NULL, NULL, NULL, NULL, NULL, &err),
             err);
    CHECK_OK(mmt_finish(device, NULL, &err), err);
    CHECK_EQ_INT(count_wrong(args.c, 0, SIZE), 0);
    free_args(device, &args);
}

int main(void)
{
    cl_int code = CL_DEVICE_NOT_FOUND;
    device = open_device("opencl:0");
    cl_device_id id = mmt_opencl_device_id(device);
    mmt_device_close(device);
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    device = context ? mmt_opencl_device(context, id, &err) : NULL;
    queue = context ? clCreateCommandQueue(context, id,
                                           CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code)
                    : NULL;
    if (CHECK(device && queue)) {
        test_own_workspace();
        test_cap();
        test_pointers();
        check_batch("naive");
        check_batch("split_naive");
        test_all_or_none();
        clReleaseCommandQueue(queue);
    }
    mmt_device_close(device);
    if (context)
        clReleaseContext(context);
    return test_end("executions");
}
