/* Reads and checks the arguments of sgemm and dgemm; what BLAS calls wrong is left to the
 * library. */
#include "dropin/blas/product.h"

#include <string.h>

#include "base/problem.h"

int mmt_product_transpose(char letter)
{
    switch (letter) {
    case 'N':
    case 'n':
        return MMT_CBLAS_AS_STORED;
    case 'T':
    case 't':
        return MMT_CBLAS_TRANSPOSED;
    case 'C':
    case 'c':
        return MMT_CBLAS_CONJUGATED;
    default:
        return 0;
    }
}

static bool is_transpose(int value)
{
    return value >= MMT_CBLAS_AS_STORED && value <= MMT_CBLAS_CONJUGATED;
}

static void swap_operands(struct mmt_product *it)
{
    const struct mmt_product was = *it;
    it->trans_a = was.trans_b;
    it->trans_b = was.trans_a;
    it->m = was.n;
    it->n = was.m;
    it->a = was.b;
    it->b = was.a;
    it->lda = was.ldb;
    it->ldb = was.lda;
}

/* Rows have what stands in them. */
static bool has_room(const struct mmt_product *it)
{
    return it->lda >= (it->trans_a ? it->m : it->k) &&
           it->ldb >= (it->trans_b ? it->k : it->n) && it->ldc >= it->n;
}

bool mmt_product_read(struct mmt_product *product, int layout, int trans_a, int trans_b,
                      int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                      int64_t ldc)
{
    if (layout != MMT_CBLAS_ROW_MAJOR && layout != MMT_CBLAS_COLUMN_MAJOR)
        return false;
    if (!is_transpose(trans_a) || !is_transpose(trans_b) || m < 1 || n < 1 || k < 1)
        return false;
    product->trans_a = trans_a != MMT_CBLAS_AS_STORED;
    product->trans_b = trans_b != MMT_CBLAS_AS_STORED;
    product->m = m;
    product->n = n;
    product->k = k;
    product->lda = lda;
    product->ldb = ldb;
    product->ldc = ldc;
    if (layout == MMT_CBLAS_COLUMN_MAJOR)
        swap_operands(product);
    return has_room(product) && product->alpha != 0 && product->a && product->b &&
           product->c;
}

bool mmt_product_call(const struct mmt_product *product, struct mmt_call *call)
{
    mmt_problem problem =
        mmt_gemm_problem(product->type, product->m, product->n, product->k);

    problem.trans_a = product->trans_a ? MMT_T : MMT_N;
    problem.trans_b = product->trans_b ? MMT_T : MMT_N;
    problem.lda = product->lda;
    problem.ldb = product->ldb;
    problem.ldc = product->ldc;
    memset(call, 0, sizeof *call);
    call->client = MMT_CLIENT_BLAS;
    call->adds = product->beta != 0;
    return !mmt_problem_normalise(&problem, &call->problem, NULL);
}
