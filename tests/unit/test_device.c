/* The module `device`: its wrapper, the null device, and, where there is a GPU, CUDA.
 * OpenCL has a test of its own. */
#include "device/device.h"
#include "device/cubin.h"
#include "tests/support/device.h"

#include <mmtune/cuda.h>
#include <unistd.h>

static const char scale_text[] =
    "extern \"C\" __global__ void __launch_bounds__(128)\n"
    "scale(float *out, const float *in, long long start, int n, float f, double d)\n"
    "{\n"
    "    __shared__ float kept[128];\n"
    "    int i = blockIdx.x * 128 + threadIdx.x;\n"
    "    kept[threadIdx.x] = i < n ? in[start + i] : 0.0f;\n"
    "    __syncthreads();\n"
    "    if (i < n)\n"
    "        out[i] = kept[threadIdx.x ^ 1] * f + (float) d;\n"
    "}\n"
    "extern \"C\" __global__ void large(float *out)\n"
    "{\n"
    "    extern __shared__ float pool[];\n"
    "    pool[threadIdx.x + 20000] = 3.0f;\n"
    "    __syncthreads();\n"
    "    out[threadIdx.x] = pool[(threadIdx.x ^ 1) + 20000];\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(64)\n"
    "spilling(float *out, int n)\n"
    "{\n"
    "    float kept[50];\n"
    "    for (int i = 0; i < 50; i++)\n"
    "        kept[i] = out[i];\n"
    "    for (int i = 0; i < n; i++)\n"
    "        kept[(int) kept[i]] = i;\n"
    "    out[n] = kept[n];\n"
    "}\n";

enum { COUNT = 1000, BLOCK = 128 };

/* ---- names ----------------------------------------------------------------------- */

static void test_names(void)
{
    CHECK_REFUSED(mmt_device_open("", &err), MMT_ERROR_ARGUMENT, "names no device");
    CHECK_REFUSED(mmt_device_open("gpu", &err), MMT_ERROR_ARGUMENT, "\"gpu\"");
    CHECK_REFUSED(mmt_device_open("cud", &err), MMT_ERROR_ARGUMENT, "\"cud\"");
    CHECK_REFUSED(mmt_device_open("-1", &err), MMT_ERROR_ARGUMENT, "\"-1\"");
    CHECK_REFUSED(mmt_device_open("9999", &err), MMT_ERROR_NOT_FOUND, "9999");
    CHECK_REFUSED(mmt_device_open("99999999999999999999", &err), MMT_ERROR_NOT_FOUND,
                  "no device 999");
    CHECK_REFUSED(mmt_device_open("null:sm_x", &err), MMT_ERROR_ARGUMENT, "sm_x");
    CHECK_REFUSED(mmt_device_open("null:sm_90b", &err), MMT_ERROR_ARGUMENT, "sm_90b");
    CHECK_REFUSED(mmt_device_open("null:sm_9", &err), MMT_ERROR_ARGUMENT, "sm_9");
    mmt_device_close(NULL);
}

static void test_list(void)
{
    struct mmt_device_info *list;
    struct mmt_text notes = { 0 };
    size_t count;
    int last = 0;
    if (!CHECK_OK(mmt_device_list(&list, &count, &notes, &err), err))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct mmt_caps *caps = &list[i].caps;
        int rank = !strcmp(caps->backend, "cuda") ? 0 : caps->kind == MMT_GPU ? 1 : 2;
        CHECK_EQ_INT(list[i].number, (int) i);
        CHECK(rank >= last);
        CHECK(caps->name[0] && caps->max_threads > 0);
        printf("device %zu: %s, %s\n", i, list[i].id, caps->name);
        last = rank;
    }
    printf("%s", mmt_text_string(&notes));
    mmt_text_finish(&notes);
    free(list);
}

/* ---- what every backend that takes CUDA C++ does --------------------------------- */

