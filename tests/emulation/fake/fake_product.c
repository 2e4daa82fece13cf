#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/emulation/fake/fake_cublas.h"
#include "tuner/verify/number.h"

/* ---- types ------------------------------------------------------------------------- */

int fake_type_of(int cuda)
{
    static const struct {
        int cuda;
        mmt_type type;
    } types[] = {
        { 0, MMT_F32 },  { 1, MMT_F64 },   { 2, MMT_F16 },     { 3, MMT_I8 },
        { 10, MMT_I32 }, { 14, MMT_BF16 }, { 28, MMT_F8E4M3 },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].cuda == cuda)
            return (int) types[i].type;
    return -1;
}

int fake_scalar_of(int compute)
{
    if (compute == COMPUTE_16F || compute == COMPUTE_16F_PEDANTIC)
        return MMT_F16;
    if (compute == COMPUTE_64F || compute == COMPUTE_64F_PEDANTIC)
        return MMT_F64;
    if (compute == COMPUTE_32I || compute == COMPUTE_32I_PEDANTIC)
        return MMT_I32;
    return compute >= COMPUTE_32F && compute <= COMPUTE_32F_FAST_TF32 ? MMT_F32 : -1;
}

bool fake_goes(int compute, int scalar, mmt_type input, mmt_type output)
{
    const unsigned inputs = 1 << MMT_F32 | 1 << MMT_BF16 | 1 << MMT_F16 | 1 << MMT_F8E4M3;
    if (scalar < 0 || scalar != fake_scalar_of(compute))
        return false;
    if (scalar == MMT_F32)
        return inputs >> input & 1 && mmt_type_outputs(input) >> output & 1;
    if (scalar == MMT_I32)
        return input == MMT_I8 && output == MMT_I32;
    return (int) input == scalar && (int) output == scalar;
}

/* ---- the product ------------------------------------------------------------------- */

static const char *place(const struct fake_matrix *matrix, int64_t row, int64_t column,
                         int64_t z)
{
    const int64_t across = matrix->row_major ? row : column;
    const int64_t along = matrix->row_major ? column : row;
    const char *first = matrix->list ? matrix->list[z] : matrix->data;
    const int64_t behind = matrix->list ? 0 : z * matrix->stride;
    return first +
           (behind + along + across * matrix->ld) * (int64_t) mmt_type_size(matrix->type);
}

static double element(const struct fake_matrix *matrix, bool transposed, int64_t row,
                      int64_t column, int64_t z)
{
    return (double) mmt_number_read(matrix->type, transposed
                                                      ? place(matrix, column, row, z)
                                                      : place(matrix, row, column, z));
}

static double activate(enum fake_activation activation, double x)
{
    if (activation == FAKE_RELU)
        return x > 0 ? x : 0;
    if (activation == FAKE_GELU)
        return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return x;
}

/* With MMT_FAKE_CUBLAS=wrong every element is off. */
static bool is_wrong(void)
{
    const char *how = getenv("MMT_FAKE_CUBLAS");
    return how && !strcmp(how, "wrong");
}

static double compute_element(const struct fake_product *it, int64_t i, int64_t j,
                              int64_t z)
{
    double sum = 0;
    for (int64_t l = 0; l < it->k; l++)
        sum += element(&it->a, it->transposed[0], i, l, z) *
               element(&it->b, it->transposed[1], l, j, z);
    sum *= it->alpha;
    if (it->beta != 0)
        sum += it->beta * element(&it->c, false, i, j, z);
    if (it->bias)
        sum += (double) mmt_number_read(it->bias_type,
                                        (const char *) it->bias +
                                            (i + z * it->bias_stride) *
                                                (int64_t) mmt_type_size(it->bias_type));
    return activate(it->activation, sum) + (is_wrong() ? 64 : 0);
}

void fake_product_compute(const struct fake_product *it)
{
    const struct fake_matrix *d = it->d.data || it->d.list ? &it->d : &it->c;
    for (int64_t z = 0; z < it->batch; z++)
        for (int64_t j = 0; j < it->n; j++)
            for (int64_t i = 0; i < it->m; i++)
                mmt_number_write(d->type, compute_element(it, i, j, z),
                                 (void *) (uintptr_t) place(d, i, j, z));
}

/* ---- the card ---------------------------------------------------------------------- */

/* Of the stand-in driver; NULL where that is not what libcuda.so.1 is. */
static struct {
    void (*fake_work)(double);
    int (*cuInit)(unsigned);
    int (*cuCtxGetCurrent)(void **);
    int (*cuCtxSetCurrent)(void *);
    int (*cuDevicePrimaryCtxRetain)(void **, int);
} card;

static void find(void *driver, const char *name, void *out)
{
    void *symbol = dlsym(driver, name);
    memcpy(out, &symbol, sizeof symbol);
}

static void open_card(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver || !dlsym(driver, "fake_work"))
        return;
    find(driver, "fake_work", &card.fake_work);
    find(driver, "cuInit", &card.cuInit);
    find(driver, "cuCtxGetCurrent", &card.cuCtxGetCurrent);
    find(driver, "cuCtxSetCurrent", &card.cuCtxSetCurrent);
    find(driver, "cuDevicePrimaryCtxRetain", &card.cuDevicePrimaryCtxRetain);
}

static bool has_card(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_card);
    return card.fake_work;
}

void fake_clock_add(double part)
{
    const char *given = getenv("MMT_FAKE_CUBLAS_US");
    if (has_card())
        card.fake_work((given ? atof(given) : 2000) * 1e-6 * part);
}

bool fake_card_is_current(void)
{
    void *context = NULL;
    return !has_card() || (!card.cuCtxGetCurrent(&context) && context);
}

void fake_card_enter(void)
{
    void *context = NULL;
    if (!fake_card_is_current() && !card.cuInit(0) &&
        !card.cuDevicePrimaryCtxRetain(&context, 0))
        card.cuCtxSetCurrent(context);
}

/* ---- counts ------------------------------------------------------------------------ */

enum { MOST_FUNCTIONS = 128 };
static struct {
    const char *name;
    long calls;
} counts[MOST_FUNCTIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void hold(void)
{
    pthread_mutex_lock(&lock);
}

static void let_go(void)
{
    pthread_mutex_unlock(&lock);
}

static void forget_counts(void)
{
    memset(counts, 0, sizeof counts);
    let_go();
}

__attribute__((constructor)) static void count_each_process(void)
{
    pthread_atfork(hold, let_go, forget_counts);
}

void fake_count(const char *name)
{
    int i = 0;
    hold();
    while (i < MOST_FUNCTIONS - 1 && counts[i].name && strcmp(counts[i].name, name))
        i++;
    counts[i].name = name;
    counts[i].calls++;
    let_go();
}

__attribute__((destructor)) static void tell_counts(void)
{
    const char *path = getenv("MMT_FAKE_CUBLAS_LOG");
    const int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    char text[64 * MOST_FUNCTIONS];
    int length = 0;
    if (file < 0)
        return;
    for (int i = 0; i < MOST_FUNCTIONS && counts[i].name; i++)
        length += snprintf(text + length, sizeof text - (size_t) length, "%s %ld\n",
                           counts[i].name, counts[i].calls);
    if (write(file, text, (size_t) length) != length)
        fprintf(stderr, "%s cannot be written\n", path);
    close(file);
}
