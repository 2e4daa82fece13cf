/* Memory that the library lends: workspaces of handles and of plans, by queue, and copies
 * of matrices in the host's memory. */
#include "runtime/blas.h"
#include "tests/support/noting.h"
#include "tests/support/test.h"

/* ---- workspaces of a handle ------------------------------------------------------ */

static void multiply(mmt_blas *blas, int64_t size, mmt_queue queue)
{
    const mmt_args x = noting_args();
    CHECK_OK(mmt_gemm(blas, MMT_F32, MMT_ROW_MAJOR, MMT_NO_TRANSPOSE, MMT_NO_TRANSPOSE,
                      size, size, 8, 1, x.a, 8, x.b, size, 0, x.c, size, queue,
                      &noting_error),
             noting_error);
}

static mmt_blas *handle_of(size_t most)
{
    mmt_blas_options options = mmt_blas_defaults();
    mmt_plan_options plan = mmt_plan_defaults();
    plan.configuration = SPLIT;
    options.plan = &plan;
    options.max_plans = most;
    return mmt_blas_create(noting_device, &options, &noting_error);
}

/* Each queue has its own, which grows when nothing uses it any more, and serves what
 * needs less. */
static void test_queues(void)
{
    const mmt_queue one = (mmt_queue) &noting_numbers[0],
                    two = (mmt_queue) &noting_numbers[1];
    mmt_blas *blas = handle_of(8);

    if (!CHECK(blas))
        return;
    noted_forget();
    multiply(blas, 4, one);
    multiply(blas, 4, two);
    multiply(blas, 4, one);
    CHECK_EQ_STR(noted.trace, "wcllwcllll");
    CHECK(noted_workspace(0) && noted_workspace(0) == noted_workspace(1));
    CHECK(noted_workspace(2) == noted_workspace(3) &&
          noted_workspace(2) != noted_workspace(0));
    CHECK(noted_workspace(4) == noted_workspace(0));
    CHECK(noted.launches[1].queue == one && noted.launches[3].queue == two);

    noted_forget();
    multiply(blas, 8, one);
    CHECK_EQ_STR(noted.trace, "wfcll");
    CHECK(noted.finished == one && noted.made >= 8 * 8 * 8 * sizeof(float));
    multiply(blas, 4, one);
    CHECK_EQ_STR(noted.trace, "wfcllll");

    noted_forget();
    CHECK_OK(mmt_blas_forget(blas, two, &noting_error), noting_error);
    CHECK_EQ_STR(noted.trace, "wf");
    CHECK(noted.finished == two);
    mmt_blas_free(blas);
    CHECK_EQ_STR(noted.trace, "wff");
}

/* A plan is freed when no queue uses it any more. */
static void test_old_plans(void)
{
    mmt_blas *blas = handle_of(1);

    if (!CHECK(blas))
        return;
    multiply(blas, 8, NULL);
    multiply(blas, 8, (mmt_queue) &noting_numbers[0]);
    multiply(blas, 8, (mmt_queue) &noting_numbers[1]);
    noted_forget();
    multiply(blas, 4, NULL);
    CHECK_EQ_STR(noted.trace, "wwwll");
    mmt_blas_free(blas);
}

static mmt_blas *busy;

static void multiply_another(void)
{
    multiply(busy, 4, (mmt_queue) &noting_numbers[1]);
}

/* A plan whose launches are being queued stays, though there are too many. */
static void test_plan_in_use(void)
{
    busy = handle_of(1);
    if (!CHECK(busy))
        return;
    noted_forget();
    noted.meanwhile = multiply_another;
    multiply(busy, 8, (mmt_queue) &noting_numbers[0]);
    CHECK_EQ_STR(noted.trace, "wclwclll");
    mmt_blas_free(busy);
}

/* ---- a plan's own workspace ------------------------------------------------------ */

/* Executions that share it follow each other; one that comes with its own is free. */
static void test_own(void)
{
    static _Alignas(256) char given[4096];
    SCOPED_PLAN *plan = noting_small_plan(true);
    mmt_args args = noting_args();

    noted_forget();
    CHECK_OK(mmt_execute(plan, &args, NULL, &noting_error), noting_error);
    args.workspace = noting_operand(given);
    CHECK_OK(mmt_execute(plan, &args, NULL, &noting_error), noting_error);
    CHECK_EQ_INT(noted.count, 4);
    CHECK(noted_workspace(0) == plan->workspace.handle);
    CHECK(noted_workspace(0) == noted_workspace(1));
    CHECK(noted_workspace(2) == args.workspace.handle);
    CHECK(noted_workspace(3) == args.workspace.handle);
    CHECK(noted.launches[0].order & MMT_ORDER_AFTER);
    CHECK(noted.launches[1].order & MMT_ORDER_AFTER);
    CHECK(!(noted.launches[2].order & MMT_ORDER_AFTER));
    CHECK(noted.launches[3].order & MMT_ORDER_AFTER);
    args.workspace.offset = 128;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &noting_error), noting_error,
                MMT_ERROR_ARGUMENT, "multiple of 256");
}

