/* What is kept for a device: one for each context and device, workspaces that no two
 * queues use at once, and clearing while calls are on their way. */
#include "dropin/clblast/call.h"
#include "tests/support/test.h"

static mmt_error err;
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
    mmt_clblast_clear();
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
    if (CHECK(device))
        test_workspaces(device);
    mmt_clblast_clear();
    mmt_clblast_let_go(device);
    device = mmt_clblast_hold(context, id, &err);
    if (CHECK(device))
        test_same_queue(device);
    CHECK(!clReleaseContext(context));
    return test_end("devices of CLBlast's calls");
}
