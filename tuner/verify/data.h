/* Input data as a function of their place: element i of a stream is the same whoever
 * asks, in whatever order and amount. */
#ifndef MMT_TUNER_VERIFY_DATA_H
#define MMT_TUNER_VERIFY_DATA_H

#include "base/problem.h"
#include "tuner/verify/number.h"

/* 64 random bits for a place in a stream. */
uint64_t mmt_data_noise(uint64_t seed, uint64_t index);

struct mmt_data {
    mmt_type type;
    uint64_t seed;
    int whole;    /* whole numbers from -whole to whole; 0: uniform in [-1, 1), rounded to
                   * the type as the hardware rounds; for i32 and i8 all bits at random */
    double zeros; /* this part of the whole numbers is 0 beside those that are anyway */
};

/* After so many elements a stream begins anew: a prime number, so that no two rows or
 * columns of a matrix are the same, and large matrices are copied, not computed. */
enum { MMT_DATA_PERIOD = 1000003 };

/* Elements first … first + count - 1 of the stream. */
void mmt_data_fill(const struct mmt_data *data, uint64_t first, void *elements,
                   size_t count);

#endif
