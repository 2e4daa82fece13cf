/* Calls in the manner of BLAS on the null device: wrong arguments one by one, the bound
 * of the plans that are kept, workspaces, many threads. */
#include <limits.h>
#include <math.h>
#include <pthread.h>

#include "runtime/blas.h"
#include "tests/support/device.h"
#include "tests/support/test.h"

static mmt_device *device;

/* ---- wrong arguments -----------------------------------------------------------------
 */

struct call {
    mmt_blas *blas;
    int type, layout, trans_a, trans_b;
    int64_t m, n, k;
    double alpha, beta;
    mmt_operand a, b, c;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
};

static mmt_status call_batched(const struct call *c)
{
    return mmt_gemm_batched(c->blas, (mmt_type) c->type, (mmt_layout) c->layout,
                            (mmt_blas_transpose) c->trans_a,
                            (mmt_blas_transpose) c->trans_b, c->m, c->n, c->k, c->alpha,
                            c->a, c->lda, c->stride_a, c->b, c->ldb, c->stride_b, c->beta,
                            c->c, c->ldc, c->stride_c, c->batch, NULL, &err);
}

static mmt_status call_plain(const struct call *c)
{
    return mmt_gemm(c->blas, (mmt_type) c->type, (mmt_layout) c->layout,
                    (mmt_blas_transpose) c->trans_a, (mmt_blas_transpose) c->trans_b,
                    c->m, c->n, c->k, c->alpha, c->a, c->lda, c->b, c->ldb, c->beta, c->c,
                    c->ldc, NULL, &err);
}

/* Operands are pointers, from which their offsets are counted. */
static mmt_status call_host(const struct call *c)
{
    char *a = (char *) (uintptr_t) c->a.handle, *b = (char *) (uintptr_t) c->b.handle;
    char *to = (char *) (uintptr_t) c->c.handle;
    return mmt_gemm_host(c->blas, (mmt_type) c->type, (mmt_layout) c->layout,
                         (mmt_blas_transpose) c->trans_a, (mmt_blas_transpose) c->trans_b,
                         c->m, c->n, c->k, c->alpha, a ? a + c->a.offset : NULL, c->lda,
                         b ? b + c->b.offset : NULL, c->ldb, c->beta,
                         to ? to + c->c.offset : NULL, c->ldc, &err);
}

static void refuse(mmt_status (*make)(const struct call *), const struct call *call,
                   int number, const char *words)
{
    CHECK_FAILS(make(call), err, MMT_ERROR_ARGUMENT, words);
    CHECK_EQ_INT(mmt_blas_argument(&err), number);
}

/* What all three calls refuse alike. */
static void refuse_all(const struct call *call, int number, const char *words)
{
    refuse(call_plain, call, number, words);
    refuse(call_batched, call, number, words);
    refuse(call_host, call, number, words);
}

#define REFUSED(member, value, number, words)                                            \
    do {                                                                                 \
        struct call wrong = *good;                                                       \
        wrong.member = (value);                                                          \
        refuse_all(&wrong, number, words);                                               \
    } while (0)

