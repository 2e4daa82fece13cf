/* What a recording makes of a run of the tuner: its goals, their parts of the time, its
 * ranges of m, and which kernels a program's f32 may have. */
#include <math.h>
#include <unistd.h>

#include "tests/support/synthetic_device.h"
#include "tests/support/folder.h"
#include "tests/support/made.h"
#include "tests/support/test.h"
#include "tuner/tune/goals.h"
#include "tuner/tune/phases.h"
#include "tuner/tune/recorded.h"
#include "tuner/tune/roofline.h"
#include "tuner/tune/tune.h"

static const char *path;

/* Adds a line of so many calls of so many seconds each; 0: nobody timed them. */
static void record(const char *problem, enum mmt_client client, int64_t calls,
                   double each)
{
    struct mmt_recorded it = { .call.client = client, .library = "cuBLAS 13.1.0" };
    CHECK_OK(mmt_problem_parse(problem, &it.call.problem, &err), err);
    it.fates[MMT_FATE_RECORDED] = calls;
    it.timed = each > 0 ? 2 : 0;
    it.seconds = 2 * each;
    CHECK_OK(mmt_recording_append(path, &it, 1, &err), err);
}

/* A run of `mmtune --recorded FILE` with that budget, before its first problem. */
static struct mmt_run *plan(double seconds, int64_t candidates)
{
    static const struct mmt_roofline measured = { .bandwidth = 4e12 };
    static struct mmt_run run;
    mmt_tune_finish(&run);
    run = (struct mmt_run){
        .options = { .epilogue = MMT_EPILOGUE_NONE,
                     .recorded = true,
                     .recording = path,
                     .quiet = true,
                     .budget = { .seconds = seconds, .candidates = candidates } },
        .device.caps = gpu_caps(),
    };
    run.device.caps.f64 = true;
    mmt_tune_set_roofline(&run, &measured);
    CHECK_OK(mmt_tune_choose_types(&run, &err), err);
    CHECK_OK(mmt_tune_set_goals(&run, &err), err);
    return &run;
}

static bool is_goal(const struct mmt_run *run, int at, const char *problem)
{
    mmt_problem wanted = problem_of(problem);
    return at < run->goals.count && mmt_problem_equal(&run->goals.list[at], &wanted);
}

/* By what may be saved, whoever called: where the library takes far longer than ours
 * should, that is nearly all of its time. Features stay. */
static void test_order(void)
{
    truncate(path, 0);
    record("gemm bf16 nt 64x512x256 bias=column activation=gelu_tanh",
           MMT_CLIENT_CUBLASLT, 100, 1e-2);
    record("gemm bf16 nt 64x512x256 lda=264 batch=3", MMT_CLIENT_CUBLAS, 100, 2e-2);
    record("gemm f64 tn 640x640x640", MMT_CLIENT_CUBLAS, 60, 2e-2);
    record("gemm f64 tn 640x640x640", MMT_CLIENT_MMTUNE, 60, 2e-2);
    record("gemm f64 nn 3x3x3", MMT_CLIENT_MMTUNE, 1, 0);
    struct mmt_run *run = plan(300, 0);
    CHECK_EQ_INT(run->goals.count, 4);
    CHECK(is_goal(run, 0, "gemm f64 tn 640x640x640"));
    CHECK(is_goal(run, 1, "gemm bf16 nt 64x512x256 lda=264 batch=3"));
    CHECK(is_goal(run, 2, "gemm bf16 nt 64x512x256 bias=column activation=gelu_tanh"));
    CHECK(is_goal(run, 3, "gemm f64 nn 3x3x3"));
    CHECK_EQ_INT(run->ranges.count, 0);

    double sum = 0;
    for (int i = 0; i < run->goals.count; i++) {
        sum += run->goals.weights[i];
        CHECK(i == 0 || run->goals.weights[i] < run->goals.weights[i - 1]);
    }
    CHECK(fabs(sum - 1) < 1e-9);
    CHECK(run->goals.weights[3] >= 0.5 / 4);
    const double kept = mmt_tune_verdicts_seconds(run);
    CHECK(kept > 3 * 0.5 && kept < 10); /* three calls have a library */
}

