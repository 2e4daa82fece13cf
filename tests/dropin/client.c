/* A program that was written for cuBLAS: client CALL...
 *
 * A CALL is words apart by commas, "m=5,n=7,k=9,type=14,count=3": what is not named is as
 * the defaults below. Each result is compared with one computed here; the first wrong one
 * ends the program with 1. The memory of the stand-in card is the host's. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dropin/cublas/cublas.h"
#include "tuner/verify/number.h"

int cublasSetMathMode(void *handle, int mode);
int cublasSetSmCountTarget(void *handle, int count);
int cublasSetPointerMode_v2(void *handle, int mode);
int cublasLtCreate(void **handle);
int cublasLtMatmulDescCreate(void **desc, int compute, int scale);
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value,
                                   size_t size);
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
                               int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value,
                                     size_t size);

/* clang-format off */
#define WORDS(X)                                                                         \
    X(m, 16) X(n, 12) X(k, 20) X(ta, 0) X(tb, 0)                                         \
    X(alpha, 1) X(beta, 0)                                                               \
    X(type, 0) X(out, -1) X(compute, 68) X(math, 0) /* as cuBLAS numbers them; -1: type */ \
    X(pad, 0)      /* elements between the columns of each matrix */                    \
    X(off, 0)      /* bytes that A begins behind a multiple of 256 */                    \
    X(batch, 1) X(wide, 0)                                                               \
    X(device, 0)   /* scalars are where the pointer mode says that the device is */      \
    X(behind, 0)   /* beta is behind alpha */                                            \
    X(ws, 0)       /* bytes of a workspace for the handle, or of cublasLtMatmul */       \
    X(stream, 0)   /* a stream of that number is set before the workspace is; */         \
    X(late, 0)     /* and this one behind it */                                          \
    X(sms, 0)      /* multiprocessors that the product may take; 0: all */                \
    X(ex, 0)       /* the Ex form of f32 and f64, too */                                 \
    X(lists, 0)    /* pointer arrays, the last matrix first: 1 the Ex form, 2 the type's */ \
    X(complex, 0)  /* one product of complex f32 besides */                              \
    X(lt, 0) X(epilogue, 1) X(two, 0) /* C is another matrix than D */                   \
    X(idle, 0)     /* microseconds of the card's clock before each product */            \
    X(count, 1) X(threads, 1) X(capture, 0) X(fork, 0)                                   \
    X(until, 0)    /* goes on, once counted, until the card has launched something */    \
    X(leave, 0)    /* the process ends while threads call */                             \
    X(compiling, 0) /* waits, once counted, until the stand-in NVRTC has begun */        \
    X(share, 0)    /* one handle for all threads */                                      \
    X(keep, 0)     /* the handle of the call before */                                   \
    X(foreign, 0)  /* the context is none of a device's primary ones */                  \
    X(card, 0)     /* its number */                                                     \
    X(reset, 0)    /* it is reset before */                                              \
    X(destroy, 0)  /* the handle, at last */                                             \
    X(within, 0)   /* so many CALLs behind this one, while the library destroys it */
/* clang-format on */

struct words {
#define X(name, value) double name;
    WORDS(X)
#undef X
};

struct matrix {
    char *data, *freed;
    mmt_type type;
    int64_t rows, columns, ld, stride, batch;
};

struct call {
    struct words is;
    int out;
    struct matrix a, b, c, expected;
    char *bias;
    void *handle;
};

static void *last_handle;
static atomic_int products; /* that were computed */

static void need(bool held, const char *what)
{
    if (held)
        return;
    fprintf(stderr, "client: %s\n", what);
    exit(1);
}

static mmt_type type_of(int cuda)
{
    return cuda == CUDA_64F    ? MMT_F64
           : cuda == CUDA_16F  ? MMT_F16
           : cuda == CUDA_16BF ? MMT_BF16
           : cuda == CUDA_8I   ? MMT_I8
           : cuda == CUDA_32I  ? MMT_I32
                               : MMT_F32;
}

/* ---- matrices, column by column -------------------------------------------------- */

static struct matrix make(mmt_type type, int64_t rows, int64_t columns,
                          const struct words *is, int seed)
{
    struct matrix it = { .type = type,
                         .rows = rows,
                         .columns = columns,
                         .ld = rows + (int64_t) is->pad,
                         .batch = (int64_t) is->batch };
    it.stride = it.ld * columns;
    const size_t count = (size_t) (it.stride * it.batch);
    it.freed = aligned_alloc(256, (count * 8 + 511) / 256 * 256);
    it.data = it.freed;
    for (size_t i = 0; i < count; i++)
        mmt_number_write(type, (double) ((int) (i * 7 + (size_t) seed) % 5 - 2),
                         it.data + i * mmt_type_size(type));
    return it;
}

