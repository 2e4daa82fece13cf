/* Products in the manner of BLAS against a plain loop in double, on an OpenCL device.
 *
 *     test_blas [DEVICE]
 *
 * All numbers are small and whole, so that every sum is exact in every type. */
#include <math.h>
#include <pthread.h>

#include "runtime/blas.h"
#include "tests/support/device.h"
#include "tests/support/test.h"

static mmt_device *device;
static mmt_blas *blas;

enum { MARK = 77 }; /* what stands in gaps */

/* Where operands are, and how host memory comes to the device. */
enum where { ON_DEVICE, ON_HOST };

struct product {
    mmt_type type;
    mmt_layout layout;
    mmt_blas_transpose trans_a, trans_b;
    int m, n, k;
    double alpha, beta;
    int gap; /* elements beside what a leading dimension has to be */
    int batch;
    bool shares_b; /* the batch */
};

/* One matrix as it is stored, all of the batch. */
struct stored {
    int length, ld, stride, count;
    char *data;
};

/* ---- numbers --------------------------------------------------------------------- */

static size_t size_of(mmt_type type)
{
    return type == MMT_F64 ? 8 : 4;
}

static double number_at(mmt_type type, const struct stored *x, int at)
{
    switch (type) {
    case MMT_F64:
        return ((const double *) x->data)[at];
    case MMT_I32:
        return ((const int32_t *) x->data)[at];
    default:
        return ((const float *) x->data)[at];
    }
}

static void put_number(mmt_type type, struct stored *x, int at, double value)
{
    if (type == MMT_F64)
        ((double *) x->data)[at] = value;
    else if (type == MMT_I32)
        ((int32_t *) x->data)[at] = (int32_t) value;
    else
        ((float *) x->data)[at] = (float) value;
}

static bool is_gap(const struct stored *x, int at)
{
    return at % x->stride % x->ld >= x->length;
}

/* Small whole numbers, or all `value`; marks in gaps. */
static void fill(const struct product *p, struct stored *x, unsigned seed,
                 const double *value)
{
    for (int at = 0; at < x->count; at++) {
        seed = seed * 1664525u + 1013904223u;
        double number = value ? *value : (double) (seed >> 24) / 32 - 4;
        put_number(p->type, x, at, is_gap(x, at) ? MARK : trunc(number));
    }
}

/* ---- matrices -------------------------------------------------------------------- */

static bool is_column(const struct product *p)
{
    return p->layout == MMT_COLUMN_MAJOR;
}

/* A matrix of rows x cols before it is transposed, as BLAS has it. */
static struct stored store(const struct product *p, int rows, int cols, bool shared)
{
    struct stored x = { .length = is_column(p) ? rows : cols };
    int lines = is_column(p) ? cols : rows;
    x.ld = (x.length ? x.length : 1) + p->gap;
    x.stride = lines * x.ld + p->gap * x.ld;
    x.stride = x.stride ? x.stride : 1;
    x.count = x.stride * (shared ? 1 : p->batch);
    x.data = calloc((size_t) x.count + 1, size_of(p->type));
    return x;
}

static int place(const struct product *p, const struct stored *x, int i, int j)
{
    return is_column(p) ? i + j * x->ld : i * x->ld + j;
}

static double op_at(const struct product *p, const struct stored *x,
                    mmt_blas_transpose trans, int start, int i, int j)
{
    bool turned = trans != MMT_NO_TRANSPOSE;
    return number_at(p->type, x,
                     start + (turned ? place(p, x, j, i) : place(p, x, i, j)));
}

/* C must be what the loop gives, and its gaps what they were. */
static bool is_right(const struct product *p, const struct stored *a,
                     const struct stored *b, const struct stored *before,
                     const struct stored *c)
{
    for (int at = 0; at < c->count; at++)
        if (is_gap(c, at) && number_at(p->type, c, at) != MARK)
            return false;
    for (int z = 0; z < p->batch; z++)
        for (int i = 0; i < p->m; i++)
            for (int j = 0; j < p->n; j++) {
                int at = z * c->stride + place(p, c, i, j);
                double sum = 0;
                for (int l = 0; l < p->k && p->alpha != 0; l++)
                    sum += op_at(p, a, p->trans_a, z * a->stride, i, l) *
                           op_at(p, b, p->trans_b, p->shares_b ? 0 : z * b->stride, l, j);
                double wanted = p->alpha == 0 ? 0 : p->alpha * sum;
                if (p->beta != 0)
                    wanted += p->beta * number_at(p->type, before, at);
                if (number_at(p->type, c, at) != wanted)
                    return false;
            }
    return true;
}

