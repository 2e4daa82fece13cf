/* Holds a study's table, prints it for people, and saves it as CSV and JSON. It draws
 * nothing. */
#include "studies/table.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

struct mmt_table mmt_table_start(const char *title, const struct mmt_column *columns,
                                 int num_columns)
{
    struct mmt_table table = { .num_columns = num_columns };
    snprintf(table.title, sizeof table.title, "%s", title);
    memcpy(table.columns, columns, (size_t) num_columns * sizeof *columns);
    return table;
}

void mmt_table_free(struct mmt_table *table)
{
    for (int i = 0; i < table->num_rows * table->num_columns; i++)
        free((char *) table->cells[i].word);
    free(table->cells);
    table->cells = NULL;
    table->num_rows = 0;
}

void mmt_table_add(struct mmt_table *table, const struct mmt_cell *cells)
{
    size_t width = (size_t) table->num_columns, used = (size_t) table->num_rows * width;
    struct mmt_cell *grown =
        table->failed ? NULL : realloc(table->cells, (used + width) * sizeof *grown);

    table->failed |= !grown;
    if (!grown)
        return;
    table->cells = grown;
    for (size_t i = 0; i < width; i++) {
        grown[used + i] = cells[i];
        if (cells[i].word)
            table->failed |= !(grown[used + i].word = strdup(cells[i].word));
    }
    table->num_rows++;
}

const struct mmt_cell *mmt_table_cell(const struct mmt_table *table, int row, int column)
{
    return &table->cells[row * table->num_columns + column];
}

/* ---- for people ------------------------------------------------------------------- */

enum { WIDEST = 64 }; /* of a number */

/* A word as it is; a number in `out`. */
static const char *cell_text(const struct mmt_table *table, int row, int column,
                             char out[WIDEST])
{
    const struct mmt_cell *cell = mmt_table_cell(table, row, column);
    int digits = table->columns[column].digits;
    double value = cell->number, size = fabs(value);

    if (cell->word)
        return cell->word;
    if (isnan(value))
        snprintf(out, WIDEST, "-");
    else if (!digits || value == 0)
        snprintf(out, WIDEST, "%.0f", value);
    else if (size >= 1e7 || size < 1e-4)
        snprintf(out, WIDEST, "%.*e", digits - 1, value);
    else
        snprintf(out, WIDEST, "%.*f", (int) fmax(0, digits - 1 - floor(log10(size))),
                 value);
    return out;
}

static int width_of(const struct mmt_table *table, int column)
{
    size_t width = strlen(table->columns[column].name);
    size_t unit = strlen(table->columns[column].unit);
    char text[WIDEST];

    width = unit > width ? unit : width;
    for (int row = 0; row < table->num_rows; row++) {
        size_t length = strlen(cell_text(table, row, column, text));
        width = length > width ? length : width;
    }
    return (int) width;
}

static bool is_wordy(const struct mmt_table *table, int column)
{
    return table->num_rows && mmt_table_cell(table, 0, column)->word;
}

static void print_line(const struct mmt_table *table, const int *widths,
                       const char *(*text_of)(const struct mmt_table *, int row,
                                              int column, char buffer[WIDEST]),
                       int row, FILE *file)
{
    char buffer[WIDEST];

    for (int c = 0; c < table->num_columns; c++) {
        bool last = c + 1 == table->num_columns;
        bool left = is_wordy(table, c);
        const char *text = text_of(table, row, c, buffer);
        fprintf(file, "%s%*s", c ? "  " : "", left ? (last ? 0 : -widths[c]) : widths[c],
                text);
    }
    fputc('\n', file);
}

static const char *name_text(const struct mmt_table *table, int row, int column,
                             char buffer[WIDEST])
{
    return table->columns[column].name;
}

static const char *unit_text(const struct mmt_table *table, int row, int column,
                             char buffer[WIDEST])
{
    return table->columns[column].unit;
}