/* A is 3 x 5, B is 5 x 7; row-major. */
static void test_arguments(const struct call *good)
{
    CHECK_OK(call_plain(good), err);
    CHECK_OK(call_batched(good), err);
    CHECK_OK(call_host(good), err);
    REFUSED(blas, NULL, MMT_BLAS_HANDLE, "mmt_blas_create");
    REFUSED(type, 9, MMT_BLAS_TYPE, "argument 19, type, is 9");
    REFUSED(layout, 103, 1, "argument 1, layout, is 103; it must be MMT_ROW_MAJOR (101)");
    REFUSED(trans_a, 0, 2, "argument 2, trans_a, is 0; it must be MMT_NO_TRANSPOSE");
    REFUSED(trans_b, 114, 3, "argument 3, trans_b, is 114");
    REFUSED(m, -1, 4, "argument 4, m, is -1; it must be from 0 to 2147418112");
    REFUSED(n, INT32_MAX, 5, "argument 5, n, is 2147483647");
    REFUSED(k, INT64_MIN, 6, "argument 6, k, is -9223372036854775808");
    REFUSED(a.handle, 0, 8, "argument 8, A, is null");
    REFUSED(a.offset, 2, 8, "it must be a multiple of 4");
    REFUSED(lda, 4, 9, "argument 9, lda, is 4; A has rows of 5 elements, so it must be");
    REFUSED(b.handle, 0, 10, "argument 10, B, is null");
    REFUSED(b.offset, 1, 10, "argument 10, B, starts at byte");
    REFUSED(ldb, 6, 11, "argument 11, ldb, is 6; B has rows of 7 elements");
    REFUSED(c.handle, 0, 13, "argument 13, C, is null");
    REFUSED(c.offset, 3, 13, "argument 13, C, starts at byte");
    REFUSED(ldc, -7, 14, "argument 14, ldc, is -7; C has rows of 7 elements");
    REFUSED(ldc, 1ll << 31, 14, "from 7 to 2147483647");
}

/* The names and numbers are the caller's, though operands are swapped. */
static void test_columns(const struct call *rows)
{
    struct call columns = *rows, *good = &columns;
    columns.layout = MMT_COLUMN_MAJOR;
    columns.lda = 3, columns.ldb = 5, columns.ldc = 3;
    CHECK_OK(call_plain(good), err);
    REFUSED(lda, 2, 9, "argument 9, lda, is 2; A has columns of 3 elements");
    REFUSED(ldb, 4, 11, "argument 11, ldb, is 4; B has columns of 5 elements");
    REFUSED(ldc, 2, 14, "argument 14, ldc, is 2; C has columns of 3 elements");
    REFUSED(a.handle, 0, 8, "argument 8, A, is null");
    REFUSED(b.offset, 2, 10, "argument 10, B, starts at byte");
    columns.trans_a = MMT_TRANSPOSE, columns.trans_b = MMT_CONJUGATE_TRANSPOSE;
    REFUSED(lda, 3, 9, "A has columns of 5 elements");
    columns.lda = 5;
    REFUSED(ldb, 5, 11, "B has columns of 7 elements");
}

static void test_whole(const struct call *rows)
{
    struct call whole = *rows, *good = &whole;
    whole.type = MMT_I32;
    CHECK_OK(call_plain(good), err);
    REFUSED(alpha, 0.5, 7, "argument 7, alpha, is 0.5; for i32 it must be a whole");
    REFUSED(beta, NAN, 12, "argument 12, beta, is nan");
    whole.type = MMT_I8; /* whose C has wider elements */
    REFUSED(c.offset, 2, 13, "it must be a multiple of 4");
}

static void test_batch(const struct call *plain)
{
    struct call good = *plain, wrong;
    good.batch = 2, good.stride_a = 15, good.stride_c = 21;
    CHECK_OK(call_batched(&good), err);
    wrong = good, wrong.batch = -1;
    refuse(call_batched, &wrong, 18, "argument 18, batch, is -1");
    wrong = good, wrong.stride_a = -15;
    refuse(call_batched, &wrong, 15, "argument 15, stride_a, is -15");
    wrong = good, wrong.stride_b = INT64_MAX / 2;
    refuse(call_batched, &wrong, 16, "argument 16, stride_b");
    wrong = good, wrong.stride_c = 20;
    refuse(call_batched, &wrong, 17, "argument 17: stride_c is 20");
    wrong = good, wrong.stride_c = -1;
    refuse(call_batched, &wrong, 17, "argument 17, stride_c, is -1");
}

