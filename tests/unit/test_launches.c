/* What reaches a device: the launches with their memory, order and queue, and what is
 * made, written and waited for round them, noted by a backend that executes nothing. */
#include "runtime/blas.h"
#include "runtime/kernel_internal.h"
#include "runtime/plan.h"
#include "tests/support/test.h"

enum { MOST = 64, MOST_BUFFERS = 8, MOST_INTS = 8 };

struct launch {
    const struct mmt_function *function;
    mmt_queue queue;
    unsigned order;
    uint64_t buffers[MOST_BUFFERS]; /* in the order of the kernel's parameters */
    int32_t ints[MOST_INTS];        /* m, n and k first */
    double scalars[2];
    int num_buffers, num_ints, num_scalars;
    unsigned batch; /* blocks along z */
};

static struct {
    char trace[256]; /* c a buffer made, f freed, u written, r read, w waited, l a launch
                      */
    struct launch launches[MOST];
    int count;
    size_t made;             /* bytes of the last buffer */
    mmt_queue finished;      /* the last one that was waited for */
    void (*meanwhile)(void); /* once, while a launch is queued */
    uint64_t needed[MOST];   /* bytes of each operand */
} seen;

static mmt_device *device;
static mmt_error err;

/* ---- a backend that notes --------------------------------------------------------- */

static void note(char what)
{
    const size_t length = strlen(seen.trace);
    if (CHECK(length + 1 < sizeof seen.trace))
        seen.trace[length] = what;
}

static mmt_status buffer_create(mmt_device *on, size_t bytes, mmt_operand *out,
                                mmt_error *why)
{
    note('c');
    seen.made = bytes;
    return mmt_backend_null.buffer_create(on, bytes, out, why);
}

static void buffer_free(mmt_device *on, mmt_operand buffer)
{
    note('f');
    mmt_backend_null.buffer_free(on, buffer);
}

static mmt_status buffer_write(mmt_device *on, mmt_operand to, const void *from,
                               size_t bytes, mmt_error *why)
{
    note('u');
    return mmt_backend_null.buffer_write(on, to, from, bytes, why);
}

static mmt_status matrix_write(mmt_device *on, mmt_operand to, const void *from,
                               const struct mmt_pitched *rows, mmt_error *why)
{
    note('u');
    return mmt_backend_null.matrix_write(on, to, from, rows, why);
}

static mmt_status buffer_read(mmt_device *on, void *to, mmt_operand from, size_t bytes,
                              mmt_error *why)
{
    note('r');
    return mmt_backend_null.buffer_read(on, to, from, bytes, why);
}

static mmt_status matrix_read(mmt_device *on, void *to, mmt_operand from,
                              const struct mmt_pitched *rows, mmt_error *why)
{
    note('r');
    return mmt_backend_null.matrix_read(on, to, from, rows, why);
}

static mmt_status finish(mmt_device *on, mmt_queue queue, mmt_error *why)
{
    note('w');
    seen.finished = queue;
    return MMT_OK;
}

static mmt_status buffer_check(mmt_device *on, mmt_operand operand, mmt_argument which,
                               uint64_t bytes, mmt_error *why)
{
    if (CHECK((int) which < MOST))
        seen.needed[which] = bytes;
    return MMT_OK;
}

static void note_value(struct launch *to, const struct mmt_value *value)
{
    if (value->kind == MMT_VALUE_BUFFER && to->num_buffers < MOST_BUFFERS)
        to->buffers[to->num_buffers++] = value->buffer;
    if (value->kind == MMT_VALUE_I32 && to->num_ints < MOST_INTS)
        to->ints[to->num_ints++] = value->i32;
    if (value->kind == MMT_VALUE_F32 && to->num_scalars < 2)
        to->scalars[to->num_scalars++] = value->f32;
}

static mmt_status launch(struct mmt_function *function, const unsigned grid[3],
                         const struct mmt_value *values, int count, enum mmt_order order,
                         mmt_queue queue, struct mmt_events *events, mmt_error *why)
{
    void (*const meanwhile)(void) = seen.meanwhile;
    struct launch *to = &seen.launches[seen.count % MOST];

    note('l');
    *to = (struct launch){
        .function = function, .queue = queue, .order = order, .batch = grid[2]
    };
    for (int i = 0; i < count; i++)
        note_value(to, &values[i]);
    seen.count++;
    seen.meanwhile = NULL;
    if (meanwhile)
        meanwhile();
    return MMT_OK;
}

static void forget(void)
{
    memset(&seen, 0, sizeof seen);
}

