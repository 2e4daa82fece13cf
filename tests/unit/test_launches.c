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
    bool no_memory;          /* for another buffer */
    size_t made;             /* bytes of the last buffer */
    mmt_queue finished;      /* the last one that was waited for */
    void (*meanwhile)(void); /* once, while a launch is queued */
    struct mmt_tensor tensors[MOST];
    int num_tensors;
    struct mmt_pitched rows[4]; /* of matrices with gaps, as they are written */
    int num_rows;
    uint64_t needed[MOST]; /* bytes of each operand */
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
    if (seen.no_memory)
        return mmt_fail(why, MMT_ERROR_MEMORY, "no memory");
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
    seen.rows[seen.num_rows++ % 4] = *rows;
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

static mmt_status tensor_map_encode(mmt_device *on, const struct mmt_tensor *tensor,
                                    struct mmt_tensor_map *out, mmt_error *why)
{
    seen.tensors[seen.num_tensors++ % MOST] = *tensor;
    return mmt_backend_null.tensor_map_encode(on, tensor, out, why);
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

static mmt_blas *busy;

static void multiply_another(void)
{
    multiply(busy, 4, (mmt_queue) &numbers[1]);
}

/* A plan whose launches are being queued stays, though there are too many. */
static void test_plan_in_use(void)
{
    busy = handle_of(1);
    if (!CHECK(busy))
        return;
    forget();
    seen.meanwhile = multiply_another;
    multiply(busy, 8, (mmt_queue) &numbers[0]);
    CHECK_EQ_STR(seen.trace, "wclwclll");
    mmt_blas_free(busy);
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

/* Who has no place for the matrices may compute the product elsewhere. */
static void test_not_started(void)
{
    const struct mmt_host_args host = { numbers[0], numbers[1], numbers[2], 1, 1 };
    bool started = true;

    host_plan = small_plan(false);
    forget();
    seen.no_memory = true;
    CHECK_FAILS(mmt_execute_host(host_plan, &host, &started, &err), err, MMT_ERROR_MEMORY,
                "no memory");
    CHECK(!started);
    CHECK_EQ_STR(seen.trace, "");
    mmt_plan_free(host_plan);
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

/* Matrices with gaps are copied as they are stored: C first. */
static void test_stored(void)
{
    enum { M = 3, N = 4, K = 5, LD = 9 };
    for (int bits = 0; bits < 4; bits++) {
        const bool a = bits & 1, b = bits & 2;
        const size_t rows[3] = { M, a ? K : M, b ? N : K };
        const size_t columns[3] = { N, a ? M : K, b ? K : N };
        const struct mmt_host_args host = { numbers[0], numbers[1], numbers[2], 1, 1 };
        mmt_problem problem = mmt_gemm_problem(MMT_F32, M, N, K);
        bool started;

        problem.trans_a = (mmt_transpose) a, problem.trans_b = (mmt_transpose) b;
        problem.lda = problem.ldb = problem.ldc = LD;
        mmt_plan *plan = plan_of(problem, "naive", false);
        forget();
        CHECK_OK(mmt_execute_host(plan, &host, &started, &err), err);
        CHECK_EQ_INT(seen.num_rows, 3);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ_INT((int) seen.rows[i].count, (int) rows[i]);
            CHECK_EQ_INT((int) seen.rows[i].bytes, (int) columns[i] * 4);
            CHECK_EQ_INT((int) seen.rows[i].host_step, LD * 4);
            CHECK_EQ_INT((int) seen.rows[i].device_step, LD * 4);
        }
        mmt_plan_free(plan);
    }
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

/* ---- tensor maps
 * ----------------------------------------------------------------------- */

enum { MAP_M = 192, MAP_N = 128, MAP_K = 64, MAP_BATCH = 65535 };

static void check_tensor(const struct mmt_tensor *it, uint64_t address, int64_t rows,
                         int64_t columns, int64_t ld, int64_t stride)
{
    CHECK(it->address == address);
    CHECK_EQ_INT(it->outer, rows);
    CHECK_EQ_INT(it->inner, columns);
    CHECK_EQ_INT(it->ld, 2 * ld);
    CHECK_EQ_INT(it->stride, 2 * stride);
}

/* Maps are of matrices as they are stored, from a part's first one on; of packed ones in
 * the workspace, which each part fills anew. */
static void check_maps(bool transposed, bool packed)
{
    static _Alignas(256) char workspace[256];
    mmt_problem problem = mmt_gemm_problem(MMT_BF16, MAP_M, MAP_N, MAP_K);
    mmt_args args = usual_args();
    const int64_t stride = 1 << 16;

    problem.trans_a = problem.trans_b = (mmt_transpose) transposed;
    problem.lda = 256, problem.ldb = 512, problem.ldc = 136;
    problem.batch = MAP_BATCH + 2;
    problem.stride_a = stride, problem.stride_b = 2 * stride,
    problem.stride_c = 3 * stride;
    if (packed) /* rows that TMA does not take */
        problem.lda++, problem.ldb++;
    args.a.offset = 16, args.b.offset = 32, args.c.offset = 64;
    args.workspace = operand_of(workspace);
    mmt_plan *plan = plan_of(
        problem,
        packed ? "wgmma TILE_M=64 TILE_N=64 CONSUMERS=1 CLUSTER=1x1 STAGES=2 "
                 "EPILOGUE_STAGES=0 PACK_A=1 PACK_B=1"
               : "wgmma TILE_M=64 TILE_N=64 CONSUMERS=1 CLUSTER=1x1 EPILOGUE_STAGES=1",
        false);
    forget();
    CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
    CHECK_EQ_INT(seen.num_tensors, packed ? 4 : 6);
    const struct mmt_launches *launches = &mmt_plan_kernel(plan)->whole.launches;
    for (int i = 0; i < seen.count; i++)
        CHECK_EQ_INT((seen.launches[i].order & MMT_ORDER_WAITS) != 0,
                     launches->launch[i % launches->count].pdl_waits);
    for (int part = 0; part < 2; part++) {
        const struct mmt_tensor *it = &seen.tensors[part * seen.num_tensors / 2];
        const uint64_t done = (uint64_t) part * MAP_BATCH * 2 * (uint64_t) stride;
        const int64_t a[2] = { MAP_M, MAP_K }, b[2] = { MAP_K, MAP_N };
        for (int i = 0; i < seen.num_tensors / 2; i++)
            CHECK_EQ_INT(it[i].batch, part ? 2 : MAP_BATCH);
        if (packed) {
            check_tensor(&it[0], args.workspace.handle, MAP_M, MAP_K, MAP_K,
                         MAP_M * MAP_K);
            check_tensor(&it[1],
                         args.workspace.handle +
                             (uint64_t) it[0].batch * MAP_M * MAP_K * 2,
                         MAP_N, MAP_K, MAP_K, MAP_N * MAP_K);
            continue;
        }
        check_tensor(&it[0], args.a.handle + 16 + done, a[transposed], a[!transposed],
                     256, stride);
        check_tensor(&it[1], args.b.handle + 32 + 2 * done, b[transposed], b[!transposed],
                     512, 2 * stride);
        check_tensor(&it[2], args.c.handle + 64 + 3 * done, MAP_M, MAP_N, 136,
                     3 * stride);
    }
    mmt_plan_free(plan);
}

static void test_maps(void)
{
    const struct mmt_caps usual = device->caps;

    device->caps.sm = 90;
    device->caps.shared = 227 << 10, device->caps.shared_per_sm = 228 << 10;
    snprintf(device->caps.architecture, sizeof device->caps.architecture, "sm_90a");
    for (int way = 0; way < 3; way++)
        check_maps(way == 1, way == 2);
    device->caps = usual;
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
    noting.tensor_map_encode = tensor_map_encode;
    device = mmt_device_open("null", &err);
    if (CHECK(device)) {
        device->backend = &noting;
        test_queues();
        test_old_plans();
        test_plan_in_use();
        test_own();
        test_spare();
        test_not_started();
        test_betas();
        test_stored();
        test_kernels();
        test_scalars();
        test_grids();
        test_bytes();
        test_sizes();
        test_list();
        test_maps();
        test_folding();
        test_parts();
    }
    mmt_device_close(device);
    return test_end("launches");
}
