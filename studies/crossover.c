/* mmtune study crossover: from which order on a device multiplies faster than OpenBLAS on
 * one core, and on all, which is where small products belong. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "pinned.h"

enum { ROW_MAJOR = 101, AS_STORED = 111, REPETITIONS = 20 };

static const int64_t usual_sizes[] = { 16,  32,  48,  64,  96,  128,
                                       192, 256, 384, 512, 768, 1024 };
enum { NUM_SIZES = sizeof usual_sizes / sizeof *usual_sizes };

struct openblas {
    void (*cblas_sgemm)(int order, int trans_a, int trans_b, int m, int n, int k,
                        float alpha, const float *a, int lda, const float *b, int ldb,
                        float beta, float *c, int ldc);
    void (*cblas_dgemm)(int order, int trans_a, int trans_b, int m, int n, int k,
                        double alpha, const double *a, int lda, const double *b, int ldb,
                        double beta, double *c, int ldc);
    void (*openblas_set_num_threads)(int threads);
    int (*openblas_get_num_procs)(void);
};

/* What is open stays open: it keeps threads. */
static mmt_status open_openblas(struct openblas *out, mmt_error *err)
{
    static const char *const files[] = {
        "libopenblas.so.0", "libopenblasp.so.0",
        "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
        "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0"
    };
    static const char *const names[] = { "cblas_sgemm", "cblas_dgemm",
                                         "openblas_set_num_threads",
                                         "openblas_get_num_procs" };
    void *found[sizeof names / sizeof *names], *library = NULL;

    for (size_t i = 0; !library && i < sizeof files / sizeof *files; i++)
        library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof names / sizeof *names; i++)
        if (!(found[i] = dlsym(library, names[i])))
            library = NULL;
    if (!library)
        return mmt_study_fail(
            err, MMT_ERROR_UNSUPPORTED,
            "OpenBLAS is not installed: apt-get install libopenblas0-pthread");
    memcpy(out, found, sizeof found);
    return MMT_OK;
}

/* ---- one order -------------------------------------------------------------------- */

/* Seconds. */
struct order {
    int64_t n;
    double one, all;
    double manners[3]; /* as below; NAN: not measured */
};

enum { COMPUTING, COPYING, LOCKED, MANNERS };
static const char *const manner_names[MANNERS] = {
    "computing alone", "with copying", "with copying from page-locked memory"
};

struct matrices {
    mmt_type type;
    int64_t n;
    void *a, *b, *c;
};

static void multiply(const struct openblas *blas, const struct matrices *x)
{
    const int n = (int) x->n;
    if (x->type == MMT_F32)
        blas->cblas_sgemm(ROW_MAJOR, AS_STORED, AS_STORED, n, n, n, 1, x->a, n, x->b, n,
                          0, x->c, n);
    else
        blas->cblas_dgemm(ROW_MAJOR, AS_STORED, AS_STORED, n, n, n, 1, x->a, n, x->b, n,
                          0, x->c, n);
}

/* The least of a few runs after one that wakes the threads. */
static double time_openblas(const struct openblas *blas, const struct matrices *x,
                            int threads)
{
    double least = INFINITY;
    blas->openblas_set_num_threads(threads);
    for (int run = 0; run <= REPETITIONS && !mmt_study_interrupted(); run++) {
        double start = mmt_study_now();
        multiply(blas, x);
        if (run)
            least = fmin(least, mmt_study_now() - start);
    }
    return least;
}

/* Small whole numbers, whose products and sums all types hold. */
static void fill(const struct matrices *x)
{
    for (int64_t i = 0; i < x->n * x->n; i++) {
        const int a = (int) (i % 7) - 3, b = (int) (i % 5) - 2;
        if (x->type == MMT_F32)
            ((float *) x->a)[i] = (float) a, ((float *) x->b)[i] = (float) b;
        else
            ((double *) x->a)[i] = a, ((double *) x->b)[i] = b;
    }
}

