/* A program of CLBlast on ours: products of all layouts and types against sums in f64 on
 * the host, and what is answered where an argument is wrong. Numbers are so small that
 * every sum is exact in every type: there is no tolerance. */
#include <pthread.h>

#include "dropin/clblast/clblast.h"
#include "tests/support/test.h"

static cl_context context;
static cl_device_id device;

enum { MOST = 1 << 14 }; /* elements of a buffer */
enum { GUARD = -77 };    /* what stands where nothing may be written */

/* ---- numbers ---------------------------------------------------------------------- */

enum type { S, D, H };
static const size_t sizes[] = { sizeof(cl_float), sizeof(cl_double), sizeof(cl_half) };
static const char *const names[] = { "f32", "f64", "f16" };

/* Of whole numbers up to 2048 and their halves and quarters, which f16 holds. */
static cl_half half_of(double x)
{
    const double size = x < 0 ? -x : x;
    int exponent = 0;
    double fraction = size;
    if (!size)
        return 0;
    for (; fraction >= 2; exponent++)
        fraction /= 2;
    for (; fraction < 1; exponent--)
        fraction *= 2;
    return (cl_half) ((x < 0) << 15 | (exponent + 15) << 10 |
                      (int) ((fraction - 1) * 1024));
}

static double of_half(cl_half bits)
{
    double x = bits & 0x7fff ? 1 + (bits & 1023) / 1024.0 : 0;
    for (int e = (bits >> 10 & 31) - 15; e > 0; e--)
        x *= 2;
    for (int e = (bits >> 10 & 31) - 15; e < 0 && x; e++)
        x /= 2;
    return bits >> 15 ? -x : x;
}

static void put(enum type type, void *data, size_t i, double x)
{
    if (type == S)
        ((cl_float *) data)[i] = (cl_float) x;
    else if (type == D)
        ((cl_double *) data)[i] = x;
    else
        ((cl_half *) data)[i] = half_of(x);
}

static double get(enum type type, const void *data, size_t i)
{
    return type == S   ? ((const cl_float *) data)[i]
           : type == D ? ((const cl_double *) data)[i]
                       : of_half(((const cl_half *) data)[i]);
}

/* From -2 to 2, without a period, so that no place can be taken for another. */
static double number(size_t i, size_t salt)
{
    const uint64_t mixed = (uint64_t) (i + salt * MOST) * 0x9e3779b97f4a7c15;
    return (double) ((mixed >> 32) * 5 >> 32) - 2;
}

/* ---- matrices -----------------------------------------------------------------------
 */

/* The same numbers on the host and on the device; every thread has its own. */
struct matrix {
    enum type type;
    double host[MOST];
    cl_mem buffer;
};

static void fill(struct matrix *x, enum type type, size_t salt, cl_command_queue queue)
{
    static _Thread_local char data[MOST * sizeof(double)];
    cl_int code = 0;
    x->type = type;
    for (size_t i = 0; i < MOST; i++)
        put(type, data, i, x->host[i] = salt ? number(i, salt) : GUARD);
    if (!x->buffer)
        x->buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof data, NULL, &code);
    CHECK(!code);
    CHECK(!clEnqueueWriteBuffer(queue, x->buffer, CL_TRUE, 0, MOST * sizes[type], data, 0,
                                NULL, NULL));
}

/* Elements that differ from what the host has, those that nobody may write included. */
static int count_wrong(const struct matrix *x, cl_command_queue queue)
{
    static _Thread_local char data[MOST * sizeof(double)];
    int wrong = 0;
    CHECK(!clEnqueueReadBuffer(queue, x->buffer, CL_TRUE, 0, MOST * sizes[x->type], data,
                               0, NULL, NULL));
    for (size_t i = 0; i < MOST; i++)
        wrong += get(x->type, data, i) != x->host[i];
    return wrong;
}

/* ---- products -------------------------------------------------------------------------
 */

struct product {
    enum type type;
    int layout, trans_a, trans_b;
    size_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
    size_t a, b, c; /* offsets */
};

static size_t at(int layout, int trans, size_t i, size_t j, size_t ld)
{
    const bool along = (layout == CLBLAST_ROW_MAJOR) == (trans == CLBLAST_NO);
    return along ? i * ld + j : i + j * ld;
}

