/* What mmt_execute refuses with OpenCL, before anything is queued. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <mmtune/opencl.h>

#include "tests/support/device.h"
#include "tests/support/test.h"

static mmt_device *device;

enum { SIZE = 40, BYTES = SIZE * SIZE * (int) sizeof(float) };

/* A queue of another context is the driver's to refuse. */
static void refuse_queue(const mmt_plan *plan, const mmt_args *args, cl_context elsewhere)
{
    cl_command_queue queue =
        clCreateCommandQueue(elsewhere, mmt_opencl_device_id(device), 0, NULL);
    CHECK(mmt_execute(plan, args, mmt_opencl_queue(queue), &err) != MMT_OK);
    CHECK_EQ_STR(mmt_argument_name(err.argument), "queue");
    clReleaseCommandQueue(queue);
}

/* All that is wrong with it is told, and nothing is queued. */
static void refuse(const mmt_plan *plan, mmt_args args, mmt_argument which,
                   const char *words)
{
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT, words);
    CHECK_EQ_STR(mmt_argument_name(err.argument), mmt_argument_name(which));
}

static void test_operands(void)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, SIZE, SIZE, SIZE);
    mmt_args args = args_of(device, BYTES), wrong;
    cl_context elsewhere = clCreateContext(
        NULL, 1, (cl_device_id[]){ mmt_opencl_device_id(device) }, NULL, NULL, NULL);
    cl_mem foreign = clCreateBuffer(elsewhere, CL_MEM_READ_WRITE, BYTES, NULL, NULL);

    SCOPED_PLAN *plan = plan_by(device, problem, "split_naive");
    problem.bias = MMT_BIAS_M;
    SCOPED_PLAN *biased = plan_by(device, problem, "naive");
    args.workspace = buffer_of(device, mmt_plan_workspace(plan));
    args.bias = args.a, args.bias.offset = BYTES - SIZE * (int) sizeof(float);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK_OK(mmt_finish(device, NULL, &err), err);

    wrong = args, wrong.a.offset = 4;
    refuse(plan, wrong, MMT_ARGUMENT_A,
           "A needs 6400 bytes from byte 4 on; its buffer has 6400");
    wrong = args, wrong.b.offset = 2 * BYTES;
    refuse(plan, wrong, MMT_ARGUMENT_B,
           "B needs 6400 bytes from byte 12800 on; its buffer has 6400");
    wrong = args, wrong.c = mmt_opencl_operand(foreign, 0);
    refuse(plan, wrong, MMT_ARGUMENT_C, "C is a buffer of another context");
    wrong = args, wrong.bias.offset += 4;
    refuse(biased, wrong, MMT_ARGUMENT_BIAS, "bias needs 160 bytes");
    wrong = args, wrong.workspace.offset = 256;
    refuse(plan, wrong, MMT_ARGUMENT_WORKSPACE, "workspace needs");
    wrong = args, wrong.scalars = args.a, wrong.scalars.offset = BYTES - 4;
    refuse(plan, wrong, MMT_ARGUMENT_SCALARS, "scalars needs 8 bytes");
    refuse_queue(plan, &args, elsewhere);
    wrong = args, wrong.b.handle = 0;
    refuse(plan, wrong, MMT_ARGUMENT_B, "B is null");
    wrong = args, wrong.c.offset = 2;
    refuse(plan, wrong, MMT_ARGUMENT_C, "C starts at byte 2");
    wrong = args, wrong.workspace.handle = 0;
    refuse(plan, wrong, MMT_ARGUMENT_WORKSPACE, "workspace is null");
    wrong = args, wrong.size = 3;
    refuse(plan, wrong, MMT_ARGUMENT_SIZE, "mmt_args.size is 3");
    wrong = args, wrong.a.offset = 4, wrong.alpha = 0;
    CHECK_OK(mmt_execute(plan, &wrong, NULL, &err), err);
    CHECK_OK(mmt_finish(device, NULL, &err), err);

    free_args(device, &args);
    clReleaseMemObject(foreign);
    clReleaseContext(elsewhere);
}

int main(void)
{
    device = open_device("opencl:0");
    test_operands();
    mmt_device_close(device);
    return test_end("operands");
}
