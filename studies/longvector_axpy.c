/* y = y + x by mmtune and by cuBLAS in turn, over the length. cuBLAS, by which the paper
 * has its operations, is opened at run time where it is there. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#include "longvector.h"

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

/* Of CUDA's driver, to make a device's primary context current. */
struct driver {
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuDevicePrimaryCtxRelease_v2)(int device);
    int (*cuCtxSetCurrent)(void *context);
};

/* cuBLAS in the device's primary context, with work on the timer's queue. */
struct cublas {
    struct driver driver;
    int device;
    bool retained;
    struct functions call;
    struct cublas_handle *handle;
};

/* Where a function's pointer stands in a struct cublas. */
struct symbol {
    const char *name;
    size_t offset;
};
#define CALL(name)                                                                       \
    {                                                                                    \
#name, offsetof(struct cublas, call.name)                                        \
    }
#define DRIVER(name)                                                                     \
    {                                                                                    \
#name, offsetof(struct cublas, driver.name)                                      \
    }
static const struct symbol calls[] = {
    CALL(cublasCreate_v2), CALL(cublasDestroy_v2), CALL(cublasSetStream_v2),
    CALL(cublasSaxpy_v2),  CALL(cublasDaxpy_v2),   { NULL, 0 },
};
static const struct symbol drivers[] = {
    DRIVER(cuDevicePrimaryCtxRetain),
    DRIVER(cuDevicePrimaryCtxRelease_v2),
    DRIVER(cuCtxSetCurrent),
    { NULL, 0 },
};

/* What is open stays open: drivers keep threads. False where a file or a function is not
 * there: `why` then has a sentence. */
static bool load(struct cublas *c, const char *file, const struct symbol *symbols,
                 char why[256])
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        snprintf(why, 256, "%s", dlerror());
    for (; library && symbols->name; symbols++) {
        void *found = dlsym(library, symbols->name);
        memcpy((char *) c + symbols->offset, &found, sizeof found);
        if (!found) {
            snprintf(why, 256, "%s has no %s", file, symbols->name);
            return false;
        }
    }
    return library != NULL;
}

static void close_cublas(struct cublas *c)
{
    if (c->handle)
        c->call.cublasDestroy_v2(c->handle);
    if (c->retained) {
        c->driver.cuCtxSetCurrent(NULL);
        c->driver.cuDevicePrimaryCtxRelease_v2(c->device);
    }
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
        if (load(c, files[i], calls, why))
            return true;
    return false;
}

/* An error of the driver, or 0. */
static int enter_context(struct cublas *c)
{
    void *context;
    int code = c->driver.cuDevicePrimaryCtxRetain(&context, c->device);
    c->retained = !code;
    return code ? code : c->driver.cuCtxSetCurrent(context);
}

/* False where it is not there: `why` then has a sentence. */
static bool open_cublas(const struct mmt_study_device *device, mmt_queue queue,
                        struct cublas *out, char why[256])
{
    *out = (struct cublas){ .handle = NULL };
    if (sscanf(device->facts.id, "cuda:%d", &out->device) != 1) {
        snprintf(why, 256, "%s is no CUDA device", device->facts.id);
        return false;
    }
    if (!load_cublas(out, why) || !load(out, "libcuda.so.1", drivers, why))
        return false;
    int code = enter_context(out);
    if (!code)
        code = out->call.cublasCreate_v2(&out->handle);
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
    mmt_timer *timer;
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
    return code ? mmt_study_fail(err, MMT_ERROR_DEVICE,
                                 "cuBLAS's axpy of %lld elements failed: error %d",
                                 (long long) length, code)
                : MMT_OK;
}

/* Seconds of one operation in the middle of a queue of them; `plan` NULL is cuBLAS. */
static mmt_status time_batch(const struct race *r, const mmt_plan *plan, int64_t length,
                             double *seconds, mmt_error *err)
{
    mmt_status status = mmt_timer_start(r->timer, err);
    for (int i = 0; i < BATCH && status == MMT_OK; i++)
        status = plan ? mmt_scheme_combine(plan, 1, r->x, 1, r->y, r->y,
                                           mmt_timer_queue(r->timer), err)
                      : add_by_cublas(r, length, err);
    if (status == MMT_OK)
        status = mmt_timer_stop(r->timer, seconds, err);
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
             r->device->facts.name);
    mmt_status status = mmt_study_show(options, table, "longvector-axpy", err);
    return status ? status
                  : mmt_study_draw(options, table, &plot, "longvector-axpy", err);
}

mmt_status mmt_vector_race(const struct mmt_study_options *options,
                           const struct mmt_study_device *device, mmt_timer *timer,
                           mmt_type type, const mmt_operand arrays[2],
                           const struct mmt_vector_point *points, int count, double *gain,
                           mmt_error *err)
{
    struct race race = {
        .device = device, .timer = timer, .type = type, .x = arrays[0], .y = arrays[1]
    };
    char why[256];

    *gain = NAN;
    if (!open_cublas(device, mmt_timer_queue(timer), &race.cublas, why)) {
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
