/* The answer that a kernel must give, computed on the host, and how far it may be off.
 *
 *   f32   summed in f64
 *   f64   summed in long double
 *   i32   exactly, mod 2^32; alpha and beta are whole numbers
 *
 * The bound is that of any order of summation, with and without fused multiply-add:
 *
 *   |C - Cref| <= 2 |alpha| g(k+2) (|A| |B|) + 2 u |beta C| + u |Cref|
 *
 * with g(n) = n u / (1 - n u) and u the unit roundoff of the type. */
#ifndef MMT_TUNER_ORACLE_H
#define MMT_TUNER_ORACLE_H

#include "base/problem.h"

/* Operands in host memory, laid out as the problem says; C as it was before. */
struct mmt_oracle {
    const mmt_problem *problem; /* normalised */
    double alpha, beta;
    const void *a, *b,
        *c; /* a and b may be NULL where k or alpha is 0, c where beta is */
};

struct mmt_answer {
    long double value; /* i32: in the range of int32_t */
    long double bound; /* i32: 0 */
};

/* Entry (i, j) of a batch's matrix. */
struct mmt_answer mmt_oracle_entry(const struct mmt_oracle *oracle, int64_t batch,
                                   int64_t i, int64_t j);

/* Whether an element in host memory agrees with the answer; a NaN never does. */
bool mmt_oracle_agrees(mmt_type type, const void *element, struct mmt_answer answer);

/* An element in host memory as a number. */
long double mmt_oracle_number(mmt_type type, const void *element);

/* Unit roundoff: 2^-24, 2^-53; 0 for whole numbers. */
long double mmt_oracle_roundoff(mmt_type type);

/* A matrix of whole numbers in host memory, as it is stored. */
struct mmt_matrix {
    mmt_type type;
    const void *data;
    int64_t rows, columns, ld;
};

/* Multiplies it by x, mod 2^64 (Freivalds' check: a random sum over each row of a product
 * must be what its factors give): out[i] = sum over j of C(i, j) x[j], or transposed,
 * out[j] = sum over i of C(i, j) x[i]. Returns false, and the place in *row and *column,
 * where an element is no whole number or, in f32 and f64, is beyond the limit (at most
 * 2^31 - 1 in f32, 2^53 in f64) in size. */
bool mmt_oracle_multiply(const struct mmt_matrix *c, bool transposed, const uint64_t *x,
                         double limit, uint64_t *out, int64_t *row, int64_t *column);

#endif