static void test_other_errors(const struct call *good)
{
    mmt_blas_options options = mmt_blas_defaults();
    mmt_plan_options plan = mmt_plan_defaults();

    CHECK_REFUSED(mmt_blas_create(NULL, NULL, &err), MMT_ERROR_ARGUMENT, "");
    options.max_plans = 0;
    CHECK_REFUSED(mmt_blas_create(device, &options, &err), MMT_ERROR_ARGUMENT,
                  "max_plans is 0; it must be at least 1");
    options.max_plans = 1, options.plan = &plan, plan.size = 1;
    CHECK_REFUSED(mmt_blas_create(device, &options, &err), MMT_ERROR_ARGUMENT,
                  "mmt_plan_options");
    CHECK_FAILS(mmt_blas_forget(NULL, NULL, &err), err, MMT_ERROR_ARGUMENT, "handle");

    plan = mmt_plan_defaults(), plan.configuration = "nothing";
    struct call call = *good;
    call.blas = mmt_blas_create(device, &options, &err);
    CHECK_FAILS(call_plain(&call), err, MMT_ERROR_ARGUMENT, "nothing");
    CHECK_EQ_INT(mmt_blas_argument(&err), 0);
    CHECK_EQ_INT(mmt_blas_argument(NULL), 0);
    CHECK_EQ_INT((int) mmt_blas_count_plans(call.blas), 0);
    mmt_blas_free(call.blas);
    mmt_blas_free(NULL);
}

/* Options of a header that has a member more. */
static void test_newer_options(void)
{
    struct {
        mmt_blas_options known;
        int64_t added;
    } newer = { .added = 1 };

    mmt_blas_options_init(&newer.known, sizeof newer);
    CHECK(newer.known.size == sizeof newer && !newer.added);
    mmt_blas *blas = mmt_blas_create(device, &newer.known, &err);
    CHECK(blas);
    mmt_blas_free(blas);
    newer.added = 1;
    CHECK_REFUSED(mmt_blas_create(device, &newer.known, &err), MMT_ERROR_UNSUPPORTED,
                  "mmt_blas_options");
}

/* ---- plans that are kept -------------------------------------------------------------
 */

static size_t count_after(const struct call *good, int64_t m)
{
    struct call call = *good;
    call.m = m;
    CHECK_OK(call_plain(&call), err);
    return mmt_blas_count_plans(good->blas);
}

static mmt_blas *handle_of(size_t max_plans, const char *configuration)
{
    mmt_blas_options options = mmt_blas_defaults();
    mmt_plan_options plan = mmt_plan_defaults();
    plan.configuration = configuration;
    options.max_plans = max_plans, options.plan = &plan;
    mmt_blas *blas = mmt_blas_create(device, &options, &err);
    CHECK(blas);
    return blas;
}

static void test_bound(const struct call *usual)
{
    struct call good = *usual;

    good.blas = handle_of(8, NULL);
    for (int64_t m = 1; m <= 8; m++)
        CHECK_EQ_INT((int) count_after(&good, m), (int) m);
    CHECK_EQ_INT((int) count_after(&good, 1), 8); /* there already, and now the newest */
    CHECK_EQ_INT((int) count_after(&good, 9), 6); /* without 2, 3 and 4 */
    CHECK_EQ_INT((int) count_after(&good, 1), 6);
    CHECK_EQ_INT((int) count_after(&good, 5), 6);
    CHECK_EQ_INT((int) count_after(&good, 4), 7);
    mmt_blas_free(good.blas);

    good.blas = handle_of(1, NULL);
    for (int64_t m = 1; m <= 5; m++)
        CHECK_EQ_INT((int) count_after(&good, m), 1);
    mmt_blas_free(good.blas);
}

