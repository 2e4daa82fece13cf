/* The OpenCL backend on the first OpenCL device: source in, right answers out. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <pthread.h>
#include <time.h>

#include <mmtune/opencl.h>

#include "tests/support/device.h"
#include "tests/support/opencl_launch.h"

static mmt_device *device;
static struct mmt_module *module;

/* ---- devices --------------------------------------------------------------------- */

/* Whether the layer of tests/emulation/fake/odd.c makes the platform so. */
static bool is_odd(const char *way)
{
    const char *odd = getenv("MMT_ODD");
    return odd && !strcmp(odd, way);
}

static void test_list(void)
{
    struct mmt_device_info *list;
    size_t count;
    bool some = false, twin = false;
    CHECK_OK(mmt_device_list(&list, &count, NULL, &err), err);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].caps.backend, "opencl"))
            continue;
        some = true;
        mmt_device *opened = mmt_device_open(list[i].id, &err);
        if (CHECK(opened))
            CHECK_EQ_STR(opened->id, list[i].id);
        mmt_device_close(opened);
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(list[i].id, list[j].id) != 0);
        twin = twin || !strcmp(list[i].id + strlen(list[i].id) - 2, "-2");
        CHECK(list[i].caps.name[0] && list[i].caps.driver[0] && list[i].caps.compiler[0]);
        CHECK(list[i].caps.architecture[0] && list[i].caps.vendor[0]);
        CHECK(list[i].caps.dialect == MMT_OPENCL_C);
        CHECK(list[i].caps.max_threads && list[i].caps.max_block[0] &&
              list[i].caps.shared);
        CHECK(list[i].caps.kind != MMT_CPU || list[i].caps.warp == 1);
        CHECK(list[i].caps.kind != MMT_CPU || list[i].caps.vector_bytes >= 4);
        CHECK(!is_odd("grouped") || list[i].caps.subgroups == (8 | 32));
    }
    CHECK(some && twin == is_odd("twins"));
    free(list);
}

static void test_open_errors(void)
{
    CHECK_REFUSED(mmt_device_open("opencl:99", &err), MMT_ERROR_NOT_FOUND, "opencl:99");
    CHECK_REFUSED(mmt_device_open("opencl:x", &err), MMT_ERROR_NOT_FOUND, device->id);
    CHECK_REFUSED(mmt_device_open("opencl:", &err), MMT_ERROR_ARGUMENT, "opencl:0");
    CHECK_REFUSED(mmt_opencl_device(NULL, NULL, &err), MMT_ERROR_ARGUMENT, "context");
}

static void test_compiler_key(void)
{
    SCOPED_TEXT key = { 0 };
    mmt_device_compiler_key(device, &key);
    CHECK(strstr(mmt_text_string(&key), mmt_device_caps(device)->driver));
    CHECK(strstr(mmt_text_string(&key), "-cl-std="));
}

/* A simulator's option that a shell gives is in every binary that it makes. */
static void test_options_of_environment(void)
{
    SCOPED_TEXT before = { 0 }, after = { 0 };
    mmt_device_compiler_key(device, &before);
    setenv("OCLGRIND_BUILD_OPTIONS", "-cl-opt-disable", 1);
    SCOPED_DEVICE *other = mmt_device_open(device->id, &err);
    unsetenv("OCLGRIND_BUILD_OPTIONS");
    if (!CHECK(other))
        return;
    mmt_device_compiler_key(other, &after);
    CHECK(strcmp(mmt_text_string(&before), mmt_text_string(&after)) != 0);
}

/* ---- building -------------------------------------------------------------------- */

