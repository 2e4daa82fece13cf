/* A table of results: named columns with units, rows of numbers and words. One table is
 * printed for people, saved as CSV and JSON, and drawn as curves; nothing else of a study
 * is ever written, so that every figure goes back to what was measured. */
#ifndef MMT_STUDIES_TABLE_H
#define MMT_STUDIES_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct mmt_column {
    const char *name, *unit; /* unit: "" for words, counts and plain ratios */
    int digits;              /* significant, where people read; 0: whole numbers */
};

/* A word, a number, or (NAN and NULL) nothing. */
struct mmt_cell {
    double number;
    const char *word;
};

#define MMT_WORD(string)                                                                 \
    (struct mmt_cell)                                                                    \
    {                                                                                    \
        .word = (string)                                                                 \
    }
#define MMT_NUMBER(value)                                                                \
    (struct mmt_cell)                                                                    \
    {                                                                                    \
        .number = (value)                                                                \
    }

enum { MMT_MOST_COLUMNS = 40 };

struct mmt_table {
    char title[256];
    struct mmt_column columns[MMT_MOST_COLUMNS];
    int num_columns, num_rows;
    struct mmt_cell *cells; /* num_rows times num_columns; words are the table's own */
    bool failed;            /* memory ran out; saving and printing say so */
};

/* An empty table. Column names and units must outlive it. The caller frees it with
 * mmt_table_free. */
struct mmt_table mmt_table_start(const char *title, const struct mmt_column *columns,
                                 int num_columns);
void mmt_table_free(struct mmt_table *table);

/* Adds a row of num_columns cells; words are copied. */
void mmt_table_add(struct mmt_table *table, const struct mmt_cell *cells);

const struct mmt_cell *mmt_table_cell(const struct mmt_table *table, int row, int column);

/* For people: the title, a head with units, aligned columns. */
void mmt_table_print(const struct mmt_table *table, FILE *file);

/* Writes FOLDER/NAME.csv and FOLDER/NAME.json. */
mmt_status mmt_table_save(const struct mmt_table *table, const char *folder,
                          const char *name, mmt_error *err);

/* ---- plot.c ----------------------------------------------------------------------- */

/* Curves of one column over another, one for each combination of words in the columns
 * `by` (-1: none). Rows where x or y is empty or, on a logarithmic axis, not above 0 are
 * left out. Axes are named after the columns. */
struct mmt_plot {
    const char *title;
    int x, y, by[2];
    bool log_x, log_y;
    int printed; /* column of what a paper has of y, drawn as hollow marks; 0: none */
    const char *x_name; /* of the axis; NULL: the column's */
};

/* Whether there is a point to draw. */
bool mmt_plot_any(const struct mmt_table *table, const struct mmt_plot *plot);

/* Writes FOLDER/NAME.gp, a gnuplot script with the table's data in it, and has gnuplot
 * draw FOLDER/NAME.svg; nothing where there is no point. Where gnuplot is not installed
 * the script alone is written, and a line on stderr says so. */
mmt_status mmt_plot_save(const struct mmt_table *table, const struct mmt_plot *plot,
                         const char *folder, const char *name, mmt_error *err);

#endif
