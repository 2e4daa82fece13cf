/* The ladder's tables: all that was measured, then each paper's tables in its own form.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "banks.h"
#include "ladder.h"
#include "../tuner/common/command.h"

static double flops_of_multiply(int64_t n)
{
    return 2.0 * (double) n * (double) n * (double) n;
}

/* GFLOP/s; the papers' own where they print it, since their times are often cut. */
static double gflops_of(int64_t n, double seconds)
{
    return seconds > 0 ? flops_of_multiply(n) / seconds * 1e-9 : NAN;
}

static double their_rate(const struct mmt_paper_row *theirs)
{
    if (!theirs)
        return NAN;
    return theirs->gflops > 0 ? theirs->gflops : gflops_of(theirs->n, theirs->seconds);
}

static double their_milliseconds(const struct mmt_paper_row *theirs)
{
    return theirs && theirs->seconds > 0 ? theirs->seconds * 1e3 : NAN;
}

static double cpu_seconds(const struct mmt_ladder *ladder, const struct mmt_climb *climb,
                          int layout)
{
    const struct mmt_climb_cpu *cpu = mmt_ladder_cpu(ladder, climb->type, climb->n);
    return cpu ? cpu->seconds[layout] : NAN;
}

static double best_cpu(const struct mmt_ladder *ladder, const struct mmt_climb *climb)
{
    double best = NAN;
    for (int layout = 0; layout < MMT_CPU_LAYOUTS; layout++)
        best = fmin(best, cpu_seconds(ladder, climb, layout));
    return best;
}

/* What no kernel of this rung can exceed, in FLOP/s; NAN where nobody tells. What mmtune
 * selects may take f32 as six products of bf16 and i32 as ten of bytes, on tensor cores,
 * where the papers' kernels compute on lanes. */
static double most_of(const struct mmt_ladder *ladder, const struct mmt_climb *climb)
{
    const struct mmt_study_device *card = mmt_ladder_card(ladder, climb);
    const bool tuned = !strcmp(climb->rung->algorithm, "tuned");

    if (!card)
        return NAN;
    double most = mmt_device_peak(card->device, climb->type);
    if (tuned && climb->type == MMT_F32)
        most = fmax(most, mmt_device_peak(card->device, MMT_BF16) / 6);
    if (tuned && climb->type == MMT_I32)
        most = fmax(most, mmt_device_peak(card->device, MMT_I8) / 10);
    return 1.05 * most;
}

/* A kernel that is faster than the device can be was not waited for, or not timed. */
static const char *doubt_of(const struct mmt_ladder *ladder,
                            const struct mmt_climb *climb)
{
    double most = most_of(ladder, climb);

    return climb->phases.marks > 0 &&
                   flops_of_multiply(climb->n) / climb->phases.marks > most
               ? "faster than the peak"
               : mmt_phases_doubt(&climb->phases);
}

/* Turns in which a warp reads a row of the tile of B; NAN for what has no such tile. */
static double bank_turns(const struct mmt_climb *climb)
{
    static const char knob[] = "SHARED_LAYOUT=";
    const char *at = strstr(climb->configuration, knob);
    char layout[16] = "";
    if (strncmp(climb->configuration, "tiled ", 6))
        return NAN;
    sscanf(at + strlen(knob), "%15s", layout);
    return mmt_bank_turns(layout, climb->block, mmt_type_size(climb->type));
}

/* ---- everything ------------------------------------------------------------------- */

enum {
    DEVICE,
    API,
    TYPE,
    TABLE,
    KERNEL,
    CONFIGURATION,
    N,
    BLOCK,
    REPETITIONS,
    ALLOCATE,
    WRITE,
    DEVICE_KERNEL,
    KERNEL_WALL,
    READ,
    TOTAL,
    PINNED,
    WHOLE,
    SPREAD,
    KERNEL_SPREAD,
    OVERHEAD,
    RATE,
    KERNEL_RATE,
    CPU_SECONDS,
    CPU_FROM,
    SPEED_UP,
    BEST_SPEED_UP,
    EFFICIENCY,
    TURNS,
    THEIR_TIME,
    THEIR_RATE,
    RATIO,
    GRADE,
    SUSPECT,
    DOUBT,
    MARK,
    LEFT_OUT,
    NUM_COLUMNS
};

