/* The papers' tables in the papers' form. Each line stands up to three times: what was
 * measured here, what the paper printed, and by how much it is faster here; what is
 * doubtful or impossible in the paper is marked, and compared with nothing. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "ladder.h"

enum { MOST_FIGURES = 24 };
enum kind { MS, SECONDS, GFLOPS, PLAIN };

struct form {
    char names[MOST_FIGURES][48];
    struct mmt_column columns[MMT_MOST_COLUMNS];
    enum kind kinds[MOST_FIGURES];
    int count;     /* of figures */
    bool measured; /* whether any of them was, here */
    struct mmt_table table;
};

/* One figure of a line: measured, and printed; NAN where it is not. */
struct figure {
    double here, paper;
    const struct mmt_doubt *doubt; /* of what is printed, so that it is not compared */
    int64_t from; /* `here` is what n^3 makes of this size; 0: it was measured */
};

/* ---- a table of lines ------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void add_column(struct form *form,
                                                             enum kind kind,
                                                             const char *format, ...)
{
    static const char *const units[] = { "ms", "s", "GFLOP/s", "" };
    char *name = form->names[form->count];
    va_list list;

    va_start(list, format);
    vsnprintf(name, sizeof form->names[0], format, list);
    va_end(list);
    form->kinds[form->count] = kind;
    form->columns[2 + form->count++] = (struct mmt_column){ name, units[kind], 4 };
}

static void start_form(struct form *form, const char *title, const char *key)
{
    form->columns[0] = (struct mmt_column){ key, "", 0 };
    form->columns[1] = (struct mmt_column){ "whose", "", 0 };
    form->columns[2 + form->count] = (struct mmt_column){ "note", "", 0 };
    form->table = mmt_table_start(title, form->columns, form->count + 3);
}

static double gain_of_figure(enum kind kind, const struct figure *f)
{
    if (kind == PLAIN || f->doubt)
        return NAN;
    return kind == GFLOPS ? f->here / f->paper : f->paper / f->here;
}

static void add_words(struct form *form, struct mmt_cell key, const char *whose,
                      const double *values, const char *note)
{
    struct mmt_cell row[MMT_MOST_COLUMNS];

    row[0] = key;
    row[1] = MMT_WORD(whose);
    for (int i = 0; i < form->count; i++)
        row[2 + i] = MMT_NUMBER(values[i]);
    row[2 + form->count] = MMT_WORD(note);
    mmt_table_add(&form->table, row);
}

/* What is printed of the line, where anything is. */
static void add_paper(struct form *form, struct mmt_cell key, const char *whose,
                      const struct figure *figures)
{
    double paper[MOST_FIGURES], gains[MOST_FIGURES];
    char suspect[256] = "";
    bool any = false, compared = false;

    for (int i = 0; i < form->count; i++) {
        size_t used = strlen(suspect);
        paper[i] = figures[i].paper;
        gains[i] = gain_of_figure(form->kinds[i], &figures[i]);
        any |= !isnan(paper[i]);
        compared |= !isnan(gains[i]);
        if (figures[i].doubt && !isnan(paper[i]))
            snprintf(suspect + used, sizeof suspect - used, "%s%s: %s", used ? "; " : "",
                     mmt_grade_name(figures[i].doubt->grade), form->names[i]);
    }
    if (any)
        add_words(form, key, whose, paper, suspect);
    if (compared)
        add_words(form, key, "times faster here", gains, "");
}

/* What was measured; `mark` says in what its kernel is unlike the paper's. */
static void add_here(struct form *form, struct mmt_cell key, const struct figure *figures,
                     const char *mark)
{
    double here[MOST_FIGURES];
    char note[256];
    snprintf(note, sizeof note, "%.200s", mark);
    for (int i = 0; i < form->count; i++) {
        size_t used = strlen(note);
        here[i] = figures[i].here;
        form->measured |= !isnan(here[i]);
        if (figures[i].from)
            snprintf(note + used, sizeof note - used, "%s%s as n^3 from %" PRId64,
                     used ? "; " : "", form->names[i], figures[i].from);
    }
    add_words(form, key, "here", here, note);
}

