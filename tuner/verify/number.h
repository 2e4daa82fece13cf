/* Numbers as they are stored. Independent of how the kernels convert them, which is on
 * trial. */
#ifndef MMT_TUNER_VERIFY_NUMBER_H
#define MMT_TUNER_VERIFY_NUMBER_H

#include <stdint.h>

#include "base/type.h"

/* An element in host memory as a number, exactly; tf32 with all bits that it has. */
long double mmt_number_read(mmt_type type, const void *element);

/* `count` elements that follow each other, aligned to their size; a double holds each
 * exactly. */
void mmt_number_read_all(mmt_type type, const void *elements, int64_t count, double *out);

/* Writes the nearest number of the type, ties to even; beyond the largest infinity, or,
 * where the type has none (f8e4m3), NaN. tf32 keeps 10 bits of its fraction. Whole types
 * take whole numbers within their range. */
void mmt_number_write(mmt_type type, double value, void *element);

/* The nearest number of the type. */
double mmt_number_round(mmt_type type, double value);

/* What each code of a type of at most 16 bits stands for; NULL for other types. Not
 * thread-safe when it is first called for a type. */
const float *mmt_number_table(mmt_type type);

/* Half the distance from 1 to the next number: rounding is off by at most that part of a
 * number, or by `mmt_number_tiny` where numbers have no leading 1, which is itself
 * no number of the type. 0 for whole types. */
double mmt_number_roundoff(mmt_type type);
long double mmt_number_tiny(mmt_type type);

/* All whole numbers up to that one are numbers of the type. */
double mmt_number_whole(mmt_type type);

#endif