_Static_assert((int) NUM_COLUMNS <= (int) MMT_MOST_COLUMNS, "a table is too narrow");

static const struct mmt_column columns[NUM_COLUMNS] = {
    [DEVICE] = { "device", "" },
    [API] = { "api", "" },
    [TYPE] = { "type", "" },
    [TABLE] = { "table", "" },
    [KERNEL] = { "kernel", "" },
    [CONFIGURATION] = { "configuration", "" },
    [N] = { "n", "" },
    [BLOCK] = { "block", "" },
    [REPETITIONS] = { "repetitions", "" },
    [ALLOCATE] = { "allocate, not in the total", "ms", 3 },
    [WRITE] = { "host to device", "ms", 3 },
    [DEVICE_KERNEL] = { "kernel, device clock", "ms", 4 },
    [KERNEL_WALL] = { "kernel, host clock", "ms", 4 },
    [READ] = { "device to host", "ms", 3 },
    [TOTAL] = { "total", "ms", 4 },
    [PINNED] = { "total, page-locked host memory", "ms", 4 },
    [WHOLE] = { "with allocating", "ms", 4 },
    [SPREAD] = { "spread of total", "%", 2 },
    [KERNEL_SPREAD] = { "spread of kernel, device clock", "%", 2 },
    [OVERHEAD] = { "not computing", "%", 3 },
    [RATE] = { "P with copying", "GFLOP/s", 4 },
    [KERNEL_RATE] = { "P of the kernel", "GFLOP/s", 4 },
    [CPU_SECONDS] = { "one core", "s", 3 },
    [CPU_FROM] = { "one core, as n^3 from", "n", 0 },
    [SPEED_UP] = { "S", "", 4 },
    [BEST_SPEED_UP] = { "S, best layout", "", 4 },
    [EFFICIENCY] = { "E", "", 3 },
    [TURNS] = { "bank turns", "" },
    [THEIR_TIME] = { "paper", "ms", 4 },
    [THEIR_RATE] = { "paper P", "GFLOP/s", 4 },
    [RATIO] = { "P over paper's", "", 3 },
    [GRADE] = { "paper's figure is", "" },
    [SUSPECT] = { "because", "" },
    [DOUBT] = { "our figure is in doubt", "" },
    [MARK] = { "unlike the paper", "" },
    [LEFT_OUT] = { "left out", "" },
};

static void fill_measured(const struct mmt_ladder *ladder, const struct mmt_climb *climb,
                          struct mmt_cell *row)
{
    const struct mmt_phases *p = &climb->phases;
    double t = mmt_climb_seconds(ladder, climb);
    double speed_up = cpu_seconds(ladder, climb, MMT_CPU_AB) / t;

    row[REPETITIONS].number = p->repetitions;
    row[ALLOCATE].number = p->allocate * 1e3;
    row[WRITE].number = p->write * 1e3;
    row[DEVICE_KERNEL].number = p->marks * 1e3;
    row[KERNEL_WALL].number = p->kernel * 1e3;
    row[READ].number = p->read * 1e3;
    row[TOTAL].number = p->total * 1e3;
    row[PINNED].number = (p->kernel + climb->pinned) * 1e3;
    row[WHOLE].number = (p->allocate + p->total) * 1e3;
    row[SPREAD].number = p->spread * 100;
    row[KERNEL_SPREAD].number = p->marks_spread * 100;
    row[OVERHEAD].number = (1 - p->kernel / t) * 100;
    row[RATE].number = gflops_of(climb->n, t);
    row[KERNEL_RATE].number = gflops_of(climb->n, p->marks);
    row[SPEED_UP].number = speed_up;
    row[BEST_SPEED_UP].number = best_cpu(ladder, climb) / t;
    row[EFFICIENCY].number = speed_up / mmt_ladder_lanes(ladder, climb);
    if (climb->theirs && !mmt_paper_rate_doubt(climb->theirs))
        row[RATIO].number = gflops_of(climb->n, t) / their_rate(climb->theirs);
    row[DOUBT] = MMT_WORD(doubt_of(ladder, climb));
}

static void add_climb(const struct mmt_ladder *ladder, const struct mmt_climb *climb,
                      struct mmt_table *table)
{
    const struct mmt_study_device *device = &ladder->devices[climb->device];
    struct mmt_cell row[NUM_COLUMNS];
    char threads[32], mark[128];

