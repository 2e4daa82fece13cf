/* What one execution and a list hand to kernels: operands, scalars, tensor maps, and the
 * parts of large batches. */
#include "tests/support/noting.h"
#include "tests/support/test.h"

/* ---- one execution -------------------------------------------------------------------
 */

/* One operand that begins between vectors takes the kernel that assumes none. */
static void test_kernels(void)
{
    SCOPED_PLAN *plan =
        noting_plan(mmt_gemm_problem(MMT_F32, 64, 64, 64), "simt C_VECTOR=2", true);
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
            mmt_args args = noting_args();
            mmt_operand *const all[] = { &args.a, &args.b, &args.c };
            for (int i = 0; i < 3; i++)
                *all[i] = noting_operand(memory);
            all[which]->handle += by_handle;
            all[which]->offset = start - by_handle;
            noted_forget();
            CHECK_OK(mmt_execute(plan, &args, NULL, &noting_error), noting_error);
            const struct mmt_kernel *kernel =
                start % bytes[which] ? plan->any : plan->aligned;
            CHECK(noted.launches[0].function == kernel->functions[0]);
        }
}

/* What a kernel is told of scalars, and k: A and B are not read where alpha is 0. In the
 * noting_device's memory they may be anything. */
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
        SCOPED_PLAN *plan =
            noting_plan(mmt_gemm_problem(types[type], 5, 7, 9), "naive", false);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            mmt_args args = noting_args();
            args.alpha = ways[i].alpha, args.beta = ways[i].beta;
            args.scalars = noting_operand(ways[i].in_memory ? noting_numbers[0] : NULL);
            noted_forget();
            CHECK_OK(mmt_execute(plan, &args, NULL, &noting_error), noting_error);
            const struct launch *it = &noted.launches[0];
            CHECK(it->ints[0] == 5 && it->ints[1] == 7 && it->ints[2] == ways[i].k);
            CHECK(it->buffers[0] == args.scalars.handle);
            for (int j = 0; j < 2; j++)
                CHECK(type ? it->ints[3 + j] == ways[i].told[j]
                           : it->scalars[j] == (float) ways[i].told[j]);
        }
    }
}

/* An operation that adds nothing up has its k, also where alpha is 0. */
static void test_grids(void)
{
    SCOPED_PLAN *plan = noting_plan(mmt_jacobi3d_problem(MMT_F32, 5, 6, 4), NULL, false);
    mmt_args args = noting_args();

    args.alpha = 0;
    noted_forget();
    CHECK_OK(mmt_execute(plan, &args, NULL, &noting_error), noting_error);
    CHECK_EQ_INT(noted.launches[0].ints[2], plan->problem.k);
}

/* Each operand in its own elements: C's and the bias's are those of the output. */
static void test_bytes(void)
{
    mmt_problem problem = mmt_gemm_problem(MMT_BF16, 5, 7, 3);
    mmt_args args = noting_args();

    args.bias = args.scalars = args.c;
    problem.out = MMT_F32;
    problem.lda = 4, problem.ldb = 9, problem.ldc = 8;
    for (int bias = MMT_BIAS_M; bias <= MMT_BIAS_N; bias++) {
        problem.bias = (mmt_bias) bias;
        SCOPED_PLAN *plan = noting_plan(problem, "naive", false);
        noted_forget();
        CHECK_OK(mmt_execute(plan, &args, NULL, &noting_error), noting_error);
        CHECK_EQ_INT(noted.needed[MMT_ARGUMENT_A], (4 * 4 + 3) * 2);
        CHECK_EQ_INT(noted.needed[MMT_ARGUMENT_B], (2 * 9 + 7) * 2);
        CHECK_EQ_INT(noted.needed[MMT_ARGUMENT_C], (4 * 8 + 7) * 4);
        CHECK_EQ_INT(noted.needed[MMT_ARGUMENT_BIAS], (bias == MMT_BIAS_M ? 5 : 7) * 4);
        CHECK_EQ_INT(noted.needed[MMT_ARGUMENT_SCALARS], 2 * 4);
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
        SCOPED_PLAN *plan = noting_plan(problem, text, false);
        CHECK_EQ_INT((long long) mmt_plan_workspace(plan),
                     4 * sizes[i].splits * sizes[i].m * sizes[i].n * at_once);
    }
}

