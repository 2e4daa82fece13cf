/* What is kept for a device: one for each context and device, workspaces that no two
 * queues use at once, also where calls get them, and clearing while calls are on their
 * way. */
#define MMT_OPENCL_API_BARE /* the test calls OpenCL by itself */
#include "device/opencl_api.h"
#include "dropin/clblast/call.h"
#include "tests/support/test.h"

static cl_context context;
static cl_device_id id;

enum { KIB = 1024 };

static struct mmt_clblast_workspace *borrow(struct mmt_clblast_device *device,
                                            cl_command_queue queue, size_t bytes)
{
    struct mmt_clblast_workspace *got = mmt_clblast_borrow(device, queue, bytes, &err);
    CHECK(got && got->bytes >= bytes && got->memory.handle);
    return got;
}

/* An event that is done when the test says so. */
static cl_event make_gate(void)
{
    cl_int code;
    cl_event gate = clCreateUserEvent(context, &code);
    CHECK(!code);
    clRetainEvent(gate); /* one reference is given away */
    return gate;
}

/* Whose it was before the last one has no claim to it. */
static void test_last_queue(struct mmt_clblast_device *device, cl_command_queue one,
                            cl_command_queue two)
{
    cl_event gate = make_gate();
    struct mmt_clblast_workspace *free_one = borrow(device, one, 16 * KIB); /* new */
    mmt_clblast_give_back(device, free_one, NULL);
    struct mmt_clblast_workspace *taken = borrow(device, two, 16 * KIB);
    CHECK(taken == free_one);
    mmt_clblast_give_back(device, taken, gate);
    struct mmt_clblast_workspace *other = borrow(device, one, KIB);
    CHECK(other != taken);
    mmt_clblast_give_back(device, other, NULL);
    CHECK(!clSetUserEventStatus(gate, CL_COMPLETE));
    clReleaseEvent(gate);
}

static void test_workspaces(struct mmt_clblast_device *device)
{
    const cl_command_queue one = (cl_command_queue) &context;
    const cl_command_queue two = (cl_command_queue) &id;
    struct mmt_clblast_workspace *first = borrow(device, one, KIB);
    struct mmt_clblast_workspace *second = borrow(device, two, KIB);
    cl_event gate = make_gate();

    CHECK(first != second && first->memory.handle != second->memory.handle);
    CHECK(!first->after);
    mmt_clblast_give_back(device, first, gate);

    struct mmt_clblast_workspace *third = borrow(device, two, KIB);
    CHECK(third != first); /* which queue one still uses */
    mmt_clblast_give_back(device, third, NULL);
    struct mmt_clblast_workspace *again = borrow(device, one, KIB);
    CHECK(again == third || (again == first && again->after == gate));
    mmt_clblast_give_back(device, again, NULL);

    CHECK(!clSetUserEventStatus(gate, CL_COMPLETE));
    clReleaseEvent(gate);
    test_last_queue(device, one, two);
    struct mmt_clblast_workspace *larger = borrow(device, two, 64 * KIB);
    mmt_clblast_give_back(device, larger, NULL);
    mmt_clblast_give_back(device, second, NULL);
}

static cl_uint count_references(cl_event event)
{
    cl_uint count = 0;
    CHECK(!clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count;
}

/* The one that a queue used last is lent to it again, with what it has to wait for: the
 * last event alone is kept, and with the device the workspace goes. */
static void test_same_queue(struct mmt_clblast_device *device)
{
    const cl_command_queue one = (cl_command_queue) &context;
    struct mmt_clblast_workspace *first = borrow(device, one, KIB);
    cl_event gates[2] = { make_gate(), make_gate() };

    for (int i = 0; i < 2; i++) {
        mmt_clblast_give_back(device, first, gates[i]);
        CHECK_EQ_INT(count_references(gates[0]), i ? 1 : 2);
        struct mmt_clblast_workspace *again = borrow(device, one, KIB);
        CHECK(again == first && again->after == gates[i]);
    }
    mmt_clblast_give_back(device, first, NULL);
    mmt_clblast_clear();
    mmt_clblast_let_go(device);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT(count_references(gates[i]), 1);
        CHECK(!clSetUserEventStatus(gates[i], CL_COMPLETE));
        clReleaseEvent(gates[i]);
    }
}

/* ---- calls with a workspace ---------------------------------------------------------
 */

static struct mmt_opencl_api real;
static cl_command_queue noted;
static cl_event first; /* that the first command on that queue waits for */
static int commands;

static void note(cl_command_queue queue, cl_uint count, const cl_event *events)
{
    if (queue == noted && !commands++)
        first = count ? events[0] : NULL;
}