/* split_naive's first launch has scalars, A, B and the workspace, its second one scalars,
 * C and the workspace. */
enum { SPLIT_A = 1, SPLIT_C = 1 };
#define SPLIT "split_naive BLOCK_M=8 BLOCK_N=32 SPLIT_K=8"

static uint64_t workspace_of(int number)
{
    const struct launch *it = &seen.launches[number];
    return it->buffers[it->num_buffers - 1];
}

static mmt_plan *plan_of(mmt_problem problem, const char *configuration, bool own)
{
    mmt_plan_options options = mmt_plan_defaults();
    options.configuration = configuration;
    options.own_workspace = own;
    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    if (!CHECK(plan))
        fprintf(stderr, "%s\n", err.text);
    return plan;
}

static mmt_plan *small_plan(bool own)
{
    return plan_of(mmt_gemm_problem(MMT_F32, 8, 8, 8), SPLIT, own);
}

static float numbers[3][256];

static mmt_operand operand_of(const void *at)
{
    return (mmt_operand){ (uint64_t) (uintptr_t) at, 0 };
}

static mmt_args usual_args(void)
{
    mmt_args args = mmt_args_defaults();
    args.a = operand_of(numbers[0]);
    args.b = operand_of(numbers[1]);
    args.c = operand_of(numbers[2]);
    return args;
}

/* ---- workspaces of a handle ------------------------------------------------------ */

static void multiply(mmt_blas *blas, int64_t size, mmt_queue queue)
{
    const mmt_args x = usual_args();
    CHECK_OK(mmt_gemm(blas, MMT_F32, MMT_ROW_MAJOR, MMT_NO_TRANSPOSE, MMT_NO_TRANSPOSE,
                      size, size, 8, 1, x.a, 8, x.b, size, 0, x.c, size, queue, &err),
             err);
}

static mmt_blas *handle_of(size_t most)
{
    mmt_blas_options options = mmt_blas_defaults();
    mmt_plan_options plan = mmt_plan_defaults();
    plan.configuration = SPLIT;
    options.plan = &plan;
    options.max_plans = most;
    return mmt_blas_create(device, &options, &err);
}

/* Each queue has its own, which grows when nothing uses it any more, and serves what
 * needs less. */
static void test_queues(void)
{
    const mmt_queue one = (mmt_queue) &numbers[0], two = (mmt_queue) &numbers[1];
    mmt_blas *blas = handle_of(8);

    if (!CHECK(blas))
        return;
    forget();
    multiply(blas, 4, one);
    multiply(blas, 4, two);
    multiply(blas, 4, one);
    CHECK_EQ_STR(seen.trace, "wcllwcllll");
    CHECK(workspace_of(0) && workspace_of(0) == workspace_of(1));
    CHECK(workspace_of(2) == workspace_of(3) && workspace_of(2) != workspace_of(0));
    CHECK(workspace_of(4) == workspace_of(0));
    CHECK(seen.launches[1].queue == one && seen.launches[3].queue == two);

    forget();
    multiply(blas, 8, one);
    CHECK_EQ_STR(seen.trace, "wfcll");
    CHECK(seen.finished == one && seen.made >= 8 * 8 * 8 * sizeof(float));
    multiply(blas, 4, one);
    CHECK_EQ_STR(seen.trace, "wfcllll");

    forget();
    CHECK_OK(mmt_blas_forget(blas, two, &err), err);
    CHECK_EQ_STR(seen.trace, "wf");
    CHECK(seen.finished == two);
    mmt_blas_free(blas);
    CHECK_EQ_STR(seen.trace, "wff");
}

/* A plan is freed when no queue uses it any more. */
static void test_old_plans(void)
{
    mmt_blas *blas = handle_of(1);

    if (!CHECK(blas))
        return;
    multiply(blas, 8, NULL);
    multiply(blas, 8, (mmt_queue) &numbers[0]);
    multiply(blas, 8, (mmt_queue) &numbers[1]);
    forget();
    multiply(blas, 4, NULL);
    CHECK_EQ_STR(seen.trace, "wwwll");
    mmt_blas_free(blas);
}

/* ---- a plan's own workspace ------------------------------------------------------ */