static mmt_status time_device(const struct mmt_study_device *device,
                              const struct mmt_study_options *options,
                              const struct matrices *x, struct order *out, mmt_error *err)
{
    const size_t bytes = (size_t) (x->n * x->n) * mmt_type_size(x->type);
    const struct mmt_phases_data data = { x->a, x->b, x->c, bytes, bytes, bytes, 0 };
    const int repetitions =
        options->repetitions ? (int) options->repetitions : REPETITIONS;
    mmt_problem problem = mmt_gemm_problem(x->type, x->n, x->n, x->n);
    struct mmt_phases phases, locked = { 0 };
    mmt_plan *plan =
        mmt_plan_create(device->device, device->profile, &problem, NULL, err);

    if (!plan)
        return err->status;
    mmt_status status = mmt_phases_run(device->device, plan, &data, repetitions,
                                       options->seconds, &phases, err);
    if (status == MMT_OK)
        status =
            mmt_phases_run_pinned(device, plan, &data, options->seconds, &locked, err);
    mmt_plan_free(plan);
    out->manners[COMPUTING] = phases.marks;
    out->manners[COPYING] = phases.total;
    out->manners[LOCKED] = locked.repetitions ? locked.total : NAN;
    return status;
}

static mmt_status time_order(const struct openblas *blas,
                             const struct mmt_study_device *device,
                             const struct mmt_study_options *options, mmt_type type,
                             struct order *out, mmt_error *err)
{
    const size_t bytes = (size_t) (out->n * out->n) * mmt_type_size(type);
    struct matrices x = { type, out->n, malloc(bytes), malloc(bytes), malloc(bytes) };
    void *wanted = malloc(bytes);
    mmt_status status = MMT_OK;

    if (!x.a || !x.b || !x.c || !wanted) {
        status = mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for four matrices");
    } else {
        fill(&x);
        out->one = time_openblas(blas, &x, 1);
        out->all = time_openblas(blas, &x, blas->openblas_get_num_procs());
        memcpy(wanted, x.c, bytes);
        status = time_device(device, options, &x, out, err);
    }
    if (status == MMT_OK && memcmp(wanted, x.c, bytes))
        status = mmt_study_fail(
            err, MMT_ERROR_DEVICE, "%s, n = %lld on %s: the device and OpenBLAS differ",
            mmt_type_name(type), (long long) out->n, device->facts.id);
    free(x.a);
    free(x.b);
    free(x.c);
    free(wanted);
    return status;
}

/* ---- what came of it -------------------------------------------------------------- */

enum { DEVICE, TYPE, N, ONE, ALL, FIRST_MANNER, NUM = FIRST_MANNER + MANNERS };

static const struct mmt_column columns[NUM] = {
    [DEVICE] = { "device", "" },
    [TYPE] = { "type", "" },
    [N] = { "n", "" },
    [ONE] = { "OpenBLAS, one core", "ms", 4 },
    [ALL] = { "OpenBLAS, all cores", "ms", 4 },
    [FIRST_MANNER + COMPUTING] = { "device, computing alone", "ms", 4 },
    [FIRST_MANNER + COPYING] = { "device, with copying", "ms", 4 },
    [FIRST_MANNER + LOCKED] = { "device, from page-locked memory", "ms", 4 },
};

static void add_row(const char *id, mmt_type type, const struct order *order,
                    struct mmt_table *table)
{
    struct mmt_cell row[NUM] = {
        [DEVICE] = MMT_WORD(id),
        [TYPE] = MMT_WORD(mmt_type_name(type)),
        [N] = MMT_NUMBER((double) order->n),
        [ONE] = MMT_NUMBER(order->one * 1e3),
        [ALL] = MMT_NUMBER(order->all * 1e3),
    };
    for (int i = 0; i < MANNERS; i++)
        row[FIRST_MANNER + i] = MMT_NUMBER(order->manners[i] * 1e3);
    mmt_table_add(table, row);
}