/* ---- matrices in host memory ------------------------------------------------------- */

static mmt_plan *host_plan;

static void execute_host(void)
{
    const struct mmt_host_args host = { noting_numbers[0], noting_numbers[1],
                                        noting_numbers[2], 1, 0 };
    bool started;
    CHECK_OK(mmt_execute_host(host_plan, &host, &started, &noting_error), noting_error);
    CHECK(started);
}

/* One workspace stays for the next execution, and two at a time share none. */
static void test_spare(void)
{
    host_plan = noting_small_plan(false);
    noted_forget();
    noted.meanwhile = execute_host;
    execute_host();
    /* The launches of the inner one come second and third. */
    CHECK_EQ_INT(noted.count, 4);
    CHECK(noted_workspace(1) == noted_workspace(2) &&
          noted_workspace(0) == noted_workspace(3));
    CHECK(noted_workspace(0) != noted_workspace(1));
    CHECK_EQ_STR(noted.trace, "ccucuclccucucllwrffflwrffff");
    noted_forget();
    execute_host();
    CHECK_EQ_STR(noted.trace, "ccucullwrfff");
    mmt_plan_free(host_plan);
    CHECK_EQ_STR(noted.trace, "ccucullwrffff");
}

/* Who has no place for the matrices may compute the product elsewhere. */
static void test_not_started(void)
{
    const struct mmt_host_args host = { noting_numbers[0], noting_numbers[1],
                                        noting_numbers[2], 1, 1 };
    bool started = true;

    host_plan = noting_small_plan(false);
    noted_forget();
    noted.no_memory = true;
    CHECK_FAILS(mmt_execute_host(host_plan, &host, &started, &noting_error), noting_error,
                MMT_ERROR_MEMORY, "no memory");
    CHECK(!started);
    CHECK_EQ_STR(noted.trace, "");
    mmt_plan_free(host_plan);
}

/* C is copied to the noting_device wherever beta does not leave it out. */
static void test_betas(void)
{
    static const double betas[] = { 0, 1, -1, 0.5, -2 };
    const float *a = noting_numbers[0], *b = noting_numbers[1];
    const mmt_blas_transpose no = MMT_NO_TRANSPOSE;
    mmt_blas *blas = mmt_blas_create(noting_device, NULL, &noting_error);
    mmt_plan *plan = noting_plan(mmt_gemm_problem(MMT_F32, 8, 8, 8), "naive", false);

    for (size_t i = 0; i < sizeof betas / sizeof *betas; i++)
        for (int handle = 0; handle < 2; handle++) {
            const struct mmt_host_args host = { a, b, noting_numbers[2], 1, betas[i] };
            bool started;
            noted_forget();
            if (handle)
                CHECK_OK(mmt_gemm_host(blas, MMT_F32, MMT_ROW_MAJOR, no, no, 8, 8, 8, 1,
                                       a, 8, b, 8, betas[i], noting_numbers[2], 8,
                                       &noting_error),
                         noting_error);
            else
                CHECK_OK(mmt_execute_host(plan, &host, &started, &noting_error),
                         noting_error);
            CHECK_EQ_STR(noted.trace, betas[i] ? "cucuculwrfff" : "ccuculwrfff");
            CHECK(noted.launches[0].scalars[1] == betas[i]);
        }
    mmt_plan_free(plan);
    mmt_blas_free(blas);
}

/* Matrices with gaps are copied as they are stored: C first. */
static void test_stored(void)
{
    enum { M = 3, N = 4, K = 5, LD = 9 };
    for (int bits = 0; bits < 4; bits++) {
        const bool a = bits & 1, b = bits & 2;
        const size_t rows[3] = { M, a ? K : M, b ? N : K };
        const size_t columns[3] = { N, a ? M : K, b ? K : N };
        const struct mmt_host_args host = { noting_numbers[0], noting_numbers[1],
                                            noting_numbers[2], 1, 1 };
        mmt_problem problem = mmt_gemm_problem(MMT_F32, M, N, K);
        bool started;

        problem.trans_a = (mmt_transpose) a, problem.trans_b = (mmt_transpose) b;
        problem.lda = problem.ldb = problem.ldc = LD;
        SCOPED_PLAN *plan = noting_plan(problem, "naive", false);
        noted_forget();
        CHECK_OK(mmt_execute_host(plan, &host, &started, &noting_error), noting_error);
        CHECK_EQ_INT(noted.num_rows, 3);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ_INT((int) noted.rows[i].count, (int) rows[i]);
            CHECK_EQ_INT((int) noted.rows[i].bytes, (int) columns[i] * 4);
            CHECK_EQ_INT((int) noted.rows[i].host_step, LD * 4);
            CHECK_EQ_INT((int) noted.rows[i].device_step, LD * 4);
        }
    }
}

int main(void)
{
    if (CHECK(noting_open())) {
        test_queues();
        test_old_plans();
        test_plan_in_use();
        test_own();
        test_spare();
        test_not_started();
        test_betas();
        test_stored();
    }
    noting_close();
    return test_end("lent memory");
}