/* Shows it where anything of it was measured. */
static mmt_status finish_form(const struct mmt_ladder *ladder, struct form *form,
                              const char *what, mmt_error *err)
{
    char name[96];
    snprintf(name, sizeof name, "ladder-%s-%s", ladder->paper->name, what);
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char) *c) ? (char) tolower((unsigned char) *c) : '-';
    mmt_status status = form->measured
                            ? mmt_study_show(ladder->options, &form->table, name, err)
                            : MMT_OK;
    mmt_table_free(&form->table);
    return status;
}

/* ---- figures ---------------------------------------------------------------------- */

static double gflops_of(int64_t n, double seconds)
{
    return 2 * pow((double) n, 3) / seconds * 1e-9;
}

static struct figure seconds_of(const struct mmt_ladder *ladder,
                                const struct mmt_climb *climb, double scale)
{
    const struct mmt_paper_row *row = climb ? climb->theirs : NULL;
    struct figure f = { NAN, NAN, mmt_paper_time_doubt(row), 0 };
    if (climb)
        f.here = mmt_climb_seconds(ladder, climb) * scale;
    if (row && row->seconds > 0)
        f.paper = row->seconds * scale;
    return f;
}

/* As printed, since the papers' times are often cut. */
static struct figure rate_of(const struct mmt_ladder *ladder,
                             const struct mmt_climb *climb)
{
    const struct mmt_paper_row *row = climb ? climb->theirs : NULL;
    struct figure f = seconds_of(ladder, climb, 1);
    f.here = climb ? gflops_of(climb->n, f.here) : NAN;
    f.doubt = mmt_paper_rate_doubt(row);
    if (row)
        f.paper = row->gflops > 0 ? row->gflops : gflops_of(climb->n, f.paper);
    return f;
}

static struct figure cpu_figure(const struct mmt_ladder *ladder, mmt_type type, int64_t n,
                                int layout, double scale)
{
    const struct mmt_climb_cpu *cpu = mmt_ladder_cpu(ladder, type, n);
    const struct mmt_paper_row *row = mmt_ladder_paper_cpu(ladder, type, n, layout);
    struct figure f = { NAN, NAN, mmt_paper_time_doubt(row), 0 };
    if (cpu)
        f.here = cpu->seconds[layout] * scale;
    if (cpu && !cpu->runs[layout])
        f.from = cpu->from[layout];
    if (row)
        f.paper = row->seconds * scale;
    return f;
}

static struct figure quotient_of(struct figure a, struct figure b)
{
    return (struct figure){ a.here / b.here, a.paper / b.paper,
                            a.doubt ? a.doubt : b.doubt, 0 };
}

/* ---- zatolokin: a table for each kernel, n down, APIs across ---------------------- */

static void compare_columns(const struct mmt_ladder *ladder, bool core, struct form *form)
{
    if (core)
        add_column(form, MS, "t one core");
    if (core)
        add_column(form, GFLOPS, "P one core");
    for (int d = 0; d < ladder->options->devices.count; d++) {
        const char *id = ladder->devices[d].facts.id;
        add_column(form, MS, "t %s", id);
        add_column(form, GFLOPS, "P %s", id);
        if (core)
            add_column(form, PLAIN, "P %s : one core", id);
        if (d)
            add_column(form, PLAIN, "P %s : %s", ladder->devices[0].facts.id, id);
    }
}

/* Of the first device whose kernel is unlike the paper's. */
static const char *first_mark(const struct mmt_ladder *ladder,
                              const struct mmt_rung *rung, mmt_type type, int64_t n,
                              char out[128])
{
    out[0] = 0;
    for (int d = 0; d < ladder->options->devices.count && !out[0]; d++) {
        const struct mmt_climb *climb = mmt_ladder_find(ladder, rung, type, n, d);
        if (climb)
            mmt_climb_mark(climb, out);
    }
    return out;
}

