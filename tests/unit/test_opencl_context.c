/* Devices of a caller's own OpenCL context, and parts of a device. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <mmtune/opencl.h>

#include "profiles/profile.h"
#include "tests/support/device.h"
#include "tests/support/opencl_launch.h"

/* ---- a caller's own context ------------------------------------------------------ */

/* A chain of launches on an out-of-order queue, each reading what the one before wrote.
 */
static void run_chain(mmt_device *ours, cl_command_queue queue, cl_mem memory)
{
    enum { STEPS = 100 };
    mmt_operand operand = mmt_opencl_operand(memory, 0);
    struct mmt_module *built = module_on(ours, source);
    struct mmt_function *function = function_of(built, "add", BLOCK, 1);
    fill(ours, operand, 0, 2);
    for (int i = 0; i < STEPS; i++)
        CHECK_OK(
            add(function, operand, 0, operand, 3, true, mmt_opencl_queue(queue), &err),
            err);
    CHECK_OK(mmt_finish(ours, mmt_opencl_queue(queue), &err), err);
    CHECK(count_wrong(ours, operand, 0, 3 * STEPS, 2) == 0);
    wait_for_threads();
    mmt_function_free(function);
    mmt_module_free(built);
}

static bool first_device(cl_device_id *id)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    clGetPlatformIDs(16, platforms, &count);
    for (cl_uint i = 0; i < count && i < 16; i++)
        if (!clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, id, NULL))
            return true;
    return false;
}

static void test_own_context(void)
{
    cl_device_id id;
    if (!CHECK(first_device(&id)))
        return;
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, NULL);
    cl_command_queue queue =
        clCreateCommandQueue(context, id, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    if (!queue) /* the platform has none out of order */
        queue = clCreateCommandQueue(context, id, 0, NULL);
    cl_mem memory =
        clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * sizeof(int), NULL, NULL);
    mmt_device *ours = mmt_opencl_device(context, id, &err);
    if (CHECK(ours)) {
        CHECK(strstr(mmt_device_name(ours), "opencl:"));
        clReleaseContext(context); /* the device keeps its own reference */
        run_chain(ours, queue, memory);
        mmt_device_close(ours);
    }
    clReleaseMemObject(memory);
    clReleaseCommandQueue(queue);
}

/* ---- a part of a device ---------------------------------------------------------- */

/* A part of a device multiplies like the whole, and what is known of the whole is not
 * taken for it. */
static void test_sub_device(mmt_device *device)
{
    const cl_device_partition_property one[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
    char why[512];
    cl_device_id parts[64];
    cl_uint count = 0;
    if (clCreateSubDevices(mmt_opencl_device_id(device), one, 64, parts, &count) ||
        !count)
        return;
    cl_context context = clCreateContext(NULL, 1, parts, NULL, NULL, NULL);
    mmt_device *ours = mmt_opencl_device(context, parts[0], &err);
    if (!CHECK(ours != NULL)) {
        fprintf(stderr, "%s\n", err.text);
    } else {
        struct mmt_profile whole = { .caps = *mmt_device_caps(device) };
        CHECK_EQ_INT(mmt_device_caps(ours)->sms, 1);
        if (whole.caps.sms > 1)
            CHECK(mmt_profile_foreign(&whole, mmt_device_caps(ours), why));
        cl_mem memory =
            clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * sizeof(int), NULL, NULL);
        cl_command_queue queue = clCreateCommandQueue(context, parts[0], 0, NULL);
        run_chain(ours, queue, memory);
        clReleaseCommandQueue(queue);
        clReleaseMemObject(memory);
        mmt_device_close(ours);
    }
    clReleaseContext(context);
    for (cl_uint i = 0; i < count; i++)
        clReleaseDevice(parts[i]);
}

int main(void)
{
    mmt_device *device = open_device("opencl:0");
    test_own_context();
    test_sub_device(device);
    wait_for_threads();
    mmt_device_close(device);
    leave("opencl, context");
}
