/* mmtune study addition: arrays added on the device and on one core, as semenenko has it
 * (Table 1.1): A_i = B_i = i, sizes from 512 to 51,200,000, phases, and from which size
 * on the device is faster. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "claims.h"
#include "cpu.h"
#include "papers.h"
#include "pinned.h"
#include "study.h"

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
    double pinned; /* the total from page-locked memory; NAN: not measured */
    double cpu;    /* seconds on one core */
};

static void arrays_free(struct arrays *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
    free(x->check);
}

static void fill_arrays(struct arrays *x)
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
        fill_arrays(out);
        return MMT_OK;
    }
    arrays_free(out);
    return mmt_study_fail(err, MMT_ERROR_MEMORY,
                          "no memory for four arrays of %lld elements", (long long) n);
}

/* The least of a few runs, after one that touches the pages. */
static double time_cpu(const struct arrays *x)
{
    double least = INFINITY;
    for (int run = 0; run <= CPU_RUNS; run++) {
        double start = mmt_study_now();
        mmt_cpu_add(x->type, x->n, x->a, x->b, x->check);
        if (run)
            least = fmin(least, mmt_study_now() - start);
    }
    return least;
}

static mmt_status add_up(const struct mmt_study_options *options,
                         const struct mmt_study_device *device, mmt_type type,
                         struct sum *out, mmt_error *err)
{
    mmt_problem problem = mmt_axpby_problem(type, out->n);
    size_t bytes = (size_t) out->n * mmt_type_size(type);
    struct arrays x;
    mmt_status status = mmt_study_fits(device, "the arrays", 4.0 * (double) bytes,
                                       3.0 * (double) bytes, err);
    mmt_plan *plan = status == MMT_OK ? mmt_plan_create(device->device, device->profile,
                                                        &problem, NULL, err)
                                      : NULL;
    if (!plan)
        return status ? status : MMT_ERROR_UNSUPPORTED;

    status = arrays_make(type, out->n, &x, err);
    if (status == MMT_OK) {
        struct mmt_phases_data data = { x.a, x.b, x.c, bytes, bytes, bytes, 1 };
        int repetitions = options->repetitions ? (int) options->repetitions : REPETITIONS;
        out->cpu = time_cpu(&x);
        status = mmt_phases_run(device->device, plan, &data, repetitions,
                                options->seconds, &out->phases, err);
        struct mmt_phases pinned = { 0 };
        if (status == MMT_OK)
            status = mmt_phases_run_pinned(device, plan, &data, options->seconds, &pinned,
                                           err);
        out->pinned = pinned.repetitions ? pinned.total : NAN;
        if (status == MMT_OK && memcmp(x.c, x.check, bytes))
            status = mmt_study_fail(
                err, MMT_ERROR_DEVICE, "%lld additions of %s on %s: the answer is wrong",
                (long long) out->n, mmt_type_name(type), device->facts.id);
        arrays_free(&x);
    }
    mmt_plan_free(plan);
    return status;
}

/* ---- the paper's figures ---------------------------------------------------------- */

static const struct mmt_paper_row *find_paper_row(mmt_type type, int64_t n,
                                                  const char *api, const char *phase)
{
    struct mmt_paper_row wanted = { .paper = "semenenko",
                                    .where = "Table 1.1",
                                    .api = api,
                                    .type = type,
                                    .algorithm = "array_add",
                                    .variant = phase,
                                    .n = n };
    return mmt_paper_find(&wanted);
}

static double their_ms(const struct mmt_paper_row *row)
{
    return row ? row->seconds * 1e3 : NAN;
}

static bool stands_in_table(const struct mmt_paper_row *row, const void *self)
{
    const struct mmt_table *table = self;
    bool shown = false;
    for (int r = 0; r < table->num_rows; r++)
        shown |= mmt_table_cell(table, r, 2)->number == (double) row->n;
    return shown && !strcmp(row->where, "Table 1.1");
}

/* ---- tables ----------------------------------------------------------------------- */

