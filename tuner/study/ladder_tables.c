/* The ladder's tables: all that was measured, then each paper's tables in its own form.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/study/banks.h"
#include "tuner/study/ladder.h"
#include "tuner/suites.h"

static double flops(int64_t n)
{
    return 2.0 * (double) n * (double) n * (double) n;
}

/* GFLOP/s; the papers' own where they print it, since their times are often cut. */
static double rate(int64_t n, double seconds)
{
    return seconds > 0 ? flops(n) / seconds * 1e-9 : NAN;
}

static double their_rate(const struct mmt_paper_row *theirs)
{
    if (!theirs)
        return NAN;
    return theirs->gflops > 0 ? theirs->gflops : rate(theirs->n, theirs->seconds);
}

static double their_milliseconds(const struct mmt_paper_row *theirs)
{
    return theirs && theirs->seconds > 0 ? theirs->seconds * 1e3 : NAN;
}

static const struct mmt_climb_cpu *cpu_of(const struct mmt_ladder *ladder, mmt_type type,
                                          int64_t n)
{
    for (int i = 0; i < ladder->num_cpus; i++)
        if (ladder->cpus[i].type == type && ladder->cpus[i].n == n)
            return &ladder->cpus[i];
    return NULL;
}

static double cpu_seconds(const struct mmt_ladder *ladder, const struct mmt_climb *climb)
{
    const struct mmt_climb_cpu *cpu = cpu_of(ladder, climb->type, climb->n);
    return cpu ? cpu->seconds[MMT_CPU_AB] : NAN;
}

/* Processors as the papers count them: lanes that multiply and add in a clock. */
static double processors(const struct mmt_ladder *ladder, const struct mmt_climb *climb)
{
    const struct mmt_caps *caps = mmt_device_caps(ladder->devices[climb->device].device);
    double peak = mmt_derived_peak(caps, climb->type);
    return peak > 0 && caps->clock_khz ? peak / (2e3 * caps->clock_khz) : NAN;
}

/* Turns in which a warp reads a row of the tile of B; NAN for what has no such tile. */
static double bank_turns(const struct mmt_climb *climb)
{
    const char *configuration = climb->rung->configuration;
    const char *tile = configuration ? strstr(configuration, "TILE=") : NULL;
    if (!tile)
        return NAN;
    enum mmt_tile_layout layout = strstr(configuration, "=plain") ? MMT_TILE_PLAIN
                                  : strstr(configuration, "=pad") ? MMT_TILE_PAD
                                                                  : MMT_TILE_SWAP;
    return mmt_bank_turns(layout, atoi(tile + 5), mmt_type_size(climb->type));
}

/* ---- everything ------------------------------------------------------------------- */

enum {
    DEVICE,
    API,
    TYPE,
    TABLE,
    KERNEL,
    N,
    REPETITIONS,
    ALLOCATE,
    WRITE,
    DEVICE_KERNEL,
    KERNEL_WALL,
    READ,
    TOTAL,
    SPREAD,
    OVERHEAD,
    RATE,
    KERNEL_RATE,
    CPU_SECONDS,
    SPEED_UP,
    EFFICIENCY,
    TURNS,
    THEIR_TIME,
    THEIR_RATE,
    RATIO,
    SUSPECT,
    LEFT_OUT,
    NUM_COLUMNS
};

static const struct mmt_column columns[NUM_COLUMNS] = {
    [DEVICE] = { "device", "" },
    [API] = { "api", "" },
    [TYPE] = { "type", "" },
    [TABLE] = { "table", "" },
    [KERNEL] = { "kernel", "" },
    [N] = { "n", "" },
    [REPETITIONS] = { "repetitions", "" },
    [ALLOCATE] = { "allocate", "ms", 3 },
    [WRITE] = { "host to device", "ms", 3 },
    [DEVICE_KERNEL] = { "kernel, device clock", "ms", 4 },
    [KERNEL_WALL] = { "kernel, host clock", "ms", 4 },
    [READ] = { "device to host", "ms", 3 },
    [TOTAL] = { "total", "ms", 4 },
    [SPREAD] = { "spread of total", "%", 2 },
    [OVERHEAD] = { "not computing", "%", 3 },
    [RATE] = { "P with copying", "GFLOP/s", 4 },
    [KERNEL_RATE] = { "P of the kernel", "GFLOP/s", 4 },
    [CPU_SECONDS] = { "one core", "s", 3 },
    [SPEED_UP] = { "S", "", 4 },
    [EFFICIENCY] = { "E", "", 3 },
    [TURNS] = { "bank turns", "" },
    [THEIR_TIME] = { "paper", "ms", 4 },
    [THEIR_RATE] = { "paper P", "GFLOP/s", 4 },
    [RATIO] = { "P over paper's", "", 3 },
    [SUSPECT] = { "paper's figure is suspect", "" },
    [LEFT_OUT] = { "left out", "" },
};

