/* mmtune study addition: arrays added on the device and on one core, as semenenko has it
 * (Table 1.1): A_i = B_i = i, sizes from 512 to 51,200,000, phases, and from which size
 * on the device is faster. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/study/cpu.h"
#include "tuner/study/papers.h"
#include "tuner/study/phases.h"
#include "tuner/study/study.h"

enum { REPETITIONS = 20, CPU_RUNS = 5 };

static const int64_t usual_sizes[] = { 512, 51200, 256000, 512000, 25600000, 51200000 };
enum { NUM_SIZES = sizeof usual_sizes / sizeof *usual_sizes };

struct arrays {
    mmt_type type;
    int64_t n;
    void *a, *b, *c, *check;
};

/* One size on one device. */
struct sum {
    int64_t n;
    struct mmt_phases phases;
    double cpu; /* seconds on one core */
};

static void arrays_free(struct arrays *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
    free(x->check);
}

static void fill(struct arrays *x)
{
    for (int64_t i = 0; i < x->n; i++) {
        if (x->type == MMT_F64)
            ((double *) x->a)[i] = ((double *) x->b)[i] = (double) i;
        else if (x->type == MMT_F32)
            ((float *) x->a)[i] = ((float *) x->b)[i] = (float) i;
        else
            ((uint32_t *) x->a)[i] = ((uint32_t *) x->b)[i] = (uint32_t) i;
    }
}

static mmt_status arrays_make(mmt_type type, int64_t n, struct arrays *out,
                              mmt_error *err)
{
    size_t bytes = (size_t) n * mmt_type_size(type);

    *out = (struct arrays){ type,         n, malloc(bytes), malloc(bytes), malloc(bytes),
                            malloc(bytes) };
    if (out->a && out->b && out->c && out->check) {
        fill(out);
        return MMT_OK;
    }
    arrays_free(out);
    return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for four arrays of %lld elements",
                    (long long) n);
}

/* The least of a few runs, after one that touches the pages. */
static double time_cpu(const struct arrays *x)
{
    double least = INFINITY;
    for (int run = 0; run <= CPU_RUNS; run++) {
        double start = mmt_cpu_now();
        mmt_cpu_add(x->type, x->n, x->a, x->b, x->check);
        if (run)
            least = fmin(least, mmt_cpu_now() - start);
    }
    return least;
}

static mmt_status add_up(const struct mmt_study_options *options,
                         const struct mmt_study_device *device, mmt_type type,
                         struct sum *out, mmt_error *err)
{
    mmt_problem problem = mmt_axpby_problem(type, out->n);
    mmt_plan *plan =
        mmt_plan_create(device->device, device->profile, &problem, NULL, err);
    size_t bytes = (size_t) out->n * mmt_type_size(type);
    struct arrays x;
    if (!plan)
        return MMT_ERROR_UNSUPPORTED;

    mmt_status status = arrays_make(type, out->n, &x, err);
    if (status == MMT_OK) {
        struct mmt_phases_data data = { x.a, x.b, x.c, bytes, bytes, bytes, 1 };
        int repetitions = options->repetitions ? (int) options->repetitions : REPETITIONS;
        out->cpu = time_cpu(&x);
        status =
            mmt_phases_run(device->device, plan, &data, repetitions, &out->phases, err);
        if (status == MMT_OK && memcmp(x.c, x.check, bytes))
            status = mmt_fail(err, MMT_ERROR_DEVICE,
                              "%lld additions of %s on %s: the answer is wrong",
                              (long long) out->n, mmt_type_name(type), device->id);
        arrays_free(&x);
    }
    mmt_plan_free(plan);
    return status;
}

/* ---- tables ----------------------------------------------------------------------- */

enum {
    DEVICE,
    TYPE,
    N,
    ALLOCATE,
    WRITE,
    KERNEL,
    READ,
    TOTAL,
    SPREAD,
    CPU,
    RATE,
    THEIR_WRITE,
    THEIR_KERNEL,
    THEIR_READ,
    THEIR_TOTAL,
    THEIR_CPU,
    SUSPECT,
    NUM
};