static void multiply_on_host(const struct product *p, const struct matrix *a,
                             const struct matrix *b, struct matrix *c)
{
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (size_t l = 0; l < p->k; l++)
                sum += a->host[p->a + at(p->layout, p->trans_a, i, l, p->lda)] *
                       b->host[p->b + at(p->layout, p->trans_b, l, j, p->ldb)];
            double *out = &c->host[p->c + at(p->layout, CLBLAST_NO, i, j, p->ldc)];
            *out = p->alpha * sum + (p->beta ? p->beta * *out : 0);
        }
}

static int multiply(const struct product *p, const struct matrix *a,
                    const struct matrix *b, const struct matrix *c,
                    cl_command_queue *queue, cl_event *event)
{
#define CALL(function, alpha, beta)                                                      \
    function(p->layout, p->trans_a, p->trans_b, p->m, p->n, p->k, alpha, a->buffer,      \
             p->a, p->lda, b->buffer, p->b, p->ldb, beta, c->buffer, p->c, p->ldc,       \
             queue, event)
    return p->type == S   ? CALL(CLBlastSgemm, (float) p->alpha, (float) p->beta)
           : p->type == D ? CALL(CLBlastDgemm, p->alpha, p->beta)
                          : CALL(CLBlastHgemm, half_of(p->alpha), half_of(p->beta));
#undef CALL
}

/* Leading dimensions with that many elements to spare. */
static void lay_out(struct product *p, size_t spare)
{
    const bool row = p->layout == CLBLAST_ROW_MAJOR;
    p->lda = (row == (p->trans_a == CLBLAST_NO) ? p->k : p->m) + spare;
    p->ldb = (row == (p->trans_b == CLBLAST_NO) ? p->n : p->k) + spare;
    p->ldc = (row ? p->n : p->m) + spare;
}

static cl_command_queue make_queue(cl_command_queue_properties properties)
{
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(context, device, properties, &code);
    CHECK(!code);
    return queue;
}

static void finish(cl_event event)
{
    cl_int state = CL_QUEUED;
    CHECK(!clWaitForEvents(1, &event));
    CHECK(!clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                          NULL));
    CHECK_EQ_INT(state, CL_COMPLETE);
    CHECK(!clReleaseEvent(event));
}

static void try_product(const struct product *p, struct matrix m[3],
                        cl_command_queue queue)
{
    cl_event event = NULL;
    fill(&m[0], p->type, 1, queue);
    fill(&m[1], p->type, 2, queue);
    fill(&m[2], p->type, p->beta ? 3 : 0, queue);
    multiply_on_host(p, &m[0], &m[1], &m[2]);
    if (!CHECK_EQ_INT(multiply(p, &m[0], &m[1], &m[2], &queue, &event), 0))
        return;
    finish(event);
    if (!CHECK_EQ_INT(count_wrong(&m[2], queue), 0))
        fprintf(stderr, "    %s, layout %d, transposes %d %d, %zu x %zu x %zu\n",
                names[p->type], p->layout, p->trans_a, p->trans_b, p->m, p->n, p->k);
}

static bool has_f64(void)
{
    cl_device_fp_config config = 0;
    clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof config, &config, NULL);
    return config;
}

static void test_products(struct matrix m[3])
{
    static const struct product products[] = {
        { .m = 5, .n = 7, .k = 3, .alpha = 1, .beta = 0 },
        { .m = 33, .n = 18, .k = 21, .alpha = 2, .beta = 0.5, .a = 3, .b = 5, .c = 1 },
    };
    static const double betas[] = { 0.5, 1, -1, -0.5 };
    cl_command_queue queue = make_queue(0);

    /* All ways of one type, and each layout and transpose of the others. */
    for (enum type type = S; type <= H; type++)
        for (int bits = 0; bits < 16; bits += type == S ? 1 : 5) {
            struct product p = products[bits & 1];
            p.type = type;
            p.beta = p.beta ? betas[bits / 2 % 4] : 0;
            p.layout = bits & 2 ? CLBLAST_ROW_MAJOR : CLBLAST_COLUMN_MAJOR;
            p.trans_a =
                bits & 4 ? bits & 1 ? CLBLAST_YES : CLBLAST_CONJUGATE : CLBLAST_NO;
            p.trans_b =
                bits & 8 ? bits & 1 ? CLBLAST_CONJUGATE : CLBLAST_YES : CLBLAST_NO;
            lay_out(&p, bits & 1);
            if (type != D || has_f64())
                try_product(&p, m, queue);
        }
    clReleaseCommandQueue(queue);
}

