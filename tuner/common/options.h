/* The program `mmtune`: a table of verbs, and what they share. A client of the runtime.
 */
#ifndef MMT_TUNER_COMMON_OPTIONS_H
#define MMT_TUNER_COMMON_OPTIONS_H

#include <getopt.h>

#include "runtime/runtime.h"

/* ---- verbs ----------------------------------------------------------------------- */

enum {
    MMT_EXIT_DONE = 0,
    MMT_EXIT_FAILED = 1,
    MMT_EXIT_USAGE = 2,
    MMT_EXIT_INTERRUPTED = 130,
};

/* A verb gets its own words alone: argv[0] is its name. Returns the exit status. */
int mmt_verb_tune(int argc, char **argv);
int mmt_verb_devices(int argc, char **argv);
int mmt_verb_suites(int argc, char **argv);
int mmt_verb_templates(int argc, char **argv);
int mmt_verb_emit(int argc, char **argv);
int mmt_verb_verify(int argc, char **argv);
int mmt_verb_regret(int argc, char **argv);
int mmt_verb_show(int argc, char **argv);
int mmt_verb_diff(int argc, char **argv);
int mmt_verb_merge(int argc, char **argv);
int mmt_verb_bench(int argc, char **argv);
int mmt_verb_study(int argc, char **argv);

/* From then on SIGINT and SIGTERM end the program at once, with MMT_EXIT_INTERRUPTED and
 * a line on stderr: "mmtune VERB: interrupted; SAVED". */
void mmt_answer_interrupts(const char *verb, const char *saved);

/* The same line, for a verb that ends by itself; returns MMT_EXIT_INTERRUPTED. */
int mmt_say_interrupted(const char *verb, const char *saved);

/* From then on the first SIGINT or SIGTERM
 * sets the number: the verb says what it has so far and returns MMT_EXIT_INTERRUPTED. The
 * second ends the program. */
extern volatile int mmt_interrupted;
void mmt_hear_interrupts(void);

/* The hidden verb of a worker process, `mmtune --worker compile cuda:0` (worker.h). */
int mmt_verb_worker(int argc, char **argv);

/* The hidden verb of a process that holds OpenBLAS (openblas_child.h). */
int mmt_verb_openblas(int argc, char **argv);

/* ---- options --------------------------------------------------------------------- */

/* The next option of a verb, by the table that ends with {0}; -1 after the last. Single
 * letters are those options whose `val` is a letter. What is unknown, lacks its value or
 * has one too many is said on stderr, and '?' is returned: the verb ends with
 * MMT_EXIT_USAGE. Words that are no options stay at argv[optind …] after the end. */
int mmt_option_next(int argc, char **argv, const struct option *options);

/* Says "mmtune VERB: …" on stderr and how to get help; returns MMT_EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int mmt_wrong_usage(const char *verb,
                                                          const char *format, ...);

/* Says the error on stderr; returns MMT_EXIT_FAILED. */
int mmt_failed(const char *verb, const mmt_error *err);

/* The same, but MMT_EXIT_USAGE for a value that can never be right. */
int mmt_failed_or_usage(const char *verb, const mmt_error *err);

/* Each refuses with the value and what would be right. Lists are separated by commas.
 * Types and transposes may be spelled as other programs do: fp16, half, double, NT. */
mmt_status mmt_option_types(const char *list, bool types[MMT_NUM_TYPES], mmt_error *err);
mmt_status mmt_option_type(const char *name, mmt_type *out, mmt_error *err);

/* What --out, --bias and --activation ask for, by their last word. Starts as
 * MMT_EPILOGUE_NONE. */
struct mmt_epilogue {
    int out; /* an mmt_type; -1: the type's own */
    mmt_bias bias;
    mmt_activation activation;
};
#define MMT_EPILOGUE_NONE                                                                \
    {                                                                                    \
        .out = -1                                                                        \
    }
mmt_status mmt_option_epilogue(const char *option, const char *value,
                               struct mmt_epilogue *out, mmt_error *err);
void mmt_epilogue_apply(const struct mmt_epilogue *epilogue, mmt_problem *problem);

enum { MMT_NN = 1 << 0, MMT_NT = 1 << 1, MMT_TN = 1 << 2, MMT_TT = 1 << 3 };
mmt_status mmt_option_transposes(const char *list, unsigned *transposes, mmt_error *err);

/* Leading dimensions of products: ld_padding[0] without padding ("packed"), ld_padding[1]
 * odd ones that leave no row but the first aligned. */
mmt_status mmt_option_ld_padding(const char *list, bool ld_padding[2], mmt_error *err);

/* Makes them odd, with matrices of a batch behind each other; the transposes are known,
 * and the problem is normalised later. */
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

/* Adds the shapes of a list, as they are spelled: an operation decides what they mean. A
 * piece
 * @FILE stands for the lines of a file, of which '#' begins a comment. */
struct mmt_words {
    char **each;
    int count;
};
mmt_status mmt_option_shapes(const char *list, struct mmt_words *shapes, mmt_error *err);
void mmt_words_finish(struct mmt_words *words);

/* A problem of that shape, of which each of a batch has operands of its own. An epilogue
 * and transposes are left to the caller, who normalises it. */
mmt_problem mmt_shape_problem(mmt_op op, mmt_type type, const struct mmt_shape *shape);

/* "axpby". */
mmt_status mmt_option_op(const char *name, mmt_op *out, mmt_error *err);

/* A whole number between two limits. */
mmt_status mmt_option_number(const char *name, const char *string, int64_t least,
                             int64_t most, int64_t *out, mmt_error *err);

/* Calls `take` with each piece of a list, and stops at what it refuses. */
mmt_status mmt_option_each(const char *list, void *self,
                           mmt_status (*take)(void *self, const char *piece,
                                              mmt_error *err),
                           mmt_error *err);

/* "90s", "5m", "1h" are times, "200c" counts candidates; a plain number could be either,
 * and is refused. */
struct mmt_budget {
    double seconds;     /* 0: not limited by time */
    int64_t candidates; /* 0: not limited by number */
};
mmt_status mmt_option_budget(const char *string, struct mmt_budget *out, mmt_error *err);

/* ---- words for people ------------------------------------------------------------ */

/* "12.3 us", "4.56 ms", "7.8 s". */
const char *mmt_print_seconds(double seconds, char buffer[32]);

/* "12.3 GFLOP/s", "45.6 TFLOP/s"; "OP/s" for whole numbers. */
const char *mmt_print_rate(double per_second, mmt_type type, char buffer[32]);

/* What a problem that takes so long is said to run at: the rate of a product, or the GB/s
 * of what memory bounds. */
const char *mmt_print_speed(const mmt_problem *problem, double seconds, char buffer[32]);

#endif
