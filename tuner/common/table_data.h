/* A table of results: named columns with units, rows of numbers and words. One table is
 * written as text and HTML for people, and as CSV and JSON for programs. It is one
 * thread's at a time. `mmtune` and `mmtune-study` share it: beside the public header this
 * one needs none. */
#ifndef MMT_TUNER_COMMON_TABLE_DATA_H
#define MMT_TUNER_COMMON_TABLE_DATA_H

#include <stdbool.h>
#include <stdio.h>

#include <mmtune/mmtune.h>

struct mmt_text;

struct mmt_column {
    const char *name, *unit; /* unit: "" for words, counts and plain ratios */
    int digits;              /* significant, where people read; 0: whole numbers */
    bool right;              /* words end at the right, as numbers do */
    int most; /* characters of a cell in text; the rest of its row stands below what is
               * longer; 0: any */
};

/* A word, a number, or (NAN and NULL) nothing. */
struct mmt_cell {
    double number;
    const char *word;
};

#define MMT_WORD(string)  ((struct mmt_cell){ .word = (string) })
#define MMT_NUMBER(value) ((struct mmt_cell){ .number = (value) })

enum { MMT_MOST_COLUMNS = 40 };

struct mmt_table {
    char title[256];
    struct mmt_column columns[MMT_MOST_COLUMNS];
    int num_columns, num_rows;
    char *heads;            /* that mmt_table_of took apart */
    struct mmt_cell *cells; /* num_rows times num_columns; words are the table's own */
    bool failed;            /* memory ran out; saving and printing say so */
};

/* An empty table. Column names and units must outlive it. The caller frees it with
 * mmt_table_free. */
struct mmt_table mmt_table_start(const char *title, const struct mmt_column *columns,
                                 int num_columns);

/* The same of words alone, with column names between tabs; behind a '>', words end at the
 * right. */
struct mmt_table mmt_table_of(const char *title, const char *heads);
void mmt_table_free(struct mmt_table *table);

/* Adds a row of num_columns cells; words are copied. */
void mmt_table_add(struct mmt_table *table, const struct mmt_cell *cells);

/* Adds a row of words, each but the last up to a tab, and finishes the text. */
void mmt_table_take(struct mmt_table *table, struct mmt_text *row);

const struct mmt_cell *mmt_table_cell(const struct mmt_table *table, int row, int column);

/* Adds the title in a line of its own where there is one, a head with units, and aligned
 * columns behind `indent` blanks. The last column goes on below itself at `width` columns
 * (0: it never does). */
void mmt_table_add_text(const struct mmt_table *table, int indent, int width,
                        struct mmt_text *text);
void mmt_table_print(const struct mmt_table *table, FILE *file);

/* Adds an element of HTML, which is XML too: the title is its caption, and the first
 * column heads its rows. */
void mmt_table_add_html(const struct mmt_table *table, struct mmt_text *page);

/* Adds text as it stands in an element or a quoted attribute of XML, which has no control
 * characters; the same in an element, such as "p class=\"note\"". */
void mmt_html_add_text(struct mmt_text *page, const char *text);
void mmt_html_add_element(struct mmt_text *page, const char *tag, const char *text);

/* Adds a word of CSV in quotes, with its own quotes doubled. */
void mmt_csv_add_quoted(struct mmt_text *text, const char *word);

/* Writes FOLDER/NAMEENDING, such as "curves" ".svg": whole, the old one or the new. Makes
 * a missing folder. */
mmt_status mmt_table_save_beside(const char *folder, const char *name, const char *ending,
                                 const char *bytes, size_t length, mmt_error *err);

/* Writes FOLDER/NAME.csv and FOLDER/NAME.json, with units in the names of CSV. */
mmt_status mmt_table_save(const struct mmt_table *table, const char *folder,
                          const char *name, mmt_error *err);

#endif
