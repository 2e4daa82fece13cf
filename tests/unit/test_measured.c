/* Plans that measure: test_measured DEVICE, an id or "opencl" for the first of these. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/device.h"
#include "runtime/runtime.h"
#include "tests/support/device.h"
#include "tests/support/folder.h"
#include "tests/support/made.h"
#include "tests/support/test.h"

static mmt_device *device;

/* ---- small words ---------------------------------------------------------------------
 */

static mmt_plan_options measuring(void)
{
    mmt_plan_options options = mmt_plan_defaults();
    options.effort = MMT_EFFORT_MEASURE;
    options.aligned_only = 1;
    options.measure_seconds = 86400; /* as many samples as are taken at most */
    return options;
}

static mmt_plan *plan_with(const mmt_profile *profile, const mmt_problem *problem,
                           const mmt_plan_options *options)
{
    mmt_plan *plan = mmt_plan_create(device, profile, problem, options, &err);
    CHECK_MADE(plan);
    return plan;
}

/* Whether the plan says so of itself; frees it. */
static bool plan_says(mmt_plan *plan, const char *words)
{
    char text[2048] = "";
    mmt_plan_describe(plan, text, sizeof text);
    const bool found = strstr(text, words) != NULL;
    if (!found)
        fprintf(stderr, "%s\n", text);
    mmt_plan_free(plan);
    return found;
}

static struct mmt_profile *empty_profile(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    if (!profile)
        exit(1);
    profile->caps = *mmt_device_caps(device);
    return profile;
}

/* ---- what is measured
 * ------------------------------------------------------------------ */

static void check_answer(const mmt_plan *plan)
{
    float a[16], b[16], c[16];
    mmt_args args = args_of(device, sizeof a);
    for (int i = 0; i < 16; i++)
        a[i] = (float) i, b[i] = i % 5 ? 0 : 2; /* b is twice the identity */
    CHECK_OK(mmt_buffer_write(device, args.a, a, sizeof a, &err), err);
    CHECK_OK(mmt_buffer_write(device, args.b, b, sizeof b, &err), err);
    if (mmt_plan_workspace(plan))
        args.workspace = buffer_of(device, mmt_plan_workspace(plan));
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK_OK(mmt_buffer_read(device, c, args.c, sizeof c, &err), err);
    for (int i = 0; i < 16; i++)
        CHECK(c[i] == 2 * a[i]);
    free_args(device, &args);
}

static void test_without_profile(void)
{
    const mmt_problem problem = product(4, 4, 4);
    mmt_plan_options options = measuring();
    mmt_plan *plan = plan_with(NULL, &problem, &options);
    check_answer(plan);
    CHECK(plan_says(plan, "measured at planning"));
    options.effort = MMT_EFFORT_ESTIMATE;
    CHECK(plan_says(plan_with(NULL, &problem, &options), "would tune it"));
}

/* The time that the first plan measured is what the second one says, whatever its effort.
 */
static void test_profile_remembers(void)
{
    const mmt_problem problem = product(24, 32, 16), other = product(32, 24, 16);
    const mmt_plan_options measure = measuring(), estimate = mmt_plan_defaults();
    SCOPED_PROFILE *profile = empty_profile();
    struct mmt_entry entry = { 0 };

    CHECK(plan_says(plan_with(profile, &problem, &estimate), "would tune it"));
    CHECK(!mmt_profile_learned(profile, &problem, &entry));
    CHECK(plan_says(plan_with(profile, &problem, &measure), "the fastest of"));
    CHECK(mmt_profile_learned(profile, &problem, &entry) && entry.time.median > 0);
    CHECK(entry.time.samples >= 1 && entry.gflops > 0 && entry.template_hash[0]);
    char time[64];
    snprintf(time, sizeof time, "measured at planning, %.1f us", entry.time.median * 1e6);
    CHECK(plan_says(plan_with(profile, &problem, &estimate), time));
    CHECK(plan_says(plan_with(profile, &problem, &measure), time));
    CHECK(!mmt_profile_learned(profile, &other, &entry));
    CHECK(profile->num_entries == 0);
}

