/* Executions that wait for events and give one, on queues in order and out of order. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <mmtune/opencl.h>

#include "tests/support/device.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

static mmt_device *device;
static cl_context context;

enum { SIZE = 48, COUNT = SIZE * SIZE, BYTES = COUNT * (int) sizeof(float) };

static bool is_held_once(cl_event event)
{
    cl_uint count = 0;
    wait_for_threads();
    CHECK(!clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count == 1;
}

static cl_int state(cl_event event)
{
    cl_int status = CL_QUEUED;
    CHECK(!clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                          &status, NULL));
    return status;
}

static mmt_operand matrix_of(float value)
{
    static float data[COUNT];
    const mmt_operand made = buffer_of(device, BYTES);
    for (int i = 0; i < COUNT; i++)
        data[i] = value;
    CHECK_OK(mmt_buffer_write(device, made, data, BYTES, &err), err);
    return made;
}

static int count_wrong(mmt_operand matrix, float right)
{
    static float data[COUNT];
    int wrong = 0;
    CHECK_OK(mmt_buffer_read(device, data, matrix, BYTES, &err), err);
    for (int i = 0; i < COUNT; i++)
        wrong += data[i] != right;
    return wrong;
}

/* C = A B and D = C B: the second waits for the first by its event alone, and the first
 * for an event of the caller. */
static void test_chain(const mmt_plan *plan, cl_command_queue_properties properties)
{
    cl_int code;
    cl_command_queue queue =
        clCreateCommandQueue(context, mmt_opencl_device_id(device), properties, &code);
    cl_event gate = clCreateUserEvent(context, &code), first = NULL, second = NULL;
    const size_t room = mmt_plan_workspace(plan);
    mmt_operand modules[2] = { { 0, 0 }, { 0, 0 } };
    mmt_operand a = matrix_of(1), b = matrix_of(2), c = matrix_of(-1), d = matrix_of(-1);
    mmt_args args = mmt_args_defaults();

    for (int i = 0; i < 2 && room; i++)
        modules[i] = buffer_of(device, room);
    args.a = a, args.b = b, args.c = c, args.workspace = modules[0];
    CHECK_OK(mmt_opencl_execute(plan, &args, queue, 1, &gate, &first, &err), err);
    args.a = c, args.c = d, args.workspace = modules[1];
    CHECK_OK(mmt_opencl_execute(plan, &args, queue, 1, &first, &second, &err), err);
    CHECK(first && second && first != second);
    CHECK(state(first) != CL_COMPLETE && state(second) != CL_COMPLETE);
    CHECK(!clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(!clWaitForEvents(1, &second));
    CHECK(state(first) == CL_COMPLETE);
    CHECK(!clFinish(queue));
    CHECK(count_wrong(c, 2 * SIZE) == 0 && count_wrong(d, 4.0f * SIZE * SIZE) == 0);

    const mmt_operand all[] = { a, b, c, d, modules[0], modules[1] };
    for (int i = 0; i < 6; i++)
        mmt_buffer_free(device, all[i]);
    clReleaseCommandQueue(queue);
    CHECK(is_held_once(gate) && is_held_once(first) && is_held_once(second));
    clReleaseEvent(gate);
    clReleaseEvent(first);
    clReleaseEvent(second);
}

static bool is_held_by_us(cl_command_queue queue)
{
    cl_uint count = 0;
    CHECK(!clFinish(queue));
    wait_for_threads();
    CHECK(!clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count,
                                 NULL));
    return count == 1;
}

/* An event holds its queue: one that leaked would show there. So does a buffer with PoCL,
 * through the event of what used it last. */