enum {
    DEVICE,
    TYPE,
    N,
    REPEATED,
    ALLOCATE,
    WRITE,
    KERNEL,
    READ,
    TOTAL,
    PINNED,
    SPREAD,
    DEVICE_KERNEL,
    CPU,
    RATE,
    THEIR_WRITE,
    THEIR_KERNEL,
    THEIR_READ,
    THEIR_TOTAL,
    GAIN,
    THEIR_CPU,
    CPU_GAIN,
    SUSPECT,
    DOUBT,
    NUM
};

static const struct mmt_column columns[NUM] = {
    [DEVICE] = { "device", "" },
    [TYPE] = { "type", "" },
    [N] = { "n", "" },
    [REPEATED] = { "runs", "" },
    [ALLOCATE] = { "allocate, not in the total", "ms", 3 },
    [WRITE] = { "host to device", "ms", 4 },
    [KERNEL] = { "compute", "ms", 4 },
    [DEVICE_KERNEL] = { "compute, device clock", "ms", 4 },
    [READ] = { "device to host", "ms", 4 },
    [TOTAL] = { "total", "ms", 4 },
    [PINNED] = { "total, page-locked host memory", "ms", 4 },
    [SPREAD] = { "spread", "%", 2 },
    [CPU] = { "one core", "ms", 4 },
    [RATE] = { "rate", "GB/s", 4 },
    [THEIR_WRITE] = { "paper h2d", "ms", 4 },
    [THEIR_KERNEL] = { "paper compute", "ms", 4 },
    [THEIR_READ] = { "paper d2h", "ms", 4 },
    [THEIR_TOTAL] = { "paper total", "ms", 4 },
    [GAIN] = { "times faster", "", 3 },
    [THEIR_CPU] = { "paper one core", "ms", 4 },
    [CPU_GAIN] = { "core times faster", "", 3 },
    [SUSPECT] = { "paper's in doubt", "" },
    [DOUBT] = { "our figure is in doubt", "" },
};

static double gain_of_row(const struct mmt_paper_row *row, double seconds)
{
    return row && !mmt_paper_time_doubt(row) ? row->seconds / seconds : NAN;
}

static void add_theirs(mmt_type type, const struct sum *sum, char suspect[64],
                       struct mmt_cell *row)
{
    static const struct {
        const char *api, *phase;
        int column;
    } all[] = { { "cuda", "h2d", THEIR_WRITE },
                { "cuda", "kernel", THEIR_KERNEL },
                { "cuda", "d2h", THEIR_READ },
                { "cuda", "total", THEIR_TOTAL },
                { "cpu", "compute", THEIR_CPU } };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct mmt_paper_row *their =
            find_paper_row(type, sum->n, all[i].api, all[i].phase);
        size_t used = strlen(suspect);
        row[all[i].column] = MMT_NUMBER(their_ms(their));
        if (mmt_paper_time_doubt(their))
            snprintf(suspect + used, 64 - used, "%s%s %s", used ? ", " : "", all[i].phase,
                     mmt_grade_name(their->doubt->grade));
    }
    row[GAIN] = MMT_NUMBER(
        gain_of_row(find_paper_row(type, sum->n, "cuda", "total"), sum->phases.total));
    row[CPU_GAIN] =
        MMT_NUMBER(gain_of_row(find_paper_row(type, sum->n, "cpu", "compute"), sum->cpu));
    row[SUSPECT] = MMT_WORD(suspect);
}

/* Arrays of many times what the cache holds are read from memory, whose rate the tuner
 * has measured. */
static const char *doubt_of(const struct mmt_study_device *device,
                            const struct mmt_phases *p, double bytes)
{
    const char *doubt = mmt_phases_doubt(p);
    double cache = (double) device->facts.cache;
    double most = 1.15 * device->known.bandwidth;

    if (!doubt[0] && most > 0 && bytes > 8 * cache && bytes / p->marks > most)
        return "faster than memory";
    return doubt;
}

