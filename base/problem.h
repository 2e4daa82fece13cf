/* Problems: checking, spelling, and counting what they cost. */
#ifndef MMT_BASE_PROBLEM_H
#define MMT_BASE_PROBLEM_H

#include "base/error.h"
#include "base/op.h"

/* The largest dimension: kernels count in 32 bits, and may count to the end of a tile or
 * of a block of k that begins inside the matrix. */
enum { MMT_MOST_DIMENSION = INT32_MAX - 65535 };

/* Checks a caller's problem and writes it with every default filled in (leading
 * dimensions, batch, strides), so that nobody behind this has to think of zeros. A
 * dimension or batch of 0 is right. Errors name the field, its value and what would be
 * right. */
mmt_status mmt_problem_normalise(const mmt_problem *in, mmt_problem *out, mmt_error *err);

/* A normalised product with another m, and no gaps in A and C: a leading dimension that
 * counts m is m, and so are strides made of it; one of 0 stays. */
mmt_problem mmt_problem_with_m(const mmt_problem *problem, int64_t m);

/* Adds "gemm f32 nn 4096x4096x4096", then " out=f32" where C is not of the type's own
 * output, " bias=row" and " activation=gelu" where there are any, " lda=… ldb=… ldc=…"
 * where they are not tight, " batch=…" (and strides where not tight). The problem is a
 * normalised one. */
void mmt_problem_print(const mmt_problem *problem, struct mmt_text *text);

/* Reads what mmt_problem_print wrote. */
mmt_status mmt_problem_parse(const char *string, mmt_problem *out, mmt_error *err);

/* A normalised batch whose matrices share B, and whose A and C follow each other without
 * gap, as the one product of all rows that it is; any other problem as it is. */
mmt_problem mmt_problem_fold(const mmt_problem *problem);

/* Whether two have the same op, type and transposes. */
bool mmt_same_kind(const mmt_problem *a, const mmt_problem *b);

/* Whether two normalised problems are the same in every field. */
bool mmt_problem_equal(const mmt_problem *a, const mmt_problem *b);

/* Multiplications and additions of one execution. A product has 2 m n k batch of them
 * (paper 000 counts 2 n^3 - n^2; the difference is beneath notice and the convention of
 * the field is kept); the other ops' counts stand in op.c. */
double mmt_problem_flops(const mmt_problem *problem);

/* Fewest bytes that one execution moves: each element of A, B and the bias read once,
 * also where rows or matrices of a batch share it, C written once (beta = 0). */
double mmt_problem_bytes(const mmt_problem *problem);

/* Elements from a matrix's first to one past its last, over the whole batch. */
int64_t mmt_problem_extent_a(const mmt_problem *problem);
int64_t mmt_problem_extent_b(const mmt_problem *problem);
int64_t mmt_problem_extent_c(const mmt_problem *problem);

#endif
