/* Problems with exact answers: operands of whole numbers in guarded device memory. */
#ifndef MMT_TESTS_EXACT_H
#define MMT_TESTS_EXACT_H

#include "base/problem.h"

/* A matrix, or a batch of them, on the host and on the device. Whatever stands round and
 * between its elements is poison: NaN, or for integers a pattern. */
struct exact_matrix {
    int64_t rows, columns; /* as stored */
    mmt_type type;
    int64_t ld, stride, batch;
    size_t start;        /* elements of poison before the first element */
    size_t length;       /* elements, poison included */
    uint64_t *values;    /* of each element, mod 2^64; any value for poison */
    bool *inside;        /* whether it is an element rather than poison */
    mmt_operand buffer;  /* the whole memory */
    mmt_operand operand; /* the first element, or of a batch by pointers an array of them,
                          * the last first; 0 where the matrix is absent */
    mmt_operand pointers; /* the array */
};

/* Everything about an execution that its plan does not know. */
struct exact_call {
    int alpha, beta;
    bool scalars; /* alpha and beta stand in device memory */
    int offset;   /* of every operand from an aligned place, in elements */
    int guard;    /* poison before and after each matrix, in elements; 0 where something
                   * else watches the bounds of buffers. A multiple of 64 */
};

struct exact {
    mmt_device *device;
    mmt_problem problem;
    struct exact_call call;
    struct exact_matrix a, b, c, bias, scalars;
};

/* Makes the operands of one execution of a normalised problem. Where C is not read, its
 * elements are poison, as are those that the op leaves alone; where A or B is not, it is
 * absent.
 * `data` is to be freed also on failure. */
mmt_status exact_create(struct exact *data, mmt_device *device,
                        const mmt_problem *problem, const struct exact_call *call,
                        mmt_error *err);
void exact_free(struct exact *data);

/* What the execution is to be called with, but for a workspace; alpha and beta are NaN
 * where they stand in device memory. */
mmt_args exact_args(const struct exact *data);

/* Executes, with a workspace of the plan's, and waits. */
mmt_status exact_execute(const struct exact *data, const mmt_plan *plan, mmt_error *err);

/* Reads C and compares all of it: elements with the exact answer, the rest with what
 * stood there. False with a sentence that names the first difference, or the error. */
bool exact_check(const struct exact *data, char *why, size_t size);

/* All of that. */
bool exact_run(mmt_device *device, const mmt_plan *plan, const mmt_problem *problem,
               const struct exact_call *call, char *why, size_t size);

#endif