static void add_compared(const struct mmt_ladder *ladder, const struct mmt_rung *rung,
                         mmt_type type, int64_t n, bool core, struct form *form)
{
    char mark[128];
    struct figure figures[MOST_FIGURES], first = { NAN, NAN, NULL, 0 };
    struct figure time = cpu_figure(ladder, type, n, MMT_CPU_AB, 1e3), one = time;
    const struct mmt_paper_row *row = mmt_ladder_paper_cpu(ladder, type, n, MMT_CPU_AB);
    int count = 0;

    one.here = gflops_of(n, time.here * 1e-3);
    one.doubt = mmt_paper_rate_doubt(row);
    one.paper = row && row->gflops > 0 ? row->gflops : NAN;
    if (core)
        figures[count++] = time, figures[count++] = one;
    for (int d = 0; d < ladder->options->devices.count; d++) {
        const struct mmt_climb *climb = mmt_ladder_find(ladder, rung, type, n, d);
        struct figure p = rate_of(ladder, climb);
        figures[count++] = seconds_of(ladder, climb, 1e3);
        figures[count++] = p;
        if (core)
            figures[count++] = quotient_of(p, one);
        if (d)
            figures[count++] = quotient_of(first, p);
        first = d ? first : p;
    }
    add_here(form, MMT_NUMBER((double) n), figures,
             first_mark(ladder, rung, type, n, mark));
    add_paper(form, MMT_NUMBER((double) n), "paper", figures);
}

static mmt_status show_compared(const struct mmt_ladder *ladder,
                                const struct mmt_rung *rung, mmt_type type,
                                mmt_error *err)
{
    struct form form = { .count = 0 };
    bool core = !strcmp(rung->where, "Table 1");
    char title[256];

    snprintf(title, sizeof title, "%s%s%s: %s, %s, with copying", ladder->paper->name,
             rung->where[0] ? ", " : "", rung->where, rung->what, mmt_type_name(type));
    compare_columns(ladder, core, &form);
    start_form(&form, title, "n");
    for (int i = 0; i < ladder->num_sizes; i++)
        add_compared(ladder, rung, type, ladder->sizes[i], core, &form);
    snprintf(title, sizeof title, "%s-%s", rung->where[0] ? rung->where : rung->algorithm,
             mmt_type_name(type));
    return finish_form(ladder, &form, title, err);
}

static mmt_status zatolokin_forms(const struct mmt_ladder *ladder, mmt_type type,
                                  mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int r = 0; r < ladder->paper->num_rungs && status == MMT_OK; r++)
        status = show_compared(ladder, &ladder->paper->rungs[r], type, err);
    return status;
}

/* ---- semenenko, ustyuzhanin: kernels down, n across ------------------------------- */

/* What one card of the paper has for the kernel. */
static bool take_card(const struct mmt_ladder *ladder, const struct mmt_rung *rung,
                      mmt_type type, const char *card, int count, struct figure *figures)
{
    bool any = false;
    for (int i = 0; i < count; i++) {
        struct mmt_paper_row wanted = { .paper = ladder->paper->name,
                                        .device = card,
                                        .type = type,
                                        .algorithm = rung->algorithm,
                                        .variant = rung->variant,
                                        .n = ladder->sizes[i] };
        const struct mmt_paper_row *row = mmt_paper_find(&wanted);
        figures[i].doubt = mmt_paper_time_doubt(row);
        figures[i].paper = row ? row->seconds * 1e3 : NAN;
        any |= row != NULL;
    }
    return any;
}

static void add_kernel(const struct mmt_ladder *ladder, const struct mmt_rung *rung,
                       mmt_type type, int device, struct form *form)
{
    static const char *const cards[] = { "NVIDIA GeForce GTX 1060 6 GB",
                                         "NVIDIA Quadro K5000 4 GB" };
    struct figure figures[MOST_FIGURES];
    char mark[128] = "";

    for (int i = 0; i < form->count; i++) {
        const struct mmt_climb *climb =
            mmt_ladder_find(ladder, rung, type, ladder->sizes[i], device);
        figures[i] = seconds_of(ladder, climb, 1e3);
        if (climb && !climb->why[0])
            mmt_climb_mark(climb, mark);
    }
    add_here(form, MMT_WORD(rung->what), figures, mark);
    for (int c = 0; c < 2; c++)
        if (take_card(ladder, rung, type, cards[c], form->count, figures))
            add_paper(form, MMT_WORD(rung->what), cards[c] + strlen("NVIDIA "), figures);
}

