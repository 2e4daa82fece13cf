/* Modules that the plans of a device share, on the null device. */
#include "device/device.h"
#include "tests/support/test.h"

static struct mmt_hash key_of(int number)
{
    return mmt_hash_add(mmt_hash_start(), &number, sizeof number);
}

static struct mmt_module *load_shared(mmt_device *device, int number)
{
    struct mmt_module *module = NULL;
    struct mmt_binary binary = { .data = "x", .size = 1 };
    if (CHECK_OK(mmt_module_load(device, &binary, &module, &err), err))
        mmt_module_share(module, key_of(number));
    return module;
}

/* What two use is one, it stays when both have freed it, and goes when many others were
 * used later; what somebody uses never goes. */
static void test_shared_modules(mmt_device *device)
{
    enum { MANY = 1000, USED = MANY, SPARE };
    struct mmt_module *used = load_shared(device, USED);
    struct mmt_module *spare = load_shared(device, SPARE);

    CHECK(used != spare && mmt_module_find(device, key_of(SPARE)) == spare);
    CHECK(!mmt_module_find(device, key_of(0)));
    mmt_module_free(spare);
    mmt_module_free(spare);
    CHECK(mmt_module_find(device, key_of(SPARE)) == spare);
    mmt_module_free(spare);
    for (int i = 0; i < MANY; i++)
        mmt_module_free(load_shared(device, i));
    CHECK(!mmt_module_find(device, key_of(SPARE)) && !mmt_module_find(device, key_of(0)));
    CHECK(mmt_module_find(device, key_of(USED)) == used);
    mmt_module_free(used);
    mmt_module_free(used);
}

int main(void)
{
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    if (CHECK(device != NULL))
        test_shared_modules(device);
    return test_end("modules");
}