/* ---- batches --------------------------------------------------------------------------
 */

/* Three products, each a problem of its own on the host. */
enum { BATCH = 3 };

static void expect_batch(const struct product *p, const size_t offsets[3][BATCH],
                         const float alphas[BATCH], const float betas[BATCH],
                         struct matrix m[3])
{
    for (int i = 0; i < BATCH; i++) {
        struct product one = *p;
        one.a = offsets[0][i], one.b = offsets[1][i], one.c = offsets[2][i];
        one.alpha = alphas[i], one.beta = betas[i];
        multiply_on_host(&one, &m[0], &m[1], &m[2]);
    }
}

static void try_list(const struct product *p, const size_t offsets[3][BATCH],
                     const float alphas[BATCH], const float betas[BATCH],
                     struct matrix m[3], cl_command_queue queue)
{
    cl_event event = NULL;
    for (int i = 0; i < 3; i++)
        fill(&m[i], S, (size_t) i + 1, queue);
    expect_batch(p, offsets, alphas, betas, m);
    CHECK_EQ_INT(CLBlastSgemmBatched(p->layout, p->trans_a, p->trans_b, p->m, p->n, p->k,
                                     alphas, m[0].buffer, offsets[0], p->lda, m[1].buffer,
                                     offsets[1], p->ldb, betas, m[2].buffer, offsets[2],
                                     p->ldc, BATCH, &queue, &event),
                 0);
    finish(event);
    CHECK_EQ_INT(count_wrong(&m[2], queue), 0);
}

static void test_lists(struct matrix m[3], cl_command_queue_properties properties)
{
    static const float ones[BATCH] = { 1, 1, 1 }, others[BATCH] = { 2, -1, 3 },
                       last[BATCH] = { 1, 1, -1 };
    static const size_t even[3][BATCH] = { { 4, 204, 404 },
                                           { 0, 0, 0 },
                                           { 9, 309, 609 } };
    static const size_t odd[3][BATCH] = { { 500, 1, 260 },
                                          { 7, 0, 90 },
                                          { 800, 0, 301 } };
    /* Of one matrix alone: the last step is another, and all go down. */
    static const size_t others_of[2][BATCH] = { { 4, 304, 804 }, { 700, 350, 0 } };
    cl_command_queue queue = make_queue(properties);

    for (int layout = CLBLAST_ROW_MAJOR; layout <= CLBLAST_COLUMN_MAJOR; layout++) {
        struct product p = { .layout = layout,
                             .trans_a = CLBLAST_NO,
                             .trans_b = CLBLAST_YES,
                             .m = 9,
                             .n = 11,
                             .k = 13 };
        lay_out(&p, 2);
        try_list(&p, even, ones, ones, m, queue);
        try_list(&p, even, others, ones, m, queue);
        try_list(&p, even, last, ones, m, queue);
        try_list(&p, even, ones, last, m, queue);
        for (int which = 0; which < 6; which++) {
            size_t offsets[3][BATCH];
            memcpy(offsets, even, sizeof offsets);
            memcpy(offsets[which / 2], others_of[which % 2], sizeof *offsets);
            try_list(&p, offsets, ones, ones, m, queue);
        }
        try_list(&p, odd, ones, others, m, queue);
        p.lda = p.ldb = 2; /* lines overlap, as windows that slide do */
        try_list(&p, odd, others, ones, m, queue);
    }
    clReleaseCommandQueue(queue);
}

/* Matrices of C one after the other, side by side, and, for CLBlast alone, between each
 * other's lines. */