static char *at(const struct matrix *it, int64_t i, int64_t j, int64_t z)
{
    return it->data +
           (size_t) (i + j * it->ld + z * it->stride) * mmt_type_size(it->type);
}

static double value(const struct matrix *it, bool transposed, int64_t i, int64_t j,
                    int64_t z)
{
    return (double) mmt_number_read(it->type,
                                    transposed ? at(it, j, i, z) : at(it, i, j, z));
}

static double activate(int epilogue, double x)
{
    if (epilogue & LT_EPILOGUE_RELU)
        return x > 0 ? x : 0;
    if (epilogue & LT_EPILOGUE_GELU)
        return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return x;
}

static double expect(const struct call *it, int64_t i, int64_t j, int64_t z)
{
    double sum = 0;
    for (int64_t l = 0; l < (int64_t) it->is.k; l++)
        sum += value(&it->a, it->is.ta != 0, i, l, z) *
               value(&it->b, it->is.tb != 0, l, j, z);
    sum = it->is.alpha * sum + it->is.beta * value(&it->expected, false, i, j, z);
    if ((int) it->is.epilogue & LT_EPILOGUE_BIAS)
        sum += (double) mmt_number_read(
            it->c.type, it->bias + (size_t) i * mmt_type_size(it->c.type));
    return activate((int) it->is.epilogue, sum);
}

static void check(const struct call *it)
{
    for (int64_t z = 0; z < it->c.batch; z++)
        for (int64_t j = 0; j < it->c.columns; j++)
            for (int64_t i = 0; i < it->c.rows; i++) {
                const double right = expect(it, i, j, z);
                const double found = value(&it->c, false, i, j, z);
                if (fabs(found - right) <= 0.01 * fabs(right) + 1e-5)
                    continue;
                fprintf(stderr, "client: C(%ld, %ld) of %ld is %g, not %g\n", (long) i,
                        (long) j, (long) z, found, right);
                exit(1);
            }
}

/* ---- calls ----------------------------------------------------------------------- */

static bool is_half(int compute)
{
    return compute == CUBLAS_16F || compute == CUBLAS_16F_PEDANTIC;
}

/* alpha and beta, as the compute type has them. */
struct scalars {
    _Alignas(16) char memory[32];
    const void *alpha, *beta;
};

static void write_scalars(const struct words *is, struct scalars *out)
{
    const int compute = (int) is->compute;
    const mmt_type type = is_half(compute)        ? MMT_F16
                          : compute == CUBLAS_64F ? MMT_F64
                          : compute == CUBLAS_32I ? MMT_I32
                                                  : MMT_F32;
    char *beta = out->memory + (is->behind != 0 ? mmt_type_size(type) : 16);
    mmt_number_write(type, is->alpha, out->memory);
    mmt_number_write(type, is->beta, beta);
    out->alpha = out->memory;
    out->beta = beta;
}

static int multiply_lists(const struct call *it, const void *alpha, const void *beta)
{
    enum { MOST = 8 };
    const struct words *is = &it->is;
    const int type = (int) is->type, compute = (int) is->compute;
    const int batch = (int) is->batch, ta = (int) is->ta, tb = (int) is->tb;
    const int m = (int) is->m, n = (int) is->n, k = (int) is->k;
    const void *a[MOST], *b[MOST];
    void *c[MOST];

    need(batch <= MOST, "lists of more than 8 matrices");
    for (int z = 0; z < batch; z++) {
        a[batch - 1 - z] = at(&it->a, 0, 0, z);
        b[batch - 1 - z] = at(&it->b, 0, 0, z);
        c[batch - 1 - z] = at(&it->c, 0, 0, z);
    }
#define OWN                                                                              \
    it->handle, ta, tb, m, n, k, alpha, a, (int) it->a.ld, b, (int) it->b.ld, beta, c,   \
        (int) it->c.ld, batch
    if (is->lists == 2 && type == CUDA_64F)
        return is->wide != 0 ? cublasDgemmBatched_64(OWN) : cublasDgemmBatched(OWN);
    if (is->lists == 2 && type == CUDA_16F)
        return is->wide != 0 ? cublasHgemmBatched_64(OWN) : cublasHgemmBatched(OWN);
    if (is->lists == 2)
        return is->wide != 0 ? cublasSgemmBatched_64(OWN) : cublasSgemmBatched(OWN);
#define LISTS                                                                            \
    it->handle, ta, tb, m, n, k, alpha, a, type, (int) it->a.ld, b, type,                \
        (int) it->b.ld, beta, c, it->out, (int) it->c.ld, batch, compute, 99
    return is->wide != 0 ? cublasGemmBatchedEx_64(LISTS) : cublasGemmBatchedEx(LISTS);
}

