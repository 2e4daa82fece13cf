/* The papers' figures beside P over n: gts250's 2 and 3, semenenko's 1.2 and 1.3. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "ladder_judge.h"

static mmt_status draw_named(const struct mmt_ladder *ladder,
                             const struct mmt_table *table, const struct mmt_plot *plot,
                             const char *what, mmt_error *err)
{
    char name[96];
    snprintf(name, sizeof name, "ladder-%s-%s", ladder->paper->name, what);
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char) *c) ? *c : '-';
    return mmt_study_draw(ladder->options, table, plot, name, err);
}

/* ---- gts250: S and E over N ------------------------------------------------------- */

enum { GAIN, GAIN_N, S, THEIR_S, E, THEIR_E, NUM_SPEEDS };

static const struct mmt_column speed_columns[NUM_SPEEDS] = {
    [GAIN] = { "t of", "" },
    [GAIN_N] = { "n", "" },
    [S] = { "speed-up S", "", 4 },
    [THEIR_S] = { "S of the printed times", "", 4 },
    [E] = { "efficiency E, S over the lanes", "", 3 },
    [THEIR_E] = { "E of the printed times", "", 3 },
};

static double their_seconds(const char *api, const char *algorithm, int64_t n)
{
    const struct mmt_paper_row *row = mmt_paper_find(&(struct mmt_paper_row){
        .paper = "gts250", .api = api, .type = MMT_F32, .algorithm = algorithm, .n = n });
    return row ? row->seconds : NAN;
}

static void add_speed(const struct mmt_judge *j, int64_t n, const char *slow,
                      struct mmt_table *table)
{
    enum { THEIR_LANES = 128 }; /* of the GTS 250 */
    const struct mmt_subject tiled = { "tiled", NULL, MMT_F32, false },
                             other = { slow, NULL, MMT_F32, false };
    const struct mmt_climb *climb = mmt_judge_climb(j, "tiled", NULL, MMT_F32, n);
    double s = mmt_judge_gain(j, &other, &tiled, n),
           lanes = climb ? mmt_ladder_lanes(j->ladder, climb) : NAN,
           theirs = their_seconds(slow ? "cuda" : "cpu", "naive", n) /
                    their_seconds("cuda", "tiled", n);
    const struct mmt_cell row[NUM_SPEEDS] = {
        [GAIN] = MMT_WORD(slow ? "the classical kernel over the tiled one (the paper's S)"
                               : "one core over the tiled kernel"),
        [GAIN_N] = MMT_NUMBER((double) n),
        [S] = MMT_NUMBER(s),
        [THEIR_S] = MMT_NUMBER(theirs),
        [E] = MMT_NUMBER(s / lanes),
        [THEIR_E] = MMT_NUMBER(theirs / THEIR_LANES),
    };
    mmt_table_add(table, row);
}

static mmt_status draw_speeds(const struct mmt_judge *j, mmt_error *err)
{
    const struct mmt_ladder *ladder = j->ladder;
    const char *id = mmt_judge_id(j);
    struct mmt_table table = mmt_table_start("", speed_columns, NUM_SPEEDS);
    struct mmt_plot plot = { .x = GAIN_N,
                             .y = S,
                             .by = { GAIN, -1 },
                             .log_x = true,
                             .log_y = true,
                             .printed = THEIR_S,
                             .printed_name = "computed from the printed times",
                             .x_name = "N, order of the matrices" };
    char title[128], name[64];

    for (int i = 0; i < ladder->num_sizes; i++) {
        add_speed(j, ladder->sizes[i], NULL, &table);
        add_speed(j, ladder->sizes[i], "naive", &table);
    }
    plot.title = title;
    snprintf(title, sizeof title, "gts250, Fig. 2: speed-up over N, f32, on %s", id);
    snprintf(name, sizeof name, "fig-2-%s", id);
    mmt_status status = draw_named(ladder, &table, &plot, name, err);
    plot.y = E, plot.printed = THEIR_E;
    snprintf(title, sizeof title, "gts250, Fig. 3: efficiency over N, f32, on %s", id);
    snprintf(name, sizeof name, "fig-3-%s", id);
    if (status == MMT_OK)
        status = draw_named(ladder, &table, &plot, name, err);
    mmt_table_free(&table);
    return status;
}

/* ---- semenenko: three types in one ------------------------------------------------ */

enum { WHOSE, WHAT, TIME_N, TIME, THEIR_TIME, NUM_TIMES };

