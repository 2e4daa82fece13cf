/* Plans that no entry serves are written down where MMTUNE_RECORD asks for it: once a
 * process, and by nobody else. On the first OpenCL device where there is one. */
#include <unistd.h>

#include "device/device.h"
#include "recording/recording.h"
#include "runtime/runtime.h"
#include "tests/support/test.h"

static char folder[] = "/tmp/mmtune-unserved-XXXXXX";

static mmt_problem problem_of(int64_t m)
{
    mmt_problem asked = mmt_gemm_problem(MMT_F32, m, 24, 40), problem;
    mmt_error err = { 0 };
    asked.trans_b = MMT_T;
    asked.ldb = 48;
    CHECK_OK(mmt_problem_normalise(&asked, &problem, &err), err);
    return problem;
}

/* How many lines the recording of such a device has; the file goes. *first is one. */
static size_t take_lines(const struct mmt_caps *caps, struct mmt_recorded *first)
{
    struct mmt_text stem = { 0 }, path = { 0 };
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
    mmt_text_finish(&stem);
    mmt_text_finish(&path);
    return count;
}

static void test_once(void)
{
    const struct mmt_caps caps = { .backend = "cuda", .name = "A card" },
                          other = { .backend = "cuda", .name = "Another" },
                          null = { .backend = "null", .name = "None" };
    const mmt_problem one = problem_of(8), two = problem_of(9);
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
    mmt_error err = { 0 };
    options.configuration = configuration;
    options.aligned_only = 1;
    mmt_plan *made = mmt_plan_create(device, profile, problem, &options, &err);
    if (!CHECK(made != NULL))
        fprintf(stderr, "    %s\n", err.text);
    mmt_plan_free(made);
}

/* Neither what an entry serves is written down, nor what the caller named. */
static void test_plans(mmt_device *device)
{
    const mmt_problem tuned = problem_of(16), other = problem_of(17);
    struct mmt_entry entry = { .problem = tuned, .time = { 1e-3, 1e-5, 5 }, .gflops = 1 };
    struct mmt_profile *profile = mmt_profile_create();
    struct mmt_recorded it;
    mmt_error err = { 0 };
    profile->caps = device->caps;
    CHECK_OK(mmt_config_parse("naive", &entry.config, &err), err);
    CHECK_OK(mmt_profile_add_entry(profile, &entry, &err), err);
    plan(device, profile, &tuned, NULL);
    plan(device, NULL, &other, "naive");
    CHECK_EQ_INT(take_lines(&device->caps, &it), 0);
    plan(device, profile, &other, NULL);
    if (CHECK_EQ_INT(take_lines(&device->caps, &it), 1))
        CHECK(mmt_problem_equal(&it.call.problem, &other) && it.call.workspace == 0);
    mmt_profile_free(profile);
}

int main(void)
{
    char command[64];
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_STATE_HOME", folder, 1);
    test_once();
    mmt_device *device = mmt_device_open("opencl:0", NULL);
    if (device)
        test_plans(device);
    mmt_device_close(device);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(!system(command));
    return test_end("unserved plans");
}