/* (1 + 2i) (3 + 4i) = -5 + 10i. */
static void multiply_complex(void *handle, bool wide)
{
    const float one[2] = { 1, 0 }, zero[2] = { 0, 0 }, a[2] = { 1, 2 }, b[2] = { 3, 4 };
    float c[2] = { 7, 7 };
    const int status =
        wide ? cublasCgemm_v2_64(handle, 0, 0, 1, 1, 1, one, a, 1, b, 1, zero, c, 1)
             : cublasCgemm_v2(handle, 0, 0, 1, 1, 1, one, a, 1, b, 1, zero, c, 1);
    need(!status && c[0] == -5 && c[1] == 10, "a complex product is wrong");
}

static int multiply(const struct call *it)
{
    const struct words *is = &it->is;
    const struct matrix *a = &it->a, *b = &it->b, *c = &it->c;
    const int ta = (int) is->ta, tb = (int) is->tb, type = (int) is->type;
    const int m = (int) is->m, n = (int) is->n, k = (int) is->k;
    const int lda = (int) a->ld, ldb = (int) b->ld, ldc = (int) c->ld;
    const int compute = (int) is->compute, batch = (int) is->batch;
    struct scalars both;
    write_scalars(is, &both);
    const void *alpha = both.alpha, *beta = both.beta;
    void *h = it->handle, *out = c->data;

    if (is->complex != 0)
        multiply_complex(h, is->wide != 0);
    if (is->lists != 0)
        return multiply_lists(it, alpha, beta);
#define HEAD h, ta, tb, m, n, k, alpha
    if (is->ex != 0 || compute == CUBLAS_32F_FAST_TF32 ||
        (type != CUDA_32F && type != CUDA_64F && compute != CUBLAS_16F)) {
#define EX a->data, type, lda, b->data, type, ldb, beta, out, it->out, ldc, compute, 99
#define STRIDED_EX                                                                       \
    a->data, type, lda, a->stride, b->data, type, ldb, b->stride, beta, out, it->out,    \
        ldc, c->stride, batch, compute, 99
        if (batch > 1)
            return is->wide != 0 ? cublasGemmStridedBatchedEx_64(HEAD, STRIDED_EX)
                                 : cublasGemmStridedBatchedEx(HEAD, STRIDED_EX);
        return is->wide != 0 ? cublasGemmEx_64(HEAD, EX) : cublasGemmEx(HEAD, EX);
    }
#define PLAIN (void *) a->data, lda, (void *) b->data, ldb, beta, out, ldc
#define STRIDED                                                                          \
    (void *) a->data, lda, a->stride, (void *) b->data, ldb, b->stride, beta, out, ldc,  \
        c->stride, batch
    if (batch > 1 && type == CUDA_16F)
        return is->wide != 0 ? cublasHgemmStridedBatched_64(HEAD, STRIDED)
                             : cublasHgemmStridedBatched(HEAD, STRIDED);
    if (type == CUDA_16F)
        return is->wide != 0 ? cublasHgemm_64(HEAD, PLAIN) : cublasHgemm(HEAD, PLAIN);
    if (batch > 1 && type == CUDA_64F)
        return is->wide != 0 ? cublasDgemmStridedBatched_64(HEAD, STRIDED)
                             : cublasDgemmStridedBatched(HEAD, STRIDED);
    if (batch > 1)
        return is->wide != 0 ? cublasSgemmStridedBatched_64(HEAD, STRIDED)
                             : cublasSgemmStridedBatched(HEAD, STRIDED);
    if (type == CUDA_64F)
        return is->wide != 0 ? cublasDgemm_v2_64(HEAD, PLAIN)
                             : cublasDgemm_v2(HEAD, PLAIN);
    return is->wide != 0 ? cublasSgemm_v2_64(HEAD, PLAIN) : cublasSgemm_v2(HEAD, PLAIN);
}

