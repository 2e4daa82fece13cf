/* Kernels that are wrong in one way each, to show that oclgrind would have spoken. */
#ifndef MMT_TESTS_OCLGRIND_FAULTS_H
#define MMT_TESTS_OCLGRIND_FAULTS_H

#include <string.h>

#include "device/device.h"

struct fault {
    const char *name, *words; /* what oclgrind says of it */
    const char *source;
};

/* Each is launched as one block of 16 threads, to[] having 16 elements. */
static const struct fault faults[] = {
    { "past-the-end", "Invalid write",
      "__kernel void fault(__global int *to)\n"
      "{\n"
      "    to[get_local_id(0) + 1] = 1;\n"
      "}\n" },
    { "no-barrier", "data race",
      "__kernel void fault(__global int *to)\n"
      "{\n"
      "    __local int shared[16];\n"
      "    int i = (int) get_local_id(0);\n"
      "    shared[i] = i;\n"
      "    barrier(CLK_LOCAL_MEM_FENCE);\n"
      "    to[i] = shared[15 - i];\n"
      "    shared[i] = -i;\n"
      "}\n" },
    { "never-written", "Uninitialized value",
      "__kernel void fault(__global int *to)\n"
      "{\n"
      "    __local int shared[17];\n"
      "    int i = (int) get_local_id(0);\n"
      "    shared[i] = i;\n"
      "    barrier(CLK_LOCAL_MEM_FENCE);\n"
      "    to[i] = shared[i + 1] > 3 ? 1 : 2;\n"
      "}\n" },
};
enum { NUM_FAULTS = sizeof(faults) / sizeof(faults[0]), FAULT_THREADS = 16 };

static mmt_status launch_fault(mmt_device *device, struct mmt_function *function,
                               mmt_error *err)
{
    mmt_operand to;
    mmt_status status = mmt_buffer_create(device, FAULT_THREADS * sizeof(int), &to, err);
    if (status)
        return status;
    const struct mmt_value value = { MMT_VALUE_BUFFER, { .buffer = to.handle } };
    status = mmt_function_launch(function, (unsigned[]){ 1, 1, 1 }, &value, 1, false,
                                 NULL, NULL, err);
    if (!status)
        status = mmt_finish(device, NULL, err);
    mmt_buffer_free(device, to);
    return status;
}

/* Builds and launches one. */
static mmt_status run_fault(mmt_device *device, const char *source, mmt_error *err)
{
    const unsigned block[3] = { FAULT_THREADS, 1, 1 };
    struct mmt_binary binary = { 0 };
    struct mmt_module *module = NULL;
    struct mmt_function *function = NULL;
    mmt_status status = mmt_device_compile(device, source, &binary, err);
    if (!status)
        status = mmt_module_load(device, &binary, &module, err);
    if (!status)
        status = mmt_function_create(module, "fault", block, 0, &function, err);
    if (!status)
        status = launch_fault(device, function, err);
    mmt_function_free(function);
    mmt_module_free(module);
    mmt_binary_finish(&binary);
    return status;
}

static const struct fault *fault_of(const char *name)
{
    for (int i = 0; i < NUM_FAULTS; i++)
        if (!strcmp(faults[i].name, name))
            return &faults[i];
    return NULL;
}

#endif
