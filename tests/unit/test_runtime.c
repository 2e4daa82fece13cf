/* The runtime without a device: plans and execution on the null device, from many
 * threads. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/runtime.h"
#include "tests/support/device.h"
#include "tests/support/folder.h"
#include "tests/support/made.h"
#include "tests/support/test.h"

/* ---- plans on the null device ---------------------------------------------------- */

static void refuse_args(const mmt_plan *plan, const mmt_args *args, const char *words)
{
    CHECK_FAILS(mmt_execute(plan, args, NULL, &err), err, MMT_ERROR_ARGUMENT, words);
}

static void test_bad_arguments(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_I32, 64, 64, 64);
    SCOPED_PLAN *plan = plan_by(device, problem, NULL);
    mmt_args good = args_of(device, 64 * 64 * 4), args = good;

    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    args.alpha = 0.5;
    refuse_args(plan, &args, "alpha is 0.5");
    args = good;
    args.beta = NAN;
    refuse_args(plan, &args, "beta");
    args = good;
    args.a.offset = 2;
    refuse_args(plan, &args, "multiple of 4");
    args = good;
    args.b.handle = 0;
    refuse_args(plan, &args, "B is null");
    args.alpha = 0; /* then B is not read */
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    args = good;
    args.size = 8;
    refuse_args(plan, &args, "mmt_args_defaults");
    free_args(device, &good);
}

/* Each operand is held to the size of its own elements. */
static void test_bad_epilogue(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F8E4M3, 64, 64, 64);
    problem.out = MMT_F16, problem.bias = MMT_BIAS_N, problem.activation = MMT_GELU;
    SCOPED_PLAN *plan = plan_by(device, problem, NULL);
    mmt_args args = args_of(device, 64 * 64 * 4);

    refuse_args(plan, &args, "bias is null");
    args.bias = args.c;
    args.a.offset = args.b.offset = 1;
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    args.c.offset = 1;
    refuse_args(plan, &args, "C starts at byte");
    args.c.offset = 2, args.bias.offset = 3;
    refuse_args(plan, &args, "bias starts at byte");
    args.bias.offset = 2, args.scalars = args.c;
    refuse_args(plan, &args, "multiple of 4");
    free_args(device, &args);
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
        SCOPED_PLAN *plan = plan_by(device, calls[i].problem, NULL);
        mmt_args args = given;
        args.alpha = calls[i].alpha, args.beta = calls[i].beta;
        args.a.handle = calls[i].a ? args.a.handle : 0;
        args.b.handle = calls[i].b ? args.b.handle : 0;
        if (calls[i].words)
            refuse_args(plan, &args, calls[i].words);
        else
            CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    }
    free_args(device, &given);
}

static void test_empty(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 0, 64, 64);
    SCOPED_PLAN *plan = plan_by(device, problem, NULL);
    mmt_args args = mmt_args_defaults();
    char text[256];

    unsigned long long before = mmt_null_launches(device);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK(mmt_null_launches(device) == before);
    CHECK(mmt_plan_describe(plan, text, sizeof text) < sizeof text &&
          strstr(text, "nothing to do"));
}

/* A batch that no grid can hold is several launches; without workspace, one for each part
 * of the batch. */
static void test_batch_split(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 4, 4, 4);
    mmt_plan_options options = mmt_plan_defaults();
    problem.batch = 200000;
    options.max_workspace = 0;
    SCOPED_PLAN *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    if (!CHECK_MADE(plan))
        return;
    mmt_args args = args_of(device, 16 * 4 * 200000);
    unsigned most = mmt_device_caps(device)->max_grid[2];

    unsigned long long before = mmt_null_launches(device);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK(mmt_null_launches(device) - before == (200000 + most - 1) / most);
    free_args(device, &args);
}

static void test_given_configuration(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 64, 64, 64);
    mmt_plan_options options = mmt_plan_defaults();

    options.configuration = "tiled TILE=17";
    CHECK_REFUSED(mmt_plan_create(device, NULL, &problem, &options, &err),
                  MMT_ERROR_ARGUMENT, "17");
    CHECK(strstr(err.text, "16"));
    options.configuration = "tiled TILE=8 UNROLL_K=8";
    SCOPED_PLAN *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    char text[512] = "";
    if (CHECK(plan != NULL))
        mmt_plan_describe(plan, text, sizeof text);
    CHECK(strstr(text, "TILE=8") && strstr(text, "named by the caller"));
}