/* ---- one product ----------------------------------------------------------------- */

enum { OFFSET = 3 }; /* elements before each matrix of a buffer */

static mmt_operand upload(const struct product *p, const struct stored *x)
{
    const size_t size = size_of(p->type);
    mmt_operand buffer = buffer_of(device, (size_t) (x->count + OFFSET) * size);
    buffer.offset = OFFSET * size;
    CHECK_OK(mmt_buffer_write(device, buffer, x->data, (size_t) x->count * size, &err),
             err);
    return buffer;
}

static void multiply_on_device(const struct product *p, const struct stored *a,
                               const struct stored *b, struct stored *c)
{
    mmt_operand x = upload(p, a), y = upload(p, b), z = upload(p, c);

    if (p->batch == 1)
        CHECK_OK(mmt_gemm(blas, p->type, p->layout, p->trans_a, p->trans_b, p->m, p->n,
                          p->k, p->alpha, x, a->ld, y, b->ld, p->beta, z, c->ld, NULL,
                          &err),
                 err);
    else
        CHECK_OK(mmt_gemm_batched(blas, p->type, p->layout, p->trans_a, p->trans_b, p->m,
                                  p->n, p->k, p->alpha, x, a->ld, a->stride, y, b->ld,
                                  p->shares_b ? 0 : b->stride, p->beta, z, c->ld,
                                  c->stride, p->batch, NULL, &err),
                 err);
    CHECK_OK(
        mmt_buffer_read(device, c->data, z, (size_t) c->count * size_of(p->type), &err),
        err);
    mmt_buffer_free(device, x);
    mmt_buffer_free(device, y);
    mmt_buffer_free(device, z);
}

static void multiply_on_host(const struct product *p, const struct stored *a,
                             const struct stored *b, struct stored *c)
{
    CHECK_OK(mmt_gemm_host(blas, p->type, p->layout, p->trans_a, p->trans_b, p->m, p->n,
                           p->k, p->alpha, a->data, a->ld, b->data, b->ld, p->beta,
                           c->data, c->ld, &err),
             err);
}

/* Where a scalar is 0, what it multiplies is NaN. */
static void try_product(const struct product *p, enum where where)
{
    const bool at = p->trans_a != MMT_NO_TRANSPOSE, bt = p->trans_b != MMT_NO_TRANSPOSE;
    const double nan = p->type == MMT_I32 ? 1e9 : NAN;
    struct stored a = store(p, at ? p->k : p->m, at ? p->m : p->k, false);
    struct stored b = store(p, bt ? p->n : p->k, bt ? p->k : p->n, p->shares_b);
    struct stored c = store(p, p->m, p->n, false), before = store(p, p->m, p->n, false);

    fill(p, &a, 1, p->alpha == 0 ? &nan : NULL);
    fill(p, &b, 2, p->alpha == 0 ? &nan : NULL);
    fill(p, &c, 3, p->beta == 0 ? &nan : NULL);
    memcpy(before.data, c.data, (size_t) c.count * size_of(p->type));
    if (where == ON_DEVICE)
        multiply_on_device(p, &a, &b, &c);
    else
        multiply_on_host(p, &a, &b, &c);
    if (!CHECK(is_right(p, &a, &b, &before, &c)))
        fprintf(stderr,
                "    %s: type %d, layout %d, %d %d, %dx%dx%d, alpha %g, beta %g, gap %d, "
                "batch %d\n",
                where == ON_HOST ? "host" : "device", p->type, p->layout, p->trans_a,
                p->trans_b, p->m, p->n, p->k, p->alpha, p->beta, p->gap, p->batch);
    free(a.data);
    free(b.data);
    free(c.data);
    free(before.data);
}

/* ---- what is tried --------------------------------------------------------------- */

static void try_scalars(struct product p)
{
    static const double scalars[][2] = { { 1, 0 }, { -2, 1 }, { 0, 3 }, { 0, 0 } };
    for (int i = 0; i < 4; i++) {
        p.alpha = scalars[i][0], p.beta = scalars[i][1];
        try_product(&p, ON_DEVICE);
        try_product(&p, ON_HOST);
    }
}

static void try_layouts(struct product p)
{
    for (int which = 0; which < 8; which++) {
        p.layout = which & 1 ? MMT_COLUMN_MAJOR : MMT_ROW_MAJOR;
        p.trans_a = which & 2 ? MMT_TRANSPOSE : MMT_NO_TRANSPOSE;
        p.trans_b = which & 4 ? MMT_CONJUGATE_TRANSPOSE : MMT_NO_TRANSPOSE;
        for (p.gap = 0; p.gap <= 5; p.gap += 5)
            try_scalars(p);
    }
}

