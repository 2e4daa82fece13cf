/* mmtune study cards: two cards compared as semenenko compares a GTX 1060 and a Quadro
 * K5000, by differences and ratios of times: of profiles here, of studies in
 * cards_runs.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cards_runs.h"
#include "papers.h"
#include "profiles.h"
#include "study.h"

enum { PROBLEM, KERNEL_1, KERNEL_2, TIME_1, TIME_2, DELTA, NOISE, RATIO, VERDICT, NUM };

static const struct mmt_column columns[NUM] = {
    [PROBLEM] = { "problem", "" },
    [KERNEL_1] = { "kernel of the first", "" },
    [KERNEL_2] = { "kernel of the second", "" },
    [TIME_1] = { "T1", "us", 4 },
    [TIME_2] = { "T2", "us", 4 },
    [DELTA] = { "T1 - T2", "us", 4 },
    [NOISE] = { "noise", "us", 2 },
    [RATIO] = { "T1 : T2", "", 4 },
    [VERDICT] = { "faster", "" },
};

/* Published figures, which have copies in them, are compared with each other, kernel by
 * kernel; of what was tuned, the best counts. */
static bool match_readings(const struct mmt_reading *x, const struct mmt_reading *y)
{
    return !strcmp(x->problem, y->problem) && x->published == y->published &&
           (!x->published || !strcmp(x->kernel, y->kernel));
}

/* What people read, in 100 columns: kernels by their first word where they were tuned,
 * and without those of the second card where they were published, which are the same. */
static void print_pairs(const struct mmt_table *table)
{
    static const struct mmt_column form[] = {
        { .name = "problem", .unit = "", .most = 24 },
        { .name = "kernel", .unit = "", .most = 20 },
        { "T1", "us", 4 },
        { "T2", "us", 4 },
        { "T1 - T2", "us", 3 },
        { "noise", "us", 2 },
        { "T1 : T2", "", 3 },
        { .name = "faster", .unit = "", .most = 13 },
    };
    enum { FORM = sizeof form / sizeof *form };
    struct mmt_table shown = mmt_table_start(table->title, form, FORM);

    for (int r = 0; r < table->num_rows; r++) {
        const char *problem = mmt_table_cell(table, r, PROBLEM)->word;
        const char *one = mmt_table_cell(table, r, KERNEL_1)->word,
                   *two = mmt_table_cell(table, r, KERNEL_2)->word;
        const char *verdict = mmt_table_cell(table, r, VERDICT)->word;
        char kernel[48], faster[16];
        snprintf(kernel, sizeof kernel, "%s", one);
        if (strcspn(one, "=") < strlen(one))
            snprintf(kernel, sizeof kernel, "%.*s, %.*s", (int) strcspn(one, " "), one,
                     (int) strcspn(two, " "), two);
        snprintf(faster, sizeof faster, "%.*s", (int) strcspn(verdict, ":"), verdict);
        const struct mmt_cell row[FORM] = {
            MMT_WORD(problem + (strncmp(problem, "gemm ", 5) ? 0 : 5)),
            MMT_WORD(kernel),
            *mmt_table_cell(table, r, TIME_1),
            *mmt_table_cell(table, r, TIME_2),
            *mmt_table_cell(table, r, DELTA),
            *mmt_table_cell(table, r, NOISE),
            *mmt_table_cell(table, r, RATIO),
            MMT_WORD(strncmp(verdict, "nothing", 7) ? faster : "suspect"),
        };
        mmt_table_add(&shown, row);
    }
    mmt_table_print(&shown, stdout);
    mmt_table_free(&shown);
}

static mmt_status tell_pairs(const struct mmt_study_options *options,
                             const struct mmt_table *table, mmt_error *err)
{
    if (options->json)
        return mmt_study_show(options, table, "cards", err);
    print_pairs(table);
    mmt_study_say(options, "-> %s/cards.csv and .json", options->folder);
    return mmt_table_save(table, options->folder, "cards", err);
}

static const char *verdict_on(const struct mmt_reading *x, const struct mmt_reading *y,
                              double noise)
{
    if (x->suspect || y->suspect)
        return "nothing: a figure is suspect";
    if (fabs(x->seconds - y->seconds) <= noise)
        return "neither: below the noise";
    return x->seconds < y->seconds ? "the first" : "the second";
}

static void add_pair(const struct mmt_reading *x, const struct mmt_reading *y,
                     struct mmt_table *table)
{
    double noise = 2 * hypot(x->spread, y->spread);
    const struct mmt_cell row[NUM] = {
        [PROBLEM] = MMT_WORD(x->problem),
        [KERNEL_1] = MMT_WORD(x->kernel),
        [KERNEL_2] = MMT_WORD(y->kernel),
        [TIME_1] = MMT_NUMBER(x->seconds * 1e6),
        [TIME_2] = MMT_NUMBER(y->seconds * 1e6),
        [DELTA] = MMT_NUMBER((x->seconds - y->seconds) * 1e6),
        [NOISE] = MMT_NUMBER(noise > 0 ? noise * 1e6 : NAN),
        [RATIO] = MMT_NUMBER(x->seconds / y->seconds),
        [VERDICT] = MMT_WORD(verdict_on(x, y, noise)),
    };
    mmt_table_add(table, row);
}

/* ---- curves ----------------------------------------------------------------------- */

enum { CARD, CURVE, WORK, TIME };

/* Published kernels have names; of what was tuned, the winners of a type are one curve.
 */
static void add_point(const char *card, const struct mmt_reading *x,
                      struct mmt_table *curves)
{
    const char *shape = strrchr(x->problem, ' ');
    char name[80];

