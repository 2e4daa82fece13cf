/* Which reason selects a kernel, entry by entry and range by range, and what a card has
 * room for; test_kernel_selection.c has the ranking. */
#include "runtime/runtime.h"
#include "tests/support/entries.h"
#include "tests/support/synthetic_device.h"

static mmt_problem normal(mmt_type type, int64_t m, int64_t n, int64_t k)
{
    return normal_of(mmt_gemm_problem(type, m, n, k));
}

/* Longer than any kernel, and shorter, for a square of 512. */
static const double slow = 1e-2, fast = 1e-6;

static void add(struct mmt_profile *profile, int64_t size, const char *config,
                double seconds)
{
    const mmt_problem problem = normal(MMT_F32, size, size, size);
    add_entry(profile, problem, config, seconds);
}

static struct mmt_caps device;

static const char *selected(const struct mmt_profile *profile, const mmt_problem *problem,
                            int *why)
{
    static char text[512];
    struct mmt_selection selection;
    struct mmt_text printed = { 0 };

    if (!CHECK_OK(mmt_select(profile, problem, &device, NULL, &selection, &err), err))
        return "";
    mmt_config_print(&selection.config, &printed);
    snprintf(text, sizeof text, "%s", mmt_text_string(&printed));
    mmt_text_finish(&printed);
    *why = selection.why;
    return text;
}

static mmt_problem triangle(mmt_type type, int64_t n, int64_t k)
{
    return normal_of(mmt_syrk_problem(type, n, k));
}

/* What has no law takes the kernel of the nearest problem within two octaves, however
 * long it took. */
static void test_select_without_law(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    mmt_problem exact = triangle(MMT_F32, 512, 512), near = triangle(MMT_F32, 600, 400),
                larger = triangle(MMT_F32, 8192, 8192),
                next = triangle(MMT_F32, 4096, 4096),
                between = triangle(MMT_F32, 2100, 2100), far = triangle(MMT_F32, 512, 64),
                other = triangle(MMT_F64, 512, 512);
    int why;

    add_entry(profile, exact, "syrk TILE=8 WORK=1 UNROLL_K=8", slow);
    add_entry(profile, larger, "syrk TILE=16 WORK=2 UNROLL_K=8", slow);
    CHECK(strstr(selected(profile, &exact, &why), "TILE=8 WORK=1") &&
          why == MMT_SELECTION_EXACT);
    CHECK(strstr(selected(profile, &near, &why), "TILE=8 WORK=1") &&
          why == MMT_SELECTION_NEAREST);
    CHECK(strstr(selected(profile, &next, &why), "TILE=16 WORK=2") &&
          why == MMT_SELECTION_NEAREST);
    selected(profile, &between, &why);
    CHECK(why == MMT_SELECTION_DEFAULT);
    selected(profile, &far, &why);
    CHECK(why == MMT_SELECTION_DEFAULT);
    selected(profile, &other, &why);
    CHECK(why == MMT_SELECTION_DEFAULT);
    selected(NULL, &exact, &why);
    CHECK(why == MMT_SELECTION_DEFAULT);
}

/* Arithmetic ranks all that templates name: what was slow nearby is not among them, and
 * what was faster there than can be is; half an octave away it tells nothing. */
static void test_select_by_law(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    mmt_problem exact = normal(MMT_F32, 512, 512, 512),
                near = normal(MMT_F32, 600, 500, 400),
                far = normal(MMT_F32, 512, 512, 730);
    int why;

    add(profile, 512, "tiled TILE=16", slow);
    CHECK(strstr(selected(profile, &exact, &why), "TILE=16") &&
          why == MMT_SELECTION_EXACT);
    CHECK(!strstr(selected(profile, &near, &why), "tiled") && why == MMT_SELECTION_LAW);
    profile->entries[0].time.median = fast;
    CHECK(strstr(selected(profile, &near, &why), "TILE=16") &&
          why == MMT_SELECTION_NEAREST);
    CHECK(!strstr(selected(profile, &far, &why), "tiled") && why == MMT_SELECTION_LAW);
    selected(NULL, &exact, &why);
    CHECK(why == MMT_SELECTION_LAW);
}

