/* Which reason selects a kernel, entry by entry and range by range, and what a card has
 * room for; test_kernel_selection.c has the portfolios. */
#include "runtime/runtime.h"
#include "tests/support/test.h"
#include "tests/support/synthetic_device.h"

static mmt_problem normal(mmt_type type, int64_t m, int64_t n, int64_t k)
{
    mmt_problem problem = mmt_gemm_problem(type, m, n, k), out;
    mmt_error err;
    CHECK_OK(mmt_problem_normalise(&problem, &out, &err), err);
    return out;
}

static void add(struct mmt_profile *profile, int64_t size, const char *config)
{
    struct mmt_entry entry = { .problem = normal(MMT_F32, size, size, size),
                               .time = { .median = 1e-3, .samples = 5 } };
    mmt_error err;
    CHECK_OK(mmt_config_parse(config, &entry.config, &err), err);
    CHECK_OK(mmt_profile_add_entry(profile, &entry, &err), err);
}

/* On a GPU, or on a CPU, whose untuned problems take the nearest one's kernel. */
static enum mmt_kind kind = MMT_GPU;

static const char *selected(const struct mmt_profile *profile, const mmt_problem *problem,
                            int *why)
{
    static char text[512];
    struct mmt_caps caps = synthetic_gpu();
    caps.kind = kind;
    struct mmt_selection selection;
    struct mmt_text printed = { 0 };
    mmt_error err;

    if (!CHECK_OK(mmt_select(profile, problem, &caps, NULL, &selection, &err), err))
        return "";
    mmt_config_print(&selection.config, &printed);
    snprintf(text, sizeof text, "%s", mmt_text_string(&printed));
    mmt_text_finish(&printed);
    *why = selection.why;
    return text;
}

static void test_select(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    mmt_problem exact = normal(MMT_F32, 512, 512, 512),
                near = normal(MMT_F32, 600, 500, 400);
    mmt_problem far = normal(MMT_F32, 9000, 7000, 5000),
                other = normal(MMT_F64, 512, 512, 512);
    int why;

    add(profile, 512, "tiled TILE=16");
    add(profile, 4096, "tiled TILE=32");
    CHECK(strstr(selected(profile, &exact, &why), "TILE=16") &&
          why == MMT_SELECTION_EXACT);
    CHECK(strstr(selected(profile, &near, &why), "TILE=16") &&
          why == MMT_SELECTION_NEAREST);
    CHECK(!strstr(selected(profile, &far, &why), "tiled") &&
          why == MMT_SELECTION_DEFAULT);
    selected(profile, &other, &why);
    CHECK(why == MMT_SELECTION_DEFAULT);
    selected(NULL, &exact, &why);
    CHECK(why == MMT_SELECTION_DEFAULT);
    mmt_profile_free(profile);
}

/* On a GPU arithmetic ranks all that templates name: what took a millisecond nearby is
 * not among them, and what was faster there than can be is. */
static void test_select_by_law(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    mmt_problem exact = normal(MMT_F32, 512, 512, 512),
                near = normal(MMT_F32, 600, 500, 400),
                far = normal(MMT_F32, 4096, 4096, 4096);
    int why;

    add(profile, 512, "tiled TILE=16");
    CHECK(strstr(selected(profile, &exact, &why), "TILE=16") &&
          why == MMT_SELECTION_EXACT);
    CHECK(!strstr(selected(profile, &near, &why), "tiled") && why == MMT_SELECTION_LAW);
    profile->entries[0].time.median = 1e-6;
    CHECK(strstr(selected(profile, &near, &why), "TILE=16") &&
          why == MMT_SELECTION_NEAREST);
    CHECK(!strstr(selected(profile, &far, &why), "tiled") && why == MMT_SELECTION_LAW);
    selected(NULL, &exact, &why);
    CHECK(why == MMT_SELECTION_LAW);
    mmt_profile_free(profile);
}

