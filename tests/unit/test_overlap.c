/* Rows of A and B that overlap, as sliding windows do: every template that the device can
 * launch, against the exact answer of a plain loop, with poison round the matrices. */
#include "tests/support/exact.h"
#include "tests/support/device.h"
#include "tests/support/made.h"
#include "tests/support/test.h"

#include "runtime/runtime.h"

static mmt_device *device;
static int executions;

/* Elements from row to row. Windows that step by 4 are still whole vectors. */
static const int64_t steps[] = { 1, 3, 4 };

static mmt_problem spaced_problem(mmt_op op, mmt_type type, int transposes, int64_t ld)
{
    const bool grid = op == MMT_HEAT2D || op == MMT_JACOBI3D;
    mmt_problem wanted = mmt_op_problem(op, type, 21, 37, grid ? 9 : 70);

    wanted.trans_a = transposes & 1;
    wanted.trans_b = transposes >> 1;
    wanted.lda = ld;
    wanted.ldb = mmt_op_row(op)->reads[MMT_OPERAND_B] == MMT_NEVER ? 0 : ld;
    return normal_of(wanted);
}

static void check(const mmt_plan *plan, const mmt_problem *problem)
{
    const struct exact_call call = { .alpha = 2, .beta = -1, .guard = 64 };
    char why[200], text[512];
    const bool right = exact_run(device, plan, problem, &call, why, sizeof why);

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

    options.configuration = template->name;
    for (int t = 0; t < (transposes ? 4 : 1); t += 3)
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            const mmt_problem problem = spaced_problem(template->op, type, t, steps[s]);
            SCOPED_PLAN *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
            if (plan)
                check(plan, &problem);
        }
}

/* A program that names no kernel gets one that takes them. */
static void test_defaults(void)
{
    const mmt_type types[] = { MMT_F32, MMT_I32, MMT_BF16, MMT_I8 };

    for (int i = 0; i < 4; i++) {
        const mmt_problem problem = spaced_problem(MMT_GEMM, types[i], i, 4);
        SCOPED_PLAN *plan = mmt_plan_create(device, NULL, &problem, NULL, &err);
        if (CHECK(plan))
            check(plan, &problem);
    }
}

int main(int argc, char **argv)
{
    device = open_device(argc > 1 ? argv[1] : "opencl:0");
    for (int i = 0; mmt_templates[i]; i++)
        check_template(mmt_templates[i]);
    test_defaults();
    CHECK(executions > 30);
    mmt_device_close(device);
    printf("%d executions\n", executions);
    return test_end("overlap");
}
