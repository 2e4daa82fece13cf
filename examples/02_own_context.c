/* A program that has OpenCL of its own: its context, its queue, its buffers. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <mmtune/opencl.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 256, COUNT = SIZE * SIZE, SKIP = 77 };

static int fail(const mmt_error *err)
{
    fprintf(stderr, "%s: %s\n", mmt_status_name(err->status), err->text);
    return EXIT_FAILURE;
}

static int fail_cl(const char *what, cl_int code)
{
    fprintf(stderr, "%s: OpenCL error %d\n", what, (int) code);
    return EXIT_FAILURE;
}

/* Whole numbers small enough that every sum is exact, so that the answer is, too. */
static void fill(float *x, int step)
{
    for (int i = 0; i < COUNT; i++)
        x[i] = (float) ((i * step) % 7 - 3);
}

static int count_wrong(const float *a, const float *b, const float *c)
{
    int wrong = 0;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            float sum = 0;
            for (int l = 0; l < SIZE; l++)
                sum += a[i * SIZE + l] * b[l * SIZE + j];
            wrong += c[i * SIZE + j] != 2 * sum;
        }
    return wrong;
}

int main(void)
{
    static float a[COUNT], b[COUNT], c[COUNT];
    cl_platform_id platform;
    cl_device_id id;
    cl_int code;
    mmt_error err;

    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL) != CL_SUCCESS) {
        printf("skipped: there is no OpenCL device\n");
        return SKIP;
    }

    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return fail_cl("clCreateContext", code);
    cl_command_queue queue =
        clCreateCommandQueue(context, id, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (code != CL_SUCCESS) /* not every device has one */
        queue = clCreateCommandQueue(context, id, 0, &code);
    if (code != CL_SUCCESS)
        return fail_cl("clCreateCommandQueue", code);

    fill(a, 5);
    fill(b, 3);
    cl_mem_flags copy = CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR;
    cl_mem a_mem = clCreateBuffer(context, copy, sizeof a, a, NULL);
    cl_mem b_mem = clCreateBuffer(context, copy, sizeof b, b, NULL);
    cl_mem c_mem = clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof c, NULL, &code);
    if (!a_mem || !b_mem || !c_mem)
        return fail_cl("clCreateBuffer", code);

    /* From here on it is mmtune. */
    mmt_device *device = mmt_opencl_device(context, id, &err);
    if (!device)
        return fail(&err);
    mmt_problem problem = mmt_gemm_problem(MMT_F32, SIZE, SIZE, SIZE);
    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, NULL, &err);
    if (!plan)
        return fail(&err);

    mmt_args args = mmt_args_defaults();
    args.a = mmt_opencl_operand(a_mem, 0);
    args.b = mmt_opencl_operand(b_mem, 0);
    args.c = mmt_opencl_operand(c_mem, 0);
    args.alpha = 2;
    cl_mem workspace = NULL;
    if (mmt_plan_workspace(plan) > 0)
        workspace = clCreateBuffer(context, 0, mmt_plan_workspace(plan), NULL, &code);
    args.workspace = mmt_opencl_operand(workspace, 0);
    if (mmt_execute(plan, &args, mmt_opencl_queue(queue), &err) != MMT_OK)
        return fail(&err);
    clFinish(queue);
    clEnqueueReadBuffer(queue, c_mem, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL);

    int wrong = count_wrong(a, b, c);
    printf("%s: C = 2 A B, %d of %d elements wrong\n", mmt_device_name(device), wrong,
           COUNT);

    mmt_plan_free(plan);
    mmt_device_close(device);
    clReleaseMemObject(a_mem);
    clReleaseMemObject(b_mem);
    clReleaseMemObject(c_mem);
    if (workspace)
        clReleaseMemObject(workspace);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