/* What holds under narrower terms is no answer for others. */
static void test_terms(void)
{
    const mmt_problem problem = product(40, 40, 40);
    mmt_plan_options options = measuring();
    SCOPED_PROFILE *profile = empty_profile();
    struct mmt_entry entry;

    options.max_workspace = 0;
    CHECK(plan_says(plan_with(profile, &problem, &options), "measured at planning"));
    CHECK(!mmt_profile_learned(profile, &problem, &entry));
}

/* ---- what is not
 * ----------------------------------------------------------------------- */

static void test_bounds(void)
{
    const mmt_problem problem = product(64, 64, 64);
    mmt_plan_options options = measuring();

    options.measure_bytes = 4096;
    CHECK(plan_says(plan_with(NULL, &problem, &options), "measuring may take 4096"));
    if (mmt_device_caps(device)->kind == MMT_CPU) {
        const mmt_problem large = product(8192, 8192, 8192);
        options.measure_bytes = 0;
        options.measure_seconds = 0; /* the usual */
        CHECK(plan_says(plan_with(NULL, &large, &options),
                        "nothing was measured: an exec"));
    }
    options.effort = (mmt_effort) 2;
    CHECK_REFUSED(mmt_plan_create(device, NULL, &problem, &options, &err),
                  MMT_ERROR_ARGUMENT, "effort is 2");
}

/* A program that was built before there was an effort. */
static void test_older_options(void)
{
    const mmt_problem problem = product(64, 64, 64);
    mmt_plan_options options = measuring();
    options.size = offsetof(mmt_plan_options, effort);
    CHECK(plan_says(plan_with(NULL, &problem, &options), "would tune it"));
}

static void test_null_device(void)
{
    mmt_device *null = mmt_device_open("null:sm_80", &err), *usual = device;
    const mmt_problem problem = product(64, 64, 64);
    const mmt_plan_options options = measuring();
    if (!CHECK(null != NULL))
        return;
    device = null;
    CHECK(plan_says(plan_with(NULL, &problem, &options), "the device executes nothing"));
    device = usual;
    mmt_device_close(null);
}

/* On the card that is not there a test says what is being captured. */
static void test_capture(void)
{
    int *capture = dlsym(RTLD_DEFAULT, "fake_capture");
    const int *relaxed = dlsym(RTLD_DEFAULT, "fake_relaxed");
    const mmt_problem problem = product(16, 16, 8);
    const mmt_plan_options options = measuring();
    if (!capture || !relaxed)
        return;
    *capture = 1;
    CHECK(plan_says(plan_with(NULL, &problem, &options), "a stream is being captured"));
    *capture = 0;
    CHECK(plan_says(plan_with(NULL, &problem, &options), "measured at planning"));
    CHECK_EQ_INT(*relaxed, 0);
}

/* ---- threads, and files
 * ------------------------------------------------------------------ */

enum { THREADS = 8 };

struct task {
    pthread_t thread;
    const struct mmt_profile *profile;
    mmt_problem problem;
    struct mmt_config config;
};

static void *plan_in_thread(void *self)
{
    struct task *task = self;
    const mmt_plan_options options = measuring();
    mmt_error own;
    SCOPED_PLAN *plan =
        mmt_plan_create(device, task->profile, &task->problem, &options, &own);
    if (CHECK(plan != NULL))
        task->config = *mmt_plan_config(plan);
    return NULL;
}

