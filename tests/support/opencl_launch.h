/* What tests of the OpenCL backend share: kernels, and how they are launched and read. */
#ifndef MMT_TESTS_OPENCL_LAUNCH_H
#define MMT_TESTS_OPENCL_LAUNCH_H

#include <unistd.h>

#include "device/device.h"
#include "tests/support/device.h"
#include "tests/support/threads.h"

enum { BLOCK = 64, COUNT = 1000 };

static const char source[] =
    "__kernel void add(__global int *to, long start, __global const int *from, int n,\n"
    "                  int more)\n"
    "{\n"
    "    int i = (int) get_global_id(0);\n"
    "    if (i < n)\n"
    "        to[start + i] = (from ? from[i] : 0) + more;\n"
    "}\n"
    "__kernel __attribute__((reqd_work_group_size(8, 4, 1)))\n"
    "void shaped(__global int *to)\n"
    "{\n"
    "    int block = (int) (get_group_id(0) + 3 * (get_group_id(1) + 2 * "
    "get_group_id(2)));\n"
    "    int thread = (int) (get_local_id(0) + 8 * get_local_id(1));\n"
    "    to[32 * block + thread] = 100 * block + thread;\n"
    "}\n"
    "__kernel void spin(__global float *to, int rounds)\n"
    "{\n"
    "    float x = to[get_global_id(0)];\n"
    "    for (int i = 0; i < rounds; i++)\n"
    "        x = x * 0.999f + 0.25f;\n"
    "    to[get_global_id(0)] = x;\n"
    "}\n";

static struct mmt_value buffer_value(mmt_operand operand)
{
    return (struct mmt_value){ MMT_VALUE_BUFFER, { .buffer = operand.handle } };
}

static struct mmt_value int_value(int value)
{
    return (struct mmt_value){ MMT_VALUE_I32, { .i32 = value } };
}

static struct mmt_value long_value(long long value)
{
    return (struct mmt_value){ MMT_VALUE_I64, { .i64 = value } };
}

static struct mmt_function *function_of(struct mmt_module *of, const char *entry,
                                        unsigned x, unsigned y)
{
    struct mmt_function *function = NULL;
    CHECK_OK(mmt_function_create(of, entry, (unsigned[]){ x, y, 1 }, 0, &function, &err),
             err);
    return function;
}

static struct mmt_module *module_on(mmt_device *on, const char *text)
{
    struct mmt_binary binary = { 0 };
    struct mmt_module *made = NULL;
    if (CHECK_OK(mmt_device_compile(on, text, &binary, &err), err))
        CHECK_OK(mmt_module_load(on, &binary, &made, &err), err);
    mmt_binary_finish(&binary);
    return made;
}

/* to[start + i] = from[i] + more, for i < COUNT. */
static mmt_status add(struct mmt_function *function, mmt_operand to, int start,
                      mmt_operand from, int more, bool after, mmt_queue queue,
                      mmt_error *error)
{
    const struct mmt_value values[] = { buffer_value(to), long_value(start),
                                        buffer_value(from), int_value(COUNT),
                                        int_value(more) };
    const unsigned grid[3] = { (COUNT + BLOCK - 1) / BLOCK, 1, 1 };
    return mmt_function_launch(function, grid, values, 5,
                               after ? MMT_ORDER_AFTER : MMT_ORDER_OF_QUEUE, queue, NULL,
                               error);
}

/* Elements of buf[start … start + COUNT) that are not first + i * step. */
static int count_wrong(mmt_device *on, mmt_operand buffer, int start, int first, int step)
{
    int data[COUNT], wrong = 0;
    buffer.offset = (size_t) start * sizeof(int);
    CHECK_OK(mmt_buffer_read(on, data, buffer, sizeof(data), &err), err);
    for (int i = 0; i < COUNT; i++)
        wrong += data[i] != first + i * step;
    return wrong;
}

static void fill(mmt_device *on, mmt_operand buffer, int first, int step)
{
    int data[COUNT];
    for (int i = 0; i < COUNT; i++)
        data[i] = first + i * step;
    CHECK_OK(mmt_buffer_write(on, buffer, data, sizeof(data), &err), err);
}

/* PoCL's threads may still let go of events while its exit handlers run: it is left
 * without them. */
static void leave(const char *what)
{
    const int code = test_end(what);
    fflush(NULL);
    _exit(code);
}

#endif