/* A range of two kernels: TILE=16 for m from 10 to 400, TILE=32 up to 700. */
static void add_range(struct mmt_profile *profile)
{
    struct mmt_range range = { .problem = normal(MMT_F32, 10, 512, 512),
                               .num_segments = 2,
                               .segments = { { .m_to = 400 }, { .m_to = 700 } } };
    mmt_error err;
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

/* The very problem first, then the range, then what is near. */
static void test_select_range(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    struct mmt_caps caps = synthetic_gpu();
    mmt_problem wide = normal(MMT_F32, 400, 512, 512);
    int why;

    add(profile, 512, "naive BLOCK_M=16");
    check_m(profile, 400, "naive", MMT_SELECTION_NEAREST);
    add_range(profile);
    check_m(profile, 9, "", MMT_SELECTION_DEFAULT);
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
    mmt_error err;
    caps.kind = kind;
    const mmt_problem problem = normal(MMT_F32, 400, 512, 512);
    const struct mmt_terms terms = { .max_workspace = SIZE_MAX,
                                     .refused = &profile->ranges[0].segments[0].config,
                                     .num_refused = 1 };
    CHECK_OK(mmt_select(profile, &problem, &caps, &terms, &selection, &err), err);
    CHECK(selection.why == MMT_SELECTION_NEAREST);
    mmt_profile_free(profile);
}

/* What a plan says of a range. */
static void test_range_described(void)
{
    mmt_device *device = mmt_device_open("null", NULL);
    struct mmt_profile *profile = mmt_profile_create();
    const mmt_problem problem = normal(MMT_F32, 401, 512, 512);
    mmt_plan_options options = mmt_plan_defaults();
    char text[1024] = "";
    mmt_error err;
    options.foreign_profile = 1;
    add_range(profile);
    mmt_plan *plan = mmt_plan_create(device, profile, &problem, &options, &err);
    if (!CHECK(plan != NULL))
        fprintf(stderr, "    %s\n", err.text);
    mmt_plan_describe(plan, text, sizeof text);
    CHECK(strstr(text, "tuned for 10-700x512x512, kernel 2 of 2, m up to 700"));
    mmt_plan_free(plan);
    mmt_profile_free(profile);
    mmt_device_close(device);
}

/* Entries that differ in what is done to C last are near, but not the same; a kernel that
 * does not do it is passed over. */
static void test_select_epilogue(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    mmt_problem problem = normal(MMT_BF16, 512, 512, 512), plain = problem;
    int why;

    problem.out = MMT_F32;
    CHECK(strstr(selected(NULL, &problem, &why), "naive") &&
          why == MMT_SELECTION_DEFAULT);
    add(profile, 512, "naive BLOCK_M=16");
    profile->entries[0].problem = plain;
    CHECK(strstr(selected(profile, &plain, &why), "BLOCK_M=16") &&
          why == MMT_SELECTION_EXACT);
    CHECK(strstr(selected(profile, &problem, &why), "BLOCK_M=16"));
    CHECK(why == MMT_SELECTION_NEAREST);
    add(profile, 512, "naive BLOCK_M=32");
    profile->entries[1].problem = problem;
    CHECK(strstr(selected(profile, &problem, &why), "BLOCK_M=32"));
    CHECK(why == MMT_SELECTION_EXACT);

    add(profile, 256, "tiled TILE=16");
    problem = normal(MMT_F32, 256, 256, 256);
    problem.bias = MMT_BIAS_M;
    CHECK(!strstr(selected(profile, &problem, &why), "tiled"));
    mmt_profile_free(profile);
}

/* What a foreign card's winner was tried for here is no choice for this one. */
static void test_select_foreign_entries(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    mmt_problem problem = normal(MMT_F32, 512, 512, 512);
    int why;

    add(profile, 512, "tiled TILE=16");
    strcpy(profile->entries[0].source, "another card");
    selected(profile, &problem, &why);
    CHECK(why == MMT_SELECTION_DEFAULT);
    mmt_profile_free(profile);
}

static void test_no_double(void)
{
    struct mmt_caps caps = synthetic_gpu();
    mmt_problem problem = normal(MMT_F64, 64, 64, 64);
    struct mmt_selection selection;
    mmt_error err;

    caps.f64 = false;
    snprintf(caps.name, sizeof caps.name, "a card without doubles");
    CHECK_FAILS(mmt_select(NULL, &problem, &caps, NULL, &selection, &err), err,
                MMT_ERROR_UNSUPPORTED, "double precision");
}

/* ---- launches that begin early --------------------------------------------------- */

/* How many blocks with that memory a multiprocessor of the card above has room for. */
static size_t fit(size_t shared)
{
    return synthetic_gpu().shared_per_sm / (shared + 1024);
}

static void test_spread(void)
{
    struct mmt_caps caps = synthetic_gpu();
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
    test_select_by_law();
    kind = MMT_CPU;
    test_select();
    test_select_foreign_entries();
    test_select_epilogue();
    test_select_range();
    test_range_described();
    test_no_double();
    test_spread();
    return test_end("select");
}