static void test_strides(struct matrix m[3])
{
    static const float twos[BATCH] = { 2, 2, 2 }, ones[BATCH] = { 1, 1, 1 };
    static const struct {
        size_t ldc, stride_c;
    } ways[] = { { 12, 150 }, { 40, 12 }, { 24, 13 } };
    cl_command_queue queue = make_queue(0);

    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (int layout = CLBLAST_ROW_MAJOR; layout <= CLBLAST_COLUMN_MAJOR; layout++) {
            struct product p = { .layout = layout,
                                 .trans_a = CLBLAST_YES,
                                 .trans_b = CLBLAST_NO,
                                 .m = 10,
                                 .n = 10,
                                 .k = 6 };
            size_t offsets[3][BATCH];
            cl_event event = NULL;
            lay_out(&p, 1);
            p.ldc = ways[way].ldc;
            for (size_t i = 0; i < BATCH; i++) {
                offsets[0][i] = 3 + i * 100;
                offsets[1][i] = 5;
                offsets[2][i] = 1 + i * ways[way].stride_c;
            }
            for (int i = 0; i < 3; i++)
                fill(&m[i], S, (size_t) i + 1, queue);
            expect_batch(&p, offsets, twos, ones, m);
            CHECK_EQ_INT(CLBlastSgemmStridedBatched(
                             layout, p.trans_a, p.trans_b, p.m, p.n, p.k, 2, m[0].buffer,
                             3, p.lda, 100, m[1].buffer, 5, p.ldb, 0, 1, m[2].buffer, 1,
                             p.ldc, ways[way].stride_c, BATCH, &queue, &event),
                         0);
            finish(event);
            CHECK_EQ_INT(count_wrong(&m[2], queue), 0);
        }
    clReleaseCommandQueue(queue);
}

/* ---- one triangle ---------------------------------------------------------------------
 */

static void test_syrk(struct matrix m[3])
{
    cl_command_queue queue = make_queue(0);

    for (int layout = CLBLAST_ROW_MAJOR; layout <= CLBLAST_COLUMN_MAJOR; layout++) {
        const bool row = layout == CLBLAST_ROW_MAJOR;
        struct product p = { .layout = layout,
                             .trans_a = row ? CLBLAST_NO : CLBLAST_YES,
                             .m = 13,
                             .n = 13,
                             .k = 8,
                             .alpha = 1,
                             .beta = 2 };
        p.trans_b = row ? CLBLAST_YES : CLBLAST_NO;
        lay_out(&p, 3);
        p.ldb = p.lda;
        fill(&m[0], S, 1, queue);
        fill(&m[2], S, 3, queue);
        fill(&m[1], S, 3, queue); /* C as it was */
        multiply_on_host(&p, &m[0], &m[0], &m[2]);
        for (size_t i = 0; i < p.n; i++)
            for (size_t j = 0; j < p.n; j++)
                if (row ? j > i : j < i)
                    m[2].host[at(layout, CLBLAST_NO, i, j, p.ldc)] =
                        m[1].host[at(layout, CLBLAST_NO, i, j, p.ldc)];
        CHECK_EQ_INT(CLBlastSsyrk(layout, row ? CLBLAST_LOWER : CLBLAST_UPPER, p.trans_a,
                                  p.n, p.k, 1, m[0].buffer, 0, p.lda, 2, m[2].buffer, 0,
                                  p.ldc, &queue, NULL),
                     0);
        CHECK_EQ_INT(count_wrong(&m[2], queue), 0);
    }
    clReleaseCommandQueue(queue);
}

/* ---- C++'s names
 * ------------------------------------------------------------------------ */

int cpp_sgemm(CLBLAST_GEMM(float), cl_mem room) __asm__(
    "_ZN7clblast4GemmIfEENS_10StatusCodeENS_6LayoutENS_9TransposeES3_mmmT_P7_cl_memmmS6_"
    "mmS4_S6_mmPP17_cl_command_queuePP9_cl_eventS6_");

static void test_cpp(struct matrix m[3])
{
    cl_command_queue queue = make_queue(0);
    struct product p = { .layout = CLBLAST_ROW_MAJOR,
                         .trans_a = CLBLAST_NO,
                         .trans_b = CLBLAST_NO,
                         .m = 6,
                         .n = 5,
                         .k = 4,
                         .alpha = 1 };
    lay_out(&p, 0);
    for (int i = 0; i < 3; i++)
        fill(&m[i], S, (size_t) i + 1, queue);
    multiply_on_host(&p, &m[0], &m[1], &m[2]);
    CHECK_EQ_INT(cpp_sgemm(p.layout, p.trans_a, p.trans_b, p.m, p.n, p.k, 1, m[0].buffer,
                           0, p.lda, m[1].buffer, 0, p.ldb, 0, m[2].buffer, 0, p.ldc,
                           &queue, NULL, NULL),
                 0);
    CHECK_EQ_INT(count_wrong(&m[2], queue), 0);
    clReleaseCommandQueue(queue);
}