static const struct mmt_column time_columns[NUM_TIMES] = {
    [WHOSE] = { "whose", "" },
    [WHAT] = { "what", "" },
    [TIME_N] = { "n", "" },
    [TIME] = { "t", "ms", 4 },
    [THEIR_TIME] = { "printed t", "ms", 4 },
};

static void add_time(const char *whose, const char *what, int64_t n, double seconds,
                     double printed, struct mmt_table *table)
{
    const struct mmt_cell row[NUM_TIMES] = {
        [WHOSE] = MMT_WORD(whose),
        [WHAT] = MMT_WORD(what),
        [TIME_N] = MMT_NUMBER((double) n),
        [TIME] = MMT_NUMBER(seconds * 1e3),
        [THEIR_TIME] = MMT_NUMBER(printed * 1e3),
    };
    mmt_table_add(table, row);
}

static const struct mmt_plot times_plot = {
    .x = TIME_N,
    .y = TIME,
    .by = { WHOSE, WHAT },
    .log_x = true,
    .log_y = true,
    .printed = THEIR_TIME,
    .x_name = "n, order of the matrices",
};

static const mmt_type types[] = { MMT_F32, MMT_F64, MMT_I32 };
enum { NUM_TYPES = sizeof types / sizeof *types };

/* Fig. 1.2: computing alone, naive and with 4 results a thread. */
static mmt_status draw_computing(const struct mmt_judge *j, mmt_error *err)
{
    const struct mmt_ladder *ladder = j->ladder;
    struct mmt_table table = mmt_table_start("", time_columns, NUM_TIMES);
    struct mmt_plot plot = times_plot;
    char title[128], name[64];

    for (int t = 0; t < NUM_TYPES; t++)
        for (int i = 0; i < ladder->num_sizes; i++) {
            const struct mmt_subject naive = { "naive", NULL, types[t], true },
                                     ilp = { "tiled_ilp", "4", types[t], true };
            int64_t n = ladder->sizes[i];
            add_time("naive", mmt_type_name(types[t]), n, mmt_judge_seconds(j, &naive, n),
                     NAN, &table);
            add_time("ILP 4", mmt_type_name(types[t]), n, mmt_judge_seconds(j, &ilp, n),
                     NAN, &table);
        }
    plot.title = title;
    snprintf(title, sizeof title,
             "semenenko, Fig. 1.2: three types, computing without copies, on %s",
             mmt_judge_id(j));
    snprintf(name, sizeof name, "fig-1-2-%s", mmt_judge_id(j));
    mmt_status status = draw_named(ladder, &table, &plot, name, err);
    mmt_table_free(&table);
    return status;
}

static double their_naive(mmt_type type, int64_t n)
{
    const struct mmt_paper_row *row =
        mmt_paper_find(&(struct mmt_paper_row){ .paper = "semenenko",
                                                .api = "cuda",
                                                .type = type,
                                                .algorithm = "naive",
                                                .n = n });
    return row ? row->seconds : NAN;
}

/* Fig. 1.3: the naive kernel of three types, devices side by side. */
static mmt_status draw_cards(const struct mmt_ladder *ladder, mmt_error *err)
{
    struct mmt_table table = mmt_table_start("", time_columns, NUM_TIMES);
    struct mmt_plot plot = times_plot;

    for (int t = 0; t < NUM_TYPES; t++)
        for (int i = 0; i < ladder->num_sizes; i++) {
            const struct mmt_subject naive = { "naive", NULL, types[t], false };
            int64_t n = ladder->sizes[i];
            for (int d = 0; d < ladder->options->devices.count; d++) {
                const struct mmt_judge j = { ladder, NULL, d };
                add_time(mmt_judge_id(&j), mmt_type_name(types[t]), n,
                         mmt_judge_seconds(&j, &naive, n),
                         d ? NAN : their_naive(types[t], n), &table);
            }
        }
    plot.title = "semenenko, Fig. 1.3: the naive kernel, with copying";
    mmt_status status = draw_named(ladder, &table, &plot, "fig-1-3", err);
    mmt_table_free(&table);
    return status;
}

mmt_status mmt_ladder_figures(const struct mmt_ladder *ladder, mmt_error *err)
{
    bool gts250 = !strcmp(ladder->paper->name, "gts250"),
         semenenko = !strcmp(ladder->paper->name, "semenenko");
    mmt_status status = MMT_OK;

    for (int d = 0; d < ladder->options->devices.count && status == MMT_OK; d++) {
        const struct mmt_judge j = { ladder, NULL, d };
        if (gts250)
            status = draw_speeds(&j, err);
        if (semenenko)
            status = draw_computing(&j, err);
    }
    return status == MMT_OK && semenenko ? draw_cards(ladder, err) : status;
}
