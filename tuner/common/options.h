/* The program `mmtune`: a table of verbs, and what they share beside the command line
 * (command.h). A client of the runtime. */
#ifndef MMT_TUNER_COMMON_OPTIONS_H
#define MMT_TUNER_COMMON_OPTIONS_H

#include "runtime/runtime.h"
#include "tuner/common/command.h"

/* ---- verbs ----------------------------------------------------------------------- */

/* A verb gets its own words alone: argv[0] is its name. Returns the exit status. */
int mmt_verb_tune(int argc, char **argv);
int mmt_verb_compile(int argc, char **argv);
int mmt_verb_devices(int argc, char **argv);
int mmt_verb_suites(int argc, char **argv);
int mmt_verb_templates(int argc, char **argv);
int mmt_verb_emit(int argc, char **argv);
int mmt_verb_verify(int argc, char **argv);
int mmt_verb_regret(int argc, char **argv);
int mmt_verb_show(int argc, char **argv);
int mmt_verb_profiles(int argc, char **argv);
int mmt_verb_share(int argc, char **argv);
int mmt_verb_report(int argc, char **argv);
int mmt_verb_diff(int argc, char **argv);
int mmt_verb_merge(int argc, char **argv);
int mmt_verb_bundle(int argc, char **argv);
int mmt_verb_bench(int argc, char **argv);
int mmt_verb_study(int argc, char **argv);
int mmt_verb_recorded(int argc, char **argv);
int mmt_verb_run(int argc, char **argv);

/* The hidden verb of a worker process, `mmtune --worker compile cuda:0` (worker.h). */
int mmt_verb_worker(int argc, char **argv);

/* The hidden verb of a process that holds OpenBLAS (openblas_child.h). */
int mmt_verb_openblas(int argc, char **argv);

/* The same of one that holds a program's BLAS (blas_child.h). */
int mmt_verb_blas(int argc, char **argv);

/* ---- options --------------------------------------------------------------------- */

/* Reads a list into bool[], by a word's place in the option's words. */
mmt_reader mmt_option_read_picks;

/* Reads the name of a template, or of one space of it, as the table has it. */
mmt_reader mmt_option_read_template;

/* Where a value stands among the words of a closed set. */
mmt_status mmt_option_choice(const struct mmt_take *take, const char *value, int *out,
                             mmt_error *err);

/* What --out, --bias, --activation and --batch-by ask for, by their last word. Starts as
 * MMT_EPILOGUE_NONE. */
struct mmt_epilogue {
    int out; /* an mmt_type; -1: the type's own */
    mmt_bias bias;
    mmt_activation activation;
    mmt_batch_by batch_by;
};
#define MMT_EPILOGUE_NONE                                                                \
    {                                                                                    \
        .out = -1                                                                        \
    }
void mmt_epilogue_apply(const struct mmt_epilogue *epilogue, mmt_problem *problem);

enum { MMT_NN = 1 << 0, MMT_NT = 1 << 1, MMT_TN = 1 << 2, MMT_TT = 1 << 3 };
mmt_status mmt_option_transposes(const char *list, unsigned *transposes, mmt_error *err);

/* Makes leading dimensions odd, with matrices of a batch behind each other; the
 * transposes are known, and the problem is normalised later. */
void mmt_ld_padding_apply(mmt_problem *problem);

/* The dimensions that the op has, "4096x4096x4096", or with a batch, "256x256x256x64"; a
 * single number for one array, or one dot product. The others are 1. */
struct mmt_shape {
    int64_t m, n, k, batch;
    bool f32_out; /* C is of f32 where the type leaves a choice, as gradients are */
    int64_t m_to; /* of mmt_option_range: the greatest m; 0: m is the only one */
};
mmt_status mmt_option_shape(const char *string, mmt_op op, struct mmt_shape *out,
                            mmt_error *err);

/* The same, or a range of a product's m, "1-8192x14336x4096". */
mmt_status mmt_option_range(const char *string, mmt_op op, struct mmt_shape *out,
                            mmt_error *err);

/* A problem of that shape, of which each of a batch has operands of its own. An epilogue
 * and transposes are left to the caller, who normalises it. */
mmt_problem mmt_shape_problem(mmt_op op, mmt_type type, const struct mmt_shape *shape);

/* "20ms", "90s", "5m", "1h" are times, "200c" counts candidates; a plain number could be
 * either, and is refused. */
struct mmt_budget {
    double seconds;     /* 0: not limited by time */
    int64_t candidates; /* 0: not limited by number */
};

/* A part of a list: "2/8". */
struct mmt_shard {
    int number, count; /* 1 to count; 0: there is one shard, which has all */
};

/* ---- words for people ------------------------------------------------------------ */

/* Adds words from a column on, in lines of at most `width` columns, and ends the line.
 * `at`: where the line is now. A word that is longer has a line of its own. */
void mmt_print_wrapped(const char *words, int column, int at, int width,
                       struct mmt_text *text);

/* "12.3 us", "4.56 ms", "7.8 s". */
const char *mmt_print_seconds(double seconds, char buffer[32]);

/* "12.3 GFLOP/s", "45.6 TFLOP/s"; "OP/s" for whole numbers. */
const char *mmt_print_rate(double per_second, mmt_type type, char buffer[32]);

/* What a problem that takes so long is said to run at: the rate of a product, or the GB/s
 * of what memory bounds. */
const char *mmt_print_speed(const mmt_problem *problem, double seconds, char buffer[32]);

#endif
