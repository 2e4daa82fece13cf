/* Reads what `mmtune study` wrote on two cards, and prints the differences and the
 * paper's conclusions. */
#include "cards_runs.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "claims.h"
#include "papers.h"

/* What one card has: rows of tables, of the first device in each. */
struct run {
    char name[64]; /* "h200 cuda:0" */
    json_t *sums, *products;
};

bool mmt_cards_is_folder(const char *path)
{
    struct stat about;
    return !stat(path, &about) && S_ISDIR(about.st_mode);
}

/* ---- reading ---------------------------------------------------------------------- */

/* FOLDER/NAME.json, or that in a folder of its own, as tools/run_studies.sh lays them
 * out; *out is NULL where there is none. */
static mmt_status load_table(const char *folder, const char *name, json_t **out,
                             mmt_error *err)
{
    static const char *const places[] = { "%s/%s.json", "%s/%s/%s.json" };
    mmt_status status = MMT_OK;

    *out = NULL;
    for (int i = 0; i < 2 && !*out && status == MMT_OK; i++) {
        struct mmt_study_text path = { 0 };
        json_error_t where;
        mmt_study_text_addf(&path, places[i], folder, name, name);
        const char *file = mmt_study_text_string(&path);
        if (!access(file, F_OK) && !(*out = json_load_file(file, 0, &where)))
            status = mmt_study_fail(err, MMT_ERROR_FORMAT, "%s: line %d: %s", file,
                                    where.line, where.text);
        mmt_study_text_finish(&path);
    }
    return status;
}

static const char *word_of(const json_t *row, const char *column)
{
    const char *word = json_string_value(json_object_get(row, column));
    return word ? word : "";
}

static double number_of(const json_t *row, const char *column)
{
    const json_t *cell = json_object_get(row, column);
    return json_is_number(cell) ? json_number_value(cell) : NAN;
}

static json_t *rows_of(const json_t *table)
{
    return json_object_get(table, "rows");
}

static mmt_status load_run(const char *folder, struct run *out, mmt_error *err)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    size_t start = length;
    while (start && folder[start - 1] != '/')
        start--;
    mmt_status status = load_table(folder, "addition", &out->sums, err);
    if (status == MMT_OK)
        status = load_table(folder, "ladder-semenenko", &out->products, err);
    const json_t *first =
        json_array_get(rows_of(out->products ? out->products : out->sums), 0);
    snprintf(out->name, sizeof out->name, "%.*s %.20s",
             (int) (length - start < 40 ? length - start : 40), folder + start,
             word_of(first, "device"));
    return status;
}

static void free_run(struct run *run)
{
    json_decref(run->sums);
    json_decref(run->products);
}

/* The row of the table's first device; `kernel` NULL: any. NULL where it was not
 * measured.
 */
static const json_t *find_row(const json_t *table, const char *type, const char *kernel,
                              double n)
{
    const char *device = word_of(json_array_get(rows_of(table), 0), "device");
    size_t at;
    const json_t *row;

    json_array_foreach(rows_of(table), at,
                       row) if (!strcmp(word_of(row, "device"), device) &&
                                !strcmp(word_of(row, "type"), type) &&
                                (!kernel || !strcmp(word_of(row, "kernel"), kernel)) &&
                                number_of(row, "n") == n &&
                                number_of(row, "total") > 0) return row;
    return NULL;
}

static double seconds_of(const json_t *row)
{
    return number_of(row, "total") * 1e-3;
}

/* How far the mean of a row's runs may be off: its standard error, twice. */
static double noise_of(const json_t *row, const char *spread, const char *runs)
{
    return 2 * seconds_of(row) * 0.01 * number_of(row, spread) /
           sqrt(number_of(row, runs));
}

/* ---- tables ----------------------------------------------------------------------- */

enum {
    KERNEL,
    TYPE,
    N,
    BLOCKS,
    FIRST,
    SECOND,
    DELTA,
    NOISE,
    RATIO,
    PRINTED,
    FASTER,
    NUM
};

static const struct mmt_column columns[NUM] = {
    [KERNEL] = { "kernel", "" },
    [TYPE] = { "type", "" },
    [N] = { "n", "" },
    [BLOCKS] = { "blocks", "" },
    [FIRST] = { "T1", "ms", 4 },
    [SECOND] = { "T2", "ms", 4 },
    [DELTA] = { "T1 - T2", "ms", 3 },
    [NOISE] = { "noise", "ms", 2 },
    [RATIO] = { "T1 : T2", "", 3 },
    [PRINTED] = { "printed T1 - T2", "ms", 3 },
    [FASTER] = { "faster", "" },
};