static mmt_status show_kernels(const struct mmt_ladder *ladder, mmt_type type, int device,
                               mmt_error *err)
{
    const char *id = ladder->devices[device].facts.id;
    struct figure core[MOST_FIGURES];
    struct form form = { .count = 0 };
    char title[256];

    for (int i = 0; i < ladder->num_sizes && i < MOST_FIGURES; i++)
        add_column(&form, MS, "%" PRId64, ladder->sizes[i]);
    snprintf(title, sizeof title, "%s: %s on %s, time with copying for each n",
             ladder->paper->name, mmt_type_name(type), id);
    start_form(&form, title, "kernel");
    for (int r = 0; r < ladder->paper->num_rungs; r++)
        add_kernel(ladder, &ladder->paper->rungs[r], type, device, &form);
    for (int i = 0; i < form.count; i++)
        core[i] = cpu_figure(ladder, type, ladder->sizes[i], MMT_CPU_AB, 1e3);
    add_here(&form, MMT_WORD("one core, A*B"), core, "");
    add_paper(&form, MMT_WORD("one core, A*B"), "Core i7-7700", core);
    snprintf(title, sizeof title, "%s-%s", mmt_type_name(type), id);
    return finish_form(ladder, &form, title, err);
}

static mmt_status kernel_forms(const struct mmt_ladder *ladder, mmt_type type,
                               mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int d = 0; d < ladder->options->devices.count && status == MMT_OK; d++)
        status = show_kernels(ladder, type, d, err);
    return status;
}

/* ---- gts250: both types side by side ---------------------------------------------- */

static const mmt_type gts250_types[] = { MMT_I32, MMT_F32 };

static void add_line(const struct mmt_ladder *ladder, int i, const struct figure *figures,
                     const char *mark, struct form *form)
{
    const struct mmt_cell key = MMT_NUMBER((double) ladder->sizes[i]);
    add_here(form, key, figures, mark);
    add_paper(form, key, "paper", figures);
}

static mmt_status gts250_cpu(const struct mmt_ladder *ladder, mmt_error *err)
{
    struct form form = { .count = 0 };

    for (int layout = 0; layout < MMT_CPU_LAYOUTS; layout++)
        for (int t = 0; t < 2; t++)
            add_column(&form, SECONDS, "%s %s",
                       mmt_cpu_layout_name((enum mmt_cpu_layout) layout),
                       mmt_type_name(gts250_types[t]));
    start_form(&form, "gts250, Table 1: one core (buffered: not in the paper)", "n");
    for (int i = 0; i < ladder->num_sizes; i++) {
        struct figure figures[MOST_FIGURES];
        for (int at = 0; at < form.count; at++)
            figures[at] =
                cpu_figure(ladder, gts250_types[at % 2], ladder->sizes[i], at / 2, 1);
        add_line(ladder, i, figures, "", &form);
    }
    return finish_form(ladder, &form, "Table 1", err);
}

static const char *tiles_mark(const struct mmt_ladder *ladder, int i, int device,
                              char out[128])
{
    const struct mmt_climb *climb = mmt_ladder_find(ladder, &ladder->paper->rungs[1],
                                                    MMT_F32, ladder->sizes[i], device);
    return climb ? mmt_climb_mark(climb, out) : "";
}

/* Time of the whole program, and what of it is not computing. */
static void whole_and_rest(const struct mmt_ladder *ladder, const struct mmt_climb *climb,
                           struct figure out[2])
{
    out[0] = out[1] = seconds_of(ladder, climb, 1e3);
    out[1].here = climb ? out[0].here - climb->phases.kernel * 1e3 : NAN;
    out[1].paper = climb && climb->theirs ? climb->theirs->other * 1e3 : NAN;
}

static mmt_status gts250_times(const struct mmt_ladder *ladder, int device,
                               mmt_error *err)
{
    static const char *const heads[] = { "classical", "tiled" };
    struct form form = { .count = 0 };
    char title[128], mark[128];

    for (int at = 0; at < 4; at++) {
        const char *type = mmt_type_name(gts250_types[at % 2]);
        add_column(&form, MS, "%s %s", heads[at / 2], type);
        add_column(&form, MS, "overhead, %s %s", heads[at / 2], type);
    }
    snprintf(
        title, sizeof title,
        "gts250, Table 2: %s, the whole with allocating, and its overhead, which is not "
        "computing",
        ladder->devices[device].facts.id);
    start_form(&form, title, "n");
    for (int i = 0; i < ladder->num_sizes; i++) {
        struct figure figures[MOST_FIGURES];
        for (int at = 0; at < 4; at++)
            whole_and_rest(ladder,
                           mmt_ladder_find(ladder, &ladder->paper->rungs[at / 2],
                                           gts250_types[at % 2], ladder->sizes[i],
                                           device),
                           &figures[2 * at]);
        add_line(ladder, i, figures, tiles_mark(ladder, i, device, mark), &form);
    }
    snprintf(title, sizeof title, "Table 2 %s", ladder->devices[device].facts.id);
    return finish_form(ladder, &form, title, err);
}