/* Executions that share it follow each other; one that comes with its own is free. */
static void test_own(void)
{
    static _Alignas(256) char given[4096];
    mmt_plan *plan = small_plan(true);
    mmt_args args = usual_args();

    forget();
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    args.workspace = operand_of(given);
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK_EQ_INT(seen.count, 4);
    CHECK(workspace_of(0) == plan->workspace.handle);
    CHECK(workspace_of(0) == workspace_of(1));
    CHECK(workspace_of(2) == args.workspace.handle);
    CHECK(workspace_of(3) == args.workspace.handle);
    CHECK(seen.launches[0].order & MMT_ORDER_AFTER);
    CHECK(seen.launches[1].order & MMT_ORDER_AFTER);
    CHECK(!(seen.launches[2].order & MMT_ORDER_AFTER));
    CHECK(seen.launches[3].order & MMT_ORDER_AFTER);
    args.workspace.offset = 128;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &err), err, MMT_ERROR_ARGUMENT,
                "multiple of 256");
    mmt_plan_free(plan);
}

/* ---- matrices in host memory ------------------------------------------------------- */

static mmt_plan *host_plan;

static void execute_host(void)
{
    const struct mmt_host_args host = { numbers[0], numbers[1], numbers[2], 1, 0 };
    bool started;
    CHECK_OK(mmt_execute_host(host_plan, &host, &started, &err), err);
    CHECK(started);
}

/* One workspace stays for the next execution, and two at a time share none. */
static void test_spare(void)
{
    host_plan = small_plan(false);
    forget();
    seen.meanwhile = execute_host;
    execute_host();
    /* The launches of the inner one come second and third. */
    CHECK_EQ_INT(seen.count, 4);
    CHECK(workspace_of(1) == workspace_of(2) && workspace_of(0) == workspace_of(3));
    CHECK(workspace_of(0) != workspace_of(1));
    CHECK_EQ_STR(seen.trace, "ccucuclccucucllwrffflwrffff");
    forget();
    execute_host();
    CHECK_EQ_STR(seen.trace, "ccucullwrfff");
    mmt_plan_free(host_plan);
    CHECK_EQ_STR(seen.trace, "ccucullwrffff");
}

/* C is copied to the device wherever beta does not leave it out. */
static void test_betas(void)
{
    static const double betas[] = { 0, 1, -1, 0.5, -2 };
    const float *a = numbers[0], *b = numbers[1];
    const mmt_blas_transpose no = MMT_NO_TRANSPOSE;
    mmt_blas *blas = mmt_blas_create(device, NULL, &err);
    mmt_plan *plan = plan_of(mmt_gemm_problem(MMT_F32, 8, 8, 8), "naive", false);

    for (size_t i = 0; i < sizeof betas / sizeof *betas; i++)
        for (int handle = 0; handle < 2; handle++) {
            const struct mmt_host_args host = { a, b, numbers[2], 1, betas[i] };
            bool started;
            forget();
            if (handle)
                CHECK_OK(mmt_gemm_host(blas, MMT_F32, MMT_ROW_MAJOR, no, no, 8, 8, 8, 1,
                                       a, 8, b, 8, betas[i], numbers[2], 8, &err),
                         err);
            else
                CHECK_OK(mmt_execute_host(plan, &host, &started, &err), err);
            CHECK_EQ_STR(seen.trace, betas[i] ? "cucuculwrfff" : "ccuculwrfff");
            CHECK(seen.launches[0].scalars[1] == betas[i]);
        }
    mmt_plan_free(plan);
    mmt_blas_free(blas);
}

/* ---- one execution -------------------------------------------------------------------
 */

/* One operand that begins between vectors takes the kernel that assumes none. */
static void test_kernels(void)
{
    mmt_plan *plan =
        plan_of(mmt_gemm_problem(MMT_F32, 64, 64, 64), "simt C_VECTOR=2", true);
    static _Alignas(256) char memory[256];

    if (!CHECK(plan && plan->aligned && plan->any))
        return;
    const struct mmt_alignment assumed = plan->bound.alignment;
    const size_t bytes[3] = { assumed.a, assumed.b, assumed.c };
    CHECK(assumed.a != assumed.c);
    for (int which = 0; which < 3; which++)
        for (int way = 0; way < 4; way++) {
            const size_t start = way & 1 ? bytes[which] - 4 : bytes[which];
            const size_t by_handle = way & 2 ? 4 : 0;
            mmt_args args = usual_args();
            mmt_operand *const all[] = { &args.a, &args.b, &args.c };
            for (int i = 0; i < 3; i++)
                *all[i] = operand_of(memory);
            all[which]->handle += by_handle;
            all[which]->offset = start - by_handle;
            forget();
            CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
            const struct mmt_kernel *kernel =
                start % bytes[which] ? plan->any : plan->aligned;
            CHECK(seen.launches[0].function == kernel->functions[0]);
        }
    mmt_plan_free(plan);
}