static struct mmt_function *function_of(struct mmt_module *module, const char *name,
                                        unsigned threads, size_t shared)
{
    struct mmt_function *function = NULL;
    const unsigned block[3] = { threads, 1, 1 };
    CHECK_OK(mmt_function_create(module, name, block, shared, &function, &err), err);
    return function;
}

/* What the device is to refuse of it, and with which words. */
static void refuse_function(struct mmt_module *module, const char *name, unsigned x,
                            unsigned y, size_t shared, mmt_status status,
                            const char *words)
{
    struct mmt_function *function;
    const unsigned block[3] = { x, y, 1 };
    CHECK_FAILS(mmt_function_create(module, name, block, shared, &function, &err), err,
                status, words);
}

static struct mmt_usage usage_of(struct mmt_module *module, const char *name,
                                 unsigned threads)
{
    struct mmt_usage usage = { 0 };
    struct mmt_function *function = function_of(module, name, threads, 0);
    if (function)
        CHECK_OK(mmt_function_usage(function, &usage, &err), err);
    mmt_function_free(function);
    return usage;
}

static void test_arguments(mmt_device *device)
{
    mmt_operand buffer;
    struct mmt_binary empty = { 0 };
    struct mmt_module *module;
    char byte = 0;
    CHECK_FAILS(mmt_buffer_create(device, 0, &buffer, &err), err, MMT_ERROR_ARGUMENT,
                "1 byte");
    CHECK_FAILS(mmt_buffer_create(device, 1, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "null");
    CHECK_FAILS(mmt_buffer_create(NULL, 1, &buffer, &err), err, MMT_ERROR_ARGUMENT,
                "device");
    CHECK_FAILS(mmt_buffer_create(device, SIZE_MAX / 4, &buffer, &err), err,
                MMT_ERROR_MEMORY, "bytes");
    CHECK_FAILS(mmt_buffer_write(device, (mmt_operand){ 0, 0 }, &byte, 1, &err), err,
                MMT_ERROR_ARGUMENT, "buffer");
    CHECK_FAILS(mmt_buffer_read(device, NULL, (mmt_operand){ 1, 0 }, 1, &err), err,
                MMT_ERROR_ARGUMENT, "host memory");
    CHECK_FAILS(mmt_module_load(device, &empty, &module, &err), err, MMT_ERROR_ARGUMENT,
                "empty");
    mmt_buffer_free(device, (mmt_operand){ 0, 0 });
    mmt_module_free(NULL);
    mmt_function_free(NULL);
    mmt_mark_free(NULL);
    mmt_queue_free(device, NULL);
}

static void test_buffers(mmt_device *device)
{
    mmt_operand buffer, middle;
    char out[300], in[300];
    memset(in, 'x', sizeof(in));
    if (!CHECK_OK(mmt_buffer_create(device, sizeof(in), &buffer, &err), err))
        return;
    CHECK_EQ_INT(buffer.handle % mmt_device_caps(device)->buffer_align, 0);
    middle = buffer;
    middle.offset = 100;
    CHECK_OK(mmt_buffer_write(device, buffer, in, sizeof(in), &err), err);
    CHECK_OK(mmt_buffer_write(device, middle, "hello", 5, &err), err);
    CHECK_OK(mmt_buffer_read(device, out, buffer, sizeof(out), &err), err);
    memcpy(in + 100, "hello", 5);
    CHECK(!memcmp(in, out, sizeof(in)));
    CHECK_OK(mmt_buffer_read(device, out, middle, 5, &err), err);
    CHECK(!memcmp(out, "hello", 5));
    mmt_buffer_free(device, buffer);
}

static void test_refusals(mmt_device *device, struct mmt_module *module)
{
    refuse_function(module, "scal", 1, 1, 0, MMT_ERROR_NOT_FOUND, "scal");
    refuse_function(module, "scale", 1, 0, 0, MMT_ERROR_UNSUPPORTED, "dimension y");
    refuse_function(module, "scale", 1024, 2, 0, MMT_ERROR_UNSUPPORTED, "2048 threads");
    refuse_function(module, "scale", 128, 1, mmt_device_caps(device)->shared + 1,
                    MMT_ERROR_UNSUPPORTED, "shared memory");
}

/* What the compiler spent: the bound of __launch_bounds__ is one that a launch must keep.
 */
static void test_usage(struct mmt_module *module)
{
    refuse_function(module, "scale", 256, 1, 0, MMT_ERROR_UNSUPPORTED,
                    "at most 128 threads");
    struct mmt_usage usage = usage_of(module, "scale", BLOCK);
    CHECK(usage.registers > 4 && usage.registers < 64);
    CHECK_EQ_INT(usage.spill_bytes, 0);
    CHECK_EQ_INT(usage.shared, 512);
    CHECK_EQ_INT(usage.max_threads, 128);
    usage = usage_of(module, "spilling", 32);
    CHECK_EQ_INT(usage.spill_bytes, 200);
    CHECK_EQ_INT(usage.shared, 0);
}

static void test_compile_error(mmt_device *device)
{
    struct mmt_binary binary;
    CHECK_FAILS(mmt_device_compile(device, "#line 7 \"tiled.cl\"\nint wrong = ;\n",
                                   &binary, &err),
                err, MMT_ERROR_COMPILE, "tiled.cl(7)");
    CHECK(binary.log && strstr(binary.log, "tiled.cl(7)"));
    CHECK(!binary.data);
    mmt_binary_finish(&binary);
}

/* ---- the null device ------------------------------------------------------------- */

static void test_plain_null(void)
{
    struct mmt_binary binary;
    struct mmt_module *module;
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    if (!CHECK(device != NULL))
        return;
    CHECK_EQ_STR(device->id, "null");
    CHECK_EQ_STR(mmt_device_name(device), "Null device (null)");
    test_arguments(device);
    test_buffers(device);
    CHECK_OK(mmt_device_compile(device, scale_text, &binary, &err), err);
    CHECK_EQ_STR((const char *) binary.data, scale_text);
    CHECK_OK(mmt_module_load(device, &binary, &module, &err), err);
    mmt_binary_finish(&binary);
    test_refusals(device, module);
    const struct mmt_usage usage = usage_of(module, "scale", 256);
    CHECK(usage.registers == -1 && usage.shared == -1 && usage.max_threads == -1);
    mmt_module_free(module);
}

static void test_launch_counts(mmt_device *device, struct mmt_function *function)
{
    unsigned long long before = mmt_null_launches(device);
    struct mmt_value values[2] = { { .kind = MMT_VALUE_I32, .i32 = 1 } };
    const unsigned one[3] = { 1, 1, 1 }, none[3] = { 1, 0, 1 }, tall[3] = { 1, 65536, 1 };
    for (int i = 0; i < 5; i++)
        CHECK_OK(mmt_function_launch(function, one, values, 2, MMT_ORDER_AFTER, NULL,
                                     NULL, &err),
                 err);
    CHECK_FAILS(mmt_function_launch(function, none, values, 2, MMT_ORDER_OF_QUEUE, NULL,
                                    NULL, &err),
                err, MMT_ERROR_UNSUPPORTED, "1 x 0 x 1");
    CHECK_FAILS(mmt_function_launch(function, tall, values, 2, MMT_ORDER_OF_QUEUE, NULL,
                                    NULL, &err),
                err, MMT_ERROR_UNSUPPORTED, "65536");
    CHECK_FAILS(mmt_function_launch(function, one, values, 33, MMT_ORDER_OF_QUEUE, NULL,
                                    NULL, &err),
                err, MMT_ERROR_ARGUMENT, "33 values");
    CHECK_EQ_INT((long long) (mmt_null_launches(device) - before), 5);
}

static void test_marks(mmt_device *device, mmt_queue queue)
{
    struct mmt_mark *from, *to;
    double seconds = -1;
    CHECK_OK(mmt_mark_create(device, &from, &err), err);
    CHECK_OK(mmt_mark_create(device, &to, &err), err);
    CHECK_OK(mmt_mark_record(from, queue, &err), err);
    CHECK_OK(mmt_mark_record(to, queue, &err), err);
    CHECK_OK(mmt_mark_seconds(from, to, &seconds, &err), err);
    CHECK(seconds >= 0);

    /* What comes behind a hold waits until it is released, whether or not anything did
     * before; what comes ahead of it does not. */
    for (int round = 0; round < 2; round++) {
        CHECK_OK(mmt_mark_record(from, queue, &err), err);
        if (!mmt_queue_hold(device, queue))
            break;
        CHECK_OK(mmt_mark_record(to, queue, &err), err);
        CHECK_OK(mmt_mark_seconds(from, from, &seconds, &err), err);
        usleep(30000);
        mmt_queue_release(device);
        CHECK_OK(mmt_mark_seconds(from, to, &seconds, &err), err);
        CHECK(seconds > 0.029);
    }
    mmt_mark_free(from);
    mmt_mark_free(to);
}

/* A damaged binary, as a cache might hold, is refused and read past nowhere. */
static void test_damage(const struct mmt_binary *binary)
{
    struct mmt_usage usage;
    unsigned char *copy = malloc(binary->size);
    unsigned random = 12345;
    if (!CHECK(copy && mmt_cubin_usage(binary->data, binary->size, "scale", &usage))) {
        free(copy);
        return;
    }
    for (size_t size = 0; size < binary->size; size += 37)
        mmt_cubin_usage(binary->data, size, "scale", &usage);
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, binary->data, binary->size);
        for (int j = 0; j < 8; j++) {
            random = random * 1664525 + 1013904223;
            copy[(random >> 8) % binary->size] = (unsigned char) (random >> 3);
        }
        mmt_cubin_usage(copy, binary->size, "scale", &usage);
    }
    CHECK(!mmt_cubin_usage(binary->data, 100, "scale", &usage));
    free(copy);
}