/* A range of two kernels: TILE=16 for m from 10 to 400, TILE=32 up to 700. */
static void add_range(struct mmt_profile *profile)
{
    struct mmt_range range = { .problem = normal(MMT_F32, 10, 512, 512),
                               .num_segments = 2,
                               .segments = { { .m_to = 400 }, { .m_to = 700 } } };
    CHECK_OK(mmt_config_parse("tiled TILE=16", &range.segments[0].config, &err), err);
    CHECK_OK(mmt_config_parse("tiled TILE=32", &range.segments[1].config, &err), err);
    CHECK_OK(mmt_profile_add_range(profile, &range, &err), err);
}

/* The tile that is selected for m, and why. */
static void check_m(const struct mmt_profile *profile, int64_t m, const char *tile,
                    int wanted)
{
    const mmt_problem problem = normal(MMT_F32, m, 512, 512);
    int why;
    if (!CHECK(strstr(selected(profile, &problem, &why), tile) && why == wanted))
        fprintf(stderr, "    m is %lld, the reason %d\n", (long long) m, why);
}

/* The very problem first, then the range, then the ranking. */
static void test_select_range(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    mmt_problem wide = normal(MMT_F32, 400, 512, 512);
    int why;

    add(profile, 512, "naive BLOCK_M=16", fast);
    check_m(profile, 400, "naive", MMT_SELECTION_NEAREST);
    add_range(profile);
    check_m(profile, 9, "", MMT_SELECTION_LAW);
    check_m(profile, 10, "TILE=16", MMT_SELECTION_RANGE);
    check_m(profile, 399, "TILE=16", MMT_SELECTION_RANGE);
    check_m(profile, 400, "TILE=16", MMT_SELECTION_RANGE);
    check_m(profile, 401, "TILE=32", MMT_SELECTION_RANGE);
    check_m(profile, 511, "TILE=32", MMT_SELECTION_RANGE);
    check_m(profile, 512, "naive", MMT_SELECTION_EXACT);
    check_m(profile, 700, "TILE=32", MMT_SELECTION_RANGE);
    check_m(profile, 701, "naive", MMT_SELECTION_NEAREST);
    wide.ldc = 1024;
    selected(profile, &wide, &why);
    CHECK(why == MMT_SELECTION_NEAREST);

    /* A kernel that the terms rule out is passed over. */
    struct mmt_selection selection;
    const mmt_problem problem = normal(MMT_F32, 400, 512, 512);
    const struct mmt_terms terms = { .max_workspace = SIZE_MAX,
                                     .refused = &profile->ranges[0].segments[0].config,
                                     .num_refused = 1 };
    CHECK_OK(mmt_select(profile, &problem, &device, &terms, &selection, &err), err);
    CHECK(selection.why == MMT_SELECTION_NEAREST);
}

/* What a plan says of a range. */
static void test_range_described(void)
{
    SCOPED_DEVICE *device = mmt_device_open("null", NULL);
    SCOPED_PROFILE *profile = mmt_profile_create();
    const mmt_problem problem = normal(MMT_F32, 401, 512, 512);
    mmt_plan_options options = mmt_plan_defaults();
    char text[1024] = "";
    options.foreign_profile = 1;
    add_range(profile);
    SCOPED_PLAN *plan = mmt_plan_create(device, profile, &problem, &options, &err);
    CHECK_MADE(plan);
    mmt_plan_describe(plan, text, sizeof text);
    CHECK(
        strstr(text, "tuned for gemm f32 nn 10-700x512x512, kernel 2 of 2, m up to 700"));
}

static void test_passed_over_described(void)
{
    SCOPED_DEVICE *null = mmt_device_open("null", NULL);
    SCOPED_PROFILE *profile = mmt_profile_create();
    const mmt_problem problem = normal(MMT_F32, 512, 512, 512);
    mmt_plan_options options = mmt_plan_defaults();
    char text[1024] = "";
    options.foreign_profile = 1;
    add(profile, 512, "simt TILE_K=4 K_UNROLL=8", fast);
    SCOPED_PLAN *plan = mmt_plan_create(null, profile, &problem, &options, NULL);
    mmt_plan_describe(plan, text, sizeof text);
    CHECK(strstr(text, "; its entry is passed over, simt "));
    CHECK(strstr(text, ": TILE_K must be a multiple of K_UNROLL"));
}