/* What a kernel is told of scalars, and k: A and B are not read where alpha is 0. In the
 * device's memory they may be anything. */
static void test_scalars(void)
{
    static const struct {
        double alpha, beta;
        bool in_memory;
        double told[2];
        int k;
    } ways[] = {
        { 2, -1, false, { 2, -1 }, 9 },
        { 0, 3, false, { 0, 3 }, 0 },
        { 0, 0, true, { 1, 0 }, 9 },
        { 5, 7, true, { 1, 0 }, 9 },
        { -16777217, 1, false, { -16777217, 1 }, 9 },
    };
    static const mmt_type types[] = { MMT_F32, MMT_I32 };

    for (int type = 0; type < 2; type++) {
        mmt_plan *plan = plan_of(mmt_gemm_problem(types[type], 5, 7, 9), "naive", false);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            mmt_args args = usual_args();
            args.alpha = ways[i].alpha, args.beta = ways[i].beta;
            args.scalars = operand_of(ways[i].in_memory ? numbers[0] : NULL);
            forget();
            CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
            const struct launch *it = &seen.launches[0];
            CHECK(it->ints[0] == 5 && it->ints[1] == 7 && it->ints[2] == ways[i].k);
            CHECK(it->buffers[0] == args.scalars.handle);
            for (int j = 0; j < 2; j++)
                CHECK(type ? it->ints[3 + j] == ways[i].told[j]
                           : it->scalars[j] == (float) ways[i].told[j]);
        }
        mmt_plan_free(plan);
    }
}

/* An operation that adds nothing up has its k, also where alpha is 0. */
static void test_grids(void)
{
    mmt_plan *plan = plan_of(mmt_jacobi3d_problem(MMT_F32, 5, 6, 4), NULL, false);
    mmt_args args = usual_args();

    args.alpha = 0;
    forget();
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK_EQ_INT(seen.launches[0].ints[2], plan->problem.k);
    mmt_plan_free(plan);
}

/* Each operand in its own elements: C's and the bias's are those of the output. */
static void test_bytes(void)
{
    mmt_problem problem = mmt_gemm_problem(MMT_BF16, 5, 7, 3);
    mmt_args args = usual_args();

    args.bias = args.scalars = args.c;
    problem.out = MMT_F32;
    problem.lda = 4, problem.ldb = 9, problem.ldc = 8;
    for (int bias = MMT_BIAS_M; bias <= MMT_BIAS_N; bias++) {
        problem.bias = (mmt_bias) bias;
        mmt_plan *plan = plan_of(problem, "naive", false);
        forget();
        CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
        CHECK_EQ_INT(seen.needed[MMT_ARGUMENT_A], (4 * 4 + 3) * 2);
        CHECK_EQ_INT(seen.needed[MMT_ARGUMENT_B], (2 * 9 + 7) * 2);
        CHECK_EQ_INT(seen.needed[MMT_ARGUMENT_C], (4 * 8 + 7) * 4);
        CHECK_EQ_INT(seen.needed[MMT_ARGUMENT_BIAS], (bias == MMT_BIAS_M ? 5 : 7) * 4);
        CHECK_EQ_INT(seen.needed[MMT_ARGUMENT_SCALARS], 2 * 4);
        mmt_plan_free(plan);
    }
}

/* ---- batches -------------------------------------------------------------------------
 */

/* Bytes of partial sums, of a part of the batch that one grid holds. */
static void test_sizes(void)
{
    static const struct {
        int64_t m, n, batch;
        int splits;
    } sizes[] = {
        { 5, 7, 1, 2 },       { 5, 7, 3, 2 },        { 64, 64, 65535, 4 },
        { 64, 64, 65536, 4 }, { 64, 64, 200000, 4 }, { 4096, 4096, 64, 32 },
    };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        mmt_problem problem = mmt_gemm_problem(MMT_F32, sizes[i].m, sizes[i].n, 9);
        const int64_t at_once = sizes[i].batch < 65535 ? sizes[i].batch : 65535;
        char text[64];
        problem.batch = sizes[i].batch;
        snprintf(text, sizeof text, "split_naive SPLIT_K=%d", sizes[i].splits);
        mmt_plan *plan = plan_of(problem, text, false);
        CHECK_EQ_INT((long long) mmt_plan_workspace(plan),
                     4 * sizes[i].splits * sizes[i].m * sizes[i].n * at_once);
        mmt_plan_free(plan);
    }
}

