/* The runtime without a device: the choice of a kernel, plans and execution on the null
 * device, from many threads. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/runtime.h"
#include "tests/test.h"

static char folder[] = "/tmp/mmtune-runtime-XXXXXX";

/* ---- select ---------------------------------------------------------------------- */

static struct mmt_caps gpu(void)
{
    return (struct mmt_caps){
        .dialect = MMT_CUDA_CXX,
        .kind = MMT_GPU,
        .f64 = true,
        .max_threads = 1024,
        .max_block = { 1024, 1024, 64 },
        .max_grid = { INT32_MAX, 65535, 65535 },
        .shared = 232448,
        .shared_per_sm = 233472,
        .registers = 65536,
        .registers_per_thread = 255,
        .registers_per_sm = 65536,
        .threads_per_sm = 2048,
        .blocks_per_sm = 32,
        .sms = 132,
        .warp = 32,
    };
}

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

static const char *chosen(const struct mmt_profile *profile, const mmt_problem *problem,
                          int *why)
{
    static char text[512];
    struct mmt_caps caps = gpu();
    struct mmt_choice choice;
    struct mmt_text printed = { 0 };
    mmt_error err;

    if (!CHECK_OK(mmt_select(profile, problem, &caps, NULL, &choice, &err), err))
        return "";
    mmt_config_print(&choice.config, &printed);
    snprintf(text, sizeof text, "%s", mmt_text_string(&printed));
    mmt_text_finish(&printed);
    *why = choice.why;
    return text;
}

static void test_select(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    mmt_problem exact = normal(MMT_F32, 512, 512, 512),
                near = normal(MMT_F32, 600, 500, 400);
    mmt_problem far = normal(MMT_F32, 9000, 7000, 5000),
                beyond = normal(MMT_F32, 1, 4096, 4096),
                other = normal(MMT_F64, 512, 512, 512);
    int why;

    add(profile, 512, "tiled TILE=16");
    add(profile, 4096, "tiled TILE=32");
    CHECK(strstr(chosen(profile, &exact, &why), "TILE=16") && why == MMT_CHOICE_EXACT);
    CHECK(strstr(chosen(profile, &near, &why), "TILE=16") && why == MMT_CHOICE_NEAREST);
    CHECK(strstr(chosen(profile, &far, &why), "TILE=32") && why == MMT_CHOICE_NEAREST);
    CHECK(!strstr(chosen(profile, &beyond, &why), "tiled") && why == MMT_CHOICE_DEFAULT);
    chosen(profile, &other, &why);
    CHECK(why == MMT_CHOICE_DEFAULT);
    chosen(NULL, &exact, &why);
    CHECK(why == MMT_CHOICE_DEFAULT);
    mmt_profile_free(profile);
}

/* A range of two kernels: TILE=16 for m from 10 to 300, TILE=32 up to 1000. */
static void add_range(struct mmt_profile *profile)
{
    struct mmt_range range = { .problem = normal(MMT_F32, 10, 512, 512),
                               .num_segments = 2,
                               .segments = { { .m_to = 300 }, { .m_to = 1000 } } };
    mmt_error err;
    CHECK_OK(mmt_config_parse("tiled TILE=16", &range.segments[0].config, &err), err);
    CHECK_OK(mmt_config_parse("tiled TILE=32", &range.segments[1].config, &err), err);
    CHECK_OK(mmt_profile_add_range(profile, &range, &err), err);
}

/* The tile that is chosen for m, and why. */
static void check_m(const struct mmt_profile *profile, int64_t m, const char *tile,
                    int wanted)
{
    const mmt_problem problem = normal(MMT_F32, m, 512, 512);
    int why;
    if (!CHECK(strstr(chosen(profile, &problem, &why), tile) && why == wanted))
        fprintf(stderr, "    m is %lld, the reason %d\n", (long long) m, why);
}

