/* One product of a program: by our plan, where a verdict is for it, else by the program's
 * own BLAS. */
#ifndef MMT_DROPIN_BLAS_MULTIPLY_H
#define MMT_DROPIN_BLAS_MULTIPLY_H

#include "dropin/blas/product.h"

/* The program's own function with the arguments that it was called with, the first member
 * of a struct that has them. */
struct mmt_original {
    void (*compute)(const struct mmt_original *original, void *c);
    const void *function; /* tells the library's file */
};

/* Whether a product goes straight on to the library, uncounted: one of fewer than
 * MMTUNE_BLAS_THRESHOLD multiplications (64^3 where that is not set), or one that the
 * library makes itself while it computes another. Takes some nanoseconds. */
bool mmt_blas_passes(int64_t m, int64_t n, int64_t k);

/* Computes a product and counts it. Thread-safe. The first one of a process begins the
 * keeper (dropin/calls.h); a child that was forked behind that passes all on. */
void mmt_blas_multiply(const struct mmt_product *product,
                       const struct mmt_original *original);

/* Computes by the library, whose own products then pass. */
void mmt_blas_pass(const struct mmt_original *original, void *c);

/* Computes C by `run` and, in memory of its own, by the library, compares some elements,
 * and says on standard error how far they differ, measured by what rounding allows two
 * right answers. False where `run` could not compute. */
struct mmt_checking {
    const struct mmt_product *product;
    const struct mmt_call *call;
    const struct mmt_original *original;
    bool (*run)(void *context, const struct mmt_product *product);
    void *context;
};
bool mmt_blas_check_product(const struct mmt_checking *checking);

#endif