/* Offsets of a list count elements of their own matrix. */
static void test_list(void)
{
    static const int64_t offsets[3][2] = { { 6, 2 }, { 0, 4 }, { 50, 10 } };
    mmt_problem problem = mmt_gemm_problem(MMT_BF16, 3, 3, 3);
    const mmt_args args = usual_args();

    problem.out = MMT_F32;
    mmt_plan *plan = plan_of(problem, "naive", false);
    forget();
    CHECK_OK(mmt_execute_batch(plan, &args, 2, offsets[0], offsets[1], offsets[2], NULL,
                               NULL, NULL, &err),
             err);
    CHECK_EQ_INT(seen.count, 2);
    for (int i = 0; i < 2; i++) {
        const uint64_t *at = seen.launches[i].buffers;
        CHECK(at[1] == args.a.handle + 2 * (uint64_t) offsets[0][i]);
        CHECK(at[2] == args.b.handle + 2 * (uint64_t) offsets[1][i]);
        CHECK(at[3] == args.c.handle + 4 * (uint64_t) offsets[2][i]);
    }
    mmt_plan_free(plan);
}

/* What a configuration is named for stays that problem. */
static void test_folding(void)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 8, 8, 8);

    problem.batch = 3, problem.stride_b = 0;
    problem.stride_a = problem.stride_c = 64;
    for (int named = 0; named < 2; named++) {
        mmt_plan *plan = plan_of(problem, named ? "naive" : NULL, false);
        CHECK_EQ_INT(plan->problem.batch, named ? 3 : 1);
        CHECK_EQ_INT(plan->problem.m, named ? 8 : 24);
        mmt_plan_free(plan);
    }
}

/* Parts of a batch begin at their matrices. They share the workspace, so that each comes
 * after the one before it; without one they may overlap. */
static void test_parts(void)
{
    enum { MOST_Z = 65535, REST = 5, WHOLE = 2 };
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 1, 2, 3);
    static _Alignas(256) char workspace[256];

    problem.batch = WHOLE * MOST_Z + REST;
    problem.stride_a = 4, problem.stride_b = 0, problem.stride_c = 10;
    for (int splits = 0; splits < 2; splits++) {
        const int launches = splits ? 2 : 1, c_at = splits ? SPLIT_C : 3;
        const uint64_t size = splits ? 4 : 2; /* of an element of A; of C it is 4 */
        mmt_args args = usual_args();

        problem.type = splits ? MMT_F32 : MMT_BF16;
        problem.out = MMT_F32;
        mmt_plan *plan = plan_of(problem, splits ? SPLIT : "naive", false);
        args.workspace = operand_of(splits ? workspace : NULL);
        args.c.offset = 8;
        forget();
        CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
        CHECK_EQ_INT(seen.count, launches * (WHOLE + 1));
        for (int part = 0; part <= WHOLE; part++) {
            const struct launch *first = &seen.launches[part * launches];
            const struct launch *last = first + launches - 1;
            const uint64_t done = (uint64_t) part * MOST_Z;
            CHECK_EQ_INT(first->batch, part < WHOLE ? MOST_Z : REST);
            CHECK_EQ_INT(last->batch, part < WHOLE ? MOST_Z : REST);
            CHECK(first->buffers[SPLIT_A] == args.a.handle + 4 * done * size);
            CHECK(first->buffers[SPLIT_A + 1] == args.b.handle);
            CHECK(last->buffers[c_at] == args.c.handle + 8 + 10 * done * 4);
            CHECK_EQ_INT(first->order & MMT_ORDER_AFTER,
                         splits && part ? MMT_ORDER_AFTER : 0);
            CHECK(!splits || last->order & MMT_ORDER_AFTER);
        }
        mmt_plan_free(plan);
    }
}

int main(void)
{
    struct mmt_backend noting = mmt_backend_null;

    noting.buffer_create = buffer_create;
    noting.buffer_free = buffer_free;
    noting.buffer_write = buffer_write;
    noting.buffer_read = buffer_read;
    noting.matrix_write = matrix_write;
    noting.matrix_read = matrix_read;
    noting.finish = finish;
    noting.buffer_check = buffer_check;
    noting.launch = launch;
    device = mmt_device_open("null", &err);
    if (CHECK(device)) {
        device->backend = &noting;
        test_queues();
        test_old_plans();
        test_own();
        test_spare();
        test_betas();
        test_kernels();
        test_scalars();
        test_grids();
        test_bytes();
        test_sizes();
        test_list();
        test_folding();
        test_parts();
    }
    mmt_device_close(device);
    return test_end("launches");
}
