/* Sums of square matrices over their order, in the manner of the paper's Fig. 2: on the
 * device, with allocating the three matrices and without, and on one core; and one
 * product by the paper's simple kernel. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "cg.h"
#include "cpu.h"
#include "phases.h"

enum { RUNS = 5 };
#define ROW_SECONDS 0.3 /* of repetitions, after the first */

struct matrices {
    double *a, *b, *c, *check;
};

static void free_matrices(struct matrices *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
    free(x->check);
}

static mmt_status make_matrices(int64_t n, struct matrices *out, mmt_error *err)
{
    size_t bytes = (size_t) (n * n) * sizeof(double);

    *out =
        (struct matrices){ malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes) };
    if (!out->a || !out->b || !out->c || !out->check) {
        free_matrices(out);
        return mmt_study_fail(err, MMT_ERROR_MEMORY,
                              "no memory for four matrices of order %" PRId64, n);
    }
    for (int64_t i = 0; i < n * n; i++)
        out->a[i] = (double) i, out->b[i] = 0.5 * (double) i;
    return MMT_OK;
}

/* The least of a few runs, after one that touches the pages. */
static double time_core(int64_t n, const struct matrices *x)
{
    double least = INFINITY, until = mmt_study_now() + ROW_SECONDS;
    for (int run = 0; run <= RUNS && (run < 2 || mmt_study_now() < until); run++) {
        double start = mmt_study_now();
        mmt_cpu_add(MMT_F64, n * n, x->a, x->b, x->check);
        if (run)
            least = fmin(least, mmt_study_now() - start);
    }
    return least;
}

static mmt_status add_matrices(const struct mmt_study_device *device, int64_t n,
                               struct mmt_phases *phases, double *core, mmt_error *err)
{
    mmt_problem problem = mmt_axpby_problem(MMT_F64, n);
    size_t bytes = (size_t) (n * n) * sizeof(double);
    struct matrices x;
    mmt_status status = mmt_study_fits(device, "three matrices", 4.0 * (double) bytes,
                                       3.0 * (double) bytes, err);
    if (status == MMT_OK)
        status = make_matrices(n, &x, err);
    if (status != MMT_OK)
        return status;

    problem.m = n;
    mmt_plan *plan =
        mmt_plan_create(device->device, device->profile, &problem, NULL, err);
    status = plan ? MMT_OK : err->status;
    if (status == MMT_OK) {
        struct mmt_phases_data data = { x.a, x.b, x.c, bytes, bytes, bytes, 1 };
        *core = time_core(n, &x);
        status =
            mmt_phases_run(device->device, plan, &data, RUNS, ROW_SECONDS, phases, err);
    }
    if (status == MMT_OK && memcmp(x.c, x.check, bytes))
        status =
            mmt_study_fail(err, MMT_ERROR_DEVICE,
                           "the sum of two matrices of order %" PRId64 " is wrong", n);
    mmt_plan_free(plan);
    free_matrices(&x);
    return status;
}

/* ---- a product ------------------------------------------------------------------- */

/* A thread for each element, in blocks of 32 x 32 where the device has them. */
static mmt_plan *plan_product(const struct mmt_study_device *device, int64_t n,
                              mmt_error *err)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F64, n, n, n);
    mmt_plan_options options = mmt_plan_defaults();
    const unsigned threads = device->facts.max_threads;
    options.configuration = threads >= 1024  ? "naive ORDER=columns BLOCK_M=32 BLOCK_N=32"
                            : threads >= 256 ? "naive ORDER=columns BLOCK_M=16 BLOCK_N=16"
                                             : "naive ORDER=columns BLOCK_M=8 BLOCK_N=8";
    return mmt_plan_create(device->device, NULL, &problem, &options, err);
}

static mmt_status multiply_matrices(const struct mmt_study_device *device, int64_t n,
                                    struct mmt_cg_product *out, mmt_error *err)
{
    size_t bytes = (size_t) (n * n) * sizeof(double);
    double *column = malloc((size_t) n * sizeof *column);
    struct matrices x = { NULL };
    struct mmt_phases phases = { 0 };
    bool whole = false;
    mmt_status status =
        column ? make_matrices(n, &x, err)
               : mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for a column");
    mmt_plan *plan = status == MMT_OK ? plan_product(device, n, err) : NULL;

