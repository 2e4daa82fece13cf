/* Kernels that a driver refuses: plans take the next best, say so, and at last name what
 * was refused. The null device, told which sources to refuse. */
#include <unistd.h>

#include "runtime/runtime.h"
#include "tests/support/device.h"
#include "tests/support/entries.h"
#include "tests/support/folder.h"

/* ---- a driver that refuses ------------------------------------------------------- */

static struct {
    const char *unless,
        *with; /* words of a source: it is taken, it is refused; or NULL */
    int most;  /* so many are refused */
    mmt_status status;
    int asked; /* sources that it was handed */
} driver;

static struct mmt_backend refusing;

static bool is_refused(const char *text)
{
    if (driver.unless && strstr(text, driver.unless))
        return false;
    return (!driver.with || strstr(text, driver.with)) && driver.most-- > 0;
}

static mmt_status load(mmt_device *device, const struct mmt_binary *binary,
                       struct mmt_module **out, mmt_error *err)
{
    char *text = strndup(binary->data, binary->size);
    const bool refused = is_refused(text);

    driver.asked++;
    free(text);
    if (!refused)
        return mmt_backend_null.module_load(device, binary, out, err);
    *err = (mmt_error){ .status = driver.status, .native = -5 };
    strcpy(err->text, "too much for this driver\nand more");
    return driver.status;
}

static mmt_device *open_refusing(const char *unless, const char *with, int most,
                                 mmt_status status)
{
    mmt_device *device = open_device("null");
    driver.unless = unless, driver.with = with;
    driver.most = most, driver.status = status, driver.asked = 0;
    refusing = mmt_backend_null;
    refusing.module_load = load;
    device->backend = &refusing;
    return device;
}

/* ---- plans ----------------------------------------------------------------------- */

static const mmt_problem *square(void)
{
    static mmt_problem problem;
    problem = mmt_gemm_problem(MMT_F32, 500, 500, 500);
    return &problem;
}

/* The configuration that a plan has, and its description; empty where there is none. */
static void make_plan(mmt_device *device, const mmt_profile *profile, char config[512],
                      char said[1024])
{
    SCOPED_TEXT text = { 0 };
    SCOPED_PLAN *plan = mmt_plan_create(device, profile, square(), NULL, &err);

    config[0] = said[0] = '\0';
    if (plan) {
        mmt_config_print(mmt_plan_config(plan), &text);
        snprintf(config, 512, "%s", mmt_text_string(&text));
        mmt_plan_describe(plan, said, 1024);
    } else {
        fprintf(stderr, "%s\n", err.text);
    }
}

static void test_next_default(void)
{
    char usual[512], other[512], said[1024];
    mmt_device *device = open_refusing(NULL, NULL, 0, MMT_ERROR_COMPILE);
    make_plan(device, NULL, usual, said);
    CHECK(!strstr(said, "refuses"));
    mmt_device_close(device);

    device = open_refusing(NULL, NULL, 2, MMT_ERROR_COMPILE); /* once made anew */
    make_plan(device, NULL, other, said);
    CHECK(other[0] && strcmp(usual, other) != 0);
    usual[strcspn(usual, "=")] = '\0'; /* its knobs are said as they are resolved */
    CHECK(strstr(said, "in place of one that the driver refuses: ") &&
          strstr(strstr(said, "refuses: "), usual) &&
          strstr(said, ": too much for this driver"));
    CHECK(!strstr(said, "and more"));
    mmt_device_close(device);
}

/* Whatever it is that a driver says of kernels. */
static void test_at_last_naive(void)
{
    static const mmt_status all[] = { MMT_ERROR_COMPILE, MMT_ERROR_UNSUPPORTED,
                                      MMT_ERROR_DEVICE };
    char config[512], said[1024];

    for (int i = 0; i < 3; i++) {
        SCOPED_DEVICE *device = open_refusing("\"naive.cl\"", NULL, 100, all[i]);
        make_plan(device, NULL, config, said);
        CHECK(!strncmp(config, "naive ", 6));
        CHECK(strstr(said, "in place of kernels that the driver refuses: "));
    }
}

static void add(mmt_profile *profile, int64_t size, const char *config)
{
    add_entry(profile, product(size, size, size), config, 1e-3);
}