/* The very problem first, then the range, then what is near. */
static void test_select_range(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    struct mmt_caps caps = gpu();
    mmt_problem wide = normal(MMT_F32, 300, 512, 512);
    int why;

    add(profile, 512, "naive BLOCK_M=16");
    check_m(profile, 300, "naive", MMT_CHOICE_NEAREST);
    add_range(profile);
    check_m(profile, 9, "", MMT_CHOICE_DEFAULT);
    check_m(profile, 10, "TILE=16", MMT_CHOICE_RANGE);
    check_m(profile, 299, "TILE=16", MMT_CHOICE_RANGE);
    check_m(profile, 300, "TILE=16", MMT_CHOICE_RANGE);
    check_m(profile, 301, "TILE=32", MMT_CHOICE_RANGE);
    check_m(profile, 511, "TILE=32", MMT_CHOICE_RANGE);
    check_m(profile, 512, "naive", MMT_CHOICE_EXACT);
    check_m(profile, 1000, "TILE=32", MMT_CHOICE_RANGE);
    check_m(profile, 1001, "naive", MMT_CHOICE_NEAREST);
    wide.ldc = 1024;
    chosen(profile, &wide, &why);
    CHECK(why == MMT_CHOICE_NEAREST);

    /* A kernel that the terms rule out is passed over. */
    struct mmt_choice choice;
    mmt_error err;
    const mmt_problem problem = normal(MMT_F32, 300, 512, 512);
    const struct mmt_terms terms = { .max_workspace = SIZE_MAX,
                                     .refused = &profile->ranges[0].segments[0].config,
                                     .num_refused = 1 };
    CHECK_OK(mmt_select(profile, &problem, &caps, &terms, &choice, &err), err);
    CHECK(choice.why == MMT_CHOICE_NEAREST);
    mmt_profile_free(profile);
}

/* What a plan says of a range. */
static void test_range_described(mmt_device *device)
{
    struct mmt_profile *profile = mmt_profile_create();
    const mmt_problem problem = normal(MMT_F32, 301, 512, 512);
    mmt_plan_options options = mmt_plan_defaults();
    char text[1024] = "";
    mmt_error err;
    options.foreign_profile = 1;
    add_range(profile);
    mmt_plan *plan = mmt_plan_create(device, profile, &problem, &options, &err);
    if (!CHECK(plan != NULL))
        fprintf(stderr, "    %s\n", err.text);
    mmt_plan_describe(plan, text, sizeof text);
    CHECK(strstr(text, "tuned for 10-1000x512x512, kernel 2 of 2, m up to 1000"));
    mmt_plan_free(plan);
    mmt_profile_free(profile);
}

/* Entries that differ in what is done to C last are near, but not the same; a kernel that
 * does not do it is passed over. */
static void test_select_epilogue(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    mmt_problem problem = normal(MMT_BF16, 512, 512, 512), plain = problem;
    int why;

    problem.out = MMT_F32;
    CHECK(strstr(chosen(NULL, &problem, &why), "naive") && why == MMT_CHOICE_DEFAULT);
    add(profile, 512, "naive BLOCK_M=16");
    profile->entries[0].problem = plain;
    CHECK(strstr(chosen(profile, &plain, &why), "BLOCK_M=16") && why == MMT_CHOICE_EXACT);
    CHECK(strstr(chosen(profile, &problem, &why), "BLOCK_M=16"));
    CHECK(why == MMT_CHOICE_NEAREST);
    add(profile, 512, "naive BLOCK_M=32");
    profile->entries[1].problem = problem;
    CHECK(strstr(chosen(profile, &problem, &why), "BLOCK_M=32"));
    CHECK(why == MMT_CHOICE_EXACT);

    add(profile, 256, "tiled TILE=16");
    problem = normal(MMT_F32, 256, 256, 256);
    problem.bias = MMT_BIAS_ROW;
    CHECK(!strstr(chosen(profile, &problem, &why), "tiled"));
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
    chosen(profile, &problem, &why);
    CHECK(why == MMT_CHOICE_DEFAULT);
    mmt_profile_free(profile);
}

static void test_no_double(void)
{
    struct mmt_caps caps = gpu();
    mmt_problem problem = normal(MMT_F64, 64, 64, 64);
    struct mmt_choice choice;
    mmt_error err;

    caps.f64 = false;
    snprintf(caps.name, sizeof caps.name, "a card without doubles");
    CHECK_FAILS(mmt_select(NULL, &problem, &caps, NULL, &choice, &err), err,
                MMT_ERROR_UNSUPPORTED, "double precision");
}

/* ---- launches that begin early --------------------------------------------------- */

/* How many blocks with that memory a multiprocessor of the card above has room for. */
static size_t fit(size_t shared)
{
    return gpu().shared_per_sm / (shared + 1024);
}