    if (status == MMT_OK && !plan)
        status = err->status;
    if (status == MMT_OK) {
        struct mmt_phases_data data = { x.a, x.b, x.c, bytes, bytes, bytes, 0 };
        double start = mmt_study_now();
        whole = mmt_cpu_gemm(MMT_F64, MMT_CPU_AB, n, x.a, x.b, x.check, column);
        out->core = mmt_study_now() - start;
        if (whole)
            status = mmt_phases_run(device->device, plan, &data, RUNS, ROW_SECONDS,
                                    &phases, err);
    }
    out->n = whole ? n : 0, out->computing = phases.marks;
    mmt_plan_free(plan);
    free_matrices(&x);
    free(column);
    return status;
}

mmt_status mmt_cg_multiply(const struct mmt_study_options *options,
                           const struct mmt_study_device *device, const int64_t *sizes,
                           int count, struct mmt_cg_product *out, mmt_error *err)
{
    enum { MOST = 1024 };
    int64_t n = 0;

    *out = (struct mmt_cg_product){ 0 };
    for (int i = 0; i < count; i++)
        if (sizes[i] <= MOST && 5e-9 * pow((double) sizes[i], 3) <= options->cpu_seconds)
            n = sizes[i];
    return n && !mmt_study_interrupted() ? multiply_matrices(device, n, out, err)
                                         : MMT_OK;
}

/* ---- what came of it --------------------------------------------------------------- */

enum { CURVE, ORDER, TIME, NUM };

static const struct mmt_column columns[NUM] = {
    [CURVE] = { "sum", "" }, [ORDER] = { "n", "rows" }, [TIME] = { "t", "ms", 4 }
};

static void add_rows(int64_t n, const struct mmt_phases *p, double core,
                     struct mmt_table *table)
{
    const struct {
        const char *curve;
        double seconds;
    } rows[] = { { "one core", core },
                 { "device, computing", p->marks },
                 { "device, allocating and computing", p->allocate + p->marks },
                 { "device, copying and computing", p->write + p->marks + p->read } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct mmt_cell row[NUM] = { [CURVE] = MMT_WORD(rows[i].curve),
                                           [ORDER] = MMT_NUMBER((double) n),
                                           [TIME] = MMT_NUMBER(rows[i].seconds * 1e3) };
        mmt_table_add(table, row);
    }
}

static mmt_status report_sums(const struct mmt_study_options *options,
                              const struct mmt_study_device *device,
                              const struct mmt_table *table, mmt_error *err)
{
    char title[160];
    const struct mmt_plot plot = { title, ORDER, TIME, { CURVE, -1 }, true, true };
    snprintf(title, sizeof title, "sum of two matrices n x n, f64, on %.60s",
             device->facts.name);
    mmt_status status = mmt_study_show(options, table, "cg-sums", err);
    return status ? status : mmt_study_draw(options, table, &plot, "cg-sums", err);
}

mmt_status mmt_cg_sums(const struct mmt_study_options *options,
                       const struct mmt_study_device *device, const int64_t *sizes,
                       int count, struct mmt_cg_sum *largest, mmt_error *err)
{
    struct mmt_table table = mmt_table_start(
        "C = A + B over the order of the matrices, means of up to five", columns, NUM);
    mmt_status status = MMT_OK;

    *largest = (struct mmt_cg_sum){ 0 };
    for (int i = 0; i < count && status == MMT_OK && !mmt_study_interrupted(); i++) {
        struct mmt_phases phases = { 0 };
        double core = 0;
        status = add_matrices(device, sizes[i], &phases, &core, err);
        if (status == MMT_ERROR_MEMORY) {
            mmt_study_say(options, "left out: a sum of order %" PRId64 ": %s", sizes[i],
                          err->text);
            status = MMT_OK;
            continue;
        }
        if (status != MMT_OK)
            break;
        add_rows(sizes[i], &phases, core, &table);
        *largest = (struct mmt_cg_sum){ sizes[i], core, phases.marks, phases.allocate };
    }
    if (status == MMT_OK && table.num_rows)
        status = report_sums(options, device, &table, err);
    mmt_table_free(&table);
    return status;
}