static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel,
                                         cl_uint dimensions, const size_t *offset,
                                         const size_t *global, const size_t *local,
                                         cl_uint count, const cl_event *events,
                                         cl_event *event)
{
    note(queue, count, events);
    return real.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                       count, events, event);
}

static cl_int CL_API_CALL enqueue_barrier(cl_command_queue queue, cl_uint count,
                                          const cl_event *events, cl_event *event)
{
    note(queue, count, events);
    return real.clEnqueueBarrierWithWaitList(queue, count, events, event);
}

/* What it gets a workspace for waits for what used that last. */
static void try_call(struct mmt_clblast_device *device, cl_command_queue *queue,
                     cl_mem buffer, enum mmt_clblast_routine routine)
{
    enum { SIZE = 32, ROOM = 1 << 20 };
    static const size_t offsets[] = { 0, SIZE * SIZE, 3 * SIZE * SIZE };
    static const float ones[] = { 1, 1, 1 };
    const struct mmt_clblast_matrix matrix = { buffer, offsets, SIZE, 0 };
    cl_event gate = make_gate(), done = NULL;
    const struct mmt_clblast_call call = {
        .routine = routine,
        .type = MMT_F32,
        .layout = CLBLAST_ROW_MAJOR,
        .trans_a = CLBLAST_YES,
        .trans_b = CLBLAST_YES, /* so that it is packed */
        .triangle = CLBLAST_LOWER,
        .m = SIZE,
        .n = SIZE,
        .k = SIZE,
        .batch = routine == MMT_CLBLAST_BATCHED ? 3 : 1,
        .alphas = ones,
        .betas = ones,
        .a = matrix,
        .b = matrix,
        .c = matrix,
        .queue = queue,
        .event = &done,
    };
    int code;

    mmt_clblast_give_back(device, borrow(device, *queue, ROOM), gate);
    commands = 0;
    noted = *queue;
    CHECK(mmt_clblast_serve(&call, &code) && !code);
    CHECK(commands && first == gate);
    struct mmt_clblast_workspace *used = borrow(device, *queue, ROOM);
    CHECK(used->after == done);
    mmt_clblast_give_back(device, used, NULL);
    CHECK(!clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(!clWaitForEvents(1, &done));
    clReleaseEvent(done);
    clReleaseEvent(gate);
}

static void test_calls(struct mmt_clblast_device *device)
{
    cl_int code;
    cl_command_queue queue =
        clCreateCommandQueue(context, id, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 1 << 16, NULL, &code);

    real = mmt_opencl_api;
    mmt_opencl_api.clEnqueueNDRangeKernel = enqueue_kernel;
    mmt_opencl_api.clEnqueueBarrierWithWaitList = enqueue_barrier;
    if (CHECK(queue && buffer)) {
        try_call(device, &queue, buffer, MMT_CLBLAST_GEMM);
        try_call(device, &queue, buffer, MMT_CLBLAST_BATCHED);
    }
    mmt_opencl_api = real;
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
}

static void test_devices(void)
{
    struct mmt_clblast_device *first = mmt_clblast_hold(context, id, &err);
    struct mmt_clblast_device *second = mmt_clblast_hold(context, id, &err);

    CHECK(first && first == second);
    mmt_clblast_clear();
    struct mmt_clblast_device *third = mmt_clblast_hold(context, id, &err);
    CHECK(third && third != first && mmt_clblast_blas(first));
    mmt_clblast_let_go(first);
    mmt_clblast_let_go(second);
    mmt_clblast_let_go(third);

    cl_context elsewhere = clCreateContext(NULL, 1, &id, NULL, NULL, NULL);
    first = mmt_clblast_hold(context, id, &err);
    second = mmt_clblast_hold(elsewhere, id, &err);
    CHECK(first && second && first != second);
    mmt_clblast_let_go(first);
    mmt_clblast_let_go(second);
    mmt_clblast_clear();
    CHECK(!clReleaseContext(elsewhere));
    mmt_clblast_clear();
}

int main(void)
{
    cl_platform_id platforms[8];
    cl_uint count = 0;
    cl_int code;

    clGetPlatformIDs(8, platforms, &count);
    for (cl_uint i = 0; i < count && i < 8 && !id; i++)
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &id, NULL);
    if (!id)
        SKIP("there is no OpenCL device");
    context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    test_devices();
    struct mmt_clblast_device *device = mmt_clblast_hold(context, id, &err);
    if (CHECK(device)) {
        test_workspaces(device);
        test_calls(device);
    }
    mmt_clblast_clear();
    mmt_clblast_let_go(device);
    device = mmt_clblast_hold(context, id, &err);
    if (CHECK(device))
        test_same_queue(device);
    CHECK(!clReleaseContext(context));
    return test_end("devices of CLBlast's calls");
}