static void add_row(const struct mmt_study_device *device, mmt_type type,
                    const struct sum *sum, struct mmt_table *table)
{
    const struct mmt_phases *p = &sum->phases;
    double bytes = 3.0 * (double) sum->n * (double) mmt_type_size(type);
    char suspect[64] = "";
    struct mmt_cell row[NUM] = {
        [DEVICE] = MMT_WORD(device->facts.id),
        [TYPE] = MMT_WORD(mmt_type_name(type)),
        [N] = MMT_NUMBER((double) sum->n),
        [REPEATED] = MMT_NUMBER(p->repetitions),
        [ALLOCATE] = MMT_NUMBER(p->allocate * 1e3),
        [WRITE] = MMT_NUMBER(p->write * 1e3),
        [KERNEL] = MMT_NUMBER(p->kernel * 1e3),
        [DEVICE_KERNEL] = MMT_NUMBER(p->marks * 1e3),
        [READ] = MMT_NUMBER(p->read * 1e3),
        [TOTAL] = MMT_NUMBER(p->total * 1e3),
        [PINNED] = MMT_NUMBER(sum->pinned * 1e3),
        [SPREAD] = MMT_NUMBER(p->spread * 100),
        [CPU] = MMT_NUMBER(sum->cpu * 1e3),
        [RATE] = MMT_NUMBER(p->marks > 0 ? bytes / p->marks * 1e-9 : NAN),
        [DOUBT] = MMT_WORD(doubt_of(device, p, bytes)),
    };
    add_theirs(type, sum, suspect, row);
    mmt_table_add(table, row);
}

/* ---- curves: where the device's cross those of one core --------------------------- */

enum { CURVE, CURVE_N, CURVE_MS, CURVE_PRINTED, NUM_CURVE };

static const struct mmt_column curve_columns[NUM_CURVE] = { { "curve", "", 0 },
                                                            { "n, elements", "", 0 },
                                                            { "time", "ms", 4 },
                                                            { "printed", "ms", 4 } };

static void add_point(const char *name, int64_t n, double seconds, double printed_ms,
                      struct mmt_table *curves)
{
    const struct mmt_cell row[NUM_CURVE] = { MMT_WORD(name), MMT_NUMBER((double) n),
                                             MMT_NUMBER(seconds * 1e3),
                                             MMT_NUMBER(printed_ms) };
    mmt_table_add(curves, row);
}

/* Each size at once on all curves; one core, which devices share, and what is printed
 * stand with the first. */
static void add_curves(const struct mmt_study_device *device, mmt_type type,
                       const struct sum *sums, int count, bool first,
                       struct mmt_table *curves)
{
    static const struct {
        const char *name, *phase;
    } all[] = { { "host to device", "h2d" },
                { "computing", "kernel" },
                { "device to host", "d2h" },
                { "with copying", "total" },
                { "with copying and allocating", NULL } };
    for (int i = 0; i < count; i++) {
        const struct mmt_phases *p = &sums[i].phases;
        const double seconds[] = { p->write, p->marks, p->read, p->total,
                                   p->allocate + p->total };
        for (size_t c = 0; c < sizeof all / sizeof *all; c++) {
            const struct mmt_paper_row *their =
                first && all[c].phase
                    ? find_paper_row(type, sums[i].n, "cuda", all[c].phase)
                    : NULL;
            char name[80];
            snprintf(name, sizeof name, "%s, %s", device->facts.id, all[c].name);
            add_point(name, sums[i].n, seconds[c], their_ms(their), curves);
        }
        if (first)
            add_point("one core", sums[i].n, sums[i].cpu,
                      their_ms(find_paper_row(type, sums[i].n, "cpu", "compute")),
                      curves);
    }
}

static mmt_status draw_curves(const struct mmt_study_options *options,
                              const struct mmt_study_device *devices, mmt_type type,
                              const struct mmt_table *curves, mmt_error *err)
{
    char title[160], name[64];
    struct mmt_plot plot = { title, CURVE_N, CURVE_MS,      { CURVE, -1 },
                             true,  true,    CURVE_PRINTED, NULL };

    snprintf(title, sizeof title, "semenenko, Fig. 1.1: two arrays added, %s, on %.60s",
             mmt_type_name(type), devices[0].facts.name);
    snprintf(name, sizeof name, "addition-%s", mmt_type_name(type));
    return curves->num_rows ? mmt_study_draw(options, curves, &plot, name, err) : MMT_OK;
}

enum { COMPUTING, COPYING, LOCKED, MANNERS };

static double device_seconds(const struct sum *sum, int manner)
{
    return manner == COMPUTING ? sum->phases.marks
           : manner == COPYING ? sum->phases.total
                               : sum->pinned;
}