static void say_crossovers(const struct mmt_study_options *options, const char *id,
                           mmt_type type, const struct order *orders, int count)
{
    double at[MMT_STUDY_SIZES], device[MMT_STUDY_SIZES], host[MMT_STUDY_SIZES];

    for (int manner = 0; manner < MANNERS && count; manner++)
        for (int all = 0; all < 2 && !isnan(orders[0].manners[manner]); all++) {
            for (int i = 0; i < count; i++) {
                at[i] = (double) orders[i].n;
                device[i] = orders[i].manners[manner];
                host[i] = all ? orders[i].all : orders[i].one;
            }
            double from = mmt_study_crossing(at, device, host, count);
            char told[48] = "not up to the greatest order";
            if (from >= 0)
                snprintf(told, sizeof told, "from n = %.0f on", fmax(from, at[0]));
            mmt_study_say(options, "%s, %s, %s: faster than OpenBLAS on %s %s", id,
                          mmt_type_name(type), manner_names[manner],
                          all ? "all cores" : "one core", told);
        }
}

static mmt_status study_type(const struct openblas *blas,
                             const struct mmt_study_device *device,
                             const struct mmt_study_options *options, mmt_type type,
                             struct mmt_table *table, mmt_error *err)
{
    const int64_t *sizes = options->num_sizes ? options->sizes : usual_sizes;
    const int count = options->num_sizes ? options->num_sizes : NUM_SIZES;
    struct order orders[MMT_STUDY_SIZES];
    int done = 0;

    for (int i = 0; i < count && !mmt_study_interrupted(); i++) {
        orders[i] = (struct order){ .n = sizes[i] };
        mmt_status status = time_order(blas, device, options, type, &orders[i], err);
        if (status != MMT_OK)
            return status;
        add_row(device->facts.id, type, &orders[done++], table);
    }
    say_crossovers(options, device->facts.id, type, orders, done);
    return MMT_OK;
}

static mmt_status run_crossover(const struct mmt_study_options *options, mmt_error *err)
{
    struct mmt_study_device devices[MMT_STUDY_DEVICES] = { 0 };
    struct openblas blas;
    struct mmt_table table = mmt_table_start(
        "C = A*B of order n: what mmtune selects beside OpenBLAS", columns, NUM);
    const unsigned types = mmt_study_types(options, 1 << MMT_F32 | 1 << MMT_F64);
    mmt_status status = open_openblas(&blas, err);

    if (status == MMT_OK && types & ~(1u << MMT_F32 | 1u << MMT_F64))
        status = mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                                "--type must be f32 or f64, which OpenBLAS has");
    if (status == MMT_OK)
        status = mmt_study_open(options, devices, err);
    for (int d = 0; d < options->devices.count && status == MMT_OK; d++)
        for (int type = 0; type < MMT_STUDY_TYPES && status == MMT_OK; type++)
            if (types >> type & 1)
                status =
                    study_type(&blas, &devices[d], options, (mmt_type) type, &table, err);
    if (status == MMT_OK && table.num_rows)
        status = mmt_study_show(options, &table, "crossover", err);
    mmt_table_free(&table);
    mmt_study_close(devices);
    return status;
}

const struct mmt_study mmt_study_crossover = {
    .name = "crossover",
    .what = "small products: from which order on a device beats OpenBLAS's cores",
    .notes = "Sizes are of square matrices; without --sizes from 16 to 1024.\n",
    .heeds = MMT_HEEDS_DEVICES | MMT_HEEDS_TYPES | MMT_HEEDS_SIZES |
             MMT_HEEDS_REPETITIONS | MMT_HEEDS_SECONDS,
    .ops = 1 << MMT_GEMM,
    .types = 1 << MMT_F32 | 1 << MMT_F64,
    .run = run_crossover,
};