static void fill_measured(const struct mmt_ladder *ladder, const struct mmt_climb *climb,
                          struct mmt_cell *row)
{
    const struct mmt_phases *p = &climb->phases;
    double cpu = cpu_seconds(ladder, climb), speed_up = cpu / p->total;

    row[REPETITIONS].number = p->repetitions;
    row[ALLOCATE].number = p->allocate * 1e3;
    row[WRITE].number = p->write * 1e3;
    row[DEVICE_KERNEL].number = p->marks * 1e3;
    row[KERNEL_WALL].number = p->kernel * 1e3;
    row[READ].number = p->read * 1e3;
    row[TOTAL].number = p->total * 1e3;
    row[SPREAD].number = p->spread * 100;
    row[OVERHEAD].number = (1 - p->kernel / p->total) * 100;
    row[RATE].number = rate(climb->n, p->total);
    row[KERNEL_RATE].number = rate(climb->n, p->marks);
    row[SPEED_UP].number = speed_up;
    row[EFFICIENCY].number = speed_up / processors(ladder, climb);
    row[RATIO].number = rate(climb->n, p->total) / their_rate(climb->theirs);
}

static void add_climb(const struct mmt_ladder *ladder, const struct mmt_climb *climb,
                      struct mmt_table *table)
{
    const struct mmt_study_device *device = &ladder->devices[climb->device];
    struct mmt_cell row[NUM_COLUMNS];

    for (int c = 0; c < NUM_COLUMNS; c++)
        row[c] = MMT_NUMBER(NAN);
    row[DEVICE] = MMT_WORD(device->id);
    row[API] = MMT_WORD(device->api);
    row[TYPE] = MMT_WORD(mmt_type_name(climb->type));
    row[TABLE] = MMT_WORD(climb->rung->where);
    row[KERNEL] = MMT_WORD(climb->rung->what);
    row[N] = MMT_NUMBER((double) climb->n);
    row[CPU_SECONDS] = MMT_NUMBER(cpu_seconds(ladder, climb));
    row[TURNS] = MMT_NUMBER(bank_turns(climb));
    row[THEIR_TIME] = MMT_NUMBER(their_milliseconds(climb->theirs));
    row[THEIR_RATE] = MMT_NUMBER(their_rate(climb->theirs));
    row[SUSPECT] =
        MMT_WORD(climb->theirs && climb->theirs->suspect ? climb->theirs->suspect : "");
    row[LEFT_OUT] = MMT_WORD(climb->why);
    if (!climb->why[0])
        fill_measured(ladder, climb, row);
    mmt_table_add(table, row);
}

static mmt_status save_everything(const struct mmt_ladder *ladder, mmt_error *err)
{
    const struct mmt_study_options *o = ladder->options;
    struct mmt_table table = mmt_table_start(ladder->paper->title, columns, NUM_COLUMNS);
    struct mmt_plot plot = { ladder->paper->title, N, RATE, { API, KERNEL }, true, true };
    char name[64];

    for (int i = 0; i < ladder->num_climbs; i++)
        add_climb(ladder, &ladder->climbs[i], &table);
    snprintf(name, sizeof name, "ladder-%s", ladder->paper->name);
    mmt_status status = mmt_table_save(&table, o->folder, name, err);
    mmt_table_free(&table);

    for (int type = 0; type < MMT_NUM_TYPES && status == MMT_OK; type++) {
        table = mmt_table_start(ladder->paper->title, columns, NUM_COLUMNS);
        for (int i = 0; i < ladder->num_climbs; i++)
            if (ladder->climbs[i].type == (mmt_type) type)
                add_climb(ladder, &ladder->climbs[i], &table);
        snprintf(name, sizeof name, "ladder-%s-%s", ladder->paper->name,
                 mmt_type_name((mmt_type) type));
        if (table.num_rows)
            status = mmt_study_draw(o, &table, &plot, name, err);
        mmt_table_free(&table);
    }
    return status;
}

/* ---- a paper's table: n down, devices across -------------------------------------- */

enum { FORM_N, FORM_FIRST, FORM_EACH = 4 };

/* Names of the columns, which tables do not copy. */
struct form_names {
    char text[MMT_STUDY_DEVICES][FORM_EACH][40];
};