static double their_difference(const char *type, double n)
{
    for (int t = 0; t < MMT_STUDY_TYPES; t++) {
        const struct mmt_paper_row wanted = { .where = "Table 1.3",
                                              .type = (mmt_type) t,
                                              .n = (int64_t) n };
        const struct mmt_paper_row *row = mmt_paper_find(&wanted);
        if (row && !strcmp(mmt_type_name((mmt_type) t), type))
            return row->other;
    }
    return NAN;
}

/* GTX 1060 less Quadro K5000, in float. */
static double their_cure(const char *kernel, double n)
{
    static const char *const kernels[][2] = {
        { "tiles with bank conflicts", "shared_conflict" },
        { "an extra column", "shared_padded" },
        { "indices exchanged", "shared_index_swap" },
    };
    double t[2] = { NAN, NAN };

    for (int k = 0; k < 3; k++)
        for (int card = 0; card < 2 && !strcmp(kernels[k][0], kernel); card++) {
            const struct mmt_paper_row *row = mmt_paper_find(
                &(struct mmt_paper_row){ .where = "Table 1.4",
                                         .device = card ? "NVIDIA Quadro K5000 4 GB"
                                                        : "NVIDIA GeForce GTX 1060 6 GB",
                                         .type = MMT_F32,
                                         .algorithm = kernels[k][1],
                                         .n = (int64_t) n });
            t[card] = row ? row->seconds : NAN;
        }
    return t[0] - t[1];
}

/* One run has no spread, so that its noise is not known. */
static const char *faster_of(double x, double y, double noise)
{
    if (isnan(noise))
        return x < y ? "the first, by one run" : "the second, by one run";
    if (fabs(x - y) <= noise)
        return "neither: below the noise";
    return x < y ? "the first" : "the second";
}

static void add_pair(const json_t *a, const json_t *b, bool sums, struct mmt_table *table)
{
    const char *spread = sums ? "spread" : "spread of total",
               *runs = sums ? "runs" : "repetitions", *type = word_of(a, "type"),
               *kernel = word_of(a, "kernel");
    double x = seconds_of(a), y = seconds_of(b), n = number_of(a, "n"),
           noise = hypot(noise_of(a, spread, runs), noise_of(b, spread, runs)),
           printed = sums                   ? their_difference(type, n)
                     : !strcmp(type, "f32") ? their_cure(kernel, n)
                                            : NAN;
    char blocks[80];
    bool same = !strcmp(word_of(a, "block"), word_of(b, "block"));
    snprintf(blocks, sizeof blocks, "%.32s%s%.32s", word_of(a, "block"),
             same ? "" : " | ", same ? "" : word_of(b, "block"));
    const struct mmt_cell row[NUM] = {
        [KERNEL] = MMT_WORD(sums ? "addition" : kernel),
        [TYPE] = MMT_WORD(type),
        [N] = MMT_NUMBER(n),
        [BLOCKS] = MMT_WORD(blocks),
        [FIRST] = MMT_NUMBER(x * 1e3),
        [SECOND] = MMT_NUMBER(y * 1e3),
        [DELTA] = MMT_NUMBER((x - y) * 1e3),
        [NOISE] = MMT_NUMBER(noise * 1e3),
        [RATIO] = MMT_NUMBER(x / y),
        [PRINTED] = MMT_NUMBER(printed * 1e3),
        [FASTER] = MMT_WORD(faster_of(x, y, noise)),
    };
    mmt_table_add(table, row);
}

/* All that both tables have. */
static void add_pairs(const json_t *a, const json_t *b, bool sums,
                      struct mmt_table *table)
{
    size_t at;
    const json_t *row;

    json_array_foreach(rows_of(a), at, row)
    {
        const char *type = word_of(row, "type"),
                   *kernel = sums ? NULL : word_of(row, "kernel");
        const json_t *other = find_row(b, type, kernel, number_of(row, "n"));
        if (other && find_row(a, type, kernel, number_of(row, "n")) == row)
            add_pair(row, other, sums, table);
    }
}