static void test_spread(void)
{
    struct mmt_caps caps = gpu();
    struct mmt_launch launch = { .grid = { 64, 2, 1 }, .shared = 40000, .waits = true };
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
    launch.shared = 40000, launch.waits = false;
    CHECK_EQ_INT(mmt_launch_spread(&launch, &caps, five), 40000);
    launch.waits = true, caps.sm = 86;
    CHECK_EQ_INT(mmt_launch_spread(&launch, &caps, five), 40000);
}

/* ---- plans on the null device ---------------------------------------------------- */

static mmt_device *open_null(void)
{
    mmt_error err;
    mmt_device *device = mmt_device_open("null", &err);
    if (!device)
        fprintf(stderr, "%s\n", err.text);
    return device;
}

static mmt_plan *plan_of(mmt_device *device, const mmt_problem *problem)
{
    mmt_error err = { 0 };
    mmt_plan *plan = mmt_plan_create(device, NULL, problem, NULL, &err);
    if (!CHECK(plan != NULL))
        fprintf(stderr, "%s\n", err.text);
    return plan;
}

static mmt_args args_of(mmt_device *device, size_t bytes)
{
    mmt_args args = mmt_args_defaults();
    mmt_error err;
    CHECK_OK(mmt_buffer_create(device, bytes, &args.a, &err), err);
    CHECK_OK(mmt_buffer_create(device, bytes, &args.b, &err), err);
    CHECK_OK(mmt_buffer_create(device, bytes, &args.c, &err), err);
    return args;
}

static void free_args(mmt_device *device, const mmt_args *args)
{
    mmt_buffer_free(device, args->a);
    mmt_buffer_free(device, args->b);
    mmt_buffer_free(device, args->c);
}

static void test_bad_arguments(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_I32, 64, 64, 64);
    mmt_plan *plan = plan_of(device, &problem);
    mmt_args good = args_of(device, 64 * 64 * 4), args = good;
    mmt_error err;

    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    args.alpha = 0.5;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "alpha is 0.5");
    args = good;
    args.beta = NAN;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT, "beta");
    args = good;
    args.a.offset = 2;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "multiple of 4");
    args = good;
    args.b.handle = 0;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "B is null");
    args.alpha = 0; /* then B is not read */
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    args = good;
    args.size = 8;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "mmt_args_defaults");
    free_args(device, &good);
    mmt_plan_free(plan);
}

/* Each operand is held to the size of its own elements. */
static void test_bad_epilogue(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F8E4M3, 64, 64, 64);
    problem.out = MMT_F16, problem.bias = MMT_BIAS_COLUMN, problem.activation = MMT_GELU;
    mmt_plan *plan = plan_of(device, &problem);
    mmt_args args = args_of(device, 64 * 64 * 4);
    mmt_error err;

    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "bias is null");
    args.bias = args.c;
    args.a.offset = args.b.offset = 1;
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    args.c.offset = 1;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "C starts at byte");
    args.c.offset = 2, args.bias.offset = 3;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "bias starts at byte");
    args.bias.offset = 2, args.scalars = args.c;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "multiple of 4");
    free_args(device, &args);
    mmt_plan_free(plan);
}

/* Of the operands, each operation asks for those that it reads. */
static void test_ops(mmt_device *device)
{
    const struct {
        mmt_problem problem;
        double alpha, beta;
        bool a, b; /* are given */
        const char *words;
    } calls[] = {
        { mmt_axpby_problem(MMT_F32, 100), 1, 1, true, true, NULL },
        { mmt_axpby_problem(MMT_F32, 100), 1, 0, true, false, NULL },
        { mmt_axpby_problem(MMT_F32, 100), 0, 1, false, true, NULL },
        { mmt_axpby_problem(MMT_F32, 100), 1, 1, true, false, "B is null" },
        { mmt_axpby_problem(MMT_I32, 100), 1, 0.5, true, true, "beta is 0.5" },
        { mmt_dot_problem(MMT_F64, 3, 30), 1, 0, true, true, NULL },
        { mmt_dot_problem(MMT_F64, 3, 30), 0, 1, false, false, NULL },
        { mmt_dot_problem(MMT_F64, 3, 0), 1, 1, false, false, NULL },
        { mmt_dot_problem(MMT_F64, 3, 30), 1, 0, false, true, "A is null" },
        { mmt_heat2d_problem(MMT_F32, 10, 10), 0, 0, true, false, NULL },
        { mmt_heat2d_problem(MMT_F32, 10, 10), 0, 0, false, false, "A is null" },
        { mmt_jacobi3d_problem(MMT_F32, 5, 5, 5), 1, 0, true, false, NULL },
        { mmt_jacobi3d_problem(MMT_F32, 5, 5, 5), 1, 1, true, false, "B is null" },
        { mmt_jacobi3d_problem(MMT_F32, 5, 0, 5), 1, 1, false, false, NULL },
    };
    const mmt_args given = args_of(device, 4096);

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        mmt_plan *plan = plan_of(device, &calls[i].problem);
        mmt_args args = given;
        mmt_error err = { 0 };
        args.alpha = calls[i].alpha, args.beta = calls[i].beta;
        args.a.handle = calls[i].a ? args.a.handle : 0;
        args.b.handle = calls[i].b ? args.b.handle : 0;
        if (calls[i].words)
            CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                        calls[i].words);
        else
            CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
        mmt_plan_free(plan);
    }
    free_args(device, &given);
}