static int form_columns(const struct mmt_ladder *ladder, struct form_names *names,
                        struct mmt_column *out)
{
    static const char *const heads[FORM_EACH] = { "t", "P", "paper P", "ratio" };
    static const char *const units[FORM_EACH] = { "ms", "GFLOP/s", "GFLOP/s", "" };
    int count = 0, devices = ladder->options->num_devices;

    out[count++] = (struct mmt_column){ "n", "", 0 };
    for (int d = 0; d < devices; d++)
        for (int i = 0; i < FORM_EACH; i++) {
            char *name = names->text[d][i];
            snprintf(name, 40, "%s %s", heads[i], ladder->devices[d].id);
            out[count++] = (struct mmt_column){ name, units[i], 4 };
        }
    if (devices > 1)
        out[count++] = (struct mmt_column){ "first : second", "", 3 };
    out[count++] = (struct mmt_column){ "", "", 0 };
    return count;
}

static const struct mmt_climb *find_climb(const struct mmt_ladder *ladder,
                                          const struct mmt_rung *rung, mmt_type type,
                                          int64_t n, int device)
{
    for (int i = 0; i < ladder->num_climbs; i++) {
        const struct mmt_climb *climb = &ladder->climbs[i];
        if (climb->rung == rung && climb->type == type && climb->n == n &&
            climb->device == device)
            return climb;
    }
    return NULL;
}

static void add_form_row(const struct mmt_ladder *ladder, const struct mmt_rung *rung,
                         const struct mmt_climb_cpu *cpu, struct mmt_table *table)
{
    struct mmt_cell row[MMT_MOST_COLUMNS];
    double rates[MMT_STUDY_DEVICES] = { 0 };
    int count = 0, devices = ladder->options->num_devices;
    bool suspect = false;

    row[count++] = MMT_NUMBER((double) cpu->n);
    for (int d = 0; d < devices; d++) {
        const struct mmt_climb *climb = find_climb(ladder, rung, cpu->type, cpu->n, d);
        double total = climb && !climb->why[0] ? climb->phases.total : NAN;
        double theirs = climb ? their_rate(climb->theirs) : NAN;
        rates[d] = rate(cpu->n, total);
        row[count++] = MMT_NUMBER(total * 1e3);
        row[count++] = MMT_NUMBER(rates[d]);
        row[count++] = MMT_NUMBER(theirs);
        row[count++] = MMT_NUMBER(rates[d] / theirs);
        suspect |= climb && climb->theirs && climb->theirs->suspect;
    }
    if (devices > 1)
        row[count++] = MMT_NUMBER(rates[0] / rates[1]);
    row[count++] = MMT_WORD(suspect ? "* the paper's figure is suspect" : "");
    mmt_table_add(table, row);
}

static void print_suspicions(const struct mmt_ladder *ladder, const struct mmt_rung *rung,
                             mmt_type type)
{
    for (int i = 0; i < ladder->num_climbs; i++) {
        const struct mmt_climb *climb = &ladder->climbs[i];
        if (climb->rung != rung || climb->type != type)
            continue;
        if (climb->theirs && climb->theirs->suspect)
            mmt_study_say(ladder->options, "  * n = %lld, %s, printed %g s: %s",
                          (long long) climb->n, climb->theirs->device,
                          climb->theirs->seconds, climb->theirs->suspect);
        if (climb->why[0])
            mmt_study_say(ladder->options, "  n = %lld on %s left out: %s",
                          (long long) climb->n, ladder->devices[climb->device].id,
                          climb->why);
    }
}

static void print_form(const struct mmt_ladder *ladder, const struct mmt_rung *rung,
                       mmt_type type)
{
    struct mmt_column form[MMT_MOST_COLUMNS];
    struct form_names names;
    char title[256];
    int count = form_columns(ladder, &names, form);

    snprintf(title, sizeof title, "%s%s%s: %s, %s", ladder->paper->name,
             rung->where[0] ? ", " : "", rung->where, rung->what, mmt_type_name(type));
    struct mmt_table table = mmt_table_start(title, form, count);
    for (int i = 0; i < ladder->num_cpus; i++)
        if (ladder->cpus[i].type == type)
            add_form_row(ladder, rung, &ladder->cpus[i], &table);
    if (table.num_rows && !ladder->options->json) {
        mmt_table_print(&table, stdout);
        print_suspicions(ladder, rung, type);
    }
    mmt_table_free(&table);
}

/* ---- one core --------------------------------------------------------------------- */