/* The same without its spelling. */
static void test_plan_of(mmt_device *device)
{
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, 64, 64, 64);

    struct mmt_config config = config_of("tiled TILE=8 UNROLL_K=8");
    mmt_plan *plan = mmt_plan_of(device, &config, &problem, NULL, &err);
    if (CHECK_MADE(plan))
        CHECK(mmt_config_equal(mmt_plan_config(plan), &config));
    mmt_plan_free(plan);
    CHECK_OK(mmt_config_set(&config, "UNROLL_K", "32", &err), err);
    CHECK_REFUSED(mmt_plan_of(device, &config, &problem, NULL, &err),
                  MMT_ERROR_UNSUPPORTED, "UNROLL_K is more than the TILE steps");
    CHECK(strstr(err.text, "tiled TILE=8"));
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
    for (int i = 0; i < TIMES; i++)
        CHECK_OK(mmt_execute(shared->plan, &shared->args, NULL, &err), err);
    return NULL;
}

static void *plan_often(void *context)
{
    mmt_device *device = context;
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 48, 48, 48);
    for (int i = 0; i < 10; i++)
        mmt_plan_free(plan_by(device, problem, NULL));
    return NULL;
}

static void test_threads(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 64, 64, 64);
    struct shared shared = { plan_by(device, problem, NULL),
                             args_of(device, 64 * 64 * 4) };
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
    options.configuration =
        "wgmma TILE_M=64 TILE_N=64 CONSUMERS=1 CLUSTER=1x1 EPILOGUE_STAGES=1";

    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    CHECK_MADE(plan);
    unsigned long long before = mmt_null_launches(device);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    args.a.offset = 2;
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK(mmt_null_launches(device) == before + 2);
    mmt_plan_free(plan);

    options.aligned_only = true;
    plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    refuse_args(plan, &args, "aligned");
    mmt_plan_free(plan);

    problem.lda = 65;
    CHECK_REFUSED(mmt_plan_create(device, NULL, &problem, &options, &err),
                  MMT_ERROR_UNSUPPORTED, "16 bytes");
    args.a.offset = 0;
    free_args(device, &args);
}

/* What a packed operand and shared tiles ask for. */
static void test_packed(mmt_device *device)
{
    mmt_problem problem = mmt_gemm_problem(MMT_TF32, 128, 96, 64);
    mmt_args args = args_of(device, 128 * 128 * 4);
    problem.trans_a = 1;
    SCOPED_PLAN *plan =
        plan_by(device, problem,
                "wgmma TILE_M=64 TILE_N=32 CONSUMERS=1 CLUSTER=1x1 EPILOGUE_STAGES=0 "
                "SPLIT_K=4");
    size_t bytes = mmt_plan_workspace(plan);
    CHECK(bytes == 4 * (128 * 64 + 96 * 64 + 4 * 128 * 96));
    args.workspace = buffer_of(device, bytes);
    unsigned long long before = mmt_null_launches(device);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK(mmt_null_launches(device) == before + 3);
    free_args(device, &args);
}

#define SMALL_PACKED                                                                     \
    "wgmma TILE_M=64 TILE_N=32 CONSUMERS=1 CLUSTER=1x1 STAGES=2 EPILOGUE_STAGES=0 "      \
    "PACK_A=1 "                                                                          \
    "PACK_B=1"

/* The workspace has the slices of each number, three bf16 of f32 and four bytes of i32,
 * of every matrix of the batch. A row of 61 begins at multiples of 64 elements. */
static void test_digits(mmt_device *device, mmt_type type, size_t bytes_of_number,
                        const char *configuration)
{
    mmt_problem problem = mmt_gemm_problem(type, 100, 72, 61);
    mmt_args args = args_of(device, 2 * 100 * 100 * 4);
    problem.batch = 2;
    SCOPED_PLAN *plan = plan_by(device, problem, configuration);
    size_t bytes = mmt_plan_workspace(plan), both_a = 2 * bytes_of_number * 100 * 64;
    CHECK_EQ_INT(bytes, (both_a + 127) / 128 * 128 + 2 * bytes_of_number * 72 * 64);
    args.workspace = buffer_of(device, bytes);
    unsigned long long before = mmt_null_launches(device);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK(mmt_null_launches(device) == before + 2);
    free_args(device, &args);
}

static void test_wgmma(void)
{
    SCOPED_DEVICE *device = mmt_device_open("null:sm_90a", &err);
    if (!device) {
        printf("wgmma left out: %s\n", err.text);
        return;
    }
    test_aligned_only(device);
    test_packed(device);
    test_digits(device, MMT_F32, 3 * 2, SMALL_PACKED " PROMOTE=1");
    test_digits(device, MMT_I32, 4 * 1, SMALL_PACKED);
}

int main(void)
{
    make_folder();
    setenv("XDG_CACHE_HOME", folder, 1);

    SCOPED_DEVICE *device = open_device("null");
    test_bad_arguments(device);
    test_bad_epilogue(device);
    test_ops(device);
    test_empty(device);
    test_batch_split(device);
    test_given_configuration(device);
    test_plan_of(device);
    test_threads(device);
    test_wgmma();
    return test_end("runtime");
}