static const struct mmt_column columns[NUM] = {
    [DEVICE] = { "device", "" },
    [TYPE] = { "type", "" },
    [N] = { "n", "" },
    [ALLOCATE] = { "allocate", "ms", 3 },
    [WRITE] = { "host to device", "ms", 4 },
    [KERNEL] = { "compute", "ms", 4 },
    [READ] = { "device to host", "ms", 4 },
    [TOTAL] = { "total", "ms", 4 },
    [SPREAD] = { "spread", "%", 2 },
    [CPU] = { "one core", "ms", 4 },
    [RATE] = { "rate", "GB/s", 4 },
    [THEIR_WRITE] = { "paper h2d", "ms", 4 },
    [THEIR_KERNEL] = { "paper compute", "ms", 4 },
    [THEIR_READ] = { "paper d2h", "ms", 4 },
    [THEIR_TOTAL] = { "paper total", "ms", 4 },
    [THEIR_CPU] = { "paper one core", "ms", 4 },
    [SUSPECT] = { "suspect of the paper's", "" },
};

/* Milliseconds as the paper prints them; names what is suspect. */
static double theirs(mmt_type type, int64_t n, const char *api, const char *phase,
                     char *suspect)
{
    struct mmt_paper_row wanted = { .paper = "semenenko",
                                    .where = "Table 1.1",
                                    .api = api,
                                    .type = type,
                                    .algorithm = "array_add",
                                    .variant = phase,
                                    .n = n };
    const struct mmt_paper_row *row = mmt_paper_find(&wanted);
    if (row && row->suspect)
        snprintf(suspect + strlen(suspect), 64 - strlen(suspect), "%s%s",
                 *suspect ? ", " : "", phase);
    return row ? row->seconds * 1e3 : NAN;
}

static void add_row(const struct mmt_study_device *device, mmt_type type,
                    const struct sum *sum, struct mmt_table *table)
{
    const struct mmt_phases *p = &sum->phases;
    double bytes = 3.0 * (double) sum->n * (double) mmt_type_size(type);
    char suspect[64] = "";
    const struct mmt_cell row[NUM] = {
        [DEVICE] = MMT_WORD(device->id),
        [TYPE] = MMT_WORD(mmt_type_name(type)),
        [N] = MMT_NUMBER((double) sum->n),
        [ALLOCATE] = MMT_NUMBER(p->allocate * 1e3),
        [WRITE] = MMT_NUMBER(p->write * 1e3),
        [KERNEL] = MMT_NUMBER(p->marks * 1e3),
        [READ] = MMT_NUMBER(p->read * 1e3),
        [TOTAL] = MMT_NUMBER(p->total * 1e3),
        [SPREAD] = MMT_NUMBER(p->spread * 100),
        [CPU] = MMT_NUMBER(sum->cpu * 1e3),
        [RATE] = MMT_NUMBER(bytes / p->marks * 1e-9),
        [THEIR_WRITE] = MMT_NUMBER(theirs(type, sum->n, "cuda", "h2d", suspect)),
        [THEIR_KERNEL] = MMT_NUMBER(theirs(type, sum->n, "cuda", "kernel", suspect)),
        [THEIR_READ] = MMT_NUMBER(theirs(type, sum->n, "cuda", "d2h", suspect)),
        [THEIR_TOTAL] = MMT_NUMBER(theirs(type, sum->n, "cuda", "total", suspect)),
        [THEIR_CPU] = MMT_NUMBER(theirs(type, sum->n, "cpu", "compute", suspect)),
        [SUSPECT] = MMT_WORD(suspect),
    };
    mmt_table_add(table, row);
}

/* ---- from which size on the device is faster -------------------------------------- */

static double device_seconds(const struct sum *sum, bool copying)
{
    return copying ? sum->phases.total : sum->phases.marks;
}

/* Where the two curves cross, straight lines between sizes on logarithmic axes; 0 where
 * the device is always faster, NAN where it never is. */
