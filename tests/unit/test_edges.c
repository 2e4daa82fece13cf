/* What the programs of others do to us: a locale of their own, objects that are null,
 * files that are none. */
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/runtime.h"
#include "tests/support/folder.h"
#include "tests/support/entries.h"

#include <mmtune/opencl.h>

/* ---- locales --------------------------------------------------------------------- */

/* What a plan and an explanation say, of a device with other memory; and an error. */
static void write_plan(struct mmt_text *out)
{
    char said[1024], why[512];
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    SCOPED_PROFILE *profile = mmt_profile_create();
    mmt_plan_options options = mmt_plan_defaults();
    const mmt_problem problem = product(512, 512, 512);
    add_entry(profile, problem, "naive", 1.2345e-3);
    profile->caps = *mmt_device_caps(device);
    profile->caps.memory = (size_t) 5 << 29;
    options.foreign_profile = 1;
    mmt_plan *plan = mmt_plan_create(device, profile, &problem, &options, &err);
    mmt_plan_describe(plan, said, sizeof said);
    mmt_text_add(out, said);
    mmt_plan_free(plan);
    CHECK_OK(mmt_explain(profile, &problem, &profile->caps, out, &err), err);
    struct mmt_caps other = profile->caps;
    other.kind = MMT_GPU, other.memory = (size_t) 3 << 29;
    profile->caps.kind = MMT_GPU;
    mmt_text_add(out, mmt_profile_foreign(profile, &other, why));
    options.measure_seconds = -0.5;
    CHECK(!mmt_plan_create(device, profile, &problem, &options, &err));
    mmt_text_add(out, err.text);
}

/* What must be the same wherever a program comes from: a text, a path, a plan, a profile.
 */
static void write_all(struct mmt_text *out)
{
    struct mmt_text source = { 0 };
    mmt_problem problem = mmt_gemm_problem(MMT_I32, 8, 8, 8);
    struct mmt_variant variant = mmt_variant_of(&problem, true);
    struct mmt_caps caps = { .backend = "cuda", .name = "III \xc4\xb0 Card" };
    char form[8];

    struct mmt_config config = config_of("naive");
    CHECK_OK(mmt_emit(&config, &variant, MMT_CUDA_CXX, MMT_GPU, &source, &err), err);
    mmt_text_add(out, mmt_text_string(&source));
    mmt_text_finish(&source);
    mmt_profile_path(&caps, out);
    mmt_text_add(out, mmt_op_form(MMT_JACOBI3D, form));

    write_plan(out);
    SCOPED_PROFILE *profile = mmt_profile_create();
    profile->caps = caps;
    profile->caps.dialect = MMT_CUDA_CXX;
    profile->caps.kind = MMT_GPU;
    profile->roofline.bandwidth = 1234.5678e9;
    CHECK_OK(mmt_profile_print(profile, out, &err), err);
}

static void test_reading_back(const struct mmt_text *all)
{
    const char *json = strchr(strstr(mmt_text_string(all), "MxNxK"), '{');
    SCOPED_PROFILE *profile = mmt_profile_read(json, strlen(json), &err);
    if (!CHECK(profile != NULL))
        return;
    CHECK(profile->roofline.bandwidth > 1234.5e9 &&
          profile->roofline.bandwidth < 1234.6e9);
}

/* Turkish has another capital of i, German writes 0,5, and of bytes from 0x80 on the two
 * character sets think differently. */
static void test_locales(void)
{
    static const char *const made[][2] = { { "tr_TR", "ISO-8859-9" },
                                           { "tr_TR", "UTF-8" },
                                           { "de_DE", "ISO-8859-1" },
                                           { "de_DE", "UTF-8" } };
    SCOPED_TEXT plain = { 0 };
    setenv("LOCPATH", folder, 1);
    write_all(&plain);
    CHECK(strstr(mmt_text_string(&plain), "#define TYPE_I32 1") != NULL);
    CHECK(strstr(mmt_text_string(&plain), "/cuda-iii-card.json") != NULL);
    CHECK(strstr(mmt_text_string(&plain), "1234.5 us") != NULL);
    CHECK(strstr(mmt_text_string(&plain), "2.5 GiB of memory, and this one has 1.5") !=
          NULL);
    for (int i = 0; i < 4; i++) {
        char command[256], name[64];
        struct mmt_text other = { 0 };
        snprintf(name, sizeof name, "%s.%s", made[i][0], made[i][1]);
        snprintf(command, sizeof command, "localedef -i %s -f %s %s/%s >%s/log 2>&1",
                 made[i][0], made[i][1], folder, name, folder);
        if (system(command) || !setlocale(LC_ALL, name)) {
            fprintf(stderr, "left out: the locale %s cannot be made here\n", name);
            continue;
        }
        write_all(&other);
        CHECK_EQ_STR(mmt_text_string(&other), mmt_text_string(&plain));
        test_reading_back(&other);
        CHECK(mmt_text_read_number("0.25", NULL) == 0.25);
        mmt_text_finish(&other);
        setlocale(LC_ALL, "C");
    }
}

/* ---- times -------------------------------------------------------------------- */