static void test_empty(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 0, 64, 64);
    mmt_plan *plan = plan_of(device, &problem);
    mmt_args args = mmt_args_defaults();
    mmt_error err;
    char text[256];

    unsigned long long before = mmt_null_launches(device);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK(mmt_null_launches(device) == before);
    CHECK(mmt_plan_describe(plan, text, sizeof text) < sizeof text &&
          strstr(text, "nothing to do"));
    mmt_plan_free(plan);
}

/* A batch that no grid can hold is several launches; without workspace, one for each part
 * of the batch. */
static void test_batch_split(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 4, 4, 4);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_error err = { 0 };
    problem.batch = 200000;
    options.max_workspace = 0;
    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    if (!CHECK_OK(plan ? MMT_OK : err.status, err))
        return;
    mmt_args args = args_of(device, 16 * 4 * 200000);
    unsigned most = mmt_device_caps(device)->max_grid[2];

    unsigned long long before = mmt_null_launches(device);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK(mmt_null_launches(device) - before == (200000 + most - 1) / most);
    free_args(device, &args);
    mmt_plan_free(plan);
}

static void test_given_configuration(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 64, 64, 64);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_error err = { 0 };

    options.configuration = "tiled TILE=17";
    CHECK(!mmt_plan_create(device, NULL, &problem, &options, &err));
    CHECK(err.status == MMT_ERROR_ARGUMENT && strstr(err.text, "17") &&
          strstr(err.text, "16"));
    options.configuration = "tiled TILE=8 UNROLL_K=8";
    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    char text[512] = "";
    if (CHECK(plan != NULL))
        mmt_plan_describe(plan, text, sizeof text);
    CHECK(strstr(text, "TILE=8") && strstr(text, "named by the caller"));
    mmt_plan_free(plan);
}

/* ---- many threads, one plan ------------------------------------------------------ */

enum { THREADS = 8, TIMES = 2000 };

struct shared {
    mmt_plan *plan;
    mmt_args args;
};

static void *execute_often(void *context)
{
    struct shared *shared = context;
    mmt_error err;
    for (int i = 0; i < TIMES; i++)
        CHECK_OK(mmt_execute(shared->plan, &shared->args, NULL, &err), err);
    return NULL;
}

static void *plan_often(void *context)
{
    mmt_device *device = context;
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 48, 48, 48);
    for (int i = 0; i < 10; i++)
        mmt_plan_free(plan_of(device, &problem));
    return NULL;
}

static void test_threads(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 64, 64, 64);
    struct shared shared = { plan_of(device, &problem), args_of(device, 64 * 64 * 4) };
    pthread_t executing[THREADS], planning[2];

    unsigned long long before = mmt_null_launches(device);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&executing[i], NULL, execute_often, &shared));
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&planning[i], NULL, plan_often, device));
    for (int i = 0; i < THREADS; i++)
        pthread_join(executing[i], NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(planning[i], NULL);
    CHECK(mmt_null_launches(device) - before >= (unsigned long long) THREADS * TIMES);
    free_args(device, &shared.args);
    mmt_plan_free(shared.plan);
}

/* A template with one text, for aligned operands: pointers that are not aligned get the
 * kernel of another, and rows that are not are refused. */
