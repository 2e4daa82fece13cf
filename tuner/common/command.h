/* A command line: the options of all verbs, how they are read, and how a verb ends. What
 * `mmtune` and `mmtune-study` share: beside the public header this one needs none. */
#ifndef MMT_TUNER_COMMON_COMMAND_H
#define MMT_TUNER_COMMON_COMMAND_H

#include <getopt.h>
#include <stdbool.h>
#include <sys/types.h>

#include <mmtune/mmtune.h>

/* ---- how a verb ends ------------------------------------------------------------- */

enum {
    MMT_EXIT_DONE = 0,
    MMT_EXIT_FAILED = 1,
    MMT_EXIT_USAGE = 2,
    MMT_EXIT_INTERRUPTED = 130,
};

/* The status that the program ends with: what was printed into a full disk was not
 * printed. */
int mmt_exit_status(int status);

/* From then on SIGINT and SIGTERM end the program at once, with MMT_EXIT_INTERRUPTED and
 * a line on stderr: "mmtune VERB: interrupted; SAVED". A SIGINT that is ignored stays
 * so. */
void mmt_answer_interrupts(const char *verb, const char *saved);

/* The same line, for a verb that ends by itself; returns MMT_EXIT_INTERRUPTED. */
int mmt_say_interrupted(const char *verb, const char *saved);

/* From then on the first SIGINT or SIGTERM sets the number: the verb says what it has so
 * far and returns MMT_EXIT_INTERRUPTED. Where it has not ended after a second, or at the
 * second signal, the program ends at once, as above: no step has to look. */
extern volatile int mmt_interrupted;
void mmt_hear_interrupts(const char *verb, const char *saved);

/* What the program prints first where it ends at once; "": nothing. It stays the
 * caller's, unchanged, until another is given or mmt_say_interrupted is called. */
void mmt_interrupt_prints(const char *output);

/* A child that is killed where the program ends at once; 0: none. */
extern volatile pid_t mmt_interrupted_child;

/* ---- options --------------------------------------------------------------------- */

/* Every option of the program, in the order in which --help tells them: table.c has their
 * names, letters, values and help. */
enum mmt_option {
    MMT_OPTION_DEVICE,
    MMT_OPTION_FOR,
    MMT_OPTION_ARCH,
    MMT_OPTION_PROFILE,
    MMT_OPTION_FILE,
    MMT_OPTION_RUN,
    MMT_OPTION_SHARD,
    MMT_OPTION_RECORDED,
    MMT_OPTION_F32,
    MMT_OPTION_OP,
    MMT_OPTION_TYPE,
    MMT_OPTION_OUT,
    MMT_OPTION_BIAS,
    MMT_OPTION_ACTIVATION,
    MMT_OPTION_BATCH_BY,
    MMT_OPTION_SHAPE,
    MMT_OPTION_EXPLAIN,
    MMT_OPTION_SUITE,
    MMT_OPTION_SHAPES,
    MMT_OPTION_SIZES,
    MMT_OPTION_TRANSPOSES,
    MMT_OPTION_LD,
    MMT_OPTION_TEMPLATE,
    MMT_OPTION_CONFIGURATION,
    MMT_OPTION_SAMPLE,
    MMT_OPTION_DIALECT,
    MMT_OPTION_KIND,
    MMT_OPTION_UNALIGNED,
    MMT_OPTION_AGAINST,
    MMT_OPTION_CLBLAST_TUNED,
    MMT_OPTION_EFFORT,
    MMT_OPTION_SEARCH,
    MMT_OPTION_BUDGET,
    MMT_OPTION_REPETITIONS,
    MMT_OPTION_SECONDS,
    MMT_OPTION_CPU_SECONDS,
    MMT_OPTION_LIMIT,
    MMT_OPTION_MEMORY,
    MMT_OPTION_PAPER,
    MMT_OPTION_SEED,
    MMT_OPTION_CONDITION,
    MMT_OPTION_ALL_STEPS,
    MMT_OPTION_WITH,
    MMT_OPTION_FIT,
    MMT_OPTION_PRUNE,
    MMT_OPTION_WHY,
    MMT_OPTION_COMMON,
    MMT_OPTION_ALL,
    MMT_OPTION_RECORD,
    MMT_OPTION_CHECK,
    MMT_OPTION_VERBOSE,
    MMT_OPTION_NVTX,
    MMT_OPTION_WORKSPACE,
    MMT_OPTION_WAIT,
    MMT_OPTION_NO_AUDIT,
    MMT_OPTION_BLAS,
    MMT_OPTION_OUTPUT,
    MMT_OPTION_ARRAY,
    MMT_OPTION_CSV,
    MMT_OPTION_DATA,
    MMT_OPTION_HTML,
    MMT_OPTION_RESUME,
    MMT_OPTION_RACES,
    MMT_OPTION_FRESH,
    MMT_OPTION_JSON,
    MMT_OPTION_HELP,
    MMT_NUM_OPTIONS,
};