static mmt_status show_pairs(const struct mmt_study_options *options,
                             const struct run runs[2], bool sums, int *shown,
                             mmt_error *err)
{
    char title[256];
    snprintf(title, sizeof title, "semenenko, Table %s: T1 of %s, T2 of %s, with copying",
             sums ? "1.3, additions" : "1.4, products", runs[0].name, runs[1].name);
    struct mmt_table table = mmt_table_start(title, columns, NUM);
    mmt_status status = MMT_OK;

    add_pairs(sums ? runs[0].sums : runs[0].products,
              sums ? runs[1].sums : runs[1].products, sums, &table);
    *shown += table.num_rows;
    if (table.num_rows)
        status = mmt_study_show(options, &table,
                                sums ? "cards-additions" : "cards-products", err);
    mmt_table_free(&table);
    return status;
}

/* ---- Fig. 1.3 --------------------------------------------------------------------- */

enum { CARD, CARD_TYPE, CARD_N, CARD_TIME, CARD_PRINTED, NUM_CURVE };

static const struct mmt_column curve_columns[NUM_CURVE] = {
    [CARD] = { "card", "" },
    [CARD_TYPE] = { "type", "" },
    [CARD_N] = { "n", "" },
    [CARD_TIME] = { "t", "ms", 4 },
    [CARD_PRINTED] = { "printed", "ms", 4 },
};

static void add_printed(struct mmt_table *curves)
{
    int count;
    const struct mmt_paper_row *rows = mmt_paper_rows(&count);
    for (int i = 0; i < count; i++) {
        const struct mmt_cell row[NUM_CURVE] = {
            [CARD] = MMT_WORD("GTX 1060, as printed"),
            [CARD_TYPE] = MMT_WORD(mmt_type_name(rows[i].type)),
            [CARD_N] = MMT_NUMBER((double) rows[i].n),
            [CARD_TIME] = MMT_NUMBER(NAN),
            [CARD_PRINTED] = MMT_NUMBER(rows[i].seconds * 1e3),
        };
        if (!strcmp(rows[i].where, "Table 1.2") && !strcmp(rows[i].api, "cuda") &&
            !strcmp(rows[i].algorithm, "naive"))
            mmt_table_add(curves, row);
    }
}

static mmt_status draw_naive(const struct mmt_study_options *options,
                             const struct run runs[2], mmt_error *err)
{
    const struct mmt_plot plot = {
        "semenenko, Fig. 1.3: the naive kernel, with copying, on two cards",
        CARD_N,
        CARD_TIME,
        { CARD, CARD_TYPE },
        true,
        true,
        CARD_PRINTED,
        "n, order of the matrices"
    };
    struct mmt_table curves = mmt_table_start("", curve_columns, NUM_CURVE);
    size_t at;
    const json_t *row;

    for (int r = 0; r < 2; r++)
        json_array_foreach(rows_of(runs[r].products), at, row)
        {
            const char *type = word_of(row, "type");
            const struct mmt_cell cells[NUM_CURVE] = {
                [CARD] = MMT_WORD(runs[r].name),
                [CARD_TYPE] = MMT_WORD(type),
                [CARD_N] = MMT_NUMBER(number_of(row, "n")),
                [CARD_TIME] = MMT_NUMBER(number_of(row, "total")),
                [CARD_PRINTED] = MMT_NUMBER(NAN),
            };
            if (find_row(runs[r].products, type, "naive", number_of(row, "n")) == row)
                mmt_table_add(&curves, cells);
        }
    bool any = curves.num_rows > 0;
    add_printed(&curves);
    mmt_status status =
        any ? mmt_study_draw(options, &curves, &plot, "cards-fig-1-3", err) : MMT_OK;
    mmt_table_free(&curves);
    return status;
}

/* ---- what the paper concludes ----------------------------------------------------- */

#define PAPER "semenenko"

/* Seconds of a product, with copying or of its copies alone; NAN where not measured. */
static double product_seconds(const struct run *run, const char *type, const char *kernel,
                              double n, bool copies)
{
    const json_t *row = find_row(run->products, type, kernel, n);
    return copies
               ? (number_of(row, "host to device") + number_of(row, "device to host")) *
                     1e-3
               : seconds_of(row);
}

