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
static double round_number(mmt_type type, double value)
{
    return type == MMT_F32 ? (float) value : value;
}

static double sum_of(mmt_type type, double a, double b)
{
    if (type == MMT_I32)
        return (int32_t) ((uint32_t) (int64_t) a + (uint32_t) (int64_t) b);
    return round_number(type, a + b);
}

static double product_of(mmt_type type, double a, double b)
{
    if (type == MMT_I32)
        return (int32_t) ((uint32_t) (int64_t) a * (uint32_t) (int64_t) b);
    return round_number(type, a * b);
}

/* A scalar as the kernel gets it. */
static double scalar_of(mmt_type type, double value)
{
    return round_number(type, value);
}

static struct mmt_answer array_entry(const struct mmt_oracle *o, int64_t a, int64_t b)
{
    mmt_type type = o->problem->type;
    double alpha = scalar_of(type, o->alpha), beta = scalar_of(type, o->beta);
    double x = alpha == 0 ? 0 : number_at(type, o->a, a);
    double y = beta == 0 ? 0 : number_at(type, o->b, b);

    if (type == MMT_I32)
        return (struct mmt_answer){
            sum_of(type, product_of(type, alpha, x), product_of(type, beta, y)), 0
        };
    long double left = (long double) alpha * x, right = (long double) beta * y;
    long double u = mmt_number_roundoff(type);
    if (!isfinite(left + right))
        return (struct mmt_answer){ left + right, 0 };
    return (struct mmt_answer){ left + right, u * (fabsl(left) + fabsl(right)) +
                                                  u * fabsl(left + right) +
                                                  mmt_number_tiny(type) };
}

static double neighbours_at(const struct mmt_oracle *o, int64_t at, int64_t step)
{
    mmt_type type = o->problem->type;
    return sum_of(type, number_at(type, o->a, at - step),
                  number_at(type, o->a, at + step));
}

static double heat_at(const struct mmt_oracle *o, int64_t at)
{
    mmt_type type = o->problem->type;
    double here = number_at(type, o->a, at);
    double around =
        sum_of(type, neighbours_at(o, at, o->problem->lda), neighbours_at(o, at, 1));
    double change = sum_of(type, around, product_of(type, -4, here));
    return sum_of(type, here, product_of(type, scalar_of(type, o->alpha), change));
}

static double sweep_at(const struct mmt_oracle *o, int64_t at, int64_t at_b)
{
    const mmt_problem *p = o->problem;
    double around = sum_of(p->type, neighbours_at(o, at, p->n * p->lda),
                           neighbours_at(o, at, p->lda));
    around = sum_of(p->type, around, neighbours_at(o, at, 1));
    double out = product_of(p->type, scalar_of(p->type, o->alpha), around);
    double beta = scalar_of(p->type, o->beta);

    if (beta == 0)
        return out;
    return sum_of(p->type, out,
                  product_of(p->type, beta, number_at(p->type, o->b, at_b)));
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
    return (struct mmt_answer){ flat ? heat_at(o, a) : sweep_at(o, a, b), 0 };
}
