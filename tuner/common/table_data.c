/* Tables of results: table_data.h. */
#include "tuner/common/table_data.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tuner/common/options.h"

struct mmt_table mmt_table_start(const char *title, const struct mmt_column *columns,
                                 int num_columns)
{
    struct mmt_table table = { .num_columns = num_columns };
    snprintf(table.title, sizeof table.title, "%s", title);
    memcpy(table.columns, columns, (size_t) num_columns * sizeof *columns);
    return table;
}

struct mmt_table mmt_table_of(const char *title, const char *heads)
{
    struct mmt_table table = mmt_table_start(title, &(struct mmt_column){ 0 }, 0);
    char *rest = table.heads = strdup(heads);
    table.failed = !rest;
    while (rest) {
        const bool right = *rest == '>';
        table.columns[table.num_columns++] = (struct mmt_column){
            .name = strsep(&rest, "\t") + right, .unit = "", .right = right
        };
    }
    return table;
}

void mmt_table_free(struct mmt_table *table)
{
    for (int i = 0; i < table->num_rows * table->num_columns; i++)
        free((char *) table->cells[i].word);
    free(table->cells);
    free(table->heads);
    table->heads = NULL;
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

void mmt_table_take(struct mmt_table *table, struct mmt_text *row)
{
    struct mmt_cell cells[MMT_MOST_COLUMNS];
    char *rest = row->failed ? NULL : row->data;
    table->failed |= !rest;
    for (int c = 0; c < table->num_columns; c++)
        cells[c] = MMT_WORD(c + 1 < table->num_columns ? strsep(&rest, "\t") : rest);
    mmt_table_add(table, cells);
    mmt_text_finish(row);
}

const struct mmt_cell *mmt_table_cell(const struct mmt_table *table, int row, int column)
{
    return &table->cells[row * table->num_columns + column];
}

/* ---- for people ------------------------------------------------------------------- */

enum { WIDEST = 64 };           /* of a number */
enum { HEAD = -2, UNITS = -1 }; /* rows above the first */

/* A word or a head as it is; a number in `out`. */
static const char *cell_text(const struct mmt_table *table, int row, int column,
                             char out[WIDEST])
{
    const struct mmt_column *it = &table->columns[column];
    if (row < 0)
        return row == HEAD ? it->name : it->unit;
    const struct mmt_cell *cell = mmt_table_cell(table, row, column);
    double value = cell->number, size = fabs(value);

    if (cell->word)
        return cell->word;
    if (isnan(value))
        snprintf(out, WIDEST, "-");
    else if (!it->digits || value == 0)
        snprintf(out, WIDEST, "%.0f", value);
    else if (size >= 1e7 || size < 1e-4)
        snprintf(out, WIDEST, "%.*e", it->digits - 1, value);
    else
        snprintf(out, WIDEST, "%.*f", (int) fmax(0, it->digits - 1 - floor(log10(size))),
                 value);
    return out;
}

/* Names and units only where there are some. */
static bool is_shown(const struct mmt_table *table, int row)
{
    bool shown = row >= 0;
    for (int c = 0; c < table->num_columns && !shown; c++)
        shown = cell_text(table, row, c, NULL)[0] != 0;
    return shown;
}

static int width_of(const struct mmt_table *table, int column)
{
    const int most = table->columns[column].most;
    char text[WIDEST];
    int width = 0;
    for (int row = HEAD; row < table->num_rows; row++)
        width = (int) fmax(width, (double) strlen(cell_text(table, row, column, text)));
    return most && most < width ? most : width;
}

static bool is_left(const struct mmt_table *table, int column)
{
    return table->num_rows && mmt_table_cell(table, 0, column)->word &&
           !table->columns[column].right;
}

static void add_row(const struct mmt_table *table, const int *widths, int row, int indent,
                    int width, struct mmt_text *out)
{
    const int last = table->num_columns - 1;
    char buffer[WIDEST];
    int at = indent;
    mmt_text_addf(out, "%*s", indent, "");
    for (int c = 0; c < last; at += widths[c++] + 2) {
        const char *text = cell_text(table, row, c, buffer);
        mmt_text_addf(out, "%*s", is_left(table, c) ? -widths[c] : widths[c], text);
        if (strlen(text) > (size_t) widths[c])
            mmt_text_addf(out, "\n%*s", at + widths[c], "");
        mmt_text_add(out, "  ");
    }
    const char *text = cell_text(table, row, last, buffer);
    if (width && is_left(table, last))
        mmt_print_wrapped(text, at, at, width, out);
    else
        mmt_text_addf(out, "%*s\n", is_left(table, last) ? 0 : widths[last], text);
}

void mmt_table_add_text(const struct mmt_table *table, int indent, int width,
                        struct mmt_text *text)
{
    int widths[MMT_MOST_COLUMNS] = { 0 };

    for (int c = 0; c < table->num_columns; c++)
        widths[c] = width_of(table, c);
    mmt_text_addf(text, *table->title ? "\n%s\n" : "", table->title);
    for (int row = HEAD; row < table->num_rows; row++)
        if (is_shown(table, row))
            add_row(table, widths, row, indent, width, text);
    text->failed |= table->failed;
}

void mmt_table_print(const struct mmt_table *table, FILE *file)
{
    struct mmt_text text = { 0 };
    mmt_table_add_text(table, 0, 0, &text);
    fputs(text.failed ? "out of memory\n" : mmt_text_string(&text), file);
    mmt_text_finish(&text);
}

/* ---- for browsers ------------------------------------------------------------------ */

void mmt_html_add_text(struct mmt_text *page, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            mmt_text_add(page, "&amp;");
            break;
        case '<':
            mmt_text_add(page, "&lt;");
            break;
        case '>':
            mmt_text_add(page, "&gt;");
            break;
        case '"':
            mmt_text_add(page, "&quot;");
            break;
        default:
            mmt_text_addf(page, "%c", mmt_text_is_control(*text) ? '?' : *text);
        }
}