static void test_wrong_source(void)
{
    struct mmt_binary binary = { 0 };
    const char *wrong = "#line 41 \"wrong.cl\"\n"
                        "__kernel void f(__global int *to)\n"
                        "{ to[0] = nowhere; }\n";
    /* NVIDIA's compiler counts the lines of the whole text, whatever #line says. */
    CHECK_FAILS(mmt_device_compile(device, wrong, &binary, &err), err, MMT_ERROR_COMPILE,
                "nowhere");
    CHECK((strstr(err.text, "wrong.cl") && strstr(err.text, "42")) ||
          strstr(err.text, "<kernel>:3:"));
    if (CHECK(binary.log))
        CHECK(strstr(binary.log, "nowhere"));
    CHECK(!binary.data);
    mmt_binary_finish(&binary);
}

/* Where a launch would end the process. */
static void test_without_linker(void)
{
    struct mmt_binary binary = { 0 };
    char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
    if (!strncmp(mmt_device_caps(device)->compiler, "PoCL ", 5)) {
        setenv("PATH", "/nowhere:/proc/self/fd", 1);
        CHECK_FAILS(mmt_device_compile(device, source, &binary, &err), err,
                    MMT_ERROR_COMPILE, "binutils");
        setenv("PATH", path, 1);
    }
    CHECK_OK(mmt_device_compile(device, source, &binary, &err), err);
    mmt_binary_finish(&binary);
    free(path);
}

/* The cache hands out whole binaries alone; what another program made is refused. */
static void test_bad_binary(void)
{
    struct mmt_binary binary = { .data = (void *) "neither text nor binary", .size = 23 };
    struct mmt_module *made;
    for (size_t size = 1; size <= 23; size += 22) {
        binary.size = size;
        CHECK_FAILS(mmt_module_load(device, &binary, &made, &err), err, MMT_ERROR_FORMAT,
                    "binary");
    }
}

/* What a platform without binaries would be handed back. */
static void test_source_as_binary(void)
{
    SCOPED_TEXT text = { 0 };
    mmt_text_addf(&text, "mmtune: OpenCL source\n%s", source);
    struct mmt_binary binary = { .data = text.data, .size = text.length };
    struct mmt_module *made = NULL;
    if (CHECK_OK(mmt_module_load(device, &binary, &made, &err), err))
        mmt_function_free(function_of(made, "add", BLOCK, 1));
    mmt_module_free(made);
}

static void test_function_errors(void)
{
    struct mmt_function *function;
    const unsigned one[3] = { 1, 1, 1 }, huge[3] = { 1u << 30, 1, 1 };
    CHECK_FAILS(mmt_function_create(module, "nothing", one, 0, &function, &err), err,
                MMT_ERROR_NOT_FOUND, "nothing");
    CHECK_FAILS(mmt_function_create(module, "add", huge, 0, &function, &err), err,
                MMT_ERROR_UNSUPPORTED, "1073741824");
    CHECK_FAILS(mmt_function_create(module, "shaped", one, 0, &function, &err), err,
                MMT_ERROR_ARGUMENT, "8 x 4 x 1");
}

static void test_usage(void)
{
    struct mmt_usage usage;
    struct mmt_function *function = function_of(module, "shaped", 8, 4);
    CHECK_OK(mmt_function_usage(function, &usage, &err), err);
    CHECK(usage.max_threads >= 32);
    CHECK(usage.shared >= 0 && usage.registers == -1);
    mmt_function_free(function);
}

/* ---- launching ------------------------------------------------------------------- */

static void test_launch(void)
{
    struct mmt_function *function = function_of(module, "add", BLOCK, 1);
    mmt_operand from = buffer_of(device, COUNT * sizeof(int));
    mmt_operand to = buffer_of(device, 2 * COUNT * sizeof(int));
    fill(device, from, 5, 3);
    CHECK_OK(add(function, to, 0, from, 7, false, NULL, &err), err);
    CHECK_OK(add(function, to, COUNT, from, 9, true, NULL, &err), err);
    CHECK(count_wrong(device, to, 0, 12, 3) == 0);
    CHECK(count_wrong(device, to, COUNT, 14, 3) == 0);
    CHECK(count_wrong(device, to, COUNT, 13, 3) == COUNT);

    CHECK_OK(add(function, to, 0, (mmt_operand){ 0, 0 }, 4, false, NULL, &err), err);
    CHECK_OK(add(function, to, COUNT, (mmt_operand){ 0, 0 }, 4, false, NULL, &err), err);
    CHECK(count_wrong(device, to, 0, 4, 0) == 0);
    CHECK(count_wrong(device, to, COUNT, 4, 0) == 0);
    CHECK_OK(add(function, to, 0, from, 4, false, NULL, &err), err);
    CHECK(count_wrong(device, to, 0, 9, 3) == 0);

    mmt_buffer_free(device, from);
    mmt_buffer_free(device, to);
    mmt_function_free(function);
}

