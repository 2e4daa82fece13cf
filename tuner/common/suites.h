/* Suites: named lists of shapes. */
#ifndef MMT_TUNER_COMMON_SUITES_H
#define MMT_TUNER_COMMON_SUITES_H

#include "tuner/common/options.h"

struct mmt_suite {
    const char *name;
    const char *what;
    const struct mmt_shape *shapes; /* the most telling first */
    int count;
};

/* NULL where there is none of that name; the error lists those there are. "default" is
 * not among them: it depends on the device. */
const struct mmt_suite *mmt_suite_find(const char *name, mmt_error *err);

/* The names of all suites, then "default". Ends with NULL. */
const char *const *mmt_suite_words(void);

enum { MMT_DEFAULT_SHAPES = 11 };

/* The shapes of the suite "default" on a device that computes so many FLOP/s: a square
 * that takes about five milliseconds comes first. */
void mmt_suite_default(double flops, struct mmt_shape out[MMT_DEFAULT_SHAPES]);

/* Shapes of another operation, the most telling first, of which every array takes less
 * than a thirty-second of the memory; returns how many. */
int mmt_suite_of_op(mmt_op op, size_t memory, struct mmt_shape out[MMT_DEFAULT_SHAPES]);

#endif