/* Two problems, each from four threads: each is measured once. */
static void test_threads(void)
{
    SCOPED_PROFILE *profile = empty_profile();
    struct task tasks[THREADS];

    for (int i = 0; i < THREADS; i++) {
        tasks[i] = (struct task){ .profile = profile,
                                  .problem = product(24 + 8 * (i % 2), 16, 16) };
        if (pthread_create(&tasks[i].thread, NULL, plan_in_thread, &tasks[i]))
            exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(tasks[i].thread, NULL);
    for (int i = 2; i < THREADS; i++)
        CHECK(mmt_config_equal(&tasks[i].config, &tasks[i - 2].config));
    CHECK(mmt_profile_count_learned(profile) == 2);
}

static int count_json(const char *path)
{
    DIR *open = opendir(path);
    int count = 0;
    for (const struct dirent *entry; open && (entry = readdir(open));)
        count += strstr(entry->d_name, ".json") && !strstr(entry->d_name, ".lock");
    if (open)
        closedir(open);
    return count;
}

static const char *planned_at(const mmt_problem *problem, char text[2048])
{
    const mmt_plan_options options = mmt_plan_defaults();
    SCOPED_PROFILE *found = mmt_profile_find(device, &err);
    if (!CHECK(found != NULL))
        return strcpy(text, err.text);
    SCOPED_PLAN *plan = plan_with(found, problem, &options);
    mmt_plan_describe(plan, text, 2048);
    return text;
}

/* Seconds that no kernel keeps to leave the estimate as it is. */
static void test_no_time(void)
{
    const mmt_problem problem = product(48, 48, 48);
    mmt_plan_options options = measuring();
    options.measure_seconds = 1e-9;
    options.effort = MMT_EFFORT_MEASURE;
    CHECK(plan_says(plan_with(NULL, &problem, &options), "nothing was measured: "));
}

/* What one program stored another one finds; what is tuned by name counts more. */
static void test_store(void)
{
    const mmt_problem one = product(24, 16, 16), two = product(24, 16, 32);
    const mmt_plan_options options = measuring();
    SCOPED_PROFILE *profile = empty_profile(), *tuned = empty_profile();
    SCOPED_TEXT usual = { 0 };
    struct mmt_entry entry = { 0 };
    const char *data = in_folder("mmtune");
    char text[2048];

    CHECK_OK(mmt_profile_store(profile, device, &err), err);
    CHECK_EQ_INT(count_json(data), 0); /* nothing was learned */
    mmt_plan_free(plan_with(profile, &one, &options));
    CHECK_OK(mmt_profile_store(profile, device, &err), err);
    CHECK_EQ_INT(count_json(data), 1);
    CHECK(strstr(planned_at(&one, text), "tuned for this very problem"));
    CHECK(strstr(text, "planned.json") || strstr(text, " us"));

    mmt_plan_free(plan_with(profile, &two, &options));
    CHECK_OK(mmt_profile_store(profile, device, &err), err);
    CHECK(strstr(planned_at(&one, text), "tuned for this very problem"));
    CHECK(strstr(planned_at(&two, text), "tuned for this very problem"));

    CHECK(mmt_profile_learned(profile, &two, &entry));
    entry.time.median = 123.4e-6;
    mmt_profile_path(mmt_device_caps(device), &usual);
    strcpy(tuned->made.date, "2026-01-01T00:00:00Z");
    CHECK_OK(mmt_profile_add_entry(tuned, &entry, &err), err);
    CHECK_OK(mmt_profile_save(tuned, mmt_text_string(&usual), &err), err);
    CHECK_OK(mmt_profile_store(profile, device, &err), err);
    CHECK(strstr(planned_at(&two, text), "123.4 us"));
}

/* A card that is not there is one where the file of cards says so. */
static void make_card(void)
{
    const char *path = in_folder("cards");
    FILE *file = fopen(path, "w");
    if (!file || fputs("0000:65:00.0 50 2000 0\n", file) < 0 || fclose(file))
        exit(1);
    setenv("MMT_FAKE_CARDS", path, 1);
}

/* ---- the whole
 * --------------------------------------------------------------------------- */

static mmt_device *open_first(const char *what)
{
    struct mmt_device_info *list = NULL;
    size_t count = 0;
    mmt_device *opened = NULL;

    if (mmt_device_list(&list, &count, NULL, &err))
        return NULL;
    for (size_t i = 0; i < count && !opened; i++)
        if (!strncmp(list[i].id, what, strlen(what)))
            opened = mmt_device_open(list[i].id, &err);
    free(list);
    return opened;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 1;
    make_folder();
    setenv("XDG_DATA_HOME", folder, 1);
    setenv("XDG_DATA_DIRS", folder, 1);
    make_card();
    device = open_first(argv[1]);
    if (!device)
        SKIP("there is no device %s", argv[1]);
    test_without_profile();
    test_profile_remembers();
    test_terms();
    test_bounds();
    test_no_time();
    test_older_options();
    test_null_device();
    test_capture();
    test_threads();
    test_store();
    mmt_device_close(device);
    const int code = test_end("plans that measure");
    fflush(NULL);
    _exit(code); /* PoCL's threads may outlive its memory */
}