/* Entries that differ in what is done to C last are near, but not the same; a kernel that
 * does not do it is passed over. */
static void test_select_epilogue(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    mmt_problem problem = normal(MMT_BF16, 512, 512, 512), plain = problem;
    int why;

    problem.out = MMT_F32;
    selected(NULL, &problem, &why);
    CHECK(why == MMT_SELECTION_LAW);
    add_entry(profile, plain, "naive BLOCK_M=16", fast);
    CHECK(strstr(selected(profile, &plain, &why), "BLOCK_M=16") &&
          why == MMT_SELECTION_EXACT);
    CHECK(strstr(selected(profile, &problem, &why), "BLOCK_M=16"));
    CHECK(why == MMT_SELECTION_NEAREST);
    add_entry(profile, problem, "naive BLOCK_M=32", slow);
    CHECK(strstr(selected(profile, &problem, &why), "BLOCK_M=32"));
    CHECK(why == MMT_SELECTION_EXACT);

    add(profile, 256, "tiled TILE=16", fast);
    problem = normal(MMT_F32, 256, 256, 256);
    problem.bias = MMT_BIAS_M;
    CHECK(!strstr(selected(profile, &problem, &why), "tiled"));
}

/* What a foreign card's winner was tried for here is no choice for this one. */
static void test_select_foreign_entries(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    mmt_problem problem = normal(MMT_F32, 512, 512, 512);
    int why;

    add(profile, 512, "tiled TILE=16", fast);
    strcpy(profile->entries[0].source, "another card");
    CHECK(!strstr(selected(profile, &problem, &why), "tiled"));
    CHECK(why == MMT_SELECTION_LAW);
}

static void test_no_double(void)
{
    struct mmt_caps caps = gpu_caps();
    mmt_problem problem = normal(MMT_F64, 64, 64, 64);
    struct mmt_selection selection;

    caps.f64 = false;
    snprintf(caps.name, sizeof caps.name, "a card without doubles");
    CHECK_FAILS(mmt_select(NULL, &problem, &caps, NULL, &selection, &err), err,
                MMT_ERROR_UNSUPPORTED, "double precision");
}

/* ---- launches that begin early --------------------------------------------------- */

/* How many blocks with that memory a multiprocessor of the card above has room for. */
static size_t fit(size_t shared)
{
    return gpu_caps().shared_per_sm / (shared + 1024);
}

static void test_spread(void)
{
    struct mmt_caps caps = gpu_caps();
    struct mmt_launch launch = { .grid = { 64, 2, 1 },
                                 .shared = 40000,
                                 .pdl_waits = true };
    const unsigned five = 5 * 132; /* at once */

    caps.sm = 90;
    CHECK_EQ_INT(fit(mmt_launch_spread(&launch, &caps, five)), 1);
    launch.grid[2] = 2; /* 256 blocks: two for each */
    CHECK_EQ_INT(fit(mmt_launch_spread(&launch, &caps, five)), 2);
    launch.grid[2] = 4;
    CHECK_EQ_INT(fit(mmt_launch_spread(&launch, &caps, five)), 4);
    launch.grid[2] = 5; /* they fill all but a few places */
    CHECK_EQ_INT(mmt_launch_spread(&launch, &caps, five), 40000);
    launch.grid[2] = 1;
    CHECK_EQ_INT(mmt_launch_spread(&launch, &caps, 132), 40000);
    CHECK_EQ_INT(mmt_launch_spread(&launch, &caps, 0), 40000);
    launch.shared = 0; /* not a product */
    CHECK_EQ_INT(mmt_launch_spread(&launch, &caps, five), 0);
    launch.shared = 40000, launch.pdl_waits = false;
    CHECK_EQ_INT(mmt_launch_spread(&launch, &caps, five), 40000);
    launch.pdl_waits = true, caps.sm = 86;
    CHECK_EQ_INT(mmt_launch_spread(&launch, &caps, five), 40000);
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        device = i ? cpu_caps(64) : gpu_caps();
        test_select_by_law();
        test_select_without_law();
        test_select_foreign_entries();
        test_select_epilogue();
        test_select_range();
    }
    test_range_described();
    test_passed_over_described();
    test_no_double();
    test_spread();
    return test_end("select");
}