/* Seconds that no clock has passed or will pass, whether anything is measured or not. */
static void test_seconds(void)
{
    const double wrong[] = { -1, -1e-300, NAN, INFINITY, -INFINITY, 86401, 1e300 };
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, 8, 8, 8);
    mmt_plan_options options = mmt_plan_defaults();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int effort = 0; effort < 2; effort++) {
            options.effort = effort ? MMT_EFFORT_MEASURE : MMT_EFFORT_ESTIMATE;
            options.measure_seconds = wrong[i];
            CHECK_REFUSED(mmt_plan_create(device, NULL, &problem, &options, &err),
                          MMT_ERROR_ARGUMENT, "measure_seconds is ");
            CHECK_EQ_INT(err.argument, MMT_ARGUMENT_MEASURE_SECONDS);
            CHECK(strstr(err.text,
                         "; it must be from 0, which is the usual time, to 86400"));
        }
    options.measure_seconds = 86400;
    SCOPED_PLAN *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    CHECK(plan != NULL);
}

/* ---- null ------------------------------------------------------------------------ */

#define CHECK_NULL(call)                                                                 \
    do {                                                                                 \
        mmt_error err = { 0 };                                                           \
        (void) (call);                                                                   \
        CHECK_EQ_INT(err.status, MMT_ERROR_ARGUMENT);                                    \
        CHECK(err.text[0] != '\0');                                                      \
    } while (0)

static void test_null(void)
{
    mmt_operand buffer = { 0 };
    mmt_args args = mmt_args_defaults();
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 8, 8, 8);
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    SCOPED_PLAN *plan = mmt_plan_create(device, NULL, &problem, NULL, &err);
    if (!CHECK(plan != NULL))
        return;
    CHECK_NULL(mmt_profile_load(NULL, &err));
    CHECK_NULL(mmt_profile_find(NULL, &err));
    CHECK_NULL(mmt_plan_create(NULL, NULL, &problem, NULL, &err));
    CHECK_NULL(mmt_plan_create(device, NULL, NULL, NULL, &err));
    CHECK_NULL(mmt_execute(NULL, &args, NULL, &err));
    CHECK_NULL(mmt_execute(plan, NULL, NULL, &err));
    CHECK_NULL(mmt_execute(plan, &args, NULL, &err));
    CHECK_NULL(mmt_buffer_create(NULL, 4, &buffer, &err));
    CHECK_NULL(mmt_buffer_create(device, 4, NULL, &err));
    CHECK_NULL(mmt_buffer_write(device, buffer, "x", 1, &err));
    CHECK_NULL(mmt_finish(NULL, NULL, &err));
    CHECK(mmt_opencl_device_id(NULL) == NULL && mmt_opencl_device_id(device) == NULL);
    mmt_plan_free(NULL);
    mmt_profile_free(NULL);
    mmt_device_close(NULL);
}

/* ---- files that are none --------------------------------------------------------- */

static void test_link(void)
{
    SCOPED_TEXT text = { 0 };
    struct stat found;
    char target[256], link_name[256];
    snprintf(target, sizeof target, "%s", in_folder("target"));
    snprintf(link_name, sizeof link_name, "%s", in_folder("link"));
    CHECK_OK(mmt_file_replace(target, "old", 3, &err), err);
    CHECK(!symlink("target", link_name));
    CHECK_OK(mmt_file_replace(link_name, "new", 3, &err), err);
    CHECK(!lstat(link_name, &found) && S_ISLNK(found.st_mode));
    CHECK_OK(mmt_file_read(target, 100, &text, &err), err);
    CHECK_EQ_STR(mmt_text_string(&text), "new");
}

static void test_pipe(void)
{
    struct stat found;
    char name[256], got[8] = "";
    snprintf(name, sizeof name, "%s", in_folder("pipe"));
    CHECK(!mkfifo(name, 0600));
    int reader = open(name, O_RDONLY | O_NONBLOCK);
    CHECK_OK(mmt_file_replace(name, "through", 7, &err), err);
    CHECK_EQ_INT(read(reader, got, 7), 7);
    CHECK_EQ_STR(got, "through");
    close(reader);
    CHECK(!stat(name, &found) && S_ISFIFO(found.st_mode));
}

/* ---- configurations -------------------------------------------------------------- */

/* A template's first starting point holds vectors that are too wide for f64. */
static void test_starting_point(void)
{
    struct mmt_config first, fit;
    mmt_problem problem = mmt_gemm_problem(MMT_F64, 512, 512, 512);
    struct mmt_caps caps = { .dialect = MMT_CUDA_CXX, .kind = MMT_GPU, .f64 = true };
    problem = normal_of(problem);
    CHECK_OK(mmt_config_parse("simt", &first, &err), err);
    CHECK(mmt_config_check_problem(&first, &problem, &caps) != NULL);
    CHECK_OK(mmt_config_parse_for("simt", &problem, &caps, &fit, &err), err);
    CHECK(mmt_config_check_problem(&fit, &problem, &caps) == NULL);
    CHECK_OK(mmt_config_parse_for("simt A_VECTOR=4", &problem, &caps, &fit, &err), err);
    CHECK(mmt_config_check_problem(&fit, &problem, &caps) != NULL);
    CHECK_FAILS(mmt_config_parse_for("simt A_VECTOR=3", &problem, &caps, &fit, &err), err,
                MMT_ERROR_ARGUMENT, "A_VECTOR of simt cannot be '3'");
}

int main(void)
{
    make_folder();
    setenv("XDG_DATA_HOME", "/data", 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    test_locales();
    test_seconds();
    test_null();
    test_link();
    test_pipe();
    test_starting_point();
    return test_end("edges");
}