static void test_types(void)
{
    static const mmt_type types[] = { MMT_F32, MMT_F64, MMT_I32 };
    for (int i = 0; i < 3; i++) {
        if (types[i] == MMT_F64 && !mmt_device_caps(device)->f64)
            continue;
        try_layouts(
            (struct product){ .type = types[i], .m = 13, .n = 7, .k = 21, .batch = 1 });
    }
    try_layouts((struct product){ .type = MMT_F32, .m = 5, .n = 9, .k = 0, .batch = 1 });
}

static void test_batches(void)
{
    struct product p = { .type = MMT_F32, .m = 6, .n = 10, .k = 4, .batch = 5 };
    for (int which = 0; which < 8; which++) {
        p.layout = which & 1 ? MMT_COLUMN_MAJOR : MMT_ROW_MAJOR;
        p.trans_a = which & 2 ? MMT_TRANSPOSE : MMT_NO_TRANSPOSE;
        p.trans_b = p.trans_a;
        p.shares_b = which & 4;
        p.gap = which & 2 ? 3 : 0;
        p.alpha = 2, p.beta = 1;
        try_product(&p, ON_DEVICE);
    }
}

/* Rows are packed in strips of some megabytes: here in two. */
static void test_strips(void)
{
    struct product p = { .type = MMT_F32,
                         .layout = MMT_ROW_MAJOR,
                         .trans_a = MMT_NO_TRANSPOSE,
                         .trans_b = MMT_NO_TRANSPOSE,
                         .m = 1100,
                         .n = 1000,
                         .k = 2,
                         .alpha = 1,
                         .beta = 1,
                         .gap = 1,
                         .batch = 1 };
    try_product(&p, ON_HOST);
}

/* A device that does not use host memory in place, which is made of one that does. */
static void test_copies(void)
{
    const struct mmt_backend *backend = device->backend;
    struct mmt_backend copying = *backend;
    copying.buffer_wrap = NULL;
    device->backend = &copying;
    try_layouts(
        (struct product){ .type = MMT_F32, .m = 13, .n = 7, .k = 21, .batch = 1 });
    test_strips();
    device->backend = backend;
}

/* Nothing is done, and C stays as it is, whatever else is null. */
static void test_empty(void)
{
    const mmt_blas_transpose no = MMT_NO_TRANSPOSE;
    const mmt_operand none = { 0 };
    float c = 3;

    for (int empty = 0; empty < 2; empty++) {
        int m = empty ? 4 : 0, n = empty ? 0 : 4;
        CHECK_OK(mmt_gemm_host(blas, MMT_F32, MMT_ROW_MAJOR, no, no, m, n, 2, 1, NULL, 2,
                               NULL, 4, 5, &c, 4, &err),
                 err);
        CHECK_OK(mmt_gemm(blas, MMT_F32, MMT_ROW_MAJOR, no, no, m, n, 2, 1, none, 2, none,
                          4, 5, none, 4, NULL, &err),
                 err);
    }
    CHECK_OK(mmt_gemm_batched(blas, MMT_F32, MMT_ROW_MAJOR, no, no, 4, 4, 2, 1, none, 2,
                              8, none, 4, 8, 5, none, 4, 16, 0, NULL, &err),
             err);
    CHECK(c == 3);
    CHECK_OK(mmt_gemm_host(blas, MMT_F32, MMT_ROW_MAJOR, no, no, 1, 1, 0, 1, NULL, 1,
                           NULL, 1, 5, &c, 1, &err),
             err);
    CHECK(c == 15);
    CHECK_OK(mmt_gemm_host(blas, MMT_F32, MMT_ROW_MAJOR, no, no, 1, 1, 1, 0, NULL, 1,
                           NULL, 1, 2, &c, 1, &err),
             err);
    CHECK(c == 30);
}

/* ---- buffers and queues ------------------------------------------------------------ */

static mmt_status multiply_buffers(mmt_layout layout, mmt_operand a, mmt_operand b,
                                   mmt_operand c, mmt_queue queue, mmt_error *err)
{
    return mmt_gemm(blas, MMT_F32, layout, MMT_NO_TRANSPOSE, MMT_NO_TRANSPOSE, 4, 4, 4, 1,
                    a, 4, b, 4, 0, c, 4, queue, err);
}