/* What the law expects of ours, in seconds. */
static double expect(const char *problem)
{
    const struct mmt_caps caps = gpu_caps();
    mmt_problem parsed;
    struct mmt_selection now;
    mmt_error err = { 0 };
    CHECK_OK(mmt_problem_parse(problem, &parsed, &err), err);
    CHECK_OK(mmt_select(NULL, &parsed, &caps, NULL, &now, &err), err);
    CHECK(now.seconds > 0);
    return now.seconds;
}

/* A large product at which ours gains nothing goes behind a small one at which it does,
 * whose call has a verdict first, too. */
static void test_hope(void)
{
    static const char *const large = "gemm f32 nn 4096x4096x4096",
                             *const small = "gemm f32 nn 16x4096x4096",
                             *const least = "gemm f32 nn 16x64x64";
    truncate(path, 0);
    record(large, MMT_CLIENT_CUBLAS, 10, 0.9 * expect(large));
    record(least, MMT_CLIENT_CUBLAS, 1, 2 * expect(least));
    record(small, MMT_CLIENT_CUBLAS, 100, 2 * expect(small));
    struct mmt_run *run = plan(300, 0);
    CHECK(100 * 2 * expect(small) < 9 * expect(large)); /* as programs spend */
    CHECK(is_goal(run, 0, small) && is_goal(run, 1, large) && is_goal(run, 2, least));
    CHECK(run->goals.weights[0] > run->goals.weights[1]);
    CHECK(run->recorded.hopeful == 2);
    CHECK(run->recorded.recording.list[0].call.problem.m == 16 &&
          run->recorded.recording.list[0].call.problem.k == 4096);
    CHECK(run->recorded.recording.list[1].call.problem.k == 64);
    CHECK(run->recorded.recording.list[2].call.problem.m == 4096);
}

/* A short budget has room for what may save most alone. */
static void test_room(void)
{
    struct mmt_run *run = plan(0, 30);
    CHECK_EQ_INT(run->goals.count, 2);
    run = plan(0, 1);
    CHECK_EQ_INT(run->goals.count, 1);
    CHECK(mmt_tune_verdicts_seconds(run) == 0);
}

/* Four m and more make a range where A and C have no gaps; the m of most time are goals,
 * then both ends. */
static void test_ranges(void)
{
    char problem[128];
    truncate(path, 0);
    for (int m = 1; m <= 64; m++) {
        snprintf(problem, sizeof problem, "gemm bf16 nt %dx512x256", m);
        record(problem, MMT_CLIENT_CUBLAS, m == 17 ? 1000 : 64 - m, 1e-5);
        snprintf(problem, sizeof problem, "gemm bf16 nt %dx512x256 lda=264", m);
        record(problem, MMT_CLIENT_CUBLAS, 1, 1e-9);
    }
    struct mmt_run *run = plan(0, 84);
    if (CHECK_EQ_INT(run->ranges.count, 1)) {
        CHECK_EQ_INT(run->ranges.list[0].problem.m, 1);
        CHECK_EQ_INT(run->ranges.list[0].problem.lda, 256);
        CHECK_EQ_INT(run->ranges.list[0].m_to, 64);
    }
    CHECK_EQ_INT(run->goals.count, 7);
    CHECK(is_goal(run, 0, "gemm bf16 nt 17x512x256"));
    CHECK(is_goal(run, 1, "gemm bf16 nt 1x512x256"));

    truncate(path, 0);
    for (int m = 1; m <= 3; m++) {
        snprintf(problem, sizeof problem, "gemm bf16 nt %dx512x256", m);
        record(problem, MMT_CLIENT_CUBLAS, 1, 1e-5);
    }
    CHECK_EQ_INT(plan(300, 0)->ranges.count, 0);
}

/* A card whose tensor cores emulate f32. */
static struct mmt_config emulation(const mmt_problem *problem,
                                   const struct mmt_caps *caps)
{
    struct mmt_config config = { .template = mmt_template_find("wgmma") };
    for (int i = 0; i < config.template->num_seeds; i++) {
        memcpy(config.values, config.template->seeds[i],
               (size_t) config.template->num_knobs * sizeof(int));
        if (!mmt_config_check_problem(&config, problem, caps))
            break;
    }
    CHECK(!mmt_config_check_problem(&config, problem, caps));
    CHECK(mmt_config_in_slices(&config, MMT_F32));
    return config;
}

