/* y = y + x by mmtune and by cuBLAS in turn, over the length. cuBLAS, by which the paper
 * has its operations, is opened at run time where it is there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/library.h"
#include "device/primary.h"
#include "studies/longvector.h"

enum { BATCH = 20, RUNS = 3, STEP = 4 };

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

double mmt_median_of(double *values, int count)
{
    qsort(values, (size_t) count, sizeof *values, compare_numbers);
    return values[count / 2];
}

struct cublas_handle;

struct functions {
    int (*cublasCreate_v2)(struct cublas_handle **);
    int (*cublasDestroy_v2)(struct cublas_handle *);
    int (*cublasSetStream_v2)(struct cublas_handle *, void *stream);
    int (*cublasSaxpy_v2)(struct cublas_handle *, int n, const float *alpha,
                          const float *x, int step_x, float *y, int step_y);
    int (*cublasDaxpy_v2)(struct cublas_handle *, int n, const double *alpha,
                          const double *x, int step_x, double *y, int step_y);
};

/* cuBLAS in the device's primary context, with work on the timer's queue. */
struct cublas {
    struct mmt_primary primary;
    struct functions call;
    struct cublas_handle *handle;
};

#define FN(name) #name, offsetof(struct functions, name), false
static const struct mmt_symbol symbols[] = {
    { FN(cublasCreate_v2) }, { FN(cublasDestroy_v2) }, { FN(cublasSetStream_v2) },
    { FN(cublasSaxpy_v2) },  { FN(cublasDaxpy_v2) },
};
#undef FN

static void close_cublas(struct cublas *c)
{
    if (c->handle)
        c->call.cublasDestroy_v2(c->handle);
    mmt_primary_leave(&c->primary);
    *c = (struct cublas){ .handle = NULL };
}