/* ---- wrong arguments
 * ----------------------------------------------------------------------- */

/* Each matrix of a batch must be in its buffer, whichever is the last there; lines of C
 * may not overlap. Who passes the other triangle or transpose is not served. */
static void test_wrong_batches(struct matrix m[3], cl_command_queue *queue)
{
    static const size_t first[2] = { 0, 0 }, largest[2] = { MOST - 15, 0 };
    static const float ones[2] = { 1, 1 };
    const int row = CLBLAST_ROW_MAJOR, no = CLBLAST_NO;
    static const struct {
        const size_t *a;
        size_t ldc;
        int code;
    } lists[] = { { largest, 4, CLBLAST_INSUFFICIENT_MEMORY_A },
                  { first, 3, CLBLAST_INVALID_LEAD_DIM_C } };

    for (int i = 0; i < 2; i++)
        CHECK_EQ_INT(CLBlastSgemmBatched(row, no, no, 4, 4, 4, ones, m[0].buffer,
                                         lists[i].a, 4, m[1].buffer, first, 4, ones,
                                         m[2].buffer, first, lists[i].ldc, 2, queue,
                                         NULL),
                     lists[i].code);
    CHECK_EQ_INT(CLBlastSgemmStridedBatched(row, no, no, 4, 4, 4, 1, m[0].buffer, 0, 4, 0,
                                            m[1].buffer, 0, 4, MOST - 15, 0, m[2].buffer,
                                            0, 4, 16, 2, queue, NULL),
                 CLBLAST_INSUFFICIENT_MEMORY_B);
    for (int i = 0; i < 2; i++)
        CHECK_EQ_INT(CLBlastSsyrk(row, i ? CLBLAST_LOWER : CLBLAST_UPPER,
                                  i ? CLBLAST_YES : CLBLAST_NO, 4, 4, 1, m[0].buffer, 0,
                                  4, 0, m[2].buffer, 0, 4, queue, NULL),
                     CLBLAST_NOT_SERVED);
}