/* What emulates f32 is no candidate of a strict goal, whatever else is. */
static void test_strict(void)
{
    const struct mmt_caps caps = hopper_caps(132);
    mmt_problem problem = product(4096, 4096, 4096);
    const struct mmt_config emulates = emulation(&problem, &caps),
                            plain = config_of("naive");
    struct mmt_run run = { .strict = true };
    CHECK(!mmt_tune_allows(&run, &problem, &emulates));
    CHECK(mmt_tune_allows(&run, &problem, &plain));
    run.strict = false;
    CHECK(mmt_tune_allows(&run, &problem, &emulates));
    run.strict = true;
    problem.type = MMT_BF16;
    CHECK(mmt_tune_allows(&run, &problem, &emulates));
}

/* A slower strict winner leaves callers of this library what they have. */
static void test_would_slow(void)
{
    struct mmt_run run = { .strict = true, .device.caps = hopper_caps(132) };
    struct mmt_record winner = { .problem = product(4096, 4096, 4096),
                                 .config = config_of("naive"),
                                 .result.time.median = 2e-3 };
    struct mmt_entry entry = { .problem = winner.problem,
                               .config = emulation(&winner.problem, &run.device.caps),
                               .time.median = 1e-3 };
    run.files.profile = run.files.layers = mmt_profile_create();
    CHECK_OK(mmt_profile_replace_entry(run.files.profile, &entry, &err), err);
    CHECK(mmt_tune_would_slow(&run, &winner));
    run.strict = false;
    CHECK(!mmt_tune_would_slow(&run, &winner));
    run.strict = true;
    winner.result.time.median = 0.9e-3;
    CHECK(!mmt_tune_would_slow(&run, &winner));
    entry.config = winner.config;
    winner.result.time.median = 2e-3;
    CHECK_OK(mmt_profile_replace_entry(run.files.profile, &entry, &err), err);
    CHECK(!mmt_tune_would_slow(&run, &winner));
    mmt_profile_free(run.files.profile);
}

/* Ranges serve callers of this library, too, who may have f32 emulated. */
static void test_no_range(void)
{
    char problem[128];
    truncate(path, 0);
    for (int m = 1000; m < 1006; m++) {
        snprintf(problem, sizeof problem, "gemm f32 nn %dx512x256", m);
        record(problem, MMT_CLIENT_CUBLAS, 1, 1e-5);
    }
    struct mmt_run *run = plan(300, 0);
    CHECK_EQ_INT(run->ranges.count, 0);
    CHECK_EQ_INT(run->goals.count, 6);
    run->device.caps.dialect = MMT_OPENCL_C;
    run->device.caps.sm = 0;
    run->goals.count = 0;
    mmt_recording_free(&run->recorded.recording);
    CHECK_OK(mmt_tune_set_goals(run, &err), err);
    CHECK_EQ_INT(run->ranges.count, 1);
}

static void test_refused(void)
{
    struct mmt_run run = { .options = { .recorded = true, .recording = path } };
    truncate(path, 0);
    CHECK_FAILS(mmt_tune_set_goals(&run, &err), err, MMT_ERROR_NOT_FOUND,
                "has no calls in it");
    mmt_tune_finish(&run);
    run = (struct mmt_run){ .options = { .recorded = true, .recording = "/nowhere/x" } };
    CHECK_FAILS(mmt_tune_set_goals(&run, &err), err, MMT_ERROR_NOT_FOUND,
                "`mmtune run --record -- PROGRAM` makes one");
    mmt_tune_finish(&run);
}

int main(void)
{
    make_folder();
    path = in_folder("calls");
    fclose(fopen(path, "w"));
    test_order();
    test_room();
    test_hope();
    test_ranges();
    test_strict();
    test_would_slow();
    test_no_range();
    test_refused();
    return test_end("recorded goals");
}