static void test_aligned_only(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_BF16, 64, 64, 64);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_args args = args_of(device, 64 * 64 * 4);
    mmt_error err = { 0 };
    options.configuration =
        "wgmma TILE_M=64 TILE_N=64 CONSUMERS=1 CLUSTER=1x1 STORE_SLOTS=1";

    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    if (!CHECK(plan != NULL))
        fprintf(stderr, "%s\n", err.text);
    unsigned long long before = mmt_null_launches(device);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    args.a.offset = 2;
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK(mmt_null_launches(device) == before + 2);
    mmt_plan_free(plan);

    options.aligned_only = true;
    plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT, "aligned");
    mmt_plan_free(plan);

    problem.lda = 65;
    CHECK(!mmt_plan_create(device, NULL, &problem, &options, &err));
    CHECK_EQ_INT(err.status, MMT_ERROR_UNSUPPORTED);
    CHECK(strstr(err.text, "16 bytes"));
    args.a.offset = 0;
    free_args(device, &args);
}

/* What a packed operand and shared tiles ask for. */
static void test_packed(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_TF32, 128, 96, 64);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_args args = args_of(device, 128 * 128 * 4);
    mmt_error err = { 0 };
    problem.trans_a = 1;
    options.configuration =
        "wgmma TILE_M=64 TILE_N=32 CONSUMERS=1 CLUSTER=1x1 STORE_SLOTS=0 "
        "SPLIT_K=4";

    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    if (!CHECK(plan != NULL))
        fprintf(stderr, "%s\n", err.text);
    size_t bytes = mmt_plan_workspace(plan);
    CHECK(bytes == 4 * (128 * 64 + 96 * 64 + 4 * 128 * 96));
    CHECK_OK(mmt_buffer_create(device, bytes, &args.workspace, &err), err);
    unsigned long long before = mmt_null_launches(device);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK(mmt_null_launches(device) == before + 3);
    mmt_buffer_free(device, args.workspace);
    mmt_plan_free(plan);
    free_args(device, &args);
}

#define SMALL_PACKED                                                                     \
    "wgmma TILE_M=64 TILE_N=32 CONSUMERS=1 CLUSTER=1x1 STAGES=2 STORE_SLOTS=0 PACK_A=1 " \
    "PACK_B=1"

/* The workspace has the digits of each number, three bf16 of f32 and four bytes of i32,
 * of every matrix of the batch. A row of 61 begins at multiples of 64 elements. */
static void test_digits(mmt_device *device, mmt_type type, size_t bytes_of_number,
                        const char *configuration)
{
    mmt_problem problem = mmt_gemm_problem(type, 100, 72, 61);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_args args = args_of(device, 2 * 100 * 100 * 4);
    mmt_error err = { 0 };
    problem.batch = 2;
    options.configuration = configuration;

    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    if (!CHECK_OK(plan ? MMT_OK : err.status, err))
        return;
    size_t bytes = mmt_plan_workspace(plan), both_a = 2 * bytes_of_number * 100 * 64;
    CHECK_EQ_INT(bytes, (both_a + 127) / 128 * 128 + 2 * bytes_of_number * 72 * 64);
    CHECK_OK(mmt_buffer_create(device, bytes, &args.workspace, &err), err);
    unsigned long long before = mmt_null_launches(device);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK(mmt_null_launches(device) == before + 2);
    mmt_buffer_free(device, args.workspace);
    mmt_plan_free(plan);
    free_args(device, &args);
}

static void test_wgmma(void)
{
    mmt_error err = { 0 };
    mmt_device *device = mmt_device_open("null:sm_90a", &err);
    if (!device) {
        printf("wgmma left out: %s\n", err.text);
        return;
    }
    test_aligned_only(device);
    test_packed(device);
    test_digits(device, MMT_F32, 3 * 2, SMALL_PACKED " PROMOTE=1");
    test_digits(device, MMT_I32, 4 * 1, SMALL_PACKED);
    mmt_device_close(device);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    test_select();
    test_select_foreign_entries();
    test_select_epilogue();
    test_select_range();
    test_no_double();
    test_spread();

    mmt_device *device = open_null();
    if (CHECK(device != NULL)) {
        test_bad_arguments(device);
        test_bad_epilogue(device);
        test_ops(device);
        test_empty(device);
        test_batch_split(device);
        test_given_configuration(device);
        test_range_described(device);
        test_threads(device);
    }
    mmt_device_close(device);
    test_wgmma();
    return test_end("runtime");
}