/* A driver may hand out a released buffer's handle again. */
static void test_new_buffers(void)
{
    struct mmt_function *function = function_of(module, "add", BLOCK, 1);
    for (int i = 0; i < 50; i++) {
        mmt_operand to = buffer_of(device, (size_t) (COUNT + i) * sizeof(int));
        CHECK_OK(add(function, to, i, (mmt_operand){ 0, 0 }, i, false, NULL, &err), err);
        CHECK(count_wrong(device, to, i, i, 0) == 0);
        mmt_buffer_free(device, to);
    }
    mmt_function_free(function);
}

static void test_grid(void)
{
    enum { BLOCKS = 3 * 2 * 2 };
    struct mmt_function *function = function_of(module, "shaped", 8, 4);
    mmt_operand to = buffer_of(device, 32 * BLOCKS * sizeof(int));
    const struct mmt_value value = buffer_value(to);
    int data[32 * BLOCKS], wrong = 0;
    CHECK_OK(mmt_function_launch(function, (unsigned[]){ 3, 2, 2 }, &value, 1,
                                 MMT_ORDER_OF_QUEUE, NULL, NULL, &err),
             err);
    CHECK_OK(mmt_buffer_read(device, data, to, sizeof(data), &err), err);
    for (int i = 0; i < 32 * BLOCKS; i++)
        wrong += data[i] != 100 * (i / 32) + i % 32;
    CHECK(wrong == 0);
    mmt_buffer_free(device, to);
    mmt_function_free(function);
}

/* Two queues, each with its own chain of dependent launches. */
static void test_two_queues(void)
{
    enum { STEPS = 40 };
    struct mmt_function *function = function_of(module, "add", BLOCK, 1);
    mmt_queue queues[2];
    mmt_operand buffers[2];
    for (int q = 0; q < 2; q++) {
        CHECK_OK(mmt_queue_create(device, &queues[q], &err), err);
        buffers[q] = buffer_of(device, COUNT * sizeof(int));
        fill(device, buffers[q], 0, 1);
    }
    for (int i = 0; i < STEPS; i++)
        for (int q = 0; q < 2; q++)
            CHECK_OK(
                add(function, buffers[q], 0, buffers[q], q + 1, true, queues[q], &err),
                err);
    for (int q = 0; q < 2; q++) {
        CHECK_OK(mmt_finish(device, queues[q], &err), err);
        CHECK(count_wrong(device, buffers[q], 0, STEPS * (q + 1), 1) == 0);
        mmt_queue_free(device, queues[q]);
        mmt_buffer_free(device, buffers[q]);
    }
    mmt_function_free(function);
}

/* One thread: its own buffer and numbers, the function and the queue shared. */
struct hammer {
    pthread_t thread;
    struct mmt_function *function;
    int number, failed;
    mmt_operand buffer;
};

static void *hammer(void *of)
{
    struct hammer *mine = of;
    mmt_error error;
    for (int i = 0; i < 200; i++)
        mine->failed += add(mine->function, mine->buffer, 0, mine->buffer, mine->number,
                            true, NULL, &error) != MMT_OK;
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 8 };
    struct hammer hammers[THREADS];
    struct mmt_function *function = function_of(module, "add", BLOCK, 1);
    for (int i = 0; i < THREADS; i++) {
        hammers[i] = (struct hammer){ .function = function, .number = i + 1 };
        hammers[i].buffer = buffer_of(device, COUNT * sizeof(int));
        fill(device, hammers[i].buffer, 0, 1);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&hammers[i].thread, NULL, hammer, &hammers[i]));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(hammers[i].thread, NULL);
        CHECK(hammers[i].failed == 0);
    }
    CHECK_OK(mmt_finish(device, NULL, &err), err);
    for (int i = 0; i < THREADS; i++) {
        CHECK(count_wrong(device, hammers[i].buffer, 0, 200 * (i + 1), 1) == 0);
        mmt_buffer_free(device, hammers[i].buffer);
    }
    mmt_function_free(function);
}

