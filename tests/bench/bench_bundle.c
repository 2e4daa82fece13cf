/* What a bundle costs a program: bench_bundle [DEVICE FILE]. One of a hundred kernels or
 * more is made for the null device, or FILE has them, of f32; it is loaded from memory:
 * under 50 ms. Then problems are planned whose kernels are loaded already: under 20 us
 * each, the median. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "tests/support/test.h"
#include "tuner/bundle/make.h"

enum { LOADS = 31, PLANS = 2001 };

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double median(double *seconds, int count)
{
    qsort(seconds, (size_t) count, sizeof *seconds, by_size);
    return seconds[count / 2];
}

/* Reads the file; returns how many kernels it has for any device. */
static size_t read_file(const char *path, struct mmt_text *bundle)
{
    struct mmt_bundle_header header = { 0 };
    CHECK_OK(mmt_file_read(path, (size_t) 1 << 30, bundle, &err), err);
    if (bundle->length >= sizeof header)
        memcpy(&header, bundle->data, sizeof header);
    return header.num_kernels;
}

static size_t make(struct mmt_text *bundle)
{
    struct mmt_bundle_options options = { .device = "null",
                                          .epilogue = MMT_EPILOGUE_NONE,
                                          .transposes = MMT_NN | MMT_NT | MMT_TN | MMT_TT,
                                          .some_types = true };
    struct mmt_bundle_goals goals = { 0 };
    size_t kernels = 0;
    options.types[MMT_F32] = true;
    CHECK_OK(mmt_option_each("64x64x64,512x512x512,4096x4096x4096", &options.shapes,
                             mmt_words_take, &err),
             err);
    CHECK_OK(mmt_bundle_set_goals(&options, &goals, &err), err);
    for (size_t i = 0; i < goals.count; i++) {
        CHECK_OK(mmt_bundle_build(&goals.list[i], &err), err);
        kernels += goals.list[i].needs.count;
    }
    CHECK_OK(mmt_bundle_print(&goals, bundle, &err), err);
    mmt_bundle_goals_finish(&goals);
    mmt_words_finish(&options.shapes);
    return kernels;
}

static double time_loading(const struct mmt_text *bundle)
{
    double seconds[LOADS];
    for (int i = 0; i < LOADS; i++) {
        const double before = mmt_now();
        SCOPED_PROFILE *profile = mmt_profile_parse(bundle->data, bundle->length, &err);
        seconds[i] = mmt_now() - before;
        CHECK(profile);
    }
    return median(seconds, LOADS);
}

/* The first plan of each problem loads its kernels, and is not counted. */
static double time_planning(const char *name, const struct mmt_text *bundle)
{
    static double seconds[PLANS];
    mmt_device *device = mmt_device_open(name, &err);
    mmt_profile *profile = mmt_profile_parse(bundle->data, bundle->length, &err);
    for (int i = -7; i < PLANS; i++) {
        const mmt_problem problem =
            mmt_gemm_problem(MMT_F32, 256 + 64 * ((i + 7) % 7), 512, 512);
        const double before = mmt_now();
        SCOPED_PLAN *plan = mmt_plan_create(device, profile, &problem, NULL, &err);
        if (i >= 0)
            seconds[i] = mmt_now() - before;
        CHECK(plan);
    }
    mmt_profile_free(profile);
    mmt_device_close(device);
    return median(seconds, PLANS);
}

int main(int argc, char **argv)
{
    SCOPED_TEXT bundle = { 0 };
    const size_t kernels = argc > 2 ? read_file(argv[2], &bundle) : make(&bundle);
    const double loading = time_loading(&bundle),
                 planning = time_planning(argc > 2 ? argv[1] : "null", &bundle);
    printf("%zu kernels, %.0f KiB: loaded in %.1f ms, a plan takes %.1f us\n", kernels,
           (double) bundle.length / 1024, 1e3 * loading, 1e6 * planning);
    CHECK(kernels >= 100);
    CHECK(loading < 50e-3);
    CHECK(planning < 20e-6);
    return test_end("bundle, timed");
}