static void *make_layout(const struct matrix *it, int type)
{
    const int32_t batch = (int32_t) it->batch;
    void *layout;
    need(!cublasLtMatrixLayoutCreate(&layout, type, (uint64_t) it->rows,
                                     (uint64_t) it->columns, it->ld) &&
             !cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_BATCH, &batch,
                                               sizeof batch) &&
             !cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_STRIDE, &it->stride,
                                               sizeof it->stride),
         "a layout cannot be made");
    return layout;
}

static void *make_desc(const struct call *it)
{
    const int32_t ta = (int32_t) it->is.ta, tb = (int32_t) it->is.tb;
    const int32_t pointers = (int32_t) it->is.device;
    const int32_t sms = (int32_t) it->is.sms;
    const uint32_t epilogue = (uint32_t) it->is.epilogue;
    void *desc;
#define SET(attribute, value)                                                            \
    !cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value)
    need(!cublasLtMatmulDescCreate(&desc, (int) it->is.compute,
                                   it->is.compute == CUBLAS_64F    ? CUDA_64F
                                   : is_half((int) it->is.compute) ? CUDA_16F
                                                                   : CUDA_32F) &&
             SET(LT_DESC_TRANS_A, ta) && SET(LT_DESC_TRANS_B, tb) &&
             SET(LT_DESC_POINTER_MODE, pointers) && SET(LT_DESC_EPILOGUE, epilogue) &&
             SET(LT_DESC_SM_COUNT, sms) &&
             (!(epilogue & LT_EPILOGUE_BIAS) || SET(LT_DESC_BIAS, it->bias)),
         "a descriptor cannot be made");
    return desc;
}

static int multiply_lt(const struct call *it)
{
    const struct words *is = &it->is;
    const size_t bytes = (size_t) is->ws;
    void *la = make_layout(&it->a, (int) is->type),
         *lb = make_layout(&it->b, (int) is->type);
    void *lc = make_layout(&it->c, it->out), *desc = make_desc(it), *lt;
    void *workspace = bytes ? aligned_alloc(256, bytes) : NULL;
    const void *c = is->two != 0 ? it->expected.data : it->c.data;
    struct scalars both;

    write_scalars(is, &both);
    need(!cublasLtCreate(&lt), "cublasLtCreate");
    return cublasLtMatmul(lt, desc, both.alpha, it->a.data, la, it->b.data, lb, both.beta,
                          c, lc, it->c.data, lc, NULL, workspace, bytes, NULL);
}

static void run_next(void);

/* The CALLs behind that at hand, of which so many come while a handle is destroyed. */
static char **rest;
static int within;

static void destroy(const struct call *it)
{
    void (**destroying)(void) =
        (void (**)(void)) dlsym(RTLD_DEFAULT, "cublas_fake_destroying");
    need(destroying != NULL, "no stand-in of cuBLAS");
    within = (int) it->is.within;
    *destroying = within ? run_next : NULL;
    need(!cublasDestroy_v2(it->handle), "cublasDestroy_v2");
    *destroying = NULL;
}

static void set_up(struct call *call)
{
    struct call it = *call;
    const struct words *is = &it.is;

    if (!it.handle)
        need(!cublasCreate_v2(&it.handle), "cublasCreate_v2");
    last_handle = call->handle = it.handle;
    cublasSetMathMode(it.handle, (int) is->math);
    cublasSetSmCountTarget(it.handle, (int) is->sms);
    cublasSetPointerMode_v2(it.handle, (int) is->device);
    if (is->stream != 0)
        cublasSetStream_v2(it.handle, (void *) (uintptr_t) (64 * is->stream));
    if (is->ws > 0)
        cublasSetWorkspace_v2(it.handle, aligned_alloc(256, (size_t) is->ws),
                              (size_t) is->ws);
    if (is->late != 0)
        cublasSetStream_v2(it.handle, (void *) (uintptr_t) (64 * is->late));
}

/* A variable or a function of the stand-in driver. */
static void *of_driver(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = driver ? dlsym(driver, name) : NULL;
    need(found != NULL, name);
    return found;
}

static bool has_launched(void)
{
    return *(volatile long *) of_driver("fake_launches");
}

