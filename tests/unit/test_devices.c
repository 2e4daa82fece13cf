/* The public list of devices: each opens by its number and by its id, tells what it is,
 * and times a queue. */
#include "tests/support/device.h"
#include "tests/support/test.h"

static void test_facts(const mmt_device *device, const mmt_devices *devices,
                       size_t number)
{
    const mmt_device_facts facts = mmt_device_facts_of(device);
    CHECK_EQ_STR(facts.id, mmt_devices_id(devices, number));
    CHECK_EQ_STR(facts.name, mmt_devices_name(devices, number));
    CHECK(!strncmp(facts.id, facts.api, strlen(facts.api)));
    CHECK(facts.kind == mmt_devices_kind(devices, number));
    CHECK(facts.max_threads > 0 && facts.memory > 0);
    CHECK(mmt_device_peak(device, MMT_F32) >= 0);
}

/* Products take some time by the device's clock. */
static void test_timer(mmt_device *device)
{
    enum { N = 256 };
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, N, N, N);
    SCOPED_PLAN *plan = plan_by(device, problem, "naive");
    mmt_args args = mmt_args_defaults();
    double none = -1, some = -1;

    mmt_timer *timer = mmt_timer_create(device, &err);
    args.a = args.b = buffer_of(device, N * N * sizeof(float));
    args.c = buffer_of(device, N * N * sizeof(float));
    if (CHECK_MADE(timer)) {
        CHECK_OK(mmt_timer_start(timer, &err), err);
        CHECK_OK(mmt_timer_stop(timer, &none, &err), err);
        CHECK_OK(mmt_timer_start(timer, &err), err);
        for (int i = 0; i < 20; i++)
            CHECK_OK(mmt_execute(plan, &args, mmt_timer_queue(timer), &err), err);
        CHECK_OK(mmt_timer_stop(timer, &some, &err), err);
        CHECK(none >= 0 && some > 0);
    }
    mmt_timer_free(timer);
    mmt_buffer_free(device, args.a);
    mmt_buffer_free(device, args.c);
}

static void test_nothing(void)
{
    const mmt_device_facts facts = mmt_device_facts_of(NULL);
    double seconds;
    CHECK(facts.size == sizeof facts && facts.kind == MMT_DEVICE_NONE && !facts.memory);
    CHECK_EQ_STR(facts.id, "");
    CHECK_EQ_STR(facts.name, "");
    CHECK(mmt_device_peak(NULL, MMT_F32) == 0);
    CHECK(!mmt_timer_create(NULL, &err) && err.argument == MMT_ARGUMENT_DEVICE);
    CHECK_FAILS(mmt_timer_start(NULL, &err), err, MMT_ERROR_ARGUMENT, "timer is NULL");
    CHECK_FAILS(mmt_timer_stop(NULL, &seconds, &err), err, MMT_ERROR_ARGUMENT,
                "timer is NULL");
    CHECK(!mmt_timer_queue(NULL));
    mmt_timer_free(NULL);
    CHECK_EQ_STR(mmt_type_name(MMT_BF16), "bf16");
    CHECK_EQ_STR(mmt_type_name((mmt_type) -1), "");
    CHECK(mmt_type_size(MMT_F64) == 8 && mmt_type_size((mmt_type) 99) == 0);
}

static void test_each(const mmt_devices *devices, size_t number)
{
    char digits[24], title[256];
    const mmt_device_kind kind = mmt_devices_kind(devices, number);

    snprintf(digits, sizeof digits, "%zu", number);
    snprintf(title, sizeof title, "%s (%s)", mmt_devices_name(devices, number),
             mmt_devices_id(devices, number));
    CHECK(kind == MMT_DEVICE_GPU || kind == MMT_DEVICE_CPU);
    SCOPED_DEVICE *by_number = mmt_device_open(digits, &err);
    SCOPED_DEVICE *by_id = mmt_device_open(mmt_devices_id(devices, number), &err);
    if (CHECK(by_number && by_id)) {
        CHECK_EQ_STR(mmt_device_name(by_number), title);
        CHECK_EQ_STR(mmt_device_name(by_id), title);
        test_facts(by_id, devices, number);
        test_timer(by_id);
    } else {
        fprintf(stderr, "%s\n", err.text);
    }
}

/* Beyond the end, and of no list. */
static void test_absent(const mmt_devices *devices, size_t number)
{
    CHECK_EQ_STR(mmt_devices_id(devices, number), "");
    CHECK_EQ_STR(mmt_devices_name(devices, number), "");
    CHECK(mmt_devices_kind(devices, number) == MMT_DEVICE_NONE);
}

int main(void)
{
    mmt_devices *devices = mmt_devices_find(&err);
    const size_t count = mmt_devices_count(devices);

    if (CHECK(devices)) {
        for (size_t i = 0; i < count; i++)
            test_each(devices, i);
        printf("%zu devices\n%s", count, mmt_devices_notes(devices));
    }
    test_absent(devices, count);
    test_absent(NULL, 0);
    test_nothing();
    CHECK(mmt_devices_count(NULL) == 0);
    CHECK_EQ_STR(mmt_devices_notes(NULL), "");
    mmt_devices_free(devices);
    mmt_devices_free(NULL);
    return test_end("devices");
}
