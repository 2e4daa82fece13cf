/* How a multiprocessor's memory is divided between shared memory and first-level cache,
 * on a card that is not there (tests/emulation/fake/card): 64 KiB, 16 blocks and 1024
 * threads. */
#include <dlfcn.h>
#include <unistd.h>

#include "device/device.h"
#include "tests/support/test.h"

static const char text[] = "extern \"C\" __global__ void one(float *out)\n"
                           "{\n"
                           "    out[0] = 1.0f;\n"
                           "}\n"
                           "extern \"C\" __global__ void two(float *out)\n"
                           "{\n"
                           "    out[0] = 2.0f;\n"
                           "}\n";

static mmt_device *device;
static struct mmt_module *module;
static mmt_operand memory;

static struct mmt_function *create(const char *entry, unsigned threads, size_t shared)
{
    struct mmt_function *function = NULL;
    CHECK_OK(mmt_function_create(module, entry, (unsigned[]){ threads, 1, 1 }, shared,
                                 &function, &err),
             err);
    return function;
}

/* What the kernel had when it was launched: percent, or -1 for the driver's choice. */
static int launch(struct mmt_function *function)
{
    const struct mmt_value value = { .kind = MMT_VALUE_BUFFER, .buffer = memory.handle };
    const int *carveout = dlsym(RTLD_DEFAULT, "fake_carveout");
    CHECK_OK(mmt_function_launch(function, (unsigned[]){ 1, 1, 1 }, &value, 1,
                                 MMT_ORDER_OF_QUEUE, NULL, NULL, &err),
             err);
    return carveout ? *carveout : -2;
}

/* 16 blocks of 2 KiB use half, one of 16 KiB a quarter; what has none is left alone. */
static void test_alone(void)
{
    struct mmt_function *half = create("one", 64, 2048), *none = create("two", 64, 0);
    CHECK_EQ_INT(launch(half), -1);
    mmt_functions_set_carveout(&half, 1);
    mmt_functions_set_carveout(&none, 1);
    CHECK_EQ_INT(launch(half), 50);
    CHECK_EQ_INT(launch(none), -1);
    mmt_function_free(half);
    mmt_function_free(none);
}

/* Launched one after the other, all have what the greediest needs. */
static void test_together(void)
{
    struct mmt_function *all[] = { create("one", 1024, 16384), create("two", 64, 0) };
    mmt_functions_set_carveout(all, 2);
    CHECK_EQ_INT(launch(all[0]), 25);
    CHECK_EQ_INT(launch(all[1]), 25);
    mmt_function_free(all[0]);
    mmt_function_free(all[1]);
}

/* Two functions of one kernel have each their own, in any order, and neither bounds what
 * is said of the other. */
static void test_same_kernel(void)
{
    struct mmt_function *quarter = create("one", 1024, 16384);
    mmt_functions_set_carveout(&quarter, 1);
    CHECK_EQ_INT(launch(quarter), 25);
    struct mmt_function *whole = create("one", 64, 4096);
    CHECK_EQ_INT(mmt_function_resident(whole), 2 * 16);
    mmt_functions_set_carveout(&whole, 1);
    CHECK_EQ_INT(launch(whole), 100);
    CHECK_EQ_INT(launch(quarter), 25);
    CHECK_EQ_INT(launch(whole), 100);
    mmt_function_free(quarter);
    mmt_function_free(whole);
}

static bool open_all(void)
{
    struct mmt_binary binary = { 0 };
    device = mmt_device_open("cuda:0", &err);
    if (!CHECK(device != NULL) ||
        !CHECK_OK(mmt_device_compile(device, text, &binary, &err), err) ||
        !CHECK_OK(mmt_module_load(device, &binary, &module, &err), err))
        return false;
    mmt_binary_finish(&binary);
    return CHECK_OK(mmt_buffer_create(device, 256, &memory, &err), err);
}

int main(void)
{
    char cards[] = "/tmp/mmtune-cards-XXXXXX";
    int file = mkstemp(cards);
    CHECK(file >= 0 && write(file, "0000:65:00.0 50 2000 0\n", 23) == 23);
    close(file);
    setenv("MMT_FAKE_CARDS", cards, 1);
    if (open_all()) {
        test_alone();
        test_together();
        test_same_kernel();
        mmt_buffer_free(device, memory);
    }
    mmt_module_free(module);
    mmt_device_close(device);
    unlink(cards);
    return test_end("carveout");
}
