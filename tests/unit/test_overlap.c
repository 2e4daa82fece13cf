/* Rows of A and B that overlap, as sliding windows do: every template that the device can
 * launch, against the exact answer of a plain loop, with poison round the matrices. */
#include "tests/support/exact.h"
#include "tests/support/test.h"

#include "runtime/runtime.h"

static mmt_device *device;
static int executions;

/* Elements from row to row. Windows that step by 4 are still whole vectors. */
static const int64_t steps[] = { 1, 3, 4 };

static mmt_problem problem_of(mmt_op op, mmt_type type, int transposes, int64_t ld)
{
    const bool grid = op == MMT_HEAT2D || op == MMT_JACOBI3D;
    mmt_problem wanted = mmt_op_problem(op, type, 21, 37, grid ? 9 : 70), out = wanted;
    mmt_error err;

    wanted.trans_a = transposes & 1;
    wanted.trans_b = transposes >> 1;
    wanted.lda = ld;
    wanted.ldb = mmt_op_row(op)->reads[MMT_OPERAND_B] == MMT_NEVER ? 0 : ld;
    CHECK_OK(mmt_problem_normalise(&wanted, &out, &err), err);
    return out;
}

static mmt_status execute(const mmt_plan *plan, const struct exact *data, mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    const size_t workspace = mmt_plan_workspace(plan);
    mmt_status status = MMT_OK;

    args.a = data->a.operand;
    args.b = data->b.operand;
    args.c = data->c.operand;
    args.alpha = data->call.alpha;
    args.beta = data->call.beta;
    if (workspace)
        status = mmt_buffer_create(device, workspace, &args.workspace, err);
    if (!status)
        status = mmt_execute(plan, &args, NULL, err);
    if (!status)
        status = mmt_finish(device, NULL, err);
    mmt_buffer_free(device, args.workspace);
    return status;
}

static void check(const mmt_plan *plan, const mmt_problem *problem)
{
    const struct exact_call call = { .alpha = 2, .beta = -1, .guard = 64 };
    struct exact data;
    char why[200] = "", text[512];
    mmt_error err = { 0 };

    bool right = CHECK_OK(exact_create(&data, device, problem, &call, &err), err) &&
                 CHECK_OK(execute(plan, &data, &err), err) &&
                 exact_check(&data, why, sizeof why);
    exact_free(&data);
    mmt_plan_describe(plan, text, sizeof text);
    if (!CHECK(right))
        fprintf(stderr, "    %s: %s\n", text, why);
    executions++;
}

static void check_template(const struct mmt_template *template)
{
    const bool transposes = mmt_op_row(template->op)->transposes;
    mmt_plan_options options = mmt_plan_defaults();
    const mmt_type type = MMT_F32;
    mmt_error err;

    options.configuration = template->name;
    for (int t = 0; t < (transposes ? 4 : 1); t += 3)
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            const mmt_problem problem = problem_of(template->op, type, t, steps[s]);
            mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
            if (plan)
                check(plan, &problem);
            mmt_plan_free(plan);
        }
}

/* A program that names no kernel gets one that takes them. */
static void test_defaults(void)
{
    const mmt_type types[] = { MMT_F32, MMT_I32, MMT_BF16, MMT_I8 };
    mmt_error err = { 0 };

    for (int i = 0; i < 4; i++) {
        const mmt_problem problem = problem_of(MMT_GEMM, types[i], i, 4);
        mmt_plan *plan = mmt_plan_create(device, NULL, &problem, NULL, &err);
        if (CHECK(plan))
            check(plan, &problem);
        mmt_plan_free(plan);
    }
}

int main(int argc, char **argv)
{
    mmt_error err;
    device = mmt_device_open(argc > 1 ? argv[1] : "opencl:0", &err);
    if (!device && err.status == MMT_ERROR_NOT_FOUND)
        SKIP("this machine has no OpenCL device");
    if (CHECK(device)) {
        for (int i = 0; mmt_templates[i]; i++)
            check_template(mmt_templates[i]);
        test_defaults();
        CHECK(executions > 30);
    }
    mmt_device_close(device);
    printf("%d executions\n", executions);
    return test_end("overlap");
}
