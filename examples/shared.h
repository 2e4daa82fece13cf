/* What the example programs share: how they read their arguments, and how they say which
 * kernel a plan runs. */
#ifndef EXAMPLES_SHARED_H
#define EXAMPLES_SHARED_H

#include <errno.h>
#include <mmtune/mmtune.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a program ends beside 0 and 1: the device is not there; the arguments are wrong. */
enum { SKIP = 77, USAGE = 2 };

/* A whole number, and what may stand for it where an argument is missing. */
struct argument {
    const char *name, *unit;
    int64_t least, most, usual;
};

/* Argument number `at` of the program. What is no number from least to most ends the
 * program with USAGE, in words. */
static inline int64_t read_argument(int argc, char **argv, int at,
                                    const struct argument *wanted)
{
    char *end;
    if (argc <= at)
        return wanted->usual;
    errno = 0;
    long long value = strtoll(argv[at], &end, 10);
    if (end != argv[at] && !*end && !errno && value >= wanted->least &&
        value <= wanted->most)
        return value;
    fprintf(stderr, "%s is '%s'; it must be a whole number from %lld to %lld, in %s\n",
            wanted->name, argv[at], (long long) wanted->least, (long long) wanted->most,
            wanted->unit);
    exit(USAGE);
}

/* Ends the program with USAGE where there are more than `most` arguments. */
static inline void limit_arguments(int argc, char **argv, int most)
{
    if (argc - 1 <= most)
        return;
    fprintf(stderr, "'%s' is one argument too many; there may be %d\n", argv[most + 1],
            most);
    exit(USAGE);
}

static inline void print_plan(const mmt_plan *plan)
{
    char text[1024];
    mmt_plan_describe(plan, text, sizeof text);
    printf("%s\n", text);
}

/* Says what failed on stderr; what the program ends with. */
static inline int report_failure(const mmt_error *err)
{
    fprintf(stderr, "%s: %s\n", mmt_status_name(err->status), err->text);
    return err->status == MMT_ERROR_NOT_FOUND ? SKIP : EXIT_FAILURE;
}

#endif