static double crossover_of(const struct sum *sums, int count, int manner)
{
    double at[MMT_STUDY_SIZES], device[MMT_STUDY_SIZES], core[MMT_STUDY_SIZES];
    for (int i = 0; i < count; i++) {
        at[i] = (double) sums[i].n;
        device[i] = device_seconds(&sums[i], manner);
        core[i] = sums[i].cpu;
    }
    return mmt_study_crossing(at, device, core, count);
}

static const char *crossover_text(double n, char out[80])
{
    if (isnan(n))
        snprintf(out, 80, "one core is faster at the largest size");
    else if (n == 0)
        snprintf(out, 80, "the device is faster at every size");
    else
        snprintf(out, 80, "the device is faster from %.0f elements on", n);
    return out;
}

/* At which rate of copies the device would take as long as one core, at the largest size,
 * beside the rates that there are. */
static void say_break_even(const struct mmt_study_options *options,
                           const struct mmt_study_device *device, mmt_type type,
                           const struct sum *last)
{
    const double bytes = 3.0 * (double) last->n * (double) mmt_type_size(type),
                 spare = last->cpu - last->phases.marks;
    struct mmt_study_text told = { 0 };

    mmt_study_text_addf(&told, "%s, %s, %lld elements: ", device->facts.id,
                        mmt_type_name(type), (long long) last->n);
    if (spare > 0)
        mmt_study_text_addf(&told, "it pays where copies go at %.3g GB/s or more",
                            bytes / spare * 1e-9);
    else
        mmt_study_text_add(&told, "no rate of copies makes it pay");
    mmt_study_text_addf(&told, "; they go at %.3g",
                        bytes / (last->phases.write + last->phases.read) * 1e-9);
    if (!isnan(last->pinned))
        mmt_study_text_addf(&told, ", from page-locked memory at %.3g",
                            bytes / (last->pinned - last->phases.kernel) * 1e-9);
    mmt_study_say(options, "%s", mmt_study_text_string(&told));
    mmt_study_text_finish(&told);
}

static void say_crossover(const struct mmt_study_options *options,
                          const struct mmt_study_device *device, mmt_type type,
                          const struct sum *sums, int count)
{
    static const char *const manners[MANNERS] = {
        "computing alone", "with copying", "with copying from page-locked memory"
    };
    char told[80];
    for (int manner = 0; manner < MANNERS; manner++)
        if (!isnan(device_seconds(&sums[count - 1], manner)))
            mmt_study_say(options, "%s, %s, %s: %s", device->facts.id,
                          mmt_type_name(type), manners[manner],
                          crossover_text(crossover_of(sums, count, manner), told));
    say_break_even(options, device, type, &sums[count - 1]);
}

/* ---- what the paper concludes ----------------------------------------------------- */

/* f32 and i32 pay with copying, f64 does not; computing alone is little of the time. */
static void judge_sums(const struct mmt_study_device *device, mmt_type type,
                       const struct sum *sums, int count, struct mmt_table *claims)
{
    static const struct mmt_claim pays = {
        "semenenko", "text at Fig. 1.1",
        "float and int pay from some size on, with copying", "512000 elements"
    };
    static const struct mmt_claim never = { "semenenko", "Table 1.1",
                                            "double never pays, with copying",
                                            "0.70 times, 51200000 elements" };
    static const struct mmt_claim little = {
        "semenenko", "text at Fig. 1.1", "computing takes hardly any of the time (10 %)",
        ""
    };
    const struct mmt_phases *last = &sums[count - 1].phases;
    double crossover = crossover_of(sums, count, COPYING);
    char told[80];

    mmt_claims_add(claims, type == MMT_F64 ? &never : &pays, device->facts.id,
                   (type == MMT_F64) == isnan(crossover), "%s (%s, to %lld)",
                   crossover_text(crossover, told), mmt_type_name(type),
                   (long long) sums[count - 1].n);
    mmt_claims_add(claims, &little, device->facts.id, last->kernel < 0.1 * last->total,
                   "%.2g %% (%s, %lld elements)", 100 * last->kernel / last->total,
                   mmt_type_name(type), (long long) sums[count - 1].n);
}

/* ---- the study -------------------------------------------------------------------- */

