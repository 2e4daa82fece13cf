/* Ours beside the library's, for those who want to see it. */
#include "dropin/blas/multiply.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/problem.h"
#include "base/text.h"
#include "base/type.h"

/* Elements of C that are compared. */
enum { PLACES = 1000 };

static double read_at(const void *matrix, int64_t at, mmt_type type)
{
    return type == MMT_F32 ? (double) ((const float *) matrix)[at]
                           : ((const double *) matrix)[at];
}

/* The place number i of those that are compared, from the first to the last. */
static void place_of(const struct mmt_product *p, int i, int64_t *row, int64_t *column)
{
    const double last = (double) p->m * (double) p->n - 1;
    const int64_t at = (int64_t) (last / (PLACES - 1) * i);
    *row = at / p->n;
    *column = at % p->n;
}

/* What two right answers may differ by at most: each addition of either rounds once. */
static double bound(const struct mmt_product *p, int64_t row, int64_t column, double was)
{
    const double epsilon = p->type == MMT_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
    double sum = 0;

    for (int64_t i = 0; i < p->k; i++) {
        const int64_t a = p->trans_a ? i * p->lda + row : row * p->lda + i;
        const int64_t b = p->trans_b ? column * p->ldb + i : i * p->ldb + column;
        sum += fabs(read_at(p->a, a, p->type) * read_at(p->b, b, p->type));
    }
    sum = fabs(p->alpha) * sum + (p->beta != 0 ? fabs(p->beta * was) : 0);
    return 2 * (double) (p->k + 3) * epsilon * sum;
}

static bool agree(double x, double y, double most, double *worst)
{
    if (isnan(x) || isnan(y) || isinf(x) || isinf(y))
        return (isnan(x) && isnan(y)) || x == y || !isfinite(most);
    const double part = fabs(x - y) / (most > 0 ? most : DBL_MIN);
    *worst = x != y && part > *worst ? part : *worst;
    return x == y || part <= 1;
}

static void report(const struct mmt_checking *it, int wrong, double worst)
{
    struct mmt_text problem = { 0 };

    mmt_problem_print(&it->call->problem, &problem);
    if (wrong)
        fprintf(
            stderr,
            "mmtune: check: %s is WRONG: %d of %d elements differ from the library's, "
            "by %.3g times the bound at most\n",
            mmt_text_string(&problem), wrong, PLACES, worst);
    else
        fprintf(stderr,
                "mmtune: check: %s is right: %d elements are within %.3g of the bound\n",
                mmt_text_string(&problem), PLACES, worst);
    mmt_text_finish(&problem);
}

/* `before` and `theirs` have C as it was and as the library leaves it. */
static void compare(const struct mmt_checking *it, const void *before, const void *theirs)
{
    const struct mmt_product *p = it->product;
    double worst = 0;
    int wrong = 0;

    for (int i = 0; i < PLACES; i++) {
        int64_t row, column;
        place_of(p, i, &row, &column);
        const int64_t at = row * p->ldc + column;
        wrong += !agree(read_at(p->c, at, p->type), read_at(theirs, at, p->type),
                        bound(p, row, column, read_at(before, at, p->type)), &worst);
    }
    report(it, wrong, worst);
}

/* Where memory is short, nothing is compared. */
bool mmt_blas_check_product(const struct mmt_checking *it)
{
    const struct mmt_product *p = it->product;
    const size_t bytes =
        (size_t) mmt_problem_extent_c(&it->call->problem) * mmt_type_size(p->type);
    char *before = malloc(bytes), *theirs = malloc(bytes);

    if (before && theirs) {
        memcpy(before, p->c, bytes);
        memcpy(theirs, p->c, bytes);
    }
    const bool done = it->run(it->context, p);
    if (done && before && theirs) {
        it->original->compute(it->original, theirs);
        compare(it, before, theirs);
    }
    free(before);
    free(theirs);
    return done;
}
