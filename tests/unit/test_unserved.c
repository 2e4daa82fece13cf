/* Plans that no entry serves are written down where MMTUNE_RECORD asks for it: once a
 * process, and by nobody else. On the first OpenCL device where there is one. */
#include <unistd.h>

#include "device/device.h"
#include "recording/recording.h"
#include "runtime/runtime.h"
#include "tests/support/entries.h"
#include "tests/support/folder.h"

static mmt_problem wide_product(int64_t m)
{
    mmt_problem asked = mmt_gemm_problem(MMT_F32, m, 24, 40);
    asked.trans_b = MMT_T;
    asked.ldb = 48;
    return normal_of(asked);
}

/* How many lines the recording of such a device has; the file goes. *first is one. */
static size_t take_lines(const struct mmt_caps *caps, struct mmt_recorded *first)
{
    SCOPED_TEXT stem = { 0 }, path = { 0 };
    struct mmt_recording recording;
    size_t count = 0;
    mmt_profile_stem(caps, &stem);
    mmt_recording_path(mmt_text_string(&stem), &path);
    if (!mmt_recording_read(mmt_text_string(&path), true, &recording, NULL)) {
        count = recording.count;
        if (count)
            *first = recording.list[0];
        mmt_recording_free(&recording);
    }
    unlink(mmt_text_string(&path));
    return count;
}

static void test_once(void)
{
    const struct mmt_caps caps = { .backend = "cuda", .name = "A card" },
                          other = { .backend = "cuda", .name = "Another" },
                          null = { .backend = "null", .name = "None" };
    const mmt_problem one = wide_product(8), two = wide_product(9);
    struct mmt_recorded it;
    unsetenv("MMTUNE_RECORD");
    mmt_record_unserved(&caps, &one, SIZE_MAX);
    setenv("MMTUNE_RECORD", "0", 1);
    mmt_record_unserved(&caps, &one, SIZE_MAX);
    CHECK_EQ_INT(take_lines(&caps, &it), 0);

    setenv("MMTUNE_RECORD", "1", 1);
    setenv("MMTUNE_RUN_ID", "a run", 1);
    for (int i = 0; i < 3; i++) {
        mmt_record_unserved(&caps, &one, 4096);
        mmt_record_unserved(&null, &one, 4096);
    }
    if (CHECK_EQ_INT(take_lines(&caps, &it), 1)) {
        CHECK(mmt_problem_equal(&it.call.problem, &one));
        CHECK(it.call.client == MMT_CLIENT_MMTUNE && it.call.workspace == 4096);
        CHECK(it.fates[MMT_FATE_UNKNOWN] == 1 && mmt_recorded_calls(&it) == 1);
        CHECK_EQ_STR(it.run, "a run");
    }
    CHECK_EQ_INT(take_lines(&null, &it), 0);
    mmt_record_unserved(&other, &one, SIZE_MAX);
    mmt_record_unserved(&other, &two, SIZE_MAX);
    CHECK_EQ_INT(take_lines(&other, &it), 2);
    CHECK(it.call.workspace == 0);
}

static void plan(mmt_device *device, const struct mmt_profile *profile,
                 const mmt_problem *problem, const char *configuration)
{
    mmt_plan_options options = mmt_plan_defaults();
    options.configuration = configuration;
    options.aligned_only = 1;
    SCOPED_PLAN *made = mmt_plan_create(device, profile, problem, &options, &err);
    CHECK_MADE(made);
}

/* Neither what an entry serves is written down, nor what the caller named. */
static void test_plans(mmt_device *device)
{
    const mmt_problem tuned = wide_product(16), other = wide_product(17);
    SCOPED_PROFILE *profile = mmt_profile_create();
    struct mmt_recorded it;
    profile->caps = device->caps;
    add_entry(profile, tuned, "naive", 1e-3);
    plan(device, profile, &tuned, NULL);
    plan(device, NULL, &other, "naive");
    CHECK_EQ_INT(take_lines(&device->caps, &it), 0);
    plan(device, profile, &other, NULL);
    if (CHECK_EQ_INT(take_lines(&device->caps, &it), 1))
        CHECK(mmt_problem_equal(&it.call.problem, &other) && it.call.workspace == 0);
}

int main(void)
{
    make_folder();
    setenv("XDG_STATE_HOME", folder, 1);
    test_once();
    SCOPED_DEVICE *device = mmt_device_open("opencl:0", NULL);
    if (device)
        test_plans(device);
    return test_end("unserved plans");
}