static void *run(void *argument)
{
    struct call it = *(struct call *) argument;
    const struct words *is = &it.is;
    const mmt_type type = type_of((int) is->type);

    it.out = is->out < 0 ? (int) is->type : (int) is->out;
    if (is->share == 0)
        set_up(&it);
    it.a = make(type, is->ta != 0 ? (int64_t) is->k : (int64_t) is->m,
                is->ta != 0 ? (int64_t) is->m : (int64_t) is->k, is, 1);
    it.b = make(type, is->tb != 0 ? (int64_t) is->n : (int64_t) is->k,
                is->tb != 0 ? (int64_t) is->k : (int64_t) is->n, is, 3);
    if (is->off > 0)
        it.a.data = memmove(it.a.data + (size_t) is->off, it.a.data,
                            (size_t) (it.a.stride * it.a.batch) * mmt_type_size(type));
    it.bias = make(type_of(it.out), (int64_t) is->m, 1, is, 2).data;
    for (int i = 0; i < (int) is->count || (is->until != 0 && !has_launched()); i++) {
        it.c = make(type_of(it.out), (int64_t) is->m, (int64_t) is->n, is, 4);
        it.expected = make(type_of(it.out), (int64_t) is->m, (int64_t) is->n, is, 4);
        if (is->idle != 0)
            ((void (*)(double)) of_driver("fake_work"))(1e-6 * is->idle);
        need(!(is->lt != 0 ? multiply_lt(&it) : multiply(&it)), "a product failed");
        check(&it);
        atomic_fetch_add(&products, 1);
        free(it.c.freed);
        free(it.expected.freed);
    }
    while (is->compiling != 0 && access(getenv("MMT_FAKE_NVRTC_LOG"), F_OK))
        usleep(1000);
    if (is->destroy != 0)
        destroy(&it);
    return NULL;
}

static void parse(char *text, struct words *out)
{
#define X(name, value) .name = value,
    *out = (struct words){ WORDS(X) };
#undef X
    for (char *word; (word = strsep(&text, ","));) {
        char *equals = strchr(word, '=');
        bool known = false;
        need(equals != NULL, word);
        *equals = 0;
#define X(name, value)                                                                   \
    if (!strcmp(word, #name))                                                            \
        known = true, out->name = atof(equals + 1);
        WORDS(X)
#undef X
        need(known, word);
    }
}

static void run_threads(struct call *call)
{
    pthread_t threads[16];
    const int count = (int) call->is.threads;
    const struct timespec pause = { .tv_nsec = 1000000 };
    if (call->is.share != 0)
        set_up(call);
    for (int i = 0; i < count; i++)
        need(!pthread_create(&threads[i], NULL, run, call), "no thread");
    while (call->is.leave != 0 && atomic_load(&products) < 8 * count)
        nanosleep(&pause, NULL);
    for (int i = 0; i < count && call->is.leave == 0; i++)
        pthread_join(threads[i], NULL);
}

static void enter_foreign(void)
{
    static struct {
        int device;
    } context = { 0 };
    int (*set)(void *) = (int (*)(void *)) of_driver("cuCtxSetCurrent");
    set(&context);
}

static void enter_card(int ordinal)
{
    int (*retain)(void **, int) =
        (int (*)(void **, int)) of_driver("cuDevicePrimaryCtxRetain");
    int (*set)(void *) = (int (*)(void *)) of_driver("cuCtxSetCurrent");
    void *context;
    need(!retain(&context, ordinal) && !set(context), "no such card");
}

static void reset_card(int ordinal)
{
    int (*reset)(int) = (int (*)(int)) of_driver("cuDevicePrimaryCtxReset_v2");
    need(!reset(ordinal), "the card cannot be reset");
}

static void run_text(char *text)
{
    struct call *call = calloc(1, sizeof *call); /* threads may be left with it */

    parse(text, &call->is);
    if (call->is.keep != 0)
        call->handle = last_handle;
    if (call->is.foreign != 0)
        enter_foreign();
    if (call->is.card != 0)
        enter_card((int) call->is.card);
    if (call->is.reset != 0)
        reset_card((int) call->is.card);
    if (call->is.capture != 0)
        *(int *) of_driver("fake_capture") = 1;
    if (call->is.threads > 1)
        run_threads(call);
    else
        run(call);
    if (call->is.capture != 0)
        *(int *) of_driver("fake_capture") = 0;
}

static void run_next(void)
{
    while (within-- > 0 && *rest)
        run_text(*rest++);
}

int main(int argc, char **argv)
{
    for (rest = argv + 1; *rest;) {
        char *text = *rest++;
        int status = 0;
        const bool forks = strstr(text, "fork=1");
        const pid_t child = forks ? fork() : 0;
        if (!child)
            run_text(text);
        if (forks && !child)
            exit(0); /* as a child that ends by itself */
        if (child > 0 && (waitpid(child, &status, 0) < 0 || status))
            return 1;
    }
    return 0;
}