/* A buffer that ends too early is the caller's A also where operands are swapped. Only
 * OpenCL knows where a buffer ends; a CUDA operand is a bare address. */
static void test_short_buffers(void)
{
    const mmt_args all = args_of(device, 64);
    const mmt_operand a = all.a, b = all.b, c = all.c;
    mmt_operand late;

    for (int column = 0; column < 2; column++) {
        const mmt_layout layout = column ? MMT_COLUMN_MAJOR : MMT_ROW_MAJOR;
        CHECK_OK(multiply_buffers(layout, a, b, c, NULL, &err), err);
        late = a, late.offset = 4;
        CHECK_FAILS(multiply_buffers(layout, late, b, c, NULL, &err), err,
                    MMT_ERROR_ARGUMENT, "argument 8: A needs 64 bytes from byte 4 on");
        CHECK_EQ_INT(mmt_blas_argument(&err), MMT_BLAS_A);
        late = b, late.offset = 8;
        CHECK_FAILS(multiply_buffers(layout, a, late, c, NULL, &err), err,
                    MMT_ERROR_ARGUMENT, "argument 10: B needs 64 bytes from byte 8 on");
        CHECK_EQ_INT(mmt_blas_argument(&err), MMT_BLAS_B);
        late = c, late.offset = 64;
        CHECK_FAILS(multiply_buffers(layout, a, b, late, NULL, &err), err,
                    MMT_ERROR_ARGUMENT, "argument 13: C needs 64 bytes");
        CHECK_EQ_INT(mmt_blas_argument(&err), MMT_BLAS_C);
    }
    CHECK_OK(mmt_finish(device, NULL, &err), err);
    free_args(device, &all);
}

/* ---- threads --------------------------------------------------------------------- */

enum { THREADS = 6, ROUNDS = 25 };

/* Each thread has its own order of the same few shapes, of which not all plans stay. */
static void *multiply_often(void *number)
{
    const int own = *(const int *) number;
    for (int round = 0; round < ROUNDS; round++) {
        const int size = 8 + (round * (own + 1)) % 6;
        struct product p = { .type = MMT_F32,
                             .layout = MMT_ROW_MAJOR,
                             .trans_a = MMT_NO_TRANSPOSE,
                             .trans_b = MMT_NO_TRANSPOSE,
                             .m = size,
                             .n = size + 3,
                             .k = 40,
                             .alpha = 1,
                             .beta = 1,
                             .batch = 1 };
        try_product(&p, round % 2 ? ON_DEVICE : ON_HOST);
    }
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, multiply_often, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* A queue of the caller's, which has a workspace of its own until it is forgotten. */
static void run_queue(void)
{
    const float ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    float c[16] = { 0 };
    mmt_operand a = buffer_of(device, sizeof ones), to = buffer_of(device, sizeof ones);
    mmt_queue queue;

    CHECK_OK(mmt_queue_create(device, &queue, &err), err);
    CHECK_OK(mmt_buffer_write(device, a, ones, sizeof ones, &err), err);
    CHECK_OK(multiply_buffers(MMT_ROW_MAJOR, a, a, to, queue, &err), err);
    CHECK_OK(mmt_blas_forget(blas, queue, &err), err);
    mmt_queue_free(device, queue);
    CHECK_OK(mmt_buffer_read(device, c, to, sizeof c, &err), err);
    for (int i = 0; i < 16; i++)
        CHECK(c[i] == 4);
    mmt_buffer_free(device, a);
    mmt_buffer_free(device, to);
}

/* All on one queue, with a workspace that they share. */
static void test_threads(void)
{
    mmt_blas_options options = mmt_blas_defaults();
    mmt_plan_options plan = mmt_plan_defaults();
    mmt_blas *usual = blas;

    plan.configuration = "split_naive";
    options.plan = &plan;
    options.max_plans = 4;
    blas = mmt_blas_create(device, &options, &err);
    if (CHECK(blas)) {
        run_queue();
        run_threads();
        CHECK(mmt_blas_count_plans(blas) <= 4);
    }
    mmt_blas_free(blas);
    blas = usual;
}

int main(int argc, char **argv)
{
    device = open_device(argc > 1 ? argv[1] : "opencl:0");
    blas = mmt_blas_create(device, NULL, &err);
    if (CHECK_MADE(blas)) {
        test_types();
        test_batches();
        test_empty();
        test_strips();
        test_copies();
        if (strcmp(mmt_device_caps(device)->backend, "cuda"))
            test_short_buffers();
        test_threads();
    }
    mmt_blas_free(blas);
    mmt_device_close(device);
    return test_end("blas");
}