void mmt_html_add_element(struct mmt_text *page, const char *tag, const char *text)
{
    mmt_text_addf(page, "<%s>", tag);
    mmt_html_add_text(page, text);
    mmt_text_addf(page, "</%.*s>", (int) strcspn(tag, " "), tag);
}

static const char *tag_of(const struct mmt_table *table, int row, int column)
{
    if (row < 0)
        return "th";
    if (!column)
        return "th scope=\"row\"";
    return is_left(table, column) ? "td" : "td class=\"number\"";
}

void mmt_table_add_html(const struct mmt_table *table, struct mmt_text *page)
{
    char text[WIDEST];
    mmt_text_add(page, "<div class=\"wide\"><table>");
    if (*table->title)
        mmt_html_add_element(page, "caption", table->title);
    for (int row = HEAD; row < table->num_rows; row++) {
        if (!is_shown(table, row))
            continue;
        mmt_text_add(page, "<tr>");
        for (int c = 0; c < table->num_columns; c++)
            mmt_html_add_element(page, tag_of(table, row, c),
                                 cell_text(table, row, c, text));
        mmt_text_add(page, "</tr>\n");
    }
    mmt_text_add(page, "</table></div>\n");
    page->failed |= table->failed;
}

/* ---- for programs ----------------------------------------------------------------- */

/* "kernel (ms)" */
static void add_head(const struct mmt_column *column, struct mmt_text *text)
{
    mmt_text_addf(text, column->unit[0] ? "%s (%s)" : "%s", column->name, column->unit);
}

void mmt_csv_add_quoted(struct mmt_text *text, const char *word)
{
    mmt_text_add(text, "\"");
    for (; *word; word++)
        mmt_text_addf(text, *word == '"' ? "\"\"" : "%c", *word);
    mmt_text_add(text, "\"");
}

/* Quoted where RFC 4180 wants it. */
static void add_word(const char *word, struct mmt_text *text)
{
    if (word[strcspn(word, ",\"\n\r")])
        mmt_csv_add_quoted(text, word);
    else
        mmt_text_add(text, word);
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

mmt_status mmt_table_save_beside(const char *folder, const char *name, const char *ending,
                                 const char *bytes, size_t length, mmt_error *err)
{
    struct mmt_text path = { 0 };
    mmt_text_addf(&path, "%s/%s%s", folder, name, ending);
    mmt_status status =
        path.failed || !bytes
            ? mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a result")
            : mmt_file_replace(path.data, bytes, length, err);
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
    mmt_status status = mmt_table_save_beside(
        folder, name, ".csv", csv.failed ? NULL : csv.data, csv.length, err);
    mmt_text_finish(&csv);
    if (status != MMT_OK)
        return status;

    json_t *root = table_json(table);
    char *json = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    status =
        mmt_table_save_beside(folder, name, ".json", json, json ? strlen(json) : 0, err);
    free(json);
    json_decref(root);
    return status;
}
