/* The answer that a kernel must give, computed on the host, and how far it may be off.
 *
 *   f64        summed in long double
 *   i32, i8    exactly, mod 2^32; alpha and beta are whole numbers
 *   others     summed in f64, of tf32 the factors rounded to the nearest
 *
 * The bound is that of any order of summation, with and without fused multiply-add:
 *
 *   |X - Xref| <= 2 |alpha| g(k+2) (|A| |B|) + 2 u |beta C| + 2 u |bias| =: e
 *   |C - Cref| <= s e + (32 + 4 |x|) u |Cref| where there is an activation, of which x is
 *                 the exponent of e^x, then v |Cref| + v e
 *
 * with g(n) = n u / (1 - n u), u the unit roundoff of the type that is added up in, v
 * that of C's type and s the steepest slope of the activation. No kernel adds up more
 * than 2^16 numbers one by one, so n stops there. Two types add to g:
 *
 *   tf32   some 2^-10 of a product for each factor that lies in the middle between two
 *          numbers of tf32, as kernels may round that either way
 *   f8     at most 2^-8, min((k / 32 + 2) 2^-11, 2^-8): matrix units align the 32
 * products of a step and their sum to 13 bits or so (docs/lab/measuring.md)
 *
 * Steps and sweeps on grids have one right answer, to the last bit. */
#ifndef MMT_TUNER_VERIFY_ORACLE_H
#define MMT_TUNER_VERIFY_ORACLE_H

#include "base/problem.h"
#include "tuner/verify/number.h"

/* Operands in host memory, laid out as the problem says; C as it was before. */
struct mmt_oracle {
    const mmt_problem *problem; /* normalised */
    double alpha, beta;
    const void *a, *b,
        *c;           /* a and b may be NULL where k or alpha is 0, c where beta is */
    const void *bias; /* may be NULL where the problem has none */
    int64_t period;   /* after so many elements a and b begin anew, of which they hold no
                       * more then; 0: they do not. For ops that sum up */
    bool exact; /* every value before the activation is exact, as of small whole numbers:
                 * without a smooth one there is one right element, and the bound is 0 */
};

struct mmt_answer {
    long double value; /* before it is rounded to C's type; of i32: in its range */
    long double bound; /* of i32: 0 */
};

/* Entry (i, j) of a batch's C as it is stored: of jacobi3d, i counts all rows. One that
 * the op leaves alone stays what it was; C then may not be NULL. */
struct mmt_answer mmt_oracle_entry(const struct mmt_oracle *oracle, int64_t batch,
                                   int64_t i, int64_t j);

/* The same for ops that sum nothing up: arrays and grids (oracle_grids.c). */
struct mmt_answer mmt_oracle_grid_entry(const struct mmt_oracle *oracle, int64_t batch,
                                        int64_t i, int64_t j);

/* All entries of a product whose elements are whole numbers so small that its sums are
 * exact (of i32 and i8 any), batch by batch and row by row, to out. alpha is not 0. Much
 * faster than entry by entry. */
mmt_status mmt_oracle_whole(const struct mmt_oracle *oracle, struct mmt_answer *out,
                            mmt_error *err);

/* Whether an element of C in host memory agrees with the answer: where that is NaN or
 * infinite the element must be, else it is within the bound; with an infinite bound
 * anything is right. `out` is C's type. */
bool mmt_oracle_agrees(mmt_type out, const void *element, struct mmt_answer answer);

/* Sums of whole numbers below that are exact in the type, whatever their order; of whole
 * types all are. */
double mmt_oracle_exact_below(mmt_type type);

/* A matrix of whole numbers in host memory, as it is stored. Where its elements begin
 * anew after a period, `data` are one period and MMT_MATRIX_PART elements more. */
enum { MMT_MATRIX_PART = 512 };
struct mmt_matrix {
    mmt_type type;
    const void *data;
    int64_t rows, columns, ld;
    int64_t first;  /* which of the elements is the matrix's first */
    int64_t period; /* in elements; 0: they do not */
};

/* Multiplies it by x, mod 2^64 (Freivalds' check: a random sum over each row of a product
 * must be what its factors give): out[i] = sum over j of C(i, j) x[j], or transposed,
 * out[j] = sum over i of C(i, j) x[i]. Returns false, and the place in *row and *column,
 * where an element is no whole number or, in f32 and f64, is beyond the limit (at most
 * 2^31 - 1 in f32, 2^53 in f64) in size. */
bool mmt_oracle_multiply(const struct mmt_matrix *c, bool transposed, const uint64_t *x,
                         double limit, uint64_t *out, int64_t *row, int64_t *column);

#endif