static void test_null(const char *name, const char *architecture)
{
    mmt_error err = { 0 };
    struct mmt_binary binary;
    struct mmt_module *module;
    mmt_queue queue;
    SCOPED_DEVICE *device = mmt_device_open(name, &err);
    if (!device) {
        CHECK_EQ_INT(err.status, MMT_ERROR_UNSUPPORTED);
        printf("%s left out: %s\n", name, err.text);
        return;
    }
    CHECK_EQ_STR(mmt_device_caps(device)->architecture, architecture);
    CHECK(!strncmp(mmt_device_caps(device)->compiler, "nvrtc ", 6));
    CHECK(!strncmp(device->id, "null:", 5) && !strcmp(device->id + 5, architecture));
    test_compile_error(device);
    if (!CHECK_OK(mmt_device_compile(device, scale_text, &binary, &err), err))
        return;
    if (atof(mmt_device_caps(device)->compiler + strlen("nvrtc ")) >= 13)
        CHECK(binary.log && strstr(binary.log, "registers"));
    test_damage(&binary);
    CHECK_OK(mmt_module_load(device, &binary, &module, &err), err);
    mmt_binary_finish(&binary);
    test_refusals(device, module);
    test_usage(module);
    CHECK_OK(mmt_queue_create(device, &queue, &err), err);
    test_marks(device, queue);
    mmt_queue_free(device, queue);
    struct mmt_function *function = function_of(module, "scale", BLOCK, 0);
    test_launch_counts(device, function);
    mmt_function_free(function);
    mmt_module_free(module);
}