/* Offsets of a list count elements of their own matrix. */
static void test_list(void)
{
    static const int64_t offsets[3][2] = { { 6, 2 }, { 0, 4 }, { 50, 10 } };
    mmt_problem problem = mmt_gemm_problem(MMT_BF16, 3, 3, 3);
    const mmt_args args = noting_args();

    problem.out = MMT_F32;
    SCOPED_PLAN *plan = noting_plan(problem, "naive", false);
    noted_forget();
    CHECK_OK(mmt_execute_batch(plan, &args, 2, offsets[0], offsets[1], offsets[2], NULL,
                               NULL, NULL, &noting_error),
             noting_error);
    CHECK_EQ_INT(noted.count, 2);
    for (int i = 0; i < 2; i++) {
        const uint64_t *at = noted.launches[i].buffers;
        CHECK(at[1] == args.a.handle + 2 * (uint64_t) offsets[0][i]);
        CHECK(at[2] == args.b.handle + 2 * (uint64_t) offsets[1][i]);
        CHECK(at[3] == args.c.handle + 4 * (uint64_t) offsets[2][i]);
    }
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
    mmt_args args = noting_args();
    const int64_t stride = 1 << 16;

    problem.trans_a = problem.trans_b = (mmt_transpose) transposed;
    problem.lda = 256, problem.ldb = 512, problem.ldc = 136;
    problem.batch = MAP_BATCH + 2;
    problem.stride_a = stride, problem.stride_b = 2 * stride,
    problem.stride_c = 3 * stride;
    if (packed) /* rows that TMA does not take */
        problem.lda++, problem.ldb++;
    args.a.offset = 16, args.b.offset = 32, args.c.offset = 64;
    args.workspace = noting_operand(workspace);
    SCOPED_PLAN *plan = noting_plan(
        problem,
        packed ? "wgmma TILE_M=64 TILE_N=64 CONSUMERS=1 CLUSTER=1x1 STAGES=2 "
                 "EPILOGUE_STAGES=0 PACK_A=1 PACK_B=1"
               : "wgmma TILE_M=64 TILE_N=64 CONSUMERS=1 CLUSTER=1x1 EPILOGUE_STAGES=1",
        false);
    noted_forget();
    CHECK_OK(mmt_execute(plan, &args, NULL, &noting_error), noting_error);
    CHECK_EQ_INT(noted.num_tensors, packed ? 4 : 6);
    const struct mmt_launches *launches = &mmt_plan_kernel(plan)->whole.launches;
    for (int i = 0; i < noted.count; i++)
        CHECK_EQ_INT((noted.launches[i].order & MMT_ORDER_WAITS) != 0,
                     launches->launch[i % launches->count].pdl_waits);
    for (int part = 0; part < 2; part++) {
        const struct mmt_tensor *it = &noted.tensors[part * noted.num_tensors / 2];
        const uint64_t done = (uint64_t) part * MAP_BATCH * 2 * (uint64_t) stride;
        const int64_t a[2] = { MAP_M, MAP_K }, b[2] = { MAP_K, MAP_N };
        for (int i = 0; i < noted.num_tensors / 2; i++)
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
}

static void test_maps(void)
{
    const struct mmt_caps usual = noting_device->caps;

    noting_device->caps.sm = 90;
    noting_device->caps.shared = 227 << 10, noting_device->caps.shared_per_sm = 228 << 10;
    snprintf(noting_device->caps.architecture, sizeof noting_device->caps.architecture,
             "sm_90a");
    for (int way = 0; way < 3; way++)
        check_maps(way == 1, way == 2);
    noting_device->caps = usual;
}

/* What a configuration is named for stays that problem. */
static void test_folding(void)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 8, 8, 8);

    problem.batch = 3, problem.stride_b = 0;
    problem.stride_a = problem.stride_c = 64;
    for (int named = 0; named < 2; named++) {
        SCOPED_PLAN *plan = noting_plan(problem, named ? "naive" : NULL, false);
        CHECK_EQ_INT(plan->problem.batch, named ? 3 : 1);
        CHECK_EQ_INT(plan->problem.m, named ? 8 : 24);
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
        mmt_args args = noting_args();

        problem.type = splits ? MMT_F32 : MMT_BF16;
        problem.out = MMT_F32;
        SCOPED_PLAN *plan = noting_plan(problem, splits ? SPLIT : "naive", false);
        args.workspace = noting_operand(splits ? workspace : NULL);
        args.c.offset = 8;
        noted_forget();
        CHECK_OK(mmt_execute(plan, &args, NULL, &noting_error), noting_error);
        CHECK_EQ_INT(noted.count, launches * (WHOLE + 1));
        for (int part = 0; part <= WHOLE; part++) {
            const struct launch *first = &noted.launches[part * launches];
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
    }
}

/* Of a batch by pointers parts begin at their pointers, whatever strides were given. The
 * matrices are unaligned unless the caller promised more. */
static void test_pointers(void)
{
    enum { MOST_Z = 65535, REST = 5 };
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 8, 8, 8);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_args args = noting_args();

    problem.batch = MOST_Z + REST, problem.batch_by = MMT_BY_POINTERS;
    problem.stride_a = 4, problem.stride_c = 1;
    args.c.offset = 8;
    SCOPED_PLAN *plan = noting_plan(problem, "naive", false);
    noted_forget();
    CHECK_OK(mmt_execute(plan, &args, NULL, &noting_error), noting_error);
    CHECK_EQ_INT(noted.count, 2);
    for (int part = 0; part < 2; part++) {
        const struct launch *launch = &noted.launches[part];
        const uint64_t done = (uint64_t) part * MOST_Z * 8;
        CHECK(launch->buffers[1] == args.a.handle + done);
        CHECK(launch->buffers[2] == args.b.handle + done);
        CHECK(launch->buffers[3] == args.c.handle + 8 + done);
    }
    CHECK(plan->bytes.a == 8 * (uint64_t) problem.batch &&
          plan->bytes.c == plan->bytes.a);
    const int64_t offsets[] = { 0 };
    CHECK_FAILS(mmt_execute_batch(plan, &args, 1, offsets, offsets, offsets, NULL, NULL,
                                  NULL, &noting_error),
                noting_error, MMT_ERROR_UNSUPPORTED, "offsets do not move");
    args.b.offset = 4;
    CHECK_FAILS(mmt_execute(plan, &args, NULL, &noting_error), noting_error,
                MMT_ERROR_ARGUMENT, "B starts at byte");
    options.configuration = "simt COPY=registers";
    for (int promised = 0; promised < 2; promised++) {
        options.aligned_only = promised;
        SCOPED_PLAN *vectors =
            mmt_plan_create(noting_device, NULL, &problem, &options, &noting_error);
        CHECK(vectors && (vectors->aligned != NULL) == promised &&
              (vectors->any != NULL) == !promised);
    }
}

int main(void)
{
    if (CHECK(noting_open())) {
        test_kernels();
        test_scalars();
        test_grids();
        test_bytes();
        test_sizes();
        test_list();
        test_maps();
        test_folding();
        test_parts();
        test_pointers();
    }
    noting_close();
    return test_end("launches");
}