static void test_nothing_leaks(const mmt_plan *plan)
{
    cl_int code;
    cl_command_queue queue =
        clCreateCommandQueue(context, mmt_opencl_device_id(device),
                             CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    mmt_args args = mmt_args_defaults();
    cl_event event, done = clCreateUserEvent(context, &code);

    CHECK(!clSetUserEventStatus(done, CL_COMPLETE));
    args.a = matrix_of(1), args.b = matrix_of(1), args.c = matrix_of(0);
    args.workspace = buffer_of(device, mmt_plan_workspace(plan));
    for (int i = 0; i < 20; i++) {
        CHECK_OK(mmt_opencl_execute(plan, &args, queue, i % 2, &done, NULL, &err), err);
        CHECK_OK(mmt_opencl_execute(plan, &args, queue, 0, NULL, &event, &err), err);
        CHECK(!clWaitForEvents(1, &event));
        clReleaseEvent(event);
    }
    free_args(device, &args);
    CHECK(is_held_by_us(queue));
    CHECK(is_held_once(done));
    clReleaseEvent(done);
    clReleaseCommandQueue(queue);
}

/* A product without elements gives an event that waits all the same. */
static void test_empty(void)
{
    cl_int code;
    SCOPED_PLAN *plan = plan_by(device, mmt_gemm_problem(MMT_F32, 0, 4, 4), NULL);
    mmt_args args = mmt_args_defaults();
    cl_event gate = clCreateUserEvent(context, &code), event = NULL;

    CHECK_OK(mmt_opencl_execute(plan, &args, NULL, 1, &gate, &event, &err), err);
    if (CHECK(event)) {
        CHECK(state(event) != CL_COMPLETE);
        CHECK(!clSetUserEventStatus(gate, CL_COMPLETE));
        CHECK(!clWaitForEvents(1, &event));
        clReleaseEvent(event);
    }
    clReleaseEvent(gate);
}

static void refuse(const mmt_plan *plan, const mmt_args *args, unsigned count,
                   const cl_event *wait, mmt_argument which, const char *words)
{
    const cl_event untouched = (cl_event) (uintptr_t) 1;
    cl_event event = untouched;
    CHECK_FAILS(mmt_opencl_execute(plan, args, NULL, count, wait, &event, &err), err,
                MMT_ERROR_ARGUMENT, words);
    CHECK_EQ_STR(mmt_argument_name(err.argument), mmt_argument_name(which));
    CHECK(event == untouched);
}

static void test_refused(const mmt_plan *plan)
{
    mmt_args args = mmt_args_defaults();
    const cl_event none = NULL;
    SCOPED_DEVICE *other = open_device("null");
    SCOPED_PLAN *elsewhere = plan_by(other, mmt_gemm_problem(MMT_F32, 4, 4, 4), NULL);

    refuse(plan, &args, 2, NULL, MMT_ARGUMENT_EVENTS, "the list of events is null");
    refuse(plan, &args, 1, &none, MMT_ARGUMENT_EVENTS, "event 0 of 1 is null");
    refuse(plan, &args, 0, NULL, MMT_ARGUMENT_A, "A is null");
    refuse(NULL, &args, 0, NULL, MMT_ARGUMENT_PLAN, "needs a plan");
    refuse(elsewhere, &args, 0, NULL, MMT_ARGUMENT_PLAN, "for a device of OpenCL");
}

static void test_all(void)
{
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, SIZE, SIZE, SIZE);
    SCOPED_PLAN *one = plan_by(device, problem, "naive"),
                *several = plan_by(device, problem, "split_naive");
    for (int i = 0; i < 2; i++) {
        const cl_command_queue_properties properties =
            i ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
        test_chain(one, properties);
        test_chain(several, properties);
    }
    test_nothing_leaks(several);
    test_empty();
    test_refused(one);
}

int main(void)
{
    cl_int code = CL_DEVICE_NOT_FOUND;
    device = open_device("opencl:0");
    cl_device_id id = mmt_opencl_device_id(device);
    mmt_device_close(device);
    context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    device = context ? mmt_opencl_device(context, id, &err) : NULL;
    if (CHECK(device))
        test_all();
    mmt_device_close(device);
    if (context)
        clReleaseContext(context);
    return test_end("opencl events");
}