/* A card that is newer than the compiler gets PTX, which says nothing of registers. */
static void test_newer_card(void)
{
    mmt_error err = { 0 };
    struct mmt_binary binary;
    struct mmt_module *module;
    SCOPED_DEVICE *device = mmt_device_open("null:sm_999", &err);
    if (!device) {
        CHECK_EQ_INT(err.status, MMT_ERROR_UNSUPPORTED);
        return;
    }
    CHECK(!strncmp(mmt_device_caps(device)->architecture, "compute_", 8));
    CHECK_OK(mmt_device_compile(device, scale_text, &binary, &err), err);
    CHECK(binary.data && strstr(binary.data, ".entry scale"));
    CHECK_OK(mmt_module_load(device, &binary, &module, &err), err);
    mmt_binary_finish(&binary);
    test_refusals(device, module);
    CHECK_EQ_INT(usage_of(module, "scale", BLOCK).registers, -1);
    mmt_module_free(module);
}

/* An older card than the compiler serves is refused in one sentence. */
static void test_compiler_choice(void)
{
    mmt_error err = { 0 };
    setenv("MMTUNE_NVRTC", "/dev/null", 1);
    CHECK_REFUSED(mmt_device_open("null:sm_90", &err), MMT_ERROR_UNSUPPORTED,
                  "MMTUNE_NVRTC");
    unsetenv("MMTUNE_NVRTC");

    SCOPED_DEVICE *device = mmt_device_open("null:sm_30", &err);
    if (!device)
        CHECK_EQ_INT(err.status, MMT_ERROR_UNSUPPORTED);
    printf("null:sm_30: %s\n", device ? "served" : err.text);
}