/* A row-major product is another column-major one: the same plan serves both. */
static void test_swapped(const struct call *usual)
{
    struct call good = *usual;
    good.blas = handle_of(8, NULL);
    CHECK_OK(call_plain(&good), err);
    struct call columns = good;
    columns.layout = MMT_COLUMN_MAJOR;
    columns.m = good.n, columns.n = good.m;
    columns.a = good.b, columns.b = good.a;
    columns.lda = good.ldb, columns.ldb = good.lda;
    CHECK_OK(call_plain(&columns), err);
    CHECK_EQ_INT((int) mmt_blas_count_plans(good.blas), 1);
    columns.alpha = 3, columns.beta = 2;
    CHECK_OK(call_plain(&columns), err);
    CHECK_EQ_INT((int) mmt_blas_count_plans(good.blas), 1);
    struct call alone = good; /* no other matrix is a stride away */
    alone.stride_a = alone.stride_b = alone.stride_c = 64;
    CHECK_OK(call_batched(&alone), err);
    CHECK_EQ_INT((int) mmt_blas_count_plans(good.blas), 1);
    columns.trans_a = MMT_TRANSPOSE, columns.lda = good.k;
    CHECK_OK(call_plain(&columns), err);
    CHECK_EQ_INT((int) mmt_blas_count_plans(good.blas), 2);
    mmt_blas_free(good.blas);
}

/* ---- threads and queues --------------------------------------------------------------
 */

enum { THREADS = 8, ROUNDS = 20, HANDLES = 32 };

static pthread_barrier_t start;

struct worker {
    struct call call;
    int number;
};

/* Each has a queue that is its own for a while, and the device's for the rest. */
static void *call_often(void *argument)
{
    struct worker *worker = argument;
    mmt_error own;
    mmt_queue queue = (mmt_queue) &worker->number;

    pthread_barrier_wait(&start);
    for (int round = 0; round < ROUNDS; round++) {
        const struct call *c = &worker->call;
        const mmt_queue on = round % 3 ? queue : NULL;
        CHECK_OK(mmt_gemm(c->blas, MMT_F32, MMT_ROW_MAJOR, MMT_NO_TRANSPOSE,
                          MMT_NO_TRANSPOSE, 1 + (round * (1 + worker->number)) % 7, c->n,
                          c->k, 1, c->a, c->lda, c->b, c->ldb, 0, c->c, c->ldc, on, &own),
                 own);
        if (round % 10 == 9)
            CHECK_OK(mmt_blas_forget(c->blas, queue, &own), own);
    }
    return NULL;
}

static void test_threads(const struct call *good, const char *configuration)
{
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    mmt_blas *blas = handle_of(4, configuration);
    const unsigned long long before = mmt_null_launches(device);

    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ *good, i };
        workers[i].call.blas = blas;
        pthread_create(&threads[i], NULL, call_often, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    CHECK(mmt_blas_count_plans(blas) <= 4);
    CHECK(mmt_null_launches(device) - before >= THREADS * ROUNDS);
    mmt_blas_free(blas);
}

int main(void)
{
    static float a[64], b[64], c[128];
    device = open_device("null");
    const struct call good = { .blas = mmt_blas_create(device, NULL, &err),
                               .type = MMT_F32,
                               .layout = MMT_ROW_MAJOR,
                               .trans_a = MMT_NO_TRANSPOSE,
                               .trans_b = MMT_NO_TRANSPOSE,
                               .m = 3,
                               .n = 7,
                               .k = 5,
                               .alpha = 1,
                               .beta = 1,
                               .a = { (uint64_t) (uintptr_t) a, 0 },
                               .b = { (uint64_t) (uintptr_t) b, 0 },
                               .c = { (uint64_t) (uintptr_t) c, 0 },
                               .lda = 5,
                               .ldb = 7,
                               .ldc = 7,
                               .batch = 1 };
    test_arguments(&good);
    test_columns(&good);
    test_whole(&good);
    test_batch(&good);
    test_other_errors(&good);
    test_newer_options();
    test_bound(&good);
    test_swapped(&good);
    test_threads(&good, NULL);
    /* All begin with a workspace that none has made yet. */
    for (int i = 0; i < HANDLES; i++)
        test_threads(&good, "split_naive");
    mmt_blas_free(good.blas);
    mmt_device_close(device);
    return test_end("calls in the manner of BLAS");
}