    for (int c = 0; c < NUM_COLUMNS; c++)
        row[c] = MMT_NUMBER(NAN);
    row[DEVICE] = MMT_WORD(device->facts.id);
    row[API] = MMT_WORD(device->facts.api);
    row[TYPE] = MMT_WORD(mmt_type_name(climb->type));
    row[TABLE] = MMT_WORD(climb->rung->where);
    row[KERNEL] = MMT_WORD(climb->rung->what);
    row[CONFIGURATION] = MMT_WORD(climb->configuration);
    row[N] = MMT_NUMBER((double) climb->n);
    row[BLOCK] = MMT_WORD(mmt_climb_threads(climb, threads));
    row[MARK] = MMT_WORD(mmt_climb_mark(climb, mark));
    row[CPU_SECONDS] = MMT_NUMBER(cpu_seconds(ladder, climb, MMT_CPU_AB));
    const struct mmt_climb_cpu *cpu = mmt_ladder_cpu(ladder, climb->type, climb->n);
    if (cpu && !cpu->runs[MMT_CPU_AB] && cpu->from[MMT_CPU_AB])
        row[CPU_FROM] = MMT_NUMBER((double) cpu->from[MMT_CPU_AB]);
    row[DOUBT] = MMT_WORD("");
    row[TURNS] = MMT_NUMBER(bank_turns(climb));
    row[THEIR_TIME] = MMT_NUMBER(their_milliseconds(climb->theirs));
    row[THEIR_RATE] = MMT_NUMBER(their_rate(climb->theirs));
    const struct mmt_doubt *doubt = climb->theirs ? climb->theirs->doubt : NULL;
    row[GRADE] = MMT_WORD(doubt ? mmt_grade_name(doubt->grade) : "");
    row[SUSPECT] = MMT_WORD(doubt ? doubt->why : "");
    row[LEFT_OUT] = MMT_WORD(climb->why);
    if (!climb->why[0])
        fill_measured(ladder, climb, row);
    mmt_table_add(table, row);
}

/* What semenenko prints of its second card, of which no climb stands beside it. */
static void add_second_card(const struct mmt_ladder *ladder, mmt_type type,
                            struct mmt_table *table)
{
    const struct mmt_ladder_paper *paper = ladder->paper;

    for (int r = 0; r < paper->num_rungs; r++)
        for (int i = 0; i < ladder->num_sizes; i++) {
            const struct mmt_paper_row wanted = { .paper = paper->name,
                                                  .device = "NVIDIA Quadro K5000 4 GB",
                                                  .type = type,
                                                  .algorithm = paper->rungs[r].algorithm,
                                                  .n = ladder->sizes[i] };
            const struct mmt_paper_row *theirs = mmt_paper_find(&wanted);
            struct mmt_cell row[NUM_COLUMNS];
            for (int c = 0; c < NUM_COLUMNS; c++)
                row[c] = MMT_NUMBER(NAN);
            row[API] = MMT_WORD("Quadro K5000, as printed");
            row[KERNEL] = MMT_WORD(paper->rungs[r].what);
            row[N] = MMT_NUMBER((double) ladder->sizes[i]);
            row[THEIR_RATE] = MMT_NUMBER(their_rate(theirs));
            if (theirs)
                mmt_table_add(table, row);
        }
}

/* Curves of one type: with copying as the papers have it, and of the kernel alone. */
static mmt_status draw_type(const struct mmt_ladder *ladder, mmt_type type,
                            mmt_error *err)
{
    static const struct {
        int y;
        const char *ending, *what;
        int printed;
    } pictures[] = { { RATE, "", "with copying", THEIR_RATE },
                     { KERNEL_RATE, "-kernel", "of the kernels alone", 0 } };
    const struct mmt_ladder_paper *paper = ladder->paper;
    struct mmt_table table = mmt_table_start(paper->title, columns, NUM_COLUMNS);
    mmt_status status = MMT_OK;

    for (int i = 0; i < ladder->num_climbs; i++)
        if (ladder->climbs[i].type == type)
            add_climb(ladder, &ladder->climbs[i], &table);
    bool any = table.num_rows > 0;
    add_second_card(ladder, type, &table);
    for (int i = 0; i < 2 && status == MMT_OK && any; i++) {
        char name[64], title[160];
        struct mmt_plot plot = {
            title, N,    pictures[i].y,       { API, KERNEL },
            true,  true, pictures[i].printed, "n, order of the matrices"
        };
        snprintf(name, sizeof name, "ladder-%s-%s%s", paper->name, mmt_type_name(type),
                 pictures[i].ending);
        snprintf(title, sizeof title, "%s: P %s, %s, on %.60s", paper->name,
                 pictures[i].what, mmt_type_name(type), ladder->devices[0].facts.name);
        status = mmt_study_draw(ladder->options, &table, &plot, name, err);
    }
    mmt_table_free(&table);
    return status;
}

