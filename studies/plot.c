/* Curves through gnuplot. */
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "client.h"
#include "study.h"

extern char **environ;

enum { MOST_POINTS = 40 }; /* of a curve, that each are drawn as a dot */

static bool has_point(const struct mmt_table *table, const struct mmt_plot *plot, int row,
                      int column)
{
    double x = mmt_table_cell(table, row, plot->x)->number;
    double y = mmt_table_cell(table, row, column)->number;
    return isfinite(x) && isfinite(y) && (!plot->log_x || x > 0) &&
           (!plot->log_y || y > 0);
}

/* Whether it has what was measured, or what is printed. */
static bool is_drawn(const struct mmt_table *table, const struct mmt_plot *plot, int row)
{
    return has_point(table, plot, row, plot->y) ||
           (plot->printed && has_point(table, plot, row, plot->printed));
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
static void add_quoted(const char *string, struct mmt_study_text *text)
{
    mmt_study_text_add(text, "'");
    for (; *string; string++)
        mmt_study_text_addf(text, *string == '\'' ? "''" : "%c", *string);
    mmt_study_text_add(text, "'");
}

/* ---- axes ------------------------------------------------------------------------- */

struct range {
    double least, most;
};

static void widen_range(const struct mmt_table *table, const struct mmt_plot *plot,
                        int points, int column, struct range *range)
{
    for (int row = 0; row < table->num_rows; row++) {
        double value = mmt_table_cell(table, row, column)->number;
        if (!has_point(table, plot, row, points))
            continue;
        range->least = fmin(range->least, value);
        range->most = fmax(range->most, value);
    }
}

static struct range range_of(const struct mmt_table *table, const struct mmt_plot *plot,
                             bool is_x)
{
    struct range range = { INFINITY, -INFINITY };
    widen_range(table, plot, plot->y, is_x ? plot->x : plot->y, &range);
    if (plot->printed)
        widen_range(table, plot, plot->printed, is_x ? plot->x : plot->printed, &range);
    return range;
}

/* 51200000 is 51.2M. */
static void place_label(double value, char label[24])
{
    double unit = value >= 1e9 ? 1e9 : value >= 1e6 ? 1e6 : value >= 5e4 ? 1e3 : 1;
    const char *letter = unit == 1e9 ? "G" : unit == 1e6 ? "M" : unit == 1e3 ? "k" : "";
    snprintf(label, 24, unit > 1 ? "%.4g%s" : "%.9g%s", value / unit, letter);
}

/* A logarithmic axis of few decades has labels at 1, 2 and 5 too. */
static void add_decades(const char *axis, struct range range, struct mmt_study_text *text)
{
    static const int digits[] = { 1, 2, 5 };
    const char *comma = "";

    if (range.most / range.least > 2e3)
        return;
    mmt_study_text_addf(text, "set %stics (", axis);
    for (double ten = pow(10, floor(log10(range.least)) - 1); ten <= 10 * range.most;
         ten *= 10)
        for (int i = 0; i < 3; i++) {
            char label[24];
            place_label(digits[i] * ten, label);
            mmt_study_text_addf(text, "%s\"%s\" %.3g", comma, label, digits[i] * ten);
            comma = ", ";
        }
    mmt_study_text_add(text, ")\n");
}

enum { MOST_TICS = 16 };

enum { ROWS = 2 };

/* The first of two rows in which a label does not reach into another: a letter takes
 * about a hundredth of the axis. ROWS where there is none. */
static int row_for(const double *places, const int *rows, int at, const char *label,
                   double span)
{
    int row = 0;
    for (; row < ROWS; row++) {
        bool near = false;
        for (int i = 0; i < at; i++)
            near |= rows[i] == row && fabs(log(places[at] / places[i])) <
                                          0.011 * (double) (strlen(label) + 1) * span;
        if (!near)
            break;
    }
    return row;
}

/* The places themselves where they are few. */
static bool add_places(const struct mmt_table *table, const struct mmt_plot *plot,
                       struct range range, struct mmt_study_text *text)
{
    double places[MOST_TICS], span = log(range.most / range.least);
    int rows[MOST_TICS];
    char label[24];
    int count = 0, lowest = 0;

    for (int row = 0; row < table->num_rows; row++) {
        double value = mmt_table_cell(table, row, plot->x)->number;
        bool seen = !is_drawn(table, plot, row);
        for (int i = 0; i < count; i++)
            seen |= value == places[i];
        if (!seen && count == MOST_TICS)
            return false;
        if (!seen)
            places[count++] = value;
    }
    mmt_study_text_add(text, "set xtics (");
    for (int i = 0; i < count; i++) {
        static const char *const lines[ROWS + 1] = { "", "\\n", "" };
        place_label(places[i], label);
        rows[i] = row_for(places, rows, i, label, span);
        mmt_study_text_addf(text, "%s\"%s%s\" %.9g", i ? ", " : "", lines[rows[i]],
                            rows[i] < ROWS ? label : "", places[i]);
        lowest = rows[i] < ROWS && rows[i] > lowest ? rows[i] : lowest;
    }
    mmt_study_text_add(text, ")\n");
    if (lowest) /* the axis's own label makes room */
        mmt_study_text_add(text, "set xlabel offset 0,-0.6\n");
    return true;
}

static void add_axis(const struct mmt_table *table, const struct mmt_plot *plot,
                     const char *axis, struct mmt_study_text *text)
{
    bool is_x = *axis == 'x', log = is_x ? plot->log_x : plot->log_y;
    int column = is_x ? plot->x : plot->y;
    const struct mmt_column *c = &table->columns[column];
    struct range range = range_of(table, plot, is_x);
    char label[128];

    snprintf(label, sizeof label, c->unit[0] ? "%s, %s" : "%s",
             is_x && plot->x_name ? plot->x_name : c->name, c->unit);
    mmt_study_text_addf(text, "set %slabel ", axis);
    add_quoted(label, text);
    mmt_study_text_addf(text, "%s noenhanced\n", is_x ? ".\"\\n\" offset 0,0.4" : "");
    if (!log)
        return;
    mmt_study_text_addf(text, "set logscale %s\nset format %s '%s'\n", axis, axis,
                        range.least >= 1 ? "%.0s%c" : "%g"); /* 10M, 0.001 */
    mmt_study_text_addf(text, "set %srange [%.6g:%.6g]\n", axis,
                        range.least / (is_x ? 1.06 : 1.2),
                        range.most * (is_x ? 1.06 : 1.2));
    if (!is_x || !add_places(table, plot, range, text))
        add_decades(axis, range, text);
}

/* ---- curves ----------------------------------------------------------------------- */

/* The points of a curve in `column`, as the block of data `name`; how many. */
static int add_data(const struct mmt_table *table, const struct mmt_plot *plot, int first,
                    int column, const char *name, struct mmt_study_text *text)
{
    int points = 0;
    for (int row = first; row < table->num_rows; row++)
        if (has_point(table, plot, row, column) && same_curve(table, plot, first, row)) {
            if (!points++)
                mmt_study_text_addf(text, "%s << end\n", name);
            mmt_study_text_addf(text, "%.5g %.5g\n",
                                mmt_table_cell(table, row, plot->x)->number,
                                mmt_table_cell(table, row, column)->number);
        }
    if (points)
        mmt_study_text_add(text, "end\n");
    return points;
}

static void curve_label(const struct mmt_table *table, const struct mmt_plot *plot,
                        int row, char label[160])
{
    const char *one = word_at(table, row, plot->by[0]),
               *two = word_at(table, row, plot->by[1]);
    snprintf(label, 160, "%s%s%s", one, *one && *two ? ", " : "", two);
}

/* Which of a column's words, in the order of their curves, stands in the row. */
static int word_number(const struct mmt_table *table, const struct mmt_plot *plot,
                       int row, int column)
{
    const char *words[32];
    int count = 0;

    for (int at = 0; at <= row && count < 32; at++) {
        int i = 0;
        if (!is_drawn(table, plot, at))
            continue;
        while (i < count && strcmp(words[i], word_at(table, at, column)))
            i++;
        if (i == count)
            words[count++] = word_at(table, at, column);
        if (at == row)
            return i;
    }
    return 0;
}

enum { COLOURS = 8 };

/* The number of the curve's colour: of its word in the second column, or the only one. */
static int colour_number(const struct mmt_table *table, const struct mmt_plot *plot,
                         int row)
{
    return word_number(table, plot, row, plot->by[plot->by[1] >= 0 ? 1 : 0]);
}

static const char *colour_of(int number)
{
    static const char *const colours[COLOURS] = { "#0072b2", "#d55e00", "#009e73",
                                                  "#cc79a7", "#7a5c00", "#56b4e9",
                                                  "#b00020", "#555555" };
    return colours[number % COLOURS];
}

/* The number of its dashes: of its word in the first column. */
static int dash_number(const struct mmt_table *table, const struct mmt_plot *plot,
                       int row)
{
    return word_number(table, plot, row, plot->by[0]);
}

static void begin_element(const char *data, struct mmt_study_text *curves)
{
    mmt_study_text_addf(curves, "%s%s", curves->length ? ", \\\n  " : "plot ", data);
}

static void add_title(const struct mmt_table *table, const struct mmt_plot *plot, int row,
                      struct mmt_study_text *curves)
{
    char label[160];
    curve_label(table, plot, row, label);
    mmt_study_text_add(curves, " title ");
    add_quoted(label, curves);
}

/* What the second column tells apart has a colour, what the first does, dashes; one
 * column alone has both, so that a curve shows through the gaps of one that lies on it.
 * Where colours begin again, the marks of the points differ. Returns whether it has
 * points. */
static bool add_curve(const struct mmt_table *table, const struct mmt_plot *plot, int row,
                      int number, struct mmt_study_text *curves,
                      struct mmt_study_text *data)
{
    static const int marks[] = { 7, 5, 9, 13 };
    int colour = colour_number(table, plot, row);
    char name[24];

    snprintf(name, sizeof name, "$curve%d", number);
    int points = add_data(table, plot, row, plot->y, name, data);
    if (!points)
        return false;
    begin_element(name, curves);
    mmt_study_text_addf(curves, " with %s lw 1.8 dt %d lc rgb '%s'",
                        points <= MOST_POINTS ? "linespoints" : "lines",
                        dash_number(table, plot, row) % 5 + 1, colour_of(colour));
    if (points <= MOST_POINTS)
        mmt_study_text_addf(curves, " pt %d ps 0.6", marks[colour / COLOURS % 4]);
    add_title(table, plot, row, curves);
    return true;
}

/* What is printed of a curve, hollow marks in its colour; `titled`: it has a label of its
 * own. Returns whether anything is. */
static bool add_printed(const struct mmt_table *table, const struct mmt_plot *plot,
                        int row, int number, bool titled, struct mmt_study_text *curves,
                        struct mmt_study_text *data)
{
    static const int marks[] = { 6, 4, 8, 12 };
    int dash = plot->by[1] >= 0 ? dash_number(table, plot, row) : 0;
    char name[24];

    snprintf(name, sizeof name, "$printed%d", number);
    if (!plot->printed || !add_data(table, plot, row, plot->printed, name, data))
        return false;
    begin_element(name, curves);
    mmt_study_text_addf(curves, " with points pt %d ps 1.4 lw 1.5 lc rgb '%s'",
                        marks[dash % 4], colour_of(colour_number(table, plot, row)));
    if (titled)
        add_title(table, plot, row, curves);
    else
        mmt_study_text_add(curves, " notitle");
    return true;
}

/* Labels stand in two columns where two fit beside each other. */
static int key_rows(const struct mmt_table *table, const struct mmt_plot *plot)
{
    enum { HALF = 38 }; /* letters of half of the picture's width */
    int curves = plot->printed != 0;
    size_t longest = 0;

    for (int row = 0; row < table->num_rows; row++) {
        char label[160];
        if (!begins_curve(table, plot, row))
            continue;
        curve_label(table, plot, row, label);
        longest = strlen(label) > longest ? strlen(label) : longest;
        curves++;
    }
    return longest > HALF ? curves : (curves + 1) / 2;
}

static void add_frame(const struct mmt_table *table, const struct mmt_plot *plot,
                      const char *picture, struct mmt_study_text *text)
{
    int rows = key_rows(table, plot);
    mmt_study_text_addf(text,
                        "set terminal svg size 800,%d font 'sans,13' background 'white'\n"
                        "set output ",
                        480 + 20 * rows);
    add_quoted(picture, text);
    mmt_study_text_add(text, "\nset title ");
    add_quoted(plot->title, text);
    mmt_study_text_addf(
        text,
        " noenhanced\nset key outside below vertical maxrows %d Left reverse "
        "noenhanced\nset grid back lt 1 lc rgb '#cccccc' lw 0.5\nset border 3\n"
        "set rmargin 6\n"
        "set tics nomirror\n",
        rows);
    add_axis(table, plot, "x", text);
    add_axis(table, plot, "y", text);
}

static void add_script(const struct mmt_table *table, const struct mmt_plot *plot,
                       const char *picture, struct mmt_study_text *text)
{
    struct mmt_study_text curves = { 0 }, data = { 0 };
    bool untitled = false;
    int count = 0;

    for (int row = 0; row < table->num_rows; row++) {
        if (!begins_curve(table, plot, row))
            continue;
        bool ours = add_curve(table, plot, row, ++count, &curves, &data);
        bool theirs = add_printed(table, plot, row, count, !ours, &curves, &data);
        untitled |= ours && theirs;
    }
    if (untitled) {
        begin_element("NaN", &curves);
        mmt_study_text_addf(&curves,
                            " with points pt 6 ps 1.4 lw 1.5 lc rgb 'black' title "
                            "'hollow marks: %s'",
                            plot->printed_name ? plot->printed_name
                                               : "as printed in the paper");
    }
    add_frame(table, plot, picture, text);
    mmt_study_text_addf(text, "%s%s\n", mmt_study_text_string(&data),
                        mmt_study_text_string(&curves));
    text->failed |= data.failed | curves.failed;
    mmt_study_text_finish(&data);
    mmt_study_text_finish(&curves);
}

/* Sets *drawn where gnuplot is there. */
static mmt_status draw_plot(const char *script, bool *drawn, mmt_error *err)
{
    char *words[] = { "gnuplot", (char *) script, NULL };
    pid_t child, ended;
    int status, code = posix_spawnp(&child, words[0], NULL, NULL, words, environ);

    if (code == ENOENT) {
        fprintf(stderr, "gnuplot is not installed; it would draw %s\n", script);
        return MMT_OK;
    }
    if (code)
        return mmt_study_fail(err, MMT_ERROR_IO, "gnuplot cannot be started: %s",
                              strerror(code));
    mmt_interrupted_child = child;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        ;
    mmt_interrupted_child = 0;
    if (ended < 0)
        return mmt_study_fail(err, MMT_ERROR_IO, "waiting for gnuplot: %s",
                              strerror(errno));
    *drawn = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (*drawn)
        return MMT_OK;
    return mmt_study_fail(err, MMT_ERROR_IO, "gnuplot could not draw %s", script);
}

/* Text of XML. */
static void add_escaped(const char *string, struct mmt_study_text *text)
{
    for (; *string; string++)
        mmt_study_text_addf(text,
                            *string == '<'   ? "&lt;"
                            : *string == '&' ? "&amp;"
                                             : "%c",
                            *string);
}

/* The whole of a file, malloc'ed; NULL where it cannot be read. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;
    if (file && getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

/* gnuplot calls every picture "Gnuplot"; this gives it the plot's own title. */
static mmt_status name_picture(const struct mmt_plot *plot, const char *path,
                               const char *folder, const char *name, mmt_error *err)
{
    static const char own[] = "<title>Gnuplot</title>";
    struct mmt_study_text named = { 0 };
    char *svg = read_file(path), *at = svg ? strstr(svg, own) : NULL;
    mmt_status status = svg ? MMT_OK
                            : mmt_study_fail(err, MMT_ERROR_IO, "%s cannot be read: %s",
                                             path, strerror(errno));
    if (at) {
        *at = '\0';
        mmt_study_text_addf(&named, "%s<title>", svg);
        add_escaped(plot->title, &named);
        mmt_study_text_addf(&named, "</title>%s", at + sizeof own - 1);
        status = mmt_table_save_beside(
            folder, name, ".svg", named.failed ? NULL : named.data, named.length, err);
    }
    free(svg);
    mmt_study_text_finish(&named);
    return status;
}

bool mmt_plot_any(const struct mmt_table *table, const struct mmt_plot *plot)
{
    for (int row = 0; row < table->num_rows; row++)
        if (is_drawn(table, plot, row))
            return true;
    return false;
}

mmt_status mmt_plot_save(const struct mmt_table *table, const struct mmt_plot *plot,
                         const char *folder, const char *name, mmt_error *err)
{
    struct mmt_study_text path = { 0 }, picture = { 0 }, script = { 0 };
    mmt_status status = MMT_OK;
    bool drawn = false;

    if (!mmt_plot_any(table, plot))
        return MMT_OK;
    mmt_study_text_addf(&path, "%s/%s.gp", folder, name);
    mmt_study_text_addf(&picture, "%s/%s.svg", folder, name);
    add_script(table, plot, mmt_study_text_string(&picture), &script);
    if (path.failed || picture.failed || script.failed)
        status = mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory left for a picture");
    if (status == MMT_OK)
        status =
            mmt_table_save_beside(folder, name, ".gp", script.data, script.length, err);
    if (status == MMT_OK)
        status = draw_plot(path.data, &drawn, err);
    if (status == MMT_OK && drawn)
        status = name_picture(plot, picture.data, folder, name, err);
    mmt_study_text_finish(&path);
    mmt_study_text_finish(&picture);
    mmt_study_text_finish(&script);
    return status;
}
