/* Hands sources that nobody meant to a reader: so many mutations of a corpus.
 *
 *     PROGRAM [--rounds N] [--seed N] ...     2000 */
#ifndef MMT_TESTS_FUZZ_H
#define MMT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>

enum { FUZZ_MAX_INPUT = 1 << 16 };

struct fuzz_input {
    size_t size;
    char *bytes; /* malloc'ed, room for FUZZ_MAX_INPUT */
};

struct fuzz_input fuzz_text(const char *text);
struct fuzz_input fuzz_file(const char *path);

struct fuzz_options {
    unsigned long rounds; /* of a text of usual length; others have more or fewer */
    unsigned long long seed;
    int first; /* of argv, behind the options */
};

struct fuzz_options fuzz_options(int argc, char **argv);

/* `accepts` says whether it took a text, and ends the program where it did wrong. False
 * where too few sources were taken to tell anything, or one took seconds of a processor.
 */
bool fuzz(const char *what, const struct fuzz_input *corpus, size_t count,
          bool (*accepts)(const char *text, size_t size), unsigned long rounds,
          unsigned long long seed);

/* Ends the program: a text showed a fault. */
_Noreturn void fuzz_fail(const char *what, const char *text);

#endif