/* zatolokin's Fig. 1 and 2: P of the paper's kernels over N, each API apart. */
static mmt_status draw_apis(const struct mmt_ladder *ladder, mmt_error *err)
{
    mmt_status status = MMT_OK;

    for (int d = 0; d < ladder->options->devices.count && status == MMT_OK; d++) {
        const mmt_device_facts *facts = &ladder->devices[d].facts;
        struct mmt_table table = mmt_table_start("", columns, NUM_COLUMNS);
        char name[64], title[160];
        const struct mmt_plot plot = {
            title, N,    RATE,       { KERNEL, -1 },
            true,  true, THEIR_RATE, "N, order of the matrices"
        };
        for (int i = 0; i < ladder->num_climbs; i++)
            if (ladder->climbs[i].device == d && ladder->climbs[i].rung->where[0])
                add_climb(ladder, &ladder->climbs[i], &table);
        snprintf(name, sizeof name, "ladder-zatolokin-fig-%s-%d", facts->api, d);
        snprintf(title, sizeof title,
                 "zatolokin, Fig. %d: P with copying, through %s, on %.60s",
                 strcmp(facts->api, "cuda") ? 1 : 2, facts->api, facts->name);
        if (mmt_plot_any(&table, &plot))
            status = mmt_study_draw(ladder->options, &table, &plot, name, err);
        mmt_table_free(&table);
    }
    return status;
}

static mmt_status save_everything(const struct mmt_ladder *ladder, mmt_error *err)
{
    struct mmt_table table = mmt_table_start(ladder->paper->title, columns, NUM_COLUMNS);
    char name[64];

    for (int i = 0; i < ladder->num_climbs; i++)
        add_climb(ladder, &ladder->climbs[i], &table);
    snprintf(name, sizeof name, "ladder-%s", ladder->paper->name);
    mmt_status status = mmt_table_save(&table, ladder->options->folder, name, err);
    mmt_table_free(&table);
    for (int type = 0; type < MMT_STUDY_TYPES && status == MMT_OK; type++)
        status = draw_type(ladder, (mmt_type) type, err);
    return status == MMT_OK && !strcmp(ladder->paper->name, "zatolokin")
               ? draw_apis(ladder, err)
               : status;
}

/* ---- one core --------------------------------------------------------------------- */

static void add_cpu(const struct mmt_ladder *ladder, mmt_type type, int64_t n,
                    struct mmt_table *table)
{
    const struct mmt_climb_cpu *cpu = mmt_ladder_cpu(ladder, type, n);
    for (int layout = 0; cpu && layout < MMT_CPU_LAYOUTS; layout++) {
        const struct mmt_paper_row *paper = mmt_ladder_paper_cpu(ladder, type, n, layout);
        double ours = cpu->seconds[layout], theirs = paper ? paper->seconds : NAN;
        const struct mmt_cell row[] = {
            MMT_WORD(mmt_type_name(type)),
            MMT_NUMBER((double) n),
            MMT_WORD(mmt_cpu_layout_name((enum mmt_cpu_layout) layout)),
            MMT_NUMBER(cpu->runs[layout] ? cpu->runs[layout] : NAN),
            MMT_NUMBER(ours),
            MMT_NUMBER(cpu->runs[layout] || isnan(ours) ? NAN
                                                        : (double) cpu->from[layout]),
            MMT_NUMBER(gflops_of(n, ours)),
            MMT_NUMBER(theirs),
            MMT_NUMBER(mmt_paper_time_doubt(paper) ? NAN : theirs / ours),
        };
        mmt_table_add(table, row);
    }
}

