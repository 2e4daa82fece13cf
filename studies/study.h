/* `mmtune study NAME`: the papers' experiments, done again on a device of today. Each
 * prints the paper's table in the paper's form, our figures beside theirs, and writes
 * what it measured (CSV, JSON) and its curves (SVG) into a folder. */
#ifndef MMT_STUDIES_STUDY_H
#define MMT_STUDIES_STUDY_H

#include "papers.h"
#include "profiles.h"
#include "client.h"
#include "../tuner/common/command.h"
#include "../tuner/common/table_data.h"

/* Of types the papers have f32, f64 and i32, the first of mmt_type. */
enum {
    MMT_STUDY_DEVICES = 4,
    MMT_STUDY_SIZES = 64,
    MMT_STUDY_CONDITION = 10,
    MMT_STUDY_TYPES = MMT_I32 + 1,
};

struct mmt_study;

/* What the command line said, with each study's defaults where it said nothing. */
struct mmt_study_options {
    const struct mmt_study *study;
    struct mmt_words devices;       /* at least 1, but for a study that needs none */
    unsigned types;                 /* bits 1 << mmt_type; 0: as the paper has them */
    int64_t sizes[MMT_STUDY_SIZES]; /* ascending, each once */
    int num_sizes;                  /* 0: as the paper has them */
    int64_t repetitions;            /* 0: as the paper has them */
    const char *paper;              /* NULL: all that the study knows */
    double cpu_seconds; /* a run on one core that would take longer is left out */
    double seconds;     /* of repetitions for one row of a table, or of a whole study that
                         * measures in rounds; 0: all of them */
    int64_t memory;     /* bytes of device memory that may be used; 0: all */
    int64_t seed;
    int64_t condition;  /* of systems: the largest eigenvalue over the smallest */
    bool all_steps;     /* iterations have the paper's number, and no tolerance */
    const char *folder; /* where results go; never NULL */
    bool json;          /* tables as JSON on stdout, one a line */
    char **words;       /* what is no option: files */
    int num_words;
};

/* The options that a study heeds, beside --output, --json and --help. */
enum {
    MMT_HEEDS_DEVICES = 1 << 0,
    MMT_HEEDS_TYPES = 1 << 1,
    MMT_HEEDS_SIZES = 1 << 2,
    MMT_HEEDS_REPETITIONS = 1 << 3,
    MMT_HEEDS_PAPER = 1 << 4,
    MMT_HEEDS_CPU = 1 << 5,
    MMT_HEEDS_MEMORY = 1 << 6,
    MMT_HEEDS_SEED = 1 << 7,
    MMT_HEEDS_WORDS = 1 << 8,
    MMT_HEEDS_SECONDS = 1 << 9,
    MMT_HEEDS_CONDITION = 1 << 10,
    MMT_HEEDS_ALL_STEPS = 1 << 11,
};

struct mmt_study {
    const char *name;
    const char *what;  /* one line for people */
    const char *notes; /* lines of help: what sizes are, what is shown */
    unsigned heeds;
    unsigned ops,
        types; /* what it runs, unless --type says else: 1 << mmt_op, mmt_type */
    mmt_status (*run)(const struct mmt_study_options *options, mmt_error *err);
};

extern const struct mmt_study mmt_study_ladder, mmt_study_addition, mmt_study_cards,
    mmt_study_longvector, mmt_study_pyramid, mmt_study_cg, mmt_study_crossover;

/* Does what a command line says, whose first word is `study` or the program; returns the
 * exit status. */
int mmt_study_start(int argc, char **argv);

/* A device as studies need it. */
struct mmt_study_device {
    mmt_device *device;
    mmt_device_facts facts;
    mmt_profile *profile;   /* NULL: it was not tuned, and the defaults serve */
    struct mmt_known known; /* by the profile */
};

/* Opens all that --device names, and says which, how fine their clocks are, and where
 * copies stay within one memory; refuses one that executes nothing. What
 * was opened is closed by mmt_study_close, also after an error. */
mmt_status mmt_study_open(const struct mmt_study_options *options,
                          struct mmt_study_device devices[MMT_STUDY_DEVICES],
                          mmt_error *err);
void mmt_study_close(struct mmt_study_device devices[MMT_STUDY_DEVICES]);

/* Refuses what needs more memory than the host has free or the device has at all. A
 * device that is the host's own CPU takes its bytes from the same memory. */
mmt_status mmt_study_fits(const struct mmt_study_device *device, const char *what,
                          double host_bytes, double device_bytes, mmt_error *err);

/* The types to do, bits 1 << mmt_type: those of --type, or else `usual`. */
unsigned mmt_study_types(const struct mmt_study_options *options, unsigned usual);

/* Prints a table (or its JSON) and saves it under the study's folder. */
mmt_status mmt_study_show(const struct mmt_study_options *options,
                          const struct mmt_table *table, const char *name,
                          mmt_error *err);

/* Curves of one column over another, one for each combination of words in the columns
 * `by` (-1: none). Rows where x or y is empty or, on a logarithmic axis, not above 0 are
 * left out. Axes are named after the columns. */
struct mmt_plot {
    const char *title;
    int x, y, by[2];
    bool log_x, log_y;
    int printed; /* column of what a paper has of y, drawn as hollow marks; 0: none */
    const char *x_name;       /* of the axis; NULL: the column's */
    const char *printed_name; /* of the hollow marks; NULL: as printed in the paper */
};

/* Whether there is a point to draw. */
bool mmt_plot_any(const struct mmt_table *table, const struct mmt_plot *plot);

/* Writes FOLDER/NAME.gp, a gnuplot script with the table's data in it, and has gnuplot
 * draw FOLDER/NAME.svg; nothing where there is no point. Where gnuplot is not installed
 * the script alone is written, and a line on stderr says so. */
mmt_status mmt_plot_save(const struct mmt_table *table, const struct mmt_plot *plot,
                         const char *folder, const char *name, mmt_error *err);

/* Draws curves into the study's folder and says where. */
mmt_status mmt_study_draw(const struct mmt_study_options *options,
                          const struct mmt_table *table, const struct mmt_plot *plot,
                          const char *name, mmt_error *err);

/* A line for people on what is being done; nothing with --json. */
__attribute__((format(printf, 2, 3))) void mmt_study_say(
    const struct mmt_study_options *options, const char *format, ...);

/* Whether a printed figure belongs to what a study shows; `self` is the study's own. */
typedef bool mmt_paper_concern(const struct mmt_paper_row *row, const void *self);

/* Says which of those figures are in doubt, how much, and why; nothing with --json. */
void mmt_study_say_doubts(const struct mmt_study_options *options,
                          mmt_paper_concern *concerns, const void *self);

/* When the time of a whole study that starts now is over, by mmt_study_now; INFINITY
 * where
 * --seconds sets no limit. */
double mmt_study_until(const struct mmt_study_options *options);

/* From which of the ascending places on the first stays below the second, straight lines
 * between them on logarithmic axes; 0 where it always does, NAN where it does not in the
 * end. */
double mmt_study_crossing(const double *at, const double *first, const double *second,
                          int count);

/* 0 ... count - 1 (at least 1) in an order whose beginnings are spread over all: the
 * last, the middle, those between, and so on. */
void mmt_study_spread(int count, int *order);

/* Whether Ctrl-C was pressed: the study ends, and what was measured is shown and saved.
 */
bool mmt_study_interrupted(void);

#endif