static bool load_cublas(struct cublas *c, char why[256])
{
    static const char *const files[] = {
        "libcublas.so.13",
        "libcublas.so.12",
        "libcublas.so.11",
        "/usr/local/cuda/lib64/libcublas.so.13",
        "/usr/local/cuda/lib64/libcublas.so.12",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (mmt_library_open(files[i], symbols, sizeof symbols / sizeof *symbols,
                             &c->call, why))
            return true;
    return false;
}

/* False where it is not there: `why` then has a sentence. */
static bool open_cublas(const struct mmt_study_device *device, mmt_queue queue,
                        struct cublas *out, char why[256])
{
    mmt_error err;
    int ordinal;

    *out = (struct cublas){ .handle = NULL };
    if (sscanf(device->id, "cuda:%d", &ordinal) != 1) {
        snprintf(why, 256, "%s is no CUDA device", device->id);
        return false;
    }
    if (!load_cublas(out, why))
        return false;
    if (mmt_primary_enter(&out->primary, ordinal, &err)) {
        snprintf(why, 256, "%.255s", err.text);
        close_cublas(out);
        return false;
    }
    int code = out->call.cublasCreate_v2(&out->handle);
    if (!code)
        code = out->call.cublasSetStream_v2(out->handle, queue);
    if (!code)
        return true;
    snprintf(why, 256, "it does not start: error %d", code);
    close_cublas(out);
    return false;
}

/* ---- timing ---------------------------------------------------------------------- */

struct race {
    struct cublas cublas;
    const struct mmt_study_device *device;
    struct mmt_study_timer *timer;
    mmt_type type;
    mmt_operand x, y;
};

static mmt_status add_by_cublas(const struct race *r, int64_t length, mmt_error *err)
{
    const float one = 1;
    const double one_double = 1;
    const uintptr_t x = (uintptr_t) r->x.handle, y = (uintptr_t) r->y.handle;
    int code =
        r->type == MMT_F64
            ? r->cublas.call.cublasDaxpy_v2(r->cublas.handle, (int) length, &one_double,
                                            (const double *) x, 1, (double *) y, 1)
            : r->cublas.call.cublasSaxpy_v2(r->cublas.handle, (int) length, &one,
                                            (const float *) x, 1, (float *) y, 1);
    return code ? mmt_fail_native(err, MMT_ERROR_DEVICE, code,
                                  "cuBLAS's axpy of %lld elements failed: error %d",
                                  (long long) length, code)
                : MMT_OK;
}

/* Seconds of one operation in the middle of a queue of them; `plan` NULL is cuBLAS. */
static mmt_status time_batch(const struct race *r, const mmt_plan *plan, int64_t length,
                             double *seconds, mmt_error *err)
{
    mmt_status status = mmt_study_timer_start(r->timer, err);
    for (int i = 0; i < BATCH && status == MMT_OK; i++)
        status =
            plan ? mmt_scheme_combine(plan, 1, r->x, 1, r->y, r->y, r->timer->queue, err)
                 : add_by_cublas(r, length, err);
    if (status == MMT_OK)
        status = mmt_study_timer_stop(r->timer, seconds, err);
    *seconds /= BATCH;
    return status;
}

/* Medians of a few, in turn, after one each that warms up. */
static mmt_status time_length(const struct race *r, int64_t length, double *ours,
                              double *theirs, mmt_error *err)
{
    const mmt_problem problem = mmt_axpby_problem(r->type, length);
    double own[RUNS + 1] = { 0 }, other[RUNS + 1] = { 0 };
    mmt_plan *plan;
    mmt_status status = mmt_scheme_plan(r->device, &problem, &plan, err);
    if (status != MMT_OK)
        return status;
    for (int run = 0; run <= RUNS && status == MMT_OK; run++) {
        status = time_batch(r, plan, length, &own[run], err);
        if (status == MMT_OK)
            status = time_batch(r, NULL, length, &other[run], err);
    }
    *ours = mmt_median_of(own + 1, RUNS);
    *theirs = mmt_median_of(other + 1, RUNS);
    mmt_plan_free(plan);
    return status;
}

enum { SERIES, LENGTH, TIME, GAIN, NUM };

static const struct mmt_column columns[NUM] = {
    [SERIES] = { "by", "" },
    [LENGTH] = { "length", "elements" },
    [TIME] = { "y = y + x", "us", 4 },
    [GAIN] = { "mmtune is faster", "times", 3 },
};

static mmt_status time_lengths(const struct race *r,
                               const struct mmt_vector_point *points, int count,
                               struct mmt_table *table, double *gain, mmt_error *err)
{
    for (int i = (count - 1) % STEP; i < count; i += STEP) {
        double ours, theirs;
        mmt_status status = time_length(r, points[i].length, &ours, &theirs, err);
        if (status != MMT_OK)
            return status;
        *gain = theirs / ours;
        for (int by = 0; by < 2; by++) {
            const struct mmt_cell row[NUM] = {
                [SERIES] = MMT_WORD(by ? "cuBLAS" : "mmtune"),
                [LENGTH] = MMT_NUMBER((double) points[i].length),
                [TIME] = MMT_NUMBER((by ? theirs : ours) * 1e6),
                [GAIN] = MMT_NUMBER(by ? NAN : *gain),
            };
            mmt_table_add(table, row);
        }
    }
    return MMT_OK;
}

static mmt_status report_race(const struct mmt_study_options *options,
                              const struct race *r, const struct mmt_table *table,
                              mmt_error *err)
{
    char title[160];
    const struct mmt_plot plot = { title, LENGTH, TIME, { SERIES, -1 }, true, true };
    snprintf(title, sizeof title, "y = y + x, %s, on %.60s", mmt_type_name(r->type),
             mmt_device_caps(r->device->device)->name);
    mmt_status status = mmt_study_show(options, table, "longvector-axpy", err);
    return status ? status
                  : mmt_study_draw(options, table, &plot, "longvector-axpy", err);
}

mmt_status mmt_vector_race(const struct mmt_study_options *options,
                           const struct mmt_study_device *device,
                           struct mmt_study_timer *timer, mmt_type type,
                           const mmt_operand arrays[2],
                           const struct mmt_vector_point *points, int count, double *gain,
                           mmt_error *err)
{
    struct race race = {
        .device = device, .timer = timer, .type = type, .x = arrays[0], .y = arrays[1]
    };
    char why[256];

    *gain = NAN;
    if (!open_cublas(device, timer->queue, &race.cublas, why)) {
        mmt_study_say(options, "cuBLAS's axpy is not beside ours: %s", why);
        return MMT_OK;
    }
    struct mmt_table table =
        mmt_table_start("y = y + x by mmtune and by cuBLAS, in turn", columns, NUM);
    mmt_status status = time_lengths(&race, points, count, &table, gain, err);
    if (status == MMT_OK)
        status = report_race(options, &race, &table, err);
    mmt_table_free(&table);
    close_cublas(&race.cublas);
    return status;
}