static double crossover(const struct sum *sums, int count, bool copying)
{
    double last = 0;
    for (int i = 0; i < count; i++) {
        double gap = log(device_seconds(&sums[i], copying) / sums[i].cpu);
        if (gap <= 0 && i == 0)
            return 0;
        if (gap <= 0)
            return exp(log((double) sums[i - 1].n) +
                       log((double) sums[i].n / (double) sums[i - 1].n) * last /
                           (last - gap));
        last = gap;
    }
    return NAN;
}

static void say_crossover(const struct mmt_study_options *options,
                          const struct mmt_study_device *device, mmt_type type,
                          const struct sum *sums, int count)
{
    for (int copying = 0; copying < 2; copying++) {
        double n = crossover(sums, count, copying);
        const char *with = copying ? "with copying" : "computing alone";
        if (isnan(n))
            mmt_study_say(options, "%s, %s, %s: one core is faster at every size",
                          device->id, mmt_type_name(type), with);
        else if (n == 0)
            mmt_study_say(options, "%s, %s, %s: the device is faster at every size",
                          device->id, mmt_type_name(type), with);
        else
            mmt_study_say(options,
                          "%s, %s, %s: the device is faster from %.0f elements on",
                          device->id, mmt_type_name(type), with, n);
    }
}

/* ---- the study -------------------------------------------------------------------- */

static mmt_status add_device(const struct mmt_study_options *options,
                             const struct mmt_study_device *device, mmt_type type,
                             struct mmt_table *table, mmt_error *err)
{
    const int64_t *sizes = options->num_sizes ? options->sizes : usual_sizes;
    int count = options->num_sizes ? options->num_sizes : NUM_SIZES, done = 0;
    struct sum sums[MMT_STUDY_SIZES];

    for (; done < count && !mmt_study_interrupted(); done++) {
        sums[done] = (struct sum){ .n = sizes[done] };
        mmt_status status = add_up(options, device, type, &sums[done], err);
        if (status != MMT_OK)
            return status;
        add_row(device, type, &sums[done], table);
    }
    say_crossover(options, device, type, sums, done);
    return MMT_OK;
}

static mmt_status report(const struct mmt_study_options *options,
                         const struct mmt_table *table, mmt_error *err)
{
    struct mmt_plot total = {
        "array addition with copying", N, TOTAL, { DEVICE, TYPE }, true, true
    };
    struct mmt_plot core = {
        "array addition on one core", N, CPU, { TYPE, -1 }, true, true
    };
    mmt_status status = mmt_study_show(options, table, "addition", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, table, &total, "addition-total", err);
    if (status == MMT_OK)
        status = mmt_study_draw(options, table, &core, "addition-cpu", err);
    return status;
}

static mmt_status run(const struct mmt_study_options *options, mmt_error *err)
{
    struct mmt_study_device devices[MMT_STUDY_DEVICES] = { 0 };
    struct mmt_table table = mmt_table_start(
        "C = A + B, A_i = B_i = i; beside semenenko, Table 1.1 (GTX 1060, f64)", columns,
        NUM);
    unsigned types;
    mmt_status status =
        mmt_study_types(options, 1 << MMT_F32 | 1 << MMT_F64 | 1 << MMT_I32, &types, err);

    if (status == MMT_OK)
        status = mmt_study_open(options, devices, err);
    for (int d = 0; d < options->num_devices && status == MMT_OK; d++)
        for (int type = 0; type < MMT_NUM_TYPES && status == MMT_OK; type++)
            if (types >> type & 1)
                status = add_device(options, &devices[d], (mmt_type) type, &table, err);
    if (status == MMT_OK)
        status = report(options, &table, err);
    mmt_table_free(&table);
    mmt_study_close(devices);
    return status;
}

const struct mmt_study mmt_study_addition = {
    .name = "addition",
    .what = "arrays added, in phases, and from which size on the device is faster",
    .notes = "Sizes are numbers of elements, ascending.\n",
    .heeds =
        MMT_HEEDS_DEVICES | MMT_HEEDS_TYPES | MMT_HEEDS_SIZES | MMT_HEEDS_REPETITIONS,
    .run = run,
};