struct mmt_take;

/* Puts a value where `take` says. It is NULL for an option that takes none. Refuses with
 * the value and what would be right. */
typedef mmt_status mmt_reader(const struct mmt_take *take, const char *value,
                              mmt_error *err);

/* Takes one piece of a list. */
typedef mmt_status mmt_piece_taker(void *self, const char *piece, mmt_error *err);

/* One option as a verb takes it. Where a member is NULL, but for `out`, `given` and
 * `each`, the table's serves. */
struct mmt_take {
    enum mmt_option option;
    void *out;                /* where the value goes; readers.h has the types */
    bool *given;              /* becomes true where the option is given; or NULL */
    const char *value;        /* the word for the value, or its unit */
    const char *what;         /* help, in which {} stands for the words */
    const char *const *words; /* a closed set, that ends with NULL */
    mmt_reader *read;
    mmt_piece_taker *each; /* of a list, in place of `read`: gets `out` and a piece */
    int64_t least, most;   /* of a number; where both are 0, the table's serve */
    const char *name;      /* "--type"; always the table's */
};

/* A command line: a verb, or a study. */
struct mmt_command {
    const char *name;  /* "tune", "study ladder" */
    const char *about; /* help: usage, what it does, examples */
    const struct mmt_take *takes;
    size_t num_takes;
    int most_words; /* that are no options */
    bool leads;     /* the first of them leads a command of others: all behind it, too */
};

/* The members takes and num_takes of an array. */
#define MMT_TAKES(array) array, sizeof array / sizeof *array

/* Reads the options of a command, or prints its help. Returns -1 where the command goes
 * on, with the words that are no options at argv[optind …]; else the exit status. What is
 * unknown, lacks its value, has one too many or is refused is said on stderr. */
int mmt_command_read(const struct mmt_command *command, int argc, char **argv);

/* Says "mmtune VERB: …" on stderr and how to get help; returns MMT_EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int mmt_wrong_usage(const char *verb,
                                                          const char *format, ...);

/* Says the error on stderr; returns MMT_EXIT_FAILED. */
int mmt_failed(const char *verb, const mmt_error *err);

/* The same, but MMT_EXIT_USAGE for a value that can never be right. */
int mmt_failed_or_usage(const char *verb, const mmt_error *err);

/* Each refuses with the value and what would be right. */

/* Types may be spelled as other programs do: fp16, half, double. */
mmt_status mmt_option_type(const char *name, mmt_type *out, mmt_error *err);

/* Where a word stands among those of a closed set, which ends with NULL; else "there is
 * no KIND 'WORD'", and what there is. */
mmt_status mmt_option_find(const char *kind, const char *const words[], const char *word,
                           int *out, mmt_error *err);

/* A whole number between two limits; `name` is the option's. */
mmt_status mmt_option_number(const char *name, const char *string, int64_t least,
                             int64_t most, int64_t *out, mmt_error *err);

/* Calls `take` with each piece of a list, and stops at what it refuses. Pieces are
 * separated by commas; a piece @FILE stands for the lines of a file, which are lists
 * themselves, and of which '#' begins a comment. */
mmt_status mmt_option_each(const char *list, void *self, mmt_piece_taker *take,
                           mmt_error *err);

/* Pieces of lists, as they are spelled. Starts as {0}; the caller finishes it. */
struct mmt_words {
    char **each;
    int count;
};

/* Adds a piece to a struct mmt_words: for mmt_option_each. */
mmt_piece_taker mmt_words_take;
void mmt_words_finish(struct mmt_words *words);

#endif