static void judge_product(const struct run runs[2], const struct mmt_claim *claim,
                          const char *type, double least_seconds, double least_ratio,
                          bool copies, struct mmt_table *claims)
{
    double x = product_seconds(&runs[0], type, "naive", 2048, copies),
           y = product_seconds(&runs[1], type, "naive", 2048, copies);

    if (isnan(x - y))
        mmt_claims_leave(claims, claim, "",
                         "both need study ladder --type %s --sizes 2048", type);
    else
        mmt_claims_add(claims, claim, "", x - y >= least_seconds && x / y >= least_ratio,
                       "%.3g s, %.3g times", x - y, x / y);
}

/* The largest difference of an addition, of all types at the paper's largest size. */
static void judge_sums(const struct run runs[2], struct mmt_table *claims)
{
    static const struct mmt_claim claim = {
        PAPER, "text at Table 1.3",
        "additions of 51200000 elements differ by 0.009 s at the most",
        "0.009139 s, double"
    };
    static const char *const types[] = { "f32", "f64", "i32" };
    double most = NAN;

    for (int t = 0; t < 3; t++) {
        const json_t *a = find_row(runs[0].sums, types[t], NULL, 51200000),
                     *b = find_row(runs[1].sums, types[t], NULL, 51200000);
        most = fmax(most, fabs(seconds_of(a) - seconds_of(b)));
    }
    if (isnan(most))
        mmt_claims_leave(claims, &claim, "", "both need study addition --sizes 51200000");
    else
        mmt_claims_add(claims, &claim, "", most <= 0.0092, "%.3g s", most);
}

/* Which cure of bank conflicts is best on a card, in float at 2048. */
static void judge_cure(const struct run *run, const struct mmt_claim *claim,
                       const char *best, const char *other, struct mmt_table *claims)
{
    double x = product_seconds(run, "f32", best, 2048, false),
           y = product_seconds(run, "f32", other, 2048, false);

    if (isnan(x - y))
        mmt_claims_leave(claims, claim, run->name,
                         "it needs study ladder --type f32 --sizes 2048");
    else
        mmt_claims_add(claims, claim, run->name, x <= y, "%.3g times as fast", y / x);
}

static mmt_status show_claims(const struct mmt_study_options *options,
                              const struct run runs[2], mmt_error *err)
{
    static const struct mmt_claim whole = {
        PAPER, "text at Fig. 1.3", "the second card is 2.4 times as fast, int at 2048",
        "0.5 s, 2.4 times"
    };
    static const struct mmt_claim copies = {
        PAPER, "text after Table 1.4", "its copies are 0.002 s shorter, double at 2048",
        "0.002 s"
    };
    static const struct mmt_claim swapped = {
        PAPER, "Table 1.4", "on the first, exchanged indices beat an extra column",
        "1.94 times, n = 2048"
    };
    static const struct mmt_claim padded = {
        PAPER, "Table 1.4", "on the second, an extra column beats exchanged indices",
        "2.28 times, n = 2048"
    };
    struct mmt_table claims = mmt_claims_start();

    judge_product(runs, &whole, "i32", 0, 2.4, false, &claims);
    judge_product(runs, &copies, "f64", 0.002, 0, true, &claims);
    judge_sums(runs, &claims);
    judge_cure(&runs[0], &swapped, "indices exchanged", "an extra column", &claims);
    judge_cure(&runs[1], &padded, "an extra column", "indices exchanged", &claims);
    mmt_status status = mmt_study_show(options, &claims, "cards-claims", err);
    mmt_table_free(&claims);
    return status;
}

mmt_status mmt_cards_compare_runs(const struct mmt_study_options *options, mmt_error *err)
{
    struct run runs[2] = { 0 };
    int shown = 0;

    mmt_status status = load_run(options->words[0], &runs[0], err);
    if (status == MMT_OK)
        status = load_run(options->words[1], &runs[1], err);
    if (status == MMT_OK)
        status = show_pairs(options, runs, true, &shown, err);
    if (status == MMT_OK)
        status = show_pairs(options, runs, false, &shown, err);
    if (status == MMT_OK && !shown)
        status = mmt_study_fail(
            err, MMT_ERROR_NOT_FOUND,
            "%s and %s have no size in common of addition.json or "
            "ladder-semenenko.json; `mmtune study addition --output FOLDER` and "
            "`mmtune study ladder --paper semenenko --output FOLDER` write them",
            options->words[0], options->words[1]);
    if (status == MMT_OK)
        status = draw_naive(options, runs, err);
    if (status == MMT_OK)
        status = show_claims(options, runs, err);
    free_run(&runs[0]);
    free_run(&runs[1]);
    return status;
}