static mmt_status show_cpu(const struct mmt_ladder *ladder, mmt_error *err)
{
    static const struct mmt_column form[] = {
        { "type", "", 0 },     { "n", "", 0 },        { "layout", "", 0 },
        { "runs", "", 0 },     { "t", "s", 4 },       { "as n^3 from", "n", 0 },
        { "P", "GFLOP/s", 3 }, { "paper t", "s", 4 }, { "times faster", "", 3 },
    };
    char name[64];
    struct mmt_table table = mmt_table_start(
        "one core of the host, plain loops; what would have taken too long is extended "
        "as n^3 from the size that is named",
        form, sizeof form / sizeof *form);

    for (int type = 0; type < MMT_STUDY_TYPES; type++)
        for (int i = 0; i < ladder->num_sizes; i++)
            if (ladder->types >> type & 1)
                add_cpu(ladder, (mmt_type) type, ladder->sizes[i], &table);
    snprintf(name, sizeof name, "ladder-%s-cpu", ladder->paper->name);
    mmt_status status = mmt_study_show(ladder->options, &table, name, err);
    mmt_table_free(&table);
    return status;
}

/* ---- phases, speed-up, efficiency, bank conflicts --------------------------------- */

static const int shown[] = {
    API,         TYPE,        KERNEL,        N,
    BLOCK,       REPETITIONS, WRITE,         KERNEL_WALL,
    READ,        TOTAL,       SPREAD,        PINNED,
    ALLOCATE,    WHOLE,       DEVICE_KERNEL, KERNEL_SPREAD,
    KERNEL_RATE, SPEED_UP,    BEST_SPEED_UP, EFFICIENCY,
    TURNS,       DOUBT,       MARK,
};
enum { NUM_SHOWN = sizeof shown / sizeof *shown };

/* The same rows with the columns that a reader wants side by side. */
static mmt_status show_phases(const struct mmt_ladder *ladder, mmt_error *err)
{
    struct mmt_table all = mmt_table_start("", columns, NUM_COLUMNS);
    struct mmt_column form[NUM_SHOWN];
    char name[64], title[256];

    for (int c = 0; c < NUM_SHOWN; c++)
        form[c] = columns[shown[c]];
    snprintf(
        title, sizeof title,
        "phases (means): both copies and the kernel by the host's clock are the total; "
        "S is one core's A*B, or its best layout, over t %s allocating; E = S over the "
        "device's lanes; turns of a warp's reads, element by element",
        ladder->paper->allocates ? "with" : "without");
    struct mmt_table table = mmt_table_start(title, form, NUM_SHOWN);
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

/* ---- what is suspect, and what was left out --------------------------------------- */

static bool was_climbed(const struct mmt_paper_row *row, const void *self)
{
    const struct mmt_ladder *ladder = self;
    bool size = false;
    for (int i = 0; i < ladder->num_sizes; i++)
        size |= ladder->sizes[i] == row->n;
    return size && ladder->types >> row->type & 1 &&
           !strcmp(row->paper, ladder->paper->name) &&
           strcmp(row->algorithm, "array_add");
}

void mmt_ladder_say_left_out(const struct mmt_ladder *ladder)
{
    const char *last = "";
    for (int i = 0; i < ladder->num_climbs; i++) {
        const struct mmt_climb *climb = &ladder->climbs[i];
        if (climb->why[0] && strcmp(climb->why, last))
            mmt_study_say(ladder->options, "left out on %s: %s, %s, n = %" PRId64 ": %s",
                          ladder->devices[climb->device].facts.id, climb->rung->what,
                          mmt_type_name(climb->type), climb->n, climb->why);
        last = climb->why[0] ? climb->why : last;
    }
}

mmt_status mmt_ladder_report(const struct mmt_ladder *ladder, mmt_error *err)
{
    mmt_study_say(ladder->options, "\n== %s", ladder->paper->title);
    mmt_status status = mmt_ladder_forms(ladder, err);
    mmt_study_say_doubts(ladder->options, was_climbed, ladder);
    mmt_ladder_say_left_out(ladder);
    if (status == MMT_OK)
        status = show_phases(ladder, err);
    if (status == MMT_OK)
        status = show_cpu(ladder, err);
    if (status == MMT_OK)
        status = save_everything(ladder, err);
    if (status == MMT_OK)
        status = mmt_ladder_figures(ladder, err);
    if (status == MMT_OK)
        status = mmt_ladder_questions(ladder, err);
    if (status == MMT_OK)
        status = mmt_ladder_claims(ladder, err);
    return status;
}
