/* Curves through gnuplot. */
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "tuner/study/table.h"

extern char **environ;

static bool is_drawn(const struct mmt_table *table, const struct mmt_plot *plot, int row)
{
    double x = mmt_table_cell(table, row, plot->x)->number;
    double y = mmt_table_cell(table, row, plot->y)->number;
    return isfinite(x) && isfinite(y) && (!plot->log_x || x > 0) &&
           (!plot->log_y || y > 0);
}

static const char *word_at(const struct mmt_table *table, int row, int column)
{
    const char *word = column < 0 ? NULL : mmt_table_cell(table, row, column)->word;
    return word ? word : "";
}

static bool same_curve(const struct mmt_table *table, const struct mmt_plot *plot, int a,
                       int b)
{
    return !strcmp(word_at(table, a, plot->by[0]), word_at(table, b, plot->by[0])) &&
           !strcmp(word_at(table, a, plot->by[1]), word_at(table, b, plot->by[1]));
}

/* Whether a row is the first that is drawn of its curve. */
static bool begins_curve(const struct mmt_table *table, const struct mmt_plot *plot,
                         int row)
{
    for (int before = 0; before < row; before++)
        if (is_drawn(table, plot, before) && same_curve(table, plot, before, row))
            return false;
    return is_drawn(table, plot, row);
}

/* A string of gnuplot in single quotes, where only the quote is special. */
static void add_quoted(const char *string, struct mmt_text *text)
{
    mmt_text_add(text, "'");
    for (; *string; string++)
        mmt_text_addf(text, *string == '\'' ? "''" : "%c", *string);
    mmt_text_add(text, "'");
}

static void add_axis(const struct mmt_table *table, const char *axis, int column,
                     bool log, struct mmt_text *text)
{
    const struct mmt_column *c = &table->columns[column];
    char label[128];

    snprintf(label, sizeof label, c->unit[0] ? "%s, %s" : "%s", c->name, c->unit);
    mmt_text_addf(text, "set %slabel ", axis);
    add_quoted(label, text);
    mmt_text_add(text, " noenhanced\n");
    if (log)
        mmt_text_addf(text, "set logscale %s\n", axis);
}

static void add_data(const struct mmt_table *table, const struct mmt_plot *plot,
                     int first, int number, struct mmt_text *text)
{
    mmt_text_addf(text, "$curve%d << end\n", number);
    for (int row = first; row < table->num_rows; row++)
        if (is_drawn(table, plot, row) && same_curve(table, plot, first, row))
            mmt_text_addf(text, "%.9g %.9g\n",
                          mmt_table_cell(table, row, plot->x)->number,
                          mmt_table_cell(table, row, plot->y)->number);
    mmt_text_add(text, "end\n");
}

static void add_label(const struct mmt_table *table, const struct mmt_plot *plot, int row,
                      struct mmt_text *text)
{
    const char *one = word_at(table, row, plot->by[0]),
               *two = word_at(table, row, plot->by[1]);
    char label[160];
    snprintf(label, sizeof label, "%s%s%s", one, *one && *two ? ", " : "", two);
    add_quoted(label, text);
}

static void add_script(const struct mmt_table *table, const struct mmt_plot *plot,
                       const char *picture, struct mmt_text *text)
{
    int curves = 0;

    mmt_text_add(text, "set terminal svg size 840,560 font 'sans,13' background 'white'\n"
                       "set output ");
    add_quoted(picture, text);
    mmt_text_add(text, "\nset title ");
    add_quoted(plot->title, text);
    mmt_text_add(text, " noenhanced\nset key outside right top noenhanced\nset grid\n");
    add_axis(table, "x", plot->x, plot->log_x, text);
    add_axis(table, "y", plot->y, plot->log_y, text);
    for (int row = 0; row < table->num_rows; row++)
        if (begins_curve(table, plot, row))
            add_data(table, plot, row, ++curves, text);

    curves = 0;
    for (int row = 0; row < table->num_rows; row++) {
        if (!begins_curve(table, plot, row))
            continue;
        mmt_text_addf(text, "%s$curve%d with linespoints title ",
                      curves ? ", \\\n  " : "plot ", curves + 1);
        add_label(table, plot, row, text);
        curves++;
    }
    mmt_text_add(text, "\n");
}

static mmt_status draw(const char *script, mmt_error *err)
{
    char *words[] = { "gnuplot", (char *) script, NULL };
    pid_t child;
    int status, code = posix_spawnp(&child, words[0], NULL, NULL, words, environ);

    if (code == ENOENT) {
        fprintf(stderr, "gnuplot is not installed; it would draw %s\n", script);
        return MMT_OK;
    }
    if (code)
        return mmt_fail_native(err, MMT_ERROR_IO, code, "gnuplot cannot be started: %s",
                               strerror(code));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return mmt_fail_native(err, MMT_ERROR_IO, errno, "waiting for gnuplot: %s",
                                   strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_IO, "gnuplot could not draw %s", script);
}

mmt_status mmt_plot_save(const struct mmt_table *table, const struct mmt_plot *plot,
                         const char *folder, const char *name, mmt_error *err)
{
    struct mmt_text path = { 0 }, picture = { 0 }, script = { 0 };
    mmt_status status = MMT_OK;
    bool any = false;

    for (int row = 0; row < table->num_rows; row++)
        any |= is_drawn(table, plot, row);
    if (!any)
        return MMT_OK;
    mmt_text_addf(&path, "%s/%s.gp", folder, name);
    mmt_text_addf(&picture, "%s/%s.svg", folder, name);
    add_script(table, plot, mmt_text_string(&picture), &script);
    if (path.failed || picture.failed || script.failed)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a picture");
    if (status == MMT_OK)
        status = mmt_file_replace(path.data, script.data, script.length, err);
    if (status == MMT_OK)
        status = draw(path.data, err);
    mmt_text_finish(&path);
    mmt_text_finish(&picture);
    mmt_text_finish(&script);
    return status;
}