/* ---- CUDA ------------------------------------------------------------------------ */

/* What is captured runs at each launch of the graph, and not before. */
static void test_graph(mmt_device *device, struct mmt_function *function, mmt_queue queue)
{
    float got = 1, number = 1;
    mmt_operand memory = buffer_of(device, sizeof number);
    struct mmt_value values[] = {
        { .kind = MMT_VALUE_BUFFER, .buffer = memory.handle },
        { .kind = MMT_VALUE_BUFFER, .buffer = memory.handle },
        { .kind = MMT_VALUE_I64, .i64 = 0 },
        { .kind = MMT_VALUE_I32, .i32 = 1 },
        { .kind = MMT_VALUE_F32, .f32 = 0 },
        { .kind = MMT_VALUE_F64, .f64 = 0.5 },
    };
    CHECK_OK(mmt_buffer_write(device, memory, &number, sizeof number, &err), err);
    if (!CHECK(mmt_capture_begin(device, queue)))
        return;
    CHECK(mmt_queue_captures(device, queue));
    CHECK_OK(mmt_function_launch(function, (unsigned[]){ 1, 1, 1 }, values, 6,
                                 MMT_ORDER_OF_QUEUE, queue, NULL, &err),
             err);
    struct mmt_graph *graph = mmt_capture_end(device, queue);
    CHECK(!mmt_queue_captures(device, queue));
    CHECK_OK(mmt_finish(device, queue, &err), err);
    CHECK_OK(mmt_buffer_read(device, &got, memory, sizeof got, &err), err);
    CHECK(got == 1);
    for (int i = 0; CHECK(graph) && i < 2; i++) {
        CHECK_OK(mmt_buffer_write(device, memory, &number, sizeof number, &err), err);
        CHECK_OK(mmt_graph_launch(graph, queue, &err), err);
        CHECK_OK(mmt_finish(device, queue, &err), err);
        CHECK_OK(mmt_buffer_read(device, &got, memory, sizeof got, &err), err);
        CHECK(got == 0.5f);
    }
    mmt_graph_free(graph);
    mmt_graph_free(NULL);

    /* Waiting for a queue spoils its capture, and the queue serves again. */
    CHECK(mmt_capture_begin(device, queue));
    CHECK(mmt_finish(device, queue, &err) == MMT_ERROR_DEVICE);
    CHECK(!mmt_capture_end(device, queue));
    CHECK_OK(mmt_finish(device, queue, &err), err);
    mmt_buffer_free(device, memory);
}