void mmt_table_print(const struct mmt_table *table, FILE *file)
{
    int widths[MMT_MOST_COLUMNS] = { 0 };
    bool units = false;

    for (int c = 0; c < table->num_columns; c++) {
        widths[c] = width_of(table, c);
        units |= table->columns[c].unit[0] != 0;
    }
    fprintf(file, "\n%s\n", table->title);
    print_line(table, widths, name_text, 0, file);
    if (units)
        print_line(table, widths, unit_text, 0, file);
    for (int row = 0; row < table->num_rows; row++)
        print_line(table, widths, cell_text, row, file);
}

/* ---- for programs ----------------------------------------------------------------- */

/* "kernel (ms)" */
static void add_head(const struct mmt_column *column, struct mmt_text *text)
{
    mmt_text_addf(text, column->unit[0] ? "%s (%s)" : "%s", column->name, column->unit);
}

/* Quoted where RFC 4180 wants it. */
static void add_word(const char *word, struct mmt_text *text)
{
    if (!word[strcspn(word, ",\"\n\r")]) {
        mmt_text_add(text, word);
        return;
    }
    mmt_text_add(text, "\"");
    for (; *word; word++) {
        if (*word == '"')
            mmt_text_add(text, "\"");
        mmt_text_add_bytes(text, word, 1);
    }
    mmt_text_add(text, "\"");
}

static void add_csv(const struct mmt_table *table, struct mmt_text *text)
{
    struct mmt_text head = { 0 };

    for (int c = 0; c < table->num_columns; c++) {
        mmt_text_add(text, c ? "," : "");
        add_head(&table->columns[c], &head);
        add_word(mmt_text_string(&head), text);
        mmt_text_finish(&head);
    }
    for (int i = 0; i < table->num_rows * table->num_columns; i++) {
        const struct mmt_cell *cell = &table->cells[i];
        mmt_text_add(text, i % table->num_columns ? "," : "\r\n");
        if (cell->word)
            add_word(cell->word, text);
        else if (!isnan(cell->number))
            mmt_text_addf(text, "%.9g", cell->number);
    }
    mmt_text_add(text, "\r\n");
}

static json_t *cell_json(const struct mmt_cell *cell)
{
    if (cell->word)
        return json_string(cell->word);
    return isnan(cell->number) ? json_null() : json_real(cell->number);
}

static json_t *table_json(const struct mmt_table *table)
{
    json_t *columns = json_array(), *rows = json_array();

    for (int c = 0; c < table->num_columns; c++)
        json_array_append_new(columns,
                              json_pack("{s:s, s:s}", "name", table->columns[c].name,
                                        "unit", table->columns[c].unit));
    for (int r = 0; r < table->num_rows; r++) {
        json_t *row = json_object();
        for (int c = 0; c < table->num_columns; c++)
            json_object_set_new(row, table->columns[c].name,
                                cell_json(mmt_table_cell(table, r, c)));
        json_array_append_new(rows, row);
    }
    return json_pack("{s:s, s:o, s:o}", "title", table->title, "columns", columns, "rows",
                     rows);
}

static mmt_status save_text(const char *folder, const char *name, const char *ending,
                            const char *string, size_t length, mmt_error *err)
{
    struct mmt_text path = { 0 };
    mmt_text_addf(&path, "%s/%s%s", folder, name, ending);
    mmt_status status =
        path.failed || !string
            ? mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a table")
            : mmt_file_replace(path.data, string, length, err);
    mmt_text_finish(&path);
    return status;
}

mmt_status mmt_table_save(const struct mmt_table *table, const char *folder,
                          const char *name, mmt_error *err)
{
    struct mmt_text csv = { 0 };
    if (table->failed)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a table");
    add_csv(table, &csv);
    mmt_status status =
        save_text(folder, name, ".csv", csv.failed ? NULL : csv.data, csv.length, err);
    mmt_text_finish(&csv);
    if (status != MMT_OK)
        return status;

    json_t *root = table_json(table);
    char *json = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    status = save_text(folder, name, ".json", json, json ? strlen(json) : 0, err);
    free(json);
    json_decref(root);
    return status;
}