/* What each is answered, where all before it in CLBlast's order are right. */
static void test_wrong(struct matrix m[3])
{
    const struct product right = { .layout = CLBLAST_ROW_MAJOR,
                                   .trans_a = CLBLAST_NO,
                                   .trans_b = CLBLAST_NO,
                                   .m = 4,
                                   .n = 5,
                                   .k = 6,
                                   .lda = 6,
                                   .ldb = 5,
                                   .ldc = 5,
                                   .alpha = 1 };
    static const struct {
        size_t m, k, lda, ldb, ldc, a, b, c;
        int layout, code;
    } wrong[] = {
        { .m = 0, .k = 6, .lda = 1, .code = CLBLAST_INVALID_DIMENSION },
        { .m = 4, .k = 0, .code = CLBLAST_INVALID_DIMENSION },
        { .m = 4, .k = 6, .lda = 5, .ldb = 1, .code = CLBLAST_INVALID_LEAD_DIM_A },
        { .m = 4, .k = 6, .a = MOST, .ldb = 4, .code = CLBLAST_INSUFFICIENT_MEMORY_A },
        { .m = 4, .k = 6, .ldb = 4, .ldc = 1, .code = CLBLAST_INVALID_LEAD_DIM_B },
        { .m = 4, .k = 6, .b = MOST - 29, .code = CLBLAST_INSUFFICIENT_MEMORY_B },
        { .m = 4, .k = 6, .b = SIZE_MAX / 4, .code = CLBLAST_INSUFFICIENT_MEMORY_B },
        { .m = 4, .k = 6, .ldc = 4, .code = CLBLAST_INVALID_LEAD_DIM_C },
        { .m = 4, .k = 6, .c = MOST - 19, .code = CLBLAST_INSUFFICIENT_MEMORY_C },
        { .m = 4, .k = 6, .ldc = SIZE_MAX / 2, .code = CLBLAST_INSUFFICIENT_MEMORY_C },
        { .m = 4, .k = 6, .b = MOST - 30, .c = MOST - 20, .code = CL_SUCCESS },
        { .m = 4, .k = 6, .layout = 7, .code = CL_INVALID_VALUE },
    };
    cl_command_queue queue = make_queue(0);
    cl_event untouched = (cl_event) &right;

    for (int i = 0; i < 3; i++) {
        if (m[i].buffer)
            clReleaseMemObject(m[i].buffer);
        m[i].buffer =
            clCreateBuffer(context, CL_MEM_READ_WRITE, MOST * sizeof(float), NULL, NULL);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct product p = right;
        p.m = wrong[i].m, p.k = wrong[i].k;
        p.lda = wrong[i].lda ? wrong[i].lda : p.lda;
        p.ldb = wrong[i].ldb ? wrong[i].ldb : p.ldb;
        p.ldc = wrong[i].ldc ? wrong[i].ldc : p.ldc;
        p.layout = wrong[i].layout ? wrong[i].layout : p.layout;
        p.a = wrong[i].a, p.b = wrong[i].b, p.c = wrong[i].c;
        if (!CHECK_EQ_INT(multiply(&p, &m[0], &m[1], &m[2], &queue,
                                   wrong[i].code ? &untouched : NULL),
                          wrong[i].code))
            fprintf(stderr, "    wrong argument %zu\n", i);
    }
    CHECK(untouched == (cl_event) &right);

    const struct matrix none = { .buffer = NULL };
    cl_command_queue no_queue = NULL;
    CHECK_EQ_INT(multiply(&right, &none, &m[1], &m[2], &queue, NULL),
                 CLBLAST_INVALID_MATRIX_A);
    CHECK_EQ_INT(multiply(&right, &m[0], &none, &m[2], &queue, NULL),
                 CLBLAST_INVALID_MATRIX_B);
    CHECK_EQ_INT(multiply(&right, &m[0], &m[1], &none, &queue, NULL),
                 CLBLAST_INVALID_MATRIX_C);
    CHECK_EQ_INT(multiply(&right, &m[0], &m[1], &m[2], &no_queue, NULL),
                 CL_INVALID_COMMAND_QUEUE);
    for (size_t batch = 0; batch < 2; batch++)
        CHECK_EQ_INT(CLBlastSgemmStridedBatched(CLBLAST_ROW_MAJOR, CLBLAST_NO, CLBLAST_NO,
                                                4, 5, 6, 1, m[0].buffer, 0, 6, 0,
                                                m[1].buffer, 0, 5, 0, 0, m[2].buffer, 0,
                                                5, 0, batch, &queue, NULL),
                     batch ? CLBLAST_INVALID_DIMENSION : CLBLAST_INVALID_BATCH_COUNT);
    test_wrong_batches(m, &queue);
    CHECK(!clFinish(queue));
    clReleaseCommandQueue(queue);
}

/* ---- threads
 * --------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 6 };

static void *run_thread(void *salt)
{
    struct matrix *m = calloc(3, sizeof *m);
    for (int i = 0; i < ROUNDS; i++) {
        cl_command_queue queue = make_queue(0);
        struct product p = { .layout = CLBLAST_COLUMN_MAJOR,
                             .trans_a = CLBLAST_NO,
                             .trans_b = CLBLAST_NO,
                             .m = 3 + (size_t) salt,
                             .n = 4,
                             .k = 5 + (size_t) i,
                             .alpha = 1,
                             .beta = 1 };
        lay_out(&p, 0);
        try_product(&p, m, queue);
        if (salt == NULL)
            CHECK_EQ_INT(CLBlastClearCache(), 0);
        clReleaseCommandQueue(queue);
    }
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(m[i].buffer);
    free(m);
    return NULL;
}

/* Each on queues of its own, which come and go; one of them clears the cache. */
static void test_threads(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, run_thread, (void *) i));
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static bool open_first_device(void)
{
    cl_platform_id platforms[8];
    cl_uint count = 0;
    cl_int code;

    clGetPlatformIDs(8, platforms, &count);
    for (cl_uint i = 0; i < count && i < 8 && !device; i++)
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    if (device)
        context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    return context;
}

int main(void)
{
    static struct matrix m[3];

    if (!open_first_device())
        SKIP("there is no OpenCL device");
    test_products(m);
    test_lists(m, 0);
    test_lists(m, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    test_strides(m);
    test_syrk(m);
    test_cpp(m);
    test_wrong(m);
    test_threads();
    CHECK_EQ_INT(CLBlastClearCache(), 0);
    return test_end("CLBlast's calls on ours");
}
