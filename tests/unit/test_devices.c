/* The public list of devices: each opens by its number and by its id. */
#include "tests/support/test.h"

static void test_each(const mmt_devices *devices, size_t number)
{
    mmt_error err = { 0 };
    char digits[24], title[256];
    const mmt_device_kind kind = mmt_devices_kind(devices, number);

    snprintf(digits, sizeof digits, "%zu", number);
    snprintf(title, sizeof title, "%s (%s)", mmt_devices_name(devices, number),
             mmt_devices_id(devices, number));
    CHECK(kind == MMT_DEVICE_GPU || kind == MMT_DEVICE_CPU);
    mmt_device *by_number = mmt_device_open(digits, &err);
    mmt_device *by_id = mmt_device_open(mmt_devices_id(devices, number), &err);
    if (CHECK(by_number && by_id)) {
        CHECK_EQ_STR(mmt_device_name(by_number), title);
        CHECK_EQ_STR(mmt_device_name(by_id), title);
    } else {
        fprintf(stderr, "%s\n", err.text);
    }
    mmt_device_close(by_number);
    mmt_device_close(by_id);
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
    mmt_error err = { 0 };
    mmt_devices *devices = mmt_devices_find(&err);
    const size_t count = mmt_devices_count(devices);

    if (CHECK(devices)) {
        for (size_t i = 0; i < count; i++)
            test_each(devices, i);
        printf("%zu devices\n%s", count, mmt_devices_notes(devices));
    }
    test_absent(devices, count);
    test_absent(NULL, 0);
    CHECK(mmt_devices_count(NULL) == 0);
    CHECK_EQ_STR(mmt_devices_notes(NULL), "");
    mmt_devices_free(devices);
    mmt_devices_free(NULL);
    return test_end("devices");
}
