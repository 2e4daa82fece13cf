/* Arrays and grids: every entry comes from a few others. All types fit a double. */
#include <math.h>
#include <string.h>

#include "tuner/verify/oracle.h"

static double number_at(mmt_type type, const void *data, int64_t place)
{
    if (type == MMT_F32)
        return ((const float *) data)[place];
    if (type == MMT_F64)
        return ((const double *) data)[place];
    return ((const int32_t *) data)[place];
}

/* Sums and products of two f32 that were rounded to a double before are still right. */
static double rounded(mmt_type type, double value)
{
    return type == MMT_F32 ? (float) value : value;
}

static double sum(mmt_type type, double a, double b)
{
    if (type == MMT_I32)
        return (int32_t) ((uint32_t) (int64_t) a + (uint32_t) (int64_t) b);
    return rounded(type, a + b);
}

static double product(mmt_type type, double a, double b)
{
    if (type == MMT_I32)
        return (int32_t) ((uint32_t) (int64_t) a * (uint32_t) (int64_t) b);
    return rounded(type, a * b);
}

/* A scalar as the kernel gets it. */
static double scalar(mmt_type type, double value)
{
    return rounded(type, value);
}

static struct mmt_answer array_entry(const struct mmt_oracle *o, int64_t a, int64_t b)
{
    mmt_type type = o->problem->type;
    double alpha = scalar(type, o->alpha), beta = scalar(type, o->beta);
    double x = alpha == 0 ? 0 : number_at(type, o->a, a);
    double y = beta == 0 ? 0 : number_at(type, o->b, b);

    if (type == MMT_I32)
        return (struct mmt_answer){
            sum(type, product(type, alpha, x), product(type, beta, y)), 0
        };
    long double left = (long double) alpha * x, right = (long double) beta * y;
    long double u = mmt_number_roundoff(type);
    if (!isfinite(left + right))
        return (struct mmt_answer){ left + right, 0 };
    return (struct mmt_answer){ left + right, u * (fabsl(left) + fabsl(right)) +
                                                  u * fabsl(left + right) +
                                                  mmt_number_tiny(type) };
}

static double neighbours(const struct mmt_oracle *o, int64_t at, int64_t step)
{
    mmt_type type = o->problem->type;
    return sum(type, number_at(type, o->a, at - step), number_at(type, o->a, at + step));
}

static double heat(const struct mmt_oracle *o, int64_t at)
{
    mmt_type type = o->problem->type;
    double here = number_at(type, o->a, at);
    double around = sum(type, neighbours(o, at, o->problem->lda), neighbours(o, at, 1));
    double change = sum(type, around, product(type, -4, here));
    return sum(type, here, product(type, scalar(type, o->alpha), change));
}

static double sweep(const struct mmt_oracle *o, int64_t at, int64_t at_b)
{
    const mmt_problem *p = o->problem;
    double around =
        sum(p->type, neighbours(o, at, p->n * p->lda), neighbours(o, at, p->lda));
    around = sum(p->type, around, neighbours(o, at, 1));
    double out = product(p->type, scalar(p->type, o->alpha), around);
    double beta = scalar(p->type, o->beta);

    if (beta == 0)
        return out;
    return sum(p->type, out, product(p->type, beta, number_at(p->type, o->b, at_b)));
}

static bool is_border(int64_t i, int64_t size)
{
    return i == 0 || i == size - 1;
}

struct mmt_answer mmt_oracle_grid_entry(const struct mmt_oracle *o, int64_t batch,
                                        int64_t i, int64_t j)
{
    const mmt_problem *p = o->problem;
    int64_t a = batch * p->stride_a + i * p->lda + j;
    int64_t b = batch * p->stride_b + i * p->ldb + j;
    bool flat = p->op == MMT_HEAT2D;

    if (p->op == MMT_AXPBY)
        return array_entry(o, a, b);
    if (flat ? is_border(i, p->m) || is_border(j, p->n)
             : is_border(i / p->n, p->m) || is_border(i % p->n, p->n) ||
                   is_border(j, p->k))
        return (struct mmt_answer){ number_at(p->type, o->a, a), 0 };
    return (struct mmt_answer){ flat ? heat(o, a) : sweep(o, a, b), 0 };
}