static void test_scale(mmt_device *device, struct mmt_module *module, mmt_queue queue)
{
    struct mmt_function *function = function_of(module, "scale", BLOCK, 0);
    static float numbers[COUNT + 7], got[COUNT];
    const unsigned grid[3] = { (COUNT + BLOCK - 1) / BLOCK, 1, 1 };
    for (int i = 0; i < COUNT + 7; i++)
        numbers[i] = (float) i;
    mmt_operand in = buffer_of(device, sizeof(numbers));
    mmt_operand out = buffer_of(device, sizeof(got));
    CHECK_OK(mmt_buffer_write(device, in, numbers, sizeof(numbers), &err), err);
    if (!function)
        return;
    struct mmt_value values[] = {
        { .kind = MMT_VALUE_BUFFER, .buffer = out.handle },
        { .kind = MMT_VALUE_BUFFER, .buffer = in.handle },
        { .kind = MMT_VALUE_I64, .i64 = 7 },
        { .kind = MMT_VALUE_I32, .i32 = COUNT },
        { .kind = MMT_VALUE_F32, .f32 = 2 },
        { .kind = MMT_VALUE_F64, .f64 = 0.5 },
    };
    CHECK_OK(mmt_function_launch(function, grid, values, 6, MMT_ORDER_OF_QUEUE, queue,
                                 NULL, &err),
             err);
    CHECK_OK(mmt_finish(device, queue, &err), err);
    CHECK_OK(mmt_buffer_read(device, got, out, sizeof(got), &err), err);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += got[i] != 2 * (float) ((i ^ 1) + 7) + 0.5f;
    CHECK_EQ_INT(wrong, 0);
    if (queue)
        test_graph(device, function, queue);
    mmt_function_free(function);
    mmt_buffer_free(device, in);
    mmt_buffer_free(device, out);
}

/* More shared memory than a kernel may have without asking. */
static void test_large_shared(mmt_device *device, struct mmt_module *module)
{
    float got[BLOCK] = { 0 };
    size_t shared = (20000 + BLOCK) * sizeof(float);
    if (mmt_device_caps(device)->shared < shared)
        return;
    mmt_operand out = buffer_of(device, sizeof(got));
    struct mmt_function *function = function_of(module, "large", BLOCK, shared);
    if (!function)
        return;
    struct mmt_value value = { .kind = MMT_VALUE_BUFFER, .buffer = out.handle };
    CHECK_OK(mmt_function_launch(function, (unsigned[]){ 1, 1, 1 }, &value, 1,
                                 MMT_ORDER_OF_QUEUE, NULL, NULL, &err),
             err);
    CHECK_OK(mmt_buffer_read(device, got, out, sizeof(got), &err), err);
    CHECK(got[0] == 3 && got[BLOCK - 1] == 3);
    mmt_function_free(function);
    mmt_buffer_free(device, out);
}

/* A null device of the same architecture compiles for a GPU through the cache: what it
 * makes, and the key, must be the same, and it must read the same usage from the file. */
static void test_twin(mmt_device *device, const struct mmt_binary *binary,
                      struct mmt_function *function)
{
    char name[80];
    SCOPED_TEXT key = { 0 }, twin_key = { 0 };
    struct mmt_usage usage, twin_usage = { 0 };
    snprintf(name, sizeof(name), "null:%s", mmt_device_caps(device)->architecture);
    SCOPED_DEVICE *twin = mmt_device_open(name, &err);
    if (!CHECK(twin != NULL))
        return;
    mmt_device_compiler_key(device, &key);
    mmt_device_compiler_key(twin, &twin_key);
    CHECK_EQ_STR(mmt_text_string(&twin_key), mmt_text_string(&key));
    CHECK_EQ_INT(mmt_device_caps(twin)->shared, mmt_device_caps(device)->shared);
    CHECK_OK(mmt_function_usage(function, &usage, &err), err);
    if (mmt_cubin_is(binary->data, binary->size) &&
        CHECK(mmt_cubin_usage(binary->data, binary->size, "spilling", &twin_usage))) {
        CHECK_EQ_INT(twin_usage.registers, usage.registers);
        CHECK_EQ_INT(twin_usage.spill_bytes, usage.spill_bytes);
        CHECK_EQ_INT(twin_usage.shared, usage.shared);
        CHECK_EQ_INT(twin_usage.max_threads, usage.max_threads);
    }
}