static void test_next_of_profile(void)
{
    char config[512], said[1024];
    SCOPED_DEVICE *device =
        open_refusing(NULL, "#define BLOCK_M 16", 100, MMT_ERROR_DEVICE);
    SCOPED_PROFILE *profile = mmt_profile_create();

    device->caps.kind = MMT_CPU; /* where the nearest entry counts */
    profile->caps = device->caps;
    add(profile, 500, "naive BLOCK_M=16 BLOCK_N=8");
    add(profile, 510, "naive BLOCK_M=32 BLOCK_N=8");
    add(profile, 2000, "naive BLOCK_M=64 BLOCK_N=8");
    make_plan(device, profile, config, said);
    CHECK(strstr(config, "BLOCK_M=32"));
    CHECK(strstr(said, "510x510x510") && strstr(said, "BLOCK_M=16 BLOCK_N=8: too much"));
}

/* The error is of the one that was tried first. */
static void test_nothing_left(void)
{
    SCOPED_DEVICE *device = open_refusing(NULL, NULL, 2, MMT_ERROR_DEVICE);
    char other[512], said[1024];

    make_plan(device, NULL, other, said);
    mmt_device_close(device);
    device = open_refusing(NULL, NULL, 1000, MMT_ERROR_DEVICE);
    CHECK_REFUSED(mmt_plan_create(device, NULL, square(), NULL, &err), MMT_ERROR_DEVICE,
                  ": too much for this driver");
    CHECK(err.native == -5 && strstr(err.text, "TILE_M="));
    CHECK(driver.asked > 2);
    err.text[strcspn(err.text, ":")] = '\0';
    CHECK(strstr(said, err.text));
}

/* What the caller named is not replaced, nor what failed for another reason. */
static void test_not_replaced(void)
{
    mmt_plan_options options = mmt_plan_defaults();
    mmt_device *device = open_refusing(NULL, NULL, 1000, MMT_ERROR_COMPILE);

    options.configuration = "tiled TILE=32";
    CHECK_REFUSED(mmt_plan_create(device, NULL, square(), &options, &err),
                  MMT_ERROR_COMPILE, "too much");
    CHECK(!strncmp(err.text, "too much", 8));
    mmt_device_close(device);

    device = open_refusing(NULL, NULL, 1000, MMT_ERROR_MEMORY);
    CHECK_REFUSED(mmt_plan_create(device, NULL, square(), NULL, &err), MMT_ERROR_MEMORY,
                  ": too much for this driver");
    CHECK(driver.asked <= 2 && strstr(err.text, "TILE_M="));
    mmt_device_close(device);
}

/* ---- the log --------------------------------------------------------------------- */

/* Adds a sentence as a line. */
static void listen(void *context, const char *text)
{
    struct mmt_text *heard = context;
    mmt_text_addf(heard, "%s\n", text);
}

static void plan_and_listen(int most, struct mmt_text *heard)
{
    char config[512], said[1024];
    SCOPED_DEVICE *device = open_refusing(NULL, NULL, most, MMT_ERROR_COMPILE);

    mmt_device_set_log(device, listen, heard);
    make_plan(device, NULL, config, said);
    mmt_device_set_log(device, NULL, NULL);
    make_plan(device, NULL, config, said);
}

/* In a cache of its own: first all is compiled, then nothing is, then what was cached is
 * refused, and so is what is compiled in its place. */
static void test_log(void)
{
    SCOPED_TEXT first = { 0 }, second = { 0 }, third = { 0 };

    setenv("XDG_CACHE_HOME", in_folder("log"), 1);
    plan_and_listen(0, &first);
    CHECK(!strncmp(mmt_text_string(&first), "compiled in 0.", 14));
    CHECK(strstr(mmt_text_string(&first), " s: mmtune ") &&
          strstr(mmt_text_string(&first), "; f32 nn "));
    plan_and_listen(0, &second);
    CHECK_EQ_STR(mmt_text_string(&second), "");
    plan_and_listen(2, &third);
    const char *cached = strstr(mmt_text_string(&third), "the driver refuses a kernel of "
                                                         "the cache"),
               *compiled = cached ? strstr(cached, "\ncompiled in ") : NULL;
    CHECK(compiled && strstr(compiled, "\nthe driver refuses a kernel: "));
    mmt_device_set_log(NULL, listen, NULL);
}

int main(void)
{
    make_folder();
    setenv("XDG_CACHE_HOME", folder, 1);
    test_next_default();
    test_at_last_naive();
    test_next_of_profile();
    test_nothing_left();
    test_not_replaced();
    test_log();
    return test_end("refused");
}
