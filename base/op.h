/* Operations: a table of what each of them makes of a problem's fields. What they compute
 * is said in mmtune/mmtune.h. */
#ifndef MMT_BASE_OP_H
#define MMT_BASE_OP_H

#include "base/error.h"
#include "base/type.h"

enum { MMT_NUM_OPS = MMT_SYRK + 1 };

enum mmt_which { MMT_OPERAND_A, MMT_OPERAND_B, MMT_OPERAND_C };

/* An operand as it is stored: rows of `cols` elements each. 0 x 0 where the op has no
 * such operand. */
struct mmt_stored {
    int64_t rows, cols;
};

/* When an execution reads A or B: where a scalar of 0 spares it, it may be absent. */
enum mmt_reads { MMT_NEVER, MMT_ALWAYS, MMT_UNLESS_ALPHA_0, MMT_UNLESS_BETA_0 };

struct mmt_op_row {
    const char *name;       /* "axpby" */
    const char *what;       /* "C = alpha A + beta B" */
    const char *dimensions; /* "mn": those of m, n, k that it has, as they are spelled */
    const char *example;    /* of a shape */
    unsigned types;
    enum mmt_reads reads[2]; /* A and B */
    bool sums;       /* over k, times alpha: where either is 0, A and B are idle */
    bool transposes; /* of A and B; bias and activation, too */
    bool product;    /* of matrices, which arithmetic bounds: of the others memory does */
    bool lower;      /* of C, n x n, what is above the diagonal is left alone */
    int least;       /* in each dimension: a grid has an inside */
    double beta;     /* of a plain execution, with alpha = 1 */
    void (*stored)(const mmt_problem *problem, struct mmt_stored out[3]);
    double (*flops)(double m, double n, double k); /* of one of the batch */
};

const struct mmt_op_row *mmt_op_row(mmt_op op);

/* One operand as it is stored. */
struct mmt_stored mmt_op_stored(const mmt_problem *problem, enum mmt_which operand);

/* How many entries of a row of C as it is stored an execution computes, from the first
 * on: the others are neither read nor written. */
int64_t mmt_op_computed(const mmt_problem *problem, int64_t row);

/* By name, or -1. */
int mmt_op_parse(const char *name);

/* Adds "gemm, axpby, …": all of them. */
void mmt_op_list(struct mmt_text *text);

/* m, n or k by its letter. */
int64_t *mmt_op_dimension(mmt_problem *problem, char letter);

/* Adds "512x3000x1536": the dimensions that the op has. */
void mmt_op_print_shape(const mmt_problem *problem, struct mmt_text *text);

/* "MxNxK", how a shape of it is spelled. */
const char *mmt_op_form(mmt_op op, char buffer[8]);

/* A problem of about that size: what the op does not have is 1, and what is too small for
 * it, but not 0, as small as can be. */
mmt_problem mmt_op_problem(mmt_op op, mmt_type type, int64_t m, int64_t n, int64_t k);

/* Refuses what the op does not do: a type, transposes, a dimension or an operand's layout
 * that it does not have, a grid without an inside. Sets dimensions that it does not have
 * to 1. */
mmt_status mmt_op_resolve(mmt_problem *problem, mmt_error *err);

/* Whether an execution with these scalars reads A or B; with `unknown` ones, it may. */
bool mmt_op_needs(const mmt_problem *problem, enum mmt_which operand, double alpha,
                  double beta, bool unknown);

#endif