/* ---- timing ---------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

/* Device seconds of some launches; *wall is the host's view of the same. */
static double time_spin(struct mmt_function *spin, mmt_operand data, int rounds,
                        mmt_queue queue, struct mmt_mark *const marks[2], double *wall)
{
    const struct mmt_value values[] = { buffer_value(data), int_value(rounds) };
    double begin = now(), seconds = -1;
    CHECK_OK(mmt_mark_record(marks[0], queue, &err), err);
    for (int i = 0; i < 4; i++)
        CHECK_OK(mmt_function_launch(spin, (unsigned[]){ 256, 1, 1 }, values, 2,
                                     MMT_ORDER_OF_QUEUE, queue, NULL, &err),
                 err);
    CHECK_OK(mmt_mark_record(marks[1], queue, &err), err);
    CHECK_OK(mmt_mark_seconds(marks[0], marks[1], &seconds, &err), err);
    *wall = now() - begin;
    return seconds;
}

/* What lies between two marks takes no longer than the host saw it take; by a clock that
 * is looked at, the same, and longer where there is more work. */
static void test_marks(bool clock)
{
    struct mmt_function *spin = function_of(module, "spin", BLOCK, 1);
    mmt_operand data = buffer_of(device, 256 * BLOCK * sizeof(float));
    struct mmt_mark *marks[2] = { NULL, NULL };
    mmt_queue queue;
    double seconds = 0, wall = 0;
    CHECK_OK(mmt_queue_create(device, &queue, &err), err);
    for (int i = 0; i < 2; i++)
        CHECK_OK(mmt_mark_create(device, &marks[i], &err), err);

    time_spin(spin, data, 100, queue, marks, &wall);
    double less = time_spin(spin, data, 100, queue, marks, &wall);
    CHECK(less > 0 && less <= wall);
    for (int rounds = 2000; clock && wall < 0.05 && rounds < 1 << 28; rounds *= 2)
        seconds = time_spin(spin, data, rounds, queue, marks, &wall);
    if (clock) {
        printf("%.2f ms between the marks, %.2f ms by the host's clock\n", 1e3 * seconds,
               1e3 * wall);
        CHECK(seconds > less && seconds <= wall && seconds > 0.7 * wall);
    }

    for (int i = 0; i < 2; i++)
        mmt_mark_free(marks[i]);
    mmt_queue_free(device, queue);
    mmt_buffer_free(device, data);
    mmt_function_free(spin);
}

/* Of what the module has. */
static void test_module(void)
{
    test_function_errors();
    test_usage();
    test_launch();
    test_new_buffers();
    test_grid();
    test_two_queues();
    test_threads();
    test_marks(false);
}

/* test_opencl [--clock]: with --clock the clocks are compared, which is a benchmark, as
 * what else the machine does counts. */
int main(int argc, char **argv)
{
    const bool clock = argc > 1 && !strcmp(argv[1], "--clock");

    device = open_device("opencl:0");
    printf("%s\n", mmt_device_name(device));
    test_list();
    test_open_errors();
    test_compiler_key();
    test_options_of_environment();
    test_wrong_source();
    test_without_linker();
    test_bad_binary();
    test_source_as_binary();
    module = module_on(device, source);
    if (module && clock)
        test_marks(true);
    else if (module)
        test_module();
    mmt_module_free(module);
    wait_for_threads();
    mmt_device_close(device);
    leave("opencl");
}