static void test_on_gpu(mmt_device *device)
{
    struct mmt_binary binary;
    struct mmt_module *module;
    struct mmt_health health;
    mmt_queue queue;
    test_arguments(device);
    test_buffers(device);
    test_compile_error(device);
    CHECK_OK(mmt_queue_create(device, &queue, &err), err);
    test_marks(device, queue);
    if (!CHECK_OK(mmt_device_compile(device, scale_text, &binary, &err), err))
        return;
    if (!CHECK_OK(mmt_module_load(device, &binary, &module, &err), err))
        return;
    test_refusals(device, module);
    test_usage(module);
    test_scale(device, module, NULL);
    test_scale(device, module, queue);
    test_large_shared(device, module);
    struct mmt_function *function = function_of(module, "spilling", 32, 0);
    test_twin(device, &binary, function);
    mmt_function_free(function);
    if (mmt_device_health(device, &health))
        printf("health: %.0f C, %.0f MHz, %s\n", health.celsius, health.clock_mhz,
               health.throttled ? health.why : "not throttled");
    mmt_module_free(module);
    mmt_binary_finish(&binary);
    mmt_queue_free(device, queue);
}

static void test_cuda(void)
{
    mmt_error err = { 0 };
    SCOPED_DEVICE *device = mmt_device_open("cuda:0", &err);
    CHECK(mmt_cuda_device(-1, NULL, &err) == NULL);
    if (!device) {
        CHECK(err.status == MMT_ERROR_NOT_FOUND || err.status == MMT_ERROR_UNSUPPORTED ||
              err.status == MMT_ERROR_DEVICE);
        printf("CUDA left out: %s\n", err.text);
        return;
    }
    printf("%s: %s, %s, driver %s\n", mmt_device_name(device),
           mmt_device_caps(device)->architecture, mmt_device_caps(device)->compiler,
           mmt_device_caps(device)->driver);
    test_on_gpu(device);
}

/* Words of NVIDIA's compilers, and of nobody. */
static void test_warnings(void)
{
    char why[256] = "";
    CHECK(!mmt_log_warns(NULL, why));
    CHECK(!mmt_log_warns("", why));
    CHECK(!mmt_log_warns("ptxas info    : Function properties for mmt_gemm\n"
                         "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill "
                         "loads\nptxas info    : Used 168 registers, used 16 barriers\n",
                         why));
    CHECK(mmt_log_warns("ptxas info    : 0 bytes gmem\n"
                        "    2232 bytes stack frame, 3772 bytes spill stores, 4076 bytes "
                        "spill loads\n",
                        why));
    CHECK(strstr(why, "3772 bytes"));
    CHECK(mmt_log_warns(
        "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async "
        "instructions are serialized\nptxas info    : 0 bytes gmem\n",
        why));
    CHECK(strstr(why, "(C7511)") && !strchr(why, '\n'));
}

/* A null device has tensor maps of nothing; OpenCL has none. */
static void test_tensor_map(void)
{
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    struct mmt_tensor tensor = { .type = MMT_BF16, .address = 1 };
    struct mmt_tensor_map map;
    if (!CHECK(device))
        return;
    CHECK_OK(mmt_tensor_map_encode(device, &tensor, &map, &err), err);
}

int main(void)
{
    test_names();
    test_warnings();
    test_tensor_map();
    test_list();
    test_plain_null();
    test_null("null:sm_75", "sm_75");
    test_null("null:sm_90", "sm_90a");
    test_null("null:sm_90a", "sm_90a");
    test_null("null:sm_120", "sm_120a");
    test_newer_card();
    test_compiler_choice();
    test_cuda();
    return test_end("device");
}
