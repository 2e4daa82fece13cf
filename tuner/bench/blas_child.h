/* A program's BLAS in a process of its own, `mmtune --blas-child FILE`: its threads may
 * spin when they are idle, which would slow down what is timed beside it, and two
 * libraries of one kind do not go together in a process. It has the environment of
 * `mmtune`, so that variables as OPENBLAS_NUM_THREADS mean what they mean to the program.
 *
 * Operands stand in memory that both processes map: each copy of A, B and C starts 16
 * bytes behind the beginning of a page, as malloc gives large blocks. */
#ifndef MMT_TUNER_BENCH_BLAS_CHILD_H
#define MMT_TUNER_BENCH_BLAS_CHILD_H

#include "base/problem.h"

/* Where the operands are; bytes. Filled in from the problem and the number of copies. */
struct mmt_blas_memory {
    size_t bytes[3], pitch[3]; /* of A, B and C: of a copy, from copy to copy */
    size_t first[3];           /* of the first copy */
    size_t size;
};
struct mmt_blas_memory mmt_blas_memory_of(const mmt_problem *problem, int64_t copies);

/* The start of one copy. */
static inline char *mmt_blas_operand(char *base, const struct mmt_blas_memory *memory,
                                     int which, int64_t copy)
{
    return base + memory->first[which] + (size_t) copy * memory->pitch[which];
}

/* `count` products, beginning with a copy; the first of several is not timed. */
struct mmt_blas_request {
    mmt_problem problem; /* normalised: f32 or f64, no batch */
    int64_t copies, copy, count;
    double beta;
};

/* One comes unasked when the library is loaded: `name` is mmt_blas_name's, `text` says
 * why another file than the one asked for was, or what failed. */
struct mmt_blas_reply {
    mmt_status status;
    double seconds; /* of all that were timed */
    char name[48], text[256];
};

#endif