    snprintf(name, sizeof name, "%.*s", shape ? (int) (shape - x->problem) : 0,
             x->problem);
    if (x->published)
        snprintf(name, sizeof name, "%.40s", x->kernel);
    const struct mmt_cell row[] = { MMT_WORD(card), MMT_WORD(name), MMT_NUMBER(x->work),
                                    MMT_NUMBER(x->seconds * 1e6) };
    mmt_table_add(curves, row);
}

static int by_work(const void *a, const void *b)
{
    const struct mmt_cell *x = a, *y = b;
    return (x[WORK].number > y[WORK].number) - (x[WORK].number < y[WORK].number);
}

static mmt_status draw_pairs(const struct mmt_study_options *options,
                             struct mmt_table *curves, mmt_error *err)
{
    struct mmt_plot plot = {
        "two cards, problem by problem", WORK, TIME, { CARD, CURVE }, true, true
    };
    if (curves->failed)
        return mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory left for curves");
    qsort(curves->cells, (size_t) curves->num_rows, 4 * sizeof *curves->cells, by_work);
    return mmt_study_draw(options, curves, &plot, "cards", err);
}

static mmt_status show_pairs(const struct mmt_study_options *options,
                             const struct mmt_readings *a, const struct mmt_readings *b,
                             mmt_error *err)
{
    char title[256];
    snprintf(title, sizeof title, "T1: %.100s; T2: %.100s", a->name, b->name);
    static const struct mmt_column axes[] = { { "card", "", 0 },
                                              { "curve", "", 0 },
                                              { "m n k", "multiplications", 0 },
                                              { "T", "us", 0 } };
    struct mmt_table table = mmt_table_start(title, columns, NUM);
    struct mmt_table curves = mmt_table_start(title, axes, 4);

    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++) {
            const struct mmt_reading *x = &a->each[i], *y = &b->each[j];
            if (!match_readings(x, y))
                continue;
            add_pair(x, y, &table);
            add_point(a->name, x, &curves);
            add_point(b->name, y, &curves);
        }
    mmt_status status =
        table.num_rows
            ? tell_pairs(options, &table, err)
            : mmt_study_fail(err, MMT_ERROR_NOT_FOUND,
                             "the two profiles have no problem in common that is timed "
                             "alike; tune both with the same --suite or --shape");
    if (status == MMT_OK)
        status = draw_pairs(options, &curves, err);
    mmt_table_free(&table);
    mmt_table_free(&curves);
    return status;
}

static bool is_difference(const struct mmt_paper_row *row, const void *self)
{
    return !strcmp(row->where, "Table 1.3");
}

/* The paper's Table 1.3, whose differences are printed and nothing else. */
static mmt_status show_differences(const struct mmt_study_options *options,
                                   mmt_error *err)
{
    static const struct mmt_column form[] = { { "type", "", 0 },
                                              { "n", "", 0 },
                                              { "T_GTX - T_Quadro", "us", 4 },
                                              { "said of it", "", 0 } };
    int count;
    const struct mmt_paper_row *rows = mmt_paper_rows(&count);
    struct mmt_table table =
        mmt_table_start("semenenko, Table 1.3: array addition, as printed", form, 4);

    for (int i = 0; i < count; i++) {
        if (!is_difference(&rows[i], NULL))
            continue;
        const struct mmt_cell row[] = {
            MMT_WORD(mmt_type_name(rows[i].type)), MMT_NUMBER((double) rows[i].n),
            MMT_NUMBER(rows[i].other * 1e6),
            MMT_WORD(mmt_paper_time_doubt(&rows[i]) ? mmt_grade_name(rows[i].doubt->grade)
                                                    : "")
        };
        mmt_table_add(&table, row);
    }
    mmt_status status = mmt_study_show(options, &table, "cards-published-additions", err);
    mmt_study_say_doubts(options, is_difference, NULL);
    mmt_table_free(&table);
    return status;
}

static mmt_status compare_profiles(const struct mmt_study_options *options,
                                   mmt_error *err)
{
    struct mmt_readings a, b = { .count = 0 };
    mmt_status status = mmt_study_read_profile(options->words[0], &a, err);
    if (status == MMT_OK)
        status = mmt_study_read_profile(options->words[1], &b, err);
    if (status == MMT_OK)
        status = show_pairs(options, &a, &b, err);
    if (status == MMT_OK && a.published && b.published)
        status = show_differences(options, err);
    free(a.each);
    free(b.each);
    return status;
}

static mmt_status run_cards(const struct mmt_study_options *options, mmt_error *err)
{
    int folders = 0;

    if (options->num_words != 2)
        return mmt_study_fail(
            err, MMT_ERROR_ARGUMENT,
            "the study cards compares two profiles or two folders, and %d are named; "
            "such as geforce-gtx-1060.json quadro-k5000.json",
            options->num_words);
    for (int i = 0; i < 2; i++)
        folders += mmt_cards_is_folder(options->words[i]);
    if (folders == 1)
        return mmt_study_fail(
            err, MMT_ERROR_ARGUMENT,
            "of %s and %s one is a folder; two profiles or two folders can be "
            "compared",
            options->words[0], options->words[1]);
    return folders ? mmt_cards_compare_runs(options, err)
                   : compare_profiles(options, err);
}

const struct mmt_study mmt_study_cards = {
    .name = "cards",
    .what = "two cards side by side: differences and ratios of their times",
    .notes = "FILE is a profile, of a card that was tuned or of one that was published\n"
             "(share/mmtune/profiles/papers), or the folder that `study addition` and\n"
             "`study ladder --paper semenenko` wrote to on a card: two of one kind.\n",
    .heeds = MMT_HEEDS_WORDS,
    .run = run_cards,
};