static const struct mmt_paper_row *printed_speed_up(int64_t n)
{
    struct mmt_paper_row wanted = {
        .paper = "gts250", .where = "Table 4 and Table 5", .type = MMT_F32, .n = n
    };
    return mmt_paper_find(&wanted);
}

enum { SPEEDS = 5 };

/* The paper's S is its classical kernel over its tiled one, and its E that over all 128
 * processors, which both use: S over one core is what the words say. */
static void speed_figures(const struct mmt_ladder *ladder, int device, int64_t n,
                          struct figure out[SPEEDS])
{
    const struct mmt_rung *rungs = ladder->paper->rungs;
    const struct mmt_climb *tiled =
        mmt_ladder_find(ladder, &rungs[1], MMT_F32, n, device);
    const struct mmt_paper_row *printed = printed_speed_up(n);
    double lanes = tiled ? mmt_ladder_lanes(ladder, tiled) : NAN;
    double wrong = printed ? printed->other : NAN;
    const struct mmt_doubt *doubt = mmt_paper_time_doubt(printed);
    struct figure t = seconds_of(ladder, tiled, 1),
                  c = seconds_of(
                      ladder, mmt_ladder_find(ladder, &rungs[0], MMT_F32, n, device), 1),
                  core = cpu_figure(ladder, MMT_F32, n, MMT_CPU_AB, 1),
                  s = quotient_of(core, t);

    s.from = core.from;
    out[0] = rate_of(ladder, tiled);
    out[1] = (struct figure){ c.here / t.here, wrong, doubt, 0 };
    out[2] = (struct figure){ c.here / t.here / lanes, wrong / 128, doubt, 0 };
    out[3] = s;
    out[4] = (struct figure){ s.here / lanes, s.paper / 128, s.doubt, 0 };
}

static mmt_status gts250_speeds(const struct mmt_ladder *ladder, int device,
                                mmt_error *err)
{
    struct form form = { .count = 0 };
    struct figure figures[SPEEDS];
    char title[160], mark[128];

    add_column(&form, GFLOPS, "R");
    add_column(&form, PLAIN, "T classical : T tiled");
    add_column(&form, PLAIN, "that over the lanes");
    add_column(&form, PLAIN, "S, over one core");
    add_column(&form, PLAIN, "E, S over the lanes");
    snprintf(title, sizeof title, "gts250, Tables 3 to 5: %s, the tiled kernel, f32",
             ladder->devices[device].facts.id);
    start_form(&form, title, "n");
    for (int i = 0; i < ladder->num_sizes; i++) {
        speed_figures(ladder, device, ladder->sizes[i], figures);
        add_line(ladder, i, figures, tiles_mark(ladder, i, device, mark), &form);
    }
    snprintf(title, sizeof title, "Tables 3 4 5 %s", ladder->devices[device].facts.id);
    return finish_form(ladder, &form, title, err);
}

static mmt_status gts250_forms(const struct mmt_ladder *ladder, mmt_error *err)
{
    mmt_status status = gts250_cpu(ladder, err);
    for (int d = 0; d < ladder->options->devices.count && status == MMT_OK; d++) {
        status = gts250_times(ladder, d, err);
        if (status == MMT_OK)
            status = gts250_speeds(ladder, d, err);
    }
    return status;
}

mmt_status mmt_ladder_forms(const struct mmt_ladder *ladder, mmt_error *err)
{
    const char *name = ladder->paper->name;
    mmt_status status = MMT_OK;

    if (!strcmp(name, "gts250"))
        status = gts250_forms(ladder, err);
    else
        for (int type = 0; type < MMT_STUDY_TYPES && status == MMT_OK; type++)
            if (ladder->types >> type & 1)
                status = strcmp(name, "zatolokin")
                             ? kernel_forms(ladder, (mmt_type) type, err)
                             : zatolokin_forms(ladder, (mmt_type) type, err);
    return status;
}