static double their_cpu(const struct mmt_ladder *ladder, const struct mmt_climb_cpu *cpu,
                        int layout)
{
    bool layouts = !strcmp(ladder->paper->name, "gts250");
    struct mmt_paper_row wanted = {
        .paper = ladder->paper->name,
        .where = ladder->paper->cpu_table,
        .api = "cpu",
        .type = cpu->type,
        .algorithm = "naive",
        .variant = layouts ? mmt_cpu_layout_name((enum mmt_cpu_layout) layout) : NULL,
        .n = cpu->n,
    };
    const struct mmt_paper_row *theirs =
        layouts || layout == MMT_CPU_AB ? mmt_paper_find(&wanted) : NULL;
    return theirs ? theirs->seconds : NAN;
}

static mmt_status show_cpu(const struct mmt_ladder *ladder, mmt_error *err)
{
    static const struct mmt_column form[] = {
        { "type", "", 0 },         { "n", "", 0 },        { "layout", "", 0 },
        { "t", "s", 4 },           { "P", "GFLOP/s", 3 }, { "paper t", "s", 4 },
        { "times faster", "", 3 },
    };
    char name[64];
    struct mmt_table table =
        mmt_table_start("one core of the host, plain loops", form, 7);

    for (int i = 0; i < ladder->num_cpus; i++)
        for (int layout = 0; layout < MMT_CPU_LAYOUTS; layout++) {
            const struct mmt_climb_cpu *cpu = &ladder->cpus[i];
            double ours = cpu->seconds[layout], theirs = their_cpu(ladder, cpu, layout);
            const struct mmt_cell row[] = {
                MMT_WORD(mmt_type_name(cpu->type)),
                MMT_NUMBER((double) cpu->n),
                MMT_WORD(mmt_cpu_layout_name((enum mmt_cpu_layout) layout)),
                MMT_NUMBER(ours),
                MMT_NUMBER(rate(cpu->n, ours)),
                MMT_NUMBER(theirs),
                MMT_NUMBER(theirs / ours),
            };
            mmt_table_add(&table, row);
        }
    snprintf(name, sizeof name, "ladder-%s-cpu", ladder->paper->name);
    mmt_status status = mmt_study_show(ladder->options, &table, name, err);
    mmt_table_free(&table);
    return status;
}

/* ---- phases, speed-up, efficiency, bank conflicts --------------------------------- */

static const int shown[] = { API,      TYPE,          KERNEL, N,     ALLOCATE,
                             WRITE,    DEVICE_KERNEL, READ,   TOTAL, SPREAD,
                             SPEED_UP, EFFICIENCY,    TURNS };
enum { NUM_SHOWN = sizeof shown / sizeof *shown };

/* The same rows with the columns that a reader wants side by side. */
static mmt_status show_phases(const struct mmt_ladder *ladder, mmt_error *err)
{
    struct mmt_table all = mmt_table_start("", columns, NUM_COLUMNS);
    struct mmt_column form[NUM_SHOWN];
    char name[64];

    for (int c = 0; c < NUM_SHOWN; c++)
        form[c] = columns[shown[c]];
    struct mmt_table table = mmt_table_start(
        "phases (means), S over one core's A*B, E = S over the lanes of the device, and "
        "the turns in which a warp reads its row of the tile of B",
        form, NUM_SHOWN);
    for (int i = 0; i < ladder->num_climbs; i++)
        if (!ladder->climbs[i].why[0])
            add_climb(ladder, &ladder->climbs[i], &all);
    for (int r = 0; r < all.num_rows && !all.failed; r++) {
        struct mmt_cell row[NUM_SHOWN];
        for (int c = 0; c < NUM_SHOWN; c++)
            row[c] = *mmt_table_cell(&all, r, shown[c]);
        mmt_table_add(&table, row);
    }
    snprintf(name, sizeof name, "ladder-%s-phases", ladder->paper->name);
    mmt_status status = mmt_study_show(ladder->options, &table, name, err);
    mmt_table_free(&table);
    mmt_table_free(&all);
    return status;
}

mmt_status mmt_ladder_report(const struct mmt_ladder *ladder, mmt_error *err)
{
    mmt_study_say(ladder->options, "\n== %s", ladder->paper->title);
    for (int r = 0; r < ladder->paper->num_rungs; r++)
        for (int type = 0; type < MMT_NUM_TYPES; type++)
            print_form(ladder, &ladder->paper->rungs[r], (mmt_type) type);
    mmt_status status = show_phases(ladder, err);
    if (status == MMT_OK)
        status = show_cpu(ladder, err);
    if (status == MMT_OK)
        status = save_everything(ladder, err);
    return status;
}
