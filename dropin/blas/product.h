/* Products as BLAS spells them: sgemm and dgemm of Fortran and CBLAS, read and checked.
 */
#ifndef MMT_DROPIN_BLAS_PRODUCT_H
#define MMT_DROPIN_BLAS_PRODUCT_H

#include "base/call.h"

/* C = alpha op(A) op(B) + beta C in host memory, row-major; f32 or f64. */
struct mmt_product {
    mmt_type type;
    bool trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
    const void *a, *b;
    void *c;
};

/* CBLAS's values. */
enum {
    MMT_CBLAS_ROW_MAJOR = 101,
    MMT_CBLAS_COLUMN_MAJOR = 102,
    MMT_CBLAS_AS_STORED = 111,
    MMT_CBLAS_TRANSPOSED = 112,
    MMT_CBLAS_CONJUGATED = 113, /* of real numbers: transposed */
};

/* 'N', 'T' or 'C', large or small, as CBLAS's value; 0: another letter, which BLAS
 * refuses. */
int mmt_product_transpose(char letter);

/* Fills in a product from arguments as cblas_sgemm has them, and makes it row-major: of
 * column-major ones A and B change places, as do m and n. False where BLAS would refuse
 * the call, or it has nothing to multiply (alpha or a size is 0). Type, alpha, beta, a, b
 * and c are the caller's to have filled in. */
bool mmt_product_read(struct mmt_product *product, int layout, int trans_a, int trans_b,
                      int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                      int64_t ldc);

/* The call that a product is. False where it is larger than kernels count. */
bool mmt_product_call(const struct mmt_product *product, struct mmt_call *call);

#endif