/* A size or a type that a device cannot have is left out with the reason; a wrong answer
 * or a device that fails ends the study. */
static mmt_status add_device(const struct mmt_study_options *options,
                             const struct mmt_study_device *device, mmt_type type,
                             bool core, struct mmt_table *table, struct mmt_table *claims,
                             struct mmt_table *curves, mmt_error *err)
{
    const int64_t *sizes = options->num_sizes ? options->sizes : usual_sizes;
    int count = options->num_sizes ? options->num_sizes : NUM_SIZES, done = 0;
    struct sum sums[MMT_STUDY_SIZES];

    for (int i = 0; i < count && !mmt_study_interrupted(); i++) {
        mmt_error why = { 0 };
        sums[done] = (struct sum){ .n = sizes[i] };
        mmt_status status = add_up(options, device, type, &sums[done], &why);
        if (status == MMT_ERROR_UNSUPPORTED || status == MMT_ERROR_MEMORY) {
            mmt_study_say(options, "left out on %s: %s, n = %lld: %s", device->facts.id,
                          mmt_type_name(type), (long long) sizes[i], why.text);
            continue;
        }
        if (status != MMT_OK) {
            *err = why;
            return status;
        }
        add_row(device, type, &sums[done++], table);
        status = mmt_table_save(table, options->folder, "addition", err);
        if (status != MMT_OK)
            return status;
    }
    if (done) {
        say_crossover(options, device, type, sums, done);
        judge_sums(device, type, sums, done, claims);
    }
    add_curves(device, type, sums, done, core, curves);
    return MMT_OK;
}

static mmt_status add_type(const struct mmt_study_options *options,
                           const struct mmt_study_device *devices, mmt_type type,
                           struct mmt_table *table, struct mmt_table *claims,
                           mmt_error *err)
{
    struct mmt_table curves = mmt_table_start("", curve_columns, NUM_CURVE);
    mmt_status status = MMT_OK;

    for (int d = 0; d < options->devices.count && status == MMT_OK; d++)
        status =
            add_device(options, &devices[d], type, d == 0, table, claims, &curves, err);
    if (status == MMT_OK)
        status = draw_curves(options, devices, type, &curves, err);
    mmt_table_free(&curves);
    return status;
}

static mmt_status run_addition(const struct mmt_study_options *options, mmt_error *err)
{
    struct mmt_study_device devices[MMT_STUDY_DEVICES] = { 0 };
    struct mmt_table table = mmt_table_start(
        "C = A + B, A_i = B_i = i; beside semenenko, Table 1.1 (GTX 1060, f64)", columns,
        NUM);
    struct mmt_table claims = mmt_claims_start();
    const unsigned types = mmt_study_types(options, mmt_study_addition.types);
    mmt_status status = mmt_study_open(options, devices, err);

    for (int type = 0; type < MMT_STUDY_TYPES && status == MMT_OK; type++)
        if (types >> type & 1)
            status = add_type(options, devices, (mmt_type) type, &table, &claims, err);
    if (status == MMT_OK && !table.num_rows && !mmt_study_interrupted())
        status = mmt_study_fail(err, MMT_ERROR_UNSUPPORTED, "every size was left out");
    if (status == MMT_OK)
        status = mmt_study_show(options, &table, "addition", err);
    if (status == MMT_OK)
        mmt_study_say_doubts(options, stands_in_table, &table);
    if (status == MMT_OK)
        status = mmt_study_show(options, &claims, "addition-claims", err);
    mmt_table_free(&claims);
    mmt_table_free(&table);
    mmt_study_close(devices);
    return status;
}

const struct mmt_study mmt_study_addition = {
    .name = "addition",
    .what = "arrays added, in phases, and from which size on the device is faster",
    .notes = "Sizes are numbers of elements.\n",
    .heeds = MMT_HEEDS_DEVICES | MMT_HEEDS_TYPES | MMT_HEEDS_SIZES |
             MMT_HEEDS_REPETITIONS | MMT_HEEDS_SECONDS,
    .ops = 1 << MMT_AXPBY,
    .types = 1 << MMT_F32 | 1 << MMT_F64 | 1 << MMT_I32,
    .run = run_addition,
};
